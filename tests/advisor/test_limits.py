"""A rule begins to fire at its cut-off, not before it and not after: U5 from both sides, one figure at a time."""

import pytest

from advisor.cases import CASES
from advisor.given import findings_on, rule_of
from advisor.limits import BESIDE, LIMITS
from quaestor.advisor.catalog import RULES
from quaestor.advisor.evaluate import reads
from quaestor.advisor.rule import Severity

GRAVE = {  # what makes an alert of a warning: changes, figure, last value of a warning, first of an alert
    "mp1b/A-18": [({}, "queue_depth_high", 20, 21)],
    "mp16-ch2-3/CF-R24": [({}, "allocations_failed", 0, 1)],
    "mp16-ch2-3/CH-R4": [
        ({"active_channels_high": 0}, "channels_high", 399, 400),
        ({"channels_high": 0}, "active_channels_high", 399, 400),
    ],
    "mp16-ch1/A-29": [({}, "full", 0, 1), ({"full": 0}, "expansion_method", 2, 3)],
    "mp16-ch2-3/CF-R10": [({}, "structure", "APP1", "CSQ_ADMIN")],
}

NO_LIMIT = {  # read, but only to name or to know: a DASD's name, a channel's, a queue's, a setting that packs messages
    "mp16-ch4-11/DASD-1": {"suspensions", "log_dasd"},
    "mp16-ch4-11/DASD-2": {"log_dasd"},
    "mp16-ch1/A-38": {"maxshortmsgs"},
    "mp16-ch1/A-56": {"suspensions", "writes_nowait"},
    "mp16-ch2-3/CH-R28": {"channel"},
    "mp1b/A-5": {"queue"},
}

ALL = [(rule, {}, *each) for rule, lines in LIMITS.items() for each in lines]
ALL += [(rule, *each) for rule, lines in BESIDE.items() for each in lines]
ALERTS = [(rule, *each) for rule, lines in GRAVE.items() for each in lines]
STANDING = {"seconds", "local_time", "queue_manager", "system"}


def found(name, changes, figure, value):
    """The findings on the rule's row with these changes; a figure is a column or a setting, as the rule has it."""
    columns, _, *rest = CASES[name]
    rule = rule_of(name)
    asked = {each.rpartition(".")[2] for each in rule.settings}
    columns, settings = dict(columns), dict(rest[0] if rest else {})
    for key, changed in {**changes, figure: value}.items():
        (settings if key in asked else columns)[key] = changed
    return findings_on(rule, columns, settings)


@pytest.mark.parametrize(("name", "changes", "figure", "quiet", "fires"), ALL)
def test_a_rule_fires_from_its_limit_on(name, changes, figure, quiet, fires):
    assert [] == found(name, changes, figure, quiet)
    assert 1 == len(found(name, changes, figure, fires))


@pytest.mark.parametrize(("name", "changes", "figure", "warns", "alerts"), ALERTS)
def test_a_warning_becomes_an_alert_from_its_limit_on(name, changes, figure, warns, alerts):
    assert [Severity.WARNING] == [each.severity for each in found(name, changes, figure, warns)]
    assert [Severity.ALERT] == [each.severity for each in found(name, changes, figure, alerts)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_figure_that_a_condition_reads_has_its_limit(rule):
    told = {figure for name, _, figure, _, _ in ALL if name == rule.id}
    seen = reads(rule)
    assert NO_LIMIT.get(rule.id, set()) == (seen.columns | seen.settings) - told - STANDING


def test_every_rule_that_may_be_grave_says_from_when_on():
    assert {rule.id for rule in RULES if rule.grave} == set(GRAVE)
