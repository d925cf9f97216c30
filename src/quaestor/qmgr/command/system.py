"""System: LOG, ARCHIVE, BSDS, SYSTEM, SECURITY, and the end of the queue manager.

Rules
  SY1 SET changes a parameter until the queue manager stops; what is to last goes into the settings or into CSQINP2.
      One number out of its range and nothing is set.
      DISPLAY shows what it was at start, and beside it what it was set to.
  SY2 ARCHIVE LOG leaves the active log before it is full and archives it. It is refused when archiving is off, when the
      next active log is not ready, and while another one quiesces. With MODE(QUIESCE) the log is left at a moment in
      which no unit of recovery has changed anything: nobody begins one until that is done or TIME is over (GA1), which
      fails the command. TIME is what SET ARCHIVE QUIESCE says (5 seconds) where the command does not say it. With
      WAIT(YES) the answer waits for that; else it says that quiescing has begun, and the operator log says how it
      ended.
  SY3 STOP QMGR asks whoever runs the queue manager to end it; it is told before the reply is read. A queue manager that
      nobody can end from outside (an embedded one ends with its last application) says so.
  SY4 ALTER SECURITY TIMEOUT says for how long answers are kept; REFRESH SECURITY reads the profiles again. RVERIFY
      SECURITY does so for some users alone (S9); one of whom nothing is kept is named and passed over (CSQH007I).
  SY5 RECOVER BSDS makes a copy of the bootstrap data set again that could not be written (S5); where both are written
      it says so, and where there is to be only one it is refused.

Called by the processor.  Calls log, recovery, security, the traces.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import NO_VALUE, UNACCEPTABLE
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.family import NotYet, runs
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.reply import Part, Row, Said
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.qmgr.security import SecurityManager

MIB = 1 << 20
US_PER_MINUTE = 60_000_000
TIMEOUT_MAX = 10_080
LOGLOAD_MIN, LOGLOAD_MAX = 200, 16_000_000
WRTHRSH_MAX = 256
STATIME_MAX = 1440
QUIESCE_S, QUIESCE_MAX_S = 5, 999
INTERVALS = {"STATIME": 0, "ACCTIME": -1}
"""With the least that each may be; ACCTIME(-1) is as STATIME."""


class LogCommands:
    """LOG, ARCHIVE, BSDS and SYSTEM (SY1, SY2, SY5)."""

    def __init__(
        self, log: LogManager, recovery: RecoveryManager, connections: ConnectionManager, parts: Parts
    ) -> None:
        self._log, self._recovery, self._connections, self._parts = log, recovery, connections, parts
        self._quiescing: Command | None = None
        self._initial = {"WRTHRSH": log.wrthrsh, "LOGLOAD": recovery.logload, "QUIESCE": QUIESCE_S}
        self._quiesce_s = QUIESCE_S
        self._intervals: dict[str, int] = {}
        """Intervals that SET SYSTEM has changed, as they were at start."""

    @runs("DISPLAY", "LOG", early=True)
    def display_log(self, _command: Command, _user: str) -> Iterator[Part]:
        files = self._log.files
        values = {
            "OUTBUFF": self._log.buffers * 4,
            "WRTHRSH": self._initial["WRTHRSH"],
            "TWOACTV": _yes(files.copies > 1),
            "TWOBSDS": _yes(files.copies > 1),
            "OFFLOAD": _yes(files.archives),
        }
        yield _parameters("CSQJ322I", "DISPLAY LOG report ...", values, self._set(WRTHRSH=self._log.wrthrsh))
        used = (self._log.end - files.start) * 100 // files.size
        copies = tuple(
            {"COPY": copy + 1, "USED": used, "DSN": files.current_name(copy)} for copy in range(files.copies)
        )
        lines = ("Copy %Full  DSName", *(f"{row['COPY']:4d}  {row['USED']:4d}  {row['DSN']}" for row in copies))
        yield Said("CSQJ370I", "LOG status report ...", (*lines, *self._status_lines()), (*copies, self._status()))

    def _status(self) -> Row:
        files = self._log.files
        return {
            "TOTALLOGS": len(files.inventory.starts),
            "FULLLOGS": files.not_archived(),
            "LOGRBA": f"{self._log.end:012X}",
            "HARDENED": f"{self._log.hardened:012X}",
        }

    def _status_lines(self) -> tuple[str, ...]:
        row, size = self._status(), self._log.files.size / MIB
        return (
            f"Active logs {row['TOTALLOGS']} of {size:g} MB, full and not archived {row['FULLLOGS']}",
            f"Highest RBA {row['LOGRBA']}, on disk up to {row['HARDENED']}",
            "End of LOG report",
        )

    @runs("SET", "LOG")
    def set_log(self, command: Command, _user: str) -> Iterable[Part]:
        if command.has("DEFAULT"):
            self._log.wrthrsh = self._initial["WRTHRSH"]
        elif command.has("WRTHRSH"):
            self._log.wrthrsh = command.number("WRTHRSH", 1, 1, WRTHRSH_MAX)
        else:
            raise MQSCError("SET LOG needs WRTHRSH or DEFAULT", command.line, code=NO_VALUE)
        return ()

    @runs("ARCHIVE", "LOG")
    def archive_log(self, command: Command, _user: str) -> Iterator[Part]:
        """SY2."""
        quiesced = command.has("MODE") and command.word("MODE", "", "QUIESCE") == "QUIESCE"
        seconds = command.number("TIME", self._quiesce_s, 1, QUIESCE_MAX_S)
        waits = command.word("WAIT", "NO", "NO", "YES")
        if not quiesced and (command.has("TIME") or command.has("WAIT")):
            raise MQSCError("TIME and WAIT go with MODE(QUIESCE)", command.line, code=UNACCEPTABLE)
        if not self._log.files.archives:
            raise MQError(Reason.ENVIRONMENT_ERROR, why="archiving is off: OFFLOAD(NO)")
        if self._connections.units_held and self._quiescing is not command:
            raise MQSCError("ARCHIVE LOG command already in progress", command.line, code="CSQJ318I")
        if quiesced and self._recovery.units:
            self._quiescing = command
            self._connections.hold_units()
            raise self._not_yet(command, seconds, waits)
        ended = self._log.files.current_name(0)
        self._log.truncate()
        self._recovery.checkpoint()
        while self._log.files.offload_step():
            pass
        text = f"ARCHIVE LOG initiated for log data set {ended}, logging goes on in {self._log.files.current_name(0)}"
        yield Said("CSQJ312I" if quiesced else "CSQJ311I", text, rows=({"DSN": ended},))

    def _not_yet(self, command: Command, seconds: int, waits: str) -> NotYet:
        units = len(self._recovery.units)
        over = MQSCError(f"Quiesce period elapsed with {units} outstanding URs", command.line, code="CSQJ317I")
        begun = f"Quiescing for archive started with WAIT(NO) for maximum of {seconds} seconds"
        return NotYet(over, seconds, None if waits == "YES" else Said("CSQJ310I", begun))

    @runs("DISPLAY", "ARCHIVE")
    def display_archive(self, _command: Command, _user: str) -> Iterator[Part]:
        files = self._log.files
        values = {"OFFLOAD": _yes(files.archives), "QUIESCE": self._initial["QUIESCE"]}
        yield _parameters("CSQJ322I", "DISPLAY ARCHIVE report ...", values, self._set(QUIESCE=self._quiesce_s))
        rows: tuple[Row, ...] = tuple(
            {"DSN": name, "STARTRBA": f"{start:012X}", "ENDRBA": f"{end - 1:012X}"}
            for start, end, name in files.inventory.archives
        )
        lines = (f"{row['STARTRBA']} {row['ENDRBA']} {row['DSN']}" for row in rows)
        heading = "Start RBA    End RBA      DSName"
        yield Said("CSQJ325I", "ARCHIVE log data sets ...", (heading, *lines, "End of ARCHIVE report"), rows)

    @runs("SET", "ARCHIVE")
    def set_archive(self, command: Command, _user: str) -> Iterable[Part]:
        if command.has("DEFAULT"):
            self._quiesce_s = QUIESCE_S
        elif command.has("QUIESCE"):
            self._quiesce_s = command.number("QUIESCE", 0, 1, QUIESCE_MAX_S)
        else:
            raise MQSCError("SET ARCHIVE needs QUIESCE or DEFAULT", command.line, code=NO_VALUE)
        return ()

    @runs("RECOVER", "BSDS")
    def recover_bsds(self, _command: Command, _user: str) -> Iterator[Part]:
        """SY5."""
        if self._log.files.copies == 1:
            raise MQError(Reason.ENVIRONMENT_ERROR, why="there is one copy: TWOBSDS(NO)")
        try:
            source = self._log.files.recover_bootstrap()
        except OSError as error:
            raise MQError(Reason.RESOURCE_PROBLEM, type="BSDS", why=str(error)) from error
        if source:
            yield Said("CSQJ130I", f"DUAL BSDS MODE RESTORED FROM {source}")
        else:
            yield Said("CSQJ306I", "DUAL BSDS MODE ALREADY ESTABLISHED")

    @runs("DISPLAY", "SYSTEM", early=True)
    def display_system(self, _command: Command, _user: str) -> Iterator[Part]:
        now = self._parts.keeper.intervals()
        values = {"LOGLOAD": self._initial["LOGLOAD"], **now, **self._intervals}
        changed = {name: minutes for name, minutes in now.items() if minutes != values[name]}
        changed |= self._set(LOGLOAD=self._recovery.logload)
        yield _parameters("CSQJ322I", "DISPLAY SYSTEM report ...", values, changed)

    @runs("SET", "SYSTEM")
    def set_system(self, command: Command, _user: str) -> Iterable[Part]:
        if command.has("DEFAULT"):
            self._recovery.logload = self._initial["LOGLOAD"]
            for keyword, minutes in self._intervals.items():
                self._parts.keeper.set_interval(keyword, minutes or 1)  # kept in minutes
            return ()
        if not any(command.has(keyword) for keyword in ("LOGLOAD", *INTERVALS)):
            raise MQSCError("SET SYSTEM needs LOGLOAD, STATIME, ACCTIME or DEFAULT", command.line, code=NO_VALUE)
        logload = self._recovery.logload
        if command.has("LOGLOAD"):
            logload = command.number("LOGLOAD", 0, LOGLOAD_MIN, LOGLOAD_MAX)
        before, asked = self._parts.keeper.intervals(), [keyword for keyword in INTERVALS if command.has(keyword)]
        given = {keyword: command.number(keyword, 0, INTERVALS[keyword], STATIME_MAX) for keyword in asked}
        for keyword in asked:
            self._parts.keeper.set_interval(keyword, given[keyword])
            self._intervals = before | self._intervals
        self._recovery.logload = logload
        return ()

    def _set(self, **now: int) -> dict[str, int]:
        """What differs from the start (SY1)."""
        return {keyword: value for keyword, value in now.items() if value != self._initial[keyword]}


class SecurityCommands:
    """SECURITY (SY4)."""

    def __init__(self, security: SecurityManager) -> None:
        self._security = security

    @runs("DISPLAY", "SECURITY", early=True)
    def display(self, command: Command, _user: str) -> Iterator[Part]:
        everything = command.has("ALL") or not (command.has("TIMEOUT") or command.has("SWITCHES"))
        if everything or command.has("TIMEOUT"):
            minutes = self._security.timeout_us // US_PER_MINUTE
            yield Said("CSQH015I", f"Security timeout = {minutes} minutes", rows=({"TIMEOUT": minutes},))
        if everything or command.has("SWITCHES"):
            yield from self._switches()

    def _switches(self) -> Iterator[Part]:
        if not self._security.active:
            yield Said("CSQH030I", "Security switches ...")
            yield Said("CSQH031I", "SUBSYSTEM: OFF, there are no profiles", rows=({"SWITCH": "SUBSYSTEM", "ON": "NO"},))
            return
        yield Said("CSQH030I", "Security switches ...")
        yield Said("CSQH034I", "SUBSYSTEM: ON", rows=({"SWITCH": "SUBSYSTEM", "ON": "YES"},))
        for resource, profiles in sorted(Counter(p.resource for p in self._security.profiles).items()):
            row = {"SWITCH": resource.upper(), "ON": "YES", "PROFILES": profiles}
            yield Said("CSQH034I", f"{resource.upper()}: ON, {profiles} profiles", rows=(row,))

    @runs("ALTER", "SECURITY", early=True)
    def alter(self, command: Command, _user: str) -> Iterable[Part]:
        if not command.has("TIMEOUT"):
            raise MQSCError("ALTER SECURITY needs TIMEOUT", command.line, code=NO_VALUE)
        self._security.timeout_us = command.number("TIMEOUT", 0, 0, TIMEOUT_MAX) * US_PER_MINUTE
        return ()

    @runs("REFRESH", "SECURITY")
    def refresh(self, command: Command, _user: str) -> Iterable[Part]:
        command.word("TYPE", "CLASSES", "CLASSES")
        self._security.refresh()
        return ()

    @runs("RVERIFY", "SECURITY")
    def reverify(self, command: Command, _user: str) -> Iterator[Part]:
        """SY4."""
        users = [user.strip() for user in command.name.split(",") if user.strip()]
        if not users:
            raise MQSCError("RVERIFY SECURITY needs users", command.line, code=NO_VALUE)
        if not self._security.active:
            yield Said("CSQH008I", "Subsystem security not active, no userids processed")
            return
        verified = self._security.reverify(users)
        for user in users:
            if user not in verified:
                yield Said("CSQH007I", f"Reverify flag not set for user-id {user}, no entry found")


class QueueManagerCommands:
    """PING and STOP QMGR (SY3)."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @runs("PING", "QMGR")
    def ping(self, _command: Command, _user: str) -> Iterable[Part]:
        return ()

    @runs("STOP", "QMGR", latched=False)
    def end(self, command: Command, _user: str) -> Iterable[Part]:
        mode = command.word("MODE", "QUIESCE", "QUIESCE", "FORCE", "RESTART")
        if self._parts.stop is None:
            raise MQError(Reason.ENVIRONMENT_ERROR, why="an embedded queue manager ends with its last application")
        self._parts.stop(mode)
        yield Said("CSQY002I", f"QUEUE MANAGER STOPPING, MODE({mode})")


def _parameters(message: str, text: str, values: Row, changed: Row) -> Said:
    """Parameters, what they were at start, what they were set to."""
    lines = [f"{'Parameter':<10} {'Initial value':<20} SET value"]
    lines += [f"{name:<10} {values[name]!s:<20} {changed.get(name, '')}".rstrip() for name in values]
    heading, *rest = lines
    rows = tuple({"PARAMETER": n, "VALUE": changed.get(n, values[n]), "INITIAL": values[n]} for n in values)
    return Said(message, text, (heading, *rest), rows)


def _yes(value: bool) -> str:
    return "YES" if value else "NO"
