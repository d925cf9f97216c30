"""What a client has beside the calls of the MQI: asynchronous puts, read ahead, shared links, asyncio."""

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
from quaestor.mqi.options import MatchOptions
from quaestor.qmgr.connection import Handle as EngineHandle
from quaestor.server.client import asynchronous
from quaestor.server.client.opening import hello_of

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


# -- asyncio


def talk(server, conversation):
    async def main():
        async with await asynchronous.connect(server.place, hello_of("QM1", None, None, "test")) as app:
            await app.define(LocalQueue("ORDERS", share=True, def_exclusive=False), replace=True)
            async with await app.open("ORDERS", BOTH | OpenOptions.INQUIRE | OpenOptions.SET) as orders:
                await conversation(app, orders)

    asyncio.run(asyncio.wait_for(main(), 30))


def test_asyncio_put_get_commit_and_backout(server):
    async def conversation(app, orders):
        await orders.put("x", PERSISTENT)
        await app.commit()
        assert (await orders.get()).text == "x"
        await app.backout()
        assert (await orders.get(GET_NOW)).backout_count == 1
        await orders.put("y", MQMD(priority=12), NOW)
        assert app.warning.reason is Reason.PRIORITY_EXCEEDS_MAXIMUM
        assert await orders.inquire("CURDEPTH") == {"CURDEPTH": 1}
        await app.put1("ORDERS", "z")

    talk(server, conversation)


def test_asyncio_puts_many_messages_in_one_call(server):
    async def conversation(app, orders):
        bodies = [b"%d" % number for number in range(600)]
        put = await orders.put_all(bodies, PERSISTENT)
        assert len({message.msg_id for message in put}) == 600
        await app.commit()
        assert [(await orders.get(GET_NOW)).body for _ in bodies] == bodies
        await orders.set(PUT="DISABLED")
        with pytest.raises(MQError) as refused:
            await orders.put_all(["x", "y"], PERSISTENT, NOW)
        assert (refused.value.reason, refused.value.facts["put"]) == (Reason.PUT_INHIBITED, 0)
        later = PutOptions.ASYNC_RESPONSE
        await orders.set(PUT="ENABLED")
        for options in (NOW, later):
            with pytest.raises(MQError) as one:
                await orders.put_all("order", PERSISTENT, options)
            assert one.value.reason is Reason.BUFFER_ERROR
        assert len(await orders.put_all(["x", "y"], PERSISTENT, later)) == 2
        await app.commit()
        assert [(await orders.get(GET_NOW)).text for _ in range(2)] == ["x", "y"]

    talk(server, conversation)


def test_asyncio_many_getters_wait_on_one_connection(server):
    async def conversation(app, orders):
        handles = [await app.open("ORDERS", BOTH) for _ in range(20)]
        waiting = [asyncio.create_task(handle.get(wait_ms=20_000)) for handle in handles]
        await asyncio.sleep(0.05)
        for n in range(20):
            await orders.put(str(n))
        await app.commit()
        assert sorted(m.text for m in await asyncio.gather(*waiting)) == sorted(map(str, range(20)))

    talk(server, conversation)


def test_asyncio_a_cancelled_get_loses_nothing(server):
    async def conversation(app, orders):
        waiting = asyncio.create_task(orders.get(GET_NOW, wait_ms=-1))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await orders.put("x", None, NOW)
        assert (await orders.get(GET_NOW, wait_ms=1000)).text == "x"
        assert 0 == len(server.manager.messages.catalogue.state("ORDERS").waiters)

    talk(server, conversation)


def test_asyncio_a_message_on_its_way_to_a_cancelled_get_is_the_next_ones(server):
    async def conversation(app, orders):
        waiting = asyncio.create_task(orders.get(GET_NOW, wait_ms=-1))
        await asyncio.sleep(0.05)
        waiting.cancel()  # the cancelling is not sent before the put below is carried out by another connection

        def put():
            with server.connect() as other:
                other.put("ORDERS", "x", None, NOW)

        put()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await orders.get(GET_NOW, wait_ms=5000)).text == "x"

    talk(server, conversation)


async def cancelled(call, server, put):
    """A call that is cancelled when its answer is on its way."""
    waiting = asyncio.create_task(call)
    await asyncio.sleep(0.05)
    waiting.cancel()  # as above
    if put is not None:
        with server.connect() as other:
            other.put("ORDERS", put, None, NOW)
    with pytest.raises(asyncio.CancelledError):
        await waiting


def test_asyncio_a_cancelled_browse_leaves_nothing_behind(server):
    async def conversation(app, _orders):
        browser = await app.open("ORDERS", BOTH | OpenOptions.BROWSE | OpenOptions.INQUIRE)
        await cancelled(browser.browse(GetOptions.BROWSE_FIRST, wait_ms=-1), server, "x")
        assert (await browser.get(GET_NOW)).text == "x"
        assert await browser.inquire("CURDEPTH") == {"CURDEPTH": 0}
        await cancelled(browser.get(GET_NOW, wait_ms=-1), server, "y")
        await browser.inquire("CURDEPTH")
        with fails(Reason.NO_MSG_AVAILABLE):
            await browser.browse(GetOptions.BROWSE_FIRST)
        assert (await browser.get(GET_NOW)).text == "y"

    talk(server, conversation)


def test_asyncio_what_a_cancelled_get_left_is_found_by_its_identifier(server):
    async def conversation(_app, orders):
        await cancelled(orders.get(GET_NOW, wait_ms=-1), server, "x")
        await orders.inquire("CURDEPTH")
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get(GET_NOW, correl_id=b"X" * 24)
        with fails(Reason.TRUNCATED_MSG_FAILED):
            await orders.get(GET_NOW, max_length=0)
        assert (await orders.get(GET_NOW, match=MatchOptions.NONE, correl_id=b"X" * 24)).text == "x"

    talk(server, conversation)


def test_asyncio_what_a_cancelled_get_left_is_not_backed_out_after_its_commit(server):
    async def conversation(app, orders):
        await cancelled(orders.get(wait_ms=-1), server, "x")
        await orders.inquire("CURDEPTH")
        await app.commit()
        await app.backout()
        assert (await orders.get()).text == "x"
        await app.commit()
        await cancelled(orders.get(GetOptions.SYNCPOINT_IF_PERSISTENT, wait_ms=-1), server, "y")
        await orders.inquire("CURDEPTH")
        await app.backout()
        assert (await orders.get()).text == "y"

    talk(server, conversation)


def test_asyncio_what_came_for_a_cancelled_get_with_a_mark_is_not_lost(server):
    """AC1, LA1: no other get asks for what one with a mark, a group or a cursor does, but it is off the queue."""

    async def conversation(app, orders):
        marked = GetOptions.SYNCPOINT | GetOptions.MARK_SKIP_BACKOUT
        await cancelled(orders.get(marked, wait_ms=-1), server, "x")
        await orders.inquire("CURDEPTH")
        await app.backout()  # which leaves it in the unit
        await app.commit()
        assert (await orders.get(GET_NOW)).text == "x"

    talk(server, conversation)


async def waits(*calls):
    """Tasks of calls that wait, in this order."""
    tasks = [asyncio.create_task(call) for call in calls]
    await asyncio.sleep(0.05)
    return tasks


def test_asyncio_a_get_that_waits_already_returns_what_a_cancelled_one_left(server):
    """LA1, LA2: the one that waits longest for such a message; it waits no more at the queue manager."""

    async def conversation(app, orders):
        left = asyncio.create_task(orders.get(GET_NOW, wait_ms=-1))
        await asyncio.sleep(0.05)
        waiting = await waits(
            orders.get(GET_NOW, wait_ms=-1, correl_id=b"X" * 24),
            orders.get(GET_NOW, wait_ms=5000),
            orders.get(GET_NOW, wait_ms=-1),
        )
        left.cancel()
        with server.connect() as other:
            other.put("ORDERS", "x", None, NOW)
        assert (await waiting[1]).text == "x"
        assert [False, True, False] == [task.done() for task in waiting]
        await orders.inquire("CURDEPTH")
        assert 2 == len(server.manager.messages.catalogue.state("ORDERS").waiters)
        await orders.put("y", None, NOW)
        assert (await waiting[2]).text == "y"
        waiting[0].cancel()

    talk(server, conversation)


def test_asyncio_who_has_too_little_room_leaves_it_to_the_next(server):
    async def conversation(app, orders):
        left = asyncio.create_task(orders.get(GET_NOW, wait_ms=-1))
        await asyncio.sleep(0.05)
        short, enough = await waits(
            orders.get(GET_NOW, wait_ms=-1, max_length=2), orders.get(GET_NOW, wait_ms=5000, max_length=3)
        )
        left.cancel()
        with server.connect() as other:
            other.put("ORDERS", "xyz", None, NOW)
        with fails(Reason.TRUNCATED_MSG_FAILED):
            await short
        assert (await enough).text == "xyz"

    talk(server, conversation)


@pytest.mark.parametrize("turns", range(5))
def test_asyncio_a_get_that_is_cancelled_with_its_message_in_its_hands_loses_nothing(server, turns):
    """AC2: the answer has been read, and the task that waits for it has not gone on yet."""

    async def conversation(app, orders):
        waiting = asyncio.create_task(orders.get(GET_NOW, wait_ms=-1))
        await asyncio.sleep(0.05)
        with server.connect() as other:
            other.put("ORDERS", "x", None, NOW)
            server.wait_for(lambda: not any(c.parked for link in server.service.links for c in conversations(link)))
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        came = await asyncio.gather(waiting, return_exceptions=True)
        if isinstance(came[0], asyncio.CancelledError):
            came = [await orders.get(GET_NOW, wait_ms=5000)]
        assert ["x"] == [message.text for message in came]

    talk(server, conversation)


def conversations(link):
    return tuple(link.conversations.values())


def test_asyncio_what_was_got_in_syncpoint_is_for_gets_in_syncpoint(server):
    """LA3: out of syncpoint it would be handled, and come again after the back out."""

    async def conversation(app, orders):
        await cancelled(orders.get(wait_ms=-1), server, "x")
        await orders.inquire("CURDEPTH")
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get(GET_NOW)
        await app.backout()
        assert (await orders.get(GET_NOW)).text == "x"

    talk(server, conversation)


def test_asyncio_what_a_get_in_syncpoint_returned_comes_back_when_it_is_backed_out(server):
    """LA4: the queue manager does not know the message any more."""

    async def conversation(app, orders):
        await cancelled(orders.get(GET_NOW, wait_ms=-1), server, "x")
        await orders.inquire("CURDEPTH")
        assert (await orders.get()).text == "x"
        await app.backout()
        again = await orders.get()
        assert ("x", 1) == (again.text, again.backout_count)
        await app.commit()
        await app.backout()
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get()

    talk(server, conversation)


def test_asyncio_a_commit_that_is_backed_out_gives_up_what_was_got(server, monkeypatch):
    async def conversation(app, orders):
        await cancelled(orders.get(wait_ms=-1), server, "x")
        await orders.inquire("CURDEPTH")
        (conversation,) = [c for link in server.service.links for c in conversations(link) if c.handles]
        recovery = conversation.connection._recovery

        def refuse(_self, unit):
            recovery.back_out(unit)
            raise MQError(Reason.BACKED_OUT)

        with monkeypatch.context() as patched:
            patched.setattr(type(recovery), "commit", refuse)
            with fails(Reason.BACKED_OUT):
                await app.commit()
        assert [("x", 1)] == [(message.text, message.backout_count) for message in [await orders.get()]]
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get()

    talk(server, conversation)


def test_asyncio_a_backout_gives_up_what_comes_in_front_of_its_answer(server):
    """LA3: the message was sent before the backout was carried out, so it is on its queue again."""

    async def conversation(app, orders):
        waiting = asyncio.create_task(orders.get(wait_ms=-1))
        await asyncio.sleep(0.05)
        with server.connect() as other:
            other.put("ORDERS", "x", None, NOW)
            server.wait_for(lambda: not any(c.parked for link in server.service.links for c in conversations(link)))
        waiting.cancel()
        await app.backout()
        assert await orders.inquire("CURDEPTH") == {"CURDEPTH": 1}
        await orders.get(GET_NOW)
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get()

    talk(server, conversation)


def test_asyncio_a_queue_whose_open_was_cancelled_is_closed(server):
    async def conversation(app, orders):
        await orders.close()
        opening = asyncio.create_task(app.open("ORDERS", OpenOptions.INPUT_EXCLUSIVE))
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await app.inquire()  # the answer to the open has come
        async with await app.open("ORDERS", OpenOptions.INPUT_EXCLUSIVE):
            assert 1 == server.manager.messages.catalogue.state("ORDERS").handles

    talk(server, conversation)


def test_connect_async_by_name_and_by_address(server, monkeypatch):
    monkeypatch.setenv("QUAESTOR_HOME", str(server.home.directory.parent))

    async def main():
        for where in (None, server.address):
            async with await quaestor.connect_async("QM1", where) as app:
                await app.define(LocalQueue("ORDERS"), replace=True)

    asyncio.run(asyncio.wait_for(main(), 30))


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
