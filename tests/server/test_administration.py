"""What a server does for operators: MQSC and STOP QMGR, PCF from tools, metrics and health."""

import json
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import replace

import pytest

from quaestor import MQMD, GetOptions, LocalQueue, ModelQueue, MQError, PutOptions
from quaestor.cli.mqsc_door import door
from quaestor.mqi import pcf

INQUIRE_Q, Q_NAME, Q_DESC = 13, 2016, 2013


def test_commands_reach_a_running_server(server):
    opened = door("QM1", server.home.directory)
    assert opened.run("DEFINE QLOCAL(ORDERS) DESCR('what is wanted')").ok
    shown = opened.run("DISPLAY QUEUE(ORDERS) DESCR")
    assert [("ORDERS", "what is wanted")] == [(row["QUEUE"], row["DESCR"]) for row in shown.rows]
    assert not opened.run("DISPLAY NONSENSE(X)").ok
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


def test_metrics_and_health_are_told(home, serve):
    home.write(replace(home.configuration(), metrics="127.0.0.1:0"))
    base = f"http://{serve().server.administration.metrics_address}"
    with urllib.request.urlopen(f"{base}/health") as health:
        assert {"status": "running"} == json.load(health)
    with urllib.request.urlopen(f"{base}/metrics") as metrics:
        assert b'ibmmq_queue_depth{qmgr="QM1"' in metrics.read()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{base}/other")
