"""What can be a record, and what cannot (D1 to D3): both sides of every limit."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.smf.detection import (
    block_length,
    is_header,
    is_rdw,
    is_record,
    is_stripped_record,
    next_record,
    next_stripped,
    true_headers,
)
from smf.dumps import record, with_section

SMALLEST = record(record_type=3)[:18]
SMALLEST = (18).to_bytes(2, "big") + SMALLEST[2:]
A, B = with_section(qmgr="QMA"), with_section(qmgr="QMB")


def both(data):
    """One header by the rule for one and by the rule for many, which must agree."""
    one = is_header(data, 0)
    assert [one] == true_headers(bytearray(data), np.array([0])).tolist()
    return one


@pytest.mark.parametrize(
    ("date", "true"),
    [
        (0x0116058F, True),
        (0x0016058F, True),  # 1916
        (0x0216058F, False),  # no third century
        (0x0116001F, True),
        (0x0116000F, False),
        (0x0116366F, True),
        (0x0116367F, False),
        (0x0116400F, False),
        (0x0199100F, True),
        (0x01A6058F, False),  # digits are decimal
        (0x011A058F, False),
        (0x0116A58F, False),
        (0x01160A8F, False),
        (0x011605AF, False),
        (0x0116058C, False),  # the sign is F
        (0x0116199F, True),
    ],
)
def test_a_date_is_packed_and_of_a_year(date, true):
    assert true is both(record(date=date))


@pytest.mark.parametrize(("time", "true"), [(0, True), (8_639_999, True), (8_640_000, False), (0xFFFFFFFF, False)])
def test_a_time_is_hundredths_of_a_day(time, true):
    assert true is both(record(time=time))


@given(st.binary(min_size=18, max_size=18))
def test_one_header_and_many_are_judged_alike(data):
    both(data)


@given(st.integers(0, 99), st.integers(0, 400), st.integers(0, 9_000_000), st.integers(0, 3))
def test_a_true_header_is_of_a_true_day(year, day, time, century):
    date = int(f"{century:02d}{year:02d}{day:03d}", 16) << 4 | 0xF
    assert (century < 2 and 1 <= day <= 366 and time < 24 * 360_000) is both(record(date=date, time=time))


@pytest.mark.parametrize(
    ("length", "segment", "zero", "true"),
    [
        (18, 0, 0, True),
        (17, 0, 0, False),
        (32_767, 0, 0, True),
        (32_768, 0, 0, False),
        (100, 1, 0, True),  # a first segment
        (100, 2, 0, False),
        (100, 0, 1, False),
    ],
)
def test_a_record_begins_with_its_descriptor(length, segment, zero, true):
    assert true is is_record(struct.pack(">HBB", length, segment, zero) + record()[4:], 0)


def test_a_record_has_its_header_within_the_data():
    assert is_record(SMALLEST, 0)
    assert not is_record(SMALLEST[:17], 0)
    assert not is_header(SMALLEST[:17], 0)
    assert not is_record(SMALLEST, 1)


@pytest.mark.parametrize(
    ("length", "segment", "zero", "true"),
    [
        (4, 0, 0, True),
        (3, 0, 0, False),
        (32_767, 3, 0, True),
        (32_768, 3, 0, False),
        (4, 4, 0, False),
        (4, 0, 1, False),
    ],
)
def test_a_record_descriptor(length, segment, zero, true):
    assert true is is_rdw(struct.pack(">HBB", length, segment, zero), 0)
    assert not is_rdw(struct.pack(">HBB", length, segment, zero), 1)


@pytest.mark.parametrize(
    ("word", "length"),
    [
        (0x00080000, 8),
        (0x00070000, 0),
        (0x7FF80000, 0x7FF8),
        (0x00080001, 0),
        (0x80000008, 8),
        (0x80000007, 0),
        (0x80012345, 0x12345),
        (0x00000000, 0),
    ],
)
def test_a_block_descriptor(word, length):
    """Eight bytes are the least: its own four and a record's; the high bit marks 31 bits of length."""
    assert length == block_length(word.to_bytes(4, "big"), 0)


@pytest.mark.parametrize("hole", [0, 1, 17, 18, 200, 65_535, 65_536, 65_537, 200_000])
def test_the_next_record_is_found_behind_any_hole(hole):
    data = bytes(hole) + A + B
    assert hole == next_record(data, 0, len(data))
    assert hole + len(A) == next_record(data, hole + 1, len(data))
    assert -1 == next_record(data, hole + len(A) + 1, len(data))


def test_the_smallest_record_is_found_at_the_very_end():
    """The trailer of a dump has a header and nothing else (D3)."""
    data = bytes(40) + SMALLEST
    assert 40 == next_record(data, 0, len(data))
    assert 40 == next_record(data, 40, len(data))
    assert -1 == next_record(data, 0, 40)


def test_a_record_is_followed_by_something_that_can_be_one():
    """What ends in the middle of nothing is no record, unless the data end there (D3)."""
    assert len(A) + 20 == next_record(A + b"\1" * 20 + B, 0, len(A + B) + 20)
    assert 0 == next_record(A + b"\1" * 4, 0, len(A) + 4)
    assert -1 == next_record(A + b"\1" * 5, 0, len(A) + 5)
    block = (len(B) + 4).to_bytes(2, "big") + b"\0\0" + B
    assert 0 == next_record(A + block, 0, len(A + block))


@pytest.mark.parametrize(
    ("change", "true"),
    [
        ({}, True),
        ({1: 116}, True),
        ({1: 114}, False),
        ({1: 117}, False),
        ({9: 0xFC}, False),  # the date's sign
        ({24: 0, 25: 1, 26: 0xFF, 27: 0xFB}, True),  # the first triplet at 131,067
        ({24: 0, 25: 1, 26: 0xFF, 27: 0xFC}, False),
    ],
)
def test_a_record_without_its_descriptor(change, true):
    data = bytearray(A[4:])
    for at, byte in change.items():
        data[at] = byte
    assert true is is_stripped_record(data, 0)
    assert (0 if true else -1) == next_stripped(data, 0, len(data))


def test_a_record_without_its_descriptor_is_found_behind_a_hole():
    data = bytes(31) + A[4:]
    assert 31 == next_stripped(data, 0, len(data))
    assert 31 == next_stripped(data, 31, len(data))
    assert 31 == next_stripped(data, 0, 32)
    assert -1 == next_stripped(data, 0, 31)
    assert -1 == next_stripped(data, 32, len(data))
    assert -1 == next_stripped(data[:62], 0, 62)
