"""Member: a queue manager in its queue-sharing group, connected to the structures.

Rules
  CF1 A member has a number in the group (1 to 31) and is connected to CSQ_ADMIN and to every application structure
      that the shared tables name.
  CF2 Starting resolves what the member itself left unfinished, before anybody works: a member recovers itself by the
      same rules as peers do. Units in doubt on its log have their part in structures again.
  CF4 A structure that is found empty and was not so before has lost its messages: the non-persistent ones are gone; if
      it is one that is recovered it has failed until RECOVER CFSTRUCT, else it is usable at once. Which of them it is
      the repository says: while that is away nobody decides it, for the copy may not know what others have defined.

CF3 and CF5 are of `manager`.

Called by manager.  Calls structures, store, peers, definitions.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import RLock

from quaestor.clock import Clock
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.auto_alter import AutoAlter
from quaestor.qmgr.coupling_facility.data_sets import DataSets
from quaestor.qmgr.coupling_facility.definitions import (
    FORMAT_LOCK,
    SharedDefinitions,
    format_list,
)
from quaestor.qmgr.coupling_facility.descriptors import Descriptor, Descriptors
from quaestor.qmgr.coupling_facility.forwarding import Forwarding
from quaestor.qmgr.coupling_facility.in_doubt import UnitsInDoubt
from quaestor.qmgr.coupling_facility.interest import Interest
from quaestor.qmgr.coupling_facility.keys import Identities
from quaestor.qmgr.coupling_facility.media import Media
from quaestor.qmgr.coupling_facility.peers import PeerRecovery
from quaestor.qmgr.coupling_facility.resolving import Resolved, record_at, resolve, says_committed
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.qmgr.coupling_facility.shared_queue import SharedQueue
from quaestor.qmgr.coupling_facility.store import SharedStore
from quaestor.qmgr.coupling_facility.structures import ADMIN, Contents, SharedStructure, admin_shape, shape_of
from quaestor.qmgr.coupling_facility.units import SharedUnit
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.smf.sections.coupling_facility import SharedMessageDataSetStatistics, StructureFigures
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.storage.lists.structure import ListStructure, StructureRefusal
from quaestor.storage.shared_tables import RepositoryAwayError, Structure

IN_USE, EMPTY = "ALLOCATED", "EMPTY"


class GroupMember:
    """A member of a queue-sharing group, and what it is connected to (CF1, CF2, CF4)."""

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

    def lists_of(self, name: str) -> list[int]:
        """The lists of a structure that are queues, as the shared tables have them now."""
        return self.definitions.all_lists().get(name, [])

    def _told(self, structure: str, token: int) -> None:
        self._notices.append((structure, token))
        if structure == ADMIN:
            self.forwarding.told(token)
        self.nudge()

    # -- figures

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


def _nobody() -> None:
    """Nobody waits to be told."""
