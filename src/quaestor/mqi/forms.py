"""Forms: whether what a call was given is of the kind that calls take at all. Pure rules.

Rules
  FO1 Form is what can be told of a put or get without the queue manager: the kinds of its parameters, numbers that have
      no room in 32 bits, a body longer than any message. What is wrong in its form cannot be sent.
  FO2 Of several mistakes in a call that of form is told before all others but a handle that is not open, behind any
      door. Of several of form it is the first of: object (2044), options (2046), body (2004, 2031), descriptor and
      correlation identifier (2026); with a get options, wait interval (2090), length (2005), selection (2247).
  FO3 Form is looked at when a call has been refused, for whatever reason; one that has not pays nothing for it.
  FO4 A body where several are wanted is none of them, and no body (2004): neither its letters nor its bytes are bodies.

Called by the connection and by clients.  Calls descriptors, reasons.
"""

import struct
from typing import Any

from quaestor.mqi.descriptors import MQMD, NO_TOKEN, Target, identifier
from quaestor.mqi.objects import MESSAGE_MAX
from quaestor.mqi.options import WAIT_UNLIMITED
from quaestor.mqi.reasons import MQError, Reason

_NUMBERS = struct.Struct(">4i")
_LARGEST = (1 << 32) - 1
_LONGEST, _MOST = 255, 1 << 63


def check_put(body: Any, md: Any, options: Any, correl_id: Any = None) -> None:
    """Refuse a put that is wrong in its form (FO2)."""
    _check_options(options)
    check_body(body)
    if md is not None:
        check_descriptor(md)
    if correl_id is not None:
        identifier(correl_id)


def check_put1(target: Any, body: Any, md: Any, options: Any) -> None:
    """The same for MQPUT1."""
    Target.of(target, "", "")
    check_put(body, md, options)


def check_get(options: Any, wait_ms: Any, max_length: Any, *named: Any, **selecting: Any) -> None:
    """Refuse a get that is wrong in its form (FO2)."""
    _check_options(options)
    if wait_ms is not None and not (isinstance(wait_ms, int) and wait_ms >= WAIT_UNLIMITED):
        raise MQError(Reason.WAIT_INTERVAL_ERROR, wait_ms=wait_ms)
    if max_length is not None and not (isinstance(max_length, int) and max_length >= 0):
        raise MQError(Reason.BUFFER_LENGTH_ERROR, max_length=max_length)
    _check_selection(*named, **selecting)


def _check_selection(
    msg_id: Any = None,
    correl_id: Any = None,
    group_id: Any = None,
    sequence: Any = None,
    token: Any = None,
    match: Any = None,
) -> None:
    for one in (msg_id, correl_id, group_id):
        if one is not None and not (isinstance(one, bytes) and len(one) <= _LONGEST):
            raise MQError(Reason.MATCH_OPTIONS_ERROR, identifier=one)
    for number in (sequence, token, match):
        if number is not None and not (isinstance(number, int) and -_MOST <= number < _MOST):
            raise MQError(Reason.MATCH_OPTIONS_ERROR, number=number)


def counts(error: Exception) -> bool:
    """Whether a call that was refused may be wrong in its form: one that found no message is not (FO3)."""
    return not isinstance(error, MQError) or error.reason is not Reason.NO_MSG_AVAILABLE


def _check_options(options: Any) -> None:
    if not isinstance(options, int) or not 0 <= options <= _LARGEST:
        raise MQError(Reason.OPTIONS_ERROR, options=options, why="not a number of 32 bits")


class _One:
    """One body, where several are wanted (FO4)."""


_KINDS_OF_BODY = bytes | bytearray | memoryview | str


def several(bodies: Any) -> list[Any]:
    """The bodies of a call for many messages (FO4)."""
    return [_One()] if isinstance(bodies, _KINDS_OF_BODY) else list(bodies)


def check_body(body: Any) -> None:
    """Refuse what is no body of a message."""
    if isinstance(body, _One):
        raise MQError(Reason.BUFFER_ERROR, why="one body where several are wanted")
    if not isinstance(body, _KINDS_OF_BODY):
        raise MQError(Reason.BUFFER_ERROR, body=type(body).__name__)
    length = len(encoded(body) if isinstance(body, str) else body)
    if length > MESSAGE_MAX:
        raise MQError(Reason.MSG_TOO_BIG_FOR_Q_MGR, length=length, max_length=MESSAGE_MAX)


def encoded(text: str) -> bytes:
    """A body that is text; half of a surrogate pair is none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise MQError(Reason.BUFFER_ERROR, why=str(error)) from error


def check_descriptor(md: Any) -> None:
    """Refuse what is no descriptor, or has no room in one."""
    if type(md) is not MQMD:
        raise MQError(Reason.MD_ERROR, descriptor=type(md).__name__)
    try:
        if len(md.accounting_token) > len(NO_TOKEN):
            raise MQError(Reason.MD_ERROR, accounting_token=md.accounting_token)
        _NUMBERS.pack(md.expiry, md.priority, md.persistence, md.offset)
        identifier(md.msg_id)
        identifier(md.correl_id)
        md.packed()
    except (struct.error, TypeError, ValueError, AttributeError) as error:
        raise MQError(Reason.MD_ERROR, why=str(error)) from error
