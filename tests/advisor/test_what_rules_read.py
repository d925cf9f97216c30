"""What a rule reads is found by running it on no rows (U3), and nothing else is read from a dump (Z2)."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from advisor.given import given, rule_of, settings_of, table
from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import standard
from quaestor.advisor.evaluate import Looking, advise, needed, reads
from quaestor.advisor.rule import Rule
from quaestor.advisor.settings import Settings
from quaestor.advisor.view_catalog import BY_NAME

RECORD = {"system", "queue_manager", "release", "queue_sharing_group", "local_time", "interval_us"}
POOL = {"buffer_pool", "buffers", "stealable_low", "get_new_page", "location", "pages_written"}


@pytest.mark.parametrize(
    ("name", "columns", "settings"),
    [
        ("mp1b/A-24", {"short_on_storage"}, set()),
        ("mp1b/A-25", {"stealable_low", "buffers"}, set()),
        ("mp16-ch1/A-80", {"buffer_pool", "buffers", "page_reads"}, {"objects"}),
        ("mp16-ch2-3/CF-R21", {"structure_full"}, {"cflevel"}),
        ("mp1b/A-23", {"entries_high", "elements_high"}, {"entries_total"}),
        ("mp16-ch2-3/CF-R13", {"structure", "entries_total"}, {"group_members"}),
        ("mp16-ch1/A-8", {"active_logs"}, set()),
        ("mp16-ch4-11/SHQ-5", {"db2_requests", "others", "opens"}, set()),
    ],
)
def test_what_a_condition_must_know(name, columns, settings):
    """Figures are seen through; a setting that its table of settings has is a column of it."""
    seen = reads(rule_of(name))
    assert (columns, settings) == (seen.columns, seen.settings)


@pytest.mark.parametrize(
    ("name", "shown", "settings_shown"),
    [
        ("mp1b/A-24", {"stealable_low", "buffers", "buffer_pool"}, set()),
        (  # after a start it does not fire, and where the setting says so; nobody has to say so
            "mp1b/A-26",
            {"after_gap", "stealable_low", "buffers", "buffer_pool", "pages_written"},
            {"messages_live", "usage_class"},
        ),
        ("mp1b/A-36", set(), {"outbuff_kb"}),
        ("mp1b/A-39", {"reads_from_active", "archive_read_allocations"}, set()),
        ("mp16-ch2-3/CF-R24", {"structure", "messages_high"}, set()),
        (  # that it cannot expand makes it an alert
            "mp16-ch1/A-29",
            {"page_set", "pages", "pages_unused", "message_size", "expansion_method"},
            set(),
        ),
        ("mp16-ch2-3/CF-R21", {"entries_high", "elements_high", "bytes_per_entry", "structure"}, None),
        ("mp16-ch2-3/CH-R7", {"channels_high"}, {"channel_storage_mb"}),
        ("mp1b/A-2", {"queue"}, set()),
    ],
)
def test_what_a_finding_only_shows(name, shown, settings_shown):
    seen = reads(rule_of(name))
    assert shown == seen.shown
    assert settings_shown is None or settings_shown == seen.settings_shown


def test_what_a_rule_needs_is_never_what_it_only_shows():
    for rule in RULES:
        seen = reads(rule)
        assert not seen.columns & seen.shown
        assert not seen.settings & seen.settings_shown
        assert not (seen.settings | seen.settings_shown) & (seen.columns | seen.shown)


# --- what is asked for ------------------------------------------------------------------------------------------------


def test_a_dump_is_decoded_for_what_the_rules_read():
    """A plain view takes its keys, and of its own structure what the rule reads or shows."""
    assert {
        "QPST": RECORD | POOL | {"short_on_storage"},
        "QJST": RECORD | {"checkpoints"},
    } == needed([rule_of("mp1b/A-24")])
    assert {"QIST": RECORD | {"gets_from_disk", "gets_from_buffer"}} == needed([rule_of("mp16-ch4-11/BP-10")])


def test_the_log_is_always_read_with_its_copies():
    """The view computes times by copy and the group's share whichever rule asks."""
    assert {"QJST": RECORD | {"copies", "buffers_filled", "waits_no_buffer"}} == needed([rule_of("mp1b/A-36")])
    assert "copies" not in needed([rule_of("mp16-ch4-11/BP-10")])["QIST"]


def test_a_view_that_computes_says_itself_what_it_needs():
    rule = rule_of("mp16-ch4-11/APP-1")
    view = BY_NAME[rule.table]
    assert {structure: set(columns) for structure, columns in view.needs.items()} == needed([rule])


def test_rules_on_settings_need_no_structure():
    assert {} == needed([rule_of("mp16-ch1/A-8"), rule_of("mp16-ch2-3/CF-R5")])


def test_needs_of_several_rules_add_up():
    both = needed([rule_of("mp1b/A-24"), rule_of("mp1b/A-27"), rule_of("mp16-ch1/A-59")])
    assert {"QPST", "QJST", "QMST"} == set(both)
    assert {"short_on_storage", "synchronous_write_starts", "immediate_writes"} <= both["QPST"]
    assert {"persistent_puts", "persistent_bytes_put"} <= both["QMST"]


def test_computed_columns_are_not_asked_of_a_dump():
    asked = needed([rule_of("mp1b/A-26"), rule_of("mp1b/A-34"), rule_of("mp16-ch1/A-51")])
    assert not {"after_gap", "log_checkpoints", "buffers_before", "seconds"} & asked["QPST"]


# --- looking ----------------------------------------------------------------------------------------------------------


def rule_with(**changes) -> Rule:
    return replace(rule_of("mp1b/A-24"), **changes)


def looking(rule, columns, settings=None):
    view = BY_NAME[rule.table]
    return Looking(rule, given(view, columns), settings_of(rule, settings or {}, columns))


def test_a_figure_is_computed_once():
    calls = []

    def share(at):
        calls.append(1)
        return at.stealable_low / at.buffers

    at = looking(rule_with(figures={"share": share}), {"stealable_low": 1, "buffers": 4})
    assert ([0.25], [0.25], 1) == (list(at.share), list(at.share), len(calls))


def test_a_setting_is_looked_up_once():
    rule = rule_of("mp16-ch1/A-80")
    at = looking(rule, {"buffer_pool": 0}, {"objects": 14_000})
    assert at.objects is at.objects
    assert [14_000] == list(at.objects)


def test_a_setting_of_the_rows_own_object_is_found_by_its_name():
    """structure.cflevel is asked of the structure of each row, buffer_pool.usage_class of its pool."""
    rule = rule_of("mp16-ch2-3/CF-R21")
    settings = Settings()
    settings.put("QM01", "structure", "APP1", {"cflevel": 4})
    settings.put("QM01", "structure", "APP2", {"cflevel": 5})
    for name, level in (("APP1", 4), ("APP2", 5)):
        rows = given(BY_NAME[rule.table], {"structure": name})
        assert [level] == list(Looking(rule, rows, settings).cflevel)
    rows = given(BY_NAME[rule.table], {"structure": "APP3"})
    assert np.isnan(Looking(rule, rows, settings).cflevel).all()


def test_what_may_be_missing_is_not_touched():
    at = looking(rule_of("mp1b/A-26"), {"page_reads": 1})
    at.maybe("after_gap")
    assert (set(), {"after_gap"}) == (at.touched, at.optional)
    assert [1] == list(at.page_reads)
    at.maybe("page_reads")
    assert ({"page_reads"}, {"after_gap"}) == (at.touched, at.optional)


class Counted(Mapping):
    """Tables that count how often each is asked for."""

    def __init__(self, tables):
        self.tables, self.asked = tables, []

    def __getitem__(self, name):
        self.asked.append(name)
        return self.tables[name]

    def __iter__(self):
        return iter(self.tables)

    def __len__(self):
        return len(self.tables)


def test_a_view_is_made_once_for_all_rules_on_it():
    """Z3."""
    tables = Counted({"QIST": table("QIST", {"gets_from_disk": 0})})
    rule = rule_of("mp16-ch4-11/BP-10")
    advice = advise(standard([rule, replace(rule, id="mp16-ch4-11/BP-11")]), tables)
    assert (2, ["QIST"]) == (advice.rules_run, tables.asked)
