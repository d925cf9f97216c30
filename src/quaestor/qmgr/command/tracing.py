"""Tracing: START, STOP, ALTER and DISPLAY TRACE (TR1, TR2).

Called by the processor.  Calls whoever keeps the traces.
"""

from collections.abc import Iterable

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import UNACCEPTABLE
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.reply import Part, Said
from quaestor.qmgr.command.traces import Trace

KINDS = ("STAT", "ACCTG")
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
        number = self._parts.keeper.start(kind, _classes(command, kind), destination)
        yield Said("CSQW130I", f"'{kind}' TRACE STARTED, ASSIGNED TRACE NUMBER {number:02d}", rows=({"TNO": number},))

    @runs("ALTER", "TRACE")
    def alter(self, command: Command, user: str) -> Iterable[Part]:
        """Other classes for an active trace: it is stopped and started with them."""
        found = self._matching(command)
        if len(found) != 1 or not command.has("CLASS"):
            raise MQSCError("ALTER TRACE takes TNO of an active trace and CLASS", command.line, code=UNACCEPTABLE)
        self._parts.keeper.stop(found[0].number)
        return self.start(command, user)

    @runs("STOP", "TRACE")
    def stop(self, command: Command, _user: str) -> Iterable[Part]:
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
        kind, number = command.name or "*", command.value("TNO", "*")
        return [
            trace
            for trace in self._parts.keeper.display()
            if kind in {"*", trace.kind} and number.lstrip("0") in {"*", str(trace.number)}
        ]


def _kind(command: Command) -> str:
    if command.name not in KINDS:
        what = f"TRACE({command.name}) is not known here: one of {', '.join(KINDS)}"
        raise MQSCError(what, command.line, code=UNACCEPTABLE)
    return command.name


def _classes(command: Command, kind: str) -> tuple[int, ...]:
    """CLASS(1,3), CLASS(*) for all, or the default of the kind."""
    values = next((values for word, values in command.parameters if word == "CLASS"), None)
    if not values:
        return DEFAULT_CLASSES[kind]
    if values == ("*",):
        return tuple(range(1, CLASS_MAX + 1))
    if not all(value.isdecimal() and 1 <= int(value) <= CLASS_MAX for value in values):
        what = f"CLASS({','.join(values)}) is not valid: numbers from 1 to {CLASS_MAX}"
        raise MQSCError(what, command.line, code=UNACCEPTABLE)
    return tuple(sorted({int(value) for value in values}))


def _line(trace: Trace) -> str:
    classes = ",".join(f"{number:02d}" for number in trace.classes)
    return f"{trace.number:02d}  {trace.kind:<6} {classes:<16} {trace.destination:<4} {trace.user}"
