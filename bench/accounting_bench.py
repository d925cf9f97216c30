"""What statistics and accounting cost: CPU with the trace on against off, in turns, on one queue manager.

    python bench/accounting_bench.py [--rounds 12] [--directory DIR]

Each round does the same work with the trace off and on, in changing order; what is printed is the median over rounds of
the ratio of the CPU times of the whole process. Promised: statistics under 1 %, class 3 accounting under 10 %.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from quaestor.clock import SystemClock
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.qmgr.connection import Connection, Handle
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.statistics import TraceSettings
from quaestor.storage.disk import RealDisk

BODY = bytes(1024)
SETTINGS = EngineSettings(buffer_pools={0: 1000, 1: 20_000}, log_bytes=64 << 20)
NO_SYNCPOINT_PUT, NO_SYNCPOINT_GET = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT


def volatile_pairs(_: Connection, __: Handle, queue: Handle) -> None:
    """Non-persistent put and get out of syncpoint: the least work a call can be."""
    for _ in range(2000):
        queue.put(BODY, None, NO_SYNCPOINT_PUT)
        queue.get(NO_SYNCPOINT_GET)


def units(app: Connection, queue: Handle, _: Handle) -> None:
    """Persistent transactions: put, commit, get, commit."""
    for _ in range(60):
        queue.put(BODY)
        app.commit()
        queue.get()
        app.commit()


def batches(app: Connection, queue: Handle, _: Handle) -> None:
    """Persistent, 20 messages per unit."""
    for _ in range(8):
        for _ in range(20):
            queue.put(BODY)
        app.commit()
        for _ in range(20):
            queue.get()
        app.commit()


WORKS: tuple[Callable[[Connection, Handle, Handle], None], ...] = (volatile_pairs, batches, units)
TRACES = (("STAT", 1), ("ACCTG", 3))


def cpu_of(work: Callable[[], None]) -> int:
    start = time.process_time_ns()
    work()
    return time.process_time_ns() - start


def measure(directory: Path, rounds: int) -> dict[tuple[str, str], list[float]]:
    traces = TraceSettings(statime_s=2.0)
    manager = QueueManager(
        "QM1", RealDisk(directory), SystemClock(), SETTINGS, traces=traces, open_smf=lambda: RealDisk(directory / "smf")
    )
    manager.start()
    app = manager.connect("BENCH", "bench")
    app.define(LocalQueue("PERSIST", def_persistent=True))
    app.define(LocalQueue("VOLATILE"))
    persistent, volatile = app.open("PERSIST"), app.open("VOLATILE")
    ratios: dict[tuple[str, str], list[float]] = {}

    def once(work: Callable[[Connection, Handle, Handle], None], trace: tuple[str, int] | None) -> int:
        if trace is not None:
            manager.statistics.start(trace[0], {trace[1]})
        took = cpu_of(lambda: work(app, persistent, volatile))
        if trace is not None:
            manager.statistics.stop(trace[0])
        return took

    for work in WORKS:
        once(work, None)
        for number in range(rounds):
            for trace in TRACES:
                first, second = (None, trace) if number % 2 else (trace, None)
                took = {first: once(work, first), second: once(work, second)}
                ratios.setdefault((work.__name__, trace[0]), []).append(took[trace] / took[None])
    app.disconnect()
    manager.stop()
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--directory", default=None)
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(dir=asked.directory))
    try:
        for (work, trace), found in measure(directory, asked.rounds).items():
            ratio, spread = statistics.median(found), statistics.quantiles(found, n=4)
            print(f"{work:15} {trace:6} {100 * (ratio - 1):+6.1f} %   (quartiles {spread[0]:.3f} to {spread[2]:.3f})")
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
