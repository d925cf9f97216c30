"""Which bytes of which dumps a query reads, and how they become Arrow batches.

Rules
  R7  Dumps are cut at proven boundaries (smf.splitting). A range that ends in damage did not land on the next one's
      beginning; the reader says so and asks to read that dump uncut, rather than guess.
  R8  Records are selected by their headers before anything is decoded.
  R9  Of a dump that is still growing, the part up to its last whole record is read: damage before that end is passed
      over like any other.
  R10 An I/O error is no damage that could be passed over: the query fails, and Spark may try again elsewhere.

Called by source and stream.  Calls smf.
"""

import glob
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from quaestor.pipeline.block_headers import BlockHeaders
from quaestor.pipeline.errors import LakeError
from quaestor.pipeline.place import open_dump
from quaestor.pipeline.selection import Selection
from quaestor.smf.arrow_schema import nullable
from quaestor.smf.blocks import Block
from quaestor.smf.catalog import HEADER_SIZE
from quaestor.smf.columns import decode
from quaestor.smf.detection import Framing, UnusableDumpError, detect, is_rdw
from quaestor.smf.framing import DumpReader
from quaestor.smf.splitting import WHOLE, split

WINDOW = 8 << 20
PART_BYTES = 64 << 20
_LOOK = 256 << 10
_GZIP = b"\x1f\x8b"


class DamagedDumpError(LakeError):
    """A dump is damaged and the query asked not to go on, or cannot."""


@dataclass(frozen=True)
class Range(InputPartition):
    """Bytes of a dump from `start` up to `stop` (None: to its end); `whole` when a record is known to end there."""

    path: str
    start: int = 0
    stop: int | None = None
    framing: Framing | None = None
    whole: bool = False


def dumps_at(paths: Collection[str]) -> list[str]:
    """The dumps that paths, folders and patterns name."""
    made: list[str] = []
    for each in paths:
        if "://" in each:
            made.append(each)
            continue
        there = Path(each).exists()  # a file of that very name, brackets and all
        found = [each] if there else sorted(glob.glob(each)) or [each]  # noqa: PTH207  patterns may be absolute
        for path in map(Path, found):
            made += [str(path)] if not path.is_dir() else sorted(str(file) for file in path.iterdir() if _visible(file))
    return made


def _visible(path: Path) -> bool:
    return path.is_file() and not path.name.startswith((".", "_"))


def ranges(path: str, *, cut: bool = True, part_bytes: int = PART_BYTES) -> list[Range]:
    """A dump as ranges that can be read independently (R7)."""
    parts = split(Path(path), part_bytes) if cut and "://" not in path else [WHOLE]
    return [Range(path, each.start, each.stop, each.framing) for each in parts]


def batches(
    part: Range, structure: str, columns: Collection[str], selection: Selection, *, strict: bool
) -> Iterator[pa.RecordBatch]:
    """The rows of a structure in a range of a dump, columns in the order given; `strict` stops at damage."""
    pa.set_cpu_count(1)
    limit = None if part.stop is None else part.stop - part.start
    with open_dump(part.path) as stream:
        stream.seek(part.start)
        reader = DumpReader(stream, window=WINDOW, framing=part.framing, position=part.start, limit=limit)
        for block in reader.blocks():
            at_end = limit is not None and reader.bytes_read == limit and not part.whole
            if block.damages and (strict or at_end):
                hint = "" if strict else "; read it with the option split = false"
                raise DamagedDumpError(f"{part.path}: {block.damages[0]}{hint}")
            chosen = _selected(block, selection)
            if not len(chosen.offsets):
                continue
            decoded = decode(chosen, [structure], columns={structure: frozenset(columns)})
            if strict and decoded.damages:
                raise DamagedDumpError(f"{part.path}: {decoded.damages[0]}")
            if structure in decoded.tables:
                yield from _for_spark(decoded.tables[structure].select(list(columns))).to_batches()
        if reader.failed:  # R10
            raise DamagedDumpError(f"{part.path}: {reader.failed}")


def _for_spark(table: pa.Table) -> pa.Table:
    """The table under the types that Spark demands to the letter; nothing is copied for them."""
    schema = pa.schema([(each.name, nullable(each.type)) for each in table.schema])
    return table.cast(schema).combine_chunks()


def _selected(block: Block, selection: Selection) -> Block:
    """The MQ records that the query asks for (R8)."""
    types = np.frombuffer(block.data, np.uint8)[block.offsets + 5]
    ours = (types == 115) | (types == 116)
    chosen = Block(block.data, block.offsets[ours], block.lengths[ours], block.positions[ours])
    if not selection.tests or not len(chosen.offsets):
        return chosen
    wanted = selection.mask(BlockHeaders(chosen))
    return Block(block.data, chosen.offsets[wanted], chosen.lengths[wanted], chosen.positions[wanted])


def grows(path: str) -> bool:
    """Whether a dump may be read bit by bit as it grows (R9)."""
    with open_dump(path) as stream:
        found = _begins(stream.read(_LOOK))
    return found is not None and found[0] is Framing.RDW


def _begins(head: bytes) -> tuple[Framing | None, int] | None:
    """The framing of a dump, none where it is compressed, and where its first record is; None when it is no dump."""
    if head[:2] == _GZIP:
        return None, 0
    try:
        return detect(head)
    except UnusableDumpError:
        return None


def whole_records_end(path: str, start: int, size: int) -> int:
    """Where the last whole record up to `size` ends (R9); `start` is where a record begins.

    Known for RDW dumps only. Others, and damaged ones, are taken as they are: all of it.
    """
    with open_dump(path) as stream:
        found = _begins(stream.read(_LOOK))
        if found is None:
            return start if size < HEADER_SIZE else size
        framing, first = found
        if framing is not Framing.RDW:
            return size
        at = whole = max(start, first)
        while at + 4 <= size:
            stream.seek(at)
            window = stream.read(WINDOW)
            inside = 0
            while inside + 4 <= len(window):
                if not is_rdw(window, inside):
                    return size
                length = int.from_bytes(window[inside : inside + 2], "big")
                if at + inside + length > size:
                    return whole
                if inside + length > len(window):
                    break
                inside += length
                if window[inside - length + 2] in (0, 2):  # a whole record, or the last segment of one
                    whole = at + inside
            if not inside:
                return whole
            at += inside
    return whole
