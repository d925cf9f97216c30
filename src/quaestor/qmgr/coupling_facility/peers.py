"""Peers: who notices that a member has died, and ends its units at once.

Rules
  PE1 CSQ_ADMIN knows its connectors: one that has gone without a word has failed. Any member that sees it recovers it;
      two that see it at once exclude each other by the dead member's own directory (PR1).
  PE2 Nothing is touched before the dead member's directory is owned, and it is given back when everything is done. A
      member that starts meanwhile waits that long.
  PE3 A failed connector is forgotten when nothing of it is left that a peer could end; what is in doubt waits for the
      member itself, and is no reason to look again.
  PE4 What cannot be done is said once, and tried again.
  PE5 A dead member is fenced before anything of it is read: what it sent and nobody has done yet is not done afterwards
      (LS5). A structure that cannot be reached now is looked at again: the failed connector is not forgotten before.
  PE6 While the repository is away, what the dead member has used may not be known here: what is known is resolved, but
      neither descriptors nor the failed connector are forgotten before the repository has been asked.

Called by the coupling facility manager, in the background and without the latch.  Calls resolving.
"""

from collections.abc import Callable

from quaestor.mqi.reasons import Abend, MQError
from quaestor.qmgr.coupling_facility.definitions import lists_in
from quaestor.qmgr.coupling_facility.descriptors import Descriptor
from quaestor.qmgr.coupling_facility.resolving import DeadLog, LogAwayError, Resolved, resolve
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.qmgr.coupling_facility.structures import SharedStructure
from quaestor.storage.disk import Disk, InUseError
from quaestor.storage.log_files import LogFiles
from quaestor.storage.shared_tables import Member, RepositoryAwayError

Structures = list[tuple[SharedStructure, list[int]]]
Say = Callable[..., None]


class PeerRecovery:
    """Ends what dead members left behind (PE1-PE6)."""

    def __init__(
        self, own: str, group: Group, admin: SharedStructure, structure: Callable[[str], SharedStructure], say: Say
    ) -> None:
        self._own, self._group, self._admin = own, group, admin
        self._structure, self._say = structure, say
        self._said: set[tuple[str, str]] = set()
        self.recovered: list[tuple[str, Resolved]] = []

    def step(self) -> bool:
        """Background: recover every member that is seen to have failed."""
        if self._admin.failing is not None:
            return False
        try:
            failed = [name for name, alive in self._admin.connectors().items() if not alive and name != self._own]
            for name in failed:
                self.recover(name)
        except MQError:
            return False  # the structure is lost: whoever connects again looks again
        return False

    def recover(self, name: str) -> Resolved | None:
        """Recover one member; None when it lives or cannot be recovered here (PE1, PE4)."""
        member = self._group.tables.members.read(name)
        if member is None:
            structures, certain = self._in_use()
            if certain:  # PE6: or it has just joined
                self._forget(name, structures)
            return None
        try:
            disk = self._group.open_disk(member.log_directory)
            disk.own()  # PE2
        except InUseError:
            return None  # it lives, or another member is at it
        except OSError as error:
            self._say_once(name, "CSQE162E", "its log cannot be read here; its own restart resolves it", str(error))
            return None
        try:
            return self._recover(member, disk)
        except (LogAwayError, Abend, OSError) as error:
            self._say_once(name, "CSQE162E", "its log cannot be read; its own restart resolves it", str(error))
            return None
        finally:
            disk.disown()

    def _recover(self, member: Member, disk: Disk) -> Resolved:
        files = LogFiles.open(disk)
        structures, certain = self._in_use()
        try:
            log = _OnDemand(files)
            self._fence(member.name, structures)
            before = files.inventory.epoch + 1
            done = resolve(member.number, self._admin, structures, log.committed, before, certain=certain)
        finally:
            files.close()
        if not done.left and done.complete:
            self._forget(member.name, structures)
        elif not done.committed and not done.backed_out:
            return done
        self.recovered.append((member.name, done))
        self._say(
            "CSQE131I",
            "a member of the group was recovered",
            member=member.name,
            committed=len(done.committed),
            backed_out=len(done.backed_out),
            in_doubt=len(done.in_doubt),
            left=len(done.left),
        )
        return done

    def _in_use(self) -> tuple[Structures, bool]:
        """Every structure that has queues, and their lists; whether none can be missing (PE6)."""
        try:
            lists, certain = lists_in(self._group.now), True
        except RepositoryAwayError:
            lists, certain = lists_in(self._group.tables), False
        return [(self._structure(name), numbers) for name, numbers in sorted(lists.items())], certain

    def _fence(self, name: str, structures: Structures) -> None:
        """PE5: a structure that cannot be reached is left for the next time."""
        self._admin.fence(name)
        for structure, _ in structures:
            if structure.connected:
                structure.fence(name)

    def _forget(self, name: str, structures: Structures) -> None:
        """PE3: application structures first, so that a peer that is cut looks again."""
        for structure, _ in structures:
            if structure.failing is None:
                structure.forget(name)
        self._admin.forget(name)

    def _say_once(self, member: str, code: str, what: str, why: str) -> None:
        if (member, why) not in self._said:
            self._said.add((member, why))
            self._say(code, what, member=member, why=why)


class _OnDemand:
    """A dead member's log, read when a descriptor asks for it: most peers died with nothing to look up."""

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self._log: DeadLog | None = None

    def committed(self, descriptor: Descriptor) -> bool:
        if self._log is None:
            self._log = DeadLog(self._files)
        return self._log.committed(descriptor)
