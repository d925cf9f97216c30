"""The asyncio face: the same answers, and nothing that blocks the loop."""

import asyncio

import pytest

from model.answers import fails
from qmgr.small import EVERYTHING
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.qmgr.connection import AsyncConnection

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT


def talk(qm, conversation):
    """Run a conversation of an asyncio application with an open queue."""

    async def main():
        async with AsyncConnection(qm.connect()) as app:
            await app.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
            async with await app.open("ORDERS", EVERYTHING) as orders:
                await conversation(app, orders)

    asyncio.run(asyncio.wait_for(main(), 30))


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("put_options", [PutOptions.NONE, NOW])
@pytest.mark.parametrize("get_options", [GetOptions.NONE, GET_NOW])
def test_put_and_get(qm, persistence, put_options, get_options):
    async def conversation(app, orders):
        await orders.put("x", MQMD(persistence=persistence), put_options)
        await app.commit()
        assert (await orders.browse(GetOptions.BROWSE_FIRST)).text == "x"
        assert (await orders.get(get_options)).text == "x"
        await app.commit()
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get(get_options)

    talk(qm, conversation)


def test_backout_inquire_set_and_put1(qm):
    async def conversation(app, orders):
        await app.put1("ORDERS", "x")
        await app.backout()
        assert await orders.inquire("CURDEPTH") == {"CURDEPTH": 0}
        await orders.put("x", MQMD(priority=12), NOW)
        assert app.warning.reason is Reason.PRIORITY_EXCEEDS_MAXIMUM
        await orders.set(GET="DISABLED")
        with fails(Reason.GET_INHIBITED):
            await orders.get()

    talk(qm, conversation)


def test_many_getters_wait_without_threads(qm):
    async def conversation(app, orders):
        handles = [await app.open("ORDERS", EVERYTHING) for _ in range(20)]
        waiting = [asyncio.create_task(handle.get(wait_ms=20_000)) for handle in handles]
        await asyncio.sleep(0)
        for n in range(20):
            await orders.put(str(n))
        await app.commit()
        assert sorted(message.text for message in await asyncio.gather(*waiting)) == sorted(map(str, range(20)))

    talk(qm, conversation)


def test_waits_end_by_time_by_inhibit_and_by_cancelling(qm):
    async def conversation(app, orders):
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get(wait_ms=5)
        with fails(Reason.WAIT_INTERVAL_ERROR):
            await orders.get(wait_ms=-2)
        waiting = asyncio.create_task(orders.get(wait_ms=-1))
        await asyncio.sleep(0)
        await orders.set(GET=False)
        with fails(Reason.GET_INHIBITED):
            await waiting
        await orders.set(GET=True)
        waiting = asyncio.create_task(orders.get(wait_ms=-1, correl_id=b"K"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not qm.messages.catalogue.anybody_waits

    talk(qm, conversation)


def test_an_exception_backs_out_and_the_end_commits(qm):
    async def put(body, error):
        async with AsyncConnection(qm.connect()) as app:
            await app.put1("ORDERS", body)
            if error:
                raise error

    qm.queue("ORDERS")
    asyncio.run(put("kept", None))
    with pytest.raises(KeyError):
        asyncio.run(put("lost", KeyError()))
    with qm.connect() as app, app.open("ORDERS", EVERYTHING) as orders:
        assert orders.get().text == "kept"
        with fails(Reason.NO_MSG_AVAILABLE):
            orders.get()
