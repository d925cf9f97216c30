"""What a client has beside the calls of the MQI: asynchronous puts, read ahead, shared links."""

import asyncio
import getpass
import re
import threading
from pathlib import Path

import pytest

import quaestor
from model.answers import bodies, drain, fails
from quaestor import MQMD, GetOptions, LocalQueue, MQError, OpenOptions, PutOptions, Reason
from quaestor.mqi.calls import QueueConnection, QueueHandle
from quaestor.mqi.objects import MESSAGE_MAX
from quaestor.qmgr.connection import Handle as EngineHandle

NOW, GET_NOW, LATER = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT, PutOptions.ASYNC_RESPONSE
BOTH = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT
PERSISTENT = MQMD(persistence=1)


@pytest.fixture
def app(server):
    with server.connect() as app:
        app.define(LocalQueue("ORDERS", share=True, def_exclusive=False, max_depth=50))
        yield app


@pytest.fixture
def orders(app):
    return app.open("ORDERS", BOTH | OpenOptions.BROWSE | OpenOptions.INQUIRE)


def test_three_doors_have_the_same_calls(app, orders, tmp_path):
    with quaestor.connect("QM1", tmp_path / "other") as embedded:
        embedded.define(LocalQueue("ORDERS"))
        for connection in (embedded, app):
            assert isinstance(connection, QueueConnection)
        for handle in (embedded.open("ORDERS"), orders):
            assert isinstance(handle, QueueHandle)


@pytest.mark.parametrize("given", ["ORDERS", None, LocalQueue])
def test_what_is_no_definition_is_told_at_each_door(server, app, tmp_path, given):
    async def asyncio_client():
        async with await quaestor.connect_async("QM1", server.address) as client:
            await client.define(given)

    said = f"define takes a definition, such as LocalQueue('ORDERS'), not {given!r}"
    with quaestor.connect("QM1", tmp_path / "other") as embedded:
        for attempt in (
            lambda: embedded.define(given),
            lambda: app.define(given),
            lambda: asyncio.run(asyncio_client()),
        ):
            with pytest.raises(TypeError) as refused:
                attempt()
            assert said == str(refused.value)
        embedded.define(LocalQueue("ORDERS"))  # nothing has failed


def test_asynchronous_puts_and_a_commit_are_one_round_trip(server, app, orders):
    before = server.service.turns
    for n in range(40):
        orders.put(f"{n}".encode(), PERSISTENT, LATER)
    app.commit()
    assert server.service.turns - before <= 2
    assert [str(n) for n in range(40)] == bodies(drain(orders))


def test_the_error_of_an_asynchronous_put_refuses_the_commit(app, orders):
    for n in range(60):
        orders.put(f"{n}".encode(), None, LATER)
    with fails(Reason.Q_FULL):
        app.commit()
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 50}
    app.backout()
    app.commit()
    assert [] == drain(orders)


def test_a_backout_forgets_asynchronous_puts_and_their_error(app, orders):
    for _ in range(60):
        orders.put(b"x", None, LATER)
    app.backout()
    orders.put(b"y", None, LATER)
    app.commit()
    assert ["y"] == bodies(drain(orders))


def test_asynchronous_puts_keep_their_order_descriptors_and_kinds(app, orders):
    orders.put(b"a", PERSISTENT, LATER)
    orders.put("b", None, LATER)
    orders.put(b"c", MQMD(correl_id=b"K" * 24), LATER)
    orders.put(b"d", None, LATER, correl_id=b"L" * 24)
    orders.put(b"e", None, LATER)
    app.commit()
    got = drain(orders)
    assert ["a", "b", "c", "d", "e"] == bodies(got)
    assert [1, 0, 0, 0, 0] == [message.persistence for message in got]
    assert [bytes(24), bytes(24), b"K" * 24, b"L" * 24, bytes(24)] == [message.correl_id for message in got]


def test_read_ahead_stops_at_a_persistent_message(server, app, orders):
    """Non-persistent messages come before they are asked for; a persistent one stays until somebody gets it."""
    for n in range(5):
        orders.put(f"{n}", MQMD(persistence=0), NOW)
    orders.put("kept", PERSISTENT, NOW)
    orders.put("behind", MQMD(persistence=0), NOW)
    reader = app.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.READ_AHEAD)
    assert reader.get(GET_NOW).text == "0"
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 2}
    assert ["1", "2", "3", "4", "kept", "behind"] == bodies(drain(reader))


def test_read_ahead_is_for_gets_out_of_syncpoint_only(app, orders):
    for n in range(3):
        orders.put(f"{n}", None, NOW)
    reader = app.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.READ_AHEAD)
    reader.get()
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 2}
    app.backout()


@pytest.fixture
def reader(app):
    return app.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.BROWSE | OpenOptions.READ_AHEAD)


def test_a_browse_takes_nothing_that_was_read_ahead(orders, reader):
    orders.put_all(["0", "1", "2"], None, NOW)
    assert reader.browse(GetOptions.BROWSE_FIRST | GET_NOW).text == "0"
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 3}
    assert reader.get(GET_NOW).text == "0"
    with fails(Reason.NO_MSG_AVAILABLE):
        reader.browse(GetOptions.BROWSE_FIRST | GET_NOW)
    assert ["1", "2"] == bodies(drain(reader))


def test_what_was_read_ahead_may_be_too_long_too(app, orders, reader):
    orders.put_all(["0", "long", "longer", "last"], None, NOW)
    assert reader.get(GET_NOW).text == "0"
    with fails(Reason.TRUNCATED_MSG_FAILED) as short:
        reader.get(GET_NOW, max_length=2)
    assert ("lo", 4) == (short.value.facts["message"].text, short.value.facts["length"])
    with fails(Reason.BUFFER_LENGTH_ERROR):
        reader.get(GET_NOW, max_length=-1)
    assert reader.get(GET_NOW, max_length=4).text == "long"
    message = reader.get(GET_NOW | GetOptions.ACCEPT_TRUNCATED_MSG, max_length=2)
    assert ("lo", 6) == (message.text, message.original_length)
    assert app.warning.reason is Reason.TRUNCATED_MSG_ACCEPTED
    assert reader.get(GET_NOW).text == "last"
    assert app.warning is None


def test_what_was_read_ahead_keeps_its_descriptor(orders, reader):
    """Answers that were sent behind it are looked at before it."""
    orders.put_all(["0", "1", "2"], MQMD(format="A"), NOW)
    orders.put("asked for", MQMD(persistence=1, format="B", correl_id=b"X" * 24), NOW)
    assert reader.get(GET_NOW).envelope.format == "A"
    assert reader.get(GET_NOW, correl_id=b"X" * 24).envelope.format == "B"
    assert ["A", "A"] == [message.envelope.format for message in drain(reader)]


def test_a_message_that_cannot_be_read_ahead_stays_and_the_others_come(orders, reader, monkeypatch):
    """GE7: its page is not whole, say."""
    orders.put_all(["0", "1", "2"], None, NOW)
    get = EngineHandle.get_nonpersistent
    seen = []

    def damaged(self, room):
        seen.append(room)
        if len(seen) == 2:
            raise MQError(Reason.PAGESET_ERROR)
        return get(self, room)

    monkeypatch.setattr(EngineHandle, "get_nonpersistent", damaged)
    assert reader.get(GET_NOW).text == "0"
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 1}
    assert ["1", "2"] == bodies(drain(reader))


def test_threads_share_one_link(server):
    with server.connect() as app:
        app.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
    got = []

    def work(number):
        with server.connect(shared=True) as app, app.open("ORDERS", BOTH) as queue:
            for n in range(30):
                queue.put(f"{number}-{n}", PERSISTENT)
                app.commit()
                got.append(queue.get(wait_ms=10_000).text)
                app.commit()

    with server.connect(shared=True) as first:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert 1 == first.status()["links"]
    assert sorted(got) == sorted(f"{number}-{n}" for number in range(4) for n in range(30))
    server.idle()


def test_a_get_that_waits_is_woken_and_ends_in_time(server, app, orders):
    with server.connect() as other, other.open("ORDERS", BOTH) as queue:
        with fails(Reason.NO_MSG_AVAILABLE):
            queue.get(wait_ms=30)
        later = threading.Timer(0.05, lambda: orders.put("x", PERSISTENT, NOW))
        later.start()
        assert queue.get(GET_NOW, wait_ms=20_000).text == "x"
        later.join()  # whose put may not be answered yet: its link is one thread's at a time


def test_heartbeats_keep_a_long_wait_alive(server, app, orders):
    """Longer than twice the heartbeat of these tests: the client hears from the server and answers."""
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get(wait_ms=3000)


def test_the_outcome_of_a_numbered_commit_is_known_after_a_restart(serve):
    server = serve()
    with server.connect(client=b"BILLING") as app:
        app.define(LocalQueue("ORDERS"))
        app.put("ORDERS", "one", PERSISTENT)
        app.commit(7)
        assert [True, True, False] == [app.outcome(unit) for unit in (6, 7, 8)]
    server.stop()
    server = serve()
    with server.connect(client=b"BILLING") as app:
        assert [True, False] == [app.outcome(unit) for unit in (7, 8)]
    with server.connect(client=b"OTHER") as app:
        assert not app.outcome(7)


def test_connect_by_name_and_by_address(server, monkeypatch):
    monkeypatch.setenv("QUAESTOR_HOME", str(server.home.directory.parent))
    for where in (None, server.address):
        with quaestor.connect("QM1", where) as app:
            app.define(LocalQueue("ORDERS"), replace=True)
            app.put("ORDERS", "x")
            app.commit()
            assert app.get("ORDERS").text == "x"
    with fails(Reason.Q_MGR_NAME_ERROR):
        quaestor.connect("QM2", server.address)
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        quaestor.connect("QM2")


def test_the_example_of_the_guide_runs(server, monkeypatch, capsys):
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "server.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    monkeypatch.setenv("QUAESTOR_HOME", str(server.home.directory.parent))
    exec(compile(block, "server.md", "exec"), {"__name__": "__main__"})
    assert "one order" in capsys.readouterr().out


def test_commands_go_to_the_command_manager(server):
    """One operation carries MQSC; what runs it is given when the server is built."""

    class Commands:
        def run(self, text, user):
            return type("Reply", (), {"lines": [f"{user}: {text}"], "rows": [{"a": 1}], "ok": True, "members": ()})()

    with server.connect() as app:
        server.service.commands = None
        with fails(Reason.ENVIRONMENT_ERROR):
            app.mqsc("DISPLAY QMGR")
        server.service.commands = Commands()
        reply = app.mqsc("DISPLAY QMGR")
        assert reply == {"lines": [f"{getpass.getuser()}: DISPLAY QMGR"], "rows": [{"a": 1}], "ok": True}


def test_a_disconnect_that_is_refused_ends_its_conversation_on_a_shared_link(server):
    """CV3: the link goes on for the others, so its end is not what ends the unit."""
    with server.connect(shared=True) as first:
        first.define(LocalQueue("ORDERS", max_depth=1))
        second = server.connect(shared=True)
        orders = second.open("ORDERS", OpenOptions.INPUT_EXCLUSIVE | OpenOptions.OUTPUT)
        orders.put(b"one", None, LATER)
        orders.put(b"one too many", None, LATER)
        with fails(Reason.Q_FULL):
            second.disconnect()
        state = server.manager.messages.catalogue.state("ORDERS")
        server.wait_for(lambda: not state.handles)
        assert (0, 0) == (state.stored.depth, state.stored.uncommitted)
        first.put("ORDERS", "x")


def test_a_disconnect_that_cannot_commit_ends_its_conversation_on_a_shared_link(server, monkeypatch):
    with server.connect(shared=True) as first:
        first.define(LocalQueue("ORDERS"))
        second = server.connect(shared=True)
        second.open("ORDERS", OpenOptions.INPUT_EXCLUSIVE | OpenOptions.OUTPUT).put("x")

        def refuse(_self, unit):
            recovery.back_out(unit)
            raise MQError(Reason.BACKED_OUT)

        (conversation,) = [c for link in server.service.links for c in link.conversations.values() if c.handles]
        recovery = conversation.connection._recovery
        with monkeypatch.context() as patched:
            patched.setattr(type(recovery), "commit", refuse)
            with fails(Reason.BACKED_OUT):
                second.disconnect()
        state = server.manager.messages.catalogue.state("ORDERS")
        server.wait_for(lambda: not state.handles)
        assert (0, 0) == (state.stored.depth, state.stored.uncommitted)


def test_an_asynchronous_put_that_is_too_long_for_any_queue_is_refused_at_once(app, orders):
    """RQ1: its frame would end the link."""
    with fails(Reason.MSG_TOO_BIG_FOR_Q_MGR):
        orders.put(bytes(MESSAGE_MAX + (1 << 16)), None, LATER)
    orders.put(b"x", None, LATER)
    app.commit()
    assert ["x"] == bodies(drain(orders))
