"""Texts are worded from figures: what is not known is said or left out, and a number reads as people write it (U6)."""

from dataclasses import replace
from datetime import datetime

import pytest

from advisor.given import findings_on, rule_of
from quaestor.advisor.findings import as_records, at_least, ranked
from quaestor.advisor.rule import Cutoff, Severity, names_in, worded, worded_if_known

FOUND = {"short_on_storage": 7, "buffers": 1000, "stealable_low": 20, "buffer_pool": 3}


@pytest.mark.parametrize(
    ("value", "template", "said"),
    [
        (7.0, "{x}", "7"),
        (1234567.0, "{x}", "1,234,567"),
        (99.95, "{x}", "100"),  # three figures below a hundred
        (100.4, "{x}", "100"),
        (1234.5, "{x}", "1,234"),
        (0.12345, "{x}", "0.123"),
        (-0.5, "{x}", "-0.5"),
        (-250.5, "{x}", "-250"),
        (0.0, "{x}", "0"),
        (0.5, "{x:.0%}", "50%"),
        (7.0, "{x:.1f}", "7.0"),
        ("QM01", "{x}", "QM01"),
        (5, "{x}", "5"),
        (None, "{x}", "not known"),
        (None, "{x:.1f}", "not known"),
    ],
)
def test_a_figure_in_a_text(value, template, said):
    assert said == worded(template, {"x": value})


def test_a_text_that_needs_what_is_not_known_is_left_out():
    assert "3 of 4" == worded_if_known("{a} of {b}", {"a": 3, "b": 4})
    assert "" == worded_if_known("{a} of {b}", {"a": 3, "b": None})
    assert "" == worded_if_known("{a} of {b}", {"a": 3})
    assert "plain" == worded_if_known("plain", {})


def test_the_names_of_a_template():
    assert {"a", "b"} == names_in("{a} of {b:.0%}, {a}")
    assert set() == names_in("100 % of all")


def test_a_cutoff_is_the_papers_unless_it_is_marked():
    assert not Cutoff("x", 1, "of the paper").ours


# --- records ----------------------------------------------------------------------------------------------------------


def one(**columns):
    (found,) = findings_on(rule_of("mp1b/A-24"), {**FOUND, **columns})
    return found


def test_a_finding_as_plain_values():
    """Whole figures are whole numbers, others have four places, or four digits below 1; moments are to the second."""
    (made,) = as_records([one(local_time="2026-03-02T10:00:00.75")])
    assert {
        "rule": "mp1b/A-24",
        "also": ["mp16-ch1/A-41", "mp16-ch4-11/BP-1"],
        "title": "No buffer was free",
        "severity": "alert",
        "system": "SYSA",
        "queue_manager": "QM01",
        "subject": "buffer pool 3",
        "intervals": 1,
        "intervals_seen": 1,
        "first": "2026-03-02 09:30:00",
        "last": "2026-03-02 10:00:00",
        "worst_from": "2026-03-02 09:30:00",
        "worst_at": "2026-03-02 10:00:00",
        "command": "ALTER BUFFPOOL(3) BUFFERS(1250)",
        "lines": "2125",
    }.items() <= made.items()
    figures = made["figures"]
    assert (7, 1000, 0.02, 1250) == tuple(
        figures[name] for name in ("short_on_storage", "buffers", "stealable_share", "buffers_wanted")
    )
    assert [int, int, float] == [type(figures[name]) for name in ("short_on_storage", "buffers", "stealable_share")]
    assert 0.02334 == as_records([one(stealable_low=20, buffers=857)])[0]["figures"]["stealable_share"]


def test_figures_that_are_no_numbers_are_texts():
    shown = {"moment": datetime(2026, 3, 2, 9), "queue": "ORDERS", "count": 3, "token": b"\x01"}
    (made,) = as_records([replace(one(), figures=shown)])
    assert {"moment": "2026-03-02 09:00:00", "queue": "ORDERS", "count": 3, "token": "b'\\x01'"} == made["figures"]


def test_a_finding_on_settings_has_no_time():
    (made,) = as_records([replace(one(), first=None, last=None, worst_from=None, worst_at=None)])
    assert {None} == {made[name] for name in ("first", "last", "worst_from", "worst_at")}


def test_what_is_not_known_is_no_figure():
    assert "location" not in one(location=None).figures
    found = one(system=None, queue_manager="QM01")
    assert "" == found.system


def test_findings_are_ranked_and_can_be_cut():
    """D4: severity, how many intervals, queue manager, object, rule."""
    alert, note = one(), replace(one(), severity=Severity.NOTE)
    longer = replace(note, intervals=5)
    other = replace(note, queue_manager="QM00")
    subject = replace(note, subject="buffer pool 1")
    assert [alert, longer, other, subject, note] == ranked([note, subject, other, longer, alert])
    assert [alert] == at_least([alert, note], Severity.WARNING)
    assert [alert, note] == at_least([alert, note], Severity.NOTE)


@pytest.mark.parametrize(
    ("queue", "typed"),
    [("ORDERS", "ORDERS"), ("orders", "'orders'"), ("Orders.2", "'Orders.2'"), ("A.1", "A.1")],
)
def test_a_name_is_typed_as_a_command_takes_it(queue, typed):
    """D5: what is not in quotation marks is folded to capitals."""
    row = {"queue": queue, "index_type": 1, "by_identifier": 0, "gets_any": 10}
    (found,) = findings_on(rule_of("mp1b/A-5"), row)
    assert f"ALTER QLOCAL({typed}) INDXTYPE(NONE)" == found.command
    assert f"queue {queue}" == found.subject


def test_an_effect_needs_all_that_it_shows():
    row = {**FOUND, "page_set": 2, "pages": 1000, "pages_unused": 0, "used_share": 1.0, "full": 1}
    row = {name: row[name] for name in ("page_set", "pages", "pages_unused", "used_share", "full")}
    rule = rule_of("mp16-ch1/A-29")
    (without,), (known,) = findings_on(rule, row), findings_on(rule, {**row, "message_size": 1000.0})
    assert ("", "twice the pages hold 1,907 messages of 1,000 bytes") == (without.effect, known.effect)


def test_an_effect_outside_the_papers_tables_is_left_out():
    row = {"page_set": 2, "pages": 1000, "pages_unused": 0, "used_share": 1.0, "full": 1, "message_size": 2e9}
    (found,) = findings_on(rule_of("mp16-ch1/A-29"), row)
    assert "" == found.effect
