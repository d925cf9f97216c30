"""Rows read without Spark are the rows that Spark reads."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from quaestor.pipeline.daily_parts import rows_together, stored_columns
from quaestor.pipeline.report_queries.summary_rows import medians, summary_rows
from quaestor.pipeline.report_queries.task_queries import DAILY_TASK


def in_order(rows, names):
    """Rows as texts, for figures are equal but for the last digits of their sums."""
    return sorted(
        [f"{each:.6g}" if isinstance(each, float) else str(each) for each in map(row.get, names)] for row in rows
    )


def test_every_summary_table_is_the_same_both_ways(installation):
    from quaestor.pipeline.flow import Definitions

    _, tables = installation("small")
    for name in Definitions.read().tables:
        frame = tables(name)
        rows = tables.rows(name, frame.columns)
        assert sorted(rows.column_names) == sorted(frame.columns)
        expected = in_order(frame.toArrow().to_pylist(), frame.columns)
        assert expected == in_order(rows.to_pylist(), frame.columns)
        assert expected


def test_the_rows_that_are_asked_for(installation):
    _, tables = installation("small")
    asked = {"job": "CICS*", "from": date(1990, 1, 1), "to": date(2100, 1, 1)}
    narrow = summary_rows(tables, DAILY_TASK, asked, {"ET"})
    whole = summary_rows(tables, DAILY_TASK, {}, {"ET"})
    jobs = [each for each in whole["JOBNAME"].to_pylist() if each.startswith("CICS")]
    assert 0 < len(jobs) < len(whole)
    assert jobs == narrow["JOBNAME"].to_pylist()
    assert "NCOMMITS" not in whole.column_names
    assert len(summary_rows(tables, DAILY_TASK, {"from": date(2100, 1, 1)}, ())) == 0
    through_spark = summary_rows(tables, DAILY_TASK, asked, {"ET"})
    assert sorted(through_spark["ET"].to_pylist()) == sorted(narrow["ET"].to_pylist())


@pytest.mark.parametrize("by_day", [True, False])
def test_parts_of_several_files_add_up(by_day):
    columns = {"N": "SUM", "MOST": "MAX", "LEAST": "MIN", "ROWS": "COUNT", "MEAN": "AVG"}
    description = {"keys": ["KEY"], "columns": columns, "by_day": by_day}
    parts = pa.table(
        {
            "KEY": ["a", "a", "b"],
            "N": [1, 2, 4],
            "MOST": [5, 9, 1],
            "LEAST": [5, 9, 1],
            "ROWS": [1, 1, 1],
            "MEAN__SUM": [6, 3, 0],
            "MEAN__COUNT": [2, 1, 0],
        }
    )
    assert stored_columns(description, {"N", "MEAN"}) == ["KEY", "N", "MEAN__SUM", "MEAN__COUNT"]
    day = date(2026, 3, 2)
    together = rows_together(parts, description, [day, day])
    assert together.to_pylist() == [
        {"KEY": "a", "N": 3, "MOST": 9, "LEAST": 5, "ROWS": 2, "MEAN": 3.0},
        {"KEY": "b", "N": 4, "MOST": 1, "LEAST": 1, "ROWS": 1, "MEAN": None},
    ]


def test_the_median_of_a_group_is_one_of_its_figures():
    rows = pa.table({"Q": ["x", "x", "y", "x", "x", "z"], "S": ["1", "1", "1", "1", "2", "1"]})
    values = pa.array([10.0, 30.0, 7.0, 20.0, None, 5.0])
    assert medians(values, rows, ["Q", "S"]).to_pylist() == [20.0, 20.0, 7.0, 20.0, None, 5.0]
    assert medians(pa.array([2.0, 1.0]), rows.slice(0, 2), ["Q", "S"]).to_pylist() == [1.0, 1.0]
    assert np.isnan(medians(values, rows, ["Q", "S"]).to_numpy(zero_copy_only=False)).sum() == 1
