"""What is written is read back: every structure, every level, every framing."""

import gzip
import io
import struct
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import identities, intervals, kinds, levels_of, moments_us, records, sections, slot_sections

from quaestor import clock
from quaestor.layout import LARGEST, pack
from quaestor.smf.blocks import Damage
from quaestor.smf.catalog import CATALOG, KINDS, LEVELS, length_at
from quaestor.smf.detection import Framing
from quaestor.smf.dump import MAX_BLOCK_BYTES, SMALLEST_BLOCK_BYTES, DumpWriter
from quaestor.smf.framing import DumpReader
from quaestor.smf.records import read_records, tasks, unpack_record
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.channel import (
    AdapterTask,
    ChannelInitiatorStatistics,
    DispatcherTask,
    DnsTask,
)
from quaestor.smf.sections.coupling_facility import CouplingFacilityStatistics, StructureFigures
from quaestor.smf.sections.headers import CorrelationHeader
from quaestor.smf.sections.lock import LockStatistics
from quaestor.smf.sections.message import MessageAccounting, MessageStatistics
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification, ThreadAccounting
from quaestor.smf.sections.topic import TopicStatistics
from quaestor.smf.writer import (
    END_OF_DUMP,
    MAX_RECORD_BYTES,
    START_OF_DUMP,
    Interval,
    RecordIdentity,
    build_record,
    dump_marker,
    split_queues,
    task_records,
)
from smf.dumps import with_section

QM1 = RecordIdentity("SYSA", "QM01", "8.0", zone_minutes=60)
NOON_US = int(datetime(2026, 3, 2, 11, tzinfo=UTC).timestamp()) * 1_000_000
HALF_HOUR = Interval(NOON_US - 1_800_000_000, 1_800_000_000)


def triplet(record, index):
    return struct.unpack_from(">IHH", record, 28 + 8 * index)


@pytest.mark.parametrize("level", ["5.2", "10.0.0"])
def test_a_figure_that_has_run_over_is_written_as_the_most_its_field_holds(level):
    """W8: in plain fields, in arrays and in blocks; what fits is as it was, and so are the caller's objects."""
    identity = RecordIdentity("SYSA", "QM01", level)
    entry = StructureFigures(structure="APP1", single_calls=2**32, single_elapsed=2**64, multiple_calls=7)
    sections = [LockStatistics(lock_gets=2**33, lock_releases=3), CouplingFacilityStatistics(structures=[entry])]
    found = unpack_record(build_record(CATALOG[115, 2], sections, identity, NOON_US)).sections
    (lock,) = found["QLST"]
    assert (2**32 - 1, 3, 2**33) == (lock.lock_gets, lock.lock_releases, sections[0].lock_gets)
    kept = found["QEST"][0].structures[0]
    assert ("APP1", 2**32 - 1, 2**64 - 1, 7) == (
        kept.structure,
        kept.single_calls,
        kept.single_elapsed,
        kept.multiple_calls,
    )


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_figure_is_too_large_for_a_record(data):
    """Any number field of any structure may run over; the others are as they would have been (W8)."""
    kind = data.draw(kinds)
    level = data.draw(st.sampled_from(levels_of(kind)))
    slot = data.draw(st.sampled_from([slot for slot in kind.slots if slot.used_at(level)]))
    length = length_at(slot.section, level)
    inside = [e for e in slot.section.LAYOUT.fields if e.end <= length and e.wire in LARGEST and not e.shape]
    each = data.draw(st.sampled_from([e for e in inside if e.kind.name != "block_length"]))
    made, whole = slot.section(), slot.section()
    setattr(made, each.name, LARGEST[each.wire] + data.draw(st.integers(1, 2**70)))
    setattr(whole, each.name, LARGEST[each.wire])
    identity = RecordIdentity("SYSA", "QM01", level)
    assert build_record(kind, [whole], identity, NOON_US) == build_record(kind, [made], identity, NOON_US)


# --- lengths the papers print ----------------------------------------------------------------------------------------


@pytest.mark.oracle("mp1b/1", kind="exact", lines="618")
def test_one_get_and_one_put_take_2260_bytes():
    """V5.2 subtype 1 with two queue records."""
    identity = RecordIdentity("MV25", "V520", "5.2")
    made = task_records(
        TaskIdentification(), TaskAccounting(), [QueueAccounting(), QueueAccounting()], identity, NOON_US
    )
    assert [2260] == [len(record) for record in made]


@pytest.mark.oracle("mp1b/1", kind="exact", lines="601")
@pytest.mark.parametrize("level", ["5.2", "8.0"])
def test_old_accounting_takes_436_bytes(level):
    identity = RecordIdentity("MV25", "V520", level)
    record = build_record(CATALOG[116, 0], [ThreadAccounting(), MessageAccounting()], identity, NOON_US)
    assert 436 == len(record)


@pytest.mark.parametrize(
    ("kind", "made", "expected"),
    [
        ((115, 215), [BufferStatistics() for _ in range(7)], [(772, 52, 1), (44, 104, 7)]),
        ((116, 1), [TaskIdentification(), TaskAccounting()], [(2604, 128, 1), (52, 208, 1), (260, 2344, 1)]),
        (
            (116, 1),
            [TaskIdentification(), TaskAccounting(), QueueAccounting(), QueueAccounting()],
            [(8196, 128, 1), (60, 208, 1), (268, 2344, 1), (2612, 2792, 2)],
        ),
    ],
)
def test_triplets_stand_where_real_v8_records_have_them(kind, made, expected):
    record = build_record(CATALOG[kind], made, QM1, NOON_US)
    assert expected == [triplet(record, index) for index in range(len(expected))]


@pytest.mark.parametrize(
    ("level", "kind", "length"),
    [
        ("5.2", (115, 1), 36),
        ("8.0", (115, 1), 52),
        ("8.0", (116, 0), 128),
        ("10.0.0", (115, 1), 68),
        ("10.0.0", (116, 0), 144),
        ("10.0.0", (115, 5), 20),
    ],
)
def test_header_sections_are_as_long_as_observed(level, kind, length):
    record = build_record(CATALOG[kind], [], RecordIdentity("SYSA", "QM01", level), NOON_US)
    offset, found, count = triplet(record, 0)
    assert (length, 1) == (found, count)
    assert len(record) == offset + length  # W1: the header section ends the record


# --- what goes in comes out ------------------------------------------------------------------------------------------


def check_round_trip(kind, level, made, identity, when_us, interval):
    record = build_record(kind, made, identity, when_us, interval=interval)
    read = unpack_record(record)
    expected = {}
    for section in made:
        expected.setdefault(section.LAYOUT.structure, []).append(section)
    assert expected == read.sections
    assert [] == read.damages
    assert kind is read.kind
    assert (identity.system, identity.queue_manager) == (read.header.system, read.header.queue_manager)
    assert len(record) == read.header.record_length
    check_times(read, identity, when_us, interval)


def check_times(read, identity, when_us, interval):
    utc = clock.UNIX_EPOCH + timedelta(microseconds=when_us)
    local = (utc + timedelta(minutes=identity.zone_minutes)).replace(tzinfo=None)
    assert local - read.local_time < timedelta(milliseconds=10)
    if not read.kind.stub:
        assert utc == read.utc_time
        assert timedelta(minutes=identity.zone_minutes) == read.zone
    if read.headers.common and read.headers.common.interval_length is not None:
        assert interval.length_us == read.interval_us
        start = clock.us_from_tod(read.headers.common.interval_start_local)
        assert interval.start_us == start - identity.zone_minutes * 60_000_000


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_round_trip_of_every_kind_and_level(kind, level, data):
    made = data.draw(slot_sections(kind, level, most=2))
    identity = data.draw(identities(level))
    check_round_trip(kind, level, made, identity, data.draw(moments_us), data.draw(intervals()))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), kind=kinds)
def test_round_trip_of_any_record(data, kind):
    level = data.draw(st.sampled_from(levels_of(kind)))
    made = data.draw(slot_sections(kind, level))
    check_round_trip(kind, level, made, data.draw(identities(level)), data.draw(moments_us), data.draw(intervals()))


def test_release_is_in_the_header_and_from_v10_in_the_extension():
    def release(level):
        return unpack_record(build_record(CATALOG[115, 1], [], RecordIdentity("S", "Q", level), NOON_US)).release

    assert ["5.2.0", "5.3.1", "9.4.5", "10.0.0"] == [release(each) for each in ("5.2", "5.3.1", "9.4.5", "10.0.0")]


def test_correlation_header_names_the_task_that_writes():
    who = CorrelationHeader(connection_name="CICSA", user_id="CICSUSER", connection_type=1)
    record = build_record(CATALOG[116, 0], [MessageAccounting()], QM1, NOON_US, correlation=who)
    assert who == unpack_record(record).headers.correlation


def test_v8_counts_one_section_too_few_for_the_channel_initiator():
    made = [ChannelInitiatorStatistics(), DispatcherTask(), AdapterTask(), DnsTask()]

    def counted(level):
        record = unpack_record(
            build_record(CATALOG[115, 231], made, RecordIdentity("S", "Q", level), NOON_US, interval=HALF_HOUR)
        )
        assert 1 == len(record.sections["QCT_DNS"])
        assert 1_800_000_000 == record.interval_us
        return record.headers.common.sections

    assert [5, 6] == [counted("8.0"), counted("9.4.0")]


def test_unused_structures_are_binary_zero():
    made = CouplingFacilityStatistics()
    made.structures[1] = StructureFigures(structure="APPLICATION1", single_calls=3)
    record = build_record(CATALOG[115, 2], [made], QM1, NOON_US)
    offset, _, _ = triplet(record, 6)
    assert bytes(64) == record[offset + 8 : offset + 72]
    assert "APPLICATION1".encode("cp037") == record[offset + 72 : offset + 84]


def test_what_the_level_does_not_know_is_left_out():
    made = [MessageStatistics(), LockStatistics(), TopicStatistics(), BufferStatistics()]

    def found(level):
        record = build_record(CATALOG[115, 2], made, RecordIdentity("S", "Q", level), NOON_US)
        return set(unpack_record(record).sections)

    assert {"QMST", "QLST", "QPST"} == found("5.2")
    assert {"QMST", "QLST", "QTST"} == found("8.0")


@pytest.mark.parametrize(
    ("kind", "made", "says"),
    [
        ((115, 1), [LockStatistics()], "does not hold a QLST"),
        ((115, 2), [LockStatistics(), LockStatistics()], "holds one QLST only"),
        ((115, 215), [BufferStatistics() for _ in range(320)], "at most 32756"),
    ],
)
def test_records_that_cannot_be_are_refused(kind, made, says):
    with pytest.raises(ValueError, match=says):
        build_record(CATALOG[kind], made, QM1, NOON_US)


# --- continuations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["5.2", "8.0", "10.0.0"])
@pytest.mark.parametrize("queues", [0, 1, 10, 11, 12, 60, 130])
def test_queues_that_do_not_fit_go_to_continuations(level, queues):
    identity = RecordIdentity("SYSA", "QM01", level)
    task = TaskAccounting(allocated_at=77, correlator_2=1, correlator_3=2)
    correlator = pack(task)[8:24]
    blocks = [QueueAccounting(base_name=f"QUEUE.{n}", correlator=correlator) for n in range(queues)]
    made = task_records(TaskIdentification(connection_name="JOB1"), task, blocks, identity, NOON_US)

    first, rest = split_queues(queues, level)
    assert queues == first + sum(rest)
    assert 1 + len(rest) == len(made)
    assert all(len(record) <= MAX_RECORD_BYTES for record in made)
    read = [unpack_record(record) for record in made]
    assert ["116-1", *["116-2"] * len(rest)] == [record.name for record in read]
    (joined,) = tasks(read)
    assert [f"QUEUE.{n}" for n in range(queues)] == [each.base_name for each in joined.queues]
    assert {correlator} >= {each.correlator for each in joined.queues}


@pytest.mark.parametrize("level", LEVELS)
def test_a_full_record_has_no_room_for_one_more_queue(level):
    first, rest = split_queues(1000, level)
    length = length_at(QueueAccounting, level)
    assert first * length <= MAX_RECORD_BYTES < rest[0] * length + 3 * length
    assert first <= rest[0]


# --- framings --------------------------------------------------------------------------------------------------------

FRAMINGS = [
    pytest.param({"framing": Framing.RDW}, id="rdw"),
    pytest.param({"framing": Framing.BDW}, id="bdw"),
    pytest.param({"framing": Framing.BDW, "spanned": True, "block_bytes": 27_998}, id="vbs"),
    pytest.param({"framing": Framing.BDW, "spanned": True, "block_bytes": 300}, id="vbs-small-blocks"),
    pytest.param({"framing": Framing.RDW, "spanned": True, "block_bytes": 5_000}, id="spanned-without-bdw"),
    pytest.param({"framing": Framing.STRIPPED}, id="stripped"),
]


def dump_of(made, **options):
    stream = io.BytesIO()
    with DumpWriter(stream, **options) as dump:
        for record in made:
            dump.write(record)
    assert sum(map(len, made)) == dump.bytes_in
    return stream.getvalue()


def read_back(dump, window=1 << 16):
    """Every record of a dump without its RDW, which spanning changes; and the reader."""
    reader = DumpReader(io.BytesIO(dump), window=window)
    found = []
    for block in reader.blocks():
        assert [] == block.damages
        for offset, length in zip(block.offsets.tolist(), block.lengths.tolist(), strict=True):
            found.append(bytes(block.data[offset + 4 : offset + length]))
    return found, reader


def ordered(made):
    """Spanned records are joined behind the others of their window, so order is compared as a multiset."""
    return sorted(record[4:] for record in made)


@pytest.mark.parametrize("options", FRAMINGS)
@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
@settings(max_examples=15, deadline=None)
@given(made=st.lists(records(), min_size=1, max_size=8))
def test_every_framing_is_recognised_and_read_back(options, compress, made):
    made = [dump_marker(START_OF_DUMP, QM1, NOON_US), *made, dump_marker(END_OF_DUMP, QM1, NOON_US)]
    found, reader = read_back(dump_of(made, **options, compress=compress))
    assert ordered(made) == sorted(found)
    assert options["framing"] is reader.framing
    assert compress is reader.compressed


@pytest.mark.parametrize("options", FRAMINGS)
@settings(max_examples=10, deadline=None)
@given(made=st.lists(records(), min_size=1, max_size=6))
def test_bulk_writing_gives_the_same_bytes(options, made):
    data = np.frombuffer(b"".join(made), np.uint8)
    offsets = np.cumsum([0, *map(len, made)])[:-1]
    stream = io.BytesIO()
    with DumpWriter(stream, **options) as dump:
        dump.write_many(data, offsets)
    assert dump_of(made, **options) == stream.getvalue()
    assert (len(made), data.size) == (dump.records, dump.bytes_in)


@pytest.mark.parametrize("framing", [Framing.RDW, Framing.BDW], ids=lambda framing: framing.value)
def test_segments_are_joined_again_whatever_the_size_of_a_block(framing):
    """From the smallest block there may be to one that holds several records; a first segment holds the header (D2)."""
    held = [with_section(bytes([n]) * (4 + 37 * n % 290), qmgr=f"Q{n:03d}") for n in range(16)]
    held.insert(3, dump_marker(START_OF_DUMP, QM1, NOON_US))
    for block_bytes in (*range(SMALLEST_BLOCK_BYTES, 120), 500, MAX_BLOCK_BYTES):
        stream = io.BytesIO()
        with DumpWriter(stream, framing, spanned=True, block_bytes=block_bytes) as dump:
            for each in held:
                dump.write(each)
        reader = DumpReader(io.BytesIO(stream.getvalue()), window=400)
        blocks = list(reader.blocks())
        found = [bytes(b.data[o + 4 : o + n]) for b in blocks for o, n in zip(b.offsets, b.lengths, strict=True)]
        assert ([each[4:] for each in held], []) == (found, [d for b in blocks for d in b.damages]), block_bytes
        assert (framing, len(held), sum(map(len, held))) == (reader.framing, dump.records, dump.bytes_in)


def test_spanned_segments_are_coded_first_middle_last():
    record = build_record(CATALOG[115, 215], [BufferStatistics() for _ in range(7)], QM1, NOON_US)
    dump = dump_of([record], framing=Framing.RDW, spanned=True, block_bytes=304)
    codes, at = [], 0
    while at < len(dump):
        length, segment = struct.unpack_from(">HH", dump, at)
        codes.append((length, segment >> 8))
        at += length
    assert [(300, 1), (300, 3), (232, 2)] == codes  # 824 bytes: 296 + 296 + 228 behind three RDWs


def test_blocks_are_as_long_as_their_descriptor_says():
    record = build_record(CATALOG[115, 215], [BufferStatistics() for _ in range(7)], QM1, NOON_US)
    dump = dump_of([record] * 5, framing=Framing.BDW, block_bytes=2_000)
    lengths, at = [], 0
    while at < len(dump):
        lengths.append(struct.unpack_from(">H", dump, at)[0])
        at += lengths[-1]
    assert [4 + 2 * 824, 4 + 2 * 824, 4 + 824] == lengths


def test_gzip_depends_on_the_content_alone():
    record = dump_marker(START_OF_DUMP, QM1, NOON_US)
    compressed = dump_of([record], compress=True)
    assert record == gzip.decompress(compressed)
    assert bytes(4) == compressed[4:8]  # no time
    assert compressed == dump_of([record], compress=True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"framing": Framing.STRIPPED, "spanned": True}, "cannot do without"),
        ({"block_bytes": 10}, "32 to 32760"),
        ({"block_bytes": MAX_BLOCK_BYTES + 1}, "32 to 32760"),
    ],
)
def test_framings_that_cannot_be_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        DumpWriter(io.BytesIO(), **options)


def test_a_record_longer_than_its_block_is_refused():
    record = build_record(CATALOG[115, 215], [BufferStatistics() for _ in range(7)], QM1, NOON_US)
    with (
        pytest.raises(ValueError, match="does not fit"),
        DumpWriter(io.BytesIO(), Framing.BDW, block_bytes=500) as dump,
    ):
        dump.write(record)


def test_a_record_whose_rdw_lies_is_refused():
    with pytest.raises(ValueError, match="RDW says"):
        DumpWriter(io.BytesIO()).write(dump_marker(START_OF_DUMP, QM1, NOON_US) + b"x")


@settings(max_examples=20, deadline=None)
@given(section=sections(QueueAccounting, "9.4.5"), made=st.lists(records(), max_size=3))
def test_other_records_in_between_do_no_harm(section, made):
    task = build_record(CATALOG[116, 1], [TaskIdentification(), TaskAccounting(), section], QM1, NOON_US)
    dump = dump_of([*made, task])
    read = [each for each in read_records(DumpReader(io.BytesIO(dump))) if not isinstance(each, Damage)]
    assert 1 + len(made) == len(read)
