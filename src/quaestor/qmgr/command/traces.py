"""Traces: who keeps statistics and accounting, as far as commands need to know.

Rules
  TR1 Statistics and accounting are traces of their own: STAT writes SMF 115, ACCTG SMF 116, each with classes. Whoever
      keeps them answers `Traces`; the commands only ask.
  TR2 Without anybody to keep them no trace is active, and a command that wants one is told so: nothing is promised.

Called by tracing and system.  Answered by statistics.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from quaestor.mqi.reasons import MQError, Reason


class Trace(NamedTuple):
    """An active trace."""

    number: int
    kind: str
    classes: tuple[int, ...]
    destination: str = "SMF"
    user: str = "*"


class Traces(Protocol):
    """Whoever keeps the traces. Every call holds the engine latch; what is not possible is an `MQError`."""

    def start(self, kind: str, classes: tuple[int, ...], destination: str) -> int:
        """Start a trace of a kind (STAT, ACCTG) and give its number."""

    def stop(self, number: int) -> None:
        """Stop the trace of this number, which `display` has shown."""

    def display(self) -> Sequence[Trace]:
        """The traces that are active."""

    def intervals(self) -> dict[str, int]:
        """{"STATIME": minutes, "ACCTIME": minutes or -1 for those of STATIME}, as far as they are kept."""

    def set_interval(self, name: str, minutes: int) -> None:
        """Cut records at another interval from now on."""


class NoTraces:
    """Nobody keeps traces (TR2)."""

    def start(self, kind: str, classes: tuple[int, ...], destination: str) -> int:  # noqa: ARG002 - the protocol's
        raise MQError(Reason.ENVIRONMENT_ERROR, trace=kind, why="nothing in this queue manager collects it")

    def stop(self, number: int) -> None:
        raise MQError(Reason.UNKNOWN_OBJECT_NAME, type="TRACE", name=str(number))

    def display(self) -> Sequence[Trace]:
        return ()

    def intervals(self) -> dict[str, int]:
        return {}

    def set_interval(self, name: str, minutes: int) -> None:
        raise MQError(Reason.ENVIRONMENT_ERROR, interval=name, minutes=minutes, why="nothing collects at intervals")
