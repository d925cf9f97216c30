"""Details that a summary table has not counted are not taken away (H5)."""

from datetime import date

import pytest

from pipeline.lakes import DAY_US, MONDAY_US, dump, statistics, task
from quaestor.pipeline import flow
from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.errors import LakeError
from quaestor.pipeline.flow import Definitions
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.retention import Retention, purge
from quaestor.pipeline.summary import tables
from quaestor.pipeline.update_language import parse

WEEK = """DEFINE UPDATE WEEK FROM SMF_116_01 TO DRL.WEEK
  GROUP BY (DATE = DATE((DAYS(SM116DTE) - 1) / 7 * 7 + 1)) SET (COMMITS = SUM(WTASCMN));"""
NONE, MINE = Definitions({}), Definitions(tables(compile_update(each, DEFAULT_PLAN) for each in parse(WEEK)))
THREE_DAYS = Retention(details=3)


@pytest.fixture
def week(tmp_path):
    """Seven days, loaded one by one; only the first load knew of the table."""
    dumps = [dump(tmp_path / f"{n}", [task(1, MONDAY_US + n * DAY_US)]) for n in range(7)]
    for number, each in enumerate(dumps):
        flow.load(None, tmp_path / "lake", [each], NONE if number else MINE)
    return Lake.at(tmp_path / "lake"), dumps


def commits(lake):
    return [row["COMMITS"] for row in lake.rows("DRL.WEEK", ["COMMITS"]).to_pylist()]


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_a_table_has_not_counted_stays(week, dry_run):
    lake, dumps = week
    assert [1] == commits(lake)
    told = (
        r"^DRL\.WEEK has not counted the details of 3 days \(from 2026-01-06\) that would go: load with its definition"
    )
    with pytest.raises(LakeError, match=told):
        purge(lake.place.root, THREE_DAYS, dry_run=dry_run)
    assert 7 == len(lake.snapshot().days())
    flow.load(None, lake.place.root, dumps[:1], MINE)
    purge(lake.place.root, THREE_DAYS, dry_run=dry_run)
    assert [7] == commits(lake)


def test_who_wants_it_says_so(week):
    lake, _ = week
    purge(lake.place.root, THREE_DAYS, uncounted=True)
    assert date(2026, 1, 9) == lake.snapshot().horizon


def test_what_a_table_does_not_read_need_not_be_counted(tmp_path):
    flow.load(None, tmp_path / "lake", [dump(tmp_path / "a", [task(1, MONDAY_US)])], MINE)
    others = [each for n in range(1, 7) for each in statistics(n, MONDAY_US + n * DAY_US)]
    flow.load(None, tmp_path / "lake", [dump(tmp_path / "b", others)], NONE)
    assert {"RECORDS": 4, "QPST": 3, "WTAS": 1}.items() <= {
        each.table: each.days for each in purge(tmp_path / "lake", THREE_DAYS)
    }.items()


def test_a_lake_without_summary_tables_misses_none(tmp_path):
    days = [task(1, MONDAY_US + n * DAY_US) for n in range(7)]
    flow.load(None, tmp_path / "lake", [dump(tmp_path / "a", days)], NONE)
    assert purge(tmp_path / "lake", THREE_DAYS)
