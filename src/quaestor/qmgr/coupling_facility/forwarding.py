"""Forwarding: questions of one member to others, and their answers, over two lists of CSQ_ADMIN.

Rules
  FW1 A question is an entry under the number of the member that is asked, an answer one or more pieces under the
      number of the member that asked. Both are told at once of what comes, and look again every second.
  FW2 A question is taken from the list before it is answered: it is answered once, or not at all when the member dies.
      Answers that nobody waits for are removed.
  FW3 What stands under a member's number when it joins is of its former life, and removed unread.
  FW4 Who asks waits as long as the member asked is connected, and a minute at most. An answer is at most `ANSWER_MAX`
      long, so that units of recovery always find room in CSQ_ADMIN; a longer one comes back as None, like no answer.

What is asked and answered is bytes to this module. Nobody holds the latch while a question is answered or waited for,
and no other background step waits for an answer.

Called by operating, the scheduler.  Calls structures.
"""

import struct
from _thread import LockType
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from threading import Event

from quaestor.clock import Clock
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.positions import POSITIONS_LIST
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.qmgr.resource_manager import Task
from quaestor.storage.lists.operations import KEY_LENGTH, Delete, Entry, ReadList, Watch, Write
from quaestor.storage.lists.structure import StructureRefusal

QUESTIONS_LIST, ANSWERS_LIST = POSITIONS_LIST + 1, POSITIONS_LIST + 2
PIECE, ANSWER_MAX = 60_000, 1 << 20
WAIT_S, LOOK_S = 60, 0.25
LOOK_MS = 1000
MOST = 100_000
_KEY = struct.Struct(">BQB6x")
"""Whose it is, which question; then who asks, or which piece of the answer this is."""

Answer = Callable[[bytes], bytes]


@dataclass(slots=True)
class Asking:
    """Members that were asked."""

    waiting: dict[str, int]
    """Members whose answer has not come, each with its question."""

    until_ns: int
    answers: dict[str, bytes | None] = field(default_factory=dict)


class Forwarding:
    """The questions and answers of one member (FW1-FW4)."""

    def __init__(self, qmgr: str, admin: SharedStructure, latch: LockType, clock: Clock) -> None:
        self._qmgr, self._admin, self._latch, self._clock = qmgr, admin, latch, clock
        self._number = 0
        self._questions = count(clock.now_us())
        self._open: set[int] = set()
        self._answers: dict[int, bytes | None] = {}
        self._watched = b""
        self._came, self._asked = Event(), Event()
        self._looked_ns = 0
        self.answer: Answer | None = None
        """Who answers; whoever builds the queue manager says so."""

        self.pause: Callable[[float], object] = self._wait

    def start(self, number: int) -> None:
        """This member has joined (FW3). The latch is held."""
        self._number = number
        with suppress(MQError):  # CSQ_ADMIN is away: there is nothing to remove when it comes back
            for at in (QUESTIONS_LIST, ANSWERS_LIST):
                self._taken(at)

    def tasks(self) -> Sequence[Task]:
        return (Task("questions of other members", self.step, LOOK_MS, latched=False, urgent=True, apart=True),)

    def told(self, token: int) -> None:
        """Something has come to a list that is watched, or may have."""
        if token != QUESTIONS_LIST:
            self._came.set()
        if token != ANSWERS_LIST:
            self._asked.set()

    def watch_again(self) -> None:
        """CSQ_ADMIN was connected to again: it tells nobody yet."""
        self._watched = b""

    # -- asking

    def ask(self, members: Iterable[tuple[str, int]], question: bytes) -> Asking:
        """Ask members, by name and number; MQError when CSQ_ADMIN cannot be reached or has no room."""
        asking = Asking({}, self._clock.monotonic_ns() + int(WAIT_S * 1e9))
        with self._latch:
            self._watch()
            for name, number in members:
                asking.waiting[name] = asked = next(self._questions)
                self._open.add(asked)
                self._write(Write(QUESTIONS_LIST, _KEY.pack(number, asked, self._number), question))
        return asking

    def collect(self, asking: Asking) -> dict[str, bytes | None]:
        """Wait for the answers: None from a member that has ended, has not answered in time, or said too much (FW4)."""
        asked = set(asking.waiting.values())
        try:
            while self._sort(asking) and self._clock.monotonic_ns() < asking.until_ns:
                self.pause(LOOK_S)
        finally:
            self._open -= asked
        return asking.answers | dict.fromkeys(asking.waiting)

    def _sort(self, asking: Asking) -> bool:
        """Take what has come; whether anything is still waited for."""
        with self._latch:
            alive = self._admin.connectors()  # before looking: what a member wrote before it ended is seen
            came = _whole(self._taken(ANSWERS_LIST))
            self._answers |= {question: answer for question, answer in came.items() if question in self._open}
            for name, asked in tuple(asking.waiting.items()):
                if asked in self._answers or not alive.get(name):
                    asking.answers[name] = self._answers.pop(asked, None)
                    del asking.waiting[name]
        return bool(asking.waiting)

    def _wait(self, seconds: float) -> None:
        self._came.wait(seconds)
        self._came.clear()

    # -- answering

    def step(self) -> bool:
        """Answer what other members have asked (FW2), when it was told or not looked at for a while (FW1)."""
        now_ns = self._clock.monotonic_ns()
        if not self._asked.is_set() and now_ns - self._looked_ns < LOOK_MS * 1_000_000:
            return False
        self._asked.clear()
        self._looked_ns = now_ns
        if not self._number or self._admin.failing is not None or self.answer is None:
            return False
        try:
            with self._latch:
                self._watch()
                questions = self._taken(QUESTIONS_LIST)
            for entry in questions:
                _, asked, asker = _KEY.unpack(entry.key)
                self._send(asker, asked, self.answer(entry.data))
        except MQError:
            return False  # CSQ_ADMIN is lost: who asked sees that too
        return False

    def _send(self, asker: int, asked: int, answer: bytes) -> None:
        whole = answer if len(answer) <= ANSWER_MAX else b""
        pieces = [whole[at : at + PIECE] for at in range(0, len(whole), PIECE)] or [b""]
        with self._latch:
            self._write(*(Write(ANSWERS_LIST, _KEY.pack(asker, asked, at), each) for at, each in enumerate(pieces)))

    # -- lists

    def _watch(self) -> None:
        """Be told of what comes to the lists, once for each CSQ_ADMIN there is (FW1)."""
        if self._watched != self._admin.incarnation:
            watches = (Watch(self._qmgr, at, at, *self._range(), each=True) for at in (QUESTIONS_LIST, ANSWERS_LIST))
            self._admin.ask(*watches)
            self._watched = self._admin.incarnation

    def _range(self) -> tuple[bytes, bytes]:
        first = bytes([self._number])
        return first.ljust(KEY_LENGTH, b"\0"), first.ljust(KEY_LENGTH, b"\xff")

    def _taken(self, at: int) -> tuple[Entry, ...]:
        """What is there for this member, removed from the list."""
        entries: tuple[Entry, ...]
        (entries,) = self._admin.ask(ReadList(at, *self._range(), most=MOST))
        if entries:
            self._admin.ask(*(Delete(entry.number, at) for entry in entries))
        return entries

    def _write(self, *writes: Write) -> None:
        try:
            self._admin.ask(*writes)
        except StructureRefusal as refusal:
            raise MQError(Reason.STORAGE_MEDIUM_FULL, structure=self._admin.name, why=refusal.why) from refusal


def _whole(pieces: Iterable[Entry]) -> dict[int, bytes | None]:
    """Answers by question; the pieces of one come together and in order. An empty one was too long (FW4)."""
    found: dict[int, bytes] = {}
    for entry in pieces:
        _, asked, _ = _KEY.unpack(entry.key)
        found[asked] = found.get(asked, b"") + entry.data
    return {asked: answer or None for asked, answer in found.items()}
