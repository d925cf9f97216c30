"""The log stream: one log that several processes append to, and that each of them can read to its end.

Rules
  LG1 A record is a header and a body. Its checksum is taken over the checksum of the record before it, so what an
      interrupted append left behind never follows a record that was written over its beginning. What is not good is
      the end of the log: so nothing is appended that nobody could read, and a segment that others follow, or that was
      read further before, is damaged.
  LG2 Records are appended one at a time (`exclusive`): whoever appends first reads what others have appended since he
      last looked, shows it to `admit`, and appends behind it or, when that refuses, not at all.
  LG3 A record is durable when `force` returns; one force makes everything durable that was appended before it. Whoever
      acts on what others appended forces it first: the writer may have been killed before he did.
  LG4 The stream is kept in segments named by their first RBA. A full segment is synced before the next one begins; a
      segment goes when all of it lies before the RBA from which records are still needed.

Called by the common queue server's merged log.  Calls disk.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from quaestor.mqi.reasons import Abend
from quaestor.storage.disk import File, SharedDisk

_HEADER = struct.Struct(">IIQQ8sB")  # checksum, length, RBA, incarnation, member, kind
_SEGMENT = struct.Struct(">8sQI")  # mark, first RBA, checksum of the record before
_MARK = b"QLOGSTRM"
_READ = 1 << 20
RECORD_MAX = 64 << 20
FIRST_RBA = 1


class RecordTooLongError(Exception):
    """More than a record can hold; nothing was appended (LG1)."""


class StreamRecord(NamedTuple):
    """A record as it is read."""

    rba: int
    incarnation: int
    member: str
    kind: int
    body: bytes
    end: int


Admit = Callable[[list[StreamRecord]], None]


class _Segment:
    """One file of the stream, and how far it has been read."""

    def __init__(self, file: File, start: int, chain: int) -> None:
        self.file, self.start = file, start
        self.end, self.chain = start, chain

    def records(self) -> Iterator[StreamRecord]:
        """The good records behind those that were read (LG1)."""
        held, at = b"", self.end
        while True:
            need = _HEADER.size
            if len(held) >= need:
                need = int.from_bytes(held[4:8], "big")
                if not _HEADER.size <= need <= RECORD_MAX:
                    return
            if len(held) < need:
                more = self.file.read(_SEGMENT.size + at + len(held) - self.start, max(_READ, need - len(held)))
                if not more:
                    return
                held += more
                continue
            record = self._parsed(held[:need])
            if record is None:
                return
            self.end, self.chain = record.end, int.from_bytes(held[:4], "big")
            held, at = held[need:], record.end
            yield record

    def _parsed(self, raw: bytes) -> StreamRecord | None:
        checksum, _, rba, incarnation, member, kind = _HEADER.unpack_from(raw)
        if rba != self.end or checksum != crc32(raw[4:], self.chain):
            return None
        return StreamRecord(rba, incarnation, member.rstrip(b"\0").decode(), kind, raw[_HEADER.size :], rba + len(raw))

    def write(self, member: str, incarnation: int, kind: int, body: bytes) -> int:
        """Append a record; gives its RBA."""
        length = _HEADER.size + len(body)
        rest = _HEADER.pack(0, length, self.end, incarnation, member.encode(), kind)[4:] + body
        checksum = crc32(rest, self.chain)
        rba = self.end
        self.file.write(_SEGMENT.size + rba - self.start, checksum.to_bytes(4, "big") + rest)
        self.end, self.chain = rba + length, checksum
        return rba


class LogStream:
    """A log stream in a directory that others use too (LG1-LG4)."""

    def __init__(self, disk: SharedDisk, name: str, segment_bytes: int = 16 << 20) -> None:
        self._disk, self._name, self._segment_bytes = disk, name, segment_bytes
        with self._alone():
            starts = self._starts()
            self._current = self._opened(starts[-1]) if starts else self._begun(FIRST_RBA, 0)
            self._catch_up()

    @property
    def first(self) -> int:
        """The RBA of the first record that is kept."""
        return self._starts()[0]

    @property
    def end(self) -> int:
        """The RBA behind the last record that was seen here."""
        return self._current.end

    def append(self, member: str, incarnation: int, kind: int, body: bytes, admit: Admit) -> StreamRecord:
        """Append a record behind what others have appended, unless `admit` raises (LG2)."""
        with self._alone():
            admit(self._catch_up())
            if _HEADER.size + len(body) > RECORD_MAX:
                raise RecordTooLongError(f"{len(body)} bytes of {RECORD_MAX - _HEADER.size}")
            if self._current.end - self._current.start >= self._segment_bytes:
                self._switch()
            rba = self._current.write(member, incarnation, kind, body)
            return StreamRecord(rba, incarnation, member, kind, body, self._current.end)

    def look(self, admit: Admit) -> None:
        """See what others have appended."""
        with self.held(admit):
            return

    @contextmanager
    def held(self, admit: Admit) -> Iterator[None]:
        """Nobody appends while the block runs; others have appended nothing that `admit` refuses (LG2)."""
        with self._alone():
            admit(self._catch_up())
            yield

    def force(self) -> None:
        """Make durable what has been appended (LG3); earlier segments are so already (LG4)."""
        self._current.file.sync()

    def read(self, rba: int) -> Iterator[StreamRecord]:
        """Records from `rba` to the end as it is now, durable (LG3)."""
        with self._alone():
            self._catch_up()
            self.force()
            end, starts = self._current.end, self._starts()
        if rba < starts[0]:
            raise Abend("LG4", "the log begins behind the record that is needed", needed=rba, first=starts[0])
        for at, start in enumerate(starts):
            if at + 1 < len(starts) and starts[at + 1] <= rba:
                continue
            segment = self._opened(start)
            try:
                yield from (record for record in segment.records() if rba <= record.rba < end)
            finally:
                segment.file.close()
            whole = starts[at + 1] if at + 1 < len(starts) else end
            if segment.end < whole:
                raise Abend("LG1", "the log is damaged", segment=self._file_of(start), good_to=segment.end, end=whole)

    def trim(self, needed: int) -> list[str]:
        """Delete segments that lie wholly before `needed` (LG4)."""
        with self._alone():
            starts = self._starts()
            gone = [self._file_of(start) for start, following in pairwise(starts) if following <= needed]
            for name in gone:
                self._disk.delete(name)
        return gone

    def close(self) -> None:
        self._current.file.close()

    def _alone(self) -> AbstractContextManager[None]:
        return self._disk.exclusive(f"{self._name}.lock")

    def _catch_up(self) -> list[StreamRecord]:
        """What has been appended since the last look, over the ends of segments; nothing of it may be missed (LG2)."""
        if not self._disk.exists(self._file_of(self._current.start)):
            raise Abend("LG4", "the log was trimmed behind what was seen here: start again", seen=self._current.end)
        found = list(self._current.records())
        while self._disk.exists(self._file_of(self._current.end)) and self._current.end != self._current.start:
            following = self._headed(self._current.end)
            if following is None:
                break
            self._current.file.close()
            self._current = following
            found += self._current.records()
        return found

    def _switch(self) -> None:
        """Begin the next segment when the last one is durable (LG4)."""
        self._current.file.sync()
        following = self._begun(self._current.end, self._current.chain)
        self._current.file.close()
        self._current = following

    def _begun(self, start: int, chain: int) -> _Segment:
        name = self._file_of(start)
        if self._disk.exists(name):
            self._disk.delete(name)  # its beginning was cut off: nobody has written behind it
        file = self._disk.create(name, 0)
        file.write(0, _SEGMENT.pack(_MARK, start, chain))
        file.sync()
        return _Segment(file, start, chain)

    def _headed(self, start: int) -> _Segment | None:
        """A segment whose beginning is whole."""
        file = self._disk.open(self._file_of(start))
        head = file.read(0, _SEGMENT.size)
        if len(head) == _SEGMENT.size:
            mark, first, chain = _SEGMENT.unpack(head)
            if (mark, first) == (_MARK, start):
                return _Segment(file, start, chain)
        file.close()
        return None

    def _opened(self, start: int) -> _Segment:
        found = self._headed(start)
        if found is None:
            raise Abend("LG4", "a segment of the log has no beginning", segment=self._file_of(start))
        return found

    def _starts(self) -> list[int]:
        """First RBAs of the segments that have a beginning."""
        prefix = f"{self._name}-"
        starts = [int(name.removeprefix(prefix), 16) for name in self._disk.names(prefix)]
        if starts:
            last = self._headed(starts[-1])
            if last is None:
                return starts[:-1]
            last.file.close()
        return starts

    def _file_of(self, rba: int) -> str:
        return f"{self._name}-{rba:016x}"
