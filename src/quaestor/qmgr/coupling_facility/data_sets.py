"""Data sets: the shared message data sets of a group, as one member uses them.

Rules
  DS1 A structure at CFLEVEL(5) with OFFLOAD(SMDS) has a data set for each member, in that member's directory. It is
      made when the member first connects to the structure, and is in the shared tables so that peers find it.
  DS2 The data sets of peers are opened when something in them is read, and stay open.
  DS3 What was offloaded to a data set that cannot be read here cannot be got here: 2561, and it stays where it is.
  DS4 A data set that is not to be used is closed, and opened again when it is (DA1): so its file can be moved.
  DS5 What a definition or ALTER SMDS says of buffers, expanding and rules holds as soon as it is learned.
  DS6 A data set whose file is gone while messages are in it has failed: RECOVER CFSTRUCT writes it again.

Called by the coupling facility manager.  Calls offloading, data_set_states, message data sets, shared tables.
"""

from dataclasses import replace
from pathlib import PurePath

from quaestor.clock import Clock
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.structures import OFFLOAD_LEVEL, StructureDefinition
from quaestor.qmgr.coupling_facility.data_set_states import FAILED, RECOVERED, Connection, DataSetStates, Owned
from quaestor.qmgr.coupling_facility.offloading import OffloadingConnection, OffloadMedia
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
    """Data sets of all structures, this member's own and its peers' (DS1-DS6)."""

    def __init__(self, group: Group, qmgr: str, clock: Clock) -> None:
        self._group, self._qmgr, self._clock = group, qmgr, clock
        self.states = DataSetStates(group)
        self.connections: dict[str, OffloadingConnection] = {}
        self._definitions: dict[str, int] = {}
        self._figures: dict[str, SharedMessageDataSetStatistics] = {}
        self._peers: dict[Owned, DataSetReader] = {}

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
        self.states.follow()
        stats = self._figures.setdefault(name, SharedMessageDataSetStatistics(structure=name))
        block = BLOCKS[definition.data_set_block]
        there = self._group.open_disk(self._group.log_directory).exists(file_name(name))
        own = MessageDataSet(self._own_file(name, block), member.number, stats, self._clock, block=block)

        def check(number: int) -> None:
            self.states.check((name, self.states.owner(number)))

        def failed(number: int, why: str) -> MQError:
            return self.states.failed((name, self.states.owner(number)), why)

        def read_peer(place: Place) -> bytes:
            return self._peer(name, place.member).read(place)

        media = OffloadMedia(own, check, failed, read_peer)
        made = OffloadingConnection(bare, media, Offload.of(row.attributes), LISTS)
        self.connections[name] = made
        self._definitions[name] = row.version
        self._altered(made, row)
        if not there and own.stats.messages:
            self._mark_failed(name)
        self.use()
        return made

    def _own_file(self, structure: str, block: int) -> File:
        disk, name = self._group.open_disk(self._group.log_directory), file_name(structure)
        if disk.exists(name):
            return disk.open(name)
        if self.states.row(structure, self._qmgr) is None:
            path = str(PurePath(self._group.log_directory) / name)
            self._group.tables.data_sets.write(DataSet(structure, self._qmgr, path, "ACTIVE"))
        return disk.create(name, block)

    def _mark_failed(self, structure: str) -> None:
        """An own data set was not there although messages are in it (DS6)."""
        row = self.states.row(structure, self._qmgr)
        if row is not None:
            self._group.tables.data_sets.write(replace(row, status=FAILED))
            self.states.follow()

    def _peer(self, structure: str, number: int) -> DataSetReader:
        """DS2, DS3. Raises OSError."""
        owner = self.states.owner(number)
        found = self._peers.get((structure, owner))
        if found is None:
            member = self._group.tables.members.read(owner)
            file = self._group.open_disk("" if member is None else member.log_directory).open(file_name(structure))
            found = self._peers[structure, owner] = DataSetReader(file, self._figures[structure], self._clock)
        return found

    # -- what is learned, rules DS4, DS5

    def follow(self) -> None:
        """Do what the group says of data sets and their structures now. A background step, and after a command."""
        if not self.connections:
            return
        news = self.states.follow()
        tables = self._group.tables if self._group.db2 is None else self._group.db2.known
        rows = {row.name: row for row in tables.structures.all()}
        for name, connection in self.connections.items():
            row = rows.get(name)
            changed = row is not None and self._definitions.get(name) != row.version
            if row is not None and (changed or (name, self._qmgr) in news):
                self._definitions[name] = row.version
                self._altered(connection, row)
        self.use()

    def _altered(self, connection: OffloadingConnection, row: Structure) -> None:
        """DS5: the data set's own attributes, where it has any, before those of its structure."""
        definition, own = StructureDefinition.of(row.name, row.attributes), self.states.row(row.name, self._qmgr)
        buffers, expand = definition.data_set_buffers, definition.data_set_expand
        if own is not None:
            buffers = buffers if own.buffers == "DEFAULT" else int(own.buffers)
            expand = expand if own.expand == "DEFAULT" else own.expand
        connection.own.alter(buffers=buffers, expand=expand == "YES")
        connection.rules = Offload.of(row.attributes)

    def use(self) -> None:
        """Close what is not to be used, open what is again (DS4)."""
        for name, connection in self.connections.items():
            if connection.ended:
                continue
            usable = not self.states.why_not((name, self._qmgr))
            if connection.own.open and not usable:
                connection.own.close()
            elif usable and not connection.own.open:
                self._open_again(name, connection)
        for each in [each for each in self._peers if self.states.why_not(each)]:
            self._peers.pop(each).close()

    def _open_again(self, structure: str, connection: OffloadingConnection) -> None:
        try:
            disk = self._group.open_disk(self._group.log_directory)
            connection.own.open_again(disk.open(file_name(structure)))
        except OSError as error:
            self.states.failed((structure, self._qmgr), str(error))

    def stop(self, structure: str, member: str) -> None:
        """STOP SMDSCONN: this member does not use a data set until it is told to."""
        self.states.stop((structure, member))
        self.use()

    def start(self, structure: str, member: str) -> None:
        """START SMDSCONN: it does again, and tries again what failed."""
        self.states.start((structure, member))
        self.use()

    def connection(self, structure: str, member: str) -> Connection:
        """How this member is connected to a data set."""
        own, made = member == self._qmgr, self.connections.get(structure)
        opened = made is not None and made.own.open if own else (structure, member) in self._peers
        failed = own and made is not None and made.own.expand_failed
        expanding = "FAILED" if failed else "NORMAL"
        return self.states.connection((structure, member), own=own, opened=opened, expanding=expanding)

    def failed_in(self, structure: str) -> list[str]:
        """The members whose data sets of a structure have failed, as the tables have it now."""
        rows = self._group.tables.data_sets.all()
        return [row.member for row in rows if row.structure == structure and row.status == FAILED]

    def recovered(self, structure: str) -> None:
        """What had failed of a structure's data sets is as it should be."""
        for row in self._group.tables.data_sets.all():
            if row.structure == structure and row.status == FAILED:
                self._group.tables.data_sets.update(replace(row, status=RECOVERED))
        self.follow()

    # -- figures and space

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
