"""Small dumps and what a lake made of them, for the tests of the pipeline."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from quaestor.pipeline.ingest import ingest
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.manifest import RAW, as_files
from quaestor.smf.catalog import CATALOG
from quaestor.smf.detection import Framing
from quaestor.smf.dump import DumpWriter
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.log import LogStatistics
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.storage import StorageStatistics
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.writer import Interval, RecordIdentity, build_record, task_records

MONDAY_US = 1_767_571_200_000_000  # 2026-01-05 00:00 UTC
SECOND_US, HOUR_US, DAY_US = 1_000_000, 3_600_000_000, 86_400_000_000


def identity(queue_manager="QM01", system="SYSA", level="9.4.5", zone_minutes=0):
    return RecordIdentity(system, queue_manager, level, zone_minutes)


def task(number, when_us, queue_manager="QM01", queues=("ORDERS",), **header):
    """A 116-1 record: a task that put `number` messages to each of its queues."""
    made = [QueueAccounting(base_name=name, object_name=name, puts=number, put_bytes=100 * number) for name in queues]
    identification = TaskIdentification(connection_name="CICSPROD", channel="", connection_type=1)
    accounting = TaskAccounting(commits=number)
    return task_records(identification, accounting, made, identity(queue_manager, **header), when_us)[0]


def statistics(number, when_us, queue_manager="QM01", **header):
    """A 115-1 and a 115-215 record of one interval."""
    interval = Interval(when_us - 60 * SECOND_US, 60 * SECOND_US)
    who = identity(queue_manager, **header)
    return [
        build_record(CATALOG[115, 1], [StorageStatistics(), LogStatistics()], who, when_us, interval=interval),
        build_record(
            CATALOG[115, 215],
            [BufferStatistics(buffer_pool=pool, buffers=1000 + number) for pool in range(3)],
            who,
            when_us,
            interval=interval,
        ),
    ]


def dump(path, records, framing=Framing.RDW, **how):
    with Path(path).open("wb") as stream, DumpWriter(stream, framing, **how) as writer:
        for each in records:
            writer.write(each)
    return str(path)


def load_raw(root, *batches):
    """Load batches of dumps one after the other, without Spark and without summaries."""
    lake, reports = Lake.made_at(root), []
    for batch in batches:
        with lake.change() as change:
            reports.append(ingest(None, change, [str(each) for each in batch]))
            change.commit()
    return lake, reports


def raw_rows(lake):
    """Every raw row by table, in an order that depends on the rows alone."""
    return {table: sorted(map(repr, rows.to_pylist())) for table, rows in raw_tables(lake).items()}


def raw_tables(lake):
    parts = {}
    for file in as_files(lake.snapshot().files):
        if file.kind == RAW:
            rows = pq.ParquetFile(lake.place.path(file.path)).read()
            days = pa.array([file.day] * len(rows), pa.date32())
            names = pa.array([file.queue_manager] * len(rows), pa.string())
            assert file.rows == len(rows)
            parts.setdefault(file.table, []).append(
                rows.append_column("day", days).append_column("queue_manager", names)
            )
    return {table: pa.concat_tables(each) for table, each in parts.items()}
