"""Assembly: the families of commands, each with the managers it leans on.

Called by queue_manager.  Calls nothing: it only builds.
"""

from quaestor.clock import Clock
from quaestor.qmgr.command.data_sets import DataSetCommands
from quaestor.qmgr.command.image_copies import ImageCopyCommands
from quaestor.qmgr.command.objects import ObjectCommands
from quaestor.qmgr.command.parts import Parts
from quaestor.qmgr.command.processor import CommandProcessor
from quaestor.qmgr.command.queues import QueueCommands
from quaestor.qmgr.command.storage import StorageCommands
from quaestor.qmgr.command.structure_status import StructureStatusCommands
from quaestor.qmgr.command.structures import StructureCommands
from quaestor.qmgr.command.system import LogCommands, QueueManagerCommands, SecurityCommands
from quaestor.qmgr.command.threads import ThreadCommands
from quaestor.qmgr.command.tracing import TraceCommands
from quaestor.qmgr.connection import ConnectionManager
from quaestor.qmgr.data.engine import Engine
from quaestor.qmgr.message import MessageManager
from quaestor.qmgr.security import SecurityManager

FAMILIES = (
    ObjectCommands,
    QueueCommands,
    StorageCommands,
    ImageCopyCommands,
    ThreadCommands,
    LogCommands,
    SecurityCommands,
    TraceCommands,
    QueueManagerCommands,
    StructureCommands,
    StructureStatusCommands,
    DataSetCommands,
)


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
    families = (
        ObjectCommands(messages, parts),
        QueueCommands(messages, connections, clock, parts),
        StorageCommands(engine.storage, engine.buffers, engine.data.space, engine.log, messages.catalogue),
        ImageCopyCommands(engine.recovery, engine.disk, connections),
        ThreadCommands(connections, engine.recovery),
        LogCommands(engine.log, engine.recovery, connections, parts),
        SecurityCommands(security),
        TraceCommands(parts),
        QueueManagerCommands(parts),
        StructureCommands(parts),
        StructureStatusCommands(parts),
        DataSetCommands(parts),
    )
    return CommandProcessor(qmgr, families, engine.recovery, connections, security, parts)
