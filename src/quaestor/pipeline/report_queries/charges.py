"""Who used how much: charge-back by application, channel and department, and how it changes from week to week.

Rules
  H1  Charge-back reads the monthly table, which keeps user ids and outlives the details.
  H2  A channel is charged by its name and the address of its partner, an application by its job, transaction and user
      id (A-15). The channel initiator's tasks are work of channels, not of an application.
  H3  A week is compared with the calendar week before it, asked for or not; without work in that, it has no change.

Called by the package's register.  Calls departments, steps.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.report_queries.departments import ChargePlan, read_charge_plan
from quaestor.pipeline.report_queries.steps import (
    Parameters,
    Tables,
    application,
    day_from,
    percentage,
    summarised,
    total,
)

WEEKLY = "DRL.MQ_WEEKLY_STATS"
MONTHLY = "DRL.MQ_MONTHLY_STATS"
SUNDAY, END_OF_MONTH = "date_add(DATE, 6)", "last_day(DATE)"
_MOVES = "coalesce(CHANNEL, '') <> ''"


def _work(tables: Tables, asked: Parameters, plan: ChargePlan) -> DataFrame:
    """The monthly rows with their payer."""
    return summarised(tables, MONTHLY, asked, last_day=END_OF_MONTH).withColumn("payer", plan.department())


def _plan(asked: Parameters) -> ChargePlan:
    return read_charge_plan(asked["plan"]) if asked.get("plan") is not None else ChargePlan()


def _charged(work: DataFrame, plan: ChargePlan, keys: Mapping[str, Column]) -> DataFrame:
    """One row per month and value of the keys: commits, CPU, bytes, shares of the month, and the charge."""
    summed = work.groupBy(F.col("DATE").alias("month"), *(column.alias(name) for name, column in keys.items())).agg(
        total("NCOMMITS").alias("commits"),
        (total("CT") / 1e6).alias("cpu_s"),
        (total("BYTES") / 1e6).alias("megabytes"),
    )
    month = Window.partitionBy("month")
    made = (
        summed.withColumn("cpu_percent", percentage("cpu_s", F.sum("cpu_s").over(month)))
        .withColumn("bytes_percent", percentage("megabytes", F.sum("megabytes").over(month)))
        .withColumn("charge", plan.charge(F.col("cpu_s"), F.col("megabytes")))
        .withColumn("currency", F.lit(plan.currency))
    )
    return made.orderBy("month", F.desc("cpu_s"), *keys)


def by_application(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per month, job, transaction and user id (H2)."""
    plan = _plan(asked)
    work = _work(tables, asked, plan).where(f"NOT ({_MOVES}) AND JOBTYPE <> 'CHIN'")
    keys = {
        "jobname": F.col("JOBNAME"),
        "jobtype": F.col("JOBTYPE"),
        "transaction": F.col("TRAN"),
        "userid": F.col("USERID"),
        "department": F.col("payer"),
    }
    return _charged(work, plan, keys)


def by_channel(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per month, channel and partner (H2)."""
    plan = _plan(asked)
    work = _work(tables, asked, plan).where(_MOVES)
    keys = {
        "qmgr": F.col("QMGR"),
        "system": F.col("MVS"),
        "channel": F.col("CHANNEL"),
        "partner": F.col("CHANNELQ"),
        "department": F.col("payer"),
    }
    return _charged(work, plan, keys)


def by_department(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per month and department; what nobody fits is UNASSIGNED, what everybody uses is SHARED (C1)."""
    plan = _plan(asked)
    return _charged(_work(tables, asked, plan), plan, {"department": F.col("payer")})


def cpu_by_week(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per week and application: CPU, elapsed time, commits and bytes."""
    return _weeks(tables, asked).orderBy("week", F.desc("cpu_s"), "application")


def trend(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per week and application, against the week before (H3)."""
    weeks = _weeks(tables, asked)
    earlier = {**asked, "from": day_from(asked["from"], -7)} if asked.get("from") is not None else asked
    before = _weeks(tables, earlier).select(
        F.date_add("week", 7).alias("week"),
        "application",
        F.col("cpu_s").alias("cpu_s_before"),
        F.col("commits").alias("commits_before"),
        F.col("megabytes").alias("megabytes_before"),
    )
    made = weeks.join(before, ["week", "application"], "left")
    for name in ("cpu_s", "commits", "megabytes"):
        change = percentage(F.col(name) - F.col(f"{name}_before"), f"{name}_before")
        made = made.withColumn(f"{name.removesuffix('_s')}_change_percent", change)
    per_commit = F.try_divide(F.col("cpu_s") * 1e6, F.col("commits"))
    return made.withColumn("cpu_us_per_commit", per_commit).orderBy("application", "week")


def _weeks(tables: Tables, asked: Parameters) -> DataFrame:
    named = summarised(tables, WEEKLY, asked, last_day=SUNDAY).withColumn("application", application())
    return named.groupBy(F.col("DATE").alias("week"), "application").agg(
        (total("CT") / 1e6).alias("cpu_s"),
        (total("ET") / 1e6).alias("elapsed_s"),
        total("NCOMMITS").alias("commits"),
        (total("BYTES") / 1e6).alias("megabytes"),
    )
