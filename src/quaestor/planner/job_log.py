"""A queue manager's job log around a restart, read for the figures that the restart formulas take.

Rules
  J1  A message starts at its identifier and runs to the next one; line breaks inside it mean nothing.
  J2  Only identifiers and `name=value` pairs are relied on, so wording and case may differ between releases.
  J3  A status letter may stand glued to its URID, and an O in an RBA is a zero: job logs have been seen with both.
  J4  What a log does not hold is None or empty, never zero.
  J5  Times run on: one that falls behind the time before it is of the next day.

Called by whoever has a job log.  Calls log_ranges, restart_progress, quantity.  Opens no file: text in, figures out.
"""

import re
from dataclasses import dataclass, field

from quaestor.planner.log_ranges import LogRange, UnitOfRecovery, UnitStatus, rba_of
from quaestor.planner.quantity import DAY_S, HOUR_S, MINUTE_S
from quaestor.planner.restart_progress import Progress

MESSAGE = re.compile(r"(?:(?P<time>\d\d\.\d\d\.\d\d)\s+)?(?P<identifier>CSQ[A-Z0-9]\d{3}[A-Z])\b")
RBA = re.compile(r"RBA=([0-9A-FO]{1,16})\b", re.IGNORECASE)
COUNT = re.compile(r"(IN COMMIT|INDOUBT|INFLIGHT|IN BACKOUT)=(\d+)", re.IGNORECASE)
UNIT = re.compile(r"\b[A-F0-9]{24}\s+(?P<status>[CDFA])\s*(?P<urid>[0-9A-FO]{12,16})\b")
PAGE_SET = re.compile(r"PAGE SET (\d+)", re.IGNORECASE)
POOL = re.compile(r"BUFFER POOL (\d+), (\d+) PAGES", re.IGNORECASE)
STATUS_OF = {
    "IN COMMIT": UnitStatus.IN_COMMIT,
    "INDOUBT": UnitStatus.IN_DOUBT,
    "INFLIGHT": UnitStatus.IN_FLIGHT,
    "IN BACKOUT": UnitStatus.IN_BACKOUT,
}

Counts = dict[UnitStatus, int]


@dataclass(frozen=True, slots=True)
class Message:
    """One message: seconds since the log's first midnight where it has times, its identifier, all that follows."""

    at_s: float | None
    identifier: str
    text: str

    def rbas(self) -> list[int]:
        return [rba_of(digits) for digits in RBA.findall(self.text)]


@dataclass(frozen=True, slots=True)
class PageSetRecovery:
    """CSQI049I or CSQP021I: the media recovery RBA of a page set, and its checkpoint RBA."""

    page_set: int
    media_rba: int
    checkpoint_rba: int

    @property
    def from_backup(self) -> bool:
        return self.media_rba != self.checkpoint_rba


@dataclass(slots=True)
class RestartLog:
    """What the messages of one restart say, in the order of the restart (J4)."""

    failure_rba: int | None = None
    checkpoint_rba: int | None = None
    counts: dict[str, Counts] = field(default_factory=dict)
    units: dict[str, list[UnitOfRecovery]] = field(default_factory=dict)
    page_sets: list[PageSetRecovery] = field(default_factory=list)
    forward: LogRange | None = None
    backward: LogRange | None = None
    forward_progress: list[Progress] = field(default_factory=list)
    backward_progress: list[Progress] = field(default_factory=list)
    checkpointed: list[PageSetRecovery] = field(default_factory=list)
    pages_written: dict[int, int] = field(default_factory=dict)
    at_s: dict[str, float] = field(default_factory=dict)


def messages(text: str) -> list[Message]:
    """The messages of a job log in order (J1, J5)."""
    starts = list(MESSAGE.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    found: list[Message] = []
    latest_s = 0.0
    for start, end in zip(starts, ends, strict=False):  # a text without messages has an end and no start
        at_s = _seconds(start["time"], latest_s)
        latest_s = latest_s if at_s is None else at_s
        found.append(Message(at_s, start["identifier"], " ".join(text[start.end() : end].split())))
    return found


def read_restart(text: str) -> RestartLog:
    """The figures of one restart (J2 to J4); `counts` and `units` are keyed by the message that reports them."""
    log, reporting = RestartLog(), ""
    for message in messages(text):
        if message.at_s is not None:
            log.at_s.setdefault(message.identifier, message.at_s)
        match message.identifier:
            case "CSQJ099I":
                log.failure_rba = _only(message)
            case "CSQR003I":
                log.checkpoint_rba = _only(message)
            case "CSQR004I" | "CSQR005I" | "CSQR006I":
                reporting = message.identifier
                log.counts[reporting] = _counts(message)
            case "CSQR007I":
                log.units[reporting] = _units(message)
            case "CSQI049I":
                log.page_sets += _page_set(message)
            case "CSQP021I":
                log.checkpointed += _page_set(message)
            case "CSQP019I":
                log.pages_written |= {int(pool): int(written) for pool, written in POOL.findall(message.text)}
            case "CSQR030I":
                log.forward = _range(message)
            case "CSQR032I":
                log.backward = _range(message)
            case "CSQR031I":
                log.forward_progress += _progress(message)
            case "CSQR033I":
                log.backward_progress += _progress(message)
    return log


def _seconds(time: str | None, latest_s: float) -> float | None:
    if time is None:
        return None
    hours, minutes, seconds = (int(part) for part in time.split("."))
    at_s = latest_s // DAY_S * DAY_S + hours * HOUR_S + minutes * MINUTE_S + seconds
    return at_s if at_s >= latest_s else at_s + DAY_S


def _only(message: Message) -> int | None:
    rbas = message.rbas()
    return rbas[0] if len(rbas) == 1 else None


def _counts(message: Message) -> Counts:
    return {STATUS_OF[name.upper()]: int(number) for name, number in COUNT.findall(message.text)}


def _units(message: Message) -> list[UnitOfRecovery]:
    return [UnitOfRecovery(UnitStatus(row["status"]), rba_of(row["urid"])) for row in UNIT.finditer(message.text)]


def _page_set(message: Message) -> list[PageSetRecovery]:
    number, rbas = PAGE_SET.search(message.text), message.rbas()
    return [PageSetRecovery(int(number[1]), rbas[0], rbas[1])] if number and len(rbas) == 2 else []


def _range(message: Message) -> LogRange | None:
    rbas = message.rbas()
    return LogRange(min(rbas), max(rbas)) if len(rbas) == 2 else None


def _progress(message: Message) -> list[Progress]:
    rba = _only(message)
    return [Progress(message.at_s, rba)] if rba is not None and message.at_s is not None else []
