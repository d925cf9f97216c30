"""Place: where the data of a shared message is, and whether it still is (MD4).

Called by data_set, buffers and whoever reads a structure's entries.  Calls disk (through the file it is given).
"""

import struct
from dataclasses import dataclass
from zlib import crc32

from quaestor.storage.disk import File

PAGE = 4096
_HEAD, _EXTENT = struct.Struct(">BQIIB"), struct.Struct(">II")


class DataGoneError(Exception):
    """What a place says is not there any more (MD4)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the data of a message is: in whose data set, its number there, its length, its check, its extents."""

    member: int
    serial: int
    length: int
    check: int
    extents: tuple[tuple[int, int], ...]

    def pack(self) -> bytes:
        head = _HEAD.pack(self.member, self.serial, self.length, self.check, len(self.extents))
        return head + b"".join(_EXTENT.pack(*extent) for extent in self.extents)

    @staticmethod
    def unpack(data: bytes) -> "Place":
        member, serial, length, check, count = _HEAD.unpack_from(data)
        extents = tuple(_EXTENT.unpack_from(data, _HEAD.size + at * _EXTENT.size) for at in range(count))
        return Place(member, serial, length, check, extents)


def read_place(file: File, place: Place) -> bytes:
    """Data as it is in a file, checked (MD4)."""
    data = b"".join(file.read(at * PAGE, count * PAGE) for at, count in place.extents)[: place.length]
    if len(data) != place.length or crc32(data) != place.check:
        raise DataGoneError(f"{file.name}: the data of {place.length} bytes is not there any more")
    return data
