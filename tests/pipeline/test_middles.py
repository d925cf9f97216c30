"""Where intervals lie (L1 to L4): by hand, in NumPy and in Spark."""

from datetime import date, datetime

import numpy as np
import pytest

from quaestor.pipeline.middle_columns import hour_at, middle_of_record, middle_of_row
from quaestor.pipeline.middles import middles

DAY = date(2026, 3, 2)
RECORDS = [
    ("01:00:00.030000", 3600.0, "00"),  # midnight to one
    ("10:00:00.000000", 3600.0, "09"),
    ("09:59:59.990000", 3600.0, "09"),
    ("10:30:00.030000", 3600.01, "10"),  # half in nine, half in ten: the later
    ("10:30:00.030000", 3600.2, "10"),  # and so it is when the next one is a little longer (L2)
    ("10:15:00.020000", 1799.9, "10"),
    ("10:10:00.000000", 1800.0, "09"),
    ("10:01:00.000000", 60.0, "10"),
    ("10:00:00.500000", 60.0, "09"),
    ("10:00:00.000000", None, "10"),  # L3
    ("10:00:00.000000", 0.0, "10"),
]
"""When a record was written, how long its interval was, the hour that it is of."""

ROWS = [
    ("01:00:00", 3600.0, 1, "00"),
    ("10:00:00", 3600.01, 1, "09"),
    ("10:30:00", 3600.01, 1, "10"),
    ("10:05:00", 1800.0, 1, "09"),  # ended at 10:05 to 10:09: its middle was at 9:50 to 9:54
    ("10:15:00", 900.02, 1, "10"),
    ("10:00:00", 300.0, 1, "09"),
    ("10:05:00", 299.99, 1, "10"),
    ("10:00:00", 300.0, 5, "10"),  # five minutes of one minute each: all but the first are of ten
    ("09:55:00", 300.0, 5, "09"),
    ("10:00:00", None, 1, "10"),
    ("10:00:00", 0.0, 0, "10"),
]
"""The TIME of a summary row, its SECONDS and INTERVALS, the hour that it is of (L4)."""


def test_the_middles_of_records():
    ends = np.array([f"{DAY}T{end}" for end, *_ in RECORDS], "datetime64[us]")
    seconds = np.array([np.nan if each is None else each for _, each, _ in RECORDS])
    hours = middles(ends, seconds).astype("datetime64[h]")
    assert [f"{DAY}T{hour}" for *_, hour in RECORDS] == [str(each) for each in hours]


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_the_middles_of_records_in_spark(spark, kind):
    rows = [
        (datetime.fromisoformat(f"{DAY}T{end}"), None if seconds is None else 1e6 * seconds)
        for end, seconds, _ in RECORDS
    ]
    frame = spark.createDataFrame(rows, f"local_time {kind}, interval_us double")
    hours = [row.hour for row in frame.select(hour_at(middle_of_record()).alias("hour")).collect()]
    assert [datetime.fromisoformat(f"{DAY}T{hour}:00") for *_, hour in RECORDS] == hours


def test_the_middles_of_summary_rows(spark):
    rows = [(DAY, f"{time}.00", seconds, count) for time, seconds, count, _ in ROWS]
    frame = spark.createDataFrame(rows, "DATE date, TIME string, SECONDS double, INTERVALS long")
    hours = [row.hour for row in frame.select(hour_at(middle_of_row()).alias("hour")).collect()]
    assert [datetime.fromisoformat(f"{DAY}T{hour}:00") for *_, hour in ROWS] == hours


def test_midnight_closes_the_day_before(spark):
    rows = [(datetime(2026, 3, 3), 3.6e9)]
    frame = spark.createDataFrame(rows, "local_time timestamp_ntz, interval_us double")
    assert datetime(2026, 3, 2, 23) == frame.select(hour_at(middle_of_record()).alias("hour")).first().hour
    rows = [(date(2026, 3, 3), "00:00:00.00", 3600.0, 1)]
    frame = spark.createDataFrame(rows, "DATE date, TIME string, SECONDS double, INTERVALS long")
    assert datetime(2026, 3, 2, 23) == frame.select(hour_at(middle_of_row()).alias("hour")).first().hour
