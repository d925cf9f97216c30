"""What is in the Parquet files besides the rows: dictionaries, statistics, compression, row groups (rules Z)."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.smf import parquet_tables
from quaestor.smf.catalog import CATALOG, SECTIONS
from quaestor.smf.columns import decode
from quaestor.smf.parquet_splice import _number, _signed, _skip, _unsigned, _varint
from quaestor.smf.parquet_tables import ParquetFile, ParquetPieces, leaves
from smf.rows import block_of, random_record

HOMES = {"QPST": (115, 215), "QJST": (115, 1), "QEST": (115, 2), "WTAS": (116, 1), "WQST": (116, 1), "QCST": (116, 10)}


def table_of(structure, records=3):
    made = [random_record(CATALOG[HOMES[structure]], "10.0.0", seed) for seed in range(records)]
    return decode(block_of(made), dictionary=True).tables[structure]


def layout(structure):
    return SECTIONS[structure].LAYOUT


def written(tmp_path, structure, *tables, name="out"):
    """A file out of one piece for each table."""
    target = ParquetFile(tmp_path / f"{name}.parquet", layout(structure), "human")
    for number, each in enumerate(tables):
        folder = tmp_path / f"{name}-{number}"
        folder.mkdir()
        pieces = ParquetPieces(folder, "human")
        pieces.add(layout(structure), each)
        target.add(pieces.close()[structure])
    target.close()
    return tmp_path / f"{name}.parquet"


def columns(path):
    """Every leaf column of the first row group by its path, and the type of each in Arrow."""
    metadata = pq.read_metadata(path)
    found = (metadata.row_group(0).column(number) for number in range(metadata.num_columns))
    types = dict(leaf for field in pq.read_schema(path) for leaf in leaves(field))
    return {each.path_in_schema: each for each in found}, types


@pytest.mark.parametrize("structure", HOMES)
@pytest.mark.parametrize("small", [0, 1 << 30], ids=["groups", "gathered"])
def test_each_column_is_written_as_it_is_used(tmp_path, monkeypatch, structure, small):
    """Z1, Z4, Z6: dictionaries for text, statistics for what one selects by, lz4 for what is inside arrays."""
    monkeypatch.setattr(parquet_tables, "SMALL_BYTES", small)
    found, types = columns(written(tmp_path, structure, table_of(structure), table_of(structure, 2)))
    assert set(types) == set(found)
    for path, column in found.items():
        text = pa.types.is_string(types[path])
        assert text == ("RLE_DICTIONARY" in column.encodings), path
        assert ("LZ4" if "." in path else "SNAPPY") == column.compression, path
        selects = "." not in path and not (pa.types.is_int64(types[path]) or pa.types.is_floating(types[path]))
        assert (selects or path in ("position", "interval_us")) == column.is_stats_set, path


@pytest.mark.parametrize("structure", HOMES)
def test_the_file_says_nothing_of_arrow(tmp_path, structure):
    """Z5: any reader sees strings, lists and timestamps."""
    path = written(tmp_path, structure, table_of(structure))
    assert b"ARROW:schema" not in (pq.read_metadata(path).metadata or {})
    assert not any(pa.types.is_dictionary(field.type) for field in pq.read_schema(path))


@pytest.mark.parametrize(("rows", "groups"), [(3, [3]), (4, [4]), (5, [4, 1]), (11, [4, 4, 3])])
def test_a_row_group_holds_so_many_rows_at_most(tmp_path, monkeypatch, rows, groups):
    """Z2."""
    monkeypatch.setattr(parquet_tables, "ROW_GROUP_ROWS", 4)
    table = table_of("WTAS", rows)
    for small in (0, 1 << 30):
        monkeypatch.setattr(parquet_tables, "SMALL_BYTES", small)
        path = written(tmp_path, "WTAS", table, name=f"out{small}")
        metadata = pq.read_metadata(path)
        assert groups == [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        assert table.cast(pq.read_schema(path)).equals(pq.read_table(path))


def test_a_group_is_written_when_its_rows_take_too_much_memory(tmp_path, monkeypatch):
    table = table_of("WQST")
    monkeypatch.setattr(parquet_tables, "ROW_GROUP_BYTES", table.nbytes)
    pieces = ParquetPieces(tmp_path, "human")
    for _ in range(3):
        pieces.add(layout("WQST"), table)
    path = pieces.close()["WQST"]
    metadata = pq.read_metadata(path)
    assert [len(table)] * 3 == [metadata.row_group(number).num_rows for number in range(3)]


def test_small_pieces_are_gathered_and_large_ones_copied(tmp_path, monkeypatch):
    """A small piece stays in Arrow's own format until the file's owner makes a row group of several (Z2)."""
    table = table_of("QPST")
    monkeypatch.setattr(parquet_tables, "SMALL_BYTES", int(1.5 * table.nbytes))
    folders = [tmp_path / str(number) for number in range(5)]
    found = []
    for number, folder in enumerate(folders):
        folder.mkdir()
        pieces = ParquetPieces(folder, "human")
        for _ in range(3 if number == 2 else 1):
            pieces.add(layout("QPST"), table)
        found.append(pieces.close()["QPST"])
    assert [".arrow", ".arrow", ".parquet", ".arrow", ".arrow"] == [each.suffix for each in found]
    target = ParquetFile(tmp_path / "QPST.parquet", layout("QPST"), "human")
    for each in found:
        target.add(each)
    target.close()
    metadata = pq.read_metadata(tmp_path / "QPST.parquet")
    rows = len(table)
    assert [2 * rows, 3 * rows, 2 * rows] == [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["0", "1", "2", "3", "4", "QPST.parquet"]
    whole = pa.concat_tables([table] * 7)
    assert whole.cast(pq.read_schema(tmp_path / "QPST.parquet")).equals(pq.read_table(tmp_path / "QPST.parquet"))


def test_leaves_bear_the_paths_of_parquet():
    nested = pa.list_(
        pa.field("element", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.field("element", pa.string())))]))
    )
    assert [("a.list.element.x", pa.int32()), ("a.list.element.y.list.element", pa.string())] == leaves(
        pa.field("a", nested)
    )
    assert [("b", pa.int64())] == leaves(pa.field("b", pa.int64()))


# --- numbers of the footer -------------------------------------------------------------------------------------------


@given(st.integers(0, 2**64 - 1), st.binary(max_size=3))
def test_unsigned_numbers_go_there_and_back(value, behind):
    data = _unsigned(value)
    assert (value, len(data)) == _varint(data + behind, 0)
    assert len(data) == max(1, -(-value.bit_length() // 7))


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_signed_numbers_go_there_and_back(value, before):
    data = _signed(value)
    assert (value, len(before + data)) == _number(before + data, len(before))
    assert len(data) == _skip(data, 0, 6)


@pytest.mark.parametrize(
    ("value", "data"), [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (-64, "7f"), (64, "8001"), (-65, "8101")]
)
def test_zigzag_as_the_protocol_has_it(value, data):
    assert data == _signed(value).hex()


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (1, ""),  # true: the type is the value
        (2, ""),
        (3, "05"),  # byte
        (4, "8001"),
        (7, "0000000000000840"),  # double
        (8, "03414243"),  # binary
        (9, "35" + "8001" + "02" + "03"),  # a list of three numbers, the first of two bytes
        (9, "2101" + "02"),  # list of two booleans, a byte each
        (9, "f510" + "02" * 16),  # a long list
        (12, "1502" + "00"),  # a struct of one i32
        (12, "0502" + "02" + "00"),  # with its field number in full
        (12, "00"),
    ],
)
def test_a_value_is_skipped_to_its_end(kind, data):
    raw = bytes.fromhex(data)
    assert len(raw) == _skip(raw + b"\xff\xff", 0, kind)
