"""Small queue managers for tests: on the in-memory model, and on real pages."""

from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Event, Thread
from typing import Any
from weakref import finalize

from model.memory_store import MemoryRecovery, MemoryStore
from qmgr.shared.sharing import STRUCTURE, Sharing
from quaestor.clock import FakeClock
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import OpenOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.message import MessageManager
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.security import SecurityManager
from quaestor.testing import SMALL, FaultyDisk


class SetClock(FakeClock):
    """A clock whose time of day somebody has set; time itself goes on."""

    off_us = 0

    def now_us(self):
        return self.us + self.off_us

    def set(self, *, hours):
        self.off_us += hours * 3_600_000_000


@dataclass
class Small:
    """A queue manager and what a test looks at from outside."""

    clock: FakeClock
    messages: MessageManager
    connections: ConnectionManager
    security: SecurityManager
    manager: Any = None
    attributes: dict = field(default_factory=dict)

    def connect(self, user="ALICE"):
        return self.connections.connect(user, "test")

    def scan(self):
        """Every step of the expiry scan that is due, as the scheduler makes them."""
        with self.messages._recovery.latch:
            while self.messages.expiry_scan_step():
                pass

    def queue(self, name="ORDERS", **attributes):
        """Define a local queue that may be shared."""
        with self.connect() as app:
            app.define(LocalQueue(name, **{"share": True, "def_exclusive": False} | self.attributes | attributes))
        return name


def memory_queue_manager(profiles=None):
    clock, store, recovery = FakeClock(), MemoryStore(), MemoryRecovery()
    security = SecurityManager(lambda: profiles, clock)
    messages = MessageManager("QM1", store, recovery, security, clock)
    recovery.managers = [store, messages]
    messages.start()
    return Small(clock, messages, ConnectionManager(messages, recovery, security, clock), security)


def page_queue_manager(profiles=None, disk=None, clock=None):
    clock = clock or FakeClock()
    manager = QueueManager("QM1", disk or FaultyDisk(), clock, SMALL, lambda: profiles)
    manager.start(background=False)
    return Small(clock, manager.messages, manager.connections, manager.security, manager)


def shared_queue_manager():
    """A member of a queue-sharing group whose queues are shared."""
    folder = Path(mkdtemp())
    sharing = Sharing(folder)
    manager = sharing.start("QM1")
    finalize(manager, rmtree, folder, ignore_errors=True)
    attributes = {"structure": STRUCTURE}
    return Small(sharing.clock, manager.messages, manager.connections, manager.security, manager, attributes)


class CallBeside:
    """A call in a thread of its own; how it ended."""

    def __init__(self, call):
        self._call, self.ended = call, None
        self._thread = Thread(target=self._run, daemon=True)

    def start(self):
        self._thread.start()

    def join(self):
        """How it ended."""
        self._thread.join(5)
        return self.ended

    def _run(self):
        try:
            self._call()
            self.ended = "well"
        except MQError as error:
            self.ended = error.reason


class HeldForce(CallBeside):
    """One that stays in the next force of the log until it is let go."""

    def __init__(self, log, monkeypatch, call):
        super().__init__(call)
        self._there, self._go = Event(), Event()
        force_all = log._force_all

        def held(*given):
            monkeypatch.setattr(log, "_force_all", force_all)
            self._there.set()
            assert self._go.wait(5)
            return force_all(*given)

        monkeypatch.setattr(log, "_force_all", held)

    def __enter__(self):
        self._thread.start()
        assert self._there.wait(5)
        return self

    def __exit__(self, *_):
        self._go.set()
        self._thread.join(5)


KINDS = {"memory": memory_queue_manager, "pages": page_queue_manager, "shared": shared_queue_manager}


EVERYTHING = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT | OpenOptions.BROWSE | OpenOptions.INQUIRE | OpenOptions.SET
