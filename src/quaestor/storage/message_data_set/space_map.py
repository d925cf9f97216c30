"""Space map: which pages of a message data set are in use (MD3, MD5).

Called by data_set.
"""

from collections.abc import Iterable

EXTENTS_MAX = 15
FREE, USED = b"\0", b"\1"


class SpaceMap:
    """Which pages of a data set are in use; known to its owner alone (MD3)."""

    def __init__(self, pages: int) -> None:
        self._uses = bytearray(pages)
        self.used = 0
        self._next = 0

    @property
    def pages(self) -> int:
        return len(self._uses)

    def allocate(self, pages: int) -> tuple[tuple[int, int], ...] | None:
        """So many pages in one piece or few (MD5); None when there are not enough."""
        if pages > self.pages - self.used:
            return None
        at = self._find(pages)
        extents = ((at, pages),) if at >= 0 else self._gather(pages)
        if extents is not None:
            self.mark(extents)
            last, count = extents[-1]
            self._next = last + count
        return extents

    def _find(self, pages: int) -> int:
        at = self._uses.find(FREE * pages, self._next)
        return at if at >= 0 else self._uses.find(FREE * pages)

    def _gather(self, pages: int) -> tuple[tuple[int, int], ...] | None:
        """The first free pieces, as they come; None when that takes too many."""
        found: list[tuple[int, int]] = []
        at = self._uses.find(FREE)
        while at >= 0 and pages and len(found) < EXTENTS_MAX:
            end = self._uses.find(USED, at)
            count = min((end if end >= 0 else self.pages) - at, pages)
            found.append((at, count))
            pages -= count
            at = self._uses.find(FREE, at + count)
        return None if pages else tuple(found)

    def mark(self, extents: Iterable[tuple[int, int]]) -> None:
        """These pages are in use."""
        for at, count in extents:
            if self._uses.count(USED, at, at + count):
                raise ValueError(f"pages {at} to {at + count - 1} are in use by two messages")
            self._uses[at : at + count] = USED * count
            self.used += count

    def free(self, extents: Iterable[tuple[int, int]]) -> None:
        for at, count in extents:
            if self._uses.count(USED, at, at + count) != count:
                raise ValueError(f"pages {at} to {at + count - 1} are freed twice")
            self._uses[at : at + count] = FREE * count
            self.used -= count

    def grow(self, pages: int) -> None:
        self._uses += FREE * pages

    def blocks_used(self, block_pages: int) -> int:
        return sum(USED in self._uses[at : at + block_pages] for at in range(0, self.pages, block_pages))
