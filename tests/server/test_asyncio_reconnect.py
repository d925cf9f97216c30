"""A connection for asyncio that goes on after its link was lost (AR1-AR3, RC1-RC4)."""

import asyncio
from contextlib import asynccontextmanager

import pytest

import quaestor
from quaestor import MQMD, GetOptions, LocalQueue, ModelQueue, MQError, OpenOptions, PutOptions, Reason
from quaestor.mqi.objects import DefinitionType

PERSISTENT = MQMD(persistence=1)
NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
BOTH = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT | OpenOptions.INQUIRE


class Restarting:
    """A server that can be stopped and started while tasks of the event loop work."""

    def __init__(self, serve, home, monkeypatch):
        self.serve, self.server = serve, serve()
        monkeypatch.setenv("QUAESTOR_HOME", str(home.directory.parent))
        with self.server.connect() as app:
            app.define(LocalQueue("ORDERS", share=True, def_exclusive=False, max_depth=100_000))

    async def restart(self):
        await asyncio.to_thread(self.server.stop)
        self.server = await asyncio.to_thread(self.serve)

    @asynccontextmanager
    async def app(self, reconnect_s=30):
        app = await quaestor.connect_async("QM1", reconnect_s=reconnect_s, application="test")
        async with app:
            yield app


@pytest.fixture
def restarting(serve, home, monkeypatch):
    return Restarting(serve, home, monkeypatch)


async def reason_of(call):
    with pytest.raises(MQError) as caught:
        await call
    return caught.value.reason


def test_a_wait_goes_on_over_a_restart(restarting):
    async def work():
        async with restarting.app() as app, await app.open("ORDERS", BOTH) as queue:
            waiting = [asyncio.create_task(queue.get(GET_NOW, wait_ms=30_000)) for _ in range(3)]
            await asyncio.sleep(0.05)
            await restarting.restart()
            async with restarting.app() as putter:
                for number in range(3):
                    await putter.put1("ORDERS", f"{number}", PERSISTENT, NOW)
            return sorted([(await one).text for one in waiting])

    assert ["0", "1", "2"] == asyncio.run(work())


def test_a_unit_that_was_open_is_backed_out_and_somebody_is_told_once(restarting):
    async def work():
        async with restarting.app() as app, await app.open("ORDERS", BOTH) as queue:
            await queue.put("one", PERSISTENT)
            await restarting.restart()
            assert await queue.inquire("CURDEPTH") == {"CURDEPTH": 0}  # outside the unit: does not speak of it
            assert await reason_of(app.commit()) is Reason.BACKED_OUT
            await queue.put("two", PERSISTENT)
            await queue.put("three", PERSISTENT)
            await restarting.restart()
            assert await reason_of(queue.put("four", PERSISTENT)) is Reason.BACKED_OUT
            await queue.put("five", PERSISTENT)
            await app.commit()
            return [(await queue.get(GET_NOW)).text, await queue.inquire("CURDEPTH")]

    assert ["five", {"CURDEPTH": 0}] == asyncio.run(work())


def test_the_first_call_of_a_unit_is_made_again(restarting):
    async def work():
        async with restarting.app() as app, await app.open("ORDERS", BOTH) as queue:
            await restarting.restart()
            await queue.put("one", PERSISTENT)
            await app.commit()
            await restarting.restart()
            await app.backout()
            return (await queue.get(GET_NOW)).text

    assert "one" == asyncio.run(work())


def test_a_put_out_of_syncpoint_is_not_repeated(restarting):
    async def work():
        async with restarting.app() as app, await app.open("ORDERS", BOTH) as queue:
            await restarting.restart()
            assert await reason_of(queue.put("one", PERSISTENT, NOW)) is Reason.CALL_INTERRUPTED
            await queue.put("two", PERSISTENT, NOW)

    asyncio.run(work())


def test_a_handle_is_asked_under_the_number_it_has_afterwards(restarting):
    async def work():
        async with restarting.app() as app:
            first, second = await app.open("ORDERS", OpenOptions.OUTPUT), await app.open("ORDERS", BOTH)
            await first.close()
            await restarting.restart()
            return await second.inquire("CURDEPTH"), await second.inquire("MAXDEPTH")

    assert ({"CURDEPTH": 0}, {"MAXDEPTH": 100_000}) == asyncio.run(work())


def test_what_was_read_ahead_is_there_after_the_link_was_made_again(restarting):
    """AR3: it is off the queue, so nobody else has it."""

    async def work():
        async with restarting.app() as app, await app.open("ORDERS", BOTH | OpenOptions.READ_AHEAD) as queue:
            await queue.put_all(["one", "two", "three"], None, NOW)
            assert (await queue.get(GET_NOW)).text == "one"
            await queue.inquire("CURDEPTH")  # what was sent ahead has come
            await restarting.restart()
            await queue.put("four", PERSISTENT)
            await app.commit()
            return [(await queue.get(GET_NOW)).text for _ in range(3)]

    assert ["two", "three", "four"] == asyncio.run(work())


def test_a_link_that_is_lost_again_while_it_is_made_is_made_once_more(restarting):
    """RC1: the new link is cut before the connection is known on it, twice."""

    async def work():
        async with restarting.app() as app, await app.open("ORDERS", BOTH) as queue:
            new_link, made = app._new_link, []

            async def soon_lost():
                link = await new_link()
                made.append(link)
                if len(made) < 3:
                    link._transport.abort()
                return link

            app._new_link = soon_lost
            app._link._transport.abort()
            await queue.put("kept", PERSISTENT)
            await app.commit()
            return len(made), (await queue.get(GET_NOW)).text

    assert (3, "kept") == asyncio.run(work())


def test_it_gives_up_in_time(restarting):
    async def work():
        app = await quaestor.connect_async("QM1", reconnect_s=0.3, application="test")
        await asyncio.to_thread(restarting.server.stop)
        assert await reason_of(app.put1("ORDERS", "x", None, NOW)) is Reason.Q_MGR_NOT_AVAILABLE
        assert await reason_of(app.put1("ORDERS", "x", None, NOW)) is Reason.HCONN_ERROR

    asyncio.run(work())


def test_restarts_in_the_middle_of_the_load_lose_and_double_nothing(restarting):
    each, confirmed, got = 30, [], []

    async def unit(work):
        while True:
            try:
                return await work()
            except MQError as error:
                if error.reason is not Reason.BACKED_OUT:
                    raise

    async def put(number):
        async with restarting.app() as app, await app.open("ORDERS", OpenOptions.OUTPUT) as queue:
            for n in range(each):

                async def one(n=n):
                    await asyncio.gather(*(queue.put(f"{number}-{n}{part}", PERSISTENT) for part in "ab"))
                    await app.commit()

                await unit(one)
                confirmed.extend((f"{number}-{n}a", f"{number}-{n}b"))
                await asyncio.sleep(0.01)

    async def get():
        async with restarting.app() as app, await app.open("ORDERS", OpenOptions.INPUT_SHARED) as queue:
            while len(got) < 3 * each * 2:

                async def one():
                    try:
                        message = await queue.get(wait_ms=100)
                    except MQError as error:
                        if error.reason is Reason.NO_MSG_AVAILABLE:
                            return
                        raise
                    await app.commit()
                    got.append(message.text)

                await unit(one)

    async def restart():
        for _ in range(3):
            await asyncio.sleep(0.2)
            await restarting.restart()

    async def work():
        async with asyncio.timeout(60):
            await asyncio.gather(*(put(number) for number in range(3)), get(), get(), restart())

    asyncio.run(work())
    expected = sorted(f"{number}-{n}{part}" for number in range(3) for n in range(each) for part in "ab")
    assert expected == sorted(confirmed)
    assert expected == sorted(got)


def test_a_program_that_was_started_again_under_its_name_is_not_told_of_its_older_units(restarting):
    """RC3: as with the blocking client."""

    async def work():
        for _ in range(2):
            async with await quaestor.connect_async("QM1", reconnect_s=30, client="BILLING") as app:
                await app.put1("ORDERS", "kept", PERSISTENT)
                await app.commit()
        async with await quaestor.connect_async("QM1", reconnect_s=30, client="BILLING") as app:
            await app.put1("ORDERS", "lost", PERSISTENT)
            app._link._transport.abort()
            return await reason_of(app.commit())

    assert asyncio.run(work()) is Reason.BACKED_OUT


def test_a_disconnect_whose_commit_is_refused_ends_the_connection(restarting):
    """RC4: nothing of it is left at the server."""

    async def work():
        async with restarting.app() as app:
            await app.alter(LocalQueue, "ORDERS", put_allowed=False)
        app = await quaestor.connect_async("QM1", reconnect_s=30)
        queue = await app.open("ORDERS", OpenOptions.OUTPUT)
        await queue.put(b"refused", PERSISTENT, PutOptions.ASYNC_RESPONSE)
        reason = await reason_of(app.disconnect())
        await asyncio.to_thread(restarting.server.idle)
        return reason, app.connected

    assert asyncio.run(work()) == (Reason.PUT_INHIBITED, False)


@pytest.mark.parametrize("kind", [DefinitionType.PERMDYN, DefinitionType.TEMPDYN])
def test_a_dynamic_queue_has_its_name_on_the_new_link(restarting, kind):
    """RC1."""

    async def work():
        async with restarting.app() as app:
            await app.define(ModelQueue("ANSWERS.MODEL", definition=kind))
            queue = await app.open("ANSWERS.MODEL", BOTH, dynamic_name="ANSWERS.*")
            name = queue.name
            await restarting.restart()
            await queue.put("x")
            await app.commit()
            assert (name, "x") == (queue.name, (await queue.get(GET_NOW)).text)
            with restarting.server.connect() as operator:
                return len(operator.mqsc("DISPLAY QLOCAL(ANSWERS.*)")["rows"])

    assert 1 == asyncio.run(work())


def test_no_link_is_made_again_to_give_a_unit_up(restarting):
    """RC4: the application's exception comes at once."""

    async def work():
        async with restarting.app(reconnect_s=60) as app:
            await app.put1("ORDERS", "given up", PERSISTENT)
            await asyncio.to_thread(restarting.server.stop)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(asyncio.wait_for(work(), 20))


def test_puts_that_nobody_answered_are_told_of_when_their_link_is_lost(restarting):
    """RC4: 2549, once; what was answered behind them has proved that they came about."""

    async def work():
        later = NOW | PutOptions.ASYNC_RESPONSE
        async with restarting.app() as app, await app.open("ORDERS", BOTH) as queue:
            await queue.put(b"known", PERSISTENT, later)
            await queue.inquire("CURDEPTH")
            app._link._transport.abort()
            assert await queue.inquire("CURDEPTH") == {"CURDEPTH": 1}
            await queue.put(b"not known", PERSISTENT, later)
            app._link._transport.abort()
            reasons = [await reason_of(queue.inquire("CURDEPTH"))]
            await queue.put(b"not known", PERSISTENT, later)
            app._link._transport.abort()
            reasons.append(await reason_of(queue.put("first of a unit", PERSISTENT)))
            await queue.put(b"not known", PERSISTENT, later)
            app._link._transport.abort()
            reasons.append(await reason_of(app.commit()))
            await queue.put("first of a unit", PERSISTENT)
            await app.commit()
            return reasons

    assert asyncio.run(work()) == [Reason.CALL_INTERRUPTED] * 3
