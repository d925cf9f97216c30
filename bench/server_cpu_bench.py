"""What a request costs in processor time, client and server apart, without a scheduler in between.

    python bench/server_cpu_bench.py [--rounds 40] [--directory DIR] [--profile LINE]

Client and server share one thread: whenever the client would wait for its answer, the server has a turn. Nobody wakes
or sleeps, nobody else has the processor, and with `--directory` on a file system in memory no disk is waited for. What
is printed is the least of the rounds, microseconds a message: work of the code itself, which a busy machine leaves
alone better than any rate.
"""

import argparse
import cProfile
import io
import os
import pstats
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["QUAESTOR_LOOK_US"] = "0"
if not os.environ.get("QUAESTOR_COMPILED"):
    sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from quaestor import MQMD, GetOptions, LocalQueue, OpenOptions, PutOptions
from quaestor.readiness import Arrival
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import Place
from quaestor.server.home import Configuration, Home
from quaestor.server.process import Server

BODY, PERSISTENT, VOLATILE = bytes(range(256)) * 4, MQMD(persistence=1), MQMD(persistence=0)
BOTH = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT
UNIT, COMPANY = 100, 7


class OneThread:
    """A server and a client that takes its turns for it."""

    def __init__(self, directory: Path) -> None:
        home = Home(directory / "QM1")
        home.create(Configuration("QM1", security=False))
        self.out = io.StringIO()
        self.server = Server(home, self.out, signals=False)
        self.service: Any = self.server.service
        self.served_ns = 0
        place = Place("QM1", path=home.socket)
        self._take_turns()
        self.app: Any = LINKS.connect(place, hello_of("QM1", None, None, "bench"))
        for name in ("P", "V"):
            self.app.define(LocalQueue(name, share=True, def_exclusive=False, max_depth=999_999_999))
        self.queue = {name: self.app.open(name, BOTH) for name in ("P", "V")}
        self.company = [self._putter(place) for _ in range(COMPANY)]

    def _take_turns(self) -> None:
        """Whoever waits for an answer gives the server turns until it has come."""

        def receive(_: Arrival, receive: Callable[[int], bytes], size: int) -> bytes:
            self.turns()
            return receive(size)

        Arrival.receive = receive  # type: ignore[method-assign]

    def _putter(self, place: Place) -> tuple[Any, bytes]:
        """The socket of a further client, and the bytes of a put like the one before."""
        app: Any = LINKS.connect(place, hello_of("QM1", None, None, "bench"))
        link, queue, sent = app._link, app.open("P", BOTH), []  # noqa: SLF001
        send, link._send = link._send, lambda data: (sent.append(data), send(data))  # noqa: SLF001
        for _ in range(2):
            queue.put(BODY, PERSISTENT, PutOptions.NO_SYNCPOINT)
        link._send = send  # noqa: SLF001
        return link._sock, sent[-1]  # noqa: SLF001

    def turns(self) -> None:
        began, readiness, turn = time.thread_time_ns(), self.service._readiness, self.service.turn  # noqa: SLF001
        while (events := readiness.now()) or self.service.commits.in_flight:
            turn(events)
        self.served_ns += time.thread_time_ns() - began

    def end(self) -> None:
        self.app.disconnect()
        self.service.stop()
        self.service._close()  # noqa: SLF001
        self.server._stop()  # noqa: SLF001


def put(on: OneThread) -> int:
    for _ in range(50):
        on.queue["P"].put(BODY, PERSISTENT, PutOptions.NO_SYNCPOINT)
    return 50


def put_together(on: OneThread) -> int:
    """Puts of several clients that come in one turn and share a force."""
    for _ in range(10):
        for sock, data in on.company:
            sock.sendall(data)
        on.turns()
        for sock, _ in on.company:
            sock.recv(4096)
    return 10 * COMPANY


def put_units(on: OneThread) -> int:
    queue = on.queue["P"].put
    for _ in range(2):
        for _ in range(UNIT):
            queue(BODY, PERSISTENT, PutOptions.ASYNC_RESPONSE)
        on.app.commit()
    return 2 * UNIT


def get(on: OneThread) -> int:
    for _ in range(50):
        on.queue["P"].get(GetOptions.NO_SYNCPOINT)
    return 50


def get_units(on: OneThread) -> int:
    for _ in range(2):
        for _ in range(UNIT):
            on.queue["P"].get()
        on.app.commit()
    return 2 * UNIT


def volatile_put(on: OneThread) -> int:
    for _ in range(100):
        on.queue["V"].put(BODY, VOLATILE, PutOptions.NO_SYNCPOINT)
    return 100


def volatile_get(on: OneThread) -> int:
    for _ in range(100):
        on.queue["V"].get(GetOptions.NO_SYNCPOINT)
    return 100


LINES: dict[str, Callable[[OneThread], int]] = {
    "put": put,
    "put, 7 a force": put_together,
    "put, 100 a unit": put_units,
    "get": get,
    "get, 100 a unit": get_units,
    "volatile put": volatile_put,
    "volatile get": volatile_get,
}


def measure(on: OneThread, rounds: int) -> dict[str, tuple[float, float]]:
    """(server, client) microseconds a message, the least of the rounds."""
    found: dict[str, list[tuple[float, float]]] = {}
    put_units(on)
    for _ in range(rounds):
        for name, line in LINES.items():
            on.served_ns, began = 0, time.thread_time_ns()
            messages = line(on)
            all_ns = time.thread_time_ns() - began
            found.setdefault(name, []).append((on.served_ns / messages / 1e3, (all_ns - on.served_ns) / messages / 1e3))
    return {
        name: (min(server for server, _ in all_), min(client for _, client in all_)) for name, all_ in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--directory", default=None)
    parser.add_argument("--profile", default="", choices=["", *LINES])
    asked = parser.parse_args()
    directory = Path(tempfile.mkdtemp(dir=asked.directory))
    on = OneThread(directory)
    try:
        if asked.profile:
            with cProfile.Profile() as profile:
                for _ in range(asked.rounds):
                    LINES[asked.profile](on)
            pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        else:
            for name, (server, client) in measure(on, asked.rounds).items():
                print(f"{name:16} server {server:6.1f}   client {client:6.1f}")
    finally:
        on.end()
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
