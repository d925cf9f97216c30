"""Units of recovery: their life cycle as a table, in the paper's words.

Rules
  U1  A unit moves only along `NEXT`. In commit 2 it must complete; ended is the end.
  U2  A unit has a URID from its first log record on; before that it may end without a trace.
  U3  `first` is the oldest log record that undoing it could need: its first, or the first shunted one.
  U4  A unit that is alone needs no URID: its one record, `last`, is the change and its commit (V11).
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

from quaestor.mqi.reasons import Abend
from quaestor.storage.log_record import Identity


class State(Enum):
    """States of a unit of recovery, with the letter CSQR007I prints."""

    IN_FLIGHT = "F"
    IN_COMMIT_1 = "1"
    IN_DOUBT = "D"
    IN_COMMIT_2 = "C"
    IN_BACKOUT = "A"
    ENDED = "-"

    __hash__ = object.__hash__  # a member is one object; hashing its name costs a call with every change of state


IN_FLIGHT: Final = State.IN_FLIGHT
NEXT = {
    State.IN_FLIGHT: {State.IN_COMMIT_1, State.IN_COMMIT_2, State.IN_BACKOUT, State.ENDED},
    State.IN_COMMIT_1: {State.IN_DOUBT, State.IN_BACKOUT},
    State.IN_DOUBT: {State.IN_COMMIT_2, State.IN_BACKOUT},
    State.IN_COMMIT_2: {State.ENDED},
    State.IN_BACKOUT: {State.ENDED},
    State.ENDED: set(),
}
"""U1; in flight may end at once when nothing was logged (U2)."""


class UnitOfRecovery:
    """One unit of recovery."""

    __slots__ = (
        "alone",
        "born",
        "first",
        "gets",
        "identity",
        "label",
        "last",
        "other",
        "puts",
        "shared",
        "state",
        "triggers",
        "urid",
        "xid",
    )

    def __init__(self, identity: Identity, born: int = 0) -> None:
        self.identity = identity
        self.state = IN_FLIGHT
        self.urid = self.first = self.last = 0
        self.puts: list[Any] = []
        self.gets: list[Any] = []
        self.other: list[Callable[[], None]] = []  # what else is to be done when it has committed
        self.born = born
        self.xid = b""
        self.shared: Any = None  # its part in the structures of a queue-sharing group
        self.label = b""  # client and number, for those who ask for the outcome
        self.triggers = 0  # messages that are put when it has ended
        self.alone = False  # it makes one change, in the call that commits it (U4)

    def become(self, state: State) -> None:
        if state not in NEXT[self.state]:
            raise Abend("U1", "a unit of recovery cannot go there", now=self.state.name, wanted=state.name)
        self.state = state

    def __repr__(self) -> str:
        return f"<unit {self.urid:x} {self.state.name}>"
