"""Work spread over tasks, and what is told of one that failed (X1, X4, X5)."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, PySparkException

from quaestor.pipeline import jobs
from quaestor.pipeline.errors import LakeError, LoadError, NoSpaceError


def test_without_a_session_items_are_done_here_one_after_the_other():
    done = []

    def work(item):
        done.append(item)
        return item * 2

    assert [6, 2, 4] == jobs.run(None, work, [3, 1, 2])
    assert [3, 1, 2] == done
    assert ([], 1, True) == (jobs.run(None, work, []), jobs.parallelism(None), jobs.is_local(None))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 50), max_size=15), st.integers(1, 6))
def test_work_is_put_together_for_so_many_tasks(items, tasks):
    """Nothing is lost; the heaviest first; none is heavier than an even share and one item."""
    groups = jobs.balanced(items, lambda each: each, tasks)
    assert sorted(items) == sorted(each for group in groups for each in group)
    assert min(tasks, len(items)) == len(groups)
    weights = [sum(group) for group in groups]
    assert sorted(weights, reverse=True) == weights
    if items:
        assert weights[0] <= sum(items) / len(groups) + max(items)


TASK = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/x/worker.py", line 1, in main
org.apache.spark.SparkException: Error: no
quaestor.pipeline.dump_ranges.DamagedDumpError: a.smf: offset 7: zero bytes
at org.apache.spark.api.python.BasePythonRunner Error: x
"""


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (OSError(28, "No space left on device"), NoSpaceError, "no space left on the device; the tables are as they"),
        (PySparkException("java.io.IOException: No space left on device"), NoSpaceError, "no space left on the device"),
        (PySparkException("IOError: [Errno 28] x"), NoSpaceError, "no space left on the device"),
        (LakeError("a: busy"), LakeError, "a: busy"),
        (ZeroDivisionError("division by zero"), ZeroDivisionError, "division by zero"),
        (PySparkException(TASK), LoadError, "a task failed: quaestor.pipeline.dump_ranges.DamagedDumpError: a.smf:"),
        (AnalysisException("first line\n\nsecond"), LoadError, "a task failed: first line"),
        (PySparkException(""), LoadError, "a task failed: PySparkException"),
    ],
    ids=["disk", "disk of a task", "errno of a task", "ours", "a mistake", "a task", "no line of its own", "no word"],
)
def test_a_failure_is_told_in_one_line(error, kind, text):
    told = jobs._plain(error)
    assert type(told) is kind
    assert str(told).startswith(text)
    assert "\n" not in str(told)


def test_a_new_python_finds_the_package_where_its_environment_says(monkeypatch):
    """X3: in site-packages, or on PYTHONPATH; otherwise it must be sent."""
    folder = jobs.package_folder()
    assert (folder / "quaestor" / "__init__.py").is_file()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/other", str(folder)]))
    assert jobs.importable()
    monkeypatch.setenv("PYTHONPATH", f"{folder}-other")
    assert ("site-packages" in str(folder)) == jobs.importable()
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setattr(sys.modules["quaestor"], "__file__", "/x/site-packages/quaestor/__init__.py")
    assert (Path("/x/site-packages"), True) == (jobs.package_folder(), jobs.importable())


def test_the_package_that_is_sent_has_its_definitions(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(tmp_path))
    small = tmp_path / "src" / "quaestor"
    (small / "pipeline" / "definitions").mkdir(parents=True)
    for name in ("__init__.py", "pipeline/__init__.py", "pipeline/definitions/a.def", "pipeline/x.pyc"):
        (small / name).write_text("")
    monkeypatch.setattr(sys.modules["quaestor"], "__file__", str(small / "__init__.py"))
    names = set(zipfile.ZipFile(jobs.package_archive()).namelist())
    assert {"quaestor/__init__.py", "quaestor/pipeline/definitions/a.def"} <= names
    assert "quaestor/pipeline/x.pyc" not in names


def test_nothing_is_left_of_the_package_that_was_sent(tmp_path):
    code = (
        "from quaestor.pipeline import jobs; archive = jobs.package_archive(); assert archive.exists(); print(archive)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(jobs.package_folder())}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert tmp_path == Path(ended.stdout.strip()).parents[1]
    assert [] == list(tmp_path.iterdir())
