"""Rules of the Db2 manager: Q5ST. Lists and single longest times may be large and say nothing (1416-1417)."""

import numpy as np

from quaestor.advisor.rows import Floats, ratio
from quaestor.advisor.rule import Columns, Cutoff, Figure, Rule, Severity

SLOW_MS = 10


def mean_ms(kind: str, verb: str, count: str) -> Figure:
    """Mean time of a verb, thread or server, in milliseconds."""
    return lambda at: ratio(getattr(at, f"{verb}_{kind}_elapsed_us") / 1000, getattr(at, count))


def delay_ms(at: Columns) -> Floats:
    """Mean time a request waited for a server task, over all verbs but list."""
    verbs = (("read", at.reads), ("update", at.updates), ("write", at.writes), ("delete", at.deletes))
    waits = [getattr(at, f"{verb}_thread_elapsed_us") - getattr(at, f"{verb}_server_elapsed_us") for verb, _ in verbs]
    return ratio(sum(waits) / 1000, sum(count for _, count in verbs))


CHANGES = {
    "update_ms": mean_ms("server", "update", "updates"),
    "write_ms": mean_ms("server", "write", "writes"),
    "delete_ms": mean_ms("server", "delete", "deletes"),
}

RULES = (
    Rule(
        id="mp1b/A-16",
        title="Db2 is slow to change rows",
        table="Q5ST",
        figures={**CHANGES, "slowest_ms": lambda at: np.fmax(np.fmax(at.update_ms, at.write_ms), at.delete_ms)},
        when=lambda at, cut: at.slowest_ms > cut.ms_max,
        measure="slowest_ms",
        cutoffs=(Cutoff("ms_max", SLOW_MS, "milliseconds of an update, write or delete; 5 to 10 are normal"),),
        shows=("updates", "writes", "deletes"),
        advice="The slowest of update, write and delete took {slowest_ms:.1f} ms in Db2 on average ({updates}"
        " updates, {writes} writes, {deletes} deletes). They wait for the Db2 log: look at its volumes and at"
        " Db2 itself.",
        lines="1408, 1507-1517",
    ),
    Rule(
        id="mp1b/A-17",
        title="Requests wait for a Db2 server task",
        table="Q5ST",
        when=lambda at, cut: at.delay_ms > cut.ms_max,
        measure="delay_ms",
        cutoffs=(Cutoff("ms_max", 1, "milliseconds between thread and server time"),),
        shows=("tasks", "queue_depth_high"),
        advice="A request waited {delay_ms:.1f} ms for one of {tasks} server tasks. Raise the number of Db2 servers"
        " in QSGDATA.",
        figures={"delay_ms": delay_ms, "tasks_wanted": lambda at: 2 * at.tasks},
        command="CSQ6SYSP QSGDATA=(group,sharing,db2,{tasks_wanted:.0f})",
        lines="1409, 1499-1501",
    ),
    Rule(
        id="mp1b/A-18",
        title="Requests queue for Db2 server tasks",
        table="Q5ST",
        when=lambda at, cut: at.queue_depth_high > cut.depth_max,
        grave=lambda at, cut: at.queue_depth_high > cut.depth_alert,
        measure="queue_depth_high",
        cutoffs=(
            Cutoff("depth_max", 10, "requests on the work list"),
            Cutoff("depth_alert", 20, "requests on the work list that make an alert"),
        ),
        shows=("tasks",),
        advice="Up to {queue_depth_high} requests waited for {tasks} Db2 server tasks; 1 is usual, 20 when a"
        " thousand channels start at once. Consider more servers.",
        lines="1412, 1493",
    ),
    Rule(
        id="mp1b/A-19",
        title="Db2 deadlocks or abends",
        table="Q5ST",
        figures={"troubles": lambda at: at.deadlocks + at.abends},
        when=lambda at, cut: at.troubles > cut.times,
        measure="troubles",
        cutoffs=(Cutoff("times", 0, "deadlocks and abends in an interval", ours=True),),
        advice="{deadlocks} deadlocks and {abends} abends of Db2 server tasks.",
        lines="1522-1603",
    ),
    Rule(
        id="mp16-ch2-3/CF-R39",
        title="Db2 is slow to read rows",
        table="Q5ST",
        figures={"read_ms": mean_ms("server", "read", "reads")},
        when=lambda at, cut: (at.read_ms > cut.ms_max) & (at.reads > cut.reads_min),
        measure="read_ms",
        cutoffs=(
            Cutoff("ms_max", SLOW_MS, "milliseconds of a read", ours=True),
            Cutoff("reads_min", 5, "reads from which on an average means something", ours=True),
        ),
        advice="{reads} reads took {read_ms:.1f} ms each in Db2: opens, closes and channel starts wait for them."
        " Enlarge the buffer pool and the group buffer pool of the tables.",
        lines="2856",
    ),
    Rule(
        id="mp16-ch2-3/CF-R22",
        also=("mp16-ch2-3/CF-R41", "mp16-ch4-11/SHQ-3"),
        title="Large shared messages go through Db2",
        table="Q5ST",
        when=lambda at, cut: at.lms_inserts > cut.rows,
        measure="lms_inserts",
        cutoffs=(Cutoff("rows", 0, "rows of message data inserted in an interval"),),
        severity=Severity.WARNING,
        advice="{lms_inserts} rows of message data were inserted into Db2: messages above 63 KB are offloaded to it."
        " Shared message data sets cost far less CPU; until then give the tables a 32 KB buffer pool of their"
        " own.",
        command="ALTER CFSTRUCT(name) CFLEVEL(5) OFFLOAD(SMDS) DSGROUP('prefix.*.suffix')",
        lines="2833, 2860-2863, 2977, 4893",
    ),
)
