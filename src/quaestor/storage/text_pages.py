"""Text pages: where the body of a long message is, as its record says.

Rules
  TX1 A long message's record names the text pages that hold its body, a very long one's the reference pages that hold
      those names; text comes first in the log, then references, then the record.
  TX2 A page says how much it holds.

Called by the data manager, cold start and the checker.  Calls page.
"""

import struct
from array import array
from collections.abc import Callable

from quaestor.storage.page import HEADER_LENGTH, LONG, RECORD_LENGTH, SHORT, StoredRecord

PageReader = Callable[[int], bytes | bytearray]
_END = struct.Struct(">H")
_END_AT = 6


def held(data: bytes | bytearray) -> memoryview:
    """What a text or reference page holds (TX2)."""
    return memoryview(data)[HEADER_LENGTH : _END.unpack_from(data, _END_AT)[0]]


def unpack_references(data: bytes | bytearray | memoryview, at: int, count: int) -> list[int]:
    return list(struct.unpack_from(f">{count}I", data, at))


def text_pages(data: bytes | bytearray, record: StoredRecord, read: PageReader) -> tuple[list[int], list[int]]:
    """(reference pages, text pages) of a record (TX1)."""
    if record.form == SHORT:
        return [], []
    at = record.at + RECORD_LENGTH + record.descriptor_length
    named = unpack_references(data, at, record.text_pages)
    if record.form == LONG:
        return [], named
    texts = array("I")
    for page in named:
        references = held(read(page))
        texts.extend(unpack_references(references, 0, len(references) // 4))
    return named, texts.tolist()


def head_length(record: StoredRecord) -> int:
    """How much of the body of a long message is in its record."""
    return record.stored_length - RECORD_LENGTH - record.descriptor_length - 4 * record.text_pages
