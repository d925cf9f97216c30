"""A queue manager played through in simulated time: what waits for what, how fast, how long, and where it binds.

Rules
  E1  Putters put units of work on one queue, getters take them off: closed instances that begin again at once, or
      putters that arrive at a rate.  Every put and every get takes CPU, then the pages, then the commit.
  E2  A commit of persistent work waits until the log has its bytes.  One I/O of the log serves all that wait when it
      begins (group commit); `group_commit=False` takes them one by one.
  E3  Full log pages go out up to 128 to an I/O; then the current buffer, which takes two I/O times in series under dual
      logging, as in log_flow.
  E4  A put takes buffers from the pool; below 15 % stealable the deferred write process writes the oldest changed pages
      until 25 % are; below 5 % the application writes its own pages before it goes on, and where there is no buffer at
      all, the oldest.
  E5  A get of pages that were stolen reads them; then they are unused.
  E8  A channel takes units off the queue as a getter does, CPU for each message, until a batch is full or the queue is
      empty; then it confirms over the network and commits the batch.  Messages wait for the end of their batch.
  E9  Log writes take one time, or times drawn from measured ones (`log_io_samples_ms`): percentiles need the latter.
  E10 The log has a task of its own, or applications write it (`leads_max`, S6): what a force costs, those that share it
      pay once, its I/O and, where the next has to follow at once, `turn_cpu_us` of a processor.  What every unit pays
      is in `commit_cpu_us`.
  E6  The bottleneck is the part that is busiest, if it is busy enough to bind; otherwise there is no more work to do.
  E7  The same model and seed give the same run.
  E11 A run that would play more than ten million units of work is refused: nobody waits for its end.

Covers one queue manager, one queue, one pool, private queues.  Times and costs are arguments; simulation_calibration
takes them from SMF: log I/O time from the log manager's statistics, CPU from accounting, page I/O from the page sets.
Called by whoever compares a plan with a measurement.  Calls simulation_parts for log and pool, page_sets for sizes.
"""

import random
from collections.abc import Generator
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

import simpy

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.page_sets import pages_per_message
from quaestor.planner.simulation_parts import Busy, Logger, Pool, StoredUnit
from quaestor.planner.source import OutOfRangeError

Process = Generator[Any, Any, None]
BINDING_SHARE = 0.85
UNITS_MAX = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What is played: the work, and what was measured of the parts that do it."""

    message_bytes: int
    persistent: bool = True
    messages_per_commit: int = 1
    putters: int = 1
    arrivals_per_s: float | None = None
    getters: int = 1
    channels: int = 0
    batch_messages: int = 50
    network_ms: float = 1.0
    channel_cpu_us: float = 60.0
    put_cpu_us: float = 30.0
    get_cpu_us: float = 30.0
    commit_cpu_us: float = 0.0
    turn_cpu_us: float = 0.0
    leads_max: int = 0
    processors: int = 3
    log_io_ms: float = 0.6
    log_io_samples_ms: tuple[float, ...] = ()
    many_pages_io_ms: float = 3.0
    current_io_times: int = 2
    group_commit: bool = True
    put_log_bytes: float = 0.0
    get_log_bytes: float = 0.0
    buffers: int = 50_000
    page_read_ms: float = 0.23
    page_write_ms: float = 1.0
    page_ios_at_once: int = 8

    def __post_init__(self) -> None:
        at_least(0, message_bytes=self.message_bytes, getters=self.getters, putters=self.putters)
        at_least(0, put_cpu_us=self.put_cpu_us, get_cpu_us=self.get_cpu_us, commit_cpu_us=self.commit_cpu_us)
        at_least(0, turn_cpu_us=self.turn_cpu_us, leads_max=self.leads_max)
        at_least(0, channels=self.channels, network_ms=self.network_ms, channel_cpu_us=self.channel_cpu_us)
        at_least(1, batch_messages=self.batch_messages)
        for sample in self.log_io_samples_ms:
            above(0, log_io_sample_ms=sample)
        at_least(0, put_log_bytes=self.put_log_bytes, get_log_bytes=self.get_log_bytes)
        at_least(1, messages_per_commit=self.messages_per_commit, processors=self.processors)
        at_least(1, page_ios_at_once=self.page_ios_at_once)
        above(0, log_io_ms=self.log_io_ms, many_pages_io_ms=self.many_pages_io_ms)
        above(0, page_read_ms=self.page_read_ms, page_write_ms=self.page_write_ms)
        within(1, 2, current_io_times=self.current_io_times)
        if self.turn_cpu_us and not self.leads_max:
            raise OutOfRangeError("turn_cpu_us is for applications that write the log: leads_max 1 or more")
        if self.arrivals_per_s is not None:
            above(0, arrivals_per_s=self.arrivals_per_s)
        elif self.putters == 0:
            raise OutOfRangeError("putters 0 is not valid: 1 or more, or arrivals_per_s")
        elif not self.persistent and not self.put_cpu_us + self.commit_cpu_us:
            raise OutOfRangeError("put_cpu_us 0 is not valid: putters that need no time would never let it pass")
        at_least(self.pages_per_unit * 20, buffers=self.buffers)

    @property
    def pages_per_unit(self) -> int:
        return self.messages_per_commit * pages_per_message(self.message_bytes)

    @property
    def units_per_s_max(self) -> float:
        """Units of work that are put in a second at most: those that arrive, or what CPU and log let through."""
        if self.arrivals_per_s is not None:
            return self.arrivals_per_s / self.messages_per_commit
        cpu_us = self.put_cpu_us * self.messages_per_commit + self.commit_cpu_us
        force_ms = self.current_io_times * min(self.log_io_samples_ms, default=self.log_io_ms)
        by_cpu = self.processors * 1e6 / cpu_us if cpu_us else inf
        by_log = self.putters * 1e3 / force_ms if self.persistent else inf
        return min(by_cpu, by_log)


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Times in ms below which so many percent lie, and their mean."""

    p50_ms: float
    p90_ms: float
    p99_ms: float
    mean_ms: float


@dataclass(slots=True)
class Run:
    """What came of it: messages and times after the warm-up; log and page counts and `in_all` over the whole run."""

    seconds: float
    messages_put: int = 0
    messages_got: int = 0
    messages_put_in_all: int = 0
    messages_got_in_all: int = 0
    messages_on_queue: int = 0
    batches: int = 0
    put_ms: list[float] = field(default_factory=list)
    on_queue_ms: list[float] = field(default_factory=list)
    log_turns: int = 0
    log_forces: int = 0
    pages_read: int = 0
    pages_written_deferred: int = 0
    pages_written_synchronously: int = 0
    busy: dict[str, float] = field(default_factory=dict)

    @property
    def messages_per_s(self) -> float:
        """Messages that went all the way through."""
        return self.messages_got / self.seconds

    @property
    def puts_per_s(self) -> float:
        return self.messages_put / self.seconds

    @property
    def forces_per_turn(self) -> float:
        """How many commits one turn of the log served."""
        return self.log_forces / self.log_turns if self.log_turns else 0.0

    @property
    def on_queue_times(self) -> Percentiles:
        """From the commit of the put to the commit of the get, or of the channel's batch."""
        return percentiles(self.on_queue_ms)

    @property
    def put_times(self) -> Percentiles:
        return percentiles(self.put_ms)

    @property
    def bottleneck(self) -> str:
        """The part that binds (E6)."""
        part, share = max(self.busy.items(), key=lambda pair: pair[1])
        return part if share >= BINDING_SHARE else "applications"


def percentiles(times_ms: list[float]) -> Percentiles:
    """By the nearest rank; refused where nothing was timed."""
    if not times_ms:
        raise OutOfRangeError("no unit of work ended: simulate longer, or give the work more of what it waits for")
    ordered = sorted(times_ms)
    low, high, highest = (ordered[ceil(share * len(ordered)) - 1] for share in (0.5, 0.9, 0.99))
    return Percentiles(low, high, highest, sum(ordered) / len(ordered))


def simulate(model: Model, seconds: float, *, warm_up_s: float = 0.0, seed: int = 1) -> Run:
    """Play a model for so many simulated seconds after a warm-up (E7)."""
    above(0, seconds=seconds)
    at_least(0, warm_up_s=warm_up_s)
    units = model.units_per_s_max * (seconds + warm_up_s)
    if units > UNITS_MAX:
        raise OutOfRangeError(f"{units:.3g} units of work are not valid: {UNITS_MAX:,} or less; simulate shorter")
    return _Play(model, warm_up_s, seconds, seed).play()


class _Play:
    """One run: the parts, the queue and the applications."""

    def __init__(self, model: Model, warm_up_s: float, seconds: float, seed: int) -> None:
        self.model, self.warm_up_ms, self.end_ms = model, warm_up_s * 1000, (warm_up_s + seconds) * 1000
        self.env = simpy.Environment()
        self.random = random.Random(seed)  # noqa: S311  a simulation, no secret
        self.processors = simpy.Resource(self.env, model.processors)
        self.page_ios = simpy.Resource(self.env, model.page_ios_at_once)
        self.cpu_busy = Busy(model.processors, self.warm_up_ms, self.end_ms)
        self.page_busy = Busy(model.page_ios_at_once, self.warm_up_ms, self.end_ms)
        self.channel_busy = Busy(max(1, model.channels), self.warm_up_ms, self.end_ms)
        self.log = Logger(
            self.env,
            Busy(1, self.warm_up_ms, self.end_ms),
            io_ms=self._log_io_ms,
            many_pages_io_ms=model.many_pages_io_ms,
            current_io_times=model.current_io_times,
            group_commit=model.group_commit,
            leads_max=model.leads_max,
            go_on=self._go_on,
        )
        self.pool = Pool(model.buffers)
        self.queue = simpy.Store(self.env)
        self.run = Run(seconds)
        self.deferred_write: Any = None

    def play(self) -> Run:
        self.env.process(self.log.work())
        if self.model.arrivals_per_s is None:
            for _ in range(self.model.putters):
                self.env.process(self._putter())
        else:
            self.env.process(self._arrivals(self.model.arrivals_per_s))
        for _ in range(self.model.getters):
            self.env.process(self._getter())
        for _ in range(self.model.channels):
            self.env.process(self._channel())
        self.env.run(until=self.end_ms)
        run = self.run
        run.messages_on_queue = run.messages_put_in_all - run.messages_got_in_all
        run.log_turns, run.log_forces = self.log.turns, self.log.forces
        run.busy = {
            "processors": self.cpu_busy.share,
            "log": self.log.busy.share,
            "page I/O": self.page_busy.share,
            **({"channels": self.channel_busy.share} if self.model.channels else {}),
        }
        return run

    # --- applications (E1) ----------------------------------------------------------------------------------------

    def _arrivals(self, per_s: float) -> Process:
        while True:
            yield self.env.timeout(self.random.expovariate(per_s / self.model.messages_per_commit) * 1000)
            self.env.process(self._put_unit())

    def _putter(self) -> Process:
        while True:
            yield from self._put_unit()

    def _put_unit(self) -> Process:
        model, began_ms = self.model, self.env.now
        yield from self._cpu(model.put_cpu_us, model.commit_cpu_us)
        unit = StoredUnit(model.pages_per_unit, began_ms)
        yield from self._take_buffers(unit)
        yield from self._commit(model.put_log_bytes)
        unit.committed_ms = self.env.now
        self.run.messages_put_in_all += model.messages_per_commit
        self.queue.put(unit)
        if self.env.now >= self.warm_up_ms:
            self.run.messages_put += model.messages_per_commit
            self.run.put_ms.append(self.env.now - began_ms)

    def _getter(self) -> Process:
        model = self.model
        while True:
            unit = yield self.queue.get()
            yield from self._cpu(model.get_cpu_us, model.commit_cpu_us)
            yield from self._read(unit)
            yield from self._commit(model.get_log_bytes)
            self._got([unit])

    def _channel(self) -> Process:
        """Batch after batch (E8)."""
        model = self.model
        most = max(1, model.batch_messages // model.messages_per_commit)
        while True:
            batch = [(yield self.queue.get())]
            began_ms = self.env.now
            yield from self._move(batch[0])
            while len(batch) < most and self.queue.items:
                unit = yield self.queue.get()
                batch.append(unit)
                yield from self._move(unit)
            yield self.env.timeout(model.network_ms)
            yield from self._cpu(0, model.commit_cpu_us)
            yield from self._commit(model.get_log_bytes * len(batch))
            self.channel_busy.add(self.env.now, self.env.now - began_ms)
            self.run.batches += 1
            self._got(batch)

    def _move(self, unit: StoredUnit) -> Process:
        yield from self._cpu(self.model.channel_cpu_us)
        yield from self._read(unit)

    def _read(self, unit: StoredUnit) -> Process:
        """Pages that were stolen come back from the page set (E5)."""
        if self.pool.stolen(unit):
            yield from self._page_io(unit.pages * self.model.page_read_ms)
            self.run.pages_read += unit.pages
        self.pool.release(unit)

    def _got(self, units: list[StoredUnit]) -> None:
        each = self.model.messages_per_commit
        self.run.messages_got_in_all += each * len(units)
        if self.env.now >= self.warm_up_ms:
            self.run.messages_got += each * len(units)
            self.run.on_queue_ms += [self.env.now - unit.committed_ms for unit in units]

    def _cpu(self, us_per_message: float, us_per_unit: float = 0.0) -> Process:
        took_ms = (us_per_message * self.model.messages_per_commit + us_per_unit) / 1000
        if took_ms:
            with self.processors.request() as processor:
                yield processor
                yield self.env.timeout(took_ms)
                self.cpu_busy.add(self.env.now, took_ms)

    def _log_io_ms(self) -> float:
        """E9."""
        samples = self.model.log_io_samples_ms
        return self.random.choice(samples) if samples else self.model.log_io_ms

    def _go_on(self) -> Process:
        """An application that wrote the log comes back, and goes on where others wait (E10)."""
        if self.model.leads_max:
            with self.processors.request() as processor:
                yield processor
                took_ms = self.model.turn_cpu_us / 1000 if self.log.waiting else 0.0
                yield self.env.timeout(took_ms)
                self.cpu_busy.add(self.env.now, took_ms)

    def _commit(self, log_bytes_per_message: float) -> Process:
        if self.model.persistent:
            yield self.log.force(log_bytes_per_message * self.model.messages_per_commit)

    # --- pages (E4, E5) -------------------------------------------------------------------------------------------

    def _take_buffers(self, unit: StoredUnit) -> Process:
        while not self.pool.take(unit):
            pages = self.pool.write_oldest()
            self.run.pages_written_synchronously += pages
            yield from self._page_io(self._written_ms(pages))
        if self.pool.is_short and (self.deferred_write is None or self.deferred_write.triggered):
            self.deferred_write = self.env.process(self._deferred_write())
        if self.pool.is_critical:
            self.run.pages_written_synchronously += unit.pages
            yield from self._page_io(self._written_ms(unit.pages))
            self.pool.written(unit)

    def _deferred_write(self) -> Process:
        while not self.pool.has_enough:
            pages = self.pool.write_oldest()
            if pages == 0:
                return
            self.run.pages_written_deferred += pages
            yield from self._page_io(self._written_ms(pages))

    def _written_ms(self, pages: int) -> float:
        return ceil(pages / Pool.PAGES_PER_IO) * self.model.page_write_ms

    def _page_io(self, took_ms: float) -> Process:
        with self.page_ios.request() as path:
            yield path
            yield self.env.timeout(took_ms)
            self.page_busy.add(self.env.now, took_ms)
