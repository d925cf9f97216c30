"""Dumps as DataFrames and as a stream: the rows of the decoder, none lost, none doubled."""

import io

import pytest
from pyspark.errors import PySparkException

from pipeline.lakes import MONDAY_US, SECOND_US, dump, statistics, task
from quaestor.pipeline import source
from quaestor.pipeline.dump_ranges import batches, ranges, whole_records_end
from quaestor.pipeline.selection import Selection
from quaestor.smf.columns import decode
from quaestor.smf.framing import DumpReader
from smf.dumps import REAL_DUMPS

MANY = [
    record
    for n in range(100)
    for record in (
        task(n, MONDAY_US + n * SECOND_US, f"QM0{n % 3}", queues=("A", "B")),
        *statistics(n, MONDAY_US + n * SECOND_US, f"QM0{n % 3}"),
    )
]


@pytest.mark.real
@pytest.mark.skipif(not REAL_DUMPS, reason="the real dumps are not here")
def test_a_structure_of_real_dumps(spark):
    source.register(spark)
    frame = spark.read.format("smf").option("structure", "WTAS").load(str(REAL_DUMPS[-1].parent))
    blocks = [block for path in REAL_DUMPS for block in DumpReader(io.BytesIO(path.read_bytes())).blocks()]
    expected = sum(len(decode(block, ["WTAS"]).tables.get("WTAS", ())) for block in blocks)
    assert expected == frame.count() == 201
    assert "timestamp_ntz" == frame.schema["local_time"].dataType.simpleString()


def test_narrow_tables_filters_and_mistakes(spark, tmp_path):
    path = dump(tmp_path / "a", MANY)
    narrow = source.table(spark, path, "WQST", columns=["puts", "queue_manager", "base_name"])
    assert ["puts", "queue_manager", "base_name"] == narrow.columns
    assert (200, 2 * sum(range(100))) == tuple(narrow.selectExpr("count(*)", "sum(puts)").first())
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        pushed = source.table(spark, path, "WQST", columns=["puts", "queue_manager", "record_type", "local_time"])
        asked = pushed.where("queue_manager = 'QM01' AND record_type = 116 AND local_time >= '2026-01-05 00:00:50'")
        assert sorted(n for n in range(50, 100) if n % 3 == 1) == sorted({row.puts for row in asked.collect()})
        assert 0 == pushed.where("queue_manager IN ('QM9', 'TOO LONG')").count()
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    for wrong, message in (("puts int", "puts is bigint, not int"), ("nothing long", "has no column nothing")):
        with pytest.raises(PySparkException, match=message):
            spark.read.format("smf").schema(wrong).option("structure", "WQST").load(path).count()
    with pytest.raises(PySparkException, match="structures are"):
        spark.read.format("smf").load(path).count()
    with pytest.raises(source.SourceError, match="has no column nothing"):
        source.table(spark, path, "WQST", columns=["nothing"])


def rows_in(part):
    found = batches(part, "WQST", ["position", "puts"], Selection(), strict=True)
    return [row for batch in found for row in batch.to_pylist()]


def test_ranges_together_are_the_dump(tmp_path):
    path = dump(tmp_path / "a", MANY)
    parts = ranges(path, part_bytes=40_000)
    assert len(parts) > 5
    cut = [row for part in parts for row in rows_in(part)]
    [whole] = [rows_in(part) for part in ranges(path, cut=False)]
    assert whole == cut


def test_where_a_growing_dump_ends(tmp_path):
    data = b"".join(MANY[:3])
    path = tmp_path / "growing"
    ends = [len(b"".join(MANY[:n])) for n in range(4)]
    for size in (*range(30, 200), ends[1] - 1, ends[1], ends[1] + 1, ends[2] + 3, ends[3]):
        path.write_bytes(data[:size])
        expected = max(end for end in ends if end <= size)
        assert expected == whole_records_end(str(path), 0, size), size


def test_a_stream_reads_every_whole_record_once(spark, tmp_path):
    """Files arrive, one grows by half a record, the query is stopped and started again: availableNow each time."""
    source.register(spark)
    folder, out = tmp_path / "arriving", tmp_path / "out"
    folder.mkdir()

    def follow():
        frame = (
            spark.readStream.format("smf")
            .schema("position long, puts long, queue_manager string")
            .option("structure", "WQST")
            .load(str(folder))
        )
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "state"))
        query = writer.trigger(availableNow=True).start(str(out))
        query.awaitTermination(120)
        return spark.read.parquet(str(out)).count()

    data = [b"".join(MANY[:90]), b"".join(MANY[90:180])]
    half = len(b"".join(MANY[90:177])) + 500  # within the last task's record
    (folder / "one").write_bytes(data[0])
    (folder / "two").write_bytes(data[1][:half])
    assert 60 + 58 == follow()
    (folder / "two").write_bytes(data[1])
    dump(folder / "three.gz", MANY[180:], compress=True)
    assert 200 == follow()
    assert 200 == follow()
    puts = [row.puts for row in spark.read.parquet(str(out)).collect()]
    assert sorted(list(range(100)) * 2) == sorted(puts)
