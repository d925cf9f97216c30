"""The merged log: one log stream for a structure pair, shared by all servers of the group; it decides who may go on.

Rules
  ML1 What was appended and forced has happened, whatever becomes of the structure.
  ML2 A server that others took for failed is fenced: a FENCED record names its incarnation, and from there on it
      appends nothing. So what its peers completed for it stays complete.
  ML3 A structure that begins anew is named by the RBA of its REBUILD record: what was logged before is in it. Whoever
      works on an earlier one appends nothing until it has connected again.
  ML4 A server whose append or force failed appends nothing more: it has to start again and read what is there.
  ML5 A server that lives and has no way to the structure says so here, where those who have one read it.

Called by pair, restart, rebuild, checkpoint.  Calls storage.log_stream.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from quaestor.cqs.changes import Kind, packed_values, values_of
from quaestor.cqs.refusals import CQSError, Why
from quaestor.storage.disk import SharedDisk
from quaestor.storage.log_stream import LogStream, RecordTooLongError, StreamRecord


class MergedLog:
    """A server's way to the log of its group."""

    def __init__(self, disk: SharedDisk, name: str, member: str, segment_bytes: int = 16 << 20) -> None:
        self._stream = LogStream(disk, f"{name}.log", segment_bytes)
        self.member, self.incarnation = member, 0
        self.generation = 0
        self.begun = 0
        self._rebuilt = 0
        self._fenced = False
        self.lost: set[str] = set()
        """Servers that said since the last rebuild that they have no way to the structure (ML5)."""

    @property
    def end(self) -> int:
        return self._stream.end

    def start(self) -> int:
        """A new incarnation of this server: the RBA of its START record."""
        self._fenced, self.incarnation = False, 0
        self.incarnation = self._stream.append(self.member, 0, Kind.START, b"", self._observe).rba
        self._stream.force()
        return self.incarnation

    def append(self, kind: Kind, body: bytes = b"", *, force: bool = True) -> StreamRecord:
        """Append a record of this server, unless it was fenced or works on what is no more (ML2, ML3)."""
        try:
            record = self._stream.append(self.member, self.incarnation, kind, body, self._admit)
            if force:
                self._stream.force()
        except RecordTooLongError as error:
            raise CQSError(Why.UNIT_TOO_LONG, log=str(error)) from error
        except OSError:
            self._fenced = True  # nobody knows what of it is in the log (ML4)
            raise
        return record

    def fence(self, member: str, incarnation: int) -> StreamRecord:
        """From here on an incarnation of another server, or an earlier one of this, appends nothing (ML2)."""
        return self.append(Kind.FENCED, packed_values(member, incarnation))

    def rebuild(self, *facts: Any) -> int:
        """A structure begins anew (ML3): its RBA."""
        self._stream.look(self._observe)
        self.begun = self._rebuilt
        self.begun = self.append(Kind.REBUILD, packed_values(*facts)).rba
        self._rebuilt = self.begun
        self.lost.clear()
        return self.begun

    def check(self) -> None:
        """Raise what an append would raise."""
        self._stream.look(self._admit)

    def knows(self, begun: int) -> bool:
        """Whether no structure begins anew behind an RBA (ML3)."""
        self._stream.look(self._observe)
        return begun >= self._rebuilt

    def held(self) -> AbstractContextManager[None]:
        """Nobody fences this server, nor makes a structure anew, while a block runs; raises what `check` raises."""
        return self._stream.held(self._admit)

    def has_changes(self) -> bool:
        """Whether any change of messages was ever logged and is kept."""
        return any(record.kind == Kind.CHANGE for record in self._stream.read(self._stream.first))

    def read(self, rba: int) -> Iterator[StreamRecord]:
        return self._stream.read(rba)

    def trim(self, needed: int) -> list[str]:
        return self._stream.trim(needed)

    def close(self) -> None:
        self._stream.close()

    def _admit(self, records: list[StreamRecord]) -> None:
        self._observe(records)
        if self._fenced:
            raise CQSError(Why.FENCED, server=self.member)
        if self.begun < self._rebuilt:
            raise CQSError(Why.REBUILT, rba=self._rebuilt)

    def _observe(self, records: list[StreamRecord]) -> None:
        for record in records:
            if record.kind == Kind.FENCED:
                self._fenced |= values_of(record.body) == [self.member, self.incarnation]
            elif record.kind == Kind.REBUILD:
                self._rebuilt = record.rba
                self.lost.clear()
            elif record.kind == Kind.LOST:
                self.lost.add(record.member)
