"""The link of an asyncio client: what it does with the bytes that come (AL1-AL5)."""

import asyncio

from quaestor.server.client.asynchronous_link import AsyncLink, Pending, dropped
from quaestor.server.protocol import Op, frame


def test_the_pieces_of_a_long_answer_are_put_together_once():
    """AL1: they gather where they are; answers before and behind it, and in its pieces, are told apart."""

    async def work():
        link, loop = AsyncLink(), asyncio.get_running_loop()
        sent = {1: b"before", 2: bytes(range(256)) * 1000, 3: b"", 4: b"behind"}
        waiting = {number: loop.create_future() for number in sent}
        link._pending = {number: Pending(None, bytes, future, dropped) for number, future in waiting.items()}
        data, rest = b"".join(frame(Op.REPLY, 0, 1, number, body) for number, body in sent.items()), link._rest
        for at in range(0, len(data), 5000):
            link.data_received(data[at : at + 5000])
            assert link._rest is rest
        assert sent == {number: await future for number, future in waiting.items()}
        assert not link._rest

    asyncio.run(work())
