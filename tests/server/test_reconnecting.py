"""A blocking client whose link is lost and made again (RC1-RC4)."""

import socket
import threading

import pytest

from model.answers import fails
from quaestor import MQMD, AliasQueue, GetOptions, LocalQueue, ModelQueue, MQError, OpenOptions, PutOptions, Reason
from quaestor.mqi.objects import DefinitionType
from quaestor.mqi.options import CloseOptions
from server.test_server_faults import define, left_on

NOW, GET_NOW, LATER = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT, PutOptions.ASYNC_RESPONSE
BOTH = OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT
PERSISTENT = MQMD(persistence=1)


def test_a_restart_in_the_middle_of_the_load_loses_and_doubles_nothing(serve):
    """Four clients put, four get, each in units; the server is stopped and started three times meanwhile."""
    server = serve()
    define(server, max_depth=100_000)
    each, confirmed, got = 40, [], []
    going = threading.Event()

    def lasting():
        return server.connect(reconnect_s=60)

    def unit(work):
        while True:
            try:
                return work()
            except MQError as error:
                if error.reason is not Reason.BACKED_OUT:
                    raise

    def put(number):
        with lasting() as app, app.open("ORDERS", OpenOptions.OUTPUT) as queue:
            for n in range(each):

                def one(n=n):
                    queue.put(f"{number}-{n}a", PERSISTENT)
                    queue.put(f"{number}-{n}b", PERSISTENT)
                    app.commit()

                unit(one)
                confirmed.extend((f"{number}-{n}a", f"{number}-{n}b"))

    def get():
        with lasting() as app, app.open("ORDERS", OpenOptions.INPUT_SHARED) as queue:
            while not going.is_set() or len(got) < len(confirmed):

                def one():
                    try:
                        message = queue.get(wait_ms=100)
                    except MQError as error:
                        if error.reason is Reason.NO_MSG_AVAILABLE:
                            return None
                        raise
                    app.commit()
                    return message.text

                text = unit(one)
                if text is not None:
                    got.append(text)

    putters = [threading.Thread(target=put, args=(n,), daemon=True) for n in range(4)]
    getters = [threading.Thread(target=get, daemon=True) for _ in range(4)]
    for thread in (*putters, *getters):
        thread.start()
    for _ in range(3):
        threading.Event().wait(0.25)
        server.stop()
        server = serve()
    for thread in putters:
        thread.join(60)
    going.set()
    for thread in getters:
        thread.join(60)
    assert not any(thread.is_alive() for thread in (*putters, *getters))
    expected = sorted(f"{number}-{n}{part}" for number in range(4) for n in range(each) for part in "ab")
    assert expected == sorted(confirmed)
    assert expected == sorted(got)


def test_a_put_out_of_syncpoint_whose_answer_is_lost_is_not_repeated(serve):
    server = serve()
    define(server)
    app = server.connect(reconnect_s=20)
    queue = app.open("ORDERS", BOTH)
    queue.put("one", PERSISTENT, NOW)
    server.stop()
    serve()
    with fails(Reason.CALL_INTERRUPTED):
        queue.put("two", PERSISTENT, NOW)
    queue.put("three", PERSISTENT, NOW)
    app.disconnect()


def test_what_was_read_ahead_is_there_after_the_link_was_made_again(serve):
    """CC3: it is off the queue, so nobody else has it."""
    server = serve()
    define(server)
    app = server.connect(reconnect_s=20)
    queue = app.open("ORDERS", BOTH | OpenOptions.READ_AHEAD)
    queue.put_all(["one", "two", "three"], MQMD(format="MINE"), NOW)
    assert queue.get(GET_NOW).text == "one"
    app.status()  # what was sent ahead has come
    server.stop()
    serve()
    queue.put("four", PERSISTENT)
    app.commit()
    got = [queue.get(GET_NOW) for _ in range(3)]
    assert [("two", "MINE"), ("three", "MINE"), ("four", "MQSTR")] == [(m.text, m.envelope.format) for m in got]
    app.disconnect()


@pytest.mark.parametrize("kind", [DefinitionType.PERMDYN, DefinitionType.TEMPDYN])
@pytest.mark.parametrize("called", ["ANSWERS.*", "ANSWERS.MINE"])
def test_a_dynamic_queue_has_its_name_on_the_new_link(serve, kind, called):
    """RC1: a permanent one has its messages too; none is left behind beside it."""
    server = serve()
    with server.connect() as app:
        app.define(ModelQueue("ANSWERS.MODEL", definition=kind))
    app = server.connect(reconnect_s=20)
    queue = app.open("ANSWERS.MODEL", BOTH, dynamic_name=called)
    name, kept = queue.name, kind is DefinitionType.PERMDYN
    queue.put("there before", MQMD(persistence=int(kept)))
    app.commit()
    server.stop()
    serve()
    queue.put("there now", MQMD(persistence=int(kept)))
    app.commit()
    assert name == queue.name
    expected = ["there before", "there now"] if kept else ["there now"]
    assert expected == [queue.get(GET_NOW).text for _ in expected]
    assert [name] == [row["QUEUE"] for row in app.mqsc("DISPLAY QLOCAL(ANSWERS.*)")["rows"]]
    queue.close(CloseOptions.DELETE)
    assert [] == app.mqsc("DISPLAY QLOCAL(ANSWERS.*)")["rows"]
    app.disconnect()


def test_an_alias_that_leads_elsewhere_is_not_opened_again(serve):
    """RC1: what was put on one queue would go on to another."""
    server = serve()
    define(server)
    with server.connect() as app:
        app.define(LocalQueue("BILLS"))
        app.define(AliasQueue("WORK", target="ORDERS"))
    app = server.connect(reconnect_s=20)
    queue = app.open("WORK", OpenOptions.OUTPUT)
    server.stop()
    with serve().connect() as other:
        other.alter(AliasQueue, "WORK", target="BILLS")
    with fails(Reason.RECONNECT_FAILED):
        queue.put("x")


def test_a_call_for_many_messages_goes_on_over_a_new_link_or_says_that_it_was_cut(serve):
    """RC2, RQ4: the first frame of a unit is made again; out of syncpoint nothing is repeated."""
    server = serve()
    define(server)
    app = server.connect(reconnect_s=20)
    queue = app.open("ORDERS", BOTH)
    queue.put_all(["zero"], PERSISTENT, NOW)
    server.stop()
    server = serve()
    queue.put_all(["one", "two"], PERSISTENT)
    app.commit()
    server.stop()
    server = serve()
    with fails(Reason.CALL_INTERRUPTED):
        queue.put_all(["three"], PERSISTENT, NOW)
    app.disconnect()
    assert left_on(server) == ["zero", "one", "two"]


def test_a_unit_that_a_repeated_call_began_is_backed_out_as_a_whole(serve):
    """RC2: the first put of a unit is made again on a new link; when that is lost too, the unit was open."""
    server = serve()
    define(server)
    app = server.connect(reconnect_s=20)
    queue = app.open("ORDERS", BOTH)
    server.stop()
    server = serve()
    queue.put("first", PERSISTENT)
    server.stop()
    server = serve()
    with fails(Reason.BACKED_OUT):
        queue.put("second", PERSISTENT)
    app.disconnect()
    assert left_on(server) == []


def test_a_link_that_is_lost_at_the_end_is_missed_by_nobody(serve):
    server = serve()
    define(server)
    app, other = server.connect(reconnect_s=20), server.connect(reconnect_s=20)
    queue, opened = app.open("ORDERS", BOTH), other.open("ORDERS", BOTH)
    queue.put("kept", PERSISTENT)
    app.commit()
    server.stop()
    app.disconnect()
    assert not app.connected
    server = serve()
    opened.close()
    other.disconnect()
    assert left_on(server) == ["kept"]


def test_a_handle_is_asked_under_the_number_it_has_on_the_new_link(serve):
    server = serve()
    define(server)
    app = server.connect(reconnect_s=20)
    first, second = app.open("ORDERS", OpenOptions.OUTPUT), app.open("ORDERS", OpenOptions.INQUIRE)
    first.close()
    server.stop()
    serve()
    assert {"CURDEPTH": 0} == second.inquire("CURDEPTH")
    second.close()
    app.disconnect()


@pytest.mark.parametrize("calls", [0, 1, 2], ids=["connecting", "opening the first", "opening the second"])
def test_a_link_that_is_lost_again_while_it_is_made_is_made_once_more(serve, monkeypatch, calls):
    """RC1: the server may die twice in a moment; every handle is there on the link that lasts."""
    server = serve()
    define(server)
    app = server.connect(reconnect_s=20)
    first, second = app.open("ORDERS", OpenOptions.OUTPUT), app.open("ORDERS", OpenOptions.INQUIRE)
    new_link, made = app._new_link, []

    def soon_lost():
        link = new_link()
        made.append(link)
        if len(made) < 3:
            lose_after(link, calls, monkeypatch)
        return link

    monkeypatch.setattr(app, "_new_link", soon_lost)
    app._link._sock.shutdown(socket.SHUT_RDWR)
    first.put("kept", PERSISTENT)
    app.commit()
    assert second.inquire("CURDEPTH") == {"CURDEPTH": 1}
    assert len(made) == 3
    app.disconnect()
    assert left_on(server) == ["kept"]


def lose_after(link, calls, monkeypatch):
    """The link is lost in the call after so many."""
    call, made = link.call, []

    def lost(*asked):
        made.append(asked)
        if len(made) > calls:
            link._sock.shutdown(socket.SHUT_RDWR)
        return call(*asked)

    monkeypatch.setattr(link, "call", lost)


def test_reconnecting_gives_up_in_time(serve):
    server = serve()
    define(server)
    app = server.connect(reconnect_s=0.3)
    server.stop()
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        app.commit()
    with fails(Reason.CONNECTION_BROKEN):
        app.commit()


def test_no_link_is_made_again_to_give_a_unit_up(serve):
    """RC4: the application's exception comes at once, and not after `reconnect_s`."""
    server = serve()
    define(server)
    app = server.connect(reconnect_s=60)
    app.put("ORDERS", "given up", PERSISTENT)
    server.stop()
    with pytest.raises(ZeroDivisionError), app:
        raise ZeroDivisionError
    assert not app.connected
    assert left_on(serve()) == []


CALLS_BEHIND = {
    "a call that may be repeated": lambda app, queue: queue.inquire("CURDEPTH"),
    "a get": lambda app, queue: queue.get(GET_NOW),
    "the first put of a unit": lambda app, queue: queue.put("in a unit", PERSISTENT),
    "another of them": lambda app, queue: queue.put(b"another", PERSISTENT, NOW | LATER),
    "a commit of nothing": lambda app, queue: app.commit(),
    "a back out": lambda app, queue: app.backout(),
    "a disconnect": lambda app, queue: app.disconnect(),
}


@pytest.mark.parametrize("behind", CALLS_BEHIND.values(), ids=CALLS_BEHIND)
def test_puts_that_nobody_answered_are_told_of_when_their_link_is_lost(server, behind):
    """RC4: 2549, once; what was answered behind them has proved that they came about."""
    define(server)
    app = server.connect(reconnect_s=20)
    queue = app.open("ORDERS", BOTH | OpenOptions.INQUIRE)
    queue.put(b"known", PERSISTENT, NOW | LATER)
    app.status()
    app._link._sock.shutdown(socket.SHUT_RDWR)
    assert app.status()
    queue.put(b"not known", PERSISTENT, NOW | LATER)
    app._link._sock.shutdown(socket.SHUT_RDWR)
    with fails(Reason.CALL_INTERRUPTED):
        behind(app, queue)
    if app.connected:
        queue.put("next", PERSISTENT)
        app.commit()
        app.disconnect()


def test_a_put_without_an_answer_goes_on_over_a_new_link(serve):
    """RC1, RC2: as one with an answer does; when the unit was open, it is told."""
    server = serve()
    define(server)
    app = server.connect(reconnect_s=20)
    queue, long = app.open("ORDERS", BOTH), bytes(100_000)  # a long one is sent by itself
    app._link._sock.shutdown(socket.SHUT_RDWR)
    queue.put(long, PERSISTENT, LATER)
    app._link._sock.shutdown(socket.SHUT_RDWR)
    with fails(Reason.BACKED_OUT):
        queue.put(long, PERSISTENT, LATER)
    queue.put(long, PERSISTENT, LATER)
    app.disconnect()
    assert len(left_on(server)) == 1


def test_a_unit_that_was_prepared_when_its_link_was_lost_is_not_said_to_be_backed_out(server):
    """RC2: 2549; whether it is in doubt is asked."""
    define(server)
    app = server.connect(reconnect_s=20)
    app.put("ORDERS", "in doubt", PERSISTENT)
    link = app._link
    answer = link._answer

    def cut(number):
        answer(number)
        raise link.broke("cut")

    link._answer = cut
    with fails(Reason.CALL_INTERRUPTED):
        app.prepare(b"xid 1")
    assert app.in_doubt() == (b"xid 1",)
    app.put("ORDERS", "of another unit", PERSISTENT)
    app._link._sock.shutdown(socket.SHUT_RDWR)
    with fails(Reason.CALL_INTERRUPTED):
        app.commit_prepared(b"xid 1")
    assert app.in_doubt() == (b"xid 1",)
    app.commit_prepared(b"xid 1")
    app.disconnect()
    assert left_on(server) == ["in doubt"]
