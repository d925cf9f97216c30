"""The bootstrap data set (BSDS): where the log is, and from where restart begins.

Rules
  S1  It holds the log inventory: which RBA range each active log holds, which archives exist, the last
      checkpoints, the epoch of this start, a low estimate of how far the log had been written, and the buffer pools and
      page sets that commands have changed: restart needs them before it can read page set 0.
  S2  It is written in turn to two places of each copy, each time with a higher version and a checksum, and synced:
      a cut during a write leaves the version before it; a write that failed is made again in the same place, not in
      the place of the last good one. Two writes are never under way at once. What was packed
      before something newer was written is not written any more. What is read at start may be volatile, left by a
      process that was killed: it is synced before the other place is written.
  S3  A copy that is missing or cannot be read is named and made good from the other when the queue manager starts
      (CSQJ120E), not when somebody only looks; without any good copy nothing starts.
  S4  Archives are not noted beyond what leaves room for everything else (`has_room`): a queue manager whose inventory
      is full of them refuses work, but starts, takes checkpoints and can be rid of archives.

Called by log_files.  Calls disk.
"""

import json
import struct
from _thread import allocate_lock
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from zlib import crc32

from quaestor.mqi.reasons import Abend
from quaestor.storage.disk import Disk, File

NAMES = ("BSDS1", "BSDS2")
PLACE = 1 << 18
FORMAT = 2
"""1: records and pages with the checksum of zlib."""

CHECKPOINTS_KEPT = 8
NOT_FOR_ARCHIVES = 1 << 16
"""Bytes of a place that page sets, buffer pools and active logs may need at most, twice (S4)."""

_HEADER = struct.Struct(">4sIQII")
_MARK = b"BSDS"


@dataclass(slots=True)
class Inventory:
    """What the bootstrap data set holds (S1)."""

    log_bytes: int
    copies: int
    starts: list[int]
    """First RBA in each active log, -1 where it holds nothing."""

    epoch: int = 0
    written_rba: int = 0
    checkpoints: list[int] = field(default_factory=list)
    page_sets: list[int] = field(default_factory=list)
    """Page sets that were made: one of these that is missing is lost, not new."""

    archives: list[tuple[int, int, str]] = field(default_factory=list)
    """(first RBA, RBA after the last, name), ascending."""

    buffer_pools: dict[str, list[Any] | None] = field(default_factory=dict)
    """{buffer pool: what a command made of it}; None when it was deleted."""

    page_set_rules: dict[str, list[Any] | None] = field(default_factory=dict)
    """The same for page sets."""

    since: dict[str, int] = field(default_factory=dict)
    """{page set: RBA before which the log speaks of an earlier one of this number}."""

    image_copies: dict[str, int] = field(default_factory=dict)
    """{page set: RBA from which its image copy must be redone}; names in JSON are text."""

    stamps: dict[str, int] = field(default_factory=dict)
    """{page set: RBA on its page 0 when the queue manager was last started or stopped}."""

    stamped_at_stop: bool = False
    stopped: list[tuple[int, int]] = field(default_factory=list)
    """(active log, copy) that could not be written and is not used until another range begins there."""

    def media_rba(self) -> int:
        """Where the log must begin so that every page set can be recovered; 0 while one has no image copy."""
        return min((self.image_copies.get(str(number), 0) for number in self.page_sets), default=0)

    def add_checkpoint(self, rba: int) -> None:
        self.checkpoints = [*self.checkpoints, rba][-CHECKPOINTS_KEPT:]


class Bootstrap:
    """The copies of the bootstrap data set."""

    def __init__(self, files: list[File], inventory: Inventory, version: int, bad: Sequence[str] = ()) -> None:
        self._files, self.inventory, self._version = files, inventory, version
        self._bad = bad
        self._alone = allocate_lock()
        self._packed = self._written = 0

    @classmethod
    def create(cls, disk: Disk, inventory: Inventory, *, dual: bool) -> "Bootstrap":
        files = [disk.create(name, 2 * PLACE) for name in NAMES[: 2 if dual else 1]]
        bootstrap = cls(files, inventory, 0)
        bootstrap.save()
        return bootstrap

    @staticmethod
    def formatted(disk: Disk) -> bool:
        """Whether a log was ever set up here; a run that was cut while formatting leaves none."""
        for name in NAMES:
            if disk.exists(name):
                file = disk.open(name)
                written = any(file.read(at, _HEADER.size).strip(b"\0") for at in (0, PLACE))
                file.close()
                if written:
                    return True
        return False

    @classmethod
    def open(cls, disk: Disk) -> "Bootstrap":
        files = [disk.open(name) for name in NAMES if disk.exists(name)]
        good = {file.name: [read for at in (0, PLACE) if (read := _read(file, at)) is not None] for file in files}
        found = [read for reads in good.values() for read in reads]
        if not found:
            raise Abend("S3", "no copy of the bootstrap data set can be read; put one back, or cold start")
        for file in files:
            file.sync()  # S2
        version, inventory = max(found, key=lambda read: read[0])
        bad = [name for name in NAMES[: inventory.copies] if not good.get(name)]
        return cls(files, inventory, version, bad)

    def make_good(self, disk: Disk, tell: Callable[..., None]) -> None:
        """Copies that are missing or cannot be read are written from the next save on (S3)."""
        for name in self._bad:
            facts = {"copy": name}
            try:
                if not disk.exists(name):
                    self._files.append(disk.create(name, 2 * PLACE))
            except OSError as error:
                facts["error"] = str(error)
            text = "a copy of the bootstrap data set is missing or cannot be read: it is made good from the other"
            tell("CSQJ120E", text, **facts)
        self._bad = ()

    def save(self) -> None:
        """Write the inventory as it is."""
        self.saving()()

    def saving(self) -> Callable[[], None]:
        """Pack the inventory as it is now; what is given writes it, while others may change it."""
        packed = self._pack()
        if len(packed) > PLACE - _HEADER.size:
            raise Abend("S1", "the log inventory is full; delete archives that are no longer needed")
        self._packed = number = self._packed + 1
        return lambda: self._write(number, packed)

    def has_room(self) -> bool:
        """Whether another archive may be noted (S4)."""
        return len(self._pack()) < PLACE - NOT_FOR_ARCHIVES

    def _pack(self) -> bytes:
        return json.dumps(asdict(self.inventory), separators=(",", ":")).encode()

    def _write(self, number: int, packed: bytes) -> None:
        """Write the next version to every copy (S2)."""
        with self._alone:
            if number <= self._written:
                return
            version = self._version + 1
            data = _HEADER.pack(_MARK, FORMAT, version, len(packed), crc32(packed)) + packed
            for file in self._files:
                file.write(PLACE * (version % 2), data)
                file.sync()
            self._version, self._written = version, number

    def close(self) -> None:
        for file in self._files:
            file.close()


def _read(file: File, at: int) -> tuple[int, Inventory] | None:
    """What is in a place of a copy; None when that is not good, or cannot be read (S3)."""
    try:
        place = file.read(at, PLACE)
    except OSError:
        return None
    if len(place) < _HEADER.size:
        return None
    mark, form, version, length, checksum = _HEADER.unpack_from(place)
    packed = place[_HEADER.size : _HEADER.size + length] if mark == _MARK else b""
    if not packed or crc32(packed) != checksum:
        return None
    if form != FORMAT:
        raise Abend(
            "S1",
            "the bootstrap data set has another format; get the messages with the version that wrote it",
            format=form,
            known=FORMAT,
        )
    known = Inventory.__dataclass_fields__.keys()
    found = json.loads(packed)
    if not found.keys() <= known:
        text = "the bootstrap data set was written by a later version; start it with that one"
        raise Abend("S1", text, not_known=sorted(found.keys() - known))
    inventory = Inventory(**found)
    inventory.archives = [(start, end, name) for start, end, name in inventory.archives]
    inventory.stopped = [(number, copy) for number, copy in inventory.stopped]
    return version, inventory
