"""The common queue server at its edges: late notices, small thresholds, long messages that move, bad policies."""

import pytest

from cqs.group import Group, on_structure, texts
from quaestor.cqs import query
from quaestor.cqs.group_directory import POLICY_FILE, PolicyError, define, read
from quaestor.cqs.interest import LOOK_AT_ALL
from quaestor.cqs.messages import QBUFFER_BYTES, Message
from quaestor.cqs.overflow import enlarged
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import lterm, message_id, remote, serial_transaction, suspended, transaction
from quaestor.cqs.refusals import CQSError, Why
from quaestor.storage.lists.operations import Count

LONG = [bytes([number]) * 2000 for number in range(6)]
ID = message_id("IMS1", 1)


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


# -- overflow, rule OV2


@pytest.mark.parametrize(
    ("total", "used", "most", "size"),
    [
        (100, 70, 200, 140),  # 70 per cent become 50
        (100, 70, 120, 120),
        (1000, 900, 5000, 1286),
        (100, 21, 5000, 2100),
        (100, 20, 200, 200),  # 20 points less than 20 per cent
        (100, 10, 200, 200),
        (100, 0, 200, 200),
    ],
)
def test_how_far_a_structure_is_enlarged(total, used, most, size):
    assert size == enlarged(total, used, most)


@pytest.mark.parametrize("percent", [1, 15, 20, 21])
def test_a_small_threshold_enlarges_and_goes_on(percent):
    group = Group(Policy(size=400, initsize=200, overflow_threshold_percent=percent))
    server = group.start("CQS1")
    client, before = server.register("IMS1"), server.pair.primary.space()
    number = 0
    while server.pair.primary.space().elements_total == before.elements_total:
        client.put(transaction("A"), [b"%d" % number, bytes(3000)])
        number += 1
    used = 100 * number * 6 / before.elements_total
    assert percent <= used + 6 * 100 / before.elements_total
    assert number == len(client.browse(transaction("A")))


# -- policies, rule PO4


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"size": 0}, "size is 0: a size in KB from 1 up"),
        ({"initsize": 0}, "initsize is 0"),
        ({"overflow_size": -1}, "overflow_size is -1"),
        ({"size": 10, "initsize": 11}, "initsize is 11: 10 at most, which is size"),
        ({"overflow_threshold_percent": 0}, "threshold is 0: a percentage from 1 up"),
        ({"rebuild_percent": 0}, "rebuild_percent is 0"),
        ({"preference": ()}, "preference is empty"),
    ],
)
def test_a_policy_that_no_structure_can_have_is_refused(wrong, why):
    with pytest.raises(ValueError, match=why):
        Policy(**wrong)


def test_a_policy_comes_back(tmp_path):
    policy = Policy("EMHQ", 500, 200, 300, 25, ("CF02", "CF01"), 3, 80, fast_path=True)
    define(tmp_path, policy, {"CF01": "/run/cf.sock", "CF02": 'redis://host/"x"'})
    assert (policy, {"CF01": "/run/cf.sock", "CF02": 'redis://host/"x"'}) == read(tmp_path)
    with pytest.raises(PolicyError, match="there already"):
        define(tmp_path, policy, {})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("size = 0", "size is 0"),
        ('size = "large"', "not supported between"),
        ("sise = 5", "not known: sise"),
        ("size = ", "Invalid value"),
        ("preference = 5", "not iterable"),
    ],
)
def test_a_policy_that_was_written_by_hand_is_refused_in_one_line(tmp_path, line, why):
    text = f'preference = ["CF01"]\n{line}\n[facilities]\nCF01 = "/run/cf.sock"\n'
    (tmp_path / POLICY_FILE).write_text(text.replace('preference = ["CF01"]\n', "") if "preference" in line else text)
    with pytest.raises(PolicyError, match=why) as refused:
        read(tmp_path)
    assert str(tmp_path / POLICY_FILE) in str(refused.value)


# -- what operators see


def test_what_stands_on_a_pair(group, server, client):
    """Each queue with its messages and elements; servers with their state; clients with their server."""
    group.start("CQS2").register("IMS2")
    client.put(transaction("B"), [b"x" * 600])
    client.put(transaction("A"), LONG)
    client.put(transaction("A"), [b"x"])
    unit = client.begin()
    unit.read(transaction("A"))
    told = query.status(server.pair)
    assert [("1A", "transaction ready", 1, 1, False), ("1B", "transaction ready", 1, 2, False)] == [
        (each["queue"], each["type"], each["messages"], each["elements"], each["overflow"]) for each in told["queues"]
    ]
    assert {"IMS1": "CQS1", "IMS2": "CQS2"} == told["clients"]
    assert [("CQS2", "active")] == [(each["name"], each["state"]) for each in told["servers"]]
    assert (1, 0) == (told["locked"], told["cold"])
    assert 3 == told["structures"][0]["messages"] == len(on_structure(server).placed)
    group.kill("CQS2")
    assert [("CQS2", "failed")] == [(each["name"], each["state"]) for each in query.status(server.pair)["servers"]]
    server.step()
    assert [("CQS2", "ended")] == [(each["name"], each["state"]) for each in query.status(server.pair)["servers"]]
    assert {"IMS1": "CQS1"} == query.status(server.pair)["clients"]
