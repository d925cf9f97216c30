"""Where every section of a block stands: the catalogue applied to all records at once.

It does for a block what `records` does record by record, under the same rules and with the same words for damage:
K1 (by type, subtype and triplet), K2 (which triplets exist), H1 (which headers stand behind triplet 0), O1 (damage of
one section leaves the others alone), O2 (other records are counted).

Rules
  P1  No Python per record; only damage is named one by one.
  P2  Sections of a structure come in the order of the dump, whichever record kinds hold them.

Called by columns.  Calls catalog and header.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from quaestor.smf.catalog import CATALOG, HEADER_SIZE, TRIPLET_SIZE, RecordKind
from quaestor.smf.framing import Block, Damage
from quaestor.smf.gather import Bytes, Ints, Mask, gather
from quaestor.smf.header import STUB_SIZE, header_lengths

_FIRST_SECTION = HEADER_SIZE + TRIPLET_SIZE
_MOST_TRIPLETS = max(kind.triplets.LAYOUT.size for kind in CATALOG.values()) // TRIPLET_SIZE
_AREA = HEADER_SIZE + _MOST_TRIPLETS * TRIPLET_SIZE
_SHORTEST_SECTION = 4
_SECTIONS_AT, _SECTIONS_END = 6, 7  # QWHSNSDA
_FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class Sections:
    """The sections of one structure: which record, where in the buffer, how long, which occurrence in the record."""

    record: Ints
    offset: Ints
    length: Ints
    occurrence: Ints


@dataclass(slots=True)
class Headers:
    """Where QWHS, QWHC and QWHX of each record stand, and how long they are; a length of 0 means there is none."""

    tod_interval: Mask
    common_at: Ints
    common: Ints
    correlation_at: Ints
    correlation: Ints
    extension_at: Ints
    extension: Ints

    @classmethod
    def none(cls, count: int) -> "Headers":
        return cls(np.zeros(count, np.bool_), *(np.zeros(count, np.int64) for _ in range(6)))


@dataclass(slots=True)
class Located:
    """The MQ records of a block with all that was found in them; other records are only counted, by type (O2)."""

    data: Bytes
    starts: Ints
    lengths: Ints
    positions: Ints
    types: Ints
    subtypes: Ints
    area: Bytes  # SMF header and triplets of every record
    headers: Headers
    sections: dict[str, Sections] = field(default_factory=dict)
    damages: list[Damage] = field(default_factory=list)
    others: Counter[int] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class _Triplets:
    """All triplets of the records of one kind, one row per record, and what is wrong with them (O1)."""

    offset: Ints
    length: Ints
    count: Ints
    past: Mask  # points past the record, or into its header
    short: Mask  # shorter than its own beginning

    @property
    def most(self) -> int:
        return int(self.offset.shape[1])

    @property
    def pointers(self) -> tuple[Ints, Ints, Ints]:
        return self.offset, self.length, self.count


def locate(block: Block, wanted: Collection[str]) -> Located:
    """Find the sections of all wanted structures in a block."""
    located = _mq_records(block)
    parts: dict[str, list[Sections]] = {}
    for kind, records in _by_kind(located):
        for structure, sections in _kind_sections(located, kind, records, wanted):
            parts.setdefault(structure, []).append(sections)
    located.sections = {structure: _in_order(found) for structure, found in parts.items()}
    located.damages.sort(key=lambda damage: damage.offset)
    return located


def _mq_records(block: Block) -> Located:
    data = np.frombuffer(block.data, np.uint8)
    types = data[block.offsets + 5]
    ours = (types == 115) | (types == 116)
    others = Counter(types[~ours].tolist())
    starts, lengths, positions = block.offsets[ours], block.lengths[ours], block.positions[ours]
    area = _area(data, starts, lengths)
    subtypes = area[:, 22].astype(np.int64) << 8 | area[:, 23]
    return Located(
        data,
        starts,
        lengths,
        positions,
        types[ours].astype(np.int64),
        subtypes,
        area,
        Headers.none(len(starts)),
        others=others,
    )


def _area(data: Bytes, starts: Ints, lengths: Ints) -> Bytes:
    """Header and triplets of every record; what lies behind a short record reads as zero."""
    rows = gather(data, starts, np.full(len(starts), _AREA), _AREA)
    area = (
        np.frombuffer(rows.data, np.uint8).reshape(len(starts), -1) if len(starts) else np.zeros((0, _AREA), np.uint8)
    )
    short = lengths < _AREA
    if short.any():
        area = area.copy()
        area[short] = np.where(np.arange(_AREA) < lengths[short, None], area[short], 0)
    return area


def _by_kind(located: Located) -> Iterator[tuple[RecordKind, Ints]]:
    keys = located.types << 16 | located.subtypes
    for key in np.unique(keys).tolist():
        kind = CATALOG.get((key >> 16, key & 0xFFFF))
        if kind is not None:
            yield kind, np.flatnonzero(keys == key)


def _kind_sections(
    located: Located, kind: RecordKind, records: Ints, wanted: Collection[str]
) -> Iterator[tuple[str, Sections]]:
    triplets = _triplets(located.area[records], kind, located.lengths[records])
    bad = triplets.past | triplets.short
    headed = ~bad[:, 0]
    _place_headers(located, kind, records, triplets, headed & (triplets.count[:, 0] > 0))
    there = (np.arange(triplets.most) < _present(located, kind, records, triplets)[:, None]) & headed[:, None]
    _report(located, kind, records, triplets, bad & there)
    usable = there & ~bad & (triplets.count > 0)
    for slot in kind.slots:
        structure = slot.section.LAYOUT.structure
        good = np.flatnonzero(usable[:, slot.triplet]) if structure in wanted else records[:0]
        if len(good):
            yield (
                structure,
                _sections(located, records[good], *(each[good, slot.triplet] for each in triplets.pointers)),
            )


def _triplets(area: Bytes, kind: RecordKind, size: Ints) -> _Triplets:
    shape, strides = (len(area), kind.triplets.LAYOUT.size // TRIPLET_SIZE), (_AREA, TRIPLET_SIZE)
    offset, length, count = (
        np.ndarray(shape, dtype, area, HEADER_SIZE + at, strides).astype(np.int64)
        for at, dtype in ((0, ">u4"), (4, ">u2"), (6, ">u2"))
    )
    used = count > 0
    past = used & ((offset < _FIRST_SECTION) | (offset + length * count > size[:, None]))
    return _Triplets(offset, length, count, past, used & ~past & (length < _SHORTEST_SECTION))


def _report(located: Located, kind: RecordKind, records: Ints, triplets: _Triplets, bad: Mask) -> None:
    """Name the damage of the header section and of every section somebody knows (O1)."""
    known = {0: "header section"} | {slot.triplet: slot.section.LAYOUT.structure for slot in kind.slots}
    bad[:, 0] = triplets.past[:, 0] | triplets.short[:, 0]
    for row, index in zip(*(each.tolist() for each in np.nonzero(bad)), strict=True):
        if index not in known:
            continue
        offset, length, count = (int(each[row, index]) for each in triplets.pointers)
        record = records[row]
        reason = (
            f"triplet of {known[index]} points past the record ({offset}+{length}x{count} of {located.lengths[record]})"
            if triplets.past[row, index]
            else f"{known[index]} is {length} bytes long, shorter than its own beginning"
        )
        located.damages.append(Damage(int(located.positions[record]), f"{kind.name}: {reason}"))


def _place_headers(located: Located, kind: RecordKind, records: Ints, triplets: _Triplets, headed: Mask) -> None:
    """Remember where the headers stand (H1)."""
    headers = located.headers
    headers.tod_interval[records] = kind.tod_interval
    lengths = triplets.length[:, 0]
    for length in np.unique(lengths[headed]).tolist():
        these = np.flatnonzero(headed & (lengths == length))
        chosen, at = records[these], located.starts[records[these]] + triplets.offset[these, 0]
        common, correlation, extension = header_lengths(kind, length)
        after_common = at + (STUB_SIZE if kind.stub else common)
        headers.common_at[chosen], headers.common[chosen] = at, common
        headers.correlation_at[chosen], headers.correlation[chosen] = after_common, correlation
        headers.extension_at[chosen], headers.extension[chosen] = after_common + correlation, extension


def _present(located: Located, kind: RecordKind, records: Ints, triplets: _Triplets) -> Ints:
    """How many triplets each record has: as many as stand before its first section, or as QWHSNSDA says (K2)."""
    begins = np.where((triplets.count > 0) & (triplets.offset > 0), triplets.offset, _FAR)
    ends = np.minimum.accumulate(np.column_stack([located.lengths[records], begins[:, :-1]]), axis=1)
    fits = ends >= HEADER_SIZE + TRIPLET_SIZE * np.arange(1, triplets.most + 1)
    present: Ints = np.logical_and.accumulate(fits, axis=1).sum(axis=1)
    if kind.counts_triplets:
        told = located.headers.common[records] >= _SECTIONS_END
        at = located.headers.common_at[records[told]] + _SECTIONS_AT
        present[told] = np.minimum(triplets.most, located.data[at])
    return present


def _sections(located: Located, records: Ints, offset: Ints, length: Ints, count: Ints) -> Sections:
    """Every occurrence behind one triplet of the given records."""
    begin = located.starts[records] + offset
    if int(count.max()) == 1:
        return Sections(records, begin, length, np.zeros(len(records), np.int64))
    owner = np.repeat(np.arange(len(records)), count)
    occurrence = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    return Sections(records[owner], begin[owner] + occurrence * length[owner], length[owner], occurrence)


def _in_order(found: list[Sections]) -> Sections:
    """One list out of those of several record kinds (P2)."""
    if len(found) == 1:
        return found[0]
    joined = [np.concatenate([getattr(each, name) for each in found]) for name in Sections.__slots__]
    order = np.argsort(joined[0], kind="stable")
    return Sections(*(each[order] for each in joined))
