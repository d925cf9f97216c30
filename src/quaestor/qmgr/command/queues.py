"""Queues at work: CLEAR and MOVE QLOCAL, DISPLAY QSTATUS, RESET QSTATS.

Rules
  QC1 QSTATUS TYPE(QUEUE) shows what a local queue is doing now, TYPE(HANDLE) one row for each handle that is open on
      it.
  QC2 MSGAGE is the age in seconds of the oldest message that is there, blank when there is none.
  QC3 QTIME (microseconds on the queue, of the last few messages and of more of them) and the times of the last put and
      get are those of a monitored queue since it has been one (MONQ), in UTC; of others they are blank.
  QC4 CLEAR and MOVE are of a private queue, with QSGDISP(SHARED) of a shared one: the queue that is emptied (DP1).
      Without TOQLOCAL the target of MOVE is the queue of the same name and the other disposition.
  QC5 RESET QSTATS shows what was put to and got from a queue that is watched (EV1, EV6) and its highest depth since the
      last time, or the last event, and begins anew. One that nobody watches counts nothing: named, it is an error; a
      generic name passes it over.

Called by the processor.  Calls the message manager, the connection manager, the clock.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from quaestor.clock import Clock
from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import NO_VALUE
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import INPUT_ANY, OpenOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.dispositions import PICKS, SHARED, disposition_of
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.reply import Details, Part, Row, Said
from quaestor.qmgr.command.selecting import generic, named, selected
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.message import ApplicationThread, MessageManager
from quaestor.qmgr.message.events import Counts, Watch
from quaestor.qmgr.message.queue_state import QueueState

US_PER_S = 1_000_000
QTIME_MAX = 999_999_999


class QueueCommands:
    """What operators do with queues and see of them (QC1, QC2)."""

    def __init__(self, messages: MessageManager, connections: ConnectionManager, clock: Clock, parts: Parts) -> None:
        self._messages, self._connections, self._clock, self._parts = messages, connections, clock, parts

    @runs("CLEAR", "QLOCAL")
    def clear(self, command: Command, user: str) -> Iterable[Part]:
        self._check_disposition(command)
        removed = self._messages.clear(user, command.name)
        yield Said("CSQM330I", f"QLOCAL({command.name}) CLEARED, {removed} MESSAGES", rows=({"MSGS": removed},))

    @runs("MOVE", "QLOCAL")
    def move(self, command: Command, user: str) -> Iterable[Part]:
        target = command.value("TOQLOCAL") or (command.name if self._parts.group is not None else "")
        if not target:
            raise MQSCError("MOVE QLOCAL needs TOQLOCAL", command.line, code=NO_VALUE)
        if target != command.name:
            self._check_disposition(command)
        shared = disposition_of(command, in_group=self._parts.group is not None) == SHARED
        add = command.word("TYPE", "MOVE", "MOVE", "ADD") == "ADD"
        moved = self._messages.move(user, command.name, target, add=add, shared=shared)
        yield Said("CSQM331I", f"QLOCAL({command.name}) {moved} MESSAGES MOVED TO {target}", rows=({"MSGS": moved},))

    def _check_disposition(self, command: Command) -> None:
        """QC4."""
        disposition = disposition_of(command, in_group=self._parts.group is not None)
        found = self._messages.catalogue.find(LocalQueue, command.name)
        if found is not None and found.disposition not in PICKS[disposition]:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=command.name, type="QLOCAL", disposition=disposition)

    @runs("DISPLAY", "QSTATUS")
    def status(self, command: Command, _user: str) -> Iterator[Part]:
        kind = command.word("TYPE", "QUEUE", "QUEUE", "HANDLE")
        names = named(command, (queue.name for queue in self._messages.catalogue.local_queues()))
        if not names and not generic(command.name or "*"):
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=command.name, type="QLOCAL")
        rows = (self._queue(name) for name in names) if kind == "QUEUE" else self._handles(names)
        shown = 0
        for row in selected(command, rows, ("QSTATUS", "TYPE"), besides=("TYPE",)):
            shown += 1
            yield Details("CSQM451I", "QSTATUS", row)
        yield Said("CSQM293I", f"{shown} QSTATUS FOUND MATCHING REQUEST CRITERIA")

    @runs("RESET", "QSTATS")
    def reset(self, command: Command, user: str) -> Iterator[Part]:
        """QC5."""
        if not command.name:
            raise MQSCError("QSTATS needs a name", command.line, code=NO_VALUE)
        names = named(command, (queue.name for queue in self._messages.catalogue.local_queues()))
        one, shown = not generic(command.name), 0
        if one and not names:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=command.name, type="QLOCAL")
        for name in names:
            self._messages.administer(user, LocalQueue, name)
            counts = self._messages.events.reset(self._messages.catalogue.state(name))
            if counts is None and one:
                raise MQError(Reason.ENVIRONMENT_ERROR, queue=name, why="nothing is counted: no PERFMEV, no MONQ")
            if counts is not None:
                shown += 1
                yield Details("CSQM430I", "QSTATS", _counts(name, counts))
        yield Said("CSQM293I", f"{shown} QSTATS FOUND MATCHING REQUEST CRITERIA")

    def _queue(self, name: str) -> Row:
        state = self._messages.catalogue.state(name)
        return {
            "QSTATUS": name,
            "TYPE": "QUEUE",
            "IPPROCS": state.input_handles,
            "OPPROCS": state.output_handles,
            "CURDEPTH": state.stored.depth,
            "UNCOM": "YES" if state.stored.uncommitted else "NO",
            "MSGAGE": self._age_s(state),
            **_times(self._messages.events.watched(state)),
        }

    def _age_s(self, state: QueueState) -> int | str:
        """Age of the oldest message (QC2)."""
        oldest_us = state.oldest_us
        return max(0, self._clock.now_us() - oldest_us) // US_PER_S if oldest_us else ""

    def _handles(self, names: list[str]) -> Iterator[Row]:
        for thread in self._connections.threads():
            for opened in sorted(thread.opened, key=lambda each: str(each.name)):
                if opened.name in names:
                    yield {"QSTATUS": opened.name, "TYPE": "HANDLE", **_handle(thread, opened)}


def _counts(name: str, counts: Counts) -> Row:
    return {
        "QSTATS": name,
        "RESETINT": counts.seconds,
        "HIQDEPTH": counts.depth_high,
        "MSGSIN": counts.enqueued,
        "MSGSOUT": counts.dequeued,
    }


def _times(watch: Watch | None) -> Row:
    """QC3."""
    on_queue = None if watch is None else watch.on_queue_us
    put_date, put_time = _moment(0 if watch is None else watch.last_put_us)
    get_date, get_time = _moment(0 if watch is None else watch.last_get_us)
    return {
        "QTIME": "" if on_queue is None else ", ".join(str(min(round(mean), QTIME_MAX)) for mean in on_queue),
        "LPUTDATE": put_date,
        "LPUTTIME": put_time,
        "LGETDATE": get_date,
        "LGETTIME": get_time,
    }


def _moment(us: int) -> tuple[str, str]:
    at = datetime.fromtimestamp(us / US_PER_S, UTC)
    return (f"{at:%Y-%m-%d}", f"{at:%H.%M.%S}") if us else ("", "")


def _handle(thread: ApplicationThread, opened: Any) -> Row:
    bits = opened.options
    reads = "NO" if not bits & INPUT_ANY else "EXCL" if opened.exclusive else "SHARED"
    return {
        "APPLTAG": thread.appl_name,
        "APPLTYPE": "USER",
        "USERID": thread.user,
        "CONN": thread.name.zfill(16),
        "BROWSE": _yes(bits & OpenOptions.BROWSE),
        "INPUT": reads,
        "INQUIRE": _yes(bits & OpenOptions.INQUIRE),
        "OUTPUT": _yes(bits & OpenOptions.OUTPUT),
        "SET": _yes(bits & OpenOptions.SET),
        "QMURID": urid_of(thread),
    }


def urid_of(thread: ApplicationThread) -> str:
    """The unit of recovery of an application, in hex; zeros while it has logged nothing."""
    return f"{thread.unit.urid if thread.unit is not None else 0:012X}"


def _yes(bits: int) -> str:
    return "YES" if bits else "NO"
