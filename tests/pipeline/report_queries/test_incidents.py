"""Planted incidents appear as exceptions where and when they were planted, and nothing else does."""

from datetime import datetime, timedelta

import pytest

from quaestor.pipeline.report_queries.exceptions import SOURCES
from quaestor.reports.run import run

RULES = {f"mp1b/{rule.rule}" for source in SOURCES.values() for rule in source.rules}
INFORMATION = {"mp1b/A-32"}  # MP1B draws no line there: a browse looks the same
INTERVAL = timedelta(minutes=30)


@pytest.fixture(scope="module")
def found(installation):
    """What was planted, and the exceptions."""
    planted, tables = installation("incidents")
    return planted, run("exceptions", tables).to_pylist()


def span(row):
    return tuple(datetime.fromisoformat(f"{row['date']}T{row[edge]}") for edge in ("first_time", "last_time"))


def within(row, incident):
    """Same queue manager, inside the incident's hours; statistics carry the end of their interval."""
    first, last = span(row)
    begin, end = (datetime.fromisoformat(incident[edge]).replace(tzinfo=None) for edge in ("from", "to"))
    return row["qmgr"] == incident["queue_manager"] and begin <= first and last <= end + INTERVAL


def test_every_rule_that_an_incident_names_is_tried(found):
    planted, _ = found
    named = {rule for incident in planted for rule in incident["rules"] if rule.startswith("mp1b/")}
    assert named - INFORMATION <= RULES
    assert 20 <= len(named & RULES)


def test_every_incident_is_found_where_and_when_it_was_planted(found):
    planted, rows = found
    missing = [
        (incident["id"], incident["kind"], rule)
        for incident in planted
        for rule in set(incident["rules"]) & RULES
        if not any(f"mp1b/{row['rule']}" == rule and within(row, incident) for row in rows)
    ]
    assert [] == missing


def test_the_object_is_named(found):
    """The pool, queue or structure that was hit stands in the message."""
    planted, rows = found
    direct = (
        "buffer_pool_small",
        "structure_full",
        "queue_without_index",
        "expired_messages",
        "cf_slow",
        "page_set_reads",
    )
    for incident in planted:
        if incident["kind"] in direct:
            assert any(incident["object"] in row["message"] and within(row, incident) for row in rows), incident


def test_every_exception_comes_from_an_incident(found):
    planted, rows = found
    assert [] == [
        (row["date"], row["qmgr"], row["message"]) for row in rows if not any(within(row, each) for each in planted)
    ]


@pytest.mark.oracle("mp1b/40", kind="rule", lines="3090-3098")
def test_sysprint_says_the_same(found, installation):
    """The list in three columns; MP1B's three messages come from A-24, A-36 and A-39."""
    _, rows = found
    said = run("sysprint", installation("incidents")[1]).to_pylist()
    assert sorted((row["date"], row["qmgr"], f"{row['message']}. {row['advice']}") for row in rows) == sorted(
        (row["date"], row["qmgr"], row["message"]) for row in said
    )
    told = {(row["qmgr"], row["message"]) for row in said}
    assert any(qmgr == "QM01" and text.startswith("Buffer pool 3 is too small") for qmgr, text in told)
    assert any(qmgr == "QM01" and text.endswith("Make OUTBUFF larger.") for qmgr, text in told)
    assert any(qmgr == "QM03" and text.startswith("Log: archive logs were read") for qmgr, text in told)


def test_a_clean_installation_has_none(installation):
    planted, tables = installation("clean")
    assert [] == planted
    assert [] == run("exceptions", tables).to_pylist()
