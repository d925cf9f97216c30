"""The queue manager as a user calls it, beside what the disk allows and what a user would take instead.

    python bench/engine_bench.py [GROUP ...] [--rounds N] [--directory DIR] [--depth N]

Groups: commit, batch, volatile, threads, correl, memory, restart, layers (all of these by default) and deep. 1 KB
messages; everybody in turns in the same run, medians. Peers that are not installed (lmdb, huey, persist-queue) are left
out and named. Each line ends with the promise and whether it holds.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "src"))  # behind PYTHONPATH, which may name a compiled build

from engine import depth, layers, rates

DEFAULT = ("commit", "batch", "volatile", "threads", "correl", "memory", "restart", "layers")


def groups(rounds: int, deep: int) -> dict[str, Callable[[Path], None]]:
    """What can be measured, by name."""
    return {
        "commit": partial(rates.one_per_commit, rounds=rounds),
        "batch": partial(rates.hundred_per_commit, rounds=max(3, rounds // 2)),
        "volatile": partial(rates.not_persistent, rounds=max(3, rounds // 2)),
        "threads": partial(rates.eight_threads, rounds=max(3, rounds // 2)),
        "correl": depth.by_correl_id,
        "memory": depth.memory,
        "restart": depth.restart,
        "layers": lambda _: layers.layers(),
        "deep": partial(depth.deep, depth=deep),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("group", nargs="*", default=DEFAULT)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--directory", default=None)
    parser.add_argument("--depth", type=int, default=1_000_000)
    asked = parser.parse_args()
    known = groups(asked.rounds, asked.depth)
    for name in asked.group:
        directory = Path(tempfile.mkdtemp(dir=asked.directory))
        try:
            known[name](directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
