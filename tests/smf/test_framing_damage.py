"""One bit wrong in the framing: every descriptor may lie, and each lie costs one record at most (rules R3 and R7)."""

import gzip
import io
import itertools

import pytest

from quaestor.smf.detection import Framing, is_block
from quaestor.smf.framing import DumpReader
from smf.dumps import blocked, record, segmented, with_section
from smf.test_framing import read
from smf.test_stripped import positions

RECORDS = [with_section(bytes([n]) * (40 + 29 * n % 71), qmgr=f"Q{n:03d}") for n in range(60)]
RDW = b"".join(RECORDS)
BLOCK = 1200
BDW = blocked(RECORDS, BLOCK)
SPANNED = b"".join(segment for each in RECORDS for segment in segmented(each, 60))
BLOCKED_SEGMENTS = blocked([segment for each in RECORDS for segment in segmented(each, 60)], BLOCK)
DUMPS = {"RDW": RDW, "BDW": BDW, "spanned": SPANNED, "spanned in blocks": BLOCKED_SEGMENTS}
WINDOWS = (1 << 20, 2500)


def block_starts(data):
    at, found = 0, []
    while at < len(data):
        found.append(at)
        at += int.from_bytes(data[at : at + 2], "big")
    return found


BLOCKS = block_starts(BDW)


def flipped(data, at, bit):
    made = bytearray(data)
    made[at] ^= 1 << bit
    return bytes(made)


def lost(data, whole, window):
    """Records that were there and are not, by position; what else is found must have stood there, too."""
    found, damages = positions(data, window)
    assert set(found) <= set(whole)
    assert sorted(found) == found
    return set(whole) - set(found), damages


@pytest.mark.parametrize("victim", [0, 30, 59])
@pytest.mark.parametrize("framing", ["RDW", "BDW"])
@pytest.mark.parametrize("byte", range(18))
def test_a_bit_wrong_in_a_record_s_header_costs_that_record_at_most(framing, victim, byte):
    data = DUMPS[framing]
    whole, _ = positions(data)
    for bit, window in itertools.product(range(8), WINDOWS):
        gone, damages = lost(flipped(data, whole[victim] + byte, bit), whole, window)
        assert gone <= {whole[victim]}
        assert damages or not gone


@pytest.mark.parametrize("block", [0, 1, len(BLOCKS) // 2, len(BLOCKS) - 1])
@pytest.mark.parametrize("byte", range(4))
def test_a_bit_wrong_in_a_block_descriptor_costs_no_record(block, byte):
    whole, _ = positions(BDW)
    for bit, window in itertools.product(range(8), WINDOWS):
        gone, _ = lost(flipped(BDW, BLOCKS[block] + byte, bit), whole, window)
        assert set() == gone


@pytest.mark.parametrize("framing", ["spanned", "spanned in blocks"])
@pytest.mark.parametrize("byte", range(4))
def test_a_bit_wrong_in_a_segment_descriptor_costs_what_it_covers(framing, byte):
    """A first segment that is lost takes its record along; a length that lies takes what it covers."""
    data = DUMPS[framing]
    whole, _ = positions(data)
    begin = whole[30]
    for bit, window in itertools.product(range(8), WINDOWS):
        changed = flipped(data, begin + byte, bit)
        gone, damages = lost(changed, whole, window)
        covered = max(64, int.from_bytes(changed[begin : begin + 2], "big")) if byte < 2 else 64
        assert all(begin <= each < begin + 2 * covered for each in gone)
        assert damages


A, B, C, D = RECORDS[:4]


def longer(data, by):
    return (len(data) + by).to_bytes(2, "big") + data[2:]


@pytest.mark.parametrize("framing", ["RDW", "BDW"])
@pytest.mark.parametrize("by", [1, len(B) - 1, len(B) + 1, len(B + C) - 5])
def test_a_record_whose_descriptor_says_too_much_ends_where_the_next_begins(framing, by):
    records = [A, longer(B, by), C, D, *RECORDS[4:20]]
    joined = b"".join(records) if framing == "RDW" else blocked(records, 10_000)
    found, damages, _ = read(joined)
    assert [each[4:] for each in records] == [each[4:] for each in found]
    begin = len(A) + 4 * (framing == "BDW")
    assert [f"offset {begin}: record of {len(B) + by} bytes: another begins after {len(B)}"] == damages


@pytest.mark.parametrize("windows_before", [1, 2, 3])
def test_a_descriptor_that_lies_is_found_out_in_any_window(windows_before):
    """Offsets in a window and in the dump are told apart."""
    front = b"".join(RECORDS[40:50])
    data = front * windows_before + longer(A, len(B) - 7) + b"".join(RECORDS[1:9])
    found, damages, _ = read(data, len(front))
    assert [each[4:] for each in (*RECORDS[40:50] * windows_before, *RECORDS[:9])] == [each[4:] for each in found]
    begin = windows_before * len(front)
    assert [f"offset {begin}: record of {len(A) + len(B) - 7} bytes: another begins after {len(A)}"] == damages


def test_a_record_at_the_very_beginning_keeps_its_length_before_a_hole():
    """Nothing begins inside it, so it ends where it says (R7)."""
    found, damages, _ = read(A + bytes(40) + B + C)
    assert [A, B, C] == found
    assert 1 == len(damages)
    found, damages, _ = read(A + B[:-3])
    assert [A] == found
    assert [f"offset {len(A)}: record cut short: {len(B)} bytes long, {len(B) - 3} are left"] == damages


@pytest.mark.parametrize("by", [10, 5000, 30_000])
def test_the_last_record_but_one_may_say_too_much(by):
    """Its end lies behind that of the dump: nothing is cut short but its length."""
    found, damages, _ = read(A + longer(B, len(C) + by) + C)
    assert [each[4:] for each in (A, B, C)] == [each[4:] for each in found]
    assert [f"offset {len(A)}: record of {len(B) + len(C) + by} bytes: another begins after {len(B)}"] == damages


def test_a_record_that_says_too_much_over_the_end_of_its_block():
    """The next record is found behind the next block's descriptor, which is no part of either (R7)."""
    first, second = [A, longer(B, 4 + len(C) + 30)], RECORDS[2:12]
    data = blocked([A, B], 10_000) + blocked(second, 10_000) + blocked(RECORDS[12:20], 10_000)
    begin = 4 + len(A)
    data = data[:begin] + first[1] + data[begin + len(B) :]
    found, damages, reader = read(data)
    assert Framing.BDW is reader.framing
    assert [each[4:] for each in RECORDS[:20]] == [each[4:] for each in found]
    assert [f"offset {begin}: record of {len(first[1]) + 4 + len(C) + 30} bytes: another begins after {len(B)}"] == (
        damages
    )


def test_a_record_in_a_record_is_left_alone():
    """A body may hold what looks like a record: the length is true when a record follows it."""
    held = with_section(A + B + bytes(20))
    found, damages, _ = read(held + C + held)
    assert ([], [held, C, held]) == (damages, found)


@pytest.mark.parametrize("behind", [bytes(20), b"\0\x10\0\0" + bytes(16)], ids=["zeros", "an RDW"])
def test_a_true_record_before_a_hole_keeps_what_looks_like_a_record(behind):
    """Behind it the chain is lost, but nothing in it leads past its end (R7)."""
    held = with_section(A + behind)
    found, damages, _ = read(held + bytes(40) + C + D)
    assert [held, C, D] == found
    assert [f"offset {len(held)}: zero bytes where a record should begin; 40 bytes skipped"] == damages


def test_a_descriptor_that_says_too_little_is_passed_over():
    """The block goes on where it should end: the place is named, and nothing is skipped."""
    short = 4 + len(A) + len(B)
    data = bytearray(blocked([A, B, C, D], 10_000) + blocked(RECORDS[4:9], 10_000))
    data[0:2] = short.to_bytes(2, "big")
    found, damages, _ = read(bytes(data))
    assert RECORDS[:9] == found
    assert [f"offset {short}: not a block descriptor; 0 bytes skipped"] == damages


def test_a_descriptor_that_says_too_much_hides_no_block():
    first = blocked([A, B], 10_000)
    data = bytearray(first + blocked(RECORDS[2:9], 10_000) + blocked(RECORDS[9:20], 10_000))
    data[0:2] = (len(first) + 300).to_bytes(2, "big")
    found, damages, _ = read(bytes(data))
    assert RECORDS[:20] == found
    assert [f"offset {len(first)}: block descriptor before the end that was told; 0 bytes skipped"] == damages


def test_a_block_whose_last_records_are_missing_is_cut_short():
    """The dump ends at the end of a record, so only the descriptor tells that something is missing."""
    data = blocked([A, B], 10_000) + blocked([C, D], 10_000)
    for window in WINDOWS:
        found, damages, _ = read(data[: -len(D)], window)
        assert [A, B, C] == found
        assert [f"offset {len(data) - len(D)}: block cut short: {len(D)} bytes are missing"] == damages
        found, damages, _ = read(data[: -len(C + D)], window)
        assert [A, B] == found
        assert [f"offset {len(data) - len(C + D)}: block cut short: {len(C + D)} bytes are missing"] == damages
        assert ([A, B, C, D], []) == read(data, window)[:2]


def test_a_damaged_gzip_stream_is_one_damage():
    data = gzip.compress(blocked(RECORDS * 20, BLOCK), mtime=0)
    _, damages, _ = read(data[: len(data) // 2])
    assert 1 == sum("gzip" in each for each in damages)
    assert not [each for each in damages if "block cut short" in each]


@pytest.mark.parametrize("window", WINDOWS)
def test_a_dump_cut_behind_a_spanned_record_is_cut_there(window):
    """What was joined stands behind the window and is not what follows its last record."""
    first, second, last = RECORDS[:3]
    data = first + b"".join(segmented(second, 60)) + last
    begin = len(data) - len(last)
    for left in range(4, len(last)):
        found, damages, _ = read(data[: begin + left], window)
        assert [first, second] == found
        assert [f"offset {begin}: record cut short: {len(last)} bytes long, {left} are left"] == damages


def test_a_gzip_stream_ends_where_it_was_read_to():
    whole = SPANNED * 30
    packed = gzip.compress(whole, mtime=0)
    found, damages, reader = read(packed[: len(packed) // 2])
    assert found
    assert damages[-1].startswith(f"offset {reader.bytes_read}: gzip stream is damaged")
    assert reader.bytes_read < len(whole)


@pytest.mark.parametrize("front", [b"\x01", b"\x00\x40\0\0" + bytes(20), b"\x02\x00\x01\x00abc", b"x" * 33])
def test_what_stands_before_the_first_record_is_no_record(front):
    """The framing was found behind it: what looks like a descriptor there swallows nothing."""
    for data, framing in ((RDW, Framing.RDW), (BDW, Framing.BDW)):
        found, damages, reader = read(front + data)
        assert (RECORDS, framing) == (found, reader.framing)
        (damage,) = damages
        assert damage.startswith("offset 0: ")
        assert damage.endswith(f"; {len(front)} bytes skipped")


def test_a_block_is_a_descriptor_with_a_record_descriptor_behind():
    assert is_block(BDW, 0)
    assert not is_block(BDW, 4)
    assert not is_block(BDW[:7], 0)
    assert not is_block(b"\0\x10\0\0" + record()[4:], 0)


def test_a_part_that_begins_at_a_block_needs_no_detection():
    start, stop = BLOCKS[2], BLOCKS[5]
    reader = DumpReader(io.BytesIO(BDW[start:]), framing=Framing.BDW, position=start, limit=stop - start)
    blocks = list(reader.blocks())
    assert [] == [damage for block in blocks for damage in block.damages]
    whole, _ = positions(BDW)
    assert [each for each in whole if start <= each < stop] == [int(at) for b in blocks for at in b.positions]
