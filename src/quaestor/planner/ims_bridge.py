"""IMS bridge: commit modes, transaction pipes, regions, and which of them holds the rate down.

Rules
  M1  One task for each bridge queue and queue manager gets requests and sends them to IMS: each has one TPIPE.
  M2  Commit mode 0 frees the region before the output is sent; commit mode 1 holds it to the end of the syncpoint.
  M3  Capacity is the least of regions / region time, TPIPEs x rate of one bridge task, and processors / CPU cost.
      Region time is not a constant: it was 526, 661 and 709 us for the same program in three runs.
  M4  What was measured belongs to 2084-303 and 1KB messages.

Called by the plan and by the advisor (IMS-1 to IMS-11).  Calls source, bounds, finding, hardware, ims_monitor.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.finding import Finding, alarms_first
from quaestor.planner.hardware import cost_us_per_transaction
from quaestor.planner.ims_monitor import (
    CHECKPOINT_MINUTES,
    RegionVerdict,
    checkpoints_too_often,
    region_verdict,
)
from quaestor.planner.source import Source, formula

EXTRACT = "mp16-ch4-11"


class CommitMode(Enum):
    """When IMS sends the output: after its commit, or before."""

    COMMIT_THEN_SEND = 0
    SEND_THEN_COMMIT = 1


COMMIT_STEPS: dict[CommitMode, tuple[str, ...]] = {
    CommitMode.COMMIT_THEN_SEND: (
        "bridge puts input on the TPIPE",
        "IMS acknowledges",
        "region gets, inserts, takes its syncpoint",
        "output queued on the TPIPE",
        "region free",
        "IMS sends output and asks for a response",
        "queue manager acknowledges",
        "output dequeued",
    ),
    CommitMode.SEND_THEN_COMMIT: (
        "bridge puts input on the TPIPE",
        "region gets and inserts",
        "syncpoint begins",
        "IMS sends output and asks for no response",
        "commit confirmed, syncpoint ends",
        "region free",
    ),
}
COMMIT_SOURCE = Source(EXTRACT, "9.3", "5679-5720")


def region_is_held_while_output_is_sent(mode: CommitMode) -> bool:
    """M2, read off the steps."""
    steps = COMMIT_STEPS[mode]
    sent = next(n for n, step in enumerate(steps) if step.startswith("IMS sends"))
    return steps.index("region free") > sent


@formula(EXTRACT, "9.7", "6147-6149")
def better_commit_mode(*, persistent: bool, spare_regions: bool) -> CommitMode:
    """Send-then-commit for persistent messages, since IMS logs less (6147-6149); else only with regions to spare."""
    return CommitMode.SEND_THEN_COMMIT if persistent or spare_regions else CommitMode.COMMIT_THEN_SEND


@dataclass(frozen=True, slots=True)
class BridgeRun:
    """A measured run on 2084-303: local queue, 2 regions, 6 requesters, non-persistent 1KB messages."""

    mode: CommitMode
    tpipes: int
    transactions_per_sec: int
    busy_percent: float
    cost_us_printed: int
    occupancy_percents: tuple[float, float]
    request_depth_high: int
    reply_depth_high: int
    processors: int = 3

    @property
    def cost_us(self) -> float:
        return cost_us_per_transaction(self.processors, self.busy_percent, self.transactions_per_sec)

    @property
    def region_us(self) -> float:
        return region_us_per_transaction(self.occupancy_percents, self.transactions_per_sec)


BRIDGE_RUNS_SOURCE = Source(EXTRACT, "9.6 ORACLE 65", "6011-6115")
BRIDGE_RUNS = (
    BridgeRun(CommitMode.COMMIT_THEN_SEND, 1, 2_700, 82.5, 917, (31.2, 29.9), 6, 1),
    BridgeRun(CommitMode.SEND_THEN_COMMIT, 1, 2_747, 87.0, 950, (72.3, 72.3), 6, 4),
    BridgeRun(CommitMode.COMMIT_THEN_SEND, 2, 2_852, 89.5, 941, (33.6, 34.0), 3, 2),
    BridgeRun(CommitMode.SEND_THEN_COMMIT, 2, 3_017, 92.57, 920, (99.7, 99.7), 3, 2),
)

PEAK_WITH_ONE_REGION = {CommitMode.SEND_THEN_COMMIT: 2_000, CommitMode.COMMIT_THEN_SEND: 2_750}
"""Transactions a second on 2084-303, local queue (ORACLE 55, lines 5716-5718)."""

WFI_RATE = {False: 75, True: 880}
"""Transactions a second of one requester on one shared queue, without and with WFI (ORACLE 54, line 5672)."""

UNUSED_SHARED_BRIDGE_QUEUE_COST_PERCENT = 1.0 / 100
UNUSED_SHARED_BRIDGE_QUEUE_WAKES_SEC = 10
TUNED_LOCAL_RATE_PER_SEC = 2_000
TUNED_LOCAL_GAIN_PERCENT = 35.0
MEASURED_SOURCE = Source(EXTRACT, "9.2, 9.7 ORACLE 53, 66", "5639, 6139")


@formula(EXTRACT, "9.7", "6011-6115")
def region_us_per_transaction(occupancy_percents: Sequence[float], transactions_per_sec: float) -> float:
    """Region time that one transaction takes: all regions' occupancy over the rate (M3)."""
    above(0, transactions_per_sec=transactions_per_sec)
    return 1e4 * sum(occupancy_percents) / transactions_per_sec


class Limit(Enum):
    """What holds the rate down, with what to add."""

    REGIONS = "message processing regions"
    BRIDGE_TASK = "bridge queues, or queue managers where the queue is shared"
    CPU = "processors"


@formula(EXTRACT, "9.7", "6117-6248")
def bridge_capacity_per_sec(
    *,
    regions: int,
    region_us: float,
    tpipes: int,
    bridge_task_rate_per_sec: float,
    processors: int,
    cost_us: float,
) -> tuple[float, Limit]:
    """The least of the three, and which it is (M3)."""
    at_least(1, regions=regions, tpipes=tpipes, processors=processors)
    above(0, region_us=region_us, bridge_task_rate_per_sec=bridge_task_rate_per_sec, cost_us=cost_us)
    rates = {
        Limit.REGIONS: regions * 1e6 / region_us,
        Limit.BRIDGE_TASK: tpipes * bridge_task_rate_per_sec,
        Limit.CPU: processors * 1e6 / cost_us,
    }
    limit = min(rates, key=lambda one: rates[one])
    return rates[limit], limit


@formula(EXTRACT, "15 question 23", "6117-6248")
def regions_needed(rate_per_sec: float, region_us: float, *, occupancy_percent_max: float = 90.0) -> int:
    at_least(0, rate_per_sec=rate_per_sec)
    above(0, region_us=region_us, occupancy_percent_max=occupancy_percent_max)
    within(0, 100, occupancy_percent_max=occupancy_percent_max)
    return max(1, math.ceil(rate_per_sec * region_us / 1e4 / occupancy_percent_max))


@formula(EXTRACT, "9.6", "6001-6003")
def tpipes_needed(rate_per_sec: float, bridge_task_rate_per_sec: float) -> int:
    at_least(0, rate_per_sec=rate_per_sec)
    above(0, bridge_task_rate_per_sec=bridge_task_rate_per_sec)
    return max(1, math.ceil(rate_per_sec / bridge_task_rate_per_sec))


@formula(EXTRACT, "9.1", "6196")
def tpipes(bridge_queues: int, queue_managers: int) -> int:
    """TPIPEs to one IMS: one for each bridge queue on each queue manager that serves it (M1)."""
    at_least(0, bridge_queues=bridge_queues)
    at_least(1, queue_managers=queue_managers)
    return bridge_queues * queue_managers


@formula(EXTRACT, "9.4, 9.6 IMS-6", "5722-5770, 6001-6071")
def limits_now(
    *,
    cpu_busy_percent: float,
    occupancy_percents: Sequence[float],
    request_depth_high: int,
    requesters_per_queue: int,
    cpu_full_percent: float = 97.0,
    depth_share_min: float = 0.5,
) -> tuple[Limit, ...]:
    """What limits a bridge now, from what was measured; empty where nothing of it does.

    The bridge task is the limit where neither CPU nor regions are and requests stand in the queue.  The cut-offs are
    ours: the papers show a depth of 6 with 6 requesters, and call 97.52 % busy near capacity.
    """
    within(0, 100, cpu_busy_percent=cpu_busy_percent)
    at_least(0, request_depth_high=request_depth_high)
    at_least(1, requesters_per_queue=requesters_per_queue)
    found = []
    if cpu_busy_percent >= cpu_full_percent:
        found.append(Limit.CPU)
    if region_verdict(occupancy_percents) is RegionVerdict.FULL:
        found.append(Limit.REGIONS)
    if not found and request_depth_high >= depth_share_min * requesters_per_queue:
        found.append(Limit.BRIDGE_TASK)
    return tuple(found)


CPLOG_RANGE = (1_000, 16_000_000)
CPLOG_DEFAULT = 500_000


@dataclass(frozen=True, slots=True)
class ImsSettings:
    """What was defined and what it led to, as far as it is known."""

    regions: int
    schedules: int
    qbuf: int
    buffer_waits: int = 0
    regions_without_work: int = 0
    checkpoint_minutes_avg: float | None = None
    cplog: int = CPLOG_DEFAULT
    parallel_instances_allowed: bool = True
    unused_shared_bridge_queues: int = 0
    online_log_waits: int = 0

    def __post_init__(self) -> None:
        at_least(1, regions=self.regions)
        at_least(0, schedules=self.schedules, qbuf=self.qbuf, buffer_waits=self.buffer_waits)
        within(0, self.regions, regions_without_work=self.regions_without_work)
        within(*CPLOG_RANGE, cplog=self.cplog)


@formula(EXTRACT, "9.2, 9.5 IMS-1..11", "5632-5674")
def settings_findings(ims: ImsSettings, *, schedules_per_region_high: float = 10.0) -> tuple[Finding, ...]:
    """Which settings the papers would change.  How many schedules are too many for a region is ours."""
    return alarms_first(_settings(ims, schedules_per_region_high))


def _settings(ims: ImsSettings, schedules_high: float) -> Iterator[Finding]:
    if ims.checkpoint_minutes_avg is not None and checkpoints_too_often(ims.checkpoint_minutes_avg):
        aim = "{:g} to {:g}".format(*CHECKPOINT_MINUTES)
        every = f"a checkpoint every {ims.checkpoint_minutes_avg:.2f} min, aim {aim}"
        yield Finding("IMS-1", True, "5636", f"{every}; CPLOG {ims.cplog} of at most {CPLOG_RANGE[1]}")
    if ims.buffer_waits or ims.qbuf < ims.regions:
        yield Finding("IMS-4", True, "5637", f"QBUF {ims.qbuf}, regions {ims.regions}, waits {ims.buffer_waits}")
    if ims.regions_without_work:
        yield Finding("IMS-5", True, "5641", f"{ims.regions_without_work} of {ims.regions} regions ran nothing")
    if ims.schedules > schedules_high * ims.regions:
        yield Finding("IMS-8", True, "5672", f"{ims.schedules} schedules in {ims.regions} regions")
    if ims.online_log_waits:
        yield Finding("IMS-9", True, "5638", f"{ims.online_log_waits} waits for an online log")
    if not ims.parallel_instances_allowed:
        yield Finding("IMS-10", True, "5648-5655", "PARLM NONE forbids more than one instance")
    if ims.unused_shared_bridge_queues:
        unused = ims.unused_shared_bridge_queues
        cost_percent = unused * UNUSED_SHARED_BRIDGE_QUEUE_COST_PERCENT
        yield Finding("IMS-11", False, "5639", f"{unused} unused bridge queues, about {cost_percent:.2g} %")


PRELOAD_MODULES = (
    "CSQACLST",
    "CSQAMLST",
    "CSQAPRH",
    "CSQAVICM",
    "CSQFSALM",
    "CSQQDEFV",
    "CSQQCONN",
    "CSQQDISC",
    "CSQQTERM",
    "CSQQINIT",
    "CSQQBACK",
    "CSQQCMMT",
    "CSQQESMT",
    "CSQQPREP",
    "CSQQTTHD",
    "CSQQWAIT",
    "CSQQNORM",
    "CSQQSSOF",
    "CSQQSSON",
    "CSQQRESV",
    "CSQQSNOP",
    "CSQQCMND",
    "CSQQCVER",
    "CSQQTMID",
    "CSQQTRGI",
    "CSQBAPPL",
)
PRELOAD_SOURCE = Source(EXTRACT, "9.2", "5663-5667")
"""Modules a region should preload (APP-7).  The last is printed CSQBAPPI; the stub's name is CSQBAPPL."""
