"""The queries that MP1B prints, and the exception lists it asks for daily."""

from quaestor.reports.catalog.model import Column, Parameter, Report, Unit
from quaestor.reports.catalog.parameters import (
    CHANNEL,
    JOB,
    PERIOD,
    QUEUE,
    SHARED_ONLY,
    TRAN,
    limit,
    limit_us,
)

_DATE = Column("DATE", Unit.DATE)
_TIME = Column("TIME", Unit.TIME)
_MVS = Column("MVS")
_QMGR = Column("QMGR")
_OF_SYSTEM = Column("MVS", tells_apart="QMGR")
_QUEUE = Column("BASENAME", Unit.TEXT, "QUEUE")
_TRAN = Column("TRAN")
_JOB = Column("JOBNAME")
_VERB = Column("verb", Unit.TEXT, "VERB")
_VERBS = (
    Column("calls", Unit.COUNT, "COUNT"),
    Column("average_et_us", Unit.MICROSECONDS, "AVG ET"),
    Column("average_ct_us", Unit.MICROSECONDS, "AVG CT"),
)


def _count(name: str, heading: str = "") -> Column:
    return Column(name, Unit.COUNT, heading)


def _us(name: str, heading: str) -> Column:
    return Column(name, Unit.MICROSECONDS, heading)


def _query(
    number: int,
    name: str,
    title: str,
    grain: str,
    columns: tuple[Column, ...],
    *parameters: Parameter,
    empty: str = "Nothing to show for what was asked.",
) -> Report:
    return Report(name, title, grain, columns, (*PERIOD, *parameters), f"mp1b Q-{number}", "queries", empty)


QUERIES = (
    _query(
        1, "commits", "Commits by day and queue manager", "one row per day and queue manager",
        (_DATE, _QMGR, _count("TOTALCOMMITS")),
    ),
    _query(
        2, "commits-by-day", "Commits by day, all queue managers together", "one row per day",
        (_DATE, _count("TOTALCOMMITS")),
    ),
    _query(
        3, "slow-transactions", "Transactions over a limit of elapsed time per commit",
        "one row per task record over the limit, the slowest first",
        (_DATE, _TIME, _MVS, _QMGR, _JOB, _TRAN, _count("NCOMMITS"), _us("ET_PER_COMMIT", "ET/NCOMMITS")),
        JOB, TRAN, limit_us(10_000, "us of elapsed time per commit; 10000 is the paper's example"),
        empty="No transaction took longer per commit.",
    ),
    _query(
        4, "transaction-verbs", "Verbs of a transaction", "one row per transaction, queue and verb",
        (_TRAN, _QUEUE, _VERB, *_VERBS), JOB, TRAN, QUEUE,
    ),
    _query(
        5, "db2-calls", "Requests to Db2 by verb: T in the thread, S in the server",
        "one row per queue manager and verb",
        (
            _QMGR, _OF_SYSTEM, Column("VERB"), _count("CALLS", "COUNT"), _us("delay_avg_us", "AVG T-S"),
            _us("thread_avg_us", "AVG T"), _us("thread_max_us", "MAX T"), _us("server_max_us", "MAX S"),
            _count("DHIGMAX"),
        ),
        empty="No queue manager made requests to Db2.",
    ),
    _query(
        6, "db2-depth", "Five minutes in which requests to Db2 queued", "one row per five minutes over the limit",
        (_DATE, _TIME, _MVS, _QMGR, _count("DHIGMAX"), _count("NUMTASK"), _count("ACTTASK")),
        limit("depth", 20, "requests queued"), empty="Requests to Db2 never queued deeper.",
    ),
    _query(
        7, "db2-dispatch", "Verbs that waited for a Db2 server", "one row per five minutes and verb over the limit",
        (_DATE, _TIME, _MVS, _QMGR, Column("VERB"), _count("CALLS", "COUNT"), _us("delay_avg_us", "AVG T-S")),
        limit_us(1_000, "us between thread and server time, on average"),
        empty="No verb waited longer for a server.",
    ),
    _query(
        8, "db2-response", "Verbs that Db2 answered slowly", "one row per five minutes and verb over the limit",
        (_DATE, _TIME, _MVS, _QMGR, Column("VERB"), _count("CALLS", "COUNT"), _us("server_avg_us", "AVG S")),
        limit_us(10_000, "us of server time, on average"),
        empty="Db2 answered no update, write or delete more slowly.",
    ),
    _query(
        9, "cf-structures", "Structures of the coupling facility by kind of request",
        "one row per queue manager, structure and kind of request",
        (
            _QMGR, _OF_SYSTEM, Column("TYPE"), Column("STRUCTURE", Unit.TEXT, "STR NAME"), _count("CALLS", "COUNT"),
            _count("FULLS", "FULL"), _us("average_us", "AVGE TIME"), _count("REDRIVES", "REDRIVE"),
            Column("redrive_percent", Unit.PERCENT, "%REDRIVE"), _count("ELEMENTS_MAX", "MAX ELEM"),
            _count("ENTRIES_MAX", "MAX ENTR"),
        ),
        empty="No structure was used.",
    ),
    _query(
        10, "shared-queues", "Queues that were used, with disposition, index and structure",
        "one row per queue manager and queue as it was defined",
        (
            _QMGR, _OF_SYSTEM, _QUEUE, Column("QSGDISP"), Column("QTYPE"), Column("INDXTYPE"), Column("CFSTRUCNAME"),
            _count("USES", "COUNT"),
        ),
        QUEUE, SHARED_ONLY,
    ),
    _query(
        11, "page-set-io", "Queues with page set I/O", "one row per queue manager and queue",
        (
            _QMGR, _OF_SYSTEM, Column("QSGDISP"), _QUEUE, _count("NBUFFPOOL"), _count("PAGESET"), _count("IOS", "I/O"),
            _us("average_wait_us", "AVG WAIT"),
        ),
        QUEUE, empty="No message was read from or written to a page set by a task.",
    ),
    _query(
        12, "verbs", "Verbs by job, transaction and queue; GETV valid gets, COM commits",
        "one row per job, transaction, queue and verb",
        (_JOB, _TRAN, _QUEUE, _VERB, *_VERBS), JOB, TRAN, QUEUE,
    ),
    _query(
        13, "queue-users", "Where a queue is used, and under which name", "one row per queue and user of it",
        (
            _QUEUE, _QMGR, _OF_SYSTEM, _JOB, Column("JOBTYPE"), _TRAN, Column("CHANNEL"), Column("QTYPE"),
            Column("QUEUE", Unit.TEXT, "OPENED AS"), _count("PUTS"), _count("VALIDGET"), Column("LAST_USED", Unit.DATE),
        ),
        QUEUE, JOB, TRAN, CHANNEL,
    ),
    _query(
        14, "time-on-queue", "How long messages lay on a queue", "one row per queue manager and queue",
        (
            _QMGR, _OF_SYSTEM, _QUEUE, Column("MAXTOQ", Unit.MICROSECONDS_E), Column("MINTOQ", Unit.MICROSECONDS_E),
            Column("AVGTOQ", Unit.MICROSECONDS_E), _count("VALIDGET"),
        ),
        QUEUE,
    ),
    _query(
        15, "get-kinds", "Gets of a specific message against gets of any, and the index",
        "one row per queue manager, queue and index",
        (
            _QMGR, _OF_SYSTEM, _QUEUE, Column("INDXTYPE"), _count("GETA"), _count("GETS"),
            _count("GETBRWA"), _count("GETBRWS"), Column("INDEX_IS", Unit.TEXT, "INDEX"),
        ),
        QUEUE,
    ),
    _query(
        16, "log-out-of-line", "Five minutes in which the log manager was out of line",
        "one row per five minutes and queue manager",
        (
            _DATE, _TIME, Column("MQSERIES_SUB_ID", Unit.TEXT, "QMGR"), Column("MVS", tells_apart="MQSERIES_SUB_ID"),
            _count("WAIT_COUNT_NO_BUF", "NO_BUF"),
            _count("READ_REQ_BUF", "READ_BUF"), _count("READ_REQ_ACTIVE", "READ_ACTIVE"),
            _count("READ_REQ_ARCHIVE", "READ_ARCHIVE"), _count("READ_REQ_DELAYED", "READ_DELAYED"),
            _count("LOGBUF_PAGEDIN", "PAGED_IN"),
        ),
        empty="The log manager was in line all the time.",
    ),
)  # fmt: skip
