"""Settings: the parts of a queue-sharing group at the addresses that its members are told.

Rules
  GP1 Structures are in the coupling facility of this machine or in Redis; a group's structures begin with its name.
  GP2 The repository is asked through the Db2 manager, which answers from its copy while it is away. Whoever would do
      harm with what has changed since asks `now` (DM5).
  GP3 A member's directory is in the repository, so that peers can read its log. One that is not there, or is not that
      of a queue manager, cannot be read here: it is on another machine.

Called by group_settings.  Calls the Db2 manager, list structures, disk.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from quaestor.clock import Clock
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.habits import BY_NAME, FEWEST, Habits
from quaestor.qmgr.coupling_facility.structures import ConnectStructure
from quaestor.qmgr.db2 import Db2Manager
from quaestor.qmgr.group_settings import GroupSettings
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.storage.bootstrap import Bootstrap
from quaestor.storage.disk import Disk
from quaestor.storage.lists.movable import MovableConnection
from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.lists.structure import ListStructure, Shape, Told
from quaestor.storage.real_disk import RealDisk
from quaestor.storage.shared_tables import GroupTables, LargeObjects, RepositoryAwayError, open_tables

FACILITY, REDIS = "cf://", ("redis://", "rediss://", "unix://")


@dataclass(frozen=True, slots=True)
class Group:
    """The parts of a group, as a member uses them."""

    name: str
    tables: GroupTables
    connect: ConnectStructure
    log_directory: str
    open_disk: Callable[[str], Disk]
    db2: Db2Manager | None = None
    """Who asks the tables; None where they are asked directly."""

    habits: Habits = FEWEST

    @property
    def now(self) -> GroupTables:
        """The tables as they are now; RepositoryAwayError while nobody can say (GP2)."""
        return self.tables if self.db2 is None else self.db2.now

    @property
    def objects(self) -> LargeObjects:
        """Where the bodies of long messages are: whoever answers the group's tables has them."""
        return cast("LargeObjects", self.tables.tables) if self.db2 is None else self.db2.objects


def group_of(settings: GroupSettings, directory: Path, clock: Clock, operator_log: OperatorLog) -> Group:
    """The group's parts, for a queue manager kept in `directory`."""
    connect = structures_at(settings.structures, settings.name)
    try:
        db2 = Db2Manager(lambda: open_tables(settings.repository, settings.name), clock, operator_log)
    except RepositoryAwayError as error:
        raise MQError(Reason.Q_MGR_NOT_AVAILABLE, group=settings.name, why=str(error)) from error
    habits = BY_NAME[settings.requests]
    return Group(settings.name, db2.group, connect, str(directory.resolve()), log_disk, db2, habits)


def structures_at(address: str, group: str) -> ConnectStructure:
    """How structures at an address are connected to (GP1)."""

    def own(shape: Shape) -> Shape:
        return Shape(f"{group}{shape.name}", *_measures(shape))

    if address.startswith(FACILITY):
        path = address.removeprefix(FACILITY)

        def facility(shape: Shape, connector: str, told: Told) -> ListStructure:
            return MovableConnection(path, own(shape), connector, told)

        return facility
    if address.startswith(REDIS):

        def redis(shape: Shape, connector: str, told: Told) -> ListStructure:
            return RedisConnection(address, own(shape), connector, told)

        return redis
    raise MQError(Reason.CF_NOT_AVAILABLE, address=address, why="cf:///path or redis://host:port is expected")


def _measures(shape: Shape) -> tuple[int, ...]:
    return shape.lists, shape.locks, shape.element_bytes, shape.elements_max, shape.entries, shape.elements


def log_disk(directory: str) -> Disk:
    """A member's directory, if it can be read here (GP3)."""
    if not Path(directory).is_dir():
        raise FileNotFoundError(2, "a member's directory is not on this machine", directory)
    disk = RealDisk(directory)
    if not Bootstrap.formatted(disk):
        raise FileNotFoundError(2, "no queue manager is kept here", directory)
    return disk
