"""Machines: what a CPU cost measured on one becomes on another.

Rules
  H1  Cost scales with the inverse of the power of one processor: ITR ratio divided by the number of processors.
  H2  The average workload column is the one for messaging.
  H3  The conversion estimates CPU cost only.  Throughput is bounded by more: buffer pool I/O, log, network, programs.

Called by the plan, by queues and by ims_bridge.  Calls source, bounds.
"""

from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, one_of
from quaestor.planner.source import Source, formula

EXTRACT = "mp16-ch4-11"


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor of the Large Systems Performance Reference: its relative power, by kind of workload."""

    name: str
    processors: int
    itr_average: float
    source: Source
    itr_low: float | None = None
    itr_high: float | None = None
    pci: int | None = None
    msu: int | None = None

    def __post_init__(self) -> None:
        at_least(1, processors=self.processors)
        above(0, itr_average=self.itr_average)

    @property
    def itr_per_processor(self) -> float:
        return self.itr_average / self.processors


_WORKED = Source(EXTRACT, "10 ORACLE 67", "6260-6269")
_LSPR = Source(EXTRACT, "10", "6330-6332")
MACHINES = {
    machine.name: machine
    for machine in (
        Machine("2094-704", 4, 3.79, _WORKED),
        Machine("2097-703", 3, 4.41, _LSPR, 4.7, 3.95, 2_468, 312),
        Machine("2817-703", 3, 5.92, _LSPR, 6.13, 5.46, 3_311, 408),
    )
}
"""Ratios of z/OS V1R11.  Other machines: build a `Machine` from IBM's published table."""


def machine(name: str) -> Machine:
    one_of(MACHINES, machine=name)
    return MACHINES[name]


@formula(EXTRACT, "10 ORACLE 67", "6258-6269")
def cost_factor(source: Machine, target: Machine) -> float:
    """What a cost on `source` is multiplied by on `target` (H1, H2)."""
    return source.itr_per_processor / target.itr_per_processor


@formula(EXTRACT, "10 ORACLE 67", "6258-6269")
def convert_cost_us(cost_us: float, source: Machine, target: Machine) -> float:
    at_least(0, cost_us=cost_us)
    return cost_us * cost_factor(source, target)


@formula(EXTRACT, "10 ORACLE 68", "6272")
def cpu_busy_percent(cost_ms_per_sec: float, processors: int) -> float:
    """How busy a machine is with so many CPU milliseconds in each second."""
    at_least(0, cost_ms_per_sec=cost_ms_per_sec)
    at_least(1, processors=processors)
    return 100 * cost_ms_per_sec / (processors * 1_000)


def processors_busy(rate_per_sec: float, cost_us: float) -> float:
    """Processors kept busy by a rate of work of this cost."""
    at_least(0, rate_per_sec=rate_per_sec, cost_us=cost_us)
    return rate_per_sec * cost_us / 1e6


@formula(EXTRACT, "9.6 ORACLE 65", "6011-6115")
def cost_us_per_transaction(processors: int, busy_percent: float, transactions_per_sec: float) -> float:
    """CPU cost of a transaction from how busy the machine was; whole system, so more than its address spaces add up to.

    The inverse of `processors_busy`.
    """
    at_least(1, processors=processors)
    at_least(0, busy_percent=busy_percent)
    above(0, transactions_per_sec=transactions_per_sec)
    return processors * busy_percent / 100 * 1e6 / transactions_per_sec


@dataclass(frozen=True, slots=True)
class Move:
    """A measured move from 2097-703 to 2817-703, non-persistent 32KB messages, CPU cost of a transaction."""

    syncpoint: bool
    faster_percent: tuple[float, float]
    before_us: float
    after_us: float


Z10_TO_Z196 = (Move(False, (65, 100), 110, 60), Move(True, (60, 70), 290, 170))
Z10_TO_Z196_SOURCE = Source(EXTRACT, "10 ORACLE 69", "6334-6364")
