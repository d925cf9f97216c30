"""Findings are merged over time, worded from the worst interval, and ranked."""

from datetime import datetime

import pyarrow as pa
import pytest

from advisor.given import findings_on, rule_of
from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import standard
from quaestor.advisor.evaluate import advise
from quaestor.advisor.findings import as_records
from quaestor.advisor.rule import Severity
from quaestor.advisor.settings import Settings
from quaestor.smf.arrow_schema import schema
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.db2 import Db2Statistics


def pools(*rows):
    made = []
    for hour, manager, pool, values in rows:
        standard_columns = {"system": "SYSA", "queue_manager": manager, "interval_us": 3.6e9, "location": 0}
        counts = dict.fromkeys(schema(BufferStatistics).names[13:], 0)
        made.append(
            {**counts, **standard_columns, "local_time": datetime(2026, 3, 2, hour), "buffer_pool": pool}
            | {"buffers": 1000, "stealable_low": 600, "stealable_now": 600}
            | values
        )
    return {"QPST": pa.Table.from_pylist(made, schema=schema(BufferStatistics))}


def only(rule, tables):
    return advise(standard([rule_of(rule)]), tables).findings


def test_intervals_of_one_object_are_one_finding():
    found = only(
        "mp1b/A-24",
        pools(
            (9, "QM01", 3, {"short_on_storage": 2}),
            (10, "QM01", 3, {"short_on_storage": 7, "stealable_low": 20}),
            (11, "QM01", 3, {}),
            (12, "QM01", 3, {"short_on_storage": 1}),
            (12, "QM01", 1, {}),
        ),
    )
    (finding,) = found
    assert ("QM01", "buffer pool 3") == (finding.queue_manager, finding.subject)
    assert (3, 4) == (finding.intervals, finding.intervals_seen)
    assert (datetime(2026, 3, 2, 8), datetime(2026, 3, 2, 12)) == (finding.first, finding.last)
    assert datetime(2026, 3, 2, 10) == finding.worst_at
    assert 7 == finding.figures["short_on_storage"]
    assert finding.advice.startswith("7 times a task waited")
    assert "ALTER BUFFPOOL(3) BUFFERS(1250)" == finding.command
    assert "1,250 buffers leave 22% stealable" in finding.effect


def test_objects_and_queue_managers_are_kept_apart():
    found = only(
        "mp1b/A-24",
        pools(
            (9, "QM01", 3, {"short_on_storage": 2}),
            (9, "QM02", 3, {"short_on_storage": 2}),
            (9, "QM01", 1, {"short_on_storage": 2}),
        ),
    )
    assert [("QM01", "buffer pool 1"), ("QM01", "buffer pool 3"), ("QM02", "buffer pool 3")] == [
        (each.queue_manager, each.subject) for each in found
    ]


def test_where_low_is_worse_the_lowest_is_the_worst():
    (finding,) = only(
        "mp1b/A-25",
        pools(
            (9, "QM01", 3, {"stealable_low": 140}),
            (10, "QM01", 3, {"stealable_low": 33}),
            (11, "QM01", 3, {"stealable_low": 120}),
        ),
    )
    assert datetime(2026, 3, 2, 10) == finding.worst_at
    assert 33 == finding.figures["stealable_low"]


def test_a_finding_is_as_severe_as_its_gravest_interval():
    columns = dict.fromkeys(schema(Db2Statistics).names[13:], 0)

    def rows(*depths):
        return {
            "Q5ST": pa.Table.from_pylist(
                [
                    {
                        **columns,
                        "queue_manager": "QM01",
                        "system": "SYSA",
                        "interval_us": 3.6e9,
                        "queue_depth_high": depth,
                    }
                    | {"local_time": datetime(2026, 3, 2, hour)}
                    for hour, depth in enumerate(depths)
                ],
                schema=schema(Db2Statistics),
            )
        }

    assert [Severity.WARNING] == [each.severity for each in only("mp1b/A-18", rows(1, 11, 20))]
    assert [Severity.ALERT] == [each.severity for each in only("mp1b/A-18", rows(1, 11, 21))]


def test_worst_first_then_most_intervals():
    tables = pools(
        (9, "QM01", 3, {"short_on_storage": 1}),
        (9, "QM01", 1, {"page_reads": 5}),
        (10, "QM01", 1, {"page_reads": 5}),
        (9, "QM01", 2, {"page_reads": 5}),
    )
    found = advise(standard([rule_of("mp1b/A-26"), rule_of("mp1b/A-24")]), tables).findings
    assert [("mp1b/A-24", 1), ("mp1b/A-26", 2), ("mp1b/A-26", 1)] == [(each.rule.id, each.intervals) for each in found]


def test_records_are_plain_values():
    (record,) = as_records(only("mp1b/A-24", pools((9, "QM01", 3, {"short_on_storage": 2}))))
    assert ("mp1b/A-24", "alert", "QM01", "buffer pool 3") == tuple(
        record[name] for name in ("rule", "severity", "queue_manager", "subject")
    )
    assert 2 == record["figures"]["short_on_storage"]
    assert "2026-03-02 09:00:00" == record["worst_at"]


@pytest.mark.parametrize(
    ("set_writes", "share"),
    [(20, 0.00002), (1234, 0.001234), (12_346, 0.01235), (0, 0)],  # a small share is not 0
)
def test_small_figures_keep_four_digits(set_writes, share):
    changed = {"get_page": 1_000_000, "set_writes": set_writes}
    (record,) = as_records(only("mp1b/A-32", pools((9, "QM01", 3, changed))))
    assert share == record["figures"]["set_write_share"]


def test_a_pool_read_after_a_gap_was_restarted():
    """Reads right after a start are normal; a gap in front of the interval shows the start."""
    quiet = (9, "QM01", 3, {})
    assert [] == only("mp1b/A-26", pools(quiet, (12, "QM01", 3, {"page_reads": 50})))
    assert 1 == len(only("mp1b/A-26", pools(quiet, (10, "QM01", 3, {"page_reads": 50}))))


def test_rules_without_rows_or_settings_are_listed():
    advice = advise(standard(RULES), pools((9, "QM01", 3, {})))
    assert "no rows of QJST: the log manager of a queue manager over one interval" == advice.not_run["mp1b/A-36"]
    assert "setting objects is not known" == advice.not_run["mp16-ch1/A-80"]
    assert "no settings of kind system" == advice.not_run["mp16-ch1/A-8"]
    assert len(RULES) == advice.rules_run + len(advice.not_run)


def test_a_rule_runs_where_one_row_has_what_it_needs():
    """Z4: of two queue managers one writes the older, shorter section."""
    old, new = (9, "QM01", 3, {"hash_chain_changes": None}), (9, "QM02", 3, {"hash_chain_changes": 1, "steals": 9})
    rules = standard([rule_of("mp16-ch1/A-41")])
    advice = advise(rules, pools(old))
    assert ({"mp16-ch1/A-41": "hash_chain_changes of QPST is not known"}, 0) == (advice.not_run, advice.rules_run)
    advice = advise(rules, pools(old, new))
    assert ({}, 1, ["QM02"]) == (advice.not_run, advice.rules_run, [each.queue_manager for each in advice.findings])


def test_settings_that_others_need_are_told_one_by_one():
    settings = Settings()
    settings.put("QM01", "system", "", {"active_logs": 4})
    advice = advise(standard(RULES), {}, settings)
    assert "mp16-ch1/A-8" not in advice.not_run
    assert "setting trace_global is not known" == advice.not_run["mp16-ch1/A-1"]
    assert "setting archive is not known" == advice.not_run["mp16-ch1/A-13"]
    assert 1 == advice.rules_run


def test_no_rows_at_all_find_nothing():
    advice = advise(standard(RULES), {})
    assert (0, []) == (advice.rules_run, advice.findings)


def test_a_command_alters_the_object_that_was_found():
    """Small letters are folded to capitals without quotation marks, and a channel is altered under its own type."""
    by_identifier = {"index_type": 0, "by_identifier": 9, "gets_any": 0, "messages_skipped": 90, "valid_gets": 9}
    (found,) = findings_on(rule_of("mp1b/A-4"), {"queue": "Orders.in", **by_identifier})
    assert "ALTER QLOCAL('Orders.in') INDXTYPE(CORRELID)" == found.command
    (found,) = findings_on(rule_of("mp1b/A-4"), {"queue": "ORDERS.IN", **by_identifier})
    assert "ALTER QLOCAL(ORDERS.IN) INDXTYPE(CORRELID)" == found.command
    held = {"channel": "TO.QM2", "batch_interval": 300_000}
    (found,) = findings_on(rule_of("mp16-ch1/A-34"), {**held, "chltype": "CLUSSDR"})
    assert "ALTER CHANNEL(TO.QM2) CHLTYPE(CLUSSDR) BATCHINT(60000)" == found.command
    (found,) = findings_on(rule_of("mp16-ch1/A-34"), held)
    assert "" == found.command
