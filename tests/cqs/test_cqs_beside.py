"""Another thread of the same server acts at any moment at which it may have the latch (CL5): nothing is left of it."""

import sys

import pytest

from cqs.group import Group, texts
from quaestor.cqs.queue_names import Private, serial_transaction, transaction
from quaestor.cqs.refusals import CQSError, Why

TRANX, SERIAL = transaction("TRANX"), serial_transaction("SERIAL", "IMS1")
GONE = {None, Why.NOT_REGISTERED}


class At:
    """Somebody else who acts at the n-th moment at which the latch of a pair is free."""

    def __init__(self, pair, moment, act):
        self._latch, self._left, self._act = pair.latch, moment, act

    def __call__(self, _, event, __):
        if event in ("call", "c_return") and not self._latch._is_owned():
            self._left -= 1
            if not self._left:
                refusal(self._act)

    def during(self, call):
        """Why the call was refused, and whether somebody had acted before it ended."""
        sys.setprofile(self)
        try:
            why = refusal(call)
        finally:
            sys.setprofile(None)
        return why, self._left <= 0


def refusal(call):
    try:
        call()
    except CQSError as refused:
        return refused.why
    return None


def every_moment(call, act):
    """How a call ended for every moment at which somebody acts, and the server and the client that made it."""
    acted, moment = True, 0
    while acted:
        moment += 1
        server = Group().start("CQS1")
        client = server.register("IMS1")
        for _ in range(2):
            client.put(TRANX, [b"x"])
            client.put(SERIAL, [b"x"])
        why, acted = At(server.pair, moment, lambda s=server, c=client: act(s, c)).during(
            lambda s=server, c=client: call(s, c)
        )
        yield why, server, client
    assert moment > 2


def reply(_, client):
    unit = client.begin()
    unit.read(TRANX)
    unit.commit()


def put_locked(_, client):
    unit, _ = client.put_locked(TRANX, [b"y"])
    unit.commit()


def deregister(server, _):
    server.deregister("IMS1")


CALLS = {
    "put straight to the lock queue": put_locked,
    "reply": reply,
    "register interest": lambda _, client: client.register_interest(TRANX),
    "deregister interest": lambda _, client: (client.register_interest(TRANX), client.deregister_interest(TRANX)),
    "move": lambda _, client: client.move(TRANX, transaction("OTHER")),
}


@pytest.mark.plain
@pytest.mark.parametrize("named", CALLS)
def test_a_client_that_ends_leaves_nothing_whatever_it_does(named):
    for why, server, _ in every_moment(CALLS[named], lambda server, _: server.client_failed("IMS1")):
        assert why in GONE
        assert [] == server.pair.primary.held(Private.LOCK, "CQS1")
        if not server.clients:
            assert [] == server._interest.of("IMS1")


@pytest.mark.plain
def test_a_client_is_ended_once_whoever_ends_it():
    for why, server, _ in every_moment(deregister, deregister):
        assert why in GONE
        assert {} == server.clients


@pytest.mark.plain
def test_a_server_stops_while_its_clients_end():
    for why, server, _ in every_moment(lambda server, _: server.stop(), deregister):
        assert why is None
        assert {} == server.clients


@pytest.mark.plain
def test_a_name_is_registered_once():
    made = []

    def register(server, _):
        made.append(server.register("IMS2"))

    for _, server, _ in every_moment(register, register):
        assert [server.clients["IMS2"]] == made
        made.clear()


@pytest.mark.plain
def test_of_a_serial_transaction_one_message_at_a_time_is_read():
    """UW5: whichever region of the client reads it."""
    read = []

    def reads(_, client):
        read.append(client.begin().read(SERIAL))

    for _, _, client in every_moment(reads, reads):
        assert 1 == sum(message is not None for message in read)
        assert ["x"] == texts(client, SERIAL)
        read.clear()
