"""Damage that is longer than a window, or lies across the end of one (rules R1, R3, R7 to R9, T6)."""

import errno
import gzip
import io
import random
import struct

import pytest

from quaestor.smf import framing as framing_module
from quaestor.smf.detection import Framing, UnusableDumpError, next_record
from quaestor.smf.framing import DumpReader
from smf.dumps import blocked, record, segmented, with_section
from smf.test_framing import FRAMED, RECORDS, read
from smf.test_stripped import positions

ZEROS = "zero bytes where a record should begin"
HOLES = {"zeros": bytes(3000), "garbage": b"\xff\xee" * 1500}
SMALL, LARGE = 512, 1 << 20


def hole_reason(framing, hole):
    """What the first four bytes of a hole are called."""
    if framing is Framing.STRIPPED:
        return "no SMF record header"
    if framing is Framing.BDW:
        return "not a block descriptor"
    return ZEROS if hole[0] == 0 else "segment code 255 is none of 0 to 3"


def framed(records, framing):
    if framing is Framing.STRIPPED:
        return b"".join(each[4:] for each in records)
    return blocked(records) if framing is Framing.BDW else b"".join(records)


@pytest.mark.parametrize("framing", FRAMED, ids=lambda each: each.value)
@pytest.mark.parametrize("what", ["zeros", "garbage"])
@pytest.mark.parametrize("window", [SMALL, 700, 3000, LARGE])
def test_a_hole_longer_than_a_window_has_one_line_and_hides_no_record(framing, what, window):
    """Six windows of damage in the middle: its beginning and its length are told once, when its end is found."""
    before, hole, behind = framed(RECORDS[:5], framing), HOLES[what], framed(RECORDS[5:], framing)
    found, damages, reader = read(before + hole + behind, window)
    assert RECORDS == found
    assert framing is reader.framing
    assert [f"offset {len(before)}: {hole_reason(framing, hole)}; {len(hole)} bytes skipped"] == damages


@pytest.mark.parametrize("framing", FRAMED, ids=lambda each: each.value)
@pytest.mark.parametrize("window", [SMALL, 1000, LARGE])
def test_a_hole_that_never_ends_has_one_line_too(framing, window):
    before = framed(RECORDS, framing)
    found, damages, _ = read(before + bytes(2500), window)
    assert RECORDS == found
    assert [f"offset {len(before)}: {hole_reason(framing, bytes(4))}; 2500 bytes skipped"] == damages


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("framing", FRAMED, ids=lambda each: each.value)
@pytest.mark.parametrize("what", ["zeros", "garbage"])
def test_a_dump_may_begin_with_more_damage_than_a_window_shows(framing, what, compressed):
    """The framing is found where the first record is (R8); the window is a sixth of the damage."""
    hole, behind = HOLES[what], framed(RECORDS, framing)
    data = hole + behind
    found, damages, reader = read(gzip.compress(data) if compressed else data, SMALL)
    assert RECORDS == found
    assert (framing, compressed) == (reader.framing, reader.compressed)
    reason = hole_reason(framing if framing is Framing.STRIPPED else Framing.RDW, hole)
    assert [f"offset 0: {reason}; {len(hole)} bytes skipped"] == damages
    assert len(data) == reader.bytes_read


@pytest.mark.parametrize("framing", FRAMED, ids=lambda each: each.value)
def test_the_first_record_may_lie_across_the_end_of_a_window(framing):
    """Wherever the damage ends, the record behind it is found, and where it stands."""
    behind = framed(RECORDS, framing)
    first = 4 if framing is Framing.BDW else 0
    for hole in range(SMALL - 40, SMALL + 5):
        found, damages = positions(bytes(hole) + behind, SMALL)
        assert hole + first == found[0]
        assert len(RECORDS) == len(found)
        assert [0] == [each.offset for each in damages]
        assert damages[0].reason.endswith(f"; {hole} bytes skipped")


@pytest.mark.parametrize("framing", FRAMED, ids=lambda each: each.value)
def test_a_hole_may_end_anywhere_in_a_window(framing):
    before, behind = framed(RECORDS[:5], framing), framed(RECORDS[5:], framing)
    for hole in range(1200, 1200 + SMALL, 3):
        found, damages = positions(before + bytes(hole) + behind, SMALL)
        assert len(RECORDS) == len(found)
        assert [len(before)] == [each.offset for each in damages]
        assert damages[0].reason.endswith(f"; {hole} bytes skipped")


def test_what_is_no_dump_is_refused_after_so_many_windows(monkeypatch):
    """A device of zeros does not keep the reader for ever; the reason is that of the beginning."""
    monkeypatch.setattr(framing_module, "_LOOK_WINDOWS", 5)
    stream = io.BytesIO(bytes(100_000))
    with pytest.raises(UnusableDumpError, match="no SMF record: the first 1024 bytes are all zero"):
        list(DumpReader(stream, window=1024).blocks())
    reader = DumpReader(io.BytesIO(bytes(4000) + RECORDS[0]), window=1024)
    (block,) = reader.blocks()
    assert [4000] == block.positions.tolist()
    with pytest.raises(UnusableDumpError, match="all zero"):
        list(DumpReader(io.BytesIO(bytes(6000) + RECORDS[0]), window=1024).blocks())


def test_the_reason_of_a_refusal_is_that_of_the_beginning():
    """A dump translated to ASCII is told so, however long it is."""
    data = b"".join(RECORDS * 4).decode("cp037").encode("latin-1", "replace")
    with pytest.raises(UnusableDumpError, match="transfer the dump in binary"):
        read(data, SMALL)
    with pytest.raises(UnusableDumpError, match="no SMF record in the first 512 bytes"):
        read(random.Random(5).randbytes(5000), SMALL)


@pytest.mark.parametrize("before", [b"", bytes(18), b"\x0e\x02" + bytes(20)], ids=["none", "zeros", "a record"])
@pytest.mark.parametrize("name", ["QMST", "QPST", "WTAS"])
def test_a_dump_in_ascii_is_known_by_the_names_of_its_sections(before, name):
    """D4: the first record of a whole dump is of type 2, and has no name where a record of MQ has it."""
    data = before + b"\x9f\x85" * 40 + name.encode() + bytes(50)
    with pytest.raises(UnusableDumpError, match="transfer the dump in binary"):
        read(data, SMALL)


def test_a_listing_that_names_sections_is_no_dump_in_ascii():
    with pytest.raises(UnusableDumpError, match="no SMF record: this is text"):
        read(b"Message manager : QMST\n" * 10, SMALL)


# --- lengths that lie across windows ---------------------------------------------------------------------------------


def counters(seed, words):
    """What sections are full of: small numbers of four bytes, among which many can pass for an RDW."""
    rng = random.Random(seed)
    return b"".join(rng.choice([0, 0, 1, 2, 5, 20, 100, 4000, 70_000]).to_bytes(4, "big") for _ in range(words))


COUNTED = [with_section(counters(n, 20 + 37 * n % 150), qmgr=f"Q{n:03d}") for n in range(50)]


def with_length(data, at, length):
    return data[:at] + length.to_bytes(2, "big") + data[at + 2 :]


@pytest.mark.parametrize("window", [300, 3000, LARGE])
@pytest.mark.parametrize("framing", [Framing.RDW, Framing.BDW], ids=lambda each: each.value)
def test_a_length_that_lies_costs_no_other_record_wherever_it_leads(framing, window):
    """Its end falls among counters, which often look like descriptors: the record is cut where the next begins (R7)."""
    data = framed(COUNTED, framing) if framing is Framing.RDW else blocked(COUNTED, 4000)
    whole, _ = positions(data)
    rng = random.Random(11)
    for _ in range(60):
        victim = rng.randrange(1, len(whole) - 1)
        true = int.from_bytes(data[whole[victim] : whole[victim] + 2], "big")
        lie = true + rng.choice([rng.randrange(1, 60), rng.randrange(60, 12_000)])
        if whole[victim] + lie in whole:
            continue
        found, damages = positions(with_length(data, whole[victim], lie), window)
        assert whole == found
        assert [(whole[victim], f"record of {lie} bytes: another begins after {true}")] == [
            (each.offset, each.reason) for each in damages
        ]


A, B, C, D, E = COUNTED[:5]


@pytest.mark.parametrize("before_end", range(6))
def test_a_record_that_lies_up_to_the_end_of_a_window_is_not_delivered_unseen(before_end):
    """What stands behind a record is seen before it is delivered: here nothing stands behind it in its window."""
    lie = len(A) + len(B) + 9
    data = with_length(A, 0, lie) + B + C + D + E
    found, damages, _ = read(data, lie + before_end)
    assert [each[4:] for each in (A, B, C, D, E)] == [each[4:] for each in found]
    assert [f"offset 0: record of {lie} bytes: another begins after {len(A)}"] == damages


@pytest.mark.parametrize("code", [0, 1, 2, 3], ids=["whole", "first", "last", "middle"])
def test_a_false_descriptor_behind_a_lie_gives_the_lie_away(code):
    """Behind the end that was told something can be a descriptor, but nothing that can follow (R4, R5)."""
    false = struct.pack(">HBB", 40, code, 0) + b"\x77" * 36
    holding = with_section(counters(9, 8) + false + counters(10, 30))
    lie = len(A) + 44 + 32
    data = with_length(A, 0, lie) + holding + C + D
    assert false == data[lie : lie + 40]
    found, damages, _ = read(data)
    assert [A[4:], holding, C, D] == [found[0][4:], *found[1:]]
    assert [f"offset 0: record of {lie} bytes: another begins after {len(A)}"] == damages


def test_a_false_descriptor_that_leads_out_of_the_dump_gives_the_lie_away():
    false = b"\x7f\0\0\0" + b"\x77" * 36
    holding = with_section(counters(9, 8) + false + counters(10, 30))
    lie = len(A) + 44 + 32
    found, damages, _ = read(with_length(A, 0, lie) + holding + C)
    assert [A[4:], holding, C] == [found[0][4:], *found[1:]]
    assert [f"offset 0: record of {lie} bytes: another begins after {len(A)}"] == damages


def test_a_record_without_a_true_header_cuts_nothing_that_is_true():
    """The record before it holds no chain: one damage, at the record that has it."""
    false = record(counters(3, 20), date=0x0116999F)
    found, damages, _ = read(A + false + B)
    assert [A, B] == found
    assert [f"offset {len(A)}: record without a true SMF header"] == damages


def test_a_spanned_record_between_two_whole_ones_is_followed_by_true_headers_only():
    """While segments wait, a middle one may follow; a whole record drops them."""
    first, middle, last = segmented(B, len(B) // 3 + 1)
    found, damages, _ = read(A + first + middle + last + C)
    assert ([], [A, B[4:], C]) == (damages, [found[0], found[1][4:], found[2]])
    found, damages, _ = read(A + first + middle + C + last + D)
    assert [A, C, D] == found
    assert [
        f"offset {len(A)}: spanned record lost its last segment",
        f"offset {len(A + first + middle + C)}: segment of a spanned record without its first segment",
    ] == damages


@pytest.mark.parametrize("window", [300, LARGE])
def test_a_record_that_leads_out_of_its_block_is_cut_in_it(window):
    """What stands at its end can be a block descriptor, too: the block that the record is in says it cannot be."""
    false = b"\0\x64\0\0" + b"\0\x20\0\0" + b"\x77" * 36
    holding = with_section(counters(9, 8) + false + counters(10, 30))
    first, second = blocked([A, B], 10_000), blocked([holding, C, D], 10_000)
    lie = len(B) + 4 + 44 + 32
    begin = 4 + len(A)
    data = with_length(first, begin, lie) + second + blocked([E], 10_000)
    assert false == data[begin + lie : begin + lie + len(false)]
    found, damages, reader = read(data, max(window, 2 * len(first)))
    assert Framing.BDW is reader.framing
    assert [each[4:] for each in (A, B, holding, C, D, E)] == [each[4:] for each in found]
    assert [f"offset {begin}: record of {lie} bytes: another begins after {len(B)}"] == damages


def test_a_number_before_a_block_is_no_date():
    """Bytes 00 00 01 and the 0F of a block's length would be the tenth day of 1900 (D3)."""
    tail = b"\x70\0\0\0" + bytes(6) + b"\0\0\x01\x0f\x08\0\0" + C
    assert 0 < tail.index(C) == next_record(tail, 0, len(tail))
    old = record(date=0x0060001F)
    assert 3 == next_record(b"\1\1\1" + old + A, 0, 3 + len(old + A))
    assert 3 + len(old) == next_record(b"\1\1\1" + record(date=0x0059365F) + A, 0, 3 + len(old + A))


def test_records_of_any_year_are_read_where_they_follow():
    """The year counts only where a record is looked for: in the chain it is believed."""
    old = record(date=0x0000001F)
    found, damages, _ = read(A + old + B)
    assert ([], [A, old, B]) == (damages, found)


# --- the end of a dump -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framing", FRAMED, ids=lambda each: each.value)
@pytest.mark.parametrize("short", [-1, 0, 1])
def test_a_dump_as_long_as_a_window_is_read_to_its_end(framing, short):
    """Whether a window is the last is known when less than a window came, or nothing."""
    data = FRAMED[framing]
    found, damages, _ = read(data, len(data) + short)
    assert ([], RECORDS) == (damages, found)


def test_blocks_are_as_few_as_windows():
    """The end of the dump is seen with the last window: no block of leftovers comes behind."""
    data = b"".join(RECORDS)
    assert 1 == len(list(DumpReader(io.BytesIO(data), window=len(data) + 1).blocks()))
    blocks = list(DumpReader(io.BytesIO(data * 3), window=len(data) * 2).blocks())
    assert 2 == len(blocks)
    assert [*range(12), *range(12), *range(12)] == [
        RECORDS.index(bytes(block.data[at : at + length]))
        for block in blocks
        for at, length in zip(block.offsets, block.lengths, strict=True)
    ]


def test_a_part_s_limit_is_its_end():
    """The bytes behind it are another part's: they are neither read nor looked at."""
    data, stop = b"".join(RECORDS), len(b"".join(RECORDS[:4]))
    for window in (SMALL, LARGE):
        reader = DumpReader(io.BytesIO(data), window=window, framing=Framing.RDW, limit=stop)
        found = [int(at) for block in reader.blocks() for at in block.positions]
        assert [len(b"".join(RECORDS[:n])) for n in range(4)] == found
        assert stop == reader.bytes_read


class Failing(io.RawIOBase):
    """A medium that gives some bytes and then an I/O error."""

    def __init__(self, data):
        self._rest = memoryview(data)

    def readable(self):
        return True

    def readinto(self, place):
        if not self._rest:
            raise OSError(errno.EIO, "Input/output error")
        got = min(len(place), len(self._rest))
        place[:got] = self._rest[:got]
        self._rest = self._rest[got:]
        return got


@pytest.mark.parametrize("pack", [bytes, lambda data: gzip.compress(data, 0)], ids=["plain", "gzip"])
@pytest.mark.parametrize("window", [SMALL, LARGE])
def test_what_was_read_before_an_io_error_is_delivered(pack, window):
    """R9: one damage where the medium ended, and a word for who wants all of it or nothing. What a buffer of Python's
    had begun to gather goes with the error."""
    data = b"".join(RECORDS) * (2 * LARGE // len(b"".join(RECORDS)))
    reader = DumpReader(Failing(pack(data)), window=window)
    blocks = list(reader.blocks())
    found = b"".join(
        bytes(each.data[at : at + size]) for each in blocks for at, size in zip(each.offsets, each.lengths, strict=True)
    )
    assert data.startswith(found)
    assert len(data) - len(found) <= (0 if pack is bytes else 1 << 18)
    assert "Input/output error" == reader.failed
    *_, last = [str(damage) for each in blocks for damage in each.damages]
    assert last.endswith(": cannot be read any further: Input/output error")


@pytest.mark.parametrize("framing", [None, Framing.RDW])
def test_a_medium_that_gives_nothing_is_unusable(framing):
    reader = DumpReader(io.BufferedReader(Failing(b"")), framing=framing)
    with pytest.raises(UnusableDumpError, match=r"^Input/output error$"):
        list(reader.blocks())
    assert "Input/output error" == reader.failed
