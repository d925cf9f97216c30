"""Rows added up by their keys: what an integer does not hold has no value (rules A1, A2)."""

import pyarrow as pa
import pytest

from pipeline.lakes import HOUR_US, MONDAY_US, dump, identity
from quaestor.pipeline.flow import load
from quaestor.pipeline.lake import Lake
from quaestor.pipeline.report_queries.summary_rows import LakeTables
from quaestor.pipeline.sums import added
from quaestor.reports.catalog import REPORTS, find
from quaestor.reports.run import result
from quaestor.reports.text import as_text
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.writer import task_records

MOST = (1 << 63) - 1


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1, 2, None], 3),
        ([None, None], None),
        ([MOST - 1, 1], MOST),
        ([MOST, 1], None),
        ([MOST, MOST, MOST], None),
        ([-MOST, -2], None),
        ([MOST, MOST, -MOST], MOST),
        ([], None),
    ],
)
def test_a_sum_that_an_integer_does_not_hold_has_no_value(values, total):
    """A1; another group's sum stays what it is."""
    rows = pa.table({"key": pa.array(["one"] * len(values) + ["other"]), "bytes": pa.array([*values, 7], pa.int64())})
    made = dict(zip(*(each.to_pylist() for each in added(rows, ["key"], {"bytes": "sum"}).columns), strict=True))
    assert (total, 7) == (made.get("one"), made["other"])


def test_sums_of_times_and_extremes_are_as_arrow_makes_them():
    rows = pa.table({"key": [1, 1], "us": [1e300, 1e300], "most": pa.array([MOST, MOST], pa.int64())})
    assert [{"key": 1, "us": 2e300, "most": MOST}] == added(rows, ["key"], {"us": "sum", "most": "max"}).to_pylist()


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    """A job's two task records, the bytes and the times in them as large as their fields hold, and one of another."""
    folder = tmp_path_factory.mktemp("large")

    def task(job, when_us, largest):
        queue = QueueAccounting(
            base_name="ORDERS", puts=1, valid_puts=1, gets=1, put_bytes=largest, get_bytes=largest,
            put_elapsed=1 if largest > 100 else 4096, put_cpu=min(largest * 2, (1 << 64) - 1),
        )  # fmt: skip
        who = TaskIdentification(connection_name=job, channel="", connection_type=2)
        return task_records(who, TaskAccounting(commits=1), [queue], identity(), when_us)[0]

    records = [task("DAMAGED", MONDAY_US + n * HOUR_US, MOST) for n in (1, 2)]
    records.append(task("GOOD", MONDAY_US + 3 * HOUR_US, 100))
    load(None, folder / "lake", [dump(folder / "dump", records)])
    return LakeTables(Lake.at(folder / "lake"), lambda: spark)


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_a_damaged_record_stops_no_report(tables, name):
    report = find(name)
    asked = report.arguments({"grain": "job"} if any(each.name == "grain" for each in report.parameters) else {})
    assert as_text(report, result(report, tables, asked), asked)


def test_whose_bytes_are_known_has_them(tables):
    """Both ways: PUT adds up in memory, the charge-back in Spark."""
    for name, grain, job, put in (
        ("put", {"grain": "job"}, "jobname", "put_bytes"),
        ("chargeback-application", {}, "jobname", "megabytes"),
    ):
        report = find(name)
        rows = {each[job]: each[put] for each in result(report, tables, report.arguments(grain)).to_pylist()}
        assert 100 <= rows["GOOD"] * (1e6 if put == "megabytes" else 1) <= 200
        assert not rows["DAMAGED"]
