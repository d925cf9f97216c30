"""Five outputs of MP1B's sample program that read statistics: SCF MM BM SDB2 LOG, one row per record and object.

Rules
  O6  Rows are intervals as they were recorded, not the five minutes of the summary tables.
  O7  %Redrive is a percentage of the requests, as its heading says; MP1B's text calls it a number.
  O8  Reads of the log are delayed for two reasons that MP1B prints under one heading; they are two columns.

Called by the package's register.  Calls steps.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.report_queries.steps import Parameters, Tables, average, percent, raw

_HEAD = ("local_time", "date", "time", "qmgr")


def _intervals(tables: Tables, structure: str, asked: Parameters) -> DataFrame:
    """The rows of a statistics structure with date, time and queue manager under short names (O6)."""
    frame = raw(tables, structure, asked).withColumn("date", F.to_date("local_time"))
    hundredths = F.substring(F.date_format("local_time", "HH:mm:ss.SSSSSS"), 1, 11)
    return frame.withColumn("time", hundredths).withColumn("qmgr", F.col("queue_manager"))


def scf(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per interval and structure of the coupling facility that was used."""
    entries = _intervals(tables, "QEST", asked).select(*_HEAD, F.explode("structures").alias("one"))
    made = (
        entries.select(*_HEAD, "one.*")
        .where("structure <> ''")
        .select(
            *_HEAD,
            "structure_number",
            "structure",
            "single_calls",
            average("single_elapsed_us", "single_calls").alias("single_avg_us"),
            percent("single_redrives", "single_calls").alias("single_redrive_percent"),  # O7
            "multiple_calls",
            average("multiple_elapsed_us", "multiple_calls").alias("multiple_avg_us"),
            percent("multiple_redrives", "multiple_calls").alias("multiple_redrive_percent"),
            "structure_full",
        )
    )
    return made.orderBy("local_time", "qmgr", "structure_number")


def mm(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per interval: MQI calls of a queue manager."""
    return _intervals(tables, "QMST", asked).orderBy("local_time", "qmgr")


def bm(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per interval and buffer pool: how much of it could be stolen, and what was done about it."""
    made = _intervals(tables, "QPST", asked).withColumn("now_percent", percent("stealable_now", "buffers"))
    return made.withColumn("low_percent", percent("stealable_low", "buffers")).orderBy(
        "local_time", "qmgr", "buffer_pool"
    )


def sdb2(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per interval: the deepest queue of requests to Db2, and deadlocks."""
    return _intervals(tables, "Q5ST", asked).orderBy("local_time", "qmgr")


def log(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per interval: writes, waits and reads of the log manager (O8)."""
    return _intervals(tables, "QJST", asked).orderBy("local_time", "qmgr")
