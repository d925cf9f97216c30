"""The engine alone, against what the disk allows and against SQLite, in the same run. 1 KB messages, medians of rounds.

    python bench/engine_bench.py [--rounds 3] [--directory DIR]

What is measured is the data, recovery, log and buffer managers, without the MQI above them.
"""

import argparse
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from quaestor.clock import SystemClock
from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.messages import Message, id_maker
from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.qmgr.data.engine import Engine, EngineSettings
from quaestor.storage.disk import RealDisk

BODY = os.urandom(1024)
ENVELOPE = MQMD()
SETTINGS = EngineSettings(
    logs=4, log_bytes=64 << 20, buffer_pools={0: 1000, 1: 60_000}, page_sets={0: 0, 1: 1}, pages=16_384
)


class Bench:
    """An engine with a queue; every method does n messages."""

    def __init__(self, directory: Path, settings: EngineSettings = SETTINGS) -> None:
        self.engine = Engine(RealDisk(directory), SystemClock(), settings)
        self.restarted = self.engine.start()
        self.data, self.recovery = self.engine.data, self.engine.recovery
        self.next_id = id_maker("BENCH", time.time_ns() // 1000)
        with self.recovery.latch:
            self.queue = self.data.queue(LocalQueue("BENCH", page_set=1))

    def message(self, persistence: int, correl_id: bytes = NO_ID) -> Message:
        return Message(BODY, ENVELOPE, self.next_id(), correl_id, 0, persistence, 1)

    def put(self, n: int, per_commit: int, persistence: int = 1) -> None:
        for _ in range(n // per_commit):
            with self.recovery.latch:
                unit = self.recovery.begin()
                for _ in range(per_commit):
                    self.data.put(unit, self.queue, self.message(persistence), 0)
                self.recovery.commit(unit)

    def get(self, n: int, per_commit: int) -> None:
        for _ in range(n // per_commit):
            with self.recovery.latch:
                unit = self.recovery.begin()
                for _ in range(per_commit):
                    arrival = self.data.locate(self.queue)
                    self.data.read(arrival)
                    self.data.take(unit, arrival)
                self.recovery.commit(unit)

    def put_volatile(self, n: int) -> None:
        put, queue, latch = self.data.put, self.queue, self.recovery.latch
        for _ in range(n):
            with latch:
                put(None, queue, self.message(0), 0)

    def get_volatile(self, n: int) -> None:
        data, queue, latch = self.data, self.queue, self.recovery.latch
        for _ in range(n):
            with latch:
                arrival = data.locate(queue)
                data.read(arrival)
                data.take(None, arrival)

    def threads(self, n: int, count: int = 8) -> None:
        each = [threading.Thread(target=self.pairs, args=(n // count // 2,)) for _ in range(count)]
        for thread in each:
            thread.start()
        for thread in each:
            thread.join()

    def pairs(self, n: int) -> None:
        for _ in range(n):
            self.put(1, 1)
            self.get(1, 1)


def raw_sync(directory: Path, n: int) -> float:
    file = os.open(directory / "raw", os.O_RDWR | os.O_CREAT)
    os.pwrite(file, bytes(8 << 20), 0)
    os.fsync(file)
    page = bytes(4096)

    def run() -> None:
        for at in range(n):
            os.pwrite(file, page, (at % 2000) * 4096)
            os.fdatasync(file)

    rate = n / timed(run)
    os.close(file)
    return rate


class Sqlite:
    """A queue in a SQLite table, WAL, synchronous FULL."""

    def __init__(self, directory: Path) -> None:
        self.db = sqlite3.connect(directory / "queue.db", isolation_level=None)
        self.db.execute("pragma journal_mode = wal")
        self.db.execute("pragma synchronous = full")
        self.db.execute("create table queue (id integer primary key, body blob)")

    def put(self, n: int, per_commit: int) -> None:
        for _ in range(n // per_commit):
            self.db.execute("begin immediate")
            for _ in range(per_commit):
                self.db.execute("insert into queue (body) values (?)", (BODY,))
            self.db.execute("commit")

    def get(self, n: int, per_commit: int) -> None:
        for _ in range(n // per_commit):
            self.db.execute("begin immediate")
            for _ in range(per_commit):
                found = self.db.execute("select id, body from queue order by id limit 1").fetchone()
                self.db.execute("delete from queue where id = ?", (found[0],))
            self.db.execute("commit")


def timed(work: Callable[..., None], *args: int) -> float:
    start = time.perf_counter()
    work(*args)
    return time.perf_counter() - start


def measure(directory: Path, rounds: int) -> dict[str, float]:
    bench, peer = Bench(directory / "engine"), Sqlite(directory)
    rates: dict[str, list[float]] = {}

    def note(what: str, n: int, seconds: float) -> None:
        rates.setdefault(what, []).append(n / seconds)

    for _ in range(rounds):
        rates.setdefault("disk: overwrite 4 KB + fdatasync", []).append(raw_sync(directory, 1500))
        note("put, 1 per commit", 1500, timed(bench.put, 1500, 1))
        note("SQLite put, 1 per commit", 1500, timed(peer.put, 1500, 1))
        note("get, 1 per commit", 1500, timed(bench.get, 1500, 1))
        note("SQLite get, 1 per commit", 1500, timed(peer.get, 1500, 1))
        note("put, 100 per commit", 20_000, timed(bench.put, 20_000, 100))
        note("SQLite put, 100 per commit", 20_000, timed(peer.put, 20_000, 100))
        note("get, 100 per commit", 20_000, timed(bench.get, 20_000, 100))
        note("SQLite get, 100 per commit", 20_000, timed(peer.get, 20_000, 100))
        note("non-persistent put", 30_000, timed(bench.put_volatile, 30_000))
        note("non-persistent get", 30_000, timed(bench.get_volatile, 30_000))
        note("8 threads, put + get pairs: commits", 4000, timed(bench.threads, 4000))
    return {what: statistics.median(found) for what, found in rates.items()}


def by_correl_id(directory: Path) -> list[float]:
    """Seconds per get by CorrelId at two depths."""
    bench = Bench(directory / "index")
    with bench.recovery.latch:
        bench.queue = bench.data.queue(LocalQueue("INDEXED", page_set=1, index_type=IndexType.CORRELID))
    costs = []
    for depth in (100, 30_000):
        ids = [os.urandom(24) for _ in range(depth)]
        with bench.recovery.latch:
            for correl_id in ids:
                bench.data.put(None, bench.queue, bench.message(0, correl_id), 0)
            start = time.perf_counter()
            for correl_id in ids[:100]:
                arrival = bench.data.locate(bench.queue, correl_id=correl_id)
                bench.data.read(arrival)
                bench.data.take(None, arrival)
            costs.append((time.perf_counter() - start) / 100)
    return costs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", default=None)
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(dir=asked.directory))
    try:
        for what, rate in measure(directory, asked.rounds).items():
            print(f"{what:45} {rate:12,.0f} per second")
        shallow, deep = by_correl_id(directory)
        print(f"{'get by CorrelId, depth 100 / 30,000':45} {shallow * 1e6:9.1f} / {deep * 1e6:.1f} us")
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
