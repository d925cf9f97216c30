"""Rules of page sets: QIS1, with the depth of their queues where queue statistics are kept."""

import numpy as np

from quaestor.advisor.rows import Floats, ratio
from quaestor.advisor.rule import Columns, Cutoff, Row, Rule, Severity
from quaestor.planner.deferred_write import burst_s
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.page_sets import EXPANSION_PERCENT, MESSAGE_BYTES_MAX, messages_that_fit, pages_per_message
from quaestor.planner.quantity import MIB

NO_EXPANSION = 3  # MQUSAGE_EXPAND_NONE


def pages_needed(at: Columns) -> Floats:
    """Pages that the messages on the page set's queues need, one message to a page where their size is not known."""
    sizes = np.clip(np.nan_to_num(at.maybe("message_size")), 0, MESSAGE_BYTES_MAX)
    return np.asarray(at.depth * np.array([pages_per_message(int(size)) for size in sizes], np.float64), np.float64)


def pages_each(at: Columns) -> Floats:
    """Pages that each checkpoint of the interval wrote; all of them where nobody says how many there were."""
    checkpoints = np.nan_to_num(at.maybe("log_checkpoints"))
    return np.asarray(at.checkpoint_pages / np.maximum(1.0, checkpoints), np.float64)


def _fits(row: Row) -> str:
    size = int(row.message_size)
    return (
        f"twice the pages hold {messages_that_fit(int(2 * row.pages) * PAGE_BYTES, size):,} messages of {size:,} bytes"
    )


def _needed(row: Row) -> str:
    each = pages_per_message(int(row.message_size))
    return f"{row.depth:,.0f} messages need {row.depth * each:,.0f} pages at one to {each} pages"


RULES = (
    Rule(
        id="mp16-ch1/A-29",
        also=("mp16-ch1/A-32",),
        title="Page set full, or nearly so",
        table="QIS1",
        when=lambda at, cut: (at.full > 0) | (at.used_share > cut.share_max),
        grave=lambda at, _: (at.full > 0) | (at.maybe("expansion_method") == NO_EXPANSION),
        measure="used_share",
        cutoffs=(Cutoff("share_max", EXPANSION_PERCENT / 100, "share of the pages in use"),),
        shows=("pages", "pages_unused", "message_size"),
        advice="{used_share:.0%} of {pages} pages are in use; the page set was full {full} times. Puts end with 2192"
        " when it is and cannot expand. Enlarge it, or move queues to another.",
        command="ALTER PSID({page_set:.0f}) EXPAND(SYSTEM)",
        effect=_fits,
        lines="793, 797",
    ),
    Rule(
        id="mp16-ch1/A-31",
        also=("mp16-ch1/A-32",),
        title="The page set was expanded",
        table="QIS1",
        severity=Severity.NOTE,
        when=lambda at, cut: at.expansions > cut.times,
        measure="expansions",
        cutoffs=(Cutoff("times", 0, "expansions since start"),),
        shows=("pages",),
        advice="The page set was expanded {expansions} times, to {pages} pages. Allocate as much from the start: it"
        " is the best defence against a full page set.",
        lines="799, 872, 896",
    ),
    Rule(
        id="mp16-ch1/A-38",
        title="Pages wait for the scavenger",
        table="QIS1",
        settings=("maxshortmsgs",),
        figures={
            "pages_needed": pages_needed,
            "left_over": lambda at: at.pages_nonpersistent - at.pages_needed,
        },
        when=lambda at, cut: (
            (at.pages_nonpersistent > cut.times * at.pages_needed)
            & (at.pages_nonpersistent > cut.pages_min)
            & (at.maxshortmsgs >= 0)
        ),
        measure="left_over",
        cutoffs=(
            Cutoff("times", 10, "non-persistent pages in use to pages that the messages need", ours=True),
            Cutoff("pages_min", 1000, "pages from which on it matters", ours=True),
        ),
        shows=("depth", "message_size"),
        advice="{pages_nonpersistent} pages hold non-persistent messages and the queues hold {depth:,.0f}: the"
        " scavenger does not keep up with packed messages. Switch to one message to a page.",
        effect=_needed,
        lines="870-878, 896",
    ),
    Rule(
        id="mp16-ch1/A-53",
        title="The write burst of a checkpoint is long",
        table="QIS1",
        settings=("write_burst_limit_s", "page_set_write_mb_per_s"),
        figures={
            "pages_each": pages_each,
            "burst_s": lambda at: ratio(at.pages_each * PAGE_BYTES / MIB, at.page_set_write_mb_per_s),
        },
        when=lambda at, cut: at.burst_s > cut.share * at.write_burst_limit_s,
        measure="burst_s",
        cutoffs=(Cutoff("share", 1.0, "share of the limit that a burst may take"),),
        shows=("pages_each", "page_set_write_mb_per_s"),
        advice="A checkpoint wrote {pages_each:,.0f} pages, {burst_s:.1f} s at {page_set_write_mb_per_s:.0f} MiB/s;"
        " allowed are {write_burst_limit_s:.1f} s. Enable zHPF and use more responsive DASD.",
        effect=lambda row: (
            "twice the rate halves it to "
            f"{burst_s(row.pages_each * PAGE_BYTES, 2 * row.page_set_write_mb_per_s * MIB):.1f} s"
        ),
        lines="1046-1052",
    ),
)
