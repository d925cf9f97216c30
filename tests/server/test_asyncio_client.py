"""A client for asyncio: many calls on one link, and calls that are cancelled."""

import asyncio

import pytest

import quaestor
from model.answers import fails
from quaestor import MQMD, GetOptions, LocalQueue, MQError, OpenOptions, PutOptions, Reason
from quaestor.mqi.options import MatchOptions
from quaestor.server.client import asynchronous
from quaestor.server.client.opening import hello_of

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
BOTH = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT
PERSISTENT = MQMD(persistence=1)


def talk(server, conversation):
    async def main():
        async with await asynchronous.connect(server.place, hello_of("QM1", None, None, "test")) as app:
            await app.define(LocalQueue("ORDERS", share=True, def_exclusive=False), replace=True)
            async with await app.open("ORDERS", BOTH | OpenOptions.INQUIRE | OpenOptions.SET) as orders:
                await conversation(app, orders)

    asyncio.run(asyncio.wait_for(main(), 30))


def test_put_get_commit_and_backout(server):
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


def test_puts_many_messages_in_one_call(server):
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


def test_many_getters_wait_on_one_connection(server):
    async def conversation(app, orders):
        handles = [await app.open("ORDERS", BOTH) for _ in range(20)]
        waiting = [asyncio.create_task(handle.get(wait_ms=20_000)) for handle in handles]
        await asyncio.sleep(0.05)
        for n in range(20):
            await orders.put(str(n))
        await app.commit()
        assert sorted(m.text for m in await asyncio.gather(*waiting)) == sorted(map(str, range(20)))

    talk(server, conversation)


def test_a_cancelled_get_loses_nothing(server):
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


def test_a_message_on_its_way_to_a_cancelled_get_is_the_next_ones(server):
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


def test_a_cancelled_browse_leaves_nothing_behind(server):
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


def test_what_a_cancelled_get_left_is_found_by_its_identifier(server):
    async def conversation(_app, orders):
        await cancelled(orders.get(GET_NOW, wait_ms=-1), server, "x")
        await orders.inquire("CURDEPTH")
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get(GET_NOW, correl_id=b"X" * 24)
        with fails(Reason.TRUNCATED_MSG_FAILED):
            await orders.get(GET_NOW, max_length=0)
        assert (await orders.get(GET_NOW, match=MatchOptions.NONE, correl_id=b"X" * 24)).text == "x"

    talk(server, conversation)


def test_what_a_cancelled_get_left_is_not_backed_out_after_its_commit(server):
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


def test_what_came_for_a_cancelled_get_with_a_mark_is_not_lost(server):
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


def test_a_get_that_waits_already_returns_what_a_cancelled_one_left(server):
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


def test_who_has_too_little_room_leaves_it_to_the_next(server):
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
def test_a_get_that_is_cancelled_with_its_message_in_its_hands_loses_nothing(server, turns):
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


def test_what_was_got_in_syncpoint_is_for_gets_in_syncpoint(server):
    """LA3: out of syncpoint it would be handled, and come again after the back out."""

    async def conversation(app, orders):
        await cancelled(orders.get(wait_ms=-1), server, "x")
        await orders.inquire("CURDEPTH")
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get(GET_NOW)
        await app.backout()
        assert (await orders.get(GET_NOW)).text == "x"

    talk(server, conversation)


def test_what_a_get_in_syncpoint_returned_comes_back_when_it_is_backed_out(server):
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


def test_a_commit_that_is_backed_out_gives_up_what_was_got(server, monkeypatch):
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


def test_a_backout_gives_up_what_comes_in_front_of_its_answer(server):
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


def test_a_queue_whose_open_was_cancelled_is_closed(server):
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
