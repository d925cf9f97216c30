"""Get buffer: how large a buffer a get offers to a structure, and what it learns when that was too small.

Rules
  GB1 A get offers a buffer of a class: 256, 512, 1024, 2048 bytes, then every 4 KB up to 64 KB; at first 4 KB. An entry
      that does not fit is not read and not touched: the get is done again with the smallest class that holds it, and
      that is counted as a redrive (MP16 CF-M21).
  GB2 The size is remembered for the queue. It shrinks when ten messages in a row would have fitted a smaller class: to
      the class of the largest of them.
  GB3 MP1B's version remembers nothing: 4 KB, then 64 KB (M-14).

Called by the shared store.  Calls nothing.
"""

from bisect import bisect_left

CLASSES: tuple[int, ...] = (256, 512, 1024, 2048, *range(4096, 65_536 + 1, 4096))
FIRST, LARGEST = 4096, CLASSES[-1]
SHRINK_AFTER = 10


def buffer_class(length: int) -> int:
    """The smallest class that holds so much."""
    return LARGEST if length > LARGEST else CLASSES[bisect_left(CLASSES, length)]


class GetBuffer:
    """The buffer that gets from one queue offer (GB1, GB2)."""

    __slots__ = ("_smaller", "size")

    def __init__(self) -> None:
        self.size = FIRST
        self._smaller: list[int] = []

    def too_small(self, length: int) -> int:
        """What is offered next to an entry that was not read."""
        self.size = buffer_class(length)
        self._smaller.clear()
        return self.size

    def fitted(self, length: int) -> None:
        """An entry was read."""
        size, smaller = buffer_class(length), self._smaller
        if size >= self.size:
            smaller.clear()
            return
        smaller.append(size)
        if len(smaller) >= SHRINK_AFTER:
            self.size = max(smaller)
            smaller.clear()


class ForgetfulBuffer(GetBuffer):
    """As it was before sizes were remembered (GB3)."""

    __slots__ = ()

    def too_small(self, length: int) -> int:  # noqa: ARG002 - whatever it is
        return LARGEST

    def fitted(self, length: int) -> None:
        """Nothing is learned."""
