"""The tables behind the pictures of the HTML report.

Rules
  P1  A picture shows hours, weeks or the whole period; its table has the same rows, so the two cannot disagree.
  P2  What elapsed time is made of is taken from the counters that wait inside it; the rest is "other", never negative.
  P3  Records have averages of the network time, and 0 where none was measured: that does not count. Others count as
      often as there were batches, or intervals where a channel has none (G3).

  P4  A rate is of intervals whose length is known: what one without a length counted is in the sums, not in the rates.

Called by the package's register.  Calls steps, and the names of the summary tables.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.report_queries.charges import SUNDAY, WEEKLY
from quaestor.pipeline.report_queries.exceptions import BUFFER_MANAGER
from quaestor.pipeline.report_queries.manager_queries import CF_CALLS, LOG_MANAGER
from quaestor.pipeline.report_queries.steps import (
    Parameters,
    Tables,
    application,
    by_hour,
    percentage,
    ratio,
    summarised,
    total,
)
from quaestor.pipeline.report_queries.task_queries import DAILY_QUEUE

CHANNELS, MESSAGE_MANAGER = "DRL.MQ_CHANNELS", "DRL.MQS_MSGMGR_T"
CI_BYTES = 4096
_RATES = ("CIS_WRITTEN", "SUSPENSIONS")
_MEASURES = "CASE WHEN NETTIME_AVG > 0 THEN coalesce(nullif(BATCHES, 0), INTERVALS) END"  # P3


def elapsed_split(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per application: its elapsed time in MQ, and what it was spent on (P2)."""
    parts = {
        "cpu_s": ("CT",),
        "log_s": ("LOGTIME", "FORCETIME"),
        "page_set_s": ("PSTIME",),
        "cf_s": ("CFTIME",),
        "db2_s": ("DB2TIME",),
    }
    summed = (
        summarised(tables, WEEKLY, asked, last_day=SUNDAY)
        .withColumn("application", application())
        .groupBy("application")
        .agg(
            (total("ET") / 1e6).alias("elapsed_s"),
            *((total(*columns) / 1e6).alias(name) for name, columns in parts.items()),
        )
    )
    known = sum((F.col(name) for name in parts), F.lit(0.0))
    made = summed.withColumn("other_s", F.greatest(F.lit(0.0), F.col("elapsed_s") - known))
    return made.orderBy(F.desc("elapsed_s"), "application")


def queue_traffic(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per queue manager and queue: messages and bytes put and got, persistent ones, deepest depth."""
    summed = (
        summarised(tables, DAILY_QUEUE, asked)
        .groupBy("QMGR", "MVS", "BASENAME")
        .agg(
            total("VALIDPUT").alias("messages_put"),
            total("VALIDGET").alias("messages_got"),
            (total("PUTBYTES") / 1e6).alias("megabytes_put"),
            (total("GETBYTES") / 1e6).alias("megabytes_got"),
            F.expr("sum(PUTPMSG + PUT1PMSG)").alias("persistent_put"),  # null at levels that do not count them
            F.max("MAXQDPTH").alias("depth_high"),
        )
        .where("messages_put + messages_got > 0")
    )
    return summed.orderBy(F.desc(F.col("megabytes_put") + F.col("megabytes_got")), "QMGR", "MVS", "BASENAME")


def buffer_pools(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per hour, queue manager and buffer pool that was used: the least that was stealable, and the I/O."""
    counts = ("RIO", "WIO", "DWT", "IMW", "DMC", "SOS")
    summed = (
        by_hour(tables, BUFFER_MANAGER, asked)
        .groupBy("hour", "QMGR", "MVS", "BUFFER_POOL")
        .agg(
            F.max("BUFFERS").alias("BUFFERS"),
            F.min(percentage("STEALABLE_LOW", "BUFFERS")).alias("low_percent"),
            total("GETP", "GETN").alias("used"),
            *(total(each).alias(each) for each in counts),
        )
        .where("used > 0")
    )
    return summed.orderBy("QMGR", "MVS", "BUFFER_POOL", "hour")


def log_activity(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per hour and queue manager: rate of writing both log copies, forces, checkpoints."""
    summed = (
        by_hour(tables, LOG_MANAGER, asked, qmgr="MQSERIES_SUB_ID")
        .groupBy("hour", F.col("MQSERIES_SUB_ID").alias("QMGR"), "MVS")
        .agg(
            *(total(each).alias(each) for each in ("CIS_WRITTEN", "CHECKPOINTS", "LOG_IOS", "SECONDS")),
            *(F.expr(f"sum(CASE WHEN SECONDS > 0 THEN {each} END)").alias(f"timed_{each}") for each in _RATES),  # P4
        )
    )
    bytes_written = F.col("timed_CIS_WRITTEN") * CI_BYTES
    made = summed.withColumn("megabytes_per_s", ratio(bytes_written / 1e6, "SECONDS"))
    return made.withColumn("forces_per_s", ratio("timed_SUSPENSIONS", "SECONDS")).orderBy("QMGR", "MVS", "hour")


def cf_activity(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per hour, queue manager and structure: requests and how long they took."""
    columns = ("QESTCSEC", "QESTCMEC", "QESTSSTC", "QESTMSTC", "QESTSFUL")
    summed = (
        by_hour(tables, CF_CALLS, asked, lengths=MESSAGE_MANAGER)
        .groupBy("hour", "QMGR", "MVS", "STRUCTURE")
        .agg(*(total(each).alias(each) for each in columns), F.max("QESTMNUS").alias("ENTRIES_MAX"))
        .where("QESTCSEC + QESTCMEC > 0")
    )
    made = summed.withColumn("single_avg_us", ratio("QESTSSTC", "QESTCSEC"))
    made = made.withColumn("multiple_avg_us", ratio("QESTMSTC", "QESTCMEC"))
    return made.orderBy("QMGR", "MVS", "STRUCTURE", "hour")


def channel_traffic(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per queue manager, channel and type: messages, bytes, achieved batch size (F-31), network time."""
    summed = (
        summarised(tables, CHANNELS, asked)
        .groupBy("QMGR", "MVS", "CHANNEL", "TYPE")
        .agg(
            F.countDistinct("CONNAME").alias("partners"),
            *(total(each).alias(each) for each in ("MESSAGES", "PERSISTENT", "BATCHES", "FULL_BATCHES")),
            (total("BYTES_SENT") / 1e6).alias("megabytes_sent"),
            (total("BYTES_RECEIVED") / 1e6).alias("megabytes_received"),
            F.max("BATCHSZ").alias("BATCHSZ"),
            F.expr(f"sum(NETTIME_AVG * {_MEASURES})").alias("network_us"),
            F.expr(f"sum({_MEASURES})").alias("network_measures"),
            F.max("NETTIME_MAX").alias("network_max_us"),
        )
    )
    made = summed.withColumn("batch_size", ratio("MESSAGES", "BATCHES"))
    made = made.withColumn("network_avg_us", ratio("network_us", "network_measures"))
    return made.orderBy(F.desc("MESSAGES"), "QMGR", "MVS", "CHANNEL", "TYPE")
