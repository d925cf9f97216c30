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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.arrays import Bytes, Ints, Mask
from quaestor.smf.blocks import Block, Damage
from quaestor.smf.catalog import CATALOG, FIRST_SECTION, HEADER_SIZE, SHORTEST_SECTION, TRIPLET_SIZE, wrong_with
from quaestor.smf.gather import gather
from quaestor.smf.header import STUB_SIZE, header_lengths

_KINDS = tuple(CATALOG.values())
_TRIPLETS = np.array([kind.triplets.LAYOUT.size // TRIPLET_SIZE for kind in _KINDS])
_COUNTS_TRIPLETS = np.array([kind.counts_triplets for kind in _KINDS])
_TOD_INTERVAL = np.array([kind.tod_interval for kind in _KINDS])
_STUB = np.array([STUB_SIZE if kind.stub else 0 for kind in _KINDS])
_KIND_OF_KEY = {key: number for number, key in enumerate(CATALOG)}
_MOST = int(_TRIPLETS.max())
_AREA = HEADER_SIZE + _MOST * TRIPLET_SIZE
_TRIPLET_ENDS = HEADER_SIZE + TRIPLET_SIZE * np.arange(1, _MOST + 1)
_SECTIONS_AT, _SECTIONS_END = 6, 7  # QWHSNSDA
_FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class Sections:
    """The sections of one structure: which record, where in the buffer, how long, which occurrence in the record."""

    record: Ints
    offset: Ints
    length: Ints
    occurrence: Ints


NO_SECTIONS = Sections(*(np.zeros(0, np.int64) for _ in range(4)))


@dataclass(frozen=True, slots=True)
class Headers:
    """Where QWHS, QWHC and QWHX of each record stand, and how long they are; a length of 0 means there is none."""

    common_at: Ints
    common: Ints
    correlation_at: Ints
    correlation: Ints
    extension_at: Ints
    extension: Ints
    tod_interval: Mask


@dataclass(frozen=True, slots=True)
class _Triplets:
    """All triplets of all records, one row per record, and what is wrong with them (O1)."""

    offset: Ints
    length: Ints
    count: Ints
    past: Mask  # points past the record, or into its header
    short: Mask  # shorter than its own beginning

    @property
    def most(self) -> int:
        return int(self.offset.shape[1])


@dataclass(frozen=True, slots=True)
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
    sections: dict[str, Sections]
    damages: list[Damage]
    others: Counter[int]

    def __len__(self) -> int:
        return len(self.starts)


def locate(block: Block, wanted: Collection[str]) -> Located:
    """Find the sections of all wanted structures in a block."""
    data = np.frombuffer(block.data, np.uint8)
    types = data[block.offsets + 5]
    ours = (types == 115) | (types == 116)
    starts, lengths, positions = block.offsets[ours], block.lengths[ours], block.positions[ours]
    area = _area(data, starts, lengths)
    subtypes = area[:, 22].astype(np.int64) << 8 | area[:, 23]
    kinds = _kinds(types[ours], subtypes)
    triplets = _triplets(area, lengths, int(_TRIPLETS[kinds].max(initial=1)))
    bad = triplets.past | triplets.short
    known = kinds >= 0
    headers = _headers(kinds, starts, triplets, known & ~bad[:, 0] & (triplets.count[:, 0] > 0))
    there = (np.arange(triplets.most) < _present(data, kinds, lengths, triplets, headers)[:, None]) & known[:, None]
    usable = there & ~bad & (triplets.count > 0)
    return Located(
        data,
        starts,
        lengths,
        positions,
        types[ours].astype(np.int64),
        subtypes,
        area,
        headers,
        dict(_by_structure(kinds, starts, triplets, usable, wanted)),
        _damages(kinds, lengths, positions, triplets, bad & there),
        Counter(types[~ours].tolist()),
    )


def _area(data: Bytes, starts: Ints, lengths: Ints) -> Bytes:
    """Header and triplets of every record; what lies behind a short record reads as zero."""
    if not len(starts):
        return np.zeros((0, _AREA), np.uint8)
    rows = gather(data, starts, np.full(len(starts), _AREA), _AREA)
    area = np.frombuffer(rows.data, np.uint8).reshape(len(starts), _AREA)
    short = lengths < _AREA
    if short.any():
        area = area.copy()
        area[short] = np.where(np.arange(_AREA) < lengths[short, None], area[short], 0)
    return area


def _kinds(types: NDArray[np.uint8], subtypes: Ints) -> Ints:
    """The number of each record's kind, -1 for a subtype nobody knows."""
    distinct, place = np.unique(types.astype(np.int64) << 16 | subtypes, return_inverse=True)
    numbers = [_KIND_OF_KEY.get((key >> 16, key & 0xFFFF), -1) for key in distinct.tolist()]
    return np.array(numbers, np.int64)[place] if numbers else np.zeros(0, np.int64)


def _triplets(area: Bytes, lengths: Ints, most: int) -> _Triplets:
    """The first `most` triplets of every record."""
    shape, strides = (len(area), most), (_AREA, TRIPLET_SIZE)
    offset, length, count = (
        np.ndarray(shape, dtype, area, HEADER_SIZE + at, strides).astype(np.int64)
        if len(area)
        else np.zeros(shape, np.int64)
        for at, dtype in ((0, ">u4"), (4, ">u2"), (6, ">u2"))
    )
    used = count > 0
    past = used & ((offset < FIRST_SECTION) | (offset + length * count > lengths[:, None]))
    return _Triplets(offset, length, count, past, used & ~past & (length < SHORTEST_SECTION))


def _headers(kinds: Ints, starts: Ints, triplets: _Triplets, headed: Mask) -> Headers:
    """Where the headers stand: the length of their section tells which there are (H1)."""
    at = np.where(headed, starts + triplets.offset[:, 0], 0)
    distinct, place = np.unique(np.where(headed, kinds << 16 | triplets.length[:, 0], -1), return_inverse=True)
    told = [header_lengths(_KINDS[key >> 16], key & 0xFFFF) if key >= 0 else (0, 0, 0) for key in distinct.tolist()]
    common, correlation, extension = np.array(told, np.int64).reshape(-1, 3)[place].T
    behind = at + np.where(common > 0, common, _STUB[kinds])
    return Headers(
        at, common, behind, correlation, behind + correlation, extension, (kinds >= 0) & _TOD_INTERVAL[kinds]
    )


def _present(data: Bytes, kinds: Ints, lengths: Ints, triplets: _Triplets, headers: Headers) -> Ints:
    """How many triplets each record has: as many as stand before its first section, or as QWHSNSDA says (K2)."""
    says = _COUNTS_TRIPLETS[kinds] & (headers.common >= _SECTIONS_END)
    told, silent = np.flatnonzero(says), np.flatnonzero(~says)
    present = np.empty(len(kinds), np.int64)
    present[told] = data[headers.common_at[told] + _SECTIONS_AT]
    present[silent] = _before_sections(lengths[silent], triplets.offset[silent], triplets.count[silent])
    np.minimum(present, _TRIPLETS[kinds], out=present)
    return present


def _before_sections(lengths: Ints, offset: Ints, count: Ints) -> Ints:
    """How many triplets end before the first section that those in front of them point to."""
    begins = np.where((count > 0) & (offset >= FIRST_SECTION), offset, _FAR)
    ends = np.minimum.accumulate(np.column_stack([lengths, begins[:, :-1]]), axis=1)
    made: Ints = np.logical_and.accumulate(ends >= _TRIPLET_ENDS[: offset.shape[1]], axis=1).sum(axis=1)
    return made


def _damages(kinds: Ints, lengths: Ints, positions: Ints, triplets: _Triplets, bad: Mask) -> list[Damage]:
    """The damage of the header section and of every section somebody knows, one by one (O1, P1)."""
    bad[:, 0] = (triplets.past[:, 0] | triplets.short[:, 0]) & (kinds >= 0)
    made = []
    for row, index in zip(*(each.tolist() for each in np.nonzero(bad)), strict=True):
        kind = _KINDS[kinds[row]]
        known = {0: "header section"} | {slot.triplet: slot.section.LAYOUT.structure for slot in kind.slots}
        if index in known:
            offset, length, count = (each[row, index] for each in (triplets.offset, triplets.length, triplets.count))
            wrong = wrong_with(known[index], offset, length, count, lengths[row])
            made.append(Damage(int(positions[row]), f"{kind.name}: {wrong}"))
    return sorted(made, key=lambda damage: damage.offset)


def _by_structure(
    kinds: Ints, starts: Ints, triplets: _Triplets, usable: Mask, wanted: Collection[str]
) -> Iterator[tuple[str, Sections]]:
    """Every structure that was found, its sections in the order of the dump (P2)."""
    found: dict[str, list[Sections]] = {}
    for number in np.unique(kinds[kinds >= 0]).tolist():
        records = np.flatnonzero(kinds == number)
        for slot in _KINDS[number].slots:
            structure = slot.section.LAYOUT.structure
            if structure in wanted:
                chosen = records[usable[records, slot.triplet]]
                if len(chosen):
                    found.setdefault(structure, []).append(_sections(chosen, starts, triplets, slot.triplet))
    for structure, parts in found.items():
        yield structure, _in_order(parts)


def _sections(records: Ints, starts: Ints, triplets: _Triplets, index: int) -> Sections:
    """Every occurrence behind one triplet of the given records."""
    begin = starts[records] + triplets.offset[records, index]
    length, count = triplets.length[records, index], triplets.count[records, index]
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
