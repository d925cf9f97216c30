"""A buffer pool of 20 buffers by itself, over a page set of its own, for the worked examples of B1-B12.

Of 20 buffers writing starts when 3 are stealable and stops when 5 are; with none stealable who changes a page writes.
"""

from quaestor.storage.changes import chain, pack_next, text
from quaestor.storage.log_record import Kind
from quaestor.storage.page import HEADER_LENGTH, PAGE, header_of, is_whole, seal
from quaestor.storage.page_set import PageSet
from quaestor.testing import FaultyDisk, SmallEngine, since, snapshot

NUMBER = 7
SMALL_POOL = 20


class Pool:
    """A pool, its page set, and what a test wants to know of both."""

    def __init__(self, buffers=SMALL_POOL, pages=60, pages_per_io=16):
        self.disk = FaultyDisk()
        self.engine = SmallEngine(self.disk)
        self.log, self.buffers, self.clock = self.engine.log, self.engine.buffers, self.engine.clock
        self.pool = self.buffers.define_pool(NUMBER, buffers, pages_per_io)
        self.page_set = self.add_page_set(NUMBER, pages)
        self.formed = []
        self.buffers.form = self._form
        self.began = self.log.end
        self._before = snapshot(self.pool.stats)

    def add_page_set(self, number, pages=60):
        """A page set whose pages from 2 on have been written once: each holds its own number."""
        page_set = PageSet.create(self.disk, number, pages)
        self.buffers.add_page_set(page_set, NUMBER)
        page_set.write(2, [self._numbered(number, page) for page in range(2, pages)])
        page_set.harden()
        return page_set

    @staticmethod
    def _numbered(number, page):
        data = bytearray(PAGE)
        text(data, b"page %d" % page, number, page)
        seal(data, 1)
        return data

    def _form(self, frame):
        """What the data manager does for non-persistent messages (B7)."""
        self.formed.append(frame.page)
        data = bytearray(PAGE)
        text(data, frame.content, frame.page_set.number, frame.page)
        return data

    # --- what is done -------------------------------------------------------------------------------------------------

    def logged(self, kind, page, body):
        return self.log.append(kind, 0, 0, 0, NUMBER, page, body)

    def start(self, *pages, body=b"started"):
        """Pages are started by a logged change each (B8); gives the RBA of the last."""
        rba = 0
        for page in pages:
            rba = self.logged(Kind.TEXT, page, body)
            self.pool.started(self.page_set, page, text, body, rba)
        return rba

    def volatile(self, page, content, rba=0):
        self.pool.started_volatile(self.page_set, page, content, rba)

    def look(self, *pages):
        """Pages are got and released, unchanged."""
        for page in pages:
            self.pool.release(self.pool.get(self.page_set, page))

    def change(self, page, following=99):
        """A page is got, and one field of it is changed by a logged change that starts nothing; gives its RBA."""
        frame, body = self.pool.get(self.page_set, page), pack_next(following)
        rba = self.logged(Kind.CHAIN, page, body)
        frame.change(chain, body)
        self.pool.set_write(frame, rba)
        self.pool.release(frame)
        return rba

    # --- what is seen -------------------------------------------------------------------------------------------------

    def counted(self, *fields):
        """How much has been counted since this pool was made, or since it was last asked `from_now`."""
        return since(self._before, self.pool.stats, *fields)

    def from_now(self):
        self._before = snapshot(self.pool.stats)

    def here(self):
        return sorted(self.page_set.frames)

    def changed(self):
        """Changed pages in the order in which they are written."""
        return [frame.page for frame in self.pool.changed()]

    def stealable(self):
        """Pages that may be stolen, the next one first."""
        return [frame.page for frame in self.pool._stealable]

    def frame(self, page):
        return self.page_set.frames[page]

    def on_disk(self, page):
        """What the page set has of a page, which is whole, without its padding."""
        data = self.page_set.read_raw(page, 1)
        assert is_whole(data, NUMBER, page)
        return data[HEADER_LENGTH : header_of(data).end]

    def records(self, kind):
        """Pages of this page set that the log has records of this kind of, since the pool was made."""
        self.log.force(self.log.end - 1)
        return [each.page for each in self.log.scan(self.began) if each.kind == kind and each.page_set == NUMBER]
