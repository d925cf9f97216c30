"""Rules of the Db2 manager: Q5ST, verb by verb (F-34), as the paper's queries Q-5, Q-7 and Q-8 have it.

Lists and single longest times may be large and say nothing about Db2 (1416-1417); how long a request waits for a server
task does not depend on its verb, so lists count there.
"""

import numpy as np

from quaestor.advisor.rows import Array, Floats, ratio
from quaestor.advisor.rule import Columns, Cutoff, Rule, Severity

SLOW_MS = 10
CHANGES = ("delete", "update", "write", "scs_insert", "scs_update", "scs_delete", "ssk_insert", "ssk_delete")
VERBS = (*CHANGES, "list", "read", "scs_select", "ssk_select")


def server_ms(at: Columns, verb: str) -> Floats:
    """Mean time of a verb in Db2, milliseconds."""
    return ratio(getattr(at, f"{verb}_server_elapsed_us") / 1000, getattr(at, f"{verb}s"))


def delay_ms(at: Columns, verb: str) -> Floats:
    """Mean time that a verb waited for a server task, milliseconds."""
    waited_us = getattr(at, f"{verb}_thread_elapsed_us") - getattr(at, f"{verb}_server_elapsed_us")
    return ratio(waited_us / 1000, getattr(at, f"{verb}s"))


def _changes_ms(at: Columns) -> Array:
    return np.stack([server_ms(at, verb) for verb in CHANGES])


def _delays_ms(at: Columns) -> Array:
    return np.stack([delay_ms(at, verb) for verb in VERBS])


def _highest(means: Array) -> Floats:
    """The highest of the verbs' means; not known where no verb was used."""
    return np.asarray(np.fmax.reduce(means), np.float64)


def _verb(means: Array, verbs: tuple[str, ...]) -> Array:
    """The verb with the highest mean, as people write it: SCS update is one of the shared channel status."""
    at = np.argmax(np.where(np.isnan(means), -np.inf, means), axis=0)
    names = [verb.replace("scs_", "SCS ").replace("ssk_", "SSK ") for verb in verbs]
    return np.asarray(np.array(names, object)[at])


RULES = (
    Rule(
        id="mp1b/A-16",
        title="Db2 is slow to change rows",
        table="Q5ST",
        figures={
            "slowest_ms": lambda at: _highest(_changes_ms(at)),
            "slowest_verb": lambda at: _verb(_changes_ms(at), CHANGES),
        },
        when=lambda at, cut: at.slowest_ms > cut.ms_max,
        measure="slowest_ms",
        cutoffs=(Cutoff("ms_max", SLOW_MS, "milliseconds of a change to rows; 5 to 10 are normal"),),
        advice="Of the verbs that change rows {slowest_verb} was the slowest, with {slowest_ms:.1f} ms in Db2 on"
        " average. They wait for the Db2 log: look at its volumes and at Db2 itself.",
        lines="1408, 1416-1417, 1507-1517",
    ),
    Rule(
        id="mp1b/A-17",
        title="Requests wait for a Db2 server task",
        table="Q5ST",
        when=lambda at, cut: at.delay_ms > cut.ms_max,
        measure="delay_ms",
        cutoffs=(Cutoff("ms_max", 1, "milliseconds between thread and server time of a verb"),),
        shows=("tasks", "queue_depth_high"),
        advice="Requests waited for one of {tasks} server tasks, {delayed_verb} the longest, with {delay_ms:.1f} ms on"
        " average. Raise the number of Db2 servers in QSGDATA.",
        figures={
            "delay_ms": lambda at: _highest(_delays_ms(at)),
            "delayed_verb": lambda at: _verb(_delays_ms(at), VERBS),
            "tasks_wanted": lambda at: 2 * at.tasks,
        },
        command="CSQ6SYSP QSGDATA=(group,sharing,db2,{tasks_wanted:.0f})",
        own_command="",
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
        figures={"read_ms": lambda at: server_ms(at, "read")},
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
        lines="2833, 2860-2863, 2977, 3229, 4893",
    ),
)
