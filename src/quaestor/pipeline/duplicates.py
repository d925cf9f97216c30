"""Copies of one record in several parts of a load: found by partition and time, removed before the commit.

Tasks leave out what the lake holds and what their own part has seen; they cannot see each other. Where parts overlap in
time (neighbouring pieces of a dump touch, overlapping dumps overlap) their RECORDS files are compared afterwards.

Rules
  E1  Equal records have equal local times, so only windows of time that two parts of a partition share are compared.
  E2  A window is a unit of work and large ones are cut by time, so one hot queue manager is many tasks.
  E3  The copy in the first file, by name, stays. Rows of copies are equal in all columns, so it does not matter which.
  E4  Only files that hold copies are written anew, without them. In the usual case there are none.
  E5  Few rows are compared here: that takes less than a task's start.

Called by ingest.  Calls jobs, part_writer.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from quaestor.pipeline import jobs
from quaestor.pipeline.manifest import LakeFile
from quaestor.pipeline.part_writer import open_parquet
from quaestor.pipeline.place import Place
from quaestor.pipeline.raw_tables import ID_BYTES, ID_TYPE, RECORD_ID, RECORDS

WINDOW_ROWS = 1_000_000
FEW_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Window:
    """A span of local time, and the RECORDS files of one partition that share it; `last` belongs to the next one."""

    place: Place
    first: datetime
    last: datetime
    closed: bool  # nothing comes after it, so `last` belongs to it
    paths: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A file that holds copies, and the identities to leave out."""

    place: Place
    file: LakeFile
    copies: bytes


def remove_copies(spark: SparkSession | None, place: Place, files: Sequence[LakeFile]) -> tuple[list[LakeFile], int]:
    """The files without copies, and how many copies there were."""
    copies: dict[str, list[bytes]] = defaultdict(list)
    shared = windows(place, files)
    where = spark if sum(each.rows for each in shared) > FEW_ROWS else None  # E5
    for found in jobs.run(where, find_copies, _batches(shared)):
        for path, ids in found:
            copies[path].append(ids)
    if not copies:
        return list(files), 0
    part_copies = {_part(path): b"".join(ids) for path, ids in copies.items()}
    touched = [each for each in files if _part(each.path) in part_copies]
    orders = [Rewrite(place, each, part_copies[_part(each.path)]) for each in touched]
    made = jobs.run(spark, rewrite, orders)
    for each in touched:
        place.remove(each.path)
    gone = {each.path for each in touched}
    kept = [each for each in files if each.path not in gone]
    count = sum(len(each) for each in part_copies.values()) // ID_BYTES
    return kept + [each for each in made if each is not None], count


def windows(place: Place, files: Iterable[LakeFile]) -> list[Window]:
    """Where RECORDS files of one partition overlap in time (E1, E2)."""
    partitions: dict[tuple[object, object], list[LakeFile]] = defaultdict(list)
    for each in files:
        if each.table == RECORDS and each.first is not None:
            partitions[each.day, each.queue_manager].append(each)
    return [window for group in partitions.values() if len(group) > 1 for window in _overlaps(place, group)]


def _overlaps(place: Place, files: list[LakeFile]) -> Iterator[Window]:
    """Windows between neighbouring ends of files, where at least two files are open."""
    edges = sorted({edge for each in files for edge in (each.first, each.last) if edge is not None})
    for first, last in list(pairwise(edges)) or [(edges[0], edges[0])]:
        closed = last == edges[-1]
        open_now = [each for each in files if _holds(each, first, last, closed=closed)]
        if len(open_now) > 1:
            yield from _cut(place, first, last, open_now, closed=closed)


def _holds(file: LakeFile, first: datetime, last: datetime, *, closed: bool) -> bool:
    """Whether a file has rows within a window, whose end is in it only when it is closed."""
    if file.first is None or file.last is None or file.last < first:
        return False
    return file.first < last or (closed and file.first == last)


def _cut(place: Place, first: datetime, last: datetime, files: list[LakeFile], *, closed: bool) -> Iterator[Window]:
    """A window, or several when it holds too many rows (E2)."""
    paths = tuple(sorted(each.path for each in files))
    rows = sum(_share(each, first, last) for each in files)
    count = max(1, min(rows // WINDOW_ROWS, int((last - first).total_seconds() * 100)))
    step = (last - first) / count
    for number in range(count):
        final = number == count - 1
        end = last if final else first + step * (number + 1)
        yield Window(place, first + step * number, end, final and closed, paths, rows // count)


def _share(file: LakeFile, first: datetime, last: datetime) -> int:
    """About how many rows of a file lie in a window."""
    if file.first is None or file.last is None:
        return file.rows
    whole = (file.last - file.first).total_seconds()
    part = (min(last, file.last) - max(first, file.first)).total_seconds()
    return max(1, int(file.rows * part / whole)) if whole > 0 else file.rows


def _batches(found: list[Window]) -> list[list[Window]]:
    """Small windows together, so that a task is worth its start."""
    made: list[list[Window]] = []
    room = 0
    for each in found:
        if not made or room < each.rows:
            made.append([])
            room = WINDOW_ROWS
        made[-1].append(each)
        room -= each.rows
    return made


def find_copies(found: list[Window]) -> list[tuple[str, bytes]]:
    """For every file, the identities of records that an earlier file holds too; a task of its own."""
    pa.set_cpu_count(1)
    copies: dict[str, set[bytes]] = defaultdict(set)
    for window in found:
        for path, ids in _window_copies(window):
            copies[path].update(ids)
    return [(path, b"".join(sorted(ids))) for path, ids in copies.items() if ids]


def _window_copies(window: Window) -> Iterator[tuple[str, list[bytes]]]:
    ids, owners = [], []
    for number, path in enumerate(window.paths):
        moment = pc.field("local_time")
        inside = (moment >= window.first) & (moment <= window.last if window.closed else moment < window.last)
        table = pq.read_table(
            window.place.path(path),
            columns=[RECORD_ID],
            filters=inside,
            filesystem=window.place.filesystem,
            partitioning=None,
        )
        ids.append(table[RECORD_ID].cast(ID_TYPE).combine_chunks())
        owners.append(np.full(table.num_rows, number))
    every = pa.concat_arrays(ids)
    owner = np.concatenate(owners)
    codes = every.dictionary_encode().indices.to_numpy()
    first_owner = np.full(int(codes.max(initial=-1)) + 1, len(window.paths))
    np.minimum.at(first_owner, codes, owner)
    copies = np.flatnonzero(first_owner[codes] < owner)
    for number in np.unique(owner[copies]).tolist():
        chosen = copies[owner[copies] == number]
        yield window.paths[number], every.take(pa.array(chosen)).to_pylist()


def rewrite(order: Rewrite) -> LakeFile | None:
    """The file again without the copies, under a new name; None when nothing is left (E4). A task of its own."""
    pa.set_cpu_count(1)
    place, file = order.place, order.file
    count = len(order.copies) // ID_BYTES
    left_out = pa.Array.from_buffers(ID_TYPE, count, [None, pa.py_buffer(order.copies)])
    path = file.path.removesuffix(".parquet") + "u.parquet"
    source = pq.ParquetFile(place.path(file.path), filesystem=place.filesystem)
    rows = 0
    writer: pq.ParquetWriter | None = None
    try:
        for number in range(source.num_row_groups):
            table = source.read_row_group(number)
            kept = table.filter(pc.invert(pc.is_in(table[RECORD_ID].cast(ID_TYPE), value_set=left_out)))
            if kept.num_rows:
                writer = writer or open_parquet(place, path, file.table, kept.schema)
                writer.write_table(kept, row_group_size=kept.num_rows)
                rows += kept.num_rows
    finally:
        if writer is not None:
            writer.close()
    if not rows:
        return None
    return LakeFile(
        file.table, file.kind, file.day, file.queue_manager, path, rows, place.size(path), file.first, file.last
    )


def _part(path: str) -> tuple[str, str]:
    """What the files of one part and partition have in common: day and queue manager, and the part's name."""
    _, _, rest = path.removeprefix("raw/").partition("/")
    folder, _, name = rest.rpartition("/")
    return folder, name
