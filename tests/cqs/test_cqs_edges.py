"""The common queue server at its edges: late notices, small thresholds, long messages that move, bad policies."""

import pytest

from cqs.group import Group, texts
from quaestor.cqs.interest import LOOK_AT_ALL
from quaestor.cqs.messages import QBUFFER_BYTES, Message
from quaestor.cqs.queue_names import lterm, message_id, remote, serial_transaction, suspended, transaction
from quaestor.cqs.refusals import CQSError, Why
from quaestor.storage.lists.operations import Count

LONG = [bytes([number]) * 2000 for number in range(6)]
ID = message_id("IMS1", 1)


@pytest.fixture
def group():
    made = Group()
    made.start("CQS1")
    return made


@pytest.fixture
def server(group):
    return group.servers["CQS1"]


@pytest.fixture
def client(server):
    return server.register("IMS1")


def in_use(server):
    """Entries on the client queues of a structure: none when every message is gone, with its continuations."""
    counts = server.pair.primary.connection.request(*(Count(header) for header in range(71, 192)))
    return sum(counts)


# -- interest, rules IN1 to IN5


def test_a_notice_that_comes_late_is_for_nobody(server, client):
    """IN5: it would end the thread that listens, and nobody would be told of anything any more."""
    told = []
    other = server.register("IMS2", told.append)
    for queue in (transaction("A"), transaction("B")):
        other.register_interest(queue)
    other.deregister_interest(transaction("A"))
    for token in (1, 2, 99):
        server.pair.told(0, token)
    assert [transaction("B")] == told


def test_everything_is_told_of_when_something_may_have_been_missed(server, client):
    """IN4: to everybody who is registered, each for each of its queues."""
    told = {"IMS2": [], "IMS3": []}
    for name, list_ in told.items():
        server.register(name, list_.append).register_interest(transaction("A"))
    server.clients["IMS3"].register_interest(lterm("T1"))
    server.pair.told(0, LOOK_AT_ALL)
    assert {"IMS2": [transaction("A")], "IMS3": [transaction("A"), lterm("T1")]} == told
    assert [transaction("A"), lterm("T1")] == server.clients["IMS3"].interests


def test_who_registers_twice_is_told_once(server, client):
    told = []
    other = server.register("IMS2", told.append)
    for _ in range(2):
        other.register_interest(transaction("A"))
    client.put(transaction("A"), [b"x"])
    assert [transaction("A")] == told
    other.deregister_interest(transaction("A"))
    other.deregister_interest(transaction("A"))  # harmless
    assert [] == other.interests


def test_one_of_two_that_deregisters_leaves_the_other_told(server, client):
    told = []
    for name in ("IMS2", "IMS3"):
        server.register(name, lambda _queue, name=name: told.append(name)).register_interest(transaction("A"))
    server.clients["IMS2"].deregister_interest(transaction("A"))
    client.put(transaction("A"), [b"x"])
    assert ["IMS3"] == told


# -- moves, rule UW6


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (transaction("A"), transaction("B")),
        (transaction("A"), suspended("A")),
        (transaction("A"), serial_transaction("A", "IMS1")),
        (transaction("A"), lterm("T1")),
        (lterm("T1"), transaction("A")),
        (lterm("T1"), remote("R1")),
        (remote("R1"), transaction("A")),
    ],
    ids=str,
)
def test_a_long_message_moves_with_all_its_segments(server, client, source, target):
    """UW6: also where the continuations of the other queue are staged elsewhere."""
    client.put(source, LONG)
    client.put(source, [b"short"])
    assert 2 == client.move(source, target)
    assert [tuple(LONG), (b"short",)] == [message.segments for message in client.browse(target)]
    assert [] == client.browse(source)
    for expected in (tuple(LONG), (b"short",)):
        assert expected == client.delete(target).segments
    assert 0 == in_use(server)


def test_a_long_message_whose_move_is_backed_out_stays(server, client):
    client.put(transaction("A"), LONG)
    unit = client.begin()
    unit.move(unit.read(transaction("A")), lterm("T1"))
    unit.backout()
    assert [] == client.browse(lterm("T1"))
    assert [tuple(LONG)] == [message.segments for message in client.browse(transaction("A"))]


def test_a_move_for_which_there_is_no_room_leaves_the_message_ready(server, client, monkeypatch):
    client.put(transaction("A"), LONG)

    def full(*_):
        raise CQSError(Why.STRUCTURE_FULL, structure="MSGQ")

    monkeypatch.setattr("quaestor.cqs.unit_of_work.check_room", full)
    with pytest.raises(CQSError, match="STRUCTURE_FULL"):
        client.move(transaction("A"), lterm("T1"))
    assert [tuple(LONG)] == [message.segments for message in client.browse(transaction("A"))]


def test_a_move_to_the_same_queue_leaves_it_as_it_is(client):
    for text in (b"1", b"2", b"3"):
        client.put(transaction("A"), [text])
    assert 3 == client.move(transaction("A"), transaction("A"))
    assert ["1", "2", "3"] == texts(client, transaction("A"))
    assert 0 == client.move(transaction("NONE"), transaction("A"))


# -- messages, rules QM1 and QM2


@pytest.mark.parametrize(
    ("sizes", "records"),
    [
        ([], 1),
        ([0], 1),
        ([QBUFFER_BYTES - 18 - 4], 1),  # the prefix of record 1, and a length
        ([QBUFFER_BYTES - 18 - 4 - 1, 0], 2),
        ([QBUFFER_BYTES - 18 - 8, 0], 1),
        ([1000] * 5, 2),
        ([3000, 3000, 1000, 100], 3),
    ],
)
def test_segments_are_gathered_into_records_and_never_divided(sizes, records):
    segments = tuple(bytes([at]) * size for at, size in enumerate(sizes))
    made = Message.made(transaction("A"), ID, segments)
    assert records == len(made.records)
    assert records == made.beside.records
    assert segments == made.segments
    assert all(len(record) <= QBUFFER_BYTES for record in made.records)
    assert made.elements == sum(-(-len(record) // 512) for record in made.records)


def test_a_segment_that_fits_no_record_is_refused():
    with pytest.raises(CQSError, match="SEGMENT_TOO_LONG"):
        Message.made(transaction("A"), ID, [bytes(QBUFFER_BYTES - 18 - 3)])
