"""Rules of the buffer manager: QPST.

Pools of messages that are kept for later (setting `messages_live = "long"` or usage class 4) may spill to their page
sets: the rules on spilling pass them over. Nothing said, a pool counts as short-lived, as pool 0 always does.

Pool 0 holds the objects and the channels' synchronization queue, which is indexed: what looks like a search there is a
pool that messages have filled, so BP-12 speaks for it and the rules that lead to an index do not.

After a start every page is read once: reads of an interval that follows a gap say nothing about the pool. What was
stored for later is read once when its time comes: reads are held against the pages written in the day before (BP-8).
"""

import numpy as np

from quaestor.advisor.by_row import by_row
from quaestor.advisor.rows import Floats, Mask, ratio
from quaestor.advisor.rule import Columns, Cutoff, Figure, Row, Rule, Severity
from quaestor.planner.buffer_flow import DEFERRED_WRITE_BELOW, READS_PER_WRITE_HIGH, buffers_that_keep_messages
from quaestor.planner.buffer_pools import may_be_page_fixed, object_pages_crude

LOW_SHARE = float(DEFERRED_WRITE_BELOW)
READS_MIN = 100
"""A few reads are objects and messages that nobody asked for since the start."""


def may_spill(at: Columns) -> Mask:
    """Whether the pool holds messages kept for later, which do not all fit."""
    life, usage = at.maybe("messages_live"), at.maybe("usage_class")
    return np.asarray((life == "long") | (usage == 4), bool)


def stealable_share(at: Columns) -> Floats:
    return ratio(at.stealable_low, at.buffers)


def pages_used(at: Columns) -> Floats:
    """Buffers that were not stealable at the worst moment."""
    return np.asarray(at.buffers - at.stealable_low, np.float64)


def buffers_wanted(at: Columns) -> Floats:
    """Buffers with which 15 % stay stealable at this peak; what lay on the page set is not in it. Not known for a pool
    that was shrunk within the interval and had more stealable before than it has buffers now, nor for one without any.
    """
    wanted = np.maximum(by_row(_keep, pages_used(at)), 1.25 * at.buffers)
    return np.asarray(np.where(wanted > 0, wanted, np.nan), np.float64)


def _keep(pages: float) -> float:
    return buffers_that_keep_messages(int(pages))


def reads_per_written(name: str) -> Figure:
    """Pages read to a page written; all of them where none was."""

    def times(at: Columns) -> Floats:
        written = getattr(at, name)
        return np.asarray(np.where(written > 0, ratio(at.page_reads, written), at.page_reads), np.float64)

    return times


def _enlarge(row: Row) -> str:
    if row.buffers_wanted is None:
        return ""
    used = row.buffers - row.stealable_low
    left = 1 - used / row.buffers_wanted
    least = buffers_that_keep_messages(int(used))
    return (
        f"{row.buffers_wanted:,.0f} buffers leave {left:.0%} stealable with the pages in memory at the worst moment;"
        f" {least:,} keep the 15 % below which deferred write starts"
    )


def _objects(row: Row) -> str:
    return f"{object_pages_crude(int(row.objects)):,} buffers hold the objects"


def _fixed(row: Row) -> str:
    fits = may_be_page_fixed(int(row.buffers), int(row.free_real_mb * (1 << 20)))
    return "real storage suffices to fix the pool" if fits else "real storage does not suffice to fix the pool"


POOL = ("buffer_pool.messages_live", "buffer_pool.usage_class")
ALTER = "ALTER BUFFPOOL({buffer_pool:.0f}) BUFFERS({buffers_wanted:.0f})"
SIZED = {"buffers_wanted": buffers_wanted, "stealable_share": stealable_share}

RULES = (
    Rule(
        id="mp1b/A-24",
        also=("mp16-ch1/A-41", "mp16-ch4-11/BP-1"),
        title="No buffer was free",
        table="QPST",
        severity=Severity.ALERT,
        figures=SIZED,
        when=lambda at, cut: at.short_on_storage > cut.times,
        measure="short_on_storage",
        cutoffs=(Cutoff("times", 0, "times no buffer was free in an interval"),),
        shows=("stealable_low", "buffers"),
        advice="{short_on_storage} times a task waited because no buffer of {buffers} was free. Enlarge the pool or"
        " move page sets to another; if that does not help, look at the page sets' volumes.",
        command=ALTER,
        effect=_enlarge,
        lines="2125",
    ),
    Rule(
        id="mp1b/A-27",
        also=("mp16-ch1/A-41", "mp16-ch4-11/BP-1"),
        title="Pages are written while applications wait",
        table="QPST",
        severity=Severity.ALERT,
        figures=SIZED,
        when=lambda at, cut: at.synchronous_write_starts > cut.times,
        measure="synchronous_write_starts",
        cutoffs=(Cutoff("times", 0, "times fewer than 5 % of the buffers were stealable"),),
        shows=("stealable_low", "buffers", "immediate_writes"),
        advice="{synchronous_write_starts} times fewer than 5 % of the buffers were stealable; {immediate_writes}"
        " pages were written while their applications waited. Enlarge the pool.",
        command=ALTER,
        effect=_enlarge,
        lines="2139",
    ),
    Rule(
        id="mp16-ch1/A-41",
        also=("mp16-ch4-11/BP-1",),
        title="Tasks compete for buffers to steal",
        table="QPST",
        figures=SIZED,
        when=lambda at, cut: at.hash_chain_changes > cut.times,
        measure="hash_chain_changes",
        cutoffs=(Cutoff("times", 0, "hash chain changes during a steal in an interval"),),
        shows=("stealable_low", "buffers", "steals"),
        advice="{hash_chain_changes} of {steals} steals met another task at the same page: the pool is too small.",
        command=ALTER,
        effect=_enlarge,
        lines="981, 4593, 4628",
    ),
    Rule(
        id="mp1b/A-25",
        also=("mp16-ch1/A-40", "mp16-ch4-11/BP-2"),
        title="Stealable buffers fell to the deferred write threshold",
        table="QPST",
        figures=SIZED,
        settings=POOL,
        when=lambda at, cut: (at.stealable_share <= cut.share_min) & ~may_spill(at),
        measure="stealable_share",
        low_is_worse=True,
        cutoffs=(Cutoff("share_min", LOW_SHARE, "lowest share of stealable buffers"),),
        shows=("stealable_low", "buffers", "deferred_write_starts"),
        advice="Only {stealable_low} of {buffers} buffers were stealable ({stealable_share:.1%}). Enlarge the pool,"
        " move queues to another page set and pool, or find what changed, such as a stopped channel whose"
        " transmission queue grows.",
        command=ALTER,
        effect=_enlarge,
        lines="2129-2137",
    ),
    Rule(
        id="mp1b/A-28",
        also=("mp16-ch4-11/BP-2",),
        title="Deferred write started at its threshold",
        table="QPST",
        figures=SIZED,
        settings=POOL,
        when=lambda at, cut: (at.deferred_write_starts > cut.times) & ~may_spill(at),
        measure="deferred_write_starts",
        cutoffs=(Cutoff("times", 0, "starts of deferred write in an interval"),),
        shows=("stealable_low", "buffers", "pages_written"),
        advice="Deferred write started {deferred_write_starts} times and wrote {pages_written} pages. For messages"
        " kept for later this is right (say so with messages_live); for short-lived ones the pool is too"
        " small.",
        command=ALTER,
        effect=_enlarge,
        lines="2233",
    ),
    Rule(
        id="mp1b/A-26",
        also=("mp16-ch4-11/BP-4",),
        title="Messages are read back from the page set",
        table="QPST",
        figures={**SIZED, "reads_per_s": lambda at: ratio(at.page_reads, at.seconds)},
        settings=POOL,
        when=lambda at, cut: (at.page_reads > cut.reads) & (at.maybe("after_gap") != 1) & ~may_spill(at),
        measure="page_reads",
        cutoffs=(Cutoff("reads", 0, "pages read in an interval that does not follow a start"),),
        shows=("stealable_low", "buffers", "pages_written"),
        advice="{page_reads} pages were read back from page sets: messages left the pool before they were got. After"
        " a start this is normal; otherwise enlarge the pool or spread queues over page sets and pools.",
        command=ALTER,
        effect=_enlarge,
        lines="2138",
    ),
    Rule(
        id="mp1b/A-32",
        title="Pages are looked at but seldom changed",
        table="QPST",
        figures={"set_write_share": lambda at: ratio(at.set_writes, at.get_page)},
        when=lambda at, cut: (
            (at.set_write_share < cut.share_min) & (at.get_page > cut.pages_min) & (at.buffer_pool != 0)
        ),
        measure="set_write_share",
        low_is_worse=True,
        cutoffs=(
            Cutoff("share_min", 0.1, "set writes to pages got; 65 % in a normal run, 0.6 % in a search", ours=True),
            Cutoff("pages_min", 20_000, "pages got from which on it matters", ours=True),
        ),
        advice="{get_page} pages were got and {set_writes} changed ({set_write_share:.1%}): browsing, or gets by"
        " identifier that search a queue without index. Rule mp1b/A-4 names such queues.",
        lines="2176, 2372",
    ),
    Rule(
        id="mp16-ch4-11/BP-9",
        title="The same pages are read again and again",
        table="QPST",
        figures={**SIZED, "reads_per_written": reads_per_written("written_in_day")},
        when=lambda at, cut: (
            (at.reads_per_written > cut.times)
            & (at.page_reads > cut.reads_min)
            & (at.maybe("after_gap") != 1)
            & (at.buffer_pool != 0)
        ),
        measure="reads_per_written",
        cutoffs=(
            Cutoff("times", READS_PER_WRITE_HIGH, "pages read to a page written in the day before", ours=True),
            Cutoff("reads_min", READS_MIN, "pages read from which on it matters", ours=True),
        ),
        shows=("stealable_low", "buffers"),
        advice="{page_reads} pages were read, and {written_in_day:,.0f} were written in the day up to then. In this"
        " order: enlarge the pool so that it holds the queue and the changed pages, move page sets to another pool,"
        " index the queue if it is not, redesign.",
        command=ALTER,
        effect=_enlarge,
        lines="4603-4607",
    ),
    Rule(
        id="mp16-ch4-11/BP-7",
        also=("mp16-ch4-11/BP-10",),
        title="Page set I/O is heavy",
        table="QPST",
        severity=Severity.NOTE,
        figures={"ios_per_s": lambda at: ratio(at.page_reads + at.write_ios, at.seconds)},
        when=lambda at, cut: at.ios_per_s > cut.ios_per_s_max,
        measure="ios_per_s",
        cutoffs=(Cutoff("ios_per_s_max", 100, "page set I/Os a second", ours=True),),
        advice="{ios_per_s:,.0f} page set I/Os a second. Spread the queues over several page sets on different"
        " volumes, so that they run in parallel.",
        lines="4494, 4601",
    ),
    Rule(
        id="mp16-ch4-11/BP-12",
        also=("mp16-ch4-11/BP-2", "mp16-ch4-11/BP-9"),
        title="Pool 0 is disturbed by messages",
        table="QPST",
        severity=Severity.ALERT,
        figures={**SIZED, "reads_per_written": reads_per_written("pages_written")},
        when=lambda at, cut: (
            (at.buffer_pool == 0)
            & (
                (at.deferred_write_starts > 0)
                | (at.stealable_share <= cut.share_min)
                | ((at.reads_per_written > cut.times) & (at.page_reads > cut.reads_min) & (at.maybe("after_gap") != 1))
            )
        ),
        measure="page_reads",
        cutoffs=(
            Cutoff("share_min", LOW_SHARE, "lowest share of stealable buffers"),
            Cutoff("times", READS_PER_WRITE_HIGH, "pages read to a page written", ours=True),
            Cutoff("reads_min", READS_MIN, "pages read from which on it matters", ours=True),
        ),
        shows=("stealable_low", "buffers", "page_reads"),
        advice="Pool 0 wrote or read pages under pressure ({page_reads} reads, {stealable_low} of {buffers} buffers"
        " stealable at the lowest): every object and the channels' synchronization queue live in it. Give the"
        " model queues of commands and replies another storage class; consider doubling the pool.",
        command="ALTER QMODEL(SYSTEM.COMMAND.REPLY.MODEL) STGCLASS(REMOTE)",
        effect=_enlarge,
        lines="4645-4658",
    ),
    Rule(
        id="mp16-ch1/A-80",
        also=("mp16-ch1/A-58",),
        title="Pool 0 does not hold the objects",
        table="QPST",
        settings=("objects",),
        figures={"object_pages": lambda at: np.ceil(at.objects / 2)},
        when=lambda at, cut: (
            (at.buffer_pool == 0)
            & (at.buffers < at.object_pages)
            & (at.page_reads > cut.reads)
            & (at.maybe("after_gap") != 1)
        ),
        measure="page_reads",
        cutoffs=(Cutoff("reads", 0, "pages read into pool 0 in an interval that does not follow a start"),),
        shows=("objects",),
        advice="{objects:,.0f} objects take about {object_pages:,.0f} pages and pool 0 has {buffers}: {page_reads}"
        " pages were read. Enlarge it.",
        command="ALTER BUFFPOOL(0) BUFFERS({object_pages:.0f})",
        effect=_objects,
        lines="943, 1630, 2243",
    ),
    Rule(
        id="mp16-ch1/A-47",
        title="Fixing the pool's pages would save CPU",
        table="QPST",
        severity=Severity.NOTE,
        settings=("free_real_mb",),
        figures={
            "ios_per_s": lambda at: ratio(at.page_reads + at.write_ios, at.seconds),
            "pool_mb": lambda at: at.buffers * 4096 / (1 << 20),
        },
        when=lambda at, cut: (
            (at.ios_per_s > cut.ios_per_s_min) & (at.free_real_mb > cut.times * at.pool_mb) & (at.page_fixed == 0)
        ),
        measure="ios_per_s",
        cutoffs=(
            Cutoff("ios_per_s_min", 100, "page set I/Os a second", ours=True),
            Cutoff("times", 2, "spare real storage over the pool's size that is plenty", ours=True),
        ),
        shows=("buffers", "free_real_mb"),
        advice="{ios_per_s:,.0f} page set I/Os a second and {free_real_mb:,.0f} MiB of real storage to spare: with"
        " PAGECLAS(FIXED4KB) a page is not fixed for every I/O.",
        command="ALTER BUFFPOOL({buffer_pool:.0f}) PAGECLAS(FIXED4KB)",
        effect=_fixed,
        lines="991-995",
    ),
)
