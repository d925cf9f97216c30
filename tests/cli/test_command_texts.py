"""What commands say line by line: findings, damage and parameters, on values given by hand (E1, E2)."""

from dataclasses import replace
from datetime import datetime

import click
import pytest

from advisor.given import findings_on, rule_of
from quaestor.advisor.evaluate import Advice
from quaestor.advisor.rule import Severity
from quaestor.cli.advice_text import WIDTH, show
from quaestor.cli.damage import MOST_LINES, DamageReport
from quaestor.cli.report_tables import named_values
from quaestor.smf.blocks import Damage


def finding(**changes):
    (made,) = findings_on(rule_of("mp1b/A-36"), {"waits_no_buffer": 1234})
    return replace(made, **changes)


def said(capsys, found, advice=None, *, verbose=False):
    show(found, advice or Advice(rules_run=3), verbose=verbose)
    return capsys.readouterr().out.splitlines()


def test_a_finding_from_what_to_why(capsys):
    assert [
        "ALERT    QM01 log: Tasks waited for a log buffer  [mp1b/A-36]",
        "  when     1 of 1 interval, 2026-03-02 09:30 to 10:00",
        "  what     1,234 requests wait.",
        "  figures  outbuff_wanted 4,000, QJSTWTB waits_no_buffer 1,234",
        "  do       CSQ6LOGP OUTBUFF=4000",
        "  effect   OUTBUFF 4000 gives 1,000 log buffers",
    ] == said(capsys, [finding(advice="1,234 requests wait.")])[:6]


@pytest.mark.parametrize(
    ("begin", "end", "told"),
    [
        ((2, 9, 30), (2, 9, 45), "2026-03-02 09:30 to 09:45"),
        ((1, 23, 45), (2, 0, 15), "2026-03-01 23:45 to 2026-03-02 00:15"),
        ((2, 9, 44, 10), (2, 9, 45, 10), "2026-03-02 09:44:10 to 09:45:10"),
        (None, (2, 9, 45), "which ended at 2026-03-02 09:45"),
    ],
    ids=["a quarter of an hour", "over midnight", "a minute", "of no known length"],
)
def test_the_interval_that_the_figures_are_of_is_told_where_there_are_several(capsys, begin, end, told):
    worst_from = begin and datetime(2026, 3, *begin)
    several = finding(intervals=2, intervals_seen=48, worst_from=worst_from, worst_at=datetime(2026, 3, *end))
    lines = said(capsys, [several])
    assert [
        "  when     2 of 48 intervals, 2026-03-02 09:30 to 10:00",
        f"  worst    {told}: what and figures are of it",
    ] == (lines[1:3])
    for one in (replace(several, intervals=1), replace(several, worst_at=None)):
        assert "what" == said(capsys, [one])[2].split()[0]


def test_what_is_not_known_has_no_line(capsys):
    """Settings have no time; a rule may have nothing to type and no effect to tell."""
    lines = said(capsys, [finding(first=None, command="", effect="", queue_manager="")])
    assert "ALERT    all queue managers log: Tasks waited for a log buffer  [mp1b/A-36]" == lines[0]
    assert ["what", "figures", "source"] == [line.split()[0] for line in lines[1:5] if not line.startswith("    ")]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({}, "QM01 log"),
        ({"queue_manager": "all", "system": ""}, "all queue managers log"),
        ({"queue_manager": "all", "system": "", "subject": "queue manager"}, "all queue managers"),
        ({"system": "", "subject": "queue manager"}, "QM01 queue manager"),
    ],
)
def test_where_it_is(capsys, changes, where):
    assert said(capsys, [finding(**changes)])[0].startswith(f"ALERT    {where}: Tasks")


def test_the_system_is_told_where_a_name_is_on_two(capsys):
    """Settings belong to no system."""
    homes = [("SYSA", "QM01"), ("SYSB", "QM01"), ("", "QM01"), ("SYSA", "QM02")]
    lines = said(capsys, [finding(system=system, queue_manager=name) for system, name in homes])
    assert ["SYSA QM01 log", "SYSB QM01 log", "QM01 log", "QM02 log"] == [
        line.removeprefix("ALERT    ").partition(":")[0] for line in lines if line.startswith("ALERT")
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.0, "5"),
        (1234.5, "1,234"),
        (100.4, "100"),
        (99.96, "100"),
        (0.12345, "0.123"),
        (-250.5, "-250"),
        ("DASD", "DASD"),
    ],
)
def test_figures_have_three_digits_that_count(capsys, value, text):
    (line,) = [each for each in said(capsys, [finding(figures={"waits_no_buffer": value})]) if "figures" in each]
    assert f"  figures  QJSTWTB waits_no_buffer {text}" == line


def test_lines_are_as_wide_as_the_page(capsys):
    lines = said(capsys, [finding(advice="word " * 100)])
    assert max(map(len, lines)) <= WIDTH
    assert any(len(line) > WIDTH - 6 for line in lines)


def test_findings_are_counted_and_rules_that_could_not_run_are_told(capsys):
    advice = Advice(rules_run=3, not_run={"mp1b/A-9": "no rows of WQST", "mp1b/A-8": "setting x is not known"})
    found = [finding(), finding(severity=Severity.NOTE), finding(severity=Severity.NOTE)]
    assert "1 alert, 0 warnings, 2 notes; 3 rules run, 2 could not be run" == said(capsys, found, advice)[-1]
    assert [
        "nothing found; 3 rules run, 2 could not be run",
        "  mp1b/A-8             setting x is not known",
        "  mp1b/A-9             no rows of WQST",
    ] == said(capsys, [], advice, verbose=True)


@pytest.mark.parametrize(
    ("dumps", "damages", "unusable", "code"),
    [(1, 0, 0, 0), (0, 0, 0, 0), (1, 1, 0, 1), (2, 0, 1, 1), (1, 0, 1, 2), (2, 0, 2, 2), (2, 3, 1, 1)],
)
def test_the_exit_code_of_damage(dumps, damages, unusable, code):
    """E2: 2 when no dump could be used, 1 for any damage."""
    assert code == DamageReport(damages=damages, dumps=dumps, unusable=unusable).close()


@pytest.mark.parametrize("count", [MOST_LINES - 1, MOST_LINES, MOST_LINES + 1])
def test_so_many_damages_are_shown_and_all_are_counted(capsys, count):
    report = DamageReport()
    report.dump()
    for n in range(count):
        report.damaged("a.dat", Damage(n, "zero bytes"))
    assert 1 == report.close()
    lines = capsys.readouterr().err.splitlines()
    shown = [f"a.dat: offset {n}: zero bytes" for n in range(min(count, MOST_LINES))]
    assert shown + [f"{count} damages in all, the first 20 shown"] * (count > MOST_LINES) == lines


def test_a_dump_that_cannot_be_used_is_named(capsys):
    report = DamageReport()
    report.dump()
    report.cannot_use("a.dat", "empty")
    assert ("a.dat: empty\n", 2) == (capsys.readouterr().err, report.close())


def test_parameters_as_they_are_typed(capsys):
    assert {"from": "2026-03-02", "where": "a=b", "none": ""} == named_values(["from=2026-03-02", "where=a=b", "none="])
    for wrong in ("from", "=x"):
        with pytest.raises(click.exceptions.Exit) as left:
            named_values([wrong])
        assert 2 == left.value.exit_code
        assert f"--param {wrong}: write NAME=VALUE\n" == capsys.readouterr().err
