"""The circle closed: a queue manager's own dump, loaded with Spark, and exactly its work in the reports."""

import quaestor
from qmgr.statistics.test_known_numbers import known_work
from quaestor.pipeline import flow
from quaestor.pipeline.lake import Lake
from quaestor.reports.run import run


def test_the_reports_show_exactly_what_was_done(spark, tmp_path):
    with quaestor.connect("QM1", tmp_path / "data", application="job7.py", trace="stat,acctg(1,3)") as app:
        known_work(app)
    (dump,) = (tmp_path / "data" / "smf").iterdir()
    flow.load(spark, tmp_path / "lake", [str(dump)])
    lake = Lake.at(tmp_path / "lake")

    def tables(name):
        return lake.table(spark, name)

    (calls,) = run("mm", tables).to_pylist()
    assert (2, 2, 8, 12, 2, 1) == tuple(
        calls[name] for name in ("opens", "closes", "gets", "puts", "put1s", "inquires")
    )
    verbs = {(row["queue"], row["verb"].strip().lower()): row["calls"] for row in run("stats", tables).to_pylist()}
    assert (7, 3, 5, 5) == (
        verbs["ORDERS", "put"],
        verbs["ORDERS", "get"],
        verbs["NOTES", "put"],
        verbs["NOTES", "get"],
    )
    put = {row["queue"]: row for row in run("put", tables).to_pylist()}
    assert (11_621, 10_000, 1) == tuple(put["ORDERS"][name] for name in ("put_bytes", "put_size_high", "put_size_low"))


def test_statistics_and_accounting_agree(spark, tmp_path):
    """What the message manager counted is what the tasks were charged with, over several tasks and intervals."""
    traces = quaestor.TraceSettings("stat,acctg(3)", statime_s=0.2)
    for number in range(3):
        with quaestor.connect("QM1", tmp_path / "data", application=f"JOB{number}", trace=traces) as app:
            app.define(quaestor.LocalQueue("WORK"), replace=True)
            for _ in range(200):
                app.put("WORK", b"x" * 50)
                app.commit()
                app.get("WORK")
                app.commit()
    dumps = [str(path) for path in (tmp_path / "data" / "smf").iterdir()]
    flow.load(spark, tmp_path / "lake", dumps)
    lake = Lake.at(tmp_path / "lake")
    (counted,) = lake.table(spark, "QMST").selectExpr("sum(put1s) p", "sum(gets) g", "sum(opens) o").collect()
    (charged,) = lake.table(spark, "WQST").selectExpr("sum(put1s) p", "sum(gets) g", "sum(opens) o").collect()
    (units,) = lake.table(spark, "WTAS").selectExpr("sum(commits) c").collect()
    assert (600, 600, 600) == tuple(counted) == tuple(charged)
    assert 1200 == units.c
