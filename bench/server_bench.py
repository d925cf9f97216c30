"""Clients and server in separate processes, beside other queues in the same run.

    python bench/server_bench.py                       what is installed of the peers, one short round
    python bench/server_bench.py --peers beanstalkd    and ours beside it

The measures and the peers are those of the harness in `../shared/bench/peers` (its README says what to install); our
side is `peer_quaestor.py`. Rounds visit every peer in turn, so that other work on the machine falls on all alike.
"""

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HARNESS = HERE.parents[1] / "shared" / "bench" / "peers"
DURABLE = "quaestor,rabbitmq-classic-v2,rabbitmq-tx,nats-js-sync,redis-aof-always,postgres,beanstalkd-f0"
EXTRA = "peer_quaestor,peer_rabbitmq_confirmed"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--peers", default=DURABLE, help="names or parts of names, with commas")
    asked.add_argument("--measures", default="abcdepf", help="letters of the harness")
    asked.add_argument("--rounds", default="1")
    asked.add_argument("--seconds", default="1.5")
    asked.add_argument("--out", default="server_bench.json")
    given = asked.parse_args()
    if not HARNESS.is_dir():
        sys.exit(f"the harness of peers is not there: {HARNESS}")
    peers = given.peers if "quaestor" in given.peers else f"quaestor,{given.peers}"
    path = os.pathsep.join([str(HERE), str(HERE.parent / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ,
        "BENCH_EXTRA": "peer_quaestor,peer_rabbitmq_confirmed",
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, str(HARNESS / "run.py"), "--peers", peers, "--measures", given.measures]
    command += ["--rounds", given.rounds, "--seconds", given.seconds, "--out", str(Path(given.out).resolve())]
    os.execve(sys.executable, command, environment)


if __name__ == "__main__":
    main()
