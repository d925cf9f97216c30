"""MP1B's queries on tasks and queues: Q-1 to Q-4 and Q-10 to Q-15, over the summary tables.

Rules
  Q1  A query answers for all rows of the period that was asked for; rows of equal keys are one answer (X-16), and
      averages come from totals (G3).
  Q2  What the paper wrote as a constant (a transaction, a limit, a queue) is a parameter.
  Q3  A commit is of no queue: who asks for a queue gets none (as in STATS, O9).

Called by the package's register.  Calls steps.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.report_queries.steps import (
    Parameters,
    Tables,
    Verb,
    average,
    by_verb,
    ratio,
    summarised,
    total,
)

COMMITS = "MQSTATS_TABLE"
DAILY_TASK = "DRL.MQ_DAILY_TASK"
DAILY_QUEUE = "DRL.MQ_DAILY_QUEUE"

_VERBS: tuple[Verb, ...] = (
    ("OPEN", "OPENN", "OPENET", "OPENCT"),
    ("CLOSE", "CLOSEN", "CLOSEET", "CLOSECT"),
    ("PUT", "PUTN", "PUTET", "PUTCT"),
    ("PUT1", "PUT1N", "PUT1ET", "PUT1CT"),
    ("GET", "GETN", "GETET", "GETCT"),
)
_ALL_VERBS: tuple[Verb, ...] = (*_VERBS, ("INQ", "INQN", "INQET", "INQCT"), ("SET", "SETN", "SETET", "SETCT"))
_VALID_GET: Verb = ("GETV", "VALIDGET", "GETET", "GETCT")
_COMMIT: Verb = ("COM", "WTASCMN", "WTASCMET", "WTASCMCT")


def commits(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per day and queue manager (Q-1)."""
    return summarised(tables, COMMITS, asked).orderBy("DATE", "QMGR")


def commits_by_day(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per day, all queue managers together (Q-2)."""
    summed = summarised(tables, COMMITS, asked).groupBy("DATE").agg(total("TOTALCOMMITS").alias("TOTALCOMMITS"))
    return summed.orderBy("DATE")


def slow_transactions(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per task record whose commits took longer than a limit each (Q-3); channels are no transactions."""
    tasks = summarised(tables, DAILY_TASK, asked).where("JOBTYPE <> 'CHIN'")
    timed = tasks.withColumn("ET_PER_COMMIT", ratio("ET", "NCOMMITS"))
    return timed.where(F.col("ET_PER_COMMIT") > asked["limit_us"]).orderBy(F.desc("ET_PER_COMMIT"), "DATE", "TIME")


def transaction_verbs(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per transaction, queue and verb (Q-4)."""
    queues = summarised(tables, DAILY_QUEUE, asked)
    return _verb_averages(by_verb(queues, ("TRAN", "BASENAME"), _ALL_VERBS))


def verbs(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per job, transaction, queue and verb, valid gets and commits too (Q-12)."""
    keys = ("JOBNAME", "TRAN", "BASENAME")
    queues = by_verb(summarised(tables, DAILY_QUEUE, asked), keys, (*_VERBS, _VALID_GET))
    if asked.get("queue") is not None:  # Q3
        return _verb_averages(queues, "JOBNAME")
    tasks = summarised(tables, DAILY_TASK, asked).withColumn("BASENAME", F.lit(""))
    both = queues.unionByName(by_verb(tasks, keys, (_COMMIT,)))
    return _verb_averages(both, "JOBNAME")


def _verb_averages(calls: DataFrame, *more: str) -> DataFrame:
    keys = [*more, "TRAN", "BASENAME", "verb_order", "verb"]
    summed = calls.groupBy(*keys).agg(*(total(each).alias(each) for each in ("calls", "elapsed_us", "cpu_us")))
    made = summed.withColumn("average_et_us", average("elapsed_us", "calls"))
    return made.withColumn("average_ct_us", average("cpu_us", "calls")).orderBy(*keys)


def shared_queues(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per queue manager and queue with its disposition, type, index and structure; how often used (Q-10)."""
    keys = ("QMGR", "MVS", "BASENAME", "QSGDISP", "QTYPE", "INDXTYPE", "CFSTRUCNAME")
    queues = summarised(tables, DAILY_QUEUE, asked)
    if asked["shared_only"]:
        queues = queues.where("coalesce(CFSTRUCNAME, '') <> ''")
    used = queues.groupBy(*keys).agg(F.count("*").alias("USES"))
    return used.orderBy("BASENAME", "QSGDISP", "QMGR", "MVS", "INDXTYPE")


def page_set_io(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per queue manager and queue whose messages came from or went to its page set (Q-11)."""
    keys = ("QMGR", "MVS", "QSGDISP", "BASENAME", "NBUFFPOOL", "PAGESET")
    summed = (
        summarised(tables, DAILY_QUEUE, asked)
        .groupBy(*keys)
        .agg(
            total("PUTPSN", "PUT1PSN", "GETPSN").alias("IOS"),
            total("PUTPSET", "PUT1PSET", "GETPSET").alias("wait_us"),
        )
    )
    waited = summed.where("IOS > 0").withColumn("average_wait_us", average("wait_us", "IOS"))
    return waited.orderBy(F.desc("IOS"), *keys)


def queue_users(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per queue, job and name under which the job opened it (Q-13)."""
    keys = ("BASENAME", "QMGR", "MVS", "JOBNAME", "JOBTYPE", "TRAN", "CHANNEL", "QTYPE", "QUEUE")
    used = summarised(tables, DAILY_QUEUE, asked).groupBy(*keys)
    return used.agg(
        total("PUTN", "PUT1N").alias("PUTS"), total("VALIDGET").alias("VALIDGET"), F.max("DATE").alias("LAST_USED")
    ).orderBy(*keys)


def time_on_queue(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per queue manager and queue: how long its messages lay there (Q-14).

    Only destructive gets measure it: who browses has no shortest time. An average below the minimum is none (F-9).
    """
    measured = "coalesce(GETDVAL, VALIDGET)"
    summed = (
        summarised(tables, DAILY_QUEUE, asked)
        .where("VALIDGET > 0")
        .groupBy("QMGR", "MVS", "BASENAME")
        .agg(
            F.max("MAXTOQ").alias("MAXTOQ"),
            F.expr(f"min(CASE WHEN {measured} > 0 THEN MINTOQ END)").alias("MINTOQ"),
            total("TOTTOQ").alias("TOTTOQ"),
            total("VALIDGET").alias("VALIDGET"),
            F.expr(f"sum({measured})").alias("measured"),
        )
    )
    mean = F.try_divide("TOTTOQ", "measured")
    made = summed.withColumn("AVGTOQ", F.when(mean >= F.col("MINTOQ"), mean))
    return made.orderBy(F.desc_nulls_last("AVGTOQ"), "QMGR", "MVS", "BASENAME")


def get_kinds(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per queue manager, queue and index: gets of any message against gets of a specific one (Q-15).

    About an index that is not known there is nothing to say.
    """
    summed = (
        summarised(tables, DAILY_QUEUE, asked)
        .groupBy("QMGR", "MVS", "BASENAME", "INDXTYPE")
        .agg(*(total(each).alias(each) for each in ("GETA", "GETS", "GETBRWA", "GETBRWS")))
        .where("GETA + GETS + GETBRWA + GETBRWS > 0")
    )
    no_index, unknown = F.col("INDXTYPE") == "None", F.col("INDXTYPE") == "?"
    specific = F.col("GETS") + F.col("GETBRWS")
    any_message = F.col("GETA") + F.col("GETBRWA")
    verdict = (
        F.when(no_index & (specific > 0) & (any_message == 0), "index it")
        .when(~no_index & ~unknown & (specific == 0) & (any_message > 0), "drop the index")
        .when(no_index & (specific > any_message), "consider an index")
        .when(~unknown, "fits")
    )
    return summed.withColumn("INDEX_IS", verdict).orderBy("QMGR", "MVS", "BASENAME", "INDXTYPE")
