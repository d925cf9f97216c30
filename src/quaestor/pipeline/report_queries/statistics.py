"""Five outputs of MP1B's sample program that read statistics: SCF MM BM SDB2 LOG, one row per record and object.

Rules
  O6  Rows are intervals as they were recorded, not the five minutes of the summary tables.
  O7  %Redrive is a percentage of the requests, as its heading says; MP1B's text calls it a number.
  O8  Reads of the log are delayed for two reasons that MP1B prints under one heading; they are two columns.

Called by the package's register.  Calls details.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from quaestor.pipeline.raw_tables import QUEUE_MANAGER
from quaestor.pipeline.report_queries.details import details
from quaestor.pipeline.report_queries.record_sums import average, ordered, percent
from quaestor.pipeline.report_queries.steps import Parameters, Tables

_CALLS = ("opens", "closes", "gets", "puts", "put1s", "inquires", "internal_inquires", "sets")
_POOL = (
    "buffer_pool",
    "buffers",
    "stealable_now",
    "stealable_low",
    "deferred_write_starts",
    "synchronous_write_starts",
    "steals",
    "hash_chain_changes",
    "short_on_storage",
)
_LOG = (
    "writes_wait",
    "writes_nowait",
    "writes_force",
    "waits_no_buffer",
    "reads_from_buffer",
    "reads_from_active",
    "reads_from_archive",
    "reads_delayed_tape_volume",
    "reads_delayed_unavailable",
    "checkpoints",
    "log_ios",
    "cis_written",
    "buffers_paged_in",
)


def _intervals(tables: Tables, structure: str, asked: Parameters, columns: Sequence[str]) -> pa.Table:
    """The rows of a statistics structure with system, and date, time and queue manager under short names (O6)."""
    rows = details(tables, structure, asked, ("local_time", QUEUE_MANAGER, "system", *columns), _as_they_are)
    moment = rows["local_time"]
    made = rows.append_column("date", pc.cast(moment, pa.date32())).append_column("qmgr", rows[QUEUE_MANAGER])
    hundredths = pc.utf8_slice_codeunits(pc.strftime(moment, "%H:%M:%S"), 0, 11)
    return made.append_column("time", hundredths)


def _as_they_are(rows: pa.Table) -> pa.Table:
    return rows


def scf(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per interval and structure of the coupling facility that was used."""
    rows = _intervals(tables, "QEST", asked, ("structures",))
    lists = rows["structures"].combine_chunks()
    heads = rows.drop_columns(["structures"]).take(pc.list_parent_indices(lists))
    each = pc.list_flatten(lists)
    columns = {field.name: pc.struct_field(each, field.name) for field in each.type}
    made = pa.table({**{name: heads[name] for name in heads.column_names}, **columns})
    made = made.filter(pc.not_equal(made["structure"], ""))
    for kind in ("single", "multiple"):
        calls = made[f"{kind}_calls"]
        made = made.append_column(f"{kind}_avg_us", average(made[f"{kind}_elapsed_us"], calls))
        made = made.append_column(f"{kind}_redrive_percent", percent(made[f"{kind}_redrives"], calls))  # O7
    return ordered(made, ("local_time", "qmgr", "system", "structure_number"))


def mm(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per interval: MQI calls of a queue manager."""
    return ordered(_intervals(tables, "QMST", asked, _CALLS), ("local_time", "qmgr", "system"))


def bm(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per interval and buffer pool: how much of it could be stolen, and what was done about it."""
    made = _intervals(tables, "QPST", asked, _POOL)
    for when in ("now", "low"):
        made = made.append_column(f"{when}_percent", percent(made[f"stealable_{when}"], made["buffers"]))
    return ordered(made, ("local_time", "qmgr", "system", "buffer_pool"))


def sdb2(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per interval: the deepest queue of requests to Db2, and deadlocks."""
    return ordered(
        _intervals(tables, "Q5ST", asked, ("queue_depth_high", "deadlocks")), ("local_time", "qmgr", "system")
    )


def log(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per interval: writes, waits and reads of the log manager (O8)."""
    return ordered(_intervals(tables, "QJST", asked, _LOG), ("local_time", "qmgr", "system"))
