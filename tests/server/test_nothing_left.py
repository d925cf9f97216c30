"""After clients have come and gone nothing of theirs is left, although nobody has looked for it (CO2, CV7, Y6, AH5).

The collector is off meanwhile; then it says what it would have had to collect, and none of that may be the server's.
"""

import gc
import socket
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

import quaestor
from model.answers import fails
from quaestor import MQMD, GetOptions, LocalQueue, MQError, OpenOptions, PutOptions, Reason
from quaestor.mqi.objects import IndexType
from quaestor.mqi.options import MsgFlags
from quaestor.server import certificates, collector
from quaestor.server.client.place import ClientTls, Place
from quaestor.server.users import Users

TIMES = 3
BOTH = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT | OpenOptions.BROWSE
NOW, GET_NOW, LATER = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT, PutOptions.ASYNC_RESPONSE
PERSISTENT, VOLATILE = MQMD(persistence=1), MQMD(persistence=0)


def of_the_server(found):
    """Whether something is the server's or the queue manager's; clients of these tests live in the same process."""
    module = type(found).__module__
    return module.startswith(("quaestor.server.", "quaestor.qmgr.")) and not module.startswith("quaestor.server.client")


@contextmanager
def nothing_left():
    gc.collect()
    gc.disable()
    try:
        yield
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = Counter(type(found).__name__ for found in gc.garbage if of_the_server(found))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert {} == left


def waits(server, app, queue, wait_ms=-1):
    """A get is parked in the server, and its client does not look at the answer."""
    waiting = app.status()["waiting_gets"]
    app._link.send(app._conversation, queue.get_request(GET_NOW, wait_ms, None, {}), answered=True)
    server.wait_for(lambda: server.service.status()["waiting_gets"] > waiting)


def disconnects(server):
    with server.connect() as app:
        queue = app.open("ORDERS", BOTH)
        queue.put(b"1", PERSISTENT, NOW)
        queue.put(b"2", PERSISTENT)
        queue.browse()
        queue.get()
        app.commit()
        queue.get(GET_NOW)
        queue.close()


def dies_with_a_unit(server):
    links = len(server.service.links)
    app = server.connect()
    queue = app.open("ORDERS", BOTH)
    queue.put(b"in flight", PERSISTENT)
    queue.put(b"another", VOLATILE)
    queue.put(b"marked", PERSISTENT, NOW)
    queue.get(GetOptions.MARK_SKIP_BACKOUT)
    app._link.close()
    server.wait_for(lambda: links == len(server.service.links))
    with server.connect() as other:
        other.get("ORDERS", GET_NOW)


def dies_waiting(server):
    app = server.connect()
    waits(server, app, app.open("ORDERS", BOTH))
    app._link.close()


def waits_in_vain(server):
    with server.connect() as app, app.open("ORDERS", BOTH) as queue, fails(Reason.NO_MSG_AVAILABLE):
        queue.get(wait_ms=5)


def is_handed_a_message(server):
    app = server.connect()
    queue = app.open("ORDERS", BOTH)
    with server.connect() as other:
        for put in (lambda: other.put("ORDERS", b"1", VOLATILE, NOW), lambda: other.put("ORDERS", b"2", PERSISTENT)):
            waits(server, app, queue)
            put()
            other.commit()
            server.wait_for(lambda: not server.service.status()["waiting_gets"])
    app._link.close()


def is_refused(server):
    with server.connect() as app, app.open("ORDERS", BOTH) as queue:
        for call in (
            lambda: app.open("NOBODY", BOTH),
            queue.get,
            lambda: queue.put(b"", None, 1 << 30),
            lambda: queue.inquire("NOSUCH"),
        ):
            with pytest.raises(MQError):
                call()


def loses_asynchronous_puts(server):
    with server.connect() as app, app.open("ORDERS", BOTH):
        app.alter(LocalQueue, "ORDERS", put_allowed=False)
    app = server.connect()
    queue = app.open("ORDERS", BOTH)
    for _ in range(3):
        queue.put(b"later", PERSISTENT, LATER)
    app._send_run(now=True)
    app._link.close()
    server.idle()
    with server.connect() as app:
        app.alter(LocalQueue, "ORDERS", put_allowed=True)


def dies_in_a_group(server):
    """Of messages in a unit: what it has put and got of the group is known to its handles until then."""
    app = server.connect()
    queue = app.open("ORDERS", BOTH)
    queue.put(b"1", MQMD(persistence=1, msg_flags=MsgFlags.MSG_IN_GROUP), NOW | PutOptions.LOGICAL_ORDER)
    queue.put(b"2", MQMD(persistence=1, msg_flags=MsgFlags.LAST_MSG_IN_GROUP), NOW | PutOptions.LOGICAL_ORDER)
    queue.put(b"3", MQMD(persistence=1, msg_flags=MsgFlags.MSG_IN_GROUP), PutOptions.LOGICAL_ORDER)
    queue.get(GetOptions.LOGICAL_ORDER)
    app._link.close()
    server.idle()
    with server.connect() as other:
        other.mqsc("CLEAR QLOCAL(ORDERS)")


def comes_back(server):
    old = server.connect(client=b"SAME")
    old.put("ORDERS", b"in flight", PERSISTENT)
    with server.connect(client=b"SAME"):
        old._link.close()


def shares_a_link(server):
    with server.connect(shared=True) as one, server.connect(shared=True) as other:
        one.put("ORDERS", b"1", PERSISTENT)
        other.put("ORDERS", b"2", PERSISTENT)
        one.commit()
        other.backout()
        one.get("ORDERS")


def has_a_queue_of_its_own(server):
    with server.connect() as app:
        queue = app.open("SYSTEM.DEFAULT.MODEL.QUEUE", BOTH)
        for number in range(3):
            queue.put(b"%d" % number, VOLATILE, NOW)
        queue.get(GET_NOW)
    with server.connect() as app:
        app.define(LocalQueue("SHORT.LIVED"))
        app.put("SHORT.LIVED", b"1", PERSISTENT, NOW)
        app.delete(LocalQueue, "SHORT.LIVED", purge=True)


def prepares(server):
    with server.connect() as app, app.open("ORDERS", BOTH) as queue:
        queue.put(b"1", PERSISTENT)
        app.prepare(b"XID 1")
        app.commit_prepared(b"XID 1")
        queue.get()
        app.prepare(b"XID 2")
        app.backout_prepared(b"XID 2")
        queue.get()
        app.commit()


def runs_commands(server):
    with server.connect() as app:
        for command in ("DISPLAY QLOCAL(*) ALL", "DISPLAY QLOCAL(*) CMDSCOPE(*)", "DISPLAX"):
            app.mqsc(command)


def is_no_client(server):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(server.home.socket))
        sock.sendall(b"garbage" * 20)
        with suppress(OSError):
            sock.recv(1)


CLIENTS = (
    disconnects, dies_with_a_unit, dies_waiting, waits_in_vain, is_handed_a_message, is_refused,
    loses_asynchronous_puts, dies_in_a_group, comes_back, shares_a_link, has_a_queue_of_its_own,
    prepares, runs_commands, is_no_client,
)  # fmt: skip


def define(server):
    with server.connect() as app:
        app.define(LocalQueue("ORDERS", share=True, def_exclusive=False, index_type=IndexType.GROUPID))


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_is_left_of_a_client_that(server, client):
    define(server)
    with nothing_left():
        for _ in range(TIMES):
            client(server)
            server.idle()


def test_nothing_is_left_of_a_client_that_was_accounted_for(server):
    """Also when accounting began after it had connected, and when it ended before."""
    define(server)
    with server.connect() as operator, nothing_left():
        for _ in range(TIMES):
            early = server.connect()
            queue = early.open("ORDERS", BOTH)
            operator.mqsc("START TRACE(ACCTG) CLASS(3)")
            queue.put(b"1", PERSISTENT, NOW)
            for client in (disconnects, dies_with_a_unit, has_a_queue_of_its_own):
                client(server)
                server.wait_for(lambda: 2 == len(server.service.links))
            late = server.connect()
            late.open("ORDERS", BOTH).get()
            early.disconnect()
            server.wait_for(lambda: 2 == len(server.service.links))
            operator.mqsc("STOP TRACE(ACCTG)")
            late.disconnect()
            server.wait_for(lambda: 1 == len(server.service.links))


def test_nothing_is_left_of_a_client_that_shows_who_it_is(home, serve):
    """Over TLS, by a password that is right, and by one that is wrong."""
    certificates.server(home.directory, "QM1", ["localhost", "127.0.0.1"], 10)
    tls = {"certificate": "server.pem", "key": "server.key", "authorities": "authority.pem"}
    home.write(replace(home.configuration(), security=True, **tls))
    Users(home.users).set("alice", "open sesame")
    home.grant("connect", "*", "alice", "read")
    server = serve()
    place = Place("QM1", address=server.address, tls=ClientTls(authorities=home.directory / "authority.pem"))
    with nothing_left():
        for _ in range(TIMES):
            with server.connect(place=place, user="alice", password="open sesame") as app:
                app.status()
            with fails(Reason.NOT_AUTHORIZED):
                server.connect(place=place, user="alice", password="wrong")
            server.idle()


ALONE = """
import gc
from quaestor.server import collector

class Made:
    \"\"\"Something that the collector looks at.\"\"\"

looked = []

def note(phase, found):
    if phase == "start":
        looked.append(sum(map(len, (gc.get_objects(generation) for generation in range(3)))))

collector.look_once()
aside = gc.get_freeze_count()
gc.callbacks.insert(0, note)
kept = [Made() for _ in range(50_000)]
for _ in range(5_000):
    circle = Made()
    circle.itself = circle
print(len(looked), max(looked), gc.get_freeze_count() - aside, sum(one.__class__ is Made for one in gc.get_objects()))
"""


def test_the_collector_looks_at_everything_once():
    """CO1: its looks are short however much there is, what survives one is put aside, what goes in circles is found."""
    run = [sys.executable, "-c", ALONE]
    source = str(Path(quaestor.__file__).parents[1])
    told = subprocess.run(run, env={"PYTHONPATH": source}, check=True, capture_output=True, text=True).stdout
    looks, longest, aside, young = map(int, told.split())
    assert looks > 40
    assert longest < 2 * collector.NEW_MAX
    assert 49_000 < aside < 52_000
    assert young < 2 * collector.NEW_MAX
