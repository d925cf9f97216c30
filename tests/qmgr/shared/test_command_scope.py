"""CMDSCOPE: a command that is entered on one member and runs on others."""

import threading

import pytest

import quaestor
from qmgr.command.console import Console
from qmgr.shared.sharing import Sharing
from quaestor import GroupSettings
from quaestor.mqi import pcf
from quaestor.qmgr.command.pcf_commands import answered as answered_by_pcf
from quaestor.qmgr.coupling_facility import forwarding
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.security import SecurityManager
from quaestor.server.coupling_facility import CouplingFacility
from servers import redis_server

INQUIRE_Q, Q_NAME, MAX_Q_DEPTH, QSG_DISP, COMMAND_SCOPE, RESPONSE_Q_MGR = 13, 2016, 15, 63, 3080, 3070
SMALL = EngineSettings(logs=3, log_bytes=1 << 20, buffer_pools={0: 100, 1: 100}, pages=64)


@pytest.fixture
def sharing(tmp_path):
    """Three members in one thread: whoever waits lets the others take their steps."""
    made = Sharing(tmp_path)
    for name in ("QM1", "QM2", "QM3"):
        made.start(name)
        made.members[name].shared.forwarding.pause = lambda _: answered(made)
    return made


def answered(sharing):
    """A quarter of a second in which everybody answers what it was told of."""
    sharing.clock.advance(seconds=0.25)
    for manager in list(sharing.members.values()):
        manager.shared.forwarding.step()


def run(sharing, text, name="QM1", *, ok=True, user="OPER"):
    reply = sharing.members[name].commands.run(text, user)
    assert reply.ok is ok, reply.lines
    return reply


def test_a_command_runs_on_the_member_it_names(sharing):
    reply = run(sharing, "DEFINE QLOCAL(X) MAXDEPTH(7) CMDSCOPE(QM2)")
    assert [
        "CSQN137I +QM1 'DEFINE QLOCAL' command accepted for CMDSCOPE(QM2), sent to 1",
        "CSQN121I +QM1 'DEFINE QLOCAL' command responses from QM2",
        "CSQ9022I +QM2 CSQMMSGP ' DEFINE QLOCAL' NORMAL COMPLETION",
        "CSQN122I +QM1 'DEFINE QLOCAL' command for CMDSCOPE(QM2) normal completion",
    ] == reply.lines
    assert ["QM2"] == [name for name in sharing.members if _has(sharing, name, "X")]
    assert [{"QUEUE": "X", "MAXDEPTH": 7, "CMDSCOPE": "QM2"}] == [
        {key: row[key] for key in ("QUEUE", "MAXDEPTH", "CMDSCOPE")}
        for row in run(sharing, "DISPLAY QLOCAL(X) MAXDEPTH CMDSCOPE(QM2)").rows
    ]


def _has(sharing, name, queue):
    return sharing.members[name].messages.catalogue.find_queue(queue) is not None


def test_a_command_for_everybody_runs_here_first(sharing):
    reply = run(sharing, "DEFINE NAMELIST(X) NAMES(A,B) CMDSCOPE(*)", "QM2")
    responses = [line for line in reply.lines if line.startswith("CSQN121I")]
    assert ["QM2", "QM1", "QM3"] == [line.split()[-1] for line in responses]
    shown = run(sharing, "DISPLAY NAMELIST(X) NAMES CMDSCOPE('*')", "QM3")
    assert [("QM3", ["A", "B"]), ("QM1", ["A", "B"]), ("QM2", ["A", "B"])] == [
        (row["CMDSCOPE"], row["NAMES"]) for row in shown.rows
    ]
    assert [("QM3", True), ("QM1", True), ("QM2", True)] == [(each["qmgr"], each["ok"]) for each in shown.members]
    assert ["X"] == [row["NAMELIST"] for row in shown.members[0]["rows"]]


def test_a_program_gets_each_message(sharing):
    reply = run(sharing, "PING QMGR CMDSCOPE(*)")
    assert "CSQN205I   COUNT=       9, RETURN=00000000, REASON=00000000" == reply.messages[0]
    assert 9 == len(reply.messages)


def test_one_member_that_fails_makes_the_command_fail(sharing):
    run(sharing, "DEFINE QLOCAL(X)", "QM3")
    reply = run(sharing, "DEFINE QLOCAL(X) CMDSCOPE(*)", ok=False)
    assert "CSQM094I +QM3 QLOCAL(X) ALREADY EXISTS" in reply.lines
    assert "CSQN123E +QM1 'DEFINE QLOCAL' command for CMDSCOPE(*) abnormal completion" == reply.lines[-1]
    assert [("QM1", True), ("QM2", True), ("QM3", False)] == [(each["qmgr"], each["ok"]) for each in reply.members]


def test_a_member_that_is_down_is_named(sharing):
    sharing.members.pop("QM2").stop()
    sharing.kill("QM3")
    reply = run(sharing, "PING QMGR CMDSCOPE(*)")
    assert [
        "CSQN137I +QM1 'PING QMGR' command accepted for CMDSCOPE(*), sent to 1",
        "CSQN135I +QM1 Queue manager QM2 is not active in queue-sharing group QSG1",
        "CSQN135I +QM1 Queue manager QM3 is not active in queue-sharing group QSG1",
    ] == reply.lines[:3]
    for name in ("QM2", "QM3", "QM9"):
        reply = run(sharing, f"PING QMGR CMDSCOPE({name})", ok=False)
        assert f"CSQN135E +QM1 Queue manager {name} is not active in queue-sharing group QSG1" == reply.lines[0]


def test_a_member_that_dies_while_it_is_asked_is_named(sharing):
    sharing.members["QM1"].shared.forwarding.pause = lambda _: sharing.kill("QM2")
    reply = run(sharing, "DEFINE QLOCAL(X) CMDSCOPE(QM2)", ok=False)
    assert reply.lines[1].startswith("CSQN129E +QM1 Queue manager QM2 gave no answer")
    manager = sharing.start("QM2")  # and what it was asked in its former life is not done in this one
    manager.shared.forwarding.step()
    assert not _has(sharing, "QM2", "X")


def test_a_member_that_does_not_answer_is_waited_for_a_minute(sharing):
    sharing.members["QM1"].shared.forwarding.pause = lambda _: sharing.clock.advance(seconds=1)
    began = sharing.clock.monotonic_ns()
    reply = run(sharing, "DEFINE QLOCAL(X) CMDSCOPE(QM2)", ok=False)
    assert "CSQN129E" == reply.lines[1].split()[0]
    assert 60 <= (sharing.clock.monotonic_ns() - began) / 1e9 <= 61
    sharing.members["QM2"].shared.forwarding.step()  # it answers after all, and nobody waits
    sharing.members["QM1"].shared.forwarding.pause = lambda _: answered(sharing)
    run(sharing, "PING QMGR CMDSCOPE(QM2)")
    assert ((), ()) == tuple(
        sharing.entries(at, "CSQ_ADMIN") for at in (forwarding.QUESTIONS_LIST, forwarding.ANSWERS_LIST)
    )
    assert {} == sharing.members["QM1"].shared.forwarding._answers


def test_long_answers_come_in_pieces_and_too_long_ones_not_at_all(sharing, monkeypatch):
    for number in range(60):
        run(sharing, f"DEFINE QLOCAL(Q{number:02d}) DESCR('{'x' * 60}')", "QM2")
    whole = run(sharing, "DISPLAY QLOCAL(Q*) ALL", "QM2")
    monkeypatch.setattr(forwarding, "PIECE", 1000)
    reply = run(sharing, "DISPLAY QLOCAL(Q*) ALL CMDSCOPE(QM2)")
    assert whole.lines == reply.members[0]["lines"]
    monkeypatch.setattr(forwarding, "ANSWER_MAX", 5000)
    assert "CSQN129E" == run(sharing, "DISPLAY QLOCAL(Q*) ALL CMDSCOPE(QM2)", ok=False).lines[1].split()[0]


def test_what_is_the_groups_is_not_asked_of_other_members(sharing):
    for disposition in ("GROUP", "SHARED"):
        reply = run(sharing, f"DISPLAY QLOCAL(*) QSGDISP({disposition}) CMDSCOPE(QM2)", ok=False)
        assert f"CSQN132E +QM1 CMDSCOPE(QM2) is not allowed with QSGDISP({disposition})" == reply.lines[0]
    run(sharing, "DEFINE QLOCAL(X) QSGDISP(SHARED) CFSTRUCT(APPL1)")
    run(sharing, "DEFINE QLOCAL(Y) CMDSCOPE(*)")
    rows = run(sharing, "DISPLAY QLOCAL(*) CMDSCOPE(*)").rows
    assert [("QM1", "X"), ("QM1", "Y"), ("QM2", "Y"), ("QM3", "Y")] == [(row["CMDSCOPE"], row["QUEUE"]) for row in rows]


def test_authority_is_asked_for_where_it_is_entered_and_where_it_runs(sharing):
    def secured(name, profiles):
        security = SecurityManager(lambda: profiles, sharing.clock)
        sharing.members[name].commands._security = sharing.members[name].messages._security = security

    secured("QM1", "command PING.* BOB read\ncommand DISPLAY.* BOB read\n")
    secured("QM2", "command PING.* BOB read\n")
    assert "QM2" == run(sharing, "PING QMGR CMDSCOPE(QM2)", user="BOB").members[0]["qmgr"]
    refused = run(sharing, "DISPLAY QLOCAL(*) CMDSCOPE(QM2)", user="BOB", ok=False)
    assert "CSQ9016E +QM2 'DISPLAY QLOCAL' command request not authorized" in refused.lines
    assert "CSQ9016E" == run(sharing, "DEFINE QLOCAL(X) CMDSCOPE(QM3)", user="BOB", ok=False).lines[0].split()[0]


def test_without_csq_admin_nobody_is_asked(sharing):
    sharing.cut_off("CSQ_ADMIN")
    reply = run(sharing, "PING QMGR CMDSCOPE(QM2)", ok=False)
    assert "CSQN127E" == reply.lines[0].split()[0]
    run(sharing, "PING QMGR CMDSCOPE(QM1)")
    sharing.reach_again("CSQ_ADMIN")
    run(sharing, "PING QMGR CMDSCOPE(QM2)")


def test_a_queue_manager_that_is_in_no_group_has_itself():
    reply = Console().run("PING QMGR CMDSCOPE(QM2)")
    assert "CSQN136E" == reply.lines[0].split()[0]


def test_pcf_names_the_member_and_the_disposition_of_each_object(sharing):
    run(sharing, "DEFINE QLOCAL(X) MAXDEPTH(7) CMDSCOPE(*)")
    run(sharing, "DEFINE QALIAS(Y) QSGDISP(GROUP)")

    def inquired(name, *more):
        asked = (pcf.Parameter(Q_NAME, name), *(pcf.Parameter(*each) for each in more))
        return answered_by_pcf(sharing.members["QM1"].commands, pcf.PCFMessage(INQUIRE_Q, asked), "OPER")

    everybody = inquired("X", (COMMAND_SCOPE, "*"))
    assert ["QM1", "QM2", "QM3"] == [each.value(RESPONSE_Q_MGR).rstrip() for each in everybody]
    assert {7} == {each.value(MAX_Q_DEPTH) for each in everybody}
    dispositions = {0: [], 1: [1], 3: [3], -1: [1, 3]}
    for asked, found in dispositions.items():
        reply = inquired("Y*", (QSG_DISP, asked))
        assert found == [each.value(QSG_DISP) for each in reply if each.parameters]


@pytest.fixture(scope="module", params=["facility", "redis"])
def address(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "redis":
        with redis_server(folder) as url:
            yield url
        return
    facility = CouplingFacility(folder / "cf.sock")
    serving = threading.Thread(target=facility.serve)
    serving.start()
    yield f"cf://{facility.path}"
    facility.stop()
    serving.join()


def test_members_with_threads_ask_each_other_at_once(address, tmp_path):
    """As users have it: over the facility's process and Redis, both ways at the same time, quicker than any step."""
    group = GroupSettings("CSQ1", address, str(tmp_path / "group.db"))
    apps = [quaestor.connect(name, tmp_path / name, settings=SMALL, group=group) for name in ("QM1", "QM2")]
    operators = [quaestor.operate(name, tmp_path / name) for name in ("QM1", "QM2")]
    replies = {}

    def ask(number, other):
        for at in range(5):
            replies[number, at] = operators[number].run(f"DEFINE QLOCAL(FROM.{number}.{at}) CMDSCOPE({other})")

    asking = [threading.Thread(target=ask, args=each) for each in ((0, "QM2"), (1, "QM1"))]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(timeout=30)
    assert 10 == sum(reply.ok for reply in replies.values())
    assert [f"FROM.0.{at}" for at in range(5)] == [row["QUEUE"] for row in operators[1].run("DIS QL(FROM.*)").rows]
    for operator, app in zip(operators, apps, strict=True):
        operator.close()
        app.disconnect()
