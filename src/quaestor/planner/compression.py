"""zEDC: what compressing archive logs and SMF log streams gains and costs.

Rules
  Z1  Only archive logs are eligible, and only in extended format: without it nothing is compressed.
  Z2  Writing is cheaper for DASD, reading is dearer: recovery reads compressed archives at about a third of the rate.
  Z3  An archive on the control unit of log copy 2 slows copy 2; the two copies' I/O times side by side show it.
  Z4  The papers print "CPU ms per MB" for recovery; the product with the rate exceeds the machine, so the unit that
      follows is microseconds.  `recovery_cpu_share` says so in figures.

Called by the plan and by the advisor (ZEDC-1 to ZEDC-5).  Calls source, bounds.
"""

import math
from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.source import Source, Table, formula

EXTRACT = "mp16-ch4-11"

ZEDC_EFFECT = Table(
    "archive compression with zEDC",
    Source(EXTRACT, "4.7 ORACLE 8", "4330-4332"),
    ("message_bytes", "queue_manager_tcb_increase_percent", "peak_throughput_increase_percent"),
    ((4_096, 7, 1), (32_768, 26, 2), (1_048_576, 90, 30), (4_194_304, 100, 45)),
)
"""Part of the rise in TCB time is the higher log rate itself."""


@dataclass(frozen=True, slots=True)
class RecoveryRead:
    """RECOVER CFSTRUCT from one kind of archive: how fast, and the CPU figure as printed for each megabyte."""

    mb_per_sec: float
    cpu_per_mb_printed: float
    source: Source


UNCOMPRESSED = RecoveryRead(88, 860, Source(EXTRACT, "4.7 ORACLE 9", "4340-4342"))
COMPRESSED = RecoveryRead(27, 1_900, Source(EXTRACT, "4.7 ORACLE 9", "4340-4342"))


@formula(EXTRACT, "4.7 ORACLE 9", "4340-4344")
def recover_structure_seconds(structure_mb: float, archive: RecoveryRead) -> float:
    """How long RECOVER CFSTRUCT reads archives for a structure of this size (Z2)."""
    at_least(0, structure_mb=structure_mb)
    return structure_mb / archive.mb_per_sec


@formula(EXTRACT, "4.7 AMB-1", "4340-4344")
def recovery_cpu_share(archive: RecoveryRead, *, unit_us: float = 1.0) -> float:
    """Processors busy while recovering, with the printed cost read in this unit; 1,000 us is what is printed (Z4)."""
    above(0, unit_us=unit_us)
    return archive.cpu_per_mb_printed * unit_us * archive.mb_per_sec / 1e6


ZEDC_BUSY_PERCENT_INCOMPRESSIBLE = 65.0
ZEDC_BUSY_PERCENT_COMPRESSIBLE = 50.0
ZEDC_FEATURES_PER_DRAWER_MAX = 8
LPARS_PER_ZEDC_FEATURE_MAX = 16
ZEDC_SOURCE = Source(EXTRACT, "4.7 ORACLE 10", "4346-4348")


@formula(EXTRACT, "4.7 ORACLE 10", "4346-4348")
def zedc_features_needed(
    queue_managers_at_peak: int, *, compressible: bool = False, busy_percent_max: float = 100.0
) -> int:
    """ZEDC features for queue managers that all archive (dual) at their peak log rate at the same time."""
    at_least(0, queue_managers_at_peak=queue_managers_at_peak)
    each = ZEDC_BUSY_PERCENT_COMPRESSIBLE if compressible else ZEDC_BUSY_PERCENT_INCOMPRESSIBLE
    within(each, 100, busy_percent_max=busy_percent_max)
    return math.ceil(queue_managers_at_peak / math.floor(busy_percent_max / each))


LOG_RATE_GAIN_PERCENT = {"incompressible": 30.0, "compressible by 80 %": 45.0}
LOG_RATE_COMPRESSED_MB_PER_SEC = 440.0
LOG_RATE_SOURCE = Source(EXTRACT, "4.7 ORACLE 11", "4322, 4380, 4390")


@formula(EXTRACT, "4.7 ORACLE 11", "4390")
def rate_before_gain(rate_after: float, gain_percent: float) -> float:
    """The rate a measured gain started from."""
    at_least(0, rate_after=rate_after)
    above(-100, gain_percent=gain_percent)
    return rate_after / (1 + gain_percent / 100)


@dataclass(frozen=True, slots=True)
class LogCopyIo:
    """SMF log I/O of one copy and one class (1 page, or more than 1 page) over an interval."""

    requests: int
    control_intervals: int
    io_us_avg: float
    after_io_us_avg: float

    @property
    def pages_per_io(self) -> float:
        above(0, requests=self.requests)
        return self.control_intervals / self.requests

    @property
    def pages_per_io_printed(self) -> str:
        """As MQ1150 prints it: one significant digit."""
        return f"{self.pages_per_io:.1g}"


@formula(EXTRACT, "4.7 ORACLE 12", "4396-4421")
def copy_two_slowdown(copy_one: LogCopyIo, copy_two: LogCopyIo) -> float:
    """I/O time of log copy 2 over that of copy 1: 1.59 and 1.11 in the papers' bad and good runs (Z3)."""
    above(0, copy_one_io_us_avg=copy_one.io_us_avg)
    return copy_two.io_us_avg / copy_one.io_us_avg


@formula(EXTRACT, "4.7 ZEDC-2", "4396-4431")
def archive_disturbs_copy_two(
    copy_one: LogCopyIo, copy_two: LogCopyIo, *, dfw_bypass_rate: float, slowdown_min: float = 1.3
) -> bool:
    """Whether the archives should be compressed or moved: copy 2 is slow and its control unit bypasses fast write.

    The cut-off 1.3 is ours; the papers show one run on each side of it.
    """
    at_least(0, dfw_bypass_rate=dfw_bypass_rate)
    return dfw_bypass_rate > 0 and copy_two_slowdown(copy_one, copy_two) > slowdown_min


@dataclass(frozen=True, slots=True)
class CacheSubsystem:
    """One row of the RMF cache subsystem report, rates for each second."""

    control_unit: str
    io_rate: float
    read_rate: float
    dasd_fast_write_rate: float
    dasd_fast_write_bypass_rate: float

    @property
    def io_rate_from_parts(self) -> float:
        """Reads and fast writes make the I/O rate; the identity fixes which column is which."""
        return self.read_rate + self.dasd_fast_write_rate


SMF_LOG_STREAM_GAIN = 2.0
SMF_LOG_STREAM_ZEDC_GAIN = 3.8


@formula(EXTRACT, "4.8 ORACLE 14", "4455-4457")
def smf_rate_without_loss(data_set_rate: float, *, log_stream: bool, zedc: bool = False) -> float:
    """Transaction rate whose class 3 accounting SMF absorbs, from the rate its data sets absorbed.

    zEDC compresses log streams only; asking for it on data sets changes nothing.
    """
    at_least(0, data_set_rate=data_set_rate)
    if not log_stream:
        return data_set_rate
    return data_set_rate * SMF_LOG_STREAM_GAIN * (SMF_LOG_STREAM_ZEDC_GAIN if zedc else 1)


@formula(EXTRACT, "4.7 ZEDC-1", "4362-4366")
def archive_is_compressed(archive_bytes: float, log_bytes: float, *, equal_within_percent: float = 1.0) -> bool:
    """Whether an archive is smaller than its log by more than a margin (Z1).  The margin is ours."""
    above(0, archive_bytes=archive_bytes, log_bytes=log_bytes)
    within(0, 100, equal_within_percent=equal_within_percent)
    return archive_bytes < log_bytes * (1 - equal_within_percent / 100)
