"""The queries behind the reports: tables and parsed parameters in, one DataFrame or Arrow table out.

    accounting, statistics   ten outputs of MP1B's sample program, from raw tables
    verb_outputs             SUMMARY and STATS, which add up every verb of every record
    task_queries             Q-1 to Q-4, Q-10 to Q-15
    manager_queries          Q-5 to Q-9, Q-16
    exceptions               what is out of line; SYSPRINT
    departments, charges     charge-back, weeks, trends
    pictures                 the tables behind the charts
    selected                 why there are no rows: what was asked for does not exist

`QUERIES` is the register: the name of a report is its key. Titles, units and parameters stand in `quaestor.reports`,
which needs no Spark.
"""

from collections.abc import Mapping

from quaestor.pipeline.report_queries import (
    accounting,
    charges,
    exceptions,
    manager_queries,
    pictures,
    statistics,
    task_queries,
    verb_outputs,
)
from quaestor.pipeline.report_queries.steps import Query

QUERIES: Mapping[str, Query] = {
    "sysprint": exceptions.sysprint,
    "summary": verb_outputs.summary,
    "stats": verb_outputs.stats,
    "put": accounting.put,
    "get": accounting.get,
    "db2": accounting.db2,
    "cf": accounting.cf,
    "scf": statistics.scf,
    "mm": statistics.mm,
    "bm": statistics.bm,
    "sdb2": statistics.sdb2,
    "thread": accounting.thread,
    "log": statistics.log,
    "exceptions": exceptions.exceptions,
    "db2-exceptions": exceptions.db2_exceptions,
    "cf-exceptions": exceptions.cf_exceptions,
    "commits": task_queries.commits,
    "commits-by-day": task_queries.commits_by_day,
    "slow-transactions": task_queries.slow_transactions,
    "transaction-verbs": task_queries.transaction_verbs,
    "db2-calls": manager_queries.db2_calls,
    "db2-depth": manager_queries.db2_depth,
    "db2-dispatch": manager_queries.db2_dispatch,
    "db2-response": manager_queries.db2_response,
    "cf-structures": manager_queries.cf_structures,
    "shared-queues": task_queries.shared_queues,
    "page-set-io": task_queries.page_set_io,
    "verbs": task_queries.verbs,
    "queue-users": task_queries.queue_users,
    "time-on-queue": task_queries.time_on_queue,
    "get-kinds": task_queries.get_kinds,
    "log-out-of-line": manager_queries.log_out_of_line,
    "chargeback-application": charges.by_application,
    "chargeback-channel": charges.by_channel,
    "chargeback-department": charges.by_department,
    "cpu-by-week": charges.cpu_by_week,
    "trend": charges.trend,
    "elapsed-split": pictures.elapsed_split,
    "queue-traffic": pictures.queue_traffic,
    "buffer-pools": pictures.buffer_pools,
    "log-activity": pictures.log_activity,
    "cf-activity": pictures.cf_activity,
    "channel-traffic": pictures.channel_traffic,
}
