"""Shared queues: messages a second through queue managers of a group, beside Redis Streams and PostgreSQL.

    python bench/shared_bench.py                     every side, 1 and 3 processes, about 80 s
    python bench/shared_bench.py --only facility,streams --seconds 1

A message of 1 KB, not persistent, is put and got again, out of syncpoint, one after the other: what one application of
one queue manager does. With three processes there are three queue managers on one shared queue. For information the
same with 10 KB, and a persistent message put, committed, got and committed.

Redis Streams do XADD, XREADGROUP and XACK. PostgreSQL inserts and deletes with SKIP LOCKED, each statement committed by
itself and prepared: `postgres` into an unlogged table without waiting for its log (synchronous_commit off), the
counterpart of a message that is not persistent; `forced` into a logged table with the log forced at each commit (fsync
and synchronous_commit on), the counterpart of a persistent one. All servers are in processes of their own on Unix
sockets. All sides of a line are up when it begins; turns visit every side, and the middle turn counts.
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
from dataclasses import dataclass
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
SIDES = "facility,redis,streams,postgres,forced"
POSTGRES = "-c fsync=on -c shared_buffers=256MB -c max_wal_size=4GB"
WARM_UP, PATIENCE_S = 50, 100
Step = Callable[[], object]


@dataclass(frozen=True)
class Line:
    """What is done with each message."""

    name: str
    length: int
    persistent: bool = False


SMALL, LONG, SAFE = Line("1 KB", 1024), Line("10 KB", 10_240), Line("1 KB persistent, commits", 1024, persistent=True)


@dataclass(frozen=True)
class Place:
    """One process of a side."""

    side: str
    where: str
    folder: str
    group: str
    number: int


Steps = dict[Line, Step]


def queue_manager(place: Place) -> tuple[Steps, Step]:
    """A queue manager of the group in this process; put and get, and its end."""
    settings = GroupSettings(place.group, place.where, f"{place.folder}/{place.group}.db")
    tables = GroupTables(open_tables(settings.repository, place.group))
    with suppress(Exception):
        tables.structures.insert(Structure("APPL1", {"SIZE": 65_536}))
    tables.close()
    name = f"QM{place.number}"
    app = quaestor.connect(name, Path(place.folder) / place.group / name, group=settings, user="BENCH")
    with suppress(MQError):
        app.define(LocalQueue("ORDERS", structure="APPL1", share=True, def_exclusive=False))
    queue = opened(app)
    out, get_out = int(PutOptions.NO_SYNCPOINT), int(GetOptions.NO_SYNCPOINT)
    into, get_into = int(PutOptions.SYNCPOINT), int(GetOptions.SYNCPOINT)
    plain, safe = MQMD(persistence=0), MQMD(persistence=1)

    def quick(body: bytes) -> Step:
        def step() -> None:
            queue.put(body, plain, out)
            with suppress(MQError):  # another member has got it; ours gets another's
                queue.get(get_out)

        return step

    def careful() -> None:
        queue.put(bytes(SAFE.length), safe, into)
        app.commit()
        with suppress(MQError):
            queue.get(get_into)
        app.commit()

    return {SMALL: quick(bytes(SMALL.length)), LONG: quick(bytes(LONG.length)), SAFE: careful}, app.disconnect


def opened(app: Any) -> Any:
    """The queue, which another member may be defining just now, in a structure that it may be formatting."""
    for _ in range(50):
        try:
            queue = app.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT)
            queue.put(b"", MQMD(persistence=0), int(PutOptions.NO_SYNCPOINT))
        except MQError:
            Event().wait(0.1)
        else:
            return queue
    sys.exit("nobody has defined ORDERS, or its structure cannot be used")


def stream(place: Place) -> tuple[Steps, Step]:
    client = redis.Redis.from_url(place.where)
    name = f"stream{place.group}"
    with suppress(redis.ResponseError):
        client.xgroup_create(name, "g", mkstream=True)
    who = str(os.getpid())

    def quick(body: bytes) -> Step:
        def step() -> None:
            client.xadd(name, {"b": body})
            found = client.xreadgroup("g", who, {name: ">"}, count=1)
            if found:
                client.xack(name, "g", found[0][1][0][0])

        return step

    return {SMALL: quick(bytes(SMALL.length)), LONG: quick(bytes(LONG.length))}, client.close


def postgres(place: Place) -> tuple[Steps, Step]:
    psycopg = import_module("psycopg")
    connection = psycopg.connect(place.where, autocommit=True, prepare_threshold=1)
    cursor, forced, table = connection.cursor(binary=True), place.side == "forced", f"q_{place.group}"
    with suppress(psycopg.Error):
        cursor.execute(
            f"CREATE {'' if forced else 'UNLOGGED'} TABLE IF NOT EXISTS {table} (id bigserial PRIMARY KEY, body bytea)"
        )
        cursor.execute(f"ALTER TABLE {table} ALTER COLUMN body SET STORAGE EXTERNAL")
    cursor.execute(f"SET synchronous_commit = {'on' if forced else 'off'}")
    put = f"INSERT INTO {table} (body) VALUES (%s)"
    first = f"SELECT id FROM {table} ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1"
    take = f"DELETE FROM {table} WHERE id = ({first}) RETURNING body"

    def quick(body: bytes) -> Step:
        def step() -> None:
            cursor.execute(put, (body,))
            cursor.execute(take)
            cursor.fetchall()

        return step

    small = quick(bytes(SMALL.length))
    return {SMALL: small, SAFE: small} if forced else {SMALL: small, LONG: quick(bytes(LONG.length))}, connection.close


MADE = {"facility": queue_manager, "redis": queue_manager, "streams": stream, "postgres": postgres, "forced": postgres}


def worker(place: Place, turns: list[Line], seconds: float, gate: Any, results: Any) -> None:
    """One process; each turn begins when all are there."""
    steps, end = MADE[place.side](place)
    for line in dict.fromkeys(turns):
        for _ in range(WARM_UP):
            steps[line]()
    for line in turns:
        gate.wait(PATIENCE_S)
        results.put(timed(steps[line], seconds))
    gate.wait(PATIENCE_S)
    end()


def timed(step: Step, seconds: float) -> float:
    """Steps a second."""
    count, began = 0, time.perf_counter()
    until = began + seconds
    while time.perf_counter() < until:
        for _ in range(10):
            step()
        count += 10
    return count / (time.perf_counter() - began)


class Crew:
    """The processes of one side, and its turns."""

    def __init__(self, side: str, where: str, folder: str, processes: int, turns: list[Line], seconds: float) -> None:
        context = mp.get_context("spawn")
        self.side = side
        self._gate, self._results = context.Barrier(processes + 1), context.Queue()
        group = f"{side[0].upper()}{processes}"
        places = [Place(side, where, folder, group, at) for at in range(processes)]
        self._running = [
            context.Process(target=worker, args=(place, turns, seconds, self._gate, self._results)) for place in places
        ]
        for each in self._running:
            each.start()

    def turn(self) -> float:
        """Messages a second put and got, all processes together."""
        self._gate.wait(PATIENCE_S)
        return float(sum(self._results.get(timeout=PATIENCE_S) for _ in self._running))

    def end(self) -> None:
        self._gate.wait(PATIENCE_S)
        for each in self._running:
            each.join()


Rates = dict[tuple[Line, str, int], list[float]]


def measured(where: dict[str, str], processes: int, turns: list[Line], seconds: float, found: Rates) -> None:
    """Every side in turn, with so many processes each."""
    with tempfile.TemporaryDirectory(prefix="members") as folder:
        able = {side: [line for line in turns if can(side, line)] for side in where}
        crews = [Crew(side, place, folder, processes, able[side], seconds) for side, place in where.items()]
        for line in turns:
            for crew in crews:
                if can(crew.side, line):
                    found.setdefault((line, crew.side, processes), []).append(crew.turn())
        for crew in crews:
            crew.end()


def can(side: str, line: Line) -> bool:
    """Whether a side has a counterpart to a line."""
    if line is SAFE:
        return side in ("facility", "redis", "forced")
    return line is SMALL or side != "forced"


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
    if {"postgres", "forced"} & set(only):
        sys.path.append(str(HERE.parent / "tests"))
        server = import_module("servers").PostgresServer(POSTGRES)
        server.start()
        ends.append(server.kill)
        where |= {side: server.url for side in ("postgres", "forced") if side in only}
    try:
        yield where
    finally:
        for end in ends:
            end()
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(path: Path) -> None:
    while not path.exists():
        Event().wait(0.05)


def told(found: Rates, counts: list[int]) -> None:
    """Every line, then what is promised of the first."""
    rates = {key: statistics.median(each) for key, each in found.items()}
    for (line, side, processes), rate in rates.items():
        each = found[line, side, processes]
        print(f"{line.name:25} {side:9} {processes} processes {rate:9,.0f}   ({min(each):,.0f} to {max(each):,.0f})")
    small = {(side, processes): rate for (line, side, processes), rate in rates.items() if line is SMALL}
    for processes in counts:
        for ours in ("facility", "redis"):
            for peer, promise in (("postgres", "above 1"), ("forced", "above 1"), ("streams", "0.70 on Redis")):
                if (ours, processes) in small and (peer, processes) in small:
                    ratio = small[ours, processes] / small[peer, processes]
                    print(f"{ours} / {peer}, {processes} processes: {ratio:.2f} (promise {promise})")
    for side in ("facility", "redis"):
        if (side, 1) in small and (side, 3) in small:
            print(f"{side}: three queue managers / one: {small[side, 3] / small[side, 1]:.2f} (promise 1)")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--only", default=SIDES)
    asked.add_argument("--seconds", type=float, default=0.6, help="of one turn")
    asked.add_argument("--turns", type=int, default=5)
    asked.add_argument("--processes", default="1,3")
    asked.add_argument("--small-only", action="store_true", help="without the lines for information")
    given = asked.parse_args()
    counts = [int(each) for each in given.processes.split(",")]
    turns = [SMALL] * given.turns + ([] if given.small_only else [LONG, SAFE] * 2)
    found: Rates = {}
    load = os.getloadavg()[0]
    with servers(given.only.split(",")) as where:
        for processes in counts:
            measured(where, processes, turns, given.seconds, found)
    print(f"load {load:.1f} at the beginning; put+get a second")
    told(found, counts)


if __name__ == "__main__":
    main()
