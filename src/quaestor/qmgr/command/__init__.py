"""Command manager: MQSC for operators, programs and start.

    processor    text in, reply out; authority           objects    queues, processes, namelists, storage classes, QMGR
    reply        console, program and row forms          queues     QSTATUS, CLEAR, MOVE
    family       which method runs which command         storage    BUFFPOOL, PSID, USAGE
    selecting    generic names, WHERE, keywords          threads    CONN, THREAD, INDOUBT
    input_sets   CSQINP1 and CSQINP2 at start            system     LOG, ARCHIVE, SYSTEM, SECURITY, QMGR
    pcf_server   PCF requests from a queue               tracing    TRACE
    parts, traces   who keeps traces, who ends it all    image_copies   BACKUP PSID
    pcf_commands, pcf_words   PCF to MQSC and back

Called by the server, the command line, queue_manager.  Calls every manager from page storage to connection.
"""

from quaestor.qmgr.command.assembly import FAMILIES, command_processor
from quaestor.qmgr.command.copies import Copies
from quaestor.qmgr.command.input_sets import InputSets
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.pcf_server import CommandServer
from quaestor.qmgr.command.processor import CommandProcessor, Refusal
from quaestor.qmgr.command.reply import Reply
from quaestor.qmgr.command.traces import NoTraces, Trace, Traces

__all__ = [
    "FAMILIES",
    "CommandProcessor",
    "CommandServer",
    "Copies",
    "InputSets",
    "NoTraces",
    "Parts",
    "Refusal",
    "Reply",
    "Trace",
    "Traces",
    "command_processor",
]
