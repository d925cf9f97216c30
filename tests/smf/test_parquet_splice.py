"""A spliced Parquet file reads as its parts one after the other (rules Q)."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quaestor.smf.parquet_splice import MAGIC, Splice, SpliceError

NESTED = pa.list_(pa.struct([("x", pa.int32()), ("y", pa.list_(pa.float64()))]))


def table(rows, seed=1):
    chance = random.Random(seed)
    return pa.table(
        {
            "number": pa.array([chance.randrange(-(2**62), 2**62) for _ in range(rows)], pa.int64()),
            "name": pa.array([chance.choice(["A", "B", None, "C" * 300]) for _ in range(rows)], pa.string()),
            "list": pa.array([[{"x": n, "y": [1.5] * (n % 3)}] * (n % 4) for n in range(rows)], NESTED),
            "flag": pa.array([bool(n % 2) for n in range(rows)], pa.bool_()),
        }
    )


def written(path, made, **options):
    pq.write_table(made, path, store_schema=False, **options)
    return path


def spliced(parts, target):
    splice = Splice(target)
    for each in parts:
        splice.add(each)
    assert splice.close() == sum(pq.read_metadata(each).num_rows for each in parts)
    return target


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "zstd", "use_dictionary": ["name"]},
        {"compression": "none", "use_dictionary": False, "write_statistics": False},
        {"write_page_index": True},
        {"data_page_version": "2.0"},
        {"row_group_size": 7},
    ],
    ids=str,
)
def test_the_parts_one_after_the_other(tmp_path, options):
    parts = [written(tmp_path / f"{n}.parquet", table(100 * n + 1, n), **options) for n in range(4)]
    whole = spliced(parts, tmp_path / "whole.parquet")
    assert pa.concat_tables([pq.read_table(each) for each in parts]).equals(pq.read_table(whole))
    metadata = pq.read_metadata(whole)
    assert metadata.num_row_groups == sum(pq.read_metadata(each).num_row_groups for each in parts)
    assert pq.read_metadata(parts[0]).created_by == metadata.created_by


def test_every_row_group_can_be_read_alone(tmp_path):
    parts = [written(tmp_path / f"{n}.parquet", table(50, n), row_group_size=10) for n in range(3)]
    whole = pq.ParquetFile(spliced(parts, tmp_path / "whole.parquet"))
    for number in range(15):
        expected = pq.ParquetFile(parts[number // 5]).read_row_group(number % 5)
        assert expected.equals(whole.read_row_group(number))
        statistics = whole.metadata.row_group(number).column(0).statistics
        assert (min(expected["number"].to_pylist()), 10) == (statistics.min, statistics.num_values)


def test_parts_without_rows_are_parts(tmp_path):
    parts = [written(tmp_path / f"{n}.parquet", table(rows)) for n, rows in enumerate((0, 5, 0))]
    assert table(5).num_rows == pq.read_table(spliced(parts, tmp_path / "whole.parquet")).num_rows
    only = spliced(parts[:1], tmp_path / "empty.parquet")
    assert 0 == pq.read_table(only).num_rows


def test_a_spliced_file_can_be_spliced_again(tmp_path):
    one = spliced([written(tmp_path / f"{n}.parquet", table(20, n)) for n in range(2)], tmp_path / "one.parquet")
    again = spliced([one, one], tmp_path / "again.parquet")
    assert pa.concat_tables([pq.read_table(one)] * 2).equals(pq.read_table(again))


def test_another_schema_is_refused(tmp_path):
    splice = Splice(tmp_path / "whole.parquet")
    splice.add(written(tmp_path / "a.parquet", table(3)))
    with pytest.raises(SpliceError, match="another schema"):
        splice.add(written(tmp_path / "b.parquet", table(3).drop_columns(["flag"])))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"x" * 50, MAGIC + b"\xff\xff\xff\x7f" + MAGIC], ids=len)
def test_what_is_no_parquet_file_is_refused(tmp_path, content):
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(SpliceError, match="not a Parquet file"):
        Splice(tmp_path / "whole.parquet").add(tmp_path / "a.parquet")


def test_no_parts_make_no_file(tmp_path):
    with pytest.raises(SpliceError, match="no parts"):
        Splice(tmp_path / "whole.parquet").close()
