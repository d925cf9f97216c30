"""Page sets: how many messages fit, and what DISPLAY USAGE says of them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.page_set_usage import PageSetUsage, unscavenged_pages
from quaestor.planner.page_sets import (
    CAPACITY,
    MESSAGE_BYTES_MAX,
    PAGES_PER_GIB,
    Design,
    Packing,
    design_of,
    messages_per_page,
    messages_that_fit,
    packing,
    page_set_bytes_max,
    pages_for_backlog,
    pages_per_message,
    time_to_expansion_s,
    v6_packing,
)
from quaestor.planner.quantity import GIB
from quaestor.planner.release import Release
from quaestor.planner.source import OutOfRangeError

DESIGNS = st.sampled_from(Design)
ROWS = [(row, design, edge) for row in CAPACITY for design, edges in row.sizes.items() for edge in edges]


@pytest.mark.oracle("mp16-ch1/13", kind="exact", lines="770-789")
@pytest.mark.parametrize(("row", "design", "size"), ROWS)
def test_both_edges_of_every_row(row, design, size):
    assert packing(size, design) == row.packing
    assert messages_that_fit(4 * GIB, size, design) // 1000 * 1000 == row.messages_4_gb
    assert messages_that_fit(64 * GIB, size, design) // 1000 * 1000 == row.messages_64_gb


def test_the_rows_leave_no_gap():
    assert len(CAPACITY) == 17
    for design in Design:
        edges = sorted(row.sizes[design] for row in CAPACITY if design in row.sizes)
        assert edges[0][0] == 0
        assert all(high + 1 == low for (_, high), (low, _) in pairwise(edges))


@pytest.mark.oracle("mp16-ch1/14", kind="exact", lines="858, 864")
def test_messages_of_32_bytes():
    assert packing(32, Design.V6).messages_per_page == 10
    assert messages_that_fit(64 * GIB, 32, Design.V6) == 160_000_000
    assert packing(32, Design.ONE_PER_PAGE).messages_per_page == 1
    assert messages_that_fit(64 * GIB, 32, Design.ONE_PER_PAGE) == 16_000_000


@pytest.mark.oracle("mp16-ch1/15", kind="exact", lines="1040")
def test_up_to_3635_bytes_is_one_page():
    assert [1, 1, 2] == [pages_per_message(n) for n in (0, 3635, 3636)]


def test_the_paper_counts_4_6_percent_too_few_pages():
    paper, true = messages_that_fit(64 * GIB, 100), messages_that_fit(64 * GIB, 100, pages_per_gib=PAGES_PER_GIB)
    assert (16_000_000, 16_777_216) == (paper, true)


def test_v6_breaks_its_own_step_at_six_pages():
    """The step of 4049 would make 23942 the last size of six pages; as printed it is the first of seven."""
    assert [6, 7] == [v6_packing(n).pages_per_message for n in (23941, 23942)]
    assert v6_packing(32041) == Packing(9, 1)


@given(DESIGNS, st.integers(0, 10**6))
def test_a_longer_message_never_takes_less_space(design, size):
    shorter, longer = packing(size, design), packing(size + 1, design)
    assert 1 in (shorter.pages_per_message, shorter.messages_per_page)
    assert shorter.pages_per_message <= longer.pages_per_message
    assert shorter.messages_per_page >= longer.messages_per_page


@given(st.integers(0, 3635))
def test_packed_messages_and_their_overhead_fit_the_page(size):
    together = messages_per_page(size)
    assert 1 <= together <= 8
    assert together == 1 or together * (size + 461) <= 4056


@given(DESIGNS, st.integers(0, 40_000), st.integers(1, 64))
def test_what_fits_needs_no_more_pages_than_there_are(design, size, gib):
    messages = messages_that_fit(gib * GIB, size, design)
    assert pages_for_backlog(messages, size, design) <= gib * 250_000
    assert pages_for_backlog(messages + 10, size, design) > gib * 250_000


@given(DESIGNS, st.integers(0, 40_000), st.integers(0, 10**6))
def test_a_backlog_never_shrinks_by_growing(design, size, messages):
    assert pages_for_backlog(messages, size, design) <= pages_for_backlog(messages + 1, size, design)


def test_the_largest_page_set():
    assert page_set_bytes_max(Release.V5_3) == 4 * GIB
    assert page_set_bytes_max(Release.V6_0) == page_set_bytes_max(Release.V9_0) == 64 * GIB


def test_the_design_of_a_release():
    assert design_of(Release.V6_0) is Design.V6
    assert design_of(Release.V8_0) is Design.ONE_PER_PAGE
    assert design_of(Release.V8_0, maxshortmsgs_0=True) is Design.PACKED
    with pytest.raises(OutOfRangeError, match="MAXSHORTMSGS is not valid at V6_0: V7_0_1 or later"):
        design_of(Release.V6_0, maxshortmsgs_0=True)


def test_expansion_begins_past_90_percent():
    assert time_to_expansion_s(1_000_000, 100_000, backlog_growth_per_s=100, message_bytes=1000) == 8000
    assert time_to_expansion_s(1_000_000, 100_000, 100, message_bytes=5000) == 4000  # two pages each
    assert time_to_expansion_s(1_000_000, 950_000, 100, 1000) == 0
    packed = time_to_expansion_s(1_000_000, 100_000, 100, 40, Design.PACKED)
    assert packed == 8 * 8000


@pytest.mark.parametrize(
    "impossible",
    [
        lambda: pages_per_message(-1),
        lambda: packing(MESSAGE_BYTES_MAX + 1),
        lambda: packing(-1, Design.V6),
        lambda: messages_per_page(3636),
        lambda: messages_that_fit(64 * GIB + 1, 100),
        lambda: pages_for_backlog(-1, 100),
        lambda: time_to_expansion_s(100, 101, 1, 1),
        lambda: time_to_expansion_s(100, 10, 0, 1),
    ],
)
def test_impossible_values_name_what_is_valid(impossible):
    with pytest.raises(OutOfRangeError, match=r"is not valid: (0 to|0 or more|more than 0)"):
        impossible()


@pytest.mark.oracle("mp16-ch1/17", kind="exact", lines="870-878")
def test_display_usage_of_a_queue_never_deeper_than_one():
    rows = [
        PageSetUsage(0, 0, 20157, 19837, 320, 0),
        PageSetUsage(1, 1, 268542, 102704, 29, 165809),
        PageSetUsage(2, 2, 214725, 214725, 0, 0),
    ]
    for row in rows:
        assert row.total_pages == row.unused_pages + row.persistent_pages + row.non_persistent_pages
    assert rows[1].non_persistent_pages == 165_809
    assert unscavenged_pages(rows[1], depth=1, message_bytes=2048) == 165_809 + 29 - 1
    assert round(rows[1].used_percent) == 62


def test_usage_that_does_not_add_up_is_refused():
    with pytest.raises(OutOfRangeError, match=r"page set 1: total_pages 100 is not valid: .* add up to 99"):
        PageSetUsage(1, 1, 100, 90, 9, 0)


@given(st.integers(0, 1000), st.integers(0, 5000))
def test_pages_that_messages_need_are_not_unscavenged(depth, size):
    needed = pages_for_backlog(depth, size, Design.V6)
    usage = PageSetUsage(1, 1, 10_000, 10_000 - needed - 7, 7, needed)
    assert unscavenged_pages(usage, depth, size) == 7


def test_a_page_set_emptier_than_its_depth_says_has_nothing_to_scavenge():
    assert unscavenged_pages(PageSetUsage(1, 1, 100, 100, 0, 0), depth=50, message_bytes=2048) == 0


def test_a_page_set_without_pages_is_not_used():
    assert 0 == PageSetUsage(1, 1, 0, 0, 0, 0).used_percent
