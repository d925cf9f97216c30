"""Dumps into raw tables: the driver plans, tasks decode and write, the driver checks and hands the files to a change.

Rules
  G2  A dump whose content is in the ledger is not read again; only the name it came under is remembered. One of which
      nothing can be used is in the ledger too, and not known as loaded: it is told each time, and rejected once.
  G4  Damage goes to REJECTS, the rest is loaded. A dump with no record at all is one damage.
  G5  Nothing is alive before the change is committed.
  G6  Where tasks run in this machine anyway, local dumps are digested here: that takes less than a task's start.
  G7  A lake that is made again is made of the contents that were loaded: under whatever name each is still found, and
      not at all when one is gone. What else lies under their names now is not loaded.
  G8  A dump that cannot be read (it is missing, a folder, empty, refused by the system), or not to its end, is told by
      name and not loaded, nor in the ledger: it may come again. The others are loaded. One that vanishes after it was
      digested is taken back as a whole, and what shared tasks with it is read again; of a content that was given under
      several names any will do. Where none can be read at all, the load is given up.

G1 and G3 are of `dump_orders`.

Called by flow.  Calls jobs, dump_orders, duplicates, lake.
"""

from collections.abc import Collection, Iterable, Sequence, Sized
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from pathlib import Path

from pyspark.sql import SparkSession

from quaestor.pipeline import jobs
from quaestor.pipeline.dump_orders import Fresh, pieces_of, read_dumps
from quaestor.pipeline.duplicates import remove_copies
from quaestor.pipeline.errors import LoadError
from quaestor.pipeline.identity import CHUNK, chunk_digests, dump_digest
from quaestor.pipeline.lake import Change
from quaestor.pipeline.loading import OrderReport, why_unusable
from quaestor.pipeline.manifest import RAW, LoadedDump
from quaestor.pipeline.place import open_dump, readable_size
from quaestor.smf.blocks import Damage
from quaestor.smf.detection import UnusableDumpError, reason_of

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
    unusable_known: list[tuple[str, str]] = field(default_factory=list)  # G2
    unread: list[tuple[str, str]] = field(default_factory=list)  # G8
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
    answers = read_dumps(spark, change, fresh, report, progress)
    report.dumps = len(fresh)
    _refuse_lost_dumps(change, fresh)
    if not fresh and not report.known and not report.unusable_known:
        _refuse_nothing_but_unread(report)
    files = [file for answer in answers for file in answer.files]
    place = change.lake.place
    files, between = remove_copies(spark, place, files)
    change.added += files
    _tell(report, answers, between, fresh)
    for file in files:
        report.rows[file.table] = report.rows.get(file.table, 0) + file.rows
    report.days = {file.day for file in files if file.kind == RAW and file.day is not None}
    _ledger(change, fresh, answers)
    return report


# --- which dumps are new (G2) ----------------------------------------------------------------------------------------


def _fresh(spark: SparkSession | None, change: Change, dumps: Sequence[str], report: IngestReport) -> Fresh:
    """The dumps to read: digest, size and names; known ones only get their name into the ledger."""
    sizes = _sizes(dumps, report)
    ledger, again = change.ledger, change.base.digests() if change.anew else None
    fresh: Fresh = {}
    renamed: dict[str, set[str]] = {}
    for name, digest in _digests(spark, sizes, report).items():
        if digest in ledger:
            _tell_known(report, name, ledger[digest])
            renamed.setdefault(digest, set()).add(name)
        elif digest in fresh:
            report.known.append(name)
            fresh[digest][1].append(name)
        elif again is None or digest in again:
            fresh[digest] = (sizes[name], [name])
    _refuse_lost_dumps(change, fresh)
    for digest, more in renamed.items():
        old = ledger[digest]
        if more - set(old.names):
            together = tuple(sorted({*old.names, *more}))
            change.dumps.append(LoadedDump(old.digest, together, old.bytes, old.records, old.damages, old.loaded_by))
    return fresh


def _tell_known(report: IngestReport, name: str, dump: LoadedDump) -> None:
    """A dump of the ledger was loaded, or else nothing of it can be used: then one damage is all it has (G2, G4)."""
    why = why_unusable(name) if not dump.records and dump.damages == 1 else ""
    if why:
        report.unusable_known.append((name, why))
    else:
        report.known.append(name)


def _refuse_lost_dumps(change: Change, fresh: Collection[str]) -> None:
    """What is made again must not lose what was there (G7); earlier versions had empty dumps in the ledger."""
    again = change.base.digests() if change.anew else {}
    names = sorted(dump.names[0] for digest, dump in again.items() if dump.bytes and digest not in fresh)
    if names:
        raise LoadError(
            f"{names[0]}: gone or changed since it was loaded{_and_others(names)}; the tables are as they were"
        )


def _refuse_nothing_but_unread(report: IngestReport) -> None:
    if report.unread:
        name, reason = report.unread[0]
        raise LoadError(f"{name}: {reason}{_and_others(report.unread)}")


def _and_others(all_of_them: Sized) -> str:
    return f", and {len(all_of_them) - 1} others" if len(all_of_them) > 1 else ""


def _full_name(name: str) -> str:
    return name if "://" in name else str(Path(name).absolute())


def _sizes(dumps: Iterable[str], report: IngestReport) -> dict[str, int]:
    """The dumps that can be read, and how long they are (G8)."""
    sizes: dict[str, int] = {}
    for name in dict.fromkeys(map(_full_name, dumps)):
        try:
            sizes[name] = readable_size(name)
        except UnusableDumpError as error:
            report.unread.append((name, str(error)))
    return sizes


def _digests(spark: SparkSession | None, sizes: dict[str, int], report: IngestReport) -> dict[str, str]:
    items = [
        _Chunks(name, first, _CHUNKS_PER_TASK)
        for name, size in sizes.items()
        for first in range(0, max(1, -(-size // CHUNK)), _CHUNKS_PER_TASK)
    ]
    groups = _even(items, jobs.parallelism(spark) * 2)
    where = None if jobs.is_local(spark) and not any("://" in name for name in sizes) else spark  # G6
    found = {item: (some, why) for answer in jobs.run(where, _digest_group, groups) for item, some, why in answer}
    made: dict[str, str] = {}
    for name, same in groupby(items, key=lambda item: item.path):
        answers = [found[item] for item in same]
        why = next((why for _, why in answers if why), "")
        if why:
            report.unread.append((name, why))  # G8
        else:
            made[name] = dump_digest(sizes[name], (each for some, _ in answers for each in some))
    return made


def _digest_group(group: list[_Chunks]) -> list[tuple[_Chunks, list[bytes], str]]:
    """The digests of chunks, or why their dump cannot be read (G8)."""
    made: list[tuple[_Chunks, list[bytes], str]] = []
    for each in group:
        try:
            with open_dump(each.path) as stream:
                made.append((each, chunk_digests(stream, each.first, each.count), ""))
        except OSError as error:
            made.append((each, [], reason_of(error)))
    return made


def _even(items: list[_Chunks], count: int) -> list[list[_Chunks]]:
    return [group for start in range(min(count, len(items))) if (group := items[start::count])]


# --- the report and the ledger ---------------------------------------------------------------------------------------


def _tell(report: IngestReport, answers: list[OrderReport], between: int, fresh: Fresh) -> None:
    report.copies += between
    for each in sorted(pieces_of(answers), key=lambda each: (each.piece.path, each.piece.start)):
        report.bytes += each.bytes
        report.records += each.records
        report.copies += each.copies
        report.damages += each.damages
        report.first_damages += [(each.piece.path, damage) for damage in each.first_damages if not each.unusable]
        if each.unusable:
            report.unusable.append((each.piece.path, each.unusable))
            for name in fresh[each.piece.dump][1][1:]:  # the same under other names (G2)
                report.known.remove(name)
                report.unusable_known.append((name, each.unusable))


def _ledger(change: Change, fresh: Fresh, answers: list[OrderReport]) -> None:
    counted: dict[str, tuple[int, int]] = {}
    for each in pieces_of(answers):
        records, damages = counted.get(each.piece.dump, (0, 0))
        counted[each.piece.dump] = records + each.records, damages + each.damages
    for digest, (size, names) in fresh.items():
        change.dumps.append(LoadedDump(digest, tuple(sorted(names)), size, *counted[digest], change.id))
