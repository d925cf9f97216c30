"""A hostile dump: counts, offsets, lengths, clocks and names that lie; each has one line, and the rest is read."""

import gzip
import io
import os
import struct
import threading
from datetime import UTC, datetime, timedelta

import pytest

from quaestor.layout import CODE_PAGES, pack
from quaestor.smf.catalog import wrong_with
from quaestor.smf.columns import decode
from quaestor.smf.detection import Framing, UnusableDumpError
from quaestor.smf.export import ExportOptions, export
from quaestor.smf.framing import DumpReader
from quaestor.smf.header import zone_of
from quaestor.smf.inventory import take_inventory
from quaestor.smf.records import open_dump, read_dump, read_records, unpack_record
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.headers import CommonHeader
from smf.dumps import record, with_section
from smf.rows import block_of
from smf.test_export import Heard
from smf.test_framing import read

POOL = pack(BufferStatistics(buffer_pool=3, buffers=1000))
BEFORE, BEHIND = with_section(POOL, qmgr="QM01"), with_section(POOL, qmgr="QM02")


def hostile(*triplets, room=200, record_type=115, subtype=215, **header):
    """A record with these triplets and `room` bytes behind them."""
    made = b"".join(struct.pack(">IHH", *each) for each in triplets)
    return record(made + bytes(room), record_type=record_type, subtype=subtype, **header)


def by_every_reader(data):
    """Damage as lines, the same for records, columns and inventory; and how many pools were read."""
    seen = list(read_records(DumpReader(io.BytesIO(data))))
    lines = sorted(str(each) for each in seen if not hasattr(each, "sections"))
    pools = sum(len(each.sections.get("QPST", [])) for each in seen if hasattr(each, "sections"))
    columns = [decode(block) for block in DumpReader(io.BytesIO(data)).blocks()]
    assert lines == sorted(str(damage) for each in columns for damage in each.damages)
    assert pools == sum(len(each.tables["QPST"]) for each in columns if "QPST" in each.tables)
    counted = [str(damage) for _, damages in take_inventory(DumpReader(io.BytesIO(data))) for damage in damages]
    assert lines == sorted(counted)
    return lines, pools


HEAD = len(BEFORE)
# what was done: (the record, why it has a line; the pools of the other two are always read, and those told here)
LIES = {
    "a count of fifty where two have room": (
        hostile((0, 0, 0), (44, 104, 50)),
        "115-215: triplet of QPST points past the record (44+104x50 of 244)",
    ),
    "a length of zero, many times": (
        hostile((0, 0, 0), (44, 0, 65535)),
        "115-215: QPST is 0 bytes long, shorter than its own beginning",
    ),
    "a length of three": (
        hostile((0, 0, 0), (44, 3, 1)),
        "115-215: QPST is 3 bytes long, shorter than its own beginning",
    ),
    "an offset into the SMF header": (
        hostile((0, 0, 0), (4, 104, 1)),
        "115-215: triplet of QPST points into the header of the record (4+104x1 of 244)",
    ),
    "an offset into the first triplet": (
        hostile((0, 0, 0), (35, 104, 1)),
        "115-215: triplet of QPST points into the header of the record (35+104x1 of 244)",
    ),
    "an offset of zero": (
        hostile((0, 0, 0), (0, 104, 1)),
        "115-215: triplet of QPST points into the header of the record (0+104x1 of 244)",
    ),
    "everything as large as it can be": (
        hostile((0, 0, 0), (0xFFFFFFFF, 0xFFFF, 0xFFFF)),
        "115-215: triplet of QPST points past the record (4294967295+65535x65535 of 244)",
    ),
    "one byte too long": (
        hostile((0, 0, 0), (44, 101, 2), room=201),
        "115-215: triplet of QPST points past the record (44+101x2 of 245)",
    ),
    "a header section of one byte": (
        hostile((44, 1, 1), (96, 104, 1)),
        "115-215: header section is 1 bytes long, shorter than its own beginning",
    ),
    "nine header sections": (
        hostile((44, 52, 9), (96, 104, 1)),
        "115-215: triplet of header section points past the record (44+52x9 of 244)",
    ),
    "a header section in the header": (
        hostile((0, 52, 1), (96, 104, 1)),
        "115-215: triplet of header section points into the header of the record (0+52x1 of 244)",
    ),
    "18 bytes of an MQ record": (b"\0\x12" + BEFORE[2:18], "record is shorter than its SMF header"),
    "27 bytes of an MQ record": (b"\0\x1b" + BEFORE[2:27], "record is shorter than its SMF header"),
    "a date of zeros": (hostile(date=0), "record without a true SMF header"),
    "the day before the first of January": (hostile(date=0x0116000F), "record without a true SMF header"),
    "the 367th day": (hostile(date=0x0116367F), "record without a true SMF header"),
    "a date with a minus sign": (hostile(date=0x0116058D), "record without a true SMF header"),
    "midnight at the end of the day": (hostile(time=8_640_000), "record without a true SMF header"),
}


@pytest.mark.parametrize("what", LIES)
def test_a_lie_has_one_line_with_place_and_reason(what):
    data, reason = LIES[what]
    lines, pools = by_every_reader(BEFORE + data + BEHIND)
    assert [f"offset {HEAD}: {reason}"] == lines
    assert (3 if "header section" in reason else 2) == pools  # without its headers a record keeps its sections (O1)


# what is odd, but true: (the record, pools in it)
ODDITIES = {
    "no triplet at all": (hostile(room=0, subtype=2), 0),
    "half a triplet": (hostile(room=5, subtype=2), 0),
    "a triplet and a half": (hostile((0, 0, 0), room=3), 0),
    "a section that ends with the record": (hostile((0, 0, 0), (44, 100, 2)), 2),
    "sections of four bytes": (hostile((0, 0, 0), (44, 4, 50)), 50),
    "a section longer than any level has": (hostile((0, 0, 0), (44, 200, 1)), 1),
    "a count of zero with an offset of nowhere": (hostile((0, 0, 0), (0xFFFFFFFF, 104, 0)), 0),
    "a length without a count": (hostile((0, 52, 0), (0, 104, 0)), 0),
    "two triplets for the same bytes": (hostile((44, 52, 1), (44, 104, 1)), 1),
    "a header section of five bytes": (hostile((44, 5, 1), (96, 104, 1)), 1),
    "a subtype nobody knows": (hostile((1, 1, 1), (4, 9, 9), subtype=999), 0),
    "the largest subtype": (hostile(subtype=0xFFFF, record_type=116), 0),
    "another type with rubbish in it": (hostile((1, 2, 3), record_type=30), 0),
    "a start of dump of 18 bytes": (b"\0\x12" + record(record_type=2)[2:18], 0),
    "the 366th day of a common year": (hostile((0, 0, 0), (44, 104, 1), date=0x0115366F), 1),
    "the last hundredth of the day": (hostile((0, 0, 0), (44, 104, 1), time=8_639_999), 1),
    "the first of January of 1900": (hostile((0, 0, 0), (44, 104, 1), date=0x0000001F), 1),
    "the last day of 2099": (hostile((0, 0, 0), (44, 104, 1), date=0x0199365F), 1),
}


@pytest.mark.parametrize("what", ODDITIES)
def test_what_is_odd_but_true_is_no_damage(what):
    data, inside = ODDITIES[what]
    lines, pools = by_every_reader(BEFORE + data + BEHIND)
    assert ([], 2 + inside) == (lines, pools)


def test_a_section_of_four_bytes_has_its_beginning_and_nothing_else():
    """What a section is too short for is None, never 0."""
    (record_,) = [unpack_record(hostile((0, 0, 0), (44, 4, 1)))]
    (pool,) = record_.sections["QPST"]
    assert (0, 0) == (pool.id, pool.length)
    assert (None, None, None) == (pool.buffer_pool, pool.buffers, pool.stealable_low)


@pytest.mark.parametrize(
    ("triplet", "size", "wrong"),
    [
        ((36, 4, 1), 40, None),
        ((35, 4, 1), 40, "triplet of QLST points into the header of the record (35+4x1 of 40)"),
        ((36, 4, 1), 39, "triplet of QLST points past the record (36+4x1 of 39)"),
        ((36, 3, 1), 40, "QLST is 3 bytes long, shorter than its own beginning"),
        ((0, 0, 0), 28, None),
        ((99, 99, 0), 28, None),
    ],
)
def test_what_is_wrong_with_a_triplet(triplet, size, wrong):
    assert wrong == wrong_with("QLST", *triplet, size)


# --- clocks ----------------------------------------------------------------------------------------------------------

NOON = datetime(2026, 11, 17, 12)


@pytest.mark.parametrize(
    ("hours", "zone"),
    [(0, 0), (5.5, 5.5), (-12, -12), (14, 14), (23.75, 23.75), (-23.75, -23.75), (24, None), (-24, None), (8760, None)],
)
def test_a_zone_of_a_day_or_more_is_none(hours, zone):
    """One of the two clocks was never set (H2)."""
    utc = (NOON - timedelta(hours=hours)).replace(tzinfo=UTC)
    assert (None if zone is None else timedelta(hours=zone)) == zone_of(NOON, utc)


TEN_YEARS_US = 315_619_200_000_000


@pytest.mark.parametrize("length", [TEN_YEARS_US - 1, TEN_YEARS_US, (1 << 63) - 1, (1 << 64) - 1])
def test_an_interval_of_ten_years_is_none(length):
    """Readers agree (H4): what a damaged header says of its length is no reason to look for its hour in the past."""
    common = pack(CommonHeader(interval_length=length))
    triplets = struct.pack(">IHHIHH", 44, len(common), 1, 44 + len(common), len(POOL), 1)
    data = record(triplets + common + POOL, record_type=115, subtype=215)
    us = float(length) if length < TEN_YEARS_US else None
    (row,) = decode(block_of([data])).tables["QPST"].to_pylist()
    assert us == unpack_record(data).interval_us == row["interval_us"]


@pytest.mark.parametrize(
    ("stamp", "utc"),
    [
        (0, None),
        (1 << 12, datetime(1900, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
        ((1 << 64) - 1, datetime(2042, 9, 17, 23, 53, 47, 370_495, tzinfo=UTC)),
    ],
    ids=["never set", "the first microsecond", "the last"],
)
def test_the_time_of_day_clock_at_its_ends(stamp, utc):
    """Readers agree on the moment, and that such a record has no zone; its interval then has no beginning (E2)."""
    common = pack(CommonHeader(built_at=stamp, interval_start_local=stamp))
    triplets = struct.pack(">IHHIHH", 44, len(common), 1, 44 + len(common), len(POOL), 1)
    data = record(triplets + common + POOL, record_type=115, subtype=215)
    one = unpack_record(data)
    assert (utc, None, []) == (one.utc_time, one.zone, one.damages)
    (row,) = decode(block_of([data])).tables["QPST"].to_pylist()
    assert (utc, None, None) == (row["utc_time"], row["zone_minutes"], row["interval_start"])


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", CODE_PAGES)
def test_every_byte_is_some_character_in_every_code_page(page):
    """Names are text, whatever stands there: nothing is refused for its letters."""
    for first in range(0, 256, 8):
        data = bytearray(BEFORE)
        data[14:22] = bytes(range(first, first + 8))
        header = unpack_record(bytes(data), page=CODE_PAGES[page]).header
        assert isinstance(header.system, str)
        assert len(header.system) <= 4
        assert len(header.queue_manager) <= 4


def test_the_bracket_tells_code_pages_apart():
    """X'AD' is [ in 1047, X'BA' in 037, X'4A' in 500: the page must be told, for nothing in the dump tells it."""
    for page, bracket in (("1047", 0xAD), ("037", 0xBA), ("500", 0x4A)):
        data = bytearray(BEFORE)
        data[18:22] = bytes([0xD8, bracket, 0xF1, 0x40])
        assert "Q[1" == unpack_record(bytes(data), page=CODE_PAGES[page]).header.queue_manager


# --- files that are none ---------------------------------------------------------------------------------------------

PLAIN = (BEFORE + BEHIND) * 400
PACKED = gzip.compress(PLAIN, mtime=0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\0", "no SMF record: the first 1 bytes are all zero"),
        (BEFORE[:17], "no SMF record in the first 17 bytes"),
        (gzip.compress(b""), "empty"),
        (PACKED[:5], "gzip stream is damaged: Compressed file ended before"),
        (b"\x1f\x8b\x09" + PACKED[3:], "gzip stream is damaged: Unknown compression method"),
        (gzip.compress(b"not a dump")[:-4], "no SMF record: this is text; gzip stream is damaged: Compressed"),
    ],
    ids=["empty", "one byte", "17 bytes", "gzip of nothing", "5 bytes of gzip", "gzip of a strange kind", "cut text"],
)
def test_what_cannot_be_used_says_why(tmp_path, data, reason):
    path = tmp_path / "dump"
    path.write_bytes(data)
    with pytest.raises(UnusableDumpError) as refused:
        list(read_dump(path))
    assert str(refused.value).startswith(reason)


def test_a_folder_and_a_missing_file_say_so(tmp_path):
    for path, reason in ((tmp_path, "is a directory"), (tmp_path / "none", "no such file")):
        with pytest.raises(UnusableDumpError) as refused, open_dump(path):
            pass
        assert reason == str(refused.value)


def test_a_file_that_is_a_folder_s_child_of_a_file_says_what_the_system_says(tmp_path):
    (tmp_path / "file").write_bytes(BEFORE)
    with pytest.raises(UnusableDumpError, match="Not a directory"), open_dump(tmp_path / "file" / "dump"):
        pass


@pytest.mark.parametrize("keep", [100, len(PACKED) // 2, len(PACKED) - 9, len(PACKED) - 1])
def test_gzip_cut_anywhere_gives_what_it_had_and_one_gzip_line(keep):
    """The place of the line is where the plain dump ends."""
    found, damages, reader = read(PACKED[:keep])
    assert PLAIN.startswith(b"".join(found))
    (line,) = (each for each in damages if "gzip" in each)
    assert line.startswith(f"offset {reader.bytes_read}: gzip stream is damaged: Compressed file ended before")
    assert len(damages) == 1 + (reader.bytes_read % HEAD > 0)


def test_gzip_whose_sum_is_wrong_is_damage_behind_the_last_record():
    found, damages, _ = read(PACKED[:-8] + bytes(4) + PACKED[-4:])
    assert PLAIN == b"".join(found)
    (line,) = damages
    assert line.startswith(f"offset {len(PLAIN)}: gzip stream is damaged: CRC check failed")


NUMBERED = [with_section(POOL, qmgr=f"{number:04}") for number in range(2000)]
STORED = gzip.compress(b"".join(NUMBERED), 0, mtime=0)  # so that the same bit is wrong whoever packs
_AT = STORED.index(NUMBERED[500])
BROKEN = STORED[:_AT] + b"\xff" + STORED[_AT + 1 :]
SMALL_AND_LARGE = pytest.mark.parametrize("window", [1 << 12, 1 << 24], ids=["looked for", "seen in the window"])


@SMALL_AND_LARGE
def test_what_follows_damage_in_a_gzip_stream_that_is_not_whole_is_left_out(window):
    """W1: what a wrong bit sets free may look like records, and which of them are true nobody can tell."""
    found, (line,), _ = read(BROKEN, window)
    assert NUMBERED[:499] == found  # behind the last of 500 the damage came up: it may be in it
    assert line.startswith(f"offset {499 * HEAD}: gzip stream is damaged: CRC check failed")
    assert line.endswith("; from here on it is left out")


@SMALL_AND_LARGE
@pytest.mark.parametrize("behind", [b"", b"what is this", STORED[:-2000]], ids=["nothing", "text", "half a stream"])
def test_damage_in_a_gzip_stream_that_is_whole_is_not_gzips(window, behind):
    """W1, W2: damage from before it was packed costs what it costs in a plain dump, if gzip only ends early, too."""
    damaged = b"".join([*NUMBERED[:500], b"what is this?", *NUMBERED[500:]])
    found, damages, _ = read(gzip.compress(damaged, 0, mtime=0) + behind, window)
    assert NUMBERED == found[:2000]
    assert "13 bytes skipped" in damages[0]
    assert bool(behind) == any("gzip" in each for each in damages)


def test_a_gzip_stream_that_cannot_be_read_twice_is_believed_up_to_the_damage():
    """R10: from a pipe."""

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    blocks = list(DumpReader(io.BufferedReader(Pipe(BROKEN)), window=1 << 12).blocks())
    assert 499 == sum(len(each.offsets) for each in blocks)
    (line,) = (str(damage) for each in blocks for damage in each.damages)
    assert line.endswith(
        "gzip stream that cannot be read twice, to see whether it is whole; from here on it is left out"
    )


def test_a_wrong_sum_says_that_any_record_may_be_wrong():
    at = STORED.index(NUMBERED[500]) + HEAD - 1
    _, (line,), _ = read(STORED[:at] + b"\xff" + STORED[at + 1 :])
    assert line.endswith("; any of its records may be wrong")


def test_gzip_streams_may_follow_each_other_and_zeros_the_last():
    """As `cat` joins dumps, and as tapes fill their last block."""
    joined = gzip.compress(BEFORE, mtime=0) + gzip.compress(BEHIND, mtime=0)
    for data in (joined, joined + bytes(512)):
        found, damages, _ = read(data)
        assert ([], [BEFORE, BEHIND]) == (damages, found)
    found, damages, _ = read(joined + b"what is this")
    assert [BEFORE, BEHIND] == found
    assert [f"offset {len(BEFORE + BEHIND)}: gzip stream is damaged: Not a gzipped file (b'wh')"] == damages


# --- what is read only once ------------------------------------------------------------------------------------------


@pytest.fixture
def pipe(tmp_path):
    """A named pipe that somebody writes a dump into, once."""
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        with path.open("wb") as stream:
            stream.write(PLAIN)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield path
    writer.join(10)
    assert not writer.is_alive()


def test_a_named_pipe_is_exported_like_a_file(pipe, tmp_path):
    """Nobody looks into it beforehand: what is read is gone (Y4)."""
    heard = Heard()
    rows = export([str(pipe)], tmp_path / "out", ExportOptions("csv"), 1, heard)
    assert ({"QPST": 800}, [], []) == (rows, heard.damages, heard.unusable)


def test_a_named_pipe_is_read_record_by_record(pipe):
    assert 800 == sum(len(each.sections["QPST"]) for each in read_dump(pipe))


def test_a_stream_may_give_a_few_bytes_at_a_time():
    """A short read is not the end of the dump; only nothing is."""

    class Trickle(io.RawIOBase):
        def __init__(self, data):
            self.data, self.at = data, 0

        def readable(self):
            return True

        def readinto(self, place):
            part = self.data[self.at : self.at + min(len(place), 7)]
            place[: len(part)] = part
            self.at += len(part)
            return len(part)

    reader = DumpReader(Trickle(BEFORE + BEHIND), framing=Framing.RDW)
    (block,) = reader.blocks()
    assert [0, len(BEFORE)] == block.positions.tolist()
    assert [] == block.damages


def test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_was(tmp_path):
    """The window in which the end was seen is the last; what comes later is for the next reading."""
    path = tmp_path / "grows"
    path.write_bytes(BEFORE + BEHIND)
    with path.open("rb") as stream:
        blocks = DumpReader(stream).blocks()
        (records,) = [len(next(blocks).offsets)]
        with path.open("ab") as more:
            more.write(BEFORE * 3)
        assert (2, []) == (records, list(blocks))
    assert 5 == len(list(read_dump(path)))


def test_a_file_that_grows_by_half_a_record_has_one_line(tmp_path):
    path = tmp_path / "grows"
    path.write_bytes(BEFORE + BEHIND[:50])
    damage, first = read_dump(path)
    assert ("115-215", 0) == (first.name, first.position)
    assert f"offset {HEAD}: record cut short: {len(BEHIND)} bytes long, 50 are left" == str(damage)
