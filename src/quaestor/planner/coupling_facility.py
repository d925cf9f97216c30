"""The coupling facility itself: links, service time, engines, and what the size of the group costs.

Rules
  F1  Of several links the fastest that reaches is used.  A synchronous call is one very long instruction: the slower
      the link, the more CPU it costs.
  F2  One engine: another is due above 30% busy.  Several: above 60%.
  F3  As the facility fills, requests turn asynchronous and wait for hundreds of microseconds: the mean grows far faster
      than the busy percent.
  F4  A unit of recovery over queues of two structures pays for it; outside syncpoint nothing is paid.
  F5  Idle queue managers cost nothing that counts (IMS bridge queues are the exception: idle members serve them too).
  F6  Every figure for shared queues has a wider error than one for private queues; nothing here hides that.

Called by the planner's answers, duplexing.  Calls bounds, channels, measured, source.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from quaestor.planner.bounds import above, at_least, one_of, within
from quaestor.planner.channels import PRACTICAL_CHANNELS
from quaestor.planner.measured import MeasuredChange, Range
from quaestor.planner.source import OutOfRangeError, Source, Table, formula

EXTRACT = "mp16-ch2-3"


@dataclass(frozen=True, slots=True)
class CfLink:
    """One kind of coupling link over one stretch of distance."""

    kind: str
    name: str
    mb_per_s: float
    from_m: float
    to_m: float
    source: Source


_LINK_SOURCE = Source(EXTRACT, "A1 links", "2295-2302")
LINKS = (
    CfLink("ICP", "Internal CF Peer, z13", 8500, 0, 0, _LINK_SOURCE),
    CfLink("CS5", "Coupling Short distance 5, z13", 6000, 0, 70, _LINK_SOURCE),
    CfLink("PSIFB 12x IFB3", "Parallel Sysplex InfiniBand, z13", 5000, 0, 150, _LINK_SOURCE),
    CfLink("CS5", "Coupling Short distance 5, z13", 3700, 70, 150, _LINK_SOURCE),
    CfLink("CBP", "Integrated Cluster Bus, up to z10", 1500, 0, 7, _LINK_SOURCE),  # 10 m less 3 m of routing
    CfLink("PSIFB 12x IFB", "Parallel Sysplex InfiniBand, z13", 1000, 0, 150, _LINK_SOURCE),
    CfLink("CFP", "CF Peer, InterSystem Channel-3", 200, 0, 100_000, _LINK_SOURCE),  # 20 km without a repeater
)
LINK_KINDS = tuple(dict.fromkeys(link.kind for link in LINKS))

BUSY_LIMIT_PERCENT_ONE_ENGINE = 30
BUSY_LIMIT_PERCENT = 60
SERVICE_TIME = Table(
    "service time of synchronous requests by CF busy percent",
    Source(EXTRACT, "A9 ORACLE 22", "2709-2710"),
    ("busy_percent", "synchronous_us"),
    ((20, 4.4), (70, 9.9)),
)
ASYNCHRONOUS_US_AT_70_PERCENT = 600.0

_CROSSING = Source(EXTRACT, "A2 ORACLE 1", "2332")
CROSSING_STRUCTURES = {
    False: MeasuredChange("non-persistent, two structures in syncpoint", _CROSSING, Range.at(6), Range.at(-5)),
    True: MeasuredChange("persistent, two structures in syncpoint", _CROSSING, Range.at(12), Range.at(-2)),
}
IDLE_MEMBERS = Table(
    "transactions/s of 2 busy queue managers by members of the group",
    Source(EXTRACT, "A16 ORACLE 42", "3216"),
    ("members", "transactions_per_s"),
    ((2, 1536), (12, 1526)),
)


@formula(EXTRACT, "A1 fastest link (CF-M2)", "2295-2304")
def fastest_link(kinds: Iterable[str], distance_m: float) -> CfLink:
    """Of the links there are, the fastest that reaches so far (F1)."""
    at_least(0, distance_m=distance_m)
    present = set(kinds)
    for kind in sorted(present):
        one_of(LINK_KINDS, link_kind=kind)
    reaching = [link for link in LINKS if link.kind in present and link.from_m <= distance_m <= link.to_m]
    if not reaching:
        reach = {kind: max(link.to_m for link in LINKS if link.kind == kind) for kind in sorted(present)}
        far = ", ".join(f"{kind} 0 to {to_m:g}" for kind, to_m in reach.items()) or "no link is present"
        raise OutOfRangeError(f"distance_m {distance_m:g} is outside the reach of every link: {far}")
    return max(reaching, key=lambda link: link.mb_per_s)


@formula(EXTRACT, "A9 busy limit (CF-R32, CF-R33)", "2714")
def busy_limit_percent(engines: int) -> int:
    """CF busy percent above which another engine is due (F2)."""
    at_least(1, engines=engines)
    return BUSY_LIMIT_PERCENT_ONE_ENGINE if engines == 1 else BUSY_LIMIT_PERCENT


@formula(EXTRACT, "A9 engines needed [D]", "2714")
def engines_needed(engines: int, busy_percent: float) -> int:
    """The fewest engines that carry the same load within the limit; load is engines times busy percent."""
    at_least(1, engines=engines)
    at_least(0, busy_percent=busy_percent)
    load = engines * busy_percent
    if load <= BUSY_LIMIT_PERCENT_ONE_ENGINE:
        return 1
    return max(2, ceil(load / BUSY_LIMIT_PERCENT))


@formula(EXTRACT, "A9 mean service time [D]", "2705-2710")
def mean_service_us(busy_percent: float, asynchronous_share: float = 0.0) -> float:
    """Mean service time between the two measured points, with so large a share turned asynchronous (F3)."""
    within(0, 1, asynchronous_share=asynchronous_share)
    synchronous = SERVICE_TIME.between(busy_percent, "synchronous_us")
    return synchronous + asynchronous_share * (ASYNCHRONOUS_US_AT_70_PERCENT - synchronous)


@formula(EXTRACT, "0.1, A1 mean call time (CF-R1) [D]", "2306-2314")
def mean_call_us(elapsed_us: float, calls: int) -> float:
    """Mean time of a kind of call in an interval: QESTSSTC / QESTCSEC, or QESTMSTC / QESTCMEC; 0 without calls."""
    at_least(0, calls=calls, elapsed_us=elapsed_us)
    return elapsed_us / calls if calls else 0.0


@formula(EXTRACT, "A2 crossing structures (CF-R3)", "2330-2332")
def crossing_structures(persistent: bool, in_syncpoint: bool = True) -> MeasuredChange:
    """What a unit of recovery over two structures costs against one (F4)."""
    if not in_syncpoint:
        nothing = Source(EXTRACT, "A2", "2330")
        return MeasuredChange("two structures out of syncpoint", nothing, Range.at(0), Range.at(0))
    return CROSSING_STRUCTURES[persistent]


@formula(EXTRACT, "A16 persistent throughput limit", "3237")
def group_log_mb_per_s(log_mb_per_s: Iterable[float]) -> float:
    """The group's limit for persistent messages: the log bandwidths together."""
    rates = list(log_mb_per_s)
    for rate in rates:
        at_least(0, log_mb_per_s=rate)
    return sum(rates)


@formula(EXTRACT, "A16 another queue manager (CF-R55)", "3204-3205")
def queue_managers_needed(
    log_mb_per_s: float, log_mb_per_s_each: float, channels: int = 0, channels_each: int = PRACTICAL_CHANNELS
) -> int:
    """Members that carry this log rate and these channels; only those two call for another."""
    at_least(0, log_mb_per_s=log_mb_per_s, channels=channels)
    above(0, log_mb_per_s_each=log_mb_per_s_each, channels_each=channels_each)
    for_log = log_mb_per_s / log_mb_per_s_each
    for_channels = channels / channels_each
    return max(1, ceil(for_log), ceil(for_channels))
