"""Cut-offs, severities and the choice of rules belong to the installation."""

import pytest

from advisor.given import findings_on, rule_of
from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import CutoffError, load, matching, standard
from quaestor.advisor.rule import Severity


def chosen(text, name):
    (found,) = [each for each in load(text, RULES) if each.rule.id == name]
    return found


def test_a_cutoff_is_changed_by_name():
    each = chosen('["mp1b/A-43"]\ncheckpoints_per_hour_max = 20\n', "mp1b/A-43")
    assert [] == findings_on(each.rule, {"checkpoints": 6}, cut=each.cut)
    assert 1 == len(findings_on(rule_of("mp1b/A-43"), {"checkpoints": 6}))


def test_a_severity_is_changed():
    assert Severity.NOTE is chosen('["mp1b/A-10"]\nseverity = "note"\n', "mp1b/A-10").rule.severity


def test_a_rule_is_left_out():
    left = {each.rule.id for each in load('["mp1b/A-10"]\nenabled = false\n', RULES)}
    assert {rule.id for rule in RULES} - left == {"mp1b/A-10"}


def test_a_short_name_will_do_when_it_is_the_only_one():
    assert 300 == chosen("[APP-1]\nmessages_max = 300\n", "mp16-ch4-11/APP-1").cut.messages_max


def test_an_empty_file_changes_nothing():
    assert [(each.rule, vars(each.cut)) for each in standard(RULES)] == [
        (each.rule, vars(each.cut)) for each in load("", RULES)
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[A-99]\nx = 1\n", "A-99 names none; one rule is wanted"),
        ("[A-1]\nx = 1\n", "A-1 names mp1b/A-1, mp16-ch1/A-1; one rule is wanted"),
        ('["mp1b/A-43"]\nper_hour = 1\n', "no cut-off per_hour; the rule has checkpoints_per_hour_max"),
        ('["mp1b/A-43"]\ncheckpoints_per_hour_max = "many"\n', "takes a number, not 'many'"),
        ('["mp1b/A-43"]\nseverity = "loud"\n', "severity 'loud' is none of note, warning, alert"),
        ('["mp1b/A-43"]\ncheckpoints_per_hour_max = true\n', "takes a number, not True"),
        ('["mp1b/A-43"]\ncheckpoints_per_hour_max = nan\n', "takes a number, not nan"),
        ('["mp1b/A-43"]\ncheckpoints_per_hour_max = -inf\n', "takes a number, not -inf"),
        pytest.param(
            f'["mp1b/A-43"]\ncheckpoints_per_hour_max = 1{"0" * 400}\n', "takes a number, not 1000", id="400 digits"
        ),
        ('["mp1b/A-43"]\nenabled = "no"\n', "enabled takes true or false, not 'no'"),
        ('["mp1b/A-43"]\nenabled = 0\n', "enabled takes true or false, not 0"),
        ('["mp1b/A-43"]\nenabled = false\nper_hour = 1\n', "no cut-off per_hour"),
        (
            '["mp16-ch4-11/APP-1"]\nseverity = "note"\n[app-1]\nmessages_max = 300\n',
            "app-1 and mp16-ch4-11/APP-1 are one rule; put all of it under one name",
        ),
        ("limit = 3\n", "limit stands outside a rule"),
        ("[A-1", "cutoffs: "),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text, said):
    with pytest.raises(CutoffError, match=said.replace("(", r"\(")):
        load(text, RULES)


def test_a_name_finds_every_rule_that_covers_it():
    assert ["mp1b/A-24", "mp1b/A-27", "mp16-ch1/A-41"] == [rule.id for rule in matching("BP-1", RULES)]
    assert ["mp1b/A-36"] == [rule.id for rule in matching("mp1b/a-36", RULES)]
