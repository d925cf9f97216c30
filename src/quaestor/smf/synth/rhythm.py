"""When work happens: the hours of the day, the days of the week, growth over weeks, and chance.

Rules
  Y1  A factor is the middle of its interval on the line through the hours' factors; the day closes on itself.
  Y2  Growth is compound per week, counts days from the profile's first, and ends at ten times the first week.
  Y3  Every stream of random numbers is named (queue manager, day, purpose) and begins at the profile's seed: a day
      does not change when other days, queue managers or applications are added.

Called by workload and by the statistics models.  Calls profile.
"""

import zlib

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.synth.profile import Profile, Rhythm

_MOST_GROWTH = 10.0
_SPREAD = 0.04  # how far single intervals lie above or below the rhythm


def factors(profile: Profile, rhythm: Rhythm, day: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """How busy each interval of a day is, 1.0 being the busiest hour of the first week (Y1, Y2)."""
    count = profile.intervals_per_day
    middle = (np.arange(count) + 0.5) * profile.interval_minutes / 60
    hours = np.interp(middle, np.arange(25) + 0.5, [*rhythm.hours, rhythm.hours[0]], period=24)
    growth = min(_MOST_GROWTH, (1 + profile.growth_percent_per_week / 100) ** (day / 7))
    spread = rng.uniform(1 - _SPREAD, 1 + _SPREAD, count)
    return np.asarray(hours * rhythm.week[profile.date_of(day).weekday()] * growth * spread)


def stream(profile: Profile, *names: object) -> np.random.Generator:
    """The random numbers of one purpose (Y3)."""
    words = [profile.seed, *(zlib.crc32(str(name).encode()) for name in names)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))
