"""Gets that wait at a service whose clients go, or say what no client of ours does (CV4, LI4, HA4)."""

from threading import Thread

import pytest

from quaestor import MQMD, OpenOptions, PutOptions
from quaestor.server.protocol import Op
from server.test_any_bytes import answered
from server.test_behind_a_commit import get, put


def waits(server, *numbers):
    """A client with gets that wait without end."""
    peer = server.introduced()
    assert server.say(peer, *(get(number, wait_ms=-1) for number in numbers)) == b""
    return peer


def test_nothing_is_got_for_a_client_that_is_known_to_be_gone(turns):
    """LI4: its end and the put come in one turn."""
    server = turns()
    gone, other = waits(server, 5), server.introduced()
    gone.close()
    assert answered(server.say(other, put(b"for the living", 5))) == [(Op.REPLY, 5)]
    assert answered(server.say(other, get(6))) == [(Op.REPLY, 6)]


@pytest.mark.parametrize("persistence", [0, 1])
def test_what_was_handed_over_is_put_back_when_its_client_is_gone(turns, persistence):
    """CV4, HA4: an application of the queue manager's process puts; before the loop looks the link has ended."""
    server = turns()
    gone, other = waits(server, 5), server.introduced()
    (link,) = (link for link in server.service.links if any(one.parked for one in link.conversations.values()))
    embedded = server.small.connect()
    queue = embedded.open("ORDERS", OpenOptions.OUTPUT)
    arguments = b"handed over", MQMD(persistence=persistence), PutOptions.NO_SYNCPOINT
    putting = Thread(target=queue.put, args=arguments)
    putting.start()
    putting.join()
    assert server.service.posted
    gone.close()
    link.end(None)
    server.turn(2)
    assert answered(server.say(other, get(6))) == [(Op.REPLY, 6)]
    embedded.disconnect()


def test_two_gets_that_wait_under_one_number_end_their_link(turns):
    """CV4: nobody would look again for the first, and whoever waits behind it would not be woken."""
    server = turns()
    other = waits(server, 5)
    peer = server.introduced()
    assert server.say(peer, get(5, wait_ms=-1), get(5, wait_ms=-1)) is None
    assert "two gets that wait under number 5" in server.last_line()
    putting = server.introduced()
    assert answered(server.say(putting, put(b"x", 5))) == [(Op.REPLY, 5)]
    assert answered(server.say(other, b"")) == [(Op.REPLY, 5)]


def test_gets_that_wait_are_limited(turns):
    """CV4: 2102 for the next; those that wait go on."""
    server = turns(backlog_requests=3)
    peer = waits(server, 5, 6, 7)
    assert answered(server.say(peer, get(8, wait_ms=-1))) == [(Op.ERROR, 8)]
    putting = server.introduced()
    assert answered(server.say(putting, put(b"x", 5))) == [(Op.REPLY, 5)]
    assert answered(server.say(peer, b"")) == [(Op.REPLY, 5)]
    assert server.say(peer, get(9, wait_ms=-1)) == b""
