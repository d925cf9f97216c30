"""Plain calls of a verb: those that nobody looks at the clock for, counted by what is left of the calls that may pass.

Rules
  PC1 A plain call that worked takes one off `left`, with the latch held. How many were made is the difference to what
      was left when they were last added up (`allowed`): one number per call serves both ends.
  PC2 Lengths are mostly all the same. So one is kept for all, and a call compares; only another one is noted. The one
      that was met last is kept from then on.
  PC3 Times on queue are small numbers, by the time of day at both ends. To add them up at once is cheaper than to note
      them and to come back with code and numbers that have left the caches, if they are floating-point numbers:
      whole ones of that size cost three times as much. They are right to a quarter of a microsecond each.
  PC4 Numbers only grow, but for extremes, which the reader takes away, and for what stands between PC1 and PC2.

Called by the handles that make plain puts and gets (`noting`).  Read by the tally of the queue.
"""

US_UNSET = 1e18


class PlainCalls:
    """What plain calls have left behind (PC1 to PC4)."""

    __slots__ = (
        "allowed",
        "deepest",
        "left",
        "length",
        "lengths",
        "longest_us",
        "on_queue_us",
        "persistent",
        "shortest_us",
    )

    def __init__(self) -> None:
        self.left = self.allowed = 0  # calls that may pass before one is due; what it was when they were added up
        self.length = -1
        self.lengths: list[int] = []  # others (PC2)
        self.persistent = 0
        self.deepest = 0  # the queue, after a put
        self.on_queue_us = self.longest_us = 0.0  # messages that were got (PC3)
        self.shortest_us = US_UNSET

    def allow(self, calls: int) -> None:
        """So many calls may pass from now on."""
        self.allowed += calls - self.left
        self.left = calls

    def counted(self) -> None:
        """A call that may pass is counted by others (PC1)."""
        self.left -= 1
        self.allowed -= 1

    def taken(self) -> tuple[int, int, list[int]]:
        """Calls since the last time: how many of one length, that length, the lengths of the others. Latch held."""
        made, self.allowed = self.allowed - self.left, self.left
        length, others = self.length, self.lengths[:]
        if others:
            self.length = others[-1]
            self.lengths.clear()
        return made - len(others), length, others

    def was_on_queue(self, us: float) -> None:
        """A message that was got was so long on the queue."""
        self.on_queue_us += us
        self.longest_us = max(self.longest_us, us)
        self.shortest_us = min(self.shortest_us, us)

    def take_extremes(self) -> tuple[int, int]:
        """Longest and shortest time on queue in microseconds; the time of day may have been put back meanwhile."""
        longest_us = max(self.longest_us, 0)
        shortest_us = 0 if self.shortest_us == US_UNSET else max(self.shortest_us, 0)
        self.longest_us, self.shortest_us = 0.0, US_UNSET
        return round(longest_us), round(shortest_us)
