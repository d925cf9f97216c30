"""Inserting: from a message to the pages that hold it, and which of those pages still hold one.

Rules
  PG1 A persistent message is one change (INSERT) of the page that its record is in; a message of a page of its own
      begins that page, an emptied one before a free one (D2, Y1).
  PG2 A long message's text pages come first, then its reference pages, then the record (Z2, Z3).
  PG3 Under the V5.2 rule a record goes into the last page of its subqueue, or into a new one chained to it.
  PG4 A non-persistent message is the content of a buffer, not yet a page (D1).
  PG5 What fails (page set or log full) leaves nothing behind, whatever it had done (D5).
  PG6 Pages with more than one message are counted (`live`). An empty one that is not the last of its subqueue waits for
      the scavenger in `emptied` (D4).
  PG7 Messages that are there together go into pages that are at hand, logged in one piece, as many of them as that is
      possible for; the others are inserted one by one (J12).

Called by the data manager.  Calls recovery, buffer, space.
"""

from collections.abc import Sequence
from typing import Final

from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.buffer import BufferManager, BufferPool, Frame
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.data.space import Space
from quaestor.qmgr.data.stored import (
    FIRST_PAGE,
    REFERENCES,
    VERY_LONG,
    Parts,
    fits_in_page,
    long_form,
    long_record,
    pack_references,
    short_beginning,
    short_beginnings,
    short_record,
    text_of,
)
from quaestor.qmgr.queue_store import Arrival
from quaestor.qmgr.recovery import RecoveryManager, UnitOfRecovery
from quaestor.storage.changes import INSERTION, STARTS, pack_next
from quaestor.storage.log_record import ALLOCATES, Kind
from quaestor.storage.page import HEADER, HEADER_LENGTH
from quaestor.storage.page_set import PageSet

PERSISTENT_SUBQUEUES: Final = 10
RECORDS_MAX = 255
SURELY_SHORT: Final = 3000
V6_OVERHEAD = 370
V6_ROOM = 4050
V6_PAGE_END = HEADER_LENGTH + V6_ROOM


class MessagePages:
    """The pages of messages (PG1-PG6)."""

    def __init__(
        self, recovery: RecoveryManager, buffers: BufferManager, space: Space, *, packing: bool = False
    ) -> None:
        self._recovery, self._buffers, self._space = recovery, buffers, space
        self._packing = packing
        self.live: dict[tuple[int, int], int] = {}
        self.emptied: dict[int, list[int]] = {}

    # --- persistent messages ------------------------------------------------------------------------------------------

    def insert(self, unit: UnitOfRecovery, queue: PrivateQueue, message: Message, arrival: Arrival) -> None:
        """A persistent message (PG1-PG3)."""
        if arrival.length <= SURELY_SHORT and not self._packing:
            page_set, subqueue = queue.page_set, PERSISTENT_SUBQUEUES + arrival.priority
            change = short_beginning(queue.queue_id, subqueue, message, arrival.sequence)
            pages, flags = self._space.empty[page_set.number], 0
            if not pages:
                pages, flags = self._space.free_pages(page_set), ALLOCATES
            self._recovery.begin_page(unit, flags, page_set, pages[-1], change, message[0], message)
            arrival.page = pages.pop()
            arrival.slot = HEADER_LENGTH
            return
        packed, savepoint = message.pack(), unit.last
        fits = arrival.length <= FIRST_PAGE and fits_in_page(message, packed)
        try:
            if not self._packing and fits:
                record = short_record(message, packed, arrival.sequence)
                self._begin(unit, queue, arrival, record, message)
            elif self._packing and fits_in_page(message, packed) and arrival.length + V6_OVERHEAD <= V6_ROOM:
                record = short_record(message, packed, arrival.sequence, V6_OVERHEAD)
                self._insert_packed(unit, queue, arrival, record)
            else:
                self._insert_long(unit, queue, message, packed, arrival)
        except MQError:
            if unit.last != savepoint:
                self._recovery.back_out_to(unit, savepoint)  # PG5
            raise

    def insert_run(
        self, unit: UnitOfRecovery, queue: PrivateQueue, messages: Sequence[Message], priority: int, sequence: int
    ) -> list[int]:
        """Short persistent messages that differ in body and identifier only; gives the pages of those there (PG7)."""
        pages, flags = self._space.at_hand(queue.page_set)
        if not (pages and messages and unit.urid) or self._packing:
            return []
        some = messages[: len(pages)]
        subqueue = PERSISTENT_SUBQUEUES + priority
        heads = short_beginnings(queue.queue_id, subqueue, some, sequence, SURELY_SHORT)
        taken = pages[: -len(heads) - 1 : -1]
        begun = self._recovery.begin_pages(unit, flags, queue.page_set, taken, heads, some)
        if begun:
            del pages[-begun:], taken[begun:]
            return taken
        return []

    def _insert_long(
        self, unit: UnitOfRecovery, queue: PrivateQueue, message: Message, packed: bytes, arrival: Arrival
    ) -> None:
        """Text pages, reference pages if they are many, the record (PG2)."""
        cut = long_form(arrival.length, len(packed), packing=self._packing)
        pages = [self._text_page(unit, queue.page_set, bytes(text)) for text in text_of(message.body, cut)]
        if cut.form == VERY_LONG:
            pages = [
                self._text_page(unit, queue.page_set, pack_references(pages[at : at + REFERENCES]))
                for at in range(0, len(pages), REFERENCES)
            ]
        record = long_record(message, packed, arrival.sequence, cut, pages)
        if self._packing:
            self._insert_packed(unit, queue, arrival, record)
        else:
            self._begin(unit, queue, arrival, record, None)

    def _text_page(self, unit: UnitOfRecovery, page_set: PageSet, text: bytes) -> int:
        pages = self._space.free_pages(page_set)
        self._recovery.change(unit, Kind.TEXT, ALLOCATES, page_set, pages[-1], text)
        return pages.pop()  # not before: if it is refused, the page is there for the next (PG5)

    def _begin(
        self, unit: UnitOfRecovery, queue: PrivateQueue, arrival: Arrival, record: Parts, message: Message | None
    ) -> None:
        """A record that begins a page of its own."""
        page_set, subqueue = queue.page_set, PERSISTENT_SUBQUEUES + arrival.priority
        change = b"".join((INSERTION.pack(queue.queue_id, subqueue | STARTS, 0, HEADER_LENGTH), *record))
        pages, flags = self._space.empty[page_set.number], 0
        if not pages:
            pages, flags = self._space.free_pages(page_set), ALLOCATES
        self._recovery.begin_page(unit, flags, page_set, pages[-1], change, b"", message)
        arrival.page, arrival.slot = pages.pop(), HEADER_LENGTH

    def _insert_packed(self, unit: UnitOfRecovery, queue: PrivateQueue, arrival: Arrival, record: Parts) -> None:
        """Into the last page of the subqueue, or a new page chained to it (PG3)."""
        page_set, subqueue = queue.page_set, PERSISTENT_SUBQUEUES + arrival.priority
        pool = self._buffers.pool_of[page_set.number]
        last = queue.last_pages[subqueue]
        if last:
            frame = pool.get(page_set, last)
            _, _, records, end, *_ = HEADER.unpack_from(frame.data or b"")
            try:
                if end + sum(map(len, record)) <= V6_PAGE_END and records < RECORDS_MAX:
                    self._insert_here(unit, queue, arrival, frame, subqueue, record)
                    return
            finally:
                pool.release(frame)
        empty = self._space.empty[page_set.number]
        page, flags = (empty.pop(), 0) if empty else (self._space.free_page(page_set), ALLOCATES)
        start = INSERTION.pack(queue.queue_id, subqueue, 0, 0)
        self._recovery.change(None, Kind.START, flags, page_set, page, start)
        if last:
            self._recovery.change(None, Kind.CHAIN, 0, page_set, last, pack_next(page))
        queue.last_pages[subqueue] = page
        self.live[page_set.number, page] = 0
        if last and not self.live.get((page_set.number, last), 1):
            self.emptied.setdefault(page_set.number, []).append(last)  # whether or not the record is refused now
        frame = pool.get(page_set, page)
        try:
            self._insert_here(unit, queue, arrival, frame, subqueue, record)
        finally:
            pool.release(frame)

    def _insert_here(
        self,
        unit: UnitOfRecovery,
        queue: PrivateQueue,
        arrival: Arrival,
        frame: Frame,
        subqueue: int,
        record: Parts,
    ) -> None:
        _, _, records, end, *_ = HEADER.unpack_from(frame.data or b"")
        body = b"".join((INSERTION.pack(queue.queue_id, subqueue, records, end), *record))
        self._recovery.change_in_use(unit, Kind.INSERT, frame, body)
        arrival.page, arrival.slot = frame.page, end
        self.live[queue.page_set.number, frame.page] += 1

    # --- non-persistent messages --------------------------------------------------------------------------------------

    def insert_volatile(self, queue: PrivateQueue, message: Message, arrival: Arrival) -> None:
        """A non-persistent message (PG4)."""
        page_set = queue.page_set
        pool = self._buffers.pool_of[page_set.number]
        arrival.slot = HEADER_LENGTH
        if arrival.length <= SURELY_SHORT:
            kept = self._space.volatile[page_set.number]
            arrival.page = page = kept.pop() if kept else self._space.volatile_page(page_set)
            arrival.frame = pool.started_volatile(page_set, page, message, page_set.freed_rba)
            return
        body = message.body
        if arrival.length <= FIRST_PAGE and fits_in_page(message, message.pack()):
            arrival.frame = self._volatile_page(pool, page_set, message)
            arrival.page = arrival.frame.page
            return
        arrival.text_pages = []
        cut = long_form(len(body), len(message.pack()), packing=self._packing)
        try:
            for text in text_of(body, cut):
                arrival.text_pages.append(self._volatile_page(pool, page_set, bytes(text)).page)
            message = message._replace(body=body[: cut.head])
            arrival.frame = self._volatile_page(pool, page_set, message)
            arrival.page = arrival.frame.page
        except MQError:
            self._space.volatile[page_set.number].extend(arrival.text_pages)  # PG5
            raise

    def _volatile_page(self, pool: BufferPool, page_set: PageSet, content: object) -> Frame:
        kept = self._space.volatile[page_set.number]
        page = kept.pop() if kept else self._space.volatile_page(page_set)
        return pool.started_volatile(page_set, page, content, page_set.freed_rba)

    # --- pages of several messages ------------------------------------------------------------------------------------

    def note(self, page_set: PageSet, page: int, live: int) -> None:
        """A message page found at start, and how many messages it has."""
        if not live:
            self._space.empty[page_set.number].append(page)
        elif self._packing or live > 1:
            self.live[page_set.number, page] = live

    def release(self, queue: PrivateQueue, page: int) -> bool:
        """A message of a page is gone; False when the page had no other (PG6)."""
        key = queue.page_set.number, page
        if not self.live or key not in self.live:
            return False
        self.live[key] -= 1
        if not self.live[key] and page not in queue.last_pages:
            self.emptied.setdefault(key[0], []).append(page)
        return True

    def give_up(self, page_set: PageSet, pages: list[int]) -> None:
        """Pages whose messages are gone with their queue (D6)."""
        for page in pages:
            self.live.pop((page_set.number, page), None)
        self._space.give_back(page_set, pages)

    def scavenge(self) -> None:
        """Give pages whose messages are all deleted back to the space map (D4)."""
        for number, pages in self.emptied.items():
            if pages:
                page_set, pool = self._buffers.page_sets[number], self._buffers.pool_of[number]
                for page in pages:
                    pool.release(pool.get(page_set, page))
                    del self.live[number, page]
                self._space.give_back(page_set, pages)
                self.emptied[number] = []

    def forget(self, page_set: int) -> None:
        """The page set is no more."""
        self.emptied.pop(page_set, None)
        self.live = {place: live for place, live in self.live.items() if place[0] != page_set}
