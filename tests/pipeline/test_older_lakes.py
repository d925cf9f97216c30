"""A lake that was written before a column or a definition was what it is now (A5, W2)."""

from datetime import date

import pyarrow.parquet as pq
import pytest

from pipeline.lakes import HOUR_US, MONDAY_US, dump, statistics, task
from quaestor.pipeline import flow
from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.flow import Definitions
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.report_queries.summary_rows import LakeTables
from quaestor.pipeline.summary import tables
from quaestor.pipeline.update_language import parse
from quaestor.reports.run import run

BYTES = """DEFINE UPDATE D FROM SMF_116_01 SECTION QUEUE_BLOCK TO DRL.D
  GROUP BY (DATE = SM116DTE, QMGR = SM116SSI) SET (PUTS = SUM(PUTN), BYTES = SUM(PUTBYTES), KNOWN = COUNT(PUTBYTES));"""
CHANNELS = "DEFINE UPDATE C FROM SMF_116_10 SECTION CHANNEL TO DRL.C GROUP BY (QMGR = SM116SSI) SET (N = COUNT(*){});"


def definitions(text):
    return Definitions(tables(compile_update(each, DEFAULT_PLAN) for each in parse(text)))


def first_load(folder, text=BYTES):
    records = [task(1, MONDAY_US), *statistics(1, MONDAY_US + HOUR_US)]
    flow.load(None, folder / "lake", [dump(folder / "one", records)], definitions(text))
    return Lake.at(folder / "lake")


def second_load(folder, text=BYTES):
    flow.load(None, folder / "lake", [dump(folder / "two", [task(2, MONDAY_US + HOUR_US)])], definitions(text))


@pytest.fixture
def older(tmp_path):
    """A lake whose queue records know nothing of bytes."""
    lake = first_load(tmp_path)
    for file in lake.snapshot().live("WQST"):
        path = lake.place.path(file.path)
        pq.write_table(pq.ParquetFile(path).read().drop_columns(["put_bytes"]), path)
    return lake


def test_a_column_that_came_later_is_null_in_older_rows(tmp_path, older):
    second_load(tmp_path)
    expected = {"DATE": date(2026, 1, 5), "QMGR": "QM01", "PUTS": 3, "BYTES": 200, "KNOWN": 1}
    assert [expected] == older.rows("DRL.D", ["PUTS", "BYTES", "KNOWN"]).to_pylist()


def test_a_report_on_details_reads_older_rows(older):
    found = run("put", LakeTables(older, lambda: pytest.fail("no Spark is needed")))
    assert [(1, 0)] == [(row["puts"], row["put_bytes"]) for row in found.to_pylist()]


def test_a_table_without_rows_follows_its_definition(tmp_path):
    lake = first_load(tmp_path, CHANNELS.format(""))
    assert ["QMGR", "N"] == lake.rows("DRL.C", ["N", "MESSAGES"]).column_names
    second_load(tmp_path, CHANNELS.format(", MESSAGES = SUM(QCSTNMSG)"))
    assert ["QMGR", "N", "MESSAGES"] == lake.rows("DRL.C", ["N", "MESSAGES"]).column_names
    assert {} == lake.snapshot().summaries["DRL.C"]["days"]
