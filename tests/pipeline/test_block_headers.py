"""The SMF headers of a block as arrays: what records are sorted out by before anything is decoded."""

from datetime import UTC, datetime

import pytest

from quaestor.pipeline.block_headers import BlockHeaders, name_of
from quaestor.smf.records import unpack_record
from smf.dumps import record, with_section
from smf.rows import block_of

MIDNIGHT_US = int(datetime(2016, 2, 27, tzinfo=UTC).timestamp()) * 1_000_000


def of(*records):
    return BlockHeaders(block_of(list(records)))


def test_types_and_subtypes_are_numbers():
    """A subtype has two bytes: 215 and 999 alike."""
    found = of(with_section(), record(record_type=116, subtype=1), record(record_type=115, subtype=999))
    assert [115, 116, 115] == found.types.tolist()
    assert [215, 1, 999] == found.subtypes.tolist()


def test_names_are_compared_as_four_bytes_and_read_back():
    found = of(record(system="SYSA", qmgr="QM1"), record(system="SYSB", qmgr="CSQ1"))
    assert ["SYSA", "SYSB"] == [name_of(each) for each in found.systems.tolist()]
    assert ["QM1", "CSQ1"] == [name_of(each) for each in found.queue_managers.tolist()]


@pytest.mark.parametrize(("packed", "name"), [(0xD8D4F140, "QM1"), (0xD8D40000, "QM"), (0x40404040, ""), (0, "")])
def test_fill_is_no_part_of_a_name(packed, name):
    assert name == name_of(packed)


@pytest.mark.parametrize(
    ("date", "time", "us"),
    [
        (0x0116058F, 0, MIDNIGHT_US),
        (0x0116058F, 1, MIDNIGHT_US + 10_000),
        (0x0116058F, 8_639_999, MIDNIGHT_US + 86_399_990_000),
        (0x0116059F, 0, MIDNIGHT_US + 86_400_000_000),
        (0x0070001F, 0, 0),
        (0x0069365F, 0, -86_400_000_000),
    ],
    ids=["midnight", "a hundredth later", "the last hundredth", "the next day", "1970", "the day before 1970"],
)
def test_local_time_counts_from_1970(date, time, us):
    found = of(record(date=date, time=time))
    assert ([us], [True]) == (found.local_us.tolist(), found.dated.tolist())


def test_a_date_that_does_not_exist_is_told():
    """The 366th day of 2015; that of 2016 exists."""
    found = of(record(date=0x0115366F), record(date=0x0116366F), record(date=0x0115365F))
    assert [False, True, True] == found.dated.tolist()


def test_the_headers_are_those_that_the_record_reader_sees():
    records = [
        record(record_type=116, subtype=n, time=1000 * n, qmgr=f"QM{n:02d}", date=0x0116001F + 16 * n) for n in range(9)
    ]
    found = of(*records)
    seen = [unpack_record(each) for each in records]
    assert [each.header.subtype for each in seen] == found.subtypes.tolist()
    assert [each.header.date_packed for each in seen] == found.dates.tolist()
    assert [each.header.queue_manager for each in seen] == [name_of(each) for each in found.queue_managers.tolist()]
    epoch = datetime(1970, 1, 1)
    assert [int((each.local_time - epoch).total_seconds() * 100) * 10_000 for each in seen] == found.local_us.tolist()
