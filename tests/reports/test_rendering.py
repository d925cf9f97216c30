"""Values, text, CSV, JSON and HTML tables (V1 to V4, F1, F2, J1, J2)."""

import csv
import io
import json
from datetime import date, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.reports.catalog import REPORTS, Unit, find
from quaestor.reports.markup import table
from quaestor.reports.plain import as_csv, as_json
from quaestor.reports.text import as_text, table_lines
from quaestor.reports.values import duration, figure, shown
from reports.given import arrow_type, empty, exceptions, table_of


@pytest.mark.parametrize(
    ("value", "unit", "text", "page"),
    [
        (None, Unit.COUNT, "-", "-"),
        (0, Unit.COUNT, "0", "0"),
        (1234567, Unit.COUNT, "1234567", "1,234,567"),
        (1234567.0, Unit.SECONDS, "1234567", "1,234,567"),
        (123.456, Unit.SECONDS, "123", "123"),
        (12.345, Unit.SECONDS, "12.3", "12.3"),
        (1.2345, Unit.SECONDS, "1.23", "1.23"),
        (0.12345, Unit.SECONDS, "0.123", "0.123"),
        (0.0999, Unit.SECONDS, "0.0999", "0.0999"),
        (0.09996, Unit.SECONDS, "0.100", "0.100"),
        (0.012345, Unit.SECONDS, "0.0123", "0.0123"),
        (0.000428, Unit.MEGABYTES, "0.000428", "0.000428"),
        (0.00001234, Unit.MEGABYTES, "0.000012", "0.000012"),
        (-0.0012, Unit.PERCENT, "-0.00120", "-0.00120"),
        (-1.4e-14, Unit.PERCENT, "0.000", "0.000"),
        (-5.25, Unit.PERCENT, "-5.25", "-5.25"),
        (99.949, Unit.PERCENT, "99.9", "99.9"),
        (99.95, Unit.PERCENT, "100", "100"),
        (9.9949, Unit.PERCENT, "9.99", "9.99"),
        (9.995, Unit.PERCENT, "10.0", "10.0"),
        (0.99949, Unit.PERCENT, "0.999", "0.999"),
        (0.9995, Unit.PERCENT, "1.00", "1.00"),
        (99.97, Unit.PERCENT, "100", "100"),
        (4900.0, Unit.MICROSECONDS_E, "4.9E+03", "4.90 ms"),
        (8.6e9, Unit.MICROSECONDS_E, "8.6E+09", "2.39 h"),
        (0.0, Unit.MICROSECONDS_E, "0.0E+00", "0 us"),
        (date(2000, 10, 19), Unit.JULIAN, "2000293", "2000293"),
        (date(2000, 10, 19), Unit.DATE, "2000-10-19", "2000-10-19"),
        (datetime(2026, 3, 2, 9), Unit.MOMENT, "2026-03-02 09:00", "2026-03-02 09:00"),
        ("00:30:00.40", Unit.TIME, "00:30:00.40", "00:30"),
        (1234.5, Unit.MONEY, "1234.50", "1,234.50"),
        ("", Unit.TEXT, "", ""),
        ("A\nB\x1b[31m\x85\u00e9", Unit.TEXT, "A.B.[31m.\u00e9", "A.B.[31m.\u00e9"),
    ],
)
def test_values(value, unit, text, page):
    assert (text, page) == (shown(value, unit), shown(value, unit, grouped=True))


@pytest.mark.parametrize(
    ("us", "text"),
    [(250, "250 us"), (1e3, "1 ms"), (4100, "4.10 ms"), (6e7, "1 min"), (3.6e9, "1 h"), (1.5, "1.50 us")],
)
def test_durations(us, text):
    assert text == duration(us)


@given(st.floats(min_value=-1e15, max_value=1e15))
def test_a_figure_is_within_its_last_digit(value):
    """What is shown is the value to half of its last decimal, whatever its size."""
    text = figure(value)
    decimals = len(text.partition(".")[2])
    assert abs(float(text) - value) <= 0.5 * 10**-decimals * (1 + 1e-9) + 1e-9 * abs(value)


PUT = [
    {"jobname": "V52FCHIN", "queue": "SERVER", "valid_puts": 5872, "puts": 5872, "put1s": 0, "put_bytes": 5872000},
    {"jobname": "PAICE4P", "queue": "V52F", "valid_puts": 1000, "puts": 1000, "put1s": 0, "put_bytes": 1000000},
]


def test_text_is_aligned():
    asked = find("put").arguments({"job": "*", "from": "2000-10-19"})
    assert [
        "put: Messages put",
        "  from=2000-10-19  job=*  grain=record",
        "",
        "Jobname   Queue   Valid_Put   Put  Put1  Put_Bytes  PutMax  PutMin",
        "--------  ------  ---------  ----  ----  ---------  ------  ------",
        "V52FCHIN  SERVER       5872  5872     0    5872000       -       -",
        "PAICE4P   V52F         1000  1000     0    1000000       -       -",
        "",
        "2 rows",
    ] == as_text(find("put"), table_of("put", PUT), asked).splitlines()


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("time-on-queue", "1 row; in us: MAXTOQ, MINTOQ, AVGTOQ"),
        ("cf-activity", "1 row"),  # its heading says it
        ("trend", "1 row"),
        ("put", "1 row"),
    ],
)
def test_microseconds_are_told_where_the_heading_does_not(name, last):
    """F2, L1: a paper's headings and figures stay as they are."""
    assert last == as_text(find(name), table_of(name, [{}]), {}).splitlines()[-1]


def test_an_empty_report_says_so():
    assert ["exceptions: What is out of line", "", "No threshold was crossed."] == as_text(
        find("exceptions"), empty("exceptions"), {}
    ).splitlines()


def test_csv_has_names_and_plain_values():
    rows = list(csv.reader(io.StringIO(as_csv(find("put"), table_of("put", PUT)))))
    assert [each.name for each in find("put").columns] == rows[0]
    assert ["V52FCHIN", "SERVER", "5872", "5872", "0", "5872000", "", ""] == rows[1]


def test_json_explains_itself(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text("", encoding="utf-8")
    asked = find("chargeback-department").arguments({"plan": str(plan), "from": "2026-03-01"})
    rows = table_of("chargeback-department", [{"month": date(2026, 3, 1), "department": "Säle", "cpu_s": 1.25}])
    made = json.loads(as_json(find("chargeback-department"), rows, asked))
    assert ("2026-03-01", "Säle", 1.25, None) == tuple(
        made["rows"][0][key] for key in ("month", "department", "cpu_s", "charge")
    )
    assert ("2026-03-01", str(plan)) == (made["parameters"]["from"], made["parameters"]["plan"])
    assert {"name": "cpu_s", "heading": "CPU s", "unit": "s"} in made["columns"]


class Cells(HTMLParser):
    """The texts of a table's cells."""

    def __init__(self):
        super().__init__()
        self.cells, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        if tag in ("td", "th"):
            self.cells.append("")
        self.inside = tag in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data

    def handle_endtag(self, tag):
        self.inside = False


def test_what_came_from_records_is_escaped():
    """A queue's name is no markup."""
    made = table(find("exceptions"), table_of("exceptions", exceptions()))
    assert "A<B>" not in made
    cells = Cells()
    cells.feed(made)
    assert "Queue A<B> & C: gets met expired messages" in cells.cells


def test_a_long_table_says_what_it_leaves_out():
    rows = table_of("put", PUT * 10)
    assert "<code>quaestor report run put</code>" in table(find("put"), rows, most=5)
    assert 6 == table(find("put"), rows, most=5).count("<tr>")
    assert 21 == table(find("put"), rows, most=None).count("<tr>")


@pytest.mark.parametrize("report", REPORTS.values(), ids=lambda each: each.name)
def test_every_report_renders_null_and_small_values(report):
    """A row of ones and a row of nulls, in all four forms."""
    ones = {
        "bool": True,
        "int64": 1,
        "double": 1.0,
        "string": "x",
        "date32[day]": date(2026, 3, 2),
        "timestamp[us]": datetime(2026, 3, 2),
    }
    row = {each.name: ones[str(arrow_type(each.unit))] for each in report.columns}
    rows = table_of(report.name, [row, {}])
    heading, rule, first, second = table_lines(report, rows)
    assert len(rule) == max(map(len, (heading, rule, first, second)))
    assert all(cell in ("-", "") for cell in second.split())
    assert 3 == len(as_csv(report, rows).splitlines())
    assert 2 == len(json.loads(as_json(report, rows, report.arguments({})))["rows"])
    assert 3 == table(report, rows).count("<tr>")
