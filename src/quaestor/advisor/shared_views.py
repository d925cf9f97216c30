"""Structures of the coupling facility and the tasks and channels of the channel initiator, one row each.

Rules
  G1  A structure's row comes from its slot of QEST; slots that are not in use have no row.
  G2  The mean time of a call is compared with its own baseline: the median over all intervals read that had such calls,
      given that there are enough of them (`BASELINE_INTERVALS`).
  G3  The tasks of one kind (dispatchers, adapters, SSL tasks) are judged together, per statistics record.
  G4  Channels are judged one by one, and by dispatcher.
  G5  A command alters a channel under its own type; `chltype` is known for those that end batches, for the others have
      none of the attributes that rules alter.
  G6  A queue-sharing group is the queue managers whose records bear its name. Two systems may each have a QM01 (views,
      V4): of a name in two groups it is not known which one is meant.

Called by views' registry in catalog, and by evaluate.  Calls rows, views.
"""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quaestor.advisor.rows import Array, Floats, Groups, Rows, is_known, of_column, ratio
from quaestor.advisor.views import RECORD, Tables, View, base, owner, pairs, table_of, together

BASELINE_INTERVALS = 6
"""Fewer intervals say nothing about what is usual (ours)."""


_CHLTYPES = {1: "SDR", 2: "SVR", 8: "CLUSRCVR", 9: "CLUSSDR"}  # G5


def structures(tables: Tables) -> Rows:
    """One row for each structure and interval, with the baseline of its call times (G1, G2)."""
    table = table_of(tables, "QEST")
    lists = table["structures"].combine_chunks()
    parents = pc.list_parent_indices(lists).to_numpy()
    slots = lists.flatten()
    names = [each.name for each in slots.type]
    made = base(table).take(np.asarray(parents, np.intp)).plus(**{name: of_column(slots.field(name)) for name in names})
    single_us, multiple_us = (
        ratio(made.single_elapsed_us, made.single_calls),
        ratio(made.multiple_elapsed_us, made.multiple_calls),
    )
    return made.plus(
        single_us=single_us,
        multiple_us=multiple_us,
        single_us_usual=_usual(single_us, [*owner(made), made.structure]),
        multiple_us_usual=_usual(multiple_us, [*owner(made), made.structure]),
        bytes_per_entry=ratio(256 * made.elements_high, made.entries_high),
    )


def groups(tables: Tables) -> list[set[str]]:
    """The members of each queue-sharing group, without names that records put into several (G6)."""
    columns = ["queue_manager", "queue_sharing_group"]
    found: set[tuple[str, str]] = set()
    for table in tables.values():
        if set(columns) <= set(table.column_names):
            each = table.select(columns).group_by(columns).aggregate([])
            found |= set(zip(*(each[name].to_pylist() for name in columns), strict=True))
    times = Counter(manager for manager, group in found if group)
    made: dict[str, set[str]] = {}
    for manager, group in found:
        if manager and group and times[manager] == 1:
            made.setdefault(group, set()).add(manager)
    return list(made.values())


def systems(tables: Tables) -> dict[str, set[str]]:
    """The systems that the records of each queue manager are of."""
    columns = ["queue_manager", "system"]
    made: dict[str, set[str]] = {}
    for table in tables.values():
        if set(columns) <= set(table.column_names):
            for each in table.select(columns).group_by(columns).aggregate([]).to_pylist():
                made.setdefault(each["queue_manager"] or "", set()).add(each["system"] or "")
    return made


def _usual(column: Floats, keys: list[Array]) -> Floats:
    """The median of each object, where there are intervals enough (G2)."""
    group = Groups(keys)
    enough = group.sum(is_known(column).astype(np.float64)) >= BASELINE_INTERVALS
    return np.where(enough, group.median(column), np.nan)[group.of_row]


def cf_hours(tables: Tables) -> Rows:
    """One row for each queue manager and hour: requests at commit, those the processor did not wait for, and the usual
    share of these (G2).
    """
    table = table_of(tables, "WTAS")
    rows = base(table)
    made = rows.plus(**_commit_requests(table["commit_cf_calls"].combine_chunks(), len(rows)))
    hour = (rows.local_time - np.timedelta64(1, "m")).astype("datetime64[h]")
    group = Groups([*owner(rows), hour])
    hours = rows.take(group.first).plus(
        local_time=(hour[group.first] + np.timedelta64(1, "h")).astype("datetime64[us]"),
        seconds=np.full(len(group), 3600.0),
        requests=group.sum(made.requests),
        asynchronous=group.sum(made.asynchronous),
    )
    share = ratio(hours.asynchronous, hours.requests)
    return hours.plus(asynchronous_share=share, asynchronous_share_usual=_usual(share, owner(hours)))


def _commit_requests(blocks: pa.StructArray, size: int) -> dict[str, Array]:
    """Requests of all kinds by task."""
    kinds = blocks.field("kinds")
    parents = pc.list_parent_indices(kinds).to_numpy()
    flat = kinds.flatten()
    return {
        name: np.bincount(parents, weights=np.nan_to_num(of_column(flat.field(field))), minlength=size)
        for name, field in (("requests", "requests"), ("asynchronous", "async_"))
    }


def initiator_tasks(tables: Tables) -> Rows:
    """One row for each channel initiator and interval: how its tasks of each kind were used (G3)."""
    rows = base(table_of(tables, "QCCT"))
    made = rows
    for kind, structure in (("dispatcher", "QCT_DSP"), ("adapter", "QCT_ADP"), ("ssl", "QCT_SSL")):
        made = made.plus(**_of_kind(rows, base(table_of(tables, structure)), kind))
    return made


def _of_kind(rows: Rows, tasks: Rows, kind: str) -> dict[str, Array]:
    busy = ratio(tasks.request_elapsed_us / 1e6, tasks.seconds)
    group = Groups([*owner(tasks), tasks.local_time])
    first = tasks.take(group.first)
    mine, theirs = pairs([*owner(rows), rows.local_time], [*owner(first), first.local_time])
    place = {key: index for index, key in enumerate(theirs)}
    at = np.array([place.get(key, -1) for key in mine], np.intp)
    found = at >= 0

    def of_group(values: Floats) -> Floats:
        return np.where(found, values[np.maximum(at, 0)] if len(values) else np.nan, np.nan)

    return {
        f"{kind}s": of_group(group.counts),
        f"{kind}s_idle": of_group(group.sum((tasks.requests == 0).astype(np.float64))),
        f"{kind}_busy_high": of_group(group.highest(busy)),
        f"{kind}_busy_low": of_group(group.lowest(busy)),
        f"{kind}_requests_low": of_group(group.lowest(tasks.requests)),
        f"{kind}_requests": of_group(group.sum(tasks.requests)),
        f"{kind}_cpu_share": of_group(group.sum(ratio(tasks.cpu_us / 1e6, tasks.seconds))),
        f"{kind}_us_per_request": of_group(ratio(group.sum(tasks.request_elapsed_us), group.sum(tasks.requests))),
    }


def channels(tables: Tables) -> Rows:
    """QCST with the figures per batch and per message, and its company on the dispatcher (G4)."""
    rows = base(table_of(tables, "QCST"))
    interval = together(rows)
    same = Groups([rows.channel, interval])
    neighbours = Groups([rows.dispatcher, interval])
    everywhere = Groups([interval])
    message_bytes = ratio(rows.message_bytes, rows.messages)
    begun = rows.local_time - (np.nan_to_num(rows.seconds) * 1e6).astype("timedelta64[us]")
    zone = np.nan_to_num(rows.zone_minutes) * 60_000_000
    started = rows.started_at + zone.astype("timedelta64[us]")
    very_large = (message_bytes >= 100 * 1024 * 1024).astype(np.float64)
    return rows.plus(
        achieved_batch=ratio(rows.messages, rows.batches),
        bytes_per_batch=ratio(rows.message_bytes, rows.batches),
        bytes_per_message=message_bytes,
        messages_per_s=ratio(rows.messages, rows.seconds),
        chltype=np.array([_CHLTYPES.get(each) for each in rows.channel_type], object),
        is_client=(rows.channel_type == 7).astype(np.float64),
        instances=same.counts[same.of_row],
        starts=same.sum((started > begun).astype(np.float64))[same.of_row],
        channels_on_dispatcher=neighbours.counts[neighbours.of_row],
        dispatcher_messages_share=ratio(
            neighbours.sum(rows.messages)[neighbours.of_row], everywhere.sum(rows.messages)[everywhere.of_row]
        ),
        dispatchers_used=everywhere.distinct(rows.dispatcher)[everywhere.of_row],
        channels_with_very_large=everywhere.sum(very_large)[everywhere.of_row],
    )


_STRUCTURES = {"QEST": (*RECORD, "structures")}
_TASK = (*RECORD, "requests", "cpu_us", "request_elapsed_us")
_INITIATOR = {
    "QCCT": (*RECORD, "channels_high", "max_channels", "active_channels_high", "max_active_channels", "storage_31_mb"),
    "QCT_DSP": _TASK,
    "QCT_ADP": _TASK,
    "QCT_SSL": _TASK,
}
_CHANNEL = (
    *RECORD,
    *("zone_minutes", "channel", "channel_type", "started_at", "batch_size", "messages", "persistent_messages"),
    *("batches", "full_batches", "message_bytes", "compression_rate_percent", "network_average_us"),
    *("batch_interval", "batch_data_limit", "dispatcher", "shared_conversations", "transmission_queue_empty"),
)
VIEWS = (
    View(
        "cf_hours",
        "the coupling facility requests at commit of a queue manager over one hour",
        "coupling facility",
        cf_hours,
        {"WTAS": (*RECORD, "commit_cf_calls")},
    ),
    View("structures", "one structure over one interval", "structure {structure}", structures, _STRUCTURES),
    View(
        "initiator_tasks",
        "the tasks of a channel initiator over one interval",
        "channel initiator",
        initiator_tasks,
        _INITIATOR,
    ),
    View("channels", "one channel instance over one interval", "channel {channel}", channels, {"QCST": _CHANNEL}),
)
