"""The bootstrap data set (BSDS): where the log is, and from where restart begins.

Rules
  S1  It holds the log inventory: which RBA range each active log holds, which archives exist, the last
      checkpoints, the epoch of this start, a low estimate of how far the log had been written, and the buffer pools and
      page sets that commands have changed: restart needs them before it can read page set 0.
  S2  It is written in turn to two places of each copy, each time with a higher version and a checksum of both, and
      synced: a cut during a write leaves the version before it; a write that failed is made again in the same place,
      not in the place of the copy's last good one. Two writes are never under way at once, nor is it packed by two at
      once. What was packed before something newer was written is not written any more. What is read at start may be
      volatile, left by a process that was killed: it is synced before the other place is written.
  S3  A copy that is missing or cannot be read is named and made good from the other when the queue manager starts
      (CSQJ120E), not when somebody only looks; without any good copy nothing starts. A copy of which one place cannot
      be read, or that is shorter than it was made, is none: the other place may have the version before.
  S4  Archives are not noted beyond what leaves room for everything else (`has_room`): a queue manager whose inventory
      is full of them refuses work, but starts, takes checkpoints and can be rid of archives.
  S5  A copy that could not be written is lost, if the other could: what it holds grows old. Before anybody relies on
      what the other alone has, the lost one has another name, durably, so that no start takes it for current; if that
      cannot be done, the error is the caller's, as it is when no copy could be written. The operator is told
      (CSQJ126E). RECOVER BSDS makes it again (CSQJ130I), and so does the next start (S3).

Called by log_files.  Calls disk.
"""

import errno
import json
import struct
from _thread import allocate_lock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from operator import itemgetter
from typing import Any
from zlib import crc32

from quaestor.mqi.reasons import Abend
from quaestor.storage.disk import Disk, File, outcome

NAMES = ("BSDS1", "BSDS2")
LOST = "{}-lost"
"""What a copy is called that is not current (S5)."""

PLACE = 1 << 18
FORMAT = 3
"""1: records and pages with the checksum of zlib. 2, which is read too: that of a place leaves its header out."""

CHECKPOINTS_KEPT = 8
NOT_FOR_ARCHIVES = 1 << 16
"""Bytes of a place that page sets, buffer pools and active logs may need at most, twice (S4)."""

_HEADER = struct.Struct(">4sIQII")
"""mark, format, version, length, checksum of what is before it and behind"""

_CHECKSUM_AT = _HEADER.size - 4
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


_FIELDS = [each.name for each in fields(Inventory)]

Version = tuple[int, Inventory]
"""What a place of a copy holds."""

Lost = Callable[[str, OSError], None]
"""Told of a copy that is lost (S5)."""

_number = itemgetter(0)


class Copy:
    """One copy of the bootstrap data set; of its two places the one that was not written last is next (S2)."""

    def __init__(self, file: File, found: Sequence[Version | None] = ()) -> None:
        self.file = file
        good = [version for version in found if version is not None]
        self.newest = max(good, key=_number, default=None)
        self._place = 1 if self.newest is None else found.index(self.newest)

    def write(self, data: bytes) -> None:
        place = 1 - self._place
        self.file.write(PLACE * place, data)
        self.file.sync()
        self._place = place


class Bootstrap:
    """The copies of the bootstrap data set."""

    def __init__(
        self, disk: Disk, copies: list[Copy], inventory: Inventory, version: int, bad: Sequence[str] = ()
    ) -> None:
        self._disk, self._copies, self.inventory, self._version = disk, copies, inventory, version
        self._bad = bad
        self._alone, self._packing = allocate_lock(), allocate_lock()
        self._packed = self._written = 0
        self.told: Lost = _nobody

    @classmethod
    def create(cls, disk: Disk, inventory: Inventory, *, dual: bool) -> "Bootstrap":
        copies = [Copy(disk.create(name, 2 * PLACE)) for name in NAMES[: 2 if dual else 1]]
        bootstrap = cls(disk, copies, inventory, 0)
        bootstrap.save()
        return bootstrap

    @staticmethod
    def formatted(disk: Disk) -> bool:
        """Whether a log was ever set up here; a run that was cut while formatting leaves none."""
        for name in NAMES:
            if disk.exists(name):
                try:
                    file = disk.open(name)
                    written = any(file.read(at, _HEADER.size).strip(b"\0") for at in (0, PLACE))
                    file.close()
                except OSError:
                    return True  # something is there
                if written:
                    return True
        return False

    @classmethod
    def open(cls, disk: Disk) -> "Bootstrap":
        copies, errors = list[Copy](), dict[str, str]()
        for name in NAMES:
            if disk.exists(name):
                try:
                    copies.append(_open(disk, name))
                except OSError as error:
                    errors[name] = str(error)
        found = [copy.newest for copy in copies if copy.newest is not None]
        if not found:
            for copy in copies:
                copy.file.close()
            raise Abend("S3", "no copy of the bootstrap data set can be read; put one back, or cold start", **errors)
        version, inventory = max(found, key=_number)
        good = [copy.file.name for copy in copies if copy.newest is not None]
        return cls(disk, copies, inventory, version, [name for name in NAMES[: inventory.copies] if name not in good])

    def make_good(self, tell: Callable[..., None]) -> None:
        """At start: copies that are missing or cannot be read are written from the next save on (S3)."""
        for name in self._bad:
            facts = {"copy": name}
            try:
                self._make(name)
            except OSError as error:
                facts["error"] = str(error)
            text = "a copy of the bootstrap data set is missing or cannot be read: it is made good from the other"
            tell("CSQJ120E", text, **facts)
        self._bad = ()

    def recover(self) -> str:
        """Make the copy that is lost again; gives the one that it is made from, or nothing when none is lost (S5)."""
        if not self.lost():
            return ""
        source = self._copies[0].file.name
        for name in self.lost():
            self._make(name)
        self.save()
        if self.lost():
            raise OSError(errno.EIO, "it could not be written", self.lost()[0])
        return source

    def lost(self) -> list[str]:
        """Copies that are not written (S5)."""
        written = [copy.file.name for copy in self._copies]
        return [name for name in NAMES[: self.inventory.copies] if name not in written]

    def _make(self, name: str) -> None:
        """Have a copy that the next save writes."""
        if name in self.lost():
            if self._disk.exists(name):
                file = self._disk.open(name)
                file.extend(2 * PLACE)
            else:
                file = self._disk.create(name, 2 * PLACE)
            with self._alone:
                self._copies.append(Copy(file))

    def save(self) -> None:
        """Write the inventory as it is."""
        self.saving()()

    def saving(self) -> Callable[[], None]:
        """Pack the inventory as it is now; what is given writes it, while others may change it."""
        with self._packing:  # a thread that forces the log may find a copy of it lost, and has no latch
            packed = self._pack()
            self._packed = number = self._packed + 1
        if len(packed) > PLACE - _HEADER.size:
            raise Abend("S1", "the log inventory is full; delete archives that are no longer needed")
        return lambda: self._write(number, packed)

    def has_room(self) -> bool:
        """Whether another archive may be noted (S4)."""
        return len(self._pack()) < PLACE - NOT_FOR_ARCHIVES

    def _pack(self) -> bytes:
        told = {name: getattr(self.inventory, name) for name in _FIELDS}
        return json.dumps(told, separators=(",", ":")).encode()

    def _write(self, number: int, packed: bytes) -> None:
        """Write the next version to every copy (S2, S5)."""
        with self._alone:
            if number <= self._written:
                return
            version = self._version + 1
            data = _packed(version, packed)
            failed = {copy: error for copy in self._copies if (error := outcome(partial(copy.write, data))) is not None}
            if len(failed) == len(self._copies):
                raise next(iter(failed.values()))
            self._version = version
            for copy, error in failed.items():
                self._lose(copy, error)
            self._written = number

    def _lose(self, copy: Copy, error: OSError) -> None:
        """A copy is not written any more, and not taken for current at the next start (S5)."""
        name = copy.file.name
        self._disk.rename(name, LOST.format(name))
        self._copies.remove(copy)
        copy.file.close()
        self.told(name, error)

    def close(self) -> None:
        for copy in self._copies:
            copy.file.close()


def _nobody(_name: str, _error: OSError) -> None:
    """Told where there is no operator."""


def _open(disk: Disk, name: str) -> Copy:
    """A copy and what is good of it, durably (S2); one that cannot be synced or read is none (S3)."""
    file = disk.open(name)
    try:
        file.sync()
        return Copy(file, _versions(file))
    except (Abend, OSError):
        file.close()
        raise


def _versions(file: File) -> list[Version | None]:
    """What is in both places of a copy that has them (S3)."""
    if file.size() < 2 * PLACE:
        raise OSError(errno.EIO, "it is too short", file.name)
    return [_read(file, at) for at in (0, PLACE)]


def _packed(version: int, packed: bytes) -> bytes:
    """A place of a copy: a version of the inventory behind its header."""
    header = _HEADER.pack(_MARK, FORMAT, version, len(packed), 0)[:_CHECKSUM_AT]
    return header + crc32(packed, crc32(header)).to_bytes(4, "big") + packed


def _read(file: File, at: int) -> Version | None:
    """What is in a place of a copy; None when that is not good."""
    place = file.read(at, PLACE)
    if len(place) < _HEADER.size:
        return None
    mark, form, version, length, checksum = _HEADER.unpack_from(place)
    packed = place[_HEADER.size : _HEADER.size + length] if mark == _MARK else b""
    header = b"" if form < FORMAT else place[:_CHECKSUM_AT]
    if not packed or checksum != crc32(packed, crc32(header)):
        return None
    if form not in {FORMAT - 1, FORMAT}:
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
