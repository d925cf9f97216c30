"""Space: which page a message goes to, and what becomes of a page when it is empty.

Rules
  Y1  A page of persistent messages that has become empty is kept for the next persistent message of its page set
      without telling the space map: at restart it is found to hold only deleted messages. The scavenger gives
      what is too much of them back to the space map (FREE, logged).
  Y2  A page of non-persistent messages is taken and given back without logging; restart frees all of them.
  Y3  A page goes from persistent to non-persistent use only through the space map, so the log knows that its
      persistent life has ended before anything else is written to it.
  Y4  When no page is free the page set grows: by a quarter, at least by `expansion` (EXPAND(USER)), by a tenth
      (SYSTEM), or not at all (NONE). The space is set aside by the file system before the growth is logged (T2). If it
      cannot be, the put fails with 2192 and nothing has changed.
  Y5  Free pages are looked for many at a time. The next look is when the last one found is used up, so that no page
      is found twice.
  Y6  The space is set aside ahead of need, in the background and without the latch: as soon as a look for pages finds
      fewer than `lead` before the end of what is set aside: as many as it grows by at least, and half of the page set
      at most, so that one that is hardly used does not grow. The growth itself stays the put's: it is two log records.
      A put that finds it late does as much as it needs itself; the next time it begins twice as early.
  Y7  The operator is told once of space that the system refuses (CSQP014E). The background then leaves it to whoever
      finds no page; when one of those succeeds, it works ahead again.
  Y8  A page that is kept is a changed page. Where a deep queue is emptied, they would fill the buffer pool and be
      written, with an image each (B4), to hold nothing. So while a pool has to write, what is kept beyond need is given
      back at once and need not be written any more.

Called by the data manager.  Calls recovery, buffer.
"""

from collections.abc import Callable

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.buffer import BufferManager
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.changes import FREE, SPAN, VOLATILE_PAGE, map_page_of, pack_free
from quaestor.storage.log_record import ALLOCATES, Kind
from quaestor.storage.page import HEADER_LENGTH
from quaestor.storage.page_set import PAGES_MAX, PageSet, describe

EXPANSION = 2048
KEPT = 256
FOUND = 64
LEAD_MAX = 16_384
"""So many pages ahead growth is begun at most (Y6): 64 MB."""


class Space:
    """Free pages of every page set (Y1-Y8)."""

    def __init__(self, recovery: RecoveryManager, buffers: BufferManager) -> None:
        self._recovery, self._buffers = recovery, buffers
        self.empty: dict[int, list[int]] = {}
        self.volatile: dict[int, list[int]] = {}
        self._found: dict[int, list[int]] = {}
        self.expand: dict[int, str] = {}
        """How a page set grows: USER (the default), SYSTEM or NONE (Y4)."""

        self.expansion = EXPANSION
        self.times_full = 0
        self.lead: dict[int, int] = {}
        """How many pages ahead a page set's growth is begun, where that was too late once (Y6)."""

        self._wanted: set[int] = set()
        self._refused: set[int] = set()
        self.nudge: Callable[[], None] = _nobody
        """Has `grow_step` run soon."""

        self.tell: Callable[..., None] = _nobody
        """Says something to the operator: a message identifier, a text, facts."""

    def add_page_set(self, page_set: PageSet) -> None:
        self.empty[page_set.number] = []
        self.volatile[page_set.number] = []
        self._found[page_set.number] = []

    def remove_page_set(self, number: int) -> None:
        del self.empty[number], self.volatile[number], self._found[number]
        self.expand.pop(number, None)
        self.lead.pop(number, None)
        self._wanted.discard(number)
        self._refused.discard(number)

    def free_page(self, page_set: PageSet) -> int:
        """A page that the space map calls free; the caller takes it in the same breath."""
        return self.free_pages(page_set).pop()

    def free_pages(self, page_set: PageSet) -> list[int]:
        """Pages that the space map calls free, at least one; the caller takes from the end of the list what it uses."""
        found = self._found[page_set.number]
        if not found:
            self._look(page_set, found)
        return found

    def at_hand(self, page_set: PageSet) -> tuple[list[int], int]:
        """Pages that need not be looked for, the next one last, and the log flag of taking them (Y1, Y5).

        Kept ones before free ones. The caller takes from the end of the list what it uses.
        """
        kept = self.empty[page_set.number]
        return (kept, 0) if kept else (self._found[page_set.number], ALLOCATES)

    def _look(self, page_set: PageSet, found: list[int]) -> None:
        """The next free pages of a page set, the first of them last (Y5)."""
        pool = self._buffers.pool_of[page_set.number]
        page = page_set.low_free
        while True:
            if page >= page_set.pages:
                self._expand(page_set)
                page = page_set.low_free
            base = page - page % SPAN
            data = pool.peek(page_set, map_page_of(page)).data
            limit = HEADER_LENGTH + min(SPAN, page_set.pages - base)
            at = data.find(b"\0", HEADER_LENGTH + page - base, limit) if data is not None else -1
            if at >= 0 and data is not None:
                while at >= 0 and len(found) < FOUND:
                    some = data[at : min(at + FOUND - len(found), limit)]
                    free, first = len(some) - len(some.lstrip(b"\0")), base + at - HEADER_LENGTH
                    found.extend(range(first, first + free))
                    at = data.find(b"\0", at + free, limit)
                page_set.low_free = found[-1] + 1
                found.reverse()
                if page_set.reserved - page_set.low_free < LEAD_MAX:
                    self._want_ahead(page_set)
                return
            page = page_set.low_free = min(base + SPAN, page_set.pages)

    def volatile_page(self, page_set: PageSet) -> int:
        """A page for non-persistent messages (Y2)."""
        kept = self.volatile[page_set.number]
        if kept:
            return kept.pop()
        page = self.free_page(page_set)
        self._set_use(page_set, page, VOLATILE_PAGE)
        return page

    def _set_use(self, page_set: PageSet, page: int, use: int) -> None:
        pool = self._buffers.pool_of[page_set.number]
        frame = pool.get(page_set, map_page_of(page))
        if frame.data is not None:
            frame.data[HEADER_LENGTH + page % SPAN] = use
        pool.set_unlogged(frame)
        pool.release(frame)

    def give_back(self, page_set: PageSet, pages: list[int]) -> None:
        """Tell the space map, durably, that pages hold nothing (Y1, Y3)."""
        pool = self._buffers.pool_of[page_set.number]
        spans: dict[int, list[int]] = {}
        for page in pages:
            spans.setdefault(map_page_of(page), []).append(page)
            frame = page_set.frames.get(page)
            if frame is not None:
                pool.forget(frame)
        for space_map, some in spans.items():
            frame = self._recovery.change(None, Kind.FREE, 0, page_set, space_map, pack_free(some))
            page_set.freed_rba = frame.rba
        page_set.low_free = min(page_set.low_free, *pages)

    def give_back_volatile(self, page_set: PageSet, pages: list[int]) -> None:
        for page in pages:
            self._set_use(page_set, page, FREE)
        page_set.low_free = min(page_set.low_free, *pages)

    def crowds(self) -> bool:
        """Whether pages are kept beyond need in a pool that has to write (Y8)."""
        crowded = [number for number, kept in tuple(self.empty.items()) if len(kept) > KEPT]
        pools = map(self._buffers.pool_of.get, crowded)  # one may go meanwhile: nobody holds the latch (W5)
        return any(pool is not None and pool.due for pool in pools)

    def step(self) -> bool:
        """Give back what is kept beyond need."""
        more = False
        for number, kept in self.empty.items():
            surplus = kept[: max(0, min(len(kept) - KEPT, SPAN // 4))]
            if surplus:
                del kept[: len(surplus)]
                self.give_back(self._buffers.page_sets[number], surplus)
            more = more or len(kept) > KEPT
        for number, kept in self.volatile.items():
            surplus = kept[: max(0, len(kept) - KEPT)]
            if surplus:
                del kept[: len(surplus)]
                self.give_back_volatile(self._buffers.page_sets[number], surplus)
        return more

    # --- growing ------------------------------------------------------------------------------------------------------

    def _expand(self, page_set: PageSet) -> None:
        """Grow a page set (Y4)."""
        self._reclaim(page_set)
        if page_set.low_free < page_set.pages:
            return
        pages = self._grown(page_set, page_set.pages)
        if pages <= page_set.pages:
            self._full(page_set)
        if page_set.reserved < pages:
            self._reserve_late(page_set, pages)
        for base in range(-(-page_set.pages // SPAN) * SPAN, pages, SPAN):
            self._recovery.change(None, Kind.FORMAT_MAP, 0, page_set, base, b"\0")
        self._recovery.change(None, Kind.HEADER, 0, page_set, 0, describe(page_set.number, pages))
        page_set.pages = pages
        page_set.expansions += 1

    def _grown(self, page_set: PageSet, pages: int) -> int:
        """How many pages the page set has when it grows from so many; as many if it may not (Y4)."""
        rule = self.expand.get(page_set.number, "USER")
        if rule == "NONE":
            return pages
        growth = max(self.expansion, pages // 4) if rule == "USER" else max(1, pages // 10)
        return min(pages + growth, PAGES_MAX)

    def _reserve_late(self, page_set: PageSet, pages: int) -> None:
        """The background was too slow, or there is none: set space aside now, with the latch held (Y6)."""
        number, lead = page_set.number, self._lead(page_set)
        try:
            page_set.reserve(pages)
        except OSError as error:
            self._refuse(page_set, error)
            self._full(page_set, error)
        self.lead[number] = min(2 * lead, LEAD_MAX)
        self._refused.discard(number)

    def _lead(self, page_set: PageSet) -> int:
        """How many pages before they are wanted the next ones are to be set aside (Y6)."""
        growth = self._grown(page_set, page_set.pages) - page_set.pages
        return self.lead.get(page_set.number) or min(growth, self.expansion, page_set.pages // 2)

    def _want_ahead(self, page_set: PageSet) -> None:
        """Have the background work, if it is time (Y6, Y7)."""
        number = page_set.number
        if number in self._wanted or number in self._refused:
            return
        if page_set.reserved - page_set.low_free < self._lead(page_set) and self._ahead(page_set) > page_set.reserved:
            self._wanted.add(number)
            self.nudge()

    def _ahead(self, page_set: PageSet) -> int:
        """To how many pages the page set has grown when it has its lead (Y6)."""
        pages, enough = page_set.pages, page_set.low_free + self._lead(page_set)
        while pages < enough or pages == page_set.pages:
            grown = self._grown(page_set, pages)
            if grown == pages:
                break
            pages = grown
        return pages

    def grow_due(self) -> bool:
        """Whether `grow_step` would do anything."""
        return bool(self._wanted)

    def grow_step(self) -> bool:
        """Background: set the space of growths to come aside. The latch is not held while the system does (Y6)."""
        with self._recovery.latch:
            page_sets = [self._buffers.page_sets[number] for number in self._wanted]
            wanted = [(page_set, self._ahead(page_set)) for page_set in page_sets]
        for page_set, pages in wanted:
            try:
                page_set.reserve(pages)
            except OSError as error:
                self._refuse(page_set, error)
            self._wanted.discard(page_set.number)
        return False

    def _refuse(self, page_set: PageSet, error: OSError) -> None:
        """The system has no space, or cannot be relied on: said once (Y7)."""
        if page_set.number not in self._refused:
            self._refused.add(page_set.number)
            text = "a page set could not be expanded; puts that need more pages are refused"
            self.tell("CSQP014E", text, page_set=page_set.number, pages=page_set.pages, error=str(error))

    def _reclaim(self, page_set: PageSet) -> None:
        """Before growing: what is kept for the other kind of message is given back."""
        empty, volatile = self.empty[page_set.number], self.volatile[page_set.number]
        if empty:
            self.give_back(page_set, empty[:])
            empty.clear()
        if volatile:
            self.give_back_volatile(page_set, volatile[:])
            volatile.clear()

    def _full(self, page_set: PageSet, error: OSError | None = None) -> None:
        self.times_full += 1
        why = str(error) if error else "it may not grow"
        raise MQError(Reason.STORAGE_MEDIUM_FULL, page_set=page_set.number, pages=page_set.pages, why=why)


def _nobody(*_args: object, **_facts: object) -> None:
    """Nobody runs background steps, or reads what the operator is told."""
