"""What is in a dump: every record counted once, every section where its triplet says, the time covered (M1 to M3)."""

import io
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.layout import CODE_PAGES
from quaestor.smf.catalog import CATALOG
from quaestor.smf.framing import DumpReader
from quaestor.smf.inventory import Group, Inventory, Tally, take_inventory
from quaestor.smf.records import block_records
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.lock import LockStatistics
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.writer import RecordIdentity, build_record, task_records
from smf.dumps import record, with_section
from smf.strategies import records

NOON_US = 1_772_452_800_000_000  # 2026-03-02 12:00 UTC
LEVEL_8 = RecordIdentity("SYSA", "QM01", "8.0", zone_minutes=60)
LEVEL_10 = RecordIdentity("SYSB", "QM02", "10.0.0", zone_minutes=-330)


def inventory_of(data, window=1 << 20, page=CODE_PAGES["1047"]):
    found, damages = Inventory(), []
    for inventory, new in take_inventory(DumpReader(io.BytesIO(data), window=window), page):
        found = inventory
        damages += new
    return found, damages


def pools(identity, when_us, count=2):
    return build_record(CATALOG[115, 215], [BufferStatistics() for _ in range(count)], identity, when_us)


DUMP = b"".join(
    [
        record(record_type=2)[:18].replace(record(record_type=2)[:2], b"\0\x12", 1),
        pools(LEVEL_8, NOON_US),
        pools(LEVEL_10, NOON_US + 60_000_000, 3),
        pools(LEVEL_8, NOON_US + 1_800_000_000),
        *task_records(TaskIdentification(), TaskAccounting(), [QueueAccounting()] * 20, LEVEL_10, NOON_US),
        build_record(CATALOG[115, 2], [LockStatistics()], LEVEL_8, NOON_US),
        record(record_type=115, subtype=99),
    ]
)


@pytest.mark.parametrize("window", [1 << 20, 4_000])
def test_groups_are_told_apart_by_kind_and_who_wrote_them(window):
    found, damages = inventory_of(DUMP, window)
    assert [] == damages
    assert [
        ("2", "not MQ", "", "", "", 1),
        ("115-2", "message, data, lock, Db2, CF and topic manager", "SYSA", "QM01", "8.0.0", 1),
        ("115-99", "unknown subtype", "SYS1", "QM01", "8.0.0", 1),
        ("115-215", "buffer pools", "SYSA", "QM01", "8.0.0", 2),
        ("115-215", "buffer pools", "SYSB", "QM02", "10.0.0", 1),
        ("116-1", "task and queue accounting", "SYSB", "QM02", "10.0.0", 1),
        ("116-2", "queue accounting continued", "SYSB", "QM02", "10.0.0", 1),
    ] == [(group.kind, group.title, *group.names, tally.records) for group, tally in found.in_order()]
    assert (8, len(DUMP), 0) == (found.records, found.bytes, found.damages)


def test_the_time_covered_is_local_and_the_zone_stands_beside_it():
    found, _ = inventory_of(DUMP)
    spans = {(group.kind, group.queue_manager): tally for group, tally in found.in_order()}
    old, new = spans["115-215", "QM01"], spans["115-215", "QM02"]
    assert (datetime(2026, 3, 2, 13), datetime(2026, 3, 2, 13, 30), {60}) == (old.first, old.last, old.zone_minutes)
    assert (datetime(2026, 3, 2, 6, 31), {-330}) == (new.first, new.zone_minutes)
    assert new.first == new.last
    assert (None, None, set()) == (spans["2", ""].first, spans["2", ""].last, spans["2", ""].zone_minutes)
    assert set() == spans["115-99", "QM01"].zone_minutes  # no header section: no zone


def test_sections_are_counted_by_structure_and_length():
    found, _ = inventory_of(DUMP)
    assert {
        ("QPST", 104): 7,
        ("WTID", 208): 2,
        ("WTAS", 2344): 1,
        ("WQST", 2800): 20,
        ("QLST", 32): 1,
    } == dict(found.sections)


def test_names_are_read_in_the_code_page_asked_for():
    data = bytearray(with_section())
    data[18:22] = CODE_PAGES["1047"].encode("Q[1]", 4)
    names = {
        name: next(iter(inventory_of(bytes(data), page=page)[0].groups)).queue_manager
        for name, page in CODE_PAGES.items()
    }
    assert "Q[1]" == names["1047"]
    assert "Q[1]" not in (names["037"], names["500"])


def test_damage_is_told_once_in_the_order_of_the_dump():
    bad = bytearray(with_section())
    bad[36:40] = (5000).to_bytes(4, "big")  # the section's triplet
    data = with_section() + bytes(30) + bytes(bad) + with_section()[:50]
    found, damages = inventory_of(data)
    assert [84, 114, 198] == [damage.offset for damage in damages]
    assert (3, 2) == (found.damages, found.records)
    assert {("QPST", 40): 1} == dict(found.sections)


def test_a_tally_keeps_the_extremes():
    tally, day = Tally(), datetime(2026, 3, 2)
    tally.add(2, (day, day + timedelta(hours=1)), {60})
    tally.add(1, (), set())
    tally.add(3, (day - timedelta(hours=1), day), {0})
    assert (6, day - timedelta(hours=1), day + timedelta(hours=1), {0, 60}) == (
        tally.records,
        tally.first,
        tally.last,
        tally.zone_minutes,
    )


def test_a_group_that_is_not_mq_has_its_type_alone():
    assert ("30", "not MQ") == (Group(30).kind, Group(30).title)
    assert ("115-0", "unknown subtype") == (Group(115, 0).kind, Group(115, 0).title)
    assert ("116-0", "message manager accounting") == (Group(116, 0).kind, Group(116, 0).title)


@settings(max_examples=25, deadline=None)
@given(st.lists(records(), min_size=1, max_size=5), st.sampled_from([1 << 20, 70_000]))
def test_the_inventory_counts_what_the_records_hold(made, window):
    """Record by record and block by block: the same groups, times, zones and sections."""
    data = b"".join(made)
    found, damages = inventory_of(data, window)
    assert [] == damages
    groups, sections = {}, {}
    for block in DumpReader(io.BytesIO(data)).blocks():
        for each in block_records(block):
            head = each.header
            key = Group(head.record_type, head.subtype, head.system, head.queue_manager, each.release)
            groups.setdefault(key, []).append(each)
            for structure, held in each.sections.items():
                sections[structure] = sections.get(structure, 0) + len(held)
    assert set(groups) == set(found.groups)
    for key, held in groups.items():
        tally = found.groups[key]
        times = [each.local_time for each in held]
        zones = {each.zone // timedelta(minutes=1) for each in held if each.zone is not None}
        assert (len(held), min(times), max(times), zones) == (
            tally.records,
            tally.first,
            tally.last,
            tally.zone_minutes,
        )
    counted = {}
    for (structure, _), count in found.sections.items():
        counted[structure] = counted.get(structure, 0) + count
    assert sections == counted
