"""Depth: what a get by identifier, a put and a restart cost when much is queued, and how much memory it takes."""

import os
import random
import signal
import statistics
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import quaestor
from engine.contestants import BODY, PUT_NOW, SETTINGS, VOLATILE, Quaestor
from engine.table import verdict
from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.qmgr.data.engine import EngineSettings

SPAWN = get_context("spawn")
SAMPLE, TURN = 400, 10
DEPTHS = 100, 100_000
RESTART_MESSAGES = 200_000
SETTLED = 2000
"""So many puts one by one, and the background has written what was left behind on the way."""


def by_correl_id(directory: Path) -> None:
    """Get by CorrelId at two depths of indexed queues whose messages are in the buffer pool, in turns."""
    settings = replace(SETTINGS, buffer_pools={0: 1000, 1: 130_000})
    with quaestor.connect("BENCH", directory / "correl", settings=settings) as app:
        queues = [_indexed(app, depth) for depth in DEPTHS]
        rounds = [[_get_and_put_back(*queue) for queue in queues] for _ in range(SAMPLE // TURN)]
    shallow, deep = (statistics.median(costs) * 1e6 for costs in zip(*rounds, strict=True))
    print(f"\nget by CorrelId, depth {DEPTHS[0]:,} / {DEPTHS[1]:,}: {shallow:.1f} / {deep:.1f} us")
    over = statistics.median(deep / shallow for shallow, deep in rounds)
    verdict((f"cost at depth {DEPTHS[1]:,} over depth {DEPTHS[0]:,}, round by round", over, "at most 2"))


def _indexed(app: quaestor.Connection, depth: int) -> tuple[quaestor.Handle, list[bytes]]:
    """A queue so deep, and the identifiers on it."""
    name, known = f"INDEXED.{depth}", [os.urandom(24) for _ in range(depth)]
    app.define(LocalQueue(name, index_type=IndexType.CORRELID, max_depth=999_999_999))
    queue = app.open(name)
    for each in known:
        queue.put(BODY, VOLATILE, PUT_NOW, correl_id=each)
    return queue, known


def _get_and_put_back(queue: quaestor.Handle, known: list[bytes]) -> float:
    """The median seconds of a get in a turn of some."""
    took = []
    for wanted in random.choices(known, k=TURN):
        began = time.perf_counter()
        queue.get(4, correl_id=wanted)
        took.append(time.perf_counter() - began)
        queue.put(BODY, VOLATILE, PUT_NOW, correl_id=wanted)
    return statistics.median(took)


def deep(directory: Path, depth: int = 1_000_000) -> None:
    """Put at depth and on a queue that is almost empty, in turns, and what that depth takes in memory.

    Two queue managers, each with its own pool and log: what the disk and the machine do differs by more from one minute
    to the next than what is to be measured. One per commit is measured when what was left behind on the way is written;
    units of a hundred when the pool is so full that who puts writes as many pages as he begins, some hundred at a time.
    These are compared with a queue that is almost empty in the same queue manager, which is what its depth costs, and
    with the other one, whose pool has room: what it costs that the pool is full.
    """
    with closing(Quaestor(directory / "deep")) as ours, closing(Quaestor(directory / "empty")) as empty:
        before, began = rss_mb(), time.perf_counter()
        for _ in range(depth // 1000):
            ours.put((BODY,) * 1000)
        print(f"\ndepth {depth:,}: {depth / (time.perf_counter() - began):,.0f} messages a second to get there")
        for _ in range(SETTLED):
            ours.put((BODY,))
        verdict(_compare_depths("one per commit", empty, ours, 1, 200, rounds=60))
        for _ in range(SETTINGS.buffer_pools[1] // 4000):
            ours.put((BODY,) * 1000)
        verdict(_compare_depths("100 per commit, in one queue manager", _shallow(ours), ours, 100, 10, rounds=24))
        print("  {}: {:.2f}".format(*_compare_depths("100 per commit, in two", empty, ours, 100, 10, rounds=24)))
        grown = f"{before:,.0f} MB before, {rss_mb():,.0f} MB at depth"
    print(f"  memory: {grown}; bodies alone {depth * 1024 / 1e6:,.0f} MB")


def _shallow(ours: Quaestor) -> Quaestor:
    """A queue with hardly anything on it in the same queue manager."""
    other = ours.for_thread()
    other.app.define(LocalQueue("SHALLOW", max_depth=999_999_999))
    other.queue = other.app.open("SHALLOW")
    return other


def _compare_depths(
    what: str, empty: Quaestor, full: Quaestor, batch: int, each: int, rounds: int
) -> tuple[str, float, str]:
    """The median cost of a message by turns, and how much more it is at depth, round by round.

    No queue manager writes pages in another's turn: who waits for its own has its latch held.
    """
    costs, work = [], (BODY,) * batch
    for number in range(rounds):
        took = {}
        for one, other in ((empty, full), (full, empty))[:: -1 if number % 2 else 1]:
            with nullcontext() if other.app.latch is one.app.latch else other.app.latch:
                took[one] = _mean(partial(one.put, work), each, each // 4) / batch
        costs.append((took[empty], took[full]))
    first, then = (statistics.median(some) * 1e6 for some in zip(*costs, strict=True))
    print(f"  put, {what}: {first:.1f} us when empty, {then:.1f} us at depth")
    over = statistics.median(then / first for first, then in costs)
    return f"cost at depth over empty, {what}, round by round", over, "at most 1.5"


def emptied(directory: Path, messages: int = 300_000) -> None:
    """Get what has gone to disk because the pool was full; five times as many messages as it has buffers."""
    with closing(Quaestor(directory)) as ours:
        for _ in range(messages // 1000):
            ours.put((BODY,) * 1000)
        thirds = []
        for _ in range(3):
            began = time.perf_counter()
            for _ in range(messages // 300):
                ours.get(100)
            thirds.append((time.perf_counter() - began) / messages * 3e6)
    told = ", ".join(f"{each:.1f}" for each in thirds)
    print(f"\n{messages:,} messages got from disk, 100 per commit, microseconds each, by thirds: {told}")


def _mean(work: Callable[[], None], times: int, not_counted: int) -> float:
    """The mean seconds of one call; the first are those of a program that was doing something else."""
    for _ in range(not_counted):
        work()
    began = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times


def rss_mb() -> float:
    """Memory of this process that is in use now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def memory(directory: Path, messages: int = 10_000, length: int = 40_000) -> None:
    """How much memory long messages take that do not fit in the buffer pools."""
    grown, pools = _in_child(_put_long_messages, directory, messages, length)
    bodies = messages * length / 1e6
    print(f"\n{messages:,} messages of {length:,} bytes: {bodies:,.0f} MB of bodies, memory grew by {grown:,.0f} MB")
    verdict((f"memory over the buffer pools ({pools:,.0f} MB)", grown / pools, "at most 2"))


def _put_long_messages(directory: Path, answer: Pipe, messages: int, length: int) -> None:
    buffers = {0: 1000, 1: 10_000}
    settings = EngineSettings(log_bytes=64 << 20, buffer_pools=buffers, pages=16_384)
    with closing(Quaestor(directory, settings=settings)) as ours:
        body, before = os.urandom(length), rss_mb()
        for _ in range(messages // 50):
            ours.put((body,) * 50)
        answer.send((rss_mb() - before, sum(buffers.values()) * 4096 / 1e6))


def restart(directory: Path, messages: int = RESTART_MESSAGES) -> None:
    """Start again after a kill -9 with many persistent messages queued, to the first get."""
    _in_child(_put_and_die, directory, messages)
    began = time.perf_counter()
    with closing(Quaestor(directory)) as ours:
        ours.get(1)
        took = time.perf_counter() - began
        found = ours.queue.inquire("CURDEPTH")["CURDEPTH"] + 1
    print(f"\nrestart after kill -9 with {found:,} of {messages:,} messages: {took:.1f} s")
    verdict(("messages lost", messages - found, "at most 0"), ("seconds to the first get", took, "at most 10"))


def _put_and_die(directory: Path, answer: Pipe, messages: int) -> None:
    ours = Quaestor(directory)
    for _ in range(messages // 100):
        ours.put((BODY,) * 100)
    answer.send((0, 0))
    os.kill(os.getpid(), signal.SIGKILL)


def _in_child(work: Callable[..., None], directory: Path, *args: int) -> tuple[float, float]:
    """Run in a process of its own and give what it sent."""
    here, there = SPAWN.Pipe()
    child = SPAWN.Process(target=work, args=(directory, there, *args))
    child.start()
    there.close()
    sent: tuple[float, float] = here.recv()
    child.join()
    return sent
