"""Rows as text that other programs read back: CSV and JSON lines (rules X)."""

import csv
import io
import json

import pyarrow as pa
import pytest

from quaestor.smf.arrow_schema import columns_of, schema
from quaestor.smf.catalog import CATALOG, SECTIONS
from quaestor.smf.columns import decode
from quaestor.smf.sections.task import TaskIdentification
from quaestor.smf.text_tables import TextFile, TextPieces, flat, json_lines
from quaestor.smf.writer import RecordIdentity, build_record
from smf.rows import WHEN_US, block_of, random_record

AWKWARD = ['A"B', "A,B", "A'B", "A;B", "A\\B", "A{B}", "<A>"]


def queues(names):
    made = [SECTIONS["QQST"](queue=name) for name in names]
    identity = RecordIdentity("SYSA", "QM1A", "10.0.0")
    return decode(block_of([build_record(CATALOG[115, 216], made, identity, WHEN_US)]), dictionary=True).tables["QQST"]


def written(tmp_path, to, table, structure):
    """A file out of two pieces."""
    layout = SECTIONS[structure].LAYOUT
    target = TextFile(tmp_path / f"{structure}.{to}", layout, "human")
    for number, half in enumerate((table[: len(table) // 2], table[len(table) // 2 :])):
        folder = tmp_path / str(number)
        folder.mkdir()
        pieces = TextPieces(folder, to, "human")
        pieces.add(layout, half)
        target.add(pieces.close()[structure])
    target.close()
    return (tmp_path / f"{structure}.{to}").read_text(encoding="utf-8")


def test_awkward_names_survive_csv(tmp_path):
    rows = list(csv.DictReader(io.StringIO(written(tmp_path, "csv", queues(AWKWARD), "QQST"))))
    assert AWKWARD == [row["queue"] for row in rows]


def test_awkward_names_survive_json(tmp_path):
    lines = written(tmp_path, "jsonl", queues(AWKWARD), "QQST").splitlines()
    assert AWKWARD == [json.loads(line)["queue"] for line in lines]


def test_line_ends_inside_text_do_not_break_json_lines():
    """Random bytes are text too: next line (x15, x25) and separators among them."""
    table = pa.table({"name": ["a\nb", "c\u0085d", "e\u2028f", "\x1c\x00"], "number": [1, None, 3, 4]})
    text = bytes(json_lines(table.to_batches()[0])).decode()
    assert 4 == len(text.splitlines())
    assert table.to_pylist() == [json.loads(line) for line in text.splitlines()]


def test_null_is_empty_in_csv_and_null_in_json(tmp_path):
    section = build_record(CATALOG[115, 2], [SECTIONS["QMST"](opens=5)], RecordIdentity("S", "Q", "8.0"), WHEN_US)
    table = decode(block_of([section])).tables["QMST"]
    (row,) = csv.DictReader(io.StringIO(written(tmp_path, "csv", table, "QMST")))
    assert ("5", "") == (row["opens"], row["persistent_puts"])
    line = json.loads(bytes(json_lines(table.to_batches()[0])))
    assert (5, None) == (line["opens"], line["persistent_puts"])


def test_tokens_are_hexadecimal(tmp_path):
    who = TaskIdentification(network_id=bytes(range(16)))
    data = build_record(CATALOG[116, 1], [who], RecordIdentity("S", "Q", "8.0"), WHEN_US)
    table = decode(block_of([data])).tables["WTID"]
    (row,) = csv.DictReader(io.StringIO(written(tmp_path, "csv", table, "WTID")))
    assert "000102030405060708090A0B0C0D0E0F" == row["network_id"]
    assert row["network_id"] == json.loads(bytes(json_lines(table.to_batches()[0])))["network_id"]


def test_arrays_of_any_length_fill_their_columns():
    """A short section keeps the elements inside; those it lacks are empty (X1)."""
    whole = random_record(CATALOG[115, 2], "8.0", 1)
    batch = decode(block_of([whole])).tables["QTST"].combine_chunks().to_batches()[0]
    short = batch.set_column(
        batch.schema.get_field_index("publishes"), "publishes", pa.array([[7]], batch.schema.field("publishes").type)
    )
    wide = flat(short, SECTIONS["QTST"].LAYOUT, "human").to_pylist()[0]
    assert (7, None, None) == tuple(wide[f"publishes_{number}"] for number in range(3))
    missing = batch.set_column(
        batch.schema.get_field_index("publishes"), "publishes", pa.array([None], batch.schema.field("publishes").type)
    )
    wide = flat(missing, SECTIONS["QTST"].LAYOUT, "human").to_pylist()[0]
    assert (None, None, None) == tuple(wide[f"publishes_{number}"] for number in range(3))


def test_lists_and_blocks_may_be_null_or_empty_in_json():
    inner = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.float64()))])
    values = [{"x": 1, "y": [0.5, None]}, None, {"x": None, "y": None}, {"x": 2, "y": []}]
    table = pa.table({"block": pa.array(values, inner), "lists": pa.array([values, None, [], [None]], pa.list_(inner))})
    found = [json.loads(line) for line in bytes(json_lines(table.to_batches()[0])).splitlines()]
    assert table.to_pylist() == found


def test_a_slice_of_a_table_is_only_that_slice():
    table = decode(block_of([random_record(CATALOG[115, 215], "8.0", 1, occurrences=6)])).tables["QPST"]
    found = [json.loads(line) for line in bytes(json_lines(table[2:4].combine_chunks().to_batches()[0])).splitlines()]
    assert table["buffer_pool"].to_pylist()[2:4] == [row["buffer_pool"] for row in found]
    tokens = decode(block_of([random_record(CATALOG[116, 10], "8.0", 1, occurrences=6)])).tables["QCST"]
    wide = flat(tokens[3:5].to_batches()[0], SECTIONS["QCST"].LAYOUT, "human").to_pylist()
    assert [each.hex().upper() for each in tokens["certificate_serial"].to_pylist()[3:5]] == [
        row["certificate_serial"] for row in wide
    ]


@pytest.mark.parametrize("names", ["human", "official"])
@pytest.mark.parametrize("structure", SECTIONS)
def test_no_two_columns_of_a_csv_share_a_name(structure, names):
    section = SECTIONS[structure]
    wide = flat(pa.RecordBatch.from_pylist([], schema(section, names)), section.LAYOUT, names)
    assert len(wide.schema.names) == len(set(wide.schema.names))
    assert len(wide.schema.names) >= len(columns_of(section.LAYOUT, names))
