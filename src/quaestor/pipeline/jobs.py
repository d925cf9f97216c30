"""Work on the cluster: a function applied to items, one task each, wherever Spark puts it.

Rules
  X1  Items go out one to a task and answers come back in the order of the items. Nothing else crosses: tasks read
      dumps and write files themselves.
  X2  With a classic session the work is an RDD; with Spark Connect, which has none, it goes through `mapInArrow`.
  X3  Executors must have this package. Local ones find it where the driver has it; to others it is sent, compiled, from
      a file that is there until the driver ends.
  X4  What a task raises arrives as its own last line, without Spark's stack.
  X5  Without a session the work is done here, one item after the other: the same tables, no JVM.

Called by ingest, duplicates and flow.  Calls Spark.
"""

import atexit
import heapq
import os
import pickle
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from quaestor.pipeline.errors import LakeError, LoadError, NoSpaceError

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Progress = Callable[[int, int], None]
"""Told the bytes and records done so far."""

_POLL_SECONDS = 0.2
_CONNECT_PARALLELISM = 16
_NO_SPACE = ("No space left on device", "Errno 28", "errno: 28")


def run(
    spark: SparkSession | None,
    work: Callable[[Item], Answer],
    items: Sequence[Item],
    *,
    measure: Callable[[Answer], tuple[int, int]] | None = None,
    progress: Progress | None = None,
) -> list[Answer]:
    """Apply `work` to every item (X1); `measure` tells bytes and records of an answer for the progress."""
    if spark is None:  # X5
        return [work(item) for item in items]
    if not items:
        return []
    ship(spark)
    try:
        if _is_classic(spark):
            return _run_rdd(spark, work, items, measure, progress)
        return _run_connect(spark, work, items)
    except Exception as error:  # noqa: BLE001  it is told again in our words
        raise _plain(error) from None


def parallelism(spark: SparkSession | None) -> int:
    """How many tasks run at once; a guess for Spark Connect, which does not tell."""
    if spark is None:
        return 1
    return int(spark.sparkContext.defaultParallelism) if _is_classic(spark) else _CONNECT_PARALLELISM


def is_local(spark: SparkSession | None) -> bool:
    """Whether tasks run on this machine."""
    return spark is None or (_is_classic(spark) and str(spark.sparkContext.master).startswith("local"))


def balanced(items: Sequence[Item], weight: Callable[[Item], int], tasks: int) -> list[list[Item]]:
    """Items put together for at most so many tasks of about equal weight, the heaviest task first."""
    heavy_first = sorted(items, key=weight, reverse=True)
    made: list[tuple[int, int, list[Item]]] = [(0, number, []) for number in range(min(tasks, len(items)))]
    for item in heavy_first:
        taken, number, group = heapq.heappop(made)
        heapq.heappush(made, (taken + weight(item), number, [*group, item]))
    return [group for _, _, group in sorted(made, key=lambda each: -each[0])]


def _is_classic(spark: SparkSession) -> bool:
    return hasattr(spark, "_jsparkSession")


def _run_rdd(
    spark: SparkSession,
    work: Callable[[Item], Answer],
    items: Sequence[Item],
    measure: Callable[[Answer], tuple[int, int]] | None,
    progress: Progress | None,
) -> list[Answer]:
    context = spark.sparkContext
    if measure is None or progress is None:
        return list(context.parallelize(items, len(items)).map(work).collect())
    counts = context.accumulator(0), context.accumulator(0)

    def measured(item: Item) -> Answer:
        answer = work(item)
        for counter, amount in zip(counts, measure(answer), strict=True):
            counter.add(amount)
        return answer

    with _told(lambda: progress(counts[0].value, counts[1].value)):
        return list(context.parallelize(items, len(items)).map(measured).collect())


class _told:  # noqa: N801  reads as a word at its only use
    """Calls `tell` now and then while the body runs, and once at its end."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._done = Event()
        self._thread = Thread(target=self._loop, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._tell()

    def _loop(self) -> None:
        while not self._done.wait(_POLL_SECONDS):
            self._tell()


def _run_connect(spark: SparkSession, work: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
    rows = [(number, pickle.dumps(item)) for number, item in enumerate(items)]

    def batches(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            for number, item in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                answer = pickle.dumps(work(pickle.loads(item)))  # noqa: S301  what the driver packed
                yield pa.record_batch({"number": pa.array([number], pa.int64()), "answer": [answer]})

    frame = spark.createDataFrame(rows, "number long, item binary").repartition(len(items), "number")
    found = frame.mapInArrow(batches, "number long, answer binary").collect()
    return [pickle.loads(row.answer) for row in sorted(found, key=lambda row: row.number)]  # noqa: S301


# --- sending the package (X3) ----------------------------------------------------------------------------------------


def ship(spark: SparkSession) -> None:
    """Send the package to executors that lack it, once for each session."""
    if is_local(spark) and importable():
        return
    marker = "_quaestor_shipped"
    if getattr(spark, marker, False):
        return
    archive = str(package_archive())
    if _is_classic(spark):
        spark.sparkContext.addPyFile(archive)
    else:
        spark.addArtifacts(archive, pyfile=True)
    setattr(spark, marker, True)


def package_folder() -> Path:
    return Path(sys.modules["quaestor"].__file__ or "").parents[1]


def importable() -> bool:
    """Whether a new Python with our environment finds the package by itself."""
    folder = str(package_folder())
    return "site-packages" in folder or folder in os.environ.get("PYTHONPATH", "").split(os.pathsep)


def package_archive() -> Path:
    """The package as a zip with sources and compiled modules, for executors that lack it."""
    folder = Path(tempfile.mkdtemp(prefix="quaestor-ship-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = folder / "quaestor.zip"
    root = package_folder()
    with zipfile.PyZipFile(str(archive), "w", optimize=0) as packed:
        packed.writepy(str(root / "quaestor"))
        for path in sorted((root / "quaestor").rglob("*")):
            if path.is_file() and path.suffix not in (".pyc", ".pyo"):
                packed.write(path, path.relative_to(root))
    return archive


# --- failures (X4) ---------------------------------------------------------------------------------------------------


def _plain(error: Exception) -> Exception:
    """What went wrong in a task, in one line."""
    text = str(error)
    if any(each in text for each in _NO_SPACE):
        return NoSpaceError("no space left on the device; the tables are as they were")
    if isinstance(error, LakeError) or not (isinstance(error, PySparkException) or "py4j" in type(error).__module__):
        return error
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    told = next((line for line in lines if "Error: " in line and not line.startswith(("org.", "at "))), lines[0])
    return LoadError(f"a task failed: {told}")
