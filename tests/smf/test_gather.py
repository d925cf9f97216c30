"""Rows out of a buffer and numbers out of rows, one by one against `struct` (rules G and A)."""

import random
import struct
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.clock import us_from_tod
from quaestor.layout import CODE_PAGES, CP1047
from quaestor.smf.arrays import CodeNames, Stack, Values, bitmap, numbers, primitive, strings, texts, validity
from quaestor.smf.gather import Bulk, bulk_columns, gather
from quaestor.smf.memory import keep_freed_memory

CODES = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i2": "h", "i4": "i", "i8": "q"}
UTC = pa.timestamp("us", tz="UTC")


def buffer(size, seed=1):
    return np.frombuffer(random.Random(seed).randbytes(size), np.uint8)


def row_bytes(rows, number):
    return bytes(rows.data.tobytes()[number * rows.stride : (number + 1) * rows.stride])


# --- gather ----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 300), st.lists(st.tuples(st.integers(0, 250), st.integers(0, 60)), min_size=1, max_size=20))
@settings(deadline=None)
def test_every_row_begins_with_its_section(size, places):
    """At the end of the buffer too, where a longer row would reach over it (G1, G2)."""
    data = buffer(size)
    inside = [(at, length) for at, length in places if at + length <= size] or [(0, min(size, 3))]
    offsets, lengths = (np.array(each, np.int64) for each in zip(*inside, strict=True))
    rows = gather(data, offsets, lengths, known=40)
    assert max(1, min(40, max(lengths))) == rows.stride
    for number, (at, length) in enumerate(inside):
        own = min(length, rows.stride)
        assert data[at : at + own].tobytes() == row_bytes(rows, number)[:own]


def test_rows_know_who_reaches_how_far():
    lengths = np.array([10, 30, 20, 30], np.int64)
    rows = gather(buffer(100), np.zeros(4, np.int64), lengths, 40)
    assert rows.reach(10) is None
    assert [False, True, True, True] == rows.reach(11).tolist() == rows.reach(20).tolist()
    assert [False, True, False, True] == rows.reach(21).tolist()
    assert [False] * 4 == rows.reach(31).tolist()


def test_no_sections_make_no_rows():
    empty = np.zeros(0, np.int64)
    assert 0 == len(gather(buffer(10), empty, empty, 8))


# --- numbers in bulk -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", CODES)
@pytest.mark.parametrize("rows", [1, 3, 5000])
def test_whole_numbers_of_every_width(wire, rows):
    size = int(wire[1])
    offsets = [0, 8, 16, 40 - size]
    data = buffer(rows * 40, seed=rows)
    made = gather(data, np.arange(rows) * 40, np.full(rows, 40), 40)
    bulk = Bulk.of(wire, pa.int64(), [(at, at + size, None) for at in offsets])
    for at, column in zip(offsets, bulk_columns(made, bulk), strict=True):
        expected = [struct.unpack_from(f">{CODES[wire]}", data, row * 40 + at)[0] for row in range(rows)]
        assert [value if value < 2**63 else None for value in expected] == column.to_pylist()


def test_intervals_are_microseconds_however_long():
    values = [0, 1, 4096, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
    data = np.frombuffer(struct.pack(f">{len(values)}Q", *values), np.uint8)
    for chosen in (range(5), range(7)):  # with and without numbers that are no signed ones
        rows = gather(data, np.array([8 * each for each in chosen]), np.full(len(chosen), 8), 8)
        (column,) = bulk_columns(rows, Bulk.of("u8", pa.float64(), [(0, 8, None)]))
        assert [values[each] / 4096 for each in chosen] == column.to_pylist()


def test_an_instant_of_zero_was_never_set():
    values = [0, 2**52, 2**64 - 1]
    data = np.frombuffer(struct.pack(">3Q", *values), np.uint8)
    rows = gather(data, np.array([0, 8, 16]), np.full(3, 8), 8)
    (column,) = bulk_columns(rows, Bulk.of("u8", UTC, [(0, 8, None)]), leap_seconds=5)
    assert [None, *(us_from_tod(each, 5) for each in values[1:])] == column.cast(pa.int64()).to_pylist()


def test_what_was_never_set_is_null_and_so_is_what_a_short_section_lacks():
    data = np.frombuffer(struct.pack(">6I", 7, 9, 8, 7, 7, 9), np.uint8)
    rows = gather(data, np.array([0, 8, 16]), np.array([8, 4, 8]), 8)
    first, second = bulk_columns(rows, Bulk.of("u4", pa.int64(), [(0, 4, 7), (4, 8, 9)]))
    assert [None, 8, None] == first.to_pylist()
    assert [None, None, None] == second.to_pylist()


def test_a_field_that_no_section_reaches_is_null_throughout():
    rows = gather(buffer(64), np.array([0, 8]), np.array([8, 8]), 64)
    columns = bulk_columns(rows, Bulk.of("u4", pa.int64(), [(0, 4, None), (8, 12, None), (60, 64, None)]))
    assert [0, 2, 2] == [each.null_count for each in columns]


def test_a_code_that_is_none_is_null():
    data = np.frombuffer(struct.pack(">2I", 5, 2**31), np.uint8)
    rows = gather(data, np.array([0, 4]), np.array([4, 4]), 4)
    (column,) = bulk_columns(rows, Bulk.of("u4", pa.int32(), [(0, 4, None)]))
    assert [5, None] == column.to_pylist()


# --- arrays ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.none(), st.binary(min_size=6, max_size=6)), min_size=1, max_size=50))
@settings(deadline=None)
@pytest.mark.parametrize("name", CODE_PAGES)
def test_text_is_what_the_code_page_says(name, values):
    packed = np.frombuffer(b"".join(value or b"\xff" * 6 for value in values), "V6")
    valid = np.array([value is not None for value in values])
    found = texts(packed, 6, CODE_PAGES[name], valid)
    assert [None if each is None else CODE_PAGES[name].decode(each) for each in values] == found.to_pylist()
    assert len(set(found.dictionary.to_pylist())) == len(found.dictionary)


def test_large_dictionaries_are_text_too():
    values = [f"Q{number:05d}" for number in range(2000)]
    packed = np.frombuffer(b"".join(CP1047.encode(value, 8) for value in values), "V8")
    assert values == texts(packed, 8, CP1047).to_pylist()


def test_the_names_of_codes():
    names = CodeNames.of({-3: "below", 0: "none", 7: "seven"})
    codes = np.array([-(2**31), -4, -3, -2, 0, 6, 7, 8, 2**31 - 1, 7], np.int32)
    valid = np.array([True] * 9 + [False])
    assert [None, None, "below", None, "none", None, "seven", None, None, None] == names.column(
        codes, valid
    ).to_pylist()


def test_validity_goes_there_and_back():
    mask = np.array([True, False, True] * 7)
    array = primitive(pa.int32(), np.arange(21, dtype=np.int32), mask)
    assert mask.tolist() == validity(array).tolist()
    assert mask[5:].tolist() == validity(array[5:]).tolist()
    assert [5, 6] == numbers(array[5:7], np.int32).tolist()
    assert (
        bitmap(np.ones(9, np.bool_)) is bitmap(None) is validity(primitive(pa.int32(), np.zeros(3, np.int32))) is None
    )


def test_strings_are_any_text():
    values = ["", "A", "Größe", "日本", "x" * 1000]
    made = strings(values)
    made.validate(full=True)
    assert values == made.to_pylist()


def test_columns_of_both_widths_are_repeated():
    text = Values.of(pa.array(["A", None, "B"]).dictionary_encode())
    stacks = Stack.of(
        [
            ("narrow", pa.int32(), Values(np.array([1, 2, 3], np.int32), np.array([True, True, True]))),
            ("wide", pa.float64(), Values(np.array([0.5, 1.5, 2.5]), np.array([True, False, True]))),
            ("text", pa.string(), text),
        ]
    )
    places, there = np.array([2, 0, 1, 2]), np.array([True, True, True, False])
    found = {name: array.to_pylist() for stack in stacks for name, array in stack.repeat(places, there)}
    assert {"narrow": [3, 1, 2, None], "wide": [2.5, 0.5, None, None], "text": ["B", "A", None, None]} == found


def test_blank_text_can_be_no_text():
    made = Values.of(pa.array(["A", "", None]).dictionary_encode()).blank_is_null()
    assert [True, False, False] == made.valid.tolist()


# --- what it costs ---------------------------------------------------------------------------------------------------


def test_decoding_does_not_import_pandas():
    """It may be installed, for Spark; its import costs as much as decoding a hundred megabytes (A4)."""
    script = (
        "import sys; from smf.rows import block_of, random_record; from quaestor.smf.columns import decode;"
        "from quaestor.smf.catalog import KINDS;"
        "decode(block_of([random_record(kind, '10.0.0', 1) for kind in KINDS if kind.slots]), dictionary=True);"
        "sys.exit('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert 0 == done.returncode


def test_memory_is_kept_where_the_c_library_knows_how(monkeypatch):
    assert keep_freed_memory() in (True, False)
    monkeypatch.setattr(sys, "platform", "other")
    assert keep_freed_memory() is False
