"""Duplexed structures: what the second copy costs in CPU, throughput, coupling-facility load and distance.

Rules
  D1  Nearly every MQ list operation is an update; browsing is not.  Duplexed updates are always asynchronous and as
      slow as the slowest link.
  D2  CSQ_ADMIN first: an application structure is duplexed only together with it.
  D3  The load that MQ causes doubles on the primary facility; the secondary carries nearly as much.
  D4  Every 10 km add 200 to 250 microseconds to a request.
  D5  Figures are those of one test bed (ICP and CFP to the primary, only CFP between the facilities); an unprinted
      combination of size and persistence is refused, not guessed.

Called by the planner's answers.  Calls bounds, coupling_facility, measured, source.
"""

from dataclasses import dataclass

from quaestor.planner.bounds import at_least, one_of
from quaestor.planner.coupling_facility import busy_limit_percent
from quaestor.planner.measured import MeasuredChange, Range
from quaestor.planner.source import OutOfRangeError, Source, formula

EXTRACT = "mp16-ch2-3"

US_PER_10_KM = Range(200, 250)
_ADMIN = Source(EXTRACT, "A8 ORACLE 19", "2665-2676")
_BOTH = Source(EXTRACT, "A8 ORACLE 20", "2684-2687")
_ADMIN_CPU_ICP, _ADMIN_CPU_CFP = Range(0, 30), Range(3, 8)
ADMIN_CF_LOAD_PERCENT = {1: 33, 63: 10}  # by KB, non-persistent: MQ-caused load when CSQ_ADMIN alone is duplexed
ICP_OVER_CFP_THROUGHPUT_PERCENT_MAX = 40  # 1 to 63 KB, non-persistent in syncpoint, CSQ_ADMIN duplexed

# keyed by link to the primary, persistence and message KB
DUPLEX_ADMIN = {
    ("ICP", False, 1): MeasuredChange("CSQ_ADMIN duplexed, 1 KB non-persistent", _ADMIN, _ADMIN_CPU_ICP, Range.at(-30)),
    ("ICP", False, 32): MeasuredChange(
        "CSQ_ADMIN duplexed, 32 KB non-persistent", _ADMIN, _ADMIN_CPU_ICP, Range.at(-20)
    ),
    ("ICP", True, 1): MeasuredChange("CSQ_ADMIN duplexed, 1 KB persistent", _ADMIN, _ADMIN_CPU_ICP, Range.at(-25)),
    ("ICP", True, 32): MeasuredChange("CSQ_ADMIN duplexed, 32 KB persistent", _ADMIN, _ADMIN_CPU_ICP, Range.at(-12)),
    ("CFP", False, 1): MeasuredChange("CSQ_ADMIN duplexed over CFP, 1 KB", _ADMIN, _ADMIN_CPU_CFP, Range.at(-18)),
    ("CFP", False, 63): MeasuredChange("CSQ_ADMIN duplexed over CFP, 63 KB", _ADMIN, _ADMIN_CPU_CFP, Range.at(-18)),
}
# keyed by persistence and message KB
DUPLEX_BOTH = {
    (True, 1): MeasuredChange("both duplexed, 1 KB persistent", _BOTH, Range.at(15), Range.at(0)),
    (False, 1): MeasuredChange("both duplexed, 1 KB non-persistent", _BOTH, Range.at(30), Range.at(-40)),
    (False, 10): MeasuredChange("both duplexed, 10 KB non-persistent", _BOTH, None, Range.at(-50)),
    (True, 32): MeasuredChange("both duplexed, 32 KB persistent", _BOTH, Range.at(12), Range(-10, 0)),
    (False, 32): MeasuredChange("both duplexed, 32 KB non-persistent", _BOTH, Range.at(25), None),
}


@dataclass(frozen=True, slots=True)
class DuplexedLoad:
    """Busy percent of both coupling facilities once MQ's structures are duplexed."""

    primary_percent: float
    secondary_percent: float


@formula(EXTRACT, "A8 duplexing CSQ_ADMIN", "2665-2676")
def duplex_admin_change(persistent: bool, message_kb: int, link_to_primary: str = "ICP") -> MeasuredChange:
    """What duplexing CSQ_ADMIN alone does to in-syncpoint work (D5)."""
    one_of(("ICP", "CFP"), link_to_primary=link_to_primary)
    valid = [(p, kb) for link, p, kb in DUPLEX_ADMIN if link == link_to_primary]
    _refuse_unprinted(persistent, message_kb, valid)
    return DUPLEX_ADMIN[link_to_primary, persistent, message_kb]


@formula(EXTRACT, "A8 duplexing both structures", "2680-2687")
def duplex_both_change(persistent: bool, message_kb: int) -> MeasuredChange:
    """What duplexing CSQ_ADMIN and the application structure does (D2, D5)."""
    _refuse_unprinted(persistent, message_kb, list(DUPLEX_BOTH))
    return DUPLEX_BOTH[persistent, message_kb]


def _refuse_unprinted(persistent: bool, message_kb: int, valid: list[tuple[bool, int]]) -> None:
    if (persistent, message_kb) not in valid:
        known = ", ".join(f"{kb} KB {'persistent' if p else 'non-persistent'}" for p, kb in valid)
        asked = f"{message_kb} KB {'persistent' if persistent else 'non-persistent'}"
        raise OutOfRangeError(f"message {asked} was not measured duplexed; valid are {known}")


@formula(EXTRACT, "A8 CF load when duplexed", "2611, 2640-2642")
def duplexed_load(
    mq_update_percent: float, other_primary_percent: float = 0.0, other_secondary_percent: float = 0.0
) -> DuplexedLoad:
    """Busy percent of both facilities, from what MQ updates cause today and what others cause (D3)."""
    at_least(
        0,
        mq_update_percent=mq_update_percent,
        other_primary_percent=other_primary_percent,
        other_secondary_percent=other_secondary_percent,
    )
    doubled = 2 * mq_update_percent
    return DuplexedLoad(
        primary_percent=doubled + other_primary_percent,
        secondary_percent=doubled + other_secondary_percent,
    )


@formula(EXTRACT, "A8 room for duplexing (CF-R29)", "2611, 2642, 2714")
def duplexing_fits(load: DuplexedLoad, primary_engines: int, secondary_engines: int) -> bool:
    """Whether neither facility passes the busy percent that calls for another engine."""
    return load.primary_percent <= busy_limit_percent(primary_engines) and (
        load.secondary_percent <= busy_limit_percent(secondary_engines)
    )


@formula(EXTRACT, "A8 distance", "2633")
def distance_us(km: float) -> Range:
    """What the distance between the facilities adds to each request (D4)."""
    at_least(0, km=km)
    return US_PER_10_KM.times(km / 10)
