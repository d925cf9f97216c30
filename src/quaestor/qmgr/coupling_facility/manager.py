"""Coupling facility manager: this queue manager as a member of a queue-sharing group.

Rules
  CF3 Without CSQ_ADMIN shared queues cannot be changed in syncpoint and peers are not watched; everything else goes
      on. Structures that were lost are reached again in the background, without the latch. Then what could not be
      finished is finished, and what requests did whose answers were lost is undone (PR8). If a unit's work is gone,
      somebody else has ended it: the queue manager stops, because it was taken for dead.
  CF5 What structures tell (a message has come) is only noted where it is told; whoever waits is looked for in a
      background step, with the latch.

CF1, CF2 and CF4 are of `member`.

Called by queue_manager, message, recovery.  Calls member, structures, store, peers.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress

from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.coupling_facility.definitions import (
    FORMAT_LOCK,
    close_list,
    save_queue,
)
from quaestor.qmgr.coupling_facility.member import GroupMember
from quaestor.qmgr.coupling_facility.operating import OperatedGroup
from quaestor.qmgr.coupling_facility.resolving import reconcile
from quaestor.qmgr.coupling_facility.shared_queue import SharedQueue
from quaestor.qmgr.coupling_facility.structures import Failing, SharedStructure
from quaestor.qmgr.coupling_facility.units import SharedUnit
from quaestor.qmgr.resource_manager import Task, Unit
from quaestor.storage.lists.redis_engine import LOOK_AT_ALL
from quaestor.storage.lists.structure import ListStructure, StructureLostError, StructureRefusal
from quaestor.storage.shared_tables import RepositoryAwayError

PEERS_MS, CONNECT_MS = 500, 1000


class CouplingFacilityManager(GroupMember):
    """A member of a queue-sharing group, at work (CF1-CF5)."""

    name = "coupling_facility"

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
