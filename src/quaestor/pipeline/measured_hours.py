"""What queue managers carried, hour by hour and day by day, out of the raw tables: the planner's measurements.

Rules
  H1  An interval belongs to the hour its middle lies in (middles, L1): of statistics, and of the task that an
      accounting record is about.  Queue records that came apart from their task belong to the hour that held the
      minute before they were written.
  H2  A rate is a sum of counts over a sum of seconds; intervals of any length add up.
  H3  The busiest hour is the one with the most MQPUT, MQPUT1 and MQGET calls a second, hours of less than a quarter
      of an hour's statistics left out.
  H4  A shared queue is used by its whole queue-sharing group: what its queue managers did in the hour is added up.
      Records that do not name their group belong with the others that do not.
  H5  What a level of the records does not have is null, never 0. Gets that do not say which of them were destructive
      are taken for it, as in the reports.
  H6  A queue manager is its system and its name (report_queries, G8). Of several that share a name one is measured, and
      the others are not of its group either: there each name is one member's.

Called by the plan's commands, with a lake's tables or those of dumps.  Calls middle_columns.
"""

from collections.abc import Callable, Collection
from datetime import date, datetime, time, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.middle_columns import hour_at, middle_of_record

Tables = Callable[[str], DataFrame]
Row = dict[str, Any]

PAGE_BYTES = 4096
HOUR_SECONDS_MIN = 900  # H3
SECOND_US = 1_000_000.0
_WRITTEN_WITHIN = "INTERVAL 1 MINUTE"  # H1


def message_hours(
    tables: Tables, queue_manager: str, begin: datetime | None = None, end: datetime | None = None
) -> list[Row]:
    """One row per hour that begins in the range, its end left out: `hour`, `seconds`, `calls`, in order (H1, H2)."""
    frame = _of_manager(tables("QMST"), queue_manager, begin, end)
    calls = F.col("gets") + F.col("puts") + F.col("put1s")
    summed = frame.groupBy(_hour_of_interval()).agg(_seconds(), F.try_sum(calls).alias("calls")).orderBy("hour")
    rows = _rows(summed.where((F.col("seconds") > 0) & F.col("calls").isNotNull()))
    return [row for row in rows if (begin is None or row["hour"] >= begin) and (end is None or row["hour"] < end)]


def busiest_hour(hours: Collection[Row]) -> datetime | None:
    """The hour with the most calls a second; None where nothing was counted (H3)."""
    whole = [each for each in hours if each["seconds"] >= HOUR_SECONDS_MIN and each["calls"]]
    best = max(whole, key=lambda each: (each["calls"] / each["seconds"], each["hour"]), default=None)
    return None if best is None else best["hour"]


def queue_managers(tables: Tables) -> list[tuple[str, str]]:
    """Name and system of those that have statistics at all."""
    known = tables("QMST").where("queue_manager is not null").select("queue_manager", _system()).distinct()
    return sorted((row["queue_manager"], row["system"]) for row in known.collect())


def without_namesakes(tables: Tables, queue_manager: str, system: str) -> Tables:
    """The tables without the queue managers of this name on other systems (H6)."""
    namesake = F.col("queue_manager").eqNullSafe(F.lit(queue_manager)) & (_system() != system)
    return lambda name: tables(name).where(~namesake)


def measured_hour(tables: Tables, queue_manager: str, hour: datetime) -> dict[str, list[Row]]:
    """All that is known of one hour, one list of rows per subject; of buffer pools the hour before as well."""
    before = timedelta(hours=1)

    def rows(structure: str) -> DataFrame:
        return _of_manager(tables(structure), queue_manager, hour, hour + timedelta(hours=1)).where(
            _hour_of_interval() == F.lit(hour)
        )

    return {
        "manager": _rows(_manager(rows("QMST"))),
        "queues": _rows(_queues(tables, queue_manager, hour)),
        "tasks": _rows(_tasks(_of_manager(tables("WTAS"), queue_manager, hour, hour + timedelta(hours=1)), hour)),
        "log": _rows(_log(rows("QJST"))),
        "buffer_pools": _rows(_pools(_of_manager(tables("QPST"), queue_manager, hour - before, hour + before), hour)),
        "page_sets": _rows(_page_sets(rows("QIS1"))),
        "channels": _rows(_channels(rows("QCST"))),
    }


def daily_figures(
    tables: Tables, queue_manager: str, begin: datetime | None = None, end: datetime | None = None
) -> dict[str, dict[date, float]]:
    """{figure: {day: value}}: the busiest hour's messages and log bytes a second, the fullest pool and page set.

    A day counts from the hours that lie in it (H1), from the day of `begin` to that of `end`, both whole.  Pools and
    page sets are named by number, in percent used.
    """
    first, last = begin and datetime.combine(begin, time()), end and datetime.combine(end, time())

    def of(structure: str) -> DataFrame:
        frame = _of_manager(tables(structure), queue_manager, first, last).withColumn("hour", _hour_of_interval())
        late = frame if first is None else frame.where(F.col("hour") >= F.lit(first))
        return late if last is None else late.where(F.to_date("hour") <= F.lit(last.date()))

    calls = F.col("gets") + F.col("puts") + F.col("put1s")
    pool = 100 * (1 - F.col("stealable_low") / F.col("buffers"))
    page_set = 100 * (1 - F.col("pages_unused") / F.col("pages"))
    made: dict[str, dict[date, float]] = {
        "messages_per_s": _peaks(of("QMST"), calls),
        "log_bytes_per_s": _peaks(of("QJST"), PAGE_BYTES * F.col("buffers_filled")),
    }
    used = F.col("get_page") + F.col("get_new_page") > 0
    for name, frame, key, share in (
        ("buffer_pool", of("QPST").where(used & (F.col("buffers") > 0)), "buffer_pool", pool),
        ("page_set", of("QIS1").where(F.col("pages") > 0), "page_set", page_set),
    ):
        summed = frame.groupBy(F.to_date("hour").alias("day"), key).agg(F.max(share).alias("percent"))
        for row in summed.orderBy("day", key).collect():
            made.setdefault(f"{name}_{row[key]}_percent", {})[row["day"]] = float(row["percent"])
    return made


def _peaks(frame: DataFrame, counted: Column) -> dict[date, float]:
    """The highest hourly rate of each day (H2)."""
    hourly = frame.groupBy("hour").agg(_seconds(), F.try_sum(counted).alias("counted"))
    rates = hourly.where(F.col("seconds") >= HOUR_SECONDS_MIN).select(
        F.to_date("hour").alias("day"), (F.col("counted") / F.col("seconds")).alias("rate")
    )
    daily = rates.groupBy("day").agg(F.max("rate").alias("rate")).orderBy("day")
    return {row["day"]: float(row["rate"]) for row in daily.collect() if row["rate"] is not None}


def _manager(frame: DataFrame) -> DataFrame:
    return frame.agg(
        F.max("release").alias("release"),
        F.max("queue_sharing_group").alias("group"),
        _seconds(),
        *(F.try_sum(each).alias(each) for each in ("gets", "puts", "put1s", "persistent_puts")),
    )


def _queues(tables: Tables, queue_manager: str, hour: datetime) -> DataFrame:
    """One row per queue: messages, bytes, persistence, time on the queue, commits of the tasks that used it (H4)."""
    tasks = _of_hour(tables("WTAS"), hour).select("record_id", "commits", _hour_of_task().alias("task_hour"))
    used = _of_hour(tables("WQST"), hour).join(tasks, "record_id", "left")
    used = used.where(F.coalesce(F.col("task_hour"), _hour_written()) == F.lit(hour))
    used = used.withColumn("valid_destructive_gets", F.coalesce("valid_destructive_gets", "valid_gets"))  # H5
    group = used.where(F.col("queue_manager") == queue_manager).agg(F.max("queue_sharing_group").alias("group"))
    shared = F.coalesce(F.col("structure"), F.lit("")) != ""
    mine = F.col("queue_manager") == queue_manager
    grouped = F.col("queue_sharing_group").eqNullSafe(F.col("group"))
    kept = used.crossJoin(group).where(mine | (shared & grouped))
    persistent = F.coalesce(F.col("puts_persistent"), F.lit(0)) + F.coalesce(F.col("put1s_persistent"), F.lit(0))
    return (
        kept.groupBy(F.col("base_name").alias("queue"))
        .agg(
            F.max("structure").alias("structure"),
            F.countDistinct("queue_manager").alias("members"),
            F.max(F.when(mine, F.col("page_set"))).alias("page_set"),
            F.max("index_type").alias("index_type"),
            *(_total(each) for each in ("valid_puts", "put_bytes", "valid_destructive_gets", "get_bytes")),
            F.try_sum("gets_persistent").alias("gets_persistent"),
            F.try_sum(persistent).alias("persistent_puts"),
            F.try_sum("on_queue_elapsed_us").alias("on_queue_us"),
            F.try_sum(F.when(F.col("valid_puts") > 0, F.col("commits"))).alias("put_commits"),
            F.try_sum(F.when(F.col("valid_destructive_gets") > 0, F.col("commits"))).alias("get_commits"),
            F.try_sum(F.col("put_cpu_us") + F.col("put1_cpu_us")).alias("put_cpu_us"),
            F.try_sum("get_cpu_us").alias("get_cpu_us"),
        )
        .where("valid_puts > 0 or valid_destructive_gets > 0")
        .orderBy("queue")
    )


def _tasks(frame: DataFrame, hour: datetime) -> DataFrame:
    counted = ("commits", "backouts", "log_bytes", "log_writes", "log_forces", "commit_cpu_us", "log_force_elapsed_us")
    return frame.where(_hour_of_task() == F.lit(hour)).agg(*(F.try_sum(each).alias(each) for each in counted))


def _log(frame: DataFrame) -> DataFrame:
    """Log bytes, writes and I/O times; the first of the I/O figures is that of single pages."""
    counted = ("buffers_filled", "cis_written", "log_ios", "suspensions", "checkpoints", "writes_nowait")
    copy = F.col("copies").getItem(0)
    single = copy["kinds"].getItem(0)
    second = F.coalesce(F.col("copies").getItem(1)["kinds"].getItem(0)["ios"], F.lit(0))
    return frame.agg(
        _seconds(),
        *(F.try_sum(each).alias(each) for each in counted),
        F.try_sum(single["ios"]).alias("single_ios"),
        F.try_sum(single["io_elapsed_us"]).alias("single_io_us"),
        F.max(F.when(F.col("copies").isNotNull(), F.when(second > 0, 2).otherwise(1))).alias("copies"),
    )


def _pools(frame: DataFrame, hour: datetime) -> DataFrame:
    """One row per pool and hour: this hour and the one before it."""
    counted = (
        "get_page", "get_new_page", "page_reads", "set_writes", "pages_written", "write_ios", "immediate_writes",
        "deferred_write_starts", "synchronous_write_starts", "steals", "hash_chain_changes", "short_on_storage",
    )  # fmt: skip
    rows = frame.withColumn("hour", _hour_of_interval())
    return (
        rows.where(F.col("hour").isin(hour, hour - timedelta(hours=1)))
        .groupBy("buffer_pool", "hour")
        .agg(
            _seconds(),
            F.max("buffers").alias("buffers"),
            F.min("stealable_low").alias("stealable_low"),
            F.max_by("stealable_now", "local_time").alias("stealable_now"),
            *(F.try_sum(each).alias(each) for each in counted),
        )
        .orderBy("buffer_pool", "hour")
    )


def _page_sets(frame: DataFrame) -> DataFrame:
    counted = ("read_pages", "read_elapsed_us", "deferred_write_ios", "deferred_write_elapsed_us")
    return (
        frame.groupBy("page_set", "buffer_pool")
        .agg(
            F.max("pages").alias("pages"),
            F.min("pages_unused").alias("pages_unused"),
            *(F.try_sum(each).alias(each) for each in counted),
        )
        .orderBy("page_set")
    )


def _channels(frame: DataFrame) -> DataFrame:
    """One row per channel name and type; `instances` are partners that it ran to."""
    counted = ("messages", "persistent_messages", "message_bytes", "batches")
    last = ("batch_size", "batch_interval", "shared_conversations")
    return (
        frame.groupBy("channel", F.col("channel_type_name").alias("kind"))
        .agg(
            F.countDistinct("connection_name").alias("instances"),
            *(_total(each) for each in counted),
            *(F.max(each).alias(each) for each in last),
        )
        .where("messages > 0")
        .orderBy("channel", "kind")
    )


def _hour_of_interval() -> Column:
    """The hour the middle of an interval lies in, in local time (H1)."""
    return hour_at(middle_of_record()).alias("hour")


def _system() -> Column:
    """The system; blank where a record does not name it."""
    return F.coalesce(F.col("system"), F.lit("")).alias("system")


def _total(name: str) -> Column:
    """What was counted in all; none where no record tells."""
    return F.coalesce(F.try_sum(name), F.lit(0)).alias(name)


def _seconds() -> Column:
    return (F.try_sum("interval_us") / SECOND_US).alias("seconds")


def _hour_of_task() -> Column:
    """The hour the middle of a task's interval lies in, in local time; when written where it has no times (H1)."""
    middle_us = (F.unix_micros("wtas_interval_start") + F.unix_micros("interval_end")) / 2
    local_us = middle_us + F.coalesce(F.col("zone_minutes"), F.lit(0)) * 60 * SECOND_US
    return F.coalesce(hour_at(F.timestamp_micros(local_us.cast("long"))), _hour_written())


def _hour_written() -> Column:
    return hour_at(F.col("local_time") - F.expr(_WRITTEN_WITHIN))


def _of_hour(frame: DataFrame, hour: datetime) -> DataFrame:
    """Records that may belong to an hour."""
    return _between(frame, hour, hour + timedelta(hours=1))


def _of_manager(frame: DataFrame, queue_manager: str, begin: datetime | None, end: datetime | None) -> DataFrame:
    return _between(frame.where(F.col("queue_manager") == queue_manager), begin, end)


def _between(frame: DataFrame, begin: datetime | None, end: datetime | None) -> DataFrame:
    """Records written in a range of time or up to a day after it: the interval decides about them afterwards."""
    for bound, later, at_least in ((begin, 0, True), (end, 1, False)):
        if bound is not None:
            moment = bound + timedelta(days=later)
            frame = frame.where(
                F.col("local_time") >= F.lit(moment) if at_least else F.col("local_time") <= F.lit(moment)
            )
            if "day" in frame.columns:
                day = F.lit(moment.date())
                frame = frame.where(F.col("day") >= day if at_least else F.col("day") <= day)
    return frame


def _rows(frame: DataFrame) -> list[Row]:
    return [row.asDict() for row in frame.collect()]
