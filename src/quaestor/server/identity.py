"""Identity: who is at the other end of a link.

Rules
  ID1 A password proves a user. It is checked on a thread of its own, because hashing takes long on purpose; at most
      `WAITING_MAX` links wait for that at a time.
  ID2 Without a password, a local application is the user that the operating system says it is, and a remote one the
      common name of its verified certificate. Naming another user is refused.
  ID3 A remote application without either is refused, unless security is off: then a password is not looked at, and
      everybody is who they say they are.
  ID4 Every refusal is 2035 to the client, without saying what was wrong, and one audit line, which does.

Called by link and home.  Calls users and the operating system.
"""

import pwd
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from struct import Struct
from typing import Any

from quaestor.server.users import USER_MAX, Users

WAITING_MAX = 64
_CREDENTIALS = Struct("3i")


class Refused(Exception):  # noqa: N818 - an answer
    """Who it says it is has not been shown (ID4); the text is for the audit."""


class Identity:
    """Finds out who is there (ID1-ID4)."""

    def __init__(self, users: Users, *, security: bool = True) -> None:
        self._users, self._security = users, security
        self._hashing = ThreadPoolExecutor(1, thread_name_prefix="quaestor-identity")
        self._waiting = 0

    def find(
        self, sock: socket.socket, said: str, password: str | None, then: Callable[[str | Refused], None]
    ) -> str | None:
        """The user, or None when `then` will be told, on another thread. Raises Refused."""
        if password is None or not self._security:
            return self._without_password(sock, said)
        if self._waiting >= WAITING_MAX:
            raise Refused("too many at a time")
        self._waiting += 1
        future = self._hashing.submit(self._users.verify, said, password)
        future.add_done_callback(lambda done: self._verified(done, said, then))
        return None

    def _verified(self, done: "Future[bool]", said: str, then: Callable[[str | Refused], None]) -> None:
        self._waiting -= 1
        if done.cancelled():
            return
        error = done.exception()
        if error is not None:
            then(Refused(f"the users cannot be read: {error}"))
        else:
            then(said if done.result() else Refused("user or password is wrong"))

    def _without_password(self, sock: socket.socket, said: str) -> str:
        shown = shown_by(sock)
        if shown is None:
            if self._security:
                raise Refused("neither password nor certificate")
            return said or "anonymous"
        if said and said != shown and self._security:
            raise Refused(f"says {said!r} but is {shown!r}")
        return said or shown

    def close(self) -> None:
        self._hashing.shutdown(wait=False, cancel_futures=True)


def shown_by(sock: socket.socket) -> str | None:
    """The user that the operating system or a certificate vouches for (ID2)."""
    if sock.family == socket.AF_UNIX:
        _, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
        return user_of(uid)
    if isinstance(sock, ssl.SSLSocket):
        return common_name(sock.getpeercert() or {})
    return None


def user_of(uid: int) -> str:
    """The user that the operating system has by this number; the number, where it has no name for it."""
    try:
        return pwd.getpwuid(uid).pw_name[:USER_MAX]
    except KeyError:
        return str(uid)


def common_name(certificate: dict[str, Any]) -> str | None:
    """The common name of a certificate that was verified."""
    for part in certificate.get("subject", ()):
        for name, value in part:
            if name == "commonName":
                return str(value)
    return None
