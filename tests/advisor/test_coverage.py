"""Every IF-THEN rule of the papers is covered by a rule, or listed with the reason why not."""

import tomllib
from pathlib import Path

from quaestor.advisor.catalog import EXTRACTS, RULES, covered, not_measurable

INDEX = tomllib.loads((Path(__file__).parent / "rules_of_the_extracts.toml").read_text(encoding="utf-8"))
ALL = {f"{extract}/{each}" for extract, body in INDEX.items() for each in body["rules"]}


def test_every_rule_of_the_extracts_is_covered_or_has_a_reason():
    assert set() == ALL - covered() - set(not_measurable())


def test_no_rule_is_invented():
    assert set() == covered() - ALL
    assert set() == set(not_measurable()) - ALL


def test_a_covered_rule_needs_no_excuse():
    assert set() == covered() & set(not_measurable())


def test_every_reason_says_something():
    assert all(len(reason) > 15 for reason in not_measurable().values())


def test_every_extract_is_named():
    assert set(INDEX) == set(EXTRACTS)
    assert {rule.id.rpartition("/")[0] for rule in RULES} <= set(EXTRACTS)
