"""Tables with the few columns that a query reads, from rows written as the papers print them."""

from datetime import date, datetime

from quaestor.reports.catalog import find
from quaestor.reports.namesakes import columns_shown
from quaestor.reports.run import run
from quaestor.reports.values import shown

DAY = date(2000, 10, 19)  # 2000293
MOMENT = datetime(2000, 10, 19, 12)
HEAD = "local_time timestamp_ntz, day date, record_id long, queue_manager string, system string"


def frame(spark, ddl, rows):
    """A DataFrame from rows given as dictionaries; a number that is not given is 0, a text is empty."""
    fields = [each.split() for each in ddl.replace("\n", " ").split(", ")]
    blank = {"string": "", "long": 0, "int": 0, "double": 0.0, "date": DAY, "timestamp_ntz": MOMENT}
    made = [tuple(_fit(row.get(name, blank[kind]), kind) for name, kind in fields) for row in rows]
    return spark.createDataFrame(made, ddl)


def _fit(value, kind):
    return float(value) if kind == "double" and value is not None else value


def columns(kind, *names):
    return ", ".join(f"{name} {kind}" for each in names for name in each.split())


def tables(**frames):
    """A provider of tables: names with dots are given with two underscores."""
    named = {name.replace("__", "."): each for name, each in frames.items()}
    return named.__getitem__


def printed(name, provider, **given):
    """The rows of a report as its text shows them."""
    report, made = find(name), run(name, provider, given)
    assert [each.name for each in report.columns] == made.column_names
    seen = columns_shown(report, made)
    return [tuple(shown(row[each.name], each.unit) for each in seen) for row in made.to_pylist()]


def words(*lines):
    """Rows written as lines; an underscore stands for an empty cell."""
    return [tuple("" if word == "_" else word for word in line.split()) for line in lines]
