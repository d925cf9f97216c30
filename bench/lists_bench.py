"""List structures: requests a second through the coupling facility and through Redis, beside what Redis does bare.

    python bench/lists_bench.py                      every line, about 40 s
    python bench/lists_bench.py --only facility      one engine
    python bench/lists_bench.py --seconds 1

A put is one request that writes an entry of 1 KB, a get is one that takes it and one that deletes it, as a put and a
get in syncpoint are; `get now` takes it away in one, as outside syncpoint. Redis Streams do XADD, then XREADGROUP and
XACK. All go over Unix sockets, from processes of their own; a round visits every line in turn.
"""

import argparse
import multiprocessing as mp
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

import redis

from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.lists.client import FacilityConnection
from quaestor.storage.lists.operations import KEY_MAX, KEY_MIN, Claim, Delete, ReadSpace, Take, Write
from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.lists.structure import Shape

BODY, KEY = b"x" * 1024, b"k" * 16
READY, TAKEN = 5, 6
SHAPE = Shape("BENCH", entries=1_000_000, elements=6_000_000)
PUTS = 20  # before the gets that take them: a queue that is neither empty nor deep


def nobody(_token: int) -> None:
    """Nothing is watched."""


def timed(step: Callable[[], object], seconds: float) -> float:
    """Steps a second."""
    count, start = 0, time.perf_counter()
    end = start + seconds
    while time.perf_counter() < end:
        for _ in range(20):
            step()
        count += 20
    return count / (time.perf_counter() - start)


# -- the sides


def structure_loop(connection: Any, seconds: float, lists: tuple[int, int]) -> dict[str, float]:
    """Rates through a list structure; each connector has lists of its own, so that nobody waits for another's puts."""
    ready, taken = lists

    def put() -> None:
        connection.request(Write(ready, KEY, BODY))

    def get() -> None:
        (entry,) = connection.request(Take(ready, KEY_MIN, KEY_MAX, taken))
        connection.request(Delete(entry.number, taken))

    def both() -> None:
        for _ in range(PUTS):
            put()
        for _ in range(PUTS):
            get()

    def get_now() -> None:
        put()
        connection.request(Claim(ready, KEY_MIN, KEY_MAX, taken, keep=0))

    figures = {"request": timed(lambda: connection.request(ReadSpace()), seconds / 4)}
    figures["put"] = timed(put, seconds / 4)
    while connection.request(Claim(ready, KEY_MIN, KEY_MAX, taken, keep=0))[0] is not None:
        pass
    figures["put+get"] = PUTS * timed(both, seconds / 20)
    figures["put+get now"] = timed(get_now, seconds / 4)
    return figures


def stream_loop(client: "redis.Redis[bytes]", name: str, seconds: float) -> dict[str, float]:
    """The same with Redis Streams."""
    with suppress(redis.ResponseError):
        client.xgroup_create(name, "g", mkstream=True)

    def put() -> None:
        client.xadd(name, {"b": BODY})

    def get() -> None:
        (_, ((number, _body),)) = client.xreadgroup("g", "c", {name: ">"}, count=1)[0]
        client.xack(name, "g", number)

    def both() -> None:
        for _ in range(PUTS):
            put()
        for _ in range(PUTS):
            get()

    figures = {"request": timed(client.ping, seconds / 4), "put": timed(put, seconds / 4)}
    client.delete(name)
    client.xgroup_create(name, "g", mkstream=True)
    figures["put+get"] = PUTS * timed(both, seconds / 20)
    figures["put+get now"] = 0.0
    return figures


# -- processes


def facility_process(path: str) -> None:
    CouplingFacility(path).serve_alone()


def worker(side: str, where: str, number: int, seconds: float, gate: Any, results: Any) -> None:
    """One connector; begins when all are there."""
    lists = (READY + 2 * number, TAKEN + 2 * number)
    if side == "streams":
        client = redis.Redis.from_url(where)
        gate.wait()
        results.put(stream_loop(client, f"stream{number}", seconds))
        return
    connect: Any = FacilityConnection if side == "facility" else RedisConnection
    connection = connect(where, SHAPE, f"QM{number}", nobody)
    gate.wait()
    results.put(structure_loop(connection, seconds, lists))
    connection.disconnect()


def measured(side: str, where: str, connectors: int, seconds: float) -> dict[str, float]:
    """All connectors together."""
    context = mp.get_context("spawn")
    gate, results = context.Barrier(connectors), context.Queue()
    running = [
        context.Process(target=worker, args=(side, where, at, seconds, gate, results)) for at in range(connectors)
    ]
    for each in running:
        each.start()
    figures = [results.get(timeout=60) for _ in running]
    for each in running:
        each.join()
    return {name: sum(figure[name] for figure in figures) for name in figures[0]}


@contextmanager
def servers(only: str) -> Iterator[dict[str, str]]:
    """The coupling facility and Redis, each in its process; where they are."""
    folder = Path(tempfile.mkdtemp(prefix="lists"))
    where = {}
    started: list[Any] = []
    if "facility" in only:
        where["facility"] = str(folder / "cf.sock")
        facility = mp.get_context("spawn").Process(target=facility_process, args=(where["facility"],))
        facility.start()
        started.append(facility)
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if ("redis" in only or "streams" in only) and program:
        socket = folder / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no", "--dir", str(folder)]
        started.append(subprocess.Popen([program, *options], stdout=subprocess.DEVNULL))
        where |= {side: f"unix://{socket}" for side in ("redis", "streams") if side in only}
    while not all(Path(each.removeprefix("unix://")).exists() for each in where.values()):
        Event().wait(0.05)
    try:
        yield where
    finally:
        for each in started:
            each.kill()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--only", default="facility,redis,streams")
    asked.add_argument("--seconds", type=float, default=4.0)
    asked.add_argument("--connectors", default="1,3")
    given = asked.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}; requests a second, 1 KB")
    found: dict[tuple[str, int], dict[str, float]] = {}
    with servers(given.only) as where:
        for connectors in map(int, given.connectors.split(",")):
            for side, place in where.items():
                found[side, connectors] = figures = measured(side, place, connectors, given.seconds)
                line = "  ".join(f"{name} {rate:9,.0f}" for name, rate in figures.items())
                print(f"{side:9} {connectors} connectors  {line}", flush=True)
    for connectors in map(int, given.connectors.split(",")):
        if ("redis", connectors) in found and ("streams", connectors) in found:
            ours, bare = found["redis", connectors], found["streams", connectors]
            ratios = ", ".join(f"{name} {ours[name] / bare[name]:.2f}" for name in ("put", "put+get"))
            print(f"redis / bare streams, {connectors} connectors: {ratios} (promise 0.70)")
    for side in ("facility", "redis"):
        if (side, 1) in found and (side, 3) in found:
            ratio = found[side, 3]["put+get"] / found[side, 1]["put+get"]
            print(f"{side}: three connectors / one: {ratio:.2f} (promise 1.00)")
    if ("facility", 1) in found:
        one = found["facility", 1]["request"]
        print(f"facility: {1e6 / one:.0f} us a request (promise 120), {one:,.0f} a second (promise 8,000)")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
