"""Intervals: what a section has counted since the last time somebody looked.

Rules
  IV1 Counters in sections only grow; an interval is the difference of two looks, each field read once. So the intervals
      of a section add up to what it has counted, whenever they were cut.
  IV2 How a field adds up (its kind) says what an interval has of it: a sum is a difference, anything else is as it is.
  IV3 Extremes (high, low, longest) are those of the interval: when they have been read they begin anew.
  IV4 A page set, buffer pool or structure that was deleted and defined again counts into a section of its own, from 0.
  IV5 A glance reads what an interval has so far, and leaves everything as it is.

Called by statistics.  Calls the layouts.
"""

from typing import Any, TypeVar

from quaestor.layout import Add, Field, Record, copied

R = TypeVar("R", bound=Record)


class Looks:
    """The last look at each of some sections (IV1); where nothing `ends`, they are only glanced at (IV5)."""

    def __init__(self) -> None:
        self._before: dict[object, tuple[Any, Any]] = {}
        self.ends = True

    def glance(self) -> "Looks":
        """The same, but nothing ends by it (IV5)."""
        made = Looks()
        made._before, made.ends = self._before, False
        return made

    def since(self, key: object, section: R) -> R:
        """What the section under `key` has counted since the last look (IV1, IV2)."""
        now = copied(section)
        counted_into, before = self._before.get(key, (None, now))
        if self.ends:
            self._before[key] = section, now
            begin_extremes(section)
        return difference(before, now) if counted_into is section else now  # IV4


def difference(before: R, now: R) -> R:
    """What a section has counted between two looks (IV2)."""
    made = now.__class__.__new__(now.__class__)
    for each in now.LAYOUT.fields:
        setattr(made, each.name, _difference(each, getattr(before, each.name), getattr(now, each.name)))
    return made


def _difference(each: Field, before: Any, now: Any) -> Any:
    if isinstance(now, list):
        return [_difference(each, one, two) for one, two in zip(before, now, strict=True)]
    if isinstance(now, Record):
        return difference(before, now)
    return now - before if each.kind.add is Add.SUM else now


def begin_extremes(section: Record) -> None:
    """Highs and longest begin anew; lows are the manager's to set, who alone knows what is now (IV3)."""
    for each in section.LAYOUT.fields:
        value = getattr(section, each.name)
        if each.of is not None:
            for one in value if isinstance(value, list) else [value]:
                begin_extremes(one)
        elif each.kind.add is Add.MAX and not each.shape:
            setattr(section, each.name, 0)
