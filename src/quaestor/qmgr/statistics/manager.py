"""The statistics manager itself: cuts intervals and tasks, keeps the traces, hands records to the dump files.

Rules
  SM1 An interval ends every STATIME seconds, when a statistics trace is stopped, and when the queue manager stops. Its
      figures are read with the engine latch held, its records are made and written without it. That of accounting is
      the same, or has a length of its own (ACCTIME). It is as long as it lasted, whatever the time of day was set to
      meanwhile, and ends now.
  SM2 A task has a record when it ends, when its trace is stopped, and at the end of an interval if it was running
      before that interval began (MP1B M-2).
  SM3 Accounting that starts finds the tasks that run: their calls are tallied from the next one on. A class that comes
      to others, or goes, finds every task with a record up to then: a class has what was done while it was traced.
  SM4 What was not yet written when the process is killed is lost: the current interval and the last moment's tasks.
  SM5 What has been counted since the last look may be asked for at any time, as the records of an interval that ended
      now, whether statistics are traced or not. Nothing ends by it.

Called by queue_manager, connection (`Accounts`), command (`start`, `stop`, `display`), server, the scheduler.
Calls collect, accounts, dump_files.
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from quaestor.clock import Clock
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.connection import Connection, ConnectionManager
from quaestor.qmgr.connection.accounted import account_for, stop_accounting
from quaestor.qmgr.connection.accounting import TaskTally
from quaestor.qmgr.connection.latch import TimedLatch
from quaestor.qmgr.message import ApplicationThread
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.qmgr.resource_manager import Task
from quaestor.qmgr.statistics.accounts import Account, Cut, TaskRecords, cut
from quaestor.qmgr.statistics.collect import Collected, Managers, collect
from quaestor.qmgr.statistics.dump_files import DumpFiles
from quaestor.qmgr.statistics.intervals import Looks
from quaestor.qmgr.statistics.settings import ACCTG, STAT, TraceError, TraceSettings, parsed
from quaestor.qmgr.statistics.traces import DESTINATION, TraceRow, Traces
from quaestor.smf.catalog import CATALOG
from quaestor.smf.writer import Interval, RecordIdentity, build_record

STEP_MS = 100
WRITE_MS = 250
NS_PER_S = 1_000_000_000
AS_STATIME = -1
"""ACCTIME: accounting has the intervals of statistics."""

_STATISTICS, _MESSAGE_MANAGER, _TASKS = 1, 1, 3


@contextmanager
def refused_as_mq_error() -> Iterator[None]:
    """A trace that cannot be is an answer to the command that asked for it."""
    try:
        yield
    except TraceError as error:
        raise MQError(Reason.OPTIONS_ERROR, why=str(error)) from error


@dataclass(frozen=True, slots=True)
class _Ended:
    """An interval whose figures have been read."""

    sections: Collected
    interval: Interval


class StatisticsManager:
    """Statistics and accounting of one queue manager (SM1 to SM5)."""

    name = "statistics"

    def __init__(
        self,
        queue_manager: str,
        managers: Managers,
        recovery: RecoveryManager,
        connections: ConnectionManager,
        clock: Clock,
        settings: TraceSettings,
        dumps: DumpFiles,
    ) -> None:
        self.settings, self.dumps = settings, dumps
        self.statime_s, self.acctime_s = settings.statime_s, settings.acctime_s or None
        self.managers, self._recovery, self._connections, self._clock = managers, recovery, connections, clock
        self._traces = Traces()
        self._looks = Looks()
        identity = RecordIdentity(settings.system, queue_manager[:4], settings.level, settings.zone_minutes)
        self._identity, self._records = identity, TaskRecords(identity)
        self._accounts: dict[ApplicationThread, Account] = {}
        self._pending: deque[_Ended | tuple[Cut, frozenset[int]]] = deque()
        self._writing = Lock()
        self._sequence = 0
        self._accounting_us = clock.now_us()
        self._interval_ns = self._accounting_ns = clock.monotonic_ns()  # when the interval began
        self._looked_ns = self._interval_ns
        connections.accounts = self

    # -- traces, as the commands see them

    def begin_traces(self) -> None:
        """The traces of the settings, at start."""
        self._accounting_us = self._clock.now_us()
        self._interval_ns = self._accounting_ns = self._looked_ns = self._clock.monotonic_ns()
        collect(self.managers, self._looks)  # what restart has counted belongs to no interval
        for kind, classes in parsed(self.settings.trace):
            self.start(kind, classes)

    def start(self, kind: str, classes: Collection[int] = (), destination: str = DESTINATION) -> int:
        """START TRACE; the trace's number (SM3)."""
        before, accounting = self._traces.classes(STAT), self._accounting()
        with refused_as_mq_error():
            number = self._traces.start(kind, classes, destination)
        if accounting != self._accounting():
            self._cut_tasks(accounting)
        if _STATISTICS in self._traces.classes(STAT) - before:
            collect(self.managers, self._looks)
            self._interval_ns = self._looked_ns = self._clock.monotonic_ns()
        if self._accounting():
            for connection, thread in self._connections.living_threads():
                if thread not in self._accounts:
                    self.begin(connection, thread)
        return number

    def stop(self, trace: int | str, classes: Collection[int] = ()) -> list[int]:
        """STOP TRACE, by number or by kind; the numbers of the traces it ended or narrowed (SM1, SM2)."""
        statistics, accounting = self._traces.classes(STAT), self._accounting()
        with refused_as_mq_error():
            stopped = self._traces.stop(trace, classes)
        if _STATISTICS in statistics - self._traces.classes(STAT):
            self._cut_statistics(self._clock.monotonic_ns())
        if accounting and not self._accounting():
            for connection, thread in self._connections.living_threads():
                self._stop_task(connection, thread, accounting)
        elif accounting != self._accounting():
            self._cut_tasks(accounting)
        return stopped

    def display(self) -> list[TraceRow]:
        """DISPLAY TRACE."""
        return self._traces.display()

    def intervals(self) -> dict[str, int]:
        """The intervals in minutes, as SET SYSTEM and DISPLAY SYSTEM see them."""
        own = AS_STATIME if self.acctime_s is None else round(self.acctime_s / 60)
        return {"STATIME": round(self.statime_s / 60), "ACCTIME": own}

    def set_interval(self, name: str, minutes: int) -> None:
        """SET SYSTEM STATIME, ACCTIME: from now on; the interval that runs ends by the new length."""
        if name == "ACCTIME" and minutes == AS_STATIME:
            self.acctime_s = None
        elif name not in {"STATIME", "ACCTIME"} or minutes < 1:
            raise MQError(Reason.OPTIONS_ERROR, interval=name, minutes=minutes)
        elif name == "ACCTIME":
            self.acctime_s = minutes * 60.0
        else:
            self.statime_s = minutes * 60.0

    def _accounting(self) -> frozenset[int]:
        return self._traces.classes(ACCTG) & {_MESSAGE_MANAGER, _TASKS}

    # -- tasks, as connection tells of them

    def begin(self, connection: Connection, thread: ApplicationThread) -> None:
        """A task is accounted for from now on."""
        if self._accounting():
            tally = TaskTally(thread, self._clock)
            latch = TimedLatch(self._recovery.latch, self._recovery.served, tally)
            self._accounts[thread] = Account(tally, tally.started_us)
            account_for(connection, tally, latch)

    def end(self, thread: ApplicationThread) -> None:
        """A task is over (SM2)."""
        account = self._accounts.pop(thread, None)
        if account is not None:
            account.tally.break_off()
            self._cut_task(account, self._accounting(), ended=True)
            account.tally.end()

    def _stop_task(self, connection: Connection, thread: ApplicationThread, classes: frozenset[int]) -> None:
        account = self._accounts.pop(thread, None)
        if account is not None:
            stop_accounting(connection, self._recovery.latch)
            self._cut_task(account, classes, ended=False)
            account.tally.end()

    def _cut_task(self, account: Account, classes: frozenset[int], *, ended: bool) -> None:
        pool_of = {number: page_set.buffer_pool for number, page_set in self.managers.buffers.page_sets.items()}
        self._pending.append((cut(account, self._clock.now_us(), pool_of, ended=ended), classes))

    # -- background

    def tasks(self) -> Sequence[Task]:
        return (
            Task("statistics interval", self.interval_step, STEP_MS, due=self._interval_over),
            Task("write SMF", self.write_step, WRITE_MS, latched=False),
        )

    def interval_step(self) -> bool:
        """End the intervals whose time it is (SM1, SM2)."""
        statistics, accounting = self._over()
        if statistics or accounting:
            self._cut_intervals(statistics=statistics, accounting=accounting)
        return False

    def _interval_over(self) -> bool:
        return any(self._over())

    def _over(self) -> tuple[bool, bool]:
        """Whether the interval of statistics is over, and that of accounting."""
        now_ns = self._clock.monotonic_ns()
        statistics = now_ns >= self._interval_ns + self.statime_s * NS_PER_S
        if self.acctime_s is None:
            return statistics, statistics
        return statistics, now_ns >= self._accounting_ns + self.acctime_s * NS_PER_S

    def _cut_intervals(self, *, statistics: bool = True, accounting: bool = True) -> None:
        now_ns = self._clock.monotonic_ns()
        if statistics:
            if _STATISTICS in self._traces.classes(STAT):
                self._cut_statistics(now_ns)
            self._interval_ns = now_ns
        if accounting:
            self._cut_tasks(self._accounting(), before_us=self._accounting_us)
            self._accounting_us, self._accounting_ns = self._clock.now_us(), now_ns

    def _cut_tasks(self, classes: frozenset[int], before_us: int | None = None) -> None:
        """A record of each task; at the end of an interval of those that ran before it began (SM2, SM3)."""
        for account in tuple(self._accounts.values()):
            began_us = account.tally.started_us
            if before_us is None or began_us < before_us or account.interval_start_us > began_us:
                self._cut_task(account, classes, ended=False)

    def _cut_statistics(self, now_ns: int) -> None:
        lasted_us, self._looked_ns = (now_ns - self._interval_ns) // 1000, now_ns
        self._pending.append(_Ended(collect(self.managers, self._looks), self._interval(lasted_us)))

    def _interval(self, lasted_us: int) -> Interval:
        """The one that ends now."""
        return Interval(self._clock.now_us() - lasted_us, lasted_us)

    def so_far(self) -> list[bytes]:
        """The records of what has been counted since the last look (SM5). The latch is not held."""
        with self._recovery.latch:
            lasted_us = (self._clock.monotonic_ns() - self._looked_ns) // 1000
            one = _Ended(collect(self.managers, self._looks.glance()), self._interval(lasted_us))
        return self._of_statistics(one)

    def write_step(self) -> bool:
        """Make records of what was cut and write them. The latch is not held."""
        with self._writing:
            records: list[bytes] = []
            intervals = 0
            while self._pending:
                one = self._pending.popleft()
                intervals += isinstance(one, _Ended)
                records += self._made(one)
            self.dumps.write(records, self._clock.now_us())
            if intervals:
                self.dumps.sync()
        return False

    def _made(self, one: _Ended | tuple[Cut, frozenset[int]]) -> list[bytes]:
        if isinstance(one, _Ended):
            return self._of_statistics(one)
        task, classes = one
        made: list[bytes] = []
        if _MESSAGE_MANAGER in classes:
            made.append(self._records.message_manager(task, task.end_us, self._next()))
        if _TASKS in classes:
            made += self._records.accounting(task, task.end_us, self._next())
        return made

    def _of_statistics(self, one: _Ended) -> list[bytes]:
        end_us = one.interval.end_us
        return [
            build_record(CATALOG[key], sections, self._identity, end_us, interval=one.interval)
            for key, sections in one.sections.items()
        ]

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    # -- the end

    def finish(self) -> None:
        """The queue manager stops: the last interval and every task, with the latch held (SM1)."""
        self._cut_intervals()

    def close(self) -> None:
        """Write what is left and end the file."""
        self.write_step()
        self.dumps.close()
