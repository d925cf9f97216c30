"""The main flows are the same on every engine: in memory, in a coupling facility's process, in Redis."""

import threading
from itertools import count

import pytest

from cqs.group import Group, agrees_with_log, fill, texts
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import Private, lterm, serial_transaction, suspended, transaction
from quaestor.cqs.refusals import CQSError, Why
from quaestor.server.coupling_facility import CouplingFacility
from quaestor.storage.lists import redis_engine
from quaestor.storage.lists.client import FacilityConnection
from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.redis_engine import RedisConnection
from quaestor.storage.real_disk import RealDisk
from servers import redis_server

TRANX, LTRMZ = transaction("TRANX"), lterm("LTRMZ")
LONG = b"." * 3000
NUMBERS = count(1)


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory):
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


class Process:
    """A coupling facility that serves sockets, as a `Group` uses it."""

    def __init__(self, path):
        self._facility = CouplingFacility(path)
        self._serving = threading.Thread(target=self._facility.serve)
        self._serving.start()

    def connect(self, shape, connector, told):
        return FacilityConnection(self._facility.path, shape, connector, told)

    def end(self):
        self._facility.stop()
        self._serving.join()


class Redis:
    """Structures in a Redis server, under a name of their own."""

    def __init__(self, url):
        self._url = url

    def connect(self, shape, connector, told):
        return RedisConnection(self._url, shape, connector, told)


@pytest.fixture(params=["memory", "facility", "redis"])
def group(request, tmp_path, monkeypatch):
    """A group on each engine, with a real disk; what is told is waited for."""
    ends = []

    def process():
        made = Process(tmp_path / f"cf{next(NUMBERS)}.sock")
        ends.append(made.end)
        return made

    url = request.getfixturevalue("redis_url") if request.param == "redis" else None
    monkeypatch.setattr(redis_engine, "ALIVE_MS", 1500)
    monkeypatch.setattr(redis_engine, "SIGN_S", 0.2)
    engine = {"memory": MemoryFacility, "facility": process, "redis": lambda: Redis(url)}[request.param]
    policy = Policy(f"MSGQ{next(NUMBERS)}", size=200, overflow_size=200)
    made = Group(policy, {"CF01": engine, "CF02": engine}, RealDisk(tmp_path / "log"))
    yield made
    made.stop()
    for end in ends:
        end()


class Ear:
    """What a client was told; `expect` waits for it."""

    def __init__(self):
        self._told, self._came = [], threading.Condition()

    def __call__(self, queue):
        with self._came:
            self._told.append(str(queue))
            self._came.notify_all()

    def expect(self, *queues):
        with self._came:
            self._came.wait_for(lambda: len(self._told) >= len(queues), timeout=5)
            assert list(queues) == self._told


def test_front_end_and_back_end(group):
    ears = Ear(), Ear()
    ims1, ims2 = (group.start(f"CQS{n}").register(f"IMS{n}", ears[n - 1]) for n in (1, 2))
    ims1.register_interest(TRANX), ims2.register_interest(TRANX), ims1.register_interest(LTRMZ)
    ims1.put(TRANX, [b"I-MSG1"])
    ears[0].expect("1TRANX"), ears[1].expect("1TRANX")
    unit = ims2.begin()
    assert (b"I-MSG1",) == unit.read(TRANX).segments
    unit.insert(LTRMZ, [b"O-MSG1", LONG, LONG])
    unit.commit()
    ears[0].expect("1TRANX", "5LTRMZ")
    unit = ims1.begin()
    assert (b"O-MSG1", LONG, LONG) == unit.read(LTRMZ).segments
    unit.commit()
    assert (0, 0) == (ims2.count(TRANX), ims2.count(LTRMZ))
    assert agrees_with_log(group.servers["CQS1"])


def test_what_is_backed_out_comes_first(group):
    ims = group.start("CQS1").register("IMS1")
    for text in (b"1", b"2", b"3"):
        ims.put(TRANX, [text])
    units = [ims.begin() for _ in range(2)]
    for unit in units:
        unit.read(TRANX)
    for unit in reversed(units):
        unit.backout()
    assert ["1", "2", "3"] == texts(ims, TRANX)


def test_serial_transactions_run_where_they_arrived_one_at_a_time(group):
    ims1, ims2 = (group.start(f"CQS{n}").register(f"IMS{n}") for n in (1, 2))
    queue = serial_transaction("TRANS", "IMS1")
    ims1.put(queue, [b"1"]), ims1.put(queue, [b"2"])
    assert ims2.begin().read(serial_transaction("TRANS", "IMS2")) is None
    unit, other = ims1.begin(), ims1.begin()
    assert (b"1",) == unit.read(queue).segments
    assert other.read(queue) is None
    unit.backout()
    assert (b"1",) == other.read(queue).segments
    other.commit()
    assert ["2"] == texts(ims1, queue)


def test_a_suspended_message_waits_until_it_is_moved_back(group):
    ims = group.start("CQS1").register("IMS1")
    ims.put(TRANX, [b"a", LONG, LONG])
    unit = ims.begin()
    unit.suspend(unit.read(TRANX))
    unit.commit()
    assert (0, ["a"]) == (ims.count(TRANX), texts(ims, suspended("TRANX")))
    assert 1 == ims.move(suspended("TRANX"), TRANX)
    assert (b"a", LONG, LONG) == ims.browse(TRANX)[0].segments
    assert agrees_with_log(group.servers["CQS1"])


def test_a_failed_reader_gives_its_message_back(group):
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a"])
    ims2.begin().read(TRANX)
    assert 0 == ims1.count(TRANX)
    assert 1 == two.client_failed("IMS2")
    assert ["a"] == texts(ims1, TRANX)


def test_a_failed_server_gives_its_messages_back(group):
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    ims1.put(TRANX, [b"a", LONG, LONG])
    ims2.begin().read(TRANX)
    group.kill("CQS2")
    for _ in range(200):
        if one.step():
            break
        threading.Event().wait(0.05)
    assert (b"a", LONG, LONG) == ims1.browse(TRANX)[0].segments
    assert agrees_with_log(one)


def test_checkpoint_and_copy_with_a_second_server_at_work(group):
    one, two = group.start("CQS1"), group.start("CQS2")
    ims1, ims2 = one.register("IMS1"), two.register("IMS2")
    for number in range(20):
        ims1.put(TRANX, [b"%d" % number, b"x" * 1000])
    unit = ims2.begin()
    unit.read(TRANX)
    assert 20 == one.structure_checkpoint().messages
    one.copy_structure("CF02", 400)
    unit.commit()
    assert [str(number) for number in range(1, 20)] == texts(ims2, TRANX)
    assert agrees_with_log(two)


def test_overflow_and_full(group):
    server = group.start("CQS1")
    ims = server.register("IMS1")
    held = fill(ims, transaction("GREEDY"))
    assert {transaction("GREEDY").key} == server.pair.overflow
    assert [f"CQS0205E STRUCTURE {group.policy.name}.OFLW IS FULL"] == group.console
    ims.put(TRANX, [b"goes on"])
    for number in range(held):
        assert b"%d" % number == ims.delete(transaction("GREEDY")).segments[0]
    assert not server.pair.overflow
    assert agrees_with_log(server)


def test_two_threads_of_systems_share_a_queue(group):
    """Two servers read what a third one puts, each message once."""
    names = ("CQS1", "CQS2", "CQS3")
    clients = [group.start(name).register(f"IMS{number}") for number, name in enumerate(names)]
    got = [[], []]

    def work(reader, into):
        for _ in range(400):
            unit = reader.begin()
            message = unit.read(TRANX)
            if message is None and clients[2].name in done:
                return
            if message is not None:
                unit.commit()
                into.append(message.segments[0])

    done = []
    threads = [threading.Thread(target=work, args=(clients[at], got[at])) for at in range(2)]
    for thread in threads:
        thread.start()
    for number in range(30):
        clients[2].put(TRANX, [b"%d" % number])
    done.append(clients[2].name)
    for thread in threads:
        thread.join()
    rest = texts(clients[2], TRANX)
    assert sorted(range(30)) == sorted(int(text) for text in (*got[0], *got[1], *rest))
    assert not group.servers["CQS1"].pair.structures[0].held(Private.MOVE, "CQS3")


def test_a_client_of_a_name_is_one_in_the_whole_group(group):
    one, two = group.start("CQS1"), group.start("CQS2")
    one.register("IMS1")
    with pytest.raises(CQSError) as refused:
        two.register("IMS1")
    assert (Why.CLIENT_REGISTERED, "CQS1") == (refused.value.why, refused.value.facts["server"])
    one.deregister("IMS1")
    two.register("IMS1")
