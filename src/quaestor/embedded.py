"""Embedded use: a queue manager inside the application's own process.

Rules
  EM1 `connect` opens the queue manager in a directory, or makes a new one; all connections of the process share it.
      It stops with the last of them, and at the latest when the process ends. One that was started for somebody who is
      then refused stops at once.
  EM2 Another process is told that the directory is in use (2059), and by whom.
  EM3 A child made by fork has none of the parent's connections (2009): two processes never write the same files.
  EM4 Security profiles are read from the file `profiles` of the directory; without it everything is allowed.
  EM5 What cannot be started (a damaged or missing file, another format, a bad profile) is 2059 with what is wrong and
      what to do.
  EM6 `trace` says which SMF traces start with the queue manager, such as "stat,acctg(3)", or all their settings; the
      records are in the folder `smf` of the directory. It counts for the first connection, which starts it.
  EM7 `operate` gives MQSC commands to it, with the authority of the user.
  EM8 `group` says which queue-sharing group it belongs to; that is kept, and later connections need not say it.
  EM9 `answer_commands` answers the PCF requests that wait on the command queue, with the authority of who put them; the
      first time it makes the queues that tools need. There is no thread for it: whoever puts requests calls it.
  EM10 One that has failed, or was interrupted while it stopped, keeps the files of its directory until the process ends
      (FA3). Whoever connects until then is told so, and the failure (2059); the last to disconnect is told of one in
      stopping (2009): what he had committed is there after a restart.

Called by the package door.  Calls queue_manager and disk.
"""

import asyncio
import atexit
import getpass
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import RLock

from quaestor.clock import SystemClock
from quaestor.mqi.objects import COMMAND_QUEUE
from quaestor.mqi.reasons import MQError, Reason, said
from quaestor.qmgr.command import CommandProcessor, Reply
from quaestor.qmgr.command.pcf_server import NEEDED
from quaestor.qmgr.connection import AsyncConnection, Connection
from quaestor.qmgr.connection.failing import FAILURES
from quaestor.qmgr.connection.threads import Threads
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.group_settings import GroupSettings, joining
from quaestor.qmgr.operator_log import without_passwords
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.security import ProfileError
from quaestor.qmgr.statistics import SMF_DIRECTORY, TraceSettings
from quaestor.storage.disk import Disk
from quaestor.storage.real_disk import RealDisk

PROFILES_FILE = "profiles"
USER_MAX, APPLICATION_MAX = 12, 28


def application_name(given: str | None) -> str:
    """What accounts call an application that gives itself no name: its program. What was typed in has none: python.

    The name of a file may be no text; what of it is none is told as `?`.
    """
    program = Path(sys.argv[0]).name if given is None else given
    name = "python" if given is None and program in ("", "-", "-c") else program[:APPLICATION_MAX]
    return name.encode(errors="replace").decode()


class Operator:
    """Somebody who gives commands to a queue manager of this process; it stays up as long as he is there (EM6)."""

    def __init__(self, connection: Connection, commands: CommandProcessor, user: str) -> None:
        self._connection, self._commands, self._user = connection, commands, user

    def run(self, text: str) -> Reply:
        """One MQSC command."""
        return self._commands.run(text, self._user)

    def close(self) -> None:
        self._connection.disconnect()


class Running:
    """The queue managers of this process, by directory (EM1)."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._managers: dict[Path, QueueManager] = {}

    def connect(
        self,
        name: str,
        directory: str | os.PathLike[str],
        user: str,
        application: str,
        settings: EngineSettings | None,
        traces: TraceSettings,
        group: GroupSettings | None = None,
    ) -> Connection:
        path = Path(directory).resolve()
        with self._lock:
            manager = self._managers.get(path)
            if manager is None:
                manager = self._start(name, path, settings, traces, group)
            elif manager.name != name:
                raise MQError(Reason.Q_MGR_NAME_ERROR, asked_for=name, found=manager.name)
            elif manager.failure:
                raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=name, why=manager.failure, until="this process ends")
            try:
                return manager.connections.connect(user, application, then=lambda: self._ended(path))
            except MQError:
                self._ended(path)
                raise

    def operate(
        self, name: str, directory: str | os.PathLike[str], user: str, settings: EngineSettings | None
    ) -> Operator:
        with self._lock:
            connection = self.connect(name, directory, user, "MQSC", settings, TraceSettings())
            return Operator(connection, self._managers[Path(directory).resolve()].commands, user)

    def answer_commands(self, directory: str | os.PathLike[str]) -> None:
        """EM9. While somebody else reads the queue, or nobody may, requests stay there."""
        with self._lock:
            manager = self._managers[Path(directory).resolve()]
            if not _is_asked(manager):
                return
            try:
                server = manager.command_server()
                try:
                    while server.serve_one():
                        pass
                finally:
                    server.close()
            except MQError as error:
                if error.reason not in {Reason.OBJECT_IN_USE, Reason.GET_INHIBITED}:
                    raise

    def _start(
        self,
        name: str,
        path: Path,
        settings: EngineSettings | None,
        traces: TraceSettings,
        group: GroupSettings | None,
    ) -> QueueManager:
        try:
            disk = RealDisk(path)
            manager = QueueManager(
                name,
                disk,
                SystemClock(),
                settings,
                lambda: profiles_on(disk),
                traces=traces,
                open_smf=lambda: RealDisk(path / SMF_DIRECTORY),
                join=joining(path, group),
            )
            manager.start()
        except (*FAILURES, ProfileError) as error:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=name, why=without_passwords(str(error))) from error  # EM5
        self._managers[path] = manager
        return manager

    def _ended(self, path: Path) -> None:
        """A connection has ended; the last one takes the queue manager with it."""
        with self._lock:
            manager = self._managers.get(path)
            if manager is None or manager.failure or manager.connections.connections:
                return  # EM10
            try:
                manager.stop()
            except FAILURES as error:
                raise MQError(Reason.CONNECTION_BROKEN, why=said(error)) from error
            del self._managers[path]

    def stop(self) -> None:
        """Stop every queue manager: the process ends."""
        with self._lock:
            managers, self._managers = list(self._managers.values()), {}
            with ExitStack() as every:  # one that cannot stop holds up no other
                for manager in managers:
                    every.callback(manager.stop)

    def forget(self) -> None:
        """In a child made by fork: nothing of the parent's is ours (EM3)."""
        managers, self._managers, self._lock = list(self._managers.values()), {}, RLock()
        for manager in managers:
            manager.abandon()


def _is_asked(manager: QueueManager) -> bool:
    """Whether a request waits, or a queue that tools need is not there yet (EM9)."""
    catalogue = manager.messages.catalogue
    with manager.engine.recovery.latch:
        if any(catalogue.find(type(needed), needed.name) is None for needed in NEEDED):
            return True
        return catalogue.state(COMMAND_QUEUE).stored.depth > 0


def profiles_on(disk: Disk) -> str | None:
    """The security profiles kept with the queue manager (EM4)."""
    if not disk.exists(PROFILES_FILE):
        return None
    file = disk.open(PROFILES_FILE)
    try:
        return file.read(0, file.size()).decode()
    finally:
        file.close()


_RUNNING = Running()
atexit.register(_RUNNING.stop)
os.register_at_fork(after_in_child=_RUNNING.forget)


def connect(
    name: str,
    directory: str | os.PathLike[str],
    *,
    user: str | None = None,
    application: str | None = None,
    settings: EngineSettings | None = None,
    trace: str | TraceSettings = "",
    group: GroupSettings | None = None,
) -> Connection:
    """Connect to the queue manager `name` kept in `directory`, which is made when it is not there yet (EM1)."""
    who, what = _who(user), application_name(application)
    traces = trace if isinstance(trace, TraceSettings) else TraceSettings(trace)
    return _RUNNING.connect(name, directory, who, what, settings, traces, group)


def operate(
    name: str,
    directory: str | os.PathLike[str],
    *,
    user: str | None = None,
    settings: EngineSettings | None = None,
) -> Operator:
    """Give MQSC commands to the queue manager `name` kept in `directory` (EM7)."""
    return _RUNNING.operate(name, directory, _who(user), settings)


def _who(user: str | None) -> str:
    """The user that was named, else the one of this process: by number where it has no name, as in some containers."""
    if user is None:
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = str(os.getuid())
    return user[:USER_MAX]


def answer_commands(directory: str | os.PathLike[str]) -> None:
    """Answer the PCF requests that wait in the queue manager of this process that is kept in `directory` (EM9)."""
    _RUNNING.answer_commands(directory)


async def connect_async(
    name: str,
    directory: str | os.PathLike[str],
    *,
    user: str | None = None,
    application: str | None = None,
    settings: EngineSettings | None = None,
    trace: str | TraceSettings = "",
    group: GroupSettings | None = None,
) -> AsyncConnection:
    """The same for asyncio; what comes back is a context manager for `async with`."""
    loop = asyncio.get_running_loop()
    more = {"user": user, "application": application, "settings": settings, "trace": trace, "group": group}
    connection = await Threads().call(
        lambda unseen: loop.run_in_executor(None, unseen.disconnect), connect, name, directory, **more
    )
    return AsyncConnection(connection)
