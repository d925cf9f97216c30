"""Details of a lake, added up in memory: for reports that look at every record.

Rules
  D1  A part is some files of a structure, read as Arrow with the columns asked for and narrowed as `steps.raw` narrows
      (G2). A function adds it up; what comes of the parts is laid together, and whoever asked adds that up once more.
  D2  A few rows are read here, sooner than Spark has planned a query of so many columns. More go to tasks.
  D3  Whoever brings DataFrames (notebooks, tests) is asked for the same columns through Spark, as one part.

Called by record_sums, verb_outputs and statistics.  Calls jobs, raw_files, summary_rows.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from quaestor.pipeline import jobs
from quaestor.pipeline.arrow_expressions import like
from quaestor.pipeline.manifest import LakeFile
from quaestor.pipeline.place import Place
from quaestor.pipeline.raw_files import rows_of
from quaestor.pipeline.raw_tables import QUEUE_MANAGER, stored_schema
from quaestor.pipeline.report_queries.steps import RAW_NAMES, Parameters, Tables, raw, sql_pattern
from quaestor.pipeline.report_queries.summary_rows import LakeTables

FEW_ROWS = 300_000
_READERS = 2

AddUp = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class Part:
    """Files of a structure, what to read of them, and what to make of it (D1)."""

    place: Place
    files: tuple[LakeFile, ...]
    structure: str
    columns: tuple[str, ...]
    asked: Mapping[str, Any]
    add_up: AddUp


def details(tables: Tables, structure: str, asked: Parameters, columns: Sequence[str], add_up: AddUp) -> pa.Table:
    """What `add_up` makes of the rows of a structure that are asked for, part by part."""
    if not isinstance(tables, LakeTables):
        return add_up(raw(tables, structure, asked).select(*columns).toArrow())  # D3
    place, files = tables.files(structure)
    chosen = [each for each in files if _asked_for(each, asked)]
    part = partial(Part, place, structure=structure, columns=tuple(columns), asked=dict(asked), add_up=add_up)
    if sum(each.rows for each in chosen) <= FEW_ROWS:  # D2
        return added_up(part(files=tuple(chosen)))
    tasks = jobs.balanced(chosen, lambda each: each.rows, 4 * jobs.parallelism(tables.spark))
    return pa.concat_tables(jobs.run(tables.spark, added_up, [part(files=tuple(each)) for each in tasks]))


def _asked_for(file: LakeFile, asked: Parameters) -> bool:
    if file.day is None:
        return False
    first, last = asked.get("from"), asked.get("to")
    return (first is None or first <= file.day) and (last is None or file.day <= last)


def added_up(part: Part) -> pa.Table:
    """What comes of a part; a task of its own, or work done here."""
    stored = stored_schema(part.structure)
    schema = pa.schema([stored.field(each) for each in part.columns if each != QUEUE_MANAGER])
    empty = schema.empty_table().append_column(QUEUE_MANAGER, pa.array([], pa.string()))
    with ThreadPoolExecutor(_READERS) as pool:
        tables = list(pool.map(lambda file: _read(part, schema, file), part.files))
    return part.add_up(pa.concat_tables([empty, *tables]).select(part.columns))


def _read(part: Part, schema: pa.Schema, file: LakeFile) -> pa.Table:
    """The rows of a file that are asked for, with the queue manager they are of."""
    named = rows_of(part.place, file, schema)
    for parameter, column in RAW_NAMES.items():
        if part.asked.get(parameter) is not None and column in named.column_names:
            named = named.filter(like(named[column], sql_pattern(part.asked[parameter])))
    return named
