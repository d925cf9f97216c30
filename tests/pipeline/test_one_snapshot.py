"""Tables that are put together are of one snapshot, whatever is loaded meanwhile (K6, M5, Q8)."""

import pytest

from pipeline.lakes import HOUR_US, MONDAY_US, dump, task
from quaestor.pipeline import asking, flow
from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.flow import Definitions
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.report_queries.summary_rows import LakeTables
from quaestor.pipeline.summary import tables
from quaestor.pipeline.update_language import parse

TEXT = "DEFINE UPDATE D FROM SMF_116_01 TO DRL.D GROUP BY (DATE = SM116DTE) SET (COMMITS = SUM(WTASCMN));"
DEFINED = Definitions(tables(compile_update(each, DEFAULT_PLAN) for each in parse(TEXT)))


@pytest.fixture
def lake(tmp_path):
    flow.load(None, tmp_path / "lake", [dump(tmp_path / "one", [task(1, MONDAY_US)])], DEFINED)
    return Lake.at(tmp_path / "lake")


def more(lake, folder):
    flow.load(None, lake.place.root, [dump(folder / "two", [task(2, MONDAY_US + HOUR_US)])], DEFINED)


def test_reports_made_together_are_of_one_moment(spark, tmp_path, lake):
    made = LakeTables(lake, lambda: spark)
    assert 1 == len(made.files("WQST")[1])
    more(lake, tmp_path)
    assert [1] == made.rows("DRL.D", ["COMMITS"])["COMMITS"].to_pylist()
    assert (1, 1) == (made("WTAS").count(), len(made.files("WTAS")[1]))
    assert [3] == LakeTables(lake, lambda: spark).rows("DRL.D", ["COMMITS"])["COMMITS"].to_pylist()


def test_a_question_is_about_one_moment(spark, tmp_path, lake, monkeypatch):
    """A load ends between two tables of the question."""
    of_lake = Lake.table

    def and_load(self, session, name, **how):
        found = of_lake(self, session, name, **how)
        if name == "WTAS":
            more(lake, tmp_path)
        return found

    monkeypatch.setattr(Lake, "table", and_load)
    query = "SELECT (SELECT sum(commits) FROM WTAS), (SELECT sum(COMMITS) FROM DRL.D)"
    assert [(1, 1)] == asking.ask(spark, lake.place.root, query, 1)[1]
