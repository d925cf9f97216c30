"""The simulator against the real engine: calibrated from a short run of one application, it predicts many.

    python bench/simulator_bench.py [--seconds 1.0] [--directory DIR]

One application puts 1 KB persistent messages, one and fifty to a unit of work: that gives the CPU of a put and of a
commit, by the processor time of its thread: waking up after a force is no work.  What is left of every unit of the
first run is a sample of log writes, with their tail.  Two applications tell what contention adds.  With these figures
alone the simulator predicts throughput and response times for other numbers of applications and sizes of units; the
engine then does the same, and the error is printed.  Python runs one thread at a time, so the model has one processor.
Stalls, units that take five times the middle one, are in neither: they are left out of the calibration, and the
engine's rate is that between them; how much of the time they took is printed beside it.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import quaestor
from quaestor.planner.simulator import Model, percentiles, simulate
from quaestor.qmgr.data.engine import EngineSettings

BODY = os.urandom(1024)
SETTINGS = EngineSettings(
    logs=4, log_bytes=64 << 20, buffer_pools={0: 1000, 1: 120_000}, page_sets={0: 0, 1: 1}, pages=65_536
)
RUNS = [(1, 10), (2, 1), (4, 1), (8, 1), (16, 1), (4, 10), (8, 10), (4, 100)]
CALIBRATED = (1, 1), (1, 50)
CONTENDED = (2, 50)
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


def force_samples_ms(directory: Path, count: int = 1500) -> list[float]:
    """Times of writing and forcing one page, one after the other."""
    file = os.open(directory / "bare", os.O_RDWR | os.O_CREAT)
    os.pwrite(file, bytes(8 << 20), 0)
    os.fsync(file)
    page, times = bytes(4096), []
    for at in range(count):
        began = time.perf_counter()
        os.pwrite(file, page, (at % 2000) * 4096)
        os.fdatasync(file)
        times.append(1000 * (time.perf_counter() - began))
    os.close(file)
    return times


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


def calibrate(directory: Path, seconds: float) -> tuple[Model, float]:
    """A model of one application's put, and how many times its CPU a message takes when threads contend for it."""
    forces = force_samples_ms(directory)
    one, fifty = (run_engine(directory / "qm", *work, seconds) for work in CALIBRATED)
    (_, first), (_, second) = CALIBRATED
    put_ms = (fifty.cpu_ms - one.cpu_ms) / (second - first)
    commit_ms = max(0.0, one.cpu_ms - put_ms)
    writes = tuple(max(0.01, each - put_ms - commit_ms) for each in one.usual_ms)
    print(f"calibrated: put {1000 * put_ms:.0f} us, commit {1000 * commit_ms:.0f} us of CPU,", end=" ")
    print(f"log write {statistics.median(writes):.3f} ms (half), {percentiles(list(writes)).p99_ms:.3f} ms (99 %)")
    contended_ms = 1000 / run_engine(directory / "qm", *CONTENDED, seconds).usual_per_s
    contention = max(1.0, contended_ms / put_ms)
    print(f"two applications take {contention:.2f} times the CPU for a message: they hand the interpreter over")
    model = Model(
        message_bytes=len(BODY),
        getters=0,
        put_cpu_us=1000 * put_ms,
        commit_cpu_us=1000 * commit_ms,
        processors=1,
        log_io_ms=statistics.median(forces),
        log_io_samples_ms=writes,
        current_io_times=1,
        buffers=10_000_000,
    )
    return model, contention


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--directory", default=None)
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(dir=asked.directory))
    (directory / "qm").mkdir()
    try:
        with quaestor.connect("SIM", directory / "qm", settings=SETTINGS):  # stays up between the runs
            compare(directory, asked.seconds)
    finally:
        shutil.rmtree(directory)


def compare(directory: Path, seconds: float) -> None:
    model, contention = calibrate(directory, seconds)
    print(f"{'':24}{'messages/s':>28}{'half, ms':>24}{'99 %, ms':>24}")
    heads = f"{'engine':>10}{'model':>10}{'error':>8}" + f"{'engine':>9}{'model':>8}{'':>7}" * 2
    print(f"{'applications x unit':24}{heads}")
    errors = []
    for applications, per_unit in RUNS:
        found = run_engine(directory / "qm", applications, per_unit, seconds)
        times = contention if applications > 1 else 1.0
        asked = replace(
            model,
            putters=applications,
            messages_per_commit=per_unit,
            put_cpu_us=times * model.put_cpu_us,
            commit_cpu_us=times * model.commit_cpu_us,
        )
        played = simulate(asked, seconds, warm_up_s=seconds / 10)
        real, predicted = percentiles(found.unit_ms), played.put_times
        error = 100 * (played.puts_per_s / found.usual_per_s - 1)
        stalled = 100 * max(0.0, 1 - found.messages_per_s / found.usual_per_s)
        errors.append((abs(error), abs(100 * (predicted.p50_ms / real.p50_ms - 1))))
        print(
            f"{f'{applications} x {per_unit}':24}{found.usual_per_s:10,.0f}{played.puts_per_s:10,.0f}{error:+7.0f}%"
            f"{real.p50_ms:9.2f}{predicted.p50_ms:8.2f}{'':7}{real.p99_ms:9.2f}{predicted.p99_ms:8.2f}"
            f"{'':5}{stalled:3.0f} % in stalls"
        )
    rates, halves = zip(*errors, strict=True)
    print(f"error of throughput: mean {statistics.mean(rates):.0f} %, worst {max(rates):.0f} %;", end=" ")
    print(f"of the middle response time: mean {statistics.mean(halves):.0f} %, worst {max(halves):.0f} %")


if __name__ == "__main__":
    main()
