"""Log records: their form, their kinds, and how a reader knows where the log ends.

Rules
  L1  A record is a header and a body. The header carries the record's own RBA and the epoch, a number that rises
      with every start of the queue manager. A record is good when its checksum holds, its RBA is where it was
      read, and its epoch is not older than that of the record before it. It rises above that of the last record,
      whatever the bootstrap data set knows.
  L2  The log ends at the first record that is not good. Bytes behind it, left by an earlier use of the data set
      or by a write whose beginning was lost, fail L1: the former by RBA, the latter by epoch once something
      newer has been written in front of them.
  L3  Records of one unit of recovery are chained backwards by `previous`; a unit's id (URID) is the RBA of its
      first record. That first record is flagged FIRST and ends with the unit's identity.
  L4  A compensation record names in `body` what is undone and in its first eight bytes the record to undo next,
      so undoing is never undone and a backout that was cut goes on where it stopped.
  L5  The flag ALLOCATES says that the record also takes its page in the space map.
  L6  An identity has sixteen bytes of the user's name. What a longer one has more stands behind it, with its length,
      and the record is flagged LONG_USER: short names cost nothing, and logs from before there was the flag are read as
      they are. Nobody has a name of more than 255 bytes (CM7).

Called by log, recovery, the log printer.  Calls nothing.
"""

import struct
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

from google_crc32c import extend as checksum_on
from google_crc32c import value as checksum_of

HEADER: Final = struct.Struct(">IIQQQIIHBB")
"""checksum, length, rba, urid, previous, page, epoch, page set, kind, flags"""

pack_checked: Final = struct.Struct(">IQQQIIHBB").pack
"""The same without the checksum, which is of all that follows it."""

pack_sum: Final = struct.Struct(">I").pack
HEADER_LENGTH: Final = HEADER.size
CLAIM_LENGTH: Final = 16
"""As much of a header as says how long its record is, and whose RBA it has."""

RECORD_MAX: Final = 1 << 18
FIRST: Final = 1
ALLOCATES: Final = 2
LONG_USER: Final = 4


class Kind(IntEnum):
    """What a record says: 1-19 change a page, 20-29 move a unit of recovery, 30-39 tell of shared queues, 40 and up
    serve restart.
    """

    INSERT = 1  # a message (or object) into a page; starts the page when it is the first there
    DELETE = 2  # a message is logically deleted
    UNDELETE = 3  # a deleted message is there again, with its backout count
    TEXT = 4  # a page of text or references of a long message
    FREE = 5  # pages are no longer used: states in one space map page
    CHAIN = 6  # a page points to the next of its subqueue
    HEADER = 7  # page 0 of a page set
    FORMAT_MAP = 8  # an empty space map page
    IMAGE = 9  # a whole page, before it is written over its old self; `previous`: no change before that RBA is missing
    START = 10  # an empty page for messages

    COMMIT = 20  # the unit has committed: the moment of truth
    PREPARED = 21  # end of phase 1: in doubt
    BEGIN_BACKOUT = 22
    END_BACKOUT = 23
    COMPENSATION = 24  # a change that undoes an earlier one
    SHUNTED = 25  # what is needed to undo an old record, again

    SHARED_PUT = 30  # a persistent message to a shared queue, with its data
    SHARED_GET = 31  # a persistent message was got from a shared queue
    SHARED_DATA = 33  # data of a message to a shared queue that is too long for one record; comes before its put
    SHARED_UNIT = 32  # a unit that is about to be in doubt or to commit has work in structures, under this name

    CHECKPOINT = 40
    TRUNCATED = 41  # the rest of an active log that is archived before it is full
    BACKUP_DATA = 43  # data of an entry that is too long for one record; comes before the entry
    BACKUP = 42  # part of a backup of a structure: an entry that was on it
    CHECKPOINT_DATA = 45  # part of a checkpoint that is too long for one record; comes before it
    FILLER = 44  # nothing: the log is to take as much space as the paper's product needs


class LogRecord(NamedTuple):
    """A record as read back from the log."""

    rba: int
    kind: int
    flags: int
    urid: int
    previous: int
    page_set: int
    page: int
    epoch: int
    length: int
    body: bytes  # without the identity of a FIRST record
    identity: bytes = b""  # of a FIRST record

    @property
    def end(self) -> int:
        return self.rba + self.length


class Identity(NamedTuple):
    """Who a unit of recovery works for (L3)."""

    connection: str = ""
    user: str = ""
    thread: str = ""
    started_us: int = 0


_IDENTITY = struct.Struct(">16s16s32sQ")
_NAMES = struct.Struct(">16s16s32s")
IDENTITY_LENGTH: Final = _IDENTITY.size
USER_MAX: Final = 255
"""Bytes of a user's name (L6)."""


def pack_identity(identity: Identity) -> tuple[int, bytes]:
    """The flags of a first record, and what it ends with (L3, L6)."""
    connection, user, thread, started_us = identity
    flags, names, rest = _pack_names(connection, user, thread)
    return flags, names + started_us.to_bytes(8, "big") + rest


@lru_cache(1024)
def _pack_names(connection: str, user: str, thread: str) -> tuple[int, bytes, bytes]:
    """An application's part of the identity, the same in all its units: what stands before the time and behind it."""
    whole = user.encode()
    names, rest = _NAMES.pack(connection.encode()[:16], whole[:16], thread.encode()[:32]), whole[16:]
    return (FIRST | LONG_USER, names, rest + bytes((len(rest),))) if rest else (FIRST, names, b"")


def unpack_identity(packed: bytes) -> Identity:
    """What `pack_identity` packed; of a longer one the rest of the user's name is behind it (L6)."""
    connection, user, thread, started_us = _IDENTITY.unpack_from(packed)
    rest = packed[IDENTITY_LENGTH:-1] if len(packed) > IDENTITY_LENGTH else b""  # mypyc cuts no piece of less than none
    user = user + rest if rest else user.rstrip(b"\0")
    connection, thread = connection.rstrip(b"\0"), thread.rstrip(b"\0")
    connection, user, thread = (name.decode("utf-8", "replace") for name in (connection, user, thread))
    return Identity(connection, user, thread, started_us)


PageChange = tuple[int, bytes, bytes]
"""A page and the body of its change, in two parts."""


def pack_run(
    kind: int,
    flags: int,
    urid: int,
    previous: int,
    page_set: int,
    changes: Iterable[PageChange],
    start: int,
    stop: int,
    epoch: int,
) -> tuple[list[int], bytes]:
    """Records of one unit from RBA `start` on, as many of the changes as end before `stop`.

    Gives their RBAs and, in one piece, the bytes that they are one by one; each is the next one's `previous`.
    """
    parts: list[bytes] = []
    rbas: list[int] = []
    rba = start
    for page, head, tail in changes:
        length = HEADER_LENGTH + len(head) + len(tail)
        if rba + length > stop:
            break
        header = pack_checked(length, rba, urid, previous, page, epoch, page_set, kind, flags) + head
        parts += (pack_sum(checksum_on(checksum_of(header), tail)), header, tail)
        rbas.append(rba)
        previous = rba
        rba += length
    return rbas, b"".join(parts)


def record_length(header: bytes | bytearray) -> int:
    """The length a header claims; 0 when it cannot be one."""
    length = int.from_bytes(header[4:8], "big")
    return length if HEADER_LENGTH <= length <= RECORD_MAX else 0


def claimed_length(beginning: bytes, rba: int) -> int:
    """The length of the record that begins so at an RBA; 0 when it is none, whatever a former one there claims (L2)."""
    return record_length(beginning) if int.from_bytes(beginning[8:CLAIM_LENGTH], "big") == rba else 0


def parse(raw: bytes, rba: int, epoch: int = 0) -> LogRecord | None:
    """The record in `raw`, or None when it is not a good one (L1)."""
    checksum, length, own_rba, urid, previous, page, own_epoch, page_set, kind, flags = HEADER.unpack_from(raw)
    if own_rba != rba or own_epoch < epoch or length != len(raw) or checksum_of(raw[4:]) != checksum:
        return None
    if not flags & FIRST:
        return LogRecord(rba, kind, flags, urid, previous, page_set, page, own_epoch, length, raw[HEADER_LENGTH:])
    end = length - IDENTITY_LENGTH
    if flags & LONG_USER:
        end -= 1 + raw[-1]
    body, identity = raw[HEADER_LENGTH:end], raw[end:]
    return LogRecord(rba, kind, flags, rba, previous, page_set, page, own_epoch, length, body, identity)
