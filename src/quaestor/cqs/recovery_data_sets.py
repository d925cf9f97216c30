"""Structure recovery data sets: SRDS1 and SRDS2, written in turn.

Rules
  RD1 A structure checkpoint goes to the data set that is not the newest, so while it is written the newest one is
      whole. It counts when all of it is durable: its sequence number and checksum are in front and hold for all that
      follows. These are written while the log is held: who was taken for failed meanwhile does not say any more where
      the structures are.
  RD2 It says where in the log recovery begins, which structures it is of and on which coupling facilities they are:
      with it a server finds the structure, or knows that there was one.
  RD3 The log is needed from the older of the two on, so that recovery is possible from either.
  RD4 Both scratched means there is nothing to recover: the queues begin empty. Where one is there and none is good,
      nothing begins until somebody decides.

Called by checkpoint, rebuild, restart.  Calls disk, image.
"""

import struct
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import msgpack

from quaestor.cqs.image import Image
from quaestor.storage.disk import SharedDisk

_HEAD = struct.Struct(">8sIQQ")  # mark, checksum, sequence, length
_MARK = b"QCQSSRDS"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A structure checkpoint without its messages (RD2)."""

    rba: int  # the image holds all that was logged before it
    generation: int
    structures: tuple[tuple[str, str], ...]  # (name, coupling facility) of primary and overflow structure
    taken_us: int = 0
    server: str = ""
    sequence: int = 0
    messages: int = field(default=0, compare=False)

    def packed(self) -> list[Any]:
        names = [list(each) for each in self.structures]
        return [self.rba, self.generation, names, self.taken_us, self.server, self.messages]


class RecoveryDataSets:
    """The two data sets of a pair."""

    def __init__(self, disk: SharedDisk, pair: str) -> None:
        self._disk = disk
        self.names = (f"{pair}.SRDS1", f"{pair}.SRDS2")

    def save(self, checkpoint: Checkpoint, image: Image, held: AbstractContextManager[None]) -> Checkpoint:
        """Write a structure checkpoint to the older of the two (RD1)."""
        known = {name: found[0].sequence for name in self.names if (found := self._read(name)) is not None}
        target = min(self.names, key=lambda name: known.get(name, 0))
        sequence = max(known.values(), default=0) + 1
        body = msgpack.packb([checkpoint.packed(), image.packed()], use_bin_type=True)
        if self._disk.exists(target):
            self._disk.delete(target)
        file = self._disk.create(target, 0)
        try:
            file.write(_HEAD.size, body)
            file.sync()
            with held:
                file.write(0, _HEAD.pack(_MARK, crc32(body, sequence), sequence, len(body)))
                file.sync()
        finally:
            file.close()
        return self.newest()[0]

    def all(self) -> list[tuple[Checkpoint, Image]]:
        """The data sets that are good, newest first."""
        found = [read for name in self.names if (read := self._read(name)) is not None]
        return sorted(found, key=lambda each: -each[0].sequence)

    def present(self) -> bool:
        """Whether one is there, good or not."""
        return any(self._disk.exists(name) for name in self.names)

    def newest(self) -> tuple[Checkpoint, Image]:
        return self.all()[0]

    def needed_rba(self) -> int:
        """From where on the log is needed (RD3)."""
        return min((checkpoint.rba for checkpoint, _ in self.all()), default=0)

    def scratch(self) -> None:
        """Forget both (RD4)."""
        for name in self.names:
            if self._disk.exists(name):
                self._disk.delete(name)

    def _read(self, name: str) -> tuple[Checkpoint, Image] | None:
        """A data set, or None when it is not whole (RD1)."""
        if not self._disk.exists(name):
            return None
        try:
            file = self._disk.open(name)
        except FileNotFoundError:
            return None  # somebody is about to write it anew
        try:
            head = file.read(0, _HEAD.size)
            if len(head) < _HEAD.size:
                return None
            mark, checksum, sequence, length = _HEAD.unpack(head)
            body = file.read(_HEAD.size, min(length, file.size())) if mark == _MARK else b""
        finally:
            file.close()
        if mark != _MARK or len(body) != length or crc32(body, sequence) != checksum:
            return None
        (rba, generation, names, taken_us, server, _), packed = msgpack.unpackb(body)
        image = Image.unpacked(packed)
        structures = tuple((each[0], each[1]) for each in names)
        return Checkpoint(rba, generation, structures, taken_us, server, sequence, len(image.placed)), image
