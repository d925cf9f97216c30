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
from numpy.typing import NDArray

from quaestor.smf.catalog import CATALOG, HEADER_SIZE, TRIPLET_SIZE, RecordKind, Slot
from quaestor.smf.framing import Block, Damage
from quaestor.smf.gather import Bytes, Ints, Mask, gather
from quaestor.smf.header import header_lengths, STUB_SIZE

_FIRST_SECTION = HEADER_SIZE + TRIPLET_SIZE
_MOST_TRIPLETS = max(kind.triplets.LAYOUT.size for kind in CATALOG.values()) // TRIPLET_SIZE
_AREA = HEADER_SIZE + _MOST_TRIPLETS * TRIPLET_SIZE
_SHORTEST_SECTION = 4
_SECTIONS_AT, _SECTIONS_END = 6, 7  # QWHSNSDA


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

    common_at: Ints
    common: Ints
    correlation_at: Ints
    correlation: Ints
    extension_at: Ints
    extension: Ints
    tod_interval: Mask

    @classmethod
    def none(cls, count: int) -> "Headers":
        return cls(*(np.zeros(count, np.int64) for _ in range(6)), np.zeros(count, np.bool_))


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
    """All triplets of the records of one kind: one row per record."""

    offset: Ints
    length: Ints
    count: Ints


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
    area = np.frombuffer(rows.data, np.uint8).reshape(len(starts), -1) if len(starts) else np.zeros((0, _AREA), np.uint8)
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
    triplets = _triplets(located.area[records], kind)
    good = _inside(located, kind, records, "header section", triplets, 0, np.ones(len(records), np.bool_))
    _place_headers(located, kind, records[good], triplets.offset[good, 0], triplets.length[good, 0], triplets.count[good, 0])
    present = _present(located, kind, records, triplets)
    for slot in kind.slots:
        if slot.section.LAYOUT.structure in wanted:
            yield from _slot_sections(located, kind, records, slot, triplets, good & (slot.triplet < present))


def _triplets(area: Bytes, kind: RecordKind) -> _Triplets:
    shape, strides = (len(area), kind.triplets.LAYOUT.size // TRIPLET_SIZE), (_AREA, TRIPLET_SIZE)

    def column(offset: int, dtype: str) -> Ints:
        view: NDArray[np.uint32] = np.ndarray(shape, dtype, area, HEADER_SIZE + offset, strides)  # type: ignore[arg-type]
        return view.astype(np.int64)

    if not len(area):
        shape = (0, shape[1])
    return _Triplets(column(0, ">u4"), column(4, ">u2"), column(6, ">u2"))


def _inside(
    located: Located, kind: RecordKind, records: Ints, what: str, triplets: _Triplets, index: int, asked: Mask
) -> Mask:
    """Which of the records asked for have this triplet in order; those that do not are damage (O1)."""
    offset, length, count = triplets.offset[:, index], triplets.length[:, index], triplets.count[:, index]
    used = asked & (count > 0)
    past = used & ((offset < _FIRST_SECTION) | (offset + length * count > located.lengths[records]))
    short = used & ~past & (length < _SHORTEST_SECTION)
    for each in np.flatnonzero(past | short).tolist():
        size = int(located.lengths[records[each]])
        reason = (
            f"triplet of {what} points past the record ({offset[each]}+{length[each]}x{count[each]} of {size})"
            if past[each]
            else f"{what} is {length[each]} bytes long, shorter than its own beginning"
        )
        located.damages.append(Damage(int(located.positions[records[each]]), f"{kind.name}: {reason}"))
    return asked & ~past & ~short


def _place_headers(located: Located, kind: RecordKind, records: Ints, offset: Ints, length: Ints, count: Ints) -> None:
    """Remember where the headers stand (H1)."""
    headers = located.headers
    headers.tod_interval[records] = kind.tod_interval
    for each in np.unique(length[count > 0]).tolist():
        these = (length == each) & (count > 0)
        chosen, at = records[these], located.starts[records[these]] + offset[these]
        common, correlation, extension = header_lengths(kind, each)
        after_common = at + (STUB_SIZE if kind.stub else common)
        headers.common_at[chosen], headers.common[chosen] = at, common
        headers.correlation_at[chosen], headers.correlation[chosen] = after_common, correlation
        headers.extension_at[chosen], headers.extension[chosen] = after_common + correlation, extension


def _present(located: Located, kind: RecordKind, records: Ints, triplets: _Triplets) -> Ints:
    """How many triplets each record has (K2)."""
    most = triplets.offset.shape[1]
    end = located.lengths[records].copy()
    present = np.zeros(len(records), np.int64)
    going = np.ones(len(records), np.bool_)
    for index in range(most):
        going &= end >= HEADER_SIZE + (index + 1) * TRIPLET_SIZE
        present += going
        offset = triplets.offset[:, index]
        np.minimum(end, offset, out=end, where=going & (triplets.count[:, index] > 0) & (offset > 0))
    if kind.counts_triplets:
        told = located.headers.common[records] >= _SECTIONS_END
        at = located.headers.common_at[records[told]] + _SECTIONS_AT
        present[told] = np.minimum(most, located.data[at])
    return present


def _slot_sections(
    located: Located, kind: RecordKind, records: Ints, slot: Slot, triplets: _Triplets, asked: Mask
) -> Iterator[tuple[str, Sections]]:
    structure, index = slot.section.LAYOUT.structure, slot.triplet
    good = _inside(located, kind, records, structure, triplets, index, asked) & (triplets.count[:, index] > 0)
    chosen = records[good]
    if not len(chosen):
        return
    offset, length, count = (
        each[good, index] for each in (triplets.offset, triplets.length, triplets.count)
    )
    offset += located.starts[chosen]
    if int(count.max()) == 1:
        yield structure, Sections(chosen, offset, length, np.zeros(len(chosen), np.int64))
        return
    owner = np.repeat(np.arange(len(chosen)), count)
    occurrence = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    yield structure, Sections(chosen[owner], offset[owner] + occurrence * length[owner], length[owner], occurrence)


def _in_order(found: list[Sections]) -> Sections:
    """One list out of those of several record kinds (P2)."""
    if len(found) == 1:
        return found[0]
    joined = [np.concatenate([getattr(each, name) for each in found]) for name in Sections.__slots__]
    order = np.argsort(joined[0], kind="stable")
    return Sections(*(each[order] for each in joined))
