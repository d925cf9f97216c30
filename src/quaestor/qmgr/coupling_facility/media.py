"""Media: when structures are backed up and recovered, and how long members keep their logs for it.

Rules
  SM1 A backup is registered in the shared tables with the marks of all members; from then on each member keeps its log
      from its own mark on, and the one that took it from the backup on. An older backup is not needed any more.
  SM2 Only a structure that has failed is recovered, by one member at a time: it has the structure's own lock, which is
      taken from a member that died with it.
  SM3 Without a backup a structure is recovered from the beginning of all logs, if they still have it.
  SM4 A data set that has failed is written again, page by page where the entries of the structure say, with the data
      that backup and logs have. The structure is in use meanwhile; only what is in that data set waits.
  SM5 A member that lives must be connected to the structure that failed before its log is read: then nothing of what it
      did in the lost one can commit any more (CS7). One that is not is waited for (2346: try again).
  SM6 Which members and which backup there are the repository says, now: a member that has joined since it was last seen
      would be missing with all that is on its log. While it is away nothing is backed up or recovered (2342).
  SM7 A member's log that cannot be read, or not all of it is there, is told with the member's name (2373). It is no
      failure of the queue manager that was asked.

Called by the coupling facility manager, for commands and in the background.  Calls backup, positions.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from quaestor.clock import Clock
from quaestor.mqi.reasons import Abend, MQError, Reason, said
from quaestor.qmgr.coupling_facility.backup import (
    LogReader,
    Recovered,
    Written,
    read_backup,
    write_backup,
    write_messages,
)
from quaestor.qmgr.coupling_facility.data_set_recovery import EveryPut, write_again
from quaestor.qmgr.coupling_facility.keys import Identities
from quaestor.qmgr.coupling_facility.positions import Mark, Position, Positions
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.qmgr.coupling_facility.structures import Failing, SharedStructure
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.disk import Disk, InUseError
from quaestor.storage.log_files import FIRST_RBA, LogFiles
from quaestor.storage.shared_tables import Backup, Member

NOTHING_KEPT = 1 << 63


@dataclass(frozen=True, slots=True)
class RecoveredStructure:
    """What a recovery did."""

    structure: str
    messages: int
    members: int


class Media:
    """Backups and recovery of structures (SM1-SM7)."""

    def __init__(self, own: Member, group: Group, admin: SharedStructure, recovery: RecoveryManager) -> None:
        self._own, self._group, self._admin, self._recovery = own, group, admin, recovery
        self._positions = Positions(admin)
        self._kept_rba = NOTHING_KEPT
        recovery.kept_rba = lambda: self._kept_rba

    # -- in the background

    def publish(self, clock: Clock, identities: Identities) -> None:
        """Say where this member is, and learn what of its log is kept (PO1, SM1). The latch is held."""
        recovery = self._recovery
        rba = min([recovery.log.end, *(unit.first for unit in recovery.units.values())])
        position = Position(clock.now_us(), rba, identities.epoch, identities.following())
        self._positions.publish(self._own.number, position)
        self._keep()

    def _keep(self) -> None:
        """SM1."""
        needed = (rba for backup in self._group.tables.backups.all() for rba in backup.needs(self._own.name))
        self._kept_rba = min(needed, default=NOTHING_KEPT)

    # -- backup

    def backup(self, structure: SharedStructure, lists: list[int], now_us: int) -> Written:
        """BACKUP CFSTRUCT (SM1). The latch is held. Raises RepositoryAwayError, as does recovering (SM6)."""
        alive = {name for name, living in self._admin.connectors().items() if living}
        members = self._group.now.members.all()
        marks = self._positions.marks({member.number for member in members if member.name in alive})
        by_name = {member.name: self._mark(member, marks) for member in members}
        self._kept_rba = min(self._kept_rba, self._recovery.log.end)
        written = write_backup(structure, lists, self._recovery)
        marked = {name: [mark.rba, mark.epoch, mark.counter] for name, mark in by_name.items() if mark is not None}
        row = Backup(structure.name, self._own.name, written.start_rba, written.end_rba, now_us, written.bytes, marked)
        self._group.tables.backups.write(row)
        self._keep()
        return written

    def _mark(self, member: Member, marks: dict[int, Mark]) -> Mark | None:
        """What is needed of a member: of one that is down, what it will do when it is up again (PO4)."""
        if member.number in marks:
            return marks[member.number]
        with _log_of(member.name), closing(LogFiles.open(self._group.open_disk(member.log_directory))) as files:
            checkpoints = [rba for rba in files.inventory.checkpoints if rba >= files.oldest_active()]
            return Mark(checkpoints[0] if checkpoints else FIRST_RBA, files.inventory.epoch + 1, 0)

    # -- recovery

    def recover(self, structure: SharedStructure, lists: list[int]) -> RecoveredStructure:
        """RECOVER CFSTRUCT: what is there afterwards is not yet in use (SM2, BR4)."""
        if structure.failing is not Failing.FAILED:
            raise MQError(Reason.CF_STRUC_IN_USE, structure=structure.name, why="it has not failed")
        self._recovery.harden()
        if not structure.lock_own():
            raise MQError(Reason.CF_STRUC_IN_USE, structure=structure.name, why="another member recovers it")
        try:
            self._refuse_if_in_use(structure)
            self._wait_for_all(structure)
            recovered, members = self._read_logs(structure.name, LogReader)
            messages = recovered.messages()
            write_messages(structure, lists, messages)
        except BaseException:
            structure.unlock_own()  # another member may have more luck
            raise
        return RecoveredStructure(structure.name, len(messages), members)

    def _refuse_if_in_use(self, structure: SharedStructure) -> None:
        """Another member has recovered it, and this one has not noticed yet."""
        if structure.in_use():
            structure.look_again()
            raise MQError(Reason.CF_STRUC_IN_USE, structure=structure.name, why="another member has recovered it")

    def _read_logs(self, structure: str, reader: type[LogReader]) -> tuple[Recovered, int]:
        """What the backup of a structure and the logs of all members tell of it; how many those are."""
        recovered = Recovered(structure)
        backup = self._group.now.backups.read(structure)
        if backup is not None:
            with _log_of(backup.member):
                read_backup(recovered, self._disk_of(backup.member), backup.start_rba, backup.end_rba)
        members = self._group.now.members.all()
        for member in members:
            open_disk = self._disk_of(member.name)
            with _log_of(member.name):
                reader(recovered, self._mark_in(backup, member.name, open_disk)).read(open_disk)
        return recovered, len(members)

    def recover_data_sets(self, structure: SharedStructure, lists: list[int], owners: list[str]) -> int:
        """Write the data of messages to data sets that have failed, from backup and logs (SM4); how many."""
        self._recovery.harden()
        recovered, _ = self._read_logs(structure.name, EveryPut)
        bodies = {one: entry.data for one, entry in recovered.there.items()}
        bodies |= {one: entry.data for one, (_, entry) in recovered.waiting.items()}
        members = [self._group.now.members.read(owner) for owner in owners]
        found = [each for each in members if each is not None]
        return sum(write_again(structure, lists, each, self._disk_of(each.name)(), bodies) for each in found)

    def purge(self, structure: SharedStructure, lists: list[int]) -> None:
        """RECOVER CFSTRUCT TYPE(PURGE): nothing is there, nor what a recovery that was cut had written (SM2)."""
        if not structure.lock_own():
            raise MQError(Reason.CF_STRUC_IN_USE, structure=structure.name, why="another member recovers it")
        self._refuse_if_in_use(structure)
        write_messages(structure, lists, [])

    def _wait_for_all(self, structure: SharedStructure) -> None:
        """Every member that lives has let go of the structure that was lost (SM5)."""
        connected = {name for name, living in structure.connectors().items() if living}
        for member in self._group.now.members.all():
            if member.name not in connected and self._lives(member):
                why = "it has not connected to the structure that failed; try again"
                raise MQError(Reason.CF_STRUC_IN_USE, structure=structure.name, member=member.name, why=why)

    def _lives(self, member: Member) -> bool:
        """Whether a member is up: its directory cannot be owned."""
        disk = self._disk_of(member.name)()
        try:
            disk.own()
        except InUseError:
            return True
        disk.disown()
        return False

    def _mark_in(self, backup: Backup | None, member: str, open_disk: Callable[[], Disk]) -> Mark:
        """From where a member's log is needed; all of it when it has joined since, or there is no backup (SM3)."""
        if backup is not None and member in backup.marks:
            return Mark(*backup.marks[member])
        files = LogFiles.open(open_disk())
        try:
            if not files.read(FIRST_RBA, 1)[0]:
                raise MQError(Reason.CF_STRUC_FAILED, member=member, why="its log no longer begins at its beginning")
            return Mark(FIRST_RBA, 0, 0)
        finally:
            files.close()

    def _disk_of(self, name: str) -> Callable[[], Disk]:
        member = self._group.now.members.read(name)
        if member is None:
            raise MQError(Reason.CF_STRUC_FAILED, member=name, why="it is no longer a member")
        directory = member.log_directory

        def opened() -> Disk:
            try:
                return self._group.open_disk(directory)
            except OSError as error:
                raise MQError(Reason.CF_STRUC_FAILED, member=name, why=str(error)) from error

        return opened


@contextmanager
def _log_of(member: str) -> Iterator[None]:
    """While the log of a member is read: what is wrong with it is told with its name (SM7)."""
    try:
        yield
    except (Abend, OSError) as error:
        raise MQError(Reason.CF_STRUC_FAILED, member=member, why=said(error)) from error
