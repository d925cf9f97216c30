"""Whatever a row holds, a rule has its say or has none: damaged figures stop nobody (R1, Z1).

Rows are drawn from what is hard: nothing, 0, the edges of cut-offs, and the most that four and eight bytes hold.
"""

import json
import random
from datetime import datetime, timedelta

import numpy as np
import pytest

from advisor.given import BY_NAME, NINE, given, rule_of, settings_of, table
from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import Chosen
from quaestor.advisor.evaluate import empty_rows, run
from quaestor.advisor.findings import as_records
from quaestor.advisor.setting_names import SETTINGS
from quaestor.advisor.views import LONGEST_INTERVAL_S, base

FIGURES = (0, 0, 0, 1, 2, 5, 15, 100, 1e3, 1e6, 2.0**32 - 1, 2.0**53, 2.0**63, None, 0.5)
NAMES = ("A", "Mixed.Case", "SYSTEM.CHANNEL.SYNCQ", "", None)
WRITTEN = {
    float: (0.0, 1.0, 2.0, 5.0, 100.0, 1e6, None),
    bool: (True, False, None),
    str: ("long", "YES", "NO", "FAST", "DS8800 (RAID 5)", "", None),
}
DRAWN = 10
HOUR = timedelta(hours=1)


def drawn(rule, chance):
    """One row of the rule's view, and the settings that the rule asks for."""
    template = empty_rows(BY_NAME[rule.table])
    columns = {
        name: chance.choice(NAMES if getattr(template, name).dtype == object else FIGURES)
        for name in template
        if getattr(template, name).dtype.kind != "M" and name not in ("system", "queue_manager", "seconds")
    }
    asked = {}
    for each in rule.settings:
        kind, _, name = each.rpartition(".")
        asked[name] = chance.choice(WRITTEN[SETTINGS[kind or "system"][name].type])
    return columns, {name: value for name, value in asked.items() if value is not None}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_row_stops_a_rule(rule):
    view, chance = BY_NAME[rule.table], random.Random(rule.id)
    for _ in range(DRAWN):
        columns, settings = drawn(rule, chance)
        known = settings_of(rule, settings, {name: each for name, each in columns.items() if each is not None})
        found = run(Chosen(rule, rule.defaults), view, given(view, columns), known)
        assert len(found) <= 1
        assert all(each.advice and "None" not in each.command for each in found)
        json.dumps(as_records(found), allow_nan=False)


@pytest.mark.parametrize("name", ["mp1b/A-24", "mp1b/A-27", "mp16-ch1/A-41"])
def test_a_pool_without_buffers_is_found_without_advice_on_its_size(name):
    """Only damage says that no buffer of none was free; nobody can say how many it wants."""
    rule = rule_of(name)
    columns = {rule.measure: 3, "buffers": 0, "stealable_low": 0, "steals": 5, "immediate_writes": 1}
    (found,) = run(
        Chosen(rule, rule.defaults), BY_NAME["QPST"], given(BY_NAME["QPST"], columns), settings_of(rule, {}, {})
    )
    assert ("", "") == (found.command, found.effect)
    assert "buffers_wanted" not in found.figures


@pytest.mark.parametrize(
    ("interval_us", "seconds"),
    [
        (1.8e9, 1_800.0),
        (LONGEST_INTERVAL_S * 1e6, float(LONGEST_INTERVAL_S)),
        (LONGEST_INTERVAL_S * 1e6 + 1e6, None),
        (2.0**64, None),
        (None, None),
    ],
)
def test_an_interval_of_more_than_a_hundred_years_is_not_known(interval_us, seconds):
    """QWHSDURN has eight bytes; a damaged one led to dates before the year 1."""
    rows = base(table("QJST", {"interval_us": interval_us, "checkpoints": 100, "writes_nowait": 1}))
    assert [seconds] == [None if np.isnan(each) else each for each in rows.seconds]


def test_a_finding_of_an_unknown_interval_begins_where_it_ends():
    rule = rule_of("mp1b/A-36")
    view = BY_NAME[rule.table]
    tables = {name: table(name) for name in view.needs}
    tables["QJST"] = table("QJST", {"interval_us": 2.0**64, rule.measure: 7})
    (found,) = run(Chosen(rule, rule.defaults), view, view.make(tables), settings_of(rule, {}, {}))
    assert (NINE, NINE) == (found.first, found.last)
    assert isinstance(found.first, datetime)


def test_a_record_without_a_time_hides_no_other():
    """Two intervals have their times, and the worst of the three has none."""
    rule = rule_of("mp1b/A-36")
    view = BY_NAME[rule.table]
    rows = [{rule.measure: 1}, {rule.measure: 9, "local_time": None}, {rule.measure: 2, "local_time": NINE + HOUR}]
    tables = {**{name: table(name) for name in view.needs}, "QJST": table("QJST", *rows)}
    (found,) = run(Chosen(rule, rule.defaults), view, view.make(tables), settings_of(rule, {}, {}))
    assert (3, NINE - HOUR, NINE + HOUR, None) == (found.intervals, found.first, found.last, found.worst_at)
