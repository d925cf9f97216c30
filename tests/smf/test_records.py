"""Records one by one: sections by triplet, damage of one section, real dumps in full (rules K, O and H)."""

import io
import struct
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from quaestor.layout import CODE_PAGES, pack
from quaestor.smf.blocks import Damage
from quaestor.smf.detection import UnusableDumpError
from quaestor.smf.records import STANDARD_INPUT, open_input, read_dump, tasks, unpack_record
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.headers import CommonHeader, CorrelationHeader, ExtensionHeader, Smf115Header, Smf116Header
from quaestor.smf.sections.task import TaskIdentification
from smf.dumps import REAL, REAL_DUMPS, record, with_section

real = pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")


def made(record_type, subtype, *parts, first=28, **header):
    """A record with a triplet per part; a part is the bytes of one section, or a raw triplet to plant."""
    at, triplets, body = first + 8 * len(parts), b"", b""
    for part in parts:
        if isinstance(part, tuple):
            triplets += struct.pack(">IHH", *part)
        else:
            triplets += struct.pack(">IHH", at + len(body), len(part), 1)
            body += part
    return record(triplets + body, record_type=record_type, subtype=subtype, **header)


def test_a_section_is_found_by_its_triplet_not_by_its_id():
    """QPST once carried the id of QLST; only the triplet counts (K1)."""
    pool = BufferStatistics(id=0xD30F, buffer_pool=3, get_page=17)
    found = unpack_record(with_section(pack(pool)))
    assert "115-215" == found.name
    assert [pool] == found.sections["QPST"]


def test_a_triplet_past_the_record_damages_one_section_only():
    data = made(115, 2, pack(CommonHeader()), pack(BufferStatistics())[:72], (5000, 80, 1), first=28)
    found = unpack_record(data, position=100)
    assert ["QMST"] == list(found.sections)
    (damage,) = found.damages
    assert 100 == damage.offset
    assert f"115-2: triplet of QIST points past the record (5000+80x1 of {len(data)})" == damage.reason


def test_a_section_shorter_than_its_beginning_is_damage():
    found = unpack_record(made(115, 215, (0, 0, 0), (36, 2, 4)))
    assert ["115-215: QPST is 2 bytes long, shorter than its own beginning"] == [d.reason for d in found.damages]


def test_a_header_section_past_the_record_is_damage():
    found = unpack_record(made(116, 1, (9000, 128, 1)))
    assert {} == found.sections
    assert "triplet of header section points past" in found.damages[0].reason


def test_other_types_and_unknown_subtypes_have_no_sections():
    for data in (record(record_type=30, subtype=4), record(record_type=115, subtype=99)):
        found = unpack_record(data)
        assert (None, {}, []) == (found.kind, found.sections, found.damages)


@pytest.mark.parametrize(
    ("record_type", "subtype", "parts", "lengths"),
    [
        (115, 1, (pack(CommonHeader(), 36),), (36, None, None)),
        (115, 1, (pack(CommonHeader()),), (52, None, None)),
        (115, 1, (pack(CommonHeader()) + pack(ExtensionHeader()),), (52, None, 16)),
        (116, 1, (pack(CommonHeader(), 36) + pack(CorrelationHeader()),), (36, 92, None)),
        (116, 1, (pack(CommonHeader(), 36) + pack(CorrelationHeader()) + pack(ExtensionHeader()),), (36, 92, 16)),
        (115, 5, (bytes(4) + pack(ExtensionHeader()),), (None, None, 16)),
        (115, 5, (bytes(4),), (None, None, None)),
    ],
)
def test_the_length_of_triplet_0_tells_which_headers_stand_there(record_type, subtype, parts, lengths):
    headers = unpack_record(made(record_type, subtype, *parts)).headers
    present = (headers.common, headers.correlation, headers.extension)
    assert lengths == tuple(each and each.length for each in present)


def test_the_release_is_the_extension_header_s_from_v10_on():
    old = unpack_record(made(115, 1, pack(CommonHeader())))
    new = unpack_record(made(115, 1, pack(CommonHeader()) + pack(ExtensionHeader(release="100000"))))
    assert ("8.0.0", "10.0.0") == (old.release, new.release)


def test_a_116_1_without_queues_has_three_triplets():
    """Where the fourth triplet would stand, the first section begins (K2)."""
    header = pack(CommonHeader(sections=3), 36) + pack(CorrelationHeader())
    found = unpack_record(made(116, 1, header, pack(TaskIdentification()), bytes(712)))
    assert ({"WTID", "WTAS"}, []) == (set(found.sections), found.damages)


def test_continuations_join_their_task():
    """116-2 brings more queues of the 116-1 before it; another task's does not (O3)."""
    header = pack(CommonHeader(sections=4), 36) + pack(CorrelationHeader())
    one, other = pack(TaskIdentification(connection_name="JOB1")), pack(TaskIdentification(connection_name="JOB2"))
    queue = bytes(576)
    dump = [
        made(116, 1, header, one, bytes(712), queue),
        made(116, 2, header, one, queue),
        made(116, 2, header, one, queue),
        made(116, 2, header, other, queue),
        made(116, 1, header, one, bytes(712), queue),
    ]
    found = list(tasks(unpack_record(each) for each in dump))
    assert [3, 1, 1] == [len(task.queues) for task in found]
    assert [True, False, True] == [task.accounting is not None for task in found]


def test_a_continuation_without_identification_continues_nobody():
    """Two records that lost it are not therefore of one task (O3)."""
    header = pack(CommonHeader(sections=4), 36) + pack(CorrelationHeader())
    lost, queue = (9000, 208, 1), bytes(576)
    dump = [made(116, 1, header, lost, bytes(712), queue), made(116, 2, header, lost, queue)]
    assert [(None, 1), (None, 1)] == [
        (task.identification, len(task.queues)) for task in tasks(unpack_record(each) for each in dump)
    ]


def test_the_same_name_on_another_queue_manager_is_another_task():
    header = pack(CommonHeader(sections=4), 36) + pack(CorrelationHeader())
    who, queue = pack(TaskIdentification(connection_name="JOB1")), bytes(576)
    dump = [
        made(116, 1, header, who, bytes(712), queue, qmgr="QMA"),
        made(116, 2, header, who, queue, qmgr="QMB"),
        made(116, 2, header, who, queue, qmgr="QMB"),
    ]
    assert [1, 2] == [len(task.queues) for task in tasks(unpack_record(each) for each in dump)]


def test_damage_and_other_records_between_a_task_and_its_continuation_do_no_harm():
    header = pack(CommonHeader(sections=4), 36) + pack(CorrelationHeader())
    who, queue = pack(TaskIdentification(connection_name="JOB1")), bytes(576)
    first, second = made(116, 1, header, who, bytes(712), queue), made(116, 2, header, who, queue)
    between = [Damage(0, "a hole"), unpack_record(with_section()), unpack_record(record(record_type=30))]
    (task,) = tasks([unpack_record(first), *between, unpack_record(second)])
    assert 2 == len(task.queues)


def test_names_are_read_in_the_code_page_asked_for():
    data = record(qmgr="Q[1]")
    raw = bytearray(data)
    raw[18:22] = CODE_PAGES["1047"].encode("Q[1]", 4)
    assert "Q[1]" == unpack_record(bytes(raw)).header.queue_manager
    assert "Q[1]" != unpack_record(bytes(raw), page=CODE_PAGES["037"]).header.queue_manager


@pytest.mark.parametrize("what", ["missing", "directory"])
def test_a_dump_that_cannot_be_opened_says_why(tmp_path, what):
    path = tmp_path if what == "directory" else tmp_path / "nowhere.smf"
    with pytest.raises(UnusableDumpError, match="no such file" if what == "missing" else "is a directory"):
        list(read_dump(path))


@pytest.mark.real
@real
def test_testchl_is_read_in_full():
    """319 records, 28 of them spanned; the 16 DNS blocks that QWHSNSDA does not count are there."""
    found = list(read_dump(REAL / "TESTCHL.dat"))
    assert not [each for each in found if isinstance(each, Damage)]
    records = Counter(each.name for each in found)
    assert 319 == records.total()
    assert {"116-1": 200, "116-0": 45, "116-10": 8, "2": 1, "3": 1} == {
        name: n for name, n in records.items() if not name.startswith("115")
    }
    assert {16} == {records[name] for name in ("115-1", "115-2", "115-215", "115-231")}
    sections = Counter()
    for each in found:
        sections.update({structure: len(blocks) for structure, blocks in each.sections.items()})
    assert {"QCT_DNS": 16, "QCT_ADP": 128, "QCT_DSP": 80, "QPST": 384, "QCST": 23, "WQST": 22, "WTAS": 200} == {
        name: sections[name] for name in ("QCT_DNS", "QCT_ADP", "QCT_DSP", "QPST", "QCST", "WQST", "WTAS")
    }


@pytest.mark.real
@real
def test_every_section_of_the_real_dumps_has_its_eye_catcher():
    for path in REAL_DUMPS:
        for each in read_dump(path):
            for structure, blocks in each.sections.items():
                for section in blocks:
                    assert getattr(section, "eye", structure) == structure


@pytest.mark.real
@real
def test_times_of_a_real_record():
    first = next(each for each in read_dump(REAL / "TEST116.dat") if each.name == "116-0")
    assert datetime(2015, 11, 23, 11, 0, 0, 20_000) == first.local_time - timedelta(0)
    assert datetime(2015, 11, 23, 17, 0, tzinfo=UTC) == first.utc_time.replace(second=0, microsecond=0)
    assert timedelta(hours=-6) == first.zone
    assert "8.0.0" == first.release


@pytest.mark.parametrize(("record_type", "cls"), [(115, Smf115Header), (116, Smf116Header), (2, Smf116Header)])
def test_the_header_is_that_of_the_record_s_type(record_type, cls):
    """The official names differ: SM115LEN and SM116LEN; of other types the common part is read."""
    found = unpack_record(record(bytes(40), record_type=record_type))
    assert cls is type(found.header)
    assert record_type == found.header.record_type


def test_standard_input_is_a_dump_under_its_name(monkeypatch, tmp_path):
    data = with_section()
    (tmp_path / "dump").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    for name in (STANDARD_INPUT, str(tmp_path / "dump")):
        with open_input(name) as stream:
            assert data == stream.read()


def test_standard_input_may_be_closed(monkeypatch):
    """As under a daemon; a file is read all the same."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UnusableDumpError, match="standard input is closed"), open_input(STANDARD_INPUT):
        pass


def test_a_record_nobody_knows_has_no_interval():
    assert unpack_record(record(bytes(40), record_type=116, subtype=99)).interval_us is None
    assert unpack_record(record(bytes(40), record_type=30)).interval_us is None
