"""A live section gives the row that its SMF record would give, and the same findings."""

from datetime import datetime

import pytest

from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import standard
from quaestor.advisor.evaluate import advise
from quaestor.advisor.live import Interval, tables_of
from quaestor.layout import pack, unpack
from quaestor.smf.arrow_schema import Source, columns_of
from quaestor.smf.records import read_dump
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.coupling_facility import CouplingFacilityStatistics, StructureFigures
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.smf.sections.log import LogStatistics

NOW = Interval("QM01", "SYSA", datetime(2026, 3, 2, 9), 1800.0, "9.4.5")


def test_findings_of_a_running_queue_manager():
    sections = [
        LogStatistics(waits_no_buffer=4, checkpoints=1),
        BufferStatistics(buffer_pool=0, buffers=1000, stealable_low=800),
        BufferStatistics(buffer_pool=3, buffers=1000, stealable_low=20, short_on_storage=2),
    ]
    advice = advise(standard(RULES), tables_of(sections, NOW))
    serious = {(each.rule.id, each.subject) for each in advice.findings if each.severity > 1}
    assert {("mp1b/A-36", "log"), ("mp1b/A-24", "buffer pool 3"), ("mp1b/A-25", "buffer pool 3")} == serious
    assert datetime(2026, 3, 2, 8, 30) == advice.findings[0].first


def test_intervals_are_microseconds_and_unused_slots_are_left_out():
    facility = CouplingFacilityStatistics()
    facility.structures[0] = StructureFigures(structure="APP1", single_calls=10, single_elapsed=4096 * 500)
    table = tables_of([facility], NOW)["QEST"]
    (slots,) = table["structures"].to_pylist()
    assert [("APP1", 500.0)] == [(each["structure"], each["single_elapsed_us"]) for each in slots]
    db2 = tables_of([Db2Statistics(writes=1, write_server_elapsed=4096 * 109_000)], NOW)["Q5ST"]
    assert [109_000.0] == db2["write_server_elapsed_us"].to_pylist()


def test_a_shorter_section_knows_less():
    short = unpack(LogStatistics, pack(LogStatistics(waits_no_buffer=1)), length=120)
    table = tables_of([short], NOW)["QJST"]
    assert [1] == table["waits_no_buffer"].to_pylist()
    assert 1 == table["logs_zhyperlink_capable"].null_count
    assert ["mp1b/A-36"] == [each.rule.id for each in advise(standard(RULES), {"QJST": table}).findings]


@pytest.mark.parametrize("structure", ["QPST", "QJST", "Q5ST", "QEST", "QMST", "QCCT", "QCST", "QIS1", "QESD"])
def test_a_live_row_equals_the_decoded_one(structure, synthetic_dump):
    path, tables = synthetic_dump
    decoded = tables[structure]
    found = next(record.sections[structure] for record in read_dump(path) if structure in record.sections)
    live = tables_of(found, NOW)[structure].to_pylist()[0]
    first = decoded.to_pylist()[0]
    for column in columns_of(found[0].LAYOUT):
        stamped = column.field.kind.unit == "utc" or column.name in {"copies", "compression"}
        if column.source is Source.FIELD and not stamped:
            assert first[column.name] == live[column.name], column.name


def test_a_live_row_says_whose_and_when_it_is():
    (row,) = tables_of([LogStatistics()], NOW)["QJST"].to_pylist()
    assert ("QM01", "SYSA", "9.4.5", None, datetime(2026, 3, 2, 9), 1.8e9) == tuple(
        row[name] for name in ("queue_manager", "system", "release", "queue_sharing_group", "local_time", "interval_us")
    )
    grouped = Interval("QM01", "SYSA", NOW.end, 60.0, queue_sharing_group="QSG1")
    (row,) = tables_of([LogStatistics()], grouped)["QJST"].to_pylist()
    assert (None, "QSG1", 6e7) == (row["release"], row["queue_sharing_group"], row["interval_us"])


def test_sections_of_one_structure_are_counted_through():
    pools = [BufferStatistics(buffer_pool=number) for number in (0, 3, 7)]
    table = tables_of([pools[0], LogStatistics(), *pools[1:]], NOW)
    assert {"QPST", "QJST"} == set(table)
    assert [(0, 0), (1, 3), (2, 7)] == [(row["occurrence"], row["buffer_pool"]) for row in table["QPST"].to_pylist()]


def test_no_sections_make_no_tables():
    assert {} == tables_of([], NOW)


def test_both_copies_of_the_log_are_there_by_kind():
    """Two copies with two kinds of I/O each: lists in lists, and none of them is taken for an unused slot."""
    (row,) = tables_of([LogStatistics()], NOW)["QJST"].to_pylist()
    assert [2, 2] == [len(copy["kinds"]) for copy in row["copies"]]
    assert {0} == {kind["ios"] for copy in row["copies"] for kind in copy["kinds"]}
