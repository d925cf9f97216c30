"""The two outputs of MP1B's sample program that add up every verb: SUMMARY and STATS.

Rules
  O1 to O3 of accounting hold here too. In addition:
  O9  A verb that was not called has no row in STATS; commit, backout and other have no queue.
  O10 What is neither CPU nor log nor page set is other; of no time at all nothing is (G4).

Called by the package's register.  Calls record_sums.
"""

from collections.abc import Mapping, Sequence
from functools import partial, reduce

import pyarrow as pa
import pyarrow.compute as pc

from quaestor.pipeline.report_queries.details import details
from quaestor.pipeline.report_queries.record_sums import (
    COLUMNS,
    Array,
    amount,
    average,
    count,
    keys_of,
    ordered,
    percent,
    record_sums,
)
from quaestor.pipeline.report_queries.steps import Parameters, Tables, Verb
from quaestor.pipeline.sums import added

QUEUE_VERBS: tuple[Verb, ...] = (
    ("Open", "opens", "open_elapsed_us", "open_cpu_us"),
    ("Close", "closes", "close_elapsed_us", "close_cpu_us"),
    ("Put", "puts", "put_elapsed_us", "put_cpu_us"),
    ("Put1", "put1s", "put1_elapsed_us", "put1_cpu_us"),
    ("Get", "gets", "get_elapsed_us", "get_cpu_us"),
    ("Inq", "inquires", "inq_elapsed_us", "inq_cpu_us"),
    ("Set", "sets", "set_elapsed_us", "set_cpu_us"),
)
TASK_VERBS: tuple[Verb, ...] = (
    ("Commit", "commits", "commit_elapsed_us", "commit_cpu_us"),
    ("Backout", "backouts", "backout_elapsed_us", "backout_cpu_us"),
    ("Other", "others", "other_elapsed_us", "other_cpu_us"),
)
LOG_WAITS = (
    "get_log_write_elapsed_us",
    "put_log_write_elapsed_us",
    "put1_log_write_elapsed_us",
    "set_log_write_elapsed_us",
)
PAGE_SET_WAITS = ("get_page_set_elapsed_us", "put_page_set_elapsed_us", "put1_page_set_elapsed_us")

_SHARES: dict[str, tuple[str, ...]] = {
    **{verb.lower(): (elapsed,) for verb, _, elapsed, _ in QUEUE_VERBS},
    "cpu": tuple(cpu for *_, cpu in QUEUE_VERBS),
    "log": LOG_WAITS,
    "pset": PAGE_SET_WAITS,
}
"""What SUMMARY shows as a share of the elapsed time, and the columns that it is the sum of."""
_SUMS = {"elapsed_us": tuple(elapsed for _, _, elapsed, _ in QUEUE_VERBS), **_SHARES}
_FIGURES = dict.fromkeys(("calls", "elapsed_us", "cpu_us"), "sum")


def summary(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per task record or job: where the elapsed time of its queue calls went."""
    reads = [each for some in _SUMS.values() for each in some]
    rows = record_sums(tables, "WQST", asked, keys_of(asked), reads, _row_sums, dict.fromkeys(_SUMS, "sum"))
    elapsed = rows["elapsed_us"]
    shares = {f"{part}_percent": percent(rows[part], elapsed) for part in _SHARES}
    used = reduce(pc.add, (shares[f"{part}_percent"] for part in ("log", "pset", "cpu")))
    other = pc.if_else(pc.greater(elapsed, 0), pc.subtract(100, used), 0)  # O10
    thousands = average(elapsed, pa.repeat(1000, len(rows)))
    return pa.table({"jobname": rows["jobname"], "et_ms": thousands, **shares, "other_percent": other})


def _row_sums(rows: pa.Table) -> Mapping[str, Array]:
    return {name: reduce(pc.add, (amount(rows[each]) for each in some)) for name, some in _SUMS.items()}


def stats(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per task record or job, queue and verb that was called."""
    parts = [_called(tables, "WQST", asked, QUEUE_VERBS)]
    if asked.get("queue") is None:
        parts.append(_called(tables, "WTAS", asked, TASK_VERBS))
    keys = keys_of(asked, "queue", "verb_order", "verb")
    rows = ordered(added(pa.concat_tables(parts), keys, _FIGURES), keys)
    averages = {
        "average_et_us": average(rows["elapsed_us"], rows["calls"]),
        "average_ct_us": average(rows["cpu_us"], rows["calls"]),
    }
    return pa.table({**{each: rows[each] for each in ("jobname", "queue", "verb", "calls")}, **averages})


def _called(tables: Tables, structure: str, asked: Parameters, verbs: Sequence[Verb]) -> pa.Table:
    """The rows of a structure, one for each verb that was called (O9)."""
    keys = keys_of(asked, *(["queue"] if structure == "WQST" else []))
    reads = [*(COLUMNS[each] for each in keys), *(column for _, *columns in verbs for column in columns)]
    return details(tables, structure, asked, reads, partial(_verb_sums, keys, verbs))


def _verb_sums(keys: Sequence[str], verbs: Sequence[Verb], rows: pa.Table) -> pa.Table:
    laid = []
    for order, (verb, calls, elapsed, cpu) in enumerate(verbs):
        made = {
            **{each: rows[COLUMNS[each]] for each in keys},
            "verb_order": pa.repeat(order, len(rows)),
            "verb": pa.repeat(verb, len(rows)),
            "calls": count(rows[calls]),
            "elapsed_us": amount(rows[elapsed]),
            "cpu_us": amount(rows[cpu]),
        }
        made.setdefault("queue", pa.repeat("", len(rows)))
        laid.append(pa.table(made).filter(pc.greater(made["calls"], 0)))
    together = [*(each for each in keys if each != "queue"), "queue", "verb_order", "verb"]
    return added(pa.concat_tables(laid), together, _FIGURES)
