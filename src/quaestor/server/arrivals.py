"""Arrivals: who comes, until it is one of the clients.

Rules
  SV7 Whoever has gone before a link is made was never there. When no file is left for another socket the operator is
      told once, and those who come by that door wait until the links have been looked over (SV4).
  SV8 Who has not said who it is takes no client's place. There are so many places for strangers; who comes when all are
      taken has that of whoever came first and has said nothing yet, or else of whoever came first. So silence keeps
      nobody out. The operator is told how many made room, here or in the line of passwords (PL4), when the links are
      looked over: not of each, for there may be thousands.
  SV9 Handshakes take no more than `HANDSHAKES_NS` of a turn: then it is the turn of clients, however many come
      at once.

Called by process, service and link.  Calls the operating system, link.
"""

import socket
import ssl
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from quaestor.mqi.reasons import MQError, Reason
from quaestor.readiness import READ, Readiness
from quaestor.server.link import Link
from quaestor.server.listeners import tune_tcp
from quaestor.server.tls_link import TlsLink

if TYPE_CHECKING:
    from quaestor.server.service import Service

ACCEPT_AT_ONCE = 64
HANDSHAKES_NS = 5_000_000


class Arrivals:
    """Listening sockets, and those who have not said who they are (SV7-SV9)."""

    def __init__(self, service: "Service", readiness: Readiness) -> None:
        self._service, self._readiness = service, readiness
        self.strangers: dict[Link, None] = {}  # in the order of coming (SV8)
        self._made_room: Counter[str] = Counter()  # by why
        self._listeners: dict[socket.socket, Callable[[int], None]] = {}
        self._no_files = False  # and the operator knows
        self._closed_doors: list[socket.socket] = []
        self._handshakes_turn = self._handshakes_until_ns = 0

    def listen(self, sock: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Serve whoever connects to this socket."""
        self._listeners[sock] = lambda _: self._accept(sock, tls)
        self._readiness.watch(sock.fileno(), READ, self._listeners[sock])

    def _accept(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        for _ in range(ACCEPT_AT_ONCE):
            try:
                sock, peer = listener.accept()
            except (BlockingIOError, ConnectionError):
                return
            except OSError as error:
                self._accept_later(listener, str(error))
                return
            self._no_files = False
            try:
                self.accepted(sock, f"{peer[0]}:{peer[1]}" if peer else "local", tls)
            except OSError:
                sock.close()  # SV7

    def _accept_later(self, listener: socket.socket, why: str) -> None:
        """There is no file for whoever has come (SV7)."""
        if not self._no_files:
            self._service.journal.tell("QSV011W", why=why)
        self._no_files = True
        self._closed_doors.append(listener)
        self._readiness.watch(listener.fileno(), 0, None)

    def accepted(self, sock: socket.socket, peer: str, tls: ssl.SSLContext | None) -> None:
        service = self._service
        sock.setblocking(False)
        self._make_room()
        if sock.family != socket.AF_UNIX:
            tune_tcp(sock)
        if tls is not None:
            sock.getpeername()  # of one that has gone nothing is left here; TLS would leave it half made
            secured = tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            link: Link = TlsLink(service, secured, peer, service.now)
        else:
            link = Link(service, sock, peer, service.now)
        service.links.add(link)
        self.strangers[link] = None
        self._readiness.watch(link.fd, READ, link.ready)

    def _make_room(self) -> None:
        """SV8."""
        places = self._service.limits.strangers
        if len(self.strangers) < places:
            return
        there = [link for link in self.strangers if link.open]
        if there and len(there) >= places:
            goes = next((link for link in there if not link.identifying), there[0])
            goes.end(None)
            self.made_room("too many who do not say who they are")

    def made_room(self, why: str) -> None:
        """Somebody had to go for others (SV8)."""
        self._made_room[why] += 1

    def admit(self, link: Link) -> None:
        """A stranger has said who it is, and is one of the clients if there is room (SV8)."""
        self.strangers.pop(link, None)
        clients = len(self._service.links) - len(self.strangers)
        if clients > self._service.limits.connections:
            self._service.journal.tell("QSV011W", peer=link.peer, user=link.user, why="too many connections")
            raise MQError(Reason.MAX_CONNS_LIMIT_REACHED, connections=self._service.limits.connections)

    def may_shake_hands(self) -> bool:
        """Whether handshakes have time left in this turn; the first always has (SV9)."""
        now_ns, turn = self._service.monotonic_ns(), self._service.turns
        if turn != self._handshakes_turn:
            self._handshakes_turn, self._handshakes_until_ns = turn, now_ns + HANDSHAKES_NS
        return now_ns <= self._handshakes_until_ns

    def look_over(self) -> None:
        """Once a second: there may be files again (SV7), and the operator is told who made room (SV8)."""
        for listener in self._closed_doors:
            self._readiness.watch(listener.fileno(), READ, self._listeners[listener])
        self._closed_doors.clear()
        for why, made_room in self._made_room.items():
            self._service.journal.tell("QSV011W", why=why, made_room=made_room)
        self._made_room.clear()

    def close(self) -> None:
        for sock in self._listeners:
            sock.close()
