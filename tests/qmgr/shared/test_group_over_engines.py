"""A group as users have it: queue managers with their threads, on the coupling facility's process and on Redis."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

import quaestor
from qmgr.shared.sharing import GET_IN, GET_OUT, IN, OUT, PERSISTENT, USES, VOLATILE
from quaestor import MQMD, GroupSettings, LocalQueue, MQError, Process
from quaestor.mqi.headers import TriggerMessage
from quaestor.mqi.objects import TriggerType
from quaestor.mqi.options import OpenOptions
from quaestor.qmgr.data.engine import EngineSettings
from quaestor.qmgr.group_settings import group_in
from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.shared_tables import GroupTables, Structure, open_tables
from servers import redis_server

SMALL = EngineSettings(logs=3, log_bytes=1 << 20, buffer_pools={0: 100, 1: 100}, pages=64)
GROUPS = count(1)
SRC = Path(__file__).parents[3] / "src"


@pytest.fixture(scope="module")
def redis_address(tmp_path_factory):
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="module")
def facility_address(tmp_path_factory):
    facility = CouplingFacility(tmp_path_factory.mktemp("cf") / "cf.sock")
    serving = threading.Thread(target=facility.serve)
    serving.start()
    yield f"cf://{facility.path}"
    facility.stop()
    serving.join()


@pytest.fixture(params=["facility", "redis"])
def settings(request, tmp_path):
    address = request.getfixturevalue(f"{request.param}_address")
    made = GroupSettings(f"G{next(GROUPS)}", address, str(tmp_path / "group.db"))
    tables = GroupTables(open_tables(made.repository, made.name))
    tables.structures.insert(Structure("APPL1", {"SIZE": 4096}))
    tables.close()
    return made


@pytest.fixture
def members(settings, tmp_path):
    apps = [
        quaestor.connect(name, tmp_path / name, settings=SMALL, group=settings, user="ALICE") for name in ("QM1", "QM2")
    ]
    apps[0].define(LocalQueue("ORDERS", structure="APPL1", share=True, def_exclusive=False))
    yield apps
    for app in apps:
        app.disconnect()


def test_what_one_puts_the_other_gets_and_the_other_way(members):
    one, two = members
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        for number in range(20):
            here.put(b"%d" % number, PERSISTENT if number % 2 else VOLATILE, IN)
        one.commit()
        assert 20 == there.inquire("CURDEPTH")["CURDEPTH"]
        assert [b"%d" % number for number in range(20)] == [there.get(GET_IN).body for _ in range(20)]
        two.commit()
        there.put(b"back", VOLATILE, OUT)
        assert b"back" == here.get(GET_OUT).body


def test_a_get_that_waits_is_woken_by_a_put_of_another_member(members):
    one, two = members
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        for body, unit in ((b"at once", False), (b"committed", True)):
            threading.Timer(0.1, put_later, (one, here, body, unit)).start()
            began = time.monotonic()
            assert body == there.get(GET_OUT, wait_ms=60_000).body
            assert time.monotonic() - began < 30  # not when its time was over


def put_later(app, queue, body, unit):
    queue.put(body, VOLATILE, IN if unit else OUT)
    if unit:
        app.commit()


def test_a_wait_for_one_message_is_not_ended_by_another(members):
    """Others are on the queue already, so it is not empty when the right one comes."""
    one, two = members
    wanted = b"wanted".ljust(24, b"\0")
    with one.open("ORDERS", USES) as here, two.open("ORDERS", USES) as there:
        here.put(b"other", VOLATILE, OUT)
        threading.Timer(0.1, lambda: here.put(b"mine", MQMD(msg_id=wanted, persistence=0), OUT)).start()
        assert b"mine" == there.get(GET_OUT, msg_id=wanted, wait_ms=10_000).body
        assert b"other" == there.get(GET_OUT).body


def test_two_waiting_getters_of_a_member_get_both_messages(members, settings, tmp_path):
    """The structure tells once that it is not empty; whoever gets something wakes the next."""
    one, two = members
    got = []
    other = quaestor.connect("QM2", tmp_path / "QM2", user="BOB")

    def get(app):
        with app.open("ORDERS", USES) as queue:
            got.append(queue.get(GET_OUT, wait_ms=10_000).body)

    getters = [threading.Thread(target=get, args=(app,)) for app in (two, other)]
    for getter in getters:
        getter.start()
    time.sleep(0.2)  # noqa: TID251 - both wait now
    with one.open("ORDERS", USES) as here:
        here.put(b"1", VOLATILE, IN)
        here.put(b"2", VOLATILE, IN)
        one.commit()
    for getter in getters:
        getter.join(10)
    assert [b"1", b"2"] == sorted(got)
    other.disconnect()


@pytest.mark.parametrize("kind", [TriggerType.FIRST, TriggerType.DEPTH, TriggerType.EVERY])
def test_a_message_triggers_where_there_is_a_trigger_monitor(members, kind):
    """FIRST and DEPTH where the message is noticed, EVERY where it is put."""
    one, two = members
    monitored = one if kind is TriggerType.EVERY else two
    monitored.define(LocalQueue("INIT", share=True, def_exclusive=False))
    monitored.define(Process("SERVE", appl_id="serve"))
    one.define(
        LocalQueue(
            f"WORK.{kind.name}",
            structure="APPL1",
            share=True,
            def_exclusive=False,
            trigger=True,
            trigger_type=kind,
            trigger_depth=2,
            initiation_queue="INIT",
            process="SERVE",
        )
    )
    with monitored.open("INIT", USES) as init, one.open(f"WORK.{kind.name}", USES) as work:
        monitored.open(f"WORK.{kind.name}", quaestor.OpenOptions.OUTPUT).close()
        work_is_known(monitored)
        for body in (b"1", b"2"):
            work.put(body, VOLATILE, IN)
            one.commit()
        assert f"WORK.{kind.name}" == TriggerMessage.unpack(init.get(GET_OUT, wait_ms=10_000).body).q_name


def work_is_known(app):
    """Definitions of others are followed twice a second."""
    assert app.connected
    time.sleep(0.8)  # noqa: TID251 - as long as a user would see


DIES = """
import sys, time, quaestor
from quaestor import GroupSettings, MQMD, OpenOptions, GetOptions
name, directory, group, structures, repository = sys.argv[1:]
app = quaestor.connect(name, directory, group=GroupSettings(group, structures, repository), user="ALICE")
queue = app.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT)
queue.get(GetOptions.SYNCPOINT)
queue.put(b"never", MQMD(persistence=1))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.slow
def test_a_killed_process_is_recovered_by_a_peer_while_a_get_waits(members, settings, tmp_path):
    one, _ = members
    with one.open("ORDERS", USES) as queue:
        queue.put(b"confirmed", PERSISTENT, OUT)
        program = [sys.executable, "-c", DIES, "QM3", str(tmp_path / "QM3")]
        group = [settings.name, settings.structures, settings.repository]
        with subprocess.Popen(
            program + group, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SRC)}
        ) as process:
            assert b"ready\n" == process.stdout.readline()
            with pytest.raises(MQError, match="2033"):
                queue.get(GET_OUT)
            process.send_signal(signal.SIGKILL)
        again = queue.get(GET_OUT, wait_ms=20_000)
        assert (b"confirmed", 1) == (again.body, again.backout_count)
        assert 0 == queue.inquire("CURDEPTH")["CURDEPTH"]


def test_a_queue_manager_that_joined_stays_a_member(members, settings, tmp_path):
    """The group is kept in its directory; another group is refused."""
    _, two = members
    two.disconnect()
    again = quaestor.connect("QM2", tmp_path / "QM2", user="ALICE")
    with again.open("ORDERS", USES) as queue:
        queue.put(b"x", VOLATILE, OUT)
    again.disconnect()
    other = GroupSettings("ELSE", settings.structures, settings.repository)
    with pytest.raises(MQError, match="2059"):
        quaestor.connect("QM2", tmp_path / "QM2", group=other)
    as_measured = replace(settings, requests="mp1b")  # its own affair (GS1): no other group
    members[1] = quaestor.connect("QM2", tmp_path / "QM2", user="ALICE", group=as_measured)
    assert as_measured == group_in(tmp_path / "QM2")
    with pytest.raises(MQError, match=r"2046.*one_of='fewest, mp1b'"):
        replace(settings, requests="most")


def test_long_messages_go_through_the_repository(settings, tmp_path):
    """CFLEVEL(4): each member gets what the other put, and the bodies go in the background."""
    tables = open_tables(settings.repository, settings.name)
    GroupTables(tables).structures.insert(Structure("LONG", {"SIZE": 4096, "CFLEVEL": 4}))
    one, two = (quaestor.connect(name, tmp_path / name, settings=SMALL, group=settings) for name in ("QM1", "QM2"))
    one.define(LocalQueue("LETTERS", structure="LONG", share=True, def_exclusive=False))
    bodies = [bytes([at]) * 600_000 for at in range(4)]
    with one.open("LETTERS", USES) as here, two.open("LETTERS", USES) as there:
        for at, body in enumerate(bodies):
            (here, there)[at % 2].put(body, VOLATILE, OUT)
        assert 4 == len(tables.bodies("LONG"))
        assert bodies == [(there, here)[at % 2].get(GET_OUT).body for at in range(4)]
    until, for_a_moment = time.monotonic() + 10, threading.Event()
    while tables.bodies("LONG") and time.monotonic() < until:
        for_a_moment.wait(0.05)
    assert [] == tables.bodies("LONG")
    for app in (one, two):
        app.disconnect()
    tables.close()


READS = """
import sys, quaestor
from quaestor import GroupSettings
from quaestor.mqi.options import OpenOptions
name, folder, *group = sys.argv[1:]
app = quaestor.connect(name, folder, group=GroupSettings(*group))
queue = app.open("ORDERS", OpenOptions.INPUT_EXCLUSIVE)
print("reads", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_exclusive_input_of_a_killed_process_is_given_back(members, settings, tmp_path):
    program = [sys.executable, "-c", READS, "QM3", str(tmp_path / "QM3")]
    group = [settings.name, settings.structures, settings.repository]
    with subprocess.Popen(
        program + group, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SRC)}
    ) as process:
        assert b"reads\n" == process.stdout.readline()
        for app in members:
            with pytest.raises(MQError, match=r"2042.*QM3"):
                app.open("ORDERS", USES)
        process.send_signal(signal.SIGKILL)
    until, for_a_moment = time.monotonic() + 20, threading.Event()
    while time.monotonic() < until:
        try:
            members[0].open("ORDERS", OpenOptions.INPUT_EXCLUSIVE)
            break
        except MQError:
            for_a_moment.wait(0.05)
    with pytest.raises(MQError, match=r"2042.*QM1"):
        members[1].open("ORDERS", USES)
