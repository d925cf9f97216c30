"""Records from section objects, and dumps from records.

A manager hands over the objects it counted into; this module sorts them into the triplets of their record, cuts each
to the length of its level and puts the headers where MQ puts them. Nothing here knows what a field means.

Rules
  W1  A record is: SMF header (its first four bytes are the RDW), triplets, sections in the order of their triplets,
      and the header section at the very end, as in the records MQ itself writes.
  W2  A section is as long as its level says. One that the level does not know is left out, so a caller may
      hand over everything it counted whatever the level.
  W3  Where QWHSNSDA decides which triplets exist (116-1, 116-2), only those in use are written; elsewhere the table
      has its full length and an unused triplet is zero. V8 says one too few in 115-231, and so do we.
  W4  A record holds at most 32,756 bytes. Queue records of a task that do not fit go to 116-2 continuations,
      each with the task's identification; the correlator ties them together.
  W5  Header time is local, QWHSSTCK is UTC, QWHSTIME is local; QWHSDURN counts microseconds, or TOD units where
      the channel initiator writes the record.
  W6  An unused entry of QEST is binary zero, its name included.
  W7  A section may come packed at its level's length already (`PackedSection`); it is placed like any other.
  W8  A figure that is more than its field holds is written as the most that it holds: a long interval loses no record.

Called by synth and by the queue manager's statistics.  Calls layout, clock, catalog.  `dump` writes what is built here.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from quaestor.clock import TOD_UNITS_PER_MICROSECOND, UNIX_EPOCH, hundredths, packed_date, tod_from_us
from quaestor.layout import CP1047, CodePage, Record, pack, saturated
from quaestor.smf.catalog import (
    CATALOG,
    CURRENT_LEVEL,
    HEADER_SIZE,
    TRIPLET_SIZE,
    RecordKind,
    Slot,
    length_at,
    version,
)
from quaestor.smf.sections.coupling_facility import CouplingFacilityStatistics
from quaestor.smf.sections.headers import CommonHeader, CorrelationHeader, ExtensionHeader, Smf116Header
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification

MAX_RECORD_BYTES = 32_756
START_OF_DUMP, END_OF_DUMP = 2, 3

_FLAGS = 0x5E  # subtype valid, MVS/ESA: what every real record carries
_DUMP_FLAGS = 0x1E
_SHORT_HEADER = 36  # QWHS before a QWHC, and everywhere before V7.1
_STUB = b"\x00\x04\x00\x00"
_LAST_THREE_DIGIT_RELEASE = "946"
_LITTLE_COUNT = (115, 231)  # the record whose QWHSNSDA V8 gives one too low (W3)
_ORIGIN = {  # resource manager and IFCID, as the real records have them
    (115, 1): (0x1A, 1),
    (115, 2): (0x1A, 2),
    (115, 215): (0x1A, 8),
    (115, 231): (0xE7, 0),
    (116, 0): (0x1A, 3),
    (116, 1): (0xF7, 25),
    (116, 2): (0xF7, 26),
    (116, 10): (0xE7, 0),
}


@dataclass(frozen=True, slots=True)
class RecordIdentity:
    """Who writes the record: the z/OS system, the queue manager, its level and its local time."""

    system: str
    queue_manager: str
    level: str = CURRENT_LEVEL
    zone_minutes: int = 0
    queue_sharing_group: str = ""
    leap_seconds: int = 0
    page: CodePage = CP1047

    @property
    def release(self) -> str:
        """Three digits; they stopped moving at V10, which says its release in QWHX."""
        if version(self.level) >= (10,):
            return _LAST_THREE_DIGIT_RELEASE
        return "".join(self.level.split(".")).ljust(3, "0")

    @property
    def long_release(self) -> str:
        parts = (*version(self.level), 0, 0)[:3]
        return "".join(f"{part:02d}" for part in parts)


@dataclass(frozen=True, slots=True)
class Interval:
    """The time that the figures of a record cover, in microseconds since the UNIX epoch, UTC."""

    start_us: int
    length_us: int

    @property
    def end_us(self) -> int:
        return self.start_us + self.length_us


NO_INTERVAL = Interval(0, 0)


@dataclass(frozen=True, slots=True)
class PackedSection:
    """A section whose bytes are there already (W7)."""

    section: type[Record]
    data: bytes


Section = Record | PackedSection


def build_record(
    kind: RecordKind,
    sections: Iterable[Section],
    identity: RecordIdentity,
    when_us: int,
    *,
    interval: Interval = NO_INTERVAL,
    correlation: CorrelationHeader | None = None,
    sequence: int = 0,
) -> bytes:
    """One whole record, RDW included (W1 to W3, W5). Each section finds its triplet by its class."""
    placed = _place(kind, sections, identity.level)
    used = [slot.triplet for slot, held in placed if held]
    triplets = 1 + max(used, default=0) if kind.counts_triplets else _table_length(kind, identity.level)
    body, pointers = _body(placed, HEADER_SIZE + TRIPLET_SIZE * triplets, identity)
    header = _header_section(kind, identity, when_us, interval, correlation, sequence, triplets)
    pointers[0] = (HEADER_SIZE + TRIPLET_SIZE * triplets + len(body), len(header), 1)
    table = b"".join(struct.pack(">IHH", *pointers.get(triplet, (0, 0, 0))) for triplet in range(triplets))
    length = HEADER_SIZE + len(table) + len(body) + len(header)
    if length > MAX_RECORD_BYTES:
        raise ValueError(f"SMF {kind.name} of {length} bytes: a record holds at most {MAX_RECORD_BYTES}")
    return _smf_header(kind, identity, when_us, length) + table + body + header


def task_records(
    identification: TaskIdentification | PackedSection,
    task: TaskAccounting | PackedSection,
    queues: Sequence[QueueAccounting | PackedSection],
    identity: RecordIdentity,
    when_us: int,
    *,
    sequence: int = 0,
) -> list[bytes]:
    """The 116-1 of a task and as many 116-2 as its queue records need (W4)."""
    first, rest = split_queues(len(queues), identity.level)
    made = [_task_record(1, [identification, task, *queues[:first]], identity, when_us, sequence)]
    start = first
    for held in rest:
        part = queues[start : start + held]
        made.append(_task_record(2, [identification, *part], identity, when_us, sequence + len(made)))
        start += held
    return made


def split_queues(count: int, level: str) -> tuple[int, list[int]]:
    """How many queue records fit in the 116-1, and how many each 116-2 takes (W4)."""
    queue = length_at(QueueAccounting, level) or QueueAccounting.LAYOUT.size
    fixed = HEADER_SIZE + len(_extension(RecordIdentity("", "", level))) + _SHORT_HEADER + CorrelationHeader.LAYOUT.size
    identification = length_at(TaskIdentification, level) or 0
    first_room = MAX_RECORD_BYTES - fixed - 4 * TRIPLET_SIZE - identification - (length_at(TaskAccounting, level) or 0)
    next_room = MAX_RECORD_BYTES - fixed - 3 * TRIPLET_SIZE - identification
    first = min(count, first_room // queue)
    left, per_record = count - first, next_room // queue
    return first, [min(per_record, left - done) for done in range(0, left, per_record)]


def dump_marker(record_type: int, identity: RecordIdentity, when_us: int) -> bytes:
    """The 18-byte record (type 2 or 3) that the SMF dump program puts before and after what it dumps."""
    time, day = _local_time(identity, when_us)
    system = identity.page.encode(identity.system, 4)
    return struct.pack(">HHBBII4s", 18, 0, _DUMP_FLAGS, record_type, time, day, system)


def _task_record(subtype: int, sections: list[Section], identity: RecordIdentity, when_us: int, sequence: int) -> bytes:
    # the QWHC of these records describes the task that writes them, so it is blank, as in the real ones
    return build_record(CATALOG[116, subtype], sections, identity, when_us, sequence=sequence)


# --- the parts of a record -------------------------------------------------------------------------------------------


def _place(kind: RecordKind, sections: Iterable[Section], level: str) -> list[tuple[Slot, list[Section]]]:
    """The sections by slot, in the order of the triplets; what the level does not know is left out (W2)."""
    by_class: dict[type[Record], list[Section]] = {slot.section: [] for slot in kind.slots}
    for section in sections:
        made_of = section.section if isinstance(section, PackedSection) else type(section)
        if made_of not in by_class:
            raise ValueError(f"SMF {kind.name} does not hold a {made_of.LAYOUT.structure}")
        by_class[made_of].append(section)
    for slot in kind.slots:
        if len(by_class[slot.section]) > 1 and not slot.repeats:
            raise ValueError(f"SMF {kind.name} holds one {slot.section.LAYOUT.structure} only")
    return [(slot, by_class[slot.section] if slot.used_at(level) else []) for slot in kind.slots]


def _table_length(kind: RecordKind, level: str) -> int:
    """Triplets of the record: all of its table but trailing ones whose structure came later (W3)."""
    triplets = kind.triplets.LAYOUT.size // TRIPLET_SIZE
    slots = {slot.triplet: slot for slot in kind.slots}
    while triplets - 1 in slots and length_at(slots[triplets - 1].section, level) is None:
        triplets -= 1
    return triplets


def _body(
    placed: list[tuple[Slot, list[Section]]], start: int, identity: RecordIdentity
) -> tuple[bytes, dict[int, tuple[int, int, int]]]:
    """The sections one after the other, and where each triplet points."""
    parts: list[bytes] = []
    pointers: dict[int, tuple[int, int, int]] = {}
    offset = start
    for slot, held in placed:
        if held:
            length = length_at(slot.section, identity.level) or 0
            parts += [_pack_section(section, length, identity.page) for section in held]
            pointers[slot.triplet] = (offset, length, len(held))
            offset += length * len(held)
    return b"".join(parts), pointers


def _pack_section(section: Section, length: int, page: CodePage) -> bytes:
    if isinstance(section, PackedSection):
        if len(section.data) != length:
            raise ValueError(f"{section.section.LAYOUT.structure} of {len(section.data)} bytes, its level has {length}")
        return section.data
    try:
        data = pack(section, length, page)
    except struct.error:
        data = pack(saturated(section), length, page)  # W8
    if not isinstance(section, CouplingFacilityStatistics):
        return data
    cleared = bytearray(data)
    field = section.LAYOUT["structures"]
    for number, entry in enumerate(section.structures or ()):
        if not entry.structure:  # W6
            begin = field.offset + number * field.element_size
            cleared[begin : begin + entry.LAYOUT["structure"].size] = bytes(entry.LAYOUT["structure"].size)
    return bytes(cleared)


def _header_section(
    kind: RecordKind,
    identity: RecordIdentity,
    when_us: int,
    interval: Interval,
    correlation: CorrelationHeader | None,
    sequence: int,
    triplets: int,
) -> bytes:
    """QWHS, after it QWHC where the record has one, after that QWHX from V10; a stub for the storage manager."""
    extension = _extension(identity)
    if kind.stub:
        return _STUB + extension
    resource_manager, ifcid = _ORIGIN.get((kind.record_type, kind.subtype), (0x1A, 0))
    little = version(identity.level)[0] == 8 and (kind.record_type, kind.subtype) == _LITTLE_COUNT
    common = CommonHeader(
        header_type=1,
        resource_manager_id=resource_manager,
        ifcid=ifcid,
        sections=triplets - 1 if little else triplets,
        queue_manager=identity.queue_manager,
        built_at=tod_from_us(when_us, identity.leap_seconds),
        reserved_24=struct.pack(">I", sequence & 0xFFFFFFFF),
        reserved_28=struct.pack(">I", sequence & 0xFFFFFFFF),
        flag_bits=0x40 if extension else 0,
        interval_start_local=_interval_start(identity, interval),
        interval_length=interval.length_us * (TOD_UNITS_PER_MICROSECOND if kind.tod_interval else 1),
    )
    length = _SHORT_HEADER if kind.correlated else length_at(CommonHeader, identity.level)
    who = pack(correlation or CorrelationHeader(header_type=2), page=identity.page) if kind.correlated else b""
    return pack(common, length, identity.page) + who + extension


def _interval_start(identity: RecordIdentity, interval: Interval) -> int:
    if interval == NO_INTERVAL:
        return 0
    return tod_from_us(interval.start_us + identity.zone_minutes * 60_000_000, identity.leap_seconds)


def _extension(identity: RecordIdentity) -> bytes:
    length = length_at(ExtensionHeader, identity.level)
    if length is None:
        return b""
    made = ExtensionHeader(
        header_type=0x10, queue_sharing_group=identity.queue_sharing_group, release=identity.long_release
    )
    return pack(made, length, identity.page)


def _smf_header(kind: RecordKind, identity: RecordIdentity, when_us: int, length: int) -> bytes:
    time, day = _local_time(identity, when_us)
    made = Smf116Header(
        record_length=length,
        system_flags=_FLAGS,
        record_type=kind.record_type,
        time_hundredths=time,
        date_packed=day,
        system=identity.system,
        queue_manager=identity.queue_manager,
        subtype=kind.subtype,
        release=identity.release,
    )
    return pack(made, page=identity.page)


def _local_time(identity: RecordIdentity, when_us: int) -> tuple[int, int]:
    local = UNIX_EPOCH + timedelta(microseconds=when_us + identity.zone_minutes * 60_000_000)
    return hundredths(local), packed_date(local.date())
