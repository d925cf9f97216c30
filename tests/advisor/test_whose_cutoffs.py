"""A cut-off is the papers' or it is ours, and bears the mark that says so (U5)."""

import tomllib
from pathlib import Path

from quaestor.advisor.catalog import RULES
from quaestor.advisor.rule import NO, YES

PAPERS = tomllib.loads((Path(__file__).parent / "cutoffs_of_the_papers.toml").read_text(encoding="utf-8"))
PRINTED = {
    (f"{extract}/{rule}", name): value
    for extract, rules in PAPERS.items()
    for rule, cutoffs in rules.items()
    for name, value in cutoffs.items()
}
ALL = [(rule.id, each) for rule in RULES for each in rule.cutoffs if each not in (YES, NO)]


def test_what_the_papers_print_is_not_ours_and_has_their_value():
    assert {(rule, each.name): each.value for rule, each in ALL if not each.ours} == PRINTED


def test_whether_a_setting_is_so_is_nobodys_choice():
    assert not YES.ours
    assert not NO.ours
