"""Grouping: messages that belong together, put and got in logical order.

Rules
  U1  Under LOGICAL_ORDER the queue manager gives the messages of a group their identifier and numbers; the first
      begins a group, the one flagged last ends it.
  U2  A group is all in or all out of syncpoint (2245) and of one persistence (2185).
  U3  A put or get without LOGICAL_ORDER inside a group ends the queue manager's care of it: warning 2241. So does the
      browse of a next message; one of the first begins anew, in whichever order.
      A message outside any group, put with LOGICAL_ORDER inside one, is refused: 2241.
  U4  A get in logical order takes a group at the place of its first message; ALL_MSGS_AVAILABLE takes only groups
      whose last message and all before it are there, and none of them expired. What the handle itself has locked is
      there for it. The queue must be indexed by group (2394).
  U5  While a group is being got in logical order, identifiers that select are those of the message that is next in it;
      others are refused (2247). So a get by the group's identifier may be made again and again until its last message.
  U6  A unit that is backed out takes the handle's place in its group back too (X6), so that a group may be spread over
      several units and the one that failed be done again.

Called by putting and getting.  Calls the store.
"""

from collections.abc import Callable
from dataclasses import replace

from quaestor.mqi import expiry
from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.matching import Selection, matches
from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.mqi.options import GROUP_FLAGS, GetPlan, MsgFlags, PutPlan
from quaestor.mqi.reasons import CompCode, MQError, Reason
from quaestor.qmgr.message.needs import AnyStore, Arrival, StoredQueue
from quaestor.qmgr.message.reading import read
from quaestor.qmgr.message.thread import ApplicationThread

_LAST = int(MsgFlags.LAST_MSG_IN_GROUP)


class Group:
    """The group a handle is in the middle of, for puts or for gets."""

    __slots__ = ("group_id", "in_syncpoint", "persistence", "sequence")

    def __init__(self, group_id: bytes, sequence: int, *, in_syncpoint: bool, persistence: int = 0) -> None:
        self.group_id = group_id
        self.sequence = sequence
        self.in_syncpoint = in_syncpoint
        self.persistence = persistence


def left_behind(group: Group, thread: ApplicationThread) -> None:
    """A handle turned away from a group that is not complete: a warning (U3)."""
    thread.warning = MQError(
        Reason.INCOMPLETE_GROUP, CompCode.WARNING, group_id=group.group_id, sequence=group.sequence
    )


def next_to_put(
    group: Group | None, envelope: MQMD, persistence: int, plan: PutPlan, new_id: Callable[[], bytes]
) -> tuple[MQMD, Group | None]:
    """The descriptor of the next message in logical order, and the group the handle is in after it (U1, U2)."""
    in_group = envelope.msg_flags & GROUP_FLAGS
    if group is None:
        if not in_group:
            return replace(envelope, group_id=NO_ID, msg_seq_number=1), None
        group = Group(new_id(), 0, in_syncpoint=plan.in_syncpoint, persistence=persistence)
    if not in_group:
        raise MQError(Reason.INCOMPLETE_GROUP, CompCode.FAILED, group_id=group.group_id, sequence=group.sequence)
    if group.in_syncpoint != plan.in_syncpoint:
        raise MQError(Reason.INCONSISTENT_UOW, group_id=group.group_id)
    if group.persistence != persistence:
        raise MQError(Reason.INCONSISTENT_PERSISTENCE, group_id=group.group_id)
    flags = envelope.msg_flags | MsgFlags.MSG_IN_GROUP
    sequence = group.sequence + 1
    member = replace(envelope, group_id=group.group_id, msg_seq_number=sequence, msg_flags=int(flags))
    if envelope.msg_flags & _LAST:
        return member, None
    after = Group(group.group_id, sequence, in_syncpoint=group.in_syncpoint, persistence=group.persistence)
    return member, after


def check_get(group: Group | None, queue: LocalQueue, asked: Selection, plan: GetPlan) -> None:
    """Refuse a get in logical order that the queue or the handle does not allow (U2, U4, U5)."""
    if queue.index_type is not IndexType.GROUPID:
        raise MQError(Reason.Q_INDEX_TYPE_ERROR, queue=queue.name, index_type=queue.index_type.name)
    if group is None or not plan.logical_order:
        return
    if asked.group_id not in (None, group.group_id) or asked.sequence not in (None, group.sequence + 1):
        raise MQError(Reason.MATCH_OPTIONS_ERROR, group_id=group.group_id)
    if not plan.browse and group.in_syncpoint != plan.in_syncpoint:
        raise MQError(Reason.INCONSISTENT_UOW, group_id=group.group_id)


def check_next(arrival: Arrival, asked: Selection) -> None:
    """Refuse a get that asks for another message than the one that is next in its group (U5)."""
    asked = asked._replace(sequence=None)  # `check_get` has looked at it
    if not matches(asked, arrival.msg_id, arrival.correl_id, arrival.group_id, token=arrival.sequence):
        raise MQError(Reason.MATCH_OPTIONS_ERROR, group_id=arrival.group_id)


class GroupReader:
    """The tests a get in logical order makes of arrivals (U4)."""

    __slots__ = ("_now_us", "_queue", "_store")

    def __init__(self, store: AnyStore, queue: StoredQueue, now_us: Callable[[], int]) -> None:
        self._store = store
        self._queue = queue
        self._now_us = now_us

    def descriptor(self, arrival: Arrival) -> MQMD:
        return read(self._store, arrival).envelope

    def begins(self, arrival: Arrival, *, all_available: bool, logical: bool, holder: object) -> bool:
        """Whether a get of `holder` may begin with this arrival: no group, or the first of one."""
        if arrival.group_id == NO_ID:
            return True
        if logical and self.descriptor(arrival).msg_seq_number != 1:
            return False
        return not all_available or self.complete(arrival.group_id, holder)

    def follows(self, arrival: Arrival, group: Group) -> bool:
        return self.descriptor(arrival).msg_seq_number == group.sequence + 1

    def complete(self, group_id: bytes, holder: object) -> bool:
        """Whether every message of the group is available to a handle, and none has expired."""
        members: set[int] = set()
        last, now_us = 0, self._now_us()

        def look(arrival: Arrival) -> bool:
            nonlocal last
            if expiry.has_expired(arrival.expires_us, now_us):
                return False
            md = self.descriptor(arrival)
            members.add(md.msg_seq_number)
            if md.msg_flags & _LAST:
                last = md.msg_seq_number
            return False

        self._store.locate(self._queue, group_id=group_id, fits=look, holder=holder)
        return last > 0 and len(members.intersection(range(1, last + 1))) == last

    def after(self, arrival: Arrival, plan: GetPlan) -> Group | None:
        """The group a handle is in once it has this arrival."""
        if arrival.group_id == NO_ID:
            return None
        md = self.descriptor(arrival)
        if md.msg_flags & _LAST:
            return None
        return Group(arrival.group_id, md.msg_seq_number, in_syncpoint=plan.in_syncpoint)
