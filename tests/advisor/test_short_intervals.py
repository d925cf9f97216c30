"""Limits in times an hour, on statistics of every minute."""

from datetime import datetime, timedelta

import numpy as np

from advisor.given import given, rule_of
from advisor.test_views import table
from quaestor.advisor.cutoffs import Chosen
from quaestor.advisor.evaluate import run
from quaestor.advisor.rows import Rows
from quaestor.advisor.settings import Settings
from quaestor.advisor.view_catalog import BY_NAME


def minutes_of_log(checkpoints):
    """One-minute intervals of the log manager."""
    rows = [
        {
            "local_time": datetime(2026, 3, 2, 9) + timedelta(minutes=number),
            "interval_us": 6e7,
            "checkpoints": each,
            "writes_nowait": 1000,
        }
        for number, each in enumerate(checkpoints, 1)
    ]
    return {"QJST": table("QJST", *rows)}


def findings(tables):
    rule = rule_of("mp1b/A-43")
    view = BY_NAME[rule.table]
    return run(Chosen(rule, rule.defaults), view, view.make(tables), Settings())


def test_a_checkpoint_in_a_short_interval_is_no_finding():
    assert [] == findings(minutes_of_log([0] * 30 + [1] + [0] * 29))


def test_checkpoints_of_short_intervals_add_up():
    """One in five minutes, twelve an hour: the rule is met also in the minutes between."""
    (found,) = findings(minutes_of_log(([0] * 4 + [1]) * 24))
    assert "12.0 checkpoints an hour" in found.advice
    assert "every 4,000 minutes at this load, now it is 5.0" in found.effect


def test_a_namesake_on_another_system_keeps_no_second_log_for_this_one():
    """What a queue manager did in all is its own: two systems may each have a QM01."""
    rule = rule_of("mp16-ch4-11/DASD-6")
    view = BY_NAME[rule.table]
    once = given(view, {"system": "SYSA", "ios_copy_1": 900, "ios_copy_2": 0})
    twice = given(view, {"system": "SYSB", "ios_copy_1": 900, "ios_copy_2": 900})
    both = Rows({name: np.concatenate([getattr(once, name), getattr(twice, name)]) for name in once}, 2)
    assert ["SYSA"] == [each.system for each in run(Chosen(rule, rule.defaults), view, both, Settings())]
