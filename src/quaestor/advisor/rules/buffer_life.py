"""Notes on buffer pools: what QPST says about how long messages live, and how a pool is used."""

import numpy as np

from quaestor.advisor.rows import Array, Floats, ratio
from quaestor.advisor.rule import Cutoff, Rule, Severity
from quaestor.advisor.rules.buffer import pages_used


def release_number(releases: Array) -> Floats:
    """Version and release as a number, such as 8.0; not known where the record does not say."""
    return np.array([_release(each) for each in releases], np.float64)


def _release(text: str | None) -> float:
    digits = [part for part in (text or "").replace("V", "").split(".") if part.isdigit()]
    if not digits:
        return float("nan")
    if len(digits) == 1:  # 800, 946
        return float(digits[0]) / 100
    return float(f"{digits[0]}.{digits[1]}")


RULES = (
    Rule(
        id="mp1b/A-31",
        title="As many pages are written as read",
        table="QPST",
        severity=Severity.NOTE,
        figures={"writes_to_reads": lambda at: ratio(at.write_ios, at.page_reads)},
        when=lambda at, cut: (
            (at.page_reads > cut.ios_min) & (at.writes_to_reads > 1 / cut.times) & (at.writes_to_reads < cut.times)
        ),
        measure="page_reads",
        cutoffs=(
            Cutoff("ios_min", 1000, "reads in an interval from which on it matters", ours=True),
            Cutoff("times", 2, "how far writes and reads may differ and still be about equal", ours=True),
        ),
        advice="{write_ios} write I/Os and {page_reads} reads: the pool is too small, or messages were stored and"
        " processed within one long interval. Writes alone mean storing for later, reads alone processing"
        " what was stored.",
        lines="2343-2347",
    ),
    Rule(
        id="mp16-ch1/A-46",
        title="One large pool concentrates checkpoint I/O",
        table="QPST",
        severity=Severity.NOTE,
        figures={"level": lambda at: release_number(at.release)},
        when=lambda at, cut: (at.level < 8) & (at.buffer_pool == 2) & (at.buffers > cut.buffers_max),
        measure="buffers",
        cutoffs=(Cutoff("buffers_max", 50_000, "buffers of pool 2 before V8"),),
        advice="Pool 2 has {buffers} buffers before V8: a checkpoint may write most of them at once.",
        lines="963-965",
    ),
    Rule(
        id="mp16-ch1/A-51",
        title="The pool was shrunk",
        table="QPST",
        severity=Severity.NOTE,
        figures={"left": lambda at: ratio(at.buffers, at.buffers_before)},
        when=lambda at, cut: at.left < cut.share_min,
        measure="left",
        low_is_worse=True,
        cutoffs=(Cutoff("share_min", 0.5, "share of the buffers that is left", ours=True),),
        advice="The pool went from {buffers_before} to {buffers} buffers. A restart after an abnormal end takes"
        " longer once: the messages in the log no longer fit.",
        lines="1001",
    ),
    Rule(
        id="mp16-ch1/A-42",
        title="More buffers than are ever used",
        table="pool_range",
        severity=Severity.NOTE,
        when=lambda at, cut: (
            (at.stealable_low_share > cut.share_min)
            & (at.intervals >= cut.intervals_min)
            & ~(at.maybe("seconds") < 3600 * cut.hours_min)
        ),
        measure="stealable_low_share",
        cutoffs=(
            Cutoff("share_min", 0.5, "share of the buffers that was never needed"),
            Cutoff("intervals_min", 24, "intervals that make a long period", ours=True),
            Cutoff("hours_min", 12, "hours from the first of them to the last, where they are known", ours=True),
        ),
        shows=("buffers",),
        advice="Over {intervals:.0f} intervals at least {stealable_low_share:.0%} of {buffers} buffers were"
        " stealable. They may be given to a pool that is short; keep 15 % for peaks.",
        lines="983",
    ),
    Rule(
        id="mp1b/A-29",
        title="Short-lived messages, and the pool holds them",
        table="QPST",
        severity=Severity.NOTE,
        figures={"used": pages_used, "reuse": lambda at: ratio(at.get_new_page, pages_used(at))},
        when=lambda at, cut: (at.reuse > cut.times) & (at.steals <= cut.share * at.get_new_page),
        measure="reuse",
        cutoffs=(
            Cutoff("times", 10, "new pages to pages in memory", ours=True),
            Cutoff("share", 0.01, "steals to new pages that are near 0", ours=True),
        ),
        advice="{get_new_page} new pages went through {used:,.0f} buffers with {steals} steals: messages are got soon.",
        lines="2330-2331",
    ),
    Rule(
        id="mp1b/A-30",
        title="Messages stay, depth grows",
        table="QPST",
        severity=Severity.NOTE,
        figures={"used": pages_used, "reuse": lambda at: ratio(at.get_new_page, pages_used(at))},
        when=lambda at, cut: (
            (at.reuse > 1 / cut.times) & (at.reuse < cut.times) & (at.steals > cut.share * at.get_new_page)
        ),
        measure="get_new_page",
        cutoffs=(
            Cutoff("times", 2, "how far new pages and pages in memory may differ and still be close", ours=True),
            Cutoff("share", 0.5, "steals to new pages that are many", ours=True),
        ),
        advice="{get_new_page} new pages and {used:,.0f} in memory, with {steals} steals: pages are not used again,"
        " so queues grow.",
        lines="2338-2339",
    ),
    Rule(
        id="mp1b/A-33",
        title="Page writes are not batched",
        table="QPST",
        severity=Severity.NOTE,
        figures={"pages_per_io": lambda at: ratio(at.pages_written, at.write_ios)},
        when=lambda at, cut: (at.pages_per_io < cut.pages_min) & (at.write_ios > cut.ios_min),
        measure="pages_per_io",
        low_is_worse=True,
        cutoffs=(
            Cutoff("pages_min", 2.5, "pages to a write I/O; 4 is usual", ours=True),
            Cutoff("ios_min", 100, "write I/Os from which on it matters", ours=True),
        ),
        advice="{write_ios} write I/Os carried {pages_written} pages, {pages_per_io:.1f} each; close to 4 is usual.",
        lines="2236",
    ),
    Rule(
        id="mp1b/A-34",
        title="A checkpoint had nothing old enough to write",
        table="QPST",
        severity=Severity.NOTE,
        when=lambda at, cut: (at.pages_written == 0) & (at.log_checkpoints > 0) & (at.set_writes > cut.set_writes_min),
        measure="set_writes",
        cutoffs=(Cutoff("set_writes_min", 0, "set writes in the interval"),),
        advice="{log_checkpoints:.0f} checkpoints wrote no page although {set_writes} were changed: messages are"
        " short-lived.",
        lines="2333",
    ),
    Rule(
        id="mp1b/A-35",
        also=("mp16-ch4-11/BP-5",),
        title="Buffers not used before are being taken",
        table="QPST",
        severity=Severity.NOTE,
        figures={"first_use": lambda at: at.steals - at.page_reads},
        when=lambda at, cut: at.first_use > cut.steals_min,
        measure="first_use",
        cutoffs=(Cutoff("steals_min", 0, "steals that read nothing"),),
        advice="{first_use:,.0f} of {steals} steals read nothing. After a start the pool fills for the first time;"
        " later, message rate, size or a backlog has risen.",
        lines="2185",
    ),
    Rule(
        id="mp16-ch4-11/BP-3",
        title="Pages were written by checkpoints only",
        table="QPST",
        severity=Severity.NOTE,
        when=lambda at, cut: (at.pages_written > cut.pages_min) & (at.deferred_write_starts == 0),
        measure="pages_written",
        cutoffs=(Cutoff("pages_min", 0, "pages written in the interval"),),
        advice="{pages_written} pages were written and deferred write never started: this is the work of checkpoints.",
        lines="4596",
    ),
    Rule(
        id="mp16-ch4-11/BP-8",
        title="Each page is read once after it was written",
        table="QPST",
        severity=Severity.NOTE,
        figures={"reads_to_written": lambda at: ratio(at.page_reads, at.pages_written)},
        when=lambda at, cut: (at.page_reads > cut.reads_min) & (abs(at.reads_to_written - 1) < cut.apart),
        measure="page_reads",
        cutoffs=(
            Cutoff("reads_min", 100, "pages read from which on it matters", ours=True),
            Cutoff("apart", 0.25, "how far reads and pages written may be apart and still be about equal", ours=True),
        ),
        advice="{page_reads} pages read and {pages_written} written: one read for each page, healthy for messages"
        " kept for later.",
        lines="4602",
    ),
)
