"""What is exported is what was decoded: all formats, any number of processes, damaged dumps too (rules V, X, Z)."""

import csv
import gzip
import io
import json
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quaestor.smf import export as exporting
from quaestor.smf import parquet_tables
from quaestor.smf.arrow_schema import schema
from quaestor.smf.catalog import KINDS, SECTIONS
from quaestor.smf.columns import decode
from quaestor.smf.detection import Framing
from quaestor.smf.dump import DumpWriter
from quaestor.smf.export import ExportOptions, export
from quaestor.smf.framing import DumpReader
from quaestor.smf.text_tables import flat
from smf.dumps import REAL_DUMPS
from smf.rows import random_record
from smf.strategies import levels_of

SMALL = 15_000  # bytes of a part, so that small dumps have many


class Heard:
    """A listener that remembers."""

    def __init__(self):
        self.damages, self.count, self.unusable, self.size = [], 0, [], 0

    def damaged(self, path, damages, count):
        self.damages += damages
        self.count += count

    def cannot_use(self, path, reason):
        self.unusable.append((Path(path).name, reason))

    def read(self, size):
        self.size += size


def some_records():
    """Every record kind at its first, a middle and its last level, twice over."""
    for turn in range(2):
        for seed, kind in enumerate(kind for kind in KINDS if kind.slots):
            levels = levels_of(kind)
            for level in (levels[0], levels[len(levels) // 2], levels[-1]):
                yield random_record(kind, level, seed + 20 * turn)


def dump_bytes(framing=Framing.RDW, **options):
    stream = io.BytesIO()
    with DumpWriter(stream, framing, **options) as writer:
        for each in some_records():
            writer.write(each)
    return stream.getvalue()


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    path = tmp_path_factory.mktemp("dump") / "dump.smf"
    path.write_bytes(dump_bytes())
    return path


def read_once(data, **options):
    """Tables and damage from one sequential reading."""
    tables, damages = {}, []
    for block in DumpReader(io.BytesIO(data)).blocks():
        decoded = decode(block, **options)
        damages += decoded.damages
        for structure, table in decoded.tables.items():
            tables.setdefault(structure, []).append(table)
    return {structure: pa.concat_tables(each) for structure, each in tables.items()}, damages


def exported(paths, folder, processes=1, **options):
    heard = Heard()
    options = ExportOptions(**{"part_bytes": SMALL, **options})
    rows = export([str(each) for each in paths], folder, options, processes, heard)
    assert set(rows) == {path.stem for path in folder.iterdir()}
    return rows, heard


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- round trips -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", ["human", "official"])
def test_parquet_holds_what_was_decoded(dump, tmp_path, names):
    rows, heard = exported([dump], tmp_path / "out", names=names)
    expected, _ = read_once(dump.read_bytes(), names=names)
    assert set(SECTIONS) == set(rows)
    assert (0, dump.stat().st_size) == (heard.count, heard.size)
    for structure, table in expected.items():
        found = pq.read_table(tmp_path / "out" / f"{structure}.parquet")
        assert schema(SECTIONS[structure], names) == found.schema
        assert table.equals(found), structure
        assert rows[structure] == len(table)


def test_json_lines_hold_what_was_decoded(dump, tmp_path):
    exported([dump], tmp_path / "out", to="jsonl")
    for structure, table in read_once(dump.read_bytes())[0].items():
        lines = (tmp_path / "out" / f"{structure}.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        assert [as_json(row) for row in table.to_pylist()] == [json.loads(line) for line in lines], structure


def as_json(value):
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + ("Z" if value.tzinfo else "")
    return value.hex().upper() if isinstance(value, bytes) else value


@pytest.mark.parametrize("names", ["human", "official"])
def test_csv_lays_arrays_out_in_columns(dump, tmp_path, names):
    exported([dump], tmp_path / "out", to="csv", names=names)
    for structure, table in read_once(dump.read_bytes(), names=names)[0].items():
        with (tmp_path / "out" / f"{structure}.csv").open(encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
        wide = flat(table.combine_chunks().to_batches()[0], SECTIONS[structure].LAYOUT, names)
        assert wide.schema.names == header
        for row, expected in zip(rows, wide.to_pylist(), strict=True):
            assert [as_csv(each) for each in expected.values()] == [_number(each) for each in row], structure


def as_csv(value):
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", timespec="microseconds") + ("Z" if value.tzinfo else "")
    return _number(str(value))


def _number(text):
    """Text that means a number compares as that number: 1.0 and 1 are one value."""
    try:
        return float(text)
    except ValueError:
        return text


def test_csv_columns_are_named_by_place():
    names = flat(
        pa.RecordBatch.from_pylist([], schema(SECTIONS["WQST"])), SECTIONS["WQST"].LAYOUT, "human"
    ).schema.names
    assert 500 == len([name for name in names if name.startswith("cf_calls_")])
    assert "cf_calls_4_kinds_19_async_elapsed_us" == [name for name in names if name.startswith("cf_calls_")][-1]
    names = flat(
        pa.RecordBatch.from_pylist([], schema(SECTIONS["WTAS"])), SECTIONS["WTAS"].LAYOUT, "human"
    ).schema.names
    assert {"latch_waits_0", "latch_waits_31", "commit_cf_calls_kinds_0_requests"} <= set(names)


# --- processes and parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["parquet", "csv", "jsonl"])
def test_the_number_of_processes_cannot_be_told_from_the_files(dump, tmp_path, to):
    one, _ = exported([dump, dump], tmp_path / "one", 1, to=to)
    two, _ = exported([dump, dump], tmp_path / "two", 2, to=to)
    assert one == two
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["groups", "gathered"])
def test_large_and_small_pieces_keep_their_order(dump, tmp_path, monkeypatch, small):
    """Row groups are copied, small pieces gathered; both in the order of the dump (Z2)."""
    monkeypatch.setattr(parquet_tables, "SMALL_BYTES", small)
    monkeypatch.setattr(parquet_tables, "ROW_GROUP_ROWS", 40)
    exported([dump], tmp_path / "out")
    for structure, table in read_once(dump.read_bytes())[0].items():
        path = tmp_path / "out" / f"{structure}.parquet"
        assert table.equals(pq.read_table(path))
        metadata = pq.read_metadata(path)
        assert all(metadata.row_group(n).num_rows <= 40 for n in range(metadata.num_row_groups))


def test_a_mixture_of_both_kinds_of_pieces(dump, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_tables, "SMALL_BYTES", 6000)
    exported([dump], tmp_path / "out", 2)
    for structure, table in read_once(dump.read_bytes())[0].items():
        assert table.equals(pq.read_table(tmp_path / "out" / f"{structure}.parquet"))


@pytest.mark.parametrize(
    ("framing", "options"),
    [
        (Framing.RDW, {"compress": True}),
        (Framing.RDW, {"spanned": True, "block_bytes": 4000}),
        (Framing.BDW, {}),
        (Framing.BDW, {"spanned": True, "block_bytes": 4000}),
        (Framing.STRIPPED, {}),
    ],
    ids=str,
)
def test_every_framing(dump, tmp_path, framing, options):
    other = tmp_path / "other"
    other.write_bytes(dump_bytes(framing, **options))
    rows, heard = exported([other], tmp_path / "out", 2)
    assert [] == heard.damages
    for structure, table in read_once(dump.read_bytes())[0].items():
        found = pq.read_table(tmp_path / "out" / f"{structure}.parquet")
        assert table.drop_columns(["position"]).equals(found.drop_columns(["position"]))
        assert rows[structure] == len(table)


def test_only_the_structures_asked_for(dump, tmp_path):
    rows, _ = exported([dump], tmp_path / "out", structures=("WQST", "QPST"))
    assert {"WQST", "QPST"} == set(rows)


# --- damage ----------------------------------------------------------------------------------------------------------


DAMAGE = {
    "zeros in the middle": lambda data, half: data[:half] + bytes(5000) + data[half + 5000 :],
    "bytes lost": lambda data, half: data[:half] + data[half + 777 :],
    "cut short": lambda data, half: data[: half + 12_345],
    "holes everywhere": lambda data, _: b"".join(data[at : at + 8_000] for at in range(0, len(data), 8_100)),
    "garbage in front": lambda data, _: b"\x13\x37" * 100 + data,
}


def damaged(what):
    data = dump_bytes()
    return DAMAGE[what](data, len(data) // 2)


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.parametrize("part_bytes", [7_000, SMALL])
def test_a_damaged_dump_gives_the_same_whatever_its_parts(tmp_path, what, part_bytes):
    """A part that does not land on its end is read again with what follows (Y3)."""
    path = tmp_path / "damaged"
    path.write_bytes(data := damaged(what))
    expected, damages = read_once(data)
    rows, heard = exported([path], tmp_path / "out", 2, part_bytes=part_bytes)
    assert damages
    assert damages == heard.damages
    assert {structure: len(table) for structure, table in expected.items()} == rows
    for structure, table in expected.items():
        assert table.equals(pq.read_table(tmp_path / "out" / f"{structure}.parquet"))


def test_damages_are_named_up_to_a_number_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "_MOST_DAMAGES", 3)
    path = tmp_path / "damaged"
    path.write_bytes(data := damaged("holes everywhere"))
    _, heard = exported([path], tmp_path / "out", part_bytes=10**9)
    assert (3, len(read_once(data)[1])) == (len(heard.damages), heard.count)


def test_a_dump_that_cannot_be_used_does_not_stop_the_others(dump, tmp_path):
    (tmp_path / "zeros").write_bytes(bytes(50_000))
    (tmp_path / "empty").write_bytes(b"")
    paths = [tmp_path / "missing", tmp_path / "zeros", dump, tmp_path / "empty", tmp_path]
    rows, heard = exported(paths, tmp_path / "out", 2)
    assert rows == {structure: len(table) for structure, table in read_once(dump.read_bytes())[0].items()}
    reasons = dict(heard.unusable)
    assert {"missing", "zeros", "empty", tmp_path.name} == set(reasons)
    assert ("no such file", "is a directory") == (reasons["missing"], reasons[tmp_path.name])


@pytest.mark.parametrize("cut", [0, 30])
def test_a_dump_given_twice_is_written_twice(dump, tmp_path, cut):
    """Its damaged end is nobody else's: the parts of the second one are not read again with it (V2)."""
    whole = dump.read_bytes()
    path = tmp_path / "again.smf"
    path.write_bytes(whole[: len(whole) - cut])
    once, _ = exported([path], tmp_path / "one")
    twice, listener = exported([path, path], tmp_path / "two")
    assert {structure: 2 * rows for structure, rows in once.items()} == twice
    assert (2 if cut else 0) == len(listener.damages)


def test_nothing_usable_writes_nothing(tmp_path):
    (tmp_path / "zeros").write_bytes(bytes(50_000))
    rows, heard = exported([tmp_path / "zeros"], tmp_path / "out")
    assert ({}, 1) == (rows, len(heard.unusable))


def test_a_broken_gzip_stream_delivers_what_came_before(tmp_path):
    path = tmp_path / "dump.gz"
    path.write_bytes(gzip.compress(dump_bytes())[:-2000])
    rows, heard = exported([path], tmp_path / "out")
    assert rows
    assert "gzip" in heard.damages[-1].reason


# --- all or nothing --------------------------------------------------------------------------------------------------


def test_a_run_that_fails_leaves_everything_as_it_was(dump, tmp_path, monkeypatch):
    out = tmp_path / "out"
    exported([dump], out)
    before = contents(out)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet_tables.ParquetFile, "close", full)
    with pytest.raises(OSError, match="No space left"):
        exported([dump, dump], out)
    assert before == contents(out)
    assert not list(out.glob(".quaestor-export-*"))


def test_files_appear_when_all_is_done(dump, tmp_path):
    seen = []

    class Watching(Heard):
        def read(self, size):
            seen.append({path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")})

    export([str(dump)], tmp_path / "out", ExportOptions(part_bytes=SMALL), 1, Watching())
    assert len(seen) > 5
    assert all(each == set() for each in seen)


@pytest.mark.real
@pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")
@pytest.mark.parametrize("to", ["parquet", "csv", "jsonl"])
def test_the_real_dumps_in_one_go(tmp_path, to):
    rows, heard = exported(REAL_DUMPS, tmp_path / "out", 2, to=to, part_bytes=300_000)
    assert ([], []) == (heard.damages, heard.unusable)
    tables = [read_once(path.read_bytes())[0] for path in REAL_DUMPS]
    assert rows == {name: sum(len(each.get(name, ())) for each in tables) for name in rows}
    assert (16, 24) == (rows["QCT_DNS"], rows["WQST"])
