"""The plan's page is one small file that says what the plan says, and nothing in it can run away."""

import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from quaestor.planner.answers import plan
from quaestor.planner.definitions import definitions
from quaestor.planner.workload_file import load_workload, parse
from quaestor.reports.plan_page import _percent, plan_page
from quaestor.reports.svg import bars, curve, stacked
from reports.browser import DESKTOP, look, needs_browser


def page_of(workload):
    return plan_page(plan(workload), definitions(workload))


@pytest.fixture(scope="module")
def page():
    return page_of(load_workload())


class Balance(HTMLParser):
    """Every tag that is opened is closed, in order."""

    VOID = ("meta",)

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_tags_are_balanced(page):
    parser = Balance()
    parser.feed(page)
    assert [] == parser.open


def test_one_small_file_that_fetches_nothing(page):
    assert len(page) < 200_000
    assert not re.search(r"(src|href)=|url\(|@import|<script", page)


def test_the_page_says_what_the_plan_says(page):
    made = plan(load_workload())
    for _, room in made.passed:
        assert room.what in page
    assert "DEFINE BUFFPOOL(2)" in page
    assert all(each.formula in page for each in made.answers)


def test_there_is_a_chart_for_head_room_restart_and_fill_time(page):
    assert 4 == page.count("<svg ")  # head-room for a wide window and for a narrow one (G5)
    assert (1, 1) == (page.count('<div class="wide"><svg '), page.count('<div class="narrow"><svg '))
    assert 1 + len(plan(load_workload()).limits) <= page.count("<rect ")


def test_what_came_from_a_workload_is_escaped():
    workload = load_workload()
    evil = "<script>alert('x')</script>"
    flows = (replace(workload.flows[0], queue=evil), *workload.flows[1:])
    made = page_of(replace(workload, title=evil, flows=flows))
    assert "<script" not in made
    assert "&lt;script&gt;" in made


def test_a_workload_without_limits_has_a_page():
    made = page_of(parse('[queue_manager]\nname="Q"\n[[flow]]\nqueue="A"\nsize=1\nrate=1\npersistent=false', "w"))
    assert "every limit holds" in made
    assert "<svg" not in made


@pytest.mark.parametrize(
    "drawn",
    [
        bars([("a < b", 50.0, "50 %"), ("c", -20.0, "-20 %")], -100, 100),
        stacked([("a", 1.0, "1 s"), ("b", 0.0, "0 s")]),
        stacked([("nothing", 0.0, "0 s")]),
        curve([(0.5, 60), (1, 30), (2, 15)], 30, "x", "y", "limit"),
    ],
)
def test_charts_are_well_formed(drawn):
    ET.fromstring(drawn)


def test_a_bar_is_as_long_as_its_value():
    drawn = ET.fromstring(bars([("a", 100.0, ""), ("b", 50.0, "")], -100, 100))
    whole, half = (float(each.get("width")) for each in drawn.iter("rect"))
    assert whole == pytest.approx(2 * half, rel=0.01)


def test_what_is_over_is_marked_by_more_than_colour():
    drawn = bars([("a", 50.0, "50 %"), ("b", -20.0, "-20 %")], -100, 100)
    assert "-20 %" in drawn
    bar, over = (float(each.get("x")) for each in ET.fromstring(drawn).iter("rect"))
    assert over < bar


@pytest.mark.parametrize(
    ("rate", "points"), [(100, 9), (2_500_000, 9), (2_500_001, 8), (5_000_000, 6), (10_000_000, 3)]
)
def test_the_fill_time_is_drawn_up_to_the_highest_rate(rate, points):
    """As many times today's messages as a workload takes, 10,000,000 a second; today's is among them."""
    flow = f'[[flow]]\nqueue="A"\nsize=1\nrate={rate}\npersistent=true\n'
    made = page_of(parse(f'[queue_manager]\nname="Q"\n{flow}', "w"))
    (drawn,) = re.findall(r'aria-label="curve: [^"]*">(.*?)</svg>', made, re.DOTALL)
    assert points == drawn.count("<circle")
    assert 1 == drawn.count('r="5"')


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 %"), (-0.3, "-0.3 %"), (0.04, "0.04 %"), (-1.4, "-1 %"), (99.7, "100 %"), (-75.0, "-75 %")],
)
def test_a_limit_that_is_just_passed_is_not_passed_by_nothing(value, text):
    assert text == _percent(value)


@needs_browser
@pytest.mark.slow
def test_nothing_reaches_past_the_edge_of_a_phone(page, tmp_path):
    """G5: in a frame of 320, for no window is as narrow; tables of long names are the widest."""
    frame = f'<iframe style="width:320px;height:600px;border:0" srcdoc="{escape(page)}"></iframe>'
    script = """<script>setInterval(() => {
      const inside = document.querySelector("iframe").contentDocument.documentElement;
      document.documentElement.dataset.phone = inside.scrollWidth;
    }, 200);</script>"""
    found = look(f"<!doctype html><html><body>{frame}{script}</body></html>", tmp_path, DESKTOP)
    assert 320 == found.number("phone")
