"""Definitions on given rows: the papers' formulas and what Spark and Arrow make of them (I1 to I5, V1 to V5, Y1 to Y3).

Every summary here is computed twice, by Spark and as a task of a load computes it, and both must agree.
"""

from datetime import date, datetime

import pytest

from quaestor.pipeline.arrow_expressions import ARROW
from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.daily_parts import in_parts
from quaestor.pipeline.day_part import part_of
from quaestor.pipeline.expressions import FUNCTIONS
from quaestor.pipeline.periods import DEFAULT_PLAN, PeriodPlanError, read_plan
from quaestor.pipeline.record_scope import find
from quaestor.pipeline.spark_expressions import SPARK
from quaestor.pipeline.summary import read_definitions, tables
from quaestor.pipeline.summary import summarise as by_spark
from quaestor.pipeline.update_language import DefinitionError, parse


def compiled(text, source="t.def", plan=DEFAULT_PLAN):
    return [compile_update(each, plan) for each in parse(text, source)]


def table_of(text):
    (made,) = tables(compiled(text)).values()
    return made


def at(text):
    return datetime.fromisoformat(text)


HEAD = "local_time timestamp_ntz, system string, queue_manager string, record_id long"
WTAS = f"{HEAD}, commits long, commit_elapsed_us double"
WQST = f"{HEAD}, base_name string, puts long, put_elapsed_us double"


def summarise(table, raw):
    """What Spark makes of the rows, once it is what a task makes of them."""
    stored = in_parts(table, DEFAULT_PLAN)
    by_task = part_of(stored, {name: raw(name).toArrow() for name in stored.structures})
    expected = by_spark(stored, raw)
    assert sorted(expected.columns) == sorted(by_task.schema.names)
    told = (tuple(row.values()) for row in by_task.select(expected.columns).to_pylist())
    assert rows(expected) == sorted(told, key=lambda row: tuple(map(str, row)))
    return by_spark(table, raw)


def test_both_evaluations_know_every_function():
    assert set(FUNCTIONS) == set(SPARK) == set(ARROW)


def rows(frame, *order):
    return sorted((tuple(row) for row in frame.collect()), key=lambda row: tuple(map(str, row)))


@pytest.mark.oracle("mp1b/6", kind="exact", lines="399-468")
def test_commits_by_day_and_queue_manager(spark):
    """Four records through UPDATEMQ give three rows; over all queue managers the days have 12 and 1 commits."""
    given = [
        (at("2000-10-23T10:00"), "MV1", "V520", 1, 3, 0.0),
        (at("2000-10-23T11:00"), "MV1", "V521", 2, 5, 0.0),
        (at("2000-10-23T12:00"), "MV1", "V520", 3, 4, 0.0),
        (at("2000-10-24T10:00"), "MV1", "V520", 4, 1, 0.0),
    ]
    frame = spark.createDataFrame(given, WTAS)
    made = summarise(
        table_of(
            "DEFINE UPDATE UPDATEMQ FROM SMF_116_01 TO MQSTATS_TABLE GROUP BY (DATE = SM116DTE, QMGR = SM116SSI) "
            "SET (TOTALCOMMITS = SUM(WTASCMN));"
        ),
        lambda _: frame,
    )
    assert [
        (date(2000, 10, 23), "V520", 7),
        (date(2000, 10, 23), "V521", 5),
        (date(2000, 10, 24), "V520", 1),
    ] == rows(made)
    by_day = made.groupBy("DATE").sum("TOTALCOMMITS")
    assert [(date(2000, 10, 23), 12), (date(2000, 10, 24), 1)] == rows(by_day)


@pytest.mark.oracle("mp1b/5", kind="exact", lines="479-839")
def test_week_keys(spark):
    """Two formulas for the week, as printed, and the true Monday; truncating division makes them work (I2)."""
    days = ["2000-10-21", "2000-10-22", "2000-10-23", "2000-10-28"]
    frame = spark.createDataFrame([(at(f"{day}T12:00"), "S", "Q", 1, 1, 0.0) for day in days], WTAS)
    made = summarise(
        table_of(
            """DEFINE UPDATE W FROM SMF_116_01 TO T GROUP BY (
                 DAY = SM116DTE,
                 INSIDE = DATE((DAYS(SM116DTE)/7)*7+1),
                 BEFORE = DATE(DAYS(SM116DTE - 7 DAYS)/7*7+1),
                 MONDAY = DATE(((DAYS(SM116DTE)-1)/7)*7+1))
               SET (N = COUNT(*));"""
        ),
        lambda _: frame,
    )
    assert [
        ("2000-10-21", "2000-10-16", "2000-10-09", "2000-10-16"),
        ("2000-10-22", "2000-10-23", "2000-10-16", "2000-10-16"),
        ("2000-10-23", "2000-10-23", "2000-10-16", "2000-10-23"),
        ("2000-10-28", "2000-10-23", "2000-10-16", "2000-10-23"),
    ] == [tuple(map(str, row[:4])) for row in rows(made)]


def test_two_updates_lay_their_columns_together(spark):
    """Queue calls and commits meet in one row; what both set adds up; what one lacks stays null (Y3)."""
    queues = spark.createDataFrame(
        [(at("2000-10-23T10:00"), "S", "QM1", 1, "A", 2, 100.0), (at("2000-10-23T10:05"), "S", "QM2", 2, "B", 4, 8.0)],
        WQST,
    )
    tasks = spark.createDataFrame([(at("2000-10-23T10:00"), "S", "QM1", 1, 3, 50.0)], WTAS)
    table = table_of(
        """DEFINE UPDATE A FROM SMF_116_01 SECTION QUEUE_BLOCK TO T GROUP BY (Q = SM116SSI)
             SET (ET = SUM(PUTET/4096), PUTS = SUM(PUTN));
           DEFINE UPDATE B FROM SMF_116_01 TO T GROUP BY (Q = SM116SSI)
             SET (ET = SUM(WTASCMET/4096), COMMITS = SUM(WTASCMN));"""
    )
    made = summarise(table, {"WQST": queues, "WTAS": tasks}.__getitem__)
    assert ["Q", "ET", "PUTS", "COMMITS"] == made.columns
    assert [("QM1", 150.0, 2, 3), ("QM2", 8.0, 4, None)] == rows(made)


EXPRESSIONS = [
    ("WTASCMET", 40960.0),
    ("WTASCMET/4096", 10.0),
    ("COMMIT_ELAPSED_US", 10.0),
    ("WTASCMN/2", 3),
    ("WTASCMN/2.0", 3.5),
    ("-WTASCMN/2", -3),
    ("WTASCMN/0", None),
    ("HOUR(SM116TME)", 17),
    ("MONTH(SM116DTE)*100 + DAY(SM116DTE)", 1023),
    ("YEAR(SM116DTE)", 2000),
    ("WEEK(SM116DTE)", 43),
    ("DAYS(SM116DTE)", date(2000, 10, 23).toordinal()),
    ("DATE(DAYS(SM116DTE)+1)", date(2000, 10, 24)),
    ("SM116DTE + 8 DAYS", date(2000, 10, 31)),
    ("SM116TME", "17:43:21.57"),
    ("TIME(ROUND(SM116TME, 5 MINUTES))", "17:40:00.00"),
    ("TIME(ROUND(SM116TME, 2 HOURS))", "16:00:00.00"),
    ("SM116TME - 30 MINUTES", "17:13:21.57"),
    ("SM116TME + 8 HOURS", "01:43:21.57"),
    ("HOUR(SM116TME + 8 HOURS)", 1),
    ("HOUR(SM116TME - 18 HOURS)", 23),
    ("SM116SSI || '.' || WTASCMN", "QM1.7"),
    ("SUBSTR(SM116SSI, 2, 2)", "M1"),
    ("VALUE(SM116REL, '?')", "?"),
    ("PERIOD(SM116SID, SM116DTE, SM116TME)", "PRIME"),
    ("PERIOD(SM116SID, SM116DTE - 1 DAYS, SM116TME)", "WEEKEND"),
    ("CASE WHEN WTASCMN > 5 AND SM116SSI <> 'X' THEN 'MANY' ELSE 'FEW' END", "MANY"),
    ("CASE WHEN WTASCMN IN (1, 2) THEN 1 WHEN WTASCMN BETWEEN 7 AND 9 THEN 2 END", 2),
    ("CASE WHEN SM116REL IS NULL THEN 'NONE' END", "NONE"),
    ("CASE WHEN NOT SM116SSI IS NOT NULL THEN 1 END", None),
]


def test_expressions(spark):
    """Every kind of expression on one record, all in one job."""
    given = [(at("2000-10-23T17:43:21.579"), "S", "QM1", 1, 7, 10.0)]
    frame = spark.createDataFrame(given, WTAS).selectExpr("*", "cast(null as string) release")
    keys = ", ".join(f"K{n} = {expression}" for n, (expression, _) in enumerate(EXPRESSIONS))
    table = table_of(f"DEFINE UPDATE U FROM SMF_116_01 TO T GROUP BY ({keys}) SET (N = COUNT(*));")
    (row,) = summarise(table, lambda _: frame).collect()
    assert EXPRESSIONS == [(expression, row[n]) for n, (expression, _) in enumerate(EXPRESSIONS)]


def test_where_and_every_aggregate(spark):
    given = [(at("2000-10-23T10:00"), "S", "Q", n, n, float(n)) for n in (1, 2, 3, 10)]
    frame = spark.createDataFrame(given, WTAS)
    made = summarise(
        table_of(
            """DEFINE UPDATE U FROM SMF_116_01 TO T WHERE WTASCMN < 10 GROUP BY (Q = SM116SSI)
               SET (A = SUM(WTASCMN), B = MIN(WTASCMN), C = MAX(WTASCMN), D = COUNT(WTASCMN), E = AVG(WTASCMN),
                    F = MAX(SM116TME), G = COUNT(*));"""
        ),
        lambda _: frame,
    )
    assert [("Q", 6, 1, 3, 3, 2.0, "10:00:00.00", 3)] == rows(made)


def test_the_elements_of_an_array_are_a_section(spark):
    """QEST holds its structures in an array: SECTION STRUCTURE reads one row for each."""
    schema = "local_time timestamp_ntz, system string, queue_manager string, structures array<struct<structure: string, single_calls: long, single_elapsed_us: double>>"  # noqa: E501
    given = [(at("2000-10-23T10:00"), "S", "Q", [("CSQ_ADMIN", 3, 99.0), ("APPL1", 5, 10.0)])]
    made = summarise(
        table_of(
            "DEFINE UPDATE U FROM SMF_115_02 SECTION STRUCTURE TO T GROUP BY (STR = QESTSTR) "
            "SET (N = SUM(QESTCSEC), ET = SUM(QESTSSTC/4096));"
        ),
        lambda _: spark.createDataFrame(given, schema),
    )
    assert [("APPL1", 5, 10.0), ("CSQ_ADMIN", 3, 99.0)] == rows(made)


def test_structures_of_one_record_are_joined(spark):
    """QMST and Q5ST of a 115-2 record stand in one scope."""
    head = "local_time timestamp_ntz, queue_manager string, record_id long"
    message = spark.createDataFrame(
        [(at("2000-10-23T10:00"), "Q", 1, 10), (at("2000-10-23T11:00"), "Q", 2, 20)], head + ", puts long"
    )
    db2 = spark.createDataFrame([(at("2000-10-23T10:00"), "Q", 1, 7)], head + ", reads long")
    made = summarise(
        table_of(
            "DEFINE UPDATE U FROM SMF_115_02 TO T GROUP BY (Q = SM115SSI) SET (P = SUM(QMSTPUT), R = SUM(READCNT));"
        ),
        {"QMST": message, "Q5ST": db2}.__getitem__,
    )
    assert [("Q", 30, 7)] == rows(made)


DEFINE = "DEFINE UPDATE U FROM {frm} TO T GROUP BY (K = {key}) SET (V = {value});"


@pytest.mark.parametrize(
    ("frm", "key", "value", "message"),
    [
        ("SMF_117", "A", "SUM(B)", r"t.def:1:15: no record SMF_117; records are SMF_115_01"),
        ("SMF_115_215", "A", "SUM(B)", "SMF_115_215 has only sections: say SECTION BUFFER_POOL"),
        ("SMF_116_01 SECTION X", "A", "SUM(B)", "SMF_116_01 has no section X; sections are QUEUE_BLOCK"),
        ("SMF_116_01", "SM116SSI", "SUM(WTASCNM)", r"t.def:1:75: SMF_116_01 has no field WTASCNM; did you mean"),
        ("SMF_116_01", "SM116SSI", "SUM(SM116SSI)", r"t.def:1:75: SUM needs a number, this is a string"),
        ("SMF_116_01", "SM116SSI + 1", "SUM(WTASCMN)", r"t.def:1:61: string \+ integer has no meaning"),
        ("SMF_116_01", "SM116TME - 7 DAYS", "SUM(WTASCMN)", "time - DAY has no meaning"),
        ("SMF_116_01", "7 DAYS", "SUM(WTASCMN)", "a duration only moves a date or a time"),
        ("SMF_116_01", "HOUR(SM116SSI)", "SUM(WTASCMN)", r"HOUR takes a time, not HOUR\(string\)"),
        ("SMF_116_01", "ROUND(SM116DTE, 5 MINUTES)", "SUM(WTASCMN)", "ROUND takes a time and so many MINUTES"),
        ("SMF_116_01", "FLOOR(WTASCMN)", "SUM(WTASCMN)", "no function FLOOR; functions are HOUR"),
        ("SMF_116_01", "CASE WHEN WTASCMN = 'A' THEN 1 END", "SUM(WTASCMN)", "cannot compare integer with string"),
        ("SMF_116_01", "CASE WHEN WTASCMN = 1 THEN 1 ELSE 'X' END", "SUM(WTASCMN)", "the branches of CASE differ"),
        ("SMF_116_01", "SUBSTR(SM116SSI, 0, 2)", "SUM(WTASCMN)", "SUBSTR takes a string, a start from 1 and a count"),
        ("SMF_116_01", "SM116SSI || WTASCMET", "SUM(WTASCMN)", "takes texts, integers, dates and times, not a double"),
        ("SMF_116_01", "VALUE(WTASCMN, 'X')", "SUM(WTASCMN)", "VALUE takes two or more values of one type"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_place(frm, key, value, message):
    with pytest.raises(DefinitionError, match=message):
        compiled(DEFINE.format(frm=frm, key=key, value=value))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("GROUP BY (Q = SM116SID, D = SM116DTE) SET (V = SUM(WTASCMN));", r"T has the keys Q \(string\) in update A"),
        ("GROUP BY (Q = SM116SSI) SET (V = MAX(WTASCMN));", "V is SUM in another update of T"),
    ],
)
def test_updates_of_one_table_must_agree(second, message):
    first = "DEFINE UPDATE A FROM SMF_116_01 TO T GROUP BY (Q = SM116SSI) SET (V = SUM(WTASCMN));"
    with pytest.raises(DefinitionError, match=message):
        tables(compiled(f"{first}\nDEFINE UPDATE B FROM SMF_116_01 TO T {second}"))


def test_an_average_cannot_be_shared():
    one = "FROM SMF_116_01 TO T GROUP BY (Q = SM116SSI) SET (V = AVG(WTASCMN));"
    with pytest.raises(DefinitionError, match="V is AVG in another update of T"):
        tables(compiled(f"DEFINE UPDATE A {one} DEFINE UPDATE B {one}"))


def test_the_period_of_a_table_is_its_first_date():
    weekly = table_of(
        "DEFINE UPDATE W FROM SMF_116_01 TO T GROUP BY (D = DATE((DAYS(SM116DTE)-1)/7*7+1), Q = SM116SSI) "
        "SET (N = COUNT(*));"
    )
    whole = table_of("DEFINE UPDATE W FROM SMF_116_01 TO T GROUP BY (Q = SM116SSI) SET (N = COUNT(*));")
    assert ("D", None) == (weekly.period, whole.period)


def test_an_interval_that_midnight_closes_is_of_the_day_before(spark):
    """Written at 00:00:00 or seconds later, it tells of the day that ended (V5)."""
    moments = ["2000-10-22T23:59:59.99", "2000-10-23T00:00:00", "2000-10-23T00:00:07", "2000-10-23T00:01:00"]
    frame = spark.createDataFrame([(at(each), "S", "Q", 1, 1, 0.0) for each in moments], WTAS)
    table = table_of(
        "DEFINE UPDATE U FROM SMF_116_01 TO T GROUP BY (WRITTEN = SM116DTE, CLOSED = SM116END) SET (N = COUNT(*));"
    )
    sunday, monday = date(2000, 10, 22), date(2000, 10, 23)
    assert [(sunday, sunday, 1), (monday, sunday, 2), (monday, monday, 1)] == rows(summarise(table, lambda _: frame))


def test_a_period_plan_is_read_from_toml(spark, tmp_path):
    path = tmp_path / "periods.toml"
    path.write_text(
        '[[period]]\nname="BATCH"\nsystems="PR*"\ndays="fri-mon"\nfrom="22:00"\nto="24:00"\n', encoding="utf-8"
    )
    plan = read_plan(path)
    assert frozenset({4, 5, 6, 0}) == plan.periods[0].days
    given = [
        (at(f"2000-10-2{day}T23:00"), system, "Q", 1, 1, 0.0)
        for day, system in ((3, "PRD1"), (3, "TST1"), (4, "PRD1"), (3, "XPR1"))
    ]
    frame = spark.createDataFrame(given, WTAS)
    text = "DEFINE UPDATE U FROM SMF_116_01 TO T GROUP BY (S = SM116SID, D = SM116DTE, P = PERIOD(SM116SID, SM116DTE, SM116TME)) SET (N = COUNT(*));"  # noqa: E501
    (table,) = tables(compiled(text, plan=plan)).values()
    assert [("PRD1", "BATCH"), ("PRD1", None), ("TST1", None), ("XPR1", None)] == [
        (row[0], row[2]) for row in rows(summarise(table, lambda _: frame))
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('name="X"\nfrom="9:00"\nto="8:00"', "period 1: from 9:00 is not before to 8:00"),
        ('name="X"\nfrom="9:00"', "period 1: to is needed, as a text"),
        ('name="X"\nfrom="9:00"\nto="25:00"', "period 1: 25:00 is no time of day"),
        ("name=", "periods.toml: "),
    ],
)
def test_a_bad_period_plan_says_which_rule(tmp_path, rule, message):
    path = tmp_path / "periods.toml"
    path.write_text(f"[[period]]\n{rule}\n", encoding="utf-8")
    with pytest.raises(PeriodPlanError, match=message):
        read_plan(path)


def test_files_of_another_code_page_are_told_by_name(tmp_path):
    """A byte order mark is no part of a file; what is no UTF-8 is told, not a traceback."""
    periods, definition = tmp_path / "periods.toml", tmp_path / "ours.def"
    periods.write_text('[[period]]\nname="DAY"\nfrom="8:00"\nto="18:00"\n', encoding="utf-8-sig")
    assert ("DAY",) == tuple(each.name for each in read_plan(periods).periods)
    for each in (periods, definition):
        each.write_bytes("-- Aufträge".encode("latin-1"))
    with pytest.raises(PeriodPlanError, match=r"periods\.toml: no text in UTF-8: 0xe4 at byte 8"):
        read_plan(periods)
    with pytest.raises(DefinitionError, match=r"ours\.def:1:1: .*utf-8"):
        read_definitions([tmp_path])


def test_an_official_name_wins_over_a_human_one():
    """GETS are gets of a specific message; the column of all gets is called `gets`, its official name is GETN (V3)."""
    assert "gets_specific" == find(("WQST",), "GETS").column
    assert "gets" == find(("WQST",), "GETN").column
