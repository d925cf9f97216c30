"""The operator's view of the traces: what START, STOP and DISPLAY TRACE, and SET SYSTEM, ask of statistics.

Rules
  OT1 A command names a trace by its number, statistics by kind and classes: stopping a number ends that trace's
      classes. Two traces of a kind that share a class end it together, for a record is cut or it is not.
  OT2 Records go to SMF and nowhere else.

Called by the command processor.  Calls the statistics manager.
"""

from collections.abc import Sequence
from dataclasses import replace

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.traces import Trace
from quaestor.qmgr.statistics.manager import StatisticsManager
from quaestor.qmgr.statistics.settings import CLASSES
from quaestor.qmgr.statistics.traces import DESTINATION

STATIME = "STATIME"
S_PER_MINUTE = 60


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
        for row in self._statistics.display():
            if row.number == number:
                self._statistics.stop(row.kind, frozenset(row.classes))

    def display(self) -> Sequence[Trace]:
        return [Trace(row.number, row.kind, row.classes, row.destination) for row in self._statistics.display()]

    def intervals(self) -> dict[str, int]:
        return {STATIME: round(self._statistics.settings.statime_s / S_PER_MINUTE)}

    def set_interval(self, name: str, minutes: int) -> None:
        if name != STATIME or minutes < 1:
            raise MQError(Reason.ENVIRONMENT_ERROR, interval=name, minutes=minutes, why="STATIME, from 1 minute up")
        self._statistics.settings = replace(self._statistics.settings, statime_s=float(minutes * S_PER_MINUTE))
