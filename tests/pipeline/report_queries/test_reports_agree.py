"""What stands in two reports is the same in both, and what a page adds up is what its tables say.

All of it on one small installation: two queue managers, one day.
"""

import re

import pytest

from quaestor.reports.page import NEEDED, page
from quaestor.reports.run import run


@pytest.fixture
def tables(installation):
    return installation("small")[1]


@pytest.fixture
def rows(tables):
    """`rows(report)`: its rows, with all parameters as they are."""
    return lambda name, **given: run(name, tables, given).to_pylist()


def total(rows, *columns):
    return sum(row[each] or 0 for row in rows for each in columns)


def by(rows, *keys):
    """Rows by the values of their keys, which no two of them share."""
    made = {tuple(row[each] for each in keys): row for row in rows}
    assert len(made) == len(rows)
    return made


def test_messages_and_bytes_by_queue_are_those_of_the_tasks(rows):
    """PUT and GET print every record of every task; queue-traffic adds them up."""
    traffic, put, get = rows("queue-traffic"), rows("put"), rows("get")
    assert total(put, "valid_puts") == total(traffic, "messages_put") > 0
    assert total(get, "valid_gets") == total(traffic, "messages_got") > 0
    assert total(put, "put_bytes") == pytest.approx(1e6 * total(traffic, "megabytes_put"))
    assert total(get, "get_bytes") == pytest.approx(1e6 * total(traffic, "megabytes_got"))


def test_calls_are_those_of_every_record(rows):
    """STATS by record, STATS by job and Q-12 count the same puts, gets and commits."""
    for grain in ("record", "job"):
        calls = {
            verb: sum(row["calls"] for row in rows("stats", grain=grain) if row["verb"] == verb)
            for verb in ("Put", "Get", "Commit")
        }
        verbs = {
            verb: sum(row["calls"] for row in rows("verbs") if row["verb"] == verb) for verb in ("PUT", "GET", "COM")
        }
        assert list(calls.values()) == list(verbs.values())
        assert min(calls.values()) > 0


def test_commits_are_the_same_by_day_week_and_month(rows):
    days, weeks = rows("commits-by-day"), rows("cpu-by-week")
    months = rows("chargeback-department")
    assert total(rows("commits"), "TOTALCOMMITS") == total(days, "TOTALCOMMITS") > 0
    assert total(days, "TOTALCOMMITS") == total(weeks, "commits") == total(months, "commits")


def test_cpu_and_bytes_are_the_same_by_week_and_by_month(rows):
    """Whoever pays, and whatever the work is called: nothing is lost and nothing is counted twice."""
    weeks, split, departments = rows("cpu-by-week"), rows("elapsed-split"), rows("chargeback-department")
    apart = [*rows("chargeback-application"), *rows("chargeback-channel")]
    assert total(weeks, "cpu_s") == pytest.approx(total(departments, "cpu_s"))
    assert total(weeks, "cpu_s") == pytest.approx(total(split, "cpu_s"))
    assert total(weeks, "elapsed_s") == pytest.approx(total(split, "elapsed_s"))
    assert total(weeks, "megabytes") == pytest.approx(total(departments, "megabytes"))
    assert total(apart, "cpu_s") == pytest.approx(total(departments, "cpu_s"))
    for percent in ("cpu_percent", "bytes_percent"):
        assert 100 == pytest.approx(total(departments, percent))


def test_hours_of_the_log_are_made_of_its_intervals(rows):
    """Rates are totals over seconds: 4096 bytes a control interval, over the 24 hours that were measured."""
    hours, intervals = rows("log-activity"), rows("log")
    assert total(intervals, "cis_written") == total(hours, "CIS_WRITTEN") > 0
    assert total(intervals, "log_ios") == total(hours, "LOG_IOS")
    assert total(intervals, "checkpoints") == total(hours, "CHECKPOINTS")
    for row in hours:
        assert 4096 * row["CIS_WRITTEN"] / 3600e6 == pytest.approx(row["megabytes_per_s"], rel=1e-3)


def test_the_lowest_hour_of_a_pool_is_its_lowest_interval(rows):
    """BM cuts to whole per cents (G4)."""
    used = {(row["QMGR"], row["BUFFER_POOL"]) for row in rows("buffer-pools")}
    for qmgr, number in used:
        hours = [
            row["low_percent"] for row in rows("buffer-pools") if (qmgr, number) == (row["QMGR"], row["BUFFER_POOL"])
        ]
        intervals = [row["low_percent"] for row in rows("bm") if (qmgr, number) == (row["qmgr"], row["buffer_pool"])]
        assert int(min(hours)) == min(intervals)
    assert used


def test_requests_to_structures_are_the_same_by_interval_hour_and_period(rows):
    kinds, hours, intervals = rows("cf-structures"), rows("cf-activity"), rows("scf")
    assert total(intervals, "single_calls", "multiple_calls") == total(kinds, "CALLS") > 0
    assert total(hours, "QESTCSEC", "QESTCMEC") == total(kinds, "CALLS")
    for (qmgr, structure, kind), row in by(kinds, "QMGR", "STRUCTURE", "TYPE").items():
        word, counted = ("single", "QESTCSEC") if kind == "SINGLE" else ("multiple", "QESTCMEC")
        mine = [each for each in hours if (each["QMGR"], each["STRUCTURE"]) == (qmgr, structure) and each[counted]]
        spent = sum(each[f"{word}_avg_us"] * each[counted] for each in mine)
        assert int(spent / row["CALLS"]) == pytest.approx(row["average_us"], abs=1)  # totals, no average of averages


def test_a_stay_is_the_same_by_task_and_by_queue(rows):
    """The longest and shortest of any task are those of the queue; its mean lies between them."""
    tasks, queues = rows("get"), rows("time-on-queue")
    for queue in {row["BASENAME"] for row in queues}:
        mine = [row for row in tasks if row["queue"] == queue]
        found = [row for row in queues if row["BASENAME"] == queue]
        assert max(row["toq_max_us"] for row in mine) == max(row["MAXTOQ"] for row in found)
        assert min(row["toq_min_us"] for row in mine if row["toq_min_us"] is not None) == min(
            row["MINTOQ"] for row in found if row["MINTOQ"] is not None
        )
        assert all(row["MINTOQ"] <= row["AVGTOQ"] <= row["MAXTOQ"] for row in found if row["AVGTOQ"] is not None)


def test_the_head_of_a_page_says_what_its_tables_say(tables):
    """To three digits that count."""
    found = {name: run(name, tables, {}) for name in NEEDED}
    cells = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*) <small>", page(found, "T", "W")))
    weeks, queues = found["cpu-by-week"].to_pylist(), found["queue-traffic"].to_pylist()
    cpu, unit = cells["CPU"].split(" ")
    assert ("s", pytest.approx(total(weeks, "cpu_s"), rel=5e-3)) == (unit, float(cpu))
    assert f"{total(weeks, 'commits'):,}" == cells["Commits"]
    assert f"{total(queues, 'messages_put'):,}" == cells["Messages put"]
    assert pytest.approx(total(queues, "megabytes_put"), rel=5e-3) == float(cells["Bytes put"].removesuffix(" MB"))
