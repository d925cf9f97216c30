"""Tasks, queues and applications as accounting shows them.

Rules
  T1  A task's row has the sums over its queues beside its own figures: WTAS and WQST are joined by correlator, each
      queue to the last task record at or before its own time, so that continuations (116-2) find their 116-1.
  T2  Records are cut when tasks end, not by the clock: queues are summed by the hour, applications by the day. What was
      built in the first minute of an hour belongs to the hour before, for it was cut at the broadcast that ended it.
  T3  An application is a job and its transaction (CICS) or PSB (IMS), or a channel.
  T4  Figures per unit of recovery exist where there were units of recovery: a channel that moved only fast messages
      has no commits, and its figures are per message (mp1b/A-11).
  T5  What a unit of recovery holds is what it put and what it took off queues: a browse leaves the message to others.
      Units that were backed out are units too. Where destructive gets are not counted by themselves, all gets are.
  T6  A task that runs past a broadcast has a record for each interval, all with its correlator: it is one connection.

Called by views' registry in catalog.  Calls rows, views.
"""

import numpy as np

from quaestor.advisor.rows import Array, Floats, Groups, Rows, as_of, codes, is_known, looked_up, ratio
from quaestor.advisor.views import (
    BUILT_TOGETHER_US,
    RECORD,
    Tables,
    View,
    base,
    before_in_time,
    owner,
    pairs,
    table_of,
)
from quaestor.layout import CP1047
from quaestor.pipeline.hours import hourly

CHANNEL_INITIATOR, CICS, IMS = 6, 1, (3, 4)
_VERBS = ("open", "close", "get", "put", "put1", "inq", "set")
_ELAPSED = tuple(f"{verb}_elapsed_us" for verb in _VERBS)
_CPU = tuple(f"{verb}_cpu_us" for verb in _VERBS)
_LOG_WAITS = tuple(f"{verb}_log_write_elapsed_us" for verb in ("get", "put", "put1", "set"))
_QUEUE_SUMS = (
    *("opens", "closes", "gets", "puts", "put1s", "inquires", "sets", "valid_puts", "valid_gets", "put_bytes"),
    *("get_bytes", "gets_any", "gets_specific", "browses_any", "browses_specific", "messages_skipped"),
    *("messages_expired", "get_page_set_reads", "put_page_set_reads", "put1_page_set_reads", "generated_messages"),
    *("opens_no_cf", "on_queue_elapsed_us", "valid_destructive_gets", "puts_persistent", "put1s_persistent"),
    *("selector_gets", "empty_pages_skipped"),
)
_NAMED_BY = ("task_connection_type", "task_connection_name", "task_correlation", "task_channel")
_IDENTITY = (*_NAMED_BY, "correlator")
_QUEUE_FIELDS = (
    *RECORD,
    *_IDENTITY,
    *("object_name", "base_name", "index_type", "page_set", "buffer_pool", "structure"),
    *("get_size_high", "get_size_low", "put_size_high", "depth_high", "get_page_set_elapsed_us"),
    *_QUEUE_SUMS,
    *_ELAPSED,
    *_CPU,
    *_LOG_WAITS,
)
_TASK_FIELDS = (
    *RECORD,
    *_IDENTITY,
    *("commits", "commit_elapsed_us", "commit_cpu_us", "backouts", "log_forces", "log_force_elapsed_us", "log_bytes"),
    *("backout_elapsed_us", "prepare_elapsed_us"),
    *("others", "other_elapsed_us", "other_cpu_us", "db2_requests", "latch_longest_us", "wtas_interval_start"),
    "interval_end",
)


def application(rows: Rows) -> Array:
    """What a task is called: its job, with the transaction or PSB, or its channel (T3)."""
    named = Rows({each: getattr(rows, each) for each in _NAMED_BY}, len(rows))
    group = Groups([getattr(named, each) for each in _NAMED_BY])
    return np.array([_called(named.row(int(first))) for first in group.first], object)[group.of_row]


def _called(row: dict[str, object]) -> str:
    kind, job = row["task_connection_type"], str(row["task_connection_name"] or "")
    if kind == CHANNEL_INITIATOR and row["task_channel"]:
        return f"channel {row['task_channel']}"
    correlation = row["task_correlation"]
    if isinstance(correlation, bytes) and (kind == CICS or kind in IMS):
        name = CP1047.decode(correlation[4:8] if kind == CICS else correlation[4:12])
        if name and name.isprintable():
            return f"{job} {name}"
    return job


def tasks(tables: Tables) -> Rows:
    """WTAS with the sums over the task's queues (T1)."""
    rows = base(table_of(tables, "WTAS"))
    queues = base(table_of(tables, "WQST"))
    at = _owners(rows, queues)
    own = queues.take(at >= 0)
    sums = _by_task(own, at[at >= 0], len(rows))
    messages, held = sums["valid_puts"] + sums["valid_gets"], sums["valid_puts"] + sums["taken"]
    beside_commit = rows.backout_elapsed_us + rows.other_elapsed_us + np.nan_to_num(rows.prepare_elapsed_us)
    elapsed_us = sums["verb_elapsed_us"] + rows.commit_elapsed_us + beside_commit
    covered = (rows.interval_end - rows.wtas_interval_start).astype("timedelta64[us]").astype(np.float64) / 1e6
    log = base(table_of(tables, "QJST"))
    interval = _interval_of(rows, log)
    reads_per_hour = hourly(log.reads_from_buffer, Groups(owner(log)).of_row, log.local_time, log.seconds)
    return rows.plus(
        **sums,
        application=application(rows),
        is_channel=(rows.task_connection_type == CHANNEL_INITIATOR).astype(np.float64),
        seconds=np.where(covered > 0, covered, np.nan),
        messages=messages,
        messages_per_unit=ratio(messages, rows.commits),
        held=held,
        held_per_unit=ratio(held, rows.commits + rows.backouts),
        elapsed_us=elapsed_us,
        elapsed_us_per_unit=ratio(elapsed_us, rows.commits),
        log_wait_share=ratio(rows.log_force_elapsed_us + sums["log_write_wait_us"], elapsed_us),
        force_us=ratio(rows.log_force_elapsed_us, rows.log_forces),
        log_reads_from_buffer=looked_up(log.reads_from_buffer, interval),
        log_reads_per_hour=looked_up(reads_per_hour, interval),
    )


def _interval_of(rows: Rows, log: Rows) -> Array:
    """For each task the interval of the log in which its record was cut; -1 where that interval is not there."""
    both = pairs(owner(rows), owner(log))
    at = as_of(both[0], rows.local_time, both[1], log.local_time, tolerance_us=BUILT_TOGETHER_US, earlier=False)
    if not len(log):
        return at
    begun = log.local_time - (np.nan_to_num(log.seconds) * 1e6).astype("timedelta64[us]")
    return np.where(begun[np.maximum(at, 0)] <= rows.local_time, at, -1)


def _owners(rows: Rows, queues: Rows) -> Array:
    """For each queue's row the index of its task's row, -1 where it is not there (T1)."""
    both = pairs([*owner(rows), rows.correlator], [*owner(queues), queues.correlator])
    return as_of(both[1], queues.local_time, both[0], rows.local_time, tolerance_us=0, earlier=True)


def _by_task(queues: Rows, at: Array, size: int) -> dict[str, Floats]:
    def total(*names: str) -> Floats:
        made = np.zeros(size)
        for name in names:
            np.add.at(made, at, np.nan_to_num(getattr(queues, name)))
        return made

    made = {name: total(name) for name in ("valid_puts", "valid_gets", "opens", "sets", "puts", "gets", "put1s")}
    known = is_known(queues.valid_destructive_gets)  # T5
    queues = queues.plus(taken=np.where(known, queues.valid_destructive_gets, queues.valid_gets))
    made["taken"] = total("taken")
    made["verb_elapsed_us"] = total(*_ELAPSED)
    made["verb_cpu_us"] = total(*_CPU)
    made["log_write_wait_us"] = total(*_LOG_WAITS)
    made["page_set_wait_us"] = total("get_page_set_elapsed_us")
    shared = np.array([bool(name) for name in queues.structure], bool)
    pairs = np.unique(np.stack([at[shared], codes(queues.structure)[shared]]), axis=1)
    made["structures_used"] = np.bincount(pairs[0], minlength=size).astype(np.float64)
    return made


def queue_hours(tables: Tables) -> Rows:
    """One row for each queue and hour, over all tasks that used it (T2)."""
    rows = base(table_of(tables, "WQST"))
    hour = (rows.local_time - np.timedelta64(1, "m")).astype("datetime64[h]")
    name = np.where(np.array([bool(each) for each in rows.base_name], bool), rows.base_name, rows.object_name)
    group = Groups([*owner(rows), name, hour, rows.index_type])
    channel = rows.task_connection_type == CHANNEL_INITIATOR
    made = rows.take(group.first).plus(
        **{each: group.sum(getattr(rows, each)) for each in _QUEUE_SUMS},
        queue=name[group.first],
        local_time=(hour[group.first] + np.timedelta64(1, "h")).astype("datetime64[us]"),
        seconds=np.full(len(group), 3600.0),
        tasks=group.counts,
        channel_gets=group.sum(np.where(channel, rows.valid_gets, 0.0)),
        client_calls=group.sum(np.where(channel, rows.opens, 0.0)),
        get_size_high=group.highest(np.where(rows.valid_gets > 0, rows.get_size_high, np.nan)),
        get_size_low=group.lowest(np.where(rows.valid_gets > 0, rows.get_size_low, np.nan)),
        put_size_high=group.highest(rows.put_size_high),
        depth_high=group.highest(rows.depth_high),
    )
    return made.plus(
        by_identifier=made.gets_specific + made.browses_specific,
        page_set_reads=made.get_page_set_reads + made.put_page_set_reads + made.put1_page_set_reads,
        on_queue_s=ratio(made.on_queue_elapsed_us, made.valid_destructive_gets) / 1e6,
        is_shared=np.array([bool(each) for each in made.structure], np.float64),
    )


def page_set_hours(tables: Tables) -> Rows:
    """One row for each page set and hour: the shortest and the longest mean time on queue among its queues."""
    queues = queue_hours(tables)
    private = queues.take(queues.is_shared == 0)
    group = Groups([*owner(private), private.page_set, private.local_time])
    return private.take(group.first).plus(
        queues=group.distinct(private.queue),
        on_queue_s_shortest=group.lowest(private.on_queue_s),
        on_queue_s_longest=group.highest(private.on_queue_s),
    )


def application_days(tables: Tables) -> Rows:
    """One row for each application and day, with the day before that it ran on."""
    rows = tasks(tables)
    day = (rows.local_time - np.timedelta64(1, "m")).astype("datetime64[D]")
    group = Groups([*owner(rows), rows.application, day])
    commits, messages = group.sum(rows.commits), group.sum(rows.messages)
    connections = group.distinct(rows.correlator)  # T6
    cpu_us = group.sum(rows.verb_cpu_us + rows.commit_cpu_us)
    made = rows.take(group.first).plus(
        local_time=(day[group.first] + np.timedelta64(1, "D")).astype("datetime64[us]"),
        seconds=np.full(len(group), 86_400.0),
        connections=connections,
        commits=commits,
        messages=messages,
        cpu_us_per_unit=ratio(cpu_us, commits),
        log_bytes_per_unit=ratio(group.sum(rows.log_bytes), commits),
        messages_per_connection=ratio(messages, connections),
        opens=group.sum(rows.opens),
    )
    before = before_in_time([*owner(made), made.application], made.local_time)
    return made.plus(
        cpu_us_per_unit_before=looked_up(made.cpu_us_per_unit, before),
        log_bytes_per_unit_before=looked_up(made.log_bytes_per_unit, before),
        commits_before=looked_up(made.commits, before),
    )


_NEEDS = {"WTAS": _TASK_FIELDS, "WQST": _QUEUE_FIELDS, "QJST": (*RECORD, "reads_from_buffer")}
VIEWS = (
    View("tasks", "one task over one accounting interval", "{application}", tasks, _NEEDS),
    View("queue_hours", "one queue over one hour", "queue {queue}", queue_hours, {"WQST": _QUEUE_FIELDS}),
    View(
        "page_set_hours",
        "the queues of one page set over one hour",
        "page set {page_set:.0f}",
        page_set_hours,
        {"WQST": _QUEUE_FIELDS},
    ),
    View("application_days", "one application over one day", "{application}", application_days, _NEEDS),
)
