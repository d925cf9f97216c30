"""Pages: 4 KB, a header that says what the page is and whose, and a checksum that tells a whole page from a torn one.

Rules
  P1  Every page names itself (page set and page number): a page read from the wrong place is known as such.
  P2  The checksum covers the whole page and is made when the page is written; a page of zeros was never written. Page 0
      and the space map pages (T1) are written when there is anything behind them: for them zeros are damage.
  P3  The RBA in the header is that of the last log record applied to the page. In memory it lives in the frame and
      is stamped into the page when it is written.
  P4  A message page holds records one after the other from the header on; a record's first byte is its state.
  P5  A page is 4 KB when it is written, whatever was done to it: one that is not would damage its neighbours.

Called by changes, page_set, buffer, data, checker.  Calls nothing but for the word Abend.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from google_crc32c import value as checksum_of

from quaestor.mqi.reasons import Abend

PAGE: Final = 4096
HEADER: Final = struct.Struct(">IBBHQIIIBBH")
"""checksum, kind, records, end of records, rba, page, queue id, next page, page set, subqueue, (reserved)"""

BEHIND_CHECKSUM: Final = struct.Struct(">BBHQIIIBBH")
"""The same without the checksum."""

HEADER_LENGTH: Final = HEADER.size
ROOM: Final = PAGE - HEADER_LENGTH
MAP_OF_FIRST_SPAN: Final = 1
RBA_AT, NEXT_AT, RECORDS_AT = 8, 24, 5

UNWRITTEN, PAGE_SET_HEADER, SPACE_MAP, MESSAGES, TEXT, VOLATILE = range(6)
KIND_NAMES = ("unwritten", "page set header", "space map", "messages", "text", "non-persistent messages")

RECORD: Final = struct.Struct(">BBHHHIIQ")
"""state, form, backout count, stored length, descriptor length, body length, text pages, sequence"""

RECORD_LENGTH: Final = RECORD.size
LIVE: Final = 0
DELETED: Final = 1
SHORT: Final = 0
LONG: Final = 1
VERY_LONG: Final = 2
"""Forms: body in the record; record lists the text pages; record lists pages that list the text pages."""

_RBA = struct.Struct(">Q")
_SUM = struct.Struct(">I")


class PageHeader(NamedTuple):
    """A page's header, unpacked."""

    checksum: int
    kind: int
    records: int
    end: int
    rba: int
    page: int
    queue_id: int
    next_page: int
    page_set: int
    subqueue: int
    reserved: int


class StoredRecord(NamedTuple):
    """A message record in a page, unpacked; `at` is where it begins (P4)."""

    at: int
    state: int
    form: int
    backout_count: int
    stored_length: int
    descriptor_length: int
    body_length: int
    text_pages: int
    sequence: int


def header_of(data: bytes | bytearray) -> PageHeader:
    return PageHeader(*HEADER.unpack_from(data))


def records_of(data: bytes | bytearray) -> Iterator[StoredRecord]:
    """The records of a message page in order (P4)."""
    at = HEADER_LENGTH
    for _ in range(data[RECORDS_AT]):
        record = StoredRecord(at, *RECORD.unpack_from(data, at))
        yield record
        at += record.stored_length


def _checksum(data: bytes | bytearray) -> int:
    """Of the whole page but the checksum itself; of a copy, for it is taken of what cannot change meanwhile."""
    return int(checksum_of(bytes(memoryview(data)[4:])))


def seal(data: bytearray, rba: int) -> None:
    """Stamp RBA and checksum into a page that is about to be written (P2, P3, P5)."""
    if len(data) != PAGE:
        raise Abend("P5", "a page has grown beyond its size and would be written over the next", bytes=len(data))
    _RBA.pack_into(data, RBA_AT, rba)
    _SUM.pack_into(data, 0, checksum_of(bytes(memoryview(data)[4:])))  # as `_checksum`


def sealed(content: bytes) -> bytes:
    """A page to be written: what stands behind its checksum, RBA included, and zeros from there on (P2, P5)."""
    if len(content) > PAGE - 4:
        raise Abend("P5", "a page has grown beyond its size and would be written over the next", bytes=len(content) + 4)
    content = content.ljust(PAGE - 4, b"\0")
    return _SUM.pack(checksum_of(content)) + content


def is_whole(data: bytes | bytearray, page_set: int, page: int) -> bool:
    """Whether a page as read is one that was written here, or need never have been (P1, P2)."""
    if len(data) < PAGE:
        return False
    checksum, kind, _, _, _, own_page, _, _, own_page_set, _, _ = HEADER.unpack_from(data)
    if kind == UNWRITTEN:
        return page > MAP_OF_FIRST_SPAN and page % ROOM != 0 and not any(data)
    return own_page == page and own_page_set == page_set and _checksum(data) == int(checksum)
