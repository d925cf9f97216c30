"""What a server does for operators: MQSC and STOP QMGR, PCF from tools, metrics and health."""

import json
import socket
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import replace

import pytest

from quaestor import MQMD, GetOptions, LocalQueue, ModelQueue, MQError, PutOptions, Reason
from quaestor.cli.mqsc_door import door
from quaestor.clock import SystemClock
from quaestor.mqi import pcf
from quaestor.qmgr.operator_log import OperatorLog
from quaestor.smf.records import unpack_record
from quaestor.storage.real_disk import owner_of

INQUIRE_Q, PING_Q_MGR, Q_NAME, Q_DESC = 13, 40, 2016, 2013


def test_commands_reach_a_running_server(server):
    opened = door("QM1", server.home.directory)
    assert opened.run("DEFINE QLOCAL(ORDERS) DESCR('what is wanted')").ok
    shown = opened.run("DISPLAY QUEUE(ORDERS) DESCR")
    assert [("ORDERS", "what is wanted")] == [(row["QUEUE"], row["DESCR"]) for row in shown.rows]
    assert not opened.run("DISPLAY NONSENSE(X)").ok
    opened.close()


def test_what_has_been_counted_may_be_asked_for_while_it_works(server):
    """SM5: nothing ends by it, so the next one who asks has it too."""
    with server.connect() as app:
        app.define(LocalQueue("ORDERS"))
        for number in range(1, 4):
            app.put("ORDERS", "an order")
            found = [unpack_record(record) for record in app.figures()]
            assert [(115, 1), (115, 2), (115, 201), (115, 215)] == sorted(
                (each.header.record_type, each.header.subtype) for each in found
            )
            assert [number] == [each.put1s for record in found for each in record.sections.get("QMST", [])]


def test_a_command_that_waits_for_other_members_lets_others_work(server, monkeypatch):
    """CMDSCOPE: while one client waits for another queue manager, the others are served."""
    asked, answer = threading.Event(), threading.Event()

    def patient(text, user):
        asked.set()
        assert answer.wait(30)
        return run(text.replace("CMDSCOPE(QM2)", ""), user)

    run = server.service.commands.run
    monkeypatch.setattr(server.service.commands, "run", patient)
    opened, told = door("QM1", server.home.directory), []
    waiting = threading.Thread(target=lambda: told.append(opened.run("DEFINE QLOCAL(LATE) CMDSCOPE(QM2)")))
    waiting.start()
    assert asked.wait(30)
    with server.connect() as app:
        app.define(LocalQueue("SOON"))
        app.put("SOON", b"served", None, PutOptions.NO_SYNCPOINT)
    assert [] == told
    answer.set()
    waiting.join(30)
    assert [True] == [each.ok for each in told]
    opened.close()


def test_an_archive_that_waits_for_a_unit_lets_it_end(home, serve):
    home.write(replace(home.configuration(), engine=home.configuration().engine | {"archive": True}))
    server, told = serve(), []
    opened = door("QM1", home.directory)
    with server.connect() as app:
        app.define(LocalQueue("ORDERS"))
        app.put("ORDERS", b"x", MQMD(persistence=1))
        pauses, ended = threading.Event(), threading.Event()
        server.manager.commands.pause = lambda _: (pauses.set(), ended.wait(30))
        waiting = threading.Thread(target=lambda: told.append(opened.run("arc log mode(quiesce) time(60) wait(yes)")))
        waiting.start()
        assert pauses.wait(30)
        app.commit()
        ended.set()
    waiting.join(30)
    assert [True] == [each.ok for each in told]
    opened.close()


def test_a_command_that_fails_beside_the_loop_is_told(server, monkeypatch):
    def failing(_text, _user):
        raise MQError(Reason.CF_NOT_AVAILABLE)

    monkeypatch.setattr(server.service.commands, "run", failing)
    opened = door("QM1", server.home.directory)
    with pytest.raises(MQError, match="2345"):
        opened.run("PING QMGR CMDSCOPE(*)")
    opened.close()


def test_stop_qmgr_stops_the_server(server):
    opened = door("QM1", server.home.directory)
    assert opened.run("STOP QMGR MODE(FORCE)").ok
    server.thread.join(30)
    assert not server.thread.is_alive()
    with suppress(MQError):
        opened.close()


def test_a_tool_asks_by_pcf(server):
    with server.connect() as app:
        app.define(LocalQueue("ORDERS", descr="what is wanted"))
        app.define(ModelQueue("ANSWERS.MODEL"))
        answers = app.open("ANSWERS.MODEL", dynamic_name="ANSWERS.*")
        request = pcf.PCFMessage(INQUIRE_Q, (pcf.Parameter(Q_NAME, "ORDERS"),))
        app.put(
            "SYSTEM.ADMIN.COMMAND.QUEUE",
            pcf.pack(request),
            MQMD(format="MQADMIN", msg_type=1, reply_to_q=answers.name),
            PutOptions.NO_SYNCPOINT,
        )
        answer = pcf.unpack(answers.get(GetOptions.NO_SYNCPOINT, wait_ms=10_000).body)
        assert (0, "what is wanted") == (answer.reason, str(answer.value(Q_DESC)).rstrip())


def ping(server):
    """Ask the command server whether it is there; the reason it answers with."""
    with server.connect() as app:
        app.define(ModelQueue("ANSWERS.MODEL"))
        answers = app.open("ANSWERS.MODEL", dynamic_name="ANSWERS.*")
        asked = MQMD(format="MQADMIN", msg_type=1, reply_to_q=answers.name)
        app.put("SYSTEM.ADMIN.COMMAND.QUEUE", pcf.pack(pcf.PCFMessage(PING_Q_MGR)), asked, PutOptions.NO_SYNCPOINT)
        return pcf.unpack(answers.get(GetOptions.NO_SYNCPOINT, wait_ms=10_000).body).reason


def test_requests_are_answered_after_an_operator_ended_the_command_server(server):
    opened = door("QM1", server.home.directory)
    assert opened.run("STOP CONN(1)").ok
    opened.close()
    assert 0 == ping(server)


STOPPED = {
    "disconnect": [lambda app: app.disconnect()],
    "abandon": [lambda app: app.abandon()],
    "a call": [lambda app: app.commit()],
    "a call, then disconnect": [lambda app: app.commit(), lambda app: app.disconnect()],
}


@pytest.mark.parametrize("calls", STOPPED.values(), ids=STOPPED)
def test_a_connection_that_an_operator_ended_leaves_those_who_share_its_link(server, calls):
    """CC4: whatever its application does then."""
    with server.connect(shared=True) as other, server.connect() as operator:
        operator.define(LocalQueue("ORDERS"))
        ended = server.connect(shared=True)
        newest = operator.mqsc("DISPLAY CONN(*)")["rows"][-1]["CONN"]
        assert operator.mqsc(f"STOP CONN({newest})")["ok"]
        for call in calls:
            with suppress(MQError):
                call(ended)
        assert 2 == other.status()["links"]
        other.commit()


def test_a_connection_that_an_operator_ended_counts_no_more(home, serve):
    """CV5: neither in the status, nor against the limit, nor when a server that quiesces waits for the last one."""
    home.write(replace(home.configuration(), limits={"conversations": 2, "quiesce_s": 60}))
    server = serve()
    with server.connect(shared=True) as other:
        ended = server.connect(shared=True)
        assert (1, 2) == (other.status()["links"], other.status()["conversations"])
        newest = other.mqsc("DISPLAY CONN(*)")["rows"][-1]["CONN"]
        assert other.mqsc(f"STOP CONN({newest})")["ok"]
        assert (1, 1) == (other.status()["links"], other.status()["conversations"])
        with server.connect(shared=True) as third:
            assert 2 == third.status()["conversations"]
            with pytest.raises(MQError) as refused:
                ended.commit()  # what it still sends is answered
            assert Reason.CONNECTION_BROKEN is refused.value.reason
        ended = server.connect(shared=True)
        newest = other.mqsc("DISPLAY CONN(*)")["rows"][-1]["CONN"]
        assert other.mqsc(f"STOP CONN({newest})")["ok"]
        server.service.ask(server.service.quiesce)
    server.thread.join(10)  # `ended` holds the link
    assert not server.thread.is_alive()
    ended.abandon()


def test_a_disconnect_after_a_put_that_was_lost_ends_what_an_operator_ended(server):
    """CV3, CV5: nothing of the conversation is left on its link."""
    with server.connect(shared=True) as other:
        other.define(LocalQueue("ORDERS"))
        ended = server.connect(shared=True)
        orders = ended.open("ORDERS")
        newest = other.mqsc("DISPLAY CONN(*)")["rows"][-1]["CONN"]
        assert other.mqsc(f"STOP CONN({newest})")["ok"]
        orders.put("lost", options=PutOptions.ASYNC_RESPONSE)
        with pytest.raises(MQError):
            ended.disconnect()
        (link,) = server.service.links
        assert 1 == len(link.conversations)


def test_a_get_that_waits_ends_when_an_operator_ends_its_connection(server):
    """And its application ends it too: those who share the link go on (CC4)."""
    with server.connect(shared=True) as other, server.connect() as operator:
        operator.define(LocalQueue("ORDERS"))
        ended = server.connect(shared=True)
        newest = operator.mqsc("DISPLAY CONN(*)")["rows"][-1]["CONN"]
        told = []

        def wait():
            with pytest.raises(MQError) as refused:
                ended.get("ORDERS", wait_ms=60_000)
            told.append(refused.value.reason)

        waits = threading.Thread(target=wait)
        waits.start()
        server.wait_for(lambda: server.service.status()["waiting_gets"])
        assert operator.mqsc(f"STOP CONN({newest})")["ok"]
        waits.join(10)
        assert 1 == len(told)
        with suppress(MQError):
            ended.disconnect()
        assert 2 == other.status()["links"]


def test_requests_are_answered_after_their_queue_was_inhibited(server):
    opened, waiters = (
        door("QM1", server.home.directory),
        server.manager.messages.catalogue.state("SYSTEM.ADMIN.COMMAND.QUEUE").waiters,
    )
    server.wait_for(lambda: waiters)
    assert opened.run("ALTER QL(SYSTEM.ADMIN.COMMAND.QUEUE) GET(DISABLED)").ok
    server.wait_for(lambda: not waiters)
    assert opened.run("ALTER QL(SYSTEM.ADMIN.COMMAND.QUEUE) GET(ENABLED)").ok
    opened.close()
    assert 0 == ping(server)


def test_metrics_and_health_are_told(home, serve):
    home.write(replace(home.configuration(), metrics="127.0.0.1:0"))
    base = f"http://{serve().server.administration.metrics_address}"
    with urllib.request.urlopen(f"{base}/health") as health:
        assert {"status": "running"} == json.load(health)
    with urllib.request.urlopen(f"{base}/metrics") as metrics:
        assert b'ibmmq_queue_depth{qmgr="QM1"' in metrics.read()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{base}/other")
    for path in ("health?from=here", "metrics?x=1"):
        with urllib.request.urlopen(urllib.request.Request(f"{base}/{path}", method="HEAD")) as asked:
            assert (200, b"") == (asked.status, asked.read())


def test_metrics_have_the_prefix_that_is_wanted(home, serve):
    home.write(replace(home.configuration(), metrics="127.0.0.1:0", metrics_prefix="quaestor_"))
    with urllib.request.urlopen(f"http://{serve().server.administration.metrics_address}/metrics") as metrics:
        told = metrics.read()
    assert b'quaestor_queue_depth{qmgr="QM1"' in told
    assert b"ibmmq_" not in told


def test_a_server_may_start_as_soon_as_another_has_stopped(home, serve):
    """AD3: every address it had is free when its data sets are."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home.write(replace(home.configuration(), metrics=f"127.0.0.1:{port}"))
    first = serve()
    first.service.ask(first.service.stop)
    first.wait_for(lambda: owner_of(home.directory) is None)
    assert str(port) in serve().server.administration.metrics_address


def test_what_the_managers_say_stands_in_the_log(home, serve):
    """JO3: with its identifier, in order with what the server says; of this queue manager only."""
    server = serve()
    server.manager.operator_log.say("CSQP014E", "no space on the disk", page_set=1, why="two\nlines")
    OperatorLog("QM2", SystemClock()).say("CSQP014E", "not ours")
    server.stop()
    lines = server.log().splitlines()
    assert ["CSQY022I", "QSV002I", "QSV002I", "QSV001I", "CSQP014E", "CSQY003I", "QSV004I"] == [
        line.split()[1] for line in lines if "QSV006W" not in line
    ]
    assert "CSQP014E no space on the disk page_set=1 why='two\\nlines'" in server.log()


def test_the_log_may_be_json(home, serve):
    """JO4."""
    home.write(replace(home.configuration(), log="json"))
    server = serve()
    server.manager.operator_log.say("CSQW133E", "SMF records cannot be written", error=OSError("full"))
    server.stop()
    lines = [json.loads(line) for line in server.log().splitlines()]
    assert {"QM1"} == {line["qmgr"] for line in lines}
    (said,) = [line for line in lines if line["id"] == "CSQW133E"]
    assert ("ERROR", "SMF records cannot be written", "full") == (said["level"], said["text"], said["error"])
    assert "QSV001I" in {line["id"] for line in lines}
