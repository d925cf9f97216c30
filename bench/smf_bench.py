"""What the SMF codec promises, measured in one run on one dump.

The dump comes from the synthesiser's `bench` profile: every structure, current level and V8. CPU seconds are those of
all processes together, so figures compare between machines with different numbers of cores; each figure is the best
of several rounds, for a busy machine only ever makes things slower. The yardstick says what a second process can bring
on this machine at this hour: two copies of a loop that needs nothing but a processor, and of one that copies memory.

    python bench/smf_bench.py                   500 MB, and 2 GB for memory
    python bench/smf_bench.py --size 100MB --memory-size 0
    python bench/smf_bench.py --check           exit code 1 when a target is missed
"""

import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
sys.path.insert(0, str(SOURCE))

from quaestor.smf.blocks import Block  # noqa: E402
from quaestor.smf.export import WINDOW  # noqa: E402
from quaestor.smf.framing import DumpReader  # noqa: E402
from quaestor.smf.memory import keep_freed_memory  # noqa: E402
from quaestor.smf.records import block_records  # noqa: E402
from quaestor.smf.streaming import decode_blocks  # noqa: E402

RECORD_BY_RECORD_BYTES = 16 << 20  # of the dump: the slow decoder need not read it all
_WATCH_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement, and what was promised; without a promise it is only told."""

    what: str
    value: float
    unit: str
    at_least: float = 0
    at_most: float = float("inf")

    @property
    def met(self) -> bool:
        return self.at_least <= self.value <= self.at_most

    def __str__(self) -> str:
        promise = f"at least {self.at_least:,g}" if self.at_least else ""
        promise = f"at most {self.at_most:,g}" if self.at_most < float("inf") else promise
        return f"{self.what:<56} {self.value:>8,.1f} {self.unit:<9} {promise}{'' if self.met else '   MISSED'}"


# --- measuring -------------------------------------------------------------------------------------------------------


def cpu_seconds(work: Callable[[], object], rounds: int) -> float:
    """CPU time of this process, best of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        before = time.process_time()
        work()
        best = min(best, time.process_time() - before)
    return best


@dataclass(frozen=True, slots=True)
class Run:
    """A command that was run: CPU of all its processes, wall clock, most memory of all together."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


def run(command: list[str]) -> Run:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(SOURCE)})
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(_memory, _family(process.pid))))
        time.sleep(_WATCH_SECONDS)  # noqa: TID251  watching another process
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(cpu, time.perf_counter() - started, peak)


def _family(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return
    for child in children:
        yield from _family(int(child))


def _memory(pid: int) -> int:
    """The process's share of physical memory: pages that several hold are counted once in all."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


# --- what is measured ------------------------------------------------------------------------------------------------


def quaestor(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "quaestor.cli.main", *map(str, arguments)]


def synthesise(path: Path, size: str, profile: str = "bench") -> Path:
    subprocess.run(
        quaestor("smf", "synth", "--profile", profile, "--size", size, "-o", path, "-q"),
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
    )
    return path


def blocks(dump: Path, window: int = WINDOW) -> Iterator[Block]:
    with dump.open("rb") as stream:
        yield from DumpReader(stream, window=window).blocks()


def column_wise(dump: Path) -> int:
    """Read and decode the whole dump; the number of rows."""
    rows = 0
    for decoded in decode_blocks(blocks(dump), dictionary=True):
        rows += sum(len(table) for table in decoded.tables.values())
    return rows


def record_by_record(dump: Path) -> int:
    """Read and decode the beginning of the dump; its bytes."""
    (block,) = islice(blocks(dump, RECORD_BY_RECORD_BYTES // 2), 1)
    for record in block_records(block):
        if record.damages:
            raise SystemExit(f"damage in a synthetic dump: {record.damages[0]}")
    return int(block.lengths.sum())


def decoding(dump: Path, rounds: int) -> Iterator[Figure]:
    keep_freed_memory()
    column_wise(dump)  # so that everything is imported and the dump is in memory
    wise = dump.stat().st_size / 1e6 / cpu_seconds(lambda: column_wise(dump), rounds)
    sizes: list[int] = []
    slow_s = cpu_seconds(lambda: sizes.append(record_by_record(dump)), rounds)
    slow = sizes[0] / 1e6 / slow_s
    yield Figure("decode column-wise to Arrow, reading included", wise, "MB/CPU s", at_least=500)
    yield Figure("decode record by record, reading included", slow, "MB/CPU s")
    yield Figure("column-wise / record by record", wise / slow, "x", at_least=10)


def computing() -> None:
    """A loop that stays in the processor."""
    total = 0
    for number in range(8_000_000):
        total += number & 7


def copying() -> None:
    """Copies of more memory than a cache holds."""
    source = bytearray(64 << 20)
    for _ in range(24):
        bytes(source)


def yardstick() -> Iterator[Figure]:
    """What two processes do in the time of one: at most 2, less where cores or memory are shared."""
    for what, work in (("computing", computing), ("copying memory", copying)):
        yield Figure(f"yardstick: two processes against one, {what}", _gain(work), "x wall")


def _gain(work: Callable[[], None]) -> float:
    one, two = (min(_together(work, count) for _ in range(3)) for count in (1, 2))
    return 2 * one / two


def _together(work: Callable[[], None], count: int) -> float:
    processes = [multiprocessing.get_context("fork").Process(target=work) for _ in range(count)]
    started = time.perf_counter()
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    return time.perf_counter() - started


def exporting(dump: Path, out: Path, rounds: int) -> Iterator[Figure]:
    size = dump.stat().st_size / 1e6
    runs: dict[int, list[Run]] = {1: [], 2: []}
    for number in range(rounds):
        for processes, made in runs.items():
            made.append(
                run(quaestor("smf", "export", dump, "-o", out / f"{processes}-{number}", "--processes", processes))
            )
    wall = {processes: min(each.wall_s for each in made) for processes, made in runs.items()}
    for processes, made in runs.items():
        speed = size / min(each.cpu_s for each in made)
        yield Figure(f"export to Parquet, {processes} process(es), start included", speed, "MB/CPU s", at_least=120)
        yield Figure(f"export to Parquet, {processes} process(es), wall clock", size / wall[processes], "MB/s")
    yield Figure("export to Parquet, two processes against one, start included", wall[1] / wall[2], "x wall")


def scaling(dump: Path, out: Path) -> Iterator[Figure]:
    """Two processes against one where the start no longer counts: a dump of gigabytes."""
    alone, both = (run(quaestor("smf", "export", dump, "-o", out / f"s{n}", "--processes", n)) for n in (1, 2))
    size = dump.stat().st_size / 1e6
    what = f"export of {size / 1e3:.1f} GB"
    yield Figure(f"{what}, one process", size / alone.cpu_s, "MB/CPU s", at_least=120)
    yield Figure(f"{what}, two processes", size / both.cpu_s, "MB/CPU s", at_least=120)
    gain = alone.wall_s / both.wall_s
    yield Figure(f"{what}, two processes against one", gain, "x wall")
    yield Figure("the same, of what copying memory gains", 100 * gain / _gain(copying), "per cent", at_least=80)


def remembering(dump: Path, out: Path) -> Iterator[Figure]:
    for what, command in (("export", ("-o", out / "memory")), ("info", ())):
        made = run(quaestor("smf", what, dump, *command))
        title = f"{what} of {dump.stat().st_size / 1e9:.1f} GB, peak memory of all processes"
        yield Figure(title, made.peak_bytes / 1e6, "MB", at_most=1000)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="500MB")
    parser.add_argument("--memory-size", default="2GB", help="of the dump for memory; 0 leaves it out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--check", action="store_true", help="exit code 1 when a target is missed")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="quaestor-bench-") as folder:
        here = Path(folder)
        dump = synthesise(here / "dump.smf", arguments.size)
        steps = [decoding(dump, arguments.rounds), yardstick(), exporting(dump, here, arguments.rounds)]
        if arguments.memory_size != "0":
            large = synthesise(here / "large.smf", arguments.memory_size)
            steps += [scaling(large, here), remembering(large, here)]
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, dump of {dump.stat().st_size / 1e6:.0f} MB")
        for figure in (each for step in steps for each in step):
            print(figure, flush=True)
            figures.append(figure)
        print(f"load at the end {os.getloadavg()[0]:.1f}")
    return int(arguments.check and not all(each.met for each in figures))


if __name__ == "__main__":
    sys.exit(main())
