"""Every threshold of MP1B at its edge: one more is an exception, what is allowed is none (T1 to T4, X2, X3)."""

from datetime import date, timedelta
from functools import cache

import pyarrow as pa
import pytest

from quaestor.pipeline.daily_parts import in_parts
from quaestor.pipeline.day_part import part_schema
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.report_queries.exceptions import (
    SOURCES,
    _listed,
    _ordered,
    cf_exceptions,
    db2_exceptions,
    exceptions,
    sysprint,
)
from quaestor.pipeline.report_queries.manager_queries import LOG_MANAGER
from quaestor.pipeline.summary import read_definitions
from quaestor.pipeline.thresholds import LIMITS
from quaestor.reports.catalog import REPORTS

DAY = date(2026, 3, 2)
NAMED = {"TIME": "09:00:00.00", "QMGR": "QM01", "MQSERIES_SUB_ID": "QM01", "MVS": "SYSA", "BUFFER_POOL": 3}
NAMED |= {"STRUCTURE": "APPL1", "BASENAME": "ORDERS", "QTYPE": "Local", "INDXTYPE": "None", "JOBNAME": "CICS1"}
NAMED |= {"JOBTYPE": "CICS", "TRAN": "ORDS", "CHANNEL": ""}


class Frame:
    """As much of a DataFrame as is asked of one: columns that are selected and handed over."""

    def __init__(self, table):
        self._table = table
        self.columns = table.column_names

    def select(self, *names):
        return Frame(self._table.select(names))

    def toArrow(self):  # noqa: N802  Spark's name
        return self._table


@cache
def schema_of(name):
    """The columns that the shipped definition of a summary table has."""
    return part_schema(in_parts(read_definitions()[name], DEFAULT_PLAN))


def tables(source, rows, log=()):
    """The tables of a lake in which only the one of `source` has rows, and the log's; what a row does not say is 0."""

    def table(name):
        schema, given = schema_of(name), {LOG_MANAGER: log, SOURCES[source].table: rows}.get(name, ())
        assert {column for row in given for column in row} <= set(schema.names)
        plain = {each.name: "" for each in schema if pa.types.is_string(each.type)} | {"DATE": DAY} | NAMED
        whole = [{each: row.get(each, plain.get(each, 0)) for each in schema.names} for row in given]
        return Frame(pa.Table.from_pylist(whole, schema=schema))

    return table


def found(source, *rows, report=None, log=(), **asked):
    """The lines of a report, or of the source alone."""
    given = tables(source, rows, log)
    made = report(given, asked) if report else _ordered(_listed(given, asked, [SOURCES[source]]))
    return made.to_pylist()


def rules(source, *rows, **asked):
    return [(each["severity"], each["rule"]) for each in found(source, *rows, **asked)]


@pytest.mark.parametrize("report", [exceptions, sysprint])
def test_namesakes_on_two_systems_are_two_lines(report):
    """X2, G8: what two queue managers of one name did is not added up."""
    rows = [{"SOS": 1, "MVS": "SYSA"}, {"SOS": 1, "MVS": "SYSB"}, {"SOS": 1, "MVS": "SYSB"}]
    made = [(each["qmgr"], each["system"], each["intervals"]) for each in found("buffer", *rows, report=report)]
    assert [("QM01", "SYSA", 1), ("QM01", "SYSB", 2)] == made


def test_a_day_asked_for_alone_has_the_exceptions_it_has_among_others():
    """X5: twelve checkpoints in the hour around midnight, the half of them on either day."""
    midnight = [(DAY, 23, each) for each in range(30, 60, 5)]
    midnight += [(DAY + timedelta(days=1), 0, each) for each in range(0, 30, 5)]
    rows = [
        {"DATE": day, "TIME": f"{hour:02}:{minute:02}:00.00", "SECONDS": 300.0, "CHECKPOINTS": 1}
        for day, hour, minute in midnight
    ]
    every = [line for line in found("log", *rows) if line["date"] != DAY]
    assert [12.0] == [line["worst"] for line in every]
    assert every == found("log", *rows, **{"from": DAY + timedelta(days=1)})


def in_an_hour(**counts):
    """An hour of five minutes each, the counts in the last of them."""
    hour = [{"TIME": f"09:{minute:02d}:00.00", "SECONDS": 300.0} for minute in range(0, 60, 5)]
    return (*hour[:-1], {**hour[-1], **counts})


CASES = [
    ("A-24", "alert", "buffer", {"SOS": 0}, {"SOS": 1}),
    ("A-27", "alert", "buffer", {"DMC": 0}, {"DMC": 1}),
    (
        "A-25",
        "warning",
        "buffer",
        {"GETP": 1, "BUFFERS": 1000, "STEALABLE_LOW": 151},
        {"GETP": 1, "BUFFERS": 1000, "STEALABLE_LOW": 150},
    ),
    ("A-25", "warning", "buffer", {"BUFFERS": 1000, "STEALABLE_LOW": 0}, {"GETN": 1, "BUFFERS": 1000}),
    ("A-26", "warning", "buffer", {"RIO": 0}, {"RIO": 1}),
    ("A-36", "alert", "log", {"SECONDS": 300}, {"WAIT_COUNT_NO_BUF": 1, "SECONDS": 300}),
    ("A-39", "alert", "log", {"READ_REQ_ARCHIVE": 0}, {"READ_REQ_ARCHIVE": 1}),
    ("A-41", "warning", "log", {"DELAYED_MAXRTU": 0}, {"DELAYED_MAXRTU": 1}),
    ("A-42", "warning", "log", {"DELAYED_UNAVAILABLE": 0}, {"DELAYED_UNAVAILABLE": 1}),
    (
        "A-45",
        "warning",
        "log",
        {"MOUNTS_ATTEMPTED": 4, "MOUNTS_DONE": 4},
        {"MOUNTS_ATTEMPTED": 4, "MOUNTS_DONE": 3},
    ),
    ("A-38", "warning", "log", {"READ_REQ_ACTIVE": 0}, {"READ_REQ_ACTIVE": 1}),
    ("A-37", "warning", "log", in_an_hour(READ_REQ_BUF=100), in_an_hour(READ_REQ_BUF=101)),
    ("A-40", "warning", "log", {"LOGBUF_PAGEDIN": 0}, {"LOGBUF_PAGEDIN": 1}),
    ("A-43", "warning", "log", in_an_hour(CHECKPOINTS=10), in_an_hour(CHECKPOINTS=11)),
    ("A-18", "warning", "db2", {"DHIGMAX": 10}, {"DHIGMAX": 11}),
    ("A-18", "warning", "db2", {"DHIGMAX": 10}, {"DHIGMAX": 20}),
    ("A-18", "alert", "db2", {"DHIGMAX": 0}, {"DHIGMAX": 21}),
    ("A-19", "alert", "db2", {"DEADCNT": 0}, {"DEADCNT": 1}),
    ("A-19", "alert", "db2", {"ABNDCNT": 0}, {"ABNDCNT": 1}),
    (
        "A-16",
        "warning",
        "db2 verbs",
        {"UPDTCNT": 2, "UPDTSCUW": 20_000, "UPDTTCUW": 20_000},
        {"UPDTCNT": 2, "UPDTSCUW": 20_002, "UPDTTCUW": 20_002},
    ),
    (
        "A-17",
        "warning",
        "db2 verbs",
        {"READCNT": 2, "READSCUW": 50_000, "READTCUW": 52_000},
        {"READCNT": 2, "READSCUW": 50_000, "READTCUW": 52_002},
    ),
    ("A-20", "alert", "cf", {"QESTSFUL": 0}, {"QESTSFUL": 1}),
    ("A-22", "note", "cf", {"QESTCSEC": 5}, {"QESTRSEC": 1}),
    ("A-22", "note", "cf", {"QESTCSEC": 5}, {"QESTRMEC": 1}),
    ("A-7", "warning", "queue records", {"PUTPSN": 0}, {"PUTPSN": 1}),
    ("A-7", "warning", "queue records", {"PUT1PSN": None}, {"PUT1PSN": 1, "PUTPSN": None}),
    ("A-7", "warning", "queue records", {"GETPSN": 0}, {"GETPSN": 1}),
    ("A-9", "warning", "queue records", {"VALIDGET": 2, "GETSMSG": 20}, {"VALIDGET": 2, "GETSMSG": 21}),
    ("A-10", "note", "queue records", {"GETEXMSG": 0}, {"GETEXMSG": 1}),
    ("A-2", "note", "queue records", {"SETN": 0}, {"SETN": 1}),
    ("A-4", "warning", "queue days", {"GETS": 5, "GETA": 1}, {"GETS": 5}),
    ("A-4", "warning", "queue days", {"GETBRWS": 5, "INDXTYPE": "Msg"}, {"GETBRWS": 5}),
    ("A-4", "warning", "queue days", {"GETS": 5, "QTYPE": "Alias"}, {"GETS": 1}),
    ("A-5", "note", "queue days", {"GETA": 5, "INDXTYPE": "?"}, {"GETA": 5, "INDXTYPE": "Msg"}),
    ("A-5", "note", "queue days", {"GETA": 5, "GETS": 1, "INDXTYPE": "Msg"}, {"GETA": 1, "INDXTYPE": "Group"}),
    ("A-1", "warning", "tasks", {"ET": 20_000, "NCOMMITS": 2}, {"ET": 20_001, "NCOMMITS": 2}),
    (
        "A-1",
        "warning",
        "tasks",
        {"ET": 90_000, "NCOMMITS": 2, "JOBTYPE": "MVS"},
        {"ET": 90_000, "NCOMMITS": 2, "JOBTYPE": "IMS"},
    ),
    ("A-1", "warning", "tasks", {"ET": 90_000}, {"ET": 90_000, "NCOMMITS": 1}),
    ("A-3", "warning", "tasks", {"WTASJCET": 4_000, "WTASJCN": 2}, {"WTASJCET": 4_001, "WTASJCN": 2}),
]


def several(rows):
    return rows if isinstance(rows, tuple) else (rows,)


@pytest.mark.parametrize(("rule", "severity", "source", "allowed", "over"), CASES)
def test_what_is_allowed_is_no_exception_and_one_more_is(rule, severity, source, allowed, over):
    assert (severity, rule) not in rules(source, *several(allowed))
    assert (severity, rule) in rules(source, *several(over))


def test_every_threshold_is_held_at_its_edge():
    """A-21, the median of a structure, and A-14, which the log has a say in, have tests of their own."""
    every = {(rule.rule, rule.severity) for source in SOURCES.values() for rule in source.rules}
    assert every - {("A-21", "warning"), ("A-14", "warning")} == {case[:2] for case in CASES}


@pytest.mark.parametrize("kind", ["single", "multiple"])
def test_a_structure_is_measured_by_its_own_median(kind):
    """A-21: twice its median is allowed; another structure's slowness is no measure."""
    calls, elapsed = ("QESTCSEC", "QESTSSTC") if kind == "single" else ("QESTCMEC", "QESTMSTC")
    usual = [{calls: 10.0, elapsed: 100.0} for _ in range(4)]
    slow = [{calls: 10.0, elapsed: 900.0, "STRUCTURE": "OTHER"} for _ in range(9)]
    assert [] == rules("cf", *usual, *slow, {calls: 10.0, elapsed: 200.0})
    (made,) = found("cf", *usual, *slow, {calls: 10.0, elapsed: 201.0})
    assert ("A-21", "APPL1", 20.1, 1) == (made["rule"], made["object"], round(made["worst"], 2), made["intervals"])
    assert f"({kind})" in made["message"]
    assert [] == rules("cf", *usual, {calls: 0.0, elapsed: 900.0})


def backed_out(time="09:12:00.00", **said):
    return {"NBACKOUTS": 1, "TIME": time, **said}


def log_at(time, reads, **said):
    """Half an hour of the log."""
    return {"TIME": time, "READ_REQ_BUF": reads, "SECONDS": 1800.0, **said}


def test_backouts_matter_where_the_log_is_read_for_them():
    """A-14 asks for both: units backed out, and many log reads from buffers in the hour they were counted in."""
    much, usual = log_at("09:30:00.00", 51), log_at("09:30:00.00", 50)
    assert [("warning", "A-14")] == rules("tasks", backed_out(), log=[much])
    assert [] == rules("tasks", backed_out(), log=[usual])
    assert [] == rules("tasks", {"TIME": "09:12:00.00"}, log=[much])
    assert [] == rules("tasks", backed_out())
    assert [("warning", "A-14")] == rules("tasks", backed_out(), log=[usual], buffer_reads=99)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"time": "08:59:59.00"}, False),
        ({"time": "09:00:00.00"}, True),
        ({"time": "09:34:59.00"}, True),
        ({"time": "09:35:00.00"}, False),
        ({"QMGR": "QM02"}, False),
        ({"MVS": "SYSB"}, False),
        ({"DATE": DAY + timedelta(days=1)}, False),
    ],
    ids=["before", "its begin", "its five minutes", "after", "another queue manager", "another system", "another day"],
)
def test_the_log_of_the_interval_that_the_backouts_were_counted_in(said, told):
    others = [log_at(f"{hour:02}:{minute:02}:00.00", 0) for hour, minute in ((8, 0), (8, 30), (10, 0))]
    assert told == (("warning", "A-14") in rules("tasks", backed_out(**said), log=[*others, log_at("09:30:00.00", 99)]))


def test_a_task_of_the_evening_has_the_log_that_was_written_after_midnight():
    """X5: asked for alone, the day has what it has among others."""
    log = [log_at("00:10:00.00", 99, DATE=DAY + timedelta(days=1))]
    for asked in ({}, {"from": DAY, "to": DAY}):
        assert 1 == len(found("tasks", backed_out("23:50:00.00"), log=log, **asked)), asked


# --- one line for a day and an object (X2) ----------------------------------------------------------------------------


def test_rows_of_a_day_and_an_object_are_one_line():
    rows = [
        {"SOS": 2, "TIME": "11:00:00.00"},
        {"SOS": 3, "TIME": "09:00:00.00"},
        {"SOS": 1, "BUFFER_POOL": 4},
        {"SOS": 1, "QMGR": "QM02"},
        {"SOS": 1, "DATE": date(2026, 3, 3)},
        {"SOS": 0, "TIME": "01:00:00.00"},
    ]
    made = [each for each in found("buffer", *rows) if each["rule"] == "A-24"]
    assert [(3, "QM01", "3"), (2, "QM01", "3"), (2, "QM01", "4"), (2, "QM02", "3")] == [
        (each["date"].day, each["qmgr"], each["object"]) for each in made
    ]  # the newest day first
    line = made[1]
    assert (2, "09:00:00.00", "11:00:00.00", 5.0) == tuple(
        line[each] for each in ("intervals", "first_time", "last_time", "worst")
    )
    assert "Buffer pool 3 is too small: no buffer was free" == line["message"]
    assert ("times", "buffer manager", "alert") == (line["unit"], line["manager"], line["severity"])


@pytest.mark.parametrize(
    ("source", "rows", "rule", "worst"),
    [
        ("buffer", [{"RIO": 2}, {"RIO": 3}], "A-26", 5.0),
        ("buffer", [{"GETP": 1, "BUFFERS": 100, "STEALABLE_LOW": low} for low in (9, 4, 12)], "A-25", 4.0),
        ("db2", [{"DHIGMAX": 12}, {"DHIGMAX": 19}, {"DHIGMAX": 11}], "A-18", 19.0),
        ("tasks", [{"ET": 30_000, "NCOMMITS": 1}, {"ET": 90_000, "NCOMMITS": 2}], "A-1", 45_000.0),
    ],
    ids=["the sum of counts", "the least that was left", "the deepest", "the slowest"],
)
def test_the_worst_figure_of_a_day(source, rows, rule, worst):
    (line,) = [each for each in found(source, *rows) if each["rule"] == rule]
    assert worst == line["worst"]


def test_all_users_of_a_queue_are_looked_at_together():
    """A-4: one task that gets by id says nothing about an index when another gets any message."""
    assert [] == rules("queue days", {"GETS": 5, "TIME": "09:00:00.00"}, {"GETA": 5, "TIME": "10:00:00.00"})
    (line,) = found("queue days", {"GETS": 5, "TIME": "11:00:00.00"}, {"GETBRWS": 2, "TIME": "10:00:00.00"})
    assert (7.0, "10:00:00.00", "11:00:00.00", "ORDERS", 1) == tuple(
        line[each] for each in ("worst", "first_time", "last_time", "object", "intervals")
    )


def test_a_task_is_named_by_its_job_and_transaction():
    rows = [backed_out(), backed_out(TRAN=""), backed_out(TRAN=None, JOBNAME="BATCH")]
    made = found("tasks", *rows, log=[log_at("09:30:00.00", 99)])
    assert ["BATCH", "CICS1", "CICS1 ORDS"] == sorted(each["object"] for each in made)
    assert "CICS1 ORDS backs out" in {each["message"] for each in made}


def test_verbs_that_may_be_slow_without_fault_are_not_told():
    """A-16: lists and reads do not wait for Db2's log."""
    slow = {"SCUW": 90_000.0, "TCUW": 90_000.0}
    for count, short, told in (
        ("DELECNT", "DELE", True),
        ("LISTCNT", "LIST", False),
        ("READCNT", "READ", False),
        ("WRITCNT", "WRIT", True),
        ("SCSSEL", "SCSS", False),
        ("SCSINS", "SCSI", True),
        ("SSKSEL", "SSKS", False),
        ("SSKDEL", "SSKD", True),
    ):
        row = {count: 1.0, **{f"{short}{name}": value for name, value in slow.items()}}
        assert told == (("warning", "A-16") in rules("db2 verbs", row)), count


# --- what was asked ---------------------------------------------------------------------------------------------------


def test_every_limit_can_be_moved():
    """T1: a parameter of that name is the cut-off."""
    moved = {
        "unit_us": ("tasks", {"ET": 20_001, "NCOMMITS": 2}),
        "force_us": ("tasks", {"WTASJCET": 4_001, "WTASJCN": 2}),
        "skipped": ("queue records", {"VALIDGET": 2, "GETSMSG": 21}),
        "db2_server_us": ("db2 verbs", {"UPDTCNT": 2, "UPDTSCUW": 20_002, "UPDTTCUW": 20_002}),
        "db2_delay_us": ("db2 verbs", {"READCNT": 2, "READTCUW": 2_002}),
        "db2_depth": ("db2", {"DHIGMAX": 11}),
        "db2_depth_alert": ("db2", {"DHIGMAX": 21}),
        "cf_factor": ("cf", *({"QESTCSEC": 1, "QESTSSTC": each} for each in (1, 1, 3))),
        "low_percent": ("buffer", {"GETP": 1, "BUFFERS": 100, "STEALABLE_LOW": 15}),
        "buffer_reads": ("log", *in_an_hour(READ_REQ_BUF=101)),
        "checkpoints_per_hour": ("log", *in_an_hour(CHECKPOINTS=11)),
    }
    assert {each.name for each in LIMITS} == moved.keys()
    for limit in LIMITS:
        source, *rows = moved[limit.name]
        beyond = 0 if limit.name == "low_percent" else limit.default * 2
        before, after = rules(source, *rows), rules(source, *rows, **{limit.name: beyond})
        assert before, limit.name
        assert after != before, limit.name


def test_the_rows_that_are_asked_for():
    rows = [{"SOS": 1, "DATE": date(2026, 3, day), "QMGR": name} for day in (1, 2, 3) for name in ("QM01", "QM02")]

    def days(**asked):
        return sorted((each["date"].day, each["qmgr"][-1]) for each in found("buffer", *rows, **asked))

    assert 6 == len(days())
    assert [(2, "1"), (2, "2")] == days(**{"from": date(2026, 3, 2), "to": date(2026, 3, 2)})
    assert [(3, "2")] == days(**{"from": date(2026, 3, 3), "qmgr": "*2"})
    assert [] == days(qmgr="QM0")
    assert 2 == len(found("log", {"READ_REQ_ACTIVE": 1}, {"READ_REQ_ACTIVE": 1, "MQSERIES_SUB_ID": "QM02"}))
    assert 1 == len(found("log", {"READ_REQ_ACTIVE": 1}, {"READ_REQ_ACTIVE": 1, "MQSERIES_SUB_ID": "X"}, qmgr="Q*"))


def test_the_worst_come_first_and_the_program_prints_by_day():
    """X3: SYSPRINT has the same lines, with what to do about them."""
    rows = [{"RIO": 1, "DATE": date(2026, 3, 3)}, {"SOS": 1}, {"RIO": 1}]
    assert [("alert", 2), ("warning", 3), ("warning", 2)] == [
        (each["severity"], each["date"].day) for each in found("buffer", *rows, report=exceptions)
    ]
    told = found("buffer", *rows, report=sysprint)
    assert [2, 2, 3] == [each["date"].day for each in told]
    assert told[0]["message"].startswith("Buffer pool 3 is too small: no buffer was free. Make the pool larger;")
    assert {"date", "qmgr", "message"} <= {each.name.lower() for each in REPORTS["sysprint"].columns}


def test_db2_and_the_coupling_facility_have_lists_of_their_own():
    full = {"QESTSFUL": 1}
    assert (["A-20"], []) == tuple(
        [each["rule"] for each in found("cf", full, report=report)] for report in (cf_exceptions, db2_exceptions)
    )
    assert ["A-19"] == [each["rule"] for each in found("db2", {"DEADCNT": 1}, report=db2_exceptions)]
    assert [] == found("buffer", {"SOS": 1}, report=cf_exceptions)


def test_nothing_to_look_at_is_an_empty_list():
    assert [] == found("buffer") == found("buffer", report=exceptions)
    columns = exceptions(tables("buffer", []), {}).column_names
    assert {each.name for each in REPORTS["exceptions"].columns} <= set(columns)
