"""Pages in a real browser: every chart is drawn, nothing is asked of a network, no error is logged.

The page's security policy forbids every fetch (M1), so an attempt would stand on the console.
"""

import re

import pytest

from quaestor.reports.page import PICTURES, page
from reports.browser import DESKTOP, PHONE, look, needs_browser
from reports.given import four_weeks, table_of


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_browser_draws_every_chart(tmp_path, width):
    found = look(page(four_weeks(), "MQ accounts", ""), tmp_path, width)
    assert [] == found.console
    assert 'data-charts="drawn"' in found.dom
    charts = sum(len(each.captions) for each in PICTURES)
    assert charts == len(re.findall(r'class="chart js-plotly-plot"', found.dom))
    assert charts <= found.dom.count('<svg class="main-svg"')
    assert found.number("window") == found.number("width")  # nothing reaches past the edge
    assert 0 == found.number("covered")  # no legend lies on its chart


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_the_longest_name_of_a_queue_is_not_cut(tmp_path, width):
    """48 letters and a queue manager: names that begin alike would all be the same without their beginning."""
    tables = four_weeks()
    for report in ("queue-traffic", "time-on-queue"):
        rows = [
            {**row, "BASENAME": f"{place:02d}.PAYMENTS.OF.THE.SECOND.QUARTER.BY.STANDING.ORDER.OR_ELSE"[:48]}
            for place, row in enumerate(tables[report].to_pylist())
        ]
        tables[report] = table_of(report, rows)
    found = look(page(tables, "MQ accounts", ""), tmp_path, width)
    assert [] == found.console
    assert 0 == found.number("cut")


@needs_browser
def test_a_page_cannot_fetch(tmp_path):
    """With the policy in place a fetch is refused and told: the test above would fail."""
    nosy = page(four_weeks(), "MQ accounts", "").replace("</body>", "<img src='https://example.invalid/x.png'></body>")
    assert any("Content Security Policy" in line for line in look(nosy, tmp_path, DESKTOP).console)
