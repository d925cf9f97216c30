"""Security manager: who may do what with which object.

Rules
  S1  A check names a user, a resource class, a name and an access; it answers yes or raises 2035 (connect: 2035 too).
  S2  Profiles decide: the most specific profile that covers the name (longest before its `*`) and, in it, the
      user's own entry before the entry for everybody (`*`). What no profile covers is refused.
  S3  Without profiles security is not active and everything is allowed: the embedded default.
  S4  Answers are kept for `timeout_us`, then asked anew; `refresh` forgets them all and reads the profiles again.
  S5  What the queue manager does for itself (its input sets) is not checked; nobody else can say he is it.

Profiles are text, one per line, `#` begins a comment:

    class     name       user    access
    queue     ORDERS.*   ALICE   update
    queue     ORDERS.*   *       read
    connect   *          *       read

Classes are connect, queue, process, namelist, stgclass, qmgr and command (names such as DEFINE.QLOCAL).
Accesses rise: none, read (connect, inquire, browse), update (put, get, set), control (define, alter, delete, context).
Called by connection and message.  Calls the clock; the profiles are read by the function it is given.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, Protocol

from quaestor.clock import Clock
from quaestor.mqi.names import picks
from quaestor.mqi.reasons import MQError, Reason

EVERYBODY = "*"
TIMEOUT_US = 54 * 60 * 1_000_000
"""How long an answer is kept: the z/OS default of 54 minutes."""


class Access(IntEnum):
    """Each access includes those before it (S1)."""

    NONE = 0
    READ = 1
    UPDATE = 2
    CONTROL = 3


class Security(Protocol):
    """What the message and connection managers ask."""

    def check(self, user: str, resource: str, name: str, access: Access) -> None:
        """Return when allowed, raise 2035 when not (S1)."""


class Itself(str):
    """The queue manager's own name where a user is asked for (S5)."""

    __slots__ = ()


class Profile(NamedTuple):
    """One line of the profiles (S2)."""

    resource: str
    name: str
    user: str
    access: Access


class ProfileError(ValueError):
    """A line of the profiles that cannot be read; the text names it."""


def parse_profiles(text: str) -> tuple[Profile, ...]:
    """The profiles of a text."""
    profiles = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 4 or words[3].upper() not in Access.__members__:
            raise ProfileError(f"line {number}: expected class, name, user and access, found {line.strip()!r}")
        profiles.append(Profile(words[0], words[1], words[2], Access[words[3].upper()]))
    return tuple(profiles)


class SecurityManager:
    """Profiles with a cache of answers (S2-S4)."""

    def __init__(self, read_profiles: Callable[[], str | None], clock: Clock, timeout_us: int = TIMEOUT_US) -> None:
        self._read_profiles = read_profiles
        self._clock = clock
        self.timeout_us = timeout_us
        self._profiles: tuple[Profile, ...] | None = None
        self._answers: dict[tuple[str, str, str], tuple[int, Access]] = {}
        self.refresh()

    @property
    def active(self) -> bool:
        return self._profiles is not None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        return self._profiles or ()

    def refresh(self) -> None:
        """Read the profiles again (S4)."""
        text = self._read_profiles()
        self._profiles = None if text is None else parse_profiles(text)
        self._answers.clear()

    def check(self, user: str, resource: str, name: str, access: Access) -> None:
        if self._profiles is None or type(user) is Itself:  # S5
            return
        if self._granted(user, resource, name) < access:
            raise MQError(Reason.NOT_AUTHORIZED, user=user, resource=resource, name=name, access=access.name)

    def _granted(self, user: str, resource: str, name: str) -> Access:
        key, now = (user, resource, name), self._clock.now_us()
        kept = self._answers.get(key)
        if kept is None or now - kept[0] >= self.timeout_us:
            kept = self._answers[key] = (now, self._decide(user, resource, name))
        return kept[1]

    def _decide(self, user: str, resource: str, name: str) -> Access:
        covering = [p for p in self._profiles or () if p.resource == resource and picks(p.name, name)]
        if not covering:
            return Access.NONE
        best = max(covering, key=lambda p: (not p.name.endswith("*"), len(p.name))).name
        entries = {p.user: p.access for p in covering if p.name == best}
        return entries.get(user, entries.get(EVERYBODY, Access.NONE))
