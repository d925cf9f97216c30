"""Records and pages are checked by CRC-32C, computed by the processor (ADR 8)."""

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.storage.log_record import HEADER_LENGTH, Kind, pack_run, parse
from quaestor.storage.page import HEADER, MESSAGES, PAGE, is_whole, seal

RBA, EPOCH = 1 << 20, 3


def record(body: bytes) -> bytes:
    return pack_run(Kind.INSERT, 0, RBA, 0, 1, [(7, body[:20], body[20:])], RBA, 1 << 30, EPOCH)[1]


def page(filled: bytes) -> bytearray:
    made = bytearray(PAGE)
    HEADER.pack_into(made, 0, 0, MESSAGES, 0, 0, 0, 7, 0, 0, 1, 0, 0)
    made[HEADER.size : HEADER.size + len(filled)] = filled
    seal(made, RBA)
    return made


def test_it_is_the_checksum_of_castagnoli():
    assert google_crc32c.value(b"123456789") == 0xE3069283


def test_the_processor_computes_it():
    assert google_crc32c.implementation == "c"


def test_a_record_begins_with_the_checksum_of_what_follows():
    packed = record(b"a message")
    assert int.from_bytes(packed[:4], "big") == google_crc32c.value(packed[4:])


@given(st.binary(max_size=1500), st.data())
def test_a_record_with_one_bit_changed_is_not_good(body: bytes, data: st.DataObject):
    packed = bytearray(record(body))
    assert parse(bytes(packed), RBA) is not None
    bit = data.draw(st.integers(0, len(packed) * 8 - 1))
    packed[bit // 8] ^= 1 << bit % 8
    assert parse(bytes(packed), RBA) is None


@given(st.binary(max_size=3000), st.integers(0, PAGE * 8 - 1))
def test_a_page_with_one_bit_changed_is_not_whole(filled: bytes, bit: int):
    written = page(filled)
    assert is_whole(written, 1, 7)
    written[bit // 8] ^= 1 << bit % 8
    assert not is_whole(written, 1, 7)


@pytest.mark.parametrize("half", [512, 1024, 2048])
def test_a_page_of_which_a_part_was_written_is_not_whole(half: int):
    before, after = page(b"A" * 3000), page(b"B" * 3000)
    assert not is_whole(after[:half] + before[half:], 1, 7)


def test_a_record_of_which_the_end_is_missing_is_not_good():
    packed = record(bytes(100))
    assert parse(packed[:HEADER_LENGTH], RBA) is None
