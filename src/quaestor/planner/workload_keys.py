"""Keys of a workload description: what may be written for each, and what it is read as.

Rules
  K1  A key declares its kind and its valid range once, at the field that it fills; the field's name carries the unit.
  K2  Quantities are read as people write them (`quantity`); a plain number is bytes, a count or a rate per second, but
      a duration needs its unit.
  K3  What is refused is named with what was written and what is valid.

Called by workload for its fields and by workload_file to read them.  Calls quantity, release.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from difflib import get_close_matches
from math import isfinite
from typing import Any

from quaestor.planner.quantity import (
    QuantityError,
    count,
    duration_s,
    rate_per_s,
    show_bytes,
    show_seconds,
    size_bytes,
)
from quaestor.planner.release import Release


class ValueRefusedError(ValueError):
    """What a key does not take; the text says why and what is valid (K3)."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its name in the file, how it is read, and the range it must lie in (K1)."""

    name: str
    read: Callable[[Any], Any]
    low: float | None = None
    high: float | None = None
    show: Callable[[float], str] = "{:.12g}".format

    def value(self, written: Any) -> Any:
        """What was written, as a value of the field (K2, K3)."""
        try:
            value = self.read(written)
        except QuantityError as error:
            raise ValueRefusedError(str(error)) from None
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise ValueRefusedError(f"{written!r} is not valid: {self.valid}")
        return value

    @property
    def valid(self) -> str:
        low, high = (None if bound is None else self.show(bound) for bound in (self.low, self.high))
        return f"{low} to {high}" if low and high else f"{low} or more"


def _key(key: Key, default: Any) -> Any:
    return field(default=default, metadata={"key": key})


def size(name: str, low: float, high: float, default: Any = MISSING) -> Any:
    """A size in bytes: 4k, 1.5 MB, 1GiB, or a plain number of bytes."""
    return _key(Key(name, _plain_or(size_bytes, whole=True), low, high, show_bytes), default)


def rate(name: str, low: float, high: float, default: Any = MISSING) -> Any:
    """A rate per second: 500/s, 30k/min, or a plain number per second."""
    return _key(Key(name, _plain_or(rate_per_s), low, high, "{:,.12g}/s".format), default)


def duration(name: str, low: float, high: float, default: Any = MISSING) -> Any:
    """A duration in seconds; its unit must be written."""
    return _key(Key(name, _duration, low, high, show_seconds), default)


def whole(name: str, low: int, high: int, default: Any = MISSING) -> Any:
    """A count: 500, "450 000", "4M"."""
    return _key(Key(name, _plain_or(count, whole=True), low, high, "{:,}".format), default)


def number(name: str, low: float, high: float, default: Any = MISSING) -> Any:
    return _key(Key(name, _plain_or(_no_text), low, high), default)


def flag(name: str, default: Any = MISSING) -> Any:
    return _key(Key(name, _flag), default)


def text(name: str, default: Any = MISSING) -> Any:
    return _key(Key(name, _text), default)


def choice(name: str, values: Mapping[str, Any], default: Any = MISSING) -> Any:
    """One of some words; near matches are offered for what is none of them."""
    return _key(Key(name, lambda written: _chosen(written, values)), default)


def release(name: str, default: Any = MISSING) -> Any:
    """A release such as "9.0"; one between two that differ behaves like the earlier."""
    return _key(Key(name, _release), default)


def nearest(word: str, known: Mapping[str, Any] | list[str]) -> str:
    """What may have been meant, as the end of a sentence."""
    close = get_close_matches(word.lower(), [each.lower() for each in known], n=3, cutoff=0.6)
    within = [each for each in known if len(word) > 2 and word.lower() in each.lower()]
    meant = within or [each for each in known if each.lower() in close]
    return f"; did you mean {' or '.join(meant)}?" if meant else f"; known are {', '.join(known)}"


def _plain_or(read: Callable[[str], Any], *, whole: bool = False) -> Callable[[Any], Any]:
    def reading(written: Any) -> Any:
        if isinstance(written, str):
            return read(written)
        if isinstance(written, bool) or not isinstance(written, int if whole else int | float):
            raise ValueRefusedError(f"{written!r} is not a {'whole ' if whole else ''}number")
        if isinstance(written, float) and not isfinite(written):
            raise ValueRefusedError(f"{written!r} is not valid: a finite number")
        return written

    return reading


def _duration(written: Any) -> float:
    if not isinstance(written, str):
        raise ValueRefusedError(f"{written!r} has no unit: write a duration such as 200 ms, 30 min or 1h 30m")
    return duration_s(written)


def _no_text(written: str) -> float:
    raise ValueRefusedError(f"{written!r} is not a number")


def _flag(written: Any) -> bool:
    if not isinstance(written, bool):
        raise ValueRefusedError(f"{written!r} is not valid: true or false")
    return written


def _text(written: Any) -> str:
    if not isinstance(written, str) or not written.strip():
        raise ValueRefusedError(f"{written!r} is not valid: a text that is not empty")
    return written


def _chosen(written: Any, values: Mapping[str, Any]) -> Any:
    found = {key.lower(): value for key, value in values.items()}.get(str(written).lower(), MISSING)
    if found is MISSING:
        raise ValueRefusedError(f"{written!r} is not known{nearest(str(written), values)}")
    return found


def _release(written: Any) -> Release:
    try:
        version, minor, modification = (int(part) for part in f"{written}.0.0".removeprefix("V").split(".")[:3])
    except ValueError:
        raise ValueRefusedError(f"{written!r} is no release: write one such as 9.0 or 7.0.1") from None
    known = [each for each in Release if each <= 100 * version + 10 * minor + modification]
    if not known:
        raise ValueRefusedError(f"{written!r} is before the first release there are figures for: 5.3")
    return max(known)
