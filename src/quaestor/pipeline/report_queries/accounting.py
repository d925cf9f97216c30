"""Seven outputs of MP1B's sample program that read accounting: SUMMARY STATS PUT GET DB2 CF THREAD.

Rules
  O1  Columns and formulas are MP1B's. Times are microseconds except et_ms; averages and percentages are cut (G4).
  O2  The program prints every task record. With `grain=job` the records of a job are taken together first: counts and
      times add up, sizes and times on queue keep their extremes.
  O3  A queue goes by its base name: that is where the message is.
  O4  The smallest size and the shortest time on queue mean something only after a valid call (F-7).
  O5  Time on queue is measured by destructive gets alone. Its average divides by them where the record counts them,
      by the valid gets otherwise, and is null when the result is below the minimum, which no average can be (F-9).

Called by the package's register.  Calls steps.
"""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.report_queries.steps import (
    Parameters,
    Tables,
    Verb,
    average,
    by_verb,
    percent,
    raw,
    total,
)

QUEUE_VERBS: tuple[Verb, ...] = (
    ("Open", "opens", "open_elapsed_us", "open_cpu_us"),
    ("Close", "closes", "close_elapsed_us", "close_cpu_us"),
    ("Put", "puts", "put_elapsed_us", "put_cpu_us"),
    ("Put1", "put1s", "put1_elapsed_us", "put1_cpu_us"),
    ("Get", "gets", "get_elapsed_us", "get_cpu_us"),
    ("Inq", "inquires", "inq_elapsed_us", "inq_cpu_us"),
    ("Set", "sets", "set_elapsed_us", "set_cpu_us"),
)
TASK_VERBS: tuple[Verb, ...] = (
    ("Commit", "commits", "commit_elapsed_us", "commit_cpu_us"),
    ("Backout", "backouts", "backout_elapsed_us", "backout_cpu_us"),
    ("Other", "others", "other_elapsed_us", "other_cpu_us"),
)
LOG_WAITS = (
    "get_log_write_elapsed_us",
    "put_log_write_elapsed_us",
    "put1_log_write_elapsed_us",
    "set_log_write_elapsed_us",
)
PAGE_SET_WAITS = ("get_page_set_elapsed_us", "put_page_set_elapsed_us", "put1_page_set_elapsed_us")
THREAD_TYPES = {
    1: "CICS",
    2: "Batch",
    3: "IMS Control",
    4: "IMS",
    5: "Command",
    6: "Channel",
    7: "RRS",
    8: "IGQ agent",
}
_RECORD = ("moment", "record_id")


def _identified(frame: DataFrame) -> DataFrame:
    """The same rows with job name, moment of the record and queue under short names."""
    queue = ["base_name AS queue"] if "base_name" in frame.columns else []
    return frame.selectExpr("*", "task_connection_name AS jobname", "local_time AS moment", *queue)


def _keys(asked: Parameters, *more: str) -> list[str]:
    """What tells the rows of an output apart (O2)."""
    return [*(_RECORD if asked["grain"] == "record" else ()), "jobname", *more]


def _sums(columns: Iterable[str]) -> list[Column]:
    return [total(each).alias(each) for each in columns]


def _by_record(frame: DataFrame, asked: Parameters, *then: str) -> DataFrame:
    """In the order of the records, or of the jobs."""
    order = [*(_RECORD if asked["grain"] == "record" else ()), "jobname", *then]
    return frame.orderBy(*order)


def summary(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per task record or job: where the elapsed time of its queue calls went."""
    elapsed = {verb.lower(): column for verb, _, column, _ in QUEUE_VERBS}
    cpu = [column for *_, column in QUEUE_VERBS]
    summed = (
        _identified(raw(tables, "WQST", asked))
        .groupBy(*_keys(asked))
        .agg(
            total(*elapsed.values()).alias("elapsed_us"),
            *(total(column).alias(verb) for verb, column in elapsed.items()),
            total(*cpu).alias("cpu"),
            total(*LOG_WAITS).alias("log"),
            total(*PAGE_SET_WAITS).alias("pset"),
        )
    )
    shares = [percent(part, "elapsed_us").alias(f"{part}_percent") for part in (*elapsed, "cpu", "log", "pset")]
    made = summed.select(*_keys(asked), F.floor(F.col("elapsed_us") / 1000).alias("et_ms"), *shares)
    other = 100 - (F.col("log_percent") + F.col("pset_percent") + F.col("cpu_percent"))
    return _by_record(made.withColumn("other_percent", other), asked)


def stats(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per task record or job, queue and verb that was called; commit, backout and other have no queue."""
    keys = _keys(asked, "queue")
    tasks = _identified(raw(tables, "WTAS", asked)).withColumn("queue", F.lit(""))
    queues = _identified(raw(tables, "WQST", asked))
    parts = (by_verb(tasks, keys, TASK_VERBS), by_verb(queues, keys, QUEUE_VERBS))
    summed = (
        parts[0]
        .unionByName(parts[1])
        .groupBy(*keys, "verb_order", "verb")
        .agg(*_sums(("calls", "elapsed_us", "cpu_us")))
    )
    made = summed.withColumn("average_et_us", average("elapsed_us", "calls")).withColumn(
        "average_ct_us", average("cpu_us", "calls")
    )
    if asked.get("queue") is not None:
        made = made.where("queue <> ''")
    return _by_record(made, asked, "queue", "verb_order")


def put(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per task record or job and queue put to: calls, bytes and sizes."""
    keys = _keys(asked, "queue")
    made = (
        _identified(raw(tables, "WQST", asked))
        .groupBy(*keys)
        .agg(
            *_sums(("valid_puts", "puts", "put1s", "put_bytes")),
            F.max("put_size_high").alias("put_size_high"),
            F.min(F.when(F.col("valid_puts") > 0, F.col("put_size_low"))).alias("put_size_low"),  # O4
        )
        .where("puts + put1s > 0")
    )
    return _by_record(made, asked, "queue")


def get(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per task record or job and queue got from: calls, bytes, sizes and time on queue."""
    keys = _keys(asked, "queue")
    valid = F.col("valid_gets") > 0
    measured = F.sum(F.coalesce("valid_destructive_gets", "valid_gets"))  # O5
    summed = (
        _identified(raw(tables, "WQST", asked))
        .groupBy(*keys)
        .agg(
            *_sums(("gets", "valid_gets", "get_bytes", "on_queue_elapsed_us")),
            measured.alias("measured"),
            F.max("get_size_high").alias("get_size_high"),
            F.min(F.when(valid, F.col("get_size_low"))).alias("get_size_low"),  # O4
            F.max("on_queue_longest_us").alias("toq_max_us"),
            F.min(F.when(valid, F.col("on_queue_shortest_us"))).alias("toq_min_us"),  # O4
        )
        .where("gets > 0")
    )
    mean = F.try_divide("on_queue_elapsed_us", "measured")
    made = summed.withColumn("toq_avg_us", F.when(mean >= F.col("toq_min_us"), mean))  # O5
    return _by_record(made, asked, "queue")


def db2(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per task record or job that made requests to Db2: T as the thread saw them, S as the server did."""
    summed = (
        _identified(raw(tables, "WTAS", asked))
        .groupBy(*_keys(asked))
        .agg(
            *_sums(("db2_requests", "db2_thread_elapsed_us", "db2_server_elapsed_us")),
            F.floor(F.max("db2_thread_longest_us")).alias("thread_max_us"),
            F.floor(F.max("db2_server_longest_us")).alias("server_max_us"),
        )
        .where("db2_requests > 0")
    )
    made = summed.withColumn("thread_avg_us", average("db2_thread_elapsed_us", "db2_requests")).withColumn(
        "server_avg_us", average("db2_server_elapsed_us", "db2_requests")
    )
    return _by_record(made, asked)


def cf(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per task record or job that made requests to the coupling facility: E single entries, M multiple."""
    counts = ("cf_single_calls", "cf_single_redrives", "cf_multiple_calls", "cf_multiple_redrives")
    summed = (
        _identified(raw(tables, "WTAS", asked))
        .groupBy(*_keys(asked))
        .agg(*_sums((*counts, "cf_single_elapsed_us", "cf_multiple_elapsed_us")))
        .where("cf_single_calls + cf_multiple_calls > 0")
    )
    made = summed.withColumn("single_avg_us", average("cf_single_elapsed_us", "cf_single_calls")).withColumn(
        "multiple_avg_us", average("cf_multiple_elapsed_us", "cf_multiple_calls")
    )
    return _by_record(made, asked)


def thread(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per task record, or per job and channel: who was connected, and as what."""
    names = F.create_map(*(F.lit(each) for pair in THREAD_TYPES.items() for each in pair))
    tasks = _identified(raw(tables, "WTAS", asked))
    named = tasks.select(
        "moment",
        "record_id",
        "jobname",
        F.coalesce(names[F.col("task_connection_type")], F.lit("?")).alias("type"),
        F.coalesce("task_channel", F.lit("")).alias("channel"),
        F.coalesce("task_channel_connection", F.lit("")).alias("qualifier"),
    )
    return _by_record(
        named.groupBy(*_keys(asked, "type", "channel", "qualifier")).count(), asked, "channel", "qualifier"
    )
