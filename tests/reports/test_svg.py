"""Where the marks of small charts stand (V1): expected places are worked out from the drawing's measures."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.reports.svg import bars, curve, stacked


def marks(drawn, tag, *names):
    """Of each mark the attributes asked for, numbers as numbers, and its words."""
    return [(*(number(each.get(name)) for name in names), each.text or "") for each in ET.fromstring(drawn).iter(tag)]


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def test_bars_from_zero_to_the_right():
    """330 for labels, 64 for words: 506 are left for the highest value; rows are 24 apart."""
    drawn = bars([("log", 100.0, "100 %"), ("pool", 50.0, "50 %"), ("none", 0.0, "0 %")], -100, 100)
    assert [
        ("bar", 330.0, 4.0, 506.0, 16.0, ""),
        ("bar", 330.0, 28.0, 253.0, 16.0, ""),
        ("bar", 330.0, 52.0, 2.0, 16.0, ""),  # nothing is still seen
    ] == marks(drawn, "rect", "class", "x", "y", "width", "height")
    assert [
        (320.0, 16.0, "end", "log"),
        (842.0, 16.0, None, "100 %"),
        (320.0, 40.0, "end", "pool"),
        (589.0, 40.0, None, "50 %"),
        (320.0, 64.0, "end", "none"),
        (338.0, 64.0, None, "0 %"),
    ] == marks(drawn, "text", "x", "y", "text-anchor")
    assert [("axis", 330.0, 0.0, 330.0, 76.0, "")] == marks(drawn, "line", "class", "x1", "y1", "x2", "y2")
    assert "0 0 900 76" == ET.fromstring(drawn).get("viewBox")


def test_bars_about_zero():
    """With something below zero, a third of 506 is for what lies between -100 and 0."""
    drawn = bars([("over", -50.0, "-50 %"), ("under", 200.0, "200 %")], -100, 200)
    assert [
        ("over", 414.3, 84.3, ""),
        ("bar", 498.7, 337.3, ""),
    ] == marks(drawn, "rect", "class", "x", "width")
    assert [504.7, 842.0] == [x for x, anchor, _ in marks(drawn, "text", "x", "text-anchor") if anchor is None]
    assert [(498.7, 498.7, "")] == marks(drawn, "line", "x1", "x2")


def test_a_stacked_bar_and_its_words():
    """440 wide in all; shades take turns; the words stand below, 20 apart."""
    drawn = stacked([("read", 1.0, "1 s"), ("redo", 2.0, "2 s"), ("undo", 0.5, "0.5 s"), ("index", 0.5, "0.5 s")])
    whole, beside = (
        marks(drawn, "rect", "opacity", "x", "y", "width", "height")[::2],
        marks(drawn, "rect", "x", "y")[1::2],
    )
    assert [
        (1.0, 0.0, 8.0, 110.0, 34.0, ""),
        (0.62, 110.0, 8.0, 220.0, 34.0, ""),
        (0.34, 330.0, 8.0, 55.0, 34.0, ""),
        (1.0, 385.0, 8.0, 55.0, 34.0, ""),
    ] == whole
    assert [(0.0, 54.0, ""), (0.0, 74.0, ""), (0.0, 94.0, ""), (0.0, 114.0, "")] == beside
    assert [(18.0, 64.0, "read"), (440.0, 64.0, "1 s"), (18.0, 84.0, "redo"), (440.0, 84.0, "2 s")] == marks(
        drawn, "text", "x", "y"
    )[:4]
    assert "0 0 440 132" == ET.fromstring(drawn).get("viewBox")


def test_a_stacked_bar_of_nothing_has_no_width():
    assert [0.0, 11.0] == [width for width, _ in marks(stacked([("nothing", 0.0, "0 s")]), "rect", "width")]


CURVE = curve([(0.5, 60.0), (1, 30.0), (2, 15.0)], 20.0, "times the load", "minutes", "limit")


def test_a_curve_runs_through_its_points():
    """From 44 to 428 across and from 186 up to 14, where a tenth more than the highest value would stand."""
    assert [
        ("bar", 44.0, 29.6, 3.0, ""),
        ("bar", 172.0, 107.8, 5.0, ""),  # the load as it is
        ("over", 428.0, 146.9, 3.0, ""),  # below the limit
    ] == marks(CURVE, "circle", "class", "cx", "cy", "r")
    assert [("44.0,29.6 172.0,107.8 428.0,146.9", "")] == marks(CURVE, "polyline", "points")


def test_a_curve_has_its_limit_and_its_axes():
    assert [
        ("axis", 44.0, 186.0, 428.0, 186.0, ""),
        ("mark", 44.0, 133.9, 428.0, 133.9, ""),
    ] == marks(CURVE, "line", "class", "x1", "y1", "x2", "y2")
    assert [
        (428.0, 127.9, "limit"),
        (44.0, 202.0, "0.5"),
        (172.0, 202.0, "1"),
        (428.0, 202.0, "2"),
        (38.0, 190.0, "0"),
        (38.0, 104.0, "33"),
        (38.0, 18.0, "66"),
        (242.0, 222.0, "times the load"),
        (44.0, 11.0, "minutes"),
    ] == marks(CURVE, "text", "x", "y")


def test_a_point_at_the_limit_holds_it():
    drawn = curve([(1, 30.0), (2, 20.0)], 20.0, "x", "y", "limit")
    assert ["bar", "bar"] == [kind for kind, _ in marks(drawn, "circle", "class")]


def test_a_limit_above_all_points_is_within_the_drawing():
    drawn = curve([(1, 30.0), (2, 20.0)], 100.0, "x", "y", "limit")
    assert [29.6] == [y for kind, y, _ in marks(drawn, "line", "class", "y1") if kind == "mark"]


@pytest.mark.parametrize(
    ("drawn", "name"),
    [
        (bars([("log", -5.0, "-5 %"), ("pool <2>", 1.0, "1 %")], -9, 9), "bars: log -5 %; pool <2> 1 %"),
        (stacked([("read", 1.0, "1 s"), ("redo", 2.0, "2 s")]), "stacked bar: read 1 s; redo 2 s"),
        (
            curve([(0.5, 60.0), (2, 15.0)], 30.0, "times", "min", "30"),
            "curve: 60 min at 0.5 times; 15 min at 2 times; limit 30",
        ),
    ],
)
def test_a_drawing_tells_its_figures(drawn, name):
    """V4."""
    assert ("img", name) == (ET.fromstring(drawn).get("role"), ET.fromstring(drawn).get("aria-label"))


QUEUE = "PAYMENTS.OF.THE.SECOND.QUARTER.BY.STANDING.ORDER"  # 48, the most there is


def test_a_long_label_gets_room_and_is_never_cut():
    """V3: with the longest name of a queue, in the wide form and in the narrow one."""
    labels = ["log", f"page set 3, {QUEUE[:30]}", f"page set 3 before it expands, {QUEUE}"]
    for narrow, room in ((False, 550), (True, 440)):
        drawn = bars([(each, 50.0, "50 %") for each in labels], -100, 100, narrow=narrow)
        texts = [each for each in ET.fromstring(drawn).iter("text") if each.text != "50 %"]
        assert labels == [each.text for each in texts]
        assert [None, None, str(room)] == [each.get("textLength") for each in texts]
        if not narrow:
            assert {"550"} == {each.get("x") for each in texts}
            assert {560.0} == {x for x, _ in marks(drawn, "rect", "x")}


@given(st.lists(st.floats(-100, 100).map(lambda each: round(each, 3)), min_size=1, max_size=8))
def test_no_bar_leaves_its_room(values):
    """Whatever is drawn lies between the labels and the words, and ends at zero."""
    drawn = bars([("", value, "") for value in values], -100, 100)
    ((zero, _),) = marks(drawn, "line", "x1")
    for value, (x, width, _) in zip(values, marks(drawn, "rect", "x", "width"), strict=True):
        assert 330 - 2 <= x <= x + width <= 836 + 2
        assert zero == pytest.approx(x if value >= 0 else x + width, abs=0.11)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6))
def test_the_parts_of_a_stacked_bar_fill_it(values):
    parts = marks(stacked([("", value, "") for value in values]), "rect", "x", "width")[::2]
    assert 440.0 == pytest.approx(sum(width for _, width, _ in parts), abs=0.1 * len(parts))
    assert [x for x, *_ in parts] == sorted(x for x, *_ in parts)
