"""Log DASD: how many megabytes a second the log can take, and what that makes in messages.

Rules
  D1  The rates are peak rates with dual logging, one message put per commit and one got per commit.
  D2  The papers measured three message sizes.  Between two of them the rate of the smaller one is taken, because
      the rate rises with the size; a straight line between the two is given only on request and is ours.
  D3  A plan uses at most half of the attainable rate.
  D4  Persistent throughput is the least of three ceilings: log DASD, one application instance, one queue.
  D5  A megabyte is 2**20 bytes.  "1KB" in the table means 1,000 to 1,024 bytes, so the rows begin at 1,000.

Called by the plan and by the advisor (DASD-1 to DASD-8).  Calls source, bounds.
What a message writes to the log is not known here: `log_bytes_per_message` is an argument.
"""

import math
from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import above, at_least, one_of, within
from quaestor.planner.source import Source, Table, formula

EXTRACT = "mp16-ch4-11"
MEGABYTE = 1 << 20
PLANNING_SHARE = 0.5
ARCHIVE_TRACKS_BEFORE_V8_MAX = 65_535
CONTROL_INTERVAL_BYTES = 4_096

_SIZES = (1_000, 5_000, 1_000_000)


def _rates(dasd: str, lines: str, *mb_per_sec: float) -> tuple[str, Table]:
    source = Source(EXTRACT, "4.2 ORACLE 1", lines)
    rows = tuple(zip(_SIZES, mb_per_sec, strict=False))
    return dasd, Table(f"log data rate on {dasd}", source, ("message_bytes", "mb_per_sec"), rows)


LOG_RATES: dict[str, Table] = dict(
    (
        _rates("RVA-T82", "4195", 2.3, 2.8),
        _rates("ESS E20 with ESCON", "4196", 5.3, 7.1),
        _rates("ESS F20 with ESCON", "4197", 7.1, 10.2, 11.3),
        _rates("ESS F20 with FICON", "4198", 7.4, 13.0, 15.6),
        _rates("ESS 800", "4199", 10.0, 16.5, 24.0),
        _rates("DS8000 (RAID 5)", "4200", 14.9, 36.0, 68.1),
        _rates("DS8000 (RAID 10)", "4201", 15.6, 36.1, 68.6),
        _rates("DS8800 (RAID 5)", "4202", 32.1, 62.4, 128.7),
        _rates("DS8870 (RAID 5) with 4 stripes", "4203", 47.8, 98.5, 215.0),
        _rates("DS8870 (RAID 5) with 4 stripes plus zHPF enabled", "4204", 64.7, 136.4, 337.5),
    )
)


def _message_bytes_max(table: Table) -> float:
    """The longest message the last measured size stands for: "5KB" may be 5,120 bytes, "1MB" 1,048,576 (D5)."""
    return MEGABYTE if len(table.rows) == len(_SIZES) else 1.024 * table.rows[-1][0]


def sizes_measured(dasd: str) -> tuple[float, float]:
    """The least and the largest message for which a DASD type has a rate; the oldest have none for 1MB."""
    one_of(LOG_RATES, dasd=dasd)
    sizes = LOG_RATES[dasd].column("message_bytes")
    return sizes[0], sizes[-1]


@formula(EXTRACT, "4.2 ORACLE 1", "4190-4204")
def log_rate_mb_per_sec(dasd: str, message_bytes: float, *, interpolate: bool = False) -> float:
    """Peak log data rate of a DASD type, dual logging, at a message size (D1, D2)."""
    one_of(LOG_RATES, dasd=dasd)
    table = LOG_RATES[dasd]
    sizes = table.column("message_bytes")
    within(sizes[0], _message_bytes_max(table), message_bytes=message_bytes)
    if interpolate:
        return table.between(min(message_bytes, sizes[-1]), "mb_per_sec")
    return table.exactly(max(size for size in sizes if size <= message_bytes), "mb_per_sec")


@formula(EXTRACT, "4.2 ORACLE 2", "4206")
def planning_log_rate_mb_per_sec(dasd: str, message_bytes: float, *, share: float = PLANNING_SHARE) -> float:
    """The log data rate a plan may count on (D3)."""
    above(0, share=share)
    within(0, 1, share=share)
    return share * log_rate_mb_per_sec(dasd, message_bytes)


@formula(EXTRACT, "4.2 ORACLE 3", "719-721")
def messages_per_sec(log_mb_per_sec: float, log_bytes_per_message: float) -> float:
    """How many messages a second a log data rate carries (D5)."""
    at_least(0, log_mb_per_sec=log_mb_per_sec)
    above(0, log_bytes_per_message=log_bytes_per_message)
    return log_mb_per_sec * MEGABYTE / log_bytes_per_message


@formula(EXTRACT, "15 question 1", "4206")
def required_log_mb_per_sec(message_rate_per_sec: float, log_bytes_per_message: float) -> float:
    """The log data rate a message rate needs; the inverse of `messages_per_sec`."""
    at_least(0, message_rate_per_sec=message_rate_per_sec)
    above(0, log_bytes_per_message=log_bytes_per_message)
    return message_rate_per_sec * log_bytes_per_message / MEGABYTE


@dataclass(frozen=True, slots=True)
class LogDasdFit:
    """Whether a workload fits a DASD type (DASD-1)."""

    dasd: str
    required_mb_per_sec: float
    attainable_mb_per_sec: float
    share: float

    @property
    def used_share(self) -> float:
        return self.required_mb_per_sec / self.attainable_mb_per_sec

    @property
    def fits(self) -> bool:
        return self.used_share <= self.share


@formula(EXTRACT, "4.4 DASD-1", "4176-4206")
def log_dasd_fit(
    dasd: str,
    message_bytes: float,
    message_rate_per_sec: float,
    log_bytes_per_message: float,
    *,
    share: float = PLANNING_SHARE,
) -> LogDasdFit:
    required = required_log_mb_per_sec(message_rate_per_sec, log_bytes_per_message)
    within(0, 1, share=share)
    return LogDasdFit(dasd, required, log_rate_mb_per_sec(dasd, message_bytes), share)


def dasd_types_that_fit(
    message_bytes: float, message_rate_per_sec: float, log_bytes_per_message: float, *, share: float = PLANNING_SHARE
) -> tuple[LogDasdFit, ...]:
    """The DASD types of the table that take the workload, slowest first; types without the size are left out."""
    fits = (
        log_dasd_fit(dasd, message_bytes, message_rate_per_sec, log_bytes_per_message, share=share)
        for dasd, table in LOG_RATES.items()
        if message_bytes <= _message_bytes_max(table)
    )
    return tuple(sorted((fit for fit in fits if fit.fits), key=lambda fit: fit.attainable_mb_per_sec))


class Ceiling(Enum):
    """What holds persistent throughput down (D4), with the papers' remedy."""

    LOG_DASD = "faster DASD, or more queue managers each with its own log"
    ONE_INSTANCE = "more application instances, where order allows it"
    ONE_QUEUE = "more queues"


@formula(EXTRACT, "4.1", "4174-4178")
def persistent_rate_per_sec_max(
    *,
    log_mb_per_sec: float,
    log_bytes_per_message: float,
    instances: int,
    elapsed_us_per_message: float,
    queue_rate_per_sec_max: float | None = None,
) -> tuple[float, Ceiling]:
    """The least of the three ceilings, and which one it is (D4)."""
    at_least(1, instances=instances)
    above(0, elapsed_us_per_message=elapsed_us_per_message)
    if queue_rate_per_sec_max is not None:
        at_least(0, queue_rate_per_sec_max=queue_rate_per_sec_max)
    ceilings = {
        Ceiling.LOG_DASD: messages_per_sec(log_mb_per_sec, log_bytes_per_message),
        Ceiling.ONE_INSTANCE: instances * 1e6 / elapsed_us_per_message,
        Ceiling.ONE_QUEUE: math.inf if queue_rate_per_sec_max is None else queue_rate_per_sec_max,
    }
    lowest = min(ceilings, key=lambda ceiling: ceilings[ceiling])
    return ceilings[lowest], lowest


SINGLE_LOGGING_GAIN_PERCENT = Table(
    "throughput gain of single over dual logging",
    Source(EXTRACT, "4.3 ORACLE 4", "4208-4210"),
    ("message_bytes", "gain_percent"),
    ((1_000, 5.0), (1_000_000, 80.0)),
)
"""Small messages and 1MB messages.  Constrained DASD gains more; the price is a single point of failure."""


@formula(EXTRACT, "4.3 ORACLE 4", "4208-4210")
def single_logging_gain_percent_range() -> tuple[float, float]:
    """Least and most gain in throughput of single logging, small to 1MB messages."""
    gains = SINGLE_LOGGING_GAIN_PERCENT.column("gain_percent")
    return min(gains), max(gains)


@formula(EXTRACT, "4.4 ORACLE 5", "4212-4214")
def stripes_used(bytes_in_write: int, stripes: int, *, stripe_unit_bytes: int = CONTROL_INTERVAL_BYTES) -> int:
    """How many stripes one log write touches.

    One stripe gains nothing, all of them gain the most.  The papers give no stripe unit; the default is one control
    interval, because messages above 4KB are said to gain.
    """
    at_least(1, bytes_in_write=bytes_in_write, stripes=stripes, stripe_unit_bytes=stripe_unit_bytes)
    return min(stripes, math.ceil(bytes_in_write / stripe_unit_bytes))


@formula(EXTRACT, "4.4 DASD-3", "4216")
def seconds_until_no_active_log_is_free(
    *, active_log_mb: float, active_logs: int, log_mb_per_sec: float, archive_mb_per_sec: float
) -> float:
    """How long a burst may last before the logger waits for an archive; infinite when archiving keeps up.

    Logs fill one after the other; a full log is archived after the one before it and is free only then.  The k-th log
    is wanted again when the (k + logs - 1)-th is full, so the wait comes at the first k whose archive ends later.
    """
    above(0, active_log_mb=active_log_mb, log_mb_per_sec=log_mb_per_sec)
    at_least(2, active_logs=active_logs)
    at_least(0, archive_mb_per_sec=archive_mb_per_sec)
    if archive_mb_per_sec >= log_mb_per_sec:
        return math.inf
    kept_up = (active_logs - 2) * archive_mb_per_sec / (log_mb_per_sec - archive_mb_per_sec)
    first_late = math.floor(kept_up) + 1
    return (first_late + active_logs - 1) * active_log_mb / log_mb_per_sec


class ZhpfLimit(Enum):
    """What limits throughput before High Performance FICON is enabled."""

    IO_CHANNELS = "number of I/O channels"
    LOG_DASD = "DASD logging rate"
    LARGE_STRIPED = "messages of 1MB or more on striped logs"
    IMS_LOG = "IMS, which always logs to disk"


ZHPF_GAIN_PERCENT: dict[ZhpfLimit, float] = {
    ZhpfLimit.IO_CHANNELS: 100.0,
    ZhpfLimit.LOG_DASD: 17.0,
    ZhpfLimit.LARGE_STRIPED: 55.0,
    ZhpfLimit.IMS_LOG: 20.0,
}
"""Measured gains in throughput (lines 4246-4248, IMS 5645, where 20 is the most that was seen)."""


@formula(EXTRACT, "4.5 ORACLE 6", "4246-4248")
def rate_with_zhpf(rate: float, limit: ZhpfLimit) -> float:
    """The rate after zHPF is enabled, for the limit that held before."""
    at_least(0, rate=rate)
    return rate * (1 + ZHPF_GAIN_PERCENT[limit] / 100)


@formula(EXTRACT, "4.2", "4203-4204")
def zhpf_row_gain_percent(message_bytes: float) -> float:
    """Gain of the table's zHPF row over the same DASD without it, at a measured size."""
    plain, with_zhpf = (LOG_RATES[name].exactly(message_bytes, "mb_per_sec") for name in list(LOG_RATES)[-2:])
    return 100 * (with_zhpf / plain - 1)
