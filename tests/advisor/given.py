"""One row of a view by hand: columns that are not given are not known."""

import numpy as np

from quaestor.advisor.catalog import RULES
from quaestor.advisor.cutoffs import Chosen
from quaestor.advisor.evaluate import empty_rows, run
from quaestor.advisor.rows import Rows
from quaestor.advisor.settings import Settings
from quaestor.advisor.view_catalog import BY_NAME

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
