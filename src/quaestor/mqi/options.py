"""Options: what a call is asked to do, typed, with IBM MQ's numbers.

Rules
  P1  Options that contradict each other, or are not known, are refused as a whole (2046), before anything is done.
  P2  Without a syncpoint option a put or get is in syncpoint: the z/OS rule.
  P3  What options mean is decided once per options value and kept as a plan of plain booleans; a call that
      comes again with the same value pays nothing for it.
  P4  WAIT says nothing where there is nothing to wait for: with what is under the cursor.
  P5  LOGICAL_ORDER asks for a handle that knows its group: MQPUT1 has none (2046).
  P6  A message flag that is not known is refused (2249) or taken by the part of the field it stands in, as the MQMD's
      masks say: the low twelve bits, segments among them, are refused; the high twelve are taken; those between on the
      way to another queue manager alone, unless its transmission queue is named itself. None is warned of.

Called by the message manager, the connection, applications.  Calls reasons.
"""

from enum import IntFlag
from functools import cache
from typing import NamedTuple

from quaestor.mqi.reasons import MQError, Reason

WAIT_UNLIMITED = -1


class OpenOptions(IntFlag):
    """MQOO: what a handle will be used for."""

    INPUT_AS_Q_DEF = 1
    INPUT_SHARED = 2
    INPUT_EXCLUSIVE = 4
    BROWSE = 8
    OUTPUT = 16
    INQUIRE = 32
    SET = 64
    SAVE_ALL_CONTEXT = 128
    PASS_IDENTITY_CONTEXT = 256
    PASS_ALL_CONTEXT = 512
    SET_IDENTITY_CONTEXT = 1024
    SET_ALL_CONTEXT = 2048
    ALTERNATE_USER_AUTHORITY = 4096
    FAIL_IF_QUIESCING = 8192
    READ_AHEAD = 1048576  # a client may be sent non-persistent messages before it asks; elsewhere without effect

    INPUT = INPUT_AS_Q_DEF


class CloseOptions(IntFlag):
    """MQCO: what becomes of a dynamic queue."""

    NONE = 0
    DELETE = 1
    DELETE_PURGE = 2


class PutOptions(IntFlag):
    """MQPMO: how a message is put."""

    NONE = 0
    SYNCPOINT = 2
    NO_SYNCPOINT = 4
    DEFAULT_CONTEXT = 32
    NEW_MSG_ID = 64
    NEW_CORREL_ID = 128
    PASS_IDENTITY_CONTEXT = 256
    PASS_ALL_CONTEXT = 512
    SET_IDENTITY_CONTEXT = 1024
    SET_ALL_CONTEXT = 2048
    ALTERNATE_USER_AUTHORITY = 4096
    FAIL_IF_QUIESCING = 8192
    NO_CONTEXT = 16384
    LOGICAL_ORDER = 32768
    ASYNC_RESPONSE = 65536  # a client does not wait for the answer; elsewhere without effect


class GetOptions(IntFlag):
    """MQGMO: how a message is got or browsed."""

    NONE = 0
    WAIT = 1
    SYNCPOINT = 2
    NO_SYNCPOINT = 4
    BROWSE_FIRST = 16
    BROWSE_NEXT = 32
    ACCEPT_TRUNCATED_MSG = 64
    MARK_SKIP_BACKOUT = 128
    MSG_UNDER_CURSOR = 256
    LOCK = 512
    UNLOCK = 1024
    BROWSE_MSG_UNDER_CURSOR = 2048
    SYNCPOINT_IF_PERSISTENT = 4096
    FAIL_IF_QUIESCING = 8192
    LOGICAL_ORDER = 32768
    ALL_MSGS_AVAILABLE = 131072


class MatchOptions(IntFlag):
    """MQMO: which identifiers select a message."""

    NONE = 0
    MSG_ID = 1
    CORREL_ID = 2
    GROUP_ID = 4
    MSG_SEQ_NUMBER = 8
    MSG_TOKEN = 32


class MsgFlags(IntFlag):
    """MQMF: a message's place in a group. The segment flags are known in order to be refused."""

    NONE = 0
    SEGMENTATION_ALLOWED = 1
    SEGMENT = 2
    LAST_SEGMENT = 4
    MSG_IN_GROUP = 8
    LAST_MSG_IN_GROUP = 16


GROUP_FLAGS = 8 | 16
FLAGS_REJECT_UNSUP_MASK, FLAGS_ACCEPT_UNSUP_MASK, FLAGS_ACCEPT_UNSUP_IF_XMIT_MASK = 0xFFF, 0xFFF00000, 0xFF000  # P6

INPUT_ANY = 1 | 2 | 4
_BROWSES = 16 | 32 | 2048
NEEDS_BROWSE = _BROWSES | 256 | 1024
"""Options of a get for which a handle has to be open to browse."""

_CONTEXTS = 32 | 256 | 512 | 1024 | 2048 | 16384


def _all_bits(options: type[IntFlag]) -> int:
    bits = 0
    for option in options:
        bits |= option.value
    return bits


def _one_at_most(options: int, choices: int) -> bool:
    chosen = options & choices
    return chosen & (chosen - 1) == 0


def _refuse(options: int, why: str) -> MQError:
    return MQError(Reason.OPTIONS_ERROR, options=options, why=why)


def _bits(options: object) -> int:
    """Options as a plain number; a bool or text is no options value."""
    if not isinstance(options, int) or isinstance(options, bool):
        raise MQError(Reason.OPTIONS_ERROR, options=options, why="not a number")
    return int(options)


def has(options: object, bits: int) -> bool:
    """Whether options have one of these bits; what is no number has none."""
    return isinstance(options, int) and bool(int(options) & bits)


_OPEN_BITS, _CLOSE_BITS = _all_bits(OpenOptions), _all_bits(CloseOptions)
_PUT_BITS, _GET_BITS = _all_bits(PutOptions), _all_bits(GetOptions)


def check_open(options: int) -> None:
    """Refuse open options that mean nothing (P1)."""
    bits = _bits(options)
    if bits & ~_OPEN_BITS:
        raise _refuse(bits, "unknown option")
    if not _one_at_most(bits, INPUT_ANY):
        raise _refuse(bits, "more than one input option")
    if not bits & (INPUT_ANY | 8 | 16 | 32 | 64):
        raise _refuse(bits, "neither input, browse, output, inquire nor set")
    if bits & OpenOptions.SAVE_ALL_CONTEXT and not bits & INPUT_ANY:
        raise _refuse(bits, "context can be saved on input only")
    if bits & (256 | 512 | 1024 | 2048) and not bits & OpenOptions.OUTPUT:
        raise _refuse(bits, "context can be passed or set on output only")


def check_close(options: int) -> None:
    """Refuse close options that mean nothing (P1)."""
    bits = _bits(options)
    if bits & ~_CLOSE_BITS or bits == _CLOSE_BITS:
        raise _refuse(bits, "not one of NONE, DELETE, DELETE_PURGE")


def check_flags(flags: int, *, travels: bool) -> None:
    """Refuse message flags that cannot be honoured, on the way to another queue manager or here (P6)."""
    refused = FLAGS_REJECT_UNSUP_MASK if travels else FLAGS_REJECT_UNSUP_MASK | FLAGS_ACCEPT_UNSUP_IF_XMIT_MASK
    if flags & ~GROUP_FLAGS & refused:
        raise MQError(Reason.MSG_FLAGS_ERROR, msg_flags=flags)


class PutPlan(NamedTuple):
    """What put options mean (P3)."""

    in_syncpoint: bool
    new_msg_id: bool
    new_correl_id: bool
    logical_order: bool
    fail_if_quiescing: bool
    context: int  # PutOptions bit of the context asked for, 0 for the default
    plain: bool  # neither new identifiers nor logical order


@cache
def _put_plan(bits: int) -> PutPlan:
    if bits & ~_PUT_BITS:
        raise _refuse(bits, "unknown option")
    if not _one_at_most(bits, 2 | 4):
        raise _refuse(bits, "both in and out of syncpoint")
    if not _one_at_most(bits, _CONTEXTS):
        raise _refuse(bits, "more than one context option")
    return PutPlan(
        in_syncpoint=not bits & PutOptions.NO_SYNCPOINT,  # P2
        new_msg_id=bool(bits & PutOptions.NEW_MSG_ID),
        new_correl_id=bool(bits & PutOptions.NEW_CORREL_ID),
        logical_order=bool(bits & PutOptions.LOGICAL_ORDER),
        fail_if_quiescing=bool(bits & PutOptions.FAIL_IF_QUIESCING),
        context=bits & _CONTEXTS & ~int(PutOptions.DEFAULT_CONTEXT),
        plain=not bits & (PutOptions.NEW_MSG_ID | PutOptions.NEW_CORREL_ID | PutOptions.LOGICAL_ORDER),
    )


def put_plan(options: int) -> PutPlan:
    """The plan of put options (P1, P3)."""
    return _put_plan(_bits(options))


def put1_plan(options: int) -> PutPlan:
    """The same for MQPUT1 (P5)."""
    plan = put_plan(options)
    if plan.logical_order:
        raise _refuse(options, "MQPUT1 is not in logical order")
    return plan


class GetPlan(NamedTuple):
    """What get options mean (P3)."""

    wait: bool
    in_syncpoint: bool
    if_persistent: bool  # in syncpoint for persistent messages only
    browse: int  # 0 for a destructive get, else BROWSE_FIRST, BROWSE_NEXT or BROWSE_MSG_UNDER_CURSOR
    under_cursor: bool
    lock: bool
    unlock: bool
    truncate: bool
    logical_order: bool
    all_available: bool
    fail_if_quiescing: bool
    marks: bool  # stays out of the backout of its unit
    plain: bool  # destructive, by order or identifiers: none of cursor, lock, groups, mark


@cache
def _get_plan(bits: int) -> GetPlan:
    if bits & ~_GET_BITS:
        raise _refuse(bits, "unknown option")
    browse, cursor = bits & _BROWSES, bits & GetOptions.MSG_UNDER_CURSOR
    if not _one_at_most(bits, _BROWSES | GetOptions.MSG_UNDER_CURSOR):
        raise _refuse(bits, "more than one of browse and cursor")
    if not _one_at_most(bits, 2 | 4 | 4096):
        raise _refuse(bits, "more than one syncpoint option")
    if browse and bits & (2 | 4096):
        raise _refuse(bits, "a browse is not in syncpoint")
    if bits & GetOptions.UNLOCK and (bits & ~int(GetOptions.UNLOCK | GetOptions.NO_SYNCPOINT)):
        raise _refuse(bits, "UNLOCK stands alone")
    if bits & GetOptions.LOCK and not browse:
        raise _refuse(bits, "LOCK needs a browse")
    marks = bits & GetOptions.MARK_SKIP_BACKOUT
    if marks and (browse or bits & (4 | 4096)):
        raise _refuse(bits, "only a get in syncpoint can be marked")
    groups = bits & (GetOptions.LOGICAL_ORDER | GetOptions.ALL_MSGS_AVAILABLE)
    return GetPlan(
        wait=bool(bits & GetOptions.WAIT and not cursor and browse != GetOptions.BROWSE_MSG_UNDER_CURSOR),  # P4
        in_syncpoint=not browse and not bits & (GetOptions.NO_SYNCPOINT | GetOptions.SYNCPOINT_IF_PERSISTENT),  # P2
        if_persistent=bool(bits & GetOptions.SYNCPOINT_IF_PERSISTENT),
        browse=browse,
        under_cursor=bool(cursor),
        lock=bool(bits & GetOptions.LOCK),
        unlock=bool(bits & GetOptions.UNLOCK),
        truncate=bool(bits & GetOptions.ACCEPT_TRUNCATED_MSG),
        logical_order=bool(bits & GetOptions.LOGICAL_ORDER),
        all_available=bool(bits & GetOptions.ALL_MSGS_AVAILABLE),
        fail_if_quiescing=bool(bits & GetOptions.FAIL_IF_QUIESCING),
        marks=bool(marks),
        plain=not (browse or cursor or groups or marks or bits & GetOptions.UNLOCK),
    )


def get_plan(options: int) -> GetPlan:
    """The plan of get options (P1, P3)."""
    return _get_plan(_bits(options))
