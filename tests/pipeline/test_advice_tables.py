"""The advisor's tables out of a lake: narrow, and the same findings as from the dump."""

from datetime import datetime

from quaestor.pipeline.advice_tables import advice_tables

COLUMNS = {"QJST": {"queue_manager", "local_time", "waits_no_buffer"}}


def frames(spark):
    rows = [
        (datetime(2026, 3, 2, 9), "QM01", 1, 7),
        (datetime(2026, 3, 2, 10), "QM01", 2, 7),
        (datetime(2026, 3, 2, 10), "QM02", 3, 7),
    ]
    schema = "local_time timestamp, queue_manager string, waits_no_buffer long, checkpoints long"
    frame = spark.createDataFrame(rows, schema)
    return {"QJST": frame.selectExpr("*", "cast(local_time as date) as day")}.__getitem__


def waits(spark, **options):
    ((structure, table),) = advice_tables(frames(spark), COLUMNS, **options)
    assert "QJST" == structure
    return sorted(table["waits_no_buffer"].to_pylist())


def test_only_the_columns_asked_for(spark):
    ((_, table),) = advice_tables(frames(spark), COLUMNS)
    assert {"queue_manager", "local_time", "waits_no_buffer"} == set(table.column_names)


def test_queue_managers_and_time(spark):
    assert [1, 2, 3] == waits(spark)
    assert [1, 2] == waits(spark, queue_managers=["QM01"])
    assert [2, 3] == waits(spark, begin=datetime(2026, 3, 2, 10))
    assert [1] == waits(spark, end=datetime(2026, 3, 2, 10))
    assert [2] == waits(spark, queue_managers=["QM01"], begin=datetime(2026, 3, 2, 9, 30), end=datetime(2026, 3, 3))


def test_an_interval_lies_where_its_middle_does(spark):
    """The record of nine to ten is written at ten: it belongs to nine."""

    def tables(structure):
        return frames(spark)(structure).selectExpr("*", "cast(3.6e9 as double) as interval_us")

    def between(begin, end):
        hours = {"begin": datetime(2026, 3, 2, begin), "end": datetime(2026, 3, 2, end)}
        ((_, table),) = advice_tables(tables, COLUMNS, **hours)
        return sorted(table["waits_no_buffer"].to_pylist())

    assert [2, 3] == between(9, 10)
    assert [1] == between(8, 9)
    assert [] == between(10, 11)


def test_a_lakes_tables_and_the_dumps_find_the_same(spark, tmp_path):
    """Tables written as Parquet and read back by Spark give the findings of the tables as they were decoded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from quaestor.advisor.catalog import RULES
    from quaestor.advisor.cutoffs import standard
    from quaestor.advisor.evaluate import advise, needed
    from quaestor.advisor.findings import as_records
    from quaestor.smf.columns import decode
    from quaestor.smf.dump import DumpWriter
    from quaestor.smf.framing import DumpReader
    from quaestor.smf.synth.generate import generate, with_days
    from quaestor.smf.synth.profile_file import load_profile

    path = tmp_path / "dump"
    with path.open("wb") as stream, DumpWriter(stream) as writer:
        generate(with_days(load_profile("incidents"), 1), writer)
    columns, parts = needed(RULES), {}
    with path.open("rb") as stream:
        for block in DumpReader(stream).blocks():
            for structure, table in decode(block, set(columns), columns=columns).tables.items():
                parts.setdefault(structure, []).append(table)
    decoded = {structure: pa.concat_tables(several) for structure, several in parts.items()}
    for structure, table in decoded.items():
        pq.write_table(table, tmp_path / f"{structure}.parquet")
    read = dict(
        advice_tables(
            lambda name: spark.read.parquet(str(tmp_path / f"{name}.parquet")),
            {structure: names for structure, names in columns.items() if structure in decoded},
        )
    )
    expected = as_records(advise(standard(RULES), decoded).findings)
    assert len(expected) > 20
    assert sorted(map(str, expected)) == sorted(map(str, as_records(advise(standard(RULES), read).findings)))
