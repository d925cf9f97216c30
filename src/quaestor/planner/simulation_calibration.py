"""A simulator's figures out of a measured hour: what SMF counted is what the model is played with.

Rules
  C1  CPU of a put and a get: accounting's CPU over its calls, all queues together; of a commit likewise.
  C2  The log's I/O time is the mean of its one-page writes.  Log bytes of a message: what tasks logged, over the
      persistent messages they put and got, halves alike.
  C3  Arrivals are those of the hour; messages of a unit of work are puts over the commits of those who put.
  C4  What was not counted keeps the model's own figure, and `assumed` names it.

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
    puts = sum(each.valid_puts for each in queues)
    gets = sum(each.valid_destructive_gets for each in queues)
    if not puts:
        raise OutOfRangeError("the measured hour has no puts in its accounting: nothing to simulate")
    tasks = {name: value or 0 for name, value in measured.tasks.items()}
    persistent = sum(each.persistent_share * (each.valid_puts + each.valid_destructive_gets) for each in queues)
    log_bytes = tasks.get("log_bytes", 0) / persistent if persistent else None
    pages, read_us = measured.page_reads
    found = {
        "message_bytes": round(sum(each.put_bytes for each in queues) / puts),
        "persistent": 2 * persistent > puts + gets,
        "messages_per_commit": _per_commit(queues),
        "arrivals_per_s": puts / measured.seconds,
        "put_cpu_us": _mean(queues, "put_cpu_us", puts),
        "get_cpu_us": _mean(queues, "get_cpu_us", gets),
        "commit_cpu_us": tasks["commit_cpu_us"] / tasks["commits"] if tasks.get("commits") else None,
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


def _mean(queues: Sequence[MeasuredQueue], name: str, calls: int) -> float | None:
    known = [spent for each in queues if (spent := getattr(each, name)) is not None]
    return sum(known) / calls if known and calls else None
