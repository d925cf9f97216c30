"""The thirteen outputs of MP1B's sample program, under the names of their DD statements and with its headings."""

from quaestor.reports.catalog.model import Column, Parameter, Report, Unit
from quaestor.reports.catalog.parameters import GRAIN, JOB, PERIOD, QUEUE

_JOB = Column("jobname", Unit.TEXT, "Jobname")
_QUEUE = Column("queue", Unit.TEXT, "Queue")
_DATE = Column("date", Unit.JULIAN, "Date")
_TIME = Column("time", Unit.TIME, "Time")
_QMGR = Column("qmgr", Unit.TEXT, "QMGR")
_SYSTEM = Column("system", Unit.TEXT, "System", tells_apart="qmgr")
_TASK = (*PERIOD, JOB, GRAIN)
_TASK_QUEUE = (*PERIOD, JOB, QUEUE, GRAIN)
_TASK_GRAIN = "one row per task record, or per job with grain=job"


def _count(name: str, heading: str) -> Column:
    return Column(name, Unit.COUNT, heading)


def _us(name: str, heading: str) -> Column:
    return Column(name, Unit.MICROSECONDS, heading)


def _percent(name: str, heading: str) -> Column:
    return Column(name, Unit.PERCENT, heading)


def _output(
    name: str,
    title: str,
    grain: str,
    columns: tuple[Column, ...],
    parameters: tuple[Parameter, ...] = PERIOD,
    empty: str = "No such records in this period.",
) -> Report:
    return Report(name, title, grain, columns, parameters, f"mp1b {name.upper()}", "outputs", empty)


OUTPUTS = (
    _output(
        "sysprint",
        "Messages about what is out of line",
        "one row per day, queue manager and message",
        (_DATE, _QMGR, _SYSTEM, Column("message", Unit.TEXT, "Message")),
        empty="No threshold was crossed.",
    ),
    _output(
        "summary",
        "Where the elapsed time of queue calls went",
        _TASK_GRAIN,
        (
            _JOB,
            Column("et_ms", Unit.MILLISECONDS, "et_ms"),
            *(_percent(f"{verb}_percent", f"%{word}") for verb, word in (
                ("open", "open"), ("close", "clos"), ("get", "get"), ("put", "put"), ("put1", "put1"),
                ("inq", "inq"), ("set", "set"), ("cpu", "cpu"), ("log", "log"), ("pset", "pset"), ("other", "other"),
            )),
        ),
        _TASK,
    ),
    _output(
        "stats",
        "Every verb on every queue: number, average elapsed and CPU time",
        f"{_TASK_GRAIN}, queue and verb",
        (
            _JOB, _QUEUE, Column("verb", Unit.TEXT, "Verb"), _count("calls", "Number"),
            _us("average_et_us", "Avg_et"), _us("average_ct_us", "Avg_CT"),
        ),
        _TASK_QUEUE,
    ),
    _output(
        "put",
        "Messages put",
        f"{_TASK_GRAIN}, and queue",
        (
            _JOB, _QUEUE, _count("valid_puts", "Valid_Put"), _count("puts", "Put"), _count("put1s", "Put1"),
            Column("put_bytes", Unit.BYTES, "Put_Bytes"), Column("put_size_high", Unit.BYTES, "PutMax"),
            Column("put_size_low", Unit.BYTES, "PutMin"),
        ),
        _TASK_QUEUE,
    ),
    _output(
        "get",
        "Messages got, and the time they were on the queue",
        f"{_TASK_GRAIN}, and queue",
        (
            _JOB, _QUEUE, _count("gets", "Get"), _count("valid_gets", "ValidGet"),
            Column("get_bytes", Unit.BYTES, "Bytes"), Column("get_size_high", Unit.BYTES, "MaxGet"),
            Column("get_size_low", Unit.BYTES, "MinGet"), Column("toq_max_us", Unit.MICROSECONDS_E, "MaxTOQ"),
            Column("toq_min_us", Unit.MICROSECONDS_E, "MinTOQ"), Column("toq_avg_us", Unit.MICROSECONDS_E, "AvgTOQ"),
        ),
        _TASK_QUEUE,
    ),
    _output(
        "db2",
        "Requests of tasks to Db2: T in the thread, S in the server",
        _TASK_GRAIN,
        (
            _JOB, _count("db2_requests", "Count"), _us("thread_avg_us", "Avg_ET_T"), _us("server_avg_us", "Avg_ET_S"),
            _us("thread_max_us", "Max_Ti_T"), _us("server_max_us", "Max_Ti_S"),
        ),
        _TASK,
        "No task made a request to Db2 in this period.",
    ),
    _output(
        "cf",
        "Requests of tasks to the coupling facility: E single entries, M multiple",
        _TASK_GRAIN,
        (
            _JOB, _count("cf_single_calls", "E_calls"), _count("cf_single_redrives", "E_redrive"),
            _us("single_avg_us", "Avg_E_time"), _count("cf_multiple_calls", "M_calls"),
            _count("cf_multiple_redrives", "M_redrive"), _us("multiple_avg_us", "Avg_M_time"),
        ),
        _TASK,
        "No task used a shared queue in this period.",
    ),
    _output(
        "scf",
        "Structures of the coupling facility",
        "one row per interval, queue manager and structure",
        (
            _DATE, _QMGR, _SYSTEM, _count("structure_number", "CFN"), Column("structure", Unit.TEXT, "CFname"),
            _count("single_calls", "Num_E"), _us("single_avg_us", "Avg_E_T"),
            _percent("single_redrive_percent", "%Redrive"), _count("multiple_calls", "Num_M"),
            _us("multiple_avg_us", "Avg_M_T"), _percent("multiple_redrive_percent", "%Redrive"),
            _count("structure_full", "Num_full"),
        ),
        empty="No structure was used in this period.",
    ),
    _output(
        "mm",
        "MQI calls counted by the message manager",
        "one row per interval and queue manager",
        (
            _DATE, _count("opens", "Open"), _count("closes", "Close"), _count("gets", "Get"), _count("puts", "Put"),
            _count("put1s", "Put1"), _count("inquires", "Inq"), _count("internal_inquires", "Inql"),
            _count("sets", "Set"),
        ),
    ),
    _output(
        "bm",
        "Buffer pools",
        "one row per interval, queue manager and buffer pool",
        (
            _DATE, _QMGR, _SYSTEM,
            _count("buffer_pool", "BP"), _count("buffers", "NumBuff"), _percent("now_percent", "%now"),
            _percent("low_percent", "%low"), _count("deferred_write_starts", "dwt"),
            _count("synchronous_write_starts", "dmc"), _count("steals", "stl"), _count("hash_chain_changes", "stla"),
            _count("short_on_storage", "sos"),
        ),
    ),
    _output(
        "sdb2",
        "The Db2 manager's queue and deadlocks",
        "one row per interval and queue manager",
        (_DATE, _TIME, _QMGR, _SYSTEM, _count("queue_depth_high", "Max_Depth"), _count("deadlocks", "Num_deadlock")),
    ),
    _output(
        "thread",
        "Who was connected, and through which channel",
        "one row per task record, or per job and channel with grain=job",
        (
            _JOB, Column("type", Unit.TEXT, "type"), Column("channel", Unit.TEXT, "Channel"),
            Column("qualifier", Unit.TEXT, "channel_qualifier"),
        ),
        _TASK,
    ),
    _output(
        "log",
        "The log manager",
        "one row per interval and queue manager",
        (
            _DATE, _QMGR, _SYSTEM, _count("writes_wait", "wr_wait"), _count("writes_nowait", "wr_nwait"),
            _count("writes_force", "wr_force"), _count("waits_no_buffer", "Wait_Buf"),
            _count("reads_from_buffer", "read_buf"), _count("reads_from_active", "read_act"),
            _count("reads_from_archive", "read_arc"), _count("reads_delayed_tape_volume", "r_delay_TVC"),
            _count("reads_delayed_unavailable", "r_delay_WUR"), _count("checkpoints", "N_CheckP"),
            _count("log_ios", "Num_I/O"), _count("cis_written", "Num_CI_W"), _count("buffers_paged_in", "paging"),
        ),
    ),
)  # fmt: skip
