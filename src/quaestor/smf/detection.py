"""Which framing a dump has, what can be an SMF record, and where the next one begins.

Rules
  D1  A record begins where an RDW is followed by an SMF header that can be true: segment code 0 or 1, reserved byte
      zero, a packed local date with valid digits, a time of day before midnight. An RDW alone proves nothing: a false
      chain soon falls onto the true one.
  D2  Framing is told by where the first header stands: at 0 (RDW), behind a block descriptor (BDW + RDW), or four
      bytes early (RDW-stripped).
  D3  After damage the next record is searched byte by byte, vectorised; it must be followed by another RDW or the end,
      and not be older than SMF is: where a small number stands before a block, the two can make a date of 1900.
  D4  A dump in which no header is found is refused with the likeliest reason: all zero, packed, text, or translated.

Called by framing, splitting.  Calls nothing.
"""

import struct
from enum import Enum

import numpy as np
from numpy.typing import NDArray

LARGEST_SEGMENT = 32767
SMALLEST_RECORD = 18
STRIPPED = 4  # bytes missing before the header when RDWs were dropped in transfer
_END_OF_DAY = 8_640_000
_OLDEST_YEAR = 0x60  # of the last century, packed
_IN_ASCII = (b"QMST", b"QPST", b"QJST", b"WTAS", b"WTID", b"WQST")  # eye-catchers, as a transfer in text leaves them
_PACKED = {
    b"\x1f\x8b": "with gzip twice",  # once is unpacked before this is asked
    b"\x1f\x9d": "with compress",
    b"PK\x03\x04": "with zip",
    b"BZh": "with bzip2",
    b"\xfd7zXZ\0": "with xz",
    b"\x28\xb5\x2f\xfd": "with Zstandard",
}
_TERSED = struct.Struct(">BBH4xI")
_PACK, _SPACK = 2, 5
_CONTROLS = bytes(sorted({*range(0x20), 0x7F} - set(b"\t\n\v\f\r")))
_BCD = frozenset(high << 4 | low for high in range(10) for low in range(10))


class Framing(Enum):
    """How the records of a dump are held apart."""

    RDW = "RDW"
    BDW = "BDW+RDW"
    STRIPPED = "RDW-stripped"


class UnusableDumpError(Exception):
    """Nothing can be read from this dump; the text says why."""


def reason_of(error: OSError) -> str:
    """Why a dump cannot be opened or read, in few words; its name is told by who knows it."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "is a directory"
    return error.strerror or str(error)


def true_headers(data: bytearray, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """`is_header` for many records at once; each must have 18 bytes."""
    window = np.frombuffer(data, dtype=np.uint8)
    century, year, days, last = (window[offsets + byte].astype(np.int32) for byte in (10, 11, 12, 13))
    good: NDArray[np.bool_] = (century < 2) & (last & 0x0F == 0x0F)
    for digits in (year, days, last & 0xF0):
        good &= ((digits & 0x0F) < 10) & ((digits >> 4) < 10)
    day = (days >> 4) * 100 + (days & 0x0F) * 10 + (last >> 4)
    time = sum(window[offsets + 6 + byte].astype(np.int64) << 8 * (3 - byte) for byte in range(4))
    good &= (day >= 1) & (day <= 366) & (time < _END_OF_DAY)
    return good


def is_header(data: bytes | bytearray, at: int) -> bool:
    """Whether the header that belongs to a record beginning at `at` can be true; the RDW is not looked at (D1)."""
    if len(data) < at + SMALLEST_RECORD:
        return False
    century, year, days, last = data[at + 10 : at + 14]
    if century > 1 or year not in _BCD or days not in _BCD or last & 0x0F != 0x0F or last >> 4 > 9:
        return False
    day_of_year = (days >> 4) * 100 + (days & 0x0F) * 10 + (last >> 4)
    return 1 <= day_of_year <= 366 and int.from_bytes(data[at + 6 : at + 10], "big") < _END_OF_DAY


def is_record(data: bytes | bytearray, at: int) -> bool:
    """Whether a whole record or a first segment begins at `at` (D1)."""
    if len(data) < at + SMALLEST_RECORD:
        return False
    length = int.from_bytes(data[at : at + 2], "big")
    return (
        SMALLEST_RECORD <= length <= LARGEST_SEGMENT and data[at + 2] < 2 and data[at + 3] == 0 and is_header(data, at)
    )


def is_rdw(data: bytes | bytearray, at: int) -> bool:
    """Whether the four bytes at `at` can be an RDW."""
    return (
        len(data) >= at + 4
        and 4 <= int.from_bytes(data[at : at + 2], "big") <= LARGEST_SEGMENT
        and (data[at + 2] < 4 and data[at + 3] == 0)
    )


def block_length(data: bytes | bytearray, at: int) -> int:
    """The length in the block descriptor at `at`, 0 when it cannot be one; the high bit marks a 31-bit length."""
    word = int.from_bytes(data[at : at + 4], "big")
    length = word & 0x7FFFFFFF if word >> 31 else word >> 16
    return length if length >= 8 and (word >> 31 or word & 0xFFFF == 0) else 0


def is_block(data: bytes | bytearray, at: int) -> bool:
    """Whether a block descriptor stands at `at`, with a record descriptor behind it."""
    return block_length(data, at) > 0 and is_rdw(data, at + 4)


def end_of_records(data: bytes | bytearray, at: int) -> int:
    """Where the records and segments end that follow each other from `at` on."""
    while is_record(data, at) or (is_rdw(data, at) and data[at + 2] > 1):
        at += int.from_bytes(data[at : at + 2], "big")
    return at


def next_record(data: bytes | bytearray, start: int, end: int) -> int:
    """The first offset in [start, end) at which a record begins, -1 when there is none (D3)."""
    step = 1 << 16
    while start < end:
        for at in _candidates(data, start, min(start + step, end)):
            after = at + int.from_bytes(data[at : at + 2], "big")
            if is_record(data, at) and (after >= end - 4 or is_rdw(data, after) or block_length(data, after)):
                return at
        start += step
        step *= 2
    return -1


def _candidates(data: bytes | bytearray, start: int, end: int) -> list[int]:
    """Offsets in [start, end) whose bytes pass the cheap part of D1."""
    window = np.frombuffer(data, dtype=np.uint8)[start : end + SMALLEST_RECORD - 1]
    count = len(window) - SMALLEST_RECORD + 1
    if count <= 0:
        return []
    good = (window[3 : 3 + count] == 0) & (window[2 : 2 + count] < 2) & (window[10 : 10 + count] < 2)
    good &= (window[13 : 13 + count] & 0x0F == 0x0F) & (window[6 : 6 + count] == 0)
    good &= (window[10 : 10 + count] == 1) | (window[11 : 11 + count] >= _OLDEST_YEAR)
    return [start + int(at) for at in np.flatnonzero(good)]


def next_stripped(data: bytes | bytearray, start: int, end: int) -> int:
    """The first offset in [start, end) at which an RDW-stripped MQ record begins, -1 when there is none."""
    types = np.frombuffer(data, dtype=np.uint8)[start + 1 : end + 1]
    for at in np.flatnonzero((types == 115) | (types == 116)).tolist():
        if is_stripped_record(data, start + at):
            return start + int(at)
    return -1


def is_stripped_record(data: bytes | bytearray, at: int) -> bool:
    """Whether an MQ record without its RDW begins at `at`: true date and time, a first triplet in reach."""
    return (
        len(data) >= at + 32
        and data[at + 1] in (115, 116)
        and is_header(data, at - STRIPPED)
        and int.from_bytes(data[at + 24 : at + 28], "big") < LARGEST_SEGMENT * 4
    )


def detect(head: bytes | bytearray) -> tuple[Framing, int]:
    """The framing of a dump and the offset of its first record or block (D2, D4)."""
    if not head:
        raise UnusableDumpError("empty")
    if is_record(head, 0):
        return Framing.RDW, 0
    if block_length(head, 0) and is_record(head, 4):
        return Framing.BDW, 0
    if is_stripped_record(head, 0) or _is_stripped_dump_header(head):
        return Framing.STRIPPED, 0
    found = next_record(head, 0, len(head))
    if found >= 0 and _block_follows(head, found):
        return Framing.BDW, found - 4 if found >= 4 and block_length(head, found - 4) else found
    if found >= 0:
        return Framing.RDW, found
    found = next_stripped(head, 0, len(head))
    if found >= 0:
        return Framing.STRIPPED, found
    raise UnusableDumpError(_why_not(head))


def _block_follows(head: bytes | bytearray, at: int) -> bool:
    """Whether the records from `at` on end at a block descriptor: the one before them was lost."""
    at = end_of_records(head, at)
    return block_length(head, at) > 0 and is_record(head, at + 4)


def _is_stripped_dump_header(head: bytes | bytearray) -> bool:
    """An RDW-stripped dump that begins with the 14 bytes of a type 2 (start of dump) record."""
    return len(head) > 14 and head[1] in (2, 3) and is_stripped_record(head, 14)


def _why_not(head: bytes | bytearray) -> str:
    if not any(head):
        return f"no SMF record: the first {len(head)} bytes are all zero"
    packed = next((how for begin, how in _PACKED.items() if head.startswith(begin)), None)
    if packed or _is_tersed(head):
        return f"no SMF record: packed {packed or 'with AMATERSE'}; unpack it first"
    if len(head) == len(head.translate(None, _CONTROLS)):
        return "no SMF record: this is text"
    begins = len(head) >= 22 and bytes(head[14:22]).isascii() and bytes(head[14:22]).isalnum()
    if begins or any(each in head for each in _IN_ASCII):
        return "no SMF record: names are in ASCII; transfer the dump in binary"
    return f"no SMF record in the first {len(head)} bytes"


def _is_tersed(head: bytes | bytearray) -> bool:
    """A file as AMATERSE leaves it: how it packed, whether records vary, and their length in one place or in both."""
    if len(head) < _TERSED.size:
        return False
    how, varying, short, long = _TERSED.unpack_from(head)
    lengths = {short, long} - {0}
    return how in {_PACK, _SPACK} and varying in {0, 1} and len(lengths) == 1
