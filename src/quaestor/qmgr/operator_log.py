"""Operator log: what a person who runs the queue manager must know, one entry each, with its message identifier.

Rules
  OL1 An entry has an identifier (as MQ's messages have: CSQ, a letter for the manager, three digits, a letter for the
      severity), a text and facts. Same identifier, same meaning: programs look for identifiers, people read texts.
  OL2 Entries go to the standard logger `quaestor.operator`, which the process configures as it likes (`JsonLines` and
      `PlainLines` format them), and the last thousand are kept for who asks.
  OL3 Saying something never fails the one who says it.
  OL4 No entry shows the password of an address.

Called by statistics, queue_manager, the server.  Calls the standard logging module.
"""

import json
import logging
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from quaestor.clock import Clock

LOGGER = logging.getLogger("quaestor.operator")
LOGGER.addHandler(logging.NullHandler())
KEPT = 1000
_PASSWORD = re.compile(
    r"""(://[^:/@\s]*:)\S*(?=@)  # of an address: up to the last @, because there may be others in the password
    |(?<=:)[^:/@\s]+(?=@)
    |(password\s*=\s*)(?:'(?:[^'\\]|\\.)*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$)|[^&\s'"]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_LEVELS = {"I": logging.INFO, "W": logging.WARNING, "E": logging.ERROR, "D": logging.ERROR, "A": logging.ERROR}


def without_passwords(text: str) -> str:
    """What may be shown to anybody of a text that has addresses in it (OL4)."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2] or ''}***", text)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was said (OL1)."""

    when_us: int
    queue_manager: str
    identifier: str
    text: str
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def level(self) -> int:
        return _LEVELS.get(self.identifier[-1:], logging.INFO)

    def as_dict(self) -> dict[str, object]:
        when = datetime.fromtimestamp(self.when_us / 1e6, UTC).isoformat(timespec="milliseconds")
        head = {"time": when, "level": logging.getLevelName(self.level), "qmgr": self.queue_manager}
        return {**head, "id": self.identifier, "text": self.text, **self.facts}

    def as_text(self) -> str:
        entry = self.as_dict()
        facts = " ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"{entry['time']} {self.queue_manager} {self.identifier} {self.text}{' ' if facts else ''}{facts}"


class OperatorLog:
    """Where the managers of one queue manager say what happened."""

    def __init__(self, queue_manager: str, clock: Clock) -> None:
        self._queue_manager, self._clock = queue_manager, clock
        self.entries: deque[Entry] = deque(maxlen=KEPT)

    def say(self, identifier: str, text: str, **facts: object) -> None:
        """One entry (OL1 to OL4)."""
        shown = {
            name: without_passwords(str(value)) if isinstance(value, str | BaseException) else value
            for name, value in facts.items()
        }
        entry = Entry(self._clock.now_us(), self._queue_manager, identifier, without_passwords(text), shown)
        self.entries.append(entry)
        LOGGER.log(entry.level, "%s", entry.as_text(), extra={"entry": entry})


class JsonLines(logging.Formatter):
    """Each entry as one line of JSON (OL2)."""

    def format(self, record: logging.LogRecord) -> str:
        entry = getattr(record, "entry", None)
        if not isinstance(entry, Entry):
            return json.dumps({"level": record.levelname, "text": record.getMessage()})
        return json.dumps(entry.as_dict(), default=str)


class PlainLines(logging.Formatter):
    """Each entry as one line of text (OL2)."""

    def format(self, record: logging.LogRecord) -> str:
        entry = getattr(record, "entry", None)
        return entry.as_text() if isinstance(entry, Entry) else record.getMessage()
