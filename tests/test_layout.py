"""One class body, every use (rules L1 to L6)."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor import layout
from quaestor.layout import (
    CODE_PAGES,
    LARGEST,
    Add,
    Record,
    at,
    block,
    block_id,
    block_length,
    count,
    dtype_spec,
    elapsed,
    eye_catcher,
    low,
    pack,
    record,
    saturated,
    text,
    token,
    unpack,
)


@record("INNER", size=12)
class Inner(Record):
    """An element of an array."""

    calls: count = at(0, "CALLS", "calls")
    took: elapsed = at(4, "TOOK", "time")


@record("OUTER", size=68)
class Outer(Record):
    """A little of everything."""

    id: block_id = at(0, "ID", "block id", default=0xD30F)
    length: block_length = at(2, "LL", "length")
    eye: eye_catcher = at(4, "EYE", "eye-catcher", size=4, default="OUTR")
    puts: count = at(8, "PUTS", "puts")
    smallest: low = at(12, "SMALL", "smallest", wire="i4", unset=0x0FFFFFFF)
    name: text = at(16, "NAME", "name", size=8)
    uow: token = at(24, "UOW", "unit of work", size=8)
    calls: block = at(32, "CALLS", "calls by kind", of=Inner, shape=(3,))


# (record, its bytes in hex)
KNOWN = [
    (
        Outer(puts=1, smallest=-1, name="Q1", uow=b"\x01" * 8),
        "d30f0044d6e4e3d900000001ffffffffd8f140404040404001010101010101" + "01" + "00" * 36,
    ),
    (Inner(calls=7, took=4096), "000000070000000000001000"),
]


@pytest.mark.parametrize(("made", "hexed"), KNOWN)
def test_known_bytes(made, hexed):
    data = bytes.fromhex(hexed)
    assert data == pack(made)
    assert made == unpack(type(made), data)
    assert made == unpack(type(made), b"??" + data + b"??", offset=2)
    assert len(data) == made.LAYOUT.size


OUTERS = st.builds(
    Outer,
    puts=st.integers(0, 2**32 - 1),
    smallest=st.integers(-(2**31), 2**31 - 1),
    uow=st.binary(min_size=8, max_size=8),
)


@given(OUTERS)
def test_round_trip(made):
    assert made == unpack(Outer, pack(made))


@pytest.mark.parametrize("length", range(69))
def test_a_shorter_section_has_absent_fields_never_zero_ones(length):
    """Every cut: what lies wholly inside is there, the rest is None (L2); arrays keep whole elements (L3)."""
    made = Outer(puts=9, name="QUEUE", calls=[Inner(calls=1), Inner(calls=2), Inner(calls=3)])
    cut = unpack(Outer, pack(made)[:length] if length else b"", 0, length)
    for each in Outer.LAYOUT.fields:
        inside = each.end <= length
        found = getattr(cut, each.name)
        if each.shape and each.offset + 12 <= length:
            assert (length - each.offset) // 12 == len(found)
        else:
            assert inside == (found is not None)
    assert list(dtype_spec(Outer, length)["names"]) == [
        e.name for e in Outer.LAYOUT.fields if getattr(cut, e.name) is not None
    ]


def test_a_longer_section_keeps_what_we_know():
    data = pack(Outer(puts=3), 80)
    assert 80 == len(data)
    assert 80 == unpack(Outer, data, 0, 80).length
    assert 3 == unpack(Outer, data, 0, 80).puts


def test_block_length_is_the_length_written():
    assert [40, 68] == [unpack(Outer, pack(Outer(), n), 0, n).length for n in (40, 68)]


def test_dtype_reads_the_same_values():
    made = Outer(puts=5, calls=[Inner(calls=i, took=i << 12) for i in range(3)])
    row = np.frombuffer(pack(made), dtype=np.dtype(dtype_spec(Outer)))[0]
    assert 5 == row["puts"]
    assert [0, 1, 2] == row["calls"]["calls"].tolist()


def test_intervals_add_up_as_their_kind_says():
    found = {each.name: each.kind.add for each in Outer.LAYOUT.fields if each.kind.shown}
    assert {"puts": Add.SUM, "smallest": Add.MIN, "name": Add.KEY, "uow": Add.NONE, "calls": Add.NONE} == found


def test_columns_put_the_unit_last():
    assert ["calls", "took_us"] == [each.column for each in Inner.LAYOUT.fields]


def test_a_field_is_found_by_either_name():
    assert Outer.LAYOUT["puts"] is Outer.LAYOUT["PUTS"]
    with pytest.raises(KeyError, match="OUTER has no field NOPE"):
        _ = Outer.LAYOUT["NOPE"]


def test_offsets_are_asserted_at_import():
    with pytest.raises(AssertionError, match=r"BAD.B: declared at 6, follows a field that ends at 4"):

        @record("BAD", size=12)
        class Bad(Record):
            a: count = at(0, "A", "a")
            b: count = at(6, "B", "b")

    with pytest.raises(AssertionError, match="fields end at 4, size is 8"):

        @record("SHORT", size=8)
        class Short(Record):
            a: count = at(0, "A", "a")


def test_unknown_fields_are_refused():
    with pytest.raises(TypeError, match="Inner has no field depth"):
        Inner(depth=1)


def test_defaults_are_not_shared():
    one, other = Outer(), Outer()
    one.calls[0].calls += 1
    assert 0 == other.calls[0].calls
    assert one != other


def test_records_of_other_classes_are_not_equal():
    assert Inner() != Outer()


def test_repr_shows_what_was_counted():
    assert "Inner(calls=2)" == repr(Inner(calls=2))


@pytest.mark.parametrize("name", CODE_PAGES)
def test_names_read_alike_in_every_code_page(name):
    page = CODE_PAGES[name]
    assert "SYSTEM.CHANNEL.SYNCQ" == page.decode(page.encode("SYSTEM.CHANNEL.SYNCQ", 48))


def test_code_pages_differ_where_they_should():
    """Square brackets and the caret stand elsewhere in 1047 than in 037."""
    brackets = {name: page.encode("[^]", 3).hex() for name, page in CODE_PAGES.items()}
    assert ("ad5fbd", "bab0bb", "4a5f5a") == (brackets["1047"], brackets["037"], brackets["500"])


def test_every_byte_survives_code_page_1047():
    page = CODE_PAGES["1047"]
    for value in range(1, 256):
        if value != 0x40:
            one = bytes([value])
            assert one == page.encode(page.decode(one + b"\xc1")[:1], 1)


@pytest.mark.parametrize("size", [9, 20])
def test_a_token_too_long_for_its_field_is_refused(size):
    with pytest.raises(ValueError, match=f"UOW of {size} bytes does not fit in 8"):
        pack(Outer(uow=bytes(size)))


def test_a_token_shorter_than_its_field_is_filled_with_zeros():
    assert b"\1\2" + bytes(6) == unpack(Outer, pack(Outer(uow=b"\1\2"))).uow


@pytest.mark.parametrize(
    ("wire", "most"),
    [
        ("u1", 255),
        ("u2", 65_535),
        ("u4", 4_294_967_295),
        ("u8", 18_446_744_073_709_551_615),
        ("i2", 32_767),
        ("i4", 2_147_483_647),
        ("i8", 9_223_372_036_854_775_807),
    ],
)
def test_the_largest_number_of_a_wire_form_is_the_last_that_packs(wire, most):
    @record("ONE", size=int(wire[1]))
    class One(Record):
        n: count = at(0, "N", "n", wire=wire)

    assert most == LARGEST[wire] == unpack(One, pack(One(n=most))).n
    with pytest.raises(struct.error):
        pack(One(n=most + 1))
    assert [most, most, 0, 5] == [saturated(One(n=n)).n for n in (most + 1, 2**70, 0, 5)]


def test_a_record_is_saturated_in_blocks_and_arrays_and_stays_as_it_was():
    made = Outer(puts=2**32, smallest=2**31, name="Q", calls=[Inner(calls=2**40, took=2**64), Inner(calls=1), Inner()])
    kept = saturated(made)
    assert (
        Outer(
            puts=2**32 - 1,
            smallest=2**31 - 1,
            name="Q",
            calls=[Inner(calls=2**32 - 1, took=2**64 - 1), Inner(calls=1), Inner()],
        )
        == kept
    )
    assert (2**32, 2**40) == (made.puts, made.calls[0].calls)
    assert kept == unpack(Outer, pack(kept))


def test_an_absent_field_stays_absent_when_saturated():
    cut = unpack(Outer, pack(Outer())[:20], 0, 20)
    assert (None, None) == (saturated(cut).name, saturated(cut).calls)


def test_text_too_long_for_its_field_is_refused():
    with pytest.raises(ValueError, match="does not fit in 8 bytes"):
        pack(Outer(name="TOO.LONG.NAME"))


# --- arrays of arrays ------------------------------------------------------------------------------------------------


@record("GRID", size=60)
class Grid(Record):
    """Two words, a table of two rows of three halfwords, two rows of two blocks."""

    first: count = at(0, "FIRST", "first")
    cells: count = at(4, "CELLS", "cells", wire="u2", shape=(2, 3))
    pairs: block = at(16, "PAIRS", "pairs", of=Inner, shape=(2, 1))
    names: text = at(40, "NAMES", "names", size=4, shape=(4,))
    last: count = at(56, "LAST", "last")


GRID = Grid(
    first=1,
    cells=[[1, 2, 3], [4, 5, 6]],
    pairs=[[Inner(calls=7)], [Inner(calls=8, took=9)]],
    names=["A", "BB", "", "DDDD"],
    last=10,
)


def test_a_table_of_rows_survives_the_round_trip():
    data = pack(GRID)
    assert "00000001000100020003000400050006" == data[:16].hex()
    assert GRID == unpack(Grid, data)
    row = np.frombuffer(data, dtype=np.dtype(dtype_spec(Grid)))[0]
    assert [[1, 2, 3], [4, 5, 6]] == row["cells"].tolist()
    assert [[7], [8]] == row["pairs"]["calls"].tolist()


@pytest.mark.parametrize(
    ("length", "cells", "pairs", "names"),
    [
        (60, 2, 2, 4),
        (56, 2, 2, 4),
        (55, 2, 2, 3),
        (44, 2, 2, 1),
        (43, 2, 2, None),
        (40, 2, 2, None),
        (39, 2, 1, None),
        (28, 2, 1, None),
        (27, 2, None, None),
        (16, 2, None, None),
        (15, 1, None, None),
        (10, 1, None, None),
        (9, None, None, None),
        (4, None, None, None),
        (0, None, None, None),
    ],
)
def test_an_array_is_cut_by_whole_rows(length, cells, pairs, names):
    """L3: a row that does not lie wholly inside is not there, and nothing that follows it is."""
    cut = unpack(Grid, pack(GRID)[:length], 0, length)
    assert (cells, pairs, names) == tuple(
        None if found is None else len(found) for found in (cut.cells, cut.pairs, cut.names)
    )
    assert cut.cells == (None if cells is None else GRID.cells[:cells])
    assert cut.pairs == (None if pairs is None else GRID.pairs[:pairs])
    assert (length >= 60) == (cut.last is not None)
    assert pack(GRID, length) == pack(cut, length)


@pytest.mark.parametrize(
    ("made", "padded"),
    [
        (Grid(cells=[[1, 2, 3]]), [[1, 2, 3], [0, 0, 0]]),
        (Grid(cells=[[1], [2, 3]]), [[1, 0, 0], [2, 3, 0]]),
        (Grid(cells=None), [[0, 0, 0], [0, 0, 0]]),
        (Grid(cells=[]), [[0, 0, 0], [0, 0, 0]]),
    ],
)
def test_rows_that_are_missing_pack_as_zero(made, padded):
    assert padded == unpack(Grid, pack(made)).cells


def test_a_block_that_is_missing_packs_as_an_empty_one():
    assert [[Inner(calls=3)], [Inner()]] == unpack(Grid, pack(Grid(pairs=[[Inner(calls=3)], [None]]))).pairs


# --- kinds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "wire", "add", "unit", "shown"),
    [
        (layout.count, "u4", Add.SUM, "", True),
        (layout.octets, "u8", Add.SUM, "bytes", True),
        (layout.gauge, "u4", Add.LAST, "", True),
        (layout.high, "u4", Add.MAX, "", True),
        (layout.low, "u4", Add.MIN, "", True),
        (layout.average, "u4", Add.NONE, "", True),
        (layout.elapsed, "u8", Add.SUM, "us", True),
        (layout.longest, "u8", Add.MAX, "us", True),
        (layout.shortest, "u8", Add.MIN, "us", True),
        (layout.micros, "u4", Add.SUM, "us", True),
        (layout.micros_high, "u4", Add.MAX, "us", True),
        (layout.micros_low, "u4", Add.MIN, "us", True),
        (layout.micros_average, "u4", Add.NONE, "us", True),
        (layout.stamp, "u8", Add.LAST, "utc", True),
        (layout.local_stamp, "u8", Add.LAST, "local", True),
        (layout.text, "text", Add.KEY, "", True),
        (layout.code, "i4", Add.KEY, "", True),
        (layout.flags, "u4", Add.LAST, "", True),
        (layout.token, "bytes", Add.NONE, "", True),
        (layout.number, "u4", Add.KEY, "", True),
        (layout.block_id, "u2", Add.NONE, "", False),
        (layout.block_length, "u2", Add.NONE, "", False),
        (layout.eye_catcher, "text", Add.NONE, "", False),
        (layout.internal, "u4", Add.NONE, "", False),
        (layout.reserved, "bytes", Add.NONE, "", False),
    ],
)
def test_what_a_kind_says(annotation, wire, add, unit, shown):
    """L4: wire form, how intervals add up, unit, and whether people see it."""
    kind = annotation.__metadata__[0]
    assert (wire, add, unit, shown) == (kind.wire, kind.add, kind.unit, kind.shown)
    assert annotation is getattr(layout, kind.name)


@pytest.mark.parametrize(
    ("annotation", "interval", "column"),
    [
        (layout.elapsed, True, "it_us"),
        (layout.longest, True, "it_us"),
        (layout.shortest, True, "it_us"),
        (layout.micros, False, "it_us"),
        (layout.stamp, False, "it"),
        (layout.octets, False, "it"),
    ],
)
def test_intervals_of_the_clock_are_told_from_microseconds(annotation, interval, column):
    """L5: both show as microseconds, one of them is in TOD units inside the object."""
    body = {"__annotations__": {"it": annotation}, "it": at(0, "IT", "it"), "__doc__": "One field."}
    size = 8 if annotation.__metadata__[0].wire == "u8" else 4
    made = record("IT", size=size)(type("It", (Record,), body))
    each = made.LAYOUT["it"]
    assert (interval, column) == (each.is_tod_interval, each.column)


def test_a_name_that_ends_with_its_unit_gets_no_second_one():
    @record("UNIT", size=4)
    class Unit(Record):
        wait_us: layout.micros = at(0, "W", "wait")

    assert "wait_us" == Unit.LAYOUT["wait_us"].column


def test_a_structure_of_one_length_has_it_at_every_level():
    assert {"all": 12} == Inner.LAYOUT.lengths

    @record("GROWN", size=8, lengths={"5.2": 4, "7.0": 8})
    class Grown(Record):
        a: count = at(0, "A", "a")
        b: count = at(4, "B", "b")

    assert {"5.2": 4, "7.0": 8} == Grown.LAYOUT.lengths


# --- code pages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CODE_PAGES)
@given(data=st.binary(max_size=20))
def test_any_bytes_are_text_that_packs_as_the_same_bytes_but_for_the_fill(name, data):
    """L6: one character for each byte; what fills a field is blanks or nulls, and is written as blanks."""
    page = CODE_PAGES[name]
    kept = page.decode(data)
    assert len(kept) <= len(data)
    packed = page.encode(kept, 20)
    assert data.rstrip(b"\0\x40") + b"\x40" * (20 - len(data.rstrip(b"\0\x40"))) == packed
    assert kept == page.decode(packed)


@pytest.mark.parametrize("name", CODE_PAGES)
def test_a_blank_inside_a_name_is_part_of_it(name):
    page = CODE_PAGES[name]
    assert " A B" == page.decode(page.encode(" A B", 8))
    assert "" == page.decode(page.encode("", 8)) == page.decode(bytes(8))


def test_the_euro_is_what_1140_has_and_037_has_not():
    assert ("9f", "€") == (CODE_PAGES["1140"].encode("€", 1).hex(), CODE_PAGES["1140"].decode(b"\x9f"))
    with pytest.raises(UnicodeEncodeError):
        CODE_PAGES["037"].encode("€", 1)
    assert "¤" == CODE_PAGES["1047"].decode(b"\x9f")


def test_a_code_page_is_a_permutation_of_its_codec():
    for page in CODE_PAGES.values():
        assert 256 == len(set(page.permutation))
        assert bytes(range(256)) == page.permutation.translate(page.permutation)  # its own inverse
