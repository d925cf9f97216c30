"""A queue-sharing group for tests: members in one process, on structures in memory, in a facility or in Redis."""

from functools import partial
from itertools import count

from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility import CouplingFacilityManager, Group
from quaestor.qmgr.coupling_facility.descriptors import descriptor_in
from quaestor.qmgr.coupling_facility.habits import FEWEST
from quaestor.qmgr.coupling_facility.keys import got_list
from quaestor.qmgr.db2 import Db2Manager
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.operations import ReadList, ReadSpace
from quaestor.storage.lists.structure import Shape, StructureLostError
from quaestor.storage.shared_tables import GroupTables, RepositoryAwayError, Structure, open_tables
from quaestor.testing import SMALL, FaultyDisk

USES = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT | OpenOptions.BROWSE | OpenOptions.INQUIRE | OpenOptions.SET
OUT, IN = PutOptions.NO_SYNCPOINT, PutOptions.SYNCPOINT
GET_OUT, GET_IN = GetOptions.NO_SYNCPOINT, GetOptions.SYNCPOINT
PERSISTENT, VOLATILE = MQMD(persistence=1), MQMD(persistence=0)
STRUCTURE = "APPL1"
SHARE = {"share": True, "def_exclusive": False}
_GROUPS = count(1)


class Breakable:
    """A connection that can be cut."""

    def __init__(self, connection, name):
        self._connection, self.name, self.broken = connection, name, False
        self.shape, self.connector = connection.shape, connection.connector

    @property
    def used(self):
        return self._connection.used

    def _checked(self):
        if self.broken:
            raise StructureLostError(f"{self.name} is cut off")
        return self._connection

    def request(self, *operations):
        return self._checked().request(*operations)

    def connectors(self):
        return self._checked().connectors()

    def forget(self, connector):
        self._checked().forget(connector)

    def fence(self, connector):
        self._checked().fence(connector)

    def disconnect(self):
        self._checked().disconnect()

    def fail(self):
        if not self.broken:
            self._connection.fail()


class RepositoryWay:
    """A member's way to the shared repository: cut while the member is among those that it is away from."""

    def __init__(self, tables, name, away_from):
        self._tables, self._name, self._away_from = tables, name, away_from
        self.address = tables.address

    def __getattr__(self, question):
        def asked(*arguments):
            if self._name in self._away_from:
                raise RepositoryAwayError("the way is cut")
            return getattr(self._tables, question)(*arguments)

        return asked

    def close(self):
        self._tables.close()


class Sharing:
    """A group: its tables, its structures, its members by name.

    With `through_db2` members ask the repository as they do in service: while it is away (`repository_away`, the names
    of those it is away from) they are answered from their copies of it.
    """

    def __init__(
        self, folder, connect=None, structures=(STRUCTURE,), repository=None, *, through_db2=False, **attributes
    ):
        self.facility = MemoryFacility()
        self.prefix = f"G{next(_GROUPS)}"
        self._connect = connect or self.facility.connect
        self.address = repository or str(folder / f"{self.prefix}.db")
        self.wrap_tables = lambda _name, tables: tables
        self.clock = FakeClock()
        self.disks, self.members, self.away = {}, {}, set()
        self.wrap = lambda _name, connection: connection
        self.breakable, self._opened = [], []
        self._through_db2, self.repository_away = through_db2, set()
        self.habits = FEWEST
        tables = self.tables()
        for name in structures:
            tables.structures.insert(Structure(name, {"SIZE": 4096, **attributes}))
        tables.close()

    def tables(self):
        self._opened.append(open_tables(self.address, self.prefix))
        return GroupTables(self._opened[-1])

    def close(self):
        """Leave the repository, also for members that were killed."""
        for tables in self._opened:
            tables.close()

    def connect(self, name, shape, connector, told):
        own = Shape(self.prefix + shape.name, shape.lists, entries=shape.entries, elements=shape.elements)
        if shape.name in self.away:
            raise StructureLostError(f"{shape.name} is away")
        made = Breakable(self.wrap(name, self._connect(own, connector, told)), shape.name)
        self.breakable.append(made)
        return made

    def cut_off(self, structure, *, lost=False):
        """Nobody reaches a structure any more; with `lost`, what is in it is gone too."""
        for connection in self.breakable:
            connection.broken = connection.broken or connection.name == structure
        if lost:
            self.facility.delete(self.prefix + structure)
        self.away.add(structure)

    def reach_again(self, structure):
        self.away.discard(structure)
        for manager in self.members.values():
            with manager.engine.recovery.latch:
                manager.shared.connect_step()

    def publish(self):
        """Two seconds of a life in which members say where they are."""
        for _ in range(2):
            self.clock.advance(seconds=1)
            for manager in self.members.values():
                with manager.engine.recovery.latch:
                    manager.shared.connect_step()

    def group(self, name):
        if self._through_db2:
            db2 = Db2Manager(partial(self._repository, name), self.clock, OperatorLog(name, self.clock), servers=0)
            self._opened.append(db2)
            return Group("QSG1", db2.group, partial(self.connect, name), name, self._disk, db2, self.habits)
        tables = GroupTables(self.wrap_tables(name, self.tables().tables))
        return Group("QSG1", tables, partial(self.connect, name), name, self._disk, habits=self.habits)

    def _repository(self, name):
        return RepositoryWay(open_tables(self.address, self.prefix), name, self.repository_away)

    def follow(self, *names):
        """Members learn what is new in the repository, as they do every five seconds."""
        for name in names or self.members:
            self.members[name].shared.group.db2.follow_step()

    def _disk(self, name):
        return self.disks[name]

    def start(self, name, disk=None, settings=SMALL):
        """Start a member, as new or on the disk it has."""
        if disk is not None:
            self.disks[name] = disk
        disk = self.disks.setdefault(name, FaultyDisk())
        group = self.group(name)
        join = lambda qmgr, *parts: CouplingFacilityManager(qmgr, group, *parts)  # noqa: E731
        manager = QueueManager(name, disk, self.clock, settings, join=join)
        manager.start(background=False)
        self.members[name] = manager
        return manager

    def kill(self, name):
        """The member is gone without a word; what its disk had not synced may be lost."""
        manager = self.members.pop(name)
        self.disks[name] = self.disks[name].after_power_cut()
        for structure in (manager.shared.admin, *manager.shared.structures.values()):
            if structure._connection is not None:
                structure._connection.fail()

    def define(self, name="ORDERS", structure=STRUCTURE, by=None, **attributes):
        manager = self.members[by] if by else next(iter(self.members.values()))
        with manager.connect("ADMIN") as app:
            app.define(LocalQueue(name, structure=structure, **SHARE | attributes))
        return name

    def probe(self, structure=STRUCTURE):
        """A structure as somebody outside sees it."""
        return self._connect(Shape(self.prefix + structure), "PROBE", lambda _: None)

    def entries(self, list_, structure=STRUCTURE):
        probe = self.probe(structure)
        (entries,) = probe.request(ReadList(list_, most=100_000))
        probe.disconnect()
        return entries

    def leaks(self):
        """Entries that belong to nobody's committed work: on lists of gets, under uncommitted keys."""
        found = []
        for name in self.structure_names():
            for list_ in range(1, 8):
                found += [entry for entry in self.entries(list_, name) if 1 < entry.key[0] < 0xFF]
            for member in range(1, 5):
                found += self.entries(got_list(member), name)
        return found

    def descriptors(self):
        """Units that CSQ_ADMIN knows."""
        return [descriptor_in(entry) for member in range(1, 5) for entry in self.entries(member, "CSQ_ADMIN")]

    def structure_names(self):
        tables = self.tables()
        names = [row.name for row in tables.structures.all()]
        tables.close()
        return names

    def space(self, structure=STRUCTURE):
        probe = self.probe(structure)
        (space,) = probe.request(ReadSpace())
        probe.disconnect()
        return space


def drained(app, queue="ORDERS"):
    """Everything that is there, in order."""
    found = []
    with app.open(queue, USES) as handle:
        while True:
            try:
                found.append(handle.get(GET_OUT).body)
            except MQError:
                return found


def browsed(app, queue="ORDERS"):
    """Everything that can be seen, in order."""
    found = []
    with app.open(queue, USES) as handle:
        while True:
            try:
                found.append(handle.browse().body)
            except MQError:
                return found
