"""The list of exceptions: what recurs is one line, and the line says the worst of it (M4)."""

from datetime import date

import pytest

from quaestor.reports.findings import MOST_LINES, MOST_NAMES, condensed, findings_list
from reports.given import exception


def finding(severity="warning", day=2, qmgr="QM01", rule="A-7", name="ORDERS", worst=5.0, unit="times", **more):
    message = f"Queue {name}: it happened" if name else "Log: it happened"
    return exception(severity, day, qmgr, rule, message, worst, unit, object=name, **more)


def line_of(*rows):
    (made,) = findings_list(rows).splitlines()
    return made


def test_the_worst_come_first_then_what_happened_most():
    rows = [
        finding("note", rule="A-2"),
        finding("warning", rule="A-7"),
        finding("alert", rule="A-24"),
        *(finding("warning", rule="A-9", day=day) for day in (2, 3)),
        finding("alert", rule="A-20"),
    ]
    assert ["A-20", "A-24", "A-9", "A-7", "A-2"] == [each["rule"] for each in condensed(rows)]


def test_one_line_for_a_rule_and_a_queue_manager():
    """Its objects, days, times, intervals and worst figure together."""
    rows = [
        finding(day=4, name="B", worst=7.0, intervals=2, first_time="08:00:00.00", last_time="08:55:00.00"),
        finding(day=2, name="A", worst=9.0, intervals=3, first_time="10:00:00.00", last_time="11:00:00.00"),
        finding(day=3, name="C", worst=1.0, intervals=1, first_time="09:00:00.00", last_time="23:55:00.00"),
        finding(day=3, name="A", worst=2.0, intervals=1),
    ]
    (made,) = condensed(rows)
    assert ("Queue A: it happened", 9.0, ["B", "C"], 7) == tuple(
        made[each] for each in ("message", "worst", "others", "intervals")
    )
    assert [date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 4)] == made["days"]
    assert ("08:00:00.00", "23:55:00.00") == made["times"]


@pytest.mark.parametrize(
    "other",
    [
        {"rule": "A-8"},
        {"qmgr": "QM02"},
        {"qmgr": None},
        {"severity": "alert"},
        {"message": "Queue ORDERS: something else happened"},
    ],
    ids=lambda each: next(iter(each)),
)
def test_what_differs_in_more_than_its_object_is_a_line_of_its_own(other):
    assert 2 == len(condensed([finding(), {**finding(), **other}]))


@pytest.mark.parametrize("names", [("Q", "ORDERS"), ("1", "11"), ("ORDERS", "ORDERS.IN"), ("u.e", "uue")])
def test_an_object_is_told_from_the_words_around_it(names):
    """A queue may be called Q: the first letter of the word Queue is not its name."""
    (made,) = condensed([finding(name=each, worst=float(place)) for place, each in enumerate(names)])
    assert [names[0]] == made["others"]


def test_the_least_that_was_left_is_the_worst():
    left = [finding(worst=each, unit="% left", day=day) for day, each in ((2, 12.0), (3, 1.5), (4, 8.0))]
    assert 1.5 == condensed(left)[0]["worst"]
    counted = [{**row, "unit": "times"} for row in left]
    assert 12.0 == condensed(counted)[0]["worst"]


def test_a_figure_that_is_not_known_is_not_the_worst():
    rows = [finding(worst=None, unit="% left"), finding(worst=3.0, unit="% left", day=3)]
    assert 3.0 == condensed(rows)[0]["worst"]
    assert '<span class="worst"></span>' in line_of(finding(worst=None))


@pytest.mark.parametrize(
    ("worst", "unit", "words"),
    [
        (5.0, "times", "5 times"),
        (12345.0, "waits", "12,345 waits"),
        (1.149, "% left", "1.15 % left"),
        (4900.0, "us", "4.90 ms"),
        (2_500_000.0, "us a commit", "2.50 s a commit"),
        (250.0, "us a force", "250 us a force"),
    ],
)
def test_the_worst_figure_in_words(worst, unit, words):
    assert f'<span class="worst">{words}</span>' in line_of(finding(worst=worst, unit=unit))


@pytest.mark.parametrize(
    ("days", "times", "words"),
    [
        ([2], ("09:00:00.00", "09:00:00.00"), "2 Mar 2026 09:00."),
        ([2], ("09:00:00.00", "09:00:59.00"), "2 Mar 2026 09:00."),
        ([2], ("09:00:00.00", "10:55:00.00"), "2 Mar 2026 09:00 to 10:55."),
        ([2, 3], ("09:00:00.00", "10:55:00.00"), "2 days, 2 Mar to 3 Mar 2026."),
        ([12, 2, 7], ("09:00:00.00", "10:55:00.00"), "3 days, 2 Mar to 12 Mar 2026."),
    ],
)
def test_when_it_was(days, times, words):
    rows = [finding(day=day, first_time=times[0], last_time=times[1]) for day in days]
    assert f"<b>QM01</b>, {words} Do something" in line_of(*rows)


def test_days_of_two_years_have_both():
    """A lake keeps what a real dump of years ago said beside that of today."""
    rows = [{**finding(), "date": date(2016, 2, 27)}, finding(day=2)]
    assert "2 days, 27 Feb 2016 to 2 Mar 2026." in line_of(*rows)


def test_what_came_from_records_is_no_markup():
    made = line_of(
        finding(name="A<B>", advice="See <it> & mend"), finding(name="<i>", worst=1.0, advice="See <it> & mend")
    )
    assert "Queue A&lt;B&gt;: it happened" in made
    assert "Also &lt;i&gt;." in made
    assert "See &lt;it&gt; &amp; mend" in made
    assert "<b>?</b>" in line_of(finding(qmgr=None))


def test_objects_without_a_name_are_told_too():
    (made,) = condensed([finding(name=None), finding(name=None, day=3, worst=9.0)])
    assert [] == made["others"]
    assert "Log: it happened" in findings_list([finding(name=None)])


@pytest.mark.parametrize(("count", "more"), [(MOST_LINES, None), (MOST_LINES + 1, 1), (MOST_LINES + 25, 25)])
def test_a_long_list_says_how_many_it_leaves_out(count, more):
    made = findings_list([finding(rule=f"A-{number:03d}") for number in range(count)])
    assert min(count, MOST_LINES) == made.count("<li>")
    assert (f'<p class="more">{more} more in the table.</p>' in made) == (more is not None)
    assert ("more in the table" in made) == (more is not None)


@pytest.mark.parametrize(("others", "end"), [(MOST_NAMES, "Q0012."), (MOST_NAMES + 1000, "Q0012 and 1,000 more.")])
def test_of_many_objects_some_are_named_and_the_others_counted(others, end):
    """A rule that a thousand queues break is still one line that can be read."""
    made = line_of(*(finding(name=f"Q{n:04d}", worst=float(-n)) for n in range(others + 1)))
    assert "Also Q0001, Q0002, " in made
    assert f", {end} Do something" in made
