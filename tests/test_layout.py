"""One class body, every use (rules L1 to L6)."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    rollups,
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
    assert {"puts": Add.SUM, "smallest": Add.MIN, "name": Add.KEY, "uow": Add.NONE, "calls": Add.NONE} == rollups(Outer)


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
