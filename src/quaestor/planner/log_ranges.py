"""Which stretches of the log a restart reads, and on which data sets they lie.

Rules
  R1  Forward: each in-doubt or in-commit unit is read from the start of the data set that holds its first record to its
      last record; where that is not known, to the failure.
  R2  Ranges that meet are read once, from the lowest RBA to the highest.
  R3  Backward: from the failure down to the first record of the oldest in-flight or in-backout unit; every data set on
      the way is needed.
  R4  A data set whose records are still in an active log is never mounted, whether it is said to be active itself or
      the BSDS names archive and active log side by side.
  R5  An RBA that no data set holds is refused with the range that they hold.

Called by restart and job_log.  Calls source, bounds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import at_least
from quaestor.planner.source import OutOfRangeError, formula


class UnitStatus(Enum):
    """State of a unit of recovery at the failure, by the letter of the status table."""

    IN_COMMIT = "C"
    IN_DOUBT = "D"
    IN_FLIGHT = "F"
    IN_BACKOUT = "A"


FORWARD_STATUS = {UnitStatus.IN_COMMIT, UnitStatus.IN_DOUBT}


@dataclass(frozen=True, slots=True, order=True)
class LogRange:
    """Log bytes from one RBA up to, not including, another."""

    from_rba: int
    to_rba: int

    def __post_init__(self) -> None:
        at_least(0, from_rba=self.from_rba)
        at_least(self.from_rba, to_rba=self.to_rba)

    @property
    def bytes(self) -> int:
        return self.to_rba - self.from_rba


@dataclass(frozen=True, slots=True)
class LogDataSet:
    """An archive or active log data set, first and last RBA as the BSDS prints them."""

    name: str
    start_rba: int
    end_rba: int
    active: bool = False

    def holds(self, rba: int) -> bool:
        return self.start_rba <= rba <= self.end_rba

    def meets(self, stretch: LogRange) -> bool:
        return self.start_rba < stretch.to_rba and stretch.from_rba <= self.end_rba


@dataclass(frozen=True, slots=True)
class UnitOfRecovery:
    """A unit of recovery at the failure; `end_rba` is known only of units in doubt or in commit."""

    status: UnitStatus
    start_rba: int
    end_rba: int | None = None


def rba_of(text: str) -> int:
    """An RBA as messages print it: up to 16 hexadecimal digits, the letter O read as zero."""
    digits = text.strip().upper().replace("O", "0")
    if not 1 <= len(digits) <= 16 or set(digits) - set("0123456789ABCDEF"):
        raise OutOfRangeError(f"RBA {text!r} is not valid: 1 to 16 hexadecimal digits")
    return int(digits, 16)


@formula("mp16-ch1", "F-38", "1305, 1401-1416")
def forward_ranges(
    units: Iterable[UnitOfRecovery], data_sets: Sequence[LogDataSet], failure_rba: int
) -> list[LogRange]:
    """What forward recovery reads for units in doubt and in commit (R1, R2)."""
    ranges = sorted(
        LogRange(
            _data_set_of(unit.start_rba, data_sets).start_rba, failure_rba if unit.end_rba is None else unit.end_rba
        )
        for unit in units
        if unit.status in FORWARD_STATUS
    )
    merged: list[LogRange] = []
    for stretch in ranges:
        if merged and stretch.from_rba <= merged[-1].to_rba:
            stretch = LogRange(merged[-1].from_rba, max(merged.pop().to_rba, stretch.to_rba))  # noqa: PLW2901 (joined)
        merged.append(stretch)
    return merged


@formula("mp16-ch1", "F-42", "1248-1249, 1327")
def backward_range(units: Iterable[UnitOfRecovery], failure_rba: int) -> LogRange:
    """What backward recovery reads: empty when nothing was in flight or in backout (R3)."""
    starts = [unit.start_rba for unit in units if unit.status not in FORWARD_STATUS]
    return LogRange(min(starts, default=failure_rba), failure_rba)


@formula("mp16-ch1", "F-38", "1389-1390, 1426-1436")
def archives_to_mount(ranges: Iterable[LogRange], data_sets: Sequence[LogDataSet]) -> list[LogDataSet]:
    """The archives that hold any of the ranges and are in no active log, in ascending order of RBA (R4)."""
    left = [stretch for stretch in ranges if stretch.bytes]
    for active in (each for each in data_sets if each.active):
        left = [part for stretch in left for part in _outside(stretch, active)]
    needed = [each for each in data_sets if not each.active and any(each.meets(stretch) for stretch in left)]
    return sorted(needed, key=lambda each: each.start_rba)


def _outside(stretch: LogRange, data_set: LogDataSet) -> Iterator[LogRange]:
    """The parts of a stretch, none or up to two, that a data set does not hold."""
    if stretch.from_rba < data_set.start_rba:
        yield LogRange(stretch.from_rba, min(stretch.to_rba, data_set.start_rba))
    if stretch.to_rba > data_set.end_rba + 1:
        yield LogRange(max(stretch.from_rba, data_set.end_rba + 1), stretch.to_rba)


def _data_set_of(rba: int, data_sets: Sequence[LogDataSet]) -> LogDataSet:
    for each in data_sets:
        if each.holds(rba):
            return each
    if not data_sets:
        raise OutOfRangeError(f"RBA {rba:012X} is not valid: no log data set was given")
    low, high = min(each.start_rba for each in data_sets), max(each.end_rba for each in data_sets)
    raise OutOfRangeError(f"RBA {rba:012X} is in no log data set: they hold {low:012X} to {high:012X}")
