"""`quaestor smf synth`: a dump, the list beside it, and one line for every mistake."""

import gzip
import json

import pytest
from click.testing import CliRunner

from quaestor.cli.smf_synth import size_bytes, synth_command
from quaestor.smf.detection import Framing
from quaestor.smf.framing import DumpReader


def run(*args):
    return CliRunner().invoke(synth_command, [str(arg) for arg in args])


def test_profiles_are_listed():
    result = run("--list-profiles")
    assert 0 == result.exit_code
    assert {"bench", "bench-day", "clean", "incidents", "month", "small"} == {
        line.split()[0] for line in result.output.splitlines()
    }


def test_a_dump_and_its_incidents(tmp_path):
    dump = tmp_path / "dump.smf"
    result = run("-p", "small", "-o", dump)
    assert 0 == result.exit_code
    listed = json.loads((tmp_path / "dump.smf.incidents.json").read_text(encoding="utf-8"))
    assert dump.stat().st_size == listed["bytes"]
    assert {"buffer_pool_small", "log_buffers_short"} == {each["kind"] for each in listed["incidents"]}
    assert f"{listed['records']:,} records" in result.stderr
    assert "" == result.stdout


def test_a_dump_to_standard_output(tmp_path, monkeypatch):
    """As the commands that read a dump take it: `smf synth -o - | smf info -`."""
    monkeypatch.chdir(tmp_path)
    result = run("--size", "200kB", "-o", "-")
    assert 0 == result.exit_code
    assert [] == list(tmp_path.iterdir())
    assert 0 == run("--size", "200kB", "-o", "dump").exit_code
    assert (tmp_path / "dump").read_bytes() == result.stdout_bytes


@pytest.mark.parametrize(
    ("framing", "expected"),
    [("rdw", Framing.RDW), ("bdw", Framing.BDW), ("vbs", Framing.BDW), ("stripped", Framing.STRIPPED)],
)
def test_every_framing_and_gzip(tmp_path, framing, expected):
    dump = tmp_path / "dump.smf.gz"
    assert 0 == run("-o", dump, "--size", "200kB", "--framing", framing, "--gzip", "--level", "5.2").exit_code
    assert gzip.decompress(dump.read_bytes())
    with dump.open("rb") as stream:
        reader = DumpReader(stream)
        assert [] == [damage for block in reader.blocks() for damage in block.damages]
    assert expected is reader.framing
    assert (framing == "vbs") == bool(reader.spanned)


def test_size_days_and_seed(tmp_path):
    dumps = [tmp_path / f"{n}.smf" for n in range(3)]
    assert 0 == run("-p", "bench", "-o", dumps[0], "--size", "2MB").exit_code
    assert 2_000_000 <= dumps[0].stat().st_size < 4_000_000
    assert 0 == run("-o", dumps[1], "--days", 2, "--level", "6.0").exit_code
    assert 0 == run("-o", dumps[2], "--days", 2, "--level", "6.0", "--seed", 5).exit_code
    assert dumps[1].read_bytes() != dumps[2].read_bytes()
    assert 2 == json.loads(dumps[1].with_name("1.smf.incidents.json").read_text(encoding="utf-8"))["days"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["-p", "small"], "the dump's name is missing"),
        (["-p", "nosuch", "-o", "x"], "no profile nosuch; shipped are"),
        (["-o", "x", "--level", "4.0"], "level: '4.0' is not one of 5.2"),
        (["-o", "x", "--size", "many"], "'many' is no size; write 500MB"),
        (["-o", "x", "--size", "0"], "is no size"),
        (["-o", "x", "--size", "9" * 400 + "GB"], "is no size"),
        (["-o", "x", "--size", "1MB", "--days", "2"], "--days and --size exclude each other"),
        (["-o", "x", "--days", "0"], "0 is not in the range"),
        (["-o", "/nosuch/dir/x"], "/nosuch/dir/x: No such file"),
    ],
)
def test_mistakes_take_one_line_and_exit_code_2(args, says):
    result = run(*args)
    assert 2 == result.exit_code
    assert says in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500_000_000),
        ("2gb", 2_000_000_000),
        ("64MiB", 64 << 20),
        ("1.5 kB", 1500),
        ("700", 700),
        ("3g", 3 * 10**9),
    ],
)
def test_sizes_as_people_write_them(text, size):
    assert size == size_bytes(None, None, text)
