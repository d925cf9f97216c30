"""Getting: the way of a message from a queue to a handle, and browsing.

Rules
  GE1 The first available message that fits is found, then looked at, then taken; what stops it in between
      (too long, expired) leaves the rest as it was.
  GE5 A message longer than was asked for stays where it is (2080), or is taken shortened (2079); the true length
      is told in both. What is reported of it is not shortened.
  GE6 A get that may wait answers `Waiting` instead of 2033, and is asked again when it is posted.
  GE7 A message whose page is not whole or cannot be read stays where it is (2193) until media recovery brings the page
      back.
  GE8 A handle that saves context keeps that of the message it got last; after a browse it has none (2098).

GE2 to GE4 are of `finding`.

Called by opening (which makes an `InputPath`) and connection.  Calls finding, consequences, waiting, the store.
"""

from typing import Any, Final

from quaestor.mqi import expiry, reports
from quaestor.mqi.matching import ANY, Selection
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import PRIORITY_MAX, Queue
from quaestor.mqi.options import GetOptions, GetPlan, OpenOptions, get_plan
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.message.finding import FindingPath
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.qmgr.message.grouping import Group, left_behind
from quaestor.qmgr.message.needs import Unit
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.services import CLOSED, Services, refuse
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.message.waiting import Waiting
from quaestor.qmgr.queue_store import Arrival

LENGTH_ANY: Final = 1 << 62


class InputPath(FindingPath):
    """A handle's way from a queue: for gets, for browsing, or both."""

    __slots__ = (
        "_can_browse",
        "_can_get",
        "_catalogue",
        "_closed",
        "_max_uncommitted",
        "_options_seen",
        "_plan",
        "_refusal",
        "_stats",
        "_version",
        "_watch",
        "saves_context",
        "token",
    )

    def __init__(
        self, services: Services, state: QueueState, path: tuple[str, ...], thread: ApplicationThread, options: int
    ) -> None:
        super().__init__(services, state, path, thread)
        self._catalogue = services.catalogue
        self._stats = services.stats
        bits = int(options)
        self._can_browse = bool(bits & OpenOptions.BROWSE)
        self._can_get = bool(bits & (1 | 2 | 4))
        self.saves_context = bool(bits & OpenOptions.SAVE_ALL_CONTEXT)
        self.token = 0  # of the message last got or browsed
        self._options_seen: object = GetOptions.NONE
        self._plan: GetPlan = get_plan(GetOptions.NONE)
        self._version, self._closed = 0, False
        self._refresh()

    def _refresh(self) -> None:
        """Look again at the definitions of the path."""
        self._version = self._catalogue.seen
        self._max_uncommitted = self._catalogue.qmgr.max_uncommitted
        self._refusal = self._why_refused()
        self._watch = self._services.events.watch(self.state)

    def _why_refused(self) -> MQError | None:
        if self._closed:
            return MQError(Reason.HOBJ_ERROR, queue=self._path[-1])
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

    def _unit_of_call(self, message: Message) -> Unit:
        """The unit of a get out of syncpoint, alone if nothing follows from the get (X5)."""
        if self._watch is None and not message.envelope.report & reports.COD:
            return self._caller.unit_of_one()
        return self._caller.unit_of_call()

    def _shortened(self, message: Message, plan: GetPlan, max_length: int) -> Message:
        length = len(message.body)
        short = message._replace(body=message.body[:max_length], original_length=length)
        if not plan.truncate:
            raise MQError(Reason.TRUNCATED_MSG_FAILED, message=short, length=length)  # GE5
        self._caller.warning = MQError(Reason.TRUNCATED_MSG_ACCEPTED, message=short, length=length)
        return short

    # -- waiting

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

    def resume_group(self, group: Group | None) -> None:
        """Be in this group again, or in none: what was got since then is back (X6)."""
        self._group = group

    def close(self) -> None:
        """End cursor, lock and waits; refuse who waits for the latch; warn of a group that is not complete."""
        self._version, self._closed = CLOSED, True
        self.release()
        self.state.waiters.handle_closed(self)
        self._cursor = None
        if self._group is not None:
            left_behind(self._group, self._caller)
