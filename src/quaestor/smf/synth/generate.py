"""A dump from a profile: day by day, all queue managers, records in the order in which they were built.

Rules
  D1  Same profile, seed and options: same bytes.
  D2  A day is generated whole, then written: memory depends on the busiest day, not on the length of the dump.
  D3  A dump of a given size ends with the interval in which it reached that size; nothing is cut in half, so sums
      agree to the end.
  D4  The dump begins and ends as the SMF dump program leaves it (types 2 and 3).

Called by the command, tests and benchmarks.  Calls accounting, statistics, dump.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.dump import DumpWriter
from quaestor.smf.synth import incidents
from quaestor.smf.synth.accounting import account_day
from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.profile import Profile, QueueManager
from quaestor.smf.synth.profile_check import check_days
from quaestor.smf.synth.sheet import Sheet, Templates
from quaestor.smf.synth.statistics import statistics_day
from quaestor.smf.writer import END_OF_DUMP, START_OF_DUMP, RecordIdentity, dump_marker

Counts = NDArray[np.int64]
Progress = Callable[[int], None]
_SETTLED_US = 1_000_000  # after an interval's end all of its records are built


@dataclass(slots=True)
class Generated:
    """What was written: days begun, records, bytes before framing, and the incidents planted in them."""

    days: int = 0
    records: int = 0
    bytes: int = 0
    incidents: list[dict[str, Any]] = field(default_factory=list)

    def side_file(self, profile: Profile) -> dict[str, Any]:
        """What stands beside the dump."""
        return {
            "profile": profile.name,
            "seed": profile.seed,
            "start": profile.start.isoformat(),
            "days": self.days,
            "records": self.records,
            "bytes": self.bytes,
            "levels": {each.name: each.level for each in profile.queue_managers},
            "incidents": self.incidents,
        }


@dataclass(slots=True)
class Day:
    """The records of one day in one buffer: where each begins and when it was built."""

    data: NDArray[np.uint8]
    offsets: Counts
    built_us: Counts


def generate(
    profile: Profile, dump: DumpWriter, *, size_bytes: int | None = None, progress: Progress | None = None
) -> Generated:
    """Write the days of a profile, or as many as a size needs (D3); `ProfileError` when the clock ends before."""
    check_days(profile, profile.days if size_bytes is None else 1)
    made, templates = Generated(), Templates()
    identity = identity_of(profile.queue_managers[0])
    dump.write(dump_marker(START_OF_DUMP, identity, midnight_us(profile, profile.queue_managers[0], 0)))
    while made.days < profile.days if size_bytes is None else dump.bytes_in < size_bytes:
        check_days(profile, made.days + 1)
        day = generate_day(profile, made.days, templates)
        if size_bytes is not None:
            day = _cut(day, size_bytes - dump.bytes_in, _ends_us(profile, made.days))
        dump.write_many(day.data, day.offsets)
        made.days += 1
        if progress:
            progress(dump.bytes_in)
    dump.write(dump_marker(END_OF_DUMP, identity, midnight_us(profile, profile.queue_managers[0], made.days)))
    made.records, made.bytes = dump.records, dump.bytes_in
    made.incidents = incidents.listing(profile, made.days)
    return made


def generate_day(profile: Profile, day: int, templates: Templates) -> Day:
    """All records of one day, of all queue managers, in the order in which they were built."""
    managers = profile.queue_managers
    return _merge([pair for manager in managers for pair in _manager_day(profile, manager, day, templates)])


def identity_of(manager: QueueManager) -> RecordIdentity:
    return RecordIdentity(
        manager.system, manager.name, manager.level, manager.zone_minutes, manager.queue_sharing_group
    )


def midnight_us(profile: Profile, manager: QueueManager, day: int) -> int:
    """The UTC moment at which a local day begins."""
    begin = datetime.combine(profile.date_of(day), time(), UTC)
    return (int(begin.timestamp()) - manager.zone_minutes * 60) * 1_000_000


def with_days(profile: Profile, days: int | None = None, seed: int | None = None) -> Profile:
    """The profile over another number of days, or with other chance."""
    return replace(profile, days=days or profile.days, seed=profile.seed if seed is None else seed)


def _manager_day(
    profile: Profile, manager: QueueManager, day: int, templates: Templates
) -> Iterator[tuple[Sheet, Counts]]:
    conditions, identity = Conditions(profile, manager, day), identity_of(manager)
    begin, ledger = midnight_us(profile, manager, day), Ledger(profile.intervals_per_day)
    for application in profile.applications_on(manager):
        account = account_day(application, conditions, begin, identity, ledger, templates)
        if account is not None:
            yield account.sheet, account.built_us
    yield from statistics_day(conditions, identity, begin, ledger, templates).sheets


def _merge(parts: list[tuple[Sheet, Counts]]) -> Day:
    """One buffer with the rows of all sheets by time; rows built at the same moment keep the order of the sheets."""
    built = np.concatenate([when for _, when in parts])
    lengths = np.concatenate([np.full(len(sheet), sheet.data.shape[1], np.int64) for sheet, _ in parts])
    order = np.argsort(built, kind="stable")
    begins = np.empty(len(order), np.int64)
    begins[order] = np.cumsum(lengths[order]) - lengths[order]
    data = np.empty(int(lengths.sum()), np.uint8)
    offsets, moments, first = [], [], 0
    for sheet, when in parts:
        rows, size = sheet.data.shape
        mine = begins[first : first + rows]
        target = np.ndarray((data.size - size + 1,), f"V{size}", buffer=data.data, strides=(1,))
        target[mine] = sheet.data.view(f"V{size}").ravel()
        offsets.append((mine[:, None] + sheet.starts).ravel())
        moments.append(np.repeat(when, len(sheet.starts)))
        first += rows
    found, when = np.concatenate(offsets), np.concatenate(moments)
    by_place = np.argsort(found, kind="stable")
    return Day(data, found[by_place], when[by_place])


def _ends_us(profile: Profile, day: int) -> Counts:
    manager = profile.queue_managers[0]
    return midnight_us(profile, manager, day) + (np.arange(profile.intervals_per_day) + 1) * profile.interval_us


def _cut(day: Day, size: int, ends_us: Counts) -> Day:
    """The day up to the end of the interval in which `size` is reached (D3)."""
    records = np.searchsorted(day.built_us, ends_us + _SETTLED_US)
    places = np.append(day.offsets, day.data.size)[records]
    reached = min(int(np.searchsorted(places, size)), len(places) - 1)
    keep = int(records[reached])
    return Day(day.data[: int(places[reached])], day.offsets[:keep], day.built_us[:keep])
