"""Five outputs of MP1B's sample program that read accounting: PUT GET DB2 CF THREAD.

Rules
  O1  Columns and formulas are MP1B's. Times are microseconds except et_ms; averages and percentages are cut (G4).
  O2  A row is a task record or, with `grain=job`, a job (record_sums, S1).
  O3  A queue goes by its base name: that is where the message is.
  O4  The smallest size and the shortest time on queue mean something only after a valid call (F-7).
  O5  Time on queue is measured by destructive gets alone. Its average divides by them where the record counts them,
      by the valid gets otherwise, and is null when the result is below the minimum, which no average can be (F-9).
      Who only browsed has measured no shortest time.

Called by the package's register.  Calls record_sums.
"""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from quaestor.pipeline.report_queries.record_sums import (
    Array,
    amount,
    average,
    count,
    keys_of,
    record_sums,
    whole,
)
from quaestor.pipeline.report_queries.steps import Parameters, Tables

THREAD_TYPES = {
    1: "CICS",
    2: "Batch",
    3: "IMS Control",
    4: "IMS",
    5: "Command",
    6: "Channel",
    7: "RRS",
    8: "IGQ agent",
}
_PUTS = ("valid_puts", "puts", "put1s", "put_bytes")
_GETS = ("gets", "valid_gets", "get_bytes")
_DB2 = ("db2_thread_elapsed_us", "db2_server_elapsed_us")
_DB2_LONGEST = ("db2_thread_longest_us", "db2_server_longest_us")
_CF_CALLS = ("cf_single_calls", "cf_single_redrives", "cf_multiple_calls", "cf_multiple_redrives")
_CF_TIMES = ("cf_single_elapsed_us", "cf_multiple_elapsed_us")
_THREAD = ("task_connection_type", "task_channel", "task_channel_connection")


def put(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per task record or job and queue put to: calls, bytes and sizes."""
    how = {**dict.fromkeys(_PUTS, "sum"), "put_size_high": "max", "put_size_low": "min"}
    rows = record_sums(tables, "WQST", asked, keys_of(asked, "queue"), tuple(how), _put_figures, how)
    return _used(rows, "puts", "put1s")


def _put_figures(rows: pa.Table) -> Mapping[str, Array]:
    low = _after_valid(rows["put_size_low"], rows["valid_puts"])
    return {**_counts(rows, _PUTS), "put_size_high": rows["put_size_high"], "put_size_low": low}


def get(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per task record or job and queue got from: calls, bytes, sizes and time on queue."""
    how = {
        **dict.fromkeys((*_GETS, "on_queue_us", "measured"), "sum"),
        **dict.fromkeys(("get_size_high", "toq_max_us"), "max"),
        **dict.fromkeys(("get_size_low", "toq_min_us"), "min"),
    }
    on_queue = ("on_queue_elapsed_us", "on_queue_longest_us", "on_queue_shortest_us")
    reads = (*_GETS, *on_queue, "valid_destructive_gets", "get_size_high", "get_size_low")
    rows = _used(record_sums(tables, "WQST", asked, keys_of(asked, "queue"), reads, _get_figures, how), "gets")
    some = pc.greater(rows["measured"], 0)
    mean = pc.divide(rows["on_queue_us"], pc.if_else(some, pc.cast(rows["measured"], pa.float64()), None))
    possible = pc.greater_equal(mean, rows["toq_min_us"])  # O5
    return rows.append_column("toq_avg_us", pc.if_else(possible, mean, pa.scalar(None, pa.float64())))


def _get_figures(rows: pa.Table) -> Mapping[str, Array]:
    valid = rows["valid_gets"]
    measured = pc.coalesce(rows["valid_destructive_gets"], valid)  # O5
    return {
        **_counts(rows, _GETS),
        "on_queue_us": amount(rows["on_queue_elapsed_us"]),
        "measured": count(measured),
        "get_size_high": rows["get_size_high"],
        "get_size_low": _after_valid(rows["get_size_low"], valid),
        "toq_max_us": rows["on_queue_longest_us"],
        "toq_min_us": _after_valid(rows["on_queue_shortest_us"], measured),
    }


def db2(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per task record or job that made requests to Db2: T as the thread saw them, S as the server did."""
    how = {**dict.fromkeys(("db2_requests", *_DB2), "sum"), **dict.fromkeys(_DB2_LONGEST, "max")}
    rows = _used(record_sums(tables, "WTAS", asked, keys_of(asked), tuple(how), _db2_figures, how), "db2_requests")
    made = {
        f"{side}_{name}_us": figure
        for side in ("thread", "server")
        for name, figure in (
            ("avg", average(rows[f"db2_{side}_elapsed_us"], rows["db2_requests"])),
            ("max", whole(rows[f"db2_{side}_longest_us"])),
        )
    }
    return pa.table({"jobname": rows["jobname"], "db2_requests": rows["db2_requests"], **made})


def _db2_figures(rows: pa.Table) -> Mapping[str, Array]:
    longest = {each: rows[each] for each in _DB2_LONGEST}
    return {**_counts(rows, ("db2_requests",)), **_amounts(rows, _DB2), **longest}


def cf(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per task record or job that made requests to the coupling facility: E single entries, M multiple."""
    how = dict.fromkeys((*_CF_CALLS, *_CF_TIMES), "sum")
    rows = record_sums(tables, "WTAS", asked, keys_of(asked), tuple(how), _cf_figures, how)
    rows = _used(rows, "cf_single_calls", "cf_multiple_calls")
    for kind in ("single", "multiple"):
        mean = average(rows[f"cf_{kind}_elapsed_us"], rows[f"cf_{kind}_calls"])
        rows = rows.append_column(f"{kind}_avg_us", mean)
    return rows


def _cf_figures(rows: pa.Table) -> Mapping[str, Array]:
    return {**_counts(rows, _CF_CALLS), **_amounts(rows, _CF_TIMES)}


def thread(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per task record, or per job and channel: who was connected, and as what."""
    keys = keys_of(asked, "channel", "qualifier", "type")
    return record_sums(tables, "WTAS", asked, keys, _THREAD, _thread_figures, {"count": "sum"})


def _thread_figures(rows: pa.Table) -> Mapping[str, Array]:
    known = pc.index_in(rows["task_connection_type"], pa.array(list(THREAD_TYPES), rows["task_connection_type"].type))
    names = pc.take(pa.array(list(THREAD_TYPES.values())), known)
    return {
        "channel": pc.fill_null(rows["task_channel"], ""),
        "qualifier": pc.fill_null(rows["task_channel_connection"], ""),
        "type": pc.fill_null(names, "?"),
        "count": pa.repeat(1, len(rows)),
    }


def _counts(rows: pa.Table, columns: tuple[str, ...]) -> dict[str, Array]:
    return {each: count(rows[each]) for each in columns}


def _amounts(rows: pa.Table, columns: tuple[str, ...]) -> dict[str, Array]:
    return {each: amount(rows[each]) for each in columns}


def _after_valid(figure: Array, calls: Array) -> Array:
    """A figure where there was a valid call, null elsewhere (O4)."""
    made: Array = pc.if_else(pc.greater(calls, 0), figure, pa.scalar(None, figure.type))
    return made


def _used(rows: pa.Table, first: str, *others: str) -> pa.Table:
    """The rows in which one of these was counted."""
    calls = rows[first]
    for each in others:
        calls = pc.add(calls, rows[each])
    return rows.filter(pc.greater(calls, 0))
