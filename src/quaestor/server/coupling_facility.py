"""The coupling facility: a process that holds list structures for the queue managers of this machine.

Rules
  FA1 One thread serves all sockets; a request is done before the next one is looked at, so requests are in one order.
  FA2 A connector whose request socket ends without `disconnect` has failed, and stays known as failed until a peer has
      recovered it.
  FA3 Nobody is waited for: what a socket does not take at once is kept and sent when it does. One that has more than
      `UNSENT_MAX` to take is dropped; that ends the connector, never the facility.
  FA4 What is no frame of ours, or asks what cannot be, ends that socket, with one line in the log. When no file is
      left for another socket there is a line too, and whoever comes waits until one of the others has ended.
  FA5 The memory of this process is the structure: when it ends, structures are lost and are recovered from the logs of
      the queue managers, as after the loss of a real one.
  FA6 Structures have no cycles. In a process of their own the cyclic collector would walk over every entry again and
      again for nothing.
  FA7 A structure that was rebuilt in another facility is refused with where it is (RB1). One that ends when everything
      has moved leaves its name to the other.

Called by `quaestor cf start`.  Calls storage.lists, structure_rebuild, readiness.
"""

import logging
import socket
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import msgpack

from quaestor.readiness import READ, WRITE, Readiness
from quaestor.server import collector
from quaestor.server.structure_rebuild import Rebuilding, moved_to
from quaestor.storage.lists.client import LENGTH, RECEIVE, frames
from quaestor.storage.lists.facility import MemoryConnection, MemoryFacility
from quaestor.storage.lists.redis_engine import LOOK_AT_ALL
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal

LOG = logging.getLogger("quaestor.cf")
UNSENT_MAX = 128 << 20
PATIENCE_S = 60.0
PREFIX = LENGTH.size
_unpacked = msgpack.unpackb


class _Link:
    """One socket and what it is for."""

    __slots__ = ("answer", "connection", "moved", "number", "parted", "receive", "received", "send", "sock", "unsent")

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock, self.number = sock, sock.fileno()
        self.received, self.unsent = bytearray(), bytearray()
        self.connection: MemoryConnection | None = None
        self.receive, self.send = sock.recv_into, sock.send
        self.answer: Callable[[Any], tuple[list[Any], int, int]] = _not_connected
        self.parted = False
        self.moved = ""


def _not_connected(_request: Any) -> tuple[list[Any], int, int]:
    raise ValueError("a request before `connect`")


class CouplingFacility:
    """Structures and the sockets of their connectors."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.facility = MemoryFacility()
        self._listeners: dict[tuple[str, str], _Link] = {}
        self._links: dict[int, _Link] = {}
        self._verbs: dict[str, Callable[..., Any]] = {
            "connect": self._connect,
            "listen": self._listen,
            "connectors": self._connectors,
            "forget": self._forget,
            "fence": self._fence,
            "disconnect": self._disconnect,
            "status": self._status,
        }
        self._rebuilding = Rebuilding(self.facility, self.path, self._moved_away)
        self._verbs |= self._rebuilding.verbs
        self._packed = msgpack.Packer().pack  # one for all, and one room to receive in: there is one thread (FA1)
        self._room = memoryview(bytearray(RECEIVE))
        self._server = self._listening()
        self._woken, self._waker = socket.socketpair()
        self._sockets = Readiness()
        self._accepting, self._ending = self._server.fileno(), self._woken.fileno()
        self._sockets.watch(self._accepting, READ, self._server)
        self._sockets.watch(self._ending, READ, self._woken)

    def _listening(self) -> socket.socket:
        """The socket, in place of that of a facility that is gone; any other file stays, and is in the way."""
        server = socket.socket(socket.AF_UNIX)
        try:
            if self.path.is_socket() or self.path.is_symlink():
                self.path.unlink()
            server.bind(str(self.path))
            self.path.chmod(0o600)
            server.listen(128)
        except OSError:
            server.close()
            raise
        return server

    def serve(self) -> None:
        """Serve until `stop` (FA1)."""
        ready, turn = self._sockets.ready, self.turn
        while turn(ready(PATIENCE_S)):
            pass

    def turn(self, events: list[tuple[int, int]]) -> bool:
        """Serve those who have something for us; False when it is the end."""
        links = self._links
        for number, event in events:
            link = links.get(number)
            if link is not None:
                if event & WRITE:
                    self._flush(link)
                if event & ~WRITE:
                    self._read(link)
            elif number == self._accepting:
                self._accept()
            elif number == self._ending:
                self._end()
                return False
        return True

    def serve_alone(self) -> None:
        """Serve in a process that does nothing else: entries die by themselves, nobody need look (FA6)."""
        collector.look_once()
        self.serve()

    def stop(self) -> None:
        """From another thread or a signal: end."""
        self._waker.send(b"x")

    def _end(self) -> None:
        for sock in (*(link.sock for link in self._links.values()), self._server, self._woken, self._waker):
            sock.close()
        self._sockets.close()
        self.path.unlink(missing_ok=True)
        heir = self._rebuilding.left_to()
        if heir:
            self.path.symlink_to(heir)  # FA7

    def _accept(self) -> None:
        try:
            sock, _ = self._server.accept()
        except OSError as error:
            LOG.warning("nobody is accepted before a socket has ended: %s", error)  # FA4
            self._sockets.watch(self._accepting, 0, None)
            return
        link = self._links[sock.fileno()] = _Link(sock)
        self._sockets.watch(link.number, READ, link)

    def _read(self, link: _Link) -> None:
        try:
            length = link.receive(self._room)
        except BlockingIOError:
            return
        except OSError:
            length = 0
        if not length:
            self._lost(link)
            return
        room = self._room
        try:
            if not link.received and length > PREFIX and LENGTH.unpack_from(room)[0] == length - PREFIX:
                self._answer(link, _unpacked(room[PREFIX:length]))  # one whole frame, as nearly always
                return
            link.received += room[:length]
            for asked in frames(link.received):
                self._answer(link, asked)
        except StructureLostError:
            self._lost(link)  # LS5: its connector has another connection, or was fenced
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the sender's: the others go on (FA4)
            LOG.warning("a socket was closed: %s: %s", type(error).__name__, error)
            self._lost(link)

    def _answer(self, link: _Link, asked: Any) -> None:
        answer: tuple[Any, ...]
        try:
            if link.moved:
                raise moved_to(link.moved)
            if asked[0] == "request":  # nearly always
                _, request = asked
                answer = ("ok", link.answer(request))
            else:
                verb, *arguments = asked
                answer = ("ok", self._verbs[verb](link, *arguments))
        except StructureRefusal as refusal:
            answer = ("no", refusal.why, refusal.at)
        self._send(link, answer)

    # -- verbs

    def _connect(self, link: _Link, shape: list[Any], connector: str) -> list[Any]:
        made = Shape(*shape)
        self._rebuilding.check(made.name)
        link.connection = self.facility.connect(made, connector, lambda token: self._tell(made.name, connector, token))
        link.answer = link.connection.answer
        return list(astuple(link.connection.shape))

    def _listen(self, link: _Link, structure: str, connector: str) -> bool:
        self._listeners[structure, connector] = link
        return True

    def _connectors(self, link: _Link) -> dict[str, bool]:
        return self._connected(link).connectors()

    def _forget(self, link: _Link, connector: str) -> bool:
        self._connected(link).forget(connector)
        return True

    def _fence(self, link: _Link, connector: str) -> bool:
        self._connected(link).fence(connector)
        return True

    def _disconnect(self, link: _Link) -> bool:
        self._connected(link).disconnect()
        link.parted = True
        return True

    def _status(self, _link: _Link) -> dict[str, Any]:
        return self.facility.status()

    def _connected(self, link: _Link) -> MemoryConnection:
        if link.connection is None:
            raise ValueError("a request before `connect`")
        return link.connection

    def _moved_away(self, structure: str, path: str) -> None:
        """Whoever was connected to a structure learns where it is with its next request; who waits is woken for it."""
        for link in self._links.values():
            if link.connection is not None and link.connection.shape.name == structure:
                link.moved, link.connection, link.answer = path, None, _not_connected
        for (name, connector), link in list(self._listeners.items()):
            if name == structure:
                del self._listeners[name, connector]
                self._send(link, LOOK_AT_ALL)

    # -- sockets

    def _tell(self, structure: str, connector: str, token: int) -> None:
        link = self._listeners.get((structure, connector))
        if link is not None:
            self._send(link, token)

    def _send(self, link: _Link, value: Any) -> None:
        body = self._packed(value)
        data = LENGTH.pack(len(body)) + body
        if not link.unsent:
            sent = self._sent(link, data)
            if sent == len(data) or link.number not in self._links:
                return
            data = data[sent:]
            self._sockets.watch(link.number, READ | WRITE, link)
        link.unsent += data
        if len(link.unsent) > UNSENT_MAX:
            self._lost(link)  # FA3

    def _flush(self, link: _Link) -> None:
        """A socket takes more of what is kept for it (FA3)."""
        del link.unsent[: self._sent(link, link.unsent)]
        if not link.unsent and link.number in self._links:
            self._sockets.watch(link.number, READ, link)

    def _sent(self, link: _Link, data: bytes | bytearray) -> int:
        try:
            return link.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            self._lost(link)
            return 0

    def _lost(self, link: _Link) -> None:
        if self._links.pop(link.number, None) is None:
            return
        self._sockets.watch(link.number, 0, link)
        link.sock.close()
        self._sockets.watch(self._accepting, READ, self._server)
        self._listeners = {key: kept for key, kept in self._listeners.items() if kept is not link}
        self._rebuilding.throw_away(link)
        if link.connection is not None and not link.parted:
            link.connection.fail()  # FA2
