"""MP1B's queries on the rows that the paper prints (Q1, Q2)."""

import pytest

from pipeline.report_queries.given_rows import columns, frame, printed, tables, words
from quaestor.reports.run import run

KEYS = "DATE date, TIME string, MVS string, QMGR string, JOBTYPE string, JOBNAME string, TRAN string, CHANNEL string"
VERBS = ("OPEN", "CLOSE", "GET", "PUT", "PUT1", "INQ", "SET")
QUEUE = (
    f"{KEYS}, QUEUE string, BASENAME string, QTYPE string, INDXTYPE string, QSGDISP string, CFSTRUCNAME string, "
    + columns(
        "long", "PAGESET NBUFFPOOL", *(f"{verb}N" for verb in VERBS), "VALIDGET GETDVAL GETA GETS GETBRWA GETBRWS"
    )
    + ", "
    + columns("double", *(f"{verb}ET {verb}CT" for verb in VERBS), "MAXTOQ MINTOQ TOTTOQ")
    + ", "
    + columns("long", "PUTPSN PUT1PSN GETPSN")
    + ", "
    + columns("double", "PUTPSET PUT1PSET GETPSET")
)
TASK = f"{KEYS}, " + columns("long", "NCOMMITS WTASCMN") + ", " + columns("double", "ET WTASCMET WTASCMCT")


def calls(verb, number, elapsed_us, cpu_us):
    return {f"{verb}N": number, f"{verb}ET": number * elapsed_us, f"{verb}CT": number * cpu_us}


def queue_table(spark, *rows):
    return frame(spark, QUEUE, rows)


@pytest.mark.oracle("mp1b/7", kind="parser", lines="1113-1117")
def test_verbs_of_a_transaction(spark):
    made = queue_table(
        spark,
        {
            "TRAN": "A8EA", "BASENAME": "Q_INPUT", **calls("CLOSE", 3, 64, 63), **calls("GET", 3, 8251, 237),
            **calls("OPEN", 3, 250, 181),
        },
        {"TRAN": "A8EA", "BASENAME": "Q_OUTPUT", **calls("PUT1", 3, 9651, 621)},
        {"TRAN": "XXXX", "BASENAME": "Q_OUTPUT", **calls("PUT1", 1, 1, 1)},
    )  # fmt: skip
    assert words(
        "A8EA Q_INPUT OPEN 3 250 181",
        "A8EA Q_INPUT CLOSE 3 64 63",
        "A8EA Q_INPUT GET 3 8251 237",
        "A8EA Q_OUTPUT PUT1 3 9651 621",
    ) == printed("transaction-verbs", tables(DRL__MQ_DAILY_QUEUE=made), tran="A8EA")


DB2 = {"DELETE": "DELE", "LIST": "LIST", "READ": "READ", "UPDATE": "UPDT", "WRITE": "WRIT"}
DB2_COUNTS = [
    "DELECNT",
    "LISTCNT",
    "READCNT",
    "UPDTCNT",
    "WRITCNT",
    "SCSSEL",
    "SCSINS",
    "SCSUPD",
    "SCSDEL",
    "SSKSEL",
    "SSKINS",
    "SSKDEL",
]
DB2_TIMES = ["DELE", "LIST", "READ", "UPDT", "WRIT", "SCSS", "SCSI", "SCSU", "SCSD", "SSKS", "SSKI", "SSKD"]
DB2_CALLS = (
    "DATE date, TIME string, MVS string, QMGR string, "
    + columns("long", "DHIGMAX NUMTASK ACTTASK DEADCNT ABNDCNT", *DB2_COUNTS)
    + ", "
    + columns("double", *(f"{verb}{kind}" for verb in DB2_TIMES for kind in ("TCUW", "TMXW", "SCUW", "SMXW")))
)


def db2_row(verbs, **more):
    """A row of five minutes from (verb, average T-S, average T, max T, max S), four calls each."""
    made = {"QMGR": "V52A", "TIME": "10:00:00.00", **more}
    for verb, delay, thread, most_thread, most_server in verbs:
        short = DB2[verb]
        made |= {
            f"{short}CNT": 4,
            f"{short}TCUW": 4 * thread,
            f"{short}SCUW": 4 * (thread - delay),
            f"{short}TMXW": most_thread,
            f"{short}SMXW": most_server,
        }
    return made


PRINTED_DB2 = [
    ("DELETE", 66, 22363, 77011, 77011),
    ("LIST", 281, 62131, 405399, 405291),
    ("READ", 72, 3808, 6032, 5961),
    ("UPDATE", 247, 5791, 6125, 6011),
    ("WRITE", 85, 8390, 59886, 59796),
]


@pytest.mark.oracle("mp1b/8", kind="parser", lines="1478-1484")
def test_db2_calls_and_what_is_out_of_line_in_them(spark):
    """On the printed rows only DELETE is slow (22297 us of server time): lists may be long, nothing waits, no queue."""
    provider = tables(DRL__MQ_DB2_CALLS=frame(spark, DB2_CALLS, [db2_row(PRINTED_DB2, DHIGMAX=1)]))
    assert [("V52A", verb, "4", *map(str, rest), "1") for verb, *rest in PRINTED_DB2] == printed("db2-calls", provider)
    assert [] == printed("db2-depth", provider)
    assert [] == printed("db2-dispatch", provider)
    assert [("DELETE", "22297")] == [(row[4], row[-1]) for row in printed("db2-response", provider)]
    (found,) = printed("db2-exceptions", provider)
    assert ("warning", "A-16", "DELETE", "Db2: DELETE answers slowly", "22297", "us") == (found[0], *found[5:10])


def test_db2_exceptions_at_their_limits(spark):
    """Depth 10 is in line, 11 is a warning, 21 an alert; a delay of 1000 us is in line, 1001 is not (A-17, A-18)."""
    delays = [("READ", 1000, 4000, 1, 1), ("LIST", 1001, 4000, 1, 1), ("UPDATE", 0, 10_000, 1, 1)]
    rows = [
        db2_row(delays, DHIGMAX=10),
        db2_row([], DHIGMAX=11, TIME="10:05:00.00"),
        db2_row([], DHIGMAX=21, TIME="10:10:00.00", DEADCNT=2),
    ]
    provider = tables(DRL__MQ_DB2_CALLS=frame(spark, DB2_CALLS, rows))
    found = printed("db2-exceptions", provider)
    assert [
        ("alert", "A-18", "21"),
        ("alert", "A-19", "2"),
        ("warning", "A-17", "1001"),
        ("warning", "A-18", "11"),
    ] == [(row[0], row[5], row[8]) for row in found]
    assert 1 == len(printed("db2-depth", provider))
    assert 3 == len(printed("db2-depth", provider, depth="9"))
    assert [] == printed(
        "db2-exceptions", provider, db2_depth="30", db2_depth_alert="40", db2_delay_us="2000", qmgr="V52B"
    )


CF = "DATE date, TIME string, MVS string, QMGR string, STRUCTURE string, " + (
    columns("long", "QESTCSEC QESTCMEC QESTRSEC QESTRMEC QESTSFUL QESTMNUS QESTMLUS")
    + ", QESTSSTC double, QESTMSTC double"
)


@pytest.mark.oracle("mp1b/9", kind="parser", lines="1802-1804")
@pytest.mark.oracle("mp1b/39", kind="exact", lines="1985")
def test_structures(spark):
    """CSQ_ADMIN at 33 us; APPLICATION1 with 1000 redrives in 4000 requests, a quarter of them."""
    rows = [
        {"QMGR": "V52A", "STRUCTURE": "CSQ_ADMIN", "QESTCSEC": 10, "QESTSSTC": 330, "QESTMLUS": 1127, "QESTMNUS": 1},
        {"QMGR": "V52A", "STRUCTURE": "APPLICATION1", "QESTCSEC": 4000, "QESTSSTC": 4000 * 218, "QESTRSEC": 1000},
    ]
    provider = tables(DRL__MQ_CF_CALLS=frame(spark, CF, rows))
    application, admin = printed("cf-structures", provider)
    assert ("V52A", "SINGLE", "CSQ_ADMIN", "10", "0", "33", "0", "0", "1127", "1") == admin
    assert ("218", "1000", "25") == application[5:8]
    assert 290 == 4000 * 218 // (4000 - 1000)
    assert [("note", "A-22", "1000")] == [(row[0], row[5], row[8]) for row in printed("cf-exceptions", provider)]


def test_structures_out_of_line(spark):
    """Twice its own median is in line, more is not; a full structure is an alert (A-20, A-21)."""
    usual = [{"TIME": f"{hour:02}:00:00.00", "QESTCSEC": 10, "QESTSSTC": 100} for hour in range(9)]
    rows = [
        {"QMGR": "Q1", "STRUCTURE": "S1", **each}
        for each in (
            *usual,
            {"TIME": "10:00:00.00", "QESTCSEC": 10, "QESTSSTC": 200},
            {"TIME": "11:00:00.00", "QESTCSEC": 10, "QESTSSTC": 201},
            {"TIME": "12:00:00.00", "QESTCSEC": 10, "QESTSSTC": 100, "QESTSFUL": 3},
        )
    ]
    found = printed("cf-exceptions", tables(DRL__MQ_CF_CALLS=frame(spark, CF, rows)))
    assert [("alert", "12:00:00.00", "A-20", "3"), ("warning", "11:00:00.00", "A-21", "20.1")] == [
        (row[0], row[2], row[5], row[8]) for row in found
    ]


@pytest.mark.oracle("mp1b/10", kind="source-error", lines="2821-2827")
@pytest.mark.oracle("mp1b/11", kind="parser", lines="2837-2842")
@pytest.mark.oracle("mp1b/13", kind="parser", lines="2937-2939")
def test_queues_and_who_uses_them(spark):
    """Equal keys are one row: CPV521, printed with 13 and 14 uses, has 27 (X-16)."""
    local = {"QMGR": "V521", "BASENAME": "CPV521", "QSGDISP": "QMgr", "QTYPE": "Local", "INDXTYPE": "MsgId"}
    shared = {"QSGDISP": "Copy", "QTYPE": "Local", "INDXTYPE": "CorrelId", "CFSTRUCNAME": "APPLICATION1"}
    drained = {
        "QMGR": "V521",
        "BASENAME": "V52F",
        "JOBNAME": "V521CHIN",
        "JOBTYPE": "CHIN",
        "QTYPE": "Local",
        "QUEUE": "V52F",
    }
    opened = {
        "QMGR": "V521",
        "BASENAME": "V52F",
        "JOBNAME": "PAICE4P",
        "JOBTYPE": "MVS",
        "QTYPE": "Remote",
        "QUEUE": "TOV52F",
    }
    io = {"QMGR": "V521", "BASENAME": "SYSTEM.CHANNEL.SYNCQ", "NBUFFPOOL": 1, "PAGESET": 1, "QSGDISP": "QMgr"}
    made = queue_table(
        spark,
        *[local] * 27,
        *[{"QMGR": "V520", "BASENAME": "CSIM_COMMON_REPLY_Q", **shared}] * 2,
        drained,
        opened,
        {**io, "PUTPSN": 4, "PUTPSET": 1000},
        {**io, "GETPSN": 5, "PUT1PSN": 3, "GETPSET": 1300},
    )
    provider = tables(DRL__MQ_DAILY_QUEUE=made)
    uses = printed("shared-queues", provider)
    assert ("V521", "CPV521", "QMgr", "Local", "MsgId", "", "27") in uses
    assert words("V520 CSIM_COMMON_REPLY_Q Copy Local CorrelId APPLICATION1 2") == printed(
        "shared-queues", provider, shared_only="yes"
    )
    assert words("V521 QMgr SYSTEM.CHANNEL.SYNCQ 1 1 12 191") == printed("page-set-io", provider)
    assert [("PAICE4P", "MVS", "Remote", "TOV52F"), ("V521CHIN", "CHIN", "Local", "V52F")] == [
        (row[2], row[3], row[6], row[7]) for row in printed("queue-users", provider, queue="V52F")
    ]


@pytest.mark.oracle("mp1b/12", kind="parser", lines="2910-2916")
def test_verbs_by_transaction_and_queue(spark):
    queues = queue_table(
        spark,
        {
            "TRAN": "CP17", "BASENAME": "CP0000", "VALIDGET": 1, **calls("CLOSE", 2, 24, 23),
            **calls("GET", 1, 187, 186), **calls("OPEN", 2, 93, 92), **calls("PUT", 1, 400, 369),
        },
    )  # fmt: skip
    tasks = frame(spark, TASK, [{"TRAN": "CP17", "WTASCMN": 2, "WTASCMET": 2 * 4599, "WTASCMCT": 2 * 52}])
    found = printed("verbs", tables(DRL__MQ_DAILY_QUEUE=queues, DRL__MQ_DAILY_TASK=tasks), tran="CP17")
    assert words(
        "CP17 _ COM 2 4599 52",
        "CP17 CP0000 CLOSE 2 24 23",
        "CP17 CP0000 GET 1 187 186",
        "CP17 CP0000 GETV 1 187 186",
        "CP17 CP0000 OPEN 2 93 92",
        "CP17 CP0000 PUT 1 400 369",
    ) == sorted(row[1:] for row in found)
    of_queue = printed("verbs", tables(DRL__MQ_DAILY_QUEUE=queues, DRL__MQ_DAILY_TASK=tasks), queue="CP*")
    assert {"CP0000"} == {row[2] for row in of_queue}  # Q3


@pytest.mark.oracle("mp1b/14", kind="parser", lines="2957-2971")
@pytest.mark.oracle("mp1b/15", kind="parser", lines="2981-2983")
def test_time_on_queue_and_kinds_of_get(spark):
    def stay(queue, longest, shortest, mean, valid, **more):
        return {
            "QMGR": "V52F", "BASENAME": queue, "MAXTOQ": longest, "MINTOQ": shortest, "TOTTOQ": mean * valid,
            "VALIDGET": valid, "GETDVAL": None, **more,
        }  # fmt: skip

    made = queue_table(
        spark,
        stay("CP0000", 4.9e3, 3.2e3, 4.1e3, 2),
        stay("SYSTEM.CHANNEL.SYNCQ", 8.6e9, 3.2e4, 1.5e6, 5873, GETS=23488, GETBRWA=4, GETBRWS=4, INDXTYPE="MsgId"),
        stay("SERVER", 1e3, 1e3, 1e3, 1, GETA=108004, INDXTYPE="None"),
        stay("NEEDS.INDEX", 1e3, 1e3, 1e3, 1, GETS=7, INDXTYPE="None"),
        stay("NEEDS.NONE", 1e3, 1e3, 1e3, 1, GETA=7, INDXTYPE="MsgId"),
    )
    provider = tables(DRL__MQ_DAILY_QUEUE=made)
    stays = printed("time-on-queue", provider)
    assert (
        words("V52F SYSTEM.CHANNEL.SYNCQ 8.6E+09 3.2E+04 1.5E+06 5873", "V52F CP0000 4.9E+03 3.2E+03 4.1E+03 2")
        == stays[:2]
    )
    assert [
        ("V52F", "NEEDS.INDEX", "None", "0", "7", "0", "0", "index it"),
        ("V52F", "NEEDS.NONE", "MsgId", "7", "0", "0", "0", "drop the index"),
        ("V52F", "SERVER", "None", "108004", "0", "0", "0", "fits"),
        ("V52F", "SYSTEM.CHANNEL.SYNCQ", "MsgId", "0", "23488", "4", "4", "fits"),
    ] == printed("get-kinds", provider)


def test_who_browses_measures_no_time_on_queue(spark):
    """F-9: a record of browses alone has a shortest time of 0 that nobody measured."""
    rows = [
        {"QMGR": "QM1", "BASENAME": "A", "VALIDGET": 4, "GETDVAL": 4, "MAXTOQ": 150, "MINTOQ": 50, "TOTTOQ": 400},
        {"QMGR": "QM1", "BASENAME": "A", "VALIDGET": 9, "GETDVAL": 0},
        {"QMGR": "QM1", "BASENAME": "B", "VALIDGET": 9, "GETDVAL": 0},
    ]
    provider = tables(DRL__MQ_DAILY_QUEUE=queue_table(spark, *rows))
    assert [
        ("QM1", "A", "1.5E+02", "5.0E+01", "1.0E+02", "13"),
        ("QM1", "B", "0.0E+00", "-", "-", "9"),
    ] == printed("time-on-queue", provider)


def test_about_an_index_that_is_not_known_nothing_is_said(spark):
    made = queue_table(spark, {"QMGR": "QM1", "BASENAME": "A", "GETA": 7, "INDXTYPE": "?"})
    assert [("QM1", "A", "?", "7", "0", "0", "0", "-")] == printed("get-kinds", tables(DRL__MQ_DAILY_QUEUE=made))


def test_network_time_is_the_mean_of_what_was_measured(spark):
    """P3: weighted by batches, for clients by intervals; hours in which a channel stood still say nothing."""
    ddl = (
        "DATE date, MVS string, QMGR string, CHANNEL string, TYPE string, CONNAME string, NETTIME_AVG double, "
        "NETTIME_MAX double, "
        + columns("long", "MESSAGES PERSISTENT BATCHES FULL_BATCHES BYTES_SENT BYTES_RECEIVED BATCHSZ INTERVALS")
    )
    rows = [
        {"CHANNEL": "CLIENTS", "NETTIME_AVG": 100.0, "INTERVALS": 5},
        {"CHANNEL": "CLIENTS", "NETTIME_AVG": 400.0, "INTERVALS": 1},
        {"CHANNEL": "CLIENTS", "NETTIME_AVG": None, "INTERVALS": 3},
        {"CHANNEL": "TO.A", "NETTIME_AVG": 100.0, "INTERVALS": 5, "BATCHES": 30},
        {"CHANNEL": "TO.A", "NETTIME_AVG": 400.0, "INTERVALS": 1, "BATCHES": 10},
        {"CHANNEL": "TO.A", "NETTIME_AVG": 0.0, "INTERVALS": 60},
        {"CHANNEL": "TO.B", "NETTIME_AVG": None, "INTERVALS": 3},
        {"CHANNEL": "TO.C", "NETTIME_AVG": 0.0, "INTERVALS": 3},
    ]
    found = run("channel-traffic", tables(DRL__MQ_CHANNELS=frame(spark, ddl, rows)))
    assert [("CLIENTS", 150.0), ("TO.A", 175.0), ("TO.B", None), ("TO.C", None)] == [
        (row["CHANNEL"], row["network_avg_us"]) for row in found.to_pylist()
    ]


def test_persistent_puts_that_a_level_does_not_count_are_not_none(spark):
    """V1: the queue section of V5.2 ends before them."""
    ddl = "DATE date, MVS string, QMGR string, BASENAME string, " + columns(
        "long", "VALIDPUT VALIDGET PUTBYTES GETBYTES PUTPMSG PUT1PMSG MAXQDPTH"
    )
    rows = [
        {"BASENAME": "OLD", "VALIDPUT": 9, "PUTBYTES": 2, "PUTPMSG": None, "PUT1PMSG": None, "MAXQDPTH": None},
        {"BASENAME": "NEW", "VALIDPUT": 9, "PUTBYTES": 1, "PUTPMSG": 3, "PUT1PMSG": 2},
    ]
    found = run("queue-traffic", tables(DRL__MQ_DAILY_QUEUE=frame(spark, ddl, rows))).to_pylist()
    assert [("OLD", None), ("NEW", 5)] == [(row["BASENAME"], row["persistent_put"]) for row in found]


def test_slow_transactions_and_patterns(spark):
    """Over the limit and no channel; `*` and `?` are wild, `_` and `%` are themselves (G2)."""
    tasks = [
        {"QMGR": "QM_1", "JOBTYPE": "CICS", "TRAN": "TRA1", "NCOMMITS": 2, "ET": 20_001},
        {"QMGR": "QMX1", "JOBTYPE": "CICS", "TRAN": "TRA1", "NCOMMITS": 2, "ET": 40_000},
        {"QMGR": "QMX1", "JOBTYPE": "CICS", "TRAN": "TRA2", "NCOMMITS": 2, "ET": 20_000},
        {"QMGR": "QMX1", "JOBTYPE": "CICS", "TRAN": "TRA2", "NCOMMITS": 0, "ET": 90_000},
        {"QMGR": "QMX1", "JOBTYPE": "CHIN", "TRAN": "", "NCOMMITS": 1, "ET": 90_000},
    ]
    provider = tables(DRL__MQ_DAILY_TASK=frame(spark, TASK, tasks))
    assert [("QMX1", "TRA1"), ("QM_1", "TRA1")] == [(row[3], row[5]) for row in printed("slow-transactions", provider)]
    assert ["QM_1"] == [row[3] for row in printed("slow-transactions", provider, qmgr="QM_1")]
    assert 2 == len(printed("slow-transactions", provider, qmgr="QM?1", tran="TRA*"))


LOG = "DATE date, TIME string, MVS string, MQSERIES_SUB_ID string, " + columns(
    "long", "WAIT_COUNT_NO_BUF READ_REQ_BUF READ_REQ_ACTIVE READ_REQ_ARCHIVE READ_REQ_DELAYED LOGBUF_PAGEDIN"
)


def test_the_log_out_of_line(spark):
    """The printed reads of active logs, a wait for buffers, and an interval in which nothing happened."""
    reads = [("V52G", 314), ("V52G", 157), ("V520", 147)]
    rows = [{"MQSERIES_SUB_ID": name, "READ_REQ_ACTIVE": many} for name, many in reads]
    rows += [{"MQSERIES_SUB_ID": "V52F"}, {"MQSERIES_SUB_ID": "V52H", "WAIT_COUNT_NO_BUF": 1}]
    found = printed("log-out-of-line", tables(DRL__MQS_LOGMGR_T=frame(spark, LOG, rows)))
    assert [("V520", "147"), ("V52G", "157"), ("V52G", "314"), ("V52H", "0")] == sorted(
        (row[2], row[5]) for row in found
    )
