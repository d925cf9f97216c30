"""The operator's view of the traces: what START, STOP and DISPLAY TRACE, and SET SYSTEM, ask of statistics.

Rules
  OT1 A command names a trace by its number. A class that two traces have is collected until both have been stopped.
  OT2 Records go to SMF and nowhere else.

Called by the command processor.  Calls the statistics manager.
"""

from collections.abc import Sequence

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.traces import Trace
from quaestor.qmgr.statistics.manager import StatisticsManager
from quaestor.qmgr.statistics.settings import CLASSES
from quaestor.qmgr.statistics.traces import DESTINATION


class OperatorTraces:
    """The traces of a queue manager, by number (OT1)."""

    def __init__(self, statistics: StatisticsManager) -> None:
        self._statistics = statistics

    def start(self, kind: str, classes: tuple[int, ...], destination: str) -> int:
        known = CLASSES[kind] & set(classes)
        if destination != DESTINATION:
            raise MQError(Reason.ENVIRONMENT_ERROR, trace=kind, destination=destination, why="records go to SMF")  # OT2
        if not known:
            raise MQError(Reason.ENVIRONMENT_ERROR, trace=kind, classes=classes, why=f"one of {sorted(CLASSES[kind])}")
        return self._statistics.start(kind, known)

    def stop(self, number: int) -> None:
        self._statistics.stop(number)

    def display(self) -> Sequence[Trace]:
        return [Trace(row.number, row.kind, row.classes, row.destination) for row in self._statistics.display()]

    def intervals(self) -> dict[str, int]:
        return self._statistics.intervals()

    def set_interval(self, name: str, minutes: int) -> None:
        self._statistics.set_interval(name, minutes)
