"""Changes: the functions that alter pages. Forward work and restart run the same ones.

Rules
  C1  A change is a kind and a body; its function makes it on a page's bytes and depends on nothing else. Given the
      page as it was before, it gives the page as it was after, today or at restart.
  C2  A change that *starts* a page (INSERT as the first record, START, TEXT, HEADER, FORMAT_MAP, IMAGE) needs
      nothing of what the page held: a torn page is repaired by it.
  C3  `undo_of` gives the change that takes one back. Only INSERT, DELETE and TEXT belong to units of recovery and
      are undone; the others (space, chains, images) are true whatever becomes of a unit.
  C4  A space map page has one byte per page of its span: what the page is used for.
  C5  A page that begins with one message, and has nothing else, is written as often as messages stay. `WHOLE` has
      functions that make the page as it is written (P2) from the change that started it, in one piece.

Called by recovery (forward, backout, restart) and data (to build bodies).  Calls page, log_record.
"""

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from quaestor.mqi.reasons import Abend
from quaestor.storage.log_record import ALLOCATES, Kind, LogRecord
from quaestor.storage.page import (
    BEHIND_CHECKSUM,
    DELETED,
    HEADER,
    HEADER_LENGTH,
    LIVE,
    MAP_OF_FIRST_SPAN,
    MESSAGES,
    NEXT_AT,
    PAGE,
    RECORDS_AT,
    ROOM,
    SPACE_MAP,
    TEXT,
    sealed,
)

SPAN: Final = ROOM
"""Pages one space map page speaks for (C4)."""

FREE: Final = 0
VOLATILE_PAGE: Final = 1
MESSAGE_PAGE: Final = 2
TEXT_PAGE: Final = 3
SYSTEM_PAGE: Final = 4
"""What a page is used for."""

INSERTION: Final = struct.Struct(">IBBH")
"""queue id, subqueue, records already in the page, where the record goes; then the record"""

INSERT: Final = int(
    Kind.INSERT
)  # by itself: looking it up in its class costs as much as a call, and every put needs it
STARTS: Final = 0x80
"""With the subqueue: the record is the first of its page, and starts it."""

MARK: Final = struct.Struct(">HH")
"""where the record begins, its backout count"""

UNDO_NEXT = struct.Struct(">QB")
"""record to undo next, kind of the compensating change; then its body"""

BACKOUTS_MAX = 255
_SHORT, _WORD = struct.Struct(">H"), struct.Struct(">I")


def map_page_of(page: int) -> int:
    """The space map page that speaks for a page."""
    return page - page % SPAN or MAP_OF_FIRST_SPAN


def insert(data: bytearray, body: bytes, page_set: int, page: int) -> None:
    queue_id, subqueue, records, at = INSERTION.unpack_from(body)
    end = at + len(body) - 8
    if subqueue & STARTS:
        HEADER.pack_into(data, 0, 0, MESSAGES, 1, end, 0, page, queue_id, 0, page_set, subqueue ^ STARTS, 0)
    else:
        data[RECORDS_AT] = records + 1
        _SHORT.pack_into(data, 6, end)
    data[at:end] = body[8:]


def inserted(body: bytes, rest: bytes, page_set: int, page: int, rba: int) -> bytes:
    """The page that an INSERT of `body` and `rest` starts, as it is written (C5)."""
    queue_id, subqueue, _, at = INSERTION.unpack_from(body)
    end = at + len(body) - 8 + len(rest)
    begins = BEHIND_CHECKSUM.pack(MESSAGES, 1, end, rba, page, queue_id, 0, page_set, subqueue ^ STARTS, 0)
    return sealed(begins + body[8:] + rest)


def start(data: bytearray, body: bytes, page_set: int, page: int) -> None:
    queue_id, subqueue, _, _ = INSERTION.unpack(body)
    HEADER.pack_into(data, 0, 0, MESSAGES, 0, HEADER_LENGTH, 0, page, queue_id, 0, page_set, subqueue, 0)


def delete(data: bytearray, body: bytes, _page_set: int, _page: int) -> None:
    data[MARK.unpack_from(body)[0]] = DELETED


def undelete(data: bytearray, body: bytes, _page_set: int, _page: int) -> None:
    at, backouts = MARK.unpack_from(body)
    data[at] = LIVE
    _SHORT.pack_into(data, at + 2, backouts)


def text(data: bytearray, body: bytes, page_set: int, page: int) -> None:
    end = HEADER_LENGTH + len(body)
    HEADER.pack_into(data, 0, 0, TEXT, 0, end, 0, page, 0, 0, page_set, 0, 0)
    data[HEADER_LENGTH:end] = body


def free(data: bytearray, body: bytes, _page_set: int, _page: int) -> None:
    for (at,) in _SHORT.iter_unpack(body):
        data[HEADER_LENGTH + at] = FREE


def chain(data: bytearray, body: bytes, _page_set: int, _page: int) -> None:
    data[NEXT_AT : NEXT_AT + 4] = body


def header(data: bytearray, body: bytes, page_set: int, page: int) -> None:
    HEADER.pack_into(data, 0, 0, 1, 0, HEADER_LENGTH + len(body), 0, page, 0, 0, page_set, 0, 0)
    data[HEADER_LENGTH : HEADER_LENGTH + len(body)] = body


def format_map(data: bytearray, body: bytes, page_set: int, page: int) -> None:
    data[:] = bytes(PAGE)
    HEADER.pack_into(data, 0, 0, SPACE_MAP, 0, PAGE, 0, page, 0, 0, page_set, 0, 0)
    for at in body:
        data[HEADER_LENGTH + at] = SYSTEM_PAGE


def image(data: bytearray, body: bytes, _page_set: int, _page: int) -> None:
    data[:] = body


Redo = Callable[[bytearray, bytes, int, int], None]
REDO: dict[int, Redo] = {
    Kind.INSERT: insert,
    Kind.START: start,
    Kind.DELETE: delete,
    Kind.UNDELETE: undelete,
    Kind.TEXT: text,
    Kind.FREE: free,
    Kind.CHAIN: chain,
    Kind.HEADER: header,
    Kind.FORMAT_MAP: format_map,
    Kind.IMAGE: image,
}
WHOLE: dict[Redo, Callable[[bytes, bytes, int, int, int], bytes]] = {insert: inserted}
STARTING = frozenset({Kind.TEXT, Kind.START, Kind.FORMAT_MAP, Kind.IMAGE, Kind.HEADER})
USE_OF: dict[int, int] = {Kind.INSERT: MESSAGE_PAGE, Kind.START: MESSAGE_PAGE, Kind.TEXT: TEXT_PAGE}
"""What an ALLOCATES record takes its page for (L5)."""


def starts_page(kind: int, body: bytes) -> bool:
    """Whether a change needs nothing of what the page held (C2)."""
    return body[4] >= STARTS if kind == INSERT else kind in STARTING


class Compensation(NamedTuple):
    """The change that takes another back (C3)."""

    kind: int
    page: int
    body: bytes


def undo_of(kind: int, flags: int, page: int, body: bytes) -> Compensation:
    """What takes a change back (C3). An emptied page stays taken in the space map; the data manager reuses it."""
    if kind == Kind.INSERT:
        return Compensation(Kind.DELETE, page, MARK.pack(_SHORT.unpack_from(body, 6)[0], 0))
    if kind == Kind.DELETE:
        at, backouts = MARK.unpack_from(body)
        return Compensation(Kind.UNDELETE, page, MARK.pack(at, min(backouts + 1, BACKOUTS_MAX)))
    if kind == Kind.TEXT and flags & ALLOCATES:
        return Compensation(Kind.FREE, map_page_of(page), _SHORT.pack(page % SPAN))
    raise Abend("C3", "a change that is not a unit's cannot be undone", kind=kind, page=page)


UNDONE = frozenset({Kind.INSERT, Kind.DELETE, Kind.TEXT})


def undo_part(record: LogRecord) -> bytes:
    """What undoing needs of a record's body: a shunted record carries only this."""
    return record.body[: INSERTION.size] if record.kind == Kind.INSERT else record.body[: MARK.size]


def pack_free(pages: list[int]) -> bytes:
    """Body of a FREE record: pages of one span."""
    return b"".join(_SHORT.pack(page % SPAN) for page in pages)


def pack_next(page: int) -> bytes:
    return _WORD.pack(page)
