"""What statistics cost, by counting instead of by clocks that other guests of the machine disturb.

    python bench/accounting_count.py [--directory DIR]

Two things are counted. Python instructions that a call executes in the thread that makes it, with no trace and with
STAT: the same work, the same number, or the difference is printed (ACCTG(3) beside it, for comparison). And the
processor time of the one thing that STAT does, the end of an interval: collecting every manager's section under the
latch, then making and writing the records; the mean of the cuts, as a share of the interval. Promised: under 1 %.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from accounting_bench import WORKS, Bench, Work

CUTS = 200
PROMISED_PERCENT = 1.0
INTERVALS_S = (60, 1800)
"""The shortest STATIME and the default."""


class Instructions:
    """Counts the Python instructions of this thread."""

    def __init__(self) -> None:
        self.executed = 0

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.executed += 1
        return self._trace

    def of(self, work: Work, bench: Bench) -> int:
        self.executed = 0
        sys.settrace(self._trace)
        try:
            work(bench.app, *bench.queues[bench.app])
        finally:
            sys.settrace(None)
        return self.executed


def instructions(bench: Bench, work: Work, trace: tuple[str, int] | None) -> int:
    """Of one round, the least of three: a threshold write or a page more is nobody's trace."""
    if trace is not None:
        bench.manager.statistics.start(trace[0], {trace[1]})
    counted = min(Instructions().of(work, bench) for _ in range(3))
    if trace is not None:
        bench.manager.statistics.stop(trace[0])
    return counted


def interval_ns(bench: Bench) -> tuple[float, float]:
    """Processor time of the end of an interval, under the latch and outside: means."""
    manager, cut, written = bench.manager.statistics, [], []
    manager.start("STAT", {1})
    for _ in range(CUTS):
        before = time.thread_time_ns()
        with bench.manager.engine.recovery.latch:
            manager.finish()
        collected = time.thread_time_ns()
        manager.write_step()
        cut.append(collected - before)
        written.append(time.thread_time_ns() - collected)
    manager.stop("STAT")
    return statistics.mean(cut), statistics.mean(written)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", default=None)
    directory = Path(tempfile.mkdtemp(dir=parser.parse_args().directory))
    bench = Bench(directory)
    try:
        for name, work, served in WORKS:
            if not served:
                instructions(bench, work, None)
                off, on, charged = (instructions(bench, work, trace) for trace in (None, ("STAT", 1), ("ACCTG", 3)))
                print(f"{name:15} {off:9,} instructions; STAT {on - off:+,}, ACCTG(3) {charged - off:+,}")
        cut, written = interval_ns(bench)
        print(f"the end of an interval: {cut / 1e3:,.0f} us under the latch, {written / 1e3:,.0f} us outside")
        for seconds in INTERVALS_S:
            share = (cut + written) / seconds / 1e7
            judged = "met" if share < PROMISED_PERCENT else "missed"
            print(f"STATIME {seconds:5} s: {share:.5f} % of one processor; promised {PROMISED_PERCENT} %: {judged}")
    finally:
        bench.end()
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
