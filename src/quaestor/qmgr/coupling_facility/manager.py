"""Coupling facility manager: this queue manager as a member of a queue-sharing group.

Rules
  CF1 A member has a number in the group (1 to 31) and is connected to CSQ_ADMIN and to every application structure
      that the shared tables name.
  CF2 Starting resolves what the member itself left unfinished, before anybody works: a member recovers itself by the
      same rules as peers do. Units in doubt on its log have their part in structures again.
  CF3 Without CSQ_ADMIN shared queues cannot be changed in syncpoint and peers are not watched; everything else goes
      on. Structures that were lost are reached again in the background, without the latch. Then what could not be
      finished is finished, and what requests did whose answers were lost is undone (PR8). If a unit's work is gone,
      somebody else has ended it: the queue manager stops, because it was taken for dead.
  CF4 A structure that is found empty and was not so before has lost its messages: the non-persistent ones are gone; if
      it is one that is recovered it has failed until RECOVER CFSTRUCT, else it is usable at once. Which of them it is
      the repository says: while that is away nobody decides it, for the copy may not know what others have defined.
  CF5 What structures tell (a message has come) is only noted where it is told; whoever waits is looked for in a
      background step, with the latch.

Called by queue_manager, message, recovery.  Calls structures, store, peers.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from threading import RLock

from quaestor.clock import Clock
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.coupling_facility.auto_alter import AutoAlter
from quaestor.qmgr.coupling_facility.data_sets import DataSets
from quaestor.qmgr.coupling_facility.definitions import (
    FORMAT_LOCK,
    SharedDefinitions,
    close_list,
    format_list,
    save_queue,
)
from quaestor.qmgr.coupling_facility.descriptors import Descriptor, Descriptors
from quaestor.qmgr.coupling_facility.forwarding import Forwarding
from quaestor.qmgr.coupling_facility.in_doubt import UnitsInDoubt
from quaestor.qmgr.coupling_facility.interest import Interest
from quaestor.qmgr.coupling_facility.keys import Identities
from quaestor.qmgr.coupling_facility.media import Media
from quaestor.qmgr.coupling_facility.operating import OperatedGroup
from quaestor.qmgr.coupling_facility.peers import PeerRecovery
from quaestor.qmgr.coupling_facility.resolving import Resolved, reconcile, record_at, resolve, says_committed
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.qmgr.coupling_facility.shared_queue import SharedQueue
from quaestor.qmgr.coupling_facility.store import SharedStore
from quaestor.qmgr.coupling_facility.structures import ADMIN, Contents, Failing, SharedStructure, admin_shape, shape_of
from quaestor.qmgr.coupling_facility.units import SharedUnit
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.qmgr.resource_manager import Task, Unit
from quaestor.smf.sections.coupling_facility import SharedMessageDataSetStatistics, StructureFigures
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.storage.lists.redis_engine import LOOK_AT_ALL
from quaestor.storage.lists.structure import ListStructure, StructureLostError, StructureRefusal
from quaestor.storage.shared_tables import RepositoryAwayError, Structure

IN_USE, EMPTY = "ALLOCATED", "EMPTY"
PEERS_MS, CONNECT_MS = 500, 1000


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
            admin_shape(),
            qmgr,
            group.connect,
            partial(self._told, ADMIN),
            clock,
            recovery.served,
        )
        self.structures: dict[str, SharedStructure] = {}
        self.data_sets = DataSets(group, qmgr, clock, self.structures)
        self.auto_alter = AutoAlter(group, self.structures, self._say)
        self._queues: dict[str, SharedQueue] = {}
        self._unfinished: list[tuple[SharedUnit, bool]] = []
        self._log_end, self._own_left = 0, True
        self._making = RLock()
        """Held while a structure is connected to for the first time or reached again: never twice at once."""

        self._notices: deque[tuple[str, int]] = deque()
        self.nudge: Callable[[], None] = _nobody
        self.interest = Interest(qmgr)
        self.forwarding = Forwarding(qmgr, self.admin, self.latch, clock)
        self.peers = PeerRecovery(qmgr, group, self.admin, self.structure, self._say)
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
        self._descriptors = Descriptors(self.admin, member.number, self.group.habits)
        self.store = SharedStore(self._recovery, self.clock, identities, self._descriptors)
        self._identities = identities
        self._in_doubt = UnitsInDoubt(self._recovery, self.admin, member.number, self._descriptors)
        self.media = Media(member, self.group, self.admin, self._recovery)
        self.definitions.refresh()
        self._connect(self.admin)
        self.forwarding.start(member.number)
        self.interest.start(member.number)
        for row in self.group.tables.structures.all():
            known = self._known(row)
            if known.failing is None:
                with suppress(MQError):  # lost: cleaned when it is connected again
                    self.interest.clean(known)
                    known.give_back(FORMAT_LOCK)
        self._log_end = log_end
        self._in_doubt.restore(self.definitions.all_lists())
        return self._resolve_own()

    def _resolve_own(self) -> Resolved:
        """End what this member left when it was last up; what cannot be reached yet is for the next time (CF2)."""

        def committed(descriptor: Descriptor) -> bool:
            before_end = descriptor.rba < self._log_end
            return before_end and says_committed(record_at(self._recovery.log, descriptor.rba), descriptor)

        in_hand = {unit.shared.id for unit in self._recovery.units.values() if unit.shared is not None}
        in_hand.update(part.id for part, _ in self._unfinished)  # PR4
        if self.admin.failing is not None:
            return Resolved(complete=False)
        epoch, stays = self._recovery.log.epoch, in_hand.__contains__
        try:
            self._descriptors.clear()
            self._in_doubt.describe()
            done = resolve(self.number, self.admin, self.in_use(), committed, epoch, stays)
            self._in_doubt.adopt(self.in_use())
        except MQError:
            return Resolved(complete=False)  # lost in the middle: begun again when it is back (PR5)
        self._own_left = not done.complete
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
        """Every application structure that has queues, and their lists: all in which this member can have worked."""
        return [(self.structure(name), lists) for name, lists in sorted(self.definitions.all_lists().items())]

    def structure(self, name: str) -> SharedStructure:
        """A structure by name, connected to when it is new here. Raises MQError 2085 when there is none."""
        found = self.structures.get(name)
        if found is not None:
            return found
        with self._making:
            row = self.group.tables.structures.read(name)
            if row is None:
                raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=name, type="CFSTRUCT")
            return self.structures.get(name) or self._known(row)

    def _known(self, row: Structure) -> SharedStructure:
        made = SharedStructure(
            shape_of(row.name, row.attributes),
            self.qmgr,
            self.data_sets.connecting(row),
            partial(self._told, row.name),
            self.clock,
            self._recovery.served,
        )
        made.figures.structure_number = len(self.structures) + 1
        self.structures[row.name] = made
        self._connect(made)
        return made

    def _connect(self, structure: SharedStructure, connection: ListStructure | None = None) -> bool:
        """Connect, and say what became of a structure that is new (CF4)."""
        try:
            contents = structure.connect(connection)
            if contents is Contents.NEW:
                self._is_new(structure)
            elif contents is Contents.BUSY:
                structure.let_go()
        except (MQError, RepositoryAwayError, StructureRefusal) as error:  # the last: another has taken the lock
            structure.let_go()
            self._say("CSQE153I", "a structure cannot be reached", structure=structure.name, why=str(error))
            return False
        return structure.failing is None

    def _is_new(self, structure: SharedStructure) -> None:
        row = self.group.tables.structures.read(structure.name)
        db2 = self.group.db2
        if structure is not self.admin and db2 is not None and db2.away:
            structure.unlock_own()
            raise RepositoryAwayError(f"what it has lost is not known: {db2.away}")  # CF4
        lost = row is not None and row.status != EMPTY
        recovered = row is not None and row.attributes.get("RECOVER") == "YES"
        if lost:
            self._say("CSQE034E", "a structure has lost its messages", structure=structure.name)
        if row is not None and row.status != IN_USE:  # first: a structure in which something was put must be missed
            self.group.tables.structures.write(
                Structure(row.name, row.attributes, IN_USE, row.failed_us, row.recovering)
            )
        structure.take_over(failed=lost and recovered)
        if structure.failing is None:
            self.format(structure)

    def format(self, structure: SharedStructure) -> None:
        """A structure is used from now on: every queue has its list (SD3), also those that others have just defined."""
        self.definitions.refresh()
        for definition in self.definitions.known.values():
            if definition.queue.structure == structure.name:
                format_list(SharedQueue(definition.queue, structure, definition.list), self.qmgr)

    def used_again(self, structure: SharedStructure) -> None:
        """A structure that had failed is as it should be: its queues have their lists, then everybody uses it (BR4)."""
        structure.failing = None
        try:
            self.format(structure)
            structure.format()
        except StructureRefusal as refusal:
            structure.failing = Failing.FAILED
            raise MQError(Reason.CF_STRUC_IN_USE, structure=structure.name, why=str(refusal)) from refusal
        except BaseException:
            structure.failing = structure.failing or Failing.FAILED
            raise
        self._in_doubt.adopt_in(structure, self.lists_of(structure.name))
        self.data_sets.recovered(structure.name)
        self.data_sets.another(structure.name)
        self._watch_again(structure)

    def lists_of(self, name: str) -> list[int]:
        """The lists of a structure that are queues, as the shared tables have them now."""
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

    def alone(self, queue: SharedQueue) -> AbstractContextManager[None]:
        """While this holds nobody opens the queue; 2042 when another member has it open (IR2)."""
        return self.interest.alone(queue)

    def save(self, queue: LocalQueue, *, new: bool = False) -> None:
        """Define or alter a shared queue for the group; one that is `new` must not be there yet."""
        structure = self.structure(queue.structure)
        if structure.failing is not None:
            raise MQError(structure.failing.value, structure=structure.name)
        try:
            save_queue(self.definitions, queue, structure, self.qmgr, new=new)
        except RepositoryAwayError as error:
            raise MQError(Reason.DB2_NOT_AVAILABLE, queue=queue.name, why=str(error)) from error
        self.queue(queue)

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
            found.interest, found.buffer = self.interest, self.group.habits.get_buffer()
            self._queues[definition.name] = found
        found.definition = definition
        return found

    def redefine(self, queue: SharedQueue, definition: LocalQueue) -> None:
        queue.definition = definition

    def drop(self, queue: SharedQueue) -> None:
        """This member works on it no more; its list was closed when it was deleted."""
        self.interest.dropped(queue)
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
        if unit.shared is not None:
            self._finish(unit.shared, commit=True)

    def backed_out(self, unit: Unit) -> None:
        if unit.shared is not None:
            self._finish(unit.shared, commit=False)

    def _finish(self, part: SharedUnit, *, commit: bool, again: bool = False) -> None:
        if part.finish(commit=commit, again=again):
            self.store.units.pop(part.id, None)
        else:
            self._unfinished.append((part, commit))

    # -- background

    def tasks(self) -> Sequence[Task]:
        own = () if self.group.db2 is None else self.group.db2.tasks()
        return (
            *own,
            *self.forwarding.tasks(),
            Task("peer recovery", self.peers.step, PEERS_MS, latched=False),
            Task("connect to structures again", self.reach_step, CONNECT_MS, latched=False),
            Task("free offloaded data", self.reclaim_step, CONNECT_MS),
            Task("alter structures that fill up", self.auto_alter.step, CONNECT_MS),
            Task("remove bodies from the repository", self.care_step, CONNECT_MS, latched=False, apart=True),
        )

    def reclaim_step(self) -> bool:
        """Free what peers have got from this member's data sets; a structure that is lost is for the next step."""
        try:
            return self.data_sets.reclaim_step()
        except StructureLostError:
            return False

    def care_step(self) -> bool:
        """Remove bodies in the repository that are needed no more; what cannot be reached is for the next step."""
        try:
            return self.data_sets.care_step()
        except (StructureLostError, RepositoryAwayError):
            return False

    def reach_step(self) -> bool:
        """Reach what was lost, without the latch: a way that is cut takes its time. Then `connect_step` with it."""
        reached: dict[str, ListStructure] = {}
        for structure in self._all_structures() if self.number else ():
            try:
                with self._making:
                    if not structure.connected and not structure.committing:
                        reached[structure.name] = structure.reach()
            except MQError:
                break  # the others are behind the same way
            except RepositoryAwayError:
                continue  # where its long messages are is to be noted first (DS1)
        with self.latch:
            more = self.connect_step(reached)
        for unused in reached.values():
            unused.fail()  # CS7: a unit is between its decision and the end of its force
        return more

    def connect_step(self, reached: dict[str, ListStructure] | None = None) -> bool:
        """Connect to what was lost, and finish what could not be finished (CF3)."""
        if not self.number:
            return False
        for structure in self._all_structures():
            with suppress(MQError):  # lost again: the next step is for that
                self._look_at(structure, reached)
        with suppress(MQError, StructureLostError, RepositoryAwayError):  # the next step learns it
            self.data_sets.follow()
        if self.admin.failing is None:
            with suppress(MQError, StructureRefusal):  # lost meanwhile, or full: the next step tries again
                self._describe_again()
                if self._own_left:
                    self._resolve_own()
                self.media.publish(self.clock, self._identities)
        self.interest.step(self._queues)
        unfinished, self._unfinished = self._unfinished, []
        for part, commit in unfinished:
            self._finish(part, commit=commit, again=True)
        return False

    def _all_structures(self) -> tuple[SharedStructure, ...]:
        return (self.admin, *self.structures.values())

    def _look_at(self, structure: SharedStructure, reached: dict[str, ListStructure] | None) -> None:
        """Connect to a structure that was lost; units in doubt look for what they have in one that is another (ID2)."""
        before = structure.incarnation
        if structure.connected:
            with suppress(MQError):  # lost: connected to again now, or by the next step if it has to be reached first
                structure.look_again()
        if not structure.connected and not structure.committing and (reached is None or structure.name in reached):
            self._connect_again(structure, None if reached is None else reached.pop(structure.name))
        if structure.failing is None and structure is not self.admin:
            if structure.incarnation != before:
                self.data_sets.another(structure.name)
            self._in_doubt.adopt_in(structure, self.lists_of(structure.name))
            self._watch_in(structure)  # it may be another member that has recovered it

    def _describe_again(self) -> None:
        """Units in doubt (ID1), and those still to be ended, are told again when CSQ_ADMIN is another than before."""
        for part in (self._in_doubt.parts() | self.store.units).values():
            part.describe_again()

    def _connect_again(self, structure: SharedStructure, connection: ListStructure | None) -> None:
        if not self._connect(structure, connection):
            return
        try:
            self._reconcile(structure)
        except MQError:
            structure.let_go()  # lost again: the next step begins anew
            return
        self._watch_again(structure)
        self._say("CSQE005I", "a structure is connected again", structure=structure.name)

    def _reconcile(self, structure: SharedStructure) -> None:
        """End what was done without being answered, before anybody works on (CF3, PR8)."""
        epoch, units = self._recovery.log.epoch, self.store.units
        if structure is self.admin:
            parts = self._in_doubt.parts() | units
            self._descriptors.sweep({name: part for name, part in parts.items() if part.described}, epoch)
            return
        unanswered = {number for part, _ in self._unfinished for number in part.entries_in(structure)}
        known = self.store.entries_in(structure)
        in_doubt = {unit.shared.id for unit in self._recovery.in_doubt() if unit.shared is not None}
        gone = reconcile(structure, self.lists_of(structure.name), self.number, epoch, known, in_doubt) - unanswered
        if gone:
            raise Abend("CF3", "work of this member was ended by another", structure=structure.name, entries=len(gone))
        self._descriptors.sweep_words(structure, set(units), epoch)
        self.interest.clean(structure)
        structure.give_back(FORMAT_LOCK)  # or nobody alters a queue there any more

    def _watch_again(self, structure: SharedStructure) -> None:
        if structure is self.admin:
            self.forwarding.watch_again()
        self._watch_in(structure)
        self._told(structure.name, LOOK_AT_ALL)

    def _watch_in(self, structure: SharedStructure) -> None:
        """Be told of every queue as before; what came meanwhile is looked at once (CF5)."""
        again = [queue.be_told_again() for queue in self._queues.values() if queue.structure is structure]
        if any(again):
            self._told(structure.name, LOOK_AT_ALL)


def _nobody() -> None:
    """Nobody waits to be told."""
