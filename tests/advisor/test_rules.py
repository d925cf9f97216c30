"""Every rule fires on a row that meets it, does not on one that does not, and never on what is not known."""

import pytest

from advisor.cases import CASES
from advisor.given import findings_on, given, rule_of, settings_of
from quaestor.advisor.catalog import RULES
from quaestor.advisor.evaluate import cannot_run, reads
from quaestor.advisor.rule import names_in
from quaestor.advisor.view_catalog import BY_NAME

NAMES = [rule.id for rule in RULES]


def case(name):
    columns, instead, *rest = CASES[name]
    settings = rest[0] if rest else {}
    return columns, instead, settings, rest[1] if len(rest) > 1 else {}


def test_every_rule_has_a_case():
    assert set(NAMES) == set(CASES)


@pytest.mark.parametrize("name", NAMES)
def test_the_rule_fires(name):
    columns, _, settings, _ = case(name)
    (finding,) = findings_on(rule_of(name), columns, settings)
    assert finding.queue_manager == "QM01"
    assert finding.advice
    assert "{" not in finding.advice + finding.command + finding.effect
    assert "nan" not in (finding.advice + finding.command + finding.effect).split()


@pytest.mark.parametrize("name", NAMES)
def test_the_rule_does_not_fire(name):
    columns, instead, settings, settings_instead = case(name)
    assert instead or settings_instead
    assert [] == findings_on(rule_of(name), {**columns, **instead}, {**settings, **settings_instead})


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_known_meets_no_rule(name):
    columns, _, settings, _ = case(name)
    rule = rule_of(name)
    seen = reads(rule)
    for column in sorted(seen.columns & set(columns)):
        missing = {key: value for key, value in columns.items() if key != column}
        assert [] == findings_on(rule, missing, settings), f"fires without {column}"
    for setting in sorted(seen.settings & set(settings)):
        assert [] == findings_on(rule, columns, {key: value for key, value in settings.items() if key != setting})


def reason(rule, columns, settings):
    """Why the rule is not run on the row."""
    view = BY_NAME[rule.table]
    return cannot_run(rule, view, given(view, columns), settings_of(rule, settings, columns))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_known_is_told(name):
    """Z4: a rule that lacks a figure is not among those that found nothing."""
    columns, _, settings, _ = case(name)
    rule = rule_of(name)
    seen = reads(rule)
    assert "" == reason(rule, columns, settings)
    of_view = "setting {} is not known" if BY_NAME[rule.table].settings_kind else f"{{}} of {rule.table} is not known"
    for column in seen.columns & set(columns):
        missing = {key: value for key, value in columns.items() if key != column}
        assert of_view.format(column) == reason(rule, missing, settings)
    for setting in seen.settings:
        without = {key: value for key, value in settings.items() if key != setting}
        assert f"setting {setting} is not known" == reason(rule, columns, without)


@pytest.mark.parametrize("name", NAMES)
def test_a_case_gives_all_that_the_condition_reads(name):
    columns, _, settings, _ = case(name)
    seen = reads(rule_of(name))
    assert not seen.columns - set(columns) - {"seconds", "local_time", "queue_manager", "system"}
    assert not seen.settings - set(settings)


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_has_texts_and_a_source(name):
    rule = rule_of(name)
    assert rule.title
    assert not rule.title.endswith(".")
    assert rule.advice.endswith(".")
    assert rule.lines
    assert len({each.name for each in rule.cutoffs}) == len(rule.cutoffs)
    assert all(each.meaning for each in rule.cutoffs)
    assert names_in(rule.advice) >= names_in("") == set()


def test_ids_are_unique():
    assert len(NAMES) == len(set(NAMES))
