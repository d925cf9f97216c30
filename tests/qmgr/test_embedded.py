"""Embedded use: a queue manager in this process, shared by its threads and refused to others."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

import quaestor
from model.answers import fails
from quaestor import GetOptions, LocalQueue, MQError, OpenOptions, PutOptions, Reason
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.storage.real_disk import owner_of
from quaestor.testing import SMALL

SRC = str(Path(quaestor.__file__).parents[1])


def connect(directory, name="QM1", **more):
    return quaestor.connect(name, directory, settings=SMALL, **more)


@pytest.fixture
def orders(tmp_path):
    with connect(tmp_path) as app:
        app.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
    return tmp_path


@pytest.mark.parametrize(
    ("program", "told"), [("/opt/billing.py", "billing.py"), ("-c", "python"), ("-", "python"), ("", "python")]
)
def test_an_application_is_called_after_its_program(orders, monkeypatch, program, told):
    """In accounts, "-" and "-c" would be read as names that could not be found out."""
    monkeypatch.setattr(sys, "argv", [program])
    with connect(orders) as app:
        app.put("ORDERS", "whose", None, PutOptions.NO_SYNCPOINT)
        assert told == app.get("ORDERS").descriptor.put_appl_name.strip()
    with connect(orders, application="-") as app:  # who gives a name has it
        app.put("ORDERS", "whose", None, PutOptions.NO_SYNCPOINT)
        assert "-" == app.get("ORDERS").descriptor.put_appl_name.strip()


def test_put_get_commit_over_a_restart(orders):
    with connect(orders) as app:
        app.put("ORDERS", "persistent", quaestor.MQMD(persistence=1))
        app.put("ORDERS", "not persistent", quaestor.MQMD(persistence=0))
    with connect(orders) as app, app.open("ORDERS") as queue:
        assert queue.get().text == "persistent"
        with fails(Reason.NO_MSG_AVAILABLE):
            queue.get()


@pytest.mark.parametrize("refused", ["a\ud800", "MALLORY"], ids=["no text", "without a profile"])
def test_a_queue_manager_that_was_started_for_nobody_is_not_kept(orders, refused):
    """EM1: it would stay up, and its directory in use, as long as the process that was refused."""
    (orders / "profiles").write_text("connect QM1 ALICE read\n")
    with fails(Reason.NOT_AUTHORIZED):
        connect(orders, user=refused)
    assert None is owner_of(orders)
    with connect(orders, user="ALICE") as app:
        with fails(Reason.NOT_AUTHORIZED):
            connect(orders, user=refused)
        assert app.connected  # one that somebody uses stays


def test_all_connections_of_a_process_share_the_queue_manager(orders):
    with connect(orders) as one, connect(orders) as two:
        one.put("ORDERS", "x", options=PutOptions.NO_SYNCPOINT)
        assert two.get("ORDERS").text == "x"


def test_a_directory_belongs_to_one_queue_manager(orders):
    with fails(Reason.Q_MGR_NAME_ERROR):
        connect(orders, "QM2")
    with connect(orders), fails(Reason.Q_MGR_NAME_ERROR):
        connect(orders, "QM2")
    with fails(Reason.Q_MGR_NAME_ERROR):
        connect(orders, "BAD NAME")


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        connect(tmp_path / "file")


OTHER_PROCESS = """
import sys, quaestor
try:
    quaestor.connect("QM1", sys.argv[1])
except quaestor.MQError as error:
    print(int(error.reason), error.facts["in_use"])
"""


def test_a_second_process_is_told_who_has_it(orders):
    with connect(orders):
        out = subprocess.run(
            [sys.executable, "-c", OTHER_PROCESS, str(orders)],
            env={**os.environ, "PYTHONPATH": SRC},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert out.startswith("2059 ")
    assert str(os.getpid()) in out


def test_a_forked_child_has_no_connection(orders):
    with connect(orders) as app:
        app.put("ORDERS", "parent's", quaestor.MQMD(persistence=1))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                app.put("ORDERS", "child's")
            except MQError as error:
                code = 0 if error.reason is Reason.CONNECTION_BROKEN else 2
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        app.commit()
        assert app.get("ORDERS").text == "parent's"


def test_many_threads_put_and_get_every_message_once(orders):
    each, got = 50, []

    def put(number):
        with connect(orders) as app, app.open("ORDERS", OpenOptions.OUTPUT) as queue:
            for n in range(each):
                queue.put(f"{number}-{n}")
                if n % 5 == 4:
                    app.commit()

    def get():
        with connect(orders) as app, app.open("ORDERS", OpenOptions.INPUT_SHARED) as queue:
            for _ in range(each):
                got.append(queue.get(wait_ms=20_000).text)
                app.commit()

    with connect(orders):
        threads = [Thread(target=put, args=(n,)) for n in range(4)] + [Thread(target=get) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sorted(got) == sorted(f"{number}-{n}" for number in range(4) for n in range(each))


def test_asyncio_put_get_commit(orders):
    async def talk():
        async with await quaestor.connect_async("QM1", orders, settings=SMALL) as app:
            queue = await app.open("ORDERS")
            waiting = asyncio.create_task(queue.get(GetOptions.NO_SYNCPOINT, wait_ms=20_000))
            await asyncio.sleep(0.01)
            await queue.put("x")
            assert not waiting.done()
            await app.commit()
            assert (await waiting).text == "x"
            with fails(Reason.NO_MSG_AVAILABLE):
                await queue.get(wait_ms=5)
            with fails(Reason.NO_MSG_AVAILABLE):
                await queue.get()

    asyncio.run(talk())


def test_asyncio_a_cancelled_connect_leaves_no_connection(orders, monkeypatch):
    """AS3: the thread goes on, and nobody would end what it has connected."""
    begun, go, start = Event(), Event(), QueueManager.start

    def slow(manager):
        begun.set()
        assert go.wait(10)
        return start(manager)

    monkeypatch.setattr(QueueManager, "start", slow)

    async def talk():
        connecting = asyncio.create_task(quaestor.connect_async("QM1", orders, settings=SMALL))
        await asyncio.to_thread(begun.wait, 10)
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        assert None is not owner_of(orders)
        go.set()
        for _ in range(500):
            if owner_of(orders) is None:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("it is still there")

    asyncio.run(asyncio.wait_for(talk(), 10))


def test_asyncio_a_cancelled_getter_wakes_the_next(orders):
    async def talk():
        async with await quaestor.connect_async("QM1", orders, settings=SMALL) as app:
            first, second = [await app.open("ORDERS", OpenOptions.INPUT_SHARED) for _ in range(2)]
            sink = await app.open("ORDERS", OpenOptions.OUTPUT)
            tasks = [asyncio.create_task(queue.get(wait_ms=20_000)) for queue in (first, second)]
            await asyncio.sleep(0.01)
            sink._handle.put("x", None, PutOptions.NO_SYNCPOINT)  # wakes the first, which has not run yet
            tasks[0].cancel()
            cancelled, message = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(cancelled, asyncio.CancelledError)
            assert message.text == "x"

    asyncio.run(talk())


def test_a_queue_manager_stops_with_its_last_connection_and_starts_again(orders):
    for n in range(3):
        with connect(orders) as app:
            app.put("ORDERS", str(n), quaestor.MQMD(persistence=1))
    with connect(orders) as app, app.open("ORDERS") as queue:
        assert ["0", "1", "2"] == [queue.get().text for _ in range(3)]


def test_security_profiles_of_the_directory(orders):
    (orders / "profiles").write_text("connect * * read\nqueue ORDERS * read\nqueue ORDERS ALICE update\n")
    with connect(orders, user="ALICE") as alice, connect(orders, user="BOB") as bob:
        alice.put("ORDERS", "x", options=PutOptions.NO_SYNCPOINT)
        with fails(Reason.NOT_AUTHORIZED):
            bob.put("ORDERS", "y")
        assert bob.open("ORDERS", OpenOptions.BROWSE).browse().text == "x"
        with fails(Reason.NOT_AUTHORIZED):
            alice.define(LocalQueue("MORE"))


@pytest.mark.parametrize(
    ("name", "damage", "what_to_do"),
    [
        ("pageset-01", lambda contents: contents[: len(contents) // 2], "restore its image copy"),
        ("pageset-01", None, "restore its image copy"),
        ("pageset-00", lambda contents: b"\xff" * 4096 + contents[4096:], "page 0 of page set 0 is not whole"),
        ("BSDS1", lambda contents: b"\xff" * len(contents), "put one back, or cold start"),
        ("log1-01", lambda contents: contents[:4096], "put it back"),
        ("log1-01", None, "put it back"),
    ],
)
def test_damaged_files_are_named_with_what_to_do(orders, name, damage, what_to_do):
    path = orders / name
    contents = path.read_bytes()
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(contents))
    with fails(Reason.Q_MGR_NOT_AVAILABLE) as caught:
        connect(orders)
    assert what_to_do in caught.value.facts["why"]
    path.write_bytes(contents)
    with connect(orders) as app:
        app.put("ORDERS", "all is well again")


def test_bad_profiles_are_named(orders):
    (orders / "profiles").write_text("queue ORDERS ALICE sometimes")
    with fails(Reason.Q_MGR_NOT_AVAILABLE) as caught:
        connect(orders)
    assert "line 1" in caught.value.facts["why"]
    (orders / "profiles").unlink()
    connect(orders).disconnect()


def test_a_user_without_a_name_is_known_by_number(orders, monkeypatch):
    """As in a container that runs under any number."""
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", dict[int, object]().__getitem__)
    with connect(orders) as app:
        app.put1("ORDERS", b"x")
        app.commit()
        assert str(os.getuid()) == app.open("ORDERS", OpenOptions.INPUT_SHARED).get().descriptor.user_identifier


@pytest.mark.parametrize(("name", "left"), [("log1-02", 0), ("log1-02", 5000), ("pageset-01", 0), ("pageset-01", 5000)])
def test_what_cannot_be_started_leaves_no_file_open(tmp_path, name, left):
    """EM5: who tries again until the file is put back, missing or too short, has as many as before."""
    quaestor.connect("QM1", tmp_path, settings=SMALL).disconnect()
    os.truncate(tmp_path / name, left)
    if not left:
        (tmp_path / name).unlink()
    opened = []
    for _ in range(3):
        with fails(Reason.Q_MGR_NOT_AVAILABLE):
            quaestor.connect("QM1", tmp_path, settings=SMALL)
        opened.append(sum(1 for _ in Path("/proc/self/fd").iterdir()))
    assert opened[0] == opened[1] == opened[2]
