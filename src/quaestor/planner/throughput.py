"""Persistent message throughput: what the log's data rate allows, and what waiting for log forces costs.

Rules
  T1  The log's sustainable data rate is the ceiling; where response time matters, plan on half of it [4206].
  T2  A one-phase commit waits for one log force, a two-phase commit for two, and out of syncpoint each call for one.
      Units without persistent messages wait for none.
  T3  One instance is bound by its forces, so throughput needs many; strict order allows one alone.
  T4  Units of work with as much log data give about the same throughput.

The sustainable rate is an argument: its table belongs to the DASD chapter.
Called by whoever plans throughput.  Calls log_rate, source, bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import ceil

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.log_rate import HEADER_BYTES, put_and_get_log_bytes
from quaestor.planner.source import OutOfRangeError, formula


class Ending(Enum):
    """How a unit of work ends (T2)."""

    OUT_OF_SYNCPOINT = "out of syncpoint"
    ONE_PHASE = "one-phase commit"
    TWO_PHASE = "two-phase commit"


@dataclass(frozen=True, slots=True)
class UnitOfWork:
    """The persistent calls of one unit of work, and how it ends."""

    ending: Ending
    puts: int = 0
    gets: int = 0

    @property
    def calls(self) -> int:
        return self.puts + self.gets

    @property
    def forces(self) -> int:
        if not self.calls:
            return 0
        match self.ending:
            case Ending.OUT_OF_SYNCPOINT:
                return self.calls
            case Ending.ONE_PHASE:
                return 1
            case Ending.TWO_PHASE:
                return 2


@formula("mp16-ch1", "F-13a", "721")
def messages_per_s_max(sustainable_bytes_per_s: float, log_bytes_per_message: float, share: float = 1.0) -> int:
    """Whole persistent messages a second that the log can take; `share` 0.5 where response time matters (T1)."""
    at_least(0, sustainable_bytes_per_s=sustainable_bytes_per_s)
    above(0, log_bytes_per_message=log_bytes_per_message)
    within(0, 1, share=share)
    return int(sustainable_bytes_per_s * share // log_bytes_per_message)


@formula("mp16-ch1", "F-51", "2019-2028")
def log_forces(flow: Sequence[UnitOfWork]) -> int:
    """Log forces that all units of work of a flow wait for (T2)."""
    return sum(unit.forces for unit in flow)


@formula("mp16-ch1", "F-51", "2019-2028")
def log_forces_per_call(flow: Sequence[UnitOfWork]) -> float:
    """Average log forces for each persistent put and get of a flow."""
    calls = sum(unit.calls for unit in flow)
    if calls == 0:
        raise OutOfRangeError("flow has 0 persistent calls: 1 or more")
    return log_forces(flow) / calls


@formula("mp16-ch1", "F-52", "2029-2030")
def instance_units_per_s_max(forces_per_unit: int, log_write_s: float, other_s: float = 0.0) -> float:
    """Units of work a second that one instance can reach, waiting for each force in turn (T3, our arithmetic)."""
    at_least(0, other_s=other_s)
    at_least(1, forces_per_unit=forces_per_unit)
    above(0, log_write_s=log_write_s)
    return 1 / (forces_per_unit * log_write_s + other_s)


@formula("mp16-ch1", "F-52", "2029-2030")
def instances_needed(
    units_per_s: float, forces_per_unit: int, log_write_s: float, other_s: float = 0.0, *, strict_order: bool = False
) -> int:
    """Instances that reach a rate of units of work; with strict order, more than one is refused (T3)."""
    at_least(0, units_per_s=units_per_s)
    each_per_s = instance_units_per_s_max(forces_per_unit, log_write_s, other_s)
    needed = max(1, ceil(units_per_s / each_per_s))
    if strict_order and needed > 1:
        raise OutOfRangeError(f"units_per_s {units_per_s:g} is not valid in strict order: at most {each_per_s:g}")
    return needed


@formula("mp16-ch1", "F-53", "2036")
def unit_of_work_log_bytes(messages: int, user_bytes: int, header_bytes: int = HEADER_BYTES) -> int:
    """Log of a unit of work of equal messages put and got, by which units compare (T4)."""
    at_least(0, messages=messages)
    return messages * put_and_get_log_bytes(user_bytes, header_bytes)


@formula("mp16-ch1", "F-53", "2036")
def messages_with_as_much_log(small_user_bytes: int, large_user_bytes: int, header_bytes: int = HEADER_BYTES) -> float:
    """How many small messages in one unit of work log as much as one large message."""
    large_bytes = put_and_get_log_bytes(large_user_bytes, header_bytes)
    return large_bytes / put_and_get_log_bytes(small_user_bytes, header_bytes)
