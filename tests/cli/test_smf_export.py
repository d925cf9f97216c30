"""`quaestor smf export`: files, damage lines, exit codes."""

import io

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from rich.console import Console

from quaestor.cli import smf_export
from quaestor.cli.main import main
from quaestor.smf.catalog import CATALOG
from smf.rows import random_record


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "dump.smf"
    path.write_bytes(b"".join(random_record(CATALOG[115, 2], "8.0", seed) for seed in range(5)))
    return path


def run(*arguments, **options):
    return CliRunner().invoke(main, ["smf", "export", *map(str, arguments)], **options)


@pytest.mark.parametrize("to", ["parquet", "csv", "jsonl"])
def test_a_clean_dump_ends_with_0(dump, tmp_path, to):
    result = run(dump, "--to", to, "-o", tmp_path / "out")
    assert 0 == result.exit_code, result.output
    assert f"QMST.{to}  5 rows" in result.stdout
    assert "" == result.stderr
    assert (tmp_path / "out" / f"QMST.{to}").exists()


def test_official_names_and_chosen_structures(dump, tmp_path):
    result = run(dump, "--names", "official", "--structure", "qmst", "-o", tmp_path / "out")
    assert 0 == result.exit_code, result.output
    assert ["QMST.parquet"] == [path.name for path in (tmp_path / "out").iterdir()]
    assert "QMSTOPEN" in pq.read_table(tmp_path / "out" / "QMST.parquet").column_names


def test_an_export_without_rows_says_so(dump, tmp_path):
    result = run(dump, "--structure", "wqst", "-o", tmp_path / "out")
    assert (0, "", "no structure to write\n") == (result.exit_code, result.stdout, result.stderr)


def test_damage_ends_with_1_and_is_capped(dump, tmp_path):
    good = random_record(CATALOG[115, 2], "8.0", 1)
    dump.write_bytes((good * 2 + bytes(20)) * 30 + good)
    result = run(dump, "-o", tmp_path / "out")
    assert 1 == result.exit_code, result.output
    lines = result.stderr.splitlines()
    assert 21 == len(lines)
    assert f"{dump}: offset {2 * len(good)}: zero bytes where a record should begin; 20 bytes skipped" == lines[0]
    assert "30 damages in all, the first 20 shown" == lines[-1]
    assert 61 == pq.read_metadata(tmp_path / "out" / "QMST.parquet").num_rows


@pytest.mark.parametrize(
    "content", [b"", bytes(9999), b"hello\n" * 99, None], ids=["empty", "zeros", "text", "missing"]
)
def test_nothing_usable_ends_with_2(tmp_path, content):
    path = tmp_path / "bad"
    if content is not None:
        path.write_bytes(content)
    result = run(path, "-o", tmp_path / "out")
    assert 2 == result.exit_code
    assert 1 == len(result.stderr.splitlines())
    assert result.stderr.startswith(f"{path}: ")
    assert [] == list((tmp_path / "out").iterdir())


def test_one_unusable_dump_among_others_ends_with_1(dump, tmp_path):
    assert 1 == run(tmp_path / "missing", dump, "-o", tmp_path / "out").exit_code


def test_a_dump_can_come_through_a_pipe(dump, tmp_path):
    result = run("-", "-o", tmp_path / "out", input=dump.read_bytes())
    assert 0 == result.exit_code, result.output
    assert 5 == pq.read_metadata(tmp_path / "out" / "QMST.parquet").num_rows


def test_a_folder_that_cannot_be_written_is_one_line(dump, tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run(dump, "-o", tmp_path / "file" / "out")
    assert 2 == result.exit_code
    assert 1 == len(result.stderr.splitlines())


def test_the_bar_shows_only_where_somebody_watches(monkeypatch):
    for watched in (True, False):
        shown = io.StringIO()
        console = Console(file=shown, force_terminal=watched, width=80)
        monkeypatch.setattr(smf_export, "Console", lambda console=console, **_: console)
        listener = smf_export.ExportListener(100)
        listener.read(60)
        listener.read(40)
        listener.close()
        assert watched == ("export" in shown.getvalue())
