"""Checkpoints an hour in the list of exceptions: counted over an hour, not over five minutes (A-43)."""

from datetime import date

import pyarrow as pa

from quaestor.pipeline.report_queries.exceptions import SOURCES


def rates(*rows):
    """Checkpoints an hour of five-minute rows (day, time, checkpoints)."""
    days, times, counts = zip(*rows, strict=True)
    table = pa.table(
        {
            "DATE": pa.array([date(2026, 3, each) for each in days], pa.date32()),
            "TIME": [f"{each}:00.00" for each in times],
            "MVS": ["SYSA"] * len(rows),
            "MQSERIES_SUB_ID": ["QM01"] * len(rows),
            "CHECKPOINTS": counts,
            "SECONDS": [300.0] * len(rows),
        }
    )
    return SOURCES["log"].prepare(table)["CHECKPOINTS_AN_HOUR"].to_pylist()


def test_one_checkpoint_in_five_minutes_is_not_twelve_an_hour():
    assert [2.0] == rates((2, "09:00", 1))
    quiet = [(2, f"09:{minute:02}", 0) for minute in range(0, 55, 5)]
    assert 1.0 == rates(*quiet, (2, "09:55", 1))[-1]


def test_checkpoints_of_an_hour_are_added_over_midnight():
    evening = [(2, f"23:{minute:02}", 1) for minute in range(30, 60, 5)]
    night = [(3, f"00:{minute:02}", 1) for minute in range(0, 30, 5)]
    assert 12.0 == rates(*evening, *night)[-1]
