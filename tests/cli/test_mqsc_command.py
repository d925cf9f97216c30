"""`quaestor mqsc`: scripts, exit codes, JSON, the prompt, completion."""

import json

import pytest
from click.testing import CliRunner
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

import quaestor
from quaestor.cli.main import main
from quaestor.cli.mqsc_prompt import CommandCompleter, history_file, prompts
from quaestor.clock import SystemClock
from quaestor.mqi.mqsc.completion import completions
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.server.home import Configuration, Home
from quaestor.server.listeners import listen_local
from quaestor.storage.real_disk import RealDisk


@pytest.fixture
def directory(tmp_path):
    """A queue manager that was there before."""
    quaestor.connect("QM1", tmp_path / "data").disconnect()
    return tmp_path / "data"


def mqsc(directory, *args, text=None):
    return CliRunner().invoke(main, ["mqsc", "QM1", "--directory", str(directory), *args], input=text)


def test_commands_of_the_command_line(directory):
    result = mqsc(directory, "-c", "DEF QL(ORDERS) MAXDEPTH(7)", "-c", "DIS QL(ORDERS) MAXDEPTH")
    assert 0 == result.exit_code
    assert result.output.splitlines() == [
        "CSQ9022I +QM1 CSQMMSGP ' DEFINE QLOCAL' NORMAL COMPLETION",
        "CSQM201I +QM1 CSQMDRTS DISPLAY QLOCAL DETAILS",
        "QUEUE(ORDERS)",
        "TYPE(QLOCAL)",
        "QSGDISP(QMGR)",
        "MAXDEPTH(7)",
        " END QLOCAL DETAILS",
        "CSQM293I +QM1 1 QLOCAL FOUND MATCHING REQUEST CRITERIA",
        "CSQ9022I +QM1 CSQMDRTS ' DISPLAY QLOCAL' NORMAL COMPLETION",
    ]


def test_a_script_from_standard_input_or_a_file(directory, tmp_path):
    script = "* objects\nDEF QL(A) +\n  MAXDEPTH(5)\nFROB\nDEF QL(B)\n"
    result = mqsc(directory, text=script)
    assert (1, 2) == (result.exit_code, result.output.count("CSQ9022I"))
    (tmp_path / "script").write_text("DIS QL(*)\nEND\nFROB\n")
    result = mqsc(directory, str(tmp_path / "script"))
    assert (0, 2) == (result.exit_code, result.output.count("QUEUE("))
    result = mqsc(directory, text="DIS QMGR DEADQ\nDEF QL(C) +\n")
    assert 1 == result.exit_code
    assert "nothing follows" in result.output


def test_a_byte_order_mark_is_read_over_and_another_code_page_is_told(directory, tmp_path):
    script = tmp_path / "objects.mqsc"
    script.write_text("DEF QL(FIRST)\n", encoding="utf-8-sig")
    assert 0 == mqsc(directory, str(script)).exit_code
    script.write_bytes("DEF QL(B) DESCR('für')\n".encode("latin-1"))
    refused = mqsc(directory, str(script))
    assert 2 == refused.exit_code
    assert "the commands are not UTF-8" in refused.output


def test_json_has_one_object_for_each_command(directory):
    result = mqsc(directory, "--json", "-c", "DEF NL(N) NAMES(A,B)", "-c", "DIS NL(N) NAMES", "-c", "FROB")
    assert 1 == result.exit_code
    made, shown, wrong = map(json.loads, result.output.splitlines())
    assert (True, []) == (made["ok"], made["rows"])
    assert [{"NAMELIST": "N", "QSGDISP": "QMGR", "NAMES": ["A", "B"]}] == shown["rows"]
    assert ("FROB", False) == (wrong["command"], wrong["ok"])


def test_a_server_that_was_killed_is_opened_here(tmp_path):
    """MD2: what it left of its socket leads nowhere; its page sets are those of its configuration."""
    home = Home(tmp_path / "data")
    pools, page_sets = {"0": 1000, "2": 500}, {"0": 0, "1": 0, "2": 2}
    home.create(Configuration("QM1", engine={"buffer_pools": pools, "page_sets": page_sets}))
    with listen_local(home.socket):
        pass
    manager = QueueManager("QM1", RealDisk(home.directory), SystemClock(), home.settings(home.configuration()))
    manager.start(background=False)
    assert manager.commands.run("DEFINE STGCLASS(TWO) PSID(2)", "OPER").ok
    assert manager.commands.run("DEFINE QLOCAL(ORDERS) STGCLASS(TWO)", "OPER").ok
    manager.abandon()
    result = mqsc(home.directory, "-c", "DIS QL(ORDERS) PSID")
    assert 0 == result.exit_code, result.output
    assert "PSID(2)" in result.output


def test_without_a_queue_manager_nothing_is_made(tmp_path):
    result = mqsc(tmp_path / "nowhere", "-c", "DIS QMGR")
    assert 2 == result.exit_code
    create = f"quaestor qmgr create QM1 --directory {tmp_path / 'nowhere'}"
    assert f"Error: no queue manager in {tmp_path / 'nowhere'}; make one: {create}\n" == result.stderr
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("more", [(), ("--directory", "data")])
def test_an_unknown_queue_manager_is_worded_as_by_the_commands_qmgr(tmp_path, monkeypatch, more):
    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    told = [
        CliRunner().invoke(main, [*words, *more]).stderr
        for words in (("qmgr", "status", "QM9"), ("mqsc", "QM9", "-c", "PING QMGR"))
    ]
    assert told[0] == told[1]
    assert told[0].endswith(" ".join(("make one: quaestor qmgr create QM9", *more)) + "\n")


def test_a_queue_manager_that_has_its_second_bootstrap_data_set_alone_is_there(directory):
    (directory / "BSDS1").rename(directory / "BSDS2")
    assert 0 == mqsc(directory, "-c", "PING QMGR").exit_code


def test_another_name_is_refused(directory):
    result = CliRunner().invoke(main, ["mqsc", "QM2", "--directory", str(directory), "-c", "DIS QMGR"])
    assert 2 == result.exit_code
    assert "2058" in result.stderr


def test_the_default_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("QUAESTOR_HOME", str(tmp_path))
    quaestor.connect("QM1", tmp_path / "QM1").disconnect()
    assert 0 == CliRunner().invoke(main, ["mqsc", "QM1", "-c", "PING QMGR"]).exit_code


def test_an_operator_and_applications_share_the_queue_manager(directory):
    with quaestor.connect("QM1", directory) as app:
        operator = quaestor.operate("QM1", directory)
        assert operator.run("DEFINE QLOCAL(ORDERS)").ok
        app.put("ORDERS", "x")
        assert [1] == [row["CURDEPTH"] for row in operator.run("DIS QL(ORDERS) CURDEPTH").rows]
        operator.close()
        app.backout()


# -- the prompt


def typed(keys, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        return list(prompts("QM1", input=pipe, output=DummyOutput()))


def test_what_is_typed(monkeypatch, tmp_path):
    keys = "DIS QMGR\r\rDEF QL(A) +\r\rMAXDEPTH(5)\rhalf\x03PING QMGR\r\x04"
    assert ["DIS QMGR", "DEF QL(A) +\nMAXDEPTH(5)", "PING QMGR"] == typed(keys, monkeypatch, tmp_path)
    assert 0o600 == history_file().stat().st_mode & 0o777
    assert ["DIS QMGR"] == typed("\x1b[A\x1b[A\x1b[A\x1b[A\r\x04", monkeypatch, tmp_path)[:1]  # four up: the first


@pytest.mark.parametrize(
    ("text", "some", "there"),
    [
        ("", ["ALTER", "DEFINE", "DISPLAY"], 0),
        ("def", ["DEFINE"], 3),
        ("DEFINE ", ["BUFFPOOL", "QLOCAL"], 0),
        ("DIS QS", ["QSTATUS"], 2),
        ("DEF QL(A) MAXD", ["MAXDEPTH"], 4),
        ("DEF QL(A) PUT(", ["DISABLED", "ENABLED"], 0),
        ("DEF QL(A) INDXTYPE(C", ["CORRELID"], 1),
        ("DIS Q(*) TYPE(QA", ["QALIAS"], 2),
        ("DIS THREAD(*) TYPE(", ["ACTIVE", "INDOUBT"], 0),
        ("RESOLVE INDOUBT(*) ACTION(", ["BACKOUT", "COMMIT"], 0),
    ],
)
def test_what_is_offered(text, some, there):
    found, length = completions(text)
    assert set(some) <= set(found)
    assert there == length


@pytest.mark.parametrize(
    "text", ["DEF QL(A) DESCR('put", "DEF QL(A) MAXDEPTH(", "DEF QL(", "FROB ", "DEF QL(A) PUT(ENABLED) PU"]
)
def test_where_nothing_is_offered(text):
    assert [] == completions(text)[0]


def test_the_prompt_offers_only_what_is_supported():
    offered = [c.text for c in CommandCompleter().get_completions(Document("DEFINE "), None)]
    assert "QLOCAL" in offered
    assert "CHANNEL" not in offered
    assert (["PING"], 0) == completions("", {("PING", "QMGR")})


@pytest.mark.parametrize(
    "text", ["-", "+", "DIS QMGR +", "DIS QMGR +\n", "DIS QMGR -\n\n \n", "DIS QL(*)\nDIS QMGR +\n* a comment\n"]
)
def test_a_command_without_its_end_is_named(directory, text):
    result = mqsc(directory, text=text)
    assert 1 == result.exit_code
    assert "nothing follows" in result.output


def test_a_queue_manager_that_was_created_and_not_started(tmp_path):
    """It is made as it was told to be, and is there when it is started."""
    place = tmp_path / "QM1"
    Home(place).create(Configuration("QM1", engine={"log_bytes": 1 << 20, "logs": 3}))
    result = mqsc(place, "-c", "DEFINE QLOCAL(ORDERS)")
    assert 0 == result.exit_code, result.output
    assert ["log1-01", "log1-02", "log1-03"] == sorted(path.name for path in place.glob("log1-*"))
    assert "QUEUE(ORDERS)" in mqsc(place, "-c", "DISPLAY QLOCAL(ORDERS)").output
