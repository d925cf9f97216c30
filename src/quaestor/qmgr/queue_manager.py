"""The queue manager: its managers built in their one order, started and stopped together.

Rules
  QM1 Each manager is given the two or three managers it leans on; nobody is given the queue manager.
  QM2 One process owns the files. Another is told who has them (2059, `in_use`). A member of a queue-sharing group that
      starts while a peer reads its log waits for that, at most three seconds.
  QM3 Starting is CSQINP1, restart from the log, the definitions, copies of the group's definitions, CSQINP2, then the
      background work. A directory belongs to one queue manager by name (2058).
  QM4 Stopping ends every connection (their units are backed out), then writes everything. A crash needs neither:
      restart finds the committed state. A stop that fails or is interrupted is a failure.
  QM5 A member of a queue-sharing group joins it after restart and before its definitions: what it left in structures is
      resolved by its log first.

Called by the package door, the server, tests.  Calls every manager.
"""

from collections.abc import Callable, Mapping, Sequence
from errno import ENOENT
from threading import Event
from typing import Any, Protocol

from quaestor.clock import Clock
from quaestor.mqi.names import checked
from quaestor.mqi.reasons import MQError, Reason, said
from quaestor.qmgr.command import CommandServer, Copies, InputSets, Parts, command_processor
from quaestor.qmgr.command.group_part import SharingGroup
from quaestor.qmgr.command.input_sets import AFTER_RESTART, BEFORE_RESTART
from quaestor.qmgr.connection import Connection, ConnectionManager
from quaestor.qmgr.data.engine import Engine, EngineSettings
from quaestor.qmgr.message import MessageManager
from quaestor.qmgr.message.needs import SharedQueues
from quaestor.qmgr.one_processor import OneProcessor
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.processors import Processors
from quaestor.qmgr.recovery import RecoveryManager, Restart
from quaestor.qmgr.resource_manager import ResourceManager
from quaestor.qmgr.scheduler import HasTasks, Scheduler
from quaestor.qmgr.security import SecurityManager
from quaestor.qmgr.statistics import DumpFiles, StatisticsManager, TraceSettings
from quaestor.qmgr.statistics.collect import Managers
from quaestor.qmgr.statistics.metrics import PREFIX, Observed, exposition
from quaestor.qmgr.statistics.operator import OperatorTraces
from quaestor.smf.sections.coupling_facility import SharedMessageDataSetStatistics, StructureFigures
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.storage.disk import Disk, InUseError

OWN_TRIES, OWN_WAIT_S = 30, 0.1


def _own(disk: Disk, tries: int) -> None:
    """Own the files; a member of a group waits for a peer that is just recovering it (QM2)."""
    for _ in range(tries - 1):
        try:
            disk.own()
        except InUseError:
            Event().wait(OWN_WAIT_S)
        else:
            return
    disk.own()


def nobody_checks() -> str | None:
    """No profiles: security is not active."""
    return None


def no_smf_directory() -> Disk:
    """Nobody said where SMF records go."""
    raise FileNotFoundError(ENOENT, "no directory for SMF records was given")


class GroupMember(SharedQueues, ResourceManager, Protocol):
    """The coupling facility manager, as the queue manager starts and stops it."""

    nudge: Callable[[], None]
    """What it calls when it is worth running the background steps at once."""

    def start(self, log_end: int) -> Any: ...

    def stop(self) -> None: ...

    def operated(self) -> SharingGroup: ...

    def structure_figures(self) -> Sequence[StructureFigures]: ...

    def data_set_figures(self) -> Sequence[SharedMessageDataSetStatistics]: ...

    def repository_figures(self) -> Db2Statistics | None: ...


Join = Callable[[str, RecoveryManager, Clock, OperatorLog], GroupMember]
"""How a queue manager becomes a member of a queue-sharing group; what it needs is not installed everywhere."""


class QueueManager:
    """Managers in their order (QM1)."""

    def __init__(
        self,
        name: str,
        disk: Disk,
        clock: Clock,
        settings: EngineSettings | None = None,
        read_profiles: Callable[[], str | None] = nobody_checks,
        command_parts: Parts | None = None,
        input_sets: Mapping[str, str] | None = None,
        traces: TraceSettings | None = None,
        open_smf: Callable[[], Disk] = no_smf_directory,
        join: Join | None = None,
    ) -> None:
        self.name = checked(name, Reason.Q_MGR_NAME_ERROR)
        self._disk, self._clock, self._started_us = disk, clock, clock.now_us()
        try:
            _own(disk, tries=1 if join is None else OWN_TRIES)
        except InUseError as error:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=name, in_use=str(error)) from error
        try:
            self.command_parts = command_parts or Parts()
            self._build(clock, settings, read_profiles, traces or TraceSettings(), open_smf, join)
            self._input_sets = InputSets(self.commands, disk, input_sets)
        except BaseException:
            disk.disown()
            raise

    def _build(
        self,
        clock: Clock,
        settings: EngineSettings | None,
        read_profiles: Callable[[], str | None],
        traces: TraceSettings,
        open_smf: Callable[[], Disk],
        join: Join | None,
    ) -> None:
        """Every manager with those it leans on (QM1)."""
        self.operator_log = OperatorLog(self.name, clock)
        self.security = SecurityManager(read_profiles, clock)
        self.engine = Engine(self._disk, clock, settings)
        self.engine.log.files.tell = self.engine.data.space.tell = self.operator_log.say
        log, buffers, recovery, data = self.engine.log, self.engine.buffers, self.engine.recovery, self.engine.data
        default_page_set = min((number for number in self.engine.settings.page_sets if number), default=0)
        self.shared = None if join is None else join(self.name, recovery, clock, self.operator_log)
        self.messages = MessageManager(self.name, data, recovery, self.security, clock, default_page_set, self.shared)
        self.connections = ConnectionManager(self.messages, recovery, self.security, clock, self.engine.express)
        self.connections.on_failure = log.give_up
        recovery.managers += [self.messages] if self.shared is None else [self.shared, self.messages]
        sections = Managers(log, buffers, self.engine.locks, data, self.messages, self.shared)
        dumps = DumpFiles(self.name, open_smf, traces, self.operator_log)
        self.statistics = StatisticsManager(self.name, sections, recovery, self.connections, clock, traces, dumps)
        if self.command_parts.traces is None:
            self.command_parts.traces = OperatorTraces(self.statistics)
        if self.shared is not None:
            self.command_parts.group = self.shared.operated()
        self.commands = command_processor(
            self.name, self.engine, self.messages, self.connections, self.security, clock, self.command_parts
        )
        self.commands.tell = self.operator_log.say
        if self.command_parts.group is not None:
            self.command_parts.group.answer_with(self.commands.scope.answer)
        self.copies = Copies(self.commands, self.messages.catalogue, self.command_parts, self.operator_log.say)
        awake = self.engine.settings.awake
        self.processors = Processors(lambda: log.hardened, self.operator_log.say, awake=awake)
        self.one_processor = OneProcessor(self.operator_log.say, asked=self.engine.settings.one_processor)
        if self.one_processor.asked:
            log.on_wait = self.one_processor.join
        managers: list[HasTasks] = [log, buffers, recovery, data, self.messages, self.connections, self.statistics]
        managers += [self.processors, self.one_processor, self.commands]
        if self.shared is not None:
            managers += [self.shared, self.copies]
        self.scheduler = Scheduler(recovery.latch, managers, clock, self._failed, recovery.served)
        data.space.nudge = self.scheduler.nudge
        if self.shared is not None:
            self.shared.nudge = self.scheduler.nudge

    def start(self, *, background: bool = True) -> Restart:
        """Restart, then definitions, then background work, unless the caller runs its steps (QM3)."""
        try:
            self._input_sets.run(BEFORE_RESTART)
            found = self.engine.start()
            with self.engine.recovery.latch:
                if self.shared is not None:
                    self.shared.start(found.end_rba)
                self.messages.start()
                self.statistics.begin_traces()
            self.commands.early = False
            self.copies.start()
            self._input_sets.run(AFTER_RESTART)
        except BaseException:
            if self.shared is not None:
                self.shared.stop()
            self.engine.close()
            self._disk.disown()
            raise
        self._started_us = self._clock.now_us()
        self.operator_log.say("CSQY022I", "the queue manager has started", log_rba=f"{self.engine.log.end:012X}")
        if background:
            self.engine.recovery.in_steps = True
            self.scheduler.start()
        return found

    def connect(self, user: str, appl_name: str = "") -> Connection:
        return self.connections.connect(user, appl_name)

    def command_server(self) -> CommandServer:
        """Who answers PCF; whoever runs the queue manager lets it serve."""
        return CommandServer(self.connections, self.commands)

    def stop(self) -> None:
        """End connections and write everything (QM4); after a failure nothing is written."""
        try:
            self._stop()
        except BaseException as error:
            self._failed(error)
            raise

    def _stop(self) -> None:
        self.scheduler.stop()
        self.processors.rest()
        self.one_processor.rest()
        if self.connections.failure is None:
            self.connections.stop()
            with self.engine.recovery.latch:
                self.statistics.finish()
                if self.shared is not None:
                    self.shared.stop()
            self.engine.stop()
        self.statistics.close()
        self.operator_log.say("CSQY003I", "the queue manager has stopped")
        self._disk.disown()

    def metrics(self, prefix: str = PREFIX) -> str:
        """The figures of now as Prometheus text."""
        dumps = self.statistics.dumps
        with self.engine.recovery.latch:
            now_us = self._clock.now_us()
            uptime_s = (now_us - self._started_us) / 1e6
            observed = Observed(
                self.statistics.managers,
                self.messages.catalogue,
                self.connections.connections,
                uptime_s,
                dumps.written,
                dumps.lost,
                self.messages.events,
                now_us,
            )
            return exposition(observed, prefix)

    @property
    def failure(self) -> str:
        """Why the queue manager does not work any more; empty while it does."""
        return "" if self.connections.failure is None else said(self.connections.failure)

    def _failed(self, error: BaseException) -> None:
        with self.engine.recovery.latch:
            self.connections.failed(error)
        self.operator_log.say("CSQV086E", "the queue manager cannot go on", error=said(error))

    def abandon(self) -> None:
        """Let go of everything without writing: the files belong to another process (after fork)."""
        self.connections.abandon()
        self.processors.rest()
        self.statistics.dumps.forget()
        self._disk.disown()
