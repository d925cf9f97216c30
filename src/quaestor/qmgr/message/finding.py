"""Finding: which message a get or a browse means, where that is not simply the first.

Rules
  GE2 A message that has expired is never returned: the get or browse that meets it removes it (X2) and goes on looking.
  GE3 A browse cursor is the handle's own. It starts before the first message; a message that arrives in front of
      it is not seen by going on. Under the cursor there is a message only while that is on the queue, available
      to this handle and not expired (2034).
  GE4 A browse with LOCK hides the message from everybody but this handle until it is unlocked, it is got, the handle
      closes or its cursor moves on: by a first or next that finds another message, or none. So what is locked is
      under the cursor. UNLOCK without a lock is 2209.

Called by getting, whose `InputPath` is a `FindingPath` that also delivers.  Calls grouping, the store.
"""

from collections.abc import Callable
from contextlib import suppress

from quaestor.mqi import expiry
from quaestor.mqi.matching import Selection
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetOptions, GetPlan
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.grouping import Group, GroupReader, check_get, check_next, left_behind
from quaestor.qmgr.message.needs import Unit
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.services import Services
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.queue_store import AVAILABLE, Arrival, VanishedError

_BROWSE_FIRST, _BROWSE_NEXT = int(GetOptions.BROWSE_FIRST), int(GetOptions.BROWSE_NEXT)
Find = Callable[[], Arrival | None]


class FindingPath:
    """A handle's place on a queue: its cursor, what it has locked and the group it is in (GE2-GE4)."""

    __slots__ = (
        "_browse_group",
        "_caller",
        "_cursor",
        "_group",
        "_groups",
        "_locate",
        "_locked",
        "_now_us",
        "_path",
        "_read",
        "_services",
        "_store",
        "_stored",
        "_take",
        "saved",
        "state",
    )

    def __init__(self, services: Services, state: QueueState, path: tuple[str, ...], thread: ApplicationThread) -> None:
        self._services = services
        self._now_us = services.clock.now_us
        self._store = store = state.store
        self._locate, self._read, self._take = store.locate, store.read, store.take
        self._caller = thread
        self._path = path
        self.saved: Message | None = None  # without its body
        self._cursor: Arrival | None = None
        self._locked: Arrival | None = None
        self._group: Group | None = None
        self._browse_group: Group | None = None
        self._groups = GroupReader(store, state.stored, self._now_us)
        self.state = state
        self._stored = state.stored

    # -- finding

    def _first_for(self, asked: Selection, after: Arrival | None) -> Arrival | None:
        """The first arrival with the identifiers asked for, behind `after`."""
        return self._locate(
            self._stored,
            msg_id=asked.msg_id,
            correl_id=asked.correl_id,
            group_id=asked.group_id,
            after=after,
            fits=None if asked.sequence is None and asked.token is None else lambda one: self._numbered(one, asked),
            holder=self,
        )

    def _numbered(self, arrival: Arrival, asked: Selection) -> bool:
        if asked.token is not None and arrival.sequence != asked.token:
            return False
        return asked.sequence is None or self._groups.descriptor(arrival).msg_seq_number == asked.sequence

    def _by_plan(self, plan: GetPlan, asked: Selection) -> Arrival | None:
        """The arrival that a browse, a cursor or a get in logical order means."""
        if plan.under_cursor or plan.browse not in (0, _BROWSE_FIRST, _BROWSE_NEXT):
            return self._under_cursor()
        after = self._cursor if plan.browse == _BROWSE_NEXT else None
        if plan.browse == _BROWSE_FIRST:
            self._browse_group = None
        if plan.logical_order or plan.all_available:
            group = self._browse_group if plan.browse else self._group
            check_get(group, self.state.definition, asked, plan)
            found = self._live_or_none(lambda: self._in_groups(plan, asked, after))
            if found is not None and group is not None and plan.logical_order:
                check_next(found, asked)
            return found
        return self._live_or_none(lambda: self._first_for(asked, after))

    def _in_groups(self, plan: GetPlan, asked: Selection, after: Arrival | None) -> Arrival | None:
        group = self._browse_group if plan.browse else self._group
        if group is not None and plan.logical_order:
            return self._locate(
                self._stored, group_id=group.group_id, fits=lambda one: self._groups.follows(one, group), holder=self
            )

        def fits(one: Arrival) -> bool:
            begins = self._groups.begins(one, all_available=plan.all_available, logical=plan.logical_order, holder=self)
            return begins and self._numbered(one, asked)

        return self._locate(
            self._stored,
            msg_id=asked.msg_id,
            correl_id=asked.correl_id,
            group_id=asked.group_id,
            after=self._first_of_its_group(after) if plan.logical_order else after,
            fits=fits,
            holder=self,
        )

    def _first_of_its_group(self, cursor: Arrival | None) -> Arrival | None:
        """In logical order a cursor inside a group stands where the group's first message stands."""
        if cursor is None or not any(cursor.group_id):
            return cursor
        first = self._locate(
            self._stored,
            group_id=cursor.group_id,
            fits=lambda one: self._groups.descriptor(one).msg_seq_number == 1,
            holder=self,
        )
        return first if first is not None else cursor

    def _under_cursor(self) -> Arrival:
        """The message the cursor stands on, if it can be had (GE3)."""
        arrival = self._cursor
        if (
            arrival is None
            or arrival.holder not in (None, self)
            or not self._store.still_there(arrival)
            or expiry.has_expired(arrival.expires_us, self._now_us())
        ):
            raise MQError(Reason.NO_MSG_UNDER_CURSOR, queue=self._path[-1])
        return arrival

    def _live_or_none(self, find: Find) -> Arrival | None:
        arrival = find()
        return None if arrival is None else self._live(arrival, find)

    def _live(self, arrival: Arrival, find: Find) -> Arrival | None:
        """The first arrival that has not expired; those in front of it are removed (GE2)."""
        found: Arrival | None = arrival
        while found is not None and expiry.has_expired(found.expires_us, self._now_us()):
            if found is self._locked:
                self.release()
            self._services.expire(self._store, found, self._caller)
            found = find()
        return found

    # -- cursor and lock

    def _stand_on(self, arrival: Arrival, plan: GetPlan) -> None:
        """Move the browse cursor, and lock what it stands on if asked to (GE3, GE4, GE8)."""
        self._cursor, self.saved = arrival, None
        if plan.logical_order:
            self._browse_group = self._groups.after(arrival, plan)
        elif self._browse_group is not None and plan.browse == _BROWSE_NEXT:
            left_behind(self._browse_group, self._caller)
            self._browse_group = None
        if plan.lock:
            if arrival is not self._locked:
                self.release()
                self._store.hold(arrival, self)
                self._locked = arrival
        elif self._locked is not None and plan.browse in (_BROWSE_FIRST, _BROWSE_NEXT):
            self.release()

    def _take_locked(self, unit: Unit | None, arrival: Arrival) -> None:
        """Take what the handle has locked; where that is refused it stays locked (GE1)."""
        self._store.unlocked(arrival, self)
        self._locked = None
        try:
            self._take(unit, arrival)
        except MQError:
            self._store.let_go(arrival, self)
            with suppress(VanishedError):  # another queue manager was quicker
                self._store.hold(arrival, self)
                self._locked = arrival
            raise

    def _unlock(self) -> Message:
        if self._locked is None:
            raise MQError(Reason.NO_MSG_LOCKED, queue=self._path[-1])
        arrival = self._locked
        self.release()
        return self._read(arrival)._replace(body=b"", original_length=arrival.length)

    def release(self) -> None:
        """Give up the lock on a browsed message; somebody may have been waiting for it (GE4)."""
        locked, self._locked = self._locked, None
        if locked is not None and locked.holder is self:
            self._store.let_go(locked, self)
            if locked.state == AVAILABLE and self.state.waiters:
                self.state.waiters.wake(locked)
