"""Where every section of a block stands, for all its records at once (rules P1, P2, K1, K2, O1, O2)."""

import struct

import numpy as np
import pytest

from quaestor.layout import pack
from quaestor.smf.blocks import Block, Damage
from quaestor.smf.catalog import SECTIONS
from quaestor.smf.locate import locate
from quaestor.smf.sections.headers import CommonHeader, CorrelationHeader
from smf.dumps import record
from smf.rows import block_of

ALL = frozenset(SECTIONS)


def made(record_type, subtype, *parts, gap=0):
    """A record with a triplet for each (bytes of one, count) or raw triplet, and the sections behind."""
    at, triplets, body = 28 + 8 * len(parts) + gap, b"", b"\x11" * gap
    for part in parts:
        if len(part) == 3:
            triplets += struct.pack(">IHH", *part)
            continue
        one, count = part
        triplets += struct.pack(">IHH", at + len(body) - gap, len(one), count)
        body += one * count
    return record(triplets + body, record_type=record_type, subtype=subtype)


NONE = (0, 0, 0)
POOLS = made(115, 215, NONE, (b"\xaa" * 104, 3))
OLD = made(115, 2, NONE, (b"\xbb" * 48, 1), NONE, (b"\xcc" * 104, 2))
LOCKS = made(115, 2, NONE, (b"\xdd" * 72, 1), NONE, NONE, (b"\xee" * 32, 1))


def starts(*records):
    """Where each record of a block begins in its data."""
    return np.cumsum([0, *(len(each) for each in records)]).tolist()


def test_occurrences_of_a_section_follow_each_other():
    found = locate(block_of([POOLS]), ALL)
    (structure,) = found.sections
    sections = found.sections[structure]
    assert "QPST" == structure
    assert [0, 0, 0] == sections.record.tolist()
    assert [44, 148, 252] == (sections.offset - found.starts[0]).tolist()
    assert [104, 104, 104] == sections.length.tolist()
    assert [0, 1, 2] == sections.occurrence.tolist()


def test_sections_of_two_record_kinds_come_in_the_order_of_the_dump():
    """Before V8 buffer pools stood in 115-2, since then in 115-215 (P2)."""
    found = locate(block_of([POOLS, OLD, POOLS]), ALL)
    assert [0, 0, 0, 1, 1, 2, 2, 2] == found.sections["QPST"].record.tolist()
    assert [0, 1, 2, 0, 1, 0, 1, 2] == found.sections["QPST"].occurrence.tolist()
    assert [1] == found.sections["QMST"].record.tolist()


def test_only_what_is_wanted_is_looked_up():
    assert ["QLST"] == list(locate(block_of([LOCKS, POOLS]), ["QLST"]).sections)
    assert {} == locate(block_of([LOCKS, POOLS]), []).sections
    assert {} == locate(block_of([LOCKS]), ["WQST"]).sections


def test_a_triplet_without_a_count_has_no_section():
    found = locate(block_of([LOCKS]), ALL)
    assert {"QMST": 72, "QLST": 32} == {name: int(each.length[0]) for name, each in found.sections.items()}
    assert [] == found.damages


def test_other_records_are_counted_by_type():
    """O2: types 30 and 2 are somebody else's."""
    others = [record(record_type=30, body=bytes(40)), record(record_type=2)[:18], record(record_type=30)]
    others[1] = b"\0\x12" + others[1][2:]
    found = locate(block_of([others[0], POOLS, others[1], others[2]]), ALL)
    assert {30: 2, 2: 1} == dict(found.others)
    assert 1 == len(found)
    assert [115] == found.types.tolist()
    assert [215] == found.subtypes.tolist()


def test_a_subtype_nobody_knows_has_no_sections_and_no_damage():
    strange = made(115, 999, (9000, 52, 1), (7, 7, 7))
    found = locate(block_of([strange, POOLS]), ALL)
    assert [999, 215] == found.subtypes.tolist()
    assert [1, 1, 1] == found.sections["QPST"].record.tolist()
    assert [] == found.damages


def test_a_block_without_mq_records_is_empty():
    found = locate(block_of([record(record_type=30)]), ALL)
    assert (0, {}, []) == (len(found), found.sections, found.damages)
    assert {30: 1} == dict(found.others)


def test_damage_stands_at_the_position_in_the_dump_and_leaves_the_rest_alone():
    """O1: the first section of the second record is damaged, its other one is there."""
    data = bytearray(OLD)
    data[28 + 12 : 28 + 14] = (60_000).to_bytes(2, "big")
    block = block_of([POOLS, bytes(data), LOCKS])
    block.positions[:] = [7000, 8000, 9000]
    found = locate(block, ALL)
    assert [
        Damage(8000, f"115-2: triplet of QMST points past the record (60+60000x1 of {len(OLD)})"),
    ] == found.damages
    assert [2] == found.sections["QMST"].record.tolist()
    assert [0, 0, 0, 1, 1] == found.sections["QPST"].record.tolist()


def test_a_damaged_header_section_leaves_the_sections():
    """The space before the first section says how many triplets there are (K2)."""
    data = bytearray(POOLS)
    data[28:36] = struct.pack(">IHH", 9999, 52, 1)
    whole, found = (locate(block_of([bytes(each)]), ALL) for each in (POOLS, data))
    assert whole.sections["QPST"].offset.tolist() == found.sections["QPST"].offset.tolist()
    assert [0] == found.headers.common.tolist()
    assert [f"115-215: triplet of header section points past the record (9999+52x1 of {len(POOLS)})"] == [
        each.reason for each in found.damages
    ]


# --- how many triplets there are (K2) --------------------------------------------------------------------------------


def accounting(sections, *parts):
    """A 116-1 whose QWHSNSDA says `sections`."""
    head = pack(CommonHeader(sections=sections), 36) + pack(CorrelationHeader())
    return made(116, 1, (head, 1), *parts)


TASK, FIGURES, QUEUE = (b"\x01" * 208, 1), (b"\x02" * 712, 1), (b"\x03" * 576, 2)


@pytest.mark.parametrize(
    ("says", "structures"),
    [
        (1, []),
        (2, ["WTID"]),
        (3, ["WTID", "WTAS"]),
        (4, ["WTID", "WTAS", "WQST"]),
        (200, ["WTID", "WTAS", "WQST"]),
    ],
)
def test_a_task_has_the_triplets_that_its_header_counts(says, structures):
    """What stands where a further triplet would be is the next section already."""
    found = locate(block_of([accounting(says, TASK, FIGURES, QUEUE)]), ALL)
    assert structures == list(found.sections)


def test_elsewhere_triplets_end_where_the_first_section_begins():
    """V8 says five for 115-231 and has six: the count is not asked (K2)."""
    head = pack(CommonHeader(sections=1), 52)
    tasks = [(bytes([n]) * size, 1) for n, size in enumerate((48, 36, 32, 48, 48))]
    found = locate(block_of([made(115, 231, (head, 1), *tasks)]), ALL)
    assert ["QCCT", "QCT_DSP", "QCT_ADP", "QCT_SSL", "QCT_DNS"] == list(found.sections)


def test_a_record_that_ends_before_its_table_has_fewer_triplets():
    """Two triplets of nine: the bytes behind the record are another's."""
    short = made(115, 2, NONE, (b"\xbb" * 48, 1))
    found = locate(block_of([short, LOCKS]), ALL)
    assert [0, 1] == found.sections["QMST"].record.tolist()
    assert [1] == found.sections["QLST"].record.tolist()


def test_headers_are_found_with_their_lengths():
    """H1 for many: statistics with QWHS alone, a task with QWHC behind, storage with its stub."""
    statistics = made(115, 215, (pack(CommonHeader(), 52), 1), (b"\xaa" * 104, 1))
    task = accounting(2, TASK)
    storage = made(115, 5, (b"\0" * 20, 1), (b"\x05" * 88, 1))
    found = locate(block_of([statistics, task, storage, POOLS]), ALL)
    assert [52, 36, 0, 0] == found.headers.common.tolist()
    assert [0, 92, 0, 0] == found.headers.correlation.tolist()
    assert [0, 0, 16, 0] == found.headers.extension.tolist()
    begin = starts(statistics, task, storage)
    assert begin[0] + 44 == found.headers.common_at[0]
    assert begin[1] + 44 + 36 == found.headers.correlation_at[1]
    assert begin[2] + 44 + 4 == found.headers.extension_at[2]
    assert [False, False, False, False] == found.headers.tod_interval.tolist()


def test_intervals_in_tod_units_are_marked():
    """H4: in 115-231 and 116-10."""
    kinds = [(115, 231), (116, 10), (115, 1), (116, 0)]
    found = locate(block_of([made(*kind, NONE) for kind in kinds]), ALL)
    assert [True, True, False, False] == found.headers.tod_interval.tolist()


def test_records_may_lie_apart_and_in_any_order_of_the_buffer():
    """Joined segments stand behind the others: offsets count, not neighbourhood."""
    data = bytearray(b"\xff" * 13 + POOLS + b"\xff" * 9 + LOCKS)
    at = [13 + len(POOLS) + 9, 13]
    block = Block(data, np.array(at), np.array([len(LOCKS), len(POOLS)]), np.array([100, 50]), [])
    found = locate(block, ALL)
    assert [0] == found.sections["QLST"].record.tolist()
    assert [1, 1, 1] == found.sections["QPST"].record.tolist()
    assert 13 + 44 == found.sections["QPST"].offset[0]
