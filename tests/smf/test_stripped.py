"""RDW-stripped dumps: a record's own triplets tell its length, and may lie (rules T1 to T5)."""

import io
import itertools
import struct

import pytest

from quaestor.smf.detection import Framing
from quaestor.smf.framing import DumpReader
from quaestor.smf.records import read_records
from quaestor.smf.stripped import walk
from smf.dumps import record, with_section
from smf.test_framing import read

RECORDS = [with_section(bytes([n]) * (40 + 8 * n), qmgr=f"QM{n:02d}") for n in range(9)]
STRIPPED = [each[4:] for each in RECORDS]
VICTIM = 4
BEFORE = len(b"".join(STRIPPED[:VICTIM]))
SECOND_TRIPLET = 32  # without the RDW


def triplet(offset, length, count):
    return struct.pack(">IHH", offset, length, count)


def with_triplet(data, at, made):
    """The dump's victim with another triplet."""
    changed = bytearray(data)
    changed[BEFORE + at : BEFORE + at + 8] = made
    return bytes(changed)


DUMP = b"".join(STRIPPED)


def positions(data, window=1 << 20):
    blocks = list(DumpReader(io.BytesIO(data), window=window).blocks())
    return [int(at) for block in blocks for at in block.positions], [d for block in blocks for d in block.damages]


WHOLE, _ = positions(DUMP)


@pytest.mark.parametrize("at", range(28 + 8 + 8 - 4))
def test_a_bit_wrong_in_header_or_triplets_costs_its_record_at_most(at):
    others = [each for number, each in enumerate(WHOLE) if number != VICTIM]
    for bit, window in itertools.product(range(8), (1 << 20, 200)):
        changed = bytearray(DUMP)
        changed[BEFORE + at] ^= 1 << bit
        found, _ = positions(bytes(changed), window)
        assert others == [each for each in found if each in others]
        assert set(found) <= set(WHOLE)


@pytest.mark.parametrize(
    "made",
    [
        triplet(44, len(RECORDS[VICTIM]) - 44, 2),
        triplet(44, 0xFFFF, 1),
        triplet(44, 0xFFFF, 0xFFFF),
        triplet(0xFFFFFFFF, 8, 1),
        triplet(0x7FFFFFFF, 0xFFFF, 0xFFFF),
    ],
    ids=["one section more", "64 KB", "4 GB", "far away", "far away and long"],
)
@pytest.mark.parametrize("window", [1 << 20, 300])
def test_a_triplet_that_points_too_far_is_damage_of_its_section(made, window):
    """The record ends where the next one begins; its reader names the section, all others are as they were (T5)."""
    changed = with_triplet(DUMP, SECOND_TRIPLET, made)
    records, damages, reader = read(changed, window)
    assert ([], Framing.STRIPPED) == (damages, reader.framing)
    assert RECORDS[:VICTIM] + RECORDS[VICTIM + 1 :] == records[:VICTIM] + records[VICTIM + 1 :]
    named = [each for each in read_records(DumpReader(io.BytesIO(changed))) if hasattr(each, "reason")]
    (damage,) = named
    assert BEFORE == damage.offset
    assert damage.reason.startswith("115-215: triplet of QPST points past the record (")
    assert damage.reason.endswith(f" of {len(RECORDS[VICTIM])})")


def test_a_triplet_that_points_too_near_costs_the_rest_of_its_record():
    """The end is believed, for no record begins before it; what follows is no record."""
    short = len(RECORDS[VICTIM]) - 44 - 16
    records, damages, _ = read(with_triplet(DUMP, SECOND_TRIPLET, triplet(44, short, 1)))
    assert len(RECORDS) == len(records)
    assert RECORDS[VICTIM][44:-16] == records[VICTIM][44:]
    assert [f"offset {BEFORE + 40 + short}: no SMF record header; 16 bytes skipped"] == damages


def test_the_last_record_of_a_dump_cut_short_says_how_much_is_left():
    left = len(STRIPPED[-1]) - 7
    records, damages, _ = read(DUMP[:-7])
    assert RECORDS[:-1] == records
    begin = len(DUMP) - len(STRIPPED[-1])
    assert [f"offset {begin}: record cut short: {len(STRIPPED[-1])} bytes long, {left} are left"] == damages


def test_a_dump_that_ends_with_a_wrong_triplet_loses_its_last_record_alone():
    changed = bytearray(DUMP)
    begin = len(DUMP) - len(STRIPPED[-1])
    changed[begin + SECOND_TRIPLET : begin + SECOND_TRIPLET + 8] = triplet(44, 0x0FFF, 3)
    records, damages, _ = read(bytes(changed))
    assert RECORDS[:-1] == records
    assert [f"offset {begin}: record cut short: {44 + 0x0FFF * 3 - 4} bytes long, {len(STRIPPED[-1])} are left"] == (
        damages
    )


def test_memory_is_bounded_whatever_a_triplet_says():
    """A record that claims gigabytes, with nothing behind it that could be one: a megabyte is waited for (R1)."""
    changed = with_triplet(DUMP, SECOND_TRIPLET, triplet(0xFFFFFFFF, 0xFFFF, 0xFFFF))
    hole = bytes(4 << 20)
    data = changed[: BEFORE + 60] + hole + DUMP
    most, found, damages = 0, [], []
    for block in DumpReader(io.BytesIO(data), window=1 << 16).blocks():
        most = max(most, len(block.data))
        found += block.positions.tolist()
        damages += map(str, block.damages)
    assert most < 1_300_000
    behind = BEFORE + 60 + len(hole)
    assert WHOLE[:VICTIM] + [behind + each for each in WHOLE] == found
    claimed = 0xFFFFFFFF + 0xFFFF * 0xFFFF - 4
    assert damages[0].startswith(f"offset {BEFORE}: record of {claimed} bytes has no end; ")
    skipped = [int(each.split()[-3]) for each in damages]
    assert behind - BEFORE == sum(skipped)


def test_a_dump_ends_with_its_trailer():
    """Type 2 and 3 have 14 bytes, in the middle and at the very end (T2)."""
    markers = [(18).to_bytes(2, "big") + record(record_type=number)[2:18] for number in (2, 3)]
    whole = [markers[0], *RECORDS, markers[1], markers[0], RECORDS[0], markers[1]]
    for window in (1 << 20, 150):
        records, damages, _ = read(b"".join(each[4:] for each in whole), window)
        assert ([], whole) == (damages, records)


@pytest.mark.parametrize("left", range(1, 14))
def test_a_trailer_cut_short_is_damage(left):
    trailer = record(record_type=3)[4:18]
    records, damages, _ = read(DUMP + trailer[:left])
    assert RECORDS == records
    assert [f"offset {len(DUMP)}: no SMF record header; {left} bytes skipped"] == damages


def test_a_subtype_nobody_knows_ends_with_its_header_section():
    """Only triplet 0 is known to be one (T1)."""
    body = triplet(36 + 20, 52, 1) + b"\xff" * 20 + bytes(52)
    strange = record(body, record_type=115, subtype=99)
    records, damages, _ = read(strange[4:] + STRIPPED[0] + strange[4:])
    assert ([], [strange, RECORDS[0], strange]) == (damages, records)


def test_a_record_without_sections_ends_behind_its_first_triplet():
    bare = record(triplet(0, 0, 0), record_type=115, subtype=99)
    records, damages, _ = read(bare[4:] + STRIPPED[0] + bare[4:])
    assert ([], [bare, RECORDS[0], bare]) == (damages, records)


def test_triplets_stand_before_the_first_section_only():
    """Where the second section begins no third triplet is looked for: its bytes would be taken for one (T1)."""
    section = triplet(0x00010000, 0xFFFF, 0xFFFF) + bytes(32)
    body = triplet(36 + 8 + 40, 36, 1) + triplet(44, 40, 1) + section + bytes(36)
    made = record(body, record_type=115, subtype=2)
    records, damages, _ = read(2 * made[4:])
    assert ([], [made, made]) == (damages, records)


def test_a_walk_says_where_the_rest_begins():
    """A window that is not the last leaves what it cannot judge (R1); records are put behind the data (T4)."""
    data, found = bytearray(DUMP), []
    rest, lost_at = walk(data, 1000, lambda *each: found.append(each), lambda *_: None, last=False)
    assert lost_at is None
    assert 0 < rest < len(DUMP)
    assert len(DUMP) - rest >= 128
    assert [1000 + each for each in WHOLE[: len(found)]] == [position for _, _, position in found]
    assert RECORDS[: len(found)] == [bytes(data[at : at + length]) for at, length, _ in found]
    assert len(DUMP) == found[0][0]
    assert (len(DUMP), None) == walk(bytearray(DUMP), 0, lambda *_: None, lambda *_: None, last=True)
