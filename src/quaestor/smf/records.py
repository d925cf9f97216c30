"""Records one by one: every section of a record as an object.

Rules
  O1  Sections are found by the catalogue (K1, K2); a triplet that points past its record or into its header, or a
      section too short for its own beginning, is damage of that section alone: the others are delivered.  So it is
      with the header section: what the managers counted is there without it.
  O2  A record of another SMF type, or of a subtype nobody knows, is counted and passed on without sections.
  O3  A 116-2 record continues the 116-1 of the same task: same queue manager, same thread identification, next in the
      dump. Its queues join those of the task. One that has lost its identification continues nobody.

Called by the printouts, by info and by tests; columns does the same work for a whole block at once.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, TypeVar

from quaestor import clock
from quaestor.layout import CP1047, CodePage, Record, unpack
from quaestor.smf import header as headers
from quaestor.smf.blocks import Block, Damage
from quaestor.smf.catalog import CATALOG, FIRST_SECTION, HEADER_SIZE, TRIPLET_SIZE, RecordKind, wrong_with
from quaestor.smf.detection import UnusableDumpError, reason_of
from quaestor.smf.framing import DumpReader
from quaestor.smf.header import HeaderSection, SmfHeader
from quaestor.smf.sections.headers import Smf115Header, Smf116Header
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification

STANDARD_INPUT = "-"
S = TypeVar("S", bound=Record)
Triplet = tuple[int, int, int]  # offset, length of one, count


@dataclass(slots=True)
class SmfRecord:
    """One record with all its sections, by structure name."""

    position: int
    length: int
    header: SmfHeader
    kind: RecordKind | None = None
    headers: HeaderSection = field(default_factory=HeaderSection)
    sections: dict[str, list[Record]] = field(default_factory=dict)
    damages: list[Damage] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.kind.name if self.kind else f"{self.header.record_type}"

    @property
    def release(self) -> str:
        return headers.release_of(self.header, self.headers.extension)

    @property
    def local_time(self) -> datetime | None:
        return clock.local_datetime(self.header.date_packed, self.header.time_hundredths)

    @property
    def utc_time(self) -> datetime | None:
        return headers.utc_of(self.headers.common)

    @property
    def zone(self) -> timedelta | None:
        return headers.zone_of(self.local_time, self.utc_time)

    @property
    def interval_us(self) -> float | None:
        return headers.interval_us(self.headers.common, self.kind) if self.kind else None


@dataclass(slots=True)
class Task:
    """A task's accounting: 116-1 together with the 116-2 records that continue it (O3)."""

    record: SmfRecord
    identification: TaskIdentification | None
    accounting: TaskAccounting | None
    queues: list[QueueAccounting]


@contextmanager
def open_dump(path: str | Path) -> Iterator[BinaryIO]:
    """A dump as a stream; `UnusableDumpError` says in one line why it cannot be opened."""
    try:
        stream = Path(path).open("rb")  # noqa: SIM115  closed below
    except OSError as error:
        raise UnusableDumpError(reason_of(error)) from None
    with stream:
        yield stream


@contextmanager
def open_input(path: str) -> Iterator[BinaryIO]:
    """The same for what a command line names: - is standard input."""
    if path != STANDARD_INPUT:
        with open_dump(path) as stream:
            yield stream
    elif sys.stdin is None:
        raise UnusableDumpError("standard input is closed")
    else:
        yield sys.stdin.buffer


def read_dump(path: str | Path, page: CodePage = CP1047) -> Iterator[SmfRecord | Damage]:
    """Every record of a dump, and its damage, in order of position within each block."""
    with open_dump(path) as stream:
        yield from read_records(DumpReader(stream), page)


def read_records(reader: DumpReader, page: CodePage = CP1047) -> Iterator[SmfRecord | Damage]:
    for block in reader.blocks():
        yield from block.damages
        for record in block_records(block, page):
            yield record
            yield from record.damages


def block_records(block: Block, page: CodePage = CP1047) -> Iterator[SmfRecord]:
    """Every record of a block."""
    for offset, length, position in zip(
        block.offsets.tolist(), block.lengths.tolist(), block.positions.tolist(), strict=True
    ):
        yield unpack_record(bytes(block.data[offset : offset + length]), position, page)


def unpack_record(data: bytes, position: int = 0, page: CodePage = CP1047) -> SmfRecord:
    """The record in `data`, which begins with its RDW."""
    cls: type[SmfHeader] = Smf115Header if data[5] == 115 else Smf116Header
    header: SmfHeader = unpack(cls, data.ljust(HEADER_SIZE, b"\0"), 0, HEADER_SIZE, page)
    record = SmfRecord(position, len(data), header)
    if header.record_type not in (115, 116):
        return record  # O2
    record.kind = CATALOG.get((header.record_type, header.subtype))
    if record.kind is not None:
        _unpack_sections(record, record.kind, data, page)
    return record


def _unpack_sections(record: SmfRecord, kind: RecordKind, data: bytes, page: CodePage) -> None:
    first = _triplet(data, 0)
    if _inside(record, "header section", first, len(data)) and first[2]:
        record.headers = headers.unpack_header(data, first[0], first[1], kind, page)
    present = _triplets_present(record, kind, data)
    for slot in kind.slots:
        if slot.triplet >= present:
            continue
        structure = slot.section.LAYOUT.structure
        triplet = offset, length, count = _triplet(data, slot.triplet)
        if count == 0 or not _inside(record, structure, triplet, len(data)):
            continue
        record.sections[structure] = [
            unpack(slot.section, data, offset + i * length, length, page) for i in range(count)
        ]


def _triplet(data: bytes, index: int) -> Triplet:
    at = HEADER_SIZE + index * TRIPLET_SIZE
    word = data[at : at + TRIPLET_SIZE].ljust(TRIPLET_SIZE, b"\0")
    return int.from_bytes(word[:4], "big"), int.from_bytes(word[4:6], "big"), int.from_bytes(word[6:], "big")


def _triplets_present(record: SmfRecord, kind: RecordKind, data: bytes) -> int:
    """How many triplets the record has (K2); one that points into the header tells nothing about the others."""
    most = kind.triplets.LAYOUT.size // TRIPLET_SIZE
    common = record.headers.common
    if kind.counts_triplets and common is not None and common.sections is not None:
        return min(most, common.sections)
    end = len(data)
    for index in range(most):
        if HEADER_SIZE + (index + 1) * TRIPLET_SIZE > end:
            return index
        offset, _, count = _triplet(data, index)
        if count and offset >= FIRST_SECTION:
            end = min(end, offset)
    return most


def _inside(record: SmfRecord, what: str, triplet: Triplet, size: int) -> bool:
    """Whether a section lies inside its record; otherwise it is damage (O1)."""
    wrong = wrong_with(what, *triplet, size)
    if wrong:
        record.damages.append(Damage(record.position, f"{record.name}: {wrong}"))
    return wrong is None


def tasks(records: Iterable[SmfRecord | Damage]) -> Iterator[Task]:
    """Tasks with all their queues: each 116-1 with its 116-2 continuations (O3)."""
    waiting: Task | None = None
    for record in records:
        if isinstance(record, Damage) or record.name not in ("116-1", "116-2"):
            continue
        identification = _first(record, TaskIdentification)
        queues = [each for each in record.sections.get("WQST", []) if isinstance(each, QueueAccounting)]
        if record.name == "116-2" and waiting is not None and _continues(waiting, record, identification):
            waiting.queues += queues
            continue
        if waiting is not None:
            yield waiting
        waiting = Task(record, identification, _first(record, TaskAccounting), queues)
    if waiting is not None:
        yield waiting


def _continues(task: Task, record: SmfRecord, identification: TaskIdentification | None) -> bool:
    same_manager = task.record.header.queue_manager == record.header.queue_manager
    return same_manager and identification is not None and task.identification == identification


def _first(record: SmfRecord, cls: type[S]) -> S | None:
    found = record.sections.get(cls.LAYOUT.structure)
    return found[0] if found and isinstance(found[0], cls) else None
