"""A buffer and the page in it: its states, and the changes that wait until somebody wants its bytes (B8)."""

from quaestor.mqi.reasons import Abend
from quaestor.storage.changes import Redo
from quaestor.storage.page import PAGE
from quaestor.storage.page_set import PageSet


class Frame:
    """A buffer and the page in it.

    `content` is what a manager keeps with the page as long as it is here. A page whose `data` is None exists only
    as content and is formed when it must be written (B7). Changes of a page that was started here wait, in order,
    until somebody wants its bytes (B8).
    """

    __slots__ = (
        "_bytes",
        "_further",
        "_started_with",
        "_starting",
        "born",
        "changed",
        "content",
        "first_rba",
        "in_use",
        "page",
        "page_set",
        "rba",
        "volatile",
        "whole",
    )

    def __init__(self, page_set: PageSet, page: int, data: bytearray | None) -> None:
        self.page_set, self.page, self._bytes = page_set, page, data
        self._starting: Redo | None = None
        self._started_with = b""
        self._further: list[tuple[Redo, bytes]] | None = None
        self.content: object | None = None
        self.in_use = 0
        self.changed = self.whole = self.volatile = False
        self.rba = self.first_rba = self.born = 0

    @property
    def data(self) -> bytearray | None:
        """The page's bytes, with every change made."""
        if self._starting is not None:
            data = self._bytes
            if data is None:
                data = self._bytes = bytearray(PAGE)
            number, page = self.page_set.number, self.page
            self._starting(data, self._started_with, number, page)
            for redo, body in self._further or ():
                redo(data, body, number, page)
            self._starting = self._further = None
            self._started_with = b""
        return self._bytes

    @data.setter
    def data(self, data: bytearray | None) -> None:
        self._bytes = data
        self._starting = self._further = None
        self._started_with = b""

    def spare(self) -> bytearray | None:
        """The buffer's memory, for the page that takes its place."""
        return self._bytes

    def start(self, redo: Redo, body: bytes) -> None:
        """A change that needs nothing of what the page held: it waits until the bytes are wanted (B8)."""
        self._starting = redo
        self._started_with = body
        self._further = None

    def change(self, redo: Redo, body: bytes) -> None:
        """A change: behind those that wait, or at once (B8)."""
        if self._starting is not None:
            if self._further is None:
                self._further = []
            self._further.append((redo, body))
        elif self._bytes is not None:
            redo(self._bytes, body, self.page_set.number, self.page)
        else:
            raise Abend("B1", "a page without contents is changed", page_set=self.page_set.number, page=self.page)


class TornPageError(Exception):
    """A page as read is not whole (T3)."""

    def __init__(self, page_set: int, page: int) -> None:
        super().__init__(f"page {page} of page set {page_set} is not whole")
        self.page_set, self.page = page_set, page
