"""Page sets: how many messages fit, how many pages a backlog takes, when expansion begins.

Rules
  P1  Message size here is user data and all headers except the MQMD; all messages of one size.
  P2  Three designs: V6 packs up to ten small messages to a page; from V7.0.1 a page holds one message at most; with
      MAXSHORTMSGS 0 that release packs up to eight.
  P3  From V7.0.1 the sizes follow a closed form that meets every printed row (ours; the paper prints rows only).  V6 is
      looked up as printed, though its bound at six pages breaks its own step by one; beyond the rows it is computed.
  P4  The paper counts 250,000 pages to the gigabyte, 4.6% below the true number; that is the default, so a plan errs on
      the safe side.
  P5  Expansion begins past 90% full.

Called by deferred_write, page_set_usage and whoever plans a page set.  Calls geometry, release, source, bounds.
"""

from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.quantity import GIB
from quaestor.planner.release import Release
from quaestor.planner.source import OutOfRangeError, Source, formula

MESSAGE_BYTES_MAX = 100 * 1024 * 1024  # the longest message a queue takes
PAPER_PAGES_PER_GIB = 250_000  # P4 [770-789]
PAGES_PER_GIB = GIB // PAGE_BYTES
EXPANSION_PERCENT = 90  # P5 [795-797]

FIRST_PAGE_BYTES, NEXT_PAGE_BYTES = 3635, 4048  # F-15, from V7.0.1
V6_FIRST_PAGE_BYTES, V6_NEXT_PAGE_BYTES = 3697, 4049  # F-15c
PACKED_PAGE_BYTES, PACKED_OVERHEAD_BYTES = 4056, 461  # F-15b
PACKED_MESSAGES_MAX = 8


class Design(Enum):
    """How small messages lie in pages (P2)."""

    V6 = "V6"
    ONE_PER_PAGE = "V7.0.1 as shipped"
    PACKED = "V7.0.1 with MAXSHORTMSGS 0"


@dataclass(frozen=True, slots=True)
class Packing:
    """Pages to a message, or messages to a page: one of the two is 1."""

    pages_per_message: int
    messages_per_page: int


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """One printed row: sizes from and to for each design that has the row, and messages in 4 GB and in 64 GB."""

    packing: Packing
    sizes: dict[Design, tuple[int, int]]
    messages_4_gb: int
    messages_64_gb: int


def _row(
    packing: Packing,
    thousands: tuple[int, int],
    v6: tuple[int, int],
    shipped: tuple[int, int] | None = None,
    packed: tuple[int, int] | None = None,
) -> CapacityRow:
    printed = {Design.V6: v6, Design.ONE_PER_PAGE: shipped, Design.PACKED: packed}
    sizes = {design: size for design, size in printed.items() if size is not None}
    return CapacityRow(packing, sizes, thousands[0] * 1000, thousands[1] * 1000)


def _long(pages: int, thousands: tuple[int, int], v6: tuple[int, int], later: tuple[int, int]) -> CapacityRow:
    return _row(Packing(pages, 1), thousands, v6, later, later)


def _short(messages: int, v6: tuple[int, int], packed: tuple[int, int] | None = None) -> CapacityRow:
    return _row(Packing(1, messages), (1000 * messages, 16_000 * messages), v6, None, packed)


CAPACITY_SOURCE = Source("mp16-ch1", "T-10", "768-789")
CAPACITY = (
    _long(8, (125, 2000), (27992, 32040), (27924, 31971)),
    _long(7, (142, 2285), (23942, 27991), (23876, 27923)),
    _long(6, (166, 2666), (19894, 23941), (19828, 23875)),
    _long(5, (200, 3200), (15845, 19893), (15780, 19827)),
    _long(4, (250, 4000), (11796, 15844), (11732, 15779)),
    _long(3, (333, 5333), (7747, 11795), (7684, 11731)),
    _long(2, (500, 8000), (3698, 7746), (3636, 7683)),
    _row(Packing(1, 1), (1000, 16_000), (1656, 3697), (0, 3635), (1568, 3635)),
    _short(2, (981, 1655), (892, 1567)),
    _short(3, (643, 980), (554, 891)),
    _short(4, (440, 642), (351, 553)),
    _short(5, (305, 439), (216, 350)),
    _short(6, (208, 304), (119, 215)),
    _short(7, (136, 207), (47, 118)),
    _short(8, (79, 135), (0, 46)),
    _short(9, (34, 78)),
    _short(10, (0, 33)),
)


@formula("mp16-ch1", "F-15", "768-789")
def pages_per_message(message_bytes: int) -> int:
    """Pages one message takes from V7.0.1: 3635 bytes in the first, 4048 in each further one (P3)."""
    within(0, MESSAGE_BYTES_MAX, message_bytes=message_bytes)
    beyond = max(0, message_bytes - FIRST_PAGE_BYTES)
    return 1 - (-beyond // NEXT_PAGE_BYTES)


@formula("mp16-ch1", "F-15b", "768-789")
def messages_per_page(message_bytes: int) -> int:
    """Messages in a page with MAXSHORTMSGS 0: at most eight; one where only one fits (P3)."""
    within(0, FIRST_PAGE_BYTES, message_bytes=message_bytes)
    return max(1, min(PACKED_MESSAGES_MAX, PACKED_PAGE_BYTES // (message_bytes + PACKED_OVERHEAD_BYTES)))


@formula("mp16-ch1", "F-15c", "768-789")
def v6_packing(message_bytes: int) -> Packing:
    """V6: the printed row, or beyond the rows 3697 bytes in the first page and 4049 in each further one (P3)."""
    within(0, MESSAGE_BYTES_MAX, message_bytes=message_bytes)
    for row in CAPACITY:
        low, high = row.sizes[Design.V6]
        if low <= message_bytes <= high:
            return row.packing
    return Packing(1 - (-(message_bytes - V6_FIRST_PAGE_BYTES) // V6_NEXT_PAGE_BYTES), 1)


@formula("mp16-ch1", "T-10", "768-789")
def packing(message_bytes: int, design: Design = Design.ONE_PER_PAGE) -> Packing:
    """How messages of one size lie in pages under a design (P1, P2)."""
    if design is Design.V6:
        return v6_packing(message_bytes)
    pages = pages_per_message(message_bytes)
    fits_together = design is Design.PACKED and pages == 1
    return Packing(pages, messages_per_page(message_bytes) if fits_together else 1)


@formula("mp16-ch1", "F-14", "762-766")
def page_set_bytes_max(release: Release) -> int:
    """The largest page set: 64 GB from V6.0, 4 GB before."""
    return 64 * GIB if release >= Release.V6_0 else 4 * GIB


@formula("mp16-ch1", "F-16", "768-789")
def messages_that_fit(
    page_set_bytes: int,
    message_bytes: int,
    design: Design = Design.ONE_PER_PAGE,
    pages_per_gib: int = PAPER_PAGES_PER_GIB,
) -> int:
    """Messages a page set holds, with the paper's round number of pages to the gigabyte unless told (P4)."""
    within(0, page_set_bytes_max(Release.V9_0), page_set_bytes=page_set_bytes)
    at_least(1, pages_per_gib=pages_per_gib)
    pages = page_set_bytes * pages_per_gib // GIB
    lie = packing(message_bytes, design)
    return pages // lie.pages_per_message * lie.messages_per_page


@formula("mp16-ch1", "F-16", "768-793")
def pages_for_backlog(messages: int, message_bytes: int, design: Design = Design.ONE_PER_PAGE) -> int:
    """Pages that a backlog of equal messages takes."""
    at_least(0, messages=messages)
    lie = packing(message_bytes, design)
    return -(-messages * lie.pages_per_message // lie.messages_per_page)


@formula("mp16-ch1", "M-12", "795-797")
def time_to_expansion_s(
    total_pages: int,
    used_pages: int,
    backlog_growth_per_s: float,
    message_bytes: int,
    design: Design = Design.ONE_PER_PAGE,
) -> float:
    """Seconds until the page set passes 90% full while puts outrun gets by `backlog_growth_per_s` (P5)."""
    at_least(1, total_pages=total_pages)
    within(0, total_pages, used_pages=used_pages)
    above(0, backlog_growth_per_s=backlog_growth_per_s)
    lie = packing(message_bytes, design)
    left_pages = max(0.0, total_pages * EXPANSION_PERCENT / 100 - used_pages)
    return left_pages * lie.messages_per_page / lie.pages_per_message / backlog_growth_per_s


def design_of(release: Release, *, maxshortmsgs_0: bool = False) -> Design:
    """The design a release uses; MAXSHORTMSGS is known from V7.0.1 on."""
    if release >= Release.V7_0_1:
        return Design.PACKED if maxshortmsgs_0 else Design.ONE_PER_PAGE
    if maxshortmsgs_0:
        raise OutOfRangeError(f"MAXSHORTMSGS is not valid at {release.name}: V7_0_1 or later")
    return Design.V6
