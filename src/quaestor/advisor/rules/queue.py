"""Rules of queue accounting: WQST by queue and hour, and queue statistics (QQST).

Index types as the product numbers them: 0 is none.
"""

import numpy as np

from quaestor.advisor.rows import Floats, Groups, begins_with, ratio
from quaestor.advisor.rule import Columns, Cutoff, Row, Rule, Severity
from quaestor.planner.expiry import scan_cpu_us
from quaestor.planner.indexing import index_bytes
from quaestor.planner.shared_access import first_open_percent, holder_saves_percent


def by_identifier_in_all(at: Columns) -> Floats:
    """Gets and browses by identifier in all hours read: an index that the night uses is in use."""
    group = Groups([at.system, at.queue_manager, at.queue])
    return group.sum(at.by_identifier)[group.of_row]


def _index(row: Row) -> str:
    if not row.by_identifier:  # what was passed over was not searched for an identifier
        return ""
    depth = max(1, int(row.messages_skipped / row.by_identifier))
    return f"an index of so many messages takes {index_bytes(depth):,} bytes, and a get then skips none"


def _expiry(row: Row) -> str:
    expired = int(row.messages_expired)
    low, high = (us / 1e6 for us in scan_cpu_us(expired, expired))  # each is removed once, by whichever scan
    return f"EXPRYINT(300) costs {low:.2f} to {high:.2f} s of CPU an hour for as many messages"


def _held(row: Row) -> str:
    share = first_open_percent(int(row.opens - row.opens_no_cf), int(row.opens_no_cf))
    saved = holder_saves_percent(1)
    return f"{share:.0f} % of opens went to the coupling facility; a holder saves {saved:.0f} % of their CPU"


RULES = (
    Rule(
        id="mp1b/A-2",
        title="Applications set queue attributes",
        table="queue_hours",
        when=lambda at, cut: at.sets > cut.calls,
        measure="sets",
        cutoffs=(Cutoff("calls", 0, "MQSET calls in an hour"),),
        advice="{sets:,.0f} MQSET calls. See that the application restores what it sets, such as TRIGGER after"
        " NOTRIGGER, when it fails.",
        lines="568-570",
    ),
    Rule(
        id="mp1b/A-4",
        also=("mp16-ch1/A-76",),
        title="Gets by identifier on a queue without index",
        table="queue_hours",
        when=lambda at, cut: (at.index_type == 0) & (at.by_identifier > cut.gets_min) & (at.gets_any == 0),
        measure="by_identifier",
        cutoffs=(Cutoff("gets_min", 0, "gets and browses by identifier in an hour"),),
        shows=("messages_skipped", "valid_gets"),
        advice="{by_identifier:,.0f} gets and browses were by MSGID or CORRELID, no get took just the next"
        " message, and the queue has no index: {messages_skipped:,.0f} messages were passed over. Define INDXTYPE"
        " for the identifier that is used.",
        command="ALTER QLOCAL({queue}) INDXTYPE(CORRELID)",
        effect=_index,
        lines="572-573",
    ),
    Rule(
        id="mp1b/A-5",
        title="An index that no get uses",
        table="queue_hours",
        figures={"by_identifier_in_all": by_identifier_in_all},
        when=lambda at, cut: (
            (at.index_type > 0) & (at.by_identifier_in_all == 0) & (at.gets_any > cut.gets_min) & (at.index_type != 5)
        ),
        measure="gets_any",
        cutoffs=(Cutoff("gets_min", 0, "gets without identifier in an hour"),),
        advice="{gets_any:,.0f} gets in an hour, and none by identifier in all hours read, on a queue with an index."
        " Drop it: every put and get maintains it.",
        command="ALTER QLOCAL({queue}) INDXTYPE(NONE)",
        lines="573-574",
    ),
    Rule(
        id="mp1b/A-7",
        also=("mp16-ch2-3/CH-R29",),
        title="Messages of the queue came from the page set",
        table="queue_hours",
        when=lambda at, cut: at.page_set_reads > cut.reads,
        measure="page_set_reads",
        cutoffs=(Cutoff("reads", 0, "page set reads in an hour"),),
        shows=("buffer_pool", "page_set", "valid_gets"),
        advice="{page_set_reads:,.0f} pages were read from page set {page_set:.0f} (buffer pool {buffer_pool:.0f})"
        " for {valid_gets:,.0f} messages got. Normal after a start; otherwise the pool is too small. A"
        " transmission queue read so slows its channel.",
        lines="578, 2829-2842",
    ),
    Rule(
        id="mp1b/A-9",
        title="Gets search past many messages",
        table="queue_hours",
        figures={"skipped_per_get": lambda at: ratio(at.messages_skipped, at.valid_gets)},
        when=lambda at, cut: at.skipped_per_get > cut.messages_max,
        measure="skipped_per_get",
        cutoffs=(Cutoff("messages_max", 10, "messages skipped for a message got", ours=True),),
        shows=("messages_skipped", "valid_gets", "by_identifier"),
        advice="{messages_skipped:,.0f} messages were passed over to get {valid_gets:,.0f}, {skipped_per_get:.0f}"
        " each. Index the queue by the identifier that is used, or put what is got together in order.",
        effect=_index,
        lines="3788, 3977",
    ),
    Rule(
        id="mp1b/A-10",
        title="Gets meet expired messages",
        table="queue_hours",
        when=lambda at, cut: at.messages_expired > cut.messages,
        measure="messages_expired",
        cutoffs=(Cutoff("messages", 0, "expired messages met in an hour"),),
        shows=("messages_expired",),
        advice="{messages_expired:,.0f} expired messages were removed by gets, which cost their applications time."
        " Let EXPRYINT remove them.",
        command="ALTER QMGR EXPRYINT(300)",
        effect=_expiry,
        lines="3789, 3978",
    ),
    Rule(
        id="mp16-ch1/A-78",
        title="An application browses to remove expired messages",
        table="queue_hours",
        settings=("expryint",),
        figures={"browses": lambda at: at.browses_any + at.browses_specific},
        when=lambda at, cut: (
            (at.messages_expired > cut.messages_min) & (at.browses > at.valid_gets / 2) & (at.expryint == "OFF")
        ),
        measure="browses",
        cutoffs=(Cutoff("messages_min", 0, "expired messages met in an hour"),),
        shows=("messages_expired",),
        advice="{browses:,.0f} browses met {messages_expired:,.0f} expired messages with EXPRYINT(OFF). The system's"
        " own scan is significantly cheaper.",
        command="ALTER QMGR EXPRYINT(300)",
        effect=_expiry,
        lines="2072, 2085",
    ),
    Rule(
        id="mp16-ch1/A-44",
        title="Messages of system queues use pool 0",
        table="queue_hours",
        severity=Severity.NOTE,
        figures={"administrative": lambda at: begins_with(at.queue, "SYSTEM.COMMAND.", "SYSTEM.ADMIN.").astype(float)},
        when=lambda at, cut: (
            (at.administrative == 1) & (at.buffer_pool == 0) & (at.is_shared == 0) & (at.valid_puts > cut.puts_min)
        ),
        measure="valid_puts",
        cutoffs=(Cutoff("puts_min", 0, "puts in an hour"),),
        advice="{valid_puts:,.0f} messages were put to this queue in pool 0, where the objects live. Move it to"
        " another storage class.",
        command="ALTER QLOCAL({queue}) STGCLASS(REMOTE)",
        lines="949, 977",
    ),
    Rule(
        id="mp16-ch1/A-45",
        title="A cluster queue is busy",
        table="queue_hours",
        severity=Severity.NOTE,
        figures={
            "cluster": lambda at: begins_with(at.queue, "SYSTEM.CLUSTER.").astype(float),
            "per_s": lambda at: (at.valid_puts + at.valid_gets) / 3600,
        },
        when=lambda at, cut: (at.cluster == 1) & (at.per_s > cut.per_s_min),
        measure="per_s",
        cutoffs=(Cutoff("per_s_min", 10, "puts and gets a second that are busy", ours=True),),
        advice="{per_s:.0f} puts and gets a second: consider a buffer pool of its own.",
        lines="947",
    ),
    Rule(
        id="mp16-ch4-11/SHQ-6",
        title="Opens of a shared queue go to the coupling facility",
        table="queue_hours",
        figures={"cf_share": lambda at: ratio(at.opens - at.opens_no_cf, at.opens)},
        when=lambda at, cut: (at.is_shared == 1) & (at.cf_share > cut.share_max) & (at.opens > cut.opens_min),
        measure="cf_share",
        cutoffs=(
            Cutoff("share_max", 0.1, "share of opens that are the first on their queue manager", ours=True),
            Cutoff("opens_min", 100, "opens in an hour from which on it matters", ours=True),
        ),
        shows=("opens", "opens_no_cf"),
        advice="{cf_share:.0%} of {opens:,.0f} opens were the first of their queue manager and went to the coupling"
        " facility. Let an application that sleeps keep the queue open on each.",
        effect=_held,
        lines="5014-5093",
    ),
    Rule(
        id="mp16-ch4-11/APP-5",
        title="The queue is opened for every message",
        table="queue_hours",
        severity=Severity.NOTE,
        figures={"messages_per_open": lambda at: ratio(at.valid_puts + at.valid_gets, at.opens)},
        when=lambda at, cut: (
            (at.messages_per_open < cut.messages_min) & (at.opens > cut.opens_min) & (at.client_calls > 0)
        ),
        measure="opens",
        cutoffs=(
            Cutoff("messages_min", 2, "messages to an open", ours=True),
            Cutoff("opens_min", 1000, "opens in an hour from which on it matters", ours=True),
        ),
        advice="{opens:,.0f} opens for {messages_per_open:.1f} messages each, from clients too: stay connected, keep"
        " queues open, use MQPUT1 for a single put.",
        lines="4924-4927",
    ),
    Rule(
        id="mp16-ch4-11/Q-5",
        title="A trigger message for nearly every message",
        table="queue_hours",
        figures={
            "generated_per_put": lambda at: ratio(at.generated_messages, at.valid_puts),
            "puts_per_s": lambda at: at.valid_puts / 3600,
        },
        when=lambda at, cut: (at.generated_per_put > cut.share_min) & (at.puts_per_s > cut.puts_per_s_min),
        measure="puts_per_s",
        cutoffs=(
            Cutoff("share_min", 0.8, "generated messages to a put that mean TRIGTYPE(EVERY)", ours=True),
            Cutoff("puts_per_s_min", 1, "puts a second that are a high rate", ours=True),
        ),
        advice="{generated_per_put:.1f} generated messages to a put at {puts_per_s:.1f} puts a second:"
        " TRIGTYPE(EVERY) suits low rates. Let long-running transactions drain the queue.",
        command="ALTER QLOCAL({queue}) TRIGTYPE(FIRST)",
        lines="5436-5438",
    ),
    Rule(
        id="talks/A-5",
        title="Message sizes on a transmission queue vary widely",
        table="queue_hours",
        severity=Severity.NOTE,
        figures={"spread": lambda at: ratio(at.get_size_high, np.maximum(1.0, at.get_size_low))},
        when=lambda at, cut: (at.spread > cut.times) & (at.channel_gets > cut.gets_min),
        measure="spread",
        cutoffs=(
            Cutoff("times", 1000, "largest over smallest message", ours=True),
            Cutoff("gets_min", 100, "messages sent in an hour from which on it matters", ours=True),
        ),
        advice="Channels sent messages of {get_size_low:,.0f} to {get_size_high:,.0f} bytes from this queue:"
        " BATCHLIM bounds a batch by its bytes.",
        lines="002:123",
    ),
    Rule(
        id="mp16-ch2-3/CH-R9",
        title="Gets select by message properties",
        table="queue_hours",
        severity=Severity.NOTE,
        when=lambda at, cut: (at.selector_gets > cut.gets_min) & (at.client_calls > 0),
        measure="selector_gets",
        cutoffs=(Cutoff("gets_min", 100, "gets with a selector in an hour", ours=True),),
        advice="{selector_gets:,.0f} gets with a selector, from clients too: selection takes CPU on the adapters,"
        " and more of them help.",
        lines="3432",
    ),
    Rule(
        id="mp16-ch2-3/CF-R48",
        title="Gets by identifier from a structure with storage class memory",
        table="queue_hours",
        settings=("structure.scm_max_mb",),
        when=lambda at, cut: (at.scm_max_mb > 0) & (at.by_identifier > cut.gets_min) & (at.depth_high > cut.depth_min),
        measure="by_identifier",
        cutoffs=(
            Cutoff("gets_min", 100, "gets by identifier in an hour", ours=True),
            Cutoff("depth_min", 1000, "depth that is deep", ours=True),
        ),
        advice="{by_identifier:,.0f} gets by identifier on a queue up to {depth_high:,.0f} deep: random access to"
        " storage class memory is slow. Do not use it for this structure.",
        lines="3080, 3095-3097",
    ),
    Rule(
        id="mp16-ch1/A-28",
        title="Short-lived and long-lived messages share a page set",
        table="page_set_hours",
        severity=Severity.NOTE,
        when=lambda at, cut: (
            (at.queues > 1) & (at.on_queue_s_shortest < cut.short_s) & (at.on_queue_s_longest > cut.long_s)
        ),
        measure="on_queue_s_longest",
        cutoffs=(
            Cutoff("short_s", 300, "mean seconds on queue of short-lived messages: a few minutes", ours=True),
            Cutoff("long_s", 3600, "mean seconds on queue of long-lived messages", ours=True),
        ),
        advice="On this page set one queue keeps its messages {on_queue_s_shortest:.0f} s and another"
        " {on_queue_s_longest:,.0f} s. Separate them by page set and buffer pool.",
        lines="758",
    ),
)
