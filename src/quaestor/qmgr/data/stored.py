"""How a message lies in pages: short, long and very long.

Rules
  Z1  A short message is one record in a page: record header, packed descriptor, body.
  Z2  A long message's record has, in place of the body, the numbers of the text pages that hold it; a very long
      one's the numbers of reference pages that hold those numbers. Traversing a queue costs the same for all.
      By the V7.0.1 rule the record's page also takes the first 3,635 bytes and each further page 4,048 (F-15); packed
      messages leave all of the body to text pages. Which it was is seen from the record; pages say how much they hold.
  Z3  Text and reference pages are logged and taken before the record that refers to them; they are given back before
      or with it. So a text page is taken if and only if a record refers to it, or its unit has not ended.

Called by the data manager and its loader.  Calls page, changes, text_pages.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

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
from quaestor.storage.text_pages import PageReader, head_length, held, text_pages

REFERENCES = ROOM // 4
FIRST_PAGE: Final = 3635
FURTHER_PAGE: Final = 4048
"""Bytes of a message in its first page and in each further one (F-15)."""

Parts = tuple[bytes, ...]
BEGINNING = struct.Struct(INSERTION.format + RECORD.format[1:] + MESSAGE.format[1:])
"""Of the change that begins a page with a short message: the change's own head, the record's, the message's."""

pack_beginning: Final = BEGINNING.pack
_DESCRIBED_AT: Final = MESSAGE_LENGTH
pack_numbered: Final = struct.Struct(">Q24s").pack
_HEAD: Final = struct.Struct(INSERTION.format + RECORD.format[1:-1])
_TAIL: Final = struct.Struct(">" + MESSAGE.format[4:])
"""What of it stands before the sequence number and behind the message identifier."""


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
    """The change that begins a page with a short message (Z1): INSERTION, `short_record` and `pack` at once.

    The body, which ends the change, is left out: it is in the message, and need not be there twice.
    """
    body, envelope, msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, _, _ = message
    packed, length = envelope.packed(), len(body)
    described = len(packed)
    header = _DESCRIBED_AT + described
    return pack_beginning(
        queue_id, subqueue | STARTS, 0, HEADER_LENGTH,
        LIVE, SHORT, 0, RECORD_LENGTH + header + length, header, length, 0, sequence,
        msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, described,
    ) + packed  # fmt: skip


def short_beginnings(
    queue_id: int, subqueue: int, messages: Sequence[Message], sequence: int, longest: int
) -> list[bytes]:
    """`short_beginning` of messages that differ in nothing but body and identifier, up to one that is too long.

    `sequence` is that of the message before the first.
    """
    _, envelope, _, correl_id, priority, persistence, put_us, expires_us, backouts, _, _ = messages[0]
    packed = envelope.packed()
    header = _DESCRIBED_AT + len(packed)
    tail = _TAIL.pack(correl_id, priority, persistence, put_us, expires_us, backouts, len(packed)) + packed
    heads: list[bytes] = []
    last, head = -1, b""
    for message in messages:
        sequence += 1
        length = len(message[0])
        if length != last:
            if length > longest:
                break
            last, stored = length, RECORD_LENGTH + header + length
            head = _HEAD.pack(queue_id, subqueue | STARTS, 0, HEADER_LENGTH, LIVE, SHORT, 0, stored, header, length, 0)
        heads.append(head + pack_numbered(sequence, message[2]) + tail)
    return heads


def fits_in_page(message: Message, packed: bytes) -> bool:
    return RECORD_LENGTH + len(packed) + len(message.body) <= ROOM


class LongForm(NamedTuple):
    """How a long message is cut: what stays in the record's page, and the size of each further piece (Z2)."""

    form: int
    head: int
    piece: int


def long_form(length: int, packed_length: int, *, packing: bool) -> LongForm:
    """By the V7.0.1 rule where the record leaves room for it, else all of the body goes to text pages (Z2)."""
    if not packing and length > FIRST_PAGE:
        taken, texts = RECORD_LENGTH + packed_length + FIRST_PAGE, -(-(length - FIRST_PAGE) // FURTHER_PAGE)
        if taken + 4 * texts <= ROOM:
            return LongForm(LONG, FIRST_PAGE, FURTHER_PAGE)
        if taken + 4 * -(-texts // REFERENCES) <= ROOM:
            return LongForm(VERY_LONG, FIRST_PAGE, FURTHER_PAGE)
    fits = RECORD_LENGTH + packed_length + 4 * -(-length // ROOM) <= ROOM
    return LongForm(LONG if fits else VERY_LONG, 0, ROOM)


def long_record(message: Message, packed: bytes, sequence: int, cut: LongForm, pages: list[int]) -> Parts:
    """The record of a long or very long message: references, then what the first page takes of the body (Z2)."""
    references = pack_references(pages)
    length = RECORD_LENGTH + len(packed) + len(references) + cut.head
    header = RECORD.pack(LIVE, cut.form, 0, length, len(packed), len(message.body), len(pages), sequence)
    return header, packed, references, message.body[: cut.head]


def text_of(body: bytes, cut: LongForm) -> Iterator[memoryview]:
    """What the record's page does not take, in pieces of a text page each."""
    view = memoryview(body)
    return (view[at : at + cut.piece] for at in range(cut.head, len(body), cut.piece))


def text_page_count(record: StoredRecord) -> int:
    """How many text and reference pages a record stands for."""
    if record.form != VERY_LONG:
        return record.text_pages
    head = head_length(record)
    return record.text_pages + -(-(record.body_length - head) // (FURTHER_PAGE if head else ROOM))


def pack_references(pages: list[int]) -> bytes:
    return struct.pack(f">{len(pages)}I", *pages)


def read_message(data: bytes | bytearray, at: int, read: PageReader) -> Message:
    """The message whose record begins at `at`."""
    record = StoredRecord(at, *RECORD.unpack_from(data, at))
    start = at + RECORD_LENGTH
    end = start + record.descriptor_length
    packed = bytes(data[start:end])
    if record.form == SHORT:
        return unpack(packed, bytes(data[end : end + record.body_length]))
    _, pages = text_pages(data, record, read)
    body = bytearray(data[end + 4 * record.text_pages : at + record.stored_length])
    for page in pages:
        body += held(read(page))
    return unpack(packed, bytes(body))


__all__ = [
    "FIRST_PAGE",
    "LONG",
    "REFERENCES",
    "SHORT",
    "VERY_LONG",
    "LongForm",
    "Parts",
    "fits_in_page",
    "long_form",
    "long_record",
    "pack_references",
    "read_message",
    "short_beginning",
    "short_beginnings",
    "short_record",
    "text_of",
    "text_page_count",
]
