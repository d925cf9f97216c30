"""Restart: how long each phase takes, and the whole.

Rules
  R1  Restart is dominated by reading log, phase by phase, and by waiting for archives.
  R2  Phase 2 reads the current log from its start to the last checkpoint, and on to the failure: a whole log at most.
  R3  Phase 3 reads for units in doubt and in commit, and at the same time rebuilds page sets and pools; the longer of
      the two counts.  Pages of page sets are read one at a time, which takes longer than to read their log.
  R4  Phase 4 reads backwards, at about half the forward rate or worse.  (One sentence of the paper says forwards
      [1305]; the plan takes the slower.)
  R5  A rate is an argument; the default is the DS8800 of the paper.

Called by whoever plans recovery.  Calls backup, log_ranges, geometry, quantity, source, bounds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from quaestor.planner.backup import recovery_log_bytes
from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.geometry import CYLINDER_BYTES, PAGE_BYTES, pages
from quaestor.planner.log_ranges import LogRange
from quaestor.planner.quantity import GIB, MB, MIB
from quaestor.planner.source import Source, formula


@dataclass(frozen=True, slots=True)
class ReadRate:
    """A rate at which log was read, where, and the lines that say so."""

    bytes_per_s: float
    measured_on: str
    lines: str


READ_RATES_SOURCE = Source("mp16-ch1", "T-15", "1275-1457")
FORWARD = ReadRate(105 * MIB, "DS8800 forward", "1275")
BACKWARD = ReadRate(56 * MIB, "DS8800 backward", "1275, 1327")
STATE_2_KB_MESSAGES = ReadRate(2 * GIB / 22, "2964-703, 2 KB messages, phase 2", "1287")
OLD_DASD_FORWARD = ReadRate(1000 * CYLINDER_BYTES / 300, "3390, 1000 cylinders in some 5 minutes", "1283")
OLD_TAPE_FORWARD = ReadRate(2.7 * MB, "worked example, forward", "1385")
OLD_TAPE_BACKWARD = ReadRate(0.5 * MB, "worked example, backward", "1449")
VIRTUAL_TAPE = ReadRate(2.6 * MB, "virtual tape, not destaged", "1457")
VIRTUAL_TAPE_DESTAGED = ReadRate(0.6 * MB, "virtual tape on 3590, with locate and mount", "1457")
READ_RATES = (
    FORWARD,
    BACKWARD,
    STATE_2_KB_MESSAGES,
    OLD_DASD_FORWARD,
    OLD_TAPE_FORWARD,
    OLD_TAPE_BACKWARD,
    VIRTUAL_TAPE,
    VIRTUAL_TAPE_DESTAGED,
)

PAGE_READ_US = 230  # DS8870 [1299]
ZHPF_GAIN = 1.4  # [1301]
CHECKPOINTS_TO_REBUILD = 2  # [1325]
CHECKPOINTS_TO_REBUILD_MAX = 3  # failure while taking one [1325]


@dataclass(frozen=True, slots=True)
class RestartEstimate:
    """Seconds by phase; `units_s` and `rebuild_s` run side by side (R3)."""

    state_s: float
    units_s: float
    rebuild_s: float
    backward_s: float
    mounts: int = 0
    mount_s: float = 0.0

    @property
    def forward_s(self) -> float:
        return max(self.units_s, self.rebuild_s)

    @property
    def mounting_s(self) -> float:
        return self.mounts * self.mount_s

    @property
    def total_s(self) -> float:
        return self.state_s + self.forward_s + self.backward_s + self.mounting_s


@formula("mp16-ch1", "F-33", "1267-1275")
def read_time_s(log_bytes: float, rate_bytes_per_s: float = FORWARD.bytes_per_s) -> float:
    """Seconds to read log (R1, R5)."""
    at_least(0, log_bytes=log_bytes)
    above(0, rate_bytes_per_s=rate_bytes_per_s)
    return log_bytes / rate_bytes_per_s


@formula("mp16-ch1", "F-35", "1281-1283")
def state_range(checkpoint_rba: int, failure_rba: int, log_start_rba: int | None = None) -> LogRange:
    """What phase 2 reads: from the checkpoint, or from the start of the current log where that is given (R2)."""
    at_least(0, checkpoint_rba=checkpoint_rba)
    if log_start_rba is not None:
        within(0, checkpoint_rba, log_start_rba=log_start_rba)
    return LogRange(checkpoint_rba if log_start_rba is None else log_start_rba, failure_rba)


@formula("mp16-ch1", "F-35", "1283")
def bytes_between_checkpoints(log_bytes: float, checkpoints_per_log: float) -> float:
    """Log between two checkpoints: one log over the checkpoints taken while it fills."""
    at_least(0, log_bytes=log_bytes)
    at_least(1, checkpoints_per_log=checkpoints_per_log)
    return log_bytes / checkpoints_per_log


@formula("mp16-ch1", "F-36", "1287")
def state_cpu_s(log_bytes: float, rate_bytes_per_s: float = STATE_2_KB_MESSAGES.bytes_per_s) -> float:
    """CPU seconds of phase 2; the default is the rate measured for 2 KB messages, larger ones cost less."""
    return read_time_s(log_bytes, rate_bytes_per_s)


@formula("mp16-ch1", "F-37", "1295-1303")
def forward_pages_max(stretch: LogRange) -> int:
    """The most pages forward recovery reads for the range of CSQR030I."""
    return pages(stretch.bytes)


@formula("mp16-ch1", "F-37", "1295-1303")
def forward_page_reads_s(
    pages_max: int, share_read: float = 1.0, page_read_us: float = PAGE_READ_US, *, zhpf: bool = False
) -> float:
    """Seconds to read pages one by one; 10% to 100% of the most were read in practice (R3)."""
    at_least(0, pages_max=pages_max)
    within(0, 1, share_read=share_read)
    above(0, page_read_us=page_read_us)
    return pages_max * share_read * page_read_us / 1_000_000 / (ZHPF_GAIN if zhpf else 1.0)


@formula("mp16-ch1", "F-37", "1299")
def page_read_rate_bytes_per_s(page_read_us: float = PAGE_READ_US) -> float:
    """Bytes a second of single page reads."""
    above(0, page_read_us=page_read_us)
    return PAGE_BYTES * 1_000_000 / page_read_us


@formula("mp16-ch1", "F-38", "1305, 1403-1417")
def units_s(ranges: Iterable[LogRange], rate_bytes_per_s: float = FORWARD.bytes_per_s) -> float:
    """Seconds to read what units in doubt and in commit need, one range after the other."""
    return sum(read_time_s(stretch.bytes, rate_bytes_per_s) for stretch in ranges)


@formula("mp16-ch1", "F-41", "1325")
def rebuild_bytes(bytes_per_checkpoint: float, *, failed_in_checkpoint: bool = True) -> float:
    """Log to read to bring page sets and pools up to the failure; the safe case is a failure inside a checkpoint."""
    at_least(0, bytes_per_checkpoint=bytes_per_checkpoint)
    checkpoints = CHECKPOINTS_TO_REBUILD_MAX if failed_in_checkpoint else CHECKPOINTS_TO_REBUILD
    return checkpoints * bytes_per_checkpoint


@formula("mp16-ch1", "F-39, F-40", "1311-1321")
def media_recovery_s(
    failure_rba: int,
    backup_rba: int = 0,
    rate_bytes_per_s: float = FORWARD.bytes_per_s,
    bytes_per_checkpoint: float = 0.0,
    *,
    fuzzy: bool = False,
) -> float:
    """Seconds to read the log since a backup; `backup_rba` 0 is a page set without one: all log there ever was."""
    since_bytes = LogRange(backup_rba, failure_rba).bytes
    return read_time_s(recovery_log_bytes(since_bytes, bytes_per_checkpoint, fuzzy=fuzzy), rate_bytes_per_s)


@formula("mp16-ch1", "F-42", "1327")
def backward_s(stretch: LogRange, rate_bytes_per_s: float = BACKWARD.bytes_per_s) -> float:
    """Seconds to undo what was in flight or in backout (R4)."""
    return read_time_s(stretch.bytes, rate_bytes_per_s)


@formula("mp16-ch1", "F-43", "1380-1451")
def restart_estimate(
    state: LogRange,
    units: Iterable[LogRange],
    rebuild_log_bytes: float,
    backward: LogRange,
    forward_rate_bytes_per_s: float = FORWARD.bytes_per_s,
    backward_rate_bytes_per_s: float = BACKWARD.bytes_per_s,
    mounts: int = 0,
    mount_s: float = 0.0,
    rebuild_pages: int = 0,
) -> RestartEstimate:
    """All phases of a restart; phase 1 is negligible (F-34).  `rebuild_pages` are read meanwhile (R3)."""
    at_least(0, mounts=mounts, mount_s=mount_s)
    return RestartEstimate(
        read_time_s(state.bytes, forward_rate_bytes_per_s),
        units_s(units, forward_rate_bytes_per_s),
        max(read_time_s(rebuild_log_bytes, forward_rate_bytes_per_s), forward_page_reads_s(rebuild_pages)),
        backward_s(backward, backward_rate_bytes_per_s),
        mounts,
        mount_s,
    )
