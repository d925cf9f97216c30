"""Records at the edges of what is written: the longest, packed sections, headers by level, stamps and zones."""

import struct
from datetime import UTC, datetime

import pytest

from quaestor.clock import datetime_from_tod
from quaestor.layout import pack
from quaestor.smf import writer
from quaestor.smf.catalog import CATALOG, HEADER_SIZE, length_at
from quaestor.smf.records import unpack_record
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.writer import (
    END_OF_DUMP,
    MAX_RECORD_BYTES,
    START_OF_DUMP,
    Interval,
    PackedSection,
    RecordIdentity,
    build_record,
    dump_marker,
    split_queues,
    task_records,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOON_US = int(NOON.timestamp()) * 1_000_000
LEVELS = ["5.2", "7.1", "8.0", "9.3.0", "9.4.5", "10.0.0"]
POOLS = CATALOG[115, 215]


def identity(level="9.4.5", **more):
    return RecordIdentity("SYSA", "QM1A", level, **more)


def pools(count, level="9.4.5", **more):
    return build_record(
        POOLS, [BufferStatistics(buffer_pool=n) for n in range(count)], identity(level), NOON_US, **more
    )


# --- W4: how long a record may be -------------------------------------------------------------------------------------


def test_a_record_may_have_all_the_bytes_there_are(monkeypatch):
    whole = pools(3)
    monkeypatch.setattr(writer, "MAX_RECORD_BYTES", len(whole))
    assert whole == pools(3)
    monkeypatch.setattr(writer, "MAX_RECORD_BYTES", len(whole) - 1)
    with pytest.raises(ValueError, match=f"SMF 115-215 of {len(whole)} bytes: a record holds at most {len(whole) - 1}"):
        pools(3)


@pytest.mark.parametrize("level", LEVELS)
def test_every_record_of_a_task_is_as_full_as_it_can_be(level):
    """All but the last have no room for one more queue, and none is too long."""
    made = task_records(TaskIdentification(), TaskAccounting(), [QueueAccounting()] * 200, identity(level), NOON_US)
    one = length_at(QueueAccounting, level)
    assert all(len(each) <= MAX_RECORD_BYTES for each in made)
    assert all(len(each) + one > MAX_RECORD_BYTES for each in made[:-1])
    assert 200 == sum(len(unpack_record(each).sections["WQST"]) for each in made)


@pytest.mark.parametrize("level", LEVELS)
def test_queues_at_the_edge_of_a_record(level):
    """As many as the first takes need no second; one more is a second of one."""
    first, rest = split_queues(200, level)
    assert (first, []) == split_queues(first, level)
    assert (first, [1]) == split_queues(first + 1, level)
    assert (first, [rest[0]]) == split_queues(first + rest[0], level)
    assert (first, [rest[0], 1]) == split_queues(first + rest[0] + 1, level)
    assert (0, []) == split_queues(0, level)


# --- W7: packed sections ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_a_packed_section_is_placed_like_any_other(level):
    pool = BufferStatistics(buffer_pool=3, buffers=50_000, get_page=17)
    length = length_at(BufferStatistics, level)
    packed = PackedSection(BufferStatistics, pack(pool, length))
    one, other = (build_record(POOLS, [each], identity(level), NOON_US) for each in (pool, packed))
    assert one == other


@pytest.mark.parametrize("by", [-1, 1])
def test_a_packed_section_of_another_level_is_refused(by):
    length = length_at(BufferStatistics, "9.4.5") + by
    with pytest.raises(ValueError, match=f"QPST of {length} bytes, its level has {length - by}"):
        build_record(POOLS, [PackedSection(BufferStatistics, bytes(length))], identity(), NOON_US)


# --- W5: headers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "bits"), [("9.4.5", 0), ("10.0.0", 0x40)])
def test_the_flag_of_the_extension_header(level, bits):
    assert bits == unpack_record(pools(1, level)).headers.common.flag_bits


@pytest.mark.parametrize(
    ("level", "release"), [("5.2", "520"), ("8.0", "800"), ("9.3.0", "930"), ("9.4.5", "945"), ("10.0.0", "946")]
)
def test_three_digits_of_a_release(level, release):
    """They stopped moving at V10, which says its release in QWHX."""
    assert release == identity(level).release


@pytest.mark.parametrize(("level", "release"), [("9.4.5", "090405"), ("10.0.0", "100000"), ("10.1", "100100")])
def test_six_digits_of_a_release(level, release):
    assert release == identity(level).long_release


@pytest.mark.parametrize(
    ("zone", "local"),
    [(0, NOON), (60, NOON.replace(hour=13)), (-240, NOON.replace(hour=8)), (720, datetime(2026, 3, 3))],
)
def test_the_smf_header_is_local_and_the_clock_is_utc(zone, local):
    found = unpack_record(
        build_record(
            POOLS,
            [BufferStatistics()],
            identity(zone_minutes=zone),
            NOON_US,
            interval=Interval(NOON_US - 60_000_000, 60_000_000),
        )
    )
    assert local.replace(tzinfo=None) == found.local_time
    assert NOON == found.utc_time
    assert zone * 60 == found.zone.total_seconds()
    begun = datetime_from_tod(found.headers.common.interval_start_local)
    assert (local.replace(tzinfo=UTC) - begun).total_seconds() == 60
    assert 60_000_000 == found.interval_us


def test_a_record_without_an_interval_has_no_start():
    assert 0 == unpack_record(pools(1)).headers.common.interval_start_local


@pytest.mark.parametrize("sequence", [0, 7, 2**32 - 1, 2**32 + 5])
def test_a_sequence_number_has_four_bytes(sequence):
    common = unpack_record(pools(1, sequence=sequence)).headers.common
    assert common.reserved_24 == common.reserved_28 == struct.pack(">I", sequence % 2**32)


def test_the_channel_initiator_counts_its_interval_in_clock_units():
    """H4, W5: 4,096 units to the microsecond in 115-231, microseconds elsewhere; both are read as the same time."""
    span = Interval(NOON_US - 5_000_000, 5_000_000)
    made = [build_record(CATALOG[key], [], identity(), NOON_US, interval=span) for key in ((115, 231), (115, 1))]
    found = [unpack_record(each) for each in made]
    assert [5_000_000 * 4096, 5_000_000] == [each.headers.common.interval_length for each in found]
    assert [5_000_000, 5_000_000] == [each.interval_us for each in found]


@pytest.mark.parametrize("kind", [START_OF_DUMP, END_OF_DUMP])
def test_the_marks_around_a_dump(kind):
    mark = dump_marker(kind, identity(zone_minutes=60), NOON_US)
    assert (18, 18, kind) == (len(mark), int.from_bytes(mark[:2], "big"), mark[5])
    found = unpack_record(mark)
    assert ("SYSA", None, datetime(2026, 3, 2, 13)) == (found.header.system, found.kind, found.local_time)


def test_sections_follow_the_triplets_and_the_header_comes_last():
    """W1: two pools behind two triplets; triplet 0 points to what ends the record."""
    data = pools(2)
    head, pool = (struct.unpack_from(">IHH", data, HEADER_SIZE + 8 * n) for n in (0, 1))
    assert (HEADER_SIZE + 16, length_at(BufferStatistics, "9.4.5"), 2) == pool
    assert (pool[0] + pool[1] * 2, 1) == (head[0], head[2])
    assert len(data) == head[0] + head[1]
