"""What statistics and accounting cost: CPU of a queue manager with the trace on against one with it off, in turns.

    python bench/accounting_bench.py [--rounds 40] [--directory DIR]

Three queue managers in one process: one without a trace, one with statistics, one with class 3 accounting, each from
its start to its end, as people run them. (A trace that is switched on and off for every round makes every call of the
next one a first call.) Each round does the same work on two of them, in changing order. What is printed is the median
of the rounds' ratios of CPU times of the thread that does the calls, with the ratio of the medians behind it. Promised:
statistics under 1 %, class 3 accounting under 10 %.

The mixes: `volatile_pairs`, non-persistent put and get in this process, the cheapest calls there are; `batches`,
persistent, 20 messages a unit; `units`, persistent put, commit, get, commit; `served_pairs` and `served_units`, the
first and the last by a client over the local socket, where the server's thread is measured.
"""

import argparse
import dataclasses
import io
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

os.environ["QUAESTOR_LOOK_US"] = "0"  # nobody looks out for requests: that would be CPU of no call
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from quaestor.clock import SystemClock
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.qmgr.connection import Connection, Handle
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.statistics import TraceSettings
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import Place
from quaestor.server.identity import Identity
from quaestor.server.journal import Journal
from quaestor.server.listeners import listen_local
from quaestor.server.service import Service
from quaestor.server.users import Users
from quaestor.storage.real_disk import RealDisk

BODY = bytes(1024)
SETTINGS = EngineSettings(buffer_pools={0: 1000, 1: 20_000}, log_bytes=64 << 20)
NO_SYNCPOINT_PUT, NO_SYNCPOINT_GET = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT


Work = Callable[[Any, Any, Any], None]


def volatile_pairs(_: Connection, __: Handle, queue: Handle) -> None:
    """Non-persistent put and get out of syncpoint: the least work a call can be."""
    for _ in range(1000):
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


WORKS: tuple[tuple[str, Work, bool], ...] = (
    ("volatile_pairs", volatile_pairs, False),
    ("batches", batches, False),
    ("units", units, False),
    ("served_pairs", volatile_pairs, True),
    ("served_units", units, True),
)
TRACES = {"STAT": 1, "ACCTG": 3}
WARM = 5


class Bench:
    """A queue manager with an application of its own and one that comes over a socket."""

    def __init__(self, directory: Path) -> None:
        clock = SystemClock()
        self.manager = QueueManager(
            "QM1",
            RealDisk(directory),
            clock,
            SETTINGS,
            traces=TraceSettings(statime_s=10.0),
            open_smf=lambda: RealDisk(directory / "smf"),
        )
        self.manager.start()
        journal = Journal(clock, io.StringIO(), directory / "audit")
        self.service = Service(self.manager, Identity(Users(directory / "users"), security=False), journal, clock)
        self.service.arrivals.listen(listen_local(directory / "socket"))
        self.thread = threading.Thread(target=self.service.run, daemon=True)
        self.thread.start()
        self.app = self.manager.connect("BENCH", "bench")
        for queue in (LocalQueue("PERSIST", def_persistent=True), LocalQueue("VOLATILE")):
            self.app.define(dataclasses.replace(queue, share=True, def_exclusive=False))
        place = Place("QM1", path=directory / "socket")
        self.client = LINKS.connect(place, hello_of("QM1", None, None, "bench"))
        self.queues = {app: (app.open("PERSIST"), app.open("VOLATILE")) for app in (self.app, self.client)}
        self._server_clock = time.pthread_getcpuclockid(self.thread.ident or 0)

    def cpu_ns(self, work: Work, *, served: bool) -> int:
        """The CPU time of one round."""
        app: Any = self.client if served else self.app
        clock = self._server_clock if served else time.CLOCK_THREAD_CPUTIME_ID
        before = time.clock_gettime_ns(clock)
        work(app, *self.queues[app])
        return time.clock_gettime_ns(clock) - before

    def end(self) -> None:
        self.client.disconnect()
        self.app.disconnect()
        self.service.ask(self.service.stop)
        self.thread.join()
        self.manager.stop()


def measure(directory: Path, rounds: int) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """CPU times (off, on) of each round, by work and trace."""
    benches = {}
    for trace in ("", *TRACES):
        place = directory / (trace or "OFF")
        place.mkdir()
        benches[trace] = Bench(place)
        if trace:
            benches[trace].manager.statistics.start(trace, {TRACES[trace]})
    times: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for name, work, served in WORKS:
        for bench in benches.values():
            for _ in range(WARM):
                bench.cpu_ns(work, served=served)
        for number, trace in product(range(rounds), TRACES):
            order = ("", trace) if number % 2 else (trace, "")
            took = {each: benches[each].cpu_ns(work, served=served) for each in order}
            times.setdefault((name, trace), []).append((took[""], took[trace]))
    for bench in benches.values():
        bench.end()
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--directory", default=None)
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(dir=asked.directory))
    try:
        for (work, trace), found in measure(directory, asked.rounds).items():
            median = statistics.median(on / off for off, on in found)
            medians = statistics.median(on for _, on in found) / statistics.median(off for off, _ in found)
            print(f"{work:15} {trace:6} {100 * (median - 1):+6.1f} %   (of the medians {100 * (medians - 1):+.1f} %)")
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
