"""Depth: what a get by identifier, a put and a restart cost when much is queued, and how much memory it takes."""

import os
import random
import signal
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import quaestor
from engine.contestants import BODY, PUT_NOW, SETTINGS, VOLATILE, Quaestor
from engine.table import verdict
from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.qmgr.data.engine import EngineSettings

SPAWN = get_context("spawn")
SAMPLE = 400
RESTART_MESSAGES = 200_000


def by_correl_id(directory: Path) -> None:
    """Get by CorrelId at two depths of an indexed queue whose messages are in the buffer pool."""
    settings = replace(SETTINGS, buffer_pools={0: 1000, 1: 130_000})
    with quaestor.connect("BENCH", directory / "correl", settings=settings) as app:
        costs = _costs_by_depth(app)
    print(f"\nget by CorrelId, depth 100 / 100,000: {costs[0] * 1e6:.1f} / {costs[1] * 1e6:.1f} us")
    verdict(("cost at depth 100,000 over depth 100", costs[1] / costs[0], "at most 2"))


def _costs_by_depth(app: quaestor.Connection) -> list[float]:
    app.define(LocalQueue("INDEXED", index_type=IndexType.CORRELID, max_depth=999_999_999))
    queue, costs, known = app.open("INDEXED"), [], list[bytes]()
    for depth in (100, 100_000):
        while len(known) < depth:
            known.append(os.urandom(24))
            queue.put(BODY, VOLATILE, PUT_NOW, correl_id=known[-1])
        costs.append(statistics.median(_get_and_put_back(queue, known) for _ in range(SAMPLE)))
    return costs


def _get_and_put_back(queue: quaestor.Handle, known: list[bytes]) -> float:
    wanted = random.choice(known)
    began = time.perf_counter()
    queue.get(4, correl_id=wanted)
    took = time.perf_counter() - began
    queue.put(BODY, VOLATILE, PUT_NOW, correl_id=wanted)
    return took


def deep(directory: Path, depth: int = 1_000_000) -> None:
    """Put when empty and at depth, and what that depth takes in memory and on disk."""
    with closing(Quaestor(directory)) as ours:
        _deep(ours, depth)


def _deep(ours: Quaestor, depth: int) -> None:
    _repeat(lambda: ours.put((BODY,)), 200)
    empty = _repeat(lambda: ours.put((BODY,)), SAMPLE), _repeat(lambda: ours.put((BODY,) * 100), 40) / 100
    before, began = rss_mb(), time.perf_counter()
    for _ in range(depth // 1000):
        ours.put((BODY,) * 1000)
    print(f"\ndepth {depth:,}: {depth / (time.perf_counter() - began):,.0f} messages a second to get there")
    full = _repeat(lambda: ours.put((BODY,)), SAMPLE), _repeat(lambda: ours.put((BODY,) * 100), 40) / 100
    for what, first, then in zip(("one per commit", "100 per commit"), empty, full, strict=True):
        print(f"  put, {what}: {first * 1e6:.1f} us when empty, {then * 1e6:.1f} us at depth")
        verdict((f"cost at depth over empty, {what}", then / first, "at most 1.5"))
    print(f"  memory: {before:,.0f} MB before, {rss_mb():,.0f} MB at depth; bodies alone {depth * 1024 / 1e6:,.0f} MB")


def _repeat(work: Callable[[], None], times: int) -> float:
    """The median seconds of one call."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


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
