"""What is out of line: MP1B's thresholds applied to the summary tables, the daily list of what to look at.

Rules
  X1  A source is read once into memory, few columns of small tables, and each threshold is tried on all its rows there:
      as queries of Spark these would be planned far longer than they run.
  X2  One line per day, queue manager (G8), rule and object: how many intervals, from when to when, the worst figure.
  X3  SYSPRINT is the same list in the sample program's three columns.
  X4  A source's step gives every row the columns OBJECT, FIRST_TIME and LAST_TIME.
  X5  Counts of an hour are the same whether a day is asked for alone or among others: the hour that its first interval
      ends began the day before, so that day is read too.
  X6  What a task backed out is held against the log (A-14; log_hours, J2), of the day after too: the interval that a
      record of the evening was cut in may end then.

Called by the package's register.  Calls thresholds, summary_rows, row_conditions, log_hours.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quaestor.pipeline import thresholds
from quaestor.pipeline.arrow_expressions import ARROW
from quaestor.pipeline.report_queries.log_hours import LOG_COUNTS, an_hour, with_log_reads
from quaestor.pipeline.report_queries.manager_queries import CF_CALLS, DB2_CALLS, DB2_VERBS, LOG_MANAGER, LOGGED_VERBS
from quaestor.pipeline.report_queries.steps import Parameters, Tables, day_from
from quaestor.pipeline.report_queries.summary_rows import medians, summary_rows
from quaestor.pipeline.report_queries.task_queries import DAILY_QUEUE, DAILY_TASK
from quaestor.pipeline.row_conditions import figures, holding
from quaestor.pipeline.thresholds import ALERT, LIMITS, NOTE, WARNING, Threshold

BUFFER_MANAGER = "DRL.MQS_BUFMGR_T"
ORDER = {ALERT: 0, WARNING: 1, NOTE: 2}
_LISTED = pa.schema(
    [
        *(("date", pa.date32()), ("qmgr", pa.string()), ("system", pa.string()), ("object", pa.string())),
        ("intervals", pa.int64()),
        *(("first_time", pa.string()), ("last_time", pa.string()), ("worst", pa.float64())),
        *(("severity_order", pa.int32()), ("severity", pa.string()), ("rule", pa.string()), ("manager", pa.string())),
        *(("unit", pa.string()), ("advice", pa.string()), ("message", pa.string())),
    ]
)
_NO_INDEX_KEYS = ("DATE", "MVS", "QMGR", "BASENAME", "QTYPE", "INDXTYPE")
_GETS = ("GETS", "GETBRWS", "GETA")
_PAGE_SET_IOS = ("PUTPSN", "PUT1PSN", "GETPSN")
_PARAMETERS = {each.name: f"@{each.name}" for each in LIMITS}
Line = dict[str, Any]
Step = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class Source:
    """Rows to look at: a table, the step that makes it ready, the columns this needs, and the thresholds."""

    manager: str
    table: str
    prepare: Step
    reads: Sequence[str]
    rules: Sequence[Threshold]
    qmgr: str = "QMGR"
    looks_back: bool = False
    """Whether the step counts over rows before a row, and so needs the day before (X5)."""
    with_log: bool = False
    """Whether the thresholds ask for the log's reads as well (X6)."""

    def columns(self) -> set[str]:
        """Every name that the step or a threshold may ask for."""
        texts = " ".join(f"{rule.when} {rule.figure}" for rule in self.rules)
        return {"MVS", *self.reads, *re.findall(r"[A-Z]\w*", texts)}


def _moments(rows: pa.Table, name: Any) -> pa.Table:
    """A row of five minutes is one interval, from its time to its time."""
    named = rows.append_column("OBJECT", name if isinstance(name, pa.ChunkedArray) else pa.repeat(name, len(rows)))
    return named.append_column("FIRST_TIME", rows["TIME"]).append_column("LAST_TIME", rows["TIME"])


def _whole(rows: pa.Table) -> pa.Table:
    return _moments(rows, "")


def _log(rows: pa.Table) -> pa.Table:
    return _whole(an_hour(rows))


def _named(column: str) -> Step:
    return lambda rows: _moments(rows, pc.cast(rows[column], pa.string()))


def _tasks(rows: pa.Table) -> pa.Table:
    both = pc.binary_join_element_wise(rows["JOBNAME"], rows["TRAN"], " ", null_handling="skip")
    return _moments(rows, pc.utf8_trim(both, " "))


def _db2_verbs(rows: pa.Table) -> pa.Table:
    """One row per five minutes and verb that was used."""
    parts = [
        pa.table(
            {
                **{each: rows[each] for each in ("DATE", "TIME", "MVS", "QMGR")},
                "VERB": pa.repeat(verb, len(rows)),
                "LOGGED": pa.repeat(int(verb in LOGGED_VERBS), len(rows)),
                "CALLS": rows[count],
                "THREAD_US": rows[f"{short}TCUW"],
                "SERVER_US": rows[f"{short}SCUW"],
            }
        )
        for verb, (count, short) in DB2_VERBS.items()
    ]
    return _named("VERB")(holding("CALLS > 0", pa.concat_tables(parts, promote_options="permissive"), {}))


def _structures(rows: pa.Table) -> pa.Table:
    """The same rows with the median response of each structure over the period: its own measure (A-21)."""
    for name, elapsed, calls in (("SINGLE", "QESTSSTC", "QESTCSEC"), ("MULTIPLE", "QESTMSTC", "QESTCMEC")):
        response = ARROW["divide"](rows[elapsed], rows[calls])
        rows = rows.append_column(f"{name}_MEDIAN", medians(response, rows, ["MVS", "QMGR", "STRUCTURE"]))
    return _named("STRUCTURE")(rows)


def _queue_records(rows: pa.Table) -> pa.Table:
    """The rows of task records with their page set I/Os together."""
    first, *others = (pc.coalesce(rows[each], 0) for each in _PAGE_SET_IOS)
    for each in others:
        first = pc.add(first, each)
    return _named("BASENAME")(rows.append_column("IOS", first))


def _queue_days(rows: pa.Table) -> pa.Table:
    """One row per day, queue manager, queue, type and index: what all its users did together."""
    wanted = [("TIME", "min"), ("TIME", "max"), *((each, "sum") for each in _GETS)]
    summed = rows.group_by(list(_NO_INDEX_KEYS), use_threads=False).aggregate(wanted)
    figures_of_day = {each: pc.coalesce(summed[f"{each}_sum"], 0) for each in _GETS}
    keys = {each: summed[each] for each in _NO_INDEX_KEYS}
    times = {"FIRST_TIME": summed["TIME_min"], "LAST_TIME": summed["TIME_max"]}
    return pa.table({**keys, **figures_of_day, **times, "OBJECT": summed["BASENAME"]})


_DB2_COLUMNS = [name for count, short in DB2_VERBS.values() for name in (count, f"{short}TCUW", f"{short}SCUW")]
_CF_COLUMNS = ("STRUCTURE", "QESTSSTC", "QESTCSEC", "QESTMSTC", "QESTCMEC")
SOURCES: Mapping[str, Source] = {
    "buffer": Source(
        "buffer manager", BUFFER_MANAGER, _named("BUFFER_POOL"), ("BUFFER_POOL",), thresholds.BUFFER_POOLS
    ),
    "log": Source(
        "log manager",
        LOG_MANAGER,
        _log,
        ("SECONDS", *LOG_COUNTS),
        thresholds.LOG,
        "MQSERIES_SUB_ID",
        looks_back=True,
    ),
    "db2": Source("Db2 manager", DB2_CALLS, _whole, (), thresholds.DB2),
    "db2 verbs": Source("Db2 manager", DB2_CALLS, _db2_verbs, _DB2_COLUMNS, thresholds.DB2_VERBS),
    "cf": Source("coupling facility", CF_CALLS, _structures, _CF_COLUMNS, thresholds.STRUCTURES),
    "queue records": Source("queues", DAILY_QUEUE, _queue_records, _PAGE_SET_IOS, thresholds.QUEUE_RECORDS),
    "queue days": Source("queues", DAILY_QUEUE, _queue_days, (*_NO_INDEX_KEYS, *_GETS), thresholds.QUEUE_DAYS),
    "tasks": Source("tasks", DAILY_TASK, _tasks, (), thresholds.TASKS, with_log=True),
}


def exceptions(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per day, queue manager, rule and object that is out of line, the worst first (X2)."""
    return _ordered(_listed(tables, asked, SOURCES.values()))


def db2_exceptions(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per day, queue manager, rule and verb: Db2 out of line."""
    return _ordered(_listed(tables, asked, (SOURCES["db2"], SOURCES["db2 verbs"])))


def cf_exceptions(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per day, queue manager, rule and structure: the coupling facility out of line."""
    return _ordered(_listed(tables, asked, (SOURCES["cf"],)))


def sysprint(tables: Tables, asked: Parameters) -> pa.Table:
    """One row per day, queue manager and message about what is out of line (X3)."""
    found = _listed(tables, asked, SOURCES.values())
    said = [{**line, "message": f"{line['message']}. {line['advice']}"} for line in found]
    said.sort(key=lambda line: [line["date"], *_owner(line), line["severity_order"], line["message"]])
    return pa.Table.from_pylist(said, _LISTED)


def _ordered(found: list[Line]) -> pa.Table:
    texts = ("rule", "object", "message")
    found.sort(key=lambda line: [*_owner(line), *(line[each] or "" for each in texts)])
    found.sort(key=lambda line: line["date"], reverse=True)
    found.sort(key=lambda line: line["severity_order"])
    return pa.Table.from_pylist(found, _LISTED)


def _owner(line: Line) -> tuple[str, str]:
    return line["qmgr"] or "", line["system"] or ""


def _listed(tables: Tables, asked: Parameters, sources: Iterable[Source]) -> list[Line]:
    """What the sources found, with what there is to say about it."""
    chosen = list(sources)
    with ThreadPoolExecutor(len(chosen)) as pool:
        return [line for lines in pool.map(lambda source: _found(tables, asked, source), chosen) for line in lines]


def _found(tables: Tables, asked: Parameters, source: Source) -> list[Line]:
    """The lines that one source gives (X1)."""
    limits = {each.name: asked.get(each.name, each.default) for each in LIMITS}
    rows = _rows(tables, asked, source)
    if source.with_log:
        last = asked.get("to")
        longer = asked if last is None else {**asked, "to": day_from(last, 1)}
        rows = with_log_reads(rows, _rows(tables, longer, SOURCES["log"]))
    return [line for rule in source.rules for line in _lines(rows, source, rule, limits)]


def _rows(tables: Tables, asked: Parameters, source: Source) -> pa.Table:
    """The rows of a source that are asked for, ready for its thresholds."""
    first = asked.get("from") if source.looks_back else None
    wider = asked if first is None else {**asked, "from": day_from(first, -1)}
    rows = source.prepare(summary_rows(tables, source.table, wider, source.columns(), qmgr=source.qmgr))
    if first is not None:  # X5
        rows = rows.filter(pc.greater_equal(rows["DATE"], pa.scalar(first, pa.date32())))
    return rows


def _lines(rows: pa.Table, source: Source, rule: Threshold, limits: Mapping[str, float]) -> Iterator[Line]:
    """One line per day, queue manager and object whose rows cross a threshold (X2)."""
    fired = holding(rule.when.format(**_PARAMETERS), rows, limits)
    figure = figures(rule.figure, fired, limits)
    names = {"qmgr": fired[source.qmgr], "system": fired["MVS"], "object": fired["OBJECT"]}
    keys = {"date": fired["DATE"], **names}
    times = {"first_time": fired["FIRST_TIME"], "last_time": fired["LAST_TIME"]}
    grouped = pa.table({**keys, **times, "figure": figure}).group_by(list(keys), use_threads=False)
    worst = f"figure_{rule.worst}"
    wanted = [([], "count_all"), ("first_time", "min"), ("last_time", "max"), ("figure", rule.worst)]
    for row in grouped.aggregate(wanted).to_pylist():
        yield {
            **{each: row[each] for each in keys},
            "intervals": row["count_all"],
            "first_time": row["first_time_min"],
            "last_time": row["last_time_max"],
            "worst": row[worst],
            "severity_order": ORDER[rule.severity],
            "severity": rule.severity,
            "rule": rule.rule,
            "manager": source.manager,
            "unit": rule.unit,
            "advice": rule.advice,
            "message": rule.says.replace("%s", row["object"] or ""),
        }
