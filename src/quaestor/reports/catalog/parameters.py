"""Parameters that several reports share."""

from quaestor.reports.catalog.model import Parameter, day, existing_file, number, one_of, pattern, whole, yes_or_no

FROM = Parameter("from", "first day, such as 2026-03-01", day)
TO = Parameter("to", "last day, included", day)
QMGR = Parameter("qmgr", "queue manager; * and ? stand for any characters", pattern)
ROWS = Parameter("rows", "at most so many rows", whole)
PERIOD = (FROM, TO, QMGR, ROWS)

JOB = Parameter("job", "job or connection name, a pattern", pattern)
TRAN = Parameter("tran", "transaction, a pattern", pattern)
QUEUE = Parameter("queue", "base name of a queue, a pattern", pattern)
CHANNEL = Parameter("channel", "channel, a pattern", pattern)
GRAIN = Parameter(
    "grain",
    "record: a row for every task record, as the sample program prints; job: the records of a job together",
    one_of("record", "job"),
    "record",
)
PLAN = Parameter("plan", "charge plan (TOML): departments, shared channels, rates", existing_file)
SHARED_ONLY = Parameter("shared_only", "only queues in a structure (yes or no)", yes_or_no, default=False)


def limit_us(default: float, about: str) -> Parameter:
    return Parameter("limit_us", about, number, default)


def limit(name: str, default: float, about: str) -> Parameter:
    return Parameter(name, about, number, default)
