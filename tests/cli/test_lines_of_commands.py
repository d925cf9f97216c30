"""What commands print, line by line, from values given by hand: sizes, tables, zones, columns, scripts."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from cli.commands import refusal, run
from quaestor.cli import cf, check, cqs, lake_status, mqsc, report_list, smf_info
from quaestor.cli.lazy import LazyGroup
from quaestor.cli.log_print import _json
from quaestor.cli.numbers import Days, Seconds
from quaestor.storage.log_record import Kind

# --- lakes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 KB"),
        (999_949, "999.9 KB"),
        (1_000_000, "1.0 MB"),
        (1_500_000_000, "1.5 GB"),
        (2_000_000_000_000, "2.0 TB"),
        (5_000_000_000_000_000, "5000.0 TB"),
    ],
)
def test_sizes_have_a_unit(count, shown):
    assert shown == lake_status._size(count)


def test_columns_are_as_wide_as_they_must_be(capsys):
    lake_status._table(("table", "rows"), [("QPST", "1,234"), ("WQST.hourly", "7")], right=(1,))
    assert "table         rows\nQPST         1,234\nWQST.hourly      7\n" == capsys.readouterr().out


@pytest.mark.parametrize(("columns", "line"), [(6, "AB  CD"), (5, "AB CD")])
def test_columns_are_nearer_to_each_other_on_a_narrow_terminal(monkeypatch, capsys, columns, line):
    monkeypatch.setattr(lake_status, "columns", lambda _: columns)
    lake_status._table(("a", "b"), [("AB", "CD")], right=())
    assert line == capsys.readouterr().out.splitlines()[1]


def test_a_line_has_no_blanks_at_its_end(capsys):
    lake_status._table(("table", "last"), [("QPST", "")], right=())
    assert "table  last\nQPST\n" == capsys.readouterr().out


@dataclass(frozen=True)
class Found:
    """A table of a lake."""

    table: str = "QPST"
    kind: str = "raw"
    rows: int = 12_345
    days: int = 2
    first: str | None = "2026-03-02"
    last: str | None = None
    files: int = 3
    bytes: int = 2_500


@dataclass(frozen=True)
class Status:
    """A lake."""

    root: str = "lake"
    snapshot: int = 7
    dumps: int = 1
    dump_bytes: int = 999
    horizon: str | None = None
    tables: tuple[Found, ...] = (Found(),)


@pytest.mark.parametrize(("horizon", "said"), [(None, ""), ("2026-03-01", "; details from 2026-03-01 on")])
def test_the_status_of_a_lake(monkeypatch, horizon, said):
    monkeypatch.setattr("quaestor.pipeline.status.status", lambda lake: Status(root=lake, horizon=horizon))
    assert [
        f"here: snapshot 7, 1 dump of 999 bytes{said}",
        "table  kind    rows  days  first       last  files    size",
        "QPST   raw   12,345     2  2026-03-02            3  2.5 KB",
    ] == run("lake", "status", "here").stdout.splitlines()


def test_the_status_of_a_lake_as_json(monkeypatch):
    monkeypatch.setattr("quaestor.pipeline.status.status", lambda _: Status())
    told = json.loads(run("lake", "status", "lake", "--json").stdout)
    assert (7, [12_345]) == (told["snapshot"], [each["rows"] for each in told["tables"]])


@dataclass(frozen=True)
class Gone:
    """What a purge takes away of a table."""

    table: str = "WTAS"
    days: int = 3
    rows: int = 1_000
    files: int = 4
    bytes: int = 1_000_000


@pytest.fixture
def purges(monkeypatch):
    """What a purge was asked for; it takes away one table."""
    asked = []

    def purge(lake, keep, **how):
        asked.append((lake, keep.details, keep.daily, keep.statistics, how["dry_run"], how["wait"]))
        how["say"]("a load is busy")
        return [Gone()] if lake == "lake" else []

    monkeypatch.setattr("quaestor.pipeline.retention.purge", purge)
    return asked


@pytest.mark.parametrize(
    ("options", "last"), [((), "taken away"), (("--dry-run",), "a dry run: nothing was taken away")]
)
def test_a_purge_tells_what_went(purges, options, last):
    done = run("lake", "purge", "lake", *options)
    assert [
        "table  days   rows  files    size",
        "WTAS      3  1,000      4  1.0 MB",
        last,
    ] == done.stdout.splitlines()
    assert "a load is busy\n" == done.stderr
    assert [("lake", 7, 28, 182, bool(options), True)] == purges


def test_a_purge_keeps_as_long_as_it_is_told(purges):
    done = run("lake", "purge", "empty", "--details", 1, "--daily", 2, "--statistics", 3, "--no-wait")
    assert "nothing is older than it needs to be\n" == done.stdout
    assert [("empty", 1, 2, 3, False, False)] == purges


def test_a_purge_as_json_is_an_object_per_table(purges):
    assert {"table": "WTAS", "days": 3, "rows": 1000, "files": 4, "bytes": 1_000_000} == json.loads(
        run("lake", "purge", "lake", "--json").stdout
    )


# --- dumps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("framing", "compressed", "spanned", "shown"),
    [
        ("RDW", False, 0, "RDW"),
        ("RDW", True, 0, "RDW in gzip"),
        ("BDW", False, 1_234, "BDW, 1,234 records spanned"),
        ("BDW", True, 1, "BDW in gzip, 1 records spanned"),
        (None, False, 0, "?"),
    ],
)
def test_framing_in_words(framing, compressed, spanned, shown):
    found = None if framing is None else SimpleNamespace(value=framing)
    assert shown == smf_info._framing(SimpleNamespace(framing=found, compressed=compressed, spanned=spanned))


@pytest.mark.parametrize(
    ("minutes", "shown"),
    [
        (set(), ""),
        ({0}, "+00:00"),
        ({-300}, "-05:00"),
        ({330}, "+05:30"),
        ({60, -90}, "-01:30 +01:00"),
        ({-1}, "-00:01"),
    ],
)
def test_zones_in_hours_and_minutes(minutes, shown):
    assert shown == smf_info._zones(minutes)


# --- reports ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("default", "shown"),
    [(True, "yes"), (False, "no"), (5.0, "5"), (0.25, "0.25"), (20_000, "20000"), ("ORD*", "ORD*")],
)
def test_defaults_as_a_person_types_them(default, shown):
    assert shown == report_list._shown(default)


def _report(**changes):
    column = SimpleNamespace(name="puts", unit=SimpleNamespace(value="count"), heading="")
    parameter = SimpleNamespace(name="queue", about="which queues", default=None)
    told = {"name": "a", "title": "A", "grain": "one row per queue", "source": "", "columns": [column]}
    return SimpleNamespace(**told | {"parameters": [parameter]} | changes)


def test_a_report_is_described_by_columns_and_parameters():
    assert [
        "a: A",
        "  one row per queue",
        "\nColumns",
        "  puts                      count",
        "\nParameters",
        "  queue                     which queues",
    ] == report_list.described(_report())


@pytest.mark.parametrize(
    ("heading", "end"), [("", "count"), ("puts", "count"), ("Puts", "count         shown as Puts")]
)
def test_a_heading_is_told_where_it_is_another(heading, end):
    column = SimpleNamespace(name="puts", unit=SimpleNamespace(value="count"), heading=heading)
    assert f"  puts                      {end}" == report_list.described(_report(columns=[column]))[3]


def test_source_and_default_are_told_where_there_are_any():
    parameter = SimpleNamespace(name="limit_us", about="longer than", default=20_000)
    lines = report_list.described(_report(source="MP1B Q-14", parameters=[parameter]))
    assert "  after MP1B Q-14" == lines[2]
    assert "  limit_us                  longer than [20000]" == lines[-1]


def test_all_reports_stand_under_their_groups():
    from quaestor.reports.catalog import REPORTS

    lines = run("report", "list").stdout.splitlines()
    for report in REPORTS.values():
        source = f"  ({report.source})" if report.source else ""
        assert f"  {report.name:24}{report.title}{source}" in lines
    assert len(REPORTS) == sum(line.startswith("  ") for line in lines)
    assert {report.group for report in REPORTS.values()} == {line for line in lines[:-1] if line and line[0] != " "}
    assert "quaestor report list NAME shows columns and parameters." == lines[-1]


def test_a_report_that_is_not_there_is_one_line():
    assert "no-such" in refusal("report", "list", "no-such")


# --- the proof -------------------------------------------------------------------------------------------------------


def _checked(capsys, problems, **facts):
    check._show({"directory": "d", "page_sets": {0: 64, 1: 1}, "units": [], "problems": problems} | facts, problems)
    return capsys.readouterr()


def test_files_that_agree_are_told_in_figures(capsys):
    said = _checked(capsys, [])
    assert ["page sets        0: 64 pages, 1: 1 page", "units found      none", "all is well"] == said.out.splitlines()
    assert "" == said.err


def test_units_are_told_one_after_the_other(capsys):
    said = _checked(capsys, [], units=[{"state": "IN_DOUBT", "urid": "01"}, {"state": "IN_FLIGHT", "urid": "02"}])
    assert "units found      IN_DOUBT 01, IN_FLIGHT 02" == said.out.splitlines()[1]


@pytest.mark.parametrize(("count", "more"), [(1, 0), (50, 0), (51, 1)])
def test_so_many_problems_are_shown_and_all_are_counted(capsys, count, more):
    said = _checked(capsys, [f"problem {number}" for number in range(count)])
    shown = [f"problem {number}" for number in range(min(count, 50))]
    assert shown + [f"{count} problems in all, the first 50 shown"] * more == said.err.splitlines()
    assert ("1 problem" if count == 1 else f"{count} problems") == said.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("kind", "page"), [(Kind.COMMIT, (None, None)), (Kind.CHECKPOINT, (None, None)), (Kind.HEADER, (1, 7))]
)
def test_a_record_of_the_log_as_json(kind, page):
    """Only what changes a page has one."""
    record = SimpleNamespace(rba=0x34F2, length=44, kind=kind, urid=0x1609, previous=0, page_set=1, page=7, epoch=2)
    told = json.loads(_json(record, "in words"))
    assert ("0000000034F2", 44, kind.name, "000000001609", None) == tuple(
        told[name] for name in ("rba", "length", "kind", "urid", "previous")
    )
    assert (*page, 2, "in words") == (told["page_set"], told["page"], told["epoch"], told["text"])


def test_a_record_of_no_unit_names_none():
    record = SimpleNamespace(rba=1, length=44, kind=Kind.HEADER, urid=0, previous=0x10, page_set=0, page=0, epoch=0)
    told = json.loads(_json(record, ""))
    assert (None, "000000000010") == (told["urid"], told["previous"])


# --- structures ------------------------------------------------------------------------------------------------------


def test_a_facility_tells_of_space_and_connectors(monkeypatch):
    found = {
        "QSG1APPL1": {"space": (2, 37_449, 3, 224_694), "connectors": {"QM1": True, "QM2": False}},
        "QSG1CSQ_ADMIN": {"space": (0, 10, 0, 10), "connectors": {}},
    }
    monkeypatch.setattr("quaestor.storage.lists.client.facility_status", lambda _: found)
    assert [
        "structure                    entries            elements  connectors",
        "QSG1APPL1                2/37449             3/224694     QM1, QM2 (failed)",
        "QSG1CSQ_ADMIN            0/10                0/10         -",
    ] == run("cf", "status").stdout.splitlines()
    assert ["QSG1APPL1", "QSG1CSQ_ADMIN"] == list(json.loads(run("cf", "status", "--json").stdout))


@pytest.mark.parametrize(
    ("said", "variable", "runtime", "found"),
    [
        ("a.sock", "b.sock", "/run/user/1", "a.sock"),
        (None, "b.sock", "/run/user/1", "b.sock"),
        (None, "", "/run/user/1", "/run/user/1/quaestor-cf.sock"),
        (None, "", "", "/home/me/.local/share/quaestor/quaestor-cf.sock"),
    ],
)
def test_where_a_facility_listens(monkeypatch, said, variable, runtime, found):
    """As said, else $QUAESTOR_CF, else in the user's run-time folder."""
    monkeypatch.setenv("QUAESTOR_CF", variable)
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    monkeypatch.setenv("HOME", "/home/me")
    assert Path(found) == cf._socket(None if said is None else Path(said))


@pytest.mark.parametrize(
    ("told", "place"),
    [
        ("CF02=/run/cf.sock", {"CF02": "/run/cf.sock"}),
        ("/run/cf.sock", {"CF01": "/run/cf.sock"}),
        ("CF01=redis://host?a=b", {"CF01": "redis://host?a=b"}),
    ],
)
def test_a_facility_has_a_name_and_a_place(told, place):
    assert place == cqs._places([told])


EMPTY = {
    "locked": 0,
    "cold": 0,
    "log_end_rba": 34,
    "servers": [],
    "queues": [],
    "recovery_data_sets": [],
    "clients": {},
}
STRUCTURE = {
    "name": "MSGQ",
    "facility": "CF01",
    "messages": 5,
    "entries": 9,
    "entries_total": 40_000,
    "elements": 12,
    "elements_total": 80_000,
}


def test_a_group_that_does_nothing_has_structures_and_a_log():
    assert [
        "structure            on        messages           entries            elements",
        "MSGQ                 CF01             5           9/40000            12/80000",
        "",
        "locked 0, on the cold queue 0, log up to RBA 34",
    ] == "\n".join(cqs._lines(EMPTY | {"structures": [STRUCTURE]})).splitlines()


def test_whatever_else_there_is_has_a_table():
    queue = {"type": "transaction", "name": "TRANX", "messages": 3, "elements": 4, "overflow": False}
    taken = {"sequence": 2, "taken": "2026-03-02T09:00:00Z", "server": "CQS1", "messages": 7, "rba": 99}
    told = {
        "structures": [],
        "servers": [{"name": "CQS1", "state": "active"}],
        "queues": [queue, queue | {"name": "TRANY", "overflow": True}],
        "recovery_data_sets": [taken],
        "clients": {"IMS1": "CQS1"},
    }
    assert [
        "servers",
        "  CQS1      active",
        "",
        "queues",
        "  transaction          TRANX            3 messages         4 elements",
        "  transaction          TRANY            3 messages         4 elements  in overflow",
        "",
        "recovery data sets",
        "     2  2026-03-02T09:00:00Z  by CQS1             7 messages, RBA 99",
        "",
        "clients",
        "  IMS1  of CQS1",
    ] == "\n".join(cqs._lines(EMPTY | told)).splitlines()[4:]


# --- scripts of commands ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "commands"),
    [
        (("DIS QMGR",), ["DIS QMGR"]),
        (("DIS QMGR", "PING QMGR"), ["DIS QMGR", "PING QMGR"]),
        (("* a comment\n\n  DIS QMGR  \nPING QMGR\n",), ["DIS QMGR", "PING QMGR"]),
        (("DEF QL(A) +\n   MAXDEPTH(5)",), ["DEF QL(A) MAXDEPTH(5)"]),
        (("DIS QMGR\nDEF QL(C) +\n\n* end\n",), ["DIS QMGR", "DEF QL(C) +"]),
        (("DEF QL(C) +", "DIS QMGR"), ["DEF QL(C) +", "DIS QMGR"]),
    ],
)
def test_the_commands_of_a_script_one_by_one(texts, commands):
    """MQ1; one whose continuation is missing is handed on, so that the queue manager says so."""
    assert commands == list(mqsc._written(texts, None))


def test_a_script_comes_from_a_file_unless_commands_are_given(tmp_path):
    (tmp_path / "script").write_text("\ufeffDIS QMGR\n", encoding="utf-8")
    with (tmp_path / "script").open(encoding="utf-8") as file:
        assert ["DIS QMGR"] == list(mqsc._written((), file))
    with (tmp_path / "script").open(encoding="utf-8") as file:
        assert ["PING QMGR"] == list(mqsc._written(("PING QMGR",), file))


def _answering(*oks):
    answers = iter(oks)
    asked = []

    def answer(text):
        asked.append(text)
        return SimpleNamespace(ok=next(answers), lines=[f"{text}: done"], rows=[{"A": 1}], members=[])

    return SimpleNamespace(run=answer), asked


@pytest.mark.parametrize("end", ["END", "end", "Exit", "QUIT"])
def test_a_script_ends_where_it_says_so(end, capsys):
    door, asked = _answering(True, False)
    assert 1 == mqsc._run(door, ["ONE", "TWO", end, "THREE"], as_json=False)
    assert ["ONE", "TWO"] == asked
    assert "ONE: done\nTWO: done\n" == capsys.readouterr().out


@pytest.mark.parametrize("members", [[], [{"qmgr": "QM2", "ok": True, "rows": [], "lines": []}]])
def test_an_answer_as_json(members, capsys):
    """MQ3: members are there where the command went to them."""
    answer = SimpleNamespace(ok=True, lines=["line"], rows=[{"CURDEPTH": 5}], members=members)
    mqsc._show("DIS QL(*)", answer, as_json=True)
    told = {"command": "DIS QL(*)", "ok": True, "rows": [{"CURDEPTH": 5}], "lines": ["line"]}
    assert told | ({"members": members} if members else {}) == json.loads(capsys.readouterr().out)


# --- groups and numbers ----------------------------------------------------------------------------------------------


def _group(default=None):
    places = {"info": "quaestor.cli.smf_info:info_command", "print": "quaestor.cli.smf_print:print_command"}
    return LazyGroup("smf", commands=places, default=default)


@pytest.mark.parametrize(
    ("args", "begins"),
    [
        (["dump.smf"], ["info", "dump.smf"]),
        (["print", "dump.smf"], ["print", "dump.smf"]),
        (["--json", "dump.smf"], ["info", "--json", "dump.smf"]),
        ([], ["info"]),
    ],
)
def test_what_names_no_command_is_for_the_one_that_is_meant(args, begins):
    group = _group("info")
    context = click.Context(group, info_name="smf")
    group.parse_args(context, args)
    assert begins == [*context._protected_args, *context.args]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("plan", "-h"), "Usage: main plan [OPTIONS] COMMAND [ARGS]..."),
        (("plan", "--help"), "Usage: main plan [OPTIONS] COMMAND [ARGS]..."),
        (("plan", "show", "-h"), "Usage: main plan show"),
        (("advise", "--help"), "Usage: main advise [OPTIONS] COMMAND [ARGS]..."),
    ],
)
def test_help_of_a_group_is_its_own(words, first):
    """Not that of the command that runs when none is named."""
    assert run(*words).stdout.splitlines()[0].startswith(first)


def test_commands_stand_in_the_order_in_which_they_were_given():
    group = _group()
    context = click.Context(group)
    assert ["info", "print"] == group.list_commands(context)
    assert "info" == group.get_command(context, "info").name
    assert group.get_command(context, "export") is None


@pytest.mark.parametrize(
    ("kind", "text", "number"), [(Seconds(), "0", 0.0), (Seconds(), "1.5", 1.5), (Days(), "36500", 36500)]
)
def test_numbers_as_they_are_typed(kind, text, number):
    assert number == kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("kind", "text"), [(Seconds(), "nan"), (Seconds(), "-0.1"), (Seconds(), "soon"), (Days(), "36501")]
)
def test_what_is_no_such_number(kind, text):
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)


def test_every_command_of_every_group_is_there():
    """E3: commands are named by text, and a slip would be found by whoever types it."""
    from quaestor.cli.main import main

    found = Counter()

    def look(group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert name == command.name, name
            found[type(command).__name__] += 1
            if isinstance(command, click.Group):
                look(command)

    look(main)
    assert sum(found.values()) > 50
