"""Getting: the way of a message from a queue to a handle, and browsing.

Rules
  GE1 The first available message that fits is found, then looked at, then taken; what stops it in between
      (too long, expired) leaves the rest as it was.
  GE2 A message that has expired is never returned: the get or browse that meets it removes it (X2) and goes on looking.
  GE3 A browse cursor is the handle's own. It starts before the first message; a message that arrives in front of
      it is not seen by going on. Under the cursor there is a message only while that is on the queue, available
      to this handle and not expired (2034).
  GE4 A browse with LOCK hides the message from everybody but this handle until it is unlocked, it is got, the handle
      closes or its cursor moves on: by a first or next that finds another message, or none. So what is locked is
      under the cursor. UNLOCK without a lock is 2209.
  GE5 A message longer than was asked for stays where it is (2080), or is taken shortened (2079); the true length
      is told in both. What is reported of it is not shortened.
  GE6 A get that may wait answers `Waiting` instead of 2033, and is asked again when it is posted.
  GE7 A message whose page is not whole or cannot be read stays where it is (2193) until media recovery brings the page
      back.
  GE8 A handle that saves context keeps that of the message it got last; after a browse it has none (2098).

Called by opening (which makes an `InputPath`) and connection.  Calls grouping, consequences, waiting, the store.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from quaestor.mqi import expiry, reports
from quaestor.mqi.matching import ANY, Selection
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import PRIORITY_MAX, Queue
from quaestor.mqi.options import GetOptions, GetPlan, OpenOptions, get_plan
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.qmgr.message.grouping import Group, GroupReader, check_get, left_behind
from quaestor.qmgr.message.needs import Unit
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.services import Services, refuse
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.message.waiting import Waiting
from quaestor.qmgr.queue_store import AVAILABLE, Arrival, VanishedError

_BROWSE_FIRST, _BROWSE_NEXT = int(GetOptions.BROWSE_FIRST), int(GetOptions.BROWSE_NEXT)
LENGTH_ANY: Final = 1 << 62
Find = Callable[[], Arrival | None]


class InputPath:
    """A handle's way from a queue: for gets, for browsing, or both."""

    __slots__ = (
        "_browse_group",
        "_caller",
        "_can_browse",
        "_can_get",
        "_catalogue",
        "_cursor",
        "_group",
        "_groups",
        "_locate",
        "_locked",
        "_max_uncommitted",
        "_now_us",
        "_options_seen",
        "_path",
        "_plan",
        "_read",
        "_refusal",
        "_services",
        "_stats",
        "_store",
        "_stored",
        "_take",
        "_version",
        "_watch",
        "saved",
        "saves_context",
        "state",
        "token",
    )

    def __init__(
        self, services: Services, state: QueueState, path: tuple[str, ...], thread: ApplicationThread, options: int
    ) -> None:
        self._services = services
        self._catalogue = services.catalogue
        self._now_us = services.clock.now_us
        self._store = store = state.store
        self._locate, self._read, self._take = store.locate, store.read, store.take
        self._stats = services.stats
        self._caller = thread
        self._path = path
        bits = int(options)
        self._can_browse = bool(bits & OpenOptions.BROWSE)
        self._can_get = bool(bits & (1 | 2 | 4))
        self.saves_context = bool(bits & OpenOptions.SAVE_ALL_CONTEXT)
        self.saved: Message | None = None  # without its body
        self.token = 0  # of the message last got or browsed
        self._options_seen: object = GetOptions.NONE
        self._plan: GetPlan = get_plan(GetOptions.NONE)
        self._cursor: Arrival | None = None
        self._locked: Arrival | None = None
        self._group: Group | None = None
        self._browse_group: Group | None = None
        self._groups = GroupReader(store, state.stored, self._now_us)
        self.state = state
        self._stored = state.stored
        self._version = 0
        self._refresh()

    def _refresh(self) -> None:
        """Look again at the definitions of the path."""
        self._version = self._catalogue.seen
        self._max_uncommitted = self._catalogue.qmgr.max_uncommitted
        self._refusal = self._why_refused()
        self._watch = self._services.events.watch(self.state)

    def _why_refused(self) -> MQError | None:
        if self.state.deleted:
            return MQError(Reason.Q_DELETED, queue=self._path[-1])
        if self._catalogue.ending is Reason.Q_MGR_STOPPING:
            return MQError(Reason.Q_MGR_STOPPING)
        found: list[Queue | None] = [self._catalogue.find_queue(name) for name in self._path[:-1]]
        for definition in (*found, self.state.definition):
            if definition is not None and not getattr(definition, "get_allowed", True):
                return MQError(Reason.GET_INHIBITED, queue=definition.name)
        return None if self._catalogue.ending is None else MQError(self._catalogue.ending)

    def plan(self, options: Any) -> GetPlan:
        """What the options mean, checked against what the handle was opened for; a wrong type is refused (2046)."""
        if options is not self._options_seen:
            self._plan, self._options_seen = get_plan(options), options
        plan = self._plan
        if plan.browse or plan.unlock or plan.under_cursor:
            if not self._can_browse:
                raise MQError(Reason.NOT_OPEN_FOR_BROWSE, queue=self._path[-1])
            if plan.browse or plan.unlock:
                return plan
        if not self._can_get:
            raise MQError(Reason.NOT_OPEN_FOR_INPUT, queue=self._path[-1])
        return plan

    def get(self, plan: GetPlan, asked: Selection = ANY, max_length: int = LENGTH_ANY) -> Message | Waiting:
        """Get or browse one message (GE1)."""
        self._stats.gets += 1
        try:
            return self.look(plan, asked, max_length)
        except HeldUpError:
            self._stats.gets -= 1  # GA5
            raise

    def look(self, plan: GetPlan, asked: Selection, max_length: int) -> Message | Waiting:
        """The same, not counted as a call: what a woken getter does."""
        if self._version != self._catalogue.version:
            if not plan.browse:
                self._catalogue.gate.enter(self._caller)
            self._refresh()
        if self._refusal is not None:
            refuse(self._refusal, plan.fail_if_quiescing)
        if plan.plain:
            if asked is ANY and self._locked is None:
                arrival = self._locate(self._stored)
            else:
                arrival = self._first_for(asked, None)
            if arrival is not None and arrival.expires_us:
                arrival = self._live(arrival, lambda: self._first_for(asked, None))
        elif plan.unlock:
            return self._unlock()
        else:
            arrival = self._by_plan(plan, asked)
        if arrival is None:
            return self._nothing(plan, asked, max_length)  # GE6
        return self._deliver(arrival, plan, max_length)

    def following(self) -> Arrival | None:
        """What a get would find next; an expired message is left for the get to remove, so it counts as none."""
        arrival = self._locate(self._stored)
        return arrival if arrival is None or not arrival.expires_us else self._if_live(arrival)

    def _if_live(self, arrival: Arrival) -> Arrival | None:
        return None if expiry.has_expired(arrival.expires_us, self._now_us()) else arrival

    def _deliver(self, arrival: Arrival, plan: GetPlan, max_length: int) -> Message:
        try:
            message = self._read(arrival)
        except TornPageError as error:
            raise MQError(Reason.PAGESET_ERROR, **error.facts) from error  # GE7
        whole = message
        if len(message.body) > max_length:
            message = self._shortened(message, plan, max_length)
        if arrival.backout_count or arrival.expires_us:
            left = expiry.remaining(arrival.expires_us, self._now_us())
            message = message._replace(backout_count=arrival.backout_count, expiry=left)
        if plan.browse:
            self._stand_on(arrival, plan)
        else:
            self._remove(arrival, whole, plan)
        self.token = arrival.sequence
        return message

    def _remove(self, arrival: Arrival, message: Message, plan: GetPlan) -> None:
        """Take a message off the queue, in the unit that the options say."""
        unit: Unit | None
        if plan.in_syncpoint or (plan.if_persistent and arrival.persistent):
            messages = 2 if message.envelope.report & reports.COD else 1
            unit = self._caller.unit_in_syncpoint(self._max_uncommitted, messages)
        else:
            unit = self._unit_of_call(message) if arrival.persistent else None
        after = None if plan.plain else self._groups.after(arrival, plan)
        if plan.marks:
            self._caller.check_mark(unit)
        if arrival is self._locked:
            self._take_locked(unit, arrival)
        else:
            self._take(unit, arrival)
        if plan.marks and unit is not None:
            self._caller.marked = (unit, arrival, self._take)
        before = self._group
        if plan.logical_order:
            self._group = after
        elif before is not None:
            left_behind(before, self._caller)
            self._group = None
        if self._group is not before:
            self._caller.in_group(unit, self, before)
        if message.envelope.report & reports.COD:
            self._services.consequences.report(reports.COD, message, unit)
            if self._caller.tally is not None:
                self._caller.tally.generated()
        if self.saves_context:
            self.saved = message._replace(body=b"")
        if self._watch is not None:
            self._services.events.got(self._watch, self.state, message.put_us)

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

    def _unit_of_call(self, message: Message) -> Unit:
        """The unit of a get out of syncpoint, alone if nothing follows from the get (X5)."""
        if self._watch is None and not message.envelope.report & reports.COD:
            return self._caller.unit_of_one()
        return self._caller.unit_of_call()

    def _stand_on(self, arrival: Arrival, plan: GetPlan) -> None:
        """Move the browse cursor, and lock what it stands on if asked to (GE3, GE4, GE8)."""
        self._cursor, self.saved = arrival, None
        if plan.logical_order:
            self._browse_group = self._groups.after(arrival, plan)
        if plan.lock:
            if arrival is not self._locked:
                self.release()
                self._store.hold(arrival, self)
                self._locked = arrival
        elif self._locked is not None and plan.browse in (_BROWSE_FIRST, _BROWSE_NEXT):
            self.release()

    def _shortened(self, message: Message, plan: GetPlan, max_length: int) -> Message:
        length = len(message.body)
        short = message._replace(body=message.body[:max_length], original_length=length)
        if not plan.truncate:
            raise MQError(Reason.TRUNCATED_MSG_FAILED, message=short, length=length)  # GE5
        self._caller.warning = MQError(Reason.TRUNCATED_MSG_ACCEPTED, message=short, length=length)
        return short

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
        if plan.logical_order or plan.all_available:
            if plan.browse == _BROWSE_FIRST:
                self._browse_group = None
            check_get(self._browse_group if plan.browse else self._group, self.state.definition, asked, plan)
            return self._live_or_none(lambda: self._in_groups(plan, asked, after))
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

    # -- waiting and locks

    def _nothing(self, plan: GetPlan, asked: Selection, max_length: int) -> Waiting:
        if plan.browse and self._locked is not None:
            self.release()
        if not plan.wait:
            raise MQError(Reason.NO_MSG_AVAILABLE, queue=self._path[-1])
        direct = plan.plain and not (plan.in_syncpoint or plan.if_persistent or self.saves_context)
        alone = asked.sequence is None and self._group is None
        direct_max = max_length if direct and alone else -1
        takes_any = plan.plain and asked == ANY
        waiting = Waiting(
            asked, self.state.waiters, self, browse=bool(plan.browse), takes_any=takes_any, direct_max=direct_max
        )
        self.state.waiters.add(waiting)
        return waiting

    def put_back(self, message: Message) -> None:
        """Put a message on the queue that came straight to a getter who cannot have it (Y4)."""
        queue, unit = self.state.definition, self._caller.unit_of_call() if message.persistence else None
        rank = queue.def_priority if queue.fifo else min(message.priority, PRIORITY_MAX)
        arrival = self._store.put(unit, self._stored, message, rank)
        if unit is None and self.state.waiters:
            self.state.waiters.wake(arrival)

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

    def resume_group(self, group: Group | None) -> None:
        """Be in this group again, or in none: what was got since then is back (X6)."""
        self._group = group

    def close(self) -> None:
        """End cursor, lock and waits; warn of a group that is not complete."""
        self.release()
        self.state.waiters.handle_closed(self)
        self._cursor = None
        if self._group is not None:
            left_behind(self._group, self._caller)
