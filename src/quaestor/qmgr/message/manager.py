"""The message manager itself: its parts put together, and its face to recovery and the scheduler.

Rules
  MM1 When a unit has committed, its puts are there for others: waiters are woken, trigger messages put. When it
      has backed out, its gets are there again: waiters are woken too.
  MM2 Messages that have expired are looked for every EXPRYINT seconds, whatever the time of day was set to meanwhile,
      and once after each start, one queue per step, so that no step is long. What cannot be removed now (there is no
      log, a structure is lost, its page is not whole) is left for a later scan.
  MM3 A temporary dynamic queue does not outlive the queue manager: those found at start are removed.
  MM4 What comes to a shared queue is told by its structure, whoever put it: waiters look, and triggers are due here if
      this queue manager has a trigger monitor for it.

Called by recovery, the scheduler, connection, command.  Calls its parts.
"""

from collections.abc import Callable, Sequence
from typing import Any

from quaestor.clock import Clock
from quaestor.mqi import expiry, triggering
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.messages import Message, id_maker
from quaestor.mqi.objects import QUEUE_TYPES, DefinitionType, LocalQueue, MQObject, TriggerType
from quaestor.mqi.options import CloseOptions, OpenOptions, put1_plan
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message import administering, inquiring
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.qmgr.message.consequences import Consequences
from quaestor.qmgr.message.events import Events
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.qmgr.message.needs import Arrival, PrivateStore, Recovery, SharedQueues, Unit
from quaestor.qmgr.message.opening import Opener, OpenQueue, checked_user
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.services import Services
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.resource_manager import Task
from quaestor.qmgr.security import Access, Security
from quaestor.smf.sections.message import MessageStatistics

SCAN_STEP_MS = 1000
NS_PER_S = 1_000_000_000
FOLLOW_MS = 500
_ALTERNATE = int(OpenOptions.ALTERNATE_USER_AUTHORITY)  # the same bits as those of puts
_CONTEXT = int(
    OpenOptions.SET_ALL_CONTEXT
    | OpenOptions.SET_IDENTITY_CONTEXT
    | OpenOptions.PASS_ALL_CONTEXT
    | OpenOptions.PASS_IDENTITY_CONTEXT
)


def _resource(kind: type[MQObject]) -> str:
    """The resource class that protects an object: queues of all types share their names and their profiles."""
    return "queue" if issubclass(kind, QUEUE_TYPES) else kind.MQSC_TYPE.lower()


class MessageManager:
    """What each MQI call means (see the package)."""

    name = "message"

    def __init__(
        self,
        qmgr: str,
        store: PrivateStore,
        recovery: Recovery,
        security: Security,
        clock: Clock,
        default_page_set: int = 0,
        shared: SharedQueues | None = None,
    ) -> None:
        self.stats = MessageStatistics()
        self._shared = shared
        self._recovery = recovery
        self._security = security
        self._clock = clock
        self.catalogue = Catalogue(qmgr, store, recovery, default_page_set, shared)
        self._waited = self.catalogue.waited
        self.new_id: Callable[[], bytes] = id_maker(qmgr, clock.now_us())
        self.consequences = Consequences(self.catalogue, clock, self.new_id)
        self.events = Events(self.catalogue, self.consequences, recovery, clock)
        self._services = Services(self.catalogue, clock, self.new_id, self.consequences, self.stats, self.events)
        self._opener = Opener(self._services, security)
        self._own = ApplicationThread(recovery, qmgr, qmgr)
        self._to_scan: list[str] = []
        self._next_scan_ns = 0

    def start(self) -> None:
        """Bring the saved definitions into force (MM3)."""
        self.catalogue.load()
        for queue in tuple(self.catalogue.local_queues()):
            if queue.definition is DefinitionType.TEMPDYN:
                self._opener.remove_temporary(queue)
        self.events.started()

    # -- calls of applications

    def open(self, thread: ApplicationThread, target: Target, options: int) -> OpenQueue:
        self.stats.opens += 1
        ending = self.catalogue.ending
        if ending is not None and (ending is Reason.Q_MGR_STOPPING or int(options) & OpenOptions.FAIL_IF_QUIESCING):
            raise MQError(ending)
        return self._opener.open(thread, target, options)

    def close(self, opened: OpenQueue, options: int = CloseOptions.NONE) -> None:
        self.stats.closes += 1
        self._opener.close(opened, options)

    def close_all(self, thread: ApplicationThread) -> None:
        """Close what an application left open when it ended."""
        self.stats.close_all_handles += bool(thread.opened)
        thread.groups = None  # it refers to handles, which refer to the thread
        for opened in tuple(thread.opened):
            self._opener.close(opened)
        thread.ended()

    def put1(
        self, thread: ApplicationThread, target: Target, body: bytes | str, md: MQMD | None, options: int
    ) -> Message:
        """Open, put and close in one call; what the put options say of context and user is how the queue is opened."""
        self.stats.put1s += 1
        asked = put1_plan(options).context & _CONTEXT | int(options) & _ALTERNATE
        opened = self._opener.open(thread, target, OpenOptions.OUTPUT | asked, models=False)
        try:
            message = opened.output.put(body, md, options)  # type: ignore[union-attr] # opened for output
            self.stats.puts -= 1  # counted as MQPUT1, not as MQPUT
        except HeldUpError:
            self.stats.put1s -= 1  # GA5
            raise
        finally:
            self._opener.close(opened)
        return message

    def inquire(self, opened: OpenQueue, keywords: tuple[str, ...]) -> dict[str, Any]:
        self.stats.inquires += 1
        return self._opener.inquire(opened, keywords)

    def inquire_object(
        self, user: str, kind: type[MQObject], name: str, keywords: tuple[str, ...], alternate_user: str | None = None
    ) -> dict[str, Any]:
        """Attributes of an object that is no queue, for the application or for another user (OP1)."""
        self.stats.inquires += 1
        if alternate_user is None:
            self._security.check(user, _resource(kind), name, Access.INQUIRE)
        else:
            other = checked_user(alternate_user)
            self._security.check(user, "altuser", other, Access.UPDATE)
            self._security.check(other, _resource(kind), name, Access.INQUIRE, acting=user)
        definition = self.catalogue.find(kind, name)
        if definition is None:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=name, type=kind.MQSC_TYPE)
        return inquiring.inquire(definition, None, keywords)

    def set(self, opened: OpenQueue, values: dict[str, Any]) -> None:
        self.stats.sets += 1
        self._opener.set(opened, values)

    # -- definitions

    def define(self, user: str, definition: MQObject, *, replace: bool = False) -> None:
        self.administer(user, type(definition), definition.name)
        administering.check_definition(definition, self.catalogue.qmgr.name)
        self.catalogue.define(definition, replace=replace)
        self._opener.altered(definition)

    def administer(self, user: str, kind: type[MQObject], name: str) -> None:
        """Refuse a user who may not define, alter or delete an object of this kind and name."""
        self._security.check(user, _resource(kind), name, Access.ADMINISTER)

    def alter(self, user: str, kind: type[MQObject], name: str, **changes: Any) -> None:
        self.administer(user, kind, name)
        administering.check_changes(kind, changes)
        old = self.catalogue.find(kind, name) if "structure" in changes else None
        if type(old) is LocalQueue:
            administering.check_structure(old, changes["structure"])
        self.catalogue.alter(kind, name, **changes)
        altered = self.catalogue.find(kind, name)
        if altered is not None:
            self._opener.altered(altered)

    def delete(self, user: str, kind: type[MQObject], name: str, *, purge: bool = False) -> None:
        self.administer(user, kind, name)
        self.catalogue.delete(kind, name, purge=purge)

    def clear(self, user: str, name: str) -> int:
        """CLEAR QLOCAL: remove every message; how many there were."""
        self._security.check(user, "queue", name, Access.ADMINISTER)
        return administering.clear(self.catalogue, self._recovery, name)

    def move(self, user: str, source: str, target: str, *, add: bool, shared: bool = False) -> int:
        """MOVE QLOCAL: every message to another queue; how many there were. Of one name: to or from the shared one."""
        for name in (source, target):
            self._security.check(user, "queue", name, Access.ADMINISTER)
        return administering.move(self.catalogue, self._recovery, source, target, add=add, shared=shared)

    # -- units of recovery (MM1)

    def committed(self, unit: Unit) -> None:
        if self._waited:
            self._wake(unit.puts)
            if unit.shared is not None:
                self._wake(unit.shared.put_arrivals)
        if self.consequences.remembered:
            self.consequences.unit_ended(unit, committed=True)

    def backed_out(self, unit: Unit) -> None:
        if self._waited:
            self._wake(unit.gets)
            if unit.shared is not None:
                self._wake(unit.shared.get_arrivals)
        self.consequences.unit_ended(unit, committed=False)

    def _wake(self, arrivals: Sequence[Any]) -> None:
        waited = self._waited
        for arrival in arrivals:
            waiters = waited.get(arrival.queue.queue_id)
            if waiters is not None:
                waiters.wake(arrival)

    # -- background

    def tasks(self) -> Sequence[Task]:
        scan = Task("expiry scan", self.expiry_scan_step, SCAN_STEP_MS)
        left = Task("temporary queues", self._opener.remove_left, due=lambda: bool(self._opener.left))
        if self._shared is None:
            return scan, left
        notices = Task("messages on shared queues", self.notice_step, FOLLOW_MS, urgent=True)
        return scan, left, Task("definitions of the group", self.follow_step, FOLLOW_MS), notices

    def notice_step(self) -> bool:
        """Messages have come to shared queues: whoever waits looks, triggers may be due (MM4)."""
        for queue in () if self._shared is None else self._shared.noticed():
            state = self.catalogue.state_of(queue)
            if state is not None:
                state.waiters.arrived()
                if triggering.eligible(state.definition):
                    self.consequences.noticed(state)
        return False

    def follow_step(self) -> bool:
        """Shared queues that other members have changed are changed here too (MM4)."""
        changed = self.catalogue.follow_group()
        for queue in self.catalogue.local_queues():
            if queue.shared and triggering.eligible(queue) and queue.trigger_type is not TriggerType.EVERY:
                self._watch_for_triggers(self.catalogue.state(queue.name), changed=queue.name in changed)
        return False

    def _watch_for_triggers(self, state: QueueState, *, changed: bool) -> None:
        """Be told of what may trigger (MM4); what came before is looked at once, and when triggering may be on anew."""
        stored: Any = state.stored
        each = state.definition.trigger_type is TriggerType.DEPTH
        try:
            if stored.be_told(each=each) or changed:
                self.consequences.noticed(state)
        except MQError:
            return  # its structure cannot be reached; the next step asks again

    def expiry_scan_step(self) -> bool:
        """Remove what has expired from one queue (MM2)."""
        if not self._to_scan:
            interval_s = self.catalogue.qmgr.expiry_interval_s
            if self._next_scan_ns and (not interval_s or self._clock.monotonic_ns() < self._next_scan_ns):
                return False
            self._next_scan_ns = self._clock.monotonic_ns() + max(interval_s, 1) * NS_PER_S
            self._to_scan = [queue.name for queue in self.catalogue.local_queues()]
            if not self._to_scan:
                return False
        self.expire(self._to_scan.pop())
        return bool(self._to_scan)

    def expire(self, queue: str) -> int:
        """Remove every expired message of a queue that can be removed; how many there were (MM2)."""
        if self.catalogue.find_queue(queue) is None:
            return 0
        try:
            return self._expire(queue)
        except MQError:
            return 0

    def _expire(self, queue: str) -> int:
        now_us, state = self._clock.now_us(), self.catalogue.state(queue)
        if not state.stored.with_expiry:
            return 0
        expired = [one for one in state.store.browse(state.stored) if expiry.has_expired(one.expires_us, now_us)]
        removed = 0
        try:
            for arrival in expired:
                removed += self._expire_one(state, arrival)
        finally:
            unit, self._own.call_unit = self._own.call_unit, None
            if unit is not None:
                self._recovery.commit(unit)
        return removed

    def _expire_one(self, state: QueueState, arrival: Arrival) -> bool:
        """Remove an expired message, unless its page is not whole (GE7)."""
        try:
            self._services.expire(state.store, arrival, self._own)
        except MQError as error:
            if error.reason is not Reason.PAGESET_ERROR:
                raise
            return False
        return True

    # -- the end

    def look_again(self) -> None:
        """Let every waiter find out what holds for it now."""
        self._opener.wake_all()

    def quiesce(self, reason: Reason) -> None:
        """The queue manager ends: 2161 to those who asked to be told, 2162 to everybody."""
        self.catalogue.end(reason)
        self._opener.wake_all()
