"""Tracing: START, STOP, ALTER and DISPLAY TRACE (TR1, TR2).

Rules
  TC1 STOP and DISPLAY mean the active traces that were started with exactly the CLASS, DEST and USERID that they say,
      and of those the ones that TNO names. STOP says a type, or `*` for all.
  TC2 ALTER stops a trace and starts it with other classes; when they are refused it goes on as it was.
  TC3 Every user is traced: USERID can only say so.

Called by the processor.  Calls whoever keeps the traces.
"""

from collections.abc import Iterable

from quaestor.mqi.attributes import whole_number
from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import NO_VALUE, UNACCEPTABLE
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.reply import Part, Said
from quaestor.qmgr.command.traces import Trace

KINDS = ("STAT", "ACCTG")
SYNONYMS = {"S": "STAT", "A": "ACCTG"}
EVERYBODY = "*"
DEFAULT_CLASSES = {"STAT": (1, 2), "ACCTG": (1,)}
CLASS_MAX = 32


class TraceCommands:
    """START, STOP, ALTER and DISPLAY TRACE (TR1)."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @runs("START", "TRACE", early=True)
    def start(self, command: Command, _user: str) -> Iterable[Part]:
        kind = _kind(command)
        destination = command.word("DEST", "SMF", "SMF")
        command.word("USERID", EVERYBODY, EVERYBODY)  # TC3
        number = self._parts.keeper.start(kind, _classes(command, kind), destination)
        yield Said("CSQW130I", f"'{kind}' TRACE STARTED, ASSIGNED TRACE NUMBER {number:02d}", rows=({"TNO": number},))

    @runs("ALTER", "TRACE")
    def alter(self, command: Command, user: str) -> Iterable[Part]:
        """TC2."""
        keeper, kind = self._parts.keeper, _kind(command)
        found = [trace for trace in keeper.display() if trace.kind == kind and _numbered(command, trace)]
        if len(found) != 1 or not command.has("CLASS"):
            raise MQSCError("ALTER TRACE takes TNO of an active trace and CLASS", command.line, code=UNACCEPTABLE)
        _classes(command, kind)
        keeper.stop(found[0].number)
        try:
            return tuple(self.start(command, user))
        except (MQError, MQSCError):
            keeper.start(kind, found[0].classes, found[0].destination)
            raise

    @runs("STOP", "TRACE")
    def stop(self, command: Command, _user: str) -> Iterable[Part]:
        if not command.name:
            raise MQSCError("STOP TRACE needs a type, or * for all", command.line, code=NO_VALUE)
        found = self._matching(command)
        if not found:
            yield Said("CSQW137I", "SPECIFIED TRACE NOT ACTIVE")
        for trace in found:
            self._parts.keeper.stop(trace.number)
            yield Said("CSQW131I", f"STOP TRACE SUCCESSFUL FOR TRACE NUMBER(S) {trace.number:02d}")

    @runs("DISPLAY", "TRACE", early=True)
    def display(self, command: Command, _user: str) -> Iterable[Part]:
        found = self._matching(command)
        lines = [_line(trace) for trace in found]
        heading = "TNO TYPE   CLASS            DEST USERID"
        rows = tuple(
            {"TNO": t.number, "TYPE": t.kind, "CLASS": list(t.classes), "DEST": t.destination, "USERID": t.user}
            for t in found
        )
        if not found:
            yield Said("CSQW137I", "SPECIFIED TRACE NOT ACTIVE")
            return
        yield Said("CSQW127I", "CURRENT TRACE ACTIVITY IS -", (heading, *lines, "END OF TRACE REPORT"), rows)

    def _matching(self, command: Command) -> list[Trace]:
        """TC1."""
        kind = "*" if command.name in {"", "*"} else _kind(command)
        classes = None if command.value("CLASS", "*") == "*" else _classes(command, kind)
        return [
            trace
            for trace in self._parts.keeper.display()
            if kind in {"*", trace.kind}
            and classes in {None, trace.classes}
            and command.value("DEST", trace.destination) == trace.destination
            and command.value("USERID", trace.user) == trace.user
            and _numbered(command, trace)
        ]


def _numbered(command: Command, trace: Trace) -> bool:
    """Whether TNO names the trace; without it every trace is meant."""
    numbers = _listed(command, "TNO") or ("*",)
    return "*" in numbers or str(trace.number) in {number.lstrip("0") for number in numbers}


def _kind(command: Command) -> str:
    kind = SYNONYMS.get(command.name, command.name)
    if kind not in KINDS:
        what = f"TRACE({command.name}) is not known here: one of {', '.join(KINDS)}"
        raise MQSCError(what, command.line, code=UNACCEPTABLE)
    return kind


def _classes(command: Command, kind: str) -> tuple[int, ...]:
    """CLASS(1,3), CLASS(*) for all, or the default of the kind."""
    values = _listed(command, "CLASS")
    if not values:
        return DEFAULT_CLASSES[kind]
    if values == ("*",):
        return tuple(range(1, CLASS_MAX + 1))
    numbers = {whole_number(value) or 0 for value in values}
    if not all(1 <= number <= CLASS_MAX for number in numbers):
        what = f"CLASS({','.join(values)}) is not valid: numbers from 1 to {CLASS_MAX}"
        raise MQSCError(what, command.line, code=UNACCEPTABLE)
    return tuple(sorted(numbers))


def _listed(command: Command, keyword: str) -> tuple[str, ...]:
    """The values of a keyword, none where it does not stand."""
    command.value(keyword)
    return dict(command.parameters).get(keyword) or ()


def _line(trace: Trace) -> str:
    classes = ",".join(f"{number:02d}" for number in trace.classes)
    return f"{trace.number:02d}  {trace.kind:<6} {classes:<16} {trace.destination:<4} {trace.user}"
