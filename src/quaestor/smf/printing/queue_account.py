"""The queue part of MQ116S: every MQI verb of one task on one queue (WQST), averages in microseconds.

Dest-S and Dest-G are destructive gets by message or correlation id and of any message; Brow-S and Brow-G browse.
Time on queue is known from destructive gets only: its average divides by those where the level counts them, and an
average below the shortest time is no average (the count held browses too), so it is not printed.

Called by programs.  Calls forms.
"""

import struct
from collections.abc import Iterator
from typing import Any

from quaestor.smf.printing import figures
from quaestor.smf.printing.figures import ABSENT, View
from quaestor.smf.printing.forms import Block, Cell, Form, Row, figure, row, words
from quaestor.smf.printing.mq116s import CF_CALLS, task_token
from quaestor.smf.sections.queue_accounting import QueueAccounting

VERBS = (
    ("Open", "opens", "open"),
    ("Close", "closes", "close"),
    ("Get", "gets", "get"),
    ("Put", "puts", "put"),
    ("Put1", "put1s", "put1"),
    ("Inq", "inquires", "inq"),
    ("Set", "sets", "set"),
    ("CB", "callbacks", "cb"),
)
WAITS = (
    ("Susp", "suspend_elapsed", "suspends"),
    ("LOGW", "log_write_elapsed", "log_writes"),
    ("PSET", "page_set_elapsed", "page_set_reads"),
)
SKIPPED = (("Epages", "empty_pages_skipped"), ("skip", "messages_skipped"), ("expire", "messages_expired"))
LOG_FORCE = ("LOGF", "log_force_elapsed", "log_forces")  # since MP1B: waits for a forced log write
CF_VERBS = ("Open", "Close", "Get", "Put", "Put1")


def _in_table() -> frozenset[str]:
    """The fields that the verb table shows."""
    fields = {each.name for each in QueueAccounting.LAYOUT.fields}
    per_verb = ("elapsed", "cpu", *(name for _, *pair in (*WAITS, LOG_FORCE) for name in pair))
    table = {f"{group}_{each}" for _, _, group in VERBS for each in per_verb} & fields
    return frozenset(table | {count for _, count, _ in VERBS} | {name for _, name in SKIPPED})


def _if_any(label: str, name: str, valid: str) -> Cell:
    """A size that means something only when a call was valid."""
    unset = QueueAccounting.LAYOUT[name].unset

    def text(queue: Any, _: View) -> str:
        return figures.number(getattr(queue, name), unset) if getattr(queue, valid) else ABSENT

    return Cell(label, (name, valid), text)


def _bytes(label: str, name: str) -> Cell:
    """Sixteen hexadecimal digits as MQ116S has them, and the same in decimal."""

    def text(queue: Any, _: View) -> str:
        value = getattr(queue, name)
        return ABSENT if value is None else f"{value:016X} ({value})"

    return Cell(label, (name,), text, 0)


def _sizes(verbs: str, group: str) -> Row:
    valid = f"valid_{group}s"
    return row(
        figure("Valid", valid),
        _if_any("Max size", f"{group}_size_high", valid),
        _if_any("Min Size", f"{group}_size_low", valid),
        _bytes("Total bytes", f"{group}_bytes"),
        lead=f"{verbs}: ",
        sparse=True,
    )


def destructive_gets(queue: QueueAccounting) -> int | None:
    """How many gets measured a time on queue; V5.2 counts valid gets of all kinds only."""
    return queue.valid_gets if queue.valid_destructive_gets is None else queue.valid_destructive_gets


def _latency(label: str, name: str) -> Row:
    def text(queue: Any, _: View) -> str:
        return figures.latency(getattr(queue, name)) if queue.on_queue_longest else ABSENT

    return row(Cell(f"{label} latency", (name,), text, 0), lead="GETs: ", sparse=True)


def _average_latency(queue: Any, _: View) -> str:
    gets, total = destructive_gets(queue), queue.on_queue_elapsed
    if not gets or total is None or total // gets < (queue.on_queue_shortest or 0):
        return ABSENT
    return figures.latency(total // gets)


QUEUE = Form(
    "Queue accounting : WQST",
    (
        row(figure("Open name", "object_name", 0), figure("Base name", "base_name", 0), joint=" , "),
        row(
            words("Queue type", "queue_type"),
            words("Index", "index_type"),
            words("Disposition", "disposition"),
            joint=", ",
        ),
        row(words("Structure", "structure"), sparse=True),
        row(Cell("First opened :", ("opened_at",), lambda q, view: view.day_and_time(q.opened_at), 0)),
        row(Cell("Last closed  :", ("closed_at",), lambda q, view: view.day_and_time(q.closed_at), 0)),
        row(figure("Pageset identifier:", "page_set", 4), figure("Bufferpool:", "buffer_pool", 4), joint=", "),
        row(figure("Current opens :", "open_now"), figure("Total Requests:", "calls"), joint=", "),
        _sizes("GETs", "get"),
        row(
            figure("Dest-S", "gets_specific"),
            figure("Dest-G", "gets_any"),
            figure("Brow-S", "browses_specific"),
            figure("Brow-G", "browses_any"),
            lead="GETs: ",
            joint=", ",
            sparse=True,
        ),
        _latency("Maximum", "on_queue_longest"),
        _latency("Minimum", "on_queue_shortest"),
        row(
            Cell("Average latency", ("on_queue_elapsed",), _average_latency, 0),
            lead="GETs: ",
            sparse=True,
        ),
        _sizes("PUTs", "put"),
        row(figure("Generated messages :", "generated_messages")),
    ),
    blocks={"cf_calls": Block(CF_CALLS, lambda verb: f"CF {CF_VERBS[verb]} ")},
    elsewhere=_in_table() | {"correlator"},
)


def account(queue: QueueAccounting, view: View) -> Iterator[str]:
    """A queue under the token of the task it belongs to."""
    if queue.correlator is not None:
        allocated_at, second, third = struct.unpack(">QII", queue.correlator)
        yield task_token(allocated_at, second, third, view)
    yield from QUEUE.lines(queue, view)
    yield from verb_table(queue)


def verb_table(queue: QueueAccounting) -> Iterator[str]:
    """One line per verb that was called; a wait that a verb or a level does not count stays blank."""
    waits = (*WAITS, LOG_FORCE) if queue.get_log_force_elapsed is not None else WAITS
    called = [(label, count, group) for label, count, group in VERBS if getattr(queue, count)]
    if not called:
        return
    heads = [head for head, *_ in WAITS] + [head for head, _ in SKIPPED] + [head for head, *_ in waits[len(WAITS) :]]
    yield _table_line("MQCall", ["N", "ET", "CT", *heads])
    for label, count, group in called:
        calls = getattr(queue, count)
        times = [figures.average_us(getattr(queue, f"{group}_{each}"), calls) for each in ("elapsed", "cpu")]
        waited = [_wait(queue, group, elapsed, times_waited) for _, elapsed, times_waited in waits]
        skipped = [figures.number(getattr(queue, name)) if group == "get" else "" for _, name in SKIPPED]
        yield _table_line(label, [str(calls), *times, *waited[: len(WAITS)], *skipped, *waited[len(WAITS) :]])


def _wait(queue: QueueAccounting, group: str, elapsed: str, count: str) -> str:
    total = getattr(queue, f"{group}_{elapsed}", None)
    return "" if total is None else figures.average_us(total, getattr(queue, f"{group}_{count}"))


def _table_line(label: str, cells: list[str]) -> str:
    n, et, ct, *rest = cells
    return f"  {label:<7}{n:>9} {et:>9} {ct:>9} {' '.join(f'{each:>7}' for each in rest)}".rstrip()
