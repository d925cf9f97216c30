"""Overlay: a disk that reads another's files and keeps every change in memory, so that looking changes nothing.

Rules
  OV1 The disk below is only read. What is written, created or deleted here is seen here and nowhere else.
  OV2 A change is kept as the blocks of 4 KB that it touches, so memory grows with what a restart changes, not with
      the files.
  OV3 Ownership is the owner's: an overlay takes none, and what it sees of files in use may be torn.

Called by `quaestor check`.  Calls disk.
"""

from collections.abc import Sequence

from quaestor.storage.disk import Disk, File, Request, outcome

BLOCK = 4096
Bytes = bytes | bytearray | memoryview


class OverlayFile:
    """One file as changed here (OV1, OV2)."""

    def __init__(self, name: str, below: File | None, size: int) -> None:
        self.name = name
        self._below, self._size = below, size
        self._blocks: dict[int, bytearray] = {}

    def _original(self, number: int) -> bytes:
        found = self._below.read(number * BLOCK, BLOCK) if self._below is not None else b""
        return found.ljust(BLOCK, b"\0")

    def read(self, offset: int, size: int) -> bytes:
        size = max(0, min(size, self._size - offset))
        first, last = offset // BLOCK, (offset + size - 1) // BLOCK
        if self._below is not None and not any(number in self._blocks for number in range(first, last + 1)):
            return self._below.read(offset, size).ljust(size, b"\0")
        blocks = b"".join(self._blocks.get(number) or self._original(number) for number in range(first, last + 1))
        return blocks[offset - first * BLOCK :][:size]

    def write(self, offset: int, data: Bytes) -> None:
        self._size = max(self._size, offset + len(data))
        view = memoryview(data)
        while view:
            number, at = divmod(offset, BLOCK)
            if number not in self._blocks:
                self._blocks[number] = bytearray(self._original(number))
            part = view[: BLOCK - at]
            self._blocks[number][at : at + len(part)] = part
            offset, view = offset + len(part), view[len(part) :]

    def write_many(self, offset: int, parts: Sequence[Bytes]) -> None:
        self.write(offset, b"".join(parts))

    def write_through(self, offset: int, data: Bytes) -> None:
        self.write(offset, data)

    write_soon = write_through

    def sync_written(self) -> None:
        """See `sync`."""

    def start_write_through(self, _offset: int, _data: memoryview) -> None:
        """Nothing here takes time."""

    def extend(self, size: int) -> None:
        self._size = max(self._size, size)

    def sync(self) -> None:
        """Nothing here is durable."""

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        """What was changed stays for who opens the file again."""


class OverlayDisk:
    """A disk over another (OV1-OV3)."""

    def __init__(self, below: Disk) -> None:
        self._below = below
        self._files: dict[str, OverlayFile | None] = {}

    def create(self, name: str, size: int) -> OverlayFile:
        if self.exists(name):
            raise FileExistsError(name)
        file = self._files[name] = OverlayFile(name, None, size)
        return file

    def open(self, name: str) -> OverlayFile:
        if name not in self._files:
            below = self._below.open(name)
            self._files[name] = OverlayFile(name, below, below.size())
        file = self._files[name]
        if file is None:
            raise FileNotFoundError(name)
        return file

    def exists(self, name: str) -> bool:
        return self._files[name] is not None if name in self._files else self._below.exists(name)

    def names(self, prefix: str = "") -> list[str]:
        found = {*self._below.names(prefix), *(name for name in self._files if name.startswith(prefix))}
        return sorted(name for name in found if self.exists(name))

    def delete(self, name: str) -> None:
        self.open(name)
        self._files[name] = None

    def rename(self, name: str, to: str) -> None:
        file = self.open(name)
        file.name = to
        self._files[to], self._files[name] = file, None

    def together(self, requests: Sequence[Request]) -> list[OSError | None]:
        return [outcome(request) for request in requests]

    def announce(self) -> None:
        """See `start_write_through`."""

    def own(self) -> None:
        """Not ours to own (OV3)."""

    def disown(self) -> None:
        """See `own`."""
