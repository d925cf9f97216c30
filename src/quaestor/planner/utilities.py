"""CSQUTIL: what page set functions cost, and how a bulk load is cut into units of work.

Rules
  C1  Cost grows with the gigabytes of the page set, whatever it holds.
  C2  Not more than 100 puts to a commit as a rule; its cost grows faster than the number of operations in it.
  C3  One unit of work for a whole queue needs MAXUMSGS above the messages in it, at a large CPU cost.
  C4  Otherwise a load with the effect of a single commit goes by a temporary queue, 50 messages to a commit.

Called by whoever plans maintenance.  Calls quantity, source, bounds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import at_least, within
from quaestor.planner.quantity import GIB
from quaestor.planner.source import OutOfRangeError, Source, formula

PUTS_PER_COMMIT_MAX = 100  # F-47 [1776]
COPY_MESSAGES_PER_COMMIT = 50  # [1776]
MAXUMSGS_MAX = 999_999_999


class Utility(Enum):
    """The CSQUTIL functions that work on a whole page set."""

    FORMAT = "FORMAT"
    COPYPAGE = "COPYPAGE"
    RESETPAGE = "RESETPAGE"
    RESETPAGE_FORCE = "RESETPAGE FORCE"


@dataclass(frozen=True, slots=True)
class UtilityCost:
    """CPU and elapsed seconds."""

    cpu_s: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class StagedLoad:
    """Commits of the two steps of C4: into the temporary queue, then to the target."""

    load_commits: int
    copy_commits: int


UTILITY_SOURCE = Source("mp16-ch1", "T-20", "1796-1845")
COST_PER_GIB = {
    Utility.FORMAT: UtilityCost(0.725, 45),  # 3-CPU 2097-EC64 [1796-1801]
    Utility.COPYPAGE: UtilityCost(2.53, 30),  # 3-CPU 2097-EC64 [1809-1814]
    Utility.RESETPAGE: UtilityCost(2.13, 35),  # 3-CPU z196, lightly loaded [1827-1832]
    Utility.RESETPAGE_FORCE: UtilityCost(4.31, 123),  # 3-CPU z196, lightly loaded [1840-1845]
}


@formula("mp16-ch1", "T-20", "1796-1845")
def utility_cost(utility: Utility, page_set_bytes: int) -> UtilityCost:
    """CPU and elapsed time of one function on one page set (C1)."""
    at_least(0, page_set_bytes=page_set_bytes)
    each = COST_PER_GIB[utility]
    return UtilityCost(each.cpu_s * page_set_bytes / GIB, each.elapsed_s * page_set_bytes / GIB)


@formula("mp16-ch1", "F-49", "1849-1851")
def resetpage_cpu_percent_of_force() -> float:
    """CPU of RESETPAGE in percent of RESETPAGE FORCE: about half, so FORCE is for want of space alone."""
    return 100 * COST_PER_GIB[Utility.RESETPAGE].cpu_s / COST_PER_GIB[Utility.RESETPAGE_FORCE].cpu_s


@formula("mp16-ch1", "F-47", "1757, 1776")
def is_small_unit_of_work(puts_per_commit: int) -> bool:
    """Whether a unit of work stays within what commit handles cheaply (C2)."""
    at_least(1, puts_per_commit=puts_per_commit)
    return puts_per_commit <= PUTS_PER_COMMIT_MAX


@formula("mp16-ch1", "F-48", "1769-1772")
def maxumsgs_for_one_unit_of_work(queue_depths: Iterable[int]) -> int:
    """The lowest MAXUMSGS that keeps a function on these queues in one unit of work for each queue (C3)."""
    longest = max(queue_depths, default=0)
    at_least(0, queue_depth=longest)
    if longest >= MAXUMSGS_MAX:
        raise OutOfRangeError(f"queue_depth {longest} is not valid: MAXUMSGS is {MAXUMSGS_MAX} at most")
    return longest + 1


@formula("mp16-ch1", "F-47", "1778-1782")
def staged_load(records: int, maxumsgs: int, messages_per_commit: int = COPY_MESSAGES_PER_COMMIT) -> StagedLoad:
    """The commits of a load by a temporary queue (C4)."""
    at_least(0, records=records)
    at_least(1, messages_per_commit=messages_per_commit)
    within(1, MAXUMSGS_MAX, maxumsgs=maxumsgs)
    return StagedLoad(-(-records // maxumsgs), -(-records // messages_per_commit))
