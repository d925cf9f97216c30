"""MP1B's queries on Db2, the coupling facility and the log: Q-5 to Q-9 and Q-16, over the summary tables.

Thread time T holds the wait for a server; server time S is Db2's own. T - S is the delay of dispatching (F-34).

Called by the package's register.  Calls steps.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor.pipeline.report_queries.steps import Parameters, Tables, average, percent, ratio, summarised, total

DB2_CALLS = "DRL.MQ_DB2_CALLS"
CF_CALLS = "DRL.MQ_CF_CALLS"
LOG_MANAGER = "DRL.MQS_LOGMGR_T"

DB2_VERBS = {
    "DELETE": ("DELECNT", "DELE"),
    "LIST": ("LISTCNT", "LIST"),
    "READ": ("READCNT", "READ"),
    "UPDATE": ("UPDTCNT", "UPDT"),
    "WRITE": ("WRITCNT", "WRIT"),
    "SCS SELECT": ("SCSSEL", "SCSS"),
    "SCS INSERT": ("SCSINS", "SCSI"),
    "SCS UPDATE": ("SCSUPD", "SCSU"),
    "SCS DELETE": ("SCSDEL", "SCSD"),
    "SSK SELECT": ("SSKSEL", "SSKS"),
    "SSK INSERT": ("SSKINS", "SSKI"),
    "SSK DELETE": ("SSKDEL", "SSKD"),
}
"""The verbs of the Db2 manager: the column that counts them, and how the names of their times begin (F-33)."""

LOGGED_VERBS = ("DELETE", "UPDATE", "WRITE", "SCS INSERT", "SCS UPDATE", "SCS DELETE", "SSK INSERT", "SSK DELETE")
"""Verbs that wait for Db2's log; lists may be long and reads may miss Db2's buffers without any fault (A-16)."""


def by_db2_verb(rows: DataFrame) -> DataFrame:
    """One row per row of the Db2 table and verb that was used: calls, totals and maxima, and whether Db2 logs it."""
    each_verb = ", ".join(
        f"named_struct('VERB', '{verb}', 'LOGGED', {str(verb in LOGGED_VERBS).lower()}, 'CALLS', {count},"
        f" 'thread_us', {short}TCUW, 'server_us', {short}SCUW, 'thread_max_us', {short}TMXW,"
        f" 'server_max_us', {short}SMXW)"
        for verb, (count, short) in DB2_VERBS.items()
    )
    used = F.expr(f"inline(array({each_verb}))")
    return rows.select("DATE", "TIME", "MVS", "QMGR", "DHIGMAX", used).where("CALLS > 0")


def _db2_verbs(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per five minutes and verb that was used."""
    return by_db2_verb(summarised(tables, DB2_CALLS, asked))


def db2_calls(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per queue manager and Db2 verb: averages, maxima and the deepest queue (Q-5)."""
    summed = (
        _db2_verbs(tables, asked)
        .groupBy("QMGR", "MVS", "VERB")
        .agg(
            *(total(each).alias(each) for each in ("CALLS", "thread_us", "server_us")),
            *(F.floor(F.max(each)).alias(each) for each in ("thread_max_us", "server_max_us")),
            F.max("DHIGMAX").alias("DHIGMAX"),
        )
    )
    delay = average(F.col("thread_us") - F.col("server_us"), "CALLS")
    made = summed.withColumn("delay_avg_us", delay).withColumn("thread_avg_us", average("thread_us", "CALLS"))
    return made.orderBy("QMGR", "MVS", "VERB")


def db2_depth(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per five minutes in which requests to Db2 queued deeper than a limit (Q-6)."""
    rows = summarised(tables, DB2_CALLS, asked).where(F.col("DHIGMAX") > asked["depth"])
    return rows.orderBy(F.desc("DHIGMAX"), "DATE", "TIME", "QMGR")


def db2_dispatch(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per five minutes and verb whose requests waited longer than a limit for a server (Q-7)."""
    verbs = _db2_verbs(tables, asked)
    delay = ratio(F.col("thread_us") - F.col("server_us"), "CALLS")
    slow = verbs.withColumn("delay_avg_us", delay).where(F.col("delay_avg_us") > asked["limit_us"])
    return slow.orderBy(F.desc("delay_avg_us"), "DATE", "TIME", "QMGR", "VERB")


def db2_response(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per five minutes and verb that waits for Db2's log and took longer than a limit (Q-8).

    The limit is on server time; the paper's text means that, though its statement divides thread time (X-24).
    """
    logged = _db2_verbs(tables, asked).where("LOGGED")
    slow = logged.withColumn("server_avg_us", ratio("server_us", "CALLS")).where(
        F.col("server_avg_us") > asked["limit_us"]
    )
    return slow.orderBy(F.desc("server_avg_us"), "DATE", "TIME", "QMGR", "VERB")


def cf_structures(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per queue manager, structure and kind of request: calls, time, redrives and how full it was (Q-9)."""
    calls = summarised(tables, CF_CALLS, asked)
    kinds = [
        F.struct(
            F.lit(kind).alias("TYPE"),
            F.col(f"QESTC{letter}EC").alias("CALLS"),
            F.col(f"QEST{letter}STC").alias("elapsed_us"),
            F.col(f"QESTR{letter}EC").alias("REDRIVES"),
        )
        for kind, letter in (("SINGLE", "S"), ("MULTIPLE", "M"))
    ]
    fixed = ("QMGR", "MVS", "STRUCTURE", "QESTSFUL", "QESTMLUS", "QESTMNUS")
    rows = calls.select(*fixed, F.explode(F.array(*kinds)).alias("one"))
    summed = (
        rows.select(*fixed, "one.*")
        .groupBy("QMGR", "MVS", "STRUCTURE", "TYPE")
        .agg(
            *(total(each).alias(each) for each in ("CALLS", "elapsed_us", "REDRIVES")),
            total("QESTSFUL").alias("FULLS"),
            F.max("QESTMLUS").alias("ELEMENTS_MAX"),
            F.max("QESTMNUS").alias("ENTRIES_MAX"),
        )
        .where("CALLS > 0")
    )
    made = summed.withColumn("average_us", average("elapsed_us", "CALLS"))
    made = made.withColumn("redrive_percent", percent("REDRIVES", "CALLS"))
    return made.orderBy("QMGR", "MVS", "STRUCTURE", F.desc("TYPE"))


def log_out_of_line(tables: Tables, asked: Parameters) -> DataFrame:
    """One row per five minutes in which the log manager did what it should not need to do (Q-16)."""
    rows = summarised(tables, LOG_MANAGER, asked, qmgr="MQSERIES_SUB_ID")
    signs = ("WAIT_COUNT_NO_BUF", "READ_REQ_BUF", "READ_REQ_ACTIVE", "READ_REQ_ARCHIVE", "READ_REQ_DELAYED")
    return rows.where(" + ".join((*signs, "LOGBUF_PAGEDIN")) + " > 0").orderBy("DATE", "TIME", "MQSERIES_SUB_ID", "MVS")
