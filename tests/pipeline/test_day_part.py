"""What a day contributes to a summary table: the same however its files are cut up, and the same as Spark computes."""

import pytest

from pipeline.lakes import DAY_US, HOUR_US, MONDAY_US, dump, load_raw, statistics, task
from quaestor.pipeline import day_part, flow, jobs
from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.daily_parts import in_parts
from quaestor.pipeline.day_part import part, part_schema, split
from quaestor.pipeline.flow import Definitions
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.manifest import SUMMARY, as_files
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.summary import read_definitions, summarise, tables
from quaestor.pipeline.update_language import parse
from quaestor.smf.dump import DumpWriter
from quaestor.smf.synth.generate import generate
from quaestor.smf.synth.profile_file import load_profile

SHIPPED = read_definitions()


def rows_of(table):
    """Rows in an order of their own, doubles to twelve digits: sums of parts come in any order."""
    plain = ([f"{v:.12g}" if isinstance(v, float) else str(v) for v in row.values()] for row in table.to_pylist())
    return sorted(plain)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The raw tables of a day of two queue managers."""
    folder = tmp_path_factory.mktemp("small")
    with (folder / "dump").open("wb") as stream, DumpWriter(stream) as writer:
        generate(load_profile("small"), writer)
    return load_raw(folder / "lake", [folder / "dump"])[0]


def files_of(lake, table):
    snapshot = lake.snapshot()
    return {structure: tuple(snapshot.live(structure)) for structure in sorted(table.structures)}


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_shipped_table_has_rows_of_its_schema(small, name):
    stored = in_parts(SHIPPED[name], DEFAULT_PLAN)
    made = part(stored, small.place, files_of(small, stored))
    assert made.num_rows
    assert part_schema(stored) == made.schema
    assert part(stored, small.place, {}).schema == made.schema


@pytest.mark.parametrize("name", ["DRL.MQ_WEEKLY_STATS", "DRL.MQ_CF_CALLS", "DRL.MQ_CHANNELS", "DRL.MQS_CHINIT_TASK_T"])
def test_spark_computes_the_same(spark, small, name):
    """Two updates of one table, elements of an array, averages taken apart, constants and periods (Y2)."""
    stored = in_parts(SHIPPED[name], DEFAULT_PLAN)
    made = part(stored, small.place, files_of(small, stored))
    by_spark = summarise(stored, lambda structure: small.table(spark, structure)).select(*made.schema.names)
    assert rows_of(by_spark.toArrow()) == rows_of(made)


@pytest.mark.parametrize("name", ["DRL.MQ_WEEKLY_STATS", "DRL.MQ_DAILY_QUEUE", "DRL.MQ_CF_CALLS"])
def test_rounds_and_orders_do_not_matter(small, name, monkeypatch):
    """A file at a time gives what all files at once give (U2); so do orders, once their parts are added up (U4)."""
    stored = in_parts(SHIPPED[name], DEFAULT_PLAN)
    files = files_of(small, stored)
    whole = rows_of(part(stored, small.place, files))
    monkeypatch.setattr(day_part, "ROUND_BYTES", 1)
    assert whole == rows_of(part(stored, small.place, files))
    orders = split(files, 1)
    assert len(orders) == sum(map(len, files.values())) > 1
    parts = [part(stored, small.place, some) for some in orders]
    assert whole == rows_of(day_part._together(stored, parts))


def test_joined_structures_are_split_between_queue_managers_only(small):
    """The files of one queue manager stay in one order, however large they are (U3, U4)."""
    files = {name: small.snapshot().live(name) for name in ("WTAS", "WQST")}
    managers = {each.queue_manager for some in files.values() for each in some}
    orders = split(files, 1, joined=True)
    assert len(managers) == len(orders) > 1
    for order in orders:
        assert 1 == len({each.queue_manager for some in order.values() for each in some})
    assert sum(map(len, files.values())) == sum(len(some) for order in orders for some in order.values())
    assert 1 == len(split(files, 1 << 40, joined=True))


def test_structures_of_one_record_are_joined_from_their_files(tmp_path):
    """QJST and QSST of one 115-1 record stand in one scope, whatever queue manager comes first (U3)."""
    records = [each for n, name in enumerate(("QM02", "QM01")) for each in statistics(n, MONDAY_US + HOUR_US, name)]
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", records)])
    text = """DEFINE UPDATE U FROM SMF_115_01 TO T GROUP BY (Q = SM115SSI, L = QJSTLOGW)
      SET (N = COUNT(*), G = SUM(QSSTGPLF));"""
    (table,) = tables(compile_update(each, DEFAULT_PLAN) for each in parse(text)).values()
    assert {"QJST", "QSST"} == table.structures
    made = part(table, lake.place, files_of(lake, table)).select(["Q", "N"])
    assert [["QM01", "1"], ["QM02", "1"]] == rows_of(made)


def test_a_load_without_a_session_makes_the_same_summaries(tmp_path):
    """X5: no JVM, the same files; a day that is loaded again replaces its part."""
    text = """DEFINE UPDATE D FROM SMF_116_01 TO D GROUP BY (DATE = SM116DTE)
      SET (COMMITS = SUM(WTASCMN), MEAN = AVG(WTASCMN));"""
    definitions = Definitions(tables(compile_update(each, DEFAULT_PLAN) for each in parse(text)))
    one = dump(tmp_path / "one", [task(n, MONDAY_US + n * HOUR_US) for n in (1, 2)])
    two = dump(tmp_path / "two", [task(3, MONDAY_US + 3 * HOUR_US), task(4, MONDAY_US + DAY_US)])
    assert {"D": 1} == flow.load(None, tmp_path / "lake", [one], definitions).summaries
    assert {"D": 2} == flow.load(None, tmp_path / "lake", [two], definitions).summaries
    lake = Lake.at(tmp_path / "lake")
    parts = [each for each in as_files(lake.snapshot().files) if each.kind == SUMMARY]
    assert 2 == len(parts) == len({each.day for each in parts})
    stored = in_parts(definitions.tables["D"], DEFAULT_PLAN)
    found = part(stored, lake.place, files_of(lake, stored))
    assert [["2026-01-05", "6", "6", "3"], ["2026-01-06", "4", "4", "1"]] == rows_of(found)


def test_work_is_spread_evenly():
    groups = jobs.balanced([5, 9, 1, 1, 1, 7], lambda each: each, 3)
    assert [[9], [7, 1], [5, 1, 1]] == groups
    assert [[2], [1]] == jobs.balanced([1, 2], lambda each: each, 8)
    assert [] == jobs.balanced([], lambda each: each, 8)
