"""Figures, times and tables as people read them, at their edges (V1 to V3, F1, F2)."""

import re
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.reports import charts
from quaestor.reports.catalog import Column, Report, Unit
from quaestor.reports.catalog.model import day, existing_file, number, one_of, pattern, suggestion, whole, yes_or_no
from quaestor.reports.markup import table
from quaestor.reports.page import _bytes, _large, _period, page
from quaestor.reports.plain import as_csv
from quaestor.reports.svg import NARROW, bars
from quaestor.reports.text import as_text, table_lines
from quaestor.reports.values import duration, figure
from reports.given import HOURS, empty, four_weeks, table_of


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 us"),
        (0.25, "0.250 us"),
        (999, "999 us"),
        (999.4, "999 us"),
        (999.5, "1.00 ms"),
        (999_400, "999 ms"),
        (999_600, "1.00 s"),
        (59e6, "59 s"),
        (59.98e6, "1.00 min"),
        (3598e6, "60.0 min"),
        (3599e6, "1.00 h"),
        (360_000e6, "100 h"),
    ],
)
def test_a_time_is_told_in_the_unit_that_its_figure_reaches(us, text):
    assert text == duration(us)


UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6}


@given(st.floats(0.001, 1e12))
def test_a_time_is_within_half_a_per_cent_of_what_it_says(us):
    """Three figures that count, and never a thousand of a unit where there is a larger one."""
    amount, unit = duration(us).split(" ")
    assert abs(float(amount) * UNITS[unit] - us) <= max(0.0051 * us, 0.0006)
    assert float(amount) < 1000 or unit == "h"


@given(st.floats(0, 1e15))
def test_grouping_changes_nothing_but_commas(value):
    assert figure(value) == figure(value, grouped=True).replace(",", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (9_994, "9,994"),
        (9_996, "10.0 k"),
        (10_000, "10 k"),
        (12_345, "12.3 k"),
        (999_400, "999 k"),
        (999_600, "1.00 M"),
        (1e6, "1 M"),
        (2.5e9, "2.50 G"),
        (3e12, "3 T"),
        (4e15, "4000 T"),
    ],
)
def test_a_large_number_in_few_characters(value, text):
    assert text == _large(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (426.99999999999994, "427 B"), (950, "950 B"), (12_000, "12 kB"), (50.6e6, "50.6 MB")],
)
def test_bytes_have_their_unit(value, text):
    assert text == _bytes(value)


# --- the head of the page ---------------------------------------------------------------------------------------------


def head(*hours, qmgr=("QM1",)):
    rows = [{"hour": hour, "QMGR": name} for hour in hours for name in qmgr]
    return _period({"log-activity": table_of("log-activity", rows), "buffer-pools": empty("buffer-pools")})


def test_a_period_of_days_and_queue_managers():
    first, last = HOURS[9], HOURS[24 * 3 - 1]
    assert "2 March 2026, queue manager QM1" == head(first)
    assert "2 March 2026, queue managers A, QM1" == head(HOURS[0], HOURS[23], qmgr=("QM1", "A"))
    assert "2 March to 3 March 2026, queue manager QM1" == head(HOURS[0], HOURS[24])  # the hour that midnight begins
    assert "2 March to 4 March 2026, queue manager QM1" == head(first, last)
    assert "2 March 2026 to 2 March 2027, queue manager QM1" == head(first, first.replace(year=2027))
    assert "No statistics in this period." == head()


def test_without_log_records_buffer_pools_tell_the_period():
    rows = table_of("buffer-pools", [{"hour": HOURS[3], "QMGR": "QM7", "BUFFER_POOL": 1}])
    told = _period({"log-activity": empty("log-activity"), "buffer-pools": rows})
    assert "2 March 2026, queue manager QM7" == told


def test_the_figures_of_the_head():
    made = page(four_weeks(), "T", "W")
    cells = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*) <small>", made))
    assert ["Exceptions", "CPU", "Commits", "Messages put", "Bytes put"] == list(cells)
    assert cells["Bytes put"].endswith("B")
    nothing = page({name: empty(name) for name in four_weeks()}, "T", "W")
    assert dict.fromkeys(cells, "-") == dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*) <small>", nothing))
    assert ('class="bad"' in made, 'class="good"' in nothing) == (True, False)


def test_cpu_and_commits_of_the_head_are_said_to_be_of_whole_weeks():
    """A page on one day has the messages of the day, but the CPU time of its week."""
    made = page(four_weeks(), "T", "W")
    notes = dict(re.findall(r"<dt>([^<]*)</dt><dd>[^<]* <small>([^<]*)<", made))
    assert ("in 4 whole weeks", "in 4 whole weeks", "") == tuple(
        notes[each] for each in ("CPU", "Commits", "Messages put")
    )


@pytest.mark.parametrize(
    ("there", "said", "kind", "count"),
    [
        ((), "Nothing was measured in this period, so no threshold was tried.", "", "-"),
        (("cpu-by-week",), "No threshold was crossed. Only those on accounting were tried.", "good", "0"),
        (("log-activity",), "No threshold was crossed. Only those on statistics were tried.", "good", "0"),
        (("cpu-by-week", "buffer-pools"), "No threshold was crossed. Every threshold of MP1B was tried.", "good", "0"),
    ],
)
def test_nothing_is_in_line_that_was_not_measured(there, said, kind, count):
    """M5."""
    tables = {name: (table if name in there else empty(name)) for name, table in four_weeks().items()}
    made = page(tables, "T", "W")
    assert said in made
    assert (f'<div class="{kind}"><dt>Exceptions' if kind else "<div><dt>Exceptions") in made
    assert f"<dt>Exceptions</dt><dd>{count} " in made


# --- tables -----------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12).map(str.strip)
REPORT = Report(
    "sample",
    "A sample",
    "one row per name",
    (Column("name", Unit.TEXT, "Name"), Column("calls", Unit.COUNT), Column("rate", Unit.RATE, "Calls a second")),
    (),
    empty="No name.",
)


def rows_of(rows):
    return pa.table(
        {
            "name": pa.array([row[0] for row in rows], pa.string()),
            "calls": pa.array([row[1] for row in rows], pa.int64()),
            "rate": pa.array([row[2] for row in rows], pa.float64()),
        }
    )


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(TEXTS, st.none() | st.integers(-(10**12), 10**12), st.none() | st.floats(-1e6, 1e6)),
        min_size=1,
        max_size=8,
    )
)
def test_every_line_has_its_cells_under_their_headings(rows):
    """F1: texts begin where their heading begins, numbers end where theirs ends; nothing is cut."""
    heading, rule, *body = table_lines(REPORT, rows_of(rows))
    spans = [each.span() for each in re.finditer("-+", rule)]
    assert ["Name", "calls", "Calls a second"] == [heading[begin:end].strip() for begin, end in spans]
    assert len(rows) == len(body)
    for (name, calls, rate), line in zip(rows, body, strict=True):
        cells = [line.ljust(len(rule))[begin:end] for begin, end in spans]
        assert name == cells[0].strip()
        assert ("-" if calls is None else str(calls)) == cells[1].strip() == cells[1].lstrip()
        assert ("-" if rate is None else figure(rate)) == cells[2].strip() == cells[2].lstrip()


def test_a_report_says_what_was_asked_and_how_many_rows_there_are():
    asked = {"from": date(2026, 3, 1), "qmgr": None, "limit": 2500.0, "shared": True, "own": False, "rows": 5}
    made = as_text(REPORT, rows_of([("A", 1, 0.5)]), asked).splitlines()
    assert ["sample: A sample", "  from=2026-03-01  limit=2500  shared=yes  own=no  rows=5", ""] == made[:3]
    assert ["", "1 row"] == made[-2:]
    assert "2 rows" == as_text(REPORT, rows_of([("A", 1, 0.5)] * 2), {}).splitlines()[-1]
    assert "sample: A sample\n\nNo name.\n" == as_text(REPORT, rows_of([]), {"qmgr": None})


def test_a_table_of_a_page_groups_thousands_and_says_what_is_left_out():
    made = table(REPORT, rows_of([("A<B", 12345, 0.5)] * 3), most=2)
    assert '<th scope="col">Name</th><th scope="col" class="n">calls</th>' in made
    assert '<div class="scroll" tabindex="0" role="region" aria-label="A sample"><table>' in made
    assert '<td>A&lt;B</td><td class="n">12,345</td><td class="n">0.500</td>' in made
    assert '<p class="more">1 more rows: <code>quaestor report run sample</code></p>' in made
    assert 2 == made.count("<td>")
    assert 'class="more"' not in table(REPORT, rows_of([("A", 1, 0.5)] * 2), most=2)
    assert '<p class="empty">No name.</p>' == table(REPORT, rows_of([]))


def test_a_csv_field_with_commas_and_quotes_stays_one_field():
    made = as_csv(REPORT, rows_of([('A,"B"', None, 0.1)]))
    assert 'name,calls,rate\n"A,""B""",,0.1\n' == made


# --- parameters (L3) --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (day, "2026-03-31", date(2026, 3, 31)),
        (number, "0", 0.0),
        (number, "2.5e3", 2500.0),
        (whole, "1", 1),
        (whole, "007", 7),
        (whole, "2147483647", 2**31 - 1),
        (yes_or_no, "YES", True),
        (yes_or_no, "no", False),
        (pattern, "*", "*"),
        (one_of("a", "b"), "b", "b"),
        (existing_file, __file__, Path(__file__)),
    ],
)
def test_a_value_that_fits(parse, text, value):
    assert value == parse(text)


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (day, "31.3.2026", "a day such as 2026-03-31 is needed"),
        (day, "2026-02-30", "a day such as 2026-03-31 is needed"),
        (number, "many", "a number is needed"),
        (number, "-1", "a number from 0 up is needed"),
        (number, "nan", "a number from 0 up is needed"),
        (number, "inf", "a number from 0 up is needed"),
        (whole, "0", "a whole number from 1 to 2147483647 is needed"),
        (whole, "1.5", "a whole number from 1 to 2147483647 is needed"),
        (whole, "-1", "a whole number from 1 to 2147483647 is needed"),
        (whole, "", "a whole number from 1 to 2147483647 is needed"),
        (whole, "2147483648", "a whole number from 1 to 2147483647 is needed"),
        (whole, "9" * 5000, "a whole number from 1 to 2147483647 is needed"),
        (yes_or_no, "true", "yes or no is needed"),
        (pattern, "", "a name is needed"),
        (one_of("a", "b"), "c", "one of a, b is needed"),
        (existing_file, "/nowhere", "no such file"),
        (existing_file, "/", "no such file"),
    ],
)
def test_a_value_that_does_not_fit(parse, text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_what_was_meant_or_what_there_is():
    known = dict.fromkeys(("queue", "queues", "job"))
    assert "; did you mean queue or queues?" == suggestion("Queu", known)
    assert "; there are queue, queues, job" == suggestion("zzz", known)


# --- drawings ---------------------------------------------------------------------------------------------------------


def test_bars_of_a_narrow_window_have_their_labels_above():
    """G5: the same bars and words in half the width."""
    rows = [("active logs", -75.0, "-75 %"), ("page set 3 before it expands, PAY.ARCHIVE", 40.0, "40 %")]
    wide, narrow = bars(rows, -100, 100), bars(rows, -100, 100, narrow=True)
    assert 'viewBox="0 0 440 92"' in narrow
    assert ["20", "64"] == re.findall(r'<text x="0" y="(\d+)">', narrow)
    assert ["24", "68"] == re.findall(r'<rect [^>]*y="(\d+)"', narrow)
    for words in ("active logs", "PAY.ARCHIVE", "-75 %", "40 %"):
        assert words in wide
        assert words in narrow
    assert re.findall('class="(bar|over)"', wide) == re.findall('class="(bar|over)"', narrow) == ["over", "bar"]
    ends = [
        float(x) + float(width) for x, width in re.findall(r'<rect [^>]*x="([\d.]+)"[^>]* width="([\d.]+)"', narrow)
    ]
    assert max(ends) < NARROW - 60  # the words beside the longest bar are within the drawing


def test_a_channel_of_two_types_has_two_bars():
    rows = [
        {"QMGR": "QM1", "CHANNEL": "TO.QM1", "TYPE": kind, "MESSAGES": count, "batch_size": 5.0, "BATCHSZ": 50}
        for kind, count in (("ClusRcvr", 9), ("ClusSdr", 4))
    ]
    messages, batches = charts.channel_traffic(rows)
    assert ["TO.QM1 ClusSdr", "TO.QM1 ClusRcvr"] == messages["data"][0]["y"]
    assert {"TO.QM1 ClusSdr", "TO.QM1 ClusRcvr"} == set(batches["data"][0]["y"])
    (alone, _) = charts.channel_traffic(rows[:1])
    assert ["TO.QM1"] == alone["data"][0]["y"]


def test_pools_of_which_nothing_is_known_have_an_empty_chart():
    (made,) = charts.buffer_pools([{"QMGR": "QM1", "BUFFER_POOL": 1, "hour": HOURS[0], "low_percent": None}])
    assert [] == made["data"]
