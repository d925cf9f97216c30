"""A buffer and the page in it: its states, and the changes that wait until somebody wants its bytes (B8)."""

from quaestor.mqi.reasons import Abend
from quaestor.storage.changes import Redo
from quaestor.storage.page import PAGE
from quaestor.storage.page_set import PageSet


class Frame:
    """A buffer and the page in it.

    `content` is what a manager keeps with the page as long as it is here. A page whose `data` is None exists only
    as content and is formed when it must be written (B7). Changes of a page that was started here (`starting`, then
    `further`) wait until somebody wants its bytes (B8); until then it has no bytes (`raw`) beside what starts it:
    `started_with` and `rest`, which is the body of a message that is here anyhow.
    """

    __slots__ = (
        "born",
        "changed",
        "content",
        "first_rba",
        "further",
        "in_use",
        "page",
        "page_set",
        "raw",
        "rba",
        "rest",
        "started_with",
        "starting",
        "volatile",
        "whole",
    )

    def __init__(self, page_set: PageSet, page: int, data: bytearray | None) -> None:
        self.page_set, self.page, self.raw = page_set, page, data
        self.starting: Redo | None = None
        self.started_with = self.rest = b""
        self.further: list[tuple[Redo, bytes]] | None = None
        self.content: object | None = None
        self.in_use = 0
        self.changed = self.whole = self.volatile = False
        self.rba = self.first_rba = self.born = 0

    @property
    def data(self) -> bytearray | None:
        """The page's bytes, with every change made."""
        if self.starting is not None:
            data = self.raw = bytearray(PAGE)
            number, page = self.page_set.number, self.page
            self.starting(data, self.started_with + self.rest, number, page)
            for redo, body in self.further or ():
                redo(data, body, number, page)
            self.starting = self.further = None
            self.started_with = self.rest = b""
        return self.raw

    @data.setter
    def data(self, data: bytearray | None) -> None:
        self.raw = data
        if self.starting is not None:
            self.starting = self.further = None
            self.started_with = self.rest = b""

    def spare(self) -> bytearray | None:
        """The buffer's memory, for the page that takes its place."""
        return self.raw

    def start(self, redo: Redo, body: bytes) -> None:
        """A change that needs nothing of what the page held: it waits until the bytes are wanted (B8)."""
        self.starting = redo
        self.started_with = body
        self.rest = b""
        self.further = self.raw = None

    def change(self, redo: Redo, body: bytes) -> None:
        """A change: behind those that wait, or at once (B8)."""
        if self.starting is not None:
            if self.further is None:
                self.further = []
            self.further.append((redo, body))
        elif self.raw is not None:
            redo(self.raw, body, self.page_set.number, self.page)
        else:
            raise Abend("B1", "a page without contents is changed", page_set=self.page_set.number, page=self.page)


class TornPageError(Exception):
    """A page as read is not whole (T3)."""

    def __init__(self, page_set: int, page: int) -> None:
        super().__init__(f"page {page} of page set {page_set} is not whole; recover the page set from its image copy")
        self.page_set, self.page = page_set, page
