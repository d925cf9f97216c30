"""Application structures: what a message takes in one, how many fit, how large one must be.

A list structure holds two pools, entries and elements of 256 bytes.  A message takes one entry and as many elements
as its data and headers fill; the structure is full when either pool is.

Rules
  S1  "Message size" is user data and every header except the MQMD; 372 bytes of headers come on top, 72 if grouped.
  S2  A message over 63 KB (64,512 bytes), or offloaded, leaves one entry and two elements in the structure.
  S3  With ALLOWAUTOALT(NO) the pools stay at six elements to one entry; with (YES) they settle to what the messages
      use, and then entries and elements are exchangeable 256-byte units.
  S4  Two models, never mixed: the paper's sizing algorithm (bytes, with 32% on top), and the model of two pools that
      reproduces its table of a 0.5 GB structure.  The algorithm promises up to 14% more than the table when the ratio
      is fixed, so `messages_in_structure` uses the pools, and a structure of fixed ratio is as large as both want it.
  S5  From CFCC level 15 on the first 5 MB or so hold no messages.  Linear scaling from the 0.5 GB table to other sizes
      is an assumption; below 16 MB neither model may be trusted, and `is_small` says so.

Called by offload, storage_class_memory and the planner's answers.  Calls bounds, source.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from quaestor.planner.bounds import above, at_least, one_of
from quaestor.planner.source import Source, Table, formula

EXTRACT = "mp16-ch2-3"

ELEMENT_BYTES = 256
ENTRY_BYTES = 256
HEADER_BYTES = 372  # implementation headers with the MQMD version 1
MQMDE_BYTES = 72  # a grouped message
SMALLEST_ROUNDED_BYTES = 1536  # six elements: what the first entry's share is worth
LARGEST_WHOLE_BYTES = 64_512  # 63 KB; a larger message's data lies in Db2 or a shared message data set
ELEMENTS_PER_ENTRY = 6
ELEMENTS_OFFLOADED = 2
LARGE_MESSAGE_BYTES = 2048  # planned per message over 63 KB in a mixed population
LARGE_MESSAGE_ALONE_BYTES = 1024  # per message when all are over 63 KB and the ratio has settled
SMALL_STRUCTURE_KB = 16 * 1024
HALF_GB_KB = 512 * 1024  # the paper does not say whether its 0.5 GB is 524,288 KB or the 500,000 KB of its sample
FIXED_OVERHEAD_KB = 5 * 1024  # CFCC level 15 against 14
CFCC_LEVELS_MEASURED = (14, 15, 17, 18, 19, 20, 21, 22)

MESSAGES_IN_HALF_GB = Table(
    "messages in a 0.5 GB structure, ALLOWAUTOALT(NO)",
    Source(EXTRACT, "A5 table", "2433-2441"),
    ("message_bytes", "cfcc_14_15", "cfcc_17_22"),
    (
        (1164, 241_000, 230_000),
        (2048, 144_800, 138_000),
        (4096, 85_000, 76_700),  # the first figure does not fit its column: the pools give 80,333
        (8192, 42_500, 40_600),
        (16_384, 22_000, 20_900),
        (32_768, 11_100, 10_600),
        (64_512, 5_700, 5_500),
    ),
)


@dataclass(frozen=True, slots=True)
class Population:
    """So many messages of one size: what a structure must hold at most."""

    message_bytes: int
    messages: int
    grouped: bool = False

    @property
    def is_large(self) -> bool:
        return self.message_bytes > LARGEST_WHOLE_BYTES


@dataclass(frozen=True, slots=True)
class Pools:
    """Entries and elements: what a structure has, or what messages take of it."""

    entries: int
    elements: int


@formula(EXTRACT, "A5 stored form (CF-M14)", "2374-2376")
def stored_bytes(message_bytes: int, grouped: bool = False) -> int:
    """Bytes of a message with the headers it is stored with (S1)."""
    at_least(0, message_bytes=message_bytes)
    return message_bytes + HEADER_BYTES + (MQMDE_BYTES if grouped else 0)


@formula(EXTRACT, "A5 elements per message", "2485")
def elements_per_message(message_bytes: int, grouped: bool = False) -> int:
    """Elements a message takes beside its one entry; two when its data lies elsewhere (S2)."""
    stored = stored_bytes(message_bytes, grouped)
    return ELEMENTS_OFFLOADED if message_bytes > LARGEST_WHOLE_BYTES else ceil(stored / ELEMENT_BYTES)


def bytes_held(message_bytes: int, grouped: bool = False) -> int:
    """What the entry and the elements of one message take of a structure (S2)."""
    return ENTRY_BYTES + ELEMENT_BYTES * elements_per_message(message_bytes, grouped)


@formula(EXTRACT, "A5 entries and elements in use", "2495-2501")
def pools_used(populations: Iterable[Population]) -> Pools:
    """What these messages take of both pools."""
    held = tuple(populations)
    return Pools(
        entries=sum(p.messages for p in held),
        elements=sum(p.messages * elements_per_message(p.message_bytes, p.grouped) for p in held),
    )


@formula(EXTRACT, "A5 which pool runs out", "2503-2505")
def pool_exhausted_first(message_bytes: int, elements_per_entry: float = ELEMENTS_PER_ENTRY) -> str:
    """Which pool runs out when only messages of this size are added: "elements", "entries", or "both" at once."""
    above(0, elements_per_entry=elements_per_entry)
    elements = elements_per_message(message_bytes)
    if elements == elements_per_entry:
        return "both"
    return "elements" if elements > elements_per_entry else "entries"


@formula(EXTRACT, "A5 largest message at the minimum", "2377, 2435")
def largest_minimum_message_bytes(grouped: bool = False) -> int:
    """The largest message that still costs the minimum of 1536 bytes."""
    return SMALLEST_ROUNDED_BYTES - stored_bytes(0, grouped)


@formula(EXTRACT, "A5 algorithm, bytes per message", "2373-2389")
def planned_bytes_per_message(message_bytes: int, grouped: bool = False, alone_and_settled: bool = False) -> int:
    """Bytes the algorithm counts for one message, before the uplift.

    `alone_and_settled`: every message of the structure is over 63 KB and ALLOWAUTOALT(YES) has settled the ratio.
    The two figures for large messages are the paper's final ones: it adds no uplift to them.
    """
    at_least(0, message_bytes=message_bytes)
    if message_bytes > LARGEST_WHOLE_BYTES:
        return LARGE_MESSAGE_ALONE_BYTES if alone_and_settled else LARGE_MESSAGE_BYTES
    elements = elements_per_message(message_bytes, grouped)
    return max(SMALLEST_ROUNDED_BYTES, elements * ELEMENT_BYTES) + ENTRY_BYTES


@formula(EXTRACT, "A5 algorithm, uplift", "2385")
def uplift_percent(cfcc_level: int) -> int:
    """What the algorithm adds for the fixed ratio and the coupling facility's own needs; too little below 16 MB."""
    at_least(1, cfcc_level=cfcc_level)
    return 32 if cfcc_level >= 12 else 25


@formula(EXTRACT, "A5 algorithm", "2370-2393")
def structure_size_kb(populations: Iterable[Population], cfcc_level: int, auto_alter: bool = False) -> int:
    """INITSIZE in KB that holds these messages, by the paper's algorithm."""
    held = tuple(populations)
    alone = auto_alter and bool(held) and all(p.is_large for p in held)
    whole = sum(p.messages * planned_bytes_per_message(p.message_bytes, p.grouped) for p in held if not p.is_large)
    large = sum(p.messages * planned_bytes_per_message(p.message_bytes, p.grouped, alone) for p in held if p.is_large)
    raised = whole * (100 + uplift_percent(cfcc_level))
    return -(-(raised + 100 * large) // (100 * 1024))


@formula(EXTRACT, "A5 messages that outlast an outage", "2380-2383")
def messages_for_outage(puts_per_s: Iterable[float], outage_s: float) -> int:
    """Messages that pile up over all queues of a structure while nobody gets them."""
    at_least(0, outage_s=outage_s)
    rates = list(puts_per_s)
    for rate in rates:
        at_least(0, puts_per_s=rate)
    return ceil(sum(rates) * outage_s)


@formula(EXTRACT, "A5 capacity by the algorithm [D]", "2370-2393")
def messages_by_algorithm(structure_kb: int, message_bytes: int, cfcc_level: int) -> int:
    """How many messages the algorithm lets into a structure; it promises too many when the ratio is fixed (S4)."""
    at_least(0, structure_kb=structure_kb)
    each = planned_bytes_per_message(message_bytes) * (100 + uplift_percent(cfcc_level))
    return structure_kb * 1024 * 100 // each


@formula(EXTRACT, "A5 the model behind the table [D]", "2421-2441")
def pools_allocated(structure_kb: int, cfcc_level: int, half_gb_kb: int = HALF_GB_KB) -> Pools:
    """Entries and elements carved out of a structure at six to one, scaled from the 0.5 GB table (S5)."""
    at_least(0, structure_kb=structure_kb)
    overhead_kb, span_kb, span_entries = _scale(cfcc_level, half_gb_kb)
    entries = max(0, structure_kb - overhead_kb) * span_entries // span_kb
    return Pools(entries, ELEMENTS_PER_ENTRY * entries)


def _scale(cfcc_level: int, half_gb_kb: int) -> tuple[int, int, int]:
    """KB that hold no messages, and the KB beyond them in which the table counts so many entries (S5)."""
    above(FIXED_OVERHEAD_KB, half_gb_kb=half_gb_kb)
    one_of(CFCC_LEVELS_MEASURED, cfcc_level=cfcc_level)
    entries = int(MESSAGES_IN_HALF_GB.exactly(1164, "cfcc_14_15" if cfcc_level <= 15 else "cfcc_17_22"))
    if cfcc_level == 14:
        return 0, half_gb_kb, entries
    if cfcc_level == 15:  # the table holds once the 5 MB are added
        return FIXED_OVERHEAD_KB, half_gb_kb, entries
    return FIXED_OVERHEAD_KB, half_gb_kb - FIXED_OVERHEAD_KB, entries  # measured with the 5 MB inside the 0.5 GB


@formula(EXTRACT, "A5 size at a fixed ratio [D]", "2421-2441, 2481-2485")
def structure_size_at_fixed_ratio_kb(populations: Iterable[Population], cfcc_level: int) -> int:
    """INITSIZE in KB whose pools hold these messages while the ratio stays (S3)."""
    used = pools_used(populations)
    overhead_kb, span_kb, span_entries = _scale(cfcc_level, HALF_GB_KB)
    entries = max(used.entries, -(-used.elements // ELEMENTS_PER_ENTRY))
    return overhead_kb - (-entries * span_kb // span_entries) if entries else 0


@formula(EXTRACT, "A5 capacity at a fixed ratio [D]", "2433-2441, 2481-2485")
def messages_at_fixed_ratio(pools: Pools, message_bytes: int, grouped: bool = False) -> int:
    """How many messages fit while the ratio stays: the pool that runs out first decides (S3)."""
    return min(pools.entries, pools.elements // elements_per_message(message_bytes, grouped))


@formula(EXTRACT, "A5 capacity once the ratio has settled [D]", "2465, 2481-2507")
def messages_at_settled_ratio(pools: Pools, message_bytes: int, grouped: bool = False) -> int:
    """How many messages fit when system-initiated alter has shaped the pools to them (S3)."""
    return (pools.entries + pools.elements) // (1 + elements_per_message(message_bytes, grouped))


@formula(EXTRACT, "A5 messages in a structure [D]", "2404-2441")
def messages_in_structure(structure_kb: int, message_bytes: int, cfcc_level: int, auto_alter: bool = False) -> int:
    """How many messages of one size fit, by the model of two pools (S4)."""
    pools = pools_allocated(structure_kb, cfcc_level)
    return (messages_at_settled_ratio if auto_alter else messages_at_fixed_ratio)(pools, message_bytes)


@formula(EXTRACT, "A5 where auto-alter pays (ORACLE 11c)", "2533")
def auto_alter_gains(message_bytes: int) -> bool:
    """Whether ALLOWAUTOALT(YES) makes room for considerably more messages of this size."""
    at_least(0, message_bytes=message_bytes)
    below_bytes = (ELEMENTS_PER_ENTRY - 1) * ELEMENT_BYTES - HEADER_BYTES
    return message_bytes < below_bytes or message_bytes > LARGEST_WHOLE_BYTES


@formula(EXTRACT, "A5 small structures (CF-R18)", "2385")
def is_small(structure_kb: int) -> bool:
    """Whether the structure is so small that the coupling facility's own share is unknown (S5)."""
    at_least(0, structure_kb=structure_kb)
    return structure_kb < SMALL_STRUCTURE_KB
