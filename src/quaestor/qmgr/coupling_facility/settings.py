"""Settings: how a queue manager is told which queue-sharing group it belongs to, and where that group's parts are.

Rules
  GS1 A group has a name (at most four characters), structures (`cf:///path` for the coupling facility of this machine,
      `redis://...` for several) and a repository (a file, or `postgresql://...`).
  GS2 All members name the same; the repository says which members, structures and shared queues there are.
  GS3 A member's directory is in the repository, so that peers can read its log. One that is not there, or is not that
      of a queue manager, cannot be read here: it is on another machine.

Called by the package door and the server.  Calls shared tables, list structures, disk.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.structures import ConnectStructure
from quaestor.storage.bootstrap import Bootstrap
from quaestor.storage.disk import Disk, RealDisk
from quaestor.storage.lists.client import FacilityConnection
from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.lists.structure import ListStructure, Shape, Told
from quaestor.storage.shared_tables import GroupTables, open_tables

FACILITY, REDIS = "cf://", ("redis://", "rediss://", "unix://")
GROUP_NAME_MAX = 4


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """A queue-sharing group, as a member is told of it (GS1)."""

    name: str
    structures: str
    repository: str


@dataclass(frozen=True, slots=True)
class Group:
    """The parts of a group, as a member uses them."""

    name: str
    tables: GroupTables
    connect: ConnectStructure
    log_directory: str
    open_disk: Callable[[str], Disk]


def group_of(settings: GroupSettings, directory: str | Path) -> Group:
    """The group's parts, for a queue manager kept in `directory`."""
    if not 0 < len(settings.name) <= GROUP_NAME_MAX:
        raise MQError(Reason.OBJECT_NAME_ERROR, group=settings.name, longest=GROUP_NAME_MAX)
    tables = GroupTables(open_tables(settings.repository, settings.name))
    connect = structures_at(settings.structures, settings.name)
    return Group(settings.name, tables, connect, str(Path(directory).resolve()), log_disk)


def structures_at(address: str, group: str) -> ConnectStructure:
    """How structures at an address are connected to (GS1). A group's structures begin with its name."""

    def own(shape: Shape) -> Shape:
        return Shape(f"{group}{shape.name}", *_measures(shape))

    if address.startswith(FACILITY):
        path = address.removeprefix(FACILITY)

        def facility(shape: Shape, connector: str, told: Told) -> ListStructure:
            return FacilityConnection(path, own(shape), connector, told)

        return facility
    if address.startswith(REDIS):

        def redis(shape: Shape, connector: str, told: Told) -> ListStructure:
            return RedisConnection(address, own(shape), connector, told)

        return redis
    raise MQError(Reason.CF_NOT_AVAILABLE, address=address, why="cf:///path or redis://host:port is expected")


def _measures(shape: Shape) -> tuple[int, ...]:
    return shape.lists, shape.locks, shape.element_bytes, shape.elements_max, shape.entries, shape.elements


def log_disk(directory: str) -> Disk:
    """A member's directory, if it can be read here (GS3)."""
    if not Path(directory).is_dir():
        raise FileNotFoundError(2, "a member's directory is not on this machine", directory)
    disk = RealDisk(directory)
    if not Bootstrap.formatted(disk):
        raise FileNotFoundError(2, "no queue manager is kept here", directory)
    return disk
