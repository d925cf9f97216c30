"""What tasks do: how many there are in each interval, and how often each verb hits each queue.

Rules
  K1  Numbers of tasks, or of units of recovery of a long-running task, are Poisson around rate x rhythm.
  K2  Messages per unit are exact when the profile gives a whole number, Poisson otherwise; sizes are multinomial
      over the mix, persistence is binomial. So bytes = sizes x valid counts to the last byte.
  K3  A call may fail: gets with wait find nothing and are issued again, puts meet a full page set or structure.
      Failed calls count as calls, never as valid ones.
  K4  Work on the channel sync queue goes by batches, not by messages.

Called by accounting.  Calls rhythm, incidents (what goes wrong).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.synth.incidents import Conditions
from quaestor.smf.synth.profile import SYNC_QUEUE, Application, Queue, SizeMix, Use
from quaestor.smf.synth.rhythm import factors

Counts = NDArray[np.int64]
_MESSAGES_IN_A_LARGE_UNIT = 400
_REFUSED_SHARE = 0.05
_BACKED_OUT_SHARE = 0.7


@dataclass(slots=True)
class Calls:
    """What the tasks of an application did to one queue; every array has one element per task."""

    use: Use
    queue: Queue
    mix: SizeMix
    opens: Counts
    closes: Counts
    puts: Counts
    put1s: Counts
    gets: Counts  # destructive ones that returned a message
    browses: Counts
    misses: Counts
    refused: Counts  # puts that met a full medium
    inquires: Counts
    sets: Counts
    put_sizes: Counts  # tasks x sizes, puts and put1s together
    get_sizes: Counts  # tasks x sizes, destructive gets and browses together
    persistent_puts: Counts
    persistent_put1s: Counts
    persistent_gets: Counts

    @property
    def valid_puts(self) -> Counts:
        return self.puts + self.put1s

    @property
    def valid_gets(self) -> Counts:
        return self.gets + self.browses

    @property
    def persistent(self) -> Counts:
        return self.persistent_puts + self.persistent_put1s + self.persistent_gets


@dataclass(slots=True)
class Tasks:
    """The tasks of one application on one queue manager and day, in the order of their intervals."""

    application: Application
    interval: Counts
    units: Counts
    backouts: Counts
    calls: list[Calls] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.interval)

    @property
    def commits(self) -> Counts:
        return self.units - self.backouts if self.application.syncpoint else np.zeros_like(self.units)


def draw_tasks(application: Application, conditions: Conditions, rng: np.random.Generator) -> Tasks:
    """The tasks of one day (K1) and their calls (K2 to K4)."""
    profile = conditions.profile
    busy = factors(profile, profile.rhythm(application), conditions.day, rng)
    hours = profile.interval_minutes / 60
    every = np.arange(profile.intervals_per_day)
    if application.long_running:
        interval = np.repeat(every, application.instances)
        work = rng.poisson(busy[interval] * application.units_per_hour * hours / application.instances)
    else:
        interval = np.repeat(every, rng.poisson(busy * application.tasks_per_hour * hours))
        more = application.units_per_task - 1
        work = 1 + (rng.poisson(more, len(interval)) if more > 0 else np.zeros(len(interval), np.int64))
    tasks = Tasks(application, interval, work, np.zeros_like(work))
    messages = [use for use in application.uses if use.queue != SYNC_QUEUE]
    tasks.calls = [_draw_calls(tasks, use, conditions, rng) for use in messages]
    _count_units(tasks, conditions, rng)
    tasks.calls += [_draw_calls(tasks, use, conditions, rng) for use in application.uses if use not in messages]
    return tasks


def _count_units(tasks: Tasks, conditions: Conditions, rng: np.random.Generator) -> None:
    """Units of recovery as they turned out: batches of one, hundreds of messages in one, backed out."""
    name, interval = tasks.application.name, tasks.interval
    moved = sum((calls.valid_puts + calls.valid_gets for calls in tasks.calls), np.zeros_like(tasks.units))
    single = conditions.severity("batch_of_one", name)[interval] > 0
    large = conditions.severity("large_units", name)[interval] > 0
    tasks.units = np.where(single, np.maximum(moved, tasks.units), tasks.units)
    tasks.units = np.where(large, -(-moved // _MESSAGES_IN_A_LARGE_UNIT), tasks.units)
    share = np.minimum(1, _BACKED_OUT_SHARE * conditions.severity("backing_out", name))[interval]
    if share.any() and tasks.application.syncpoint:
        tasks.backouts = rng.binomial(tasks.units, share)


def _draw_calls(tasks: Tasks, use: Use, conditions: Conditions, rng: np.random.Generator) -> Calls:
    """How often each verb hit one queue."""
    profile, units = conditions.profile, tasks.units
    queue, mix = profile.queue(use.queue), profile.mix(use)
    puts, put1s = _messages(use.put, units, rng), _messages(use.put1, units, rng)
    gets, browses = _messages(use.get, units, rng), _messages(use.browse, units, rng)
    none = np.zeros_like(units)
    opened = none if tasks.application.long_running or not _opens(use) else np.ones_like(units)
    refused = _refused(queue, conditions)[tasks.interval]
    return Calls(
        use,
        queue,
        mix,
        opens=opened,
        closes=opened,
        puts=puts,
        put1s=put1s,
        gets=gets,
        browses=browses,
        misses=rng.poisson(gets * use.miss) if use.miss else none,
        refused=np.where((refused > 0) & (puts > 0), 1 + np.rint(puts * refused).astype(np.int64), 0),
        inquires=_messages(use.inquire, units, rng),
        sets=_messages(use.set, units, rng) + _planted_sets(tasks, use, conditions),
        put_sizes=_sizes(puts + put1s, mix, rng),
        get_sizes=_sizes(gets + browses, mix, rng),
        persistent_puts=_share(puts, use.persistent, rng),
        persistent_put1s=_share(put1s, use.persistent, rng),
        persistent_gets=_share(gets, use.persistent, rng),
    )


def _opens(use: Use) -> bool:
    """MQPUT1 opens, puts and closes by itself."""
    return bool(use.get or use.put or use.browse or use.inquire or use.set)


def _planted_sets(tasks: Tasks, use: Use, conditions: Conditions) -> Counts:
    first = use is tasks.application.uses[0]
    planted = conditions.severity("mqset_used", tasks.application.name)[tasks.interval] > 0
    return (planted & first).astype(np.int64)


def _refused(queue: Queue, conditions: Conditions) -> NDArray[np.float64]:
    """The share of puts that find their medium full (K3)."""
    if queue.shared:
        return _REFUSED_SHARE * conditions.severity("structure_full", queue.structure)
    return _REFUSED_SHARE * conditions.severity("page_set_full", queue.page_set)


def _messages(rate: float, units: Counts, rng: np.random.Generator) -> Counts:
    if rate == int(rate):
        return units * int(rate)
    return rng.poisson(units * rate)


def _share(count: Counts, share: float, rng: np.random.Generator) -> Counts:
    if share in (0, 1):
        return count * int(share)
    return rng.binomial(count, share)


def _sizes(count: Counts, mix: SizeMix, rng: np.random.Generator) -> Any:
    if len(mix.sizes) == 1:
        return count[:, None]
    return rng.multinomial(count, mix.shares)
