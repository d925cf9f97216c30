"""Dumps into raw tables: the driver plans, tasks decode and write, the driver checks and hands the files to a change.

Rules
  G1  Large dumps are cut at proven record boundaries, small ones are put together, so that tasks are of like size
      whatever the dumps are. Cuts are by bytes: a hot queue manager is spread like any other.
  G2  A dump whose content is in the ledger is not read again; only the name it came under is remembered.
  G3  A piece that did not land on the next one's beginning is read again together with it.
  G4  Damage goes to REJECTS, the rest is loaded. A dump with no record at all is one damage.
  G5  Nothing is alive before the change is committed.
  G6  Where tasks run in this machine anyway, local dumps are digested here: that takes less than a task's start.
  G7  A lake that is made again is made of the contents that were loaded: under whatever name each is still found, and
      not at all when one is gone. What else lies under their names now is not loaded.

Called by flow.  Calls jobs, loading, duplicates, splitting, lake.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from pathlib import Path

from pyspark.sql import SparkSession

from quaestor.pipeline import jobs
from quaestor.pipeline.duplicates import remove_copies
from quaestor.pipeline.errors import LoadError
from quaestor.pipeline.identity import CHUNK, chunk_digests, dump_digest
from quaestor.pipeline.lake import Change
from quaestor.pipeline.loading import Order, OrderReport, Piece, PieceReport, load_order
from quaestor.pipeline.manifest import RAW, LoadedDump
from quaestor.pipeline.place import dump_size, open_dump
from quaestor.smf.framing import Damage
from quaestor.smf.splitting import WHOLE, split

LARGEST_TASK = 256 << 20
SMALLEST_TASK = 8 << 20
_TASKS_PER_CORE = 2
_CHUNKS_PER_TASK = 4


@dataclass(slots=True)
class IngestReport:
    """What a load did."""

    dumps: int = 0
    known: list[str] = field(default_factory=list)
    bytes: int = 0
    records: int = 0
    copies: int = 0
    damages: int = 0
    first_damages: list[tuple[str, Damage]] = field(default_factory=list)
    unusable: list[tuple[str, str]] = field(default_factory=list)
    days: set[date] = field(default_factory=set)
    rows: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Chunks:
    """Chunks of a dump to be digested by one task."""

    path: str
    first: int
    count: int


def ingest(
    spark: SparkSession | None, change: Change, dumps: Sequence[str], progress: jobs.Progress | None = None
) -> IngestReport:
    """Load dumps into a change of a lake."""
    report = IngestReport()
    fresh = _fresh(spark, change, dumps, report)
    orders = _orders(spark, change, fresh)
    answers = _run(spark, change, orders, progress)
    files = [file for answer in answers for file in answer.files]
    place = change.lake.place
    files, between = remove_copies(spark, place, files)
    change.added += files
    _tell(report, answers, between)
    for file in files:
        report.rows[file.table] = report.rows.get(file.table, 0) + file.rows
    report.days = {file.day for file in files if file.kind == RAW and file.day is not None}
    _ledger(change, fresh, answers)
    return report


# --- which dumps are new (G2) ----------------------------------------------------------------------------------------


def _fresh(
    spark: SparkSession | None, change: Change, dumps: Sequence[str], report: IngestReport
) -> dict[str, tuple[int, list[str]]]:
    """The dumps to read: digest, size and names; known ones only get their name into the ledger."""
    names = [_full_name(each) for each in dumps]
    sizes = {name: _size(name) for name in names}
    digests = _digests(spark, sizes)
    ledger, again = change.ledger, change.base.digests() if change.anew else None
    fresh: dict[str, tuple[int, list[str]]] = {}
    renamed: dict[str, set[str]] = {}
    for name, size in sizes.items():
        digest = digests[name]
        if digest in ledger:
            report.known.append(name)
            renamed.setdefault(digest, set()).add(name)
        elif digest in fresh:
            report.known.append(name)
            fresh[digest][1].append(name)
        elif again is None or digest in again:
            fresh[digest] = (size, [name])
    _refuse_lost_dumps(dump for digest, dump in (again or {}).items() if digest not in fresh)
    for digest, more in renamed.items():
        old = ledger[digest]
        if more - set(old.names):
            together = tuple(sorted({*old.names, *more}))
            change.dumps.append(LoadedDump(old.digest, together, old.bytes, old.records, old.damages, old.loaded_by))
    report.dumps = len(fresh)
    return fresh


def _refuse_lost_dumps(lost: Iterable[LoadedDump]) -> None:
    """What is made again must not lose what was there (G7)."""
    names = sorted(dump.names[0] for dump in lost)
    if names:
        others = f", and {len(names) - 1} others" if len(names) > 1 else ""
        raise LoadError(f"{names[0]}: gone or changed since it was loaded{others}; the tables are as they were")


def _full_name(name: str) -> str:
    return name if "://" in name else str(Path(name).absolute())


def _size(name: str) -> int:
    try:
        return dump_size(name)
    except OSError as error:
        raise LoadError(f"{name}: {error.strerror or error}") from None


def _digests(spark: SparkSession | None, sizes: dict[str, int]) -> dict[str, str]:
    items = [
        _Chunks(name, first, _CHUNKS_PER_TASK)
        for name, size in sizes.items()
        for first in range(0, max(1, -(-size // CHUNK)), _CHUNKS_PER_TASK)
    ]
    groups = _even(items, jobs.parallelism(spark) * 2)
    where = None if jobs.is_local(spark) and not any("://" in name for name in sizes) else spark  # G6
    found = dict(pair for answer in jobs.run(where, _digest_group, groups) for pair in answer)
    return {
        name: dump_digest(size, (each for item in items if item.path == name for each in found[item]))
        for name, size in sizes.items()
    }


def _digest_group(group: list[_Chunks]) -> list[tuple[_Chunks, list[bytes]]]:
    made = []
    for each in group:
        with open_dump(each.path) as stream:
            made.append((each, chunk_digests(stream, each.first, each.count)))
    return made


def _even(items: list[_Chunks], count: int) -> list[list[_Chunks]]:
    return [group for start in range(min(count, len(items))) if (group := items[start::count])]


# --- who reads what (G1) ---------------------------------------------------------------------------------------------


def _orders(spark: SparkSession | None, change: Change, fresh: dict[str, tuple[int, list[str]]]) -> list[Order]:
    total = sum(size for size, _ in fresh.values())
    target = min(LARGEST_TASK, max(SMALLEST_TASK, total // (_TASKS_PER_CORE * jobs.parallelism(spark))))
    single: list[tuple[int, tuple[Piece, ...]]] = []
    small: list[tuple[int, Piece]] = []
    for digest, (size, names) in fresh.items():
        parts = [WHOLE] if "://" in names[0] else split(Path(names[0]), target)
        pieces = [Piece(digest, names[0], part.start, part.stop, part.framing) for part in parts]
        if len(pieces) == 1 and size < target:
            small.append((size, pieces[0]))
        else:
            single += [((each.stop or size) - each.start, (each,)) for each in pieces]
    single += _grouped(small, target)
    single.sort(key=lambda each: -each[0])  # the longest first, so that none is left alone at the end
    return [_order(change, number, pieces) for number, (_, pieces) in enumerate(single)]


def _grouped(small: list[tuple[int, Piece]], target: int) -> list[tuple[int, tuple[Piece, ...]]]:
    """Small dumps put together up to the size of a task."""
    made: list[tuple[int, list[Piece]]] = []
    for size, piece in small:
        if not made or made[-1][0] + size > target:
            made.append((0, []))
        total, pieces = made[-1]
        made[-1] = (total + size, [*pieces, piece])
    return [(size, tuple(pieces)) for size, pieces in made]


def _order(change: Change, number: int, pieces: tuple[Piece, ...], again: str = "") -> Order:
    horizon = change.base.horizon
    return Order(change.lake.place, f"{change.id}.{number:06d}{again}", pieces, change.known_files, horizon)


# --- reading, and reading again (G3) ---------------------------------------------------------------------------------


def _run(
    spark: SparkSession | None, change: Change, orders: list[Order], progress: jobs.Progress | None
) -> list[OrderReport]:
    answers = jobs.run(spark, load_order, orders, measure=_measure, progress=progress)
    attempt = 0
    while any(not each.pieces[0].landed for each in answers):
        attempt += 1
        good, again = _to_repeat(change, answers, attempt)
        answers = good + jobs.run(spark, load_order, again)
    return answers


def _measure(answer: OrderReport) -> tuple[int, int]:
    return sum(each.bytes for each in answer.pieces), sum(each.records for each in answer.pieces)


def _to_repeat(change: Change, answers: list[OrderReport], attempt: int) -> tuple[list[OrderReport], list[Order]]:
    """Answers to keep, and orders that read a piece that did not land together with the one behind it."""
    split_ones = [each for each in answers if len(each.pieces) == 1]
    good = [each for each in answers if len(each.pieces) != 1]
    again: list[Order] = []
    by_dump = sorted(split_ones, key=lambda each: (each.pieces[0].piece.dump, each.pieces[0].piece.start))
    for _, group in groupby(by_dump, key=lambda each: each.pieces[0].piece.dump):
        pending: list[OrderReport] = []
        for each in group:
            pending.append(each)
            if not each.pieces[0].landed:
                continue
            if len(pending) == 1:
                good.append(each)
            else:
                again.append(_joined(change, pending, attempt, len(again)))
            pending = []
    return good, again


def _joined(change: Change, pending: list[OrderReport], attempt: int, number: int) -> Order:
    for each in pending:
        for file in each.files:
            change.lake.place.remove(file.path)
    first, last = pending[0].pieces[0].piece, pending[-1].pieces[0].piece
    piece = Piece(first.dump, first.path, first.start, last.stop, first.framing)
    return _order(change, number, (piece,), f"r{attempt}")


# --- the report and the ledger ---------------------------------------------------------------------------------------


def _pieces(answers: Iterable[OrderReport]) -> list[PieceReport]:
    return [piece for answer in answers for piece in answer.pieces]


def _tell(report: IngestReport, answers: list[OrderReport], between: int) -> None:
    report.copies += between
    for each in sorted(_pieces(answers), key=lambda each: (each.piece.path, each.piece.start)):
        report.bytes += each.bytes
        report.records += each.records
        report.copies += each.copies
        report.damages += each.damages
        report.first_damages += [(each.piece.path, damage) for damage in each.first_damages if not each.unusable]
        if each.unusable:
            report.unusable.append((each.piece.path, each.unusable))


def _ledger(change: Change, fresh: dict[str, tuple[int, list[str]]], answers: list[OrderReport]) -> None:
    counted: dict[str, tuple[int, int]] = {}
    for each in _pieces(answers):
        records, damages = counted.get(each.piece.dump, (0, 0))
        counted[each.piece.dump] = records + each.records, damages + each.damages
    for digest, (size, names) in fresh.items():
        change.dumps.append(LoadedDump(digest, tuple(sorted(names)), size, *counted[digest], change.id))
