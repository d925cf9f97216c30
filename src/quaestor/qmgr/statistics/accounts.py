"""Accounts: the tally of a task becomes SMF 116 records.

Rules
  AK1 A record has what its task did since the task's last record, or since it began. Each number of the tally is read
      once, so the records of a task add up to its tally.
  AK2 The first record of a task begins when the task was first accounted for; the last is flagged "end of task".
  AK3 A queue that was not used since the last record has no section. One that the task has open no more is forgotten
      when its numbers have been written: a task may use any number of dynamic queues. Opens and closes do not tell: a
      queue may have been open before the task was accounted for, and a close may fail.
  AK4 The engine has one latch; waits for it stand under latch class 11, that of the data manager.
  AK5 A queue's section says where it is: its page set and buffer pool, or its structure; and its disposition.
  AK6 Subtype 0 (class 1): QWAC and QMAC. Its TCB time is that of the calls: what the thread did otherwise is its own.

Called by the statistics manager.  Calls forms and the record writer.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from quaestor.clock import TOD_UNITS_PER_MICROSECOND, tod_from_us, tod_of_ns
from quaestor.layout import Add, Record
from quaestor.qmgr.connection.accounting import TaskTally
from quaestor.qmgr.connection.queue_tally import QueueTally
from quaestor.qmgr.connection.shared_accounting import SharedTally, words
from quaestor.qmgr.connection.verb import Verb
from quaestor.qmgr.statistics.forms import Form, Value, form
from quaestor.smf.catalog import CATALOG, length_at
from quaestor.smf.codes import QSGDISP
from quaestor.smf.sections.headers import CorrelationHeader
from quaestor.smf.sections.message import MessageAccounting
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification, ThreadAccounting
from quaestor.smf.writer import PackedSection, RecordIdentity, build_record, task_records

LATCH_CLASS = 11
LATCH_CLASSES = 32
END_OF_TASK = 0x20000000
REASON_ENDED = 12
BATCH, CHANNEL = 2, 6
WQST_VERSION = 9
DISPOSITIONS = {name.upper(): number for number, name in QSGDISP.items()}
_BANDS = ("0_99", "100_999", "1000_9999", "10000_up")
_QUEUE_VERBS = {
    "open": "opens",
    "close": "closes",
    "get": "gets",
    "put": "puts",
    "put1": "put1s",
    "inq": "inquires",
    "set": "sets",
}
_LOGGING = ("get", "put", "put1", "set")
_READING = ("get", "put", "put1")
_SUSPENDED = ("get", "put", "put1", "open", "close")

Figures = dict[str, Value]


def _sums(section: type[Record]) -> frozenset[str]:
    return frozenset(each.name for each in section.LAYOUT.fields if each.kind.add is Add.SUM or each.of is not None)


_TASK_SUMS, _QUEUE_SUMS, _MESSAGE_SUMS = map(_sums, (TaskAccounting, QueueAccounting, MessageAccounting))


@dataclass(slots=True)
class Account:
    """A task's tally, and what of it has been written (AK1)."""

    tally: TaskTally
    interval_start_us: int
    written: dict[object, Figures] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cut:
    """What goes into the records of one task: read with the latch held, made into records later."""

    who: Figures
    task: Figures
    queues: list[Figures]
    thread: Figures
    message: Figures
    end_us: int


class TaskRecords:
    """Makes records from cuts, at one level."""

    def __init__(self, identity: RecordIdentity) -> None:
        self._identity = identity
        self._forms: dict[type[Record], Form] = {
            section: form(section, length_at(section, identity.level) or section.LAYOUT.size)
            for section in (TaskIdentification, TaskAccounting, QueueAccounting, ThreadAccounting, MessageAccounting)
        }

    def accounting(self, cut: Cut, when_us: int, sequence: int) -> list[bytes]:
        """Class 3: 116-1 and its continuations."""
        queues = [self._filled(QueueAccounting, each) for each in cut.queues]
        who, task = self._filled(TaskIdentification, cut.who), self._filled(TaskAccounting, cut.task)
        return task_records(who, task, queues, self._identity, when_us, sequence=sequence)

    def message_manager(self, cut: Cut, when_us: int, sequence: int) -> bytes:
        """Class 1: 116-0."""
        sections = [self._filled(ThreadAccounting, cut.thread), self._filled(MessageAccounting, cut.message)]
        page = self._identity.page
        texts = {
            name: page.decode(self._filled(TaskIdentification, cut.who).data[at : at + 8])
            for name, at in (("connection_name", 12), ("operator_id", 20), ("user_id", 186))
        }
        correlation = CorrelationHeader(header_type=2, connection_type=cut.who["connection_type"], **texts)
        return build_record(
            CATALOG[116, 0], sections, self._identity, when_us, correlation=correlation, sequence=sequence
        )

    def _filled(self, section: type[Record], values: Mapping[str, Value]) -> PackedSection:
        return PackedSection(section, self._forms[section].filled(values))


def cut(account: Account, now_us: int, pool_of: Mapping[int, int], *, ended: bool) -> Cut:
    """Take what a task did since its last record (AK1 to AK3)."""
    tally = account.tally
    start_us, account.interval_start_us = account.interval_start_us, now_us
    for queue in tuple(tally.queues.values()):
        queue.fold()
    token = (tod_from_us(tally.started_us), int(tally.thread.name or "0", 16) & 0x7FFFFFFF, 0)
    queues = list(_queues(account, token, pool_of))
    totals = _task_figures(tally)
    message = _since(account, "message", _message_figures(tally), _MESSAGE_SUMS)
    task = _since(account, "task", totals, _TASK_SUMS)
    task |= _task_facts(tally, token, start_us, now_us, len(queues), ended=ended)
    return Cut(_who(tally), task, queues, _thread(task, message, start_us, now_us, ended=ended), message, now_us)


def _since(account: Account, key: object, now: Figures, sums: frozenset[str]) -> Figures:
    """Figures without what has been written before (AK1)."""
    before = account.written.get(key, {})
    grown = {name: _at_least(value, before.get(name)) if name in sums else value for name, value in now.items()}
    account.written[key] = grown
    return {name: _less(value, before.get(name)) if name in sums else value for name, value in grown.items()}


def _at_least(now: Value, before: Value | None) -> Value:
    """A figure never falls; CPU time that is estimated might, by a little, when a call is cheaper than those before."""
    return max(now, before) if isinstance(now, int) and isinstance(before, int) else now


def _less(now: Value, before: Value | None) -> Value:
    if before is None:
        return now
    if isinstance(now, list) and isinstance(before, list):
        return [one - two for one, two in zip(now, before, strict=True)]
    return now - before if isinstance(now, int) and isinstance(before, int) else now


def _who(tally: TaskTally) -> Figures:
    thread = tally.thread
    return {
        "connection_type": CHANNEL if thread.channel else BATCH,
        "connection_name": thread.appl_name.rsplit("/", 1)[-1].split(".")[0].upper(),
        "operator_id": thread.user,
        "user_id": thread.user,
        "channel": thread.channel,
        "channel_connection": thread.address,
    }


# --- the task --------------------------------------------------------------------------------------------------------


def _task_figures(tally: TaskTally) -> Figures:
    verbs = list(_all_verbs(tally))
    forces, force_ns = sum(verb.forces for verb in verbs), sum(verb.force_ns for verb in verbs)
    others = sum(verb.reads + verb.suspends for verb in verbs)
    other_ns = sum(verb.read_ns + verb.suspend_ns for verb in verbs)
    figures: Figures = {
        "latch_elapsed": _by_class(tod_of_ns(tally.latch_ns)),
        "latch_waits": _by_class(tally.latch_waits),
        "log_writes": tally.logged.records,
        "log_bytes": tally.logged.octets,
        "log_forces": forces,
        "log_force_elapsed": tod_of_ns(force_ns),
        "suspends": forces + others,
        "suspend_elapsed": tod_of_ns(force_ns + other_ns),
    }
    for name, calls in (("commit", "commits"), ("backout", "backouts"), ("prepare", "prepares"), ("other", "others")):
        _verb(figures, name, calls, getattr(tally, name))
    if tally.shared.multiple_calls or tally.shared.single_calls:
        figures |= {"commit_cf_calls": words(tally.commit.lists), "prepare_cf_calls": words(tally.prepare.lists)}
    return figures | _shared_figures(tally.shared)


def _shared_figures(shared: SharedTally) -> Figures:
    """The shared repository and the coupling facility."""
    return {
        "db2_requests": shared.requests,
        "db2_thread_elapsed": tod_of_ns(shared.thread_ns),
        "db2_server_elapsed": tod_of_ns(shared.server_ns),
        "cf_single_calls": shared.single_calls,
        "cf_single_elapsed": tod_of_ns(shared.single_ns),
        "cf_single_redrives": shared.single_redrives,
        "cf_multiple_calls": shared.multiple_calls,
        "cf_multiple_elapsed": tod_of_ns(shared.multiple_ns),
        "cf_multiple_redrives": shared.multiple_redrives,
    }


def _all_verbs(tally: TaskTally) -> Iterator[Verb]:
    yield from (tally.commit, tally.backout, tally.prepare, tally.other, tally.forgotten)
    for queue in tuple(tally.queues.values()):
        yield from queue.verbs()


def _task_facts(
    tally: TaskTally, token: tuple[int, int, int], start_us: int, now_us: int, queues: int, *, ended: bool
) -> Figures:
    longest, tally.latch_longest_ns = tally.latch_longest_ns, 0
    repository_thread, repository_server = tally.shared.take_longest()
    return {
        "allocated_at": token[0],
        "correlator_2": token[1],
        "correlator_3": token[2],
        "flag_bits": END_OF_TASK if ended else 0,
        "queue_blocks": queues,
        "version": WQST_VERSION,
        "latch_longest": tod_of_ns(longest),
        "latch_longest_number": LATCH_CLASS if longest else 0,
        "latch_class_longest": _by_class(tod_of_ns(longest)),
        "db2_thread_longest": tod_of_ns(repository_thread),
        "db2_server_longest": tod_of_ns(repository_server),
        "interval_start": tod_from_us(start_us),
        "interval_end": tod_from_us(now_us),
    }


def _by_class(value: int) -> list[int]:
    """An array with one value per latch class (AK4)."""
    return [value if number == LATCH_CLASS else 0 for number in range(1, LATCH_CLASSES + 1)]


def _thread(task: Figures, message: Figures, start_us: int, now_us: int, *, ended: bool) -> Figures:
    return {
        "started_at": tod_from_us(start_us),
        "ended_at": tod_from_us(now_us),
        "tcb_at_end": message["cpu"],
        "reason": REASON_ENDED if ended else 0,
        "commits": task["commits"],
        "backouts": task["backouts"],
    }


def _message_figures(tally: TaskTally) -> Figures:
    figures: Figures = {"cpu": tod_of_ns(sum(verb.cpu_total_ns() for verb in _all_verbs(tally)))}
    for band, name in enumerate(_BANDS):
        figures[f"puts_{name}"] = tally.puts_by_size[band]
        figures[f"gets_{name}"] = tally.gets_by_size[band]
    return figures


# --- its queues ------------------------------------------------------------------------------------------------------


def _queues(account: Account, token: tuple[int, int, int], pool_of: Mapping[int, int]) -> Iterator[Figures]:
    correlator = struct.pack(">QII", *token)
    for queue in tuple(account.tally.queues.values()):
        figures = _since(account, queue, _queue_figures(queue), _QUEUE_SUMS)
        if not queue.handles:  # AK3
            account.tally.forget(queue)
            del account.written[queue]
        if figures["calls"]:
            yield figures | _queue_facts(queue, pool_of) | {"correlator": correlator}


def _verb(figures: Figures, name: str, calls: str, verb: Verb) -> None:
    figures[calls] = verb.calls
    figures[f"{name}_elapsed"] = tod_of_ns(verb.elapsed_total_ns())
    figures[f"{name}_cpu"] = tod_of_ns(verb.cpu_total_ns())


def _queue_figures(queue: QueueTally) -> Figures:
    figures: Figures = {}
    for name, calls in _QUEUE_VERBS.items():
        verb: Verb = getattr(queue, name)
        _verb(figures, name, calls, verb)
        if name in _LOGGING:
            figures[f"{name}_log_forces"], figures[f"{name}_log_force_elapsed"] = verb.forces, tod_of_ns(verb.force_ns)
        if name in _READING:
            figures[f"{name}_page_set_reads"] = verb.reads
            figures[f"{name}_page_set_elapsed"] = tod_of_ns(verb.read_ns)
        if name in _SUSPENDED:
            figures[f"{name}_suspends"] = verb.forces + verb.suspends
            figures[f"{name}_suspend_elapsed"] = tod_of_ns(verb.force_ns + verb.suspend_ns)
    figures |= {
        "calls": sum(verb.calls for verb in queue.verbs()),
        "browses_any": queue.browses_any,
        "browses_specific": queue.browses_specific,
        "gets_any": queue.gets_any,
        "gets_specific": queue.gets_specific,
        "messages_skipped": queue.get.skipped,
        "messages_expired": queue.get.expired,
        "put_bytes": queue.put_bytes,
        "get_bytes": queue.get_bytes,
        "valid_puts": queue.valid_puts,
        "valid_gets": queue.valid_gets,
        "valid_destructive_gets": queue.valid_destructive_gets,
        "generated_messages": queue.put.generated + queue.put1.generated + queue.get.generated,
        "on_queue_elapsed": max(round(queue.get.on_queue_us), 0) * TOD_UNITS_PER_MICROSECOND,
        "gets_persistent": queue.get.persistent,
        "puts_persistent": queue.put.persistent,
        "put1s_persistent": queue.put1.persistent,
        "puts_to_waiter": queue.put.to_waiter,
        "put1s_to_waiter": queue.put1.to_waiter,
    }
    return figures | _list_figures(queue) if queue.stored.shared else figures


def _list_figures(queue: QueueTally) -> Figures:
    """What the verbs of a shared queue asked of the coupling facility."""
    verbs = (queue.open, queue.close, queue.get, queue.put, queue.put1)
    return {
        "opens_no_cf": queue.opens_without_lists,
        "closes_no_cf": queue.closes_without_lists,
        "cf_calls": [word for verb in verbs for word in words(verb.lists)],
    }


def _queue_facts(queue: QueueTally, pool_of: Mapping[int, int]) -> Figures:
    get_high, get_low, put_high, put_low, longest_us, shortest_us, depth = queue.take_extremes()
    page_set = 0 if queue.stored.shared else queue.stored.page_set.number  # a shared queue is on none
    return {
        "version": WQST_VERSION,
        "object_name": queue.name,
        "base_name": queue.base_name,
        "opened_at": tod_from_us(queue.opened_us) if queue.opened_us else 0,
        "closed_at": tod_from_us(queue.closed_us) if queue.closed_us else 0,
        "queue_type": queue.queue_type,
        "index_type": queue.index_type,
        "disposition": DISPOSITIONS.get(queue.disposition, 0),
        "structure": queue.stored.structure.name if queue.stored.shared else "",
        "page_set": page_set,
        "buffer_pool": pool_of.get(page_set, 0),
        "open_now": queue.handles,
        "get_size_high": get_high,
        "get_size_low": get_low,
        "put_size_high": put_high,
        "put_size_low": put_low,
        "on_queue_longest": longest_us * TOD_UNITS_PER_MICROSECOND,
        "on_queue_shortest": shortest_us * TOD_UNITS_PER_MICROSECOND,
        "depth_high": depth,
    }
