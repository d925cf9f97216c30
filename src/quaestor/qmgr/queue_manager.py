"""The queue manager: its managers built in their one order, started and stopped together.

Rules
  QM1 Each manager is given the two or three managers it leans on; nobody is given the queue manager.
  QM2 One process owns the files. Another is told who has them (2059, `in_use`).
  QM3 Starting is CSQINP1, restart from the log, the definitions, CSQINP2, then the background work. A directory
      belongs to one queue manager by name (2058).
  QM4 Stopping ends every connection (their units are backed out), then writes everything. A crash needs neither:
      restart finds the committed state.

Called by the package door, the server, tests.  Calls every manager.
"""

from collections.abc import Callable, Mapping

from quaestor.clock import Clock
from quaestor.mqi.names import checked
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command import CommandServer, InputSets, Parts, command_processor
from quaestor.qmgr.command.input_sets import AFTER_RESTART, BEFORE_RESTART
from quaestor.qmgr.connection import Connection, ConnectionManager, TaskAccount
from quaestor.qmgr.data.engine import Engine, EngineSettings
from quaestor.qmgr.message import MessageManager
from quaestor.qmgr.recovery import Restart
from quaestor.qmgr.scheduler import Scheduler
from quaestor.qmgr.security import SecurityManager
from quaestor.storage.disk import Disk, InUseError


def nobody_checks() -> str | None:
    """No profiles: security is not active."""
    return None


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
    ) -> None:
        self.name = checked(name, Reason.Q_MGR_NAME_ERROR)
        self._disk = disk
        try:
            disk.own()
        except InUseError as error:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=name, in_use=str(error)) from error
        try:
            self.command_parts = command_parts or Parts()
            self._build(clock, settings, read_profiles)
            self._input_sets = InputSets(self.commands, disk, input_sets)
        except BaseException:
            disk.disown()
            raise

    def _build(self, clock: Clock, settings: EngineSettings | None, read_profiles: Callable[[], str | None]) -> None:
        """Every manager with those it leans on (QM1)."""
        self.security = SecurityManager(read_profiles, clock)
        self.engine = Engine(self._disk, clock, settings)
        log, buffers, recovery, data = self.engine.log, self.engine.buffers, self.engine.recovery, self.engine.data
        default_page_set = min((number for number in self.engine.settings.page_sets if number), default=0)
        self.messages = MessageManager(self.name, data, recovery, self.security, clock, default_page_set)
        self.connections = ConnectionManager(self.messages, recovery, self.security, clock)
        self.commands = command_processor(
            self.name, self.engine, self.messages, self.connections, self.security, clock, self.command_parts
        )
        recovery.managers.append(self.messages)
        managers = (log, buffers, recovery, data, self.messages, self.connections)
        self.scheduler = Scheduler(recovery.latch, managers, clock, self._background_failed)

    def start(self, *, background: bool = True) -> Restart:
        """Restart, then definitions, then background work, unless the caller runs its steps (QM3)."""
        try:
            self._input_sets.run(BEFORE_RESTART)
            found = self.engine.start()
            with self.engine.recovery.latch:
                self.messages.start()
            self.commands.early = False
            self._input_sets.run(AFTER_RESTART)
        except BaseException:
            self.engine.close()
            self._disk.disown()
            raise
        if background:
            self.scheduler.start()
        return found

    def connect(self, user: str, appl_name: str = "", account: TaskAccount | None = None) -> Connection:
        return self.connections.connect(user, appl_name, account)

    def command_server(self) -> CommandServer:
        """Who answers PCF; whoever runs the queue manager lets it serve."""
        return CommandServer(self.connections, self.commands)

    def stop(self) -> None:
        """End connections and write everything (QM4); after a failure nothing is written."""
        self.scheduler.stop()
        if self.connections.failure is None:
            self.connections.stop()
            self.engine.stop()
        self._disk.disown()

    def _background_failed(self, error: BaseException) -> None:
        with self.engine.recovery.latch:
            self.connections.failed(error)

    def abandon(self) -> None:
        """Let go of everything without writing: the files belong to another process (after fork)."""
        self.connections.abandon()
        self._disk.disown()
