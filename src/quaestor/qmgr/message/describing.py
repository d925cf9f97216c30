"""Describing: from what an application says about a message to what is stored with it.

Rules
  J1  A descriptor is checked as a whole before anything is put: type, feedback, expiry, priority, persistence,
      identifiers, report options, flags (2029, 2014, 2013, 2050, 2047, 2026, 2061, 2027, 2249, 2250). Feedback is none,
      a system's (1 to 65,535) or an application's (to 999,999,999). A number that has no room in 32 bits is 2026.
  J2  Priority and persistence "as the queue says" come from the first definition of the path, at the put.
  J3  A priority above the maximum is kept in the descriptor, as far as a byte holds it (255); the message is queued at
      the maximum (2049, warning).
  J4  Under MSGDLVSQ(FIFO) every message is queued at the queue's own default priority.
  J5  Context (user, application, origin) is the putter's own, unless it is passed, set or refused by an option. Of a
      handle opened for an alternate user, the user is he. Date and time of the put are part of the origin: one that is
      set is taken as it is, blanks too. What is not set is not looked at: users and applications may have longer names
      than their fields, and what was got with one is put again.
  J7  A message that is not flagged as one of a group has no group identifier, and the number 1.
  J6  What comes out (`Described`) depends only on descriptor, path and context, so it is kept for the next
      put with the same descriptor object.
  J8  A reply-to queue without a queue manager is one of this queue manager's. Where its name is that of a remote
      definition, which is then a reply-to alias, the message carries what that leads to: queue and queue manager.

Called by putting.  Calls the pure rules.
"""

import struct
from dataclasses import replace
from typing import NamedTuple

from quaestor.mqi import expiry, reports
from quaestor.mqi.descriptors import (
    AS_Q_DEF,
    DATAGRAM,
    MQMD,
    MSG_TYPE_APPL_FIRST,
    MSG_TYPE_APPL_LAST,
    NO_DATE,
    NO_ID,
    NO_TOKEN,
    PERSISTENCE_AS_Q_DEF,
    REPLY,
    REPORT,
    REQUEST,
    identifier,
    unsigned,
)
from quaestor.mqi.objects import PRIORITY_MAX, DefinitionType, LocalQueue, Queue, RemoteQueue
from quaestor.mqi.options import GROUP_FLAGS, PutOptions, check_flags
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.resolution import Resolver
from quaestor.qmgr.message.thread import ApplicationThread

_TYPES = frozenset({DATAGRAM, REQUEST, REPLY, REPORT})
_SEQUENCE_MAX = _FEEDBACK_MAX = 999_999_999
_NUMBERS = struct.Struct(">2i")
"""Those that stand beside the packed descriptor, and are small numbers in it or times."""
_NO_CONTEXT = {
    "user_identifier": "",
    "accounting_token": NO_TOKEN,
    "appl_identity_data": "",
    "put_appl_type": 0,
    "put_appl_name": "",
    "put_date": NO_DATE,
    "put_time": NO_DATE,
    "appl_origin_data": "",
}
_ORIGIN = ("put_appl_type", "put_appl_name", "put_date", "put_time", "appl_origin_data")
_TEXT_LENGTHS = {"format": 8, "reply_to_q": 48, "reply_to_qmgr": 48}
_IDENTITY_LENGTHS = {"user_identifier": 12, "appl_identity_data": 32}
_ORIGIN_LENGTHS = {"put_appl_name": 28, "put_date": 8, "put_time": 8, "appl_origin_data": 4}
_LENGTHS_BY_CONTEXT = {
    PutOptions.SET_IDENTITY_CONTEXT: _TEXT_LENGTHS | _IDENTITY_LENGTHS,
    PutOptions.SET_ALL_CONTEXT: _TEXT_LENGTHS | _IDENTITY_LENGTHS | _ORIGIN_LENGTHS,
}
"""The texts that a descriptor says itself, by the option for its context (J5)."""


class Described(NamedTuple):
    """A descriptor ready to be stored with any number of messages (J6)."""

    envelope: MQMD
    msg_id: bytes | None  # None: make a new one for each message
    correl_id: bytes
    priority: int  # of the descriptor
    rank: int  # at which the message is queued
    persistence: int
    expiry: int  # tenths
    plain: bool  # asks for no report, group or warning: nothing follows from the put


def check(md: MQMD, context: int, *, travels: bool) -> None:
    """Refuse a descriptor that is not valid, whatever the queue of this or of another queue manager (J1)."""
    try:
        for name, longest in _LENGTHS_BY_CONTEXT.get(PutOptions(context), _TEXT_LENGTHS).items():
            text = getattr(md, name)
            if not isinstance(text, str) or len(text.encode()) > longest:
                raise MQError(Reason.MD_ERROR, field=name, value=text, longest=longest)
        _NUMBERS.pack(md.expiry, md.priority)
        _check_values(md, travels)
        md.packed()
    except (TypeError, ValueError, AttributeError, struct.error) as error:
        raise MQError(Reason.MD_ERROR, why=str(error)) from error


def _check_values(md: MQMD, travels: bool) -> None:
    if not isinstance(md.expiry, int) or len(md.accounting_token) > len(NO_TOKEN):
        raise TypeError(f"expiry {md.expiry!r}, accounting token {md.accounting_token!r}")
    if md.msg_type not in _TYPES and not MSG_TYPE_APPL_FIRST <= md.msg_type <= MSG_TYPE_APPL_LAST:
        raise MQError(Reason.MSG_TYPE_ERROR, msg_type=md.msg_type)
    if not 0 <= md.feedback <= _FEEDBACK_MAX:
        raise MQError(Reason.FEEDBACK_ERROR, feedback=md.feedback)
    if md.priority < AS_Q_DEF:
        raise MQError(Reason.PRIORITY_ERROR, priority=md.priority)
    if md.persistence not in (0, 1, PERSISTENCE_AS_Q_DEF):
        raise MQError(Reason.PERSISTENCE_ERROR, persistence=md.persistence)
    check_flags(md.msg_flags, travels=travels)
    if not 1 <= md.msg_seq_number <= _SEQUENCE_MAX:
        raise MQError(Reason.MSG_SEQ_NUMBER_ERROR, msg_seq_number=md.msg_seq_number)
    if md.offset:
        raise MQError(Reason.OFFSET_ERROR, offset=md.offset)
    reports.check(md, travels=travels)


def describe(
    md: MQMD,
    path: tuple[Queue, ...],
    thread: ApplicationThread,
    user: str,
    here: Resolver,
    context: int = 0,
    *,
    travels: bool = False,
) -> Described:
    """What `md` means for messages put along `path`, perhaps to another queue manager (J2-J5)."""
    md = _bits_above_zero(md)
    check(md, context, travels=travels)
    first, queue = path[0], path[-1]
    if not isinstance(queue, LocalQueue):
        raise MQError(Reason.Q_TYPE_ERROR, queue=queue.name)
    persistence = int(first.def_persistent) if md.persistence == PERSISTENCE_AS_Q_DEF else md.persistence
    if persistence and queue.definition is DefinitionType.TEMPDYN:
        raise MQError(Reason.PERSISTENT_NOT_ALLOWED, queue=queue.name)
    priority = first.def_priority if md.priority == AS_Q_DEF else md.priority
    msg_id, _ = identifier(md.msg_id), identifier(md.group_id)
    return Described(
        envelope=_with_context(_outside_groups(_with_reply(md, here)), thread, user, context),
        msg_id=None if msg_id == NO_ID else msg_id,
        correl_id=identifier(md.correl_id),
        priority=min(priority, 255),
        rank=queue.def_priority if queue.fifo else min(priority, PRIORITY_MAX),
        persistence=persistence,
        expiry=expiry.checked(md.expiry, queue.max_expiry),
        plain=not (md.report or md.msg_flags & GROUP_FLAGS or priority > PRIORITY_MAX),
    )


def _bits_above_zero(md: MQMD) -> MQMD:
    """Report options and flags as they are stored (D4)."""
    try:
        if md.report >= 0 and md.msg_flags >= 0:
            return md
        return replace(md, report=unsigned(md.report), msg_flags=unsigned(md.msg_flags))
    except TypeError as error:
        raise MQError(Reason.MD_ERROR, why=str(error)) from error


def _with_reply(md: MQMD, here: Resolver) -> MQMD:
    """Where a reply goes whose queue is named without a queue manager (J8)."""
    if not md.reply_to_q or md.reply_to_qmgr:
        return md
    alias = here.find(md.reply_to_q.rstrip(" "))
    if not isinstance(alias, RemoteQueue):
        return replace(md, reply_to_qmgr=here.qmgr)
    name, qmgr = alias.remote_name or md.reply_to_q, alias.remote_qmgr or here.qmgr
    return replace(md, reply_to_q=name, reply_to_qmgr=qmgr)


def _outside_groups(md: MQMD) -> MQMD:
    """What is not flagged as one of a group is in none (J7)."""
    if md.msg_flags & GROUP_FLAGS or (md.group_id == NO_ID and md.msg_seq_number == 1):
        return md
    return replace(md, group_id=NO_ID, msg_seq_number=1)


def _with_context(md: MQMD, thread: ApplicationThread, user: str, context: int) -> MQMD:
    """The context that goes with the message (J5); a passed context is in `md` already."""
    if context in (PutOptions.SET_ALL_CONTEXT, PutOptions.PASS_ALL_CONTEXT):
        return replace(md, put_date=md.put_date or NO_DATE, put_time=md.put_time or NO_DATE)
    origin = {"put_appl_type": thread.appl_type, "put_appl_name": thread.appl_name, "appl_origin_data": ""}
    origin |= {"put_date": "", "put_time": ""}
    if context in (PutOptions.SET_IDENTITY_CONTEXT, PutOptions.PASS_IDENTITY_CONTEXT):
        return replace(md, **origin)  # type: ignore[arg-type] # fields of the descriptor
    if context == PutOptions.NO_CONTEXT:
        return replace(md, **_NO_CONTEXT)  # type: ignore[arg-type] # fields of the descriptor
    identity = {"user_identifier": user, "accounting_token": NO_TOKEN, "appl_identity_data": ""}
    return replace(md, **identity, **origin)  # type: ignore[arg-type] # fields of the descriptor


def pass_context(md: MQMD, saved: MQMD, context: int) -> MQMD:
    """`md` with the context saved from a message that was got (J5)."""
    identity = {name: getattr(saved, name) for name in ("user_identifier", "accounting_token", "appl_identity_data")}
    if context == PutOptions.PASS_IDENTITY_CONTEXT:
        return replace(md, **identity)
    origin = {name: getattr(saved, name) for name in _ORIGIN}
    return replace(md, **identity, **origin)
