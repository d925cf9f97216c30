"""Shared queues: messages a second through queue managers of a group, beside Redis Streams and PostgreSQL.

    python bench/shared_bench.py                     every side, 1 and 3 processes, about 50 s
    python bench/shared_bench.py --only facility,streams --seconds 1

A message of 1 KB, not persistent, is put and got again, out of syncpoint, one after the other: what one application of
one queue manager does. With three processes there are three queue managers on one shared queue. Redis Streams do XADD,
XREADGROUP and XACK; PostgreSQL inserts into an unlogged table and deletes with SKIP LOCKED. All servers are in
processes of their own on Unix sockets; rounds visit every side in turn, and the middle one counts.
"""

import argparse
import multiprocessing as mp
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any

import redis

import quaestor
from quaestor import MQMD, GetOptions, GroupSettings, LocalQueue, MQError, OpenOptions, PutOptions
from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.shared_tables import GroupTables, Structure, open_tables

HERE = Path(__file__).resolve().parent
BODY = b"x" * 1024
SIDES = "facility,redis,streams,postgres"
Step = Callable[[], object]


def queue_manager_step(name: str, folder: str, structures: str, group: str) -> tuple[Step, Step]:
    """A queue manager of the group in this process; put and get, and its end."""
    settings = GroupSettings(group, structures, f"{folder}/{group}.db")
    tables = GroupTables(open_tables(settings.repository, group))
    with suppress(Exception):
        tables.structures.insert(Structure("APPL1", {"SIZE": 65_536}))
    tables.close()
    app = quaestor.connect(name, Path(folder) / group / name, group=settings, user="BENCH")
    with suppress(MQError):
        app.define(LocalQueue("ORDERS", structure="APPL1", share=True, def_exclusive=False))
    queue = opened(app)
    described, out, get = MQMD(persistence=0), int(PutOptions.NO_SYNCPOINT), int(GetOptions.NO_SYNCPOINT)

    def step() -> None:
        queue.put(BODY, described, out)
        with suppress(MQError):  # another member has got it; ours gets another's
            queue.get(get)

    return step, app.disconnect


def opened(app: Any) -> Any:
    """The queue, which another member may be defining just now."""
    for _ in range(50):
        try:
            return app.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT)
        except MQError:
            Event().wait(0.1)
    sys.exit("nobody has defined ORDERS")


def stream_step(url: str) -> tuple[Step, Step]:
    client = redis.Redis.from_url(url)
    with suppress(redis.ResponseError):
        client.xgroup_create("stream", "g", mkstream=True)
    who = str(os.getpid())

    def step() -> None:
        client.xadd("stream", {"b": BODY})
        found = client.xreadgroup("g", who, {"stream": ">"}, count=1)
        if found:
            client.xack("stream", "g", found[0][1][0][0])

    return step, client.close


def postgres_step(url: str) -> tuple[Step, Step]:
    psycopg = import_module("psycopg")
    connection = psycopg.connect(url, autocommit=True)
    with suppress(psycopg.Error):
        connection.execute("CREATE UNLOGGED TABLE IF NOT EXISTS q (id bigserial PRIMARY KEY, body bytea)")
    take = "DELETE FROM q WHERE id = (SELECT id FROM q ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING body"

    def step() -> None:
        connection.execute("INSERT INTO q (body) VALUES (%s)", (BODY,))
        connection.execute(take).fetchall()

    return step, connection.close


def worker(
    side: str, where: str, folder: str, group: str, number: int, seconds: float, gate: Any, results: Any
) -> None:
    """One process; begins when all are there."""
    if side == "streams":
        step, end = stream_step(where)
    elif side == "postgres":
        step, end = postgres_step(where)
    else:
        step, end = queue_manager_step(f"QM{number}", folder, where, group)
    for _ in range(50):
        step()
    gate.wait()
    count, began = 0, time.perf_counter()
    until = began + seconds
    while time.perf_counter() < until:
        for _ in range(10):
            step()
        count += 10
    results.put(count / (time.perf_counter() - began))
    gate.wait()
    end()


def measured(side: str, where: str, folder: str, group: str, processes: int, seconds: float) -> float:
    """Messages a second put and got, all processes together."""
    context = mp.get_context("spawn")
    gate, results = context.Barrier(processes), context.Queue()
    running = [
        context.Process(target=worker, args=(side, where, folder, group, at, seconds, gate, results))
        for at in range(processes)
    ]
    for each in running:
        each.start()
    rate = sum(results.get(timeout=60) for _ in running)
    for each in running:
        each.join()
    return float(rate)


def facility_process(path: str) -> None:
    CouplingFacility(path).serve_alone()


@contextmanager
def servers(only: list[str]) -> Iterator[dict[str, str]]:
    """What is asked for and installed, each in its process; where it is."""
    folder = Path(tempfile.mkdtemp(prefix="shared"))
    where: dict[str, str] = {}
    ends: list[Step] = []
    if "facility" in only:
        path = folder / "cf.sock"
        facility = mp.get_context("spawn").Process(target=facility_process, args=(str(path),))
        facility.start()
        ends.append(facility.kill)
        where["facility"] = f"cf://{path}"
        wait_for(path)
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if {"redis", "streams"} & set(only) and program:
        socket = folder / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no", "--dir", str(folder)]
        ends.append(subprocess.Popen([program, *options], stdout=subprocess.DEVNULL).kill)
        where |= {side: f"unix://{socket}" for side in ("redis", "streams") if side in only}
        wait_for(socket)
    if "postgres" in only:
        sys.path.append(str(HERE.parent / "tests"))
        postgres = import_module("servers").PostgresServer()
        postgres.start()
        ends.append(postgres.kill)
        where["postgres"] = postgres.url
    try:
        yield where
    finally:
        for end in ends:
            end()
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(path: Path) -> None:
    while not path.exists():
        Event().wait(0.05)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--only", default=SIDES)
    asked.add_argument("--seconds", type=float, default=1.5)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--processes", default="1,3")
    given = asked.parse_args()
    counts = [int(each) for each in given.processes.split(",")]
    found: dict[tuple[str, int], list[float]] = {}
    with servers(given.only.split(",")) as where, tempfile.TemporaryDirectory(prefix="members") as folder:
        for turn in range(given.rounds):
            for processes in counts:
                for side, place in where.items():
                    group = f"{side[0].upper()}{processes}{turn}"
                    rate = measured(side, place, folder, group, processes, given.seconds)
                    found.setdefault((side, processes), []).append(rate)
    rates = {key: statistics.median(each) for key, each in found.items()}
    print(f"load {os.getloadavg()[0]:.1f}; put+get of 1 KB a second, not persistent, out of syncpoint")
    for (side, processes), rate in rates.items():
        low, high = min(found[side, processes]), max(found[side, processes])
        print(f"{side:9} {processes} processes {rate:9,.0f}   ({low:,.0f} to {high:,.0f})")
    for processes in counts:
        ours, bare, postgres = (rates.get((side, processes)) for side in ("redis", "streams", "postgres"))
        if ours and bare:
            print(f"redis / bare streams, {processes} processes: {ours / bare:.2f} (promise 0.70)")
        if ours and postgres:
            print(f"redis / PostgreSQL, {processes} processes: {ours / postgres:.2f} (promise above 1)")
        if rates.get(("facility", processes)) and postgres:
            faster = rates["facility", processes] / postgres
            print(f"facility / PostgreSQL, {processes} processes: {faster:.2f} (promise above 1)")
    for side in ("facility", "redis"):
        if (side, 1) in rates and (side, 3) in rates:
            print(f"{side}: three queue managers / one: {rates[side, 3] / rates[side, 1]:.2f} (promise 1)")


if __name__ == "__main__":
    main()
