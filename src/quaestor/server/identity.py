"""Identity: who is at the other end of a link.

Rules
  ID1 A password proves a user. It is checked on a thread of its own, because hashing takes long on purpose; whose turn
      it is says the `password_line`.
  ID2 Without a password, a local application is the user that the operating system says it is, and a remote one the
      common name of its verified certificate. Naming another user is refused.
  ID3 A remote application without either is refused, unless security is off: then a password is not looked at, and
      everybody is who they say they are.
  ID4 Every refusal is 2035 to the client, without saying what was wrong, and one audit line, which does. Only who had
      to make room for others (PL4) is told 2025, since it may be right and come again, and is counted instead (SV8).

Called by link and home.  Calls password_line, users and the operating system.
"""

import pwd
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from struct import Struct
from typing import Any

from quaestor.server.password_line import Asker, PasswordLine
from quaestor.server.users import USER_MAX, Users

_CREDENTIALS = Struct("3i")


class Refused(Exception):  # noqa: N818 - an answer
    """Who it says it is has not been shown (ID4); the text is for the audit."""


class MadeRoom(Refused):
    """It has not been looked at, because others come first (PL4)."""


class Identity:
    """Finds out who is there (ID1-ID4)."""

    def __init__(self, users: Users, *, security: bool = True) -> None:
        self._users, self._security = users, security
        self._hashing = ThreadPoolExecutor(1, thread_name_prefix="quaestor-identity")
        self._line = PasswordLine()

    def find(self, asker: Asker, said: str, password: str | None, then: Callable[[str | Refused], None]) -> str | None:
        """The user, or None when `then` will be told, on any thread. Raises Refused."""
        if password is None or not self._security:
            return self._without_password(asker.sock, said)
        leaves = self._line.join(asker, said, password, then)
        if leaves is None:
            self._hashing.submit(self._check_first)
        else:
            leaves.then(MadeRoom("too many passwords at a time"))
        return None

    def _check_first(self) -> None:
        """One of those who wait is looked at (ID1)."""
        check = self._line.first()
        if check is None:
            return  # whoever waited has gone
        try:
            right = self._users.verify(check.user, check.password)
        except Exception as error:  # noqa: BLE001 - whatever it is, its client must hear of it
            check.then(Refused(f"the users cannot be read: {error}"))
            return
        self._line.checked(check, right=right)
        check.then(check.user if right else Refused("user or password is wrong"))

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
