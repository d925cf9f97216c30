"""Where the intervals of a table lie, as columns for Spark: in raw tables and in summary tables.  Rules in `middles`.

Called by measured_hours, advice_tables and the report queries.  Calls middles.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.middles import HALF_MINUTE_S


def middle_of_record() -> Column:
    """Of a raw table's row: `local_time` and `interval_us` (L1)."""
    return F.col("local_time") - _span(F.col("interval_us") / 2e6)


def middle_of_row(day: str = "DATE", time: str = "TIME") -> Column:
    """Of a summary table's row: its day and time, and the SECONDS of its INTERVALS together (L4).

    The first of them begins one length before TIME, so the middle of all is half of all after that.
    """
    text = F.concat_ws(" ", F.date_format(day, "yyyy-MM-dd"), F.substring(time, 1, 8))
    length = F.try_divide(F.col("SECONDS"), F.col("INTERVALS"))
    return F.to_timestamp_ntz(text, F.lit("yyyy-MM-dd HH:mm:ss")) - _span(length - F.col("SECONDS") / 2)


def hour_at(moment: Column) -> Column:
    """The hour in which a moment lies."""
    return F.date_trunc("hour", moment).cast("timestamp_ntz")


def _span(seconds: Column) -> Column:
    """So many seconds, to the half minute (L2); none where that is not known (L3)."""
    half_minutes = F.floor(F.coalesce(seconds, F.lit(0.0)) / HALF_MINUTE_S + 0.5)
    return F.make_dt_interval(secs=half_minutes * HALF_MINUTE_S)
