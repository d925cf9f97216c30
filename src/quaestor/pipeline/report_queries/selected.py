"""Why a report has no rows: because nothing is out of line, or because nothing of what was asked for exists.

Rules
  E1  Parameters that select are tried one after the other: days, queue manager, job, transaction, queue, channel. The
      first that leaves nothing of what those before it left is named, with what there is instead where that is little.
  E2  What exists is what any table of the lake has: a queue manager without a structure exists, and has none. Weeks and
      months outlive the days they are made of, so they count for no report that does not read them.
  E3  Which days a file is about stands in the manifest; of names, files are read until one is found. A name that no
      table of the lake could have is not known to be wrong.

Called by reports' run, where a report found nothing.  Calls summary_rows for files and keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quaestor.pipeline.arrow_expressions import like
from quaestor.pipeline.manifest import LakeFile
from quaestor.pipeline.report_queries.steps import SUMMARY_NAMES, Parameters, sql_pattern
from quaestor.pipeline.report_queries.summary_rows import LakeTables

LONGER = "longer"
_WORDS = {"qmgr": "queue manager", "job": "job", "tran": "transaction", "queue": "queue", "channel": "channel"}
_QMGR = ("QMGR", "MQSERIES_SUB_ID")
_FEW, _TO_COMPARE = 12, 2_000


@dataclass(frozen=True, slots=True)
class _Names:
    """A file, and the columns of it that parameters are held against; a raw file's queue manager is its partition."""

    file: LakeFile
    columns: Mapping[str, str]


def nothing_selected(tables: LakeTables, asked: Parameters) -> str | None:
    """What to say about parameters that select nothing (E1); None when something is there to be reported on."""
    files = list(_files(tables))
    if not files:
        return "the lake has no records that this report could be about"
    days = [each for each in files if _in_period(each.file, asked)]
    if not days:
        return f"{_period(asked)}: nothing is recorded of that time; there are {_days(each.file for each in files)}"
    before: list[str] = []
    for parameter in (each for each in _WORDS if asked.get(each) is not None):
        said = _unknown(tables, days, asked, before, parameter)
        if said is not None:
            return said
        before.append(parameter)
    return None


def _files(tables: LakeTables) -> Iterator[_Names]:
    """Every file that says what exists (E2)."""
    for each in tables.raw_files():
        if each.day is not None and each.queue_manager is not None:
            yield _Names(each, {"qmgr": ""})
    grains = {name: str(description.get("grain")) for name, description in tables.summaries.items()}
    longer = any(grains.get(name) == LONGER for name in tables.opened)
    for name, description in tables.summaries.items():
        if longer or grains[name] != LONGER:
            keys = list(map(str, description["keys"]))
            known = (*(("qmgr", each) for each in _QMGR), *SUMMARY_NAMES.items())
            columns = {parameter: column for parameter, column in known if column in keys}
            yield from (_Names(each, columns) for each in tables.files(name)[1] if each.rows)


def _in_period(file: LakeFile, asked: Parameters) -> bool:
    first, last = asked.get("from"), asked.get("to")
    return file.day is not None and (first is None or first <= file.day) and (last is None or file.day <= last)


def _unknown(
    tables: LakeTables, files: Sequence[_Names], asked: Parameters, before: Sequence[str], parameter: str
) -> str | None:
    """What to say about a parameter that no file has a name for; None when one has, or none could have (E3)."""
    able = sorted(
        (each for each in files if {*before, parameter} <= set(each.columns)), key=lambda each: each.file.rows
    )
    known: set[str] = set()
    for each in able:
        names = _left(tables, each, asked, before, parameter)
        if pc.any(like(names, sql_pattern(asked[parameter]))).as_py():
            return None
        known.update(name for name in names.to_pylist() if name)
    if not able:
        return None
    meant, narrowed = asked[parameter], "".join(f" with {name}={asked[name]}" for name in before)
    return f"{parameter}={meant}: no such {_WORDS[parameter]}{narrowed}; {_there_are(meant, known)}"


def _left(
    tables: LakeTables, names: _Names, asked: Parameters, before: Sequence[str], parameter: str
) -> pa.Array | pa.ChunkedArray:
    """The names that a file has for a parameter where the parameters before it fit."""
    if names.columns[parameter] == "":
        return pa.array([names.file.queue_manager], pa.string())
    rows = tables.keys(names.file, [names.columns[each] for each in (*before, parameter)])
    for each in before:
        rows = rows.filter(like(rows[names.columns[each]], sql_pattern(asked[each])))
    return pc.unique(rows[names.columns[parameter]])


def _period(asked: Parameters) -> str:
    return " ".join(f"{name}={asked[name]}" for name in ("from", "to") if asked.get(name) is not None)


def _days(files: Iterator[LakeFile]) -> str:
    days: list[date] = sorted({each.day for each in files if each.day is not None})
    return str(days[0]) if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _there_are(meant: Any, known: set[str]) -> str:
    """What there is instead: all of it where it is little, what is alike where it is much."""
    if len(known) <= _FEW:
        return f"there {'is' if len(known) < 2 else 'are'} {', '.join(sorted(known)) or 'none'}"
    near = get_close_matches(str(meant), sorted(known), n=3) if len(known) <= _TO_COMPARE else []
    return f"there are {len(known):,}" + (f"; did you mean {' or '.join(near)}?" if near else "")
