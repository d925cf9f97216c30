"""Records selected by their headers, without a session: never too few of them (C1, C2)."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import datasource

from pipeline.lakes import HOUR_US, MONDAY_US, SECOND_US, statistics, task
from quaestor.layout import CP1047
from quaestor.pipeline.block_headers import BlockHeaders, name_of
from quaestor.pipeline.selection import Selection
from quaestor.smf.blocks import Block

MONDAY = datetime(2026, 1, 5)


def block_of(records):
    data = b"".join(records)
    lengths = np.array([len(each) for each in records], np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    return Block(data, offsets, lengths, offsets)


def padded(record, queue_manager, system=None):
    """The record with the bytes of its names replaced."""
    names = (CP1047.encode(system, 4) if system is not None else record[14:18]) + queue_manager
    return record[:14] + names + record[22:]


RECORDS = [
    task(1, MONDAY_US + HOUR_US, "QM01"),
    *statistics(2, MONDAY_US + 2 * HOUR_US, "QM02", system="SYSB"),
    task(3, MONDAY_US + 3 * HOUR_US, "QM1"),
    padded(task(4, MONDAY_US + 4 * HOUR_US, "QM1"), CP1047.encode("QM1", 4)[:3] + b"\0"),
    padded(task(5, MONDAY_US + 5 * HOUR_US), b"\x40\x40\x40\x40"),
]
HEADERS = BlockHeaders(block_of(RECORDS))
TYPES, SUBTYPES = [116, 115, 115, 116, 116, 116], [1, 1, 215, 1, 1, 1]
NAMES = ["QM01", "QM02", "QM02", "QM1", "QM1", ""]
SYSTEMS = ["SYSA", "SYSB", "SYSB", "SYSA", "SYSA", "SYSA"]
HOURS = [1, 2, 2, 3, 4, 5]


def selected(*filters, headers=HEADERS):
    made = Selection()
    made.take(filters)
    return np.flatnonzero(made.mask(headers)).tolist(), len(made.tests)


def test_what_stands_in_a_header():
    assert (TYPES, SUBTYPES) == (HEADERS.types.tolist(), HEADERS.subtypes.tolist())
    assert (NAMES, SYSTEMS) == (
        [name_of(each) for each in HEADERS.queue_managers.tolist()],
        [name_of(each) for each in HEADERS.systems.tolist()],
    )
    assert [MONDAY_US + hour * HOUR_US for hour in HOURS] == HEADERS.local_us.tolist()
    assert HEADERS.dated.all()


def test_a_subtype_has_two_bytes():
    record = RECORDS[0][:22] + b"\x01\x02" + RECORDS[0][24:]
    assert [0x0102] == BlockHeaders(block_of([record])).subtypes.tolist()


@pytest.mark.parametrize(
    ("given_filter", "expected"),
    [
        (datasource.EqualTo(("record_type",), 115), [1, 2]),
        (datasource.EqualTo(("record_type",), 30), []),
        (datasource.GreaterThan(("subtype",), 1), [2]),
        (datasource.GreaterThanOrEqual(("subtype",), 1), [0, 1, 2, 3, 4, 5]),
        (datasource.LessThan(("subtype",), 215), [0, 1, 3, 4, 5]),
        (datasource.LessThanOrEqual(("record_type",), 115), [1, 2]),
        (datasource.EqualTo(("subtype",), 10**12), []),
        (datasource.In(("subtype",), (215, 5)), [2]),
        (datasource.In(("subtype",), ()), []),
        (datasource.EqualTo(("system",), "SYSB"), [1, 2]),
        (datasource.EqualTo(("queue_manager",), "QM1"), [3, 4]),
        (datasource.In(("queue_manager",), ("QM01", "QM02")), [0, 1, 2]),
        (datasource.In(("queue_manager",), ()), []),
        (datasource.EqualTo(("queue_manager",), "TOO LONG"), []),
        (datasource.EqualTo(("queue_manager",), "\u03a9"), []),
        (datasource.EqualTo(("local_time",), MONDAY + timedelta(hours=3)), [3]),
        (datasource.GreaterThan(("local_time",), MONDAY + timedelta(hours=3)), [4, 5]),
        (datasource.GreaterThanOrEqual(("local_time",), MONDAY + timedelta(hours=3)), [3, 4, 5]),
        (datasource.LessThan(("local_time",), MONDAY + timedelta(hours=2)), [0]),
        (datasource.LessThanOrEqual(("local_time",), MONDAY + timedelta(hours=2)), [0, 1, 2]),
        (datasource.LessThan(("local_time",), (MONDAY + timedelta(hours=2)).replace(tzinfo=UTC)), [0]),
        (datasource.LessThan(("local_time",), datetime(2026, 1, 5, 4, tzinfo=timezone(timedelta(hours=2)))), [0]),
    ],
)
def test_a_filter_that_headers_can_answer(given_filter, expected):
    """C1, at its edges: a name padded with zeros is the name that its rows show."""
    assert (expected, 1) == selected(given_filter)


@pytest.mark.parametrize(
    "given_filter",
    [
        datasource.IsNull(("queue_manager",)),
        datasource.Not(datasource.EqualTo(("subtype",), 1)),
        datasource.EqualTo(("puts",), 1),
        datasource.EqualTo(("task", "queue_manager"), "QM01"),
        datasource.GreaterThan(("queue_manager",), "QM01"),
        datasource.EqualTo(("queue_manager",), 5),
        datasource.EqualTo(("subtype",), "1"),
        datasource.In(("subtype",), (1, None)),
        datasource.In(("local_time",), (MONDAY,)),
        datasource.EqualTo(("local_time",), "2026-01-05"),
        datasource.StringStartsWith(("queue_manager",), "QM"),
    ],
)
def test_what_headers_cannot_answer_is_left_to_spark(given_filter):
    assert (list(range(6)), 0) == selected(given_filter)


def test_filters_must_all_hold():
    filters = (
        datasource.EqualTo(("record_type",), 116),
        datasource.EqualTo(("queue_manager",), "QM1"),
        datasource.GreaterThan(("local_time",), MONDAY + timedelta(hours=3)),
        datasource.IsNull(("queue_manager",)),
    )
    assert ([4], 3) == selected(*filters)


def test_a_record_of_no_day_has_no_time_to_be_selected_by():
    """Its date is none of the calendar: Spark would find null and leave it out."""
    undated = RECORDS[0][:10] + bytes.fromhex("0126999f") + RECORDS[0][14:]
    headers = BlockHeaders(block_of([undated, RECORDS[0]]))
    assert [False, True] == headers.dated.tolist()
    for each in (datasource.LessThan, datasource.GreaterThan):
        past = datetime(1971, 1, 1) if each is datasource.GreaterThan else datetime(2041, 1, 1)
        assert ([1], 1) == selected(each(("local_time",), past), headers=headers)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 86_399), min_size=1, max_size=5), st.integers(0, 86_399), st.sampled_from("<>"))
def test_times_are_compared_as_times(seconds, bound, how):
    headers = BlockHeaders(block_of([task(1, MONDAY_US + each * SECOND_US) for each in seconds]))
    kind = datasource.LessThan if how == "<" else datasource.GreaterThan
    found, _ = selected(kind(("local_time",), MONDAY + timedelta(seconds=bound)), headers=headers)
    expected = [n for n, each in enumerate(seconds) if (each < bound if how == "<" else each > bound)]
    assert expected == found
