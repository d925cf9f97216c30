"""What DISPLAY USAGE shows of a page set, and what it says about the small-message design.

Rules
  D1  Total pages are the unused, the persistent and the non-persistent ones.
  D2  Under a packing design, pages in use far above what the depth needs wait for the scavenger, which scans every five
      seconds and falls behind at high rates; one message to a page frees it at once.

Called by whoever reads usage or chooses a design.  Calls page_sets, source, bounds.
"""

from dataclasses import dataclass

from quaestor.planner.bounds import at_least
from quaestor.planner.page_sets import Design, pages_for_backlog
from quaestor.planner.source import OutOfRangeError, formula


@dataclass(frozen=True, slots=True)
class PageSetUsage:
    """One row of DISPLAY USAGE; a row whose pages do not add up is refused (D1)."""

    page_set: int
    buffer_pool: int
    total_pages: int
    unused_pages: int
    persistent_pages: int
    non_persistent_pages: int
    expansion: str = "USER"
    expansions: int = 0

    def __post_init__(self) -> None:
        parts = self.unused_pages + self.persistent_pages + self.non_persistent_pages
        if parts != self.total_pages:
            raise OutOfRangeError(
                f"page set {self.page_set}: total_pages {self.total_pages} is not valid: "
                f"unused, persistent and non-persistent pages add up to {parts}"
            )

    @property
    def used_percent(self) -> float:
        return 100 * (self.total_pages - self.unused_pages) / self.total_pages if self.total_pages else 0.0


@formula("mp16-ch1", "A-38", "870-878")
def unscavenged_pages(usage: PageSetUsage, depth: int, message_bytes: int, design: Design = Design.V6) -> int:
    """Pages marked in use that no message on the page set's queues needs (D2)."""
    at_least(0, depth=depth)
    used_pages = usage.persistent_pages + usage.non_persistent_pages
    return max(0, used_pages - pages_for_backlog(depth, message_bytes, design))
