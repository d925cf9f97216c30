"""Load: what the pages hold becomes queues again, at start.

Rules
  A1  The space map says which pages to look at: message pages are read in page order, many with one request; pages
      that restart has in the buffer pool are taken from there, because they are newer, and need not be readable.
  A2  Pages of non-persistent messages are free from now on. Nothing is logged about it (M-62).
  A3  A record that is not deleted is a message on the queue its page names. What units in doubt put is held by them;
      what they got looks deleted on its page and is held by them too. So it is with units whose backout waits for log
      (X10), as far as they are not undone.
  A4  A page with no message left, or of a queue that no longer exists, is empty.
  A5  Text pages are given back after the commit of the get, by records that a cut may lose. If more text pages are
      taken than messages account for, those that no message refers to are given back now; not those of a message that
      a unit in backout has lost already: they are given back when its backout goes on.

Called by queue_manager after restart.  Calls the data manager.
"""

from collections.abc import Iterator
from functools import partial

from quaestor.mqi.messages import unpack
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.data.inserting import PERSISTENT_SUBQUEUES
from quaestor.qmgr.data.objects import OBJECT_QUEUE, ObjectManager
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.data.stored import text_page_count
from quaestor.qmgr.queue_store import TAKEN, WAITING, Arrival
from quaestor.qmgr.recovery import UnitOfRecovery
from quaestor.qmgr.recovery.restart import work_of
from quaestor.storage.changes import FREE, INSERTION, MARK, MESSAGE_PAGE, TEXT_PAGE, VOLATILE_PAGE, map_page_of
from quaestor.storage.log_record import Kind
from quaestor.storage.page import (
    HEADER_LENGTH,
    LIVE,
    MESSAGES,
    PAGE,
    RECORD_LENGTH,
    SHORT,
    StoredRecord,
    header_of,
    is_whole,
    records_of,
)
from quaestor.storage.page_set import PageSet, spans
from quaestor.storage.text_pages import text_pages

RUN = 256
Place = tuple[int, int, int]
"""page set, page, where the record begins"""


def load(data: ObjectManager) -> None:
    """Rebuild every queue. The engine latch is held; page set 0 first, because it says which queues there are."""
    data.begin_objects()
    loader = _Loader(data)
    for number in sorted(data.buffers.page_sets):
        page_set = data.buffers.page_sets[number]
        data.space.add_page_set(page_set)
        page_set.freed_rba = data.recovery.log.hardened - 1
        loader.page_set(page_set)
        if number == 0:
            loader.settle(OBJECT_QUEUE)
            for arrival in data.objects_queue.available():
                data.load_object(arrival)
    for queue_id in list(loader.found):
        loader.settle(queue_id)
    loader.give_back_lost_texts()


class _Loader:
    def __init__(self, data: ObjectManager) -> None:
        self._data = data
        self.found: dict[int, list[Arrival]] = {}
        self._orphans: dict[int, list[tuple[PageSet, int]]] = {}
        self._put: dict[Place, UnitOfRecovery] = {}
        self._got: dict[Place, UnitOfRecovery] = {}
        self._texts: dict[int, list[int]] = {}
        self._long: dict[int, list[tuple[int, StoredRecord]]] = {}
        self._undone_later: dict[int, set[int]] = {}
        for unit in (*data.recovery.in_doubt(), *data.recovery.waiting):
            for record in work_of(data.recovery, unit):
                if record.kind == Kind.INSERT:
                    at = INSERTION.unpack_from(record.body)[3]
                    self._put[record.page_set, record.page, at] = unit
                elif record.kind == Kind.DELETE:
                    self._got[record.page_set, record.page, MARK.unpack_from(record.body)[0]] = unit
                elif record.kind == Kind.TEXT:
                    self._undone_later.setdefault(record.page_set, set()).add(record.page)

    def page_set(self, page_set: PageSet) -> None:
        for base in spans(page_set.pages):
            uses = self._uses(page_set, base)
            pages = [base + at for at, use in enumerate(uses) if use == MESSAGE_PAGE]
            texts = [base + at for at, use in enumerate(uses) if use == TEXT_PAGE] if TEXT_PAGE in uses else []
            self._texts.setdefault(page_set.number, []).extend(texts)
            for page, contents in self._contents(page_set, pages):
                self._page(page_set, page, contents)

    def _uses(self, page_set: PageSet, base: int) -> bytes:
        """The uses of one span, after freeing what was non-persistent (A2)."""
        pool = self._data.buffers.pool_of[page_set.number]
        frame = pool.get(page_set, map_page_of(base))
        if frame.data is None:
            raise Abend("A1", "a space map page has no contents", page_set=page_set.number, page=base)
        if VOLATILE_PAGE in frame.data[HEADER_LENGTH:]:
            frame.data[HEADER_LENGTH:] = frame.data[HEADER_LENGTH:].replace(bytes((VOLATILE_PAGE,)), bytes((FREE,)))
            pool.set_unlogged(frame)
        uses = bytes(frame.data[HEADER_LENGTH : HEADER_LENGTH + page_set.pages - base])
        pool.release(frame)
        return uses

    def _contents(self, page_set: PageSet, pages: list[int]) -> Iterator[tuple[int, bytes | bytearray]]:
        """Pages with their contents, read in runs unless the buffer pool has them (A1)."""
        pool, at = self._data.buffers.pool_of[page_set.number], 0
        while at < len(pages):
            end = at
            while end < len(pages) and pages[end] - pages[at] < RUN:
                end += 1
            try:
                raw = page_set.read_raw(pages[at], pages[end - 1] - pages[at] + 1)
            except OSError:
                raw = b""  # each by itself: which of them it is, the buffer pool says
            for page in pages[at:end]:
                frame = page_set.frames.get(page) if raw else pool.peek(page_set, page)
                if frame is not None and frame.data is not None:
                    yield page, frame.data
                    continue
                start = (page - pages[at]) * PAGE
                contents = raw[start : start + PAGE]
                if not is_whole(contents, page_set.number, page):
                    raise TornPageError(page_set.number, page)
                yield page, contents
            at = end

    def _page(self, page_set: PageSet, page: int, contents: bytes | bytearray) -> None:
        header = header_of(contents)
        if header.kind != MESSAGES:
            text = "a page is not what the space map says; recover the page set from its image copy"
            raise Abend("A1", text, page_set=page_set.number, page=page)
        live = 0
        for record in records_of(contents):
            place = page_set.number, page, record.at
            if record.state == LIVE or place in self._got:
                arrival = _arrival(record, contents, page, header.subqueue % 10)
                self.found.setdefault(header.queue_id, []).append(arrival)
                arrival.holder = self._put.get(place) or self._got.get(place)
                arrival.state = TAKEN if place in self._got else WAITING
                live += 1
                if record.form != SHORT:
                    self._long.setdefault(page_set.number, []).append((page, record))
                self._data.sequence = max(self._data.sequence, record.sequence)
        self._data.note_page(page_set, page, live)
        if live:
            self._orphans.setdefault(header.queue_id, []).append((page_set, page))

    def settle(self, queue_id: int) -> None:
        """Put a queue's messages in order on it, or free the pages of a queue that is no more (A3, A4)."""
        arrivals = self.found.pop(queue_id, [])
        pages = self._orphans.pop(queue_id, [])
        queue = self._data.queues.get(queue_id)
        if queue is None:
            self._free(arrivals, pages)
            return
        for arrival in sorted(arrivals, key=lambda each: each.sequence):
            arrival.queue = queue
            self._place(queue, arrival)
            if self._data.packing:
                queue.last_pages[PERSISTENT_SUBQUEUES + arrival.priority] = arrival.page

    def _place(self, queue: PrivateQueue, arrival: Arrival) -> None:
        unit = arrival.holder
        if arrival.state != TAKEN:
            queue.depth += 1
            queue.by_priority[arrival.priority] += 1
            if arrival.expires_us:
                queue.with_expiry += 1
        if unit is None:
            queue.add(arrival)
            return
        queue.uncommitted += 1
        if isinstance(unit, UnitOfRecovery):
            (unit.gets if arrival.state == TAKEN else unit.puts).append(arrival)

    def give_back_lost_texts(self) -> None:
        """Text pages that no message refers to (A5)."""
        for number, texts in self._texts.items():
            records = self._long.get(number, [])
            if len(texts) == sum(text_page_count(record) for _, record in records):
                continue
            page_set, referred = self._data.buffers.page_sets[number], set(self._undone_later.get(number, ()))
            for page, record in records:
                references, pages = text_pages(self._bytes(page_set, page), record, partial(self._bytes, page_set))
                referred.update(references, pages)
            lost = [page for page in texts if page not in referred]
            if lost:
                self._data.space.give_back(page_set, lost)

    def _bytes(self, page_set: PageSet, page: int) -> bytes | bytearray:
        return self._data.buffers.pool_of[page_set.number].peek(page_set, page).data or b""

    def _free(self, arrivals: list[Arrival], pages: list[tuple[PageSet, int]]) -> None:
        if not pages:
            return
        queue = PrivateQueue(0, "(dropped)", pages[0][0])
        for arrival in arrivals:
            arrival.queue = queue
        self._data.release_all(queue, arrivals)  # D6


def _arrival(record: StoredRecord, contents: bytes | bytearray, page: int, priority: int) -> Arrival:
    start = record.at + RECORD_LENGTH
    message = unpack(bytes(contents[start : start + record.descriptor_length]), b"")
    arrival = Arrival()
    arrival.persistent = True
    arrival.sequence, arrival.priority = record.sequence, priority
    arrival.msg_id, arrival.correl_id, arrival.group_id = message.msg_id, message.correl_id, message.envelope.group_id
    arrival.length, arrival.put_us, arrival.expires_us = record.body_length, message.put_us, message.expires_us
    arrival.backout_count = record.backout_count
    arrival.page, arrival.slot, arrival.text_pages = page, record.at, None
    return arrival
