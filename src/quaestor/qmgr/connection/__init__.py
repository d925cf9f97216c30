"""Connection manager: the front door for every MQI call.

It owns what an application holds: the connection, its handles, its unit of recovery, its waits. It takes the engine
latch for each call, ends the units that the call leaves behind, and turns the end of an application into a commit
(normal end) or a back out (any other). MQCMIT and MQBACK go to recovery, everything else to the message manager.

    manager        who is connected; connect, quiesce, stop    handle        an open queue
    session        a connection and its units of recovery      asynchronous  the same for asyncio
    accounting     what one task did, for SMF 116              queue_tally   and what it did to one queue
    accounted      the same calls, tallied                     latch         the engine latch, timed
    two_phase      units in doubt, for a coordinator           failing       what ends a queue manager

Called by the package door, the server, command.  Calls message, recovery, security.
"""

from quaestor.qmgr.connection.accounting import Accounts, TaskTally
from quaestor.qmgr.connection.asynchronous import AsyncConnection, AsyncHandle
from quaestor.qmgr.connection.handle import Handle
from quaestor.qmgr.connection.manager import ConnectionManager
from quaestor.qmgr.connection.session import Connection
from quaestor.qmgr.connection.two_phase import Participant, settle

__all__ = [
    "Accounts",
    "AsyncConnection",
    "AsyncHandle",
    "Connection",
    "ConnectionManager",
    "Handle",
    "Participant",
    "TaskTally",
    "settle",
]
