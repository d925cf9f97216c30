"""Where records begin and end: four framings, plain or gzip, in windows of any size (rules R1 to R6, D1 to D4)."""

import bz2
import gzip
import io
import lzma
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.smf import chain
from quaestor.smf.detection import Framing, UnusableDumpError, detect, is_record, next_record, true_headers
from quaestor.smf.framing import DumpReader
from smf.dumps import REAL_DUMPS, blocked, record, segmented, spanned, with_section

RECORDS = [with_section(bytes([n]) * (20 + 7 * n), qmgr=f"QM{n:02d}") for n in range(12)]
OTHER = record(record_type=30, subtype=4, body=b"\0" * 100)


def read(data, window=1 << 20):
    """(records, damages as text, reader) of a dump."""
    reader = DumpReader(io.BytesIO(data), window=window)
    records, damages = [], []
    for block in reader.blocks():
        damages += map(str, block.damages)
        for offset, length in zip(block.offsets, block.lengths, strict=True):
            records.append(bytes(block.data[offset : offset + length]))
    return records, damages, reader


def strip(data):
    return data[4:]


FRAMED = {
    Framing.RDW: b"".join(RECORDS),
    Framing.BDW: blocked(RECORDS),
    Framing.STRIPPED: b"".join(map(strip, RECORDS)),
}


@pytest.mark.parametrize("framing", FRAMED, ids=lambda f: f.value)
@pytest.mark.parametrize("window", [40, 64, 100, 333, 1 << 20])
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
def test_every_framing_gives_the_same_records(framing, window, compressed):
    data = FRAMED[framing]
    records, damages, reader = read(gzip.compress(data) if compressed else data, max(window, 64))
    assert [] == damages
    assert RECORDS == records
    assert (framing, compressed) == (reader.framing, reader.compressed)


@pytest.mark.parametrize("cut", [30, 50, 100])
@pytest.mark.parametrize("window", [128, 1 << 20])
def test_spanned_records_are_joined(cut, window):
    data = b"".join(spanned(each, cut) for each in RECORDS)
    records, damages, reader = read(data, window)
    assert [] == damages
    assert [each[4:] for each in RECORDS] == [each[4:] for each in records]
    assert reader.spanned == sum(len(each) - 4 > cut for each in RECORDS)


def test_other_smf_types_are_passed_on():
    records, damages, _ = read(OTHER + RECORDS[0] + OTHER)
    assert ([], [OTHER, RECORDS[0], OTHER]) == (damages, records)


def test_a_type_2_record_may_open_a_stripped_dump():
    start = record(record_type=2)[:18]
    start = (18).to_bytes(2, "big") + start[2:]
    records, damages, reader = read(b"".join(map(strip, [start, *RECORDS])))
    assert Framing.STRIPPED is reader.framing
    assert ([], [start, *RECORDS]) == (damages, records)


def test_large_block_descriptors():
    """With the high bit on, a block descriptor holds 31 bits of length."""
    body = b"".join(RECORDS)
    records, damages, _ = read((0x80000000 | len(body) + 4).to_bytes(4, "big") + body)
    assert ([], RECORDS) == (damages, records)


A, B, C = RECORDS[:3]
END = len(A)
ZEROS = "zero bytes where a record should begin"
TOO_SHORT = "record length 1 is shorter than its descriptor"
NO_LAST = "spanned record lost its last segment"
NO_END = "spanned record has no end"
NO_FIRST = "segment of a spanned record without its first segment"
NO_HEADER = "record without a true SMF header"

TRAILER = b"\0\x12" + record(record_type=3)[2:18]

# what was done to the dump: (the damaged dump, the records that survive, where, why)
DAMAGED = {
    "cut in the last record": (A + C[:-5], [A], END, f"record cut short: {len(C)} bytes long, {len(C) - 5} are left"),
    "a lone byte at the end": (A + b"\x01", [A], END, "1 stray bytes at the end"),
    "zero-filled hole": (A + bytes(500) + B, [A, B], END, f"{ZEROS}; 500 bytes skipped"),
    "zero-filled tail": (A + bytes(300), [A], END, f"{ZEROS}; 300 bytes skipped"),
    "garbage between": (A + b"\xff" * 77 + B, [A, B], END, "segment code 255 is none of 0 to 3; 77 bytes skipped"),
    "garbage in front": (
        b"\0\x01\x09\0" + A,
        [A],
        0,
        f"{TOO_SHORT}; 4 bytes skipped",
    ),
    "last segment lost": (A + spanned(B, 30)[:34] + C, [A, C], END, NO_LAST),
    "last segment lost at the end": (A + spanned(B, 30)[:34], [A], END, NO_LAST),
    "first segment lost": (A + spanned(B, 40)[44:] + C, [A, C], END, NO_FIRST),
    "four bytes of a record at the end": (A + C[:4], [A], END, f"record cut short: {len(C)} bytes long, 4 are left"),
    "three bytes at the end": (A + C[:3], [A], END, "3 stray bytes at the end"),
    "a trailer behind a hole": (A + bytes(30) + TRAILER, [A, TRAILER], END, f"{ZEROS}; 30 bytes skipped"),
    "a descriptor of three bytes": (
        A + b"\0\x03\0\0" + B,
        [A, B],
        END,
        "record length 3 is shorter than its descriptor; 4 bytes skipped",
    ),
    "a descriptor alone": (A + b"\0\x04\0\0" + B, [A, B], END, NO_HEADER),
    "a segment code of 4": (A + b"\0\x40\x04\0" + B, [A, B], END, "segment code 4 is none of 0 to 3; 4 bytes skipped"),
    "a length beyond 32,767": (A + b"\x80\0\0\0" + B, [A, B], END, "not a record descriptor; 4 bytes skipped"),
    "a byte that is not zero": (A + b"\0\x40\0\x01" + B, [A, B], END, "not a record descriptor; 4 bytes skipped"),
    "a spanned record that a hole cuts": (A + spanned(B, 30)[:34] + bytes(50) + C, [A, C], END, NO_LAST),
    "a hole behind a first segment": (
        A + spanned(B, 30)[:34] + bytes(50) + C,
        [A, C],
        END + 34,
        f"{ZEROS}; 50 bytes skipped",
    ),
    "two first segments": (A + spanned(B, 30)[:34] + spanned(C, 30), [A, C], END, NO_LAST),
    "header that cannot be true": (A + record(date=0x0116999F) + B, [A, B], END, NO_HEADER),
    "record shorter than a header": (A + b"\x00\x08\0\0abcd" + B, [A, B], END, NO_HEADER),
}


@pytest.mark.parametrize("what", DAMAGED)
@pytest.mark.parametrize("window", [1 << 20, 128])
def test_damage_is_named_and_the_rest_is_delivered(what, window):
    data, survivors, where, why = DAMAGED[what]
    records, damages, _ = read(data, window)
    assert f"offset {where}: {why}" in damages
    assert survivors == records


def test_a_lost_block_descriptor_loses_one_block_at_most():
    data = bytearray(blocked(RECORDS))
    data[0:4] = b"\0\0\0\0"
    records, damages, _ = read(b"\0" * 8 + bytes(data))
    assert damages
    assert RECORDS[-6:] == records[-6:]


def test_a_hole_between_blocks_loses_no_record_of_theirs():
    """Behind the hole stands a block descriptor, not a record: the reader steps back to it (R3)."""
    first, second = blocked(RECORDS[:2], 1000), blocked(RECORDS[2:5], 1000)
    records, damages, reader = read(first + bytes(60) + second)
    assert (RECORDS[:5], Framing.BDW) == (records, reader.framing)
    assert [f"offset {len(first)}: not a block descriptor; 60 bytes skipped"] == damages
    records, damages, reader = read(bytes(60) + first + second)
    assert (RECORDS[:5], Framing.BDW) == (records, reader.framing)
    assert [f"offset 0: {ZEROS}; 60 bytes skipped"] == damages


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_hole_within_a_block_loses_what_it_covers(lost):
    """The records behind it are the block's, and the next descriptor stands where they end (R3)."""
    before = 4 + len(b"".join(RECORDS[:lost]))
    block = bytearray(blocked(RECORDS[:6], 1000))
    block[before : before + len(RECORDS[lost])] = bytes(len(RECORDS[lost]))
    records, damages, _ = read(bytes(block) + blocked(RECORDS[6:], 1000))
    assert RECORDS[:lost] + RECORDS[lost + 1 :] == records
    assert [f"offset {before}: {ZEROS}; {len(RECORDS[lost])} bytes skipped"] == damages


def test_a_hole_within_a_block_of_segments_loses_one_record():
    segments = [segment for each in RECORDS[1:4] for segment in segmented(each, 40)]
    block = bytearray(blocked([A, *segments], 1000))
    block[4 : 4 + len(A)] = bytes(len(A))
    records, damages, _ = read(blocked([OTHER]) + bytes(block) + blocked(RECORDS[4:], 1000))
    assert [each[4:] for each in (OTHER, *RECORDS[1:])] == [each[4:] for each in records]
    assert 1 == len(damages)


def test_segments_without_end_are_not_kept(monkeypatch):
    """R1: a first segment and middle ones for ever are damage, not memory."""
    monkeypatch.setattr(chain, "_MAX_SPANNED", 100)
    first, *others = segmented(bytes(A[:4]) + A[4:] * 4, 40)
    middle = [each[:2] + b"\x03" + each[3:] for each in others]
    records, damages, reader = read(first + b"".join(middle[:2]) + B)
    assert ([B], [f"offset 0: {NO_END}"], 0) == (records, damages, reader.spanned)


def test_a_stream_that_is_plain_is_told_so():
    assert not read(A)[2].compressed
    assert not DumpReader(io.BytesIO(A)).compressed
    assert read(gzip.compress(A))[2].compressed
    reader = DumpReader(io.BytesIO(A), framing=Framing.RDW)
    assert [0] == [int(at) for block in reader.blocks() for at in block.positions]
    assert not reader.compressed


def test_gzip_that_ends_early_gives_what_it_had():
    packed = gzip.compress(b"".join(RECORDS) * 50, mtime=0)
    records, damages, _ = read(packed[: len(packed) // 2])
    assert records
    assert "gzip stream is damaged" in damages[-1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (bytes(4096), "all zero"),
        (b"no dump at all, just a line of text that goes on\n" * 20, "no SMF record: this is text"),
        (random.Random(1).randbytes(5000), "no SMF record"),
        (b"".join(RECORDS).decode("cp037").encode("latin-1", "replace"), "transfer the dump in binary"),
    ],
    ids=["empty", "zeros", "text", "random", "translated"],
)
def test_unusable_dumps_are_refused_with_a_reason(data, reason):
    with pytest.raises(UnusableDumpError, match=reason):
        read(data)


@pytest.mark.parametrize(
    ("begin", "how"),
    [
        (gzip.compress(gzip.compress(b"".join(RECORDS), mtime=0), mtime=0), "gzip twice"),
        (b"PK\x03\x04\x14\0\0\0\x08\0", "zip"),
        (bz2.compress(b"".join(RECORDS)), "bzip2"),
        (lzma.compress(b"".join(RECORDS)), "xz"),
        (b"\x28\xb5\x2f\xfd", "Zstandard"),
        (b"\x1f\x9d\x90", "compress"),
        (bytes.fromhex("0501 7ff8 1032 6b00 00007ff8"), "AMATERSE"),
        (bytes.fromhex("0200 0000 1032 6b00 00007ff8"), "AMATERSE"),
    ],
    ids=["gzip", "zip", "bzip2", "xz", "Zstandard", "compress", "AMATERSE, SPACK", "AMATERSE, PACK"],
)
def test_a_dump_that_was_packed_is_told_how(begin, how):
    """D4: what a mainframe or a mailbox packed is unpacked by its owner, who must know that it is."""
    with pytest.raises(UnusableDumpError) as refused:
        read(begin if begin.startswith(b"\x1f\x8b") else begin + random.Random(2).randbytes(500))
    assert f"no SMF record: packed with {how}; unpack it first" == str(refused.value)


@pytest.mark.parametrize(
    "other", ["0502 7ff8 1032 6b00 00007ff8", "0501 7ff8 1032 6b00 00007ff9", "0501 0000 1032 6b00 00000000"]
)
def test_what_only_begins_like_a_tersed_dump_is_none(other):
    with pytest.raises(UnusableDumpError, match="no SMF record in the first"):
        read(bytes.fromhex(other) + random.Random(2).randbytes(500))


def test_a_text_with_a_word_where_a_dump_has_its_name_is_text():
    """D4: to transfer a listing again, in binary, would help nobody."""
    with pytest.raises(UnusableDumpError, match="no SMF record: this is text"):
        read("# Bericht\n\nEin transaktionaler Queue-Manager: über Rücksetzen und Stände.\n".encode() * 9)


def test_memory_is_bounded_by_the_window():
    """A 40 MB zero-filled hole does not pile up."""
    _, damages, reader = read(A + bytes(40_000_000) + B, window=1 << 16)
    assert [f"offset {len(A)}: zero bytes where a record should begin; 40000000 bytes skipped"] == damages
    assert 40_000_000 + len(A + B) == reader.bytes_read


def test_a_part_of_a_dump_is_read_with_absolute_positions():
    start = len(A)
    reader = DumpReader(io.BytesIO(b"".join(RECORDS)[start:]), framing=Framing.RDW, position=start, limit=len(B + C))
    (block,) = reader.blocks()
    assert [start, start + len(B)] == block.positions.tolist()


def test_resync_is_exact_on_a_false_chain():
    """An RDW-like value inside a record does not pass for a record (D1)."""
    data = A + with_section(b"\x00\x20\x00\x00" * 30) + B
    assert len(A) == next_record(data, 1, len(data))
    assert not is_record(data, len(A) + 44)


def test_true_headers_agree_with_the_scalar_rule():
    rng = random.Random(7)
    records = [bytearray(record(body=b"\0" * 8)) for _ in range(300)]
    for each in records:
        for _ in range(rng.randrange(3)):
            each[rng.randrange(4, 18)] = rng.randrange(256)
    data, offsets = bytearray(b"".join(records)), [n * len(records[0]) for n in range(300)]
    import numpy as np

    assert [is_record(data, at) for at in offsets] == true_headers(data, np.array(offsets)).tolist()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_mutation_crashes_the_reader(data):
    """Random damage to any framing: no exception but 'unusable', and every reported place lies inside the dump."""
    dump = bytearray(data.draw(st.sampled_from([*FRAMED.values(), b"".join(spanned(r, 40) for r in RECORDS)])))
    for _ in range(data.draw(st.integers(1, 8))):
        what = data.draw(st.sampled_from(["flip", "cut", "insert", "zero"]))
        at = data.draw(st.integers(0, max(0, len(dump) - 1)))
        if what == "flip" and dump:
            dump[at] = data.draw(st.integers(0, 255))
        elif what == "cut":
            del dump[at : at + data.draw(st.integers(1, 60))]
        elif what == "insert":
            dump[at:at] = data.draw(st.binary(max_size=40))
        else:
            dump[at : at + 30] = bytes(len(dump[at : at + 30]))
    try:
        records, damages, _ = read(bytes(dump), data.draw(st.sampled_from([64, 1 << 20])))
    except UnusableDumpError:
        return
    assert all(int(d.split()[1].rstrip(":")) <= len(dump) for d in damages)
    assert sum(map(len, records)) <= len(dump) + 4 * len(records)


@pytest.mark.real
@pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")
@pytest.mark.parametrize("path", REAL_DUMPS, ids=lambda p: p.name)
def test_real_dumps_read_alike_in_any_window_and_framing(path):
    data = path.read_bytes()
    whole, damages, reader = read(data)
    assert ([], Framing.RDW) == (damages, reader.framing)
    assert whole == read(data, 70_000)[0]
    segments = [segment for each in whole for segment in segmented(each, 20_000)]
    assert [each[4:] for each in whole] == [each[4:] for each in read(blocked(segments, 27_998))[0]]
    assert [each[4:] for each in whole] == [each[4:] for each in read(b"".join(map(strip, whole)))[0]]


def test_detection_prefers_what_stands_at_the_beginning():
    assert [(Framing.RDW, 0), (Framing.BDW, 0), (Framing.STRIPPED, 0)] == [detect(data) for data in FRAMED.values()]
