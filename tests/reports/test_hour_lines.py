"""Lines over hours: gaps, single hours, what stands under the pointer, and what is left out (W1 to W4, D3)."""

from datetime import datetime, timedelta

import pytest

from quaestor.reports import charts
from quaestor.reports.hour_lines import MOST_LINES, line_figure

FIRST = datetime(2026, 3, 2)


def points(*hours, value=1.0):
    return [(FIRST + timedelta(hours=hour), value) for hour in hours]


def drawn(lines):
    made = line_figure(lines, "figure", 200, "%{y}")
    return {each["name"]: each for each in made["data"]}


def test_hours_that_nobody_has_are_a_gap():
    """W1: a queue manager that stood still from three to six is not drawn as working."""
    line = drawn({"QM1": points(0, 1, 2, 7, 8)})["QM1"]
    assert [1.0, 1.0, 1.0, None, 1.0, 1.0] == line["y"]
    assert "2026-03-02T03:00:00" == line["x"][3]


def test_a_point_at_the_edge_is_drawn_whole():
    """W4."""
    assert drawn({"QM1": points(0, value=0.0)})["QM1"]["cliponaxis"] is False


@pytest.mark.parametrize(("hours", "gaps"), [((0, 2, 4, 6), 0), ((0, 2, 6, 8), 1), ((0, 24, 48), 0), ((0, 25), 1)])
def test_intervals_of_two_hours_are_no_gaps(hours, gaps):
    """W1: what is usual is no gap, but nothing is longer than a day."""
    assert gaps == drawn({"QM1": points(*hours)})["QM1"]["y"].count(None)


def test_an_hour_alone_among_many_is_a_point():
    """W2: a pool that is used at two every night, and is full then, would have no line at all."""
    nights = range(2, 24 * 7, 24)
    lines = drawn({"PRD1 pool 0": points(*range(24 * 7)), "PRD1 pool 3": points(*nights, value=5.0)})
    always, nightly = lines["PRD1 pool 0"], lines["PRD1 pool 3"]
    assert ("lines", "lines+markers") == (always["mode"], nightly["mode"])
    seen = [when for when, size in zip(nightly["x"], nightly["marker"]["size"], strict=True) if size]
    assert [when.isoformat() for when, _ in points(*nights)] == seen


def test_hours_side_by_side_need_no_points():
    """W2: two hours have a line between them."""
    pair = drawn({"QM1": points(*range(100)), "QM2": points(5, 6)})["QM2"]
    assert "lines" == pair["mode"]


def test_under_the_pointer_an_hour_has_its_time():
    """W3: over a month the marks of the axis are days, and the pointer would say a day for each of its hours."""
    made = line_figure({"QM1": points(*range(24 * 28))}, "figure", 200, "%{y}")
    assert "%-d %b %Y %H:%M" == made["layout"]["xaxis"]["hoverformat"]


def test_where_the_marks_are_days_the_year_is_told():
    """W3: over years every mark would be 1 Jan."""
    first, last = datetime(2016, 2, 27), datetime(2026, 3, 2)
    made = line_figure({"QM1": [(first, 1.0), (last, 1.0)]}, "figure", 200, "%{y}")
    days = made["layout"]["xaxis"]["tickformatstops"][-1]
    assert ([43_200_000, None], "%-d %b\n%Y") == (days["dtickrange"], days["value"])


def test_a_rate_of_a_few_bytes_a_second_is_not_nothing():
    """D1: to six digits that count, whatever its size."""
    line = drawn({"QM1": [(FIRST, 4.55111111e-5), (FIRST + timedelta(hours=1), 1234567.0)]})["QM1"]
    assert [4.55111e-5, 1234570.0] == line["y"]


def test_of_many_queue_managers_the_highest_are_drawn_and_the_title_says_so():
    """D3."""
    rows = [
        {"QMGR": f"QM{n:02d}", "hour": FIRST, "megabytes_per_s": n, "forces_per_s": -n, "CHECKPOINTS": 1}
        for n in range(20)
    ]
    rate, forces, _ = charts.log_activity(rows)
    assert [f"QM{n:02d}" for n in range(14, 20)] == [each["name"] for each in rate["data"]]
    assert [f"QM{n:02d}" for n in range(6)] == [each["name"] for each in forces["data"]]
    assert "the 6 highest of 20" == rate["layout"]["meta"]
    assert all("meta" not in each["layout"] for each in charts.log_activity(rows[:MOST_LINES]))
