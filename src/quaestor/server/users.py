"""Users: who may prove to be whom by a password, kept as scrypt hashes.

Rules
  US1 The file holds one line per user: name, then the parameters, salt and hash. It is readable by its owner only and
      is replaced as a whole. Two who change it at a time do so one after the other. A line that is none is named.
  US2 A password is compared in constant time. A user that does not exist costs as much time as one that does.
  US3 A password is given as an argument of a function, never of a process; it is not kept, printed or logged.

Called by identity and `quaestor qmgr user`.  Calls kept_file.
"""

import base64
import hashlib
import hmac
import os
import re
from dataclasses import dataclass
from pathlib import Path

from quaestor.server.kept_file import alone, replace_file

USER_MAX = 12
_USER = re.compile(f"(?=.*[A-Za-z0-9])[A-Za-z0-9_-]{{1,{USER_MAX}}}")
_N, _R, _P = 1 << 14, 8, 1
_LENGTH, _SALT = 32, 16


def check_user(user: str) -> None:
    """Refuse what is no name of a user."""
    if not _USER.fullmatch(user):
        raise ValueError(f"a user has 1 to {USER_MAX} letters, digits, - and _; not {user!r}")


@dataclass(frozen=True, slots=True)
class Hashed:
    """A password as it is kept."""

    n: int
    r: int
    p: int
    salt: bytes
    digest: bytes

    def fits(self, password: str) -> bool:
        """Whether it is this password (US2)."""
        return hmac.compare_digest(self.digest, _digest(password, self.n, self.r, self.p, self.salt))

    def written(self) -> str:
        salt, digest = (base64.b64encode(part).decode() for part in (self.salt, self.digest))
        return f"scrypt {self.n} {self.r} {self.p} {salt} {digest}"

    @staticmethod
    def read(words: list[str]) -> "Hashed":
        method, n, r, p, salt, digest = words
        if method != "scrypt":
            raise ValueError(f"password method {method!r} is not known")
        return Hashed(int(n), int(r), int(p), base64.b64decode(salt), base64.b64decode(digest))


def _digest(password: str, n: int, r: int, p: int, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=256 * n * r, dklen=_LENGTH)


def hashed(password: str) -> Hashed:
    """A new hash of a password, with a salt of its own."""
    salt = os.urandom(_SALT)
    return Hashed(_N, _R, _P, salt, _digest(password, _N, _R, _P, salt))


NOBODY = Hashed(_N, _R, _P, bytes(_SALT), bytes(_LENGTH))
"""What an unknown user's password is compared with (US2)."""


class Users:
    """The users of one queue manager (US1)."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        return sorted(self._read())

    def verify(self, user: str, password: str) -> bool:
        """Whether the user exists and this is the password (US2)."""
        known = self._read().get(user)
        fits = (known or NOBODY).fits(password)
        return known is not None and fits

    def set(self, user: str, password: str) -> None:
        """Add a user, or give one another password."""
        check_user(user)
        if not password:
            raise ValueError("the password is empty")
        fresh = {user: hashed(password)}
        with alone(self._path.parent):
            self._write(self._read() | fresh)

    def remove(self, user: str) -> bool:
        with alone(self._path.parent):
            users = self._read()
            found = users.pop(user, None) is not None
            if found:
                self._write(users)
        return found

    def _read(self) -> dict[str, Hashed]:
        if not self._path.exists():
            return {}
        users = {}
        for number, line in enumerate(self._path.read_bytes().splitlines(), 1):
            try:
                user, *words = line.decode().split() or [""]
                if user:
                    users[user] = Hashed.read(words)
            except ValueError:
                raise ValueError(f"{self._path}, line {number}: no user with a password") from None
        return users

    def _write(self, users: dict[str, Hashed]) -> None:
        replace_file(self._path, "".join(f"{name} {kept.written()}\n" for name, kept in sorted(users.items())))
