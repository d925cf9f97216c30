"""A group of common queue servers for tests: on any engine, with servers and clients that can be killed."""

from itertools import count

from quaestor.clock import FakeClock
from quaestor.cqs.pair import Surroundings
from quaestor.cqs.policy import Policy
from quaestor.cqs.server import CommonQueueServer
from quaestor.storage.lists.memory import MemoryFacility
from quaestor.storage.lists.structure import StructureLostError
from quaestor.testing import FaultyDisk

NAMES = count(1)


class Killed(BaseException):
    """The process is gone in the middle of what it did."""


class Cable:
    """A connection to a structure that can be cut: by the loss of its facility, or with the process that uses it."""

    def __init__(self, group, facility, connection):
        self._group, self._facility, self.inner = group, facility, connection
        self.shape, self.connector = connection.shape, connection.connector
        self.dead = False

    def request(self, *operations):
        self._check()
        self._group.before_request(self)
        answer = self.inner.request(*operations)
        self._group.after_request(self)
        return answer

    def connectors(self):
        self._check()
        return self.inner.connectors()

    def forget(self, connector):
        self._check()
        self.inner.forget(connector)

    def disconnect(self):
        self._check()
        self.inner.disconnect()
        self.dead = True

    def fail(self):
        if not self.dead and self._group.reachable(self):
            self.inner.fail()
        self.dead = True

    def _check(self):
        if self.dead or not self._group.reachable(self):
            raise StructureLostError(self.shape.name)


class Group:
    """Servers on shared facilities and one disk; `lose` ends a facility with all its structures."""

    def __init__(self, policy=None, facilities=("CF01", "CF02"), connects=None, disk=None, **more):
        self.policy = policy or Policy(size=1000)
        self.disk = disk or FaultyDisk()
        self.clock = FakeClock()
        self.more = more
        self._connects = connects
        self._facilities = {name: None if connects else MemoryFacility() for name in facilities}
        self.servers, self._cables = {}, []
        self.requests, self.kill_at = 0, None

    def around(self):
        return Surroundings(
            {name: self._connect(name) for name in self._facilities}, self.disk, self.clock, self._advance, **self.more
        )

    def _connect(self, name):
        def connect(shape, connector, told):
            facility = self._facilities[name]
            made = (facility.connect if facility else self._connects[name])(shape, connector, told)
            cable = Cable(self, facility, made)
            cable.place = name
            self._cables.append(cable)
            return cable

        return connect

    def _advance(self):
        self.clock.advance(milliseconds=5)

    def start(self, name, policy=None, **options):
        self.clock.advance(seconds=1)
        server = CommonQueueServer(name, policy or self.policy, self.around(), **options)
        self.servers[name] = server
        return server.start()

    def stop(self):
        for server in self.servers.values():
            server.stop()

    def kill(self, server):
        """The process of a server is gone."""
        self.servers = {name: each for name, each in self.servers.items() if each is not server}
        for cable in self._cables:
            if cable.connector == server.name and not cable.dead:
                cable.fail()

    def lose(self, name="CF01"):
        """A coupling facility and what is in it are gone; another of its name takes its place."""
        for cable in self._cables:
            if cable.place == name:
                cable.dead = True
        self._facilities[name] = MemoryFacility()

    def reachable(self, cable):
        return cable._facility is self._facilities[cable.place]

    def before_request(self, cable):
        self.requests += 1
        if self.kill_at is not None and self.requests == self.kill_at:
            raise Killed

    def after_request(self, cable):
        if self.kill_at is not None and self.requests == self.kill_at - 0.5:
            raise Killed
