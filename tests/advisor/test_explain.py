"""A rule in words: what is shown comes from the rule itself (X1), cut-offs that are ours are marked (X2)."""

import pytest

from advisor.given import rule_of
from quaestor.advisor.catalog import BY_MANAGER, EXTRACTS, RULES, covered, not_measurable
from quaestor.advisor.evaluate import reads
from quaestor.advisor.explain import explained, official, page, text
from quaestor.advisor.setting_names import SETTINGS
from quaestor.advisor.view_catalog import VIEWS


def lines(name):
    return text(rule_of(name)).splitlines()


def test_a_rule_in_full():
    assert [
        "mp1b/A-43  Checkpoints come too often",
        "  severity   warning",
        "  looks at   QJST: the log manager of a queue manager over one interval",
        "  reads      QJSTLLCP checkpoints, local_time, queue_manager, seconds, system",
        "  settings   logload (used when known)",
        "  cut-off    checkpoints_per_hour_max = 10: checkpoints by LOGLOAD in an hour",
        f"  advice     {rule_of('mp1b/A-43').advice}",
        "  command    SET SYSTEM LOGLOAD({logload_wanted:.0f})",
        "  effect     computed from the figures by the planner",
        "  source     MP1B, interpreting accounting and statistics data, lines 2491-2515",
    ] == lines("mp1b/A-43")


def test_a_rule_on_settings_alone():
    found = lines("mp16-ch1/A-63")
    assert "  reads      settings only" not in found  # its settings are the columns of its view
    assert any(line.startswith("  looks at   settings.system: the settings of a queue manager") for line in found)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("mp1b/A-36", "  covers     mp16-ch4-11/LOG-1, mp16-ch1/A-59"),
        ("mp1b/A-18", "  severity   warning, an alert when it is grave"),
        ("mp16-ch1/A-9", "  settings   active_log_mb, archive_time_s (must be known)"),
        ("mp16-ch1/A-9", "  settings   mount_time_s (used when known)"),
        ("mp16-ch1/A-9", "  cut-off    times = 1.25: archive times that a log should last (ours)"),
        ("mp1b/A-24", "  reads      QPSTSOS short_on_storage"),
        ("mp16-ch1/A-64", f"  quaestor   is not held against it: {rule_of('mp16-ch1/A-64').not_ours}"),
    ],
)
def test_a_line_of_a_rule(name, line):
    assert line in lines(name)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("mp1b/A-43", "covers"),
        ("mp1b/A-44", "settings"),
        ("mp1b/A-38", "command"),
        ("mp1b/A-38", "effect"),
        ("mp16-ch1/A-9", "command"),
    ],
)
def test_a_line_that_a_rule_has_no_use_for_is_not_there(name, word):
    assert not any(line.split()[0] == word for line in lines(name)[1:])


def test_a_column_has_the_papers_name_where_its_structure_is_shown_as_it_is():
    assert "QPSTSOS short_on_storage" == official(rule_of("mp1b/A-24"), "short_on_storage")
    assert "stealable_share" == official(rule_of("mp1b/A-25"), "stealable_share")  # a figure of the rule's own
    assert "gets_any" == official(rule_of("mp1b/A-5"), "gets_any")  # a sum over an hour


def test_a_name_explains_every_rule_that_bears_it_and_those_that_are_none():
    assert ["mp1b/A-36  Tasks waited for a log buffer"] == [each.splitlines()[0] for each in explained("mp1b/a-36")]
    found = explained("A-33")
    assert "mp1b/A-33  Page writes are not batched" == found[0].splitlines()[0]
    assert any("mp16-ch1/A-33\n  not a rule of the advisor: " in each for each in found)
    assert [] == explained("A-999")


@pytest.mark.parametrize("name", not_measurable())
def test_a_rule_of_the_papers_that_is_none_says_why(name):
    (found,) = [each for each in explained(name) if each.startswith(f"{name}\n")]
    assert f"{name}\n  not a rule of the advisor: {not_measurable()[name]}\n" == found


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written():
    return page().splitlines()


def section(written, title):
    begin = written.index(f"## {title}")
    rest = [place for place, line in enumerate(written) if line.startswith("## ") and place > begin]
    return written[begin + 1 : rest[0] if rest else len(written)]


def test_the_page_counts_what_it_lists(written):
    said = f"{len(RULES)} rules stand for {len(covered())} IF-THEN rules of the papers; {len(not_measurable())} more"
    assert written[2].startswith(said)


def test_every_rule_has_its_row_under_its_manager(written):
    for manager, rules in BY_MANAGER.items():
        rows = [line for line in section(written, manager.replace("_", " ").capitalize()) if line.startswith("| ")][1:]
        assert [rule.id for rule in rules] == [row.split(" | ")[0].removeprefix("| ") for row in rows]


def test_a_manager_without_rules_says_so(written):
    assert ["", "No rule of the papers reads what this manager counts.", ""] == section(written, "Lock")


def test_a_row_of_the_page(written):
    row = next(line for line in written if line.startswith("| mp1b/A-9 |"))
    columns = "`messages_skipped`, `valid_gets`"
    title = "Gets search past many messages"
    assert f"| mp1b/A-9 | {title} | warning | queue_hours | {columns} | `messages_max` 10* |  |" == row
    read = "`checkpoints`, `local_time`, `queue_manager`, `seconds`, `system`"
    assert any(f"| QJST | {read} | `checkpoints_per_hour_max` 10 |" in line for line in written)  # the paper's own


def test_every_view_and_every_setting_has_its_row(written):
    views = section(written, "What the rules look at")
    for view in VIEWS:
        assert f"| {view.name} | {view.grain} | {', '.join(view.needs) or 'settings'} |" in views
    settings = section(written, "Settings")
    for kind, names in SETTINGS.items():
        for name, setting in names.items():
            assert f"| {kind.replace('_', ' ')} | `{name}` | {setting.meaning} |" in settings


def test_the_page_ends_with_the_rules_that_are_not_there(written):
    rows = section(written, "Rules of the papers that are not here")[3:]
    assert [f"| {name} | {reason} |" for name, reason in not_measurable().items()] == rows


def test_every_rule_names_a_paper_that_there_is():
    assert {rule.id.rpartition("/")[0] for rule in RULES} <= set(EXTRACTS)
    assert all(reads(rule).columns | reads(rule).settings for rule in RULES)
