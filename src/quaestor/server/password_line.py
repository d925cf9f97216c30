"""Password line: whose password is checked next, and who has no place to wait for that.

Rules
  PL1 Passwords are checked one at a time; `PLACES` of them wait at most. Who has gone meanwhile waits no more, and
      costs no check.
  PL2 Who comes stands behind as many as come from the same origin and wait, and as many wrong passwords as came from
      there among the last `KEPT`. So an origin that sends many, or wrong ones, waits behind all that do not.
  PL3 A user who has proved itself from an origin before answers for that user there alone, not for others of the
      origin; and of two that stand equally it comes first.
  PL4 When all places are taken the last in line makes room. That may be the one that has just come.
  PL5 An origin is an address; of IPv6 a network of 64 bits, because one machine may have all the addresses in it. Local
      applications are one.

Called by identity, on the threads of the loop and of the checks.  Calls nothing.
Why no password is remembered that was right: comparing with it would be quick, and guessing as well (US2, US3).
Why nobody is locked out: whoever names another's user, or comes from the same address, could lock that user out.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from threading import Lock
from typing import Any, Protocol

PLACES = 64
KEPT = 1000
"""Of the last wrong passwords, and of users that have proved themselves: whose they were."""

_NETWORK_BITS = 64


class Asker(Protocol):
    """A link that asks who its client is."""

    sock: Any
    peer: str
    open: bool


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """A password to be checked."""

    asker: Asker
    user: str
    password: str = field(repr=False)
    then: Callable[[Any], None]
    origin: str
    behind: tuple[int, bool]
    """How many come before it, and whether those that stand equally do (PL2, PL3)."""


def origin_of(peer: str) -> str:
    """Where a link comes from, of what its address is (PL5)."""
    host = peer.rpartition(":")[0]
    if ":" not in host:
        return host
    address = IPv6Address(host)
    return str(address.ipv4_mapped or f"{int(address) >> _NETWORK_BITS:x}::")


class PasswordLine:
    """Passwords that wait for their check (PL1-PL5)."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: list[Check] = []
        self._wrong_origins: deque[str] = deque(maxlen=KEPT)
        self._wrong: deque[tuple[str, str]] = deque(maxlen=KEPT)
        self._known: dict[tuple[str, str], None] = {}

    def join(self, asker: Asker, user: str, password: str, then: Callable[[Any], None]) -> Check | None:
        """Wait for the check; gives whoever has no place any more (PL4)."""
        origin = origin_of(asker.peer)
        with self._lock:
            self._waiting = [check for check in self._waiting if check.asker.open]  # PL1
            check = Check(asker, user, password, then, origin, self._behind(origin, user))
            self._waiting.append(check)
            if len(self._waiting) <= PLACES:
                return None
            last = max(reversed(self._waiting), key=lambda one: one.behind)
            self._waiting.remove(last)
            return last

    def _behind(self, origin: str, user: str) -> tuple[int, bool]:
        alike = [check.user for check in self._waiting if check.origin == origin]
        if (origin, user) in self._known:
            return alike.count(user) + self._wrong.count((origin, user)), False  # PL3
        return len(alike) + self._wrong_origins.count(origin), True  # PL2

    def first(self) -> Check | None:
        """Whose turn it is; it waits no more."""
        with self._lock:
            there = [check for check in self._waiting if check.asker.open]  # PL1
            first = min(there, key=lambda one: one.behind, default=None)
            self._waiting = [check for check in there if check is not first]
            return first

    def checked(self, check: Check, *, right: bool) -> None:
        """What is remembered of a check: whose it was, and whether it was right (PL2, PL3)."""
        whose = check.origin, check.user
        with self._lock:
            if not right:
                self._wrong.append(whose)
                self._wrong_origins.append(check.origin)
                return
            self._known.pop(whose, None)
            self._known[whose] = None
            if len(self._known) > KEPT:
                del self._known[next(iter(self._known))]
