"""Details added up here, on tasks and from DataFrames are the same rows."""

import pytest

from quaestor.pipeline.report_queries import QUERIES, details
from quaestor.reports.catalog import find
from quaestor.reports.run import run

ASKED = [
    {},
    {"grain": "job"},
    {"qmgr": "*1", "job": "C*"},
    {"from": "2026-03-02", "to": "2026-03-02", "grain": "job"},
    {"from": "2100-01-01"},
]


def rows_of(name, tables, given):
    """What the query gives, be it nothing."""
    return QUERIES[name](tables, find(name).arguments(given))


@pytest.mark.parametrize("given", ASKED)
@pytest.mark.parametrize("name", ["summary", "stats", "put", "get", "db2", "cf", "thread"])
def test_three_ways_to_the_same_rows(installation, monkeypatch, name, given):
    _, tables = installation("small")
    here = rows_of(name, tables, given)
    assert bool(len(here)) == (given != ASKED[-1])
    monkeypatch.setattr(details, "FEW_ROWS", 0)
    assert rows_of(name, tables, given).to_pylist() == here.to_pylist()
    assert rows_of(name, tables.__call__, given).to_pylist() == here.to_pylist()


def test_a_queue_that_is_asked_for_leaves_out_what_has_no_queue(installation):
    _, tables = installation("small")
    every = run("stats", tables, {"grain": "job"})
    queue = next(each for each in every["queue"].to_pylist() if each)
    only = run("stats", tables, {"grain": "job", "queue": queue}).to_pylist()
    assert only == [each for each in every.to_pylist() if each["queue"] == queue]
    assert {"Commit"} <= {each["verb"] for each in every.to_pylist() if not each["queue"]}


@pytest.mark.parametrize("name", ["scf", "mm", "bm", "sdb2", "log"])
def test_intervals_are_the_same_rows_too(installation, monkeypatch, name):
    _, tables = installation("small")
    given = {"qmgr": "*1", "from": "2026-03-02"}
    here = run(name, tables, given).to_pylist()
    assert here
    assert len(here) <= len(run(name, tables))
    monkeypatch.setattr(details, "FEW_ROWS", 0)
    assert run(name, tables, given).to_pylist() == here
    assert run(name, tables.__call__, given).to_pylist() == here


@pytest.mark.parametrize("name", ["sysprint", "summary", "stats", "put", "get", "db2", "cf", "thread", "bm", "log"])
def test_most_outputs_do_without_spark(installation, name):
    """The session is asked for when a DataFrame is, and not before (M4)."""
    from quaestor.pipeline.report_queries.summary_rows import LakeTables

    _, tables = installation("small")

    def start():
        raise AssertionError("Spark was started")

    lazy = LakeTables(tables._lake, start)
    assert len(run(name, lazy))
    with pytest.raises(AssertionError, match="Spark was started"):
        run("commits", lazy)
