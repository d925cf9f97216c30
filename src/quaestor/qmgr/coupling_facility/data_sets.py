"""Data sets: the shared message data sets of a group, as one member uses them.

Rules
  DS1 A structure at CFLEVEL(5) with OFFLOAD(SMDS) has a data set for each member, in that member's directory. It is
      made when the member first connects to the structure, and is in the shared tables so that peers find it.
  DS2 The data sets of peers are opened when something in them is read, and stay open.
  DS3 What was offloaded to a data set that cannot be read here cannot be got here.

Called by the coupling facility manager.  Calls offloading, message data sets, shared tables.
"""

from pathlib import PurePath

from quaestor.clock import Clock
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.structures import OFFLOAD_LEVEL, StructureDefinition
from quaestor.qmgr.coupling_facility.offloading import OffloadingConnection
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.qmgr.coupling_facility.structures import LISTS, ConnectStructure
from quaestor.smf.sections.coupling_facility import SharedMessageDataSetStatistics
from quaestor.storage.disk import File
from quaestor.storage.lists.structure import ListStructure, Shape, Told
from quaestor.storage.message_data_set import DataSetReader, MessageDataSet, Place
from quaestor.storage.offload import Offload
from quaestor.storage.shared_tables import DataSet, Structure

BLOCKS = {"1M": 1 << 20, **{f"{size}K": size * 1024 for size in (8, 16, 32, 64, 128, 256, 512)}}


def file_name(structure: str) -> str:
    return f"smds-{structure}"


class DataSets:
    """Data sets of all structures, this member's own and its peers' (DS1-DS3)."""

    def __init__(self, group: Group, qmgr: str, clock: Clock) -> None:
        self._group, self._qmgr, self._clock = group, qmgr, clock
        self.connections: dict[str, OffloadingConnection] = {}
        self._figures: dict[str, SharedMessageDataSetStatistics] = {}
        self._peers: dict[tuple[str, int], DataSetReader] = {}

    def connecting(self, row: Structure) -> ConnectStructure:
        """How this member connects to a structure: through its data sets if it has any (DS1)."""
        definition = StructureDefinition.of(row.name, row.attributes)
        if definition.level < OFFLOAD_LEVEL or definition.offload != "SMDS":
            return self._group.connect

        def connect(shape: Shape, connector: str, told: Told) -> ListStructure:
            bare = self._group.connect(shape, connector, told)
            try:
                return self._offloading(bare, row, definition)
            except BaseException:
                bare.fail()
                raise

        return connect

    def _offloading(self, bare: ListStructure, row: Structure, definition: StructureDefinition) -> OffloadingConnection:
        name = row.name
        member = self._group.tables.members.read(self._qmgr)
        if member is None:
            raise MQError(Reason.CF_STRUC_ERROR, structure=name, why="this queue manager is not in the group")
        stats = self._figures.setdefault(name, SharedMessageDataSetStatistics(structure=name))
        own = MessageDataSet(
            self._own_file(name, BLOCKS[definition.data_set_block]),
            member.number,
            stats,
            self._clock,
            block=BLOCKS[definition.data_set_block],
            buffers=definition.data_set_buffers,
            expand=definition.data_set_expand == "YES",
        )

        def read_peer(place: Place) -> bytes:
            return self._peer(name, place.member).read(place)

        made = OffloadingConnection(bare, own, Offload.of(row.attributes), read_peer, LISTS)
        self.connections[name] = made
        return made

    def _own_file(self, structure: str, block: int) -> File:
        disk, name = self._group.open_disk(self._group.log_directory), file_name(structure)
        if disk.exists(name):
            return disk.open(name)
        path = str(PurePath(self._group.log_directory) / name)
        self._group.tables.data_sets.write(DataSet(structure, self._qmgr, path, "ACTIVE"))
        return disk.create(name, block)

    def _peer(self, structure: str, member: int) -> DataSetReader:
        """DS2, DS3."""
        found = self._peers.get((structure, member))
        if found is None:
            directory = next(
                (each.log_directory for each in self._group.tables.members.all() if each.number == member), ""
            )
            try:
                file = self._group.open_disk(directory).open(file_name(structure))
            except OSError as error:
                raise MQError(Reason.CF_STRUC_ERROR, structure=structure, member=member, why=str(error)) from error
            found = DataSetReader(file, self._figures[structure], self._clock)
            self._peers[structure, member] = found
        return found

    def figures(self) -> list[SharedMessageDataSetStatistics]:
        """QESD of each own data set, as it is now."""
        for each in self.connections.values():
            each.own.up_to_date()
        return [self._figures[name] for name in sorted(self.connections)]

    def reclaim_step(self) -> bool:
        """Free what peers have got from this member's data sets; whether there is more."""
        more = [each.reclaim() for each in self.connections.values() if not each.ended]
        return any(more)

    def close(self) -> None:
        for reader in self._peers.values():
            reader.close()
        self._peers.clear()
