"""Nobody has all of the service: what one client sends ahead, and how many wait (SV1, SV2)."""

from quaestor.server import service as service_module
from quaestor.server.calls import CALLS
from quaestor.server.link import SHARE_NS
from quaestor.server.protocol import Op
from server.conftest import call
from server.test_any_bytes import answered
from server.test_behind_a_commit import get, put


def slow(server, monkeypatch):
    """From now on a call for the status takes as long as a client's share of a turn."""
    status = CALLS["status"]

    def slowly(on):
        server.clock.advance(microseconds=SHARE_NS // 1000)
        return status(on)

    monkeypatch.setitem(CALLS, "status", slowly)


def test_who_sends_much_ahead_lets_others_in_between(turns, monkeypatch):
    """SV1: two requests of a share each in a turn, then another client is served; in the end all are answered."""
    server = turns()
    busy, other = server.introduced(), server.introduced()
    slow(server, monkeypatch)
    busy.send(b"".join(call("status", number=number) for number in range(10, 20)))
    server.turn()
    assert answered(busy.recv(1 << 16)) == [(Op.REPLY, 10), (Op.REPLY, 11)]
    other.send(call("status", number=5))
    server.turn()
    assert answered(other.recv(1 << 16)) == [(Op.REPLY, 5)]
    server.turn(10)
    assert answered(busy.recv(1 << 16)) == [(Op.REPLY, number) for number in range(12, 20)]


def test_so_does_who_has_much_behind_a_commit(turns, monkeypatch):
    server = turns()
    busy = server.introduced()
    slow(server, monkeypatch)
    busy.send(b"".join([put(b"x", 9), *(call("status", number=number) for number in range(10, 20))]))
    server.turn()
    assert answered(busy.recv(1 << 16)) == [(Op.REPLY, number) for number in (9, 10, 11)]
    server.turn(10)
    assert answered(busy.recv(1 << 16)) == [(Op.REPLY, number) for number in range(12, 20)]


def test_requests_without_answers_go_on_too(turns, monkeypatch):
    """SV1: nothing is sent at the end of the turn, so nobody would be told that it was taken."""
    server = turns()
    busy = server.introduced()
    puts = [put(b"x", 0, 0) for _ in range(6)]
    monkeypatch.setattr(server.service, "monotonic_ns", ticking(server.clock))
    busy.send(b"".join([*puts, call("inquire", 1, ["CURDEPTH"], number=9)]))
    server.turn(20)
    assert answered(busy.recv(1 << 16)) == [(Op.REPLY, 9)]


def ticking(clock):
    """Each look at the clock takes a share."""

    def look():
        clock.advance(microseconds=SHARE_NS // 1000 + 1)
        return clock.monotonic_ns()

    return look


def test_waits_are_looked_over_only_when_half_of_them_may_be_over(turns, monkeypatch):
    """SV2: not for each get that waits, however many do."""
    monkeypatch.setattr(service_module, "DEADLINES_MAX", 4)
    server = turns()
    server.service._deadlines_max = 4
    looked = []
    monkeypatch.setattr(service_module, "heapify", lambda heap: looked.append(len(heap)))
    peer = server.introduced()
    assert server.say(peer, *(get(number, wait_ms=60_000) for number in range(10, 74))) == b""
    assert len(server.service._deadlines) == 64
    assert looked == [4, 8, 16, 32]
