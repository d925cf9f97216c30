"""Files of raw tables as Arrow, for those who read them without Spark.

Rules
  A5  A file has the columns that were known when it was written, and a lake lives longer than that. A column that came
      later is null in it, as Spark reads it too: what was not recorded is not 0.
  A6  Names of queue managers come from the files' partitions (A3).

Called by day_part and the reports on details.  Calls place.
"""

import pyarrow as pa
import pyarrow.parquet as pq

from quaestor.pipeline.manifest import LakeFile
from quaestor.pipeline.place import Place
from quaestor.pipeline.raw_tables import QUEUE_MANAGER


def rows_of(place: Place, file: LakeFile, schema: pa.Schema) -> pa.Table:
    """The columns of a schema out of a file (A5), and behind them its queue manager (A6)."""
    with place.filesystem.open_input_file(place.path(file.path)) as stream:
        found = pq.ParquetFile(stream).read(columns=schema.names, use_threads=False)
    known = set(found.column_names)
    columns = [found[each.name] if each.name in known else pa.nulls(file.rows, each.type) for each in schema]
    rows = pa.table(columns, names=schema.names).cast(schema)
    return rows.append_column(QUEUE_MANAGER, pa.repeat(pa.scalar(file.queue_manager, pa.string()), file.rows))
