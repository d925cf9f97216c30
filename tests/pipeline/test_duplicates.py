"""Copies of a record in several parts of a load: found wherever they are, and one of them stays (E1 to E5)."""

from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.pipeline import duplicates
from quaestor.pipeline.duplicates import Window, find_copies, remove_copies, windows
from quaestor.pipeline.known import KnownRecords
from quaestor.pipeline.manifest import RAW, LakeFile, files_table, packed
from quaestor.pipeline.part_writer import Partition, PartWriter
from quaestor.pipeline.place import Place
from quaestor.pipeline.raw_tables import RECORD_ID, RECORDS, RECORDS_SCHEMA

MONDAY = date(2026, 1, 5)
EIGHT = datetime(2026, 1, 5, 8)


def minute(number):
    return EIGHT + timedelta(minutes=number)


def identity(number):
    return number.to_bytes(16, "big")


def records(*numbers_and_minutes):
    """Rows of RECORDS: one of each identity, at its minute."""
    rows = [
        {RECORD_ID: identity(number), "local_time": minute(at), "record_type": 116, "subtype": 1, "bytes": 100}
        for number, at in numbers_and_minutes
    ]
    return pa.Table.from_pylist(rows, schema=RECORDS_SCHEMA)


def written(place, name, parts, table=RECORDS):
    """The files of a part: {(day, queue manager): rows}."""
    writer = PartWriter(place, name)
    for (day, manager), rows in parts.items():
        writer.add(table, Partition(day, manager), rows)
    return writer.close()


def ids_in(place, file):
    rows = pq.ParquetFile(place.path(file.path)).read()
    assert file.rows == rows.num_rows
    return [int.from_bytes(each, "big") for each in rows[RECORD_ID].to_pylist()]


def file(name, first, last, rows=10, table=RECORDS, **more):
    at = {"day": MONDAY, "queue_manager": "QM01", **more}
    return LakeFile(table, RAW, path=f"raw/{table}/{name}", rows=rows, bytes=1, first=first, last=last, **at)


def spans(found):
    return [(each.first, each.last, each.closed, [path[-1] for path in each.paths]) for each in found]


# --- where copies can be (E1, E2) -------------------------------------------------------------------------------------


def test_only_time_that_files_share_is_looked_at(tmp_path):
    files = [file("a", minute(0), minute(10)), file("b", minute(6), minute(20)), file("c", minute(30), minute(40))]
    assert [(minute(6), minute(10), False, ["a", "b"]), (minute(10), minute(20), False, ["a", "b"])] == spans(
        windows(Place(tmp_path), files)
    )  # the second for the moment at which a ends


def test_files_that_touch_share_a_moment(tmp_path):
    files = [file("a", minute(0), minute(10)), file("b", minute(10), minute(20))]
    found = windows(Place(tmp_path), files)
    assert any(each.first <= minute(10) and (minute(10) < each.last or each.closed) for each in found)


def test_files_of_one_moment_share_it(tmp_path):
    files = [file(name, minute(5), minute(5)) for name in "ab"]
    assert [(minute(5), minute(5), True, ["a", "b"])] == spans(windows(Place(tmp_path), files))


@pytest.mark.parametrize(
    "other",
    [
        {"day": date(2026, 1, 6)},
        {"queue_manager": "QM02"},
        {"queue_manager": None},
        {"table": "WTAS"},
        {"first": None},
        {"first": minute(11), "last": minute(12)},
    ],
    ids=str,
)
def test_files_that_can_share_no_record_are_not_compared(tmp_path, other):
    files = [file("a", minute(0), minute(10)), file("b", **{"first": minute(0), "last": minute(10), **other})]
    assert [] == windows(Place(tmp_path), files)


def test_a_window_of_many_rows_is_cut_by_time(tmp_path, monkeypatch):
    monkeypatch.setattr(duplicates, "WINDOW_ROWS", 5)
    found = windows(Place(tmp_path), [file(name, minute(0), minute(10)) for name in "ab"])
    assert (4, minute(0), minute(10)) == (len(found), found[0].first, found[-1].last)
    assert [each.last for each in found[:-1]] == [each.first for each in found[1:]]
    assert [False, False, False, True] == [each.closed for each in found]
    assert [5] * 4 == [each.rows for each in found]


def test_small_windows_go_to_one_task(tmp_path, monkeypatch):
    monkeypatch.setattr(duplicates, "WINDOW_ROWS", 10)
    place = Place(tmp_path)
    sizes = [4, 4, 4, 20, 1, 9, 1]
    made = duplicates._batches([Window(place, EIGHT, EIGHT, False, (), rows) for rows in sizes])
    assert [[4, 4], [4], [20], [1, 9], [1]] == [[each.rows for each in batch] for batch in made]


# --- which one stays (E3, E4) -----------------------------------------------------------------------------------------


def test_the_copy_in_the_first_file_stays(tmp_path):
    place = Place(tmp_path)
    partition = (MONDAY, "QM01")
    files = written(place, "1", {partition: records((1, 0), (2, 5), (3, 10))})
    files += written(place, "2", {partition: records((3, 10), (4, 12))})
    files += written(place, "3", {partition: records((2, 5), (3, 10))})
    kept, count = remove_copies(None, place, files)
    assert 3 == count
    assert {"1.parquet": [1, 2, 3], "2u.parquet": [4]} == {
        each.path.rpartition("/")[2]: ids_in(place, each) for each in kept
    }
    assert {each.path for each in kept} == {name for name, _ in place.walk("raw")}


def test_every_table_of_a_part_loses_the_rows_of_its_copies(tmp_path):
    """Rows of a structure go with their record; those of another partition, of the same part, stay."""
    place = Place(tmp_path)
    monday, tuesday = (MONDAY, "QM01"), (date(2026, 1, 6), "QM01")
    files = written(place, "1", {monday: records((1, 0))})
    files += written(place, "2", {monday: records((1, 0), (2, 0)), tuesday: records((1, 0))})
    rows = pa.table({RECORD_ID: pa.array([identity(1), identity(1), identity(2)], pa.binary(16)), "n": [1, 2, 3]})
    structure = written(place, "2", {monday: rows, tuesday: rows}, "REJECTS")
    kept, count = remove_copies(None, place, [*files, *structure])
    assert 1 == count
    found = {(each.table, each.day.day): ids_in(place, each) for each in kept if "/2" in each.path}
    assert {
        (RECORDS, 5): [2], (RECORDS, 6): [1], ("REJECTS", 5): [2], ("REJECTS", 6): [1, 1, 2]
    } == found  # fmt: skip


def test_without_copies_nothing_is_written(tmp_path):
    place = Place(tmp_path)
    files = written(place, "1", {(MONDAY, "QM01"): records((1, 0), (2, 9))})
    files += written(place, "2", {(MONDAY, "QM01"): records((3, 0), (4, 9))})
    assert (files, 0) == remove_copies(None, place, files)
    assert ([], 0) == remove_copies(None, place, [])


def test_a_record_in_two_windows_of_a_task_is_one_copy(tmp_path):
    place = Place(tmp_path)
    files = written(place, "1", {(MONDAY, "QM01"): records((1, 5))})
    files += written(place, "2", {(MONDAY, "QM01"): records((1, 5))})
    paths = tuple(each.path for each in files)
    closed = [Window(place, minute(0), minute(5), True, paths, 1), Window(place, minute(5), minute(9), True, paths, 1)]
    assert [(files[1].path, identity(1))] == find_copies(closed)
    before = Window(place, minute(0), minute(5), False, paths, 1)
    assert [] == find_copies([before])  # its end belongs to the next


MINUTES = st.integers(0, 6)
PARTS = st.lists(
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["QM01", "QM02"])), min_size=1, max_size=6, unique=True),
    min_size=1,
    max_size=4,
)


@settings(max_examples=20)
@given(PARTS, st.lists(MINUTES, min_size=9, max_size=9), st.sampled_from([1, 2, 1000]))
def test_of_every_record_one_is_left(tmp_path_factory, parts, times, window):
    """Whatever parts hold which records; a record has one time, whoever holds it."""
    place = Place(tmp_path_factory.mktemp("copies"))
    files = []
    for number, held in enumerate(parts):
        grouped = {}
        for record, manager in held:
            grouped.setdefault((MONDAY, manager), []).append((record, times[record]))
        files += written(place, str(number), {key: records(*rows) for key, rows in grouped.items()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "WINDOW_ROWS", window)
        kept, count = remove_copies(None, place, files)
    left = sorted((record, each.queue_manager) for each in kept for record in ids_in(place, each))
    every = [pair for held in parts for pair in held]
    assert sorted(set(every)) == left
    assert len(every) - len(set(every)) == count


# --- what the lake holds already (Z1, Z2) -----------------------------------------------------------------------------


def known(place, files):
    place.make_folder("manifest")
    place.replace("manifest/files", packed(files_table(files)))
    return KnownRecords(place, "manifest/files")


def held(asked, partition, *numbers_and_minutes):
    rows = records(*numbers_and_minutes)
    ids = pa.array(rows[RECORD_ID].combine_chunks()).to_numpy(zero_copy_only=False).astype("V16")
    return asked.holds(partition, ids, rows["local_time"].cast(pa.int64()).to_numpy()).tolist()


def test_a_record_is_known_by_partition_and_identity(tmp_path):
    place = Place(tmp_path)
    files = written(place, "1", {(MONDAY, "QM01"): records((1, 0), (2, 9)), (MONDAY, None): records((3, 4))})
    asked = known(place, files)
    assert [True, True, False] == held(asked, Partition(MONDAY, "QM01"), (1, 0), (2, 9), (3, 4))
    assert [True] == held(asked, Partition(MONDAY, None), (3, 4))
    assert [False] == held(asked, Partition(MONDAY, "QM02"), (1, 0))
    assert [False] == held(asked, Partition(date(2026, 1, 6), "QM01"), (1, 0))
    assert [False] == held(KnownRecords(place, None), Partition(MONDAY, "QM01"), (1, 0))


@pytest.mark.parametrize(
    ("first", "last", "opened"),
    [
        (0, 4, False),
        (0, 5, True),
        (5, 5, True),
        (6, 8, True),
        (9, 9, True),
        (9, 20, True),
        (10, 20, False),
        (0, 20, True),
    ],
)
def test_only_files_of_the_time_asked_for_are_opened(tmp_path, monkeypatch, first, last, opened):
    place = Place(tmp_path)
    asked = known(place, written(place, "1", {(MONDAY, "QM01"): records((1, 5), (2, 9))}))
    seen = []
    monkeypatch.setattr(asked, "_read", lambda path: seen.append(path) or pa.array([], pa.binary(16)))
    held(asked, Partition(MONDAY, "QM01"), (7, first), (8, last))
    assert opened == bool(seen)


def test_the_files_asked_last_are_kept(tmp_path, monkeypatch):
    place = Place(tmp_path)
    monkeypatch.setattr("quaestor.pipeline.known._KEPT", 2)
    files = [each for name in "abc" for each in written(place, name, {(MONDAY, f"QM{name}"): records((1, 0))})]
    asked = known(place, files)
    opened = []
    read = pq.read_table
    monkeypatch.setattr(pq, "read_table", lambda path, **how: opened.append(path[-9]) or read(path, **how))
    for name in "abaca":
        assert [True] == held(asked, Partition(MONDAY, f"QM{name}"), (1, 0))
    assert ["a", "b", "c"] == opened  # a is asked again and again, so b went when c came
