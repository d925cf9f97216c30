"""What was measured of a queue manager in one hour.

Rules
  Y2  The hour that was measured is the peak.  Busy hours are those of its day with at least half of its calls; the rate
      of a flow is its part of their average, and `busy_hours` of that average make up the whole day.
  Y3  A flow's rate is the greater of its puts and its destructive gets: whoever put or got without accounting is not in
      the records.  A queue with both kinds of messages becomes two flows; a file with the first alone speaks for both.
  Y4  Messages of a unit of work: puts over the commits of the tasks that put, or gets likewise; at least 1.
      A client channel counts MQI calls, so its rate is that of calls.

Y1 and Y5 are of `measured_workload`.

Filled by the plan's commands, from a lake.  Read by measured_workload, measurement_check, simulation_calibration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

PAGE_BYTES = 4096
BUSY_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredQueue:
    """What accounting says of one queue in the hour."""

    queue: str
    valid_puts: int
    valid_destructive_gets: int
    put_bytes: int
    get_bytes: int
    persistent_puts: int
    gets_persistent: int | None = None
    on_queue_us: float | None = None
    put_commits: int | None = None  # of the tasks that put to it
    get_commits: int | None = None
    structure: str | None = None
    page_set: int | None = None
    index_type: int | None = None
    members: int = 1
    put_cpu_us: float | None = None
    get_cpu_us: float | None = None

    @property
    def messages(self) -> int:
        """Y3."""
        return max(self.valid_puts, self.valid_destructive_gets)

    @property
    def part(self) -> float:
        """This queue manager's part of what was counted: of a shared queue that of one member, all alike."""
        return 1 / self.members if self.structure else 1.0

    @property
    def message_bytes(self) -> int:
        """The mean size, of puts where there were any."""
        if self.valid_puts:
            return round(self.put_bytes / self.valid_puts)
        return round(self.get_bytes / self.valid_destructive_gets) if self.valid_destructive_gets else 0

    @property
    def persistent_share(self) -> float:
        if self.valid_puts:
            return min(1.0, self.persistent_puts / self.valid_puts)
        gets = self.valid_destructive_gets
        return min(1.0, (self.gets_persistent or 0) / gets) if gets else 0.0

    @property
    def life_s(self) -> float | None:
        """Mean time on the queue; only a destructive get ends it."""
        if self.on_queue_us is None or not self.valid_destructive_gets:
            return None
        return self.on_queue_us / self.valid_destructive_gets / 1e6

    @property
    def messages_per_commit(self) -> int:
        """Y4."""
        moved, commits = self.valid_destructive_gets, self.get_commits
        if self.valid_puts:
            moved, commits = self.valid_puts, self.put_commits
        return max(1, round(moved / commits)) if commits else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLog:
    """What the log manager counted in the hour."""

    seconds: float
    buffers_filled: int
    writes_nowait: int = 0
    single_ios: int | None = None
    single_io_us: float | None = None
    copies: int | None = None

    @property
    def bytes_per_s(self) -> float:
        """Bytes of log made a second, one copy: full buffers, for those are what an active log takes up."""
        return self.buffers_filled * PAGE_BYTES / self.seconds

    @property
    def io_s(self) -> float | None:
        """Mean time of a write of one page."""
        return self.single_io_us / self.single_ios / 1e6 if self.single_ios and self.single_io_us else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredChannel:
    """What the channel initiator counted of the channels of one name."""

    channel: str
    kind: str
    instances: int
    messages: int
    persistent_messages: int
    message_bytes: int
    batch_size: int | None = None
    batch_interval: int | None = None
    shared_conversations: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One hour of one queue manager.  `hours` are (hour, calls a second) of all hours that were looked at."""

    queue_manager: str
    hour: datetime
    seconds: float
    release: str = ""
    group: str | None = None
    hours: Sequence[tuple[datetime, float]] = ()
    queues: Sequence[MeasuredQueue] = ()
    log: MeasuredLog | None = None
    channels: Sequence[MeasuredChannel] = ()
    buffer_pools: Sequence[Mapping[str, Any]] = ()  # rows of this hour and the one before, as SMF 115 counts
    page_sets: Mapping[int, tuple[int, int]] = field(default_factory=dict)  # number: (pages, buffer pool)
    tasks: Mapping[str, float | None] = field(default_factory=dict)  # commits, log bytes, CPU of commits ... of all
    page_reads: tuple[float, float] = (0, 0)  # pages, microseconds

    @property
    def buffers(self) -> dict[int, int]:
        """Buffers of each pool, as they were last."""
        return {row["buffer_pool"]: row["buffers"] for row in self.buffer_pools if row["buffers"]}

    @property
    def members(self) -> int:
        """Queue managers that used shared queues in the hour; each is taken to have had an equal part."""
        return max((each.members for each in self.queues if each.structure), default=1)

    @property
    def day(self) -> list[float]:
        """Calls a second of the hours of the measured hour's day."""
        return [rate for hour, rate in self.hours if hour.date() == self.hour.date()]

    @property
    def peak(self) -> float:
        """The measured hour against the average of the busy hours of its day (Y2)."""
        rates = dict(self.hours)
        highest = rates.get(self.hour, 0.0)
        busy = [rate for rate in self.day if rate >= BUSY_SHARE * highest]
        return max(1.0, highest * len(busy) / sum(busy)) if highest and busy else 1.0

    @property
    def busy_hours(self) -> float | None:
        """Hours of the average busy rate that make up the day (Y2)."""
        highest = dict(self.hours).get(self.hour, 0.0)
        if not highest:
            return None
        return min(24.0, sum(self.day) * self.peak / highest)
