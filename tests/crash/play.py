"""Histories, as long as you like: `make histories`. Each that fails is told; the last line names the first of them."""

import argparse
import sys
import time
from itertools import count

from crash.histories import STEPS, History


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first history")
    parser.add_argument("--steps", type=int, default=STEPS)
    asked = parser.parse_args(arguments)
    failed, until = [], time.monotonic() + asked.seconds
    for seed in count(asked.seed):
        try:
            History(seed).play(asked.steps)
        except AssertionError as error:
            failed.append(seed)
            _say(error)
        if time.monotonic() >= until:
            break
    _say(f"{seed - asked.seed + 1} histories from seed {asked.seed} on, {len(failed)} failed")
    if failed:
        _say(f"the first that failed has seed {failed[0]}")
    return 1 if failed else 0


def _say(what):
    print(what, flush=True)  # noqa: T201 - a program's output


if __name__ == "__main__":
    sys.exit(main())
