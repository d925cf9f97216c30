"""What one task of a load does: read its pieces of dumps, leave out what is known, write Parquet.

Rules
  O1  Records are sorted out before they are decoded: other SMF types, copies (of a record in this part or in the lake),
      records of purged days. What is left is decoded at once, in the order of its partitions, and sliced, not copied.
  O2  Copies are looked for only where they can be: in live files of the same partition whose local times overlap.
  O3  Damage is told for copies too. What a dump's rejects are must not depend on which dump came first.
  O4  After so many bytes a new part is begun, so that a compressed dump of any size is read in bounded memory. Copies
      across parts are found afterwards (see duplicates).
  O5  A piece that ends in damage did not land on the next piece's beginning (splitting, Y2, Y3); the driver reads both
      again as one.
  O6  Records of rare kinds wait until their piece ends, or are enough to be worth twenty tables (smf.streaming).
  O7  A dump that was there when it was digested and cannot be read now is told as unread, which is not a damage of the
      dump: the driver takes back what was read of it (ingest, G8).

Called by ingest, on executors.  Calls smf, identity, part_writer, known.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quaestor.clock import date_from_packed
from quaestor.pipeline.block_headers import BlockHeaders, name_of
from quaestor.pipeline.identity import record_ids
from quaestor.pipeline.known import KnownRecords
from quaestor.pipeline.manifest import LakeFile
from quaestor.pipeline.part_writer import Partition, PartWriter
from quaestor.pipeline.place import Place, open_dump
from quaestor.pipeline.raw_tables import (
    ID_TYPE,
    POSITION,
    QUEUE_MANAGER,
    RECORD_ID,
    RECORDS,
    RECORDS_SCHEMA,
    REJECTS,
    REJECTS_SCHEMA,
)
from quaestor.smf.arrays import Ints, Mask
from quaestor.smf.blocks import Block, Damage
from quaestor.smf.catalog import SECTIONS
from quaestor.smf.columns import decode
from quaestor.smf.detection import Framing, UnusableDumpError, reason_of
from quaestor.smf.framing import DumpReader
from quaestor.smf.locate import locate
from quaestor.smf.memory import keep_freed_memory
from quaestor.smf.streaming import Waiting, mostly, rare_records

PART_BYTES = 512 << 20
WINDOW = 24 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a dump from `start` up to `stop` (None: to its end)."""

    dump: str
    path: str
    start: int = 0
    stop: int | None = None
    framing: Framing | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What one task is to load, and into what."""

    place: Place
    name: str  # of the load and of this order, the beginning of all file names
    pieces: tuple[Piece, ...]
    files: str | None = None  # the list of live files, None for an empty lake
    horizon: date | None = None


@dataclass(slots=True)
class PieceReport:
    """What came out of a piece."""

    piece: Piece
    bytes: int = 0
    records: int = 0
    copies: int = 0
    damages: int = 0
    first_damages: list[Damage] = field(default_factory=list)
    landed: bool = True
    unusable: str = ""
    unread: str = ""  # O7


@dataclass(slots=True)
class OrderReport:
    """What came out of an order."""

    order: Order
    files: list[LakeFile]
    pieces: list[PieceReport]


def load_order(order: Order) -> OrderReport:
    """Load the pieces of an order."""
    pa.set_cpu_count(1)
    keep_freed_memory()
    known = KnownRecords(order.place, order.files)
    loader = _Loader(order, known)
    reports = [loader.load(piece) for piece in order.pieces]
    return OrderReport(order, loader.close(), reports)


def why_unusable(path: str) -> str:
    """Why nothing of a dump can be a record; empty when something can."""
    try:
        with open_dump(path) as stream:
            next(DumpReader(stream, window=WINDOW).blocks(), None)
    except UnusableDumpError as error:
        return str(error)
    except OSError as error:
        return reason_of(error)
    return ""


class _Loader:
    """Turns blocks into files, part after part (O4)."""

    def __init__(self, order: Order, known: KnownRecords) -> None:
        self._order = order
        self._known = known
        self._files: list[LakeFile] = []
        self._parts = 0
        self._rejects: list[tuple[str, int, str]] = []
        self._waiting = Waiting()
        self._begin_part()

    def _begin_part(self) -> None:
        self._writer = PartWriter(self._order.place, f"{self._order.name}.{self._parts:04d}")
        self._seen: set[bytes] = set()
        self._part_bytes = 0

    def close(self) -> list[LakeFile]:
        self._end_part()
        return self._files

    def _end_part(self) -> None:
        if self._rejects:
            columns = zip(*self._rejects, strict=True)
            arrays = [pa.array(list(each), kind.type) for each, kind in zip(columns, REJECTS_SCHEMA, strict=True)]
            self._writer.add(REJECTS, Partition(), pa.Table.from_arrays(arrays, schema=REJECTS_SCHEMA))
            self._rejects = []
        self._files += self._writer.close()
        self._parts += 1

    def load(self, piece: Piece) -> PieceReport:
        report = PieceReport(piece)
        late: dict[date, tuple[int, int]] = {}
        try:
            for block in self._blocks(piece, report):
                if self._part_bytes > PART_BYTES:
                    self._write_waiting(report)
                    self._end_part()
                    self._begin_part()
                self._part_bytes += len(block.data)
                self._block(block, report, late)
        except UnusableDumpError as error:
            report.unusable = str(error)
            self._reject(report, Damage(0, str(error)))
        self._write_waiting(report)
        for day, (offset, count) in sorted(late.items()):
            reason = f"{count} records of {day}, whose details were purged"
            self._reject(report, Damage(offset, reason))
        return report

    def _blocks(self, piece: Piece, report: PieceReport) -> Iterator[Block]:
        limit = None if piece.stop is None else piece.stop - piece.start
        try:
            stream = open_dump(piece.path)
        except OSError as error:
            report.unread = reason_of(error)  # O7
            return
        with stream:
            if piece.start:
                stream.seek(piece.start)
            reader = DumpReader(stream, window=WINDOW, framing=piece.framing, position=piece.start, limit=limit)
            try:
                for block in reader.blocks():
                    at_end = limit is not None and reader.bytes_read == limit
                    report.landed &= not (at_end and block.damages)  # O5
                    yield block
            finally:
                report.unread = reader.failed  # O7
            report.bytes = reader.bytes_read

    def _reject(self, report: PieceReport, damage: Damage) -> None:
        report.damages += 1
        if len(report.first_damages) < 20:
            report.first_damages.append(damage)
        self._rejects.append((report.piece.dump, damage.offset, damage.reason))

    # --- a block -----------------------------------------------------------------------------------------------------

    def _block(self, block: Block, report: PieceReport, late: dict[date, tuple[int, int]]) -> None:
        for damage in block.damages:
            self._reject(report, damage)
        ours = _mq_records(block)
        report.records += len(ours.offsets)
        if not len(ours.offsets):
            return
        ids = record_ids(ours)
        groups = _Groups(ours)
        keep = self._in_time(ours, groups, report, late)
        fresh = keep & self._fresh(ids, groups, keep)
        copies = keep & ~fresh
        if copies.any():
            report.copies += int(copies.sum())
            self._tell_damage(ours, copies, report)  # O3
        rare = fresh & rare_records(ours)
        if mostly(ours, rare, fresh):
            self._write(ours, np.flatnonzero(fresh), ids, groups, report)
            return
        self._waiting.add(ours, np.flatnonzero(rare))
        self._write(ours, np.flatnonzero(fresh & ~rare), ids, groups, report)
        if self._waiting.is_full:
            self._write_waiting(report)

    def _write_waiting(self, report: PieceReport) -> None:
        """Records of rare kinds, of several blocks together (O6)."""
        for block in self._waiting.leave():
            self._write(block, np.arange(len(block.offsets)), record_ids(block), _Groups(block), report)

    def _in_time(self, block: Block, groups: "_Groups", report: PieceReport, late: dict[date, tuple[int, int]]) -> Mask:
        """Records whose day exists and still has its details."""
        keep = np.ones(len(block.offsets), np.bool_)
        for number, partition in enumerate(groups.partitions):
            these = groups.group == number
            if partition.day is None:
                keep &= ~these
                for position in block.positions[these].tolist():
                    self._reject(report, Damage(position, "the date in the SMF header does not exist"))
            elif self._order.horizon is not None and partition.day < self._order.horizon:
                keep &= ~these
                offset, count = late.get(partition.day, (int(block.positions[these][0]), 0))
                late[partition.day] = (offset, count + int(these.sum()))
        return keep

    def _fresh(self, ids: NDArray[np.void], groups: "_Groups", keep: Mask) -> Mask:
        """Records that are in neither this part nor the lake (O2)."""
        fresh = np.ones(len(ids), np.bool_)
        seen = self._seen
        for number, each in enumerate(ids.tolist()):
            if each in seen:
                fresh[number] = False
            else:
                seen.add(each)
        for number, partition in enumerate(groups.partitions):
            these = np.flatnonzero((groups.group == number) & keep & fresh)
            if len(these):
                fresh[these] = ~self._known.holds(partition, ids[these], groups.headers.local_us[these])
        return fresh

    def _tell_damage(self, block: Block, copies: Mask, report: PieceReport) -> None:
        for damage in locate(_chosen(block, copies), SECTIONS).damages:
            self._reject(report, damage)

    def _write(self, block: Block, chosen: Ints, ids: NDArray[np.void], groups: "_Groups", report: PieceReport) -> None:
        """Decode the chosen records in the order of their partitions and hand each partition its slices (O1).

        The decoder is given ordinals for positions: so every row tells which record of `order` it was made from.
        """
        if not len(chosen):
            return
        order = chosen[np.argsort(groups.group[chosen], kind="stable")]
        ordinals = np.arange(len(order))
        decoded = decode(Block(block.data, block.offsets[order], block.lengths[order], ordinals), dictionary=True)
        for damage in decoded.damages:
            self._reject(report, Damage(int(block.positions[order[damage.offset]]), damage.reason))
        group = groups.group[order]
        numbers, begins = np.unique(group, return_index=True)
        ends = [*begins[1:].tolist(), len(order)]
        identities = pa.Array.from_buffers(ID_TYPE, len(order), [None, pa.py_buffer(np.ascontiguousarray(ids[order]))])
        tables = {name: _with_ids(table, identities) for name, table in decoded.tables.items()}
        records = _records_table(block, order, identities, groups)
        for number, begin, end in zip(numbers.tolist(), begins.tolist(), ends, strict=True):
            partition = groups.partitions[number]
            self._writer.add(RECORDS, partition, records.slice(begin, end - begin))
            for name, (table, owner) in tables.items():
                first, last = np.searchsorted(owner, [begin, end]).tolist()
                if last > first:
                    self._writer.add(name, partition, table.slice(first, last - first))


class _Groups:
    """The partitions of a block's records: which one each belongs to, and its local time."""

    def __init__(self, block: Block) -> None:
        self.headers = BlockHeaders(block)
        keys, group = np.unique(self.headers.dates << np.uint64(32) | self.headers.queue_managers, return_inverse=True)
        self.group: Ints = group
        self.partitions = [
            Partition(date_from_packed(key >> 32), name_of(key & 0xFFFFFFFF) or None) for key in keys.tolist()
        ]


def _mq_records(block: Block) -> Block:
    types = np.frombuffer(block.data, np.uint8)[block.offsets + 5]
    ours = (types == 115) | (types == 116)
    return block if ours.all() else _chosen(block, ours)


def _chosen(block: Block, these: Mask) -> Block:
    return Block(block.data, block.offsets[these], block.lengths[these], block.positions[these])


def _with_ids(table: pa.Table, identities: pa.Array) -> tuple[pa.Table, Ints]:
    """The table as it is stored, and the record that each row belongs to."""
    owner = table[POSITION].combine_chunks()
    stored = table.drop_columns([POSITION, QUEUE_MANAGER])
    return stored.add_column(0, RECORD_ID, identities.take(owner)), owner.to_numpy()


def _records_table(block: Block, order: Ints, identities: pa.Array, groups: _Groups) -> pa.Table:
    arrays = [
        identities,
        pa.array(groups.headers.local_us[order], RECORDS_SCHEMA.field("local_time").type),
        pa.array(groups.headers.types[order]),
        pa.array(groups.headers.subtypes[order]),
        pa.array(block.lengths[order].astype(np.int32)),
    ]
    return pa.Table.from_arrays(arrays, schema=RECORDS_SCHEMA)
