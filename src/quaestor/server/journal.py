"""Journal: what a server tells its operators, one line each, and what it refused, one line each.

Rules
  JO1 A line is the time (UTC), a message identifier with its severity (I, W, E) and text. Audit lines go to the audit
      file as well when there is one.
  JO2 Values are quoted, so that a client's bytes cannot make a second line. Passwords are never given to the journal.
  JO3 What the managers of the queue manager say to operators (`operator_log`) stands in the same log.
  JO4 Lines are text, or JSON when the configuration says so: one object each, with time, level, qmgr, id, text and the
      values by name.
  JO5 A line that cannot be written, because the disk is full, ends nothing: the service goes on without it.

Called by everything in the server.  Calls the clock.
"""

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

from quaestor.clock import Clock
from quaestor.qmgr.operator_log import LOGGER, Entry

TEXT, JSON = "text", "json"
MESSAGES = {
    "QSV001I": "queue manager started",
    "QSV002I": "listening",
    "QSV003I": "queue manager is quiescing",
    "QSV004I": "queue manager has stopped",
    "QSV005E": "queue manager failed",
    "QSV006W": "security is off: every user may do everything",
    "QSV007W": "clients refuse the certificate by its dates, or soon will",
    "QSV010W": "link ended",
    "QSV011W": "link refused",
    "QSV012W": "applications have not ended; stopping without them",
    "QSV014E": "the profiles cannot be read; those in force stay",
    "QSV020W": "authentication refused",
    "QSV021W": "access refused",
}
"""JO1: every line the server can write."""


class Journal:
    """The server's log and audit (JO1-JO4)."""

    def __init__(self, clock: Clock, out: TextIO, audit: Path | None = None, qmgr: str = "", lines: str = TEXT) -> None:
        self._clock, self._out, self._qmgr = clock, out, qmgr
        self._written = _json if lines == JSON else _text
        self._audit = None if audit is None else audit.open("a", encoding="utf-8")
        self._lock = Lock()
        self._managers = _Managers(qmgr, self._write)
        if qmgr:
            LOGGER.setLevel(logging.INFO)
            LOGGER.addHandler(self._managers)  # JO3

    def tell(self, identifier: str, **facts: Any) -> None:
        self._write(self._entry(identifier, facts))

    def audit(self, identifier: str, **facts: Any) -> None:
        """A refusal: in the log, and in the audit file."""
        entry = self._entry(identifier, facts)
        self._write(entry)
        if self._audit is not None:
            self._put(self._audit, entry)

    def _entry(self, identifier: str, facts: dict[str, Any]) -> Entry:
        return Entry(self._clock.now_us(), self._qmgr, identifier, MESSAGES[identifier], facts)

    def _write(self, entry: Entry) -> None:
        self._put(self._out, entry)

    def _put(self, file: TextIO, entry: Entry) -> None:
        with self._lock, suppress(OSError):  # JO5
            file.write(self._written(entry))
            file.flush()

    def close(self) -> None:
        LOGGER.removeHandler(self._managers)
        if self._audit is not None:
            with suppress(OSError):  # what could not be written before (JO5)
                self._audit.close()


class _Managers(logging.Handler):
    """Hands over what the managers of one queue manager say (JO3)."""

    def __init__(self, qmgr: str, write: Callable[[Entry], None]) -> None:
        super().__init__()
        self._qmgr, self._write = qmgr, write

    def emit(self, record: logging.LogRecord) -> None:
        entry = getattr(record, "entry", None)
        if isinstance(entry, Entry) and entry.queue_manager == self._qmgr:
            try:
                self._write(entry)
            except ValueError:
                self.handleError(record)


def _text(entry: Entry) -> str:
    when = datetime.fromtimestamp(entry.when_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    told = "".join(f" {name}={value!r}" for name, value in entry.facts.items())  # JO2: repr has no line ends
    return f"{when}Z {entry.identifier} {entry.text}{told}\n"


def _json(entry: Entry) -> str:
    return json.dumps(entry.as_dict(), default=str) + "\n"  # JO2: nor has JSON
