"""Active logs: how large, how many, on how many volumes, and what single or unformatted logs change.

Rules
  L1  A log takes at least 30 minutes to fill at the peak; where the largest legal log is too small for that, the answer
      says so and the number of logs carries the load.
  L2  At least four logs a copy; a day of data in them; and enough that an offload ends before its log is needed again.
  L3  Without parallel access (PAV) no two neighbours of the ring share a volume, and copies never do.
  L4  The largest log depends on the release and on where it is archived to; tracks are the limit, not the paper's
      rounded gigabytes.

Called by whoever plans a log.  Calls geometry, release, quantity, source, bounds.
"""

from dataclasses import dataclass
from enum import Enum
from math import ceil

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.geometry import TRACK_BYTES
from quaestor.planner.quantity import DAY_S, GIB, MINUTE_S
from quaestor.planner.release import Release
from quaestor.planner.source import OutOfRangeError, formula

LOG_BYTES_MAX = 4 * GIB  # T-1 [544, 546]
BDAM_TRACKS_MAX = 65_535  # T-1 [542]
FILL_TIME_MIN_S = 30 * MINUTE_S  # F-5 [554]
ACTIVE_LOGS_MIN = 4  # F-3 [538]
ACTIVE_LOGS_FLOOR = 3  # F-3 [1325]: three checkpoints' worth stays in active logs
ACTIVE_DATA_S = DAY_S  # F-1 [507]
SINGLE_LOGGING_GAIN_PERCENT = (6, 10)  # F-2 [525]


class Medium(Enum):
    """Where logs are archived to."""

    DASD = "DASD"
    TAPE = "tape"


@dataclass(frozen=True, slots=True)
class ActiveLogSize:
    """A log size, how long it lasts at the peak, and whether that is the 30 minutes asked for (L1)."""

    log_bytes: int
    fill_time_s: float
    wanted_bytes: int

    @property
    def lasts_30_minutes(self) -> bool:
        return self.wanted_bytes <= self.log_bytes


@dataclass(frozen=True, slots=True)
class UnformattedLog:
    """First use of a log that was not formatted beforehand."""

    data_rate_bytes_per_s: float
    response_time_s: float
    throughput_per_s: float


@formula("mp16-ch1", "T-1", "540-546")
def largest_active_log_bytes(release: Release, archive: Medium) -> int:
    """The largest active log the release can archive to the medium (L4)."""
    if release < Release.V8_0 and archive is Medium.DASD:
        return BDAM_TRACKS_MAX * TRACK_BYTES
    return LOG_BYTES_MAX


@formula("mp16-ch1", "T-1", "540-546")
def check_log_size(log_bytes: int, release: Release, archive: Medium) -> None:
    """Refuse a log that this release cannot archive to this medium."""
    at_least(1, log_bytes=log_bytes)
    largest_bytes = largest_active_log_bytes(release, archive)
    if log_bytes > largest_bytes:
        raise OutOfRangeError(
            f"log_bytes {log_bytes} is not valid at {release.name} with archives on {archive.value}: "
            f"at most {largest_bytes} ({largest_bytes // TRACK_BYTES} tracks)"
        )


@formula("mp16-ch1", "F-4", "538")
def fill_time_s(log_bytes: float, log_rate_bytes_per_s: float) -> float:
    """Seconds one log lasts at a log rate."""
    above(0, log_bytes=log_bytes, log_rate_bytes_per_s=log_rate_bytes_per_s)
    return log_bytes / log_rate_bytes_per_s


@formula("mp16-ch1", "F-5", "554")
def log_bytes_for_period(log_rate_bytes_per_s: float, period_s: float = FILL_TIME_MIN_S) -> int:
    """Log bytes a period writes at a steady rate: 30 minutes of peak, or a day."""
    at_least(0, log_rate_bytes_per_s=log_rate_bytes_per_s, period_s=period_s)
    return ceil(log_rate_bytes_per_s * period_s)


@formula("mp16-ch1", "F-5", "554")
def highest_rate_for_30_minutes_bytes_per_s(log_bytes: int = LOG_BYTES_MAX) -> float:
    """The log rate up to which one log of this size lasts 30 minutes."""
    above(0, log_bytes=log_bytes)
    return log_bytes / FILL_TIME_MIN_S


@formula("mp16-ch1", "F-5", "552-560")
def active_log_size(
    peak_log_rate_bytes_per_s: float, release: Release = Release.V9_0, archive: Medium = Medium.TAPE
) -> ActiveLogSize:
    """The smallest log that lasts 30 minutes at the peak, or the largest legal one where none does (L1)."""
    above(0, peak_log_rate_bytes_per_s=peak_log_rate_bytes_per_s)
    wanted_bytes = log_bytes_for_period(peak_log_rate_bytes_per_s)
    log_bytes = min(wanted_bytes, largest_active_log_bytes(release, archive))
    return ActiveLogSize(log_bytes, fill_time_s(log_bytes, peak_log_rate_bytes_per_s), wanted_bytes)


@formula("mp16-ch1", "F-3", "534-538, 1325")
def enough_active_logs(active_logs: int) -> bool:
    """Whether a copy has the four logs that are the least in practice."""
    at_least(1, active_logs=active_logs)
    return active_logs >= ACTIVE_LOGS_MIN


@formula("mp16-ch1", "F-4", "534-538")
def active_logs_needed(
    log_bytes: int,
    peak_log_rate_bytes_per_s: float,
    archive_time_s: float,
    archive_delay_s: float = 0.0,
    day_bytes: float = 0.0,
) -> int:
    """Logs a copy needs (L2): `archive_delay_s` holds mounts and waits, `day_bytes` what F-1 wants kept on DASD."""
    at_least(0, archive_time_s=archive_time_s, archive_delay_s=archive_delay_s, day_bytes=day_bytes)
    for_offload = _whole((archive_delay_s + archive_time_s) / fill_time_s(log_bytes, peak_log_rate_bytes_per_s)) + 1
    return max(ACTIVE_LOGS_MIN, _whole(day_bytes / log_bytes), for_offload)


def _whole(logs: float) -> int:
    """Whole logs; no further one for the last digits of a floating-point number."""
    return ceil(round(logs, 9))


@formula("mp16-ch1", "F-1", "505-509")
def active_log_bytes_for_a_day(average_log_rate_bytes_per_s: float) -> int:
    """What the active logs of one copy hold when they keep a day of data."""
    return log_bytes_for_period(average_log_rate_bytes_per_s, ACTIVE_DATA_S)


@formula("mp16-ch1", "F-7", "562-570")
def volume_of_each_log(active_logs: int, *, pav: bool = False) -> tuple[int, ...]:
    """For one copy, the volume (1, 2, ...) of each log in ring order with the fewest volumes (L3)."""
    at_least(ACTIVE_LOGS_FLOOR, active_logs=active_logs)
    if pav:
        return (1,) * active_logs
    alternating = [1 + log % 2 for log in range(active_logs)]
    if active_logs % 2:
        alternating[-1] = 3  # the last log is neighbour to the first
    return tuple(alternating)


@formula("mp16-ch1", "F-7", "562-570")
def log_volumes(active_logs: int, copies: int = 2, *, pav: bool = False) -> int:
    """The fewest volumes for the whole ring, one or two copies (L3)."""
    at_least(ACTIVE_LOGS_FLOOR, active_logs=active_logs)
    within(1, 2, copies=copies)
    return copies * (1 if pav else 2 + active_logs % 2)


@formula("mp16-ch1", "F-2", "519-525")
def single_logging_rate_bytes_per_s(dual_rate_bytes_per_s: float) -> tuple[float, float]:
    """Lowest and highest log capacity expected from single logging, given the dual one."""
    at_least(0, dual_rate_bytes_per_s=dual_rate_bytes_per_s)
    low, high = (dual_rate_bytes_per_s * (100 + gain) / 100 for gain in SINGLE_LOGGING_GAIN_PERCENT)
    return low, high


@formula("mp16-ch1", "F-9", "590-596")
def unformatted_log(data_rate_bytes_per_s: float, response_time_s: float, throughput_per_s: float) -> UnformattedLog:
    """What is left at first use of an unformatted log: half the data rate at worst, responses a third longer."""
    at_least(0, data_rate_bytes_per_s=data_rate_bytes_per_s, response_time_s=response_time_s)
    at_least(0, throughput_per_s=throughput_per_s)
    return UnformattedLog(data_rate_bytes_per_s * 0.50, response_time_s * 1.33, throughput_per_s * 0.75)


@formula("mp16-ch1", "F-17", "814-820")
def longest_unit_of_work_s(log_bytes: int, peak_log_rate_bytes_per_s: float) -> float:
    """How long a unit of work may last so that restart reads two active logs at most: one fill time (ours)."""
    return fill_time_s(log_bytes, peak_log_rate_bytes_per_s)
