"""`quaestor smf info`: every record is accounted for; damage has a place; exit codes 0, 1, 2."""

import gzip
import json
import re

import pytest
from click.testing import CliRunner

from cli.terminal import shown
from quaestor.cli.main import main
from quaestor.layout import CODE_PAGES
from smf.dumps import REAL, REAL_DUMPS, record, with_section

GOOD = with_section(qmgr="QM01") + with_section(qmgr="QM02", time=3_700_000) + record(record_type=30, subtype=1)


def info(*args):
    return CliRunner().invoke(main, ["smf", "info", *map(str, args)])


@pytest.fixture
def dump(tmp_path):
    def write(data, name="dump.smf"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    return write


def test_a_clean_dump(dump):
    done = info(dump(GOOD))
    assert 0 == done.exit_code
    assert "RDW, " in done.stdout
    assert "3 records" in done.stdout
    assert "no damage" in done.stdout
    assert ["QM01", "QM02"] == [line.split()[4] for line in done.stdout.splitlines() if line.startswith("115-215")]


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_a_narrow_terminal_shows_whole_names_and_figures(dump, columns):
    """The text that says what a record is goes on in the next line, and the times; nothing is left out."""
    lines = shown(columns, "smf", "info", dump(GOOD)).splitlines()
    (headings,) = (line for line in lines if line.startswith("record"))
    assert {"record", "what", "system", "qmgr", "release", "records", "zone"} < set(headings.split())
    rows = [line for line in lines if line.startswith("115-215")]
    assert ["QM01", "QM02"] == [re.search(r" SYS1 +(\w+) +8.0.0 +1 +2016-02-27 ", row)[1] for row in rows]


def test_a_narrow_terminal_has_the_sections_in_several_lines(dump):
    path = dump(b"".join(with_section(b"\xaa" * length) for length in range(40, 104, 4)))
    lines = shown(80, "smf", "info", path).splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("  sections: "))
    sections = lines[begin : lines.index("  no damage")]
    assert 80 >= max(map(len, sections))
    assert all(re.search(r" x \d+,?$", line) for line in sections)
    (whole,) = (line for line in info(path).stdout.splitlines() if line.startswith("  sections: "))
    assert whole.split() == " ".join(sections).split()


def test_a_name_commands_no_terminal(dump):
    """Any byte is a character of a name; in JSON it is what it is."""
    path = dump(with_section(qmgr="Q\x1b2"))
    assert "SYS1    Q.2 " in info(path).stdout
    assert "Q\\u001b2" in info(path, "--json").stdout


def test_json_has_the_same_figures(dump):
    done = info(dump(gzip.compress(GOOD)), "--json")
    found = json.loads(done.stdout)
    assert (3, 0, "RDW", True) == (found["records"], found["damages"], found["framing"], found["gzip"])
    assert [("30", 1), ("115-215", 1), ("115-215", 1)] == [(g["record"], g["records"]) for g in found["groups"]]
    assert [{"structure": "QPST", "length": 40, "count": 2}] == found["sections"]
    assert {"2016-02-27T10:00:00", "2016-02-27T10:16:40", None} == {g["first_local"] for g in found["groups"]}


def test_names_with_brackets_show_as_they_are(dump):
    """Of files and of queue managers: brackets are no markup."""
    data = bytearray(with_section())
    data[18:22] = CODE_PAGES["1047"].encode("[/a]", 4)
    done = info(dump(bytes(data), "dump[bold].smf"))
    assert 0 == done.exit_code
    assert "dump[bold].smf" in done.stdout
    assert "[/a]" in done.stdout


def test_a_record_without_a_date_is_counted_and_has_no_time(dump):
    """The 366th day of 2015: as a record it can be true, as a day it is none."""
    none, last = with_section(date=0x0115366F), with_section(date=0x0115365F)
    (group,) = json.loads(info(dump(none + last), "--json").stdout)["groups"]
    assert (2, "2015-12-31T10:00:00", "2015-12-31T10:00:00") == (
        group["records"],
        group["first_local"],
        group["last_local"],
    )
    (group,) = json.loads(info(dump(none), "--json").stdout)["groups"]
    assert (1, None, None) == (group["records"], group["first_local"], group["last_local"])
    assert 0 == info(dump(none)).exit_code


def test_damage_is_one_line_and_exit_code_1(dump):
    path = dump(GOOD + bytes(50) + GOOD[:70])
    done = info(path)
    assert 1 == done.exit_code
    first, second = done.stderr.splitlines()
    assert f"{path}: offset {len(GOOD)}: zero bytes where a record should begin; 50 bytes skipped" == first
    assert "record cut short" in second
    assert "damage: 2" in done.stdout


def test_many_damages_are_capped_with_a_count(dump):
    done = info(dump((GOOD + bytes(20)) * 30))
    assert 21 == len(done.stderr.splitlines())
    assert "30 damages in all, the first 20 shown" == done.stderr.splitlines()[-1]
    assert "90 records" in done.stdout


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "empty"), (bytes(999), "all zero"), (b"hello world, this is text\n" * 9, "no SMF record")],
)
def test_an_unusable_dump_is_exit_code_2(dump, data, reason):
    done = info(dump(data))
    assert (2, "") == (done.exit_code, done.stdout)
    assert reason in done.stderr
    assert 1 == len(done.stderr.splitlines())


def test_a_missing_dump_does_not_stop_the_others(dump, tmp_path):
    done = info(tmp_path / "nowhere", dump(GOOD), tmp_path)
    assert 1 == done.exit_code
    assert "3 records" in done.stdout
    assert ["no such file", "is a directory"] == [line.rpartition(": ")[2] for line in done.stderr.splitlines()]


def test_a_pipe_is_read_like_a_file():
    done = CliRunner().invoke(main, ["smf", "info", "-", "--json"], input=GOOD)
    assert 3 == json.loads(done.stdout)["records"]


@pytest.mark.real
@pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")
def test_real_dumps_are_accounted_for():
    done = info(*REAL_DUMPS, "--json")
    assert 0 == done.exit_code
    found = {json.loads(line)["dump"]: json.loads(line) for line in done.stdout.splitlines()}
    channels = found[str(REAL / "TESTCHL.dat")]
    assert (319, 28, 0) == (channels["records"], channels["spanned"], channels["damages"])
    assert 319 == sum(group["records"] for group in channels["groups"])
    assert {"QCT_DNS": 16, "QPST": 384, "WTAS": 200} == {
        each["structure"]: each["count"]
        for each in channels["sections"]
        if each["structure"] in ("QCT_DNS", "QPST", "WTAS")
    }
    assert {4} == {each["records"] for name, each in found.items() if "TEST11" in name}


@pytest.mark.parametrize("name", ["a[red]b.smf", "a[/].smf", "a[/bold].smf", "a:warning:.smf", f"{'long' * 40}.smf"])
@pytest.mark.parametrize("watched", [False, True])
def test_the_name_of_a_dump_is_shown_as_it_is(dump, tmp_path, monkeypatch, name, watched):
    """Brackets and colons mean something to the library that draws; here they are part of a name."""
    if watched:
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
        monkeypatch.setenv("NO_COLOR", "1")
    dump(GOOD, name)
    monkeypatch.chdir(tmp_path)
    done = info(name)
    assert 0 == done.exit_code
    assert name in done.stdout


def test_names_in_a_dump_are_shown_as_they_are(dump):
    done = info(dump(with_section(qmgr="[/x]") + with_section(qmgr="[b]")), "--page", "037")
    assert 0 == done.exit_code
    assert ["[/x]", "[b]"] == sorted(line.split()[4] for line in done.stdout.splitlines() if line.startswith("115-215"))
