"""Damage to one of two copies, of the log or of the bootstrap data set, before a start (RH10).

What is damaged is known by RBA until the promise is that both copies have it again: until a start that is through has
read it (LR3), from its checkpoint on. So the other copy may be damaged there next.

Called by histories.
"""

from quaestor.qmgr.log.forcing import END_OF_LOG
from quaestor.qmgr.log.reading import LogReader
from quaestor.smf.sections.log import LogStatistics
from quaestor.storage import bootstrap
from quaestor.storage.bootstrap import NAMES
from quaestor.storage.log_archives import log_name
from quaestor.storage.log_files import CI, LogFiles
from quaestor.storage.overlay import OverlayDisk
from quaestor.testing import FaultyFile

SECTOR, HEADER = 512, 24
NEAR_THE_END = 8
"""CIs in which a cut leaves the copies different."""


class Damage:
    """What has been done to the copies of one history's disk."""

    def __init__(self, world):
        self.world, self.choose = world, world.choose
        self.may_come = world.settings.dual_logs and world.chance(0.7)
        self.archived = world.settings.archive and not world.settings.dual_logs and world.chance(0.7)
        """Not where writes fail too: a copy that is stopped may leave the one that is damaged."""

        self.damaged = (set(), set())
        """RBAs of the CIs of each copy that may not be good."""

        self.mended = []
        """Copies and RBAs of CIs that were, and that the last start has made good."""

    def strike(self):
        """Damage a few sectors of one copy, where the other is whole."""
        if self.may_come and self.world.chance(0.7):
            self.world.said.append("damage")
            if self.world.chance(0.7):
                self._log(self._inventory())
            else:
                self._bootstrap()

        if self.archived and self.world.chance(0.3):
            self._archived()

    def _archived(self):
        """An active log that has an archive too (F7). It can be read again when the start is through."""
        inventory = self._inventory()
        places = [n for n, start in enumerate(inventory.starts) if start in {each[0] for each in inventory.archives}]
        for number in places:
            self.world.said.append("damage of what is archived")
            for _ in range(self.choose.choice((1, 4))):
                self._sector(log_name(0, number), SECTOR * self.choose.randrange(inventory.log_bytes // SECTOR))

    def through(self):
        """A start is through: what it has read from its checkpoint on is in both copies (LR3)."""
        if self.archived:
            for name in [name for name in self.world.disk.unreadable if name.startswith("log")]:
                del self.world.disk.unreadable[name]
        found = self.world.engine.restarted
        self.mended.clear()
        for copy, damaged in enumerate(self.damaged):
            again = {rba for rba in damaged if found.checkpoint_rba <= rba <= found.end_rba - CI}
            self.mended += [(copy, rba) for rba in sorted(again)]
            damaged.difference_update(again)

    # --- the log ------------------------------------------------------------------------------------------------------

    def _log(self, inventory):
        log = self.world.engine.log
        for _ in range(self.choose.choice((1, 2, 4))):
            copy, rba = self._place(inventory, log.end)
            number = next((n for n, start in enumerate(inventory.starts) if start <= rba < start + log.files.size), -1)
            stopped = (number, 1 - copy) in [*inventory.stopped, *log.files.inventory.stopped]
            if number < 0 or inventory.starts[number] < 0 or stopped or not self._other_is_whole(copy, rba, inventory):
                continue
            self.damaged[copy].add(rba)
            at = rba - inventory.starts[number] + SECTOR * self.choose.randrange(CI // SECTOR)
            self._sector(log_name(copy, number), at, readable=rba + CI > log.hardened)

    def _other_is_whole(self, copy, rba, inventory):
        """Whether the other copy is damaged in no record that has a part in this CI."""
        damaged = self.damaged[1 - copy]
        if not damaged:
            return True
        files = LogFiles.open(OverlayDisk(self.world.disk))
        known = [each for each in inventory.checkpoints if files.oldest_active() <= each <= rba]
        if not known:
            return False
        low, high = rba, rba + CI
        for record in LogReader(files, LogStatistics()).scan(known[0], END_OF_LOG, repair=False):
            if record.rba < rba + CI and rba < record.end:
                low, high = min(low, record.rba), max(high, record.end)
        return not any(low < other + CI and other < high for other in damaged)

    def _place(self, inventory, end):
        """A copy and a CI: near the end, where the other copy was damaged before, or anywhere."""
        kind = self.choose.randrange(4)
        if kind > 1 and self.mended:
            copy, rba = self.choose.choice(self.mended)
            return 1 - copy, rba
        oldest = min(start for start in inventory.starts if start >= 0)
        low = max(end - self.choose.choice((0, NEAR_THE_END)) * CI, oldest) if kind else oldest
        return self.choose.randrange(2), self.choose.randrange(low // CI, max(low, end) // CI + 1) * CI

    def _sector(self, name, at, *, within=SECTOR, readable=False):
        """Another byte in a sector, or none that can be read.

        A copy that cannot be read where the log goes on is stopped, and the other may be damaged elsewhere.
        """
        if not readable and self.world.chance(0.5):
            self.world.disk.unreadable[name] = range(at, at + SECTOR)
            return
        image, byte = self.world.disk.files[name], at + self.choose.randrange(within)
        for each in (image.seen, image.durable):
            each[byte] ^= 255

    # --- the bootstrap data set ---------------------------------------------------------------------------------------

    def _bootstrap(self):
        """One copy, if the other alone has the newest version."""
        disk, copy = self.world.disk, self.choose.randrange(2)
        name, other = NAMES[copy], NAMES[1 - copy]
        if self._versions(name) and max(self._versions(other), default=0) >= max(self._versions(name)):
            if self.world.chance(0.3):
                del disk.files[name]
                disk.unreadable.pop(name, None)
                return
            for _ in range(self.choose.choice((1, 2))):
                place = bootstrap.PLACE * self.choose.randrange(2)
                self._sector(name, place, within=self.choose.choice((HEADER, SECTOR)))

    def _versions(self, name):
        """Numbers of the good versions of a copy; none where one place of it cannot be read."""
        return {number for number, _ in self._found(name)}

    def _found(self, name):
        if not self.world.disk.exists(name):
            return []
        try:
            return [found for found in bootstrap._versions(FaultyFile(self.world.disk, name)) if found]
        except OSError:
            return []

    def _inventory(self):
        """As the newest version has it that is on the disk."""
        return max((found for name in NAMES for found in self._found(name)), key=lambda found: found[0])[1]
