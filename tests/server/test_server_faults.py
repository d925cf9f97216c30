"""Faults: clients that die at each step, half-open links, slow readers, crowds, and servers that stop under load.

What always holds: nothing leaks, nothing hangs, no message is lost or doubled.
"""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import quaestor
from model.answers import bodies, drain, fails
from quaestor import MQMD, GetOptions, LocalQueue, MQError, OpenOptions, PutOptions, Reason
from quaestor.server.link import Link
from quaestor.storage.real_file import RealFile

SRC = str(Path(quaestor.__file__).parents[1])
NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
BOTH = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT
PERSISTENT = MQMD(persistence=1)


def define(server, name="ORDERS", **attributes):
    with server.connect() as app:
        app.define(LocalQueue(name, share=True, def_exclusive=False, **attributes), replace=True)


def left_on(server, name="ORDERS"):
    with server.connect() as app, app.open(name, BOTH) as queue:
        return bodies(drain(queue))


# -- clients that die

DYING = """
import os, signal, sys
import quaestor
from quaestor import MQMD, PutOptions, OpenOptions
from quaestor.server.client.opening import LINKS, hello_of
from quaestor.server.client.place import local_place
step = int(sys.argv[2])
def at(number):
    if number == step:
        os.kill(os.getpid(), signal.SIGKILL)
at(0)
app = LINKS.connect(local_place("QM1", sys.argv[1]), hello_of("QM1", None, None, "dying"))
at(1)
queue = app.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT)
at(2)
queue.put("committed", MQMD(persistence=1))
at(3)
app.commit()
at(4)
queue.put("in flight", MQMD(persistence=1))
at(5)
queue.put(b"later", MQMD(persistence=1), PutOptions.ASYNC_RESPONSE)
app._send_run(now=True)
at(6)
queue.get()
at(7)
queue.close()
at(8)
app.disconnect()
"""


@pytest.mark.parametrize("step", range(10))
def test_a_client_killed_at_any_step(server, step):
    """What it committed is there once, what it had in flight is not; killed after its end, all of it is."""
    define(server)
    command = [sys.executable, "-c", DYING, str(server.home.directory), str(step)]
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": SRC}, check=False, capture_output=True)
    assert ended.returncode == (-signal.SIGKILL if step < 9 else 0), ended.stderr.decode()
    server.idle()
    committed = [] if step < 4 else ["committed"]
    assert (["in flight", "later"] if step == 9 else committed) == left_on(server)
    with server.connect() as app, app.open("ORDERS", OpenOptions.INQUIRE) as queue:
        assert {"IPPROCS": 0, "OPPROCS": 0} == queue.inquire("IPPROCS", "OPPROCS")
    server.idle()
    assert 1 == server.manager.connections.connections  # the command server stays


def test_a_link_lost_in_a_commit_leaves_all_of_it_or_nothing(server):
    """The answer never arrives; the client asks on another link."""
    define(server)
    for unit in range(1, 6):
        app = server.connect(client=b"CUT OFF")
        queue = app.open("ORDERS", BOTH)
        queue.put(f"{unit}", PERSISTENT)
        from quaestor.server.client import requests

        app._link.send(app._conversation, requests.commit(unit), answered=True)
        app._link.close()
        with server.connect(client=b"CUT OFF") as again:
            known = again.outcome(unit)
        assert ([f"{unit}"] if known else []) == left_on(server)


def test_a_client_that_comes_back_ends_its_older_link(server):
    define(server)
    old = server.connect(client=b"SAME")
    old.put("ORDERS", "in flight", PERSISTENT)
    with server.connect(client=b"SAME") as new:
        assert 1 == new.status()["links"]
        with fails(Reason.CONNECTION_BROKEN):
            old.commit()
    assert [] == left_on(server)


def socket_to(server):
    host, port = server.address.split(":")
    return socket.create_connection((host, int(port)), 10)


def test_who_does_not_say_who_it_is_is_cut_off(server):
    with socket_to(server) as silent, socket_to(server) as half:
        half.sendall(b"\0\0")
        silent.settimeout(10)
        assert b"" == silent.recv(1)
    server.idle()
    assert "did not say who it is" in server.log()


def test_a_waiting_client_that_answers_no_heartbeat_is_cut_off(server):
    """A half-open link: the machine at the other end is gone, and its get waits for ever."""
    define(server)
    app = server.connect()
    queue = app.open("ORDERS", BOTH)
    app._link.send(app._conversation, queue.get_request(GET_NOW, -1, None, {}), answered=True)
    server.idle()
    assert "does not answer heartbeats" in server.log()
    app._link.close()
    with server.connect() as other:
        other.put("ORDERS", "for the living", None, NOW)
    assert ["for the living"] == left_on(server)


def test_a_client_that_stops_in_a_frame_is_cut_off(server):
    app = server.connect()
    app._link._sock.sendall(b"\0\0\1\0")
    server.idle()
    assert "stopped in the middle of a frame" in server.log()
    app._link.close()


def test_a_slow_reader_is_held_back_then_cut_off(server):
    """It asks for more than it takes: its link is not read, others are served, and in the end it goes."""
    define(server)
    with server.connect() as other:
        others = set(server.service.links)
        app = server.connect()
        (slow,) = server.service.links - others
        queue = app.open("ORDERS", BOTH | OpenOptions.BROWSE)
        queue.put(bytes(1 << 20), None, NOW)
        with suppress(MQError, OSError):
            for _ in range(64):
                request = queue.get_request(GetOptions.BROWSE_FIRST, None, None, {})
                app._link.send(app._conversation, request, answered=True)
        server.wait_for(lambda: slow.stuck)
        for _ in range(3):
            assert other.status()["links"]  # turns in which all that was asked for would be answered
        assert slow._out_bytes <= server.service.limits.output_bytes + (1 << 20) + 4096  # one answer more at most
        server.wait_for(lambda: "does not take its answers" in server.log())
        app._link.close()
        assert other.status()["links"] == 1


def test_a_thousand_idle_connections(server):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("this system allows too few open files")
    apps = [server.connect() for _ in range(1000)]
    assert 1000 == apps[0].status()["conversations"]
    define(server)
    apps[500].put("ORDERS", "x", None, NOW)
    assert apps[999].get("ORDERS").text == "x"
    apps[999].commit()
    for app in apps:
        app.disconnect()
    server.idle()
    assert 1 == server.manager.connections.connections  # the command server stays
    assert soft <= hard


def test_too_many_connections_are_told(serve, home):
    from dataclasses import replace

    home.write(replace(home.configuration(), limits={"connections": 3, "conversations": 2}))
    server = serve()
    apps = [server.connect() for _ in range(3)]
    with fails(Reason.MAX_CONNS_LIMIT_REACHED):
        server.connect()
    apps.pop().disconnect()
    server.wait_for(lambda: len(server.service.links) == 2)
    shared = [server.connect(shared=True) for _ in range(2)]
    with fails(Reason.MAX_CONNS_LIMIT_REACHED):
        server.connect(shared=True)
    for app in (*apps, *shared):
        app.disconnect()


def test_handles_and_uncommitted_messages_are_limited(server):
    define(server)
    with server.connect() as app:
        app.alter(quaestor.QueueManagerAttributes, max_handles=3, max_uncommitted=5)
        handles = [app.open("ORDERS", BOTH) for _ in range(3)]
        with fails(Reason.HANDLE_NOT_AVAILABLE):
            app.open("ORDERS", BOTH)
        for _ in range(5):
            handles[0].put("x")
        with fails(Reason.SYNCPOINT_LIMIT_REACHED):
            handles[0].put("x")
        app.backout()


def test_a_quiesce_waits_for_applications_and_tells_those_who_ask(server):
    define(server)
    app = server.connect()
    queue = app.open("ORDERS", BOTH)
    queue.put("kept", PERSISTENT)
    server.service.ask(server.service.quiesce)
    server.wait_for(lambda: server.service.quiescing)
    with fails(Reason.Q_MGR_QUIESCING):
        server.connect()
    with fails(Reason.Q_MGR_QUIESCING):
        queue.put("no", None, PutOptions.FAIL_IF_QUIESCING)
    app.commit()
    app.disconnect()
    server.thread.join(10)
    assert not server.thread.is_alive()


def test_an_immediate_stop_backs_out_and_says_2009(serve):
    server = serve()
    define(server)
    app = server.connect()
    app.put("ORDERS", "committed", PERSISTENT)
    app.commit()
    app.put("ORDERS", "in flight", PERSISTENT)
    server.stop()
    with fails(Reason.CONNECTION_BROKEN):
        app.commit()
    assert ["committed"] == left_on(serve())


@pytest.mark.parametrize("company", [False, True])
def test_a_failed_log_ends_the_server_and_confirms_nothing(serve, monkeypatch, company):
    """SV6, whether the commit is collected or that of a client that is alone (GC6): nobody is answered."""
    server = serve()
    define(server)
    app = server.connect()
    other = server.connect() if company else None
    queue = app.open("ORDERS", BOTH)
    queue.put("x", PERSISTENT)
    files, sent = server.manager.engine.log.files, []

    def fail(*_):
        raise OSError(5, "I/O error")

    for way in ("write_through", "start_write_through", "write"):
        monkeypatch.setattr(files, way, fail)
    monkeypatch.setattr(RealFile, "write_soon", fail)
    real = Link._hand_over
    monkeypatch.setattr(Link, "_hand_over", lambda link, data: sent.append(data) or real(link, data))
    with fails(Reason.CONNECTION_BROKEN):
        app.commit()
    assert [] == sent
    if other is not None:
        with suppress(MQError):
            other.disconnect()
    server.thread.join(10)
    assert "QSV005E" in server.log()


def test_a_program_that_was_started_again_under_its_name_is_not_told_of_its_older_units(server):
    """RC3, OC2: the first unit of the second run has the number of one that the first run committed."""
    define(server)
    with server.connect(client=b"BILLING", reconnect_s=20) as app:
        for body in ("one", "two"):
            app.put("ORDERS", body, PERSISTENT)
            app.commit()
    with server.connect(client=b"BILLING", reconnect_s=20) as app:
        app.put("ORDERS", "three", PERSISTENT)
        app._link._sock.shutdown(socket.SHUT_RDWR)
        with fails(Reason.BACKED_OUT):
            app.commit()
        app.put("ORDERS", "three", PERSISTENT)
        app.commit()
    assert left_on(server) == ["one", "two", "three"]


def test_units_of_another_user_under_the_same_name_are_not_ones_own(server):
    """OC4: nobody can make somebody else's lost commits look as if they had come about."""
    define(server)
    with server.connect(client=b"BILLING", user="MALLORY") as app:
        app.put("ORDERS", "one", PERSISTENT)
        app.commit(4711)
        assert app.outcome(4711)
    with server.connect(client=b"BILLING", user="ALICE") as app:
        assert not app.outcome(4711)


def test_a_disconnect_whose_commit_is_refused_ends_the_connection(server):
    """RC4: nothing of it is left at the server, as with a connection that does not reconnect."""
    define(server, put_allowed=False)
    app = server.connect(reconnect_s=20)
    app.open("ORDERS", OpenOptions.OUTPUT).put(b"refused", PERSISTENT, PutOptions.ASYNC_RESPONSE)
    with fails(Reason.PUT_INHIBITED):
        app.disconnect()
    assert not app.connected
    server.idle()
