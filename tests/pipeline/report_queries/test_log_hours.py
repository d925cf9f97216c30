"""Rates in the list of exceptions: counted over an hour, not over five minutes (A-37, A-43)."""

from datetime import date

import pyarrow as pa

from quaestor.pipeline.report_queries.exceptions import SOURCES


def rates(*rows, name="CHECKPOINTS", seconds=300.0):
    """Counts an hour of rows (day, time, count) of five minutes."""
    days, times, counts = zip(*rows, strict=True)
    none = [0.0] * len(rows)
    table = pa.table(
        {
            "DATE": pa.array([date(2026, 3, each) for each in days], pa.date32()),
            "TIME": [f"{each}:00.00" for each in times],
            "MVS": ["SYSA"] * len(rows),
            "MQSERIES_SUB_ID": ["QM01"] * len(rows),
            "CHECKPOINTS": none,
            "READ_REQ_BUF": none,
            name: counts,
            "SECONDS": [seconds] * len(rows),
        }
    )
    return SOURCES["log"].prepare(table)[f"{name}_AN_HOUR"].to_pylist()


def test_one_checkpoint_in_five_minutes_is_not_twelve_an_hour():
    assert [2.0] == rates((2, "09:00", 1))
    quiet = [(2, f"09:{minute:02}", 0) for minute in range(0, 55, 5)]
    assert 1.0 == rates(*quiet, (2, "09:55", 1))[-1]


def test_checkpoints_of_an_hour_are_added_over_midnight():
    evening = [(2, f"23:{minute:02}", 1) for minute in range(30, 60, 5)]
    night = [(3, f"00:{minute:02}", 1) for minute in range(0, 30, 5)]
    assert 12.0 == rates(*evening, *night)[-1]


def test_reads_from_buffers_are_counted_over_an_hour_of_any_intervals():
    """Sixty reads are as many in an hour of one row as in twelve rows of five each."""
    assert [60.0] == rates((2, "09:00", 60), name="READ_REQ_BUF", seconds=3600.0)
    twelve = [(2, f"09:{minute:02}", 5) for minute in range(0, 60, 5)]
    assert 60.0 == rates(*twelve, name="READ_REQ_BUF")[-1]
    assert [10.0] == rates((2, "09:00", 60), name="READ_REQ_BUF", seconds=6 * 3600.0)
    assert [None] == rates((2, "09:00", 60), name="READ_REQ_BUF", seconds=None)
