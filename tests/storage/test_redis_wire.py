"""How requests to Redis are written and answered (LW1-LW5), and what they cost the server."""

import socket
import threading
from contextlib import closing, contextmanager

import pytest
import redis

from quaestor.storage.lists.operations import (
    DELETED,
    KEY_MAX,
    KEY_MIN,
    Claim,
    Delete,
    Limit,
    Move,
    Read,
    ReadControls,
    ReadSpace,
    Space,
    Unwatch,
    Watch,
    Write,
)
from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.lists.redis_wire import RedisWire, Reply, RequestForms
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal
from servers import redis_server

READY, TAKEN, KEY = 5, 6, b"k" * 16
TAKE = Claim(READY, KEY_MIN, KEY_MAX, TAKEN, keep=0)


@contextmanager
def wire(away_s=5):
    """A wire, and the other end of its socket."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        yield RedisWire(ours, away_s), theirs


# -- the socket


ANSWERS = [
    (b"$5\r\n\1\r\n45\r\n", Reply(b"\1\r\n45")),
    (b"*2\r\n$3\r\n\1ab\r\n$4\r\n\r\n\r\n\r\n", Reply(b"\1ab", b"\r\n\r\n")),
    (b"*2\r\n$3\r\n\1ab\r\n$0\r\n\r\n", Reply(b"\1ab", b"")),
]


@pytest.mark.parametrize(("sent", "reply"), ANSWERS)
def test_an_answer_comes_in_pieces_cut_anywhere(sent, reply):
    for cut in range(1, len(sent) + 1):
        with wire() as (ours, theirs):
            theirs.sendall(sent[:cut])
            later = threading.Timer(0.005, theirs.sendall, (sent[cut:],))
            later.start()
            assert reply == ours.exchange(b"question")
            later.join()


def test_long_answers_come_whole():
    data = bytes(300_000)
    with wire() as (ours, theirs):
        sender = threading.Thread(target=theirs.sendall, args=(b"*2\r\n$1\r\n\1\r\n$%d\r\n%s\r\n" % (len(data), data),))
        sender.start()
        assert Reply(b"\1", data) == ours.exchange(b"question")
        sender.join()


def test_an_error_is_told_in_its_words():
    with wire() as (ours, theirs):
        theirs.sendall(b"-READONLY You can't write against a read only replica.\r\n")
        with pytest.raises(ValueError, match="READONLY"):
            ours.exchange(b"question")


def test_a_server_that_ends_or_is_silent_is_noticed():
    with wire() as (ours, theirs):
        theirs.sendall(b"$5\r\n\1")
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(EOFError):
            ours.exchange(b"question")
    with wire(away_s=0.05) as (ours, _), pytest.raises(OSError, match="unavailable"):
        ours.exchange(b"question")


# -- forms


def test_what_is_asked_again_is_sent_as_it_was():
    forms = RequestForms("library", 1, "prefix", "field", "token")
    frame, _ = forms.framed((TAKE,))
    assert frame is forms.framed((TAKE,))[0]
    forms.framed((Write(READY, KEY, b"data"),))
    assert frame is forms.framed((TAKE,))[0]
    assert frame == forms.framed((Claim(READY, KEY_MIN, KEY_MAX, TAKEN, keep=0),))[0]


@pytest.mark.parametrize("wrong", [Write(READY, b"short", b""), Write(READY, KEY, b"", bytes(65))])
def test_what_no_engine_could_hold_is_not_sent(wrong):
    with pytest.raises(ValueError, match="bytes"):
        RequestForms("library", 1, "prefix").framed((wrong,))


# -- the server


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory):
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def server(redis_url):
    with closing(redis.Redis.from_url(redis_url)) as client:
        client.flushall()
        yield client


@pytest.fixture
def structure(redis_url, server):  # the server is emptied before
    made = RedisConnection(redis_url, Shape("APPL"), "QM1", lambda _token: None)
    yield made
    made.disconnect()


def commands(server, structure, *operations):
    """What a request makes the server do."""
    server.config_resetstat()
    structure.request(*operations)
    known = server.info("commandstats")
    return {
        name.removeprefix("cmdstat_"): counted["calls"] for name, counted in known.items() if not name.endswith("stat")
    }


def test_a_put_is_three_commands_and_a_get_six(server, structure):
    structure.request(Limit(READY, 100))
    put = commands(server, structure, Write(READY, KEY, b"x" * 1000, b"adjunct"))
    get = commands(server, structure, TAKE)
    assert {"fcall": 1, "hmget": 1, "zadd": 1, "hset": 1} == put
    assert {"fcall": 1, "hmget": 2, "zrangebylex": 1, "zrem": 1, "hdel": 1, "hset": 1} == get


def test_a_list_is_counted_only_when_the_structure_has_as_much_as_the_least_limit(server, structure):
    structure.request(Limit(READY, 3), Limit(TAKEN, 2))
    counted = ["zcard" in commands(server, structure, Write(READY, KEY, b"")) for _ in range(3)]
    assert [False, False, True] == counted
    with pytest.raises(StructureRefusal, match="LIST_FULL"):
        structure.request(Write(READY, KEY, b""))
    structure.request(Limit(TAKEN, 0), Limit(READY, 4))
    assert "zcard" not in commands(server, structure, Write(READY, KEY, b""))
    assert ((4, 4),) == structure.request(ReadControls(READY))


def test_watches_are_looked_at_until_there_are_none(server, structure):
    structure.request(Watch("QM1", 1, TAKEN))
    assert "hgetall" in commands(server, structure, Write(READY, KEY, b""))
    structure.request(Unwatch("QM1", 1))
    looked = ["hgetall" in commands(server, structure, Write(READY, KEY, b"")) for _ in range(2)]
    assert [True, False] == looked


def test_what_a_request_has_deleted_is_gone_for_the_rest_of_it(structure):
    (number,) = structure.request(Write(READY, KEY, b"x"))
    assert (True, None, Space(0, 10_000, 0, 60_000)) == structure.request(
        Delete(number, READY), Read(number), ReadSpace()
    )
    (number,) = structure.request(Write(READY, KEY, b"x" * 300))
    for again in (Delete(number, READY), Move(number, READY, TAKEN)):
        with pytest.raises(StructureRefusal, match="NOT_FOUND"):
            structure.request(Delete(number, READY), again)
    assert b"x" * 300 == structure.request(Read(number))[0].data


def test_more_is_deleted_at_once_than_a_call_has_room_for(server, structure):
    numbers = structure.request(*(Write(READY, KEY, b"x") for _ in range(1200)))
    structure.request(*(Delete(number, READY) for number in numbers))
    assert {b"state", b"server", b"token:QM1"} == set(server.hkeys("quaestor:{APPL}:structure"))


def test_data_stays_where_it_is_when_its_entry_moves(server, structure):
    """A unit that ends moves heads: what was put is not read and not written again."""
    (number,) = structure.request(Write(READY, KEY, bytes(60_000)))
    move = commands(server, structure, Move(number, READY, TAKEN, b"z" * 16, b"mine"))
    assert {"fcall": 1, "hmget": 1, "hget": 1, "zrem": 1, "zadd": 1, "hset": 1} == move
    (entry,) = structure.request(Read(number))
    assert (TAKEN, b"z" * 16, b"mine", bytes(60_000)) == (entry.list, entry.key, entry.adjunct, entry.data)


def test_what_another_version_has_left_is_thrown_away(redis_url, server):
    """Its entries are not as ours are: the structure is new, and recovered from the logs."""
    server.hset("quaestor:{APPL}:state", mapping={"entries_total": 5, "server": "same"})
    server.zadd("quaestor:{APPL}:list:0", {bytes(32): 0})
    made = RedisConnection(redis_url, Shape("APPL"), "QM1", lambda _token: None)
    assert (Space(0, 10_000, 0, 60_000), None) == made.request(ReadSpace(), Claim(0, KEY_MIN, KEY_MAX, TAKEN))
    assert not server.exists("quaestor:{APPL}:state")
    made.disconnect()


def test_an_answer_that_is_an_error_means_that_the_structure_is_lost(server, structure):
    server.function_flush()
    with pytest.raises(StructureLostError, match="not found"):
        structure.request(TAKE)


@pytest.mark.parametrize("leave", ["disconnect", "fail"])
def test_a_connection_whose_request_failed_is_closed_once_and_not_under_way(redis_url, server, monkeypatch, leave):
    """The listener closes what was left without a word; anything else is closed by whoever disconnects, when he has."""
    closed = []
    monkeypatch.setattr(RedisConnection, "_close", lambda one: closed.append(threading.current_thread()))
    made = RedisConnection(redis_url, Shape("APPL"), "QM1", lambda _token: None)
    server.function_flush()
    with pytest.raises(StructureLostError, match="not found"):
        made.request(TAKE)
    getattr(made, leave)()
    for thread in made._threads:
        thread.join()
    assert [threading.current_thread() if leave == "disconnect" else made._threads[0]] == closed
    monkeypatch.undo()
    made._close()


def test_a_claim_alone_answers_as_one_of_several(structure):
    for _ in range(2):
        structure.request(Write(READY, KEY, b"data", b"\0" * 5 + b"rest"))
    (alone,) = structure.request(TAKE)
    _, among = structure.request(ReadSpace(), TAKE)
    assert (DELETED, b"data", b"\0" * 5 + b"rest") == (alone.done, alone.entry.data, alone.entry.adjunct)
    assert alone.entry._replace(number=0, arrival=0) == among.entry._replace(number=0, arrival=0)
    assert ((None,), (None, None)) == (structure.request(TAKE), structure.request(TAKE, TAKE))
