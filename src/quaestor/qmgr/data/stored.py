"""How a message lies in pages: short, long and very long.

Rules
  Z1  A short message is one record in a page: record header, packed descriptor, body.
  Z2  A long message's record has, in place of the body, the numbers of the text pages that hold it; a very long
      one's the numbers of reference pages that hold those numbers. Traversing a queue costs the same for all.
  Z3  Text and reference pages are logged and taken before the record that refers to them; they are given back before
      or with it. So a text page is taken if and only if a record refers to it, or its unit has not ended.

Called by the data manager and its loader.  Calls page, changes.
"""

import struct
from array import array
from collections.abc import Callable, Iterator

from quaestor.mqi.messages import HEADER as MESSAGE
from quaestor.mqi.messages import HEADER_LENGTH as MESSAGE_LENGTH
from quaestor.mqi.messages import Message, unpack
from quaestor.storage.changes import INSERTION, STARTS
from quaestor.storage.page import (
    HEADER_LENGTH,
    LIVE,
    LONG,
    RECORD,
    RECORD_LENGTH,
    ROOM,
    SHORT,
    VERY_LONG,
    StoredRecord,
)

REFERENCES = ROOM // 4
PageReader = Callable[[int], bytes | bytearray]
Parts = tuple[bytes, ...]
BEGINNING = struct.Struct(INSERTION.format + RECORD.format[1:] + MESSAGE.format[1:])
"""Of the change that begins a page with a short message: the change's own head, the record's, the message's."""


def short_record(message: Message, packed: bytes, sequence: int, reserve: int = 0) -> Parts:
    """The record of a short message (Z1), at least `reserve` bytes longer than its body, in parts to be joined once."""
    body = message.body
    length = RECORD_LENGTH + len(packed) + len(body)
    padding = len(body) + reserve - length
    if padding <= 0:
        return RECORD.pack(LIVE, SHORT, 0, length, len(packed), len(body), 0, sequence), packed, body
    header = RECORD.pack(LIVE, SHORT, 0, length + padding, len(packed), len(body), 0, sequence)
    return header, packed, body, bytes(padding)


def short_beginning(queue_id: int, subqueue: int, message: Message, sequence: int) -> bytes:
    """The change that begins a page with a short message (Z1): INSERTION, `short_record` and `pack` at once."""
    body, envelope, msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, _, _ = message
    packed, length = envelope.packed(), len(body)
    described = len(packed)
    header = MESSAGE_LENGTH + described
    head = BEGINNING.pack(
        queue_id, subqueue | STARTS, 0, HEADER_LENGTH,
        LIVE, SHORT, 0, RECORD_LENGTH + header + length, header, length, 0, sequence,
        msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, described,
    )  # fmt: skip
    return b"".join((head, packed, body))


def fits_in_page(message: Message, packed: bytes) -> bool:
    return RECORD_LENGTH + len(packed) + len(message.body) <= ROOM


def long_record(message: Message, packed: bytes, sequence: int, form: int, pages: list[int]) -> Parts:
    """The record of a long or very long message: references in place of the body (Z2)."""
    references = pack_references(pages)
    length = RECORD_LENGTH + len(packed) + len(references)
    header = RECORD.pack(LIVE, form, 0, length, len(packed), len(message.body), len(pages), sequence)
    return header, packed, references


def is_very_long(message: Message, packed: bytes) -> bool:
    """Whether the numbers of the text pages do not fit beside the descriptor (Z2)."""
    pages = -(-len(message.body) // ROOM)
    return RECORD_LENGTH + len(packed) + 4 * pages > ROOM


def text_of(body: bytes) -> Iterator[memoryview]:
    """The body in pieces of a text page each."""
    view = memoryview(body)
    return (view[at : at + ROOM] for at in range(0, len(body), ROOM))


def pack_references(pages: list[int]) -> bytes:
    return struct.pack(f">{len(pages)}I", *pages)


def unpack_references(data: bytes | bytearray, at: int, count: int) -> list[int]:
    return list(struct.unpack_from(f">{count}I", data, at))


def text_pages(data: bytes | bytearray, record: StoredRecord, read: PageReader) -> tuple[list[int], list[int]]:
    """(reference pages, text pages) of a record."""
    if record.form == SHORT:
        return [], []
    at = record.at + RECORD_LENGTH + record.descriptor_length
    named = unpack_references(data, at, record.text_pages)
    if record.form == LONG:
        return [], named
    left = -(-record.body_length // ROOM)
    texts = array("I")
    for page in named:
        count = min(left, REFERENCES)
        texts.extend(unpack_references(read(page), HEADER_LENGTH, count))
        left -= count
    return named, texts.tolist()


def read_message(data: bytes | bytearray, at: int, read: PageReader) -> Message:
    """The message whose record begins at `at`."""
    record = StoredRecord(at, *RECORD.unpack_from(data, at))
    start = at + RECORD_LENGTH
    end = start + record.descriptor_length
    packed = bytes(data[start:end])
    if record.form == SHORT:
        return unpack(packed, bytes(data[end : end + record.body_length]))
    _, pages = text_pages(data, record, read)
    body = bytearray()
    for page in pages:
        body += memoryview(read(page))[HEADER_LENGTH : HEADER_LENGTH + min(ROOM, record.body_length - len(body))]
    return unpack(packed, bytes(body))


__all__ = [
    "LONG",
    "REFERENCES",
    "SHORT",
    "VERY_LONG",
    "Parts",
    "fits_in_page",
    "is_very_long",
    "long_record",
    "pack_references",
    "read_message",
    "short_beginning",
    "short_record",
    "text_of",
    "text_pages",
]
