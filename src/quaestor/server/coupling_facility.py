"""The coupling facility: a process that holds list structures for the queue managers of this machine.

Rules
  FA1 One thread serves all sockets; a request is done before the next one is looked at, so requests are in one order.
  FA2 A connector whose request socket ends without `disconnect` has failed, and stays known as failed until a peer has
      recovered it.
  FA3 Who does not take what he is told is dropped: a full socket ends that connector, never the facility.
  FA4 What is no frame of ours ends that socket, with one line in the log.
  FA5 The memory of this process is the structure: when it ends, structures are lost and are recovered from the logs of
      the queue managers, as after the loss of a real one.

Called by `quaestor cf start`.  Calls storage.lists.
"""

import logging
import selectors
import socket
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import msgpack

from quaestor.storage.lists.client import FRAME_MAX, LENGTH
from quaestor.storage.lists.memory import MemoryConnection, MemoryFacility
from quaestor.storage.lists.structure import Shape, StructureRefusal

LOG = logging.getLogger("quaestor.cf")
READ_BYTES = 1 << 18


@dataclass(eq=False)
class _Link:
    """One socket and what it is for."""

    sock: socket.socket
    received: bytearray = field(default_factory=bytearray)
    connection: MemoryConnection | None = None
    parted: bool = False


class CouplingFacility:
    """Structures and the sockets of their connectors."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.facility = MemoryFacility()
        self._listeners: dict[tuple[str, str], _Link] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        self._server = socket.socket(socket.AF_UNIX)
        self.path.unlink(missing_ok=True)
        self._server.bind(str(self.path))
        self.path.chmod(0o600)
        self._server.listen(128)
        self._selector.register(self._server, selectors.EVENT_READ, self._accept)
        self._selector.register(self._woken, selectors.EVENT_READ, None)

    def serve(self) -> None:
        """Serve until `stop` (FA1)."""
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    self._end()
                    return
                key.data()

    def stop(self) -> None:
        """From another thread or a signal: end."""
        self._waker.send(b"x")

    def _end(self) -> None:
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr] # all of ours are sockets
        self._waker.close()
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        sock, _ = self._server.accept()
        link = _Link(sock)
        self._selector.register(sock, selectors.EVENT_READ, lambda: self._read(link))

    def _read(self, link: _Link) -> None:
        try:
            part = link.sock.recv(READ_BYTES)
        except OSError:
            part = b""
        if not part:
            self._lost(link)
            return
        link.received += part
        try:
            for asked in self._frames(link):
                self._answer(link, asked)
        except (ValueError, TypeError, KeyError, IndexError, msgpack.UnpackException) as error:
            LOG.warning("a socket was closed: %s", error)  # FA4
            self._lost(link)

    def _frames(self, link: _Link) -> Any:
        received = link.received
        while len(received) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(received)
            if length > FRAME_MAX:
                raise ValueError(f"a frame of {length} bytes")
            if len(received) < LENGTH.size + length:
                return
            frame = bytes(received[LENGTH.size : LENGTH.size + length])
            del received[: LENGTH.size + length]
            yield msgpack.unpackb(frame, raw=False)

    def _answer(self, link: _Link, asked: Any) -> None:
        verb, *arguments = asked
        try:
            answer = ["ok", self._verb(verb)(link, *arguments)]
        except StructureRefusal as refusal:
            answer = ["no", refusal.why, refusal.at]
        self._send(link, answer)

    def _verb(self, verb: str) -> Callable[..., Any]:
        known: dict[str, Callable[..., Any]] = {
            "connect": self._connect,
            "listen": self._listen,
            "request": self._request,
            "connectors": self._connectors,
            "forget": self._forget,
            "disconnect": self._disconnect,
            "status": self._status,
        }
        if verb not in known:
            raise ValueError(f"no such verb: {verb!r}")
        return known[verb]

    # -- verbs

    def _connect(self, link: _Link, shape: list[Any], connector: str) -> list[Any]:
        made = Shape(*shape)
        link.connection = self.facility.connect(made, connector, lambda token: self._tell(made.name, connector, token))
        return list(astuple(link.connection.shape))

    def _listen(self, link: _Link, structure: str, connector: str) -> bool:
        self._listeners[structure, connector] = link
        return True

    def _request(self, link: _Link, request: list[list[Any]]) -> list[Any]:
        return self._connected(link).run(request)

    def _connectors(self, link: _Link) -> dict[str, bool]:
        return self._connected(link).connectors()

    def _forget(self, link: _Link, connector: str) -> bool:
        self._connected(link).forget(connector)
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

    # -- sockets

    def _tell(self, structure: str, connector: str, token: int) -> None:
        link = self._listeners.get((structure, connector))
        if link is not None:
            self._send(link, token)

    def _send(self, link: _Link, value: Any) -> None:
        body = msgpack.packb(value, use_bin_type=True)
        try:
            link.sock.settimeout(1.0)
            link.sock.sendall(LENGTH.pack(len(body)) + body)
        except OSError:
            self._lost(link)  # FA3

    def _lost(self, link: _Link) -> None:
        if link.sock.fileno() < 0:
            return
        self._selector.unregister(link.sock)
        link.sock.close()
        self._listeners = {key: kept for key, kept in self._listeners.items() if kept is not link}
        if link.connection is not None and not link.parted:
            link.connection.fail()  # FA2
