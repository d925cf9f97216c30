"""Of the rows of one object that meet a rule, the worst one words the finding (D1 to D3)."""

import numpy as np
import pytest

from advisor.cases import CASES
from advisor.given import given, rule_of, settings_of
from advisor.limits import LIMITS
from quaestor.advisor.cutoffs import Chosen
from quaestor.advisor.evaluate import run
from quaestor.advisor.rows import Rows
from quaestor.advisor.rule import Severity
from quaestor.advisor.view_catalog import BY_NAME


def finding_of(name, *changes):
    """The one finding on rows that differ from the rule's case in these columns, an hour apart."""
    (found,) = findings_of(name, *changes)
    return found


def findings_of(name, *changes):
    columns, _, *rest = CASES[name]
    rule, settings = rule_of(name), rest[0] if rest else {}
    view = BY_NAME[rule.table]
    rows = [given(view, {**columns, **each, "local_time": f"2026-03-02T1{n}:00"}) for n, each in enumerate(changes)]
    together = Rows({key: np.concatenate([getattr(row, key) for row in rows]) for key in rows[0]}, len(rows))
    return run(Chosen(rule, rule.defaults), view, together, settings_of(rule, settings, columns))


LEAST = {  # less is worse: the rule, its column, and two values that fire
    "mp1b/A-25": ("stealable_low", 149, 20),
    "mp1b/A-32": ("set_writes", 3512, 100),
    "mp16-ch1/A-51": ("buffers", 2000, 1000),
    "mp1b/A-33": ("pages_written", 300, 200),
    "mp16-ch1/A-15": ("buffers_filled", 460_800, 921_600),  # a log lasts half as long
    "mp16-ch1/A-48": ("region_31_available", 100 << 20, 50 << 20),
    "mp16-ch2-3/CF-R24": ("blocks_free_low", 150, 0),
    "mp16-ch1/A-4": ("image_copies", 1, 0),
    "mp16-ch1/A-8": ("active_logs", 3, 2),
    "mp16-ch1/A-37": ("archive_blksize", 4096, 1024),
    "mp16-ch1/A-63": ("logload", 500_000, 100_000),
    "mp16-ch2-3/CF-R31": ("lowest_version_in_group", 7.0, 6.0),
    "mp16-ch2-3/CF-R10": ("minsize_kb", 500, 100),
    "mp16-ch2-3/CF-R13": ("entries_total", 3000, 2000),
    "mp16-ch2-3/CF-R53": ("cflevel", 2, 1),
}
MOST = {
    "mp1b/A-24": ("short_on_storage", 1, 9),
    "mp1b/A-36": ("waits_no_buffer", 1, 9),
    "mp16-ch4-11/APP-1": ("held_per_unit", 201, 5000),
    "mp1b/A-4": ("by_identifier", 10, 1635),
    "mp16-ch2-3/CH-R31": ("ssl_busy_high", 0.91, 0.97),
    "mp16-ch1/A-79": ("security_timeout_min", 61, 120),
}


@pytest.mark.parametrize("name", [*LEAST, *MOST])
def test_the_worst_row_words_the_finding(name):
    column, bad, worst = {**LEAST, **MOST}[name]
    assert column in {figure for figure, *_ in LIMITS.get(name, [])} | {"blocks_free_low"}
    alone = finding_of(name, {column: worst})
    for changes in ([{column: bad}, {column: worst}], [{column: worst}, {column: bad}]):
        found = finding_of(name, *changes)
        assert (2, 2) == (found.intervals, found.intervals_seen)
        assert alone.figures[column] == found.figures[column] == worst
        assert alone.advice == found.advice
        assert changes.index({column: worst}) == found.worst_at.hour - 10


@pytest.mark.parametrize(
    ("name", "grave", "other", "said"),
    [
        (  # the interval with the fewest free blocks is not the one in which an allocation failed
            "mp16-ch2-3/CF-R24",
            {"allocations_failed": 3, "blocks_free_low": 150},
            {"allocations_failed": 0, "blocks_free_low": 0},
            "3 allocations failed; at the lowest 150 of",
        ),
        (  # a page set that was full and expanded stands at less than before
            "mp16-ch1/A-29",
            {"full": 2, "used_share": 0.8},
            {"full": 0, "used_share": 0.99},
            "80% of 250,000 pages are in use; the page set was full 2 times",
        ),
    ],
)
def test_an_alert_is_worded_by_what_makes_it_one(name, grave, other, said):
    """D3."""
    for changes in ([grave, other], [other, grave]):
        found = finding_of(name, *changes)
        assert (2, Severity.ALERT) == (found.intervals, found.severity)
        assert said in found.advice
        assert changes.index(grave) == found.worst_at.hour - 10


def test_an_index_that_some_hour_uses_is_in_use():
    """A-5: by day the queue is read in order, by night by identifier; without its index the nights would search."""
    day, night = {"gets_any": 500, "by_identifier": 0}, {"gets_any": 0, "by_identifier": 7}
    assert [] == findings_of("mp1b/A-5", day, night, day)
    assert 2 == finding_of("mp1b/A-5", day, {**night, "queue": "OTHER"}, day).intervals
    assert 2 == finding_of("mp1b/A-5", day, {**night, "system": "SYSB"}, day).intervals


def test_a_quiet_hour_says_nothing_about_maxchl():
    """CH-R11: MAXCHL 60 is ten times the channels of the night and three times those of the day."""
    assert [] == findings_of("mp16-ch2-3/CH-R11", {"max_channels": 60, "channels_high": 5}, {"channels_high": 20})
    found = finding_of("mp16-ch2-3/CH-R11", {"channels_high": 3}, {"channels_high": 4}, {"channels_high": 3})
    assert "4 channels were in use at the most" in found.advice


def test_maxchl_is_lowered_to_the_busiest_hour_or_not_at_all():
    """CH-R12."""
    busy, quiet = {"channels_high": 95}, {"channels_high": 9}
    assert "ALTER QMGR MAXCHL(110)" == finding_of("mp16-ch2-3/CH-R12", quiet, busy).command
    assert "" == finding_of("mp16-ch2-3/CH-R12", {**quiet, "max_channels": 20}).command
