"""The HTML file: whole, valid, nothing fetched, every section there, empty states in words (M1 to M4)."""

import base64
import gzip
import json
import re
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from quaestor.reports.catalog import REPORTS
from quaestor.reports.findings import condensed, findings_list
from quaestor.reports.page import NEEDED, PICTURES, page, small_page
from reports.given import empty, exceptions, four_weeks, table_of

VOID = {"meta", "br", "img", "hr", "link", "input"}


class Checked(HTMLParser):
    """Well-formed to the last tag; collects ids, links, figures and what would be fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.fetched, self.scripts, self.text = [], [], [], [], {}, []
        self.script = None

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in named:
            self.ids.append(named["id"])
        if tag == "a":
            self.links.append(named["href"])
        elif "href" in named or "src" in named:
            self.fetched.append((tag, named))
        if tag == "script":
            self.script = named.get("id", "")
            self.scripts[self.script] = ""

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.script = None

    def handle_data(self, data):
        if self.script is not None:
            self.scripts[self.script] += data
        elif self.open and self.open[-1] != "style":
            self.text.append(data)


def read(html):
    made = Checked()
    made.feed(html)
    made.close()
    assert [] == made.open
    assert len(made.ids) == len(set(made.ids))
    return made


@pytest.fixture(scope="module")
def full():
    return page(four_weeks(), "MQ <accounts>", "Written by a test.")


def test_every_section_is_there_and_linked(full):
    made = read(full)
    assert [f"#{name}" for name in NEEDED] == made.links
    assert set(NEEDED) <= set(made.ids)
    assert "MQ <accounts>" in made.text
    assert "2 March to 29 March 2026, queue managers PRD1, PRD2" in made.text


def test_nothing_is_fetched(full):
    """No source, no link, no import: outside plotly's own text there is no address at all (M1)."""
    made = read(full)
    assert [] == made.fetched
    ours = full.replace(made.scripts["plotly"], "")
    assert [] == re.findall(r"https?://|url\(|@import|//[a-z]+\.[a-z]+/", ours)


def test_plotly_travels_inside(full):
    packed = read(full).scripts["plotly"]
    assert b"plotly.js" in gzip.decompress(base64.b64decode(packed))[:200]
    assert len(full) < 3_500_000


def test_every_chart_has_its_figure(full):
    made = read(full)
    wanted = re.findall(r'data-figure="([^"]+)"', full)
    assert len(wanted) == sum(len(each.captions) for each in PICTURES)
    for name in wanted:
        assert {"data", "layout"} == set(json.loads(made.scripts[name]))


def test_every_picture_has_its_table(full):
    assert len(NEEDED) == full.count("<details>") == full.count("<table>")


def test_times_of_exceptions_are_explained(full):
    """Charts have a point where its hour begins; an exception has the time at which its interval ended."""
    assert "Times are those at which intervals ended." in "".join(read(full).text)


def test_exceptions_come_first(full):
    places = [full.index(f'<section id="{name}"') for name in NEEDED]
    assert sorted(places) == places


def test_what_recurs_is_one_line():
    """Three days of a low pool are one line with the lowest figure (M4)."""
    made = condensed(exceptions())
    assert ["alert", "alert", "warning", "warning", "note"] == [each["severity"] for each in made]
    low = made[2]
    assert (3, 5.0, 12) == (len(low["days"]), low["worst"], low["intervals"])


def test_objects_of_one_rule_are_one_line():
    """Two slow verbs are one line, the slower in front, its time in milliseconds."""
    slow = condensed(exceptions())[3]
    assert ("Db2: WRITE answers slowly", ["DELETE"]) == (slow["message"], slow["others"])
    assert "29.0 ms" in findings_list(exceptions())


def test_a_clean_installation_says_so():
    html = page({**four_weeks(), "exceptions": empty("exceptions")}, "MQ accounts", "")
    assert "No threshold was crossed. Every threshold of MP1B was tried." in read(html).text


def test_an_empty_lake_says_so_in_every_section():
    html = page({name: empty(name) for name in NEEDED}, "MQ accounts", "")
    made = read(html)
    assert "No statistics in this period." in made.text
    for picture in PICTURES:
        assert REPORTS[picture.report].empty in made.text
    assert "data-figure" not in html


def test_one_report_is_a_page_of_its_own():
    html = small_page(REPORTS["exceptions"], four_weeks()["exceptions"])
    made = read(html)
    assert [] == made.fetched
    assert {} == made.scripts
    assert "Buffer pool 3 ran low" in made.text


def _called(table, name):
    """The table with every name in it replaced."""
    texts = [each.name for each in table.schema if pa.types.is_string(each.type)]
    for each in {"QMGR", "BASENAME", "CHANNEL", "application", "STRUCTURE", "qmgr", "object"} & set(texts):
        table = table.set_column(table.column_names.index(each), each, pa.array([name] * len(table), pa.string()))
    return table


@pytest.mark.parametrize(("name", "shown"), [(None, "-"), ("<b>&", "&lt;b&gt;&amp;")])
def test_names_are_what_records_hold(name, shown):
    """M2, D6: a blank name is null in the tables; others may read like markup."""
    found = {report: _called(table, name) for report, table in four_weeks().items()}
    mixed = {report: pa.concat_tables([table, found[report]]) for report, table in four_weeks().items()}
    for tables in (found, mixed):
        made = read(page(tables, "Title", "written"))
        figures = [json.loads(text) for which, text in made.scripts.items() if which.startswith("figure-")]
        labels = {trace["name"] for figure in figures for trace in figure["data"]}
        assert {shown, f"{shown} {shown}"} <= labels
        assert not any("None" in label for label in labels)


def test_a_chart_without_figures_says_so():
    """M2: records without the length of their interval have no rates; axes from January to December would mislead."""
    rows = [{**row, "megabytes_per_s": None, "forces_per_s": None} for row in four_weeks()["log-activity"].to_pylist()]
    html = page({**four_weeks(), "log-activity": table_of("log-activity", rows)}, "MQ accounts", "")
    assert 2 == html.count("No record of this period has these figures.")
    drawn = re.findall(r'data-figure="figure-log-activity-(\d)"', html)
    assert ["2"] == drawn  # checkpoints are counted all the same
    idle = [{**row, "elapsed_s": 0.0} for row in four_weeks()["elapsed-split"].to_pylist()]
    html = page({**four_weeks(), "elapsed-split": table_of("elapsed-split", idle)}, "MQ accounts", "")
    assert "figure-elapsed-split" not in html


def test_the_heading_of_a_chart_says_what_it_leaves_out():
    """D3: a section without captions has a heading then."""
    rows = [{**four_weeks()["queue-traffic"].to_pylist()[0], "BASENAME": f"Q{n}"} for n in range(20)]
    html = page({**four_weeks(), "queue-traffic": table_of("queue-traffic", rows)}, "MQ accounts", "")
    assert ["Bytes: the 14 largest of 20", "Messages: the 14 largest of 20"] == re.findall(
        "<h3>([^<]* of 20)</h3>", html
    )
    assert "<h3>The 4 lowest of 8</h3>" in html


def test_a_chart_has_its_name_in_words(full):
    """M2: who cannot see it is sent to its table."""
    said = re.findall(r'class="chart" role="img" aria-label="([^"]+)"', full)
    assert sum(len(each.captions) for each in PICTURES) == len(said)
    assert "Chart: Log Forces. The table below has its figures." in said
