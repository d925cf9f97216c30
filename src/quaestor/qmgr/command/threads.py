"""Threads: who is connected, what is in doubt: CONN, THREAD, INDOUBT.

Rules
  TH1 CONN shows an application by its connection identifier (16 hex digits) with its unit of work: ACTIVE; without one,
      PREPARED with the unit that it prepared last of those still in doubt; or NONE. A unit is ACTIVE until its
      preparation is durable. TYPE(HANDLE) shows what it has open, one row for each handle.
  TH2 STOP CONN ends an application's connection as if the application were gone: its unit is backed out.
  TH3 A unit in doubt is named by its network identifier: the coordinator's own, in hex. RESOLVE INDOUBT decides one of
      them, or with NID(*) all of a connection name; with ACTION(COMMIT) or ACTION(BACKOUT) and never without.

Called by the processor.  Calls the connection manager and recovery.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.syntax import NO_VALUE
from quaestor.mqi.names import picks
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.command.family import runs
from quaestor.qmgr.command.queues import urid_of
from quaestor.qmgr.command.reply import Details, Part, Row, Said
from quaestor.qmgr.command.selecting import generic, named, selected
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.message import ApplicationThread
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.qmgr.security import Itself

IN_DOUBT = "D"
AUTHORISED = Itself("")
"""Who gave the command has been checked for it."""


class ThreadCommands:
    """Connections and their units of recovery (TH1-TH3)."""

    def __init__(self, connections: ConnectionManager, recovery: RecoveryManager) -> None:
        self._connections, self._recovery = connections, recovery

    def _by_id(self) -> dict[str, ApplicationThread]:
        return {thread.name.zfill(16): thread for thread in self._connections.threads()}

    # -- CONN

    @runs("DISPLAY", "CONN")
    def display_connections(self, command: Command, _user: str) -> Iterator[Part]:
        kind = command.word("TYPE", "CONN", "CONN", "HANDLE", "ALL")
        known = self._by_id()
        names = named(command, known)
        if not names and not generic(command.name or "*"):
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, type="CONN", name=command.name)
        rows = (row for name in names for row in self._connection_rows(name, known[name], kind))
        shown = 0
        for row in selected(command, rows, ("CONN", "TYPE"), besides=("TYPE",)):
            shown += 1
            yield Details("CSQM453I", "CONN", row)
        yield Said("CSQM293I", f"{shown} CONN FOUND MATCHING REQUEST CRITERIA")

    def _connection_rows(self, name: str, thread: ApplicationThread, kind: str) -> Iterator[Row]:
        if kind in {"CONN", "ALL"}:
            yield {"CONN": name, "TYPE": "CONN", **_application(thread), **self._unit(thread)}
        if kind in {"HANDLE", "ALL"}:
            for opened in sorted(thread.opened, key=lambda each: str(each.name)):
                handle = {"OBJNAME": opened.name, "OBJTYPE": "QUEUE", "OPENOPTS": f"X'{opened.options:08X}'"}
                yield {"CONN": name, "TYPE": "HANDLE", **handle}

    def _unit(self, thread: ApplicationThread) -> Row:
        """TH1."""
        units = self._connections.prepared
        unit: Any = thread.unit or units.under_way(thread.name)
        state = "ACTIVE"
        if unit is None:
            unit, state = units.prepared_by(thread.name), "PREPARED"
        began_us = 0 if unit is None else unit.identity.started_us
        began = datetime.fromtimestamp(began_us / 1e6, UTC) if began_us else None
        return {
            "UOWSTATE": "NONE" if unit is None else state,
            "UOWSTDA": "" if began is None else f"{began:%Y-%m-%d}",
            "UOWSTTI": "" if began is None else f"{began:%H.%M.%S}",
            "QMURID": f"{0 if unit is None else unit.urid:012X}",
        }

    @runs("STOP", "CONN", latched=False)
    def stop_connection(self, command: Command, _user: str) -> Iterable[Part]:
        """TH2."""
        with self._recovery.latch:
            thread = self._by_id().get(command.name.zfill(16))
        if thread is None:
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, type="CONN", name=command.name)
        self._connections.end(thread)
        return ()

    # -- THREAD and INDOUBT

    @runs("DISPLAY", "THREAD")
    def display_threads(self, command: Command, _user: str) -> Iterator[Part]:
        kind = command.word("TYPE", "ACTIVE", "ACTIVE", "INDOUBT", "*")
        wanted = command.name or "*"
        yield Said("CSQV401I", "DISPLAY THREAD REPORT FOLLOWS -")
        if kind in {"ACTIVE", "*"}:
            rows = tuple(row for row in map(_thread_row, self._connections.threads()) if picks(wanted, row["NAME"]))
            if rows:
                yield Said("CSQV402I", "ACTIVE THREADS -", (THREAD_HEADING, *map(_thread_line, rows)), rows)
            else:
                yield Said("CSQV419I", "NO ACTIVE CONNECTIONS FOUND")
        if kind in {"INDOUBT", "*"}:
            rows = tuple(row for row in self._in_doubt() if picks(wanted, row["NAME"]))
            if rows:
                yield Said("CSQV406I", "INDOUBT THREADS -", (IN_DOUBT_HEADING, *map(_in_doubt_line, rows)), rows)
            else:
                yield Said("CSQV420I", "NO INDOUBT THREADS FOUND")

    def _in_doubt(self) -> Iterator[Row]:
        logged = {unit.xid: unit for unit in self._recovery.in_doubt()}
        for xid in self._connections.prepared.in_doubt(AUTHORISED):
            unit = logged.get(xid)
            identity = None if unit is None else unit.identity
            yield {
                "NAME": identity.connection if identity is not None else "",
                "S": IN_DOUBT,
                "USERID": identity.user if identity is not None else "",
                "URID": f"{unit.urid if unit is not None else 0:012X}",
                "NID": xid.hex().upper(),
            }

    @runs("RESOLVE", "INDOUBT", "THREAD")
    def resolve(self, command: Command, _user: str) -> Iterator[Part]:
        """TH3."""
        for keyword in ("ACTION", "NID"):
            if not command.value(keyword):
                raise MQSCError(f"RESOLVE {command.noun} needs {keyword}", command.line, code=NO_VALUE)
        commit = command.word("ACTION", "", "COMMIT", "BACKOUT") == "COMMIT"
        wanted, nid = command.name or "*", command.value("NID").upper()
        found = [row for row in self._in_doubt() if picks(wanted, row["NAME"]) and nid in {"*", row["NID"]}]
        if not found and nid != "*":
            raise MQError(Reason.UNKNOWN_OBJECT_NAME, type="INDOUBT", name=nid)
        for row in found:
            xid = bytes.fromhex(row["NID"])
            if xid not in self._connections.prepared.in_doubt(AUTHORISED):
                continue  # while the log was waited for, somebody else has decided it
            self._connections.prepared.decide(xid, AUTHORISED, commit=commit)
            how = "COMMIT" if commit else "BACKOUT"
            yield Said(
                "CSQV414I", f"THREAD NID={row['NID']} {how} SCHEDULED", rows=({"NID": row["NID"], "ACTION": how},)
            )
        if not found:
            yield Said("CSQV420I", "NO INDOUBT THREADS FOUND")


def _application(thread: ApplicationThread) -> Row:
    return {"APPLTAG": thread.appl_name, "APPLTYPE": "USER", "USERID": thread.user}


def _thread_row(thread: ApplicationThread) -> Row:
    unit = thread.unit
    calls = len(unit.puts) + len(unit.gets) if unit is not None else 0
    return {"NAME": thread.appl_name, "S": "T", "REQ": calls, "USERID": thread.user, "URID": urid_of(thread)}


THREAD_HEADING = "NAME                         S REQ    USERID       URID"
IN_DOUBT_HEADING = "NAME             S USERID       URID         NID"


def _thread_line(row: Row) -> str:
    return f"{row['NAME']:<28} {row['S']} {row['REQ']:6d} {row['USERID']:<12} {row['URID']}"


def _in_doubt_line(row: Row) -> str:
    return f"{row['NAME']:<16} {row['S']} {row['USERID']:<12} {row['URID']} {row['NID']}"
