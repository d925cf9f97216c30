"""A group of common queue servers for tests: on any engine, with servers and facilities that can be lost."""

from contextlib import contextmanager

from quaestor.clock import FakeClock
from quaestor.cqs.image import Image
from quaestor.cqs.linked_pair import Surroundings
from quaestor.cqs.policy import Policy
from quaestor.cqs.redo import told_by_log
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.server import CommonQueueServer
from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.structure import StructureLostError
from quaestor.testing import FaultyDisk

READING = {"read", "first", "list", "count", "controls", "space", "holding"}


class Killed(BaseException):
    """The process is gone in the middle of what it did."""


class Steps:
    """Every step that changes something outside of a process: a request to a structure, or a write to the disk.

    `kill_at` ends the process at a step: an even number before it is done, an odd one when it is done and the process
    has not heard of it.
    """

    def __init__(self):
        self.count, self.kill_at = 0, None

    @contextmanager
    def step(self):
        self._at()
        yield
        self._at()

    def _at(self):
        self.count += 1
        if self.count - 1 == self.kill_at:
            raise Killed


class StepDisk(FaultyDisk):
    """A disk that nothing is lost from but what a killed process had not written."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def operate(self, effect):
        with self.steps.step():
            super().operate(effect)


class Cable:
    """A connection to a structure that is cut by the loss of its facility, or with the process that uses it."""

    def __init__(self, group, place, connection):
        self._group, self.place, self._inner = group, place, connection
        self._facility = group.facilities[place]
        self.shape, self.connector = connection.shape, connection.connector
        self.dead = False

    def request(self, *operations):
        self._check()
        self._group.seen(self.connector, operations)
        if all(operation.NAME in READING for operation in operations):
            return self._inner.request(*operations)
        with self._group.steps.step():
            answers = self._inner.request(*operations)
        if self._group.unanswered(self.connector, operations):
            self.fail()
            raise StructureLostError(f"{self.shape.name}: the answer is lost")
        return answers

    def connectors(self):
        self._check()
        return self._inner.connectors()

    def forget(self, connector):
        self._check()
        self._inner.forget(connector)

    def fence(self, connector):
        self._check()
        self._inner.fence(connector)

    def disconnect(self):
        self._check()
        self._inner.disconnect()
        self.dead = True

    def fail(self):
        if not self.dead and self._there():
            self._inner.fail()
        self.dead = True

    def _there(self):
        return self._facility is self._group.facilities[self.place]

    def _check(self):
        if self.dead or not self._there():
            raise StructureLostError(self.shape.name)


class Group:
    """Servers on shared facilities and one disk; `lose` ends a facility with all its structures."""

    def __init__(self, policy=None, engines=None, disk=None, **more):
        self.policy = policy or Policy(size=1000)
        self.steps = Steps()
        self.disk = disk or StepDisk(self.steps)
        self.clock = FakeClock()
        self.console = []
        self._more = more
        self._engines = engines or {"CF01": MemoryFacility, "CF02": MemoryFacility}
        self.facilities = {name: made() for name, made in self._engines.items()}
        self.servers, self._cables = {}, []
        self.watchers = []
        self.unanswered = lambda _connector, _operations: False
        """Whether a request that was done is not answered, and the connection has ended."""
        self._cut = set()

    def around(self):
        connects = {name: self._connect(name) for name in self.facilities}
        return Surroundings(connects, self.disk, self.clock, self._wait, console=self.console, **self._more)

    def _connect(self, name):
        def connect(shape, connector, told):
            if (connector, name) in self._cut:
                raise StructureLostError(f"{connector} has no way to {name}")
            cable = Cable(self, name, self.facilities[name].connect(shape, connector, told))
            self._cables.append(cable)
            return cable

        return connect

    def _wait(self):
        self.clock.advance(milliseconds=5)

    def seen(self, connector, operations):
        for watcher in self.watchers:
            watcher(connector, operations)

    def start(self, name, policy=None, **options):
        self.clock.advance(seconds=1)
        server = CommonQueueServer(name, policy or self.policy, self.around(), **options)
        self.servers[name] = server
        return server.start()

    def stop(self):
        for server in self.servers.values():
            server.stop()
        self.servers = {}

    def kill(self, name):
        """The process of a server is gone."""
        self.servers.pop(name, None)
        for cable in self._cables:
            if cable.connector == name and not cable.dead:
                cable.fail()

    def cut(self, server, facility):
        """A server has no way to a facility any more; both live."""
        self._cut.add((server, facility))
        for cable in self._cables:
            if (cable.connector, cable.place) == (server, facility):
                cable.fail()

    def mend(self, server, facility):
        """The way is there again."""
        self._cut.discard((server, facility))

    def lose(self, name="CF01"):
        """A coupling facility and what is in it are gone; an empty one of its name takes its place."""
        for cable in self._cables:
            if cable.place == name:
                cable.dead = True
        self.facilities[name] = self._engines[name]()


def on_structure(server):
    """The messages on the structures of a server's pair, and where they stand."""
    image = Image()
    for structure in server.pair.structures:
        image.take(structure.number, structure.connection)
    return image


def texts(client, queue):
    """The messages of a queue, each as its first segment."""
    return [message.segments[0].decode() for message in client.browse(queue)]


def agrees_with_log(server):
    """The log tells of the same messages, at the same places, as the structure has (RB1)."""
    server.pair.active(lambda: None)
    there, told = on_structure(server).recoverable(), told_by_log(server.pair, 1 << 62)
    assert there.placed == told.placed
    return True


def fill(client, queue, size=3000):
    """Put until the structure is full; how many messages."""
    number, full = 0, False
    while not full:
        try:
            client.put(queue, [b"%d" % number, b"f" * size])
            number += 1
        except CQSError as refused:
            full = refused.why is Why.STRUCTURE_FULL
    return number
