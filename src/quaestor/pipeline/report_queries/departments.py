"""The charge plan: which department pays for which work, and at what rates.

A plan is TOML; the first department whose patterns fit gets the work:

    [rates]
    currency = "EUR"
    cpu_second = 0.12          # for a second of CPU
    megabyte = 0.004           # for a million bytes put and got

    [[department]]
    name = "Sales"
    jobs = ["CICSPRD*"]        # patterns with * and ?; every list that is given must fit
    transactions = ["ORD*"]
    users = ["WEB*"]
    channels = ["TO.SALES"]
    addresses = ["10.1.*"]

    [shared]
    channels = ["WEB.*"]       # used by several applications: nobody can be charged for them (A-15)

Rules
  C1  Work that no department fits is UNASSIGNED, work of a shared channel is SHARED; neither is dropped.
  C2  A key that the plan does not know is a mistake, for it is a typing error.

Called by charges.  Calls steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

from quaestor import toml_text
from quaestor.pipeline.report_queries.steps import like

UNASSIGNED = "UNASSIGNED"
SHARED = "SHARED"
_COLUMNS = {
    "jobs": "JOBNAME",
    "transactions": "TRAN",
    "users": "USERID",
    "channels": "CHANNEL",
    "addresses": "CHANNELQ",
    "queue_managers": "QMGR",
}


class ChargePlanError(ValueError):
    """A charge plan that cannot be used; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Department:
    """Who pays, and the patterns that its work must fit."""

    name: str
    patterns: Mapping[str, tuple[str, ...]]

    def fits(self) -> Column:
        test = F.lit(True)
        for column, patterns in self.patterns.items():
            test = test & _any_of(column, patterns)
        return test


@dataclass(frozen=True, slots=True)
class ChargePlan:
    """Departments in order, shared channels, and rates."""

    departments: tuple[Department, ...] = ()
    shared_channels: tuple[str, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    currency: str = ""

    def department(self) -> Column:
        """The department of a row (C1)."""
        made = F.when(F.lit(False), F.lit(""))
        if self.shared_channels:
            made = made.when(_any_of("CHANNEL", self.shared_channels), F.lit(SHARED))
        for each in self.departments:
            made = made.when(each.fits(), F.lit(each.name))
        return made.otherwise(F.lit(UNASSIGNED))

    def charge(self, cpu_s: Column, megabytes: Column) -> Column:
        """What the work costs; null without rates."""
        if not self.rates:
            return F.lit(None).cast("double")
        return cpu_s * self.rates.get("cpu_second", 0.0) + megabytes * self.rates.get("megabyte", 0.0)


def _any_of(column: str, patterns: tuple[str, ...]) -> Column:
    test = F.lit(False)
    for each in patterns:
        test = test | like(F.coalesce(F.col(column), F.lit("")), each)
    return test


def read_charge_plan(path: Path) -> ChargePlan:
    try:
        plan = toml_text.tables(toml_text.text_of(path))
    except OSError as error:
        raise ChargePlanError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ChargePlanError(f"{path}: {error}") from None
    _known(path, "the plan", plan, {"rates", "department", "shared"})
    rates, shared, listed = plan.get("rates", {}), plan.get("shared", {}), plan.get("department", [])
    for name, table in (("rates", rates), ("shared", shared)):
        if not isinstance(table, dict):
            raise ChargePlanError(f"{path}: {name} is no table; write [{name}]")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ChargePlanError(f"{path}: departments are tables of their own; write [[department]]")
    _known(path, "[rates]", rates, {"currency", "cpu_second", "megabyte"})
    _known(path, "[shared]", shared, {"channels"})
    currency = str(rates.pop("currency", ""))
    for name, value in rates.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
            raise ChargePlanError(f"{path}: rate {name} is {value!r}; a number from 0 up is needed")
    departments = tuple(_department(path, number, each) for number, each in enumerate(listed, 1))
    return ChargePlan(departments, _patterns(path, "[shared]", shared.get("channels", [])), rates, currency)


def _department(path: Path, number: int, table: Mapping[str, Any]) -> Department:
    where = f"department {number}"
    _known(path, where, table, {"name", *_COLUMNS})
    if not isinstance(table.get("name"), str) or not table["name"]:
        raise ChargePlanError(f"{path}: {where} has no name")
    given = {_COLUMNS[key]: _patterns(path, where, value) for key, value in table.items() if key in _COLUMNS}
    if not given:
        raise ChargePlanError(
            f"{path}: {where} ({table['name']}) has no pattern; one of {', '.join(_COLUMNS)} is needed"
        )
    return Department(table["name"], given)


def _patterns(path: Path, where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ChargePlanError(f"{path}: {where}: {value!r} is not a list of patterns")
    return tuple(value)


def _known(path: Path, where: str, table: Mapping[str, Any], keys: set[str]) -> None:
    unknown = sorted(set(table) - keys)
    if unknown:
        raise ChargePlanError(f"{path}: {where} knows no {unknown[0]!r}; valid are {', '.join(sorted(keys))}")
