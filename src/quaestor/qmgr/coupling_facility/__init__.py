"""Coupling facility manager: shared queues on list structures, for the members of a queue-sharing group.

    keys          order of a queue's list; what stands beside a message
    structures    connections, counters, lost and failed structures
    shared_queue  a queue as a list, a message as it was read
    store         put, get and browse as requests
    units         uncommitted work, commit and backout
    descriptors   what is said of units in structures
    resolving     what a dead member left, brought to its end
    peers         who notices that a member died
    interest      which members have a queue open
    forwarding    questions to other members, and their answers
    definitions   shared queues in the shared tables
    settings      which group, and where its parts are
    offloading    long messages that leave their structure; data_sets and bodies say where they go
    recovering    BACKUP and RECOVER CFSTRUCT; backup, media and positions do it
    member        this queue manager in its group, connected to the structures
    manager       all of it as one of the queue manager's managers

Called by message, recovery, queue_manager.  Calls storage.lists, storage.shared_tables, recovery.
"""

from collections.abc import Callable
from pathlib import Path

from quaestor.clock import Clock
from quaestor.qmgr.coupling_facility.manager import CouplingFacilityManager
from quaestor.qmgr.coupling_facility.settings import Group, group_of
from quaestor.qmgr.coupling_facility.shared_queue import SharedArrival, SharedQueue
from quaestor.qmgr.coupling_facility.store import SharedStore
from quaestor.qmgr.group_settings import GroupSettings
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.recovery import RecoveryManager

Join = Callable[[str, RecoveryManager, Clock, OperatorLog], CouplingFacilityManager]


def member_of_group(settings: GroupSettings, directory: Path) -> Join:
    """How the queue manager kept in a directory becomes a member of its group."""

    def join(qmgr: str, recovery: RecoveryManager, clock: Clock, operator_log: OperatorLog) -> CouplingFacilityManager:
        group = group_of(settings, directory, clock, operator_log)
        return CouplingFacilityManager(qmgr, group, recovery, clock, operator_log)

    return join


__all__ = [
    "CouplingFacilityManager",
    "Group",
    "GroupSettings",
    "SharedArrival",
    "SharedQueue",
    "SharedStore",
    "group_of",
    "member_of_group",
]
