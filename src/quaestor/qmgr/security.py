"""Security manager: who may do what with which object.

Rules
  S1  A check names a user, a resource class, a name and an access; it answers yes or raises 2035 (connect: 2035 too).
  S2  Profiles decide: the most specific profile that covers the name (longest before its `*`) and, in it, the
      user's own entry before the entry for everybody (`*`). What no profile covers is refused.
  S3  Without profiles security is not active and everything is allowed: the embedded default.
  S4  Answers are kept for `timeout_us`, then asked anew; `refresh` forgets them all and reads the profiles again, which
      stay in force when that is not possible (`ProfileError`). When ANSWERS_MAX are kept, all are forgotten: names of
      dynamic queues never end. Of what is longer than any name nothing is kept, nor is all of it told: whoever asks for
      such a one may ask for millions of them.
  S5  Whoever listens (`refused`) is told of each refusal, once: the audit.
  S6  What the queue manager does for itself (its input sets) is not checked; nobody else can say he is it.
  S7  Whoever acts for another user (`altuser`, the other's name, update) is checked for that first; then the other is
      checked in his place. A refusal names both.
  S8  A line that could grant nothing to anybody is refused with its number: another class, a `*` that is not the end.
  S9  `reverify` forgets what is kept of some users and reads the profiles again for them alone: for everybody else they
      stay as they were until `refresh`. Of whom nothing is kept, nothing is read.
  S10 Checks are made by several threads. An answer that was decided by profiles which are read again meanwhile is given
      once, and not kept.

Profiles are text, one per line, `#` begins a comment:

    class     name       user    access
    queue     ORDERS.*   ALICE   update
    queue     ORDERS.*   *       read
    connect   *          *       read
    altuser   AL*        SERVER  update

Classes are connect, queue, process, namelist, stgclass, qmgr, command (names such as DEFINE.QLOCAL) and altuser (names
of users).
An access is a word, or several with commas: browse, inquire, put, get, set, context, administer (define, alter, delete,
commands); or one that stands for several and rises: none, read (connect, browse, inquire), update (and put, get, set),
control (all of them).
Called by connection and message.  Calls the clock; the profiles are read by the function it is given.
"""

from collections.abc import Callable, Iterable
from enum import IntFlag
from typing import NamedTuple, Protocol

from quaestor.clock import Clock
from quaestor.mqi.names import NAME_MAX, picks
from quaestor.mqi.reasons import MQError, Reason

EVERYBODY = "*"
CLASSES = ("connect", "queue", "process", "namelist", "stgclass", "qmgr", "command", "altuser")
TIMEOUT_US = 54 * 60 * 1_000_000
"""How long an answer is kept: the z/OS default of 54 minutes."""

ANSWERS_MAX = 10_000


class Access(IntFlag):
    """What may be done (S1)."""

    NONE = 0
    BROWSE = 1
    INQUIRE = 2
    PUT = 4
    GET = 8
    SET = 16
    CONTEXT = 32
    ADMINISTER = 64
    READ = 1 | 2
    UPDATE = 1 | 2 | 4 | 8 | 16
    CONTROL = 1 | 2 | 4 | 8 | 16 | 32 | 64


class Security(Protocol):
    """What the message and connection managers ask."""

    def check(self, user: str, resource: str, name: str, access: Access, acting: str = "") -> None:
        """Return when allowed, raise 2035 when not (S1)."""

    def allows(self, user: str, resource: str, name: str, access: Access) -> bool:
        """Whether `check` would return; nobody hears that it was asked."""


class Itself(str):
    """The queue manager's own name where a user is asked for (S6)."""

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
        if len(words) != 4:
            raise ProfileError(f"line {number}: expected class, name, user and access, found {line.strip()!r}")
        accesses = words[3].upper().split(",")
        for access in accesses:
            if access not in Access.__members__:
                known = ", ".join(each.lower() for each in Access.__members__)
                raise ProfileError(f"line {number}: {access.lower()!r} is no access; one of {known}")
        if words[0] not in CLASSES:
            raise ProfileError(f"line {number}: {words[0]!r} is no class; one of {', '.join(CLASSES)}")  # S8
        if "*" in words[1][:-1]:
            raise ProfileError(f"line {number}: only the end of a name may be *, found {words[1]!r}")
        granted = Access.NONE
        for access in accesses:
            granted |= Access[access]
        profiles.append(Profile(words[0], words[1], words[2], granted))
    return tuple(profiles)


def nobody_listens(_refusal: MQError) -> None:
    """Nobody keeps an audit."""


class SecurityManager:
    """Profiles with a cache of answers (S2-S4)."""

    def __init__(self, read_profiles: Callable[[], str | None], clock: Clock, timeout_us: int = TIMEOUT_US) -> None:
        self._read_profiles = read_profiles
        self._clock = clock
        self.timeout_us = timeout_us
        self._profiles: tuple[Profile, ...] | None = None
        self._anew: dict[str, tuple[Profile, ...]] = {}  # by user (S9)
        self._answers: dict[tuple[str, str, str], tuple[int, Access]] = {}
        self.refused: Callable[[MQError], None] = nobody_listens
        self.refresh()

    @property
    def active(self) -> bool:
        return self._profiles is not None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        return self._profiles or ()

    def refresh(self) -> None:
        """Read the profiles again (S4)."""
        self._profiles = self._read()
        self._anew, self._answers = {}, {}

    def reverify(self, users: Iterable[str]) -> set[str]:
        """Read the profiles again for some users; those of whom something was kept (S9)."""
        kept = {user for user, _, _ in tuple(self._answers)}
        known = {user for user in users if user in kept or user in self._anew}
        if known:
            profiles = self._read()
            if profiles is None:
                raise ProfileError("there are no profiles any more; REFRESH SECURITY allows everything to everybody")
            self._anew.update(dict.fromkeys(known, profiles))
            answers = tuple(self._answers.items())
            self._answers = {key: answer for key, answer in answers if key[0] not in known}
        return known

    def _read(self) -> tuple[Profile, ...] | None:
        try:
            text = self._read_profiles()
        except (OSError, UnicodeDecodeError) as error:
            raise ProfileError(f"the profiles cannot be read: {error}") from error
        return None if text is None else parse_profiles(text)

    def check(self, user: str, resource: str, name: str, access: Access, acting: str = "") -> None:
        if not self.allows(user, resource, name, access):
            missing = access & ~self._granted(user, resource, name)
            told = name[:NAME_MAX]
            refusal = MQError(Reason.NOT_AUTHORIZED, user=user, resource=resource, name=told, access=missing.name)
            if acting:
                refusal.facts["acting"] = acting  # S7
            self.refused(refusal)  # S5
            raise refusal

    def allows(self, user: str, resource: str, name: str, access: Access) -> bool:
        if self._profiles is None or type(user) is Itself:  # S6
            return True
        return not access & ~self._granted(user, resource, name)

    def _granted(self, user: str, resource: str, name: str) -> Access:
        if len(name) > NAME_MAX:
            return self._decide(user, resource, name)
        key, now, answers = (user, resource, name), self._clock.now_us(), self._answers  # S10
        kept = answers.get(key)
        if kept is None or now - kept[0] >= self.timeout_us:
            if len(answers) >= ANSWERS_MAX:
                answers.clear()
            kept = answers[key] = (now, self._decide(user, resource, name))
        return kept[1]

    def _decide(self, user: str, resource: str, name: str) -> Access:
        profiles = self._anew.get(user, self._profiles or ())  # S9
        covering = [p for p in profiles if p.resource == resource and picks(p.name, name)]
        if not covering:
            return Access.NONE
        best = max(covering, key=lambda p: (not p.name.endswith("*"), len(p.name))).name
        entries = {p.user: p.access for p in covering if p.name == best}
        return entries.get(user, entries.get(EVERYBODY, Access.NONE))
