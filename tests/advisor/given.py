"""One row of a view by hand: columns that are not given are not known. Tables by hand: numbers not given are 0."""

from datetime import datetime

import numpy as np
import pyarrow as pa

from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import Chosen
from quaestor.advisor.evaluate import empty_rows, run
from quaestor.advisor.rows import Rows
from quaestor.advisor.settings import Settings
from quaestor.advisor.view_catalog import BY_NAME
from quaestor.smf.arrow_schema import schema
from quaestor.smf.catalog import SECTIONS

STANDARD = {"queue_manager": "QM01", "system": "SYSA", "seconds": 1800.0}


def rule_of(name):
    (found,) = [rule for rule in RULES if rule.id == name]
    return found


def given(view, columns):
    template = empty_rows(view)
    strangers = set(columns) - set(template)
    assert not strangers, f"{view.name} has no column {', '.join(sorted(strangers))}"
    values = {**STANDARD, **columns}
    return Rows({name: cell(getattr(template, name), values.get(name)) for name in template}, 1)


def cell(column, value):
    if column.dtype == object:
        made = np.empty(1, object)
        made[0] = value
        return made
    if column.dtype.kind == "M":
        return np.array([value or "2026-03-02T10:00:00"], "datetime64[us]")
    return np.array([np.nan if value is None else float(value)])


def settings_of(rule, settings, columns):
    """Settings as the rule asks for them: `logload` of the queue manager, or of the row's own structure, channel ..."""
    made = Settings()
    kinds = {each.rpartition(".")[2]: each.rpartition(".")[0] or "system" for each in rule.settings}
    for name, value in settings.items():
        kind = kinds[name]
        key = columns.get(kind, "") if kind != "system" else ""
        made.put("QM01", kind, f"{key:.0f}" if isinstance(key, (int, float)) else key, {name: value})
    return made


def findings_on(rule, columns, settings=None, cut=None):
    view = BY_NAME[rule.table]
    known = settings_of(rule, settings or {}, columns)
    return run(Chosen(rule, cut or rule.defaults), view, given(view, columns), known)


NINE = datetime(2026, 3, 2, 9)


def table(structure, *rows):
    made = schema(SECTIONS[structure])
    plain = {each.name: 0 for each in made if pa.types.is_integer(each.type) or pa.types.is_floating(each.type)}
    common = {"system": "SYSA", "queue_manager": "QM01", "local_time": NINE, "interval_us": 3.6e9}
    return pa.Table.from_pylist([{**plain, **common, **row} for row in rows], schema=made)


def task(correlator=b"1" * 16, **values):
    return {"correlator": correlator, "task_connection_type": 2, "task_connection_name": "JOB1", **values}
