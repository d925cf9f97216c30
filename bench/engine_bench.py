"""The queue manager as a user calls it, beside what the disk allows and what a user would take instead.

    python bench/engine_bench.py [GROUP ...] [--rounds N] [--directory DIR] [--depth N] [--both] [--awake]

Groups: commit, batch, volatile, threads, accounting, correl, memory, restart, layers (all by default), deep and
emptied. 1 KB messages; everybody in turns in the same run, compared round by round, medians. Peers that are not
installed are left out and named; `make bench-engine` installs them. Each line ends with the promise and whether it
holds. With `--both` each group is run twice, as plain Python and as `make compile` built it, one after the other. With
`--awake` the queue manager keeps processors from halting while it commits, which the disk and the peers of the same run
have the good of too.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "src"))  # behind PYTHONPATH, which may name a compiled build

from engine import contestants, depth, layers, rates

DEFAULT = ("commit", "batch", "volatile", "threads", "accounting", "correl", "memory", "restart", "layers")


def groups(rounds: int, deep: int) -> dict[str, Callable[[Path], None]]:
    """What can be measured, by name."""
    return {
        "commit": partial(rates.one_per_commit, rounds=rounds),
        "batch": partial(rates.hundred_per_commit, rounds=rounds),
        "volatile": partial(rates.not_persistent, rounds=rounds),
        "threads": partial(rates.eight_threads, rounds=rounds),
        "accounting": partial(rates.accounting, rounds=rounds),
        "correl": depth.by_correl_id,
        "memory": depth.memory,
        "restart": depth.restart,
        "layers": lambda _: layers.layers(),
        "deep": partial(depth.deep, depth=deep),
        "emptied": depth.emptied,
    }


COMPILED = Path(__file__).parents[1] / "build" / "compiled"


def both(names: Sequence[str], options: Sequence[str]) -> None:
    """Every group in a process of plain Python, then in one of the compiled build."""
    if not COMPILED.is_dir():
        sys.exit("there is no compiled build: `make compile` makes it")
    for name in names:
        for build, path in (("plain", ""), ("compiled", str(COMPILED))):
            print(f"\n== {name}, {build}", flush=True)
            command = [sys.executable, __file__, name, *options]
            subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("group", nargs="*", default=DEFAULT)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory", default=None)
    parser.add_argument("--depth", type=int, default=1_000_000)
    parser.add_argument("--both", action="store_true")
    parser.add_argument("--awake", action="store_true")
    asked = parser.parse_args()
    if asked.both:
        awake = ["--awake"] if asked.awake else []
        both(asked.group, ["--rounds", str(asked.rounds), "--depth", str(asked.depth), *awake])
        return
    contestants.SETTINGS = replace(contestants.SETTINGS, awake=asked.awake)
    known = groups(asked.rounds, asked.depth)
    for name in asked.group:
        directory = Path(tempfile.mkdtemp(dir=asked.directory))
        try:
            known[name](directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
