"""`quaestor report`: names, parameters and errors of one line; nothing here starts Spark."""

import subprocess
import sys
from concurrent.futures import CancelledError
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from click.testing import CliRunner

from pipeline.lakes import MONDAY_US, dump, load_raw, statistics
from quaestor.cli import report_tables
from quaestor.cli.main import main
from quaestor.cli.spark_door import SparkOptions
from quaestor.reports import run
from quaestor.reports.catalog import REPORTS, find
from reports.given import four_weeks, table_of


def invoke(*arguments):
    return CliRunner().invoke(main, ["report", *arguments])


def test_all_reports_are_listed():
    result = invoke("list")
    assert 0 == result.exit_code
    assert all(f"  {name} " in result.output for name in REPORTS)


def test_one_report_is_described():
    output = invoke("list", "Q-3").output
    assert "slow-transactions: Transactions over a limit" in output
    assert "after mp1b Q-3" in output
    assert "limit_us                  us of elapsed time per commit; 10000 is the paper's example [10000]" in output
    assert "shared_only               only queues in a structure (yes or no) [no]" in invoke("list", "Q-10").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "time-on-que"], "no report 'time-on-que'; did you mean time-on-queue?"),
        (["run", "stats", "-p", "grain=day"], "grain=day: one of record, job is needed"),
        (["run", "stats", "-p", "grain"], "--param grain: write NAME=VALUE"),
        (["run", "stats", "-p", "qmgr=A", "-p", "qmgr=B"], "--param qmgr=B: qmgr is given already"),
        (["run", "stats", "-p", "rows=99999999999"], "rows=99999999999: a whole number from 1 to 2147483647 is needed"),
        (["run", "stats", "--lake", "{tmp}/none"], "{tmp}/none: there is no lake"),
        (["html", "-o", "x.html", "--from", "monday"], "from=monday: a day such as 2026-03-31 is needed"),
        (["html", "-o", "x.html", "--lake", "{tmp}/none"], "{tmp}/none: there is no lake"),
        (["list", "nothing"], "no report 'nothing'"),
    ],
)
def test_errors_are_one_line_and_leave_with_2(arguments, message, tmp_path):
    result = invoke(*(each.format(tmp=tmp_path) for each in arguments))
    assert 2 == result.exit_code
    assert result.stderr.startswith(message.format(tmp=tmp_path))
    assert 1 == len(result.stderr.splitlines())
    assert "" == result.stdout


@pytest.mark.parametrize(
    ("form", "begins"), [("text", "exceptions: "), ("csv", "severity,"), ("json", "{"), ("html", "<!doc")]
)
def test_every_form(form, begins):
    from quaestor.cli.report_run import rendered

    assert rendered(find("exceptions"), four_weeks()["exceptions"], {}, form).startswith(begins)


@pytest.mark.parametrize("form", ["text", "csv", "json", "html"])
def test_what_does_not_exist_is_one_line_and_2_in_every_form(form, tmp_path):
    """R4: no form says that all is well with a queue manager that the lake does not know."""
    dumped = dump(tmp_path / "a.smf", statistics(1, MONDAY_US))
    load_raw(tmp_path / "lake", [dumped])
    to = ("--format", form, "--lake", str(tmp_path / "lake"), "-o", str(tmp_path / "report"))
    assert 0 == invoke("run", "log", "-p", "qmgr=QM0*", *to).exit_code
    (tmp_path / "report").unlink()
    result = invoke("run", "log", "-p", "qmgr=NOPE", *to)
    assert (2, "") == (result.exit_code, result.stdout)
    assert "qmgr=NOPE: no such queue manager; there is QM01\n" == result.stderr
    assert not (tmp_path / "report").exists()


@contextmanager
def no_tables(lake, options):
    yield None


def test_a_run_renders_what_the_query_gave(monkeypatch, tmp_path):
    """The door parses, calls and prints: tables and query are given, the output is a file."""
    rows = table_of("commits-by-day", [{"TOTALCOMMITS": 12}])
    monkeypatch.setattr("quaestor.cli.report_run.lake_tables", no_tables)
    monkeypatch.setattr("quaestor.reports.run.result", lambda report, tables, asked: rows)
    result = invoke("run", "Q-2", "--format", "csv", "-o", str(tmp_path / "commits.csv"))
    assert (0, "") == (result.exit_code, result.output)
    assert "DATE,TOTALCOMMITS\n,12\n" == (tmp_path / "commits.csv").read_text(encoding="utf-8")


def test_html_writes_the_page_and_says_where(monkeypatch, tmp_path):
    monkeypatch.setattr("quaestor.cli.report_html.lake_tables", no_tables)
    monkeypatch.setattr("quaestor.reports.run.results", lambda names, tables, given, made: four_weeks())
    path = tmp_path / "report.html"
    result = invoke("html", "-o", str(path), "--title", "Our MQ")
    assert (0, f"{path}\n") == (result.exit_code, result.output)
    assert "<title>Our MQ</title>" in path.read_text(encoding="utf-8")


def test_knowing_the_reports_needs_no_spark():
    code = "import sys, quaestor.cli.report_list, quaestor.reports.page; sys.exit('pyspark' in sys.modules)"
    assert (
        0
        == subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=False).returncode
    )


@pytest.mark.parametrize("command", ["list", "run", "html"])
def test_help_has_examples(command):
    assert "quaestor report" in invoke(command, "--help").output.split("Examples:")[1]


def test_each_report_that_is_made_is_told(monkeypatch):
    """Who looks on sees that a page is being made; on a large lake it takes minutes."""
    done = []
    queries = {name: lambda *_, name=name: table_of(name, []) for name in ("stats", "put")}
    monkeypatch.setattr(run, "QUERIES", queries)
    assert set(queries) == set(run.results(queries, {}.get, {}, lambda: done.append(1)))
    assert [1, 1] == done


def test_an_interrupt_does_not_wait_for_the_other_reports(monkeypatch):
    """R5: a query may take minutes."""
    asked, over, made = Event(), Event(), Event()

    def interrupted(_tables, _asked):
        asked.wait(30)
        raise KeyboardInterrupt

    def long(_tables, _asked):
        asked.set()
        over.wait(10)
        made.set()

    monkeypatch.setattr(run, "QUERIES", {"stats": interrupted, "put": long})
    with pytest.raises(KeyboardInterrupt):
        run.results(["stats", "put"], {}.get, {})
    assert not made.is_set()
    over.set()


def test_nobody_begins_a_session_when_the_command_has_ended(monkeypatch):
    """Threads that an interrupt leaves behind would keep Spark, and the command, running."""
    begins, may, ended = Event(), Event(), Event()

    @contextmanager
    def slow_session(_options):
        begins.set()
        assert may.wait(30)
        try:
            yield "session"
        finally:
            ended.set()

    monkeypatch.setattr(report_tables, "session", slow_session)
    with report_tables._session_when_asked(SparkOptions()) as start:
        Thread(target=start).start()
        assert begins.wait(30)
        may.set()
    assert ended.is_set()
    with pytest.raises(CancelledError):
        start()
