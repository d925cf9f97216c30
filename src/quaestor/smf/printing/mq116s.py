"""MQ116S: task accounting of SMF 116-1: who the task was, and its commits, log, Db2, CF and latches in microseconds.

The queues of the task follow in `queue_account`. In 116-1 the common header describes the task that wrote the record,
so identity comes from WTID.

Called by programs.  Calls forms, identity.
"""

from collections.abc import Iterator
from typing import Any

from quaestor.smf.codes import CF_REQUEST_KIND
from quaestor.smf.printing import figures
from quaestor.smf.printing.figures import View
from quaestor.smf.printing.forms import Block, Cell, Form, Row, figure, mean_us, row
from quaestor.smf.printing.identity import (
    cross_reference,
    dotted,
    dotted_token,
    smf_date,
    smf_time,
    thread_type,
    when_and_level,
)
from quaestor.smf.records import Task
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification

NEW_TASK = "====> New task record found <======="
LATCH_CLASSES = 32
_COMMA = " ,"


def _counted(label: str, count: str, elapsed: str, *more: Cell, sparse: bool = True) -> Row:
    """== Label : Count n ,avg elapse n ..."""
    return row(
        figure("Count", count, 7),
        mean_us("avg elapse", elapsed, count, 7),
        *more,
        lead=f"{label} : ",
        joint=_COMMA,
        sparse=sparse,
    )


def _verb(label: str, count: str, group: str, *, sparse: bool = True) -> Row:
    return _counted(label, count, f"{group}_elapsed", mean_us("avg CPU", f"{group}_cpu", count, 7), sparse=sparse)


CF_KIND = Form(
    "",
    (
        row(
            figure("Count", "requests", 7),
            figure("sync", "sync", 7),
            Cell("avg elapse", ("sync_elapsed", "sync"), lambda k, _: _micros(k, "sync"), 7),
            figure("async", "async_", 7),
            Cell("avg elapse", ("async_elapsed", "async_"), lambda k, _: _micros(k, "async"), 7),
            joint=_COMMA,
        ),
    ),
)
CF_CALLS = Form("", blocks={"kinds": Block(CF_KIND, lambda kind: f"{CF_REQUEST_KIND.get(kind, kind)} : ")})

TASK = Form(
    "Task accounting : WTAS",
    (
        _verb("Commit", "commits", "commit", sparse=False),
        _verb("Backout", "backouts", "backout"),
        _verb("Prepare", "prepares", "prepare"),
        _verb("Other", "others", "other"),
        _counted("Suspend", "suspends", "suspend_elapsed", sparse=False),
        row(figure("New", "pages_got_new", 7), figure("Old", "pages_got_old", 7), lead="Pages : ", joint=_COMMA),
        _counted("Log write", "log_writes", "log_write_elapsed", figure("bytes", "log_bytes", 9)),
        _counted("Log force", "log_forces", "log_force_elapsed"),
        _counted("Page set 0", "page_set_0_requests", "page_set_0_elapsed"),
        row(
            figure("Count", "db2_requests", 7),
            mean_us("avg thread", "db2_thread_elapsed", "db2_requests", 7),
            mean_us("avg server", "db2_server_elapsed", "db2_requests", 7),
            figure("max thread", "db2_thread_longest", 7),
            figure("max server", "db2_server_longest", 7),
            lead="DB2 : ",
            joint=_COMMA,
            sparse=True,
        ),
        _counted("CF single", "cf_single_calls", "cf_single_elapsed", figure("retries", "cf_single_redrives", 7)),
        _counted(
            "CF multiple", "cf_multiple_calls", "cf_multiple_elapsed", figure("retries", "cf_multiple_redrives", 7)
        ),
        _verb("MQSUB", "subscribes", "subscribe"),
        _verb("MQSUBRQ", "subscription_requests", "subscription_request"),
        _verb("MQCTL", "controls", "control"),
        _verb("MQSTAT", "stats", "stat"),
    ),
    blocks={
        "commit_cf_calls": Block(CF_CALLS, lambda _: "CF commit "),
        "prepare_cf_calls": Block(CF_CALLS, lambda _: "CF prepare "),
    },
    indent="== ",
    elsewhere=frozenset(
        {"allocated_at", "interval_start", "interval_end", "latch_elapsed", "latch_waits", "latch_class_longest"}
    ),
)


def _micros(kind: Any, how: str) -> str:
    """Average of CF request times, which are whole microseconds already."""
    counted = "async_" if how == "async" else how
    return figures.average(getattr(kind, f"{how}_elapsed"), getattr(kind, counted))


def header(task: Task) -> Iterator[str]:
    """The header of MQ116S, and under it what the record tells about its time and level."""
    who = task.identification
    job, user = (who.connection_name, who.user_id) if who else (None, None)
    head = task.record.header
    parts = (
        f"MVS:{head.system}",
        f"MQSeries sys:{head.queue_manager}",
        f"Jobname:{job or figures.ABSENT}",
        f"Userid:{user or figures.ABSENT}",
        f"Date {smf_date(task.record)}",
        f"Time {smf_time(task.record)}",
    )
    yield _COMMA.join(parts)
    yield when_and_level(task.record)


def identification(who: TaskIdentification, view: View) -> Iterator[str]:
    yield NEW_TASK
    yield dotted("Thread type", thread_type(who.connection_type))
    yield dotted("Connection name", who.connection_name)
    yield dotted("Operator id", who.operator_id)
    yield dotted("User identifier", who.user_id)
    yield dotted("Channel name", who.channel)
    yield dotted("Chl Connection", who.channel_connection)
    reference = cross_reference(who.connection_type, who.correlation, view) if who.correlation is not None else ""
    yield from dotted_token("Correlator Id", who.correlation, reference, always=True)
    for label, token in (
        ("Context token", who.context_token),
        ("NID", who.network_id),
        ("accounting token", who.accounting_token),
        ("UOW identifier", who.unit_of_work_id),
    ):
        text = "" if token is None else view.characters(token)
        yield from dotted_token(label, token, text, always=label == "UOW identifier")


def accounting(task: TaskAccounting, view: View) -> Iterator[str]:
    yield task_token(task.allocated_at, task.correlator_2, task.correlator_3, view)
    if task.interval_start is not None:
        yield f"== Interval : START {view.day_and_time(task.interval_start)}"
        yield f"== Interval : END   {view.day_and_time(task.interval_end)}"
    yield from TASK.lines(task, view)
    yield from _latches(task)


def task_token(allocated_at: int | None, second: int | None, third: int | None, view: View) -> str:
    """When the task's block was allocated, and the two words that tell tasks of one moment apart."""
    words = (figures.ABSENT if word is None else f"{word & 0xFFFFFFFF:08x}" for word in (second, third))
    return f"== Task Token : {view.day_and_time(allocated_at)}, {', '.join(words)}"


def _latches(task: TaskAccounting) -> Iterator[str]:
    """One line per latch class that was waited for."""
    arrays: tuple[Any, ...] = (task.latch_waits, task.latch_elapsed, task.latch_class_longest)
    for latch in range(LATCH_CLASSES):
        waits, elapsed, longest = (each[latch] if each and latch < len(each) else None for each in arrays)
        if waits or elapsed or longest:
            shown = (figures.number(waits), figures.average_us(elapsed, waits), figures.whole_us(longest))
            yield "== Latch {:02d} : Count {:>7} ,avg elapse {:>7} ,longest {:>7}".format(latch + 1, *shown)
