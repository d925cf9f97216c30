"""Measuring in turns, and the table that comes of it.

Machines are shared: everybody is measured in short turns, one after the other, and the median of the turns counts. Each
round has another order, so that what one leaves behind for the disk does not always fall on the same neighbour. Two are
compared round by round, and the median of the rounds counts: what the machine allows differs by half from one second
to the next.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from random import Random

Turn = tuple[str, Callable[[], None], int] | tuple[str, Callable[[], None], int, Callable[[], None]]
"""name, what is done, how many messages that is; perhaps what is done before that and not counted"""


Rounds = dict[str, list[float]]
"""messages a second in each round, by name"""


def every_round(phases: Sequence[Sequence[Turn]], rounds: int) -> Rounds:
    """Messages a second by name, turn by turn; in a round everybody's first phase comes first."""
    rates: Rounds = {}
    for number in range(rounds):
        for turns in phases:
            for name, work, count, *before in Random(number).sample(turns, len(turns)):
                for first in before:
                    first()
                began = time.perf_counter()
                work()
                rates.setdefault(name, []).append(count / (time.perf_counter() - began))
    return rates


def medians(rates: Rounds) -> dict[str, float]:
    return {name: statistics.median(each) for name, each in rates.items()}


def share(rates: Rounds, name: str, of: str) -> float:
    """One rate over another: the median of what it was round by round, where neighbours fell on both alike."""
    return statistics.median(one / other for one, other in zip(rates[name], rates[of], strict=True))


def show(what: str, rates: Rounds, *promises: tuple[str, float, str]) -> None:
    """A table of rates, fastest first, then each promise with whether it holds."""
    print(f"\n{what}, messages a second")
    for name, rate in sorted(medians(rates).items(), key=lambda each: -each[1]):
        print(f"  {name:32} {rate:12,.0f}")
    verdict(*promises)


def verdict(*promises: tuple[str, float, str]) -> None:
    """(what is promised, what was found, 'at least 0.85' or 'at most 2')."""
    for what, found, bound in promises:
        side, limit = bound.rsplit(" ", 1)
        holds = found >= float(limit) if side == "at least" else found <= float(limit)
        print(f"  {'holds ' if holds else 'MISSED'} {what}: {found:,.2f} ({bound})")


def ahead(rates: Rounds, ours: str = "quaestor", besides: Sequence[str] = ()) -> tuple[str, float, str]:
    """The promise to be ahead of every peer: our share of that one of which it is least."""
    least, name = min((share(rates, ours, name), name) for name in rates if name != ours and name not in besides)
    return f"ahead of every peer (next: {name})", least, "at least 1"
