"""A simulator's figures out of a measured hour: what SMF counted is what the model is played with.

Rules
  C1  CPU of a put and a get: accounting's CPU over its calls, all queues together whose CPU is known; of a commit
      likewise.
  C2  The log's I/O time is the mean of its one-page writes.  Log bytes of a message: what tasks logged, over the
      persistent messages they put and got, halves alike.
  C3  Arrivals are those of the hour; messages of a unit of work are puts over the commits of those who put.
  C4  What was not counted keeps the model's own figure, and `assumed` names it.
  C5  A shared queue was counted over all members that used it; this queue manager takes an equal part, as in a plan.

Called by the plan's commands.  Calls simulator, measurement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quaestor.planner.measurement import MeasuredQueue, Measurement
from quaestor.planner.simulator import Model
from quaestor.planner.source import OutOfRangeError


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A model from a measurement, and which of its figures were not measured (C4)."""

    model: Model
    assumed: tuple[str, ...]


def calibrated(measured: Measurement, **chosen: Any) -> Calibrated:
    """The hour as a model; `chosen` replaces what was measured (C1 to C4)."""
    queues = measured.queues
    puts = sum(each.part * each.valid_puts for each in queues)
    gets = sum(each.part * each.valid_destructive_gets for each in queues)
    if not puts:
        raise OutOfRangeError("the measured hour has no puts in its accounting: nothing to simulate")
    tasks = measured.tasks
    persistent = sum(
        each.part * each.persistent_share * (each.valid_puts + each.valid_destructive_gets) for each in queues
    )
    log_bytes = _over(tasks.get("log_bytes"), persistent)
    pages, read_us = measured.page_reads
    found = {
        "message_bytes": round(sum(each.part * each.put_bytes for each in queues) / puts),
        "persistent": 2 * persistent > puts + gets,
        "messages_per_commit": _per_commit(queues),
        "arrivals_per_s": puts / measured.seconds,
        "put_cpu_us": _mean(queues, "put_cpu_us", "valid_puts"),
        "get_cpu_us": _mean(queues, "get_cpu_us", "valid_destructive_gets"),
        "commit_cpu_us": _over(tasks.get("commit_cpu_us"), tasks.get("commits")),
        "log_io_ms": measured.log.io_s * 1000 if measured.log and measured.log.io_s else None,
        "current_io_times": measured.log.copies if measured.log else None,
        "put_log_bytes": log_bytes,
        "get_log_bytes": log_bytes,
        "buffers": max(measured.buffers.values(), default=None),
        "page_read_ms": read_us / pages / 1000 if pages else None,
    }
    taken = {name: value for name, value in found.items() if value is not None}
    missing = tuple(name for name, value in found.items() if value is None and name not in chosen)
    return Calibrated(Model(**{**taken, **chosen}), missing)


def _per_commit(queues: Sequence[MeasuredQueue]) -> int:
    puts = sum(each.valid_puts for each in queues if each.put_commits)
    commits = sum(each.put_commits or 0 for each in queues)
    return max(1, round(puts / commits)) if commits else 1


def _mean(queues: Sequence[MeasuredQueue], spent: str, calls: str) -> float | None:
    known = [each for each in queues if getattr(each, spent) is not None]
    return _over(sum(getattr(each, spent) for each in known), sum(getattr(each, calls) for each in known))


def _over(total: float | None, count: float | None) -> float | None:
    """Nothing where one of them was not counted, or nothing happened (C4)."""
    return total / count if total is not None and count else None
