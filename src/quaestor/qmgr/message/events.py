"""Events and monitoring: who watches queues is told that one is nearly full or served too slowly, and sees its times.

Rules
  EV1 Performance events are on when the queue manager says so (PERFMEV) and the queue does (QDPHIEV, QDPLOEV, QDPMAXEV,
      QSVCIEV). A queue that nobody watches costs nothing: its paths are plain.
  EV2 Depth high is told when a put brings the depth to QDEPTHHI per cent of MAXDEPTH or more, full when a put is
      refused (2053); either switches itself off and depth low on. Depth low is told when a get brings the depth to
      QDEPTHLO per cent or less; it switches itself off and the two others on. What is switched so is a working part:
      definitions stay as they were made.
  EV3 The service timer runs from the last get, or from the put that found the queue empty. A put or get that finds it
      above QSVCINT tells service interval high, a get below it tells OK; each switches itself off and the other on.
  EV4 An event message is as MQ makes it: format MQEVENT, PCF, with names in their whole length, and what was put, got
      and the highest depth since the last one. It goes to its event queue or nowhere: no dead letters, and nobody's
      call fails.
  EV5 Start and stop of the queue manager are told when STRSTPEV says so; these are persistent, for nobody may be there.
  EV6 A queue that is monitored (MONQ, its own or the queue manager's) remembers when it was last put to and got from,
      its highest depth, and how long its messages were on it: the mean of about the last 8 and of about the last 64.
      Others: nothing.
  EV7 What was put, got and the highest depth of a watched queue can be asked for; it begins anew, as with an event.
  EV8 A queue that is deleted is forgotten: there may be any number of dynamic ones, each with a name of its own.

Called by putting, getting, the message manager and the commands.  Calls consequences to put.
"""

from dataclasses import dataclass
from typing import NamedTuple

from quaestor.clock import Clock
from quaestor.mqi.names import NAME_MAX
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.pcf import EVENT, Parameter, PCFMessage, pack
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.qmgr.message.consequences import Consequences
from quaestor.qmgr.message.needs import Recovery
from quaestor.qmgr.message.queue_state import QueueState

PERFORMANCE_QUEUE = "SYSTEM.ADMIN.PERFM.EVENT"
QUEUE_MANAGER_QUEUE = "SYSTEM.ADMIN.QMGR.EVENT"
Q_MGR_EVENT, PERFM_EVENT = 44, 45
WARNING = 1
FULL, Q_MGR_ACTIVE, Q_MGR_NOT_ACTIVE, DEPTH_HIGH, DEPTH_LOW, SERVICE_HIGH, SERVICE_OK = (
    2053,
    2222,
    2223,
    2224,
    2225,
    2226,
    2227,
)
Q_MGR_NAME, BASE_OBJECT_NAME, REASON_QUALIFIER = 2015, 2002, 1020
TIME_SINCE_RESET, HIGH_Q_DEPTH, MSG_ENQ_COUNT, MSG_DEQ_COUNT = 35, 36, 37, 38
STOPPING = 5
US_PER_S, US_PER_MS = 1_000_000, 1000
MONITORING_AS_QMGR = -3
FEW, MANY = 8, 64
SERVICE_NONE, SERVICE_WANTS_HIGH, SERVICE_WANTS_OK = 0, 1, 2


@dataclass(slots=True)
class Watch:
    """The working part of a watched queue (EV2, EV3)."""

    definition: LocalQueue
    high: bool
    low: bool
    full: bool
    service: int
    since_us: int
    timer_us: int = 0
    enqueued: int = 0
    dequeued: int = 0
    depth_high: int = 0
    depth_high_before: int = 0
    """The highest depth, up to the last event."""

    last_put_us: int = 0
    last_get_us: int = 0
    on_queue_us: tuple[float, float] | None = None
    """Time on the queue, of few messages and of many (EV6)."""

    @property
    def depth_highest(self) -> int:
        """The highest depth since the queue is watched."""
        return max(self.depth_high, self.depth_high_before)


class Counts(NamedTuple):
    """What a watched queue has counted, in how many seconds (EV4, EV7)."""

    seconds: int
    depth_high: int
    enqueued: int
    dequeued: int


class Events:
    """Puts event messages (EV1 to EV5). Every call is made with the engine latch held."""

    def __init__(self, catalogue: Catalogue, consequences: Consequences, recovery: Recovery, clock: Clock) -> None:
        self._catalogue, self._consequences = catalogue, consequences
        self._recovery, self._clock = recovery, clock
        self._watched: dict[str, Watch] = {}
        catalogue.removed = self._forget

    def watch(self, state: QueueState) -> Watch | None:
        """How the queue is watched; None when it is not (EV1)."""
        if state.deleted:
            return None  # EV8
        queue, told = state.definition, self._catalogue.qmgr.performance_event
        wanted = queue.depth_high_event or queue.depth_low_event or queue.service_interval_event
        if not (told and (wanted or queue.depth_max_event)) and not self._monitored(queue):
            return None
        known = self._watched.get(queue.name)
        if known is None or known.definition is not queue:
            now_us = self._clock.now_us()
            known = self._watched[queue.name] = Watch(
                queue,
                told and queue.depth_high_event,
                told and queue.depth_low_event,
                told and queue.depth_max_event,
                queue.service_interval_event if told else SERVICE_NONE,
                now_us,
                now_us if state.stored.depth else 0,
            )
        return known

    def _forget(self, name: str) -> None:
        """EV8."""
        self._watched.pop(name, None)

    def _monitored(self, queue: LocalQueue) -> bool:
        """EV6: NONE of the queue manager is none at all."""
        whole = self._catalogue.qmgr.monitoring
        return whole >= 0 and (whole if queue.monitoring == MONITORING_AS_QMGR else queue.monitoring) > 0

    def watched(self, state: QueueState) -> Watch | None:
        """What is remembered of a monitored queue (EV6)."""
        return self._watched.get(state.definition.name) if self._monitored(state.definition) else None

    def put(self, watch: Watch, state: QueueState) -> None:
        """A message was put to a watched queue."""
        depth, queue = state.stored.depth, watch.definition
        watch.enqueued += 1
        watch.last_put_us = self._clock.now_us()
        watch.depth_high = max(watch.depth_high, depth)
        if watch.high and depth * 100 >= queue.depth_high_percent * queue.max_depth:
            watch.high, watch.low = False, True
            self._tell(watch, DEPTH_HIGH)
        if watch.service != SERVICE_NONE:
            if depth == 1:
                watch.timer_us = self._clock.now_us()
            else:
                self._check_slow(watch)

    def got(self, watch: Watch, state: QueueState, put_us: int) -> None:
        """A message was got from a watched queue."""
        depth, queue = state.stored.depth, watch.definition
        watch.dequeued += 1
        watch.last_get_us = now_us = self._clock.now_us()
        waited_us = max(now_us - put_us, 0)
        few, many = watch.on_queue_us or (waited_us, waited_us)
        watch.on_queue_us = few + (waited_us - few) / FEW, many + (waited_us - many) / MANY
        if watch.low and depth * 100 <= queue.depth_low_percent * queue.max_depth:
            watch.low, watch.high, watch.full = False, queue.depth_high_event, queue.depth_max_event
            self._tell(watch, DEPTH_LOW)
        if watch.service != SERVICE_NONE and watch.timer_us:
            if not self._check_slow(watch) and watch.service == SERVICE_WANTS_OK and not self._slow(watch):
                watch.service = SERVICE_WANTS_HIGH
                self._tell(watch, SERVICE_OK)
            watch.timer_us = self._clock.now_us() if depth else 0

    def refused(self, watch: Watch) -> None:
        """A put was refused because the queue is full."""
        if watch.full:
            watch.full, watch.low = False, True
            self._tell(watch, FULL)

    def _slow(self, watch: Watch) -> bool:
        return self._clock.now_us() - watch.timer_us > watch.definition.service_interval_ms * US_PER_MS

    def _check_slow(self, watch: Watch) -> bool:
        """Tell that the queue is served too slowly, if it is and that is wanted (EV3)."""
        if watch.service != SERVICE_WANTS_HIGH or not watch.timer_us or not self._slow(watch):
            return False
        watch.service = SERVICE_WANTS_OK
        self._tell(watch, SERVICE_HIGH)
        return True

    def _tell(self, watch: Watch, reason: int) -> None:
        counts = self._begun_anew(watch)
        parameters = (
            Parameter(Q_MGR_NAME, self._catalogue.qmgr.name.ljust(NAME_MAX)),
            Parameter(BASE_OBJECT_NAME, watch.definition.name.ljust(NAME_MAX)),
            Parameter(TIME_SINCE_RESET, counts.seconds),
            Parameter(HIGH_Q_DEPTH, counts.depth_high),
            Parameter(MSG_ENQ_COUNT, counts.enqueued),
            Parameter(MSG_DEQ_COUNT, counts.dequeued),
        )
        body = pack(PCFMessage(PERFM_EVENT, parameters, EVENT, comp_code=WARNING, reason=reason))
        self._consequences.put_event(PERFORMANCE_QUEUE, body, None)

    def _begun_anew(self, watch: Watch) -> Counts:
        now_us = self._clock.now_us()
        counts = Counts((now_us - watch.since_us) // US_PER_S, watch.depth_high, watch.enqueued, watch.dequeued)
        watch.depth_high_before = watch.depth_highest
        watch.since_us, watch.enqueued, watch.dequeued, watch.depth_high = now_us, 0, 0, 0
        return counts

    def reset(self, state: QueueState) -> Counts | None:
        """What a watched queue has counted since the last time; it begins anew (EV7)."""
        watch = self.watch(state)
        return None if watch is None else self._begun_anew(watch)

    # -- the queue manager itself, rule EV5

    def started(self) -> None:
        self._tell_of_queue_manager(Q_MGR_ACTIVE, ())

    def stopping(self) -> None:
        self._tell_of_queue_manager(Q_MGR_NOT_ACTIVE, (Parameter(REASON_QUALIFIER, STOPPING),))

    def _tell_of_queue_manager(self, reason: int, more: tuple[Parameter, ...]) -> None:
        qmgr = self._catalogue.qmgr
        if not qmgr.start_stop_event or self._catalogue.find(LocalQueue, QUEUE_MANAGER_QUEUE) is None:
            return
        parameters = (Parameter(Q_MGR_NAME, qmgr.name.ljust(NAME_MAX)), *more)
        body = pack(PCFMessage(Q_MGR_EVENT, parameters, EVENT, comp_code=WARNING, reason=reason))
        unit = self._recovery.begin()
        self._consequences.put_event(QUEUE_MANAGER_QUEUE, body, unit)
        self._recovery.commit(unit)
