"""The asyncio face: the same answers, and nothing that blocks the loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event, get_ident
from types import SimpleNamespace

import pytest

from model.answers import fails
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.mqi.reports import Report
from quaestor.qmgr.connection import AsyncConnection

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT


def talk(qm, conversation):
    """Run a conversation of an asyncio application with an open queue."""

    async def main():
        async with AsyncConnection(qm.connect()) as app:
            qm.queue("ORDERS")
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


@pytest.mark.parametrize("out_of_syncpoint", [0, NOW])
def test_context_is_passed(qm, out_of_syncpoint):
    passing = OpenOptions.SAVE_ALL_CONTEXT | OpenOptions.PASS_ALL_CONTEXT

    async def conversation(app, orders):
        await orders.put("x", None, NOW)
        every = await app.open("ORDERS", EVERYTHING | passing)
        got = await every.get(GET_NOW)
        options = PutOptions.PASS_ALL_CONTEXT | out_of_syncpoint
        passed = await every.put("y", None, options, context=every)
        assert (got.descriptor.put_date, got.descriptor.put_time) == (
            passed.envelope.put_date,
            passed.envelope.put_time,
        )
        with fails(Reason.CONTEXT_HANDLE_ERROR):
            await every.put("y", None, options, context=orders)

    talk(qm, conversation)


def test_a_negative_length_is_refused_whether_or_not_it_waits(qm):
    async def conversation(_app, orders):
        for more in ({}, {"wait_ms": 0}):
            with fails(Reason.BUFFER_LENGTH_ERROR):
                await orders.get(max_length=-1, **more)

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
        waiting = asyncio.create_task(orders.get(wait_ms=-1, msg_id=b"K"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not qm.messages.catalogue.anybody_waits

    talk(qm, conversation)


@pytest.mark.parametrize("options", [0, GET_NOW])
def test_a_message_that_came_in_time_is_got_by_a_loop_that_was_busy(qm, options):
    async def conversation(app, orders):
        waiting = asyncio.create_task(orders.get(options, wait_ms=200))
        await asyncio.sleep(0.02)
        with qm.connect() as other:
            other.put("ORDERS", "x", None, NOW)
        Event().wait(0.2)
        assert (await waiting).text == "x"

    talk(qm, conversation)


def test_closing_a_handle_ends_its_waits_and_no_others(qm):
    async def conversation(app, orders):
        closed, open_ = await app.open("ORDERS", EVERYTHING), await app.open("ORDERS", EVERYTHING)
        first, second = (asyncio.create_task(handle.get(GET_NOW, wait_ms=-1)) for handle in (closed, open_))
        await asyncio.sleep(0)
        await closed.close()
        with fails(Reason.HOBJ_ERROR):
            await first
        await orders.put("x", None, NOW)
        assert (await second).text == "x"

    talk(qm, conversation)


def test_a_wake_for_a_handle_that_is_closed_goes_to_the_next(qm):
    async def conversation(app, orders):
        closed, open_ = await app.open("ORDERS", EVERYTHING), await app.open("ORDERS", EVERYTHING)
        first, second = (asyncio.create_task(handle.get(wait_ms=-1)) for handle in (closed, open_))
        await asyncio.sleep(0)
        orders._handle.put("x", None, NOW)  # wakes the first, which cannot look before the loop runs
        closed._handle.close()
        with fails(Reason.HOBJ_ERROR):
            await first
        assert (await second).text == "x"

    talk(qm, conversation)


def test_disconnecting_ends_every_wait_of_the_connection(qm):
    async def main():
        qm.queue("ORDERS")
        app = AsyncConnection(qm.connect())
        waiting = asyncio.create_task((await app.open("ORDERS", EVERYTHING)).get(wait_ms=-1))
        await asyncio.sleep(0)
        await app.disconnect()
        with fails(Reason.HCONN_ERROR):
            await waiting

    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_getter_that_left_a_message_waits_on_in_peace(qm):
    """It is not posted again and again for what it does not want."""

    async def conversation(app, orders):
        waiting = asyncio.create_task(orders.get(wait_ms=-1, sequence=2))
        await asyncio.sleep(0)
        before = qm.messages.stats.gets
        await orders.put("a first one", None, NOW)
        looks = []
        look, orders._handle._input = orders._handle._input.look, Looked(orders._handle._input, looks)
        await asyncio.sleep(0.05)
        orders._handle._input = look.__self__
        assert len(looks) <= 1
        assert qm.messages.stats.gets == before
        waiting.cancel()

    talk(qm, conversation)


class Looked:
    """A way in that notes each look."""

    def __init__(self, way, looks):
        self._way, self._looks = way, looks

    def __getattr__(self, name):
        if name == "look":
            self._looks.append(name)
        return getattr(self._way, name)


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


async def cancel(call):
    """A call whose thread has begun, and whose task is cancelled."""
    task = asyncio.create_task(call)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancelled_get_out_of_syncpoint_loses_nothing(qm):
    async def conversation(_app, orders):
        await orders.put_all(["x", "y"], MQMD(persistence=1), NOW)
        await cancel(orders.get(GET_NOW))
        assert ["x", "y"] == sorted([(await orders.get(GET_NOW, wait_ms=5000)).text for _ in range(2)])
        await orders.put("z", None, NOW)
        await cancel(orders.browse(GetOptions.BROWSE_FIRST | GET_NOW))
        assert (await orders.get(GET_NOW)).text == "z"
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get(GET_NOW)

    talk(qm, conversation)


def test_a_queue_whose_open_was_cancelled_is_closed(qm):
    async def conversation(app, orders):
        await orders.close()
        state = qm.messages.catalogue.state("ORDERS")
        await cancel(app.open("ORDERS", OpenOptions.INPUT_EXCLUSIVE))
        for _ in range(500):
            await asyncio.sleep(0.01)
            if not state.handles:
                break
        await app.open("ORDERS", OpenOptions.INPUT_EXCLUSIVE)

    talk(qm, conversation)


def test_a_cancelled_wait_out_of_syncpoint_leaves_no_waiter(qm):
    """AS3: its thread may have left one on the queue by then."""

    async def conversation(_app, orders):
        await cancel(orders.get(GET_NOW, wait_ms=-1))
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get(GET_NOW)
        assert not qm.messages.catalogue.anybody_waits

    talk(qm, conversation)


class SlowDisk:
    """Each force of the log is held until somebody lets it go; which threads waited for one."""

    def __init__(self, log, monkeypatch):
        self.threads, self.forcing, self._go = [], Event(), Event()
        force = log.force
        loop_thread = get_ident()

        def held(rba):
            self.threads.append(get_ident())
            self.forcing.set()
            if get_ident() != loop_thread:
                assert self._go.wait(5)
            force(rba)

        monkeypatch.setattr(log, "force", held)

    async def serve_meanwhile(self, call):
        """The loop serves others while a call waits for the log; gives the task of the call."""
        task = asyncio.create_task(call)
        assert await asyncio.to_thread(self.forcing.wait, 5)
        for _ in range(10):
            await asyncio.sleep(0)
        assert get_ident() not in self.threads
        assert not task.done()
        return task

    def let_go(self):
        self._go.set()


KEPT = MQMD(persistence=1)


@pytest.fixture
def slow(monkeypatch):
    """An application of a queue manager whose disk is slow from `slow.disk()` on."""
    return SimpleNamespace(
        qm=(qm := page_queue_manager()), disk=lambda: SlowDisk(qm.manager.engine.recovery.log, monkeypatch)
    )


@pytest.mark.plain
@pytest.mark.parametrize("wait", [{}, {"wait_ms": 0}, {"wait_ms": 5000}, {"wait_ms": -1}], ids=str)
def test_a_get_out_of_syncpoint_does_not_hold_up_the_loop(slow, wait):
    """AS1: a persistent message is gone when the log says so, and that is waited for on a thread."""

    async def conversation(_app, orders):
        await orders.put("x", KEPT, NOW)
        disk = slow.disk()
        getting = await disk.serve_meanwhile(orders.get(GET_NOW, **wait))
        disk.let_go()
        assert (await getting).text == "x"

    talk(slow.qm, conversation)


@pytest.mark.plain
def test_a_get_that_waited_does_not_hold_up_the_loop_when_its_message_comes(slow):
    async def conversation(app, orders):
        waiting = asyncio.create_task(orders.get(GET_NOW, wait_ms=5000))
        while not slow.qm.messages.catalogue.anybody_waits:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
        putter = slow.qm.connect()
        putter.put1("ORDERS", "late", KEPT)
        putter.commit()
        disk = slow.disk()
        getting = await disk.serve_meanwhile(asyncio.wait([waiting]))
        disk.let_go()
        await getting
        assert (await waiting).text == "late"
        putter.disconnect()

    talk(slow.qm, conversation)


@pytest.mark.plain
def test_a_wait_that_is_cancelled_while_the_log_is_forced_loses_nothing(slow):
    """AS3: the next get of the handle has the message."""

    async def conversation(_app, orders):
        await orders.put_all(["x", "y"], KEPT, NOW)
        disk = slow.disk()
        getting = await disk.serve_meanwhile(orders.get(GET_NOW, wait_ms=5000))
        getting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await getting
        disk.let_go()
        assert ["x", "y"] == [(await orders.get(GET_NOW, wait_ms=5000)).text for _ in range(2)]

    talk(slow.qm, conversation)


@pytest.mark.plain
@pytest.mark.parametrize("report", [0, Report.EXPIRATION], ids=["alone", "reported"])
@pytest.mark.parametrize("options", [GetOptions.NONE, GetOptions.BROWSE_NEXT], ids=["get", "browse"])
@pytest.mark.parametrize("wait", [{}, {"wait_ms": 10}], ids=str)
def test_what_has_expired_does_not_hold_up_the_loop(slow, options, wait, report):
    """AS1, V14: a call in syncpoint removes it without waiting for the log; what follows is returned."""

    async def conversation(app, orders):
        slow.qm.queue("REPLIES")
        await orders.put("late", MQMD(persistence=1, expiry=1, report=int(report), reply_to_q="REPLIES"), NOW)
        slow.qm.clock.advance(seconds=1)
        disk = slow.disk()
        disk.let_go()
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get(options, **wait)
        assert [] == disk.threads
        assert {"CURDEPTH": 0} == await orders.inquire("CURDEPTH")
        replies = await app.open("REPLIES", EVERYTHING)
        assert {"CURDEPTH": bool(report)} == await replies.inquire("CURDEPTH")

    talk(slow.qm, conversation)


async def left_behind(slow, orders, *waiting, **described):
    """A get out of syncpoint has taken a message and is cancelled, while others wait for one; gives their tasks."""
    await orders.put("x", MQMD(persistence=1, **described), NOW)
    disk = slow.disk()
    getting = await disk.serve_meanwhile(orders.get(GET_NOW))
    tasks = [asyncio.create_task(orders.get(options, wait_ms=20_000, **asks)) for options, asks in waiting]
    waiters = slow.qm.messages.catalogue.state("ORDERS").waiters
    while len(waiters) < len(tasks):  # noqa: ASYNC110 - they tell nobody
        await asyncio.sleep(0.001)
    getting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await getting
    disk.let_go()
    return tasks


@pytest.mark.plain
@pytest.mark.parametrize("options", [GET_NOW, GetOptions.NONE], ids=["out of syncpoint", "in syncpoint"])
def test_what_a_cancelled_get_has_got_goes_to_one_that_waits(slow, options):
    """AS3, LA1: the one that waits longest for such a message; it waits no more on the queue (LA2)."""

    async def conversation(_app, orders):
        other, first, second = await left_behind(
            slow, orders, (options, {"correl_id": b"B"}), (options, {"correl_id": b"A"}), (options, {}), correl_id=b"A"
        )
        assert "x" == (await first).text
        assert 2 == len(slow.qm.messages.catalogue.state("ORDERS").waiters)
        await orders.put("y", None, NOW)
        assert "y" == (await second).text
        other.cancel()
        with pytest.raises(asyncio.CancelledError):
            await other
        assert not slow.qm.messages.catalogue.anybody_waits

    talk(slow.qm, conversation)


@pytest.mark.parametrize("ends", ["cancelled", "out of time"])
def test_one_that_is_given_it_as_its_own_wait_ends_does_not_lose_it(slow, ends):
    """AS3: it had come, and nobody has seen it."""

    async def conversation(_app, orders):
        await orders.put("x", MQMD(persistence=1), NOW)
        left, wait_ms = await orders.get(GET_NOW), 20_000 if ends == "cancelled" else 50
        waiting = asyncio.create_task(orders.get(GET_NOW, wait_ms=wait_ms))
        while not orders.late._waiting:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.001)
        if ends == "cancelled":
            orders.late.keep(int(GET_NOW), left)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert "x" == (await orders.get(GET_NOW)).text
        else:
            Event().wait(0.1)  # the loop finds both at once
            orders.late.keep(int(GET_NOW), left)
            assert "x" == (await waiting).text

    talk(slow.qm, conversation)


@pytest.mark.plain
def test_it_is_as_long_as_the_one_that_waits_may_have(slow):
    """LA1: who is told that it is too long leaves it for the next."""

    async def conversation(app, orders):
        short, cut = await left_behind(
            slow,
            orders,
            (GET_NOW, {"max_length": 0}),
            (GET_NOW | GetOptions.ACCEPT_TRUNCATED_MSG, {"max_length": 0}),
        )
        with fails(Reason.TRUNCATED_MSG_FAILED):
            await short
        assert (b"", 1) == ((await cut).body, cut.result().original_length)
        assert Reason.TRUNCATED_MSG_ACCEPTED is app.warning.reason

    talk(slow.qm, conversation)


@pytest.mark.plain
def test_a_browse_that_waits_is_not_given_it(slow):
    async def conversation(_app, orders):
        (browsing,) = await left_behind(slow, orders, (GetOptions.BROWSE_FIRST, {}))
        assert "x" == (await orders.get(GET_NOW, correl_id=b"")).text
        await orders.put("y", None, NOW)
        assert "y" == (await browsing).text

    talk(slow.qm, conversation)


@pytest.mark.plain
def test_a_back_out_gives_it_back(slow):
    """LA4: a get in syncpoint has returned it, which the queue manager does not know any more."""

    async def conversation(app, orders):
        await left_behind(slow, orders)
        for count in range(2):
            assert ("x", count) == ((got := await orders.get()).text, got.backout_count)
            await app.backout()
        assert "x" == (await orders.get()).text
        await app.commit()
        await app.backout()
        with fails(Reason.NO_MSG_AVAILABLE):
            await orders.get()

    talk(slow.qm, conversation)


def test_one_body_is_not_several(qm):
    async def conversation(_, orders):
        for options in (PutOptions.NONE, NOW):
            with fails(Reason.BUFFER_ERROR):
                await orders.put_all("order", None, options)
        assert {"CURDEPTH": 0} == await orders.inquire("CURDEPTH")

    talk(qm, conversation)


UNITS = {"commit": ("put", "backout", 0), "backout": ("put", "commit", 1), "put1": ("backout", "commit", 0)}
"""A call that is cancelled, what is called then, and what is on the queue after that."""


@pytest.mark.parametrize("named", UNITS)
def test_what_follows_a_cancelled_call_is_made_after_it(qm, named, monkeypatch):
    """AS5: no call has part in a unit that was begun after it."""

    async def conversation(app, orders):
        first, second, left = UNITS[named]
        calls = {"put": lambda: orders.put("next"), "put1": lambda: app.put1("ORDERS", "before")}
        calls |= {"commit": app.commit, "backout": app.backout}
        begun, go, call = Event(), Event(), getattr(app._connection, named)

        def held(*args, **more):
            begun.set()
            assert go.wait(5)
            return call(*args, **more)

        monkeypatch.setattr(app._connection, named, held)
        task = asyncio.create_task(calls[named]())
        assert await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        monkeypatch.undo()
        following = asyncio.create_task(calls[first]())
        await asyncio.sleep(0.02)
        go.set()
        await following
        await asyncio.sleep(0.02)
        await calls[second]()
        await app.backout()
        assert {"CURDEPTH": left} == await orders.inquire("CURDEPTH")

    talk(qm, conversation)


def no_thread_is_free():
    """Calls on threads have to wait from now on; gives what ends that."""
    loop, go = asyncio.get_running_loop(), Event()
    loop.set_default_executor(ThreadPoolExecutor(1))
    loop.run_in_executor(None, go.wait, 5)
    return go.set


@pytest.mark.parametrize("ends", ["close", "disconnect", "leave"])
def test_an_end_that_is_cancelled_before_its_thread_began_is_made(qm, ends):
    """AS3: nobody would hold the connection, nor the queue, any more who could end that."""

    async def main():
        qm.queue("ORDERS")
        app = AsyncConnection(qm.connect())
        orders = await app.open("ORDERS", OpenOptions.INPUT_EXCLUSIVE)
        let_go, gone = no_thread_is_free(), (None,) * (3 if ends == "leave" else 0)
        await cancel({"close": orders.close, "disconnect": app.disconnect, "leave": app.__aexit__}[ends](*gone))
        let_go()
        state = qm.messages.catalogue.state("ORDERS")
        for _ in range(200):
            await asyncio.sleep(0.01)
            if not state.handles:
                break
        assert (0, ends == "close") == (state.handles, app._connection.connected)
        await app.disconnect()

    asyncio.run(asyncio.wait_for(main(), 30))
