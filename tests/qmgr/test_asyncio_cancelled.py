"""Tasks that are cancelled at any await: nothing is lost, nothing kept, and a unit ends as its application says.

The account is exact: who does not know what became of a call backs out until that has returned, and only then goes on.
"""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random, choice
from threading import Event

import pytest

from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.connection import AsyncConnection

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
UNITS = 150
CUT = object()


class Unsteady(ThreadPoolExecutor):
    """Threads that begin when they like."""

    def submit(self, call, /, *args, **named):
        return super().submit(self._later, call, *args, **named)

    @staticmethod
    def _later(call, *args, **named):
        Event().wait(choice([0, 0, 0.001, 0.004]))
        return call(*args, **named)


class Account:
    """What became of every message, as far as the applications know."""

    def __init__(self):
        self.numbers = 0
        self.put, self.perhaps_put, self.not_put = set(), set(), set()
        self.got, self.perhaps_got = Counter(), set()

    def new(self):
        self.numbers += 1
        return str(self.numbers)

    def check(self, left):
        assert Counter(set(left)) == Counter(left)
        assert Counter(set(self.got)) == self.got
        assert not self.not_put & {*left, *self.got}
        assert not set(self.got) & set(left)
        assert self.put <= {*left, *self.got, *self.perhaps_got}


class Application:
    """Units of work on one connection, any call of which is cancelled now and then."""

    def __init__(self, qm, account, seed):
        self._app, self._account, self._random = AsyncConnection(qm.connect()), account, Random(seed)
        self._puts, self._gets = [], []

    async def _cut(self, call, likely=0.3):
        """Make a call, and perhaps cancel it somewhere; `CUT` when nobody knows whether it was made."""
        task = asyncio.create_task(call)
        await asyncio.sleep(0)
        if self._random.random() < likely:
            for _ in range(self._random.choice([0, 1, 2, 3, 5, 8])):
                await asyncio.sleep(0)
            await asyncio.sleep(self._random.choice([0, 0, 0.0005, 0.002]))
            task.cancel()
        with suppress(MQError):
            try:
                return await task
            except asyncio.CancelledError:
                return CUT
        return None

    async def run(self):
        async with self._app as app:
            self._orders = await app.open("ORDERS", EVERYTHING)
            for _ in range(UNITS):
                await self._unit()
                await self._cut(self._open_and_close())
            await asyncio.sleep(0.05)
            while len(self._orders.late):
                self._account.got[(await self._orders.get(GET_NOW)).text] += 1
            await self._cut(app.disconnect(), likely=0.5)

    async def _open_and_close(self):
        await (await self._app.open("ORDERS", EVERYTHING)).close()

    async def _unit(self):
        self._puts, self._gets, account = [], [], self._account
        steps = self._random.choices([self._put, self._put_now, self._get, self._get_now], k=self._random.randint(1, 4))
        whole = True
        for step in steps:
            whole = whole and await step() is not CUT
        if whole and self._random.random() < 0.6:
            if await self._cut(self._app.commit()) is not CUT:
                account.put.update(self._puts)
                account.got.update(self._gets)
                return
            account.perhaps_put.update(self._puts)
            account.perhaps_got.update(self._gets)
        else:
            account.not_put.update(self._puts)
        while await self._cut(self._app.backout()) is CUT:
            """Until it returns."""

    def _putting(self, body, options):
        md = MQMD(persistence=self._random.randint(0, 1))
        calls = (
            lambda: self._orders.put(body, md, options),
            lambda: self._orders.put_all([body], md, options),
            lambda: self._app.put1("ORDERS", body, md, options),
        )
        return self._cut(self._random.choice(calls)())

    async def _put(self):
        self._puts.append(self._account.new())
        return await self._putting(self._puts[-1], PutOptions.NONE)

    async def _put_now(self):
        body = self._account.new()
        made = await self._putting(body, NOW) is not CUT
        (self._account.put if made else self._account.perhaps_put).add(body)

    def _getting(self, options):
        return self._cut(self._orders.get(options, wait_ms=self._random.choice([0, 1, 5])))

    async def _get(self):
        got = await self._getting(GetOptions.NONE)
        if got not in (None, CUT):
            self._gets.append(got.text)
        return got

    async def _get_now(self):
        got = await self._getting(GET_NOW)
        if got not in (None, CUT):
            self._account.got[got.text] += 1


@pytest.mark.plain
@pytest.mark.parametrize("seed", range(3))
def test_cancelled_calls_lose_nothing_and_leave_nothing(seed):
    async def main():
        asyncio.get_running_loop().set_default_executor(Unsteady())
        qm = page_queue_manager()
        qm.queue("ORDERS", max_depth=100_000)
        account = Account()
        applications = [Application(qm, account, 10 * seed + number) for number in range(3)]
        await asyncio.gather(*(application.run() for application in applications))
        await asyncio.sleep(0.1)
        state = qm.messages.catalogue.state("ORDERS")
        assert (0, 0) == (state.handles, qm.connections.connections)
        assert not qm.messages.catalogue.anybody_waits
        assert not qm.manager.engine.recovery.units
        with qm.connect() as app, app.open("ORDERS", EVERYTHING) as orders:
            account.check([orders.get(GET_NOW).text for _ in range(state.stored.depth)])

    asyncio.run(asyncio.wait_for(main(), 60))
