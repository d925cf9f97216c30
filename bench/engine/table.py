"""Measuring in turns, and the table that comes of it.

Machines are shared: everybody is measured in short turns, one after the other, and the median of the turns counts. Each
round begins with another, so that what one leaves behind for the disk does not always fall on the same neighbour.
"""

import statistics
import time
from collections.abc import Callable, Sequence

Turn = tuple[str, Callable[[], None], int]
"""name, what is done, how many messages that is"""


def in_turns(phases: Sequence[Sequence[Turn]], rounds: int) -> dict[str, float]:
    """Messages a second by name: the median of `rounds` turns each; in a round everybody's first phase comes first."""
    rates: dict[str, list[float]] = {}
    for number in range(rounds):
        for turns in phases:
            first = number % len(turns)
            for name, work, count in (*turns[first:], *turns[:first]):
                began = time.perf_counter()
                work()
                rates.setdefault(name, []).append(count / (time.perf_counter() - began))
    return {name: statistics.median(each) for name, each in rates.items()}


def show(what: str, rates: dict[str, float], *promises: tuple[str, float, str]) -> None:
    """A table of rates, fastest first, then each promise with whether it holds."""
    print(f"\n{what}, messages a second")
    for name, rate in sorted(rates.items(), key=lambda each: -each[1]):
        print(f"  {name:32} {rate:12,.0f}")
    verdict(*promises)


def verdict(*promises: tuple[str, float, str]) -> None:
    """(what is promised, what was found, 'at least 0.85' or 'at most 2')."""
    for what, found, bound in promises:
        side, limit = bound.rsplit(" ", 1)
        holds = found >= float(limit) if side == "at least" else found <= float(limit)
        print(f"  {'holds ' if holds else 'MISSED'} {what}: {found:,.2f} ({bound})")


def ahead(rates: dict[str, float], ours: str = "quaestor", besides: Sequence[str] = ()) -> tuple[str, float, str]:
    """The promise to be ahead of every peer: our rate over the best of theirs."""
    name, best = max(((n, r) for n, r in rates.items() if n != ours and n not in besides), key=lambda each: each[1])
    return f"ahead of every peer (best: {name})", rates[ours] / best, "at least 1"
