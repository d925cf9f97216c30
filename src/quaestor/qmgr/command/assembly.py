"""Assembly: the families of commands, each with the managers it leans on.

Called by queue_manager.  Calls nothing: it only builds.
"""

from dataclasses import dataclass

from quaestor.clock import Clock
from quaestor.qmgr.command.objects import ObjectCommands
from quaestor.qmgr.command.processor import CommandProcessor
from quaestor.qmgr.command.queues import QueueCommands
from quaestor.qmgr.command.storage import StorageCommands
from quaestor.qmgr.command.system import LogCommands, QueueManagerCommands, SecurityCommands, Stop
from quaestor.qmgr.command.threads import ThreadCommands
from quaestor.qmgr.command.traces import NoTraces, TraceCommands, Traces
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.data.engine import Engine
from quaestor.qmgr.message import MessageManager
from quaestor.qmgr.security import SecurityManager

FAMILIES = (
    ObjectCommands,
    QueueCommands,
    StorageCommands,
    ThreadCommands,
    LogCommands,
    SecurityCommands,
    TraceCommands,
    QueueManagerCommands,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What the rest of the house gives: who keeps the traces, who ends the queue manager."""

    traces: Traces | None = None
    stop: Stop | None = None


def command_processor(
    qmgr: str,
    engine: Engine,
    messages: MessageManager,
    connections: ConnectionManager,
    security: SecurityManager,
    clock: Clock,
    parts: Parts,
) -> CommandProcessor:
    """The processor with every family."""
    traces = parts.traces or NoTraces()
    families = (
        ObjectCommands(messages),
        QueueCommands(messages, connections, clock),
        StorageCommands(engine.storage, engine.buffers, engine.data.space, engine.log, messages.catalogue),
        ThreadCommands(connections, engine.recovery),
        LogCommands(engine.log, engine.recovery, traces),
        SecurityCommands(security),
        TraceCommands(traces),
        QueueManagerCommands(parts.stop),
    )
    return CommandProcessor(qmgr, families, engine.recovery, connections, security)
