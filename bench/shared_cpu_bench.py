"""What a put and a get of a shared queue cost in processor time, member and facility apart, without a scheduler.

    python bench/shared_cpu_bench.py [--rounds 40] [--profile member]

A queue manager of a group and the coupling facility share one thread: whenever the member would wait for an answer, the
facility has a turn. Nobody wakes or sleeps and nobody else has the processor. What is printed is the least of the
rounds, microseconds a message: work of the code and its system calls. `--profile` says where
the time of one side goes.
"""

import argparse
import cProfile
import os
import pstats
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import RLock, get_ident
from typing import Any

os.environ["QUAESTOR_LOOK_US"] = "0"
if not os.environ.get("QUAESTOR_COMPILED"):
    sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import quaestor
from quaestor import MQMD, GetOptions, GroupSettings, LocalQueue, OpenOptions, PutOptions
from quaestor.readiness import Arrival
from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.shared_tables import GroupTables, Structure, open_tables

BODY, VOLATILE = bytes(range(256)) * 4, MQMD(persistence=0)
PUT, GET = int(PutOptions.NO_SYNCPOINT), int(GetOptions.NO_SYNCPOINT)
MESSAGES = 100


class OneThread:
    """A coupling facility, and a member that takes its turns for it."""

    def __init__(self, directory: Path) -> None:
        self.facility = CouplingFacility(directory / "cf.sock")
        self.served_ns = 0
        self.profile: cProfile.Profile | None = None
        self._turn, self._own = RLock(), get_ident()
        self._take_turns()
        settings = GroupSettings("GRP", f"cf://{directory / 'cf.sock'}", f"{directory}/group.db")
        tables = GroupTables(open_tables(settings.repository, "GRP"))
        tables.structures.insert(Structure("APPL1", {"SIZE": 65_536}))
        tables.close()
        self.app: Any = quaestor.connect("QM1", directory / "QM1", group=settings, user="BENCH")
        self.app.define(LocalQueue("ORDERS", structure="APPL1", share=True, def_exclusive=False))
        self.queue = self.app.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT)

    def _take_turns(self) -> None:
        """Whoever waits for an answer gives the facility turns; the member's background steps do so too."""

        def receive(_: Arrival, receive: Callable[[Any], Any], room: Any) -> Any:
            self.turns()
            return receive(room)

        Arrival.receive = receive  # type: ignore[method-assign]

    def turns(self) -> None:
        began = time.thread_time_ns()
        with self._turn:
            if self.profile is not None:
                self.profile.enable()
            while events := self.facility._sockets.now():  # noqa: SLF001 - its own loop would wait
                self.facility.turn(events)
            if self.profile is not None:
                self.profile.disable()
        if get_ident() == self._own:
            self.served_ns += time.thread_time_ns() - began


def put(on: OneThread) -> None:
    for _ in range(MESSAGES):
        on.queue.put(BODY, VOLATILE, PUT)


def get(on: OneThread) -> None:
    for _ in range(MESSAGES):
        on.queue.get(GET)


LINES = {"put": put, "get": get}


def measure(on: OneThread, rounds: int) -> dict[str, tuple[float, float]]:
    """(facility, member) microseconds a message, the least of the rounds."""
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for name, line in LINES.items():
            on.served_ns, began = 0, time.thread_time_ns()
            line(on)
            all_ns = time.thread_time_ns() - began
            served = on.served_ns / MESSAGES / 1e3
            found.setdefault(name, []).append((served, all_ns / MESSAGES / 1e3 - served))
    return {
        name: (min(facility for facility, _ in all_), min(member for _, member in all_)) for name, all_ in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--profile", default="", choices=["", "member", "facility"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        on = OneThread(Path(directory))
        if asked.profile:
            profiled(on, asked.rounds, asked.profile)
        else:
            for name, (facility, member) in measure(on, asked.rounds).items():
                print(f"{name:4} facility {facility:6.1f}   member {member:6.1f}")
        on.app.disconnect()


def profiled(on: OneThread, rounds: int, side: str) -> None:
    """Where the time of one side goes."""
    profile = cProfile.Profile()
    if side == "facility":
        on.profile = profile
    for _ in range(rounds):
        if side == "member":
            profile.enable()
        for line in LINES.values():
            line(on)
        profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
