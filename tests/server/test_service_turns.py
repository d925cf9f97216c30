"""The service turn by turn, on a clock that the test moves: waits, other threads, coming back, quiescing (SV2-SV5)."""

import fcntl
import threading
from types import SimpleNamespace

import pytest

from quaestor import GetOptions, PutOptions, Reason
from quaestor.server import service as service_module
from quaestor.server import values
from quaestor.server.protocol import HEADER, HEADER_LENGTH, WAITS, Op, frame
from quaestor.server.wire import GET, LENGTH
from server.conftest import HELLO, call, hello

OUT = int(GetOptions.NO_SYNCPOINT)


@pytest.fixture
def server(turns):
    return turns()


def get(number, wait_ms, handle=1):
    return frame(Op.GET, WAITS, 1, number, GET.pack(handle, OUT, wait_ms, 0))


def answers(data):
    """[(number, body of a message or reason of an error)] of what a peer was sent."""
    found, at = [], 0
    while at < len(data or b""):
        length, op, _, _, number = HEADER.unpack_from(data, at)
        payload = data[at + HEADER_LENGTH : at + length]
        found.append((number, values.unpack_error(payload).reason if op == Op.ERROR else payload))
        at += length
    return found


def passes(server, **time):
    server.clock.advance(**time)
    server.turn()


def heard(server, peer):
    return answers(server.say(peer))


# --- waits (SV2) ------------------------------------------------------------------------------------------------------


def test_a_get_waits_as_long_as_it_said_and_no_longer(server):
    """SV2: 500 ms, to the millisecond; until then it is nobody's work."""
    peer = server.introduced()
    assert b"" == server.say(peer, get(7, 500))
    assert 1 == server.service.status()["waiting_gets"]
    passes(server, milliseconds=499)
    assert [] == heard(server, peer)
    passes(server, milliseconds=1)
    assert [(7, Reason.NO_MSG_AVAILABLE)] == heard(server, peer)
    assert (0, []) == (server.service.status()["waiting_gets"], server.service._deadlines)


def test_gets_end_in_the_order_of_their_times_not_of_their_coming(server):
    peer = server.introduced()
    server.say(peer, get(7, 900), get(8, 300), get(9, 600))
    passes(server, milliseconds=600)
    assert [(8, Reason.NO_MSG_AVAILABLE), (9, Reason.NO_MSG_AVAILABLE)] == heard(server, peer)
    passes(server, milliseconds=300)
    assert [(7, Reason.NO_MSG_AVAILABLE)] == heard(server, peer)


def test_a_get_without_a_limit_has_no_time(server):
    peer = server.introduced()
    server.say(peer, get(7, -1))
    assert [] == server.service._deadlines


def test_a_get_whose_message_came_does_not_end_once_more(server):
    """Its time comes all the same; nobody waits for it any more."""
    peer = server.introduced()
    server.say(peer, get(7, 500))
    with server.small.connect() as app:
        app.put1("ORDERS", b"here it is", options=PutOptions.NO_SYNCPOINT)
    server.turn(2)
    ((number, payload),) = heard(server, peer)
    assert (7, True) == (number, payload.endswith(b"here it is"))
    passes(server, milliseconds=500)
    assert [] == heard(server, peer)


def test_times_of_gets_that_are_over_are_not_kept_for_ever(server, monkeypatch):
    """SV2: when there are many, those that nobody waits for any more are let go; the others keep their order."""
    monkeypatch.setattr(service_module, "DEADLINES_MAX", 4)
    server.service._deadlines_max = 4
    peer = server.introduced()
    for number in (10, 11, 12):
        server.say(peer, get(number, 60_000), frame(Op.CANCEL, 0, 1, 0, LENGTH.pack(number)))
    server.say(peer, get(13, 500))
    assert 4 == len(server.service._deadlines)
    server.say(peer, get(14, 400))
    assert 2 == len(server.service._deadlines)
    passes(server, milliseconds=400)
    assert [(14, Reason.NO_MSG_AVAILABLE)] == heard(server, peer)
    passes(server, milliseconds=100)
    assert [(13, Reason.NO_MSG_AVAILABLE)] == heard(server, peer)


# --- how long the loop sleeps -----------------------------------------------------------------------------------------


def test_the_loop_sleeps_until_the_next_time_or_the_next_look_over(server):
    """SV4: once a second at most, sooner where a get ends; not at all while there is something to be done."""
    service = server.service
    server.turn()
    passes(server, seconds=1)
    assert 1.0 == pytest.approx(service._patience())
    server.clock.advance(milliseconds=400)
    assert 0.6 == pytest.approx(service._patience())
    peer = server.introduced()
    server.say(peer, get(7, 250))
    assert 0.25 == pytest.approx(service._patience())
    server.clock.advance(seconds=5)
    assert 0 == service._patience()


@pytest.mark.parametrize("what", ["posted", "talking", "_ended"])
def test_it_does_not_sleep_while_something_is_to_be_done(server, what):
    getattr(server.service, what).append(None)
    assert 0 == server.service._patience()
    getattr(server.service, what).clear()
    assert server.service._patience() > 0


def test_it_sleeps_while_a_force_of_the_log_is_in_flight(server):
    """GC4: what waits for the log waits; the log says when it is over."""
    service = server.service
    service.commits.started.append(None)
    assert 0 == service._patience()
    service.commits.in_flight = True
    assert service._patience() > 0
    service.commits.started.clear()
    service.commits.in_flight = False


@pytest.mark.parametrize(("heartbeat_s", "look_s"), [(30, 1.0), (1, 0.25)])
def test_links_are_looked_over_often_enough_for_the_heartbeat(turns, heartbeat_s, look_s):
    assert look_s == turns(heartbeat_s=heartbeat_s).service._sweep_s


# --- other threads (SV3) ----------------------------------------------------------------------------------------------


def test_what_another_thread_asks_for_is_done_by_the_loop(server):
    """SV3: in its order, in the next turn, whoever asked."""
    done, here = [], threading.get_ident()
    asking = threading.Thread(
        target=lambda: [server.service.ask(lambda n=n: done.append((n, threading.get_ident()))) for n in (1, 2)]
    )
    asking.start()
    asking.join()
    assert [] == done
    server.turn()
    assert [(1, here), (2, here)] == done
    server.turn()
    assert 2 == len(done)


def test_asking_often_never_blocks_whoever_asks(server):
    """The pipe that wakes the loop is full long before: then it is awake already."""
    done, room = [], fcntl.fcntl(server.service._asked._wake_out, fcntl.F_SETPIPE_SZ, 4096)
    for number in range(room + 100):
        server.service.ask(lambda n=number: done.append(n))
    server.turn()
    assert [*range(room + 100)] == done


# --- clients that come back (W10) -------------------------------------------------------------------------------------


def come(server, client, user="ALICE"):
    """A link under a client's name, with a conversation."""
    peer = server.link()
    assert server.say(peer, hello(HELLO | {"client": client, "user": user}))
    assert server.say(peer, call("connect", number=1))
    return peer


def test_a_client_that_comes_back_ends_its_older_link(server):
    come(server, b"client 1")
    come(server, b"client 1")
    assert 1 == len(server.service.links)
    assert "its client has come back on another link" in server.out.getvalue()


@pytest.mark.parametrize(("client", "user"), [(b"client 2", "ALICE"), (b"client 1", "BOB"), (b"", "ALICE")])
def test_another_client_another_user_and_one_without_a_name_end_nobodys(server, client, user):
    come(server, b"client 1")
    come(server, b"")
    come(server, client, user)
    assert 3 == len(server.service.links)
    assert "come back" not in server.out.getvalue()


# --- what it says of itself -------------------------------------------------------------------------------------------


def test_the_status_of_a_service(server):
    server.introduced()
    server.introduced()
    server.clock.advance(seconds=90, milliseconds=900)
    status = server.service.status()
    assert ("QM1", "running", 90, 2, 2, 0, False) == tuple(
        status[name] for name in ("qmgr", "state", "uptime_s", "links", "conversations", "waiting_gets", "security")
    )
    assert 12 == len(status["log_rba"])
    assert server.small.manager.engine.log.end == int(status["log_rba"], 16)


def test_a_queue_manager_without_commands_says_so(server):
    peer = server.introduced()
    assert [(9, Reason.ENVIRONMENT_ERROR)] == answers(server.say(peer, call("mqsc", "DISPLAY QMGR", number=9)))


@pytest.mark.parametrize("members", [[], [{"qmgr": "QM2", "ok": True}]])
def test_a_command_is_answered_with_lines_and_rows(server, members):
    """Members are there only where a command was for them."""
    reply = SimpleNamespace(lines=("one", "two"), rows=({"QUEUE": "Q"},), ok=1, members=members)
    server.service.commands = SimpleNamespace(
        run=lambda text, user: reply if (text, user) == ("DIS", "ALICE") else None
    )
    told = {"lines": ["one", "two"], "rows": [{"QUEUE": "Q"}], "ok": True}
    ((_, answer),) = answers(server.say(server.introduced(), call("mqsc", "DIS", number=9)))
    assert told | ({"members": members} if members else {}) == values.unpack(answer)


# --- quiescing (SV5) --------------------------------------------------------------------------------------------------


def test_a_service_with_nobody_on_it_stops_as_soon_as_it_is_told(server):
    server.link()
    server.service.quiesce()
    assert (True, "quiescing") == (server.service.quiescing, server.service.status()["state"])
    server.turn()
    assert server.service._stopping


def test_a_quiesce_waits_for_the_last_application(turns):
    """SV5: it is told once, and looks every tenth of a second."""
    server = turns(quiesce_s=30)
    peer = server.introduced()
    server.service.quiesce()
    server.service.quiesce()
    server.turn()
    assert (1, False) == (server.out.getvalue().count("QSV003I"), server.service._stopping)
    assert 0.1 == pytest.approx(server.service._patience())
    passes(server, seconds=10)
    assert server.say(peer, call("disconnect", number=5))
    passes(server, milliseconds=100)
    assert (True, False) == (server.service._stopping, "QSV012W" in server.out.getvalue())


def test_a_quiesce_ends_when_its_time_is_over(turns):
    server = turns(quiesce_s=30)
    server.introduced()
    server.service.quiesce()
    passes(server, seconds=29)
    assert not server.service._stopping
    passes(server, seconds=1)
    assert server.service._stopping
    assert "QSV012W applications have not ended; stopping without them conversations=1" in server.last_line()


def test_who_comes_while_it_quiesces_is_refused(turns):
    server = turns(quiesce_s=30)
    server.introduced()
    server.service.quiesce()
    late = server.link()
    server.say(late, hello(HELLO))
    assert [(1, Reason.Q_MGR_QUIESCING)] == answers(server.say(late, call("connect", number=1)))


# --- one too many -----------------------------------------------------------------------------------------------------


def test_the_client_beyond_the_limit_is_told_and_closed(turns):
    server = turns(connections=2)
    for _ in range(2):
        server.introduced()
    refused = server.link()
    assert [(1, Reason.MAX_CONNS_LIMIT_REACHED)] == answers(server.say(refused, hello(HELLO)))
    assert b"" == refused.recv(1)
    assert 2 == len(server.service.links)
    assert "QSV011W link refused peer='test' user='ALICE' why='too many connections'" in server.last_line()
    server.peers[0].close()
    server.turn(2)
    server.introduced()
    assert 2 == len(server.service.links)


def test_a_client_that_comes_back_to_a_full_server_has_its_own_place(turns):
    """Its older link is gone, whether the server has heard of that or not (protocol W10)."""
    server, mine = turns(connections=1), HELLO | {"client": b"mine"}
    server.say(server.link(), hello(mine))
    ((_, welcome),) = answers(server.say(server.link(), hello(mine)))
    assert "ALICE" == values.unpack(welcome)["user"]
    assert 1 == len(server.service.links)


def test_strangers_take_no_clients_place(turns):
    """SV8: two clients may come, however many say nothing."""
    server = turns(connections=2, strangers=3)
    silent = [server.link() for _ in range(10)]
    server.turn()
    clients = [server.introduced(), server.introduced()]
    assert 2 + 2 == len(server.service.links)
    assert [b""] * 8 == [peer.recv(1) for peer in silent[:8]]
    for client in clients:
        assert server.say(client, call("status", number=9))


def test_who_has_been_silent_for_longest_makes_room(turns):
    """SV8: whose password is being checked stays; the operator is told how many went."""
    server = turns(strangers=2, heartbeat_s=4.0)
    checked, silent = server.link(), server.link()
    next(iter(server.service.arrivals.strangers)).identifying = True
    late = server.link()
    server.turn()
    assert b"" == silent.recv(1)
    for peer in (checked, late):
        with pytest.raises(BlockingIOError):
            peer.recv(1)
    server.clock.advance(seconds=2)
    server.turn()
    assert "why='too many who do not say who they are' made_room=1" in server.last_line()


def test_nobody_makes_room_where_somebody_has_gone(turns):
    """SV8: in the same turn; its link is let go of at the end of it."""
    server = turns(strangers=2)
    server.link()
    stays = server.link()
    next(iter(server.service.arrivals.strangers)).end(None)
    server.link()
    server.turn()
    with pytest.raises(BlockingIOError):
        stays.recv(1)


def test_where_all_are_being_checked_the_first_makes_room(turns):
    server = turns(strangers=1)
    first = server.link()
    next(iter(server.service.arrivals.strangers)).identifying = True
    server.link()
    server.turn()
    assert b"" == first.recv(1)
