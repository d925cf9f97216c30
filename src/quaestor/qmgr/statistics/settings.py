"""Settings of statistics and accounting, as CSQ6SYSP has them: which traces start, the interval, the files.

Rules
  TS1 A list of traces is written as people write it: `stat, acctg(1,3)`. A kind without classes has its default ones:
      1 and 2 for STAT, 1 for ACCTG.
  TS2 Classes that nobody knows are left out (CLASS(*) means all of 1 to 32); if none is left, that is refused.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

STAT, ACCTG = "STAT", "ACCTG"
SMF_DIRECTORY = "smf"
"""Where the dump files are, in the queue manager's own directory."""

CLASSES: Mapping[str, frozenset[int]] = {STAT: frozenset({1, 2, 3, 4, 5}), ACCTG: frozenset({1, 3, 4})}
DEFAULT_CLASSES: Mapping[str, frozenset[int]] = {STAT: frozenset({1, 2}), ACCTG: frozenset({1})}
_LIST = re.compile(r"\s*([A-Za-z]+)\s*(?:\(([\d,\s]*)\))?\s*(?:,|$)")


class TraceError(ValueError):
    """No such trace or class (TS2)."""


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """What is collected and where it goes."""

    trace: str = ""
    """Traces that start with the queue manager (TS1)."""

    statime_s: float = 1800.0
    """Seconds of an interval (STATIME)."""

    acctime_s: float = 0.0
    """Seconds of an interval of accounting (ACCTIME); 0 for that of statistics."""

    file_bytes: int = 64 << 20
    file_s: float = 86_400.0
    """A dump file is followed by a new one when it is so large or so old."""

    files: int = 30
    """How many dump files are kept."""

    system: str = "QSTR"
    """The system identifier in the records."""

    zone_minutes: int = 0
    """Local time minus UTC, for the local times that SMF records carry."""

    level: str = field(default="10.0.0")
    """The level the records are written at."""


def checked(kind: str, classes: Collection[int]) -> tuple[str, frozenset[int]]:
    """A kind of trace and its classes, the default ones when none is given (TS1, TS2)."""
    known = kind.upper()
    if known not in CLASSES:
        raise TraceError(f"TRACE({kind}): STAT and ACCTG are known")
    wanted = (frozenset(classes) & CLASSES[known]) if classes else DEFAULT_CLASSES[known]
    if not wanted:
        given = ", ".join(map(str, sorted(classes)))
        raise TraceError(f"TRACE({known}) CLASS({given}): {', '.join(map(str, sorted(CLASSES[known])))} are known")
    return known, wanted


def parsed(traces: str) -> list[tuple[str, frozenset[int]]]:
    """The traces of a list such as `stat,acctg(3)` (TS1)."""
    found, at = [], 0
    while traces[at:].strip():
        match = _LIST.match(traces, at)
        if match is None:
            raise TraceError(f"{traces!r}: write traces as stat,acctg(1,3)")
        classes = {int(one) for one in (match[2] or "").split(",") if one.strip()}
        found.append(checked(match[1], classes))
        at = match.end()
    return found
