"""Queue managers as servers, for tests: on pages with a log, served by a thread, reached through a socket."""

import io
import socket
import threading
from pathlib import Path

import pytest

from qmgr.conftest import app, indexed, orders, other  # noqa: F401 - fixtures
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.clock import FakeClock, SystemClock
from quaestor.server import values
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import Place
from quaestor.server.home import Configuration, Home
from quaestor.server.identity import Identity
from quaestor.server.journal import Journal
from quaestor.server.limits import Limits
from quaestor.server.listeners import listen_local
from quaestor.server.process import Server
from quaestor.server.protocol import MAGIC, VERSION, Op, frame
from quaestor.server.service import Service
from quaestor.server.users import Users
from server.played import Pair

QUICK = {"heartbeat_s": 1.0, "stalled_s": 1.0, "hello_s": 1.0, "quiesce_s": 2.0}
ENGINE = {"logs": 3, "log_bytes": 1 << 20, "pages": 64, "expansion": 64}


class Serving:
    """A server on a thread of this process."""

    def __init__(self, home):
        self.home, self.out = home, io.StringIO()
        self.server = Server(home, self.out)
        self.service, self.manager = self.server.service, self.server.manager
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return self.server.address

    @property
    def place(self):
        return Place("QM1", path=self.home.socket)

    def connect(self, *, client=b"", shared=False, reconnect_s=0.0, place=None, **said):
        hello = hello_of("QM1", said.get("user"), said.get("password"), "test", client, reconnects=bool(reconnect_s))
        return LINKS.connect(place or self.place, hello, shared=shared, reconnect_s=reconnect_s)

    def stop(self):
        if self.thread.is_alive():
            self.service.ask(self.service.stop)
            self.thread.join(30)
        assert not self.thread.is_alive()

    def log(self):
        return self.out.getvalue()

    def wait_for(self, condition, seconds=10.0):
        """Until something holds in the server."""
        pause = threading.Event()
        for _ in range(int(seconds / 0.01)):
            if condition():
                return
            pause.wait(0.01)
        raise AssertionError("it did not come about in time")

    def idle(self):
        """No link is left."""
        self.wait_for(lambda: not self.service.links)


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "QM1")
    home.create(Configuration("QM1", listen="127.0.0.1:0", security=False, limits=QUICK, engine=ENGINE))
    return home


@pytest.fixture
def serve(home):
    """Start the server, any number of times one after the other."""
    started = []

    def start():
        started.append(Serving(home))
        return started[-1]

    yield start
    for serving in started:
        serving.stop()


@pytest.fixture
def server(serve):
    return serve()


HELLO = {"versions": [VERSION], "user": "ALICE"}
OPEN_FOR_ALL = int(EVERYTHING)


def hello(said):
    return frame(Op.HELLO, 0, 0, 1, MAGIC + values.pack(said))


def call(*words, number=3):
    return frame(Op.CALL, 0, 1, number, values.pack(list(words)))


class Turns:
    """A service of a small queue manager, turn by turn."""

    def __init__(self, directory, clock=None, **limits):
        self.small, self.out = page_queue_manager(), io.StringIO()
        self.small.queue("ORDERS")
        manager, clock = self.small.manager, clock or SystemClock()
        identity = Identity(Users(directory / "users"), security=False)
        self.service = Service(manager, identity, Journal(clock, self.out), clock, Limits(**limits), None)
        self.peers = []

    def link(self):
        """The client's end of a new link."""
        here, there = socket.socketpair()
        self.service.arrivals.accepted(there, "test", None)
        here.setblocking(False)
        self.peers.append(here)
        return here

    def say(self, peer, *frames):
        """Send, let the service work, and give what came: bytes, or None when the link has ended."""
        peer.send(b"".join(frames))
        self.turn(3)
        try:
            return peer.recv(1 << 20) or None
        except BlockingIOError:
            return b""

    def turn(self, times=1):
        for _ in range(times):
            self.service.turn(self.service._readiness.now())

    def introduced(self):
        peer = self.link()
        assert self.say(peer, hello(HELLO))
        assert self.say(peer, call("connect", number=1))
        assert self.say(peer, call("open", "ORDERS", "", "", OPEN_FOR_ALL, number=2))
        return peer

    def last_line(self):
        return self.out.getvalue().splitlines()[-1]

    def forget_peers(self):
        for peer in self.peers:
            peer.close()
        self.peers = []
        self.turn()


class Door:
    """A queue manager behind a socket, with the face of the small queue managers of the MQI tests."""

    def __init__(self, directory: Path, disk=None):
        self.small = page_queue_manager(disk=disk)
        self.clock, self.messages, self.manager = self.small.clock, self.small.messages, self.small.manager
        self.security, self.connections = self.small.security, self.small.connections
        self.attributes = self.small.attributes
        self.directory, self.sockets = directory, []
        journal = Journal(SystemClock(), io.StringIO())
        identity = Identity(Users(directory / "users"), security=False)
        self.service = Service(self.manager, identity, journal, SystemClock(), Limits())
        self.service.arrivals.listen(listen_local(directory / "socket"))
        self.thread = threading.Thread(target=self.service.run, daemon=True)
        self.thread.start()

    def connect(self, user="ALICE", account=None):
        assert account is None
        made = LINKS.connect(Place("QM1", path=self.directory / "socket"), hello_of("QM1", user, None, "test"))
        self.sockets.append(made._link._sock)
        return made

    def scan(self):
        self.small.scan()

    def queue(self, name="ORDERS", **attributes):
        return self.small.queue(name, **attributes)

    def stop(self):
        for sock in self.sockets:
            sock.close()
        self.service.ask(self.service.stop)
        self.thread.join(30)
        assert not self.thread.is_alive()


@pytest.fixture
def qm(tmp_path):
    """What the tests of the MQI are given here: the same queue manager, behind the door."""
    door = Door(tmp_path)
    yield door
    door.stop()


@pytest.fixture
def turns(tmp_path):
    """A service on a clock that the test moves."""
    made = []

    def make(**limits):
        clock = FakeClock()
        made.append(Turns(tmp_path, clock, **limits))
        made[-1].clock = clock
        return made[-1]

    yield make
    for one in made:
        one.forget_peers()
        one.service._close()


@pytest.fixture
def place():
    """Where a client finds a queue manager that the test plays."""
    pair = Pair()
    yield pair
    for side in pair.sides:
        side.sock.close()
