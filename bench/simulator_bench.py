"""The simulator against the real engine: calibrated from short runs of one and two applications, it predicts many.

    python bench/simulator_bench.py [--seconds 0.3] [--rounds 4] [--directory DIR]

One application puts 1 KB persistent messages, one and fifty to a unit of work: that gives the CPU of a put and of a
commit, by the processor time of its thread, without that of the force, which is measured by itself: those who share a
force pay it once. What is left of every unit of the first run is a sample of log writes, with their tail. Two
applications of one put per unit never share a force: one leads for itself, goes on for the other, and then both put.
What that takes longer than two log writes and a unit's CPU is going on. Two with fifty tell by their processor time
what contention adds to a put. With these figures alone the simulator predicts throughput and response times for other
numbers of applications and sizes of units; the engine then does the same, and the error is printed. Python runs one
thread at a time, so the model has one processor.
The machine is not the same from one second to the next: every line is measured once in every round, those of the
calibration beside the others, and medians are compared. Stalls, units that take five times the middle one, are in
neither: they are left out of the calibration, and the engine's rate is that between them; how much of the time they
took is printed beside it.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import quaestor
from quaestor.planner.simulator import Model, percentiles, simulate
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.log.forcing import LEADS_MAX

Work = tuple[int, int]
BODY = os.urandom(1024)
SETTINGS = EngineSettings(
    logs=4, log_bytes=64 << 20, buffer_pools={0: 1000, 1: 120_000}, page_sets={0: 0, 1: 1}, pages=65_536
)
RUNS = [(1, 10), (2, 10), (4, 1), (8, 1), (16, 1), (4, 10), (8, 10), (4, 100)]
ONE, FIFTY, TWO, TWO_OF_FIFTY = CALIBRATED = (1, 1), (1, 50), (2, 1), (2, 50)
STALLS = 5  # times the middle one


@dataclass
class Measured:
    """Units of work of some applications: messages a second, stalls included, and how long each unit took."""

    messages_per_s: float
    unit_ms: list[float]
    messages_at_once: int
    """Of all applications, a unit each."""

    cpu_ms: float
    """Of a unit: the processor time of its thread."""

    @property
    def usual_ms(self) -> list[float]:
        """Without stalls of the machine, which are no log writes."""
        limit_ms = STALLS * statistics.median(self.unit_ms)
        return [each for each in self.unit_ms if each < limit_ms]

    @property
    def usual_per_s(self) -> float:
        """Messages a second between stalls."""
        return 1000 * self.messages_at_once / statistics.mean(self.usual_ms)


@dataclass
class Rounds:
    """The same line measured in every round."""

    each: list[Measured] = field(default_factory=list)

    def middle(self, what: Callable[[Measured], float]) -> float:
        return statistics.median(what(one) for one in self.each)

    @property
    def usual_per_s(self) -> float:
        return self.middle(lambda one: one.usual_per_s)

    @property
    def cpu_ms(self) -> float:
        return self.middle(lambda one: one.cpu_ms)

    @property
    def stalled_percent(self) -> float:
        return self.middle(lambda one: 100 * max(0.0, 1 - one.messages_per_s / one.usual_per_s))

    def times_ms(self, what: Callable[[Measured], list[float]]) -> list[float]:
        return [each for one in self.each for each in what(one)]


def force_cpu_ms(directory: Path, count: int = 400) -> float:
    """Processor time of writing and forcing one page."""
    file = os.open(directory / "bare", os.O_RDWR | os.O_CREAT)
    os.pwrite(file, bytes(count * 4096), 0)
    os.fsync(file)
    page, began = bytes(4096), time.thread_time()
    for at in range(count):
        os.pwrite(file, page, at * 4096)
        os.fdatasync(file)
    took = time.thread_time() - began
    os.close(file)
    return 1000 * took / count


def run_engine(directory: Path, applications: int, per_unit: int, seconds: float) -> Measured:
    """So many applications put for so long, each with a connection and a thread of its own."""
    name = f"Q{applications}.{per_unit}"
    taken: list[list[float]] = [[] for _ in range(applications)]
    cpu_s: list[float] = []
    begin, ready = threading.Event(), threading.Barrier(applications + 1, timeout=10)

    def work(mine: list[float]) -> None:
        with (
            quaestor.connect("SIM", directory, settings=SETTINGS) as app,
            app.open(name, quaestor.OpenOptions.OUTPUT) as queue,
        ):
            ready.wait()
            begin.wait()
            end, cpu_began = time.perf_counter() + seconds, time.thread_time()
            while (start := time.perf_counter()) < end:
                for _ in range(per_unit):
                    queue.put(BODY)
                app.commit()
                mine.append(1000 * (time.perf_counter() - start))
            cpu_s.append(time.thread_time() - cpu_began)

    with quaestor.connect("SIM", directory, settings=SETTINGS) as keeper:
        keeper.define(quaestor.LocalQueue(name, def_persistent=True, max_depth=999_999_999), replace=True)
        threads = [threading.Thread(target=work, args=(mine,)) for mine in taken]
        for each in threads:
            each.start()
        ready.wait()
        began = time.perf_counter()
        begin.set()
        for each in threads:
            each.join()
        lasted = time.perf_counter() - began
    units = [each for mine in taken for each in mine]
    cpu_ms = 1000 * sum(cpu_s) / len(units)
    return Measured(len(units) * per_unit / lasted, units, applications * per_unit, cpu_ms)


def calibrated(found: dict[Work, Rounds], force_ms: float) -> tuple[Model, float]:
    """A model of one application's put, and how many times its CPU a message takes when threads contend for it."""
    one, fifty = found[ONE], found[FIFTY]
    put_ms = (fifty.cpu_ms - one.cpu_ms) / (FIFTY[1] - ONE[1])
    commit_ms = max(0.0, one.cpu_ms - put_ms - force_ms)
    writes = [max(0.01, each - put_ms - commit_ms) for each in one.times_ms(lambda each: each.usual_ms)]
    contention = max(1.0, found[TWO_OF_FIFTY].cpu_ms / fifty.cpu_ms)
    longer_ms = 2 * (1000 / found[TWO].usual_per_s - statistics.mean(writes))
    turn_ms = max(0.0, longer_ms - contention * (put_ms + commit_ms))
    print(f"calibrated: put {1000 * put_ms:.0f} us, commit {1000 * commit_ms:.0f} us of CPU,", end=" ")
    print(f"log write {statistics.median(writes):.3f} ms (half), {percentiles(writes).p99_ms:.3f} ms (99 %), of which")
    print(f"{1000 * force_ms:.0f} us of CPU; {1000 * turn_ms:.0f} us to go on for others;", end=" ")
    print(f"two applications take {contention:.2f} times the CPU for a message")
    model = Model(
        message_bytes=len(BODY),
        getters=0,
        put_cpu_us=1000 * put_ms,
        commit_cpu_us=1000 * commit_ms,
        turn_cpu_us=1000 * turn_ms,
        leads_max=LEADS_MAX,
        processors=1,
        log_io_ms=statistics.median(writes),
        log_io_samples_ms=tuple(writes),
        current_io_times=1,
        buffers=10_000_000,
    )
    return model, contention


def measured(directory: Path, seconds: float, rounds: int) -> tuple[dict[Work, Rounds], float]:
    """Every line in every round, and the processor time of a force."""
    found: dict[Work, Rounds] = {work: Rounds() for work in (*CALIBRATED, *RUNS)}
    forces = []
    for _ in range(rounds):
        forces.append(force_cpu_ms(directory))
        for work, lines in found.items():
            lines.each.append(run_engine(directory / "qm", *work, seconds))
    return found, statistics.median(forces)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--directory", default=None)
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(dir=asked.directory))
    (directory / "qm").mkdir()
    try:
        with quaestor.connect("SIM", directory / "qm", settings=SETTINGS):  # stays up between the runs
            found, force_ms = measured(directory, asked.seconds, asked.rounds)
    finally:
        shutil.rmtree(directory)
    compare(found, force_ms)


def compare(found: dict[Work, Rounds], force_ms: float) -> None:
    model, contention = calibrated(found, force_ms)
    print(f"{'':24}{'messages/s':>28}{'half, ms':>24}{'99 %, ms':>24}")
    heads = f"{'engine':>10}{'model':>10}{'error':>8}" + f"{'engine':>9}{'model':>8}{'':>7}" * 2
    print(f"{'applications x unit':24}{heads}")
    errors = []
    for applications, per_unit in RUNS:
        line = found[applications, per_unit]
        times = contention if applications > 1 else 1.0
        asked = replace(
            model,
            putters=applications,
            messages_per_commit=per_unit,
            put_cpu_us=times * model.put_cpu_us,
            commit_cpu_us=times * model.commit_cpu_us,
        )
        played = simulate(asked, 1.0, warm_up_s=0.1)
        real, predicted = percentiles(line.times_ms(lambda one: one.unit_ms)), played.put_times
        error = 100 * (played.puts_per_s / line.usual_per_s - 1)
        errors.append((abs(error), abs(100 * (predicted.p50_ms / real.p50_ms - 1))))
        print(
            f"{f'{applications} x {per_unit}':24}{line.usual_per_s:10,.0f}{played.puts_per_s:10,.0f}{error:+7.0f}%"
            f"{real.p50_ms:9.2f}{predicted.p50_ms:8.2f}{'':7}{real.p99_ms:9.2f}{predicted.p99_ms:8.2f}"
            f"{'':5}{line.stalled_percent:3.0f} % in stalls"
        )
    rates, halves = zip(*errors, strict=True)
    print(f"error of throughput: mean {statistics.mean(rates):.0f} %, worst {max(rates):.0f} %;", end=" ")
    print(f"of the middle response time: mean {statistics.mean(halves):.0f} %, worst {max(halves):.0f} %")


if __name__ == "__main__":
    main()
