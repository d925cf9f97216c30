"""Checker: the proof that page sets, space maps and queues agree.

Rules
  H1  Every page the space map calls taken is whole, names itself, and is of the kind the space map says.
  H2  Every text and reference page is referred to by exactly one record, and every page a record refers to is taken
      for text. A page that nobody refers to is a leak, unless a unit whose backout waits for log has yet to free it.
  H3  A record lies inside its page; a sequence number occurs once.
  H4  What the data manager holds in memory is what the pages say: every arrival has its record, every record that is
      not deleted has its arrival, and counts agree.
  H5  A problem is named, never repaired here.

Called by tests after every power cut, and by `quaestor check`.  Calls storage, data.
"""

from collections import Counter
from collections.abc import Iterator

from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.data.objects import ObjectManager
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.queue_store import AVAILABLE, TAKEN, Arrival
from quaestor.qmgr.recovery.restart import work_of
from quaestor.storage.changes import FREE, MESSAGE_PAGE, SPAN, SYSTEM_PAGE, TEXT_PAGE, VOLATILE_PAGE, map_page_of
from quaestor.storage.log_record import Kind
from quaestor.storage.page import (
    HEADER_LENGTH,
    KIND_NAMES,
    LIVE,
    MESSAGES,
    PAGE,
    PAGE_SET_HEADER,
    SPACE_MAP,
    TEXT,
    StoredRecord,
    header_of,
    records_of,
)
from quaestor.storage.page_set import PageSet, spans
from quaestor.storage.text_pages import text_pages

EXPECTED_KIND = {MESSAGE_PAGE: (MESSAGES,), TEXT_PAGE: (TEXT,), SYSTEM_PAGE: (PAGE_SET_HEADER, SPACE_MAP)}
Place = tuple[int, int, int]


def check(data: ObjectManager) -> list[str]:
    """Every problem found, in words; none when all is well. The engine latch is held."""
    return list(_Check(data).problems())


class _Check:
    def __init__(self, data: ObjectManager) -> None:
        self._data = data
        self._records: dict[Place, tuple[int, StoredRecord]] = {}
        self._referred: Counter[tuple[int, int]] = Counter()
        self._texts: set[tuple[int, int]] = set()

    def problems(self) -> Iterator[str]:
        for page_set in self._data.buffers.page_sets.values():
            yield from self._page_set(page_set)
        yield from self._references()
        yield from self._sequences()
        yield from self._arrivals()

    def _page_set(self, page_set: PageSet) -> Iterator[str]:
        for base in spans(page_set.pages):
            uses = self._bytes(page_set, map_page_of(base))[HEADER_LENGTH:]
            for at, use in enumerate(uses[: page_set.pages - base]):
                if use not in {FREE, VOLATILE_PAGE}:
                    yield from self._page(page_set, base + at, use)

    def _page(self, page_set: PageSet, page: int, use: int) -> Iterator[str]:
        where = f"page set {page_set.number} page {page}"
        try:
            contents = self._bytes(page_set, page)
        except TornPageError as error:
            yield f"{where}: {error.why or 'not whole'} (H1)"
            return
        header = header_of(contents)
        if header.kind not in EXPECTED_KIND.get(use, ()) or header.page != page:
            yield f"{where}: {KIND_NAMES[header.kind]} of page {header.page}, the space map says use {use} (H1)"
        elif header.kind == TEXT:
            self._texts.add((page_set.number, page))
        elif header.kind == MESSAGES:
            yield from self._messages(page_set, page, contents)

    def _messages(self, page_set: PageSet, page: int, contents: bytes | bytearray) -> Iterator[str]:
        queue_id = header_of(contents).queue_id
        taken = {
            (arrival.page, arrival.slot)
            for unit in self._data.recovery.units.values()
            for arrival in unit.gets
            if arrival.queue.page_set is page_set
        }
        for record in records_of(contents):
            if record.at + record.stored_length > PAGE:
                yield f"page set {page_set.number} page {page}: a record ends outside (H3)"
                return
            if record.state == LIVE or (page, record.at) in taken:
                self._records[page_set.number, page, record.at] = queue_id, record
                references, texts = text_pages(contents, record, lambda p: self._bytes(page_set, p))
                self._referred.update((page_set.number, each) for each in references + texts)

    def _references(self) -> Iterator[str]:
        for (number, page), times in self._referred.items():
            if times > 1:
                yield f"page set {number} page {page}: {times} records refer to it (H2)"
            if (number, page) not in self._texts:
                yield f"page set {number} page {page}: referred to and not taken for text (H2)"
        for number, page in sorted(self._texts - set(self._referred) - self._freed_later()):
            yield f"page set {number} page {page}: taken for text and nobody refers to it (H2)"

    def _freed_later(self) -> set[tuple[int, int]]:
        recovery = self._data.recovery
        work = (record for unit in recovery.waiting for record in work_of(recovery, unit))
        return {(record.page_set, record.page) for record in work if record.kind == Kind.TEXT}

    def _sequences(self) -> Iterator[str]:
        times = Counter(record.sequence for _, record in self._records.values())
        for sequence, count in times.items():
            if count > 1:
                yield f"sequence {sequence} occurs {count} times (H3)"

    def _arrivals(self) -> Iterator[str]:
        held: dict[Place, Arrival] = {}
        for queue in self._data.queues.values():
            arrivals = [*queue.available(), *self._uncommitted(queue)]
            for arrival in arrivals:
                if arrival.persistent:
                    held[queue.page_set.number, arrival.page, arrival.slot] = arrival
            depth = sum(arrival.state != TAKEN for arrival in arrivals)
            unlogged = queue.uncommitted - sum(arrival.state != AVAILABLE for arrival in arrivals)
            if not depth <= queue.depth <= depth + unlogged or queue.depth != sum(queue.by_priority):
                yield f"queue {queue.name}: depth {queue.depth}, {depth} messages (H4)"
        for place in sorted(held.keys() - self._records.keys()):
            yield f"queue {held[place].queue.name}: a message without a record at {place} (H4)"
        for place in sorted(self._records.keys() - held.keys()):
            yield f"queue id {self._records[place][0]}: a record without a message at {place} (H4)"
        for place in held.keys() & self._records.keys():
            queue_id, record = self._records[place]
            if held[place].sequence != record.sequence or held[place].queue.queue_id != queue_id:
                yield f"queue id {queue_id}: message and record differ at {place} (H4)"

    def _uncommitted(self, queue: PrivateQueue) -> list[Arrival]:
        return [
            arrival
            for unit in self._data.recovery.units.values()
            for arrival in (*unit.puts, *unit.gets)
            if arrival.queue is queue
        ]

    def _bytes(self, page_set: PageSet, page: int) -> bytes | bytearray:
        frame = page_set.frames.get(page)
        if frame is not None and frame.data is not None:
            return bytes(frame.data)
        try:
            contents = page_set.read(page)
        except OSError as error:
            raise TornPageError(page_set.number, page, str(error)) from error
        if contents is None:
            raise TornPageError(page_set.number, page)
        return contents


def used_pages(data: ObjectManager, number: int) -> dict[str, int]:
    """DISPLAY USAGE: total, unused, persistent and non-persistent pages of a page set."""
    page_set = data.buffers.page_sets[number]
    pool = data.buffers.pool_of[number]
    uses: Counter[int] = Counter()
    for base in spans(page_set.pages):
        contents = pool.peek(page_set, map_page_of(base)).data or b""
        uses.update(contents[HEADER_LENGTH : HEADER_LENGTH + min(SPAN, page_set.pages - base)])
    kept, volatile = len(data.space.empty[number]), len(data.space.volatile[number])
    persistent = uses[MESSAGE_PAGE] + uses[TEXT_PAGE] + uses[SYSTEM_PAGE] - kept
    return {
        "total": page_set.pages,
        "unused": uses[FREE] + kept + volatile,
        "persistent": persistent,
        "non_persistent": uses[VOLATILE_PAGE] - volatile,
    }
