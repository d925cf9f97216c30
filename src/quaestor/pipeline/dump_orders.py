"""Who reads which part of which dump, and what is read again.

Rules
  G1  Large dumps are cut at proven record boundaries, small ones are put together, so that tasks are of like size
      whatever the dumps are. Cuts are by bytes: a hot queue manager is spread like any other.
  G3  A piece that did not land on the next one's beginning is read again together with it.

The other rules are of `ingest`.

Called by ingest.  Calls jobs, loading, splitting.
"""

from collections.abc import Collection, Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from quaestor.pipeline import jobs
from quaestor.pipeline.lake import Change
from quaestor.pipeline.loading import Order, OrderReport, Piece, PieceReport, load_order
from quaestor.smf.splitting import WHOLE, Part, split

if TYPE_CHECKING:
    from quaestor.pipeline.ingest import IngestReport

LARGEST_TASK = 256 << 20
SMALLEST_TASK = 8 << 20
_TASKS_PER_CORE = 2

Fresh = dict[str, tuple[int, list[str]]]
"""Dumps to be read, by their digests: how long each is, and its names."""


def read_dumps(
    spark: SparkSession | None,
    change: Change,
    fresh: Fresh,
    report: "IngestReport",
    progress: jobs.Progress | None,
) -> list[OrderReport]:
    """Every dump as a whole; those that cannot be read any more are taken out of `fresh` (G8)."""
    answers: list[OrderReport] = []
    left, again = fresh, ""
    while left:
        answers += _run(spark, change, _orders(spark, change, left, again), progress, again)
        lost = {each.piece.dump: each for each in pieces_of(answers) if each.unread}
        spoilt, answers = _parted(answers, lost)
        _remove_files(change, spoilt)
        for digest, each in lost.items():
            _give_up(fresh, digest, each, report)
        left = {each.piece.dump: fresh[each.piece.dump] for each in pieces_of(spoilt) if each.piece.dump in fresh}
        again += "u"
    return answers


def _orders(spark: SparkSession | None, change: Change, fresh: Fresh, again: str) -> list[Order]:
    total = sum(size for size, _ in fresh.values())
    target = min(LARGEST_TASK, max(SMALLEST_TASK, total // (_TASKS_PER_CORE * jobs.parallelism(spark))))
    single: list[tuple[int, tuple[Piece, ...]]] = []
    small: list[tuple[int, Piece]] = []
    for digest, (size, names) in fresh.items():
        parts = _parts(names[0], target)
        pieces = [Piece(digest, names[0], part.start, part.stop, part.framing) for part in parts]
        if len(pieces) == 1 and size < target:
            small.append((size, pieces[0]))
        else:
            single += [((each.stop or size) - each.start, (each,)) for each in pieces]
    single += _grouped(small, target)
    single.sort(key=lambda each: -each[0])  # the longest first, so that none is left alone at the end
    return [_order(change, number, pieces, again) for number, (_, pieces) in enumerate(single)]


def _parts(name: str, target: int) -> list[Part]:
    if "://" in name:
        return [WHOLE]
    try:
        return split(Path(name), target)
    except OSError:  # the task will find the same, and tell it (G8)
        return [WHOLE]


def _grouped(small: list[tuple[int, Piece]], target: int) -> list[tuple[int, tuple[Piece, ...]]]:
    """Small dumps put together up to the size of a task."""
    made: list[tuple[int, list[Piece]]] = []
    for size, piece in small:
        if not made or made[-1][0] + size > target:
            made.append((0, []))
        total, pieces = made[-1]
        made[-1] = (total + size, [*pieces, piece])
    return [(size, tuple(pieces)) for size, pieces in made]


def _order(change: Change, number: int, pieces: tuple[Piece, ...], again: str) -> Order:
    horizon = change.base.horizon
    return Order(change.lake.place, f"{change.id}.{number:06d}{again}", pieces, change.known_files, horizon)


def _parted(answers: list[OrderReport], lost: Collection[str]) -> tuple[list[OrderReport], list[OrderReport]]:
    """Answers with something of a lost dump in them, and the others."""
    made: tuple[list[OrderReport], list[OrderReport]] = [], []
    for each in answers:
        made[all(piece.piece.dump not in lost for piece in each.pieces)].append(each)
    return made


def _give_up(fresh: Fresh, digest: str, lost: PieceReport, report: "IngestReport") -> None:
    """A dump is gone; where the same came under another name, that is read instead."""
    report.unread.append((lost.piece.path, f"a task could not read it: {lost.unread}"))
    _, names = fresh[digest]
    names.remove(lost.piece.path)
    if names:
        report.known.remove(names[0])
    else:
        del fresh[digest]


def _run(
    spark: SparkSession | None, change: Change, orders: list[Order], progress: jobs.Progress | None, again: str
) -> list[OrderReport]:
    answers = jobs.run(spark, load_order, orders, measure=_measure, progress=progress)
    attempt = 0
    while any(not each.pieces[0].landed for each in answers):
        attempt += 1
        good, repeated = _to_repeat(change, answers, f"{again}r{attempt}")
        answers = good + jobs.run(spark, load_order, repeated)
    return answers


def _measure(answer: OrderReport) -> tuple[int, int]:
    return sum(each.bytes for each in answer.pieces), sum(each.records for each in answer.pieces)


def _to_repeat(change: Change, answers: list[OrderReport], attempt: str) -> tuple[list[OrderReport], list[Order]]:
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


def _joined(change: Change, pending: list[OrderReport], attempt: str, number: int) -> Order:
    _remove_files(change, pending)
    first, last = pending[0].pieces[0].piece, pending[-1].pieces[0].piece
    piece = Piece(first.dump, first.path, first.start, last.stop, first.framing)
    return _order(change, number, (piece,), attempt)


def _remove_files(change: Change, answers: Iterable[OrderReport]) -> None:
    for answer in answers:
        for file in answer.files:
            change.lake.place.remove(file.path)


def pieces_of(answers: Iterable[OrderReport]) -> list[PieceReport]:
    """What became of every piece."""
    return [piece for answer in answers for piece in answer.pieces]
