"""Command processor: MQSC text in, a reply out.

Rules
  CP1 `run` takes one command. It never raises for what was written: whatever is wrong with it is a reply that is not
      `ok`, with the z/OS message for the mistake. `script` takes many and goes on after one that failed.
  CP2 Authority is asked for first: class `command`, name VERB.NOUN, read for DISPLAY and PING, control for the rest.
      The object itself is checked by its own manager (class queue, process ...). Every refusal is counted and told to
      `audit`; the reply says no more than that.
  CP3 A command runs with the engine latch held, like a call; what the engine does not survive ends the queue manager,
      as it does in a call. One that has to wait lets go of the latch meanwhile (FM5), and ends with the queue manager.
  CP4 CMDSCOPE may name this queue manager or nothing; other members of its group are asked by `scope`. A command that
      is known and has nobody to run it is refused, and so is a name for what there is one of: another queue
      manager's might be meant.
  CP5 Before restart only commands marked `early` run (FM4).

Called by the server, the command line, the input sets, the PCF server, the scheduler.  Calls the families.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import Any

from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.commands import command as written_out
from quaestor.mqi.mqsc.syntax import UNACCEPTABLE, logical_lines, parse_line
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.family import NotYet, Runner, runners
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.refusals import refusal
from quaestor.qmgr.command.reply import Details, Part, Reply, Said
from quaestor.qmgr.command.scope import Scope
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.connection.failing import FAILURES, is_fatal
from quaestor.qmgr.message.needs import Recovery
from quaestor.qmgr.resource_manager import Task
from quaestor.qmgr.security import Access, ProfileError, Security

READS = ("DISPLAY", "PING")
ONLY_ONE = ("QMGR", "LOG", "ARCHIVE", "SYSTEM", "BSDS", "USAGE", "GROUP")
"""What a queue manager has one of (CP4)."""
LOOK_S = 0.05
"""How often a command that waits looks again (FM5)."""
TEXT_MAX = 32_762
"""Longest command, in characters: the longest message that z/OS takes for one."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A command that a user may not give (CP2)."""

    user: str
    command: str
    name: str


Audit = Callable[[Refusal], None]


class CommandProcessor:
    """Runs commands (CP1-CP5)."""

    def __init__(
        self,
        qmgr: str,
        families: Iterable[Any],
        recovery: Recovery,
        connections: ConnectionManager,
        security: Security,
        parts: Parts,
    ) -> None:
        self.qmgr = qmgr
        self.scope = Scope(qmgr, parts, self.execute, self.run)
        self._runners: dict[tuple[str, str], Runner] = {}
        for family in families:
            self._runners |= runners(family)
        self._recovery, self._connections, self._security = recovery, connections, security
        self.refusals = 0
        self.audit: Audit = lambda _refusal: None
        self.early = True
        """Whether the queue manager has not yet restarted (CP5)."""

        self.pause: Callable[[float], object] = Event().wait
        self.tell: Callable[[str, str], None] = lambda _message, _text: None
        self._behind: Generator[tuple[Part, ...] | None] | None = None
        """The command that is tried again behind its operator's back (FM5)."""

    def run(self, text: str, user: str) -> Reply:
        """One command (CP1)."""
        try:
            lines = list(logical_lines(text))
        except MQSCError as error:
            return self._refused(text, error)
        if len(lines) != 1:
            return self._refused(text, MQSCError(f"one command is expected, found {len(lines)}", 1))
        return self._line(lines[0], user)

    def script(self, text: str, user: str) -> Iterator[tuple[str, Reply]]:
        """Many commands, each with its reply (CP1)."""
        lines = logical_lines(text)
        while True:
            try:
                line = next(lines, None)
            except MQSCError as error:
                yield "", self._refused("", error)
                return
            if line is None:
                return
            yield line[1].strip(), self._line(line, user)

    def _line(self, line: tuple[int, str], user: str) -> Reply:
        number, text = line
        if len(text) > TEXT_MAX:
            why = f"the command is longer than {TEXT_MAX} characters"
            return self._refused(text[:TEXT_MAX], MQSCError(why, number, code="CSQ9033E"))
        if _cannot_be_kept(text):
            return self._refused("", MQSCError("half a character stands in the command", number))
        try:
            command = written_out(parse_line(text, number))
        except MQSCError as error:
            return self._refused(text, error)
        return self.execute(command, user)

    def execute(self, command: Command, user: str) -> Reply:
        """A command that has been read."""
        said = f"{command.verb} {command.noun}"
        prefix, module, scope = f"+{self.qmgr}", _module(command), ""
        try:
            runner = self._runner(command)
            self._authorise(command, user)
            if self.scope.elsewhere(command):
                parts, scope = self.scope.run(command, user), command.value("CMDSCOPE")
            else:
                parts = self._run(runner, command, user)
        except (MQError, MQSCError, AttributeValueError, ProfileError) as error:
            why = error.reason if isinstance(error, MQError) else None
            return Reply(said, prefix, module, tuple(self._explained(command, user, error)), ok=False, reason=why)
        failed = any(part.failed for part in parts if not isinstance(part, Details))
        return Reply(said, prefix, module, parts, ok=not failed, scope=scope)

    def _runner(self, command: Command) -> Runner:
        """CP4, CP5."""
        runner = self._runners.get((command.verb, command.noun))
        if runner is None:
            what = f"{command.verb} {command.noun} is known, but not supported by this queue manager"
            raise MQSCError(what, command.line, code="CSQ9019E")
        if command.name and command.noun in ONLY_ONE:
            raise MQSCError(f"{command.noun} takes no name", command.line)
        if self.early and not runner.mark.early:
            raise MQSCError(f"{command.verb} {command.noun} cannot run before restart", command.line, code="CSQN009I")
        if self.early and self.scope.elsewhere(command):
            why = f"CMDSCOPE({command.value('CMDSCOPE')}) is not allowed during restart"
            raise MQSCError(why, command.line, code="CSQN131E")
        return runner

    def _authorise(self, command: Command, user: str) -> None:
        """CP2."""
        access = Access.READ if command.verb in READS else Access.ADMINISTER
        self._security.check(user, "command", f"{command.verb}.{command.noun}", access)

    def _run(self, runner: Runner, command: Command, user: str) -> tuple[Part, ...]:
        """CP3."""
        if not runner.mark.latched:
            return tuple(runner.run(command, user))
        try:
            return self._latched(runner, command, user)
        except NotYet as later:
            begun, tries = later.begun, self._tries(runner, command, user)
        if begun is not None:
            self._behind = tries
            return (begun,)
        with closing(tries):
            while (done := next(tries)) is None:
                self.pause(LOOK_S)
        return done

    def _tries(self, runner: Runner, command: Command, user: str) -> Generator[tuple[Part, ...] | None]:
        """The command again and again, as long as it may wait: None, and at last its parts (FM5)."""
        waited = 0.0
        try:
            while True:
                if self._connections.ending is Reason.Q_MGR_STOPPING:
                    raise MQError(Reason.Q_MGR_STOPPING)
                try:
                    yield self._latched(runner, command, user)
                except NotYet as later:
                    if waited >= later.seconds:
                        raise later.error from None
                    yield None
                waited += LOOK_S
        finally:
            self._connections.let_units_begin()

    def step(self) -> bool:
        """Try the command again that nobody waits for (FM5)."""
        tries = self._behind
        if tries is None:
            return False
        try:
            parts = next(tries)
        except MQError as error:
            parts = (Said("CSQM166I", str(error)),)
        except MQSCError as error:
            parts = (Said(error.code, error.why),)
        if parts is not None:
            self._behind = None
            tries.close()
        for part in parts or ():
            if isinstance(part, Said):
                self.tell(part.message, part.text)
        return False

    def tasks(self) -> Sequence[Task]:
        """A command that nobody waits for looks again as often as one that somebody does."""
        every_ms = int(LOOK_S * 1000)
        return (Task("commands that wait", self.step, every_ms, latched=False, due=lambda: self._behind is not None),)

    def _latched(self, runner: Runner, command: Command, user: str) -> tuple[Part, ...]:
        with self._recovery.latch:
            try:
                return tuple(runner.run(command, user))
            except BaseException as error:
                if is_fatal(error):
                    self._connections.failed(error)
                if isinstance(error, FAILURES):
                    raise MQError(Reason.CONNECTION_BROKEN, why=str(error)) from error
                raise

    def _explained(self, command: Command, user: str, error: Exception) -> Iterator[Part]:
        """What went wrong, as messages."""
        said = f"{command.verb} {command.noun}"
        if isinstance(error, MQSCError):
            yield Said(error.code, error.why)
        elif isinstance(error, MQError) and error.reason is Reason.NOT_AUTHORIZED:
            self.refusals += 1
            self.audit(Refusal(str(user), said, command.name))
            yield Said("CSQ9016E", f"'{said}' command request not authorized")
        elif isinstance(error, MQError):
            yield from refusal(command, error)
        else:
            yield Said(UNACCEPTABLE, str(error))

    def _refused(self, text: str, error: MQSCError) -> Reply:
        """A command that could not be read."""
        said = " ".join(text.upper().split("(")[0].split()[:2])[:40] or "?"
        return Reply(said, f"+{self.qmgr}", "CSQ9SCND", (Said(error.code, error.why),), ok=False)


def _cannot_be_kept(text: str) -> bool:
    """Whether there is half of a pair of surrogates in a text, which no coded character set has."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _module(command: Command) -> str:
    """The part of the queue manager that answers, as z/OS names it."""
    if command.noun in {"BUFFPOOL", "PSID"}:
        return "CSQPCMDS"
    if command.noun in {"LOG", "ARCHIVE", "BSDS", "SYSTEM"}:
        return "CSQJC001"
    if command.noun in {"THREAD", "INDOUBT", "CONN"}:
        return "CSQVCMDS"
    by_noun = {"TRACE": "CSQWVCM1", "SECURITY": "CSQHPDTC", "USAGE": "CSQIDUSE", "GROUP": "CSQ5PQSG"}
    return by_noun.get(command.noun) or {"DISPLAY": "CSQMDRTS"}.get(command.verb, "CSQMMSGP")
