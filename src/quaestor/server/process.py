"""Process: a queue manager from its start to its end, in a process of its own.

Rules
  PR1 Order: own the directory and restart from the log; write the process number; open the sockets; serve. Backwards
      at the end. An application that can connect therefore finds a queue manager that is up.
  PR2 SIGTERM quiesces, a second one or SIGINT stops at once. Either way units in flight are backed out and everything
      is written. After a failure of the engine nothing is written, and the exit code is 1.
      SIGHUP reads the profiles again.
  PR3 The number of files that may be open is raised as far as the system allows, so that the limit is ours.
  PR4 In a process of its own Python's collector looks at everything once (`collector`): a look at a deep queue would
      hold everybody up.

Called by cli and tests.  Calls service, home, validity, the queue manager.
"""

import contextlib
import os
import resource
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TextIO

from quaestor.clock import SystemClock
from quaestor.mqi.reasons import MQError, Reason, said
from quaestor.qmgr.connection.failing import FAILURES
from quaestor.qmgr.group_settings import joining
from quaestor.qmgr.operator_log import without_passwords
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.security import ProfileError
from quaestor.qmgr.statistics import SMF_DIRECTORY
from quaestor.server import collector
from quaestor.server.administration import Administration
from quaestor.server.home import Home
from quaestor.server.identity import Identity
from quaestor.server.journal import Journal
from quaestor.server.listeners import ListenError, listen_local, listen_tcp
from quaestor.server.service import Service
from quaestor.server.users import Users
from quaestor.server.validity import Watch
from quaestor.storage.real_disk import RealDisk


class Server:
    """One queue manager as a process (PR1-PR4)."""

    def __init__(self, home: Home, out: TextIO, *, signals: bool = False) -> None:
        self.home, self._signals = home, signals
        self.configuration = configuration = home.configuration()
        self._limits = home.limits(configuration)
        self._clock = SystemClock()
        self.journal = Journal(self._clock, out, home.audit, configuration.name, configuration.log)
        try:
            self.manager = self._start()
        except MQError:
            self.journal.close()
            raise
        self.address = ""
        self.administration: Administration | None = None
        try:
            self._open()
        except (ListenError, OSError) as error:
            self._stop()
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=configuration.name, why=str(error)) from error

    def _start(self) -> QueueManager:
        home, configuration = self.home, self.configuration
        try:
            manager = QueueManager(
                configuration.name,
                RealDisk(home.directory),
                self._clock,
                home.settings(configuration),
                lambda: home.read_profiles(configuration),
                traces=home.traces(configuration),
                open_smf=lambda: RealDisk(home.directory / SMF_DIRECTORY),
                join=joining(home.directory),
            )
            manager.start()
        except (*FAILURES, ProfileError) as error:
            why = without_passwords(str(error))
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, qmgr=configuration.name, why=why) from error
        return manager

    def _open(self) -> None:
        """Everything an application can reach (PR1)."""
        home, configuration, manager = self.home, self.configuration, self.manager
        _raise_file_limit()
        manager.security.refused = lambda refusal: self.journal.audit("QSV021W", **refusal.facts)
        identity = Identity(Users(home.users), security=configuration.security)
        self.service = Service(manager, identity, self.journal, self._clock, self._limits, manager.commands)
        self.administration = Administration(manager, configuration.metrics, configuration.metrics_prefix)
        self.administration.on_stop(
            lambda: self.service.ask(self.service.quiesce), lambda: self.service.ask(self.service.stop)
        )
        if configuration.metrics:
            self.journal.tell("QSV002I", metrics=self.administration.metrics_address)
        if not configuration.security:
            self.journal.tell("QSV006W")
        if self._signals:
            self._handle_signals()  # before anybody can know whom to send them to
        home.pid.write_text(f"{os.getpid()}\n")
        if configuration.listen:
            tls = home.tls(configuration)
            listener = listen_tcp(configuration.listen, tls=tls is not None, plain_allowed=configuration.plain)
            host, port = listener.getsockname()[:2]
            self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            self.service.arrivals.listen(listener, None if tls is None else tls.context())
            home.address.write_text(self.address + "\n", encoding="utf-8")
            self.journal.tell("QSV002I", address=self.address, tls=tls is not None)
            if tls is not None:
                self._watch(tls.certificate)
        self.service.arrivals.listen(listen_local(home.socket))
        self.journal.tell("QSV002I", socket=str(home.socket))
        self.journal.tell("QSV001I", qmgr=configuration.name, pid=os.getpid())

    def _watch(self, certificate: Path) -> None:
        """A warning when its dates are not what clients want, now or as time goes on (VD1, VD4)."""
        tell = partial(self.journal.tell, "QSV007W", certificate=str(certificate))
        watch = Watch(certificate.read_bytes(), self._clock, lambda why: tell(why=why))
        watch.look()
        self.service.at_sweeps.append(watch.look)

    def _handle_signals(self) -> None:
        """SIGTERM and SIGINT (PR2)."""
        signal.signal(signal.SIGTERM, lambda *_: self.service.ask(self._terminate()))
        signal.signal(signal.SIGINT, lambda *_: self.service.ask(self.service.stop))
        signal.signal(signal.SIGHUP, lambda *_: self.service.ask(self._refresh))

    def _terminate(self) -> Callable[[], None]:
        return self.service.stop if self.service.quiescing else self.service.quiesce

    def _refresh(self) -> None:
        """Read the profiles again; bad ones leave those in force that are."""
        try:
            with self.manager.engine.recovery.latch:
                self.manager.security.refresh()
        except ProfileError as error:
            self.journal.tell("QSV014E", why=str(error))

    def run_alone(self) -> int:
        """Serve in a process that does nothing else (PR4)."""
        collector.look_once()
        return self.run()

    def run(self) -> int:
        """Serve until stopped; the exit code."""
        self.service.run()
        failure = self.manager.connections.failure
        if failure is not None:
            self.journal.tell("QSV005E", why=said(failure))
        self._stop()
        return 0 if failure is None else 1

    def _stop(self) -> None:
        for path in (self.home.socket, self.home.address):
            path.unlink(missing_ok=True)  # while the directory is ours: another may own it as soon as the manager stops
        if self.administration is not None:
            self.administration.close()
        self.manager.stop()
        if self.administration is not None:
            self.administration.end()
        with contextlib.suppress(OSError, ValueError):
            if int(self.home.pid.read_text()) == os.getpid():
                self.home.pid.unlink()
        self.journal.tell("QSV004I", qmgr=self.configuration.name)
        self.journal.close()


def _raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < min(hard, 65_536):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
