"""Coupling facility manager: this queue manager as a member of a queue-sharing group.

Rules
  CF1 A member has a number in the group (1 to 31) and is connected to CSQ_ADMIN and to every application structure
      that the shared tables name.
  CF2 Starting resolves what the member itself left unfinished, before anybody works: a member recovers itself by the
      same rules as peers do. Units in doubt on its log have their part in structures again.
  CF3 Without CSQ_ADMIN shared queues cannot be changed in syncpoint and peers are not watched; everything else goes
      on. Structures that were lost are connected to again in the background, and what could not be finished is
      finished.
  CF4 A structure that is found empty and was not so before has lost its messages: the non-persistent ones are gone; if
      it is one that is recovered it has failed until RECOVER CFSTRUCT, else it is usable at once.
  CF5 What structures tell (a message has come) is only noted where it is told; whoever waits is looked for in a
      background step, with the latch.

Called by queue_manager, message, recovery.  Calls structures, store, peers.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from quaestor.clock import Clock
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.backup import Written
from quaestor.qmgr.coupling_facility.data_sets import DataSets
from quaestor.qmgr.coupling_facility.definitions import SharedDefinitions, close_list, empty_list, format_list
from quaestor.qmgr.coupling_facility.forwarding import Forwarding
from quaestor.qmgr.coupling_facility.in_doubt import UnitsInDoubt
from quaestor.qmgr.coupling_facility.keys import Identities
from quaestor.qmgr.coupling_facility.media import Media, RecoveredStructure
from quaestor.qmgr.coupling_facility.operating import OperatedGroup
from quaestor.qmgr.coupling_facility.peers import PeerRecovery
from quaestor.qmgr.coupling_facility.resolving import Resolved, record_at, resolve, says_committed
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.qmgr.coupling_facility.shared_queue import SharedQueue
from quaestor.qmgr.coupling_facility.store import SharedStore
from quaestor.qmgr.coupling_facility.structures import ADMIN, LISTS, Contents, Failing, SharedStructure
from quaestor.qmgr.coupling_facility.units import Descriptor, Descriptors, SharedUnit
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.recovery import RecoveryManager, State
from quaestor.qmgr.resource_manager import Task, Unit
from quaestor.smf.sections.coupling_facility import SharedMessageDataSetStatistics, StructureFigures
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.storage.lists.redis_engine import LOOK_AT_ALL
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal
from quaestor.storage.shared_tables import RepositoryAwayError, Structure

SIZE_KB = 65_536
ADMIN_ENTRIES = 40_000
IN_USE, EMPTY = "ALLOCATED", "EMPTY"
PEERS_MS, CONNECT_MS = 500, 1000
NOTICES_MS = 60_000  # it is run as soon as anything is told


class CouplingFacilityManager:
    """A member of a queue-sharing group (CF1-CF5)."""

    name = "coupling_facility"

    def __init__(
        self, qmgr: str, group: Group, recovery: RecoveryManager, clock: Clock, operator_log: OperatorLog
    ) -> None:
        self.qmgr, self.group = qmgr, group
        self._recovery, self.clock, self._say = recovery, clock, operator_log.say
        self.latch = recovery.latch
        if group.db2 is not None:
            group.db2.served = recovery.served
        self.definitions = SharedDefinitions(group.tables)
        self.admin = SharedStructure(
            Shape(ADMIN, lists=LISTS, entries=ADMIN_ENTRIES, elements=ADMIN_ENTRIES),
            qmgr,
            group.connect,
            partial(self._told, ADMIN),
            clock,
            recovery.served,
        )
        self.data_sets = DataSets(group, qmgr, clock)
        self.structures: dict[str, SharedStructure] = {}
        self._queues: dict[str, SharedQueue] = {}
        self._unfinished: list[tuple[SharedUnit, bool]] = []
        self._notices: deque[tuple[str, int]] = deque()
        self.nudge: Callable[[], None] = _nobody
        self.forwarding = Forwarding(qmgr, self.admin, self.latch, clock)
        self.peers = PeerRecovery(qmgr, group, self.admin, self.in_use, self._say)
        self.number = 0
        self.store: SharedStore
        self.media: Media
        self._descriptors: Descriptors
        self._identities: Identities
        self._in_doubt: UnitsInDoubt

    # -- starting and stopping

    def start(self, log_end: int) -> Resolved:
        """Join the group and resolve what this member left (CF1, CF2); the log ended at `log_end`."""
        try:
            if self.group.db2 is not None:
                self.group.db2.start()
            member = self.group.tables.join(self.qmgr, self.group.log_directory)
        except RepositoryAwayError as error:
            raise MQError(Reason.Q_MGR_NOT_AVAILABLE, group=self.group.name, why=str(error)) from error
        self.number = member.number
        identities = Identities(member.number, self._recovery.log.epoch)
        self._descriptors = Descriptors(self.admin, member.number)
        self.store = SharedStore(self._recovery, self.clock, identities, self._descriptors)
        self._identities = identities
        self._in_doubt = UnitsInDoubt(self._recovery, self.admin, member.number, self._descriptors)
        self.media = Media(member, self.group, self.admin, self._recovery)
        self.definitions.refresh()
        self._connect(self.admin, recovered=False)
        self.forwarding.start(member.number)
        for row in self.group.tables.structures.all():
            self._known(row)
        return self._resolve_own(log_end)

    def _resolve_own(self, log_end: int) -> Resolved:
        def committed(descriptor: Descriptor) -> bool:
            before_end = descriptor.rba < log_end
            return before_end and says_committed(record_at(self._recovery.log, descriptor.rba), descriptor)

        def stays(descriptor: Descriptor) -> bool:
            unit = self._recovery.units.get(descriptor.urid)
            return unit is not None and unit.state is State.IN_DOUBT

        if self.admin.failing is not None:
            return Resolved()
        self._in_doubt.describe()
        done = resolve(self.number, self.admin, self.in_use(), committed, self._recovery.log.epoch, stays)
        self._in_doubt.adopt(self.in_use())
        return done

    def stop(self) -> None:
        """Leave in good order: nothing of this member is left but what is in doubt."""
        try:
            if self.number:
                self._descriptors.clear()
        except MQError:
            self._say("CSQE005I", "CSQ_ADMIN could not be left in good order", structure=ADMIN)
        for structure in (*self.structures.values(), self.admin):
            structure.disconnect()
        self.data_sets.close()
        self.group.tables.close()

    # -- structures

    def in_use(self) -> list[tuple[SharedStructure, list[int]]]:
        """Every application structure that has queues, and their lists, as the shared tables have them now."""
        return [(self.structure(name), lists) for name, lists in sorted(self.definitions.all_lists().items())]

    def structure(self, name: str) -> SharedStructure:
        """A structure by name, connected to when it is new here. Raises MQError 2085 when there is none."""
        found = self.structures.get(name)
        if found is None:
            row = self.group.tables.structures.read(name)
            if row is None:
                raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=name, type="CFSTRUCT")
            found = self._known(row)
        return found

    def _known(self, row: Structure) -> SharedStructure:
        size_kb = int(row.attributes.get("SIZE", SIZE_KB))
        shape = Shape.sized(row.name, size_kb, lists=LISTS)
        made = SharedStructure(
            shape,
            self.qmgr,
            self.data_sets.connecting(row),
            partial(self._told, row.name),
            self.clock,
            self._recovery.served,
        )
        made.figures.structure_number = len(self.structures) + 1
        self.structures[row.name] = made
        self._connect(made, recovered=row.attributes.get("RECOVER") == "YES")
        return made

    def _connect(self, structure: SharedStructure, *, recovered: bool) -> bool:
        """Connect, and say what became of a structure that is new (CF4)."""
        try:
            contents = structure.connect()
            if contents is Contents.NEW:
                self._is_new(structure, recovered=recovered)
        except MQError as error:
            self._say("CSQE153I", "a structure cannot be reached", structure=structure.name, why=str(error))
            return False
        return structure.failing is None

    def _is_new(self, structure: SharedStructure, *, recovered: bool) -> None:
        row = self.group.tables.structures.read(structure.name)
        lost = row is not None and row.status != EMPTY
        if lost:
            self._say("CSQE034E", "a structure has lost its messages", structure=structure.name)
        structure.take_over(failed=lost and recovered)
        if structure.failing is None:
            self.format(structure)

    def format(self, structure: SharedStructure) -> None:
        """A structure is used from now on: every queue has its list (SD3)."""
        row = self.group.tables.structures.read(structure.name)
        if row is not None and row.status != IN_USE:
            self.group.tables.structures.write(
                Structure(row.name, row.attributes, IN_USE, row.failed_us, row.recovering)
            )
        for definition in self.definitions.known.values():
            if definition.queue.structure == structure.name:
                format_list(SharedQueue(definition.queue, structure, definition.list), self.qmgr)

    def backup(self, name: str) -> Written:
        """BACKUP CFSTRUCT: its persistent messages, on this member's log. The latch is held."""
        return self.media.backup(self.structure(name), self._lists(name), self.clock.now_us())

    def recover(self, name: str) -> RecoveredStructure:
        """RECOVER CFSTRUCT: a structure that has failed has its persistent messages again. The latch is held."""
        structure = self.structure(name)
        self._recovery.harden()
        done = self.media.recover(structure, self._lists(name))
        self._used_again(structure)
        return done

    def _used_again(self, structure: SharedStructure) -> None:
        """A structure that had failed is as it should be: its queues have their lists, then everybody uses it (BR4)."""
        structure.failing = None
        try:
            self.format(structure)
        except BaseException:
            structure.failing = Failing.FAILED
            raise
        structure.format()
        self._in_doubt.adopt_in(structure, self._lists(structure.name))
        self.data_sets.recovered(structure.name)
        self._watch_again(structure)

    def recover_data_sets(self, name: str) -> int:
        """RECOVER CFSTRUCT of one that works while data sets of it have failed; how many messages were written."""
        self._recovery.harden()
        written = self.media.recover_data_sets(self.structure(name), self._lists(name), self.data_sets.failed_in(name))
        self.data_sets.recovered(name)
        return written

    def purge(self, name: str) -> None:
        """RECOVER CFSTRUCT TYPE(PURGE): the structure is empty, whatever was in it or half recovered."""
        structure = self.structure(name)
        if structure.failing is None:
            for number in self._lists(name):
                empty_list(structure, number)
            self.data_sets.recovered(name)
            return
        self.media.purge(structure, self._lists(name))
        self._used_again(structure)

    def _lists(self, name: str) -> list[int]:
        return self.definitions.all_lists().get(name, [])

    def structure_figures(self) -> list[StructureFigures]:
        """What was counted of each structure, CSQ_ADMIN first; the highest in use is at least what is in use now."""
        structures = (self.admin, *self.structures.values())
        for each in structures:
            each.note_used()
        return [each.figures for each in structures]

    def data_set_figures(self) -> list[SharedMessageDataSetStatistics]:
        """What was counted of this member's shared message data sets."""
        return self.data_sets.figures()

    def repository_figures(self) -> Db2Statistics | None:
        """What was counted of the shared repository, where it is asked through server tasks."""
        return None if self.group.db2 is None else self.group.db2.stats

    def operated(self) -> OperatedGroup:
        """The group, for operators."""
        return OperatedGroup(self)

    # -- queues

    def changes(self) -> tuple[list[LocalQueue], list[str]]:
        """Shared queues that others have defined, altered or deleted."""
        return self.definitions.changes()

    def save(self, queue: LocalQueue) -> None:
        """Define or alter a shared queue for the group."""
        structure = self.structure(queue.structure)
        if structure.failing is not None:
            raise MQError(structure.failing.value, structure=structure.name)
        try:
            self.definitions.save(queue)
        except RepositoryAwayError as error:
            raise MQError(Reason.DB2_NOT_AVAILABLE, queue=queue.name, why=str(error)) from error
        format_list(self.queue(queue), self.qmgr)

    def discard(self, queue: LocalQueue) -> None:
        """The queue is no more for the group, nor what is on it; members that have not noticed find it full (SD4)."""
        close_list(self.queue(queue))
        try:
            self.definitions.discard(queue)
        except RepositoryAwayError as error:
            raise MQError(Reason.DB2_NOT_AVAILABLE, queue=queue.name, why=str(error)) from error

    def queue(self, definition: LocalQueue) -> SharedQueue:
        """A shared queue as this member works on it."""
        found = self._queues.get(definition.name)
        if found is None:
            known = self.definitions.known[definition.name]
            found = SharedQueue(definition, self.structure(definition.structure), known.list)
            self._queues[definition.name] = found
        found.definition = definition
        return found

    def redefine(self, queue: SharedQueue, definition: LocalQueue) -> None:
        queue.definition = definition

    def drop(self, queue: SharedQueue) -> None:
        """This member works on it no more; its list was closed when it was deleted."""
        self._queues.pop(queue.name, None)

    forget = drop

    # -- watching, rule CF5

    def _told(self, structure: str, token: int) -> None:
        self._notices.append((structure, token))
        if structure == ADMIN:
            self.forwarding.told(token)
        self.nudge()

    def noticed(self) -> Iterable[SharedQueue]:
        """The queues on which something has come since the last time."""
        told: set[tuple[str, int]] = set()
        while self._notices:
            told.add(self._notices.popleft())
        for queue in list(self._queues.values()):
            place = queue.structure.name
            if (place, queue.list) in told or (place, LOOK_AT_ALL) in told:
                yield queue

    # -- units of recovery

    def committed(self, unit: Unit) -> None:
        if unit.shared is not None and not unit.shared.finish(commit=True):
            self._unfinished.append((unit.shared, True))

    def backed_out(self, unit: Unit) -> None:
        if unit.shared is not None and not unit.shared.finish(commit=False):
            self._unfinished.append((unit.shared, False))

    # -- background

    def tasks(self) -> Sequence[Task]:
        own = () if self.group.db2 is None else self.group.db2.tasks()
        return (
            *own,
            *self.forwarding.tasks(),
            Task("peer recovery", self.peers.step, PEERS_MS, latched=False),
            Task("connect to structures again", self.connect_step, CONNECT_MS),
            Task("free offloaded data", self.reclaim_step, CONNECT_MS),
        )

    def reclaim_step(self) -> bool:
        """Free what peers have got from this member's data sets; a structure that is lost is for the next step."""
        try:
            return self.data_sets.reclaim_step()
        except StructureLostError:
            return False

    def connect_step(self) -> bool:
        """Connect to what was lost, and finish what could not be finished (CF3)."""
        if not self.number:
            return False
        for structure in (self.admin, *self.structures.values()):
            with suppress(MQError):  # lost again: the next step is for that
                self._look_at(structure)
        self.data_sets.follow()
        if self.admin.failing is None:
            with suppress(MQError, StructureRefusal):  # lost meanwhile, or full: the next step tries again
                self.media.publish(self.clock, self._identities)
        unfinished, self._unfinished = self._unfinished, []
        self._unfinished += [each for each in unfinished if not each[0].finish(commit=each[1], again=True)]
        return False

    def _look_at(self, structure: SharedStructure) -> None:
        """Connect to a structure that was lost; what it is another than before means (ID1, ID2)."""
        before = structure.incarnation
        if structure.connected:
            with suppress(MQError):  # lost: connected to again below
                structure.look_again()
        if not structure.connected:
            row = self.group.tables.structures.read(structure.name)
            recovered = row is not None and row.attributes.get("RECOVER") == "YES"
            if self._connect(structure, recovered=recovered):
                self._watch_again(structure)
                self._say("CSQE005I", "a structure is connected again", structure=structure.name)
        if structure.failing is None and structure.incarnation != before:
            if structure is self.admin:
                self._in_doubt.describe_again()
            else:
                self._in_doubt.adopt_in(structure, self._lists(structure.name))

    def _watch_again(self, structure: SharedStructure) -> None:
        if structure is self.admin:
            self.forwarding.watch_again()
        for queue in self._queues.values():
            if queue.structure is structure:
                queue.be_told_again()
        self._told(structure.name, LOOK_AT_ALL)


def _nobody() -> None:
    """Nobody waits to be told."""
