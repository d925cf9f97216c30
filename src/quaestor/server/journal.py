"""Journal: what a server tells its operators, one line each, and what it refused, one line each.

Rules
  JO1 A line is the time (UTC), a message identifier with its severity (I, W, E) and text. Audit lines go to the audit
      file as well when there is one.
  JO2 Values are quoted, so that a client's bytes cannot make a second line. Passwords are never given to the journal.

Called by everything in the server.  Calls the clock.
"""

from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

from quaestor.clock import Clock

MESSAGES = {
    "QSV001I": "queue manager started",
    "QSV002I": "listening",
    "QSV003I": "queue manager is quiescing",
    "QSV004I": "queue manager has stopped",
    "QSV005E": "queue manager failed",
    "QSV006W": "security is off: every user may do everything",
    "QSV010W": "link ended",
    "QSV011W": "link refused",
    "QSV012W": "applications have not ended; stopping without them",
    "QSV014E": "the profiles cannot be read; those in force stay",
    "QSV020W": "authentication refused",
    "QSV021W": "access refused",
}
"""JO1: every line the server can write."""


class Journal:
    """The server's log and audit (JO1, JO2)."""

    def __init__(self, clock: Clock, out: TextIO, audit: Path | None = None) -> None:
        self._clock, self._out = clock, out
        self._audit = None if audit is None else audit.open("a", encoding="utf-8")
        self._lock = Lock()

    def tell(self, identifier: str, **facts: Any) -> None:
        line = self._line(identifier, facts)
        with self._lock:
            self._out.write(line)
            self._out.flush()

    def audit(self, identifier: str, **facts: Any) -> None:
        """A refusal: in the log, and in the audit file."""
        self.tell(identifier, **facts)
        if self._audit is not None:
            with self._lock:
                self._audit.write(self._line(identifier, facts))
                self._audit.flush()

    def _line(self, identifier: str, facts: dict[str, Any]) -> str:
        when = datetime.fromtimestamp(self._clock.now_us() / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        told = "".join(f" {name}={value!r}" for name, value in facts.items())  # JO2: repr has no line ends
        return f"{when}Z {identifier} {MESSAGES[identifier]}{told}\n"

    def close(self) -> None:
        if self._audit is not None:
            self._audit.close()
