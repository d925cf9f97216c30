"""Archiving: a full active log becomes an archive, all of whose records are good.

Rules
  AR1 Every record is looked at as who reads it back will look at it (L1): checksum, RBA, epoch. It is taken from the
      first source that has it good, a copy of the active log or what begins in an archive (F7); a copy that cannot be
      read there has not.
  AR2 A record that no copy has good is never archived as if it were: the archive is given up and the log is named
      (`DamagedLogError`).
  AR3 It is made in pieces, so that nobody waits for a whole one. The log is not written meanwhile. A piece is
      durable when it is done; an archive counts when the bootstrap data set knows of it.
  AR4 A record may begin in one data set and end in the next. The one that ends in this range is looked at from its
      beginning, where the log still has that; damage there keeps both from being archived. Where the log has it not,
      nobody can read the rest of it either: the first place where a record claims to be is the first to be looked at.

Called by log_files.  Calls disk, log_record.
"""

import errno
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from google_crc32c import value as checksum_of

from quaestor.storage.disk import Disk
from quaestor.storage.log_record import HEADER_LENGTH, RECORD_MAX, parse, record_length

PIECE: Final = 1 << 18
CLAIM_AT: Final = 8
"""Where a record's header has its RBA."""

SAME_HIGH: Final = 1 << 16
"""RBAs that differ in their last two bytes only."""

LOOKED_BACK: Final = (1 << 12, 1 << 14, 1 << 16, RECORD_MAX)
"""How far before the range its first record is looked for, a little first."""

_CHECKED = struct.Struct(">IIQ20xI")
"""checksum, length, rba, epoch: what is looked at of a header"""

Read = Callable[[int, int, int], bytes]
"""Log bytes from an RBA on, so many, of a source; fewer where it has no more."""


class DamagedLogError(OSError):
    """No copy of an active log has this record good (AR2)."""

    def __init__(self, rba: int) -> None:
        super().__init__(errno.EIO, f"the log is damaged at RBA {rba:012X}")
        self.rba = rba


class Archiving:
    """One archive that is being made (AR1-AR4)."""

    def __init__(self, disk: Disk, name: str, start: int, size: int, sources: range, read: Read) -> None:
        self._disk, self.name, self.start, self.end = disk, name, start, start + size
        self._sources, self._read = sources, read
        self.from_other_copy: list[int] = []
        """RBAs of records that the first copy has not good."""

        self._rba, self._epoch = self._first(), 0
        if disk.exists(name):
            disk.delete(name)  # left by a cut before the inventory knew of it
        self._file = disk.create(name, 0)

    def piece(self) -> bool:
        """Make the next piece; False when the archive is complete (AR3)."""
        begin = self._rba
        data, self._rba = self._good_records(begin, min(begin + PIECE, self.end))
        kept = memoryview(data)[max(self.start - begin, 0) : min(self._rba, self.end) - begin]
        self._file.write(max(begin, self.start) - self.start, kept)
        self._file.sync()
        if self._rba < self.end:
            return True
        self._file.close()
        return False

    def give_up(self) -> None:
        """Leave nothing of it: space is what it may have failed for."""
        self._file.close()
        with suppress(OSError):
            self._disk.delete(self.name)

    def _good_records(self, rba: int, stop: int) -> tuple[bytes | bytearray, int]:
        """The records from one RBA up to another, whole, and where they end (AR1)."""
        begin, epoch, unpack = rba, self._epoch, _CHECKED.unpack_from
        raw: bytes | bytearray = self._read(begin, PIECE + RECORD_MAX, 0).ljust(PIECE + RECORD_MAX, b"\0")
        while rba < stop:
            at = rba - begin
            checksum, length, own_rba, own_epoch = unpack(raw, at)
            if (
                own_rba != rba
                or own_epoch < epoch
                or not HEADER_LENGTH <= length <= RECORD_MAX
                or checksum_of(bytes(raw[at + 4 : at + length])) != checksum
            ):
                good = self._other_copy(rba, epoch)
                length, own_epoch = len(good), unpack(good)[3]
                raw = bytearray(raw)
                raw[at : at + length] = good
            epoch = own_epoch
            rba += length
        self._epoch = epoch
        return raw, rba

    def _other_copy(self, rba: int, epoch: int) -> bytes:
        """A record that the first copy has not good (AR1, AR2)."""
        for source in self._sources[1:]:
            good = self._record(rba, source, epoch)
            if good:
                self.from_other_copy.append(rba)
                return good
        raise DamagedLogError(rba)

    def _record(self, rba: int, source: int, epoch: int) -> bytes:
        """The record at an RBA as a source has it; nothing when it is not good."""
        length = record_length(self._read(rba, HEADER_LENGTH, source))
        raw = self._read(rba, length, source) if length else b""
        return raw if len(raw) == length and raw and parse(raw, rba, epoch) else b""

    # --- where records begin (AR4) ------------------------------------------------------------------------------------

    def _first(self) -> int:
        """The RBA of the last record that begins before the range, or else of the first that claims to be in it."""
        before = max(map(self._last_claim, self._sources))
        if before:
            return before
        claims = [claim for source in self._sources if (claim := self._first_claim(source)) is not None]
        if not claims:
            raise DamagedLogError(self.start)
        return min(claims)

    def _last_claim(self, source: int) -> int:
        """The last RBA before the range at which a record claims to begin; 0 where none does, or the log has it not."""
        for span in LOOKED_BACK:
            low = self.start - span
            raw = self._read(low, span, source) if low > 0 else b""
            if len(raw) < span:
                return 0
            raw += self._read(self.start, HEADER_LENGTH, source)
            last = max((rba for rba in _claims(raw, low) if rba < self.start), default=0)
            if last:
                return last
        return 0

    def _first_claim(self, source: int) -> int | None:
        raw = self._read(self.start, RECORD_MAX + HEADER_LENGTH, source)
        return next(_claims(raw, self.start), None)


def _claims(raw: bytes, low: int) -> Iterator[int]:
    """Every RBA, ascending, at which these bytes have a header's claim to be there; they begin at RBA `low`."""
    for base in range(low - low % SAME_HIGH, low + len(raw), SAME_HIGH):
        high = base.to_bytes(8, "big")[:6]
        end = base + SAME_HIGH - low + CLAIM_AT + len(high)
        at = raw.find(high, max(base - low, 0) + CLAIM_AT, end)
        while at >= 0:
            rba = low + at - CLAIM_AT
            if raw[at : at + 8] == rba.to_bytes(8, "big"):
                yield rba
            at = raw.find(high, at + 1, end)
