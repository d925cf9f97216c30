"""A mixed dump to measure with: every structure, at the current level and at V8, deterministic.

A few hundred records of each kind are packed from random but plausible figures (half the counters zero, a fifth of
the queues shared, two hundred queue names) and laid out in rounds: in each round every queue manager writes its
statistics records once, and tasks write their accounting in between. The rounds are repeated to the size asked for.
"""

import random
from collections.abc import Iterator
from pathlib import Path

from quaestor.layout import Field, Record
from quaestor.smf.catalog import CATALOG, CURRENT_LEVEL, KINDS, SECTIONS, RecordKind, Slot
from quaestor.smf.sections.coupling_facility import CouplingFacilityCalls
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.writer import Interval, RecordIdentity, build_record, dump_marker, task_records

LEVELS = ("8.0", CURRENT_LEVEL)
START_US = 1_780_000_000_000_000
INTERVAL_US = 60_000_000
TASKS_PER_ROUND = 150
_ROUNDS = 20
_REPEATS = {"QPST": 12, "QIS1": 20, "QQST": 40, "QSPH": 30, "QSGM": 40, "QESD": 3, "QCST": 20}


class Figures:
    """Fills sections with plausible figures."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names = [f"APP{number:03d}.{self._random.choice(('REQUEST', 'REPLY', 'EVENT'))}" for number in range(200)]

    def section(self, cls: type[Record]) -> Record:
        made = cls()
        for each in cls.LAYOUT.fields:
            if each.kind.shown:
                setattr(made, each.name, self._field(each))
        return made

    def queue(self, correlator: bytes) -> Record:
        made = self.section(QueueAccounting)
        made.correlator = correlator
        made.object_name = made.base_name = self._random.choice(self._names)
        if self._random.random() < 0.8:  # private queues have no coupling facility figures
            made.cf_calls = [CouplingFacilityCalls() for _ in range(5)]
        return made

    def _field(self, each: Field) -> object:
        return [self._value(each) for _ in range(each.shape[0])] if each.shape else self._value(each)

    def _value(self, each: Field) -> object:
        if each.of is not None:
            return self.section(each.of)
        if each.wire == "text":
            return self._random.choice(self._names)[: each.size]
        if each.wire == "bytes":
            return self._random.randbytes(each.size)
        if each.codes:
            return self._random.choice([code for code in each.codes if code >= 0])
        if each.kind.unit == "utc":
            return (START_US + 2_208_988_800_000_000 + self._random.randrange(10**11)) << 12
        if self._random.random() < 0.5:
            return 0
        most = {"u1": 100, "u2": 1000, "i2": 1000}.get(each.wire, 100_000)
        return self._random.randrange(most << 12 if each.is_tod_interval else most)


def write_mixed_dump(path: Path, size: int) -> int:
    """Write at least `size` bytes; the number of records."""
    rounds = [[record for level in LEVELS for record in _round(level, number)] for number in range(_ROUNDS)]
    joined = [b"".join(each) for each in rounds]
    written = records = 0
    with path.open("wb") as stream:
        stream.write(dump_marker(2, _identity(CURRENT_LEVEL), START_US))
        while written < size:
            for data, held in zip(joined, rounds, strict=True):
                written += stream.write(data)
                records += len(held)
        stream.write(dump_marker(3, _identity(CURRENT_LEVEL), START_US + INTERVAL_US))
    return records + 2


def _identity(level: str) -> RecordIdentity:
    return RecordIdentity("SYSA", f"QM{level[0]}A", level, 60, "QSG1")


def _round(level: str, number: int) -> Iterator[bytes]:
    figures = Figures(number)
    for kind in KINDS:
        if kind.record_type == 115 or kind.subtype == 10:
            yield _statistics(figures, kind, level, number)
    for task in range(TASKS_PER_ROUND):
        yield from _task(figures, level, number, task)


def _statistics(figures: Figures, kind: RecordKind, level: str, number: int) -> bytes:
    sections = [figures.section(slot.section) for slot in kind.slots for _ in range(_occurrences(slot))]
    interval = Interval(START_US + number * INTERVAL_US, INTERVAL_US)
    return build_record(kind, sections, _identity(level), interval.end_us, interval=interval)


def _occurrences(slot: Slot) -> int:
    return _REPEATS.get(slot.section.LAYOUT.structure, 8) if slot.repeats else 1


def _task(figures: Figures, level: str, number: int, task: int) -> Iterator[bytes]:
    when_us = START_US + number * INTERVAL_US + task * 1000
    identification, accounting = figures.section(TaskIdentification), figures.section(TaskAccounting)
    queues = [figures.queue(number.to_bytes(8, "big") + task.to_bytes(8, "big")) for _ in range(1 + task % 6)]
    if task == 0:
        queues *= 15  # more than one record holds
    yield from task_records(identification, accounting, queues, _identity(level), when_us)
    message = [figures.section(SECTIONS[name]) for name in ("QWAC", "QMAC")]
    yield build_record(CATALOG[116, 0], message, _identity(level), when_us)
