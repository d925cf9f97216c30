"""Places, manifests, identities and files of a load (F1 to F3, M1 to M4, U1 to U3, Q1 to Q4, A1 to A4)."""

import gzip
import io
import pickle
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.lakes import MONDAY_US, SECOND_US, task
from quaestor.pipeline import identity, part_writer
from quaestor.pipeline.identity import chunk_digests, dump_digest, record_ids
from quaestor.pipeline.manifest import (
    DUMPS_SCHEMA,
    EMPTY,
    FILES_SCHEMA,
    RAW,
    SUMMARY,
    LakeFile,
    LoadedDump,
    as_files,
    dumps_table,
    files_table,
    load_number,
    packed,
    unpacked,
    without,
)
from quaestor.pipeline.part_writer import Partition, PartWriter
from quaestor.pipeline.place import Place, dump_size, is_fresh, is_there, open_dump
from quaestor.pipeline.raw_tables import (
    RAW_TABLES,
    RECORDS,
    RECORDS_SCHEMA,
    REJECTS,
    partition_folder,
    spark_schema,
    stored_schema,
    text_columns,
)
from quaestor.smf.framing import DumpReader
from smf.dumps import blocked, segmented

DAY = date(2026, 1, 5)


# --- places ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lake", "lake of ours", "lake-1.0"])
def test_a_path_and_its_uri_are_one_place(tmp_path, name):
    """F1: tasks elsewhere open the same names."""
    folder = tmp_path / name
    folder.mkdir()
    here = Place(folder)
    for place in (here, Place((tmp_path / name).as_uri()), pickle.loads(pickle.dumps(here))):
        place.make_folder("raw/T")
        place.replace("raw/T/x", b"content")
        assert (b"content", 7, True, False) == (
            place.read("raw/T/x"),
            place.size("raw/T/x"),
            place.exists("raw/T/x"),
            place.exists("raw/T/y"),
        )
        assert place.is_local
        assert {("raw/T/x", 7)} == set(place.walk("")) == set(place.walk("raw"))
        assert [] == list(place.walk("none"))
        place.remove("raw/T/x")
        place.remove("raw/T/x")  # F3
        assert (folder / "raw" / "T").is_dir()
        assert not place.exists("raw/T/x")


@pytest.mark.parametrize(
    ("root", "name", "expected"),
    [
        ("/data/lake", "raw/T", "file:///data/lake/raw/T"),
        ("/data/our lake", "", "file:///data/our lake"),
        ("file:///data/lake", "raw", "file:///data/lake/raw"),
        ("/data/a%20b", "q=%2F", "file:///data/a%20b/q=%2F"),
        ("file:///data/our%20lake", "q=%2F", "file:///data/our lake/q=%2F"),
        ("s3://bucket/our%20lake", "q=%2F", "s3a://bucket/our lake/q=%2F"),
        ("s3://bucket/lake", "raw", "s3a://bucket/lake/raw"),
        ("gs://bucket/lake", "", "gs://bucket/lake"),
        ("hdfs://name/lake", "raw", "hdfs://name/lake/raw"),
    ],
)
def test_what_spark_calls_a_file(root, name, expected):
    place = Place.__new__(Place)
    place.root = root
    assert expected == place.spark_path(name)


def test_a_file_is_replaced_in_one_step(tmp_path, monkeypatch):
    """F2: the new content has another name until it is whole; what a killed writer left is told from other files."""
    place = Place(tmp_path)
    place.replace("head", b"old")

    def power_cut(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", power_cut)
    with pytest.raises(KeyboardInterrupt):
        place.replace("head", b"new")
    monkeypatch.undo()
    assert b"old" == place.read("head")
    (left,) = {each.name for each in tmp_path.iterdir()} - {"head"}
    assert (True, True, False) == (is_fresh(left), is_fresh(left, "head"), is_fresh(left, "other"))
    place.remove_fresh("", "other")
    assert 2 == len(list(tmp_path.iterdir()))
    place.remove_fresh("", "head")
    assert ["head"] == [each.name for each in tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["head", ".head", ".head.new-", ".head.new-x", "head.new-1", ".new-1x", ".hidden"])
def test_other_files_are_not_taken_for_half_written_ones(name):
    assert not is_fresh(name)


def test_dumps_are_there_or_not(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    for name in (str(tmp_path / "a"), (tmp_path / "a").as_uri()):
        assert (5, True) == (dump_size(name), is_there(name))
        with open_dump(name) as stream:
            assert b"12345" == stream.read()
    for name in (str(tmp_path / "b"), (tmp_path / "b").as_uri()):
        assert not is_there(name)
        with pytest.raises(FileNotFoundError):
            dump_size(name)
    with pytest.raises(FileNotFoundError, match="no such file"):
        dump_size(tmp_path.as_uri())  # a folder is none


# --- lists -----------------------------------------------------------------------------------------------------------

WORDS = st.text("ABQM.01é ", max_size=6)
FILES = st.builds(
    LakeFile,
    st.sampled_from(["WTAS", "RECORDS", "DRL.T"]),
    st.sampled_from([RAW, SUMMARY]),
    st.none() | st.dates(date(1971, 1, 1), date(2042, 1, 1)),
    st.none() | WORDS,
    WORDS,
    st.integers(0, 10**12),
    st.integers(0, 10**12),
    st.none() | st.datetimes(datetime(1971, 1, 1), datetime(2042, 1, 1)),
    st.none() | st.datetimes(datetime(1971, 1, 1), datetime(2042, 1, 1)),
)
DUMPS = st.builds(
    LoadedDump,
    st.text("0123456789abcdef", min_size=4, max_size=4),
    st.lists(WORDS, max_size=3).map(tuple),
    st.integers(0, 10**12),
    st.integers(0, 10**9),
    st.integers(0, 10**6),
    WORDS,
)


@settings(max_examples=40)
@given(st.lists(FILES, max_size=5), st.lists(DUMPS, max_size=4, unique_by=lambda each: each.digest))
def test_lists_are_read_as_they_were_written(files, dumps):
    """M4."""
    assert files == as_files(unpacked(packed(files_table(files)), FILES_SCHEMA))
    listed = unpacked(packed(dumps_table(dumps)), DUMPS_SCHEMA)
    made = type(EMPTY)(1, FILES_SCHEMA.empty_table(), listed)
    assert {each.digest: each for each in dumps} == made.digests()


def test_files_that_are_taken_away():
    files = [LakeFile("T", RAW, DAY, None, path, 1, 1) for path in "abc"]
    left = [[each.path for each in as_files(without(files_table(files), paths))] for paths in ((), "b", "abc", "x")]
    assert [["a", "b", "c"], ["a", "c"], [], ["a", "b", "c"]] == left


def test_a_file_bears_the_number_of_its_load():
    assert 12 == load_number("raw/WTAS/day=2026-01-05/queue_manager=QM01/000012-deadbeef.000003.0000.parquet")
    assert 1_000_001 == load_number("summary/T/1000001-deadbeef.0000.parquet")


def test_an_empty_lake_has_no_tables_and_no_days():
    assert ([], [], {}, []) == (EMPTY.tables(RAW), EMPTY.days(), EMPTY.digests(), EMPTY.live("WTAS"))


# --- identities ------------------------------------------------------------------------------------------------------


def ids_of(data):
    return [each.tobytes() for block in DumpReader(io.BytesIO(data)).blocks() for each in record_ids(block)]


def test_the_identity_of_a_record_is_that_of_its_bytes():
    """U1: whatever framing and compression it comes in; another second is another record."""
    records = [task(n, MONDAY_US + n * SECOND_US, queues=("A", "B")) for n in range(3)]
    expected = [xxhash.xxh3_128_digest(each[4:]) for each in records]
    plain = b"".join(records)
    spanned = b"".join(segment for each in records for segment in segmented(each, 300))
    for data in (plain, gzip.compress(plain), blocked(records, 4000), spanned):
        assert expected == ids_of(data)
    assert 3 == len(set(expected))


@settings(max_examples=40)
@given(st.binary(max_size=40), st.integers(1, 4))
def test_the_digest_of_a_dump_is_the_same_however_its_chunks_are_shared(data, tasks):
    """U3: by one task or by several, each some chunks in a row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "CHUNK", 8)
        patch.setattr(identity, "_READ", 3)
        chunks = [data[at : at + 8] for at in range(0, len(data), 8)]
        whole = chunk_digests(io.BytesIO(data), 0, 100)
        assert [xxhash.xxh3_128_digest(each) for each in chunks] == whole
        parts = [chunk_digests(io.BytesIO(data), first, tasks) for first in range(0, len(chunks), tasks)]
        assert whole == [each for part in parts for each in part]
    assert dump_digest(len(data), whole) != dump_digest(len(data) + 1, whole)


# --- raw tables and their files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "manager", "folder"),
    [
        (None, None, "raw/T"),
        (DAY, "QM01", "raw/T/day=2026-01-05/queue_manager=QM01"),
        (DAY, None, "raw/T/day=2026-01-05/queue_manager=__HIVE_DEFAULT_PARTITION__"),
        (DAY, "", "raw/T/day=2026-01-05/queue_manager=__HIVE_DEFAULT_PARTITION__"),
        (DAY, "A/B", "raw/T/day=2026-01-05/queue_manager=A%2FB"),
        (DAY, "A=%", "raw/T/day=2026-01-05/queue_manager=A%3D%25"),
        (DAY, "#@$ ", "raw/T/day=2026-01-05/queue_manager=#@$ "),
        (DAY, "Q\xe9\x85", "raw/T/day=2026-01-05/queue_manager=Q%E9%85"),
    ],
)
def test_a_partition_has_its_folder(day, manager, folder):
    """A3: whatever a name is made of, its folder is below the table's."""
    assert folder == partition_folder("T", day, manager)


@pytest.mark.parametrize("table", RAW_TABLES)
def test_spark_reads_the_columns_that_are_stored_and_the_partition(table):
    """A1: identity first, no position; texts are worth a dictionary."""
    stored = stored_schema(table)
    partition = [] if table == REJECTS else ["day", "queue_manager"]
    assert [*stored.names, *partition] == spark_schema(table).fieldNames()
    assert ("record_id" == stored.names[0]) == (table != REJECTS)
    assert not {"position", "queue_manager"} & set(stored.names)
    texts = [each.name for each in stored if pa.types.is_string(each.type)]
    assert sorted(texts) == sorted(text_columns(table))


def moments(*minutes):
    rows = [
        {"record_id": bytes(16), "local_time": datetime(2026, 1, 5, 8) + timedelta(minutes=each), "bytes": each}
        for each in minutes
    ]
    return pa.Table.from_pylist(rows, schema=RECORDS_SCHEMA)


def test_a_part_is_a_file_for_each_table_and_partition(tmp_path):
    """Q2, Q4: told with its rows and, of RECORDS, the times that they lie between."""
    place, writer = Place(tmp_path), PartWriter(Place(tmp_path), "000001-aa.0")
    one, two = Partition(DAY, "QM01"), Partition(DAY, None)
    writer.add(RECORDS, one, moments(5, 9))
    writer.add(RECORDS, two, moments(1))
    writer.add(RECORDS, one, moments(3))
    rejects = pa.table({"dump": ["d"], "offset": pa.array([7], pa.int64()), "reason": ["bad"]})
    writer.add(REJECTS, Partition(), rejects)
    assert [] == list(place.walk("raw"))  # held, until there is a row group or the end
    files = writer.close()
    begin = datetime(2026, 1, 5, 8)
    assert [
        (RECORDS, DAY, "QM01", 3, begin + timedelta(minutes=3), begin + timedelta(minutes=9)),
        (RECORDS, DAY, None, 1, begin + timedelta(minutes=1), begin + timedelta(minutes=1)),
        (REJECTS, None, None, 1, None, None),
    ] == [(each.table, each.day, each.queue_manager, each.rows, each.first, each.last) for each in files]
    assert {(each.path, each.bytes) for each in files} == set(place.walk("raw"))
    assert {RAW} == {each.kind for each in files}
    assert [5, 9, 3] == pq.ParquetFile(place.path(files[0].path)).read()["bytes"].to_pylist()
    assert [] == writer.close()


@pytest.mark.parametrize(
    ("row_group", "held", "groups"),
    [(1, 10**9, 4), (10**9, 0, 4), (10**9, 10**9, 1)],
    ids=["full row groups", "too much held", "room for all"],
)
def test_rows_are_written_when_there_are_enough_or_too_many(tmp_path, monkeypatch, row_group, held, groups):
    """Q1: no row is lost or doubled by it."""
    monkeypatch.setattr(part_writer, "ROW_GROUP_BYTES", row_group)
    monkeypatch.setattr(part_writer, "HELD_BYTES", held)
    place = Place(tmp_path)
    writer = PartWriter(place, "p")
    for each in range(4):
        writer.add(RECORDS, Partition(DAY, "QM01"), moments(each))
    (file,) = writer.close()
    stored = pq.ParquetFile(place.path(file.path))
    assert (groups, 4) == (stored.num_row_groups, file.rows)
    assert [0, 1, 2, 3] == stored.read()["bytes"].to_pylist()


def test_the_largest_are_written_first_when_too_much_is_held(tmp_path, monkeypatch):
    place = Place(tmp_path)
    one = moments(1).nbytes
    monkeypatch.setattr(part_writer, "HELD_BYTES", 5 * one)
    writer = PartWriter(place, "p")
    writer.add(RECORDS, Partition(DAY, "SMAL"), moments(1))
    writer.add(RECORDS, Partition(DAY, "LARG"), moments(1, 2, 3, 4))
    assert [] == list(place.walk("raw"))
    writer.add(RECORDS, Partition(DAY, "SMAL"), moments(2))
    assert ["LARG"] == [name.split("=")[2][:4] for name, _ in place.walk("raw")]
    assert [2, 4] == [each.rows for each in writer.close()]


def test_columns_that_readers_filter_by_have_statistics(tmp_path):
    """Q3: times, names and codes; figures have none."""
    place = Place(tmp_path)
    writer = PartWriter(place, "p")
    writer.add(RECORDS, Partition(DAY, "QM01"), moments(1, 2))
    (file,) = writer.close()
    group = pq.ParquetFile(place.path(file.path)).metadata.row_group(0)
    columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    assert {"local_time", "record_type", "subtype", "bytes"} == {
        name for name, column in columns.items() if column.is_stats_set
    }
    assert {"SNAPPY"} == {column.compression for column in columns.values()}
    assert np.dtype("int32") == pq.ParquetFile(place.path(file.path)).schema_arrow.field("bytes").type.to_pandas_dtype()
