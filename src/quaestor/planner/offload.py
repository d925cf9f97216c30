"""CFLEVEL(5): which messages go to the shared message data sets, and how many a structure then carries.

Rules
  O1  A message over 63 KB is always offloaded.
  O2  A tier offloads what is larger than its size, headers included, once the structure is as full as its threshold.
      The paper says "larger than 4 KB" once and "4 KB or larger" once: a 4 KB message with its headers is larger.
  O3  A tier of 64 KB is off: no message that large is left for it.
  O4  Fullness is looked at before the put, in the fuller of the two pools: the put that crosses a threshold is whole.
  O5  An offloaded message keeps one entry and two elements: its headers and the first 140 bytes or so of its data.
  O6  Offload saves elements only.  Messages of six elements or fewer are bound by entries; for them the ratio must
      change as well (ALLOWAUTOALT(YES)); it does where that makes room for more.

Called by the planner's answers.  Calls bounds, source, structures.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from quaestor.planner.bounds import at_least, within
from quaestor.planner.source import formula
from quaestor.planner.structures import (
    ELEMENT_BYTES,
    ELEMENTS_OFFLOADED,
    HEADER_BYTES,
    LARGEST_WHOLE_BYTES,
    Pools,
    elements_per_message,
    stored_bytes,
)

EXTRACT = "mp16-ch2-3"

OFF_BYTES = 64 * 1024
SMDS_TB_MAX = 16
QUEUE_MANAGERS_PER_STRUCTURE = 31


@dataclass(frozen=True, slots=True)
class Tier:
    """One offload rule of a CFSTRUCT: OFFLDnTH percent full, OFFLDnSZ bytes."""

    threshold_percent: int
    over_bytes: int

    def __post_init__(self) -> None:
        within(0, 100, threshold_percent=self.threshold_percent)
        within(0, OFF_BYTES, over_bytes=self.over_bytes)

    def applies_to(self, bytes_with_headers: int) -> bool:
        """Whether the tier is on and the message larger than its size (O2, O3)."""
        return self.over_bytes < OFF_BYTES and bytes_with_headers > self.over_bytes


DEFAULT_TIERS = (Tier(70, 32 * 1024), Tier(80, 4 * 1024), Tier(90, 0))
NO_TIERS = (Tier(70, OFF_BYTES), Tier(80, OFF_BYTES), Tier(90, OFF_BYTES))


@dataclass(frozen=True, slots=True)
class TieredCapacity:
    """How many messages of one size a structure carries, whole and offloaded, and the data that leaves it."""

    whole: int
    offloaded: int
    smds_bytes: int

    @property
    def total(self) -> int:
        return self.whole + self.offloaded


@formula(EXTRACT, "A6 where offload begins", "2453-2457, 3146-3150")
def offload_threshold_percent(message_bytes: int, tiers: Sequence[Tier] = DEFAULT_TIERS) -> int | None:
    """How full the structure is when messages of this size begin to be offloaded; None: never (O1 to O3)."""
    at_least(0, message_bytes=message_bytes)
    if message_bytes > LARGEST_WHOLE_BYTES:
        return 0
    size = stored_bytes(message_bytes)
    return min((tier.threshold_percent for tier in tiers if tier.applies_to(size)), default=None)


@formula(EXTRACT, "A6 percent full [D]", "2459-2471, 2483")
def percent_full(used: Pools, total: Pools) -> float:
    """Fullness as the tiers see it: of the fuller pool (O4)."""
    at_least(1, entries=total.entries, elements=total.elements)
    return max(100 * used.entries / total.entries, 100 * used.elements / total.elements)


@formula(EXTRACT, "A6 the decision (CF-M15)", "2451-2457, 3136")
def is_offloaded(message_bytes: int, full_percent: float, tiers: Sequence[Tier] = DEFAULT_TIERS) -> bool:
    """Whether a message put now goes to the shared message data set (O1 to O4)."""
    within(0, 100, full_percent=full_percent)
    threshold = offload_threshold_percent(message_bytes, tiers)
    return threshold is not None and full_percent >= threshold


@formula(EXTRACT, "A6 capacity with tiers [D]", "2459-2471")
def tiered_capacity(
    pools: Pools, message_bytes: int, tiers: Sequence[Tier] = DEFAULT_TIERS, auto_alter: bool = False
) -> TieredCapacity:
    """Whole and offloaded messages of one size that fill a structure of these pools (O4 to O6)."""
    at_ratio = _at_ratio(pools, message_bytes, tiers)
    if not auto_alter:
        return at_ratio
    return max(at_ratio, _settled(pools, message_bytes, tiers), key=lambda capacity: capacity.total)


def _at_ratio(pools: Pools, message_bytes: int, tiers: Sequence[Tier]) -> TieredCapacity:
    """While the ratio stays as it is (O4, O5)."""
    elements = elements_per_message(message_bytes)
    threshold = offload_threshold_percent(message_bytes, tiers)
    fits_whole = min(pools.entries, pools.elements // elements)
    if threshold is None or (whole := _puts_to_reach(threshold, pools, elements)) > fits_whole:
        return TieredCapacity(fits_whole, 0, 0)  # full before any put finds the threshold reached
    elements_left = pools.elements - whole * elements
    offloaded = min(pools.entries - whole, elements_left // ELEMENTS_OFFLOADED)
    return TieredCapacity(whole, offloaded, smds_bytes_needed(offloaded, message_bytes))


def _settled(pools: Pools, message_bytes: int, tiers: Sequence[Tier]) -> TieredCapacity:
    """Once entries and elements are exchanged as the messages need them (O6)."""
    units, each = pools.entries + pools.elements, 1 + elements_per_message(message_bytes)
    threshold = offload_threshold_percent(message_bytes, tiers)
    whole = units // each if threshold is None else min(units // each, -(-threshold * units // (100 * each)))
    offloaded = 0 if threshold is None else (units - whole * each) // (1 + ELEMENTS_OFFLOADED)
    return TieredCapacity(whole, offloaded, smds_bytes_needed(offloaded, message_bytes))


def _puts_to_reach(threshold_percent: int, pools: Pools, elements: int) -> int:
    """Whole messages after which the next put finds the threshold reached (O4)."""
    by_elements = -(-threshold_percent * pools.elements // (100 * elements))
    by_entries = -(-threshold_percent * pools.entries // 100)
    return min(by_elements, by_entries)


@formula(EXTRACT, "A6 room in the data sets", "2471")
def smds_bytes_needed(offloaded_messages: int, message_bytes: int) -> int:
    """Data-set bytes for so many offloaded messages, about: the share that stays in the structure is not taken off."""
    at_least(0, offloaded_messages=offloaded_messages, message_bytes=message_bytes)
    return offloaded_messages * message_bytes


@formula(EXTRACT, "A6 data kept in the structure [D]", "3136")
def data_kept_bytes() -> int:
    """Bytes of an offloaded message's data that its two elements still hold (the paper says about 130)."""
    return ELEMENTS_OFFLOADED * ELEMENT_BYTES - HEADER_BYTES


@formula(EXTRACT, "A6 largest data sets", "3138")
def smds_capacity_tb(queue_managers: int) -> int:
    """What the data sets of one structure hold: one of up to 16 TB for each queue manager connected."""
    within(0, QUEUE_MANAGERS_PER_STRUCTURE, queue_managers=queue_managers)
    return SMDS_TB_MAX * queue_managers
