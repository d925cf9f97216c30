"""Data sets: the shared message data sets of a group, as one member uses them.

Rules
  DS1 A structure at CFLEVEL(5) with OFFLOAD(SMDS) has a data set for each member, in that member's directory. It is
      made when the member first connects to the structure, and is in the shared tables so that peers find it. One
      that had OFFLOAD(SMDS) still has them: messages stay where they are.
  DS2 The data sets of peers are opened when something in them is read, and stay open.
  DS3 What was offloaded to a data set that cannot be read here cannot be got here: 2561, and it stays where it is.
  DS4 A data set that is not to be used is closed, and opened again when it is (DA1): so its file can be moved.
  DS5 What a definition or ALTER SMDS says of buffers, expanding and rules holds as soon as it is learned.
  DS6 A data set whose file is gone while messages are in it has failed: RECOVER CFSTRUCT writes it again.
  DS7 At CFLEVEL(4), and with OFFLOAD(DB2), what leaves goes to the repository. A definition that is altered holds for
      what is put after it is learned; a structure that is raised to CFLEVEL(4) is offloaded from then on.

Called by the coupling facility manager.  Calls offloading, bodies, data_set_states, message data sets, shared tables.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from quaestor.clock import Clock
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.structures import OFFLOAD_LEVEL, StructureDefinition
from quaestor.qmgr.coupling_facility.bodies import Bodies
from quaestor.qmgr.coupling_facility.data_set_states import FAILED, RECOVERED, Connection, DataSetStates, Owned
from quaestor.qmgr.coupling_facility.offloading import OffloadingConnection, OffloadMedia
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.qmgr.coupling_facility.structures import LISTS, ConnectStructure, SharedStructure
from quaestor.smf.sections.coupling_facility import SharedMessageDataSetStatistics
from quaestor.storage.disk import File
from quaestor.storage.lists.structure import ListStructure, Shape, Told
from quaestor.storage.message_data_set import DataSetReader, MessageDataSet, Place
from quaestor.storage.offload import Offload
from quaestor.storage.shared_tables import DataSet, RepositoryAwayError, Structure

LOOK_AFTER_S = 60
"""How often somebody looks for what members have left that are away (BO4)."""

BLOCKS = {"1M": 1 << 20, **{f"{size}K": size * 1024 for size in (8, 16, 32, 64, 128, 256, 512)}}


def file_name(structure: str) -> str:
    return f"smds-{structure}"


class DataSets:
    """Where the long messages of all structures are: data sets, own and peers', and the repository (DS1-DS7)."""

    def __init__(self, group: Group, qmgr: str, clock: Clock, structures: Mapping[str, SharedStructure]) -> None:
        self._group, self._qmgr, self._clock, self._structures = group, qmgr, clock, structures
        self.states = DataSetStates(group)
        self.connections: dict[str, OffloadingConnection] = {}
        """Of every structure that is met, also without the latch: who goes through them takes those there are."""

        self._definitions: dict[str, int] = {}
        self._figures: dict[str, SharedMessageDataSetStatistics] = {}
        self._peers: dict[Owned, DataSetReader] = {}
        self._looked_after_ns = 0

    def connecting(self, defined: Structure) -> ConnectStructure:
        """How this member connects to a structure: so that long messages leave it, if they do (DS1, DS7)."""

        def connect(shape: Shape, connector: str, told: Told) -> ListStructure:
            row = self._group.tables.structures.read(defined.name) or defined
            bare = self._group.connect(shape, connector, told)
            if not StructureDefinition.of(row.name, row.attributes).keeps_long:
                return bare
            try:
                return self._offloading(row, bare)
            except BaseException:
                bare.fail()
                raise

        return connect

    def _offloading(self, row: Structure, bare: ListStructure) -> OffloadingConnection:
        member = self._group.tables.members.read(self._qmgr)
        if member is None:
            raise MQError(Reason.CF_STRUC_ERROR, structure=row.name, why="this queue manager is not in the group")
        self.states.follow()
        bodies = Bodies(row.name, member.number, self._group.objects, self._clock)
        made = OffloadingConnection(bare, bodies, Offload(()), LISTS)
        made.when_data_sets_are_met = partial(self._use_data_sets, made, row)
        self._altered(made, row)
        self.connections[row.name] = made
        self._definitions[row.name] = row.version
        self.use()
        return made

    def _use_data_sets(self, connection: OffloadingConnection, row: Structure) -> None:
        """A structure has data sets from now on, or messages that are in data sets of others were met (DS1)."""
        name, block = row.name, BLOCKS[StructureDefinition.of(row.name, row.attributes).data_set_block]
        stats = self._figures.setdefault(name, SharedMessageDataSetStatistics(structure=name))
        there = self._group.open_disk(self._group.log_directory).exists(file_name(name))
        number = connection.bodies.member
        own = MessageDataSet(self._own_file(name, block), number, stats, self._clock, block=block)

        def check(number: int) -> None:
            self.states.check((name, self.states.owner(number)))

        def failed(number: int, why: str) -> MQError:
            return self.states.failed((name, self.states.owner(number)), why)

        def read_peer(place: Place) -> bytes:
            return self._peer(name, place.member).read(place)

        connection.use_data_sets(OffloadMedia(own, check, failed, read_peer))
        if not there and own.stats.messages:
            self._mark_failed(name)

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
        news = self.states.follow() if self.connections else set()
        tables = self._group.tables if self._group.db2 is None else self._group.db2.known
        for row in tables.structures.all():
            if self._definitions.get(row.name) != row.version or (row.name, self._qmgr) in news:
                self._learn(row)
        self.use()

    def _learn(self, row: Structure) -> None:
        """A definition, or the row of this member's data set, is another than before (DS5, DS7)."""
        connection, structure = self.connections.get(row.name), self._structures.get(row.name)
        if connection is not None and not connection.ended:
            self._altered(connection, row)
        elif structure is not None and StructureDefinition.of(row.name, row.attributes).keeps_long:
            structure.go_through(partial(self._offloading, row))
        self._definitions[row.name] = row.version

    def _altered(self, connection: OffloadingConnection, row: Structure) -> None:
        """What a definition says holds from now on (DS5, DS7)."""
        definition = StructureDefinition.of(row.name, row.attributes)
        connection.rules = Offload.of(row.attributes) if definition.level >= OFFLOAD_LEVEL else Offload(())
        connection.to_data_set = definition.in_data_sets
        if connection.own is None and (definition.in_data_sets or self.states.has_any(row.name)):
            self._use_data_sets(connection, row)
        if connection.own is not None:
            self._altered_own(connection.own, definition)

    def _altered_own(self, data_set: MessageDataSet, definition: StructureDefinition) -> None:
        """DS5: the data set's own attributes, where it has any, before those of its structure."""
        own = self.states.row(definition.name, self._qmgr)
        buffers, expand = definition.data_set_buffers, definition.data_set_expand
        if own is not None:
            buffers = buffers if own.buffers == "DEFAULT" else int(own.buffers)
            expand = expand if own.expand == "DEFAULT" else own.expand
        data_set.alter(buffers=buffers, expand=expand == "YES")

    def use(self) -> None:
        """Close what is not to be used, open what is again (DS4)."""
        for name, connection in tuple(self.connections.items()):
            own = connection.own
            if connection.ended or own is None:
                continue
            usable = not self.states.why_not((name, self._qmgr))
            if own.open and not usable:
                own.close()
            elif usable and not own.open:
                self._open_again(name, own)
        for each in tuple(self._peers):
            reader = self._peers.pop(each, None) if self.states.why_not(each) else None
            if reader is not None:
                reader.close()

    def _open_again(self, structure: str, own: MessageDataSet) -> None:
        try:
            disk = self._group.open_disk(self._group.log_directory)
            own.open_again(disk.open(file_name(structure)))
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
        data_set = None if made is None else made.own
        opened = data_set is not None and data_set.open if own else (structure, member) in self._peers
        failed = own and data_set is not None and data_set.expand_failed
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

    def offloaded_to(self, structure: str) -> str:
        """Where data of a structure's messages may be now: NONE, SMDS, DB2 or BOTH; blank when that is not known."""
        made = self.connections.get(structure)
        if made is None:
            return "NONE"
        try:
            bodies = bool(self._group.objects.bodies(structure)) or not made.to_data_set
        except RepositoryAwayError:
            return ""
        return {(True, True): "BOTH", (True, False): "DB2"}.get((bodies, self.states.has_any(structure)), "SMDS")

    # -- figures and space

    def figures(self) -> list[SharedMessageDataSetStatistics]:
        """QESD of each own data set, as it is now."""
        made = {name: each.own for name, each in tuple(self.connections.items()) if each.own is not None}
        for own in made.values():
            own.up_to_date()
        return [self._figures[name] for name in sorted(made)]

    def reclaim_step(self) -> bool:
        """Free what peers have got from this member's data sets; whether there is more."""
        more = [each.reclaim() for each in tuple(self.connections.values()) if not each.ended]
        return any(more)

    def care_step(self) -> bool:
        """Remove bodies in the repository that are needed no more (BO2-BO4); whether there are more. Without latch."""
        now_ns = self._clock.monotonic_ns()
        after = now_ns - self._looked_after_ns >= LOOK_AFTER_S * 1_000_000_000
        used = [each for each in tuple(self.connections.values()) if not each.ended]
        if after and used:
            self._looked_after_ns = now_ns
            tables = self._group.tables if self._group.db2 is None else self._group.db2.known
            members = {each.number: each.name for each in tables.members.all()}
            for each in used:
                each.look_after(members)
        more = [each.care() for each in used]
        return any(more)

    def deleted(self, structure: str) -> None:
        """A structure is no more, nor any body of it; a repository that is away keeps some until it is used again."""
        if self.connections.pop(structure, None) is not None:
            with suppress(RepositoryAwayError):
                self._group.objects.remove_all(structure)

    def another(self, structure: str) -> None:
        """What is in a structure is another than before: bodies that were named there are to be looked for (BO3)."""
        found = self.connections.get(structure)
        if found is not None:
            found.bodies.due = True

    def close(self) -> None:
        for reader in self._peers.values():
            reader.close()
        self._peers.clear()
