"""Definitions that cannot be used are refused before a record is read, and names that would be taken for others (I1,
I5, I6, Y4)."""

import pytest

from pipeline.lakes import DAY_US, MONDAY_US, dump, task
from quaestor.pipeline import flow
from quaestor.pipeline.compilation import compile_update
from quaestor.pipeline.daily_parts import definition_digest, grain, in_parts
from quaestor.pipeline.day_part import part_schema
from quaestor.pipeline.flow import Definitions
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.periods import DEFAULT_PLAN, PeriodPlan
from quaestor.pipeline.record_scope import EXPLODED, RECORDS, Type, find, near, structures_of
from quaestor.pipeline.summary import OTHER_TABLES, read_definitions, tables
from quaestor.pipeline.update_language import DefinitionError, parse

ONE = "DEFINE UPDATE {name} FROM SMF_116_01 TO {table}{where} GROUP BY ({key}) SET ({value});"


def text_of(name="U", table="T", where="", key="K = SM116SSI", value="V = COUNT(*)"):
    return ONE.format(name=name, table=table, where=f" WHERE {where}" if where else "", key=key, value=value)


def tables_of(*texts, plan=DEFAULT_PLAN):
    return tables(compile_update(each, plan) for text in texts for each in parse(text, "ours.def"))


def refusal(*texts):
    with pytest.raises(DefinitionError) as refused:
        tables_of(*texts)
    return str(refused.value)


LARGEST = (1 << 63) - 1
DURATION = "a duration only moves a date or a time by + or -"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"value": f"V = SUM({LARGEST + 1})"}, f"ours.def:1:75: {LARGEST + 1} is too large for an integer"),
        ({"where": f"WTASCMN = {10**30}"}, f"ours.def:1:54: {10**30} is too large for an integer"),
        ({"key": "K = SM116DTE + 36526 DAYS"}, "ours.def:1:63: 36526 DAYS are more than a hundred years"),
        ({"key": "K = ROUND(SM116TME, 1441 MINUTES)"}, "ROUND takes a time and so many MINUTES or HOURS, a day at"),
        ({"key": "K = ROUND(SM116TME, 25 HOURS)"}, "ROUND takes a time and so many MINUTES or HOURS, a day at"),
        ({"key": "K = ROUND(SM116TME, 0 HOURS)"}, "ROUND takes a time and so many MINUTES or HOURS, a day at"),
        ({"key": "K = ROUND(SM116TME, 1 DAYS)"}, "ROUND takes a time and so many MINUTES or HOURS, a day at"),
        ({"key": "K = ROUND(SM116TME)"}, "ROUND takes a time and so many MINUTES or HOURS, a day at"),
        ({"key": "K = ROUND(SM116TME, 5)"}, "ROUND takes a time and so many MINUTES or HOURS, a day at"),
        ({"value": "V = MAX(5 MINUTES)"}, DURATION),
        ({"value": "V = COUNT(5 MINUTES)"}, DURATION),
        ({"where": "60 MINUTES = 1 HOURS"}, DURATION),
        ({"where": "SM116TME IN (5 MINUTES)"}, DURATION),
        ({"where": "5 MINUTES IS NULL"}, DURATION),
        ({"key": "K = VALUE(5 MINUTES, 6 MINUTES)"}, DURATION),
        ({"key": "K = CASE WHEN WTASCMN = 1 THEN 5 DAYS END"}, DURATION),
        ({"key": "K = 5 MINUTES + SM116TME"}, DURATION),
        ({"key": "K = -(5 MINUTES)"}, "integer - MINUTE has no meaning"),
        ({"key": "K = SM116SSI || 5 MINUTES"}, "string || MINUTE has no meaning"),
        ({"key": "K = SM116DTE * 5 DAYS"}, "date * DAY has no meaning"),
        ({"key": "K = SM116DTE + 5 MINUTES"}, "date + MINUTE has no meaning"),
        ({"key": "K = SM116SSI, K = SM116SID"}, "ours.def:1:62: K is set twice"),
        ({"value": "V = SUM(WTASCMN), V = SUM(WTASCMN)"}, "ours.def:1:85: V is set twice"),
        ({"value": "V = SUM(WTASCMN), K = COUNT(*)"}, "ours.def:1:85: K is set twice"),
        ({"key": "K = DAY(SM116TME)"}, "DAY takes a date, not DAY(time)"),
        ({"key": "K = MONTH(SM116SSI)"}, "MONTH takes a date, not MONTH(string)"),
        ({"key": "K = DATE(SM116SSI)"}, "DATE takes a date, a timestamp or a day number, not DATE(string)"),
        ({"key": "K = TIME(SM116DTE)"}, "TIME takes a time or a timestamp, not TIME(date)"),
        ({"key": "K = SUBSTR(SM116SSI, WTASCMN, 2)"}, "SUBSTR takes a string, a start from 1 and a count"),
        ({"key": "K = SUBSTR(SM116SSI, 1, 0)"}, "SUBSTR takes a string, a start from 1 and a count"),
        ({"key": "K = SUBSTR(SM116SSI, 1)"}, "SUBSTR takes a string, a start from 1 and a count"),
        ({"key": "K = VALUE(WTASCMN)"}, "VALUE takes two or more values of one type, not VALUE(integer)"),
        ({"key": "K = PERIOD(SM116DTE, SM116SID, SM116TME)"}, "PERIOD takes system, date and time, not PERIOD(date,"),
        ({"value": "V = AVG(SM116DTE)"}, "AVG needs a number, this is a date"),
        ({"where": "SM116DTE = SM116TME"}, "cannot compare date with time"),
        ({"where": "SM116SSI BETWEEN 'A' AND 5"}, "cannot compare integer with string"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_its_place(parts, reason):
    assert reason in refusal(text_of(**parts))


@pytest.mark.parametrize(
    ("parts", "kinds"),
    [
        ({"value": f"V = SUM({LARGEST})"}, ["string", "int64"]),
        ({"key": "K = SM116DTE + 36525 DAYS"}, ["date32[day]", "int64"]),
        ({"key": "K = ROUND(SM116TME, 24 HOURS)"}, ["string", "int64"]),
        ({"key": "K = SM116TME + 99999999999999999999 MINUTES"}, ["string", "int64"]),
        ({"value": "V = MIN(SM116TME)"}, ["string", "string"]),
        ({"value": "V = MAX(SM116DTE)"}, ["string", "date32[day]"]),
        ({"value": "V = MAX(SM116SSI)"}, ["string", "string"]),
        ({"value": "V = COUNT(SM116SSI)"}, ["string", "int64"]),
        ({"value": "V = SUM(WTASCMET)"}, ["string", "double"]),
        ({"value": "V = AVG(WTASCMN)"}, ["string", "int64", "int64"]),
        ({"key": "K = WTASSTRT"}, ["timestamp[us, tz=UTC]", "int64"]),
        ({"key": "K = 1.5, L = 7, M = 'x'"}, ["double", "int64", "string", "int64"]),
    ],
)
def test_a_table_has_the_types_of_its_expressions_before_it_has_a_row(parts, kinds):
    """U5: the schema of a part, AVG taken apart."""
    (made,) = tables_of(text_of(**parts)).values()
    assert kinds == [str(each.type) for each in part_schema(in_parts(made, DEFAULT_PLAN))]


# --- names (Y4, I5) ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["WQST", "DRL.WTAS", "RECORDS", "X.REJECTS", "FILES", "DRL.DUMPS", "qpst"])
def test_no_summary_table_bears_the_name_of_a_raw_table(name):
    """Its files would be read as files of the raw table."""
    upper = name.upper()
    assert f"ours.def:1:15: {upper} cannot be told from a raw table; give it another name" == refusal(
        text_of(table=name)
    )
    assert upper.rpartition(".")[2] in OTHER_TABLES


def test_no_two_tables_differ_in_what_stands_before_the_dot_alone():
    """`SELECT ... FROM DAILY` would ask either of them."""
    told = refusal(text_of("A", "DRL.DAILY"), text_of("B", "OURS.DAILY"))
    assert "ours.def:1:15: OURS.DAILY cannot be told from DRL.DAILY; give it another name" == told
    assert ["DRL.DAILY"] == list(
        tables_of(text_of("A", "DRL.DAILY", value="V = COUNT(*)"), text_of("B", "DRL.DAILY", value="W = COUNT(*)"))
    )


def test_only_a_second_update_may_set_an_average():
    """Its own column: AVG cannot be shared, but it may stand beside others."""
    both = (text_of("A", value="N = COUNT(*)"), text_of("B", value="MEAN = AVG(WTASCMN)"))
    for texts in (both, both[::-1]):
        assert {"MEAN__SUM", "MEAN__COUNT", "N"} < set(
            part_schema(in_parts(tables_of(*texts)["T"], DEFAULT_PLAN)).names
        )
    mean = text_of("A", value="MEAN = AVG(WTASCMN)")
    assert "MEAN is AVG in another update of T" in refusal(mean, mean.replace("UPDATE A", "UPDATE B"))


def test_an_update_of_ones_own_replaces_the_shipped_one_of_its_name(tmp_path):
    shipped = read_definitions()
    (update,) = shipped["MQSTATS_TABLE"].updates
    ours = text_of(update.update.name, "MQSTATS_TABLE", key="DATE = SM116DTE, QMGR = SM116SSI", value="N = COUNT(*)")
    (tmp_path / "ours.def").write_text(ours, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no definition", encoding="utf-8")
    read = read_definitions([tmp_path])
    assert shipped.keys() == read.keys()
    assert ["N"] == [each.column for each, _ in read["MQSTATS_TABLE"].updates[0].assignments]
    (tmp_path / "zz.def").write_text(ours, encoding="utf-8")
    with pytest.raises(DefinitionError, match=rf"zz\.def:1:15: update {update.update.name} is defined twice"):
        read_definitions([tmp_path])


def test_a_column_called_day_is_what_its_definition_says(spark, tmp_path):
    """Not the day of the folder that its part lies in."""
    text = text_of(table="DRL.DAILY", key="DAY = DAY(SM116DTE), QMGR = SM116SSI", value="COMMITS = SUM(WTASCMN)")
    dumped = dump(tmp_path / "a", [task(n, MONDAY_US + n % 2 * DAY_US + n) for n in range(4)])
    flow.load(None, tmp_path / "lake", [dumped], Definitions(tables_of(text)))
    lake = Lake.at(tmp_path / "lake")
    frame = lake.table(spark, "daily")
    assert ["DAY", "QMGR", "COMMITS"] == frame.columns
    assert {(5, "QM01", 2), (6, "QM01", 4)} == {tuple(row) for row in frame.collect()}
    assert [{"DAY": 5, "QMGR": "QM01", "COMMITS": 2}, {"DAY": 6, "QMGR": "QM01", "COMMITS": 4}] == lake.rows(
        "daily", ["COMMITS"]
    ).sort_by("DAY").to_pylist()


# --- what a definition is to a lake -----------------------------------------------------------------------------------


def test_a_definition_is_the_same_wherever_it_stands_and_another_once_it_means_another_thing():
    """P5: the digest does not change with places and files, but with every word of meaning and with the period plan."""
    text = text_of(key="K = PERIOD(SM116SID, SM116DTE, SM116TME)", where="WTASCMN > 1")

    def digest(text, source="a.def", plan=DEFAULT_PLAN):
        (table,) = tables(compile_update(each, plan) for each in parse(text, source)).values()
        return definition_digest(table, plan)

    same = [text.replace(" ", "\n  "), text.lower().replace("define", "-- ours\nDEFINE"), text]
    assert {digest(text)} == {digest(each, f"{number}.def") for number, each in enumerate(same)}
    others = [
        text.replace("> 1", "> 2"),
        text.replace("> 1", ">= 1"),
        text.replace("COUNT(*)", "COUNT(WTASCMN)"),
        text.replace("V =", "W ="),
        text.replace("WTASCMN", "WTASBAN"),
    ]
    plans = [PeriodPlan(()), PeriodPlan(DEFAULT_PLAN.periods[:2])]
    made = [digest(text), *map(digest, others), *(digest(text, plan=plan) for plan in plans)]
    assert len(made) == len(set(made))
    unasked = text_of(key="K = SM116SID", where="WTASCMN > 1")
    assert {digest(unasked)} == {digest(unasked, plan=plan) for plan in plans}
    second = text_of(key="K = SM116SID").replace("V =", "W =").replace("UPDATE U", "UPDATE U2")
    assert digest(unasked + second) == digest(second + unasked) != digest(unasked)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (text_of(key="D = SM116DTE"), "day"),
        (text_of(key="Q = SM116SSI, D = SM116DTE"), "day"),
        (text_of(key="D = DATE((DAYS(SM116DTE)-1)/7*7+1)"), "longer"),
        (text_of(key="D = SM116END"), "longer"),
        (text_of(key="Q = SM116SSI"), "longer"),
        (text_of(key="D = SM116DTE").replace("SMF_116_01", "SMF_115_01").replace("SM116", "SM115"), "statistics"),
        (text_of(key="Q = SM116SSI").replace("SMF_116_01", "SMF_115_01").replace("SM116", "SM115"), "statistics"),
    ],
)
def test_what_a_table_is_to_retention(text, expected):
    assert expected == grain(next(iter(tables_of(text).values())))


# --- records and fields (V1 to V5 of record_scope) --------------------------------------------------------------------


def test_every_record_and_section_has_structures():
    for record, source in RECORDS.items():
        assert (source.once or None) == structures_of(record, None)
        for section, structure in source.sections.items():
            assert (structure,) == structures_of(record, section)
        assert structures_of(record, "NONE") is None
    assert structures_of("SMF_117_01", None) is None


@pytest.mark.parametrize(
    ("structure", "name", "column", "kind", "tod"),
    [
        ("WTAS", "WTASCMN", "commits", Type.INTEGER, False),
        ("WTAS", "COMMITS", "commits", Type.INTEGER, False),
        ("WTAS", "WTASCMET", "commit_elapsed_us", Type.DOUBLE, True),
        ("WTAS", "COMMIT_ELAPSED_US", "commit_elapsed_us", Type.DOUBLE, False),
        ("WTAS", "SM116TME", "local_time", Type.TIME, False),
        ("WTAS", "SM116STY", "subtype", Type.INTEGER, False),
        ("WTAS", "SM116STF", "subtype", Type.INTEGER, False),
        ("QPST", "SM115REL", "release", Type.STRING, False),
        ("QPST", "QPSTNBUF", "buffers", Type.INTEGER, False),
        ("QEST", "QESTSSTC", "single_elapsed_us", Type.DOUBLE, True),
        ("QEST", "SINGLE_ELAPSED_US", "single_elapsed_us", Type.DOUBLE, False),
        ("QEST", "QESTSTR", "structure", Type.STRING, False),
    ],
)
def test_a_field_by_its_official_name_and_by_its_human_one(structure, name, column, kind, tod):
    """V3, V4: TOD units under the official name alone."""
    found = find((structure,), name)
    assert (structure, column, kind, tod) == (found.structure, found.column, found.type, found.tod)
    assert EXPLODED.get(structure, "") == found.inside


def test_the_header_of_the_other_record_type_is_no_field():
    assert find(("WTAS",), "SM115DTE") is None
    assert find(("QPST",), "SM116DTE") is None
    assert (True, False) == (find(("WTAS",), "SM116END").before, find(("WTAS",), "SM116DTE").before)  # V5


def test_a_name_that_is_nearly_right_is_suggested():
    assert "WTASCMN" in near(("WTAS",), "WTASCNM")
    assert [] == near(("WTAS",), "ZZZZZZ")
