"""History: what the clients of a queue manager or of a queue-sharing group did, line by line, as they saw it.

Rules
  HI1 An operation is two lines of JSON: `invoke` before it is asked for, then how it ended: `ok`, `fail` (it has
      certainly not happened), or `info` (the answer was lost: it may have happened). A client that is killed in
      between leaves only the first, which means the same as `info`.
  HI2 Each line is one write to a file opened for appending, so that kill -9 of the client loses nothing that it had
      written, and tears no line. Times are those of the machine's monotonic clock, so that lines of several processes
      compare.
  HI3 A message has a name that its putter gives it: nobody else uses it, and the body carries it. A unit of recovery
      has a name too; an operation without one is out of syncpoint.
  HI4 A unit that its coordinator prepares is decided by `commit` or `backout` of the same name; the line that says that
      this was asked for is the coordinator's record of the decision.
  HI5 A trigger monitor says that it opens an initiation queue (`monitor`) and which queue each trigger message is for
      (`trigger`, with the identifier of the message); the server that it starts says `serve` when it opens the queue
      for input, `rest` when it has closed it, and `rearm` when it switches triggering on again.
  HI6 Whoever runs the clients notes what happened to the world: a `fault`, that a structure lost what was in it
      (`lost`), that nothing of anybody's uncommitted work is left (`settled`). What is there at the end is read by
      operations `drain`.

Called by clients under test and by whoever runs them.  Read by `verdict`.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

from quaestor.clock import Clock, SystemClock

Outcome = Literal["invoke", "ok", "fail", "info"]
Verb = Literal[
    "put", "get", "commit", "backout", "prepare", "drain",
    "monitor", "trigger", "serve", "rest", "rearm",
    "lost", "settled", "fault",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a history."""

    client: str
    number: int
    """Of the operation, within its client: the lines of one operation have the same."""

    verb: Verb
    outcome: Outcome
    at_ns: int
    queue: str = ""
    unit: str = ""
    message: str = ""
    """Put, got or found; empty for a get that found nothing."""

    persistent: bool = True
    priority: int = 0
    member: str = ""
    why: str = ""

    def line(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value != _DEFAULTS.get(name)})


_DEFAULTS = {each.name: each.default for each in fields(Event)}


def event_of(line: str) -> Event:
    """A line as it was written."""
    return Event(**json.loads(line))


def read_histories(files: Iterable[Path]) -> list[Event]:
    """The lines of several clients, in the order of their times; a last line that a power cut has torn is left out."""
    events = [event for file in files for event in _whole_lines(file)]
    return sorted(events, key=lambda event: event.at_ns)


def _whole_lines(file: Path) -> Iterator[Event]:
    text = file.read_text(encoding="utf-8")
    yield from (event_of(line) for line in text[: text.rfind("\n") + 1].splitlines())


class Recorder:
    """Writes the history of one client (HI1, HI2)."""

    def __init__(self, file: Path, client: str, clock: Clock | None = None) -> None:
        self.client = client
        self._clock = clock or SystemClock()
        self._number = 0
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def invoke(self, verb: Verb, **facts: object) -> "Operation":
        """An operation is about to be asked for; say afterwards how it ended."""
        self._number += 1
        operation = Operation(self, self._number, verb, facts)
        operation.note("invoke")
        return operation

    def note(self, verb: Verb, **facts: object) -> None:
        """Something that happened to the world (HI6)."""
        self._number += 1
        self.write(self._number, verb, "ok", facts)

    def write(self, number: int, verb: Verb, outcome: Outcome, facts: dict[str, object]) -> None:
        event = Event(self.client, number, verb, outcome, self._clock.monotonic_ns(), **facts)  # type: ignore[arg-type]
        os.write(self._file, (event.line() + "\n").encode())

    def close(self) -> None:
        os.close(self._file)


class Operation:
    """An operation that was asked for (HI1)."""

    def __init__(self, recorder: Recorder, number: int, verb: Verb, facts: dict[str, object]) -> None:
        self._recorder, self._number, self._verb, self._facts = recorder, number, verb, facts

    def ok(self, **facts: object) -> None:
        self.note("ok", **facts)

    def fail(self, why: str) -> None:
        self.note("fail", why=why)

    def info(self, why: str) -> None:
        self.note("info", why=why)

    def note(self, outcome: Outcome, **facts: object) -> None:
        self._recorder.write(self._number, self._verb, outcome, {**self._facts, **facts})
