"""How long tables are kept, on lists of files alone (H1 to H4), and what a lake tells of itself."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.lakes import DAY_US, MONDAY_US, dump, load_raw, task
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.manifest import DUMPS_SCHEMA, RAW, SUMMARY, LakeFile, Snapshot, files_table
from quaestor.pipeline.retention import Purged, Retention, _horizon, _over, _told, purge
from quaestor.pipeline.status import status

FIRST = date(2026, 1, 1)
GRAINS = {"DRL.DAILY": "day", "POOLS": "statistics", "DRL.WEEK": "longer"}


def day(number):
    return FIRST + timedelta(days=number - 1)


def file(table, kind, number, rows=10):
    at = None if number is None else day(number)
    return LakeFile(table, kind, at, "QM01" if kind == RAW else None, f"{kind}/{table}/{number}", rows, 100)


def snapshot(days, horizon=None, tables=("WTAS", "RECORDS")):
    """Every table has a file for each of the days; rejects have no day."""
    files = [file("REJECTS", RAW, None)]
    files += [file(table, RAW, number) for table in tables for number in days]
    files += [file(table, SUMMARY, number) for table in GRAINS for number in days]
    summaries = {name: {"grain": grain} for name, grain in GRAINS.items()}
    return Snapshot(1, files_table(files), DUMPS_SCHEMA.empty_table(), summaries, horizon)


def over(days, retention):
    """The days that each table loses."""
    found = {}
    for each in _over(snapshot(days), retention):
        found.setdefault(each.table, []).append((each.day - FIRST).days + 1)
    return {table: sorted(numbers) for table, numbers in found.items()}


def test_the_papers_advice():
    """A week of details, four weeks of daily summaries, half a year of statistics, longer ones for ever."""
    everything = [*range(1, 30), *range(170, 201)]
    expected = {
        "WTAS": [*range(1, 30), *range(170, 194)],
        "RECORDS": [*range(1, 30), *range(170, 194)],
        "DRL.DAILY": [*range(1, 30), *range(170, 173)],
        "POOLS": list(range(1, 19)),
    }
    assert expected == over(everything, Retention())


@pytest.mark.parametrize(
    ("days", "retention", "expected"),
    [
        ([1, 2, 3], Retention(details=3), {}),
        ([1, 2, 3], Retention(details=2), {"WTAS": [1], "RECORDS": [1]}),
        ([1, 2, 3], Retention(details=1), {"WTAS": [1, 2], "RECORDS": [1, 2]}),
        ([1, 9], Retention(details=5), {"WTAS": [1], "RECORDS": [1]}),  # days of the calendar, not days with files
        ([1, 2, 3], Retention(None, None, None, None), {}),
        ([1, 2, 3], Retention(None, daily=1), {"DRL.DAILY": [1, 2]}),
        ([1, 2, 3], Retention(None, statistics=2), {"POOLS": [1]}),
        ([1, 2, 3], Retention(None, longer=1), {"DRL.WEEK": [1, 2]}),
        ([], Retention(details=1), {}),
    ],
)
def test_days_are_counted_back_from_the_newest(days, retention, expected):
    """H1, H3: each table by its own time; rejects have no day and stay."""
    assert expected == over(days, retention)


@pytest.mark.parametrize(
    ("days", "details", "horizon", "expected"),
    [
        ([1, 2, 3], 2, None, day(2)),
        ([1, 2, 3], 3, None, None),
        ([1, 2, 3], None, None, None),
        ([5, 6, 7], 5, day(4), day(4)),  # nothing goes, so it stays where it was
        ([5, 6, 7], 2, day(4), day(6)),
        ([5, 6, 7], 2, day(9), day(9)),  # never back
        ([], 2, day(4), day(4)),
    ],
)
def test_the_horizon_moves_forward_when_details_go(days, details, horizon, expected):
    """H2."""
    assert expected == _horizon(snapshot(days, horizon), Retention(details=details))


@settings(max_examples=20)
@given(st.sets(st.integers(1, 30), min_size=1, max_size=8), st.integers(1, 40))
def test_what_is_kept_is_the_newest_days_and_all_of_them(days, kept):
    gone = set(over(sorted(days), Retention(details=kept)).get("WTAS", []))
    assert {number for number in days if number <= max(days) - kept} == gone
    assert max(days) not in gone


def test_what_is_lost_is_told_by_table():
    files = [
        file("POOLS", SUMMARY, 1, rows=2),
        file("WTAS", RAW, 1, rows=3),
        file("WTAS", RAW, 2, rows=4),
        LakeFile("WTAS", RAW, day(2), "QM02", "raw/WTAS/other", 5, 50),
    ]
    assert [Purged("WTAS", 2, 3, 12, 250), Purged("POOLS", 1, 1, 2, 100)] == _told(files)
    assert [] == _told([])


def test_a_purge_is_one_change_and_a_dry_run_none(tmp_path):
    """H4, on a lake: the files are not alive any more, and gone after the next change."""
    records = [task(number, MONDAY_US + number * DAY_US) for number in range(4)]
    lake, _ = load_raw(tmp_path / "lake", [dump(tmp_path / "a", records)])
    old = [each.path for each in lake.snapshot().live("WTAS")][:2]
    told = purge(tmp_path / "lake", Retention(details=2), dry_run=True)
    assert (1, 4) == (lake.snapshot().number, len(lake.snapshot().days()))
    assert told == purge(tmp_path / "lake", Retention(details=2))
    assert {"WTAS": 2, "WTID": 2, "WQST": 2, "RECORDS": 2} == {each.table: each.days for each in told}
    assert ([date(2026, 1, 7), date(2026, 1, 8)], date(2026, 1, 7)) == (lake.snapshot().days(), lake.snapshot().horizon)
    assert [True, True] == [lake.place.exists(path) for path in old]
    assert ([], 2) == (purge(tmp_path / "lake", Retention(details=2)), lake.snapshot().number)
    assert [False, False] == [lake.place.exists(path) for path in old]


def test_a_lake_tells_what_it_holds(tmp_path):
    records = [task(number, MONDAY_US + number * DAY_US, queues=("A", "B")) for number in range(3)]
    path = dump(tmp_path / "a", records)
    load_raw(tmp_path / "lake", [path])
    told = status(tmp_path / "lake")
    assert (1, 1, len(b"".join(records)), None) == (told.snapshot, told.dumps, told.dump_bytes, told.horizon)
    tables = {each.table: each for each in told.tables}
    assert ["RECORDS", "WQST", "WTAS", "WTID"] == sorted(tables)
    found = tables["WQST"]
    assert (RAW, 6, 3, 3) == (found.kind, found.rows, found.files, found.days)
    assert (date(2026, 1, 5), date(2026, 1, 7)) == (found.first, found.last)
    assert found.bytes == sum(each.bytes for each in Lake.at(tmp_path / "lake").snapshot().live("WQST"))


def test_an_empty_lake_tells_that(tmp_path):
    load_raw(tmp_path / "lake", [])
    told = status(tmp_path / "lake")
    assert (0, 0, (), 1) == (told.dumps, told.dump_bytes, told.tables, told.snapshot)
