"""Loads, summaries, retention and questions, on Spark: small dumps, figures that can be checked by hand."""

from datetime import date
from pathlib import Path

import pytest

from pipeline.lakes import DAY_US, HOUR_US, MONDAY_US, SECOND_US, dump, raw_rows, statistics, task
from quaestor.pipeline import flow
from quaestor.pipeline.asking import QueryError, ask
from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.errors import LakeError, UnknownTableError
from quaestor.pipeline.flow import Definitions
from quaestor.pipeline.follow import Follower
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.retention import Retention, purge
from quaestor.pipeline.status import status
from quaestor.pipeline.summary import tables
from quaestor.pipeline.update_language import parse

MONDAY = date(2026, 1, 5)

TEXT = """
DEFINE UPDATE WEEK FROM SMF_116_01 SECTION QUEUE_BLOCK TO DRL.WEEK
  GROUP BY (DATE = DATE((DAYS(SM116DTE) - 1) / 7 * 7 + 1), QUEUE = BASENAME)
  SET (PUTS = SUM(PUTN), BYTES = SUM(PUTBYTES), MEAN = AVG(PUTN), MOST = MAX(PUTN), ROWS = COUNT(*));
DEFINE UPDATE WEEK_T FROM SMF_116_01 TO DRL.WEEK
  GROUP BY (DATE = DATE((DAYS(SM116DTE) - 1) / 7 * 7 + 1), QUEUE = 'commits')
  SET (COMMITS = SUM(WTASCMN));
DEFINE UPDATE DAILY FROM SMF_116_01 SECTION QUEUE_BLOCK TO DRL.DAILY
  GROUP BY (DATE = SM116DTE, QMGR = SM116SSI) SET (PUTS = SUM(PUTN));
DEFINE UPDATE POOLS FROM SMF_115_215 SECTION BUFFER_POOL TO POOLS
  GROUP BY (POOL = QPSTPOOL) SET (BUFFERS = MAX(QPSTNBUF), FEWEST = MIN(QPSTNBUF));
"""


def definitions(text=TEXT):
    return Definitions(tables(compile_update(each, DEFAULT_PLAN) for each in parse(text)))


def day_of_work(day, queue_manager="QM01"):
    """Ten tasks and one interval's statistics: task n put n messages."""
    begin = MONDAY_US + day * DAY_US
    records = [task(n, begin + n * HOUR_US, queue_manager, queues=("A", "B")) for n in range(10)]
    return records + statistics(day, begin + 12 * HOUR_US, queue_manager)


def rows(lake, spark, name):
    return sorted(tuple(row) for row in lake.table(spark, name).collect())


@pytest.fixture(scope="module")
def week(tmp_path_factory, spark):
    """Nine days in two dumps that overlap in the middle, loaded in two steps."""
    folder = tmp_path_factory.mktemp("week")
    one = dump(folder / "one", [record for day in range(5) for record in day_of_work(day)])
    two = dump(folder / "two", [record for day in range(4, 9) for record in day_of_work(day)])
    reports = [flow.load(spark, folder / "lake", [each], definitions()) for each in (one, two)]
    return Lake.at(folder / "lake"), reports, [one, two]


def test_a_week_is_the_sum_of_its_days(spark, week):
    lake, [first, second], _ = week
    assert {"DRL.WEEK": 5, "DRL.DAILY": 5, "POOLS": 5} == first.summaries
    assert {"DRL.WEEK": 4, "DRL.DAILY": 4, "POOLS": 4} == second.summaries  # the day both hold brought nothing new
    assert (60, 12) == (second.ingest.records, second.ingest.copies)
    monday, tuesday = date(2026, 1, 5), date(2026, 1, 12)
    assert [
        (monday, "A", 315, 31500, 4.5, 9, 70, None),
        (monday, "B", 315, 31500, 4.5, 9, 70, None),
        (monday, "commits", None, None, None, None, None, 315),
        (tuesday, "A", 90, 9000, 4.5, 9, 20, None),
        (tuesday, "B", 90, 9000, 4.5, 9, 20, None),
        (tuesday, "commits", None, None, None, None, None, 90),
    ] == [
        (*key, *figures)
        for *key, figures in (
            (row.DATE, row.QUEUE, (row.PUTS, row.BYTES, row.MEAN, row.MOST, row.ROWS, row.COMMITS))
            for row in lake.table(spark, "week").orderBy("DATE", "QUEUE").collect()
        )
    ]
    assert [(0, 1008, 1000), (1, 1008, 1000), (2, 1008, 1000)] == rows(lake, spark, "pools")


def test_any_way_of_loading_gives_what_a_rebuild_gives(spark, week, tmp_path):
    lake, _, dumps = week
    flow.load(spark, tmp_path / "other", [dumps[1], dumps[0], dumps[1]], definitions())
    other = Lake.at(tmp_path / "other")
    summaries = {name: rows(lake, spark, name) for name in ("DRL.WEEK", "DRL.DAILY", "POOLS")}
    assert raw_rows(lake) == raw_rows(other)
    assert summaries == {name: rows(other, spark, name) for name in summaries}
    report = flow.rebuild(spark, tmp_path / "other", definitions())
    assert (2, 12) == (report.ingest.dumps, report.ingest.copies)
    assert raw_rows(lake) == raw_rows(other)
    assert summaries == {name: rows(other, spark, name) for name in summaries}


def test_details_are_purged_and_their_weeks_stay(spark, week, tmp_path):
    _, _, dumps = week
    root = tmp_path / "lake"
    flow.load(spark, root, dumps, definitions())
    lake = Lake.at(root)
    before, pools = rows(lake, spark, "week"), rows(lake, spark, "pools")
    retention = Retention(details=3, daily=5, statistics=8)
    told = purge(root, retention, dry_run=True)
    assert 9 == len(lake.snapshot().days())
    assert told == purge(root, retention)
    assert {"WQST": 6, "WTAS": 6, "RECORDS": 6, "DRL.DAILY": 4, "POOLS": 1}.items() <= {
        each.table: each.days for each in told
    }.items()
    assert [date(2026, 1, 11), date(2026, 1, 12), date(2026, 1, 13)] == lake.snapshot().days()
    assert before == rows(lake, spark, "week")
    assert pools != rows(lake, spark, "pools")  # day 0 had the fewest buffers
    assert 5 == lake.table(spark, "daily").count()
    assert date(2026, 1, 11) == status(root).horizon

    late = dump(tmp_path / "late", [task(50, MONDAY_US + HOUR_US + 1), task(7, MONDAY_US + 8 * DAY_US + SECOND_US)])
    report = flow.load(spark, root, [late], definitions())
    assert (2, 1) == (report.ingest.records, report.ingest.damages)
    [reject] = lake.table(spark, "REJECTS").collect()
    assert (late, "1 records of 2026-01-05, whose details were purged") == (reject.file, reject.reason)
    after = {(row[0], row[1]): row for row in rows(lake, spark, "week")}
    assert before[0] == after[before[0][0], "A"]

    changed = definitions(TEXT.replace("MAX(PUTN)", "MIN(PUTN)"))
    more = dump(tmp_path / "more", [task(8, MONDAY_US + 8 * DAY_US + 2 * SECOND_US)])
    with pytest.raises(LakeError, match=r"definition of DRL\.WEEK has changed, but 6 of its days"):
        flow.load(spark, root, [more], changed)
    assert lake.snapshot().number == 3


def test_a_new_table_is_computed_for_all_days_that_have_details(spark, week, tmp_path):
    _, _, dumps = week
    one = TEXT.split("DEFINE UPDATE DAILY", maxsplit=1)[0]
    flow.load(spark, tmp_path / "lake", dumps[:1], definitions(one))
    report = flow.load(spark, tmp_path / "lake", dumps[:1], definitions())
    assert {"DRL.DAILY": 5, "POOLS": 5} == report.summaries
    assert 5 == Lake.at(tmp_path / "lake").table(spark, "DRL.DAILY").count()


def test_what_a_load_without_summaries_left_out_is_made_good(spark, week, tmp_path):
    lake, _, dumps = week
    daily = definitions(TEXT[TEXT.index("DEFINE UPDATE DAILY") : TEXT.index("DEFINE UPDATE POOLS")])
    flow.load(spark, tmp_path / "lake", dumps[:1], daily)
    assert {} == flow.load(spark, tmp_path / "lake", dumps[1:], Definitions({})).summaries
    assert {"DRL.DAILY": 4} == flow.load(spark, tmp_path / "lake", dumps, daily).summaries
    assert rows(lake, spark, "daily") == rows(Lake.at(tmp_path / "lake"), spark, "daily")


def test_questions_in_sql(spark, week):
    lake, _, _ = week
    root = lake.place.root
    assert (["n"], [(180,)]) == ask(spark, root, "SELECT sum(ROWS) AS n FROM drl.week", 10)
    names, found = ask(spark, root, "select day, count(*) n from wqst group by day order by day", 3)
    assert (["day", "n"], 3, (MONDAY, 20)) == (names, len(found), found[0])
    assert [(2,)] == ask(spark, root, "SELECT count(*) FROM dumps", 5)[1]
    with pytest.raises(QueryError, match="nonsense"):
        ask(spark, root, "SELECT nonsense FROM WTAS", 1)
    with pytest.raises(UnknownTableError, match="no table WQXX; tables are"):
        lake.table(spark, "WQXX")
    assert 0 == lake.table(spark, "QCST").count()
    assert 20 == lake.table(spark, "WQST", days=[MONDAY], queue_managers=["QM01"]).count()


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OVERWRITE DIRECTORY '{}' USING csv SELECT 1",
        "WITH x AS (SELECT 1) INSERT OVERWRITE DIRECTORY '{}' USING csv SELECT * FROM x",
        "FROM WTAS INSERT OVERWRITE DIRECTORY '{}' USING csv SELECT commits",
        "/* a */ -- b\nCREATE TABLE t USING csv LOCATION '{}' AS SELECT 1",
        "drop view WTAS",
        "",
        "  -- what was it?",
    ],
)
def test_a_question_changes_nothing(spark, week, tmp_path, statement):
    """Q9: Spark would write, and the answer would be empty."""
    with pytest.raises(QueryError, match=r"^a question begins with SELECT, WITH, .* or EXPLAIN, and changes nothing$"):
        ask(spark, week[0].place.root, statement.format(tmp_path / "out"), 1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "question",
    [
        "-- insert into t\n SELECT 'INSERT INTO t' AS a",
        "(SELECT 1) UNION (SELECT 2)",
        "with x as (select 1) select * from x",
        "FROM WTAS SELECT count(*)",
        "VALUES (1)",
        "DESCRIBE WTAS",
        "EXPLAIN SELECT 1",
    ],
)
def test_whatever_asks_is_answered(spark, week, question):
    assert ask(spark, week[0].place.root, question, 1)[1]


def test_a_lake_at_a_uri_is_the_lake_at_its_path(spark, tmp_path):
    """F1: Arrow reads a blank out of %20, Hadoop does not."""
    root = tmp_path / "our lake %41"
    flow.load(None, root.as_uri(), [dump(tmp_path / "dump", [task(1, MONDAY_US, "A/B")])], definitions())
    assert 1 == Lake.at(root.as_uri()).table(spark, "WTAS").count() == Lake.at(root).table(spark, "WTAS").count()
    assert 1 == Lake.at(root.as_uri()).table(spark, "DRL.DAILY").count()


def test_a_queue_manager_is_called_alike_by_spark_and_by_the_manifest(spark, tmp_path):
    """A3: every character that a name can be made of."""
    names = ["A%41", "A/B", " {*}", "Q\xe9\xff", "\x85Q\\1"]
    records = [task(1, MONDAY_US + number, name) for number, name in enumerate([*names, ""])]
    flow.load(None, tmp_path / "lake", [dump(tmp_path / "dump", records)], Definitions({}))
    lake = Lake.at(tmp_path / "lake")
    found = {row.queue_manager for row in lake.table(spark, "WQST").collect()}
    assert {None, *names} == found == {each.queue_manager for each in lake.snapshot().live("WQST")}


def test_following_a_folder(spark, week, tmp_path):
    _, _, dumps = week
    folder = tmp_path / "arriving"
    folder.mkdir()
    follower = Follower(spark, tmp_path / "lake", folder, Definitions({}))
    assert follower.step() is None
    (folder / "one").write_bytes(Path(dumps[0]).read_bytes())
    (folder / "two.part").write_bytes(b"not yet")
    assert follower.step() is None  # it may still grow
    assert 60 == follower.step().ingest.records
    assert follower.step() is None
    again = Follower(spark, tmp_path / "lake", folder, Definitions({}))  # as after a restart
    (folder / "two").write_bytes(Path(dumps[1]).read_bytes())
    report = again.step(settled=True)
    assert (60, 12) == (report.ingest.records, report.ingest.copies)
    assert again.step(settled=True) is None


def test_status_tells_what_there_is(week):
    lake, _, dumps = week
    found = status(lake.place.root)
    tables = {each.table: each for each in found.tables}
    assert (2, sum(Path(each).stat().st_size for each in dumps)) == (found.dumps, found.dump_bytes)
    assert (180, 9, MONDAY) == (tables["WQST"].rows, tables["WQST"].days, tables["WQST"].first)
    assert "summary" == tables["DRL.WEEK"].kind
