"""Rates of the log in the list of exceptions: counted over an hour, not over five minutes (A-37, A-43)."""

from datetime import date

import pyarrow as pa

from quaestor.pipeline.report_queries.exceptions import SOURCES


def rates(*rows, column="CHECKPOINTS_AN_HOUR", seconds=300.0):
    """Checkpoints an hour of five-minute rows (day, time, checkpoints); each comes with a hundred reads."""
    days, times, counts = zip(*rows, strict=True)
    table = pa.table(
        {
            "DATE": pa.array([date(2026, 3, each) for each in days], pa.date32()),
            "TIME": [f"{each}:00.00" for each in times],
            "MVS": ["SYSA"] * len(rows),
            "MQSERIES_SUB_ID": ["QM01"] * len(rows),
            "CHECKPOINTS": counts,
            "READ_REQ_BUF": [100 * each for each in counts],
            "SECONDS": [seconds] * len(rows),
        }
    )
    return SOURCES["log"].prepare(table)[column].to_pylist()


def test_one_checkpoint_in_five_minutes_is_not_twelve_an_hour():
    assert [2.0] == rates((2, "09:00", 1))
    quiet = [(2, f"09:{minute:02}", 0) for minute in range(0, 55, 5)]
    assert 1.0 == rates(*quiet, (2, "09:55", 1))[-1]


def test_checkpoints_of_an_hour_are_added_over_midnight():
    evening = [(2, f"23:{minute:02}", 1) for minute in range(30, 60, 5)]
    night = [(3, f"00:{minute:02}", 1) for minute in range(0, 30, 5)]
    assert 12.0 == rates(*evening, *night)[-1]


def test_reads_of_log_buffers_are_of_an_hour_whatever_the_interval():
    """A-37: the limit is one an hour, as the advisor has it; a hundred reads in six hours are not many."""
    reads = "BUFFER_READS_AN_HOUR"
    assert [200.0] == rates((2, "09:00", 1), column=reads, seconds=1800.0)
    assert [100.0] == rates((2, "09:00", 1), column=reads, seconds=3600.0)
    assert [100 / 6] == rates((2, "09:00", 1), column=reads, seconds=6 * 3600.0)
    assert [None] == rates((2, "09:00", 1), column=reads, seconds=None)
