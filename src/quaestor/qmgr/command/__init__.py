"""Command manager: MQSC for operators, programs and start.

    processor    text in, reply out; authority           objects    queues, processes, namelists, storage classes, QMGR
    reply        console, program and row forms          queues     QSTATUS, CLEAR, MOVE
    family       which method runs which command         storage    BUFFPOOL, PSID, USAGE
    selecting    generic names, WHERE, keywords          threads    CONN, THREAD, INDOUBT
    input_sets   CSQINP1 and CSQINP2 at start            system     LOG, ARCHIVE, SYSTEM, SECURITY, QMGR
                                                         traces     TRACE, and who keeps the traces

Called by the server, the command line, queue_manager.  Calls every manager from page storage to connection.
"""

from quaestor.qmgr.command.assembly import FAMILIES, Parts, command_processor
from quaestor.qmgr.command.input_sets import InputSets
from quaestor.qmgr.command.processor import CommandProcessor, Refusal
from quaestor.qmgr.command.reply import Reply
from quaestor.qmgr.command.traces import NoTraces, Trace, Traces

__all__ = [
    "FAMILIES",
    "CommandProcessor",
    "InputSets",
    "NoTraces",
    "Parts",
    "Refusal",
    "Reply",
    "Trace",
    "Traces",
    "command_processor",
]
