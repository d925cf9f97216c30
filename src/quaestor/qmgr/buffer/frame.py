"""A buffer and the page in it: its states, and the changes that wait until somebody wants its bytes (B8)."""

from typing import Any

from quaestor.mqi.reasons import Abend
from quaestor.storage.changes import WHOLE, Redo
from quaestor.storage.page import PAGE
from quaestor.storage.page_set import PageSet

EMPTY = bytes(PAGE)


class Frame:
    """A buffer and the page in it.

    `content` is what a manager keeps with the page as long as it is here. A page whose `data` is None exists only
    as content and is formed when it must be written (B7). Changes of a page that was started here (`starting`, then
    `further`) wait until somebody wants its bytes (B8); until then it has no bytes (`raw`) beside what starts it:
    `started_with` and `rest`, which is the body of a message that is here anyhow. Whoever writes it lends it memory
    for its bytes (`image`) and leaves it as it is (B12).
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

    def __init__(
        self,
        page_set: PageSet,
        page: int,
        data: bytearray | None = None,
        starting: Redo | None = None,
        started_with: bytes = b"",
        rest: bytes = b"",
        content: object = None,
        rba: int = 0,
        born: int = 0,
    ) -> None:
        """A page that is here with its bytes, will be, or is `starting` with a change at `rba` as part of an age."""
        self.page_set = page_set
        self.page = page
        self.raw = data
        self.starting = starting
        self.started_with = started_with
        self.rest = rest
        self.further: list[tuple[Redo, bytes]] | None = None
        self.content = content
        self.in_use = 0
        self.changed = self.whole = starting is not None
        self.volatile = False
        self.rba = self.first_rba = rba
        self.born = born

    @property
    def data(self) -> bytearray | None:
        """The page's bytes, with every change made."""
        if self.starting is not None:
            data = bytearray(PAGE)
            self._change(data)
            self.data = data
        return self.raw

    @data.setter
    def data(self, data: bytearray | None) -> None:
        self.raw = data
        if self.starting is not None:
            self.starting = self.further = None
            self.started_with = self.rest = b""

    def sealed(self) -> bytes | None:
        """The page as it is written, where it has nothing but the change that started it (C5, B12)."""
        starting = self.starting
        if starting is None or self.further is not None:
            return None
        whole = WHOLE.get(starting)
        return None if whole is None else whole(self.started_with, self.rest, self.page_set.number, self.page, self.rba)

    def image(self, lent: bytearray) -> bytearray | None:
        """The same, in memory that is lent if changes wait: they go on waiting (B12)."""
        if self.starting is None:
            return self.raw
        lent[:] = EMPTY
        self._change(lent)
        return lent

    def _change(self, data: bytearray) -> None:
        """Make the changes that wait, in an empty page."""
        number, page = self.page_set.number, self.page
        if self.starting is not None:
            self.starting(data, self.started_with + self.rest, number, page)
        for redo, body in self.further or ():
            redo(data, body, number, page)

    def hold(self, page_set: PageSet, page: int) -> None:
        """The buffer was stolen: nothing of its page is left but the memory, for the one that takes its place (B15)."""
        self.page_set, self.page = page_set, page
        self.starting = self.further = self.content = None
        self.started_with = self.rest = b""
        self.changed = self.whole = self.volatile = False
        self.rba = self.first_rba = self.born = 0

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
    """A page as read is not whole (T3), or cannot be read."""

    def __init__(self, page_set: int, page: int, why: str = "") -> None:
        what = f"cannot be read ({why})" if why else "is not whole"
        super().__init__(f"page {page} of page set {page_set} {what}; recover the page set from its image copy")
        self.page_set, self.page, self.why = page_set, page, why

    @property
    def facts(self) -> dict[str, Any]:
        """Where it is, and why it cannot be read."""
        return {"page_set": self.page_set, "page": self.page} | ({"why": self.why} if self.why else {})
