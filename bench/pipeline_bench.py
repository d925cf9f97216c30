"""What the pipeline promises, measured in one run: dumps to raw tables, and on to summaries.

Dumps come from the synthesiser's `bench-day` profile: a large installation, 500 MB of which are one day of two queue
managers. The `bench` profile spreads the same bytes over fourteen days; that thin dump makes many small files, and its
rate is told without a promise. The one-core rate is the same work without Spark, in this process.
Every figure is the best of several rounds, for a busy machine only ever makes things slower; the load is printed.

    python bench/pipeline_bench.py                        1 GB warm, 2 GB cold, a day of 500 MB, every report on 28 days
    python bench/pipeline_bench.py --size 200MB --cold-size 0 --day-size 100MB --thin-size 0
    python bench/pipeline_bench.py --only reports         only this part: warm, thin, day, reports or cold
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Self

from smf_bench import SOURCE, Figure, _family, _memory, quaestor, run, synthesise, yardstick

os.environ["PYTHONPATH"] = str(SOURCE)  # for Spark's workers; smf_bench has set our own path

from pyspark.sql import SparkSession

from quaestor.pipeline import flow
from quaestor.pipeline.flow import Definitions
from quaestor.pipeline.ingest import ingest
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.report_queries.summary_rows import LakeTables
from quaestor.pipeline.session import session
from quaestor.reports.catalog import REPORTS
from quaestor.reports.run import run as report

C_FORMATTER_MB_S = 24  # what the open C formatter was measured at
_WATCH_SECONDS = 0.1
_DENSE = "bench-day"


class Watch:
    """The most memory that this process and its children hold together while the body runs."""

    def __init__(self) -> None:
        self.peak = 0
        self._done = Event()
        self._thread = Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(_WATCH_SECONDS):
            self.peak = max(self.peak, sum(map(_memory, _family(os.getpid()))))


def best(work: Callable[[Path], object], folder: Path, rounds: int) -> float:
    """Wall clock of the best round, each into a new lake."""
    found = float("inf")
    for number in range(rounds):
        lake = folder / f"lake-{number}"
        started = time.perf_counter()
        work(lake)
        found = min(found, time.perf_counter() - started)
        shutil.rmtree(lake)
    return found


def without_spark(lake: Path, dump: Path) -> None:
    made = Lake.made_at(lake)
    with made.change() as change:
        ingest(None, change, [str(dump)])
        change.commit()


def warm(dump: Path, small: Path, folder: Path, rounds: int) -> Iterator[Figure]:
    """Raw tables, warm session; against one core, and against export on two processes."""
    size = dump.stat().st_size / 1e6
    spark = session("local[2]")
    flow.load(spark, folder / "warm-up", [small], Definitions({}))
    with Watch() as watch:
        two = best(lambda lake: flow.load(spark, lake, [dump], Definitions({})), folder, rounds)
    one = best(lambda lake: without_spark(lake, dump), folder, rounds)
    exported = min(
        run(quaestor("smf", "export", dump, "-o", folder / f"x{number}", "--processes", 2)).wall_s
        for number in range(rounds)
    )
    yield Figure("raw tables, warm session, local[2], wall clock", size / two, "MB/s", at_least=150)
    yield Figure("raw tables without Spark, one core", size / one, "MB/s")
    yield Figure("local[2] against one core", one / two, "x", at_least=1.6)
    yield Figure("smf export on two processes, start included", size / exported, "MB/s")
    yield Figure("raw tables against smf export, time", 100 * two / exported, "percent", at_most=115)
    yield Figure("memory of driver, JVM and workers, peak", watch.peak / 1e6, "MB", at_most=3000)


def day(dump: Path, folder: Path, rounds: int) -> Iterator[Figure]:
    """A day's load with all summaries, in a session that has computed them before."""
    spark = session("local[2]")
    definitions = Definitions.read()
    flow.load(spark, folder / "summaries-warm-up", [dump], definitions)
    raw = best(lambda lake: flow.load(spark, lake, [dump], Definitions({})), folder, rounds)
    whole = best(lambda lake: flow.load(spark, lake, [dump], definitions), folder, rounds)
    megabytes = dump.stat().st_size / 1e6
    yield Figure(f"load of {megabytes:.0f} MB, raw tables", raw, "s")
    yield Figure(f"load of {megabytes:.0f} MB with {len(definitions.tables)} summary tables", whole, "s")
    yield Figure("with summaries against raw", whole / raw, "x", at_most=2.5)


def thin(dump: Path, folder: Path, rounds: int) -> Iterator[Figure]:
    """The same rate where a dump is many days of a small installation."""
    spark = session("local[2]")
    took = best(lambda lake: flow.load(spark, lake, [dump], Definitions({})), folder, rounds)
    yield Figure("raw tables of a thin dump, warm, local[2]", dump.stat().st_size / 1e6 / took, "MB/s")


def reports(dump: Path, folder: Path) -> Iterator[Figure]:
    """Every report on 28 days of summaries, once each, in a new session that has been asked one question before.

    The first question pays for what the JVM has not loaded yet; it is told apart.
    """
    spark = session("local[2]")
    flow.load(spark, folder / "month", [dump])
    spark.stop()
    spark = session("local[2]")
    tables = LakeTables(Lake.at(folder / "month"), lambda: spark)
    spark.range(1).collect()
    started = time.perf_counter()
    report("commits", tables)
    yield Figure("first question of a session", time.perf_counter() - started, "s")
    slowest = 0.0
    for name in REPORTS:
        started = time.perf_counter()
        answered = report(name, tables)
        took = time.perf_counter() - started
        slowest = max(slowest, took)
        print(f"    report {name:<24} {took:6.2f} s  {answered.num_rows:>6} rows", flush=True)
    yield Figure(f"slowest of {len(REPORTS)} reports on 28 days", slowest, "s", at_most=2)
    spark.stop()


def cold(dump: Path, folder: Path) -> Iterator[Figure]:
    if (warm_one := SparkSession.getActiveSession()) is not None:
        warm_one.stop()  # it would share the processors and count as memory
    made = run(quaestor("lake", "load", folder / "cold", dump, "--master", "local[2]", "--no-summaries"))
    speed = dump.stat().st_size / 1e6 / made.wall_s
    yield Figure("cold start to exit, raw tables", speed, "MB/s", at_least=4 * C_FORMATTER_MB_S)
    yield Figure("cold: memory of all processes, peak", made.peak_bytes / 1e6, "MB", at_most=3000)


def _steps(here: Path, asked: argparse.Namespace) -> Iterator[Iterator[Figure]]:
    def wanted(part: str, size: str) -> bool:
        return size != "0" and asked.only in (None, part)

    if wanted("warm", asked.size):
        small = synthesise(here / "small.smf", "8MB", _DENSE)
        yield warm(synthesise(here / "dump.smf", asked.size, _DENSE), small, here, asked.rounds)
    if wanted("thin", asked.thin_size):
        yield thin(synthesise(here / "thin.smf", asked.thin_size), here, asked.rounds)
    if wanted("day", asked.day_size):
        yield day(synthesise(here / "day.smf", asked.day_size, _DENSE), here, asked.rounds)
    if wanted("reports", "28 days"):
        yield reports(month(here / "month.smf"), here)
    if wanted("cold", asked.cold_size):
        yield cold(synthesise(here / "cold.smf", asked.cold_size, _DENSE), here)


def month(path: Path) -> Path:
    """28 days of a small installation."""
    run(quaestor("smf", "synth", "--profile", "month", "-o", path, "-q"))
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="1GB", help="of the dump for the warm load; 0 leaves it out")
    parser.add_argument("--cold-size", default="2GB", help="0 leaves it out")
    parser.add_argument("--day-size", default="500MB", help="0 leaves it out")
    parser.add_argument("--thin-size", default="500MB", help="0 leaves it out")
    parser.add_argument("--only", choices=("warm", "thin", "day", "reports", "cold"), help="only this part")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="exit code 1 when a target is missed")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="quaestor-bench-") as folder:
        here = Path(folder)
        steps = [yardstick(), *_steps(here, arguments)]
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        for figure in (each for step in steps for each in step):
            print(f"{figure}   (load {os.getloadavg()[0]:.1f})", flush=True)
            figures.append(figure)
    return int(arguments.check and not all(each.met for each in figures))


if __name__ == "__main__":
    sys.exit(main())
