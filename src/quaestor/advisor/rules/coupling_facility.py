"""Rules of the coupling facility manager: structures (QEST) and shared message data sets (QESD).

Averages of calls follow F-36: calls include redrives, so a call that was redriven took at most the corrected time.
"""

import numpy as np

from quaestor.advisor.rows import Floats, ratio
from quaestor.advisor.rule import Columns, Cutoff, Row, Rule, Severity
from quaestor.planner.offload import tiered_capacity
from quaestor.planner.shared_access import REDRIVES_MAX, common_key_cost_factor
from quaestor.planner.structures import (
    ELEMENTS_PER_ENTRY,
    HEADER_BYTES,
    LARGEST_WHOLE_BYTES,
    Pools,
    auto_alter_gains,
)

ADMIN = "CSQ_ADMIN"  # holds no messages
SLOW_LINKS = ("CFP", "CBP")


def corrected_us(at: Columns) -> Floats:
    """The time of a call that was not redriven, at most (F-36)."""
    return ratio(at.single_elapsed_us, at.single_calls - at.single_redrives)


def slowdown(at: Columns) -> Floats:
    """Mean time of the slower kind of call over its usual one; there may have been calls of one kind only."""
    single = ratio(at.maybe("single_us"), at.maybe("single_us_usual"))
    multiple = ratio(at.maybe("multiple_us"), at.maybe("multiple_us_usual"))
    return np.fmax(single, multiple)


def used_share(at: Columns) -> Floats:
    """The share of entries or elements in use, whichever is higher."""
    return np.fmax(ratio(at.entries_high, at.entries_total), ratio(at.elements_high, at.maybe("elements_total")))


def _offload(row: Row) -> str:
    """What CFLEVEL(5) makes of the pools: as they are defined, or of a full structure, at six elements to an entry."""
    elements = row.elements_total or (row.elements_high if row.structure_full else 0)
    entries = row.entries_total or elements // ELEMENTS_PER_ENTRY
    if not elements:
        return ""
    size = max(0, int(row.bytes_per_entry) - HEADER_BYTES)
    capacity = tiered_capacity(Pools(int(entries), int(elements)), size)
    if capacity.total <= row.entries_high:
        return "entries ran out before elements: offload frees elements only, so the structure itself must grow"
    return f"with CFLEVEL(5) and SMDS the same structure holds {capacity.total:,} messages of {size:,} bytes"


def _common_key(row: Row) -> str:
    factor = common_key_cost_factor(int(row.entries_high))
    return f"a get by a key shared by all messages costs up to {factor:.0f} times one by a unique key" if factor else ""


SIZES = ("structure.entries_total", "structure.elements_total")
RULES = (
    Rule(
        id="mp1b/A-20",
        also=("mp16-ch2-3/CF-R6", "mp16-ch2-3/CF-R20", "mp16-ch2-3/CF-R21"),
        title="Structure full",
        table="structures",
        severity=Severity.ALERT,
        settings=SIZES,
        when=lambda at, cut: at.structure_full > cut.times,
        measure="structure_full",
        cutoffs=(Cutoff("times", 0, "times the structure was full in an interval"),),
        shows=("entries_high", "elements_high", "bytes_per_entry"),
        advice="The structure was full {structure_full} times, at {entries_high:,.0f} entries and"
        " {elements_high:,.0f} elements: puts ended with 2192. Transient or a trend? Alter it within SIZE,"
        " offload with CFLEVEL(5), let the ratio adapt; keep deep queues apart from critical ones, or cap"
        " them with MAXDEPTH.",
        command="SETXCF START,ALTER,STRNAME={queue_sharing_group}{structure},SIZE=nnnn",
        own_command="ALTER CFSTRUCT({structure}) SIZE(nnnn)",
        effect=_offload,
        lines="1792",
    ),
    Rule(
        id="mp16-ch2-3/CF-R12",
        title="Auto-alter came too late",
        table="structures",
        settings=("structure.allowautoalt",),
        when=lambda at, cut: (at.structure_full > cut.times) & (at.allowautoalt == "YES"),
        measure="structure_full",
        cutoffs=(Cutoff("times", 0, "times the structure was full in an interval"),),
        advice="The structure was full {structure_full} times with ALLOWAUTOALT(YES): the alter may begin minutes"
        " after FULLTHRESHOLD. Do not count on it for sudden backlogs; give it room, or a lower"
        " FULLTHRESHOLD.",
        lines="2531",
    ),
    Rule(
        id="mp16-ch2-3/CF-R21",
        title="A CFLEVEL below 5 cannot offload",
        table="structures",
        settings=("structure.cflevel", *SIZES),
        figures={"used_share": used_share},
        when=lambda at, cut: (at.cflevel < 5) & ((at.structure_full > 0) | (at.maybe("used_share") > cut.share_max)),
        measure="structure_full",
        cutoffs=(Cutoff("share_max", 0.7, "share in use at which CFLEVEL(5) begins to offload", ours=True),),
        shows=("entries_high", "elements_high", "bytes_per_entry"),
        advice="CFLEVEL({cflevel:.0f}), full {structure_full} times, {entries_high:,.0f} entries at the most."
        " CFLEVEL(5) with SMDS offloads messages in tiers before the structure fills.",
        command="ALTER CFSTRUCT({structure}) CFLEVEL(5) OFFLOAD(SMDS) DSGROUP('prefix.*.suffix')",
        effect=_offload,
        lines="2475-2478, 2827, 3228",
    ),
    Rule(
        id="mp1b/A-21",
        also=("mp16-ch2-3/CF-R1",),
        title="Calls to the structure take longer than usual",
        table="structures",
        figures={"slowdown": slowdown, "calls": lambda at: at.single_calls + at.multiple_calls},
        when=lambda at, cut: (at.slowdown > cut.times) & (at.calls > cut.calls_min),
        measure="slowdown",
        cutoffs=(
            Cutoff("times", 2, "mean time over the usual one", ours=True),
            Cutoff("calls_min", 20, "calls from which on an average means something", ours=True),
        ),
        shows=("single_us", "single_us_usual", "multiple_us", "multiple_us_usual"),
        advice="A single-entry call took {single_us:.0f} microseconds against {single_us_usual:.0f} usually, a"
        " multi-entry call {multiple_us:.0f} against {multiple_us_usual:.0f}: one of them {slowdown:.1f} times its"
        " usual time. Look at the load of the coupling facility, its engines and the links.",
        lines="1791, 1903",
    ),
    Rule(
        id="mp16-ch2-3/CF-R35",
        title="More requests become asynchronous than usual",
        table="cf_hours",
        figures={"rise": lambda at: at.asynchronous_share - at.asynchronous_share_usual},
        when=lambda at, cut: (at.rise > cut.rise_max) & (at.requests > cut.requests_min),
        measure="rise",
        cutoffs=(
            Cutoff("rise_max", 0.2, "asynchronous share above the usual one", ours=True),
            Cutoff("requests_min", 100, "requests in an hour from which on a share means something", ours=True),
        ),
        shows=("asynchronous_share", "asynchronous_share_usual"),
        advice="{asynchronous_share:.0%} of {requests:,.0f} requests at commit were asynchronous, usually"
        " {asynchronous_share_usual:.0%}: the coupling facility saturates, and a little more load lengthens"
        " response much.",
        lines="2705",
    ),
    Rule(
        id="mp16-ch2-3/CF-R1",
        also=("mp16-ch4-11/SHQ-1",),
        title="Calls are slow over a slow link",
        table="structures",
        settings=("cf_link",),
        figures={"slow_link": lambda at: np.isin(at.cf_link.astype(str), SLOW_LINKS).astype(np.float64)},
        when=lambda at, cut: (at.single_us > cut.us_max) & (at.single_calls > cut.calls_min) & (at.slow_link == 1),
        measure="single_us",
        cutoffs=(
            Cutoff("us_max", 50, "microseconds of a single-entry call", ours=True),
            Cutoff("calls_min", 20, "calls from which on an average means something", ours=True),
        ),
        advice="A single-entry call took {single_us:.0f} microseconds over {cf_link}. An ICP, CS5 or IFB link is"
        " faster and costs less CPU.",
        lines="2314, 4891",
    ),
    Rule(
        id="mp16-ch2-3/CF-R36",
        also=("mp1b/A-22",),
        title="Reads are repeated with a larger buffer",
        table="structures",
        figures={"redriven": lambda at: ratio(at.single_redrives, at.single_calls), "corrected_us": corrected_us},
        when=lambda at, cut: (
            (at.redriven > cut.share_max) & (at.single_redrives > cut.redrives_min) & (at.structure != ADMIN)
        ),
        measure="redriven",
        cutoffs=(
            Cutoff("share_max", 0.1, "redrives to single-entry calls", ours=True),
            Cutoff("redrives_min", 10, "redrives from which on it matters", ours=True),
        ),
        shows=("single_us",),
        advice="{single_redrives} of {single_calls} single-entry calls ({redriven:.0%}) were repeated: messages vary"
        " in size or straddle a class of buffers, such as 4,080 and 4,100 bytes. Pad them or keep sizes apart"
        " by queue. The call itself takes {single_us:.0f} to {corrected_us:.0f} microseconds.",
        lines="2780, 2807",
    ),
    Rule(
        id="mp1b/A-22",
        title="Some reads needed a second buffer",
        table="structures",
        severity=Severity.NOTE,
        figures={"corrected_us": corrected_us},
        when=lambda at, cut: at.single_redrives > cut.redrives,
        measure="single_redrives",
        cutoffs=(Cutoff("redrives", 0, "redrives in an interval"),),
        shows=("single_us", "bytes_per_entry"),
        advice="{single_redrives} reads found a message larger than their first buffer of 4 KB. The mean call of"
        " {single_us:.0f} microseconds includes them; without them it is {corrected_us:.0f} at most.",
        lines="1983-1985",
    ),
    Rule(
        id="mp16-ch2-3/CF-R37",
        also=("mp16-ch4-11/SHQ-4",),
        title="Searches for a common identifier are redriven",
        table="structures",
        figures={"redriven": lambda at: ratio(at.multiple_redrives, at.multiple_calls)},
        when=lambda at, cut: (
            (at.redriven > cut.share_max) & (at.multiple_redrives > cut.redrives_min) & (at.structure != ADMIN)
        ),
        measure="redriven",
        cutoffs=(
            Cutoff(
                "share_max", 0.1, f"redrives to multi-entry calls; {REDRIVES_MAX} for each get at the worst", ours=True
            ),
            Cutoff("redrives_min", 10, "redrives from which on it matters", ours=True),
        ),
        shows=("entries_high",),
        advice="{multiple_redrives} of {multiple_calls} multi-entry calls ({redriven:.0%}) were repeated: many"
        " messages of a deep queue share a MSGID or CORRELID. Make keys unique, or keep fewer than 50"
        " messages to a key.",
        effect=_common_key,
        lines="2741, 4951-4972",
    ),
    Rule(
        id="mp1b/A-23",
        title="The structure is nearly full",
        table="structures",
        settings=SIZES,
        figures={"used_share": used_share},
        when=lambda at, cut: at.used_share > cut.share_max,
        measure="used_share",
        cutoffs=(Cutoff("share_max", 0.8, "share of entries or elements in use", ours=True),),
        shows=("entries_high", "elements_high"),
        advice="{used_share:.0%} of the structure was in use: {entries_high:,.0f} entries of {entries_total:,.0f}."
        " Watch the trend and enlarge it in time.",
        lines="1792",
    ),
    Rule(
        id="mp16-ch2-3/CF-R16",
        title="Entries and elements do not fit each other",
        table="structures",
        settings=SIZES,
        figures={
            "entries_share": lambda at: ratio(at.entries_high, at.entries_total),
            "elements_share": lambda at: ratio(at.elements_high, at.elements_total),
            "apart": lambda at: abs(at.entries_share - at.elements_share),
        },
        when=lambda at, cut: (
            (np.fmax(at.entries_share, at.elements_share) > cut.share_min) & (at.apart > cut.apart_min)
        ),
        measure="apart",
        cutoffs=(
            Cutoff("share_min", 0.8, "share in use of the scarcer of the two", ours=True),
            Cutoff("apart_min", 0.4, "difference between the two shares", ours=True),
        ),
        advice="{entries_share:.0%} of the entries and {elements_share:.0%} of the elements are in use: the ratio"
        " does not fit the messages. ALLOWAUTOALT(YES) lets it adapt; keep MINSIZE at INITSIZE.",
        lines="2533",
    ),
    Rule(
        id="mp16-ch2-3/CF-R17",
        title="The messages' size does not suit the structure's ratio",
        table="structures",
        severity=Severity.NOTE,
        settings=("structure.allowautoalt",),
        figures={"message_bytes": lambda at: at.bytes_per_entry - HEADER_BYTES},
        when=lambda at, cut: (
            (at.allowautoalt == "NO")
            & (at.entries_high > cut.entries_min)
            & ((at.message_bytes < cut.bytes_low) | (at.message_bytes > cut.bytes_high))
        ),
        measure="entries_high",
        cutoffs=(
            Cutoff("entries_min", 1000, "entries from which on it matters", ours=True),
            Cutoff("bytes_low", 908, "smallest message that fills six elements"),
            Cutoff("bytes_high", LARGEST_WHOLE_BYTES, "largest message in a structure"),
        ),
        advice="Messages average about {message_bytes:,.0f} bytes with a fixed ratio of 6 elements to an entry:"
        " ALLOWAUTOALT(YES) gives considerably more messages.",
        effect=lambda row: "the ratio can adapt" if auto_alter_gains(max(0, int(row.message_bytes))) else "",
        lines="2533",
    ),
    Rule(
        id="mp16-ch2-3/CF-R24",
        title="The shared message data set is too small",
        table="QESD",
        figures={"free_share": lambda at: ratio(at.blocks_free_low, at.blocks_data)},
        when=lambda at, cut: (at.allocations_failed > 0) | (at.free_share < cut.share_min),
        grave=lambda at, _: at.allocations_failed > 0,
        measure="free_share",
        low_is_worse=True,
        cutoffs=(Cutoff("share_min", 0.05, "lowest share of free blocks", ours=True),),
        shows=("blocks_data", "messages_high"),
        advice="{allocations_failed} allocations failed; at the lowest {blocks_free_low} of {blocks_data} blocks"
        " were free. Offload needs room: expand the data set.",
        command="ALTER CFSTRUCT({structure}) DSEXPAND(YES)",
        lines="2471",
    ),
)
