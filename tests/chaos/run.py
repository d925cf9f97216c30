"""Chaos, as long as you like: `make chaos`, one line for each round. The folder of a round that failed is kept."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from chaos.faults import possible
from chaos.rounds import run_round
from chaos.world import DECIDES, ENGINES, KINDS, TRIGGERS


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first round")
    parser.add_argument("--engine", action="append", choices=ENGINES)
    parser.add_argument("--fault", action="append", help="only these, e.g. --fault member --fault store+member")
    parser.add_argument("--proxies", action="store_true", help="cut by proxies even where namespaces can be made")
    parser.add_argument("--faults", type=int, default=3, help="combinations one after the other in a round")
    asked = parser.parse_args()
    failed, until, seed = 0, time.monotonic() + asked.minutes * 60, asked.seed
    while time.monotonic() < until:
        choose = Random(seed)
        engine = choose.choice(asked.engine or ENGINES)
        names = [combo(choose, engine, asked.fault) for _ in range(asked.faults)]
        kinds = choose.choice((KINDS, DECIDES, TRIGGERS))
        failed += one(seed, engine, names, namespaces=False if asked.proxies else None, kinds=kinds)
        seed += 1
    return 1 if failed else 0


def combo(choose, engine, only):
    if only:
        return choose.choice(only).split("+")
    return choose.sample(possible(engine), choose.choice((1, 1, 2)))


def one(seed, engine, names, namespaces, kinds):
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
    began = time.monotonic()
    problems, events = run_round(folder, engine, names, seed, namespaces=namespaces, kinds=kinds)
    what = ", ".join("+".join(each) for each in names)
    result = "ok" if not problems else f"FAILED, see {folder}"
    took = f"{events} lines, {time.monotonic() - began:.0f} s"
    print(f"{seed} {engine:9} {kinds[-1]:11} {what}: {took}: {result}", flush=True)  # noqa: T201 - a program's output
    for problem in problems[:10]:
        print("   ", problem[:1500], flush=True)  # noqa: T201
    if not problems:
        shutil.rmtree(folder)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
