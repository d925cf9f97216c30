"""Every report there is, by name. No Spark is needed to know them.

`find("time-on-queue")` takes the names MP1B gives its queries as well: `find("Q-14")`.
"""

from collections.abc import Mapping

from quaestor.reports.catalog.accounts import CHARGES, EXCEPTIONS, PICTURES, TRENDS
from quaestor.reports.catalog.model import Column, Parameter, Report, ReportError, Unit, suggestion
from quaestor.reports.catalog.outputs import OUTPUTS
from quaestor.reports.catalog.questions import QUERIES

REPORTS: Mapping[str, Report] = {
    each.name: each for each in (*EXCEPTIONS, *OUTPUTS, *QUERIES, *CHARGES, *TRENDS, *PICTURES)
}
_PAPER_NAMES = {each.source.removeprefix("mp1b ").lower(): each.name for each in QUERIES}


def find(name: str) -> Report:
    """The report of that name, in any case, or of MP1B's number for it."""
    lowered = name.lower().replace("_", "-")
    report = REPORTS.get(_PAPER_NAMES.get(lowered, lowered))
    if report is None:
        raise ReportError(f"no report {name!r}{suggestion(lowered, REPORTS)}")
    return report


__all__ = ["REPORTS", "Column", "Parameter", "Report", "ReportError", "Unit", "find"]
