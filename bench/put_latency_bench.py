"""How long a persistent put takes under load, beside the force of the log it waits for.

    python bench/put_latency_bench.py [--clients 4] [--seconds 3] [--awake]

Clients are processes that put persistent messages of 1 KB one at a time over the local socket; the server is a process
of its own that clocks each force and each look of Python's collector, during which nobody is served. Promised: the 99th
percentile of a put is within 3 times that of the force.
"""

import argparse
import gc
import multiprocessing
import shutil
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from quaestor import MQMD, LocalQueue, OpenOptions, PutOptions
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import Place
from quaestor.server.home import Configuration, Home
from quaestor.server.process import Server

BODY, PERSISTENT = bytes(1024), MQMD(persistence=1)
SIZED = {"log_bytes": 64 << 20, "buffer_pools": {0: 5_000, 1: 100_000}}
"""Room for all that is put meanwhile: what is clocked is the put, not the writing of pages for want of buffers."""

PROMISED = 3


def serve(directory: Path, pipe: Pipe) -> None:
    """A server that clocks its forces and collections; it ends when told to and gives them back."""
    with (directory / "out").open("w") as out:
        server = Server(Home(directory), out)
        log: Any = server.manager.engine.log
        looks, forces, force, look_began = [], [], log.force, 0.0

        def clock_collector(phase: str, _: dict[str, int]) -> None:
            nonlocal look_began
            if phase == "start":
                look_began = time.perf_counter()
            elif forces:  # not before the load
                looks.append(time.perf_counter() - look_began)

        def clocked(rba: int) -> None:
            began = time.perf_counter()
            force(rba)
            forces.append(time.perf_counter() - began)

        log.force = clocked
        gc.callbacks.append(clock_collector)
        pipe.send("ready")
        threading.Thread(target=lambda: (pipe.recv(), server.service.ask(server.service.stop)), daemon=True).start()
        server.run_alone()
    gc.callbacks.remove(clock_collector)
    pipe.send((forces, looks))


def put(directory: Path, seconds: float, pipe: Pipe) -> None:
    """A client; it gives back how long its puts took."""
    place = Place("QM1", path=Home(directory).socket)
    with LINKS.connect(place, hello_of("QM1", None, None, "bench")) as app:
        queue, took = app.open("BENCH", OpenOptions.OUTPUT), []
        until = time.perf_counter() + seconds
        while (began := time.perf_counter()) < until:
            queue.put(BODY, PERSISTENT, PutOptions.NO_SYNCPOINT)
            took.append(time.perf_counter() - began)
    pipe.send(took)


def measured(
    directory: Path, clients: int, seconds: float, *, awake: bool
) -> tuple[list[float], list[float], list[float]]:
    """Puts, forces and looks of the collector, in seconds."""
    Home(directory).create(Configuration("QM1", security=False, engine={**SIZED, "awake": awake}))
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(directory, theirs))
    server.start()
    ours.recv()
    with LINKS.connect(Place("QM1", path=Home(directory).socket), hello_of("QM1", None, None, "bench")) as app:
        app.define(LocalQueue("BENCH", share=True, def_exclusive=False, max_depth=999_999_999))
    pipes = [multiprocessing.Pipe() for _ in range(clients)]
    putters = [multiprocessing.Process(target=put, args=(directory, seconds, pipe)) for _, pipe in pipes]
    for putter in putters:
        putter.start()
    puts = [took for mine, _ in pipes for took in mine.recv()]
    ours.send("stop")
    forces, looks = ours.recv()
    for process in (*putters, server):
        process.join()
    return puts, forces, looks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--awake", action="store_true")
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp())
    try:
        found = measured(directory / "QM1", asked.clients, asked.seconds, awake=asked.awake)
    finally:
        shutil.rmtree(directory)
    puts, forces, looks = (sorted(each) for each in found)
    rate, together = len(puts) / asked.seconds, len(puts) / len(forces)
    print(f"{asked.clients} clients: {rate:,.0f} puts a second, {together:.1f} a force")
    ratio = _of(puts, 0.99) / _of(forces, 0.99)
    for name, found in (("put", puts), ("force", forces)):
        shares = "   ".join(f"p{share * 100:g} {_of(found, share) * 1e6:7,.0f} us" for share in (0.5, 0.99, 0.999))
        print(f"{name:6} {shares}   longest {found[-1] * 1e6:7,.0f} us")
    longest, share = (looks[-1], sum(looks) / asked.seconds) if looks else (0, 0)
    print(f"collector: {len(looks)} looks, the longest {longest * 1e6:,.0f} us, {share:.2%} of the time")
    judged = "met" if ratio <= PROMISED else "missed"
    print(f"p99 of a put is {ratio:.2f} times that of the force; promised {PROMISED}: {judged}")


def _of(found: list[float], share: float) -> float:
    return found[min(int(len(found) * share), len(found) - 1)]


if __name__ == "__main__":
    main()
