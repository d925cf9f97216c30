"""A call for many messages, whichever door and store it goes through: order, unit of recovery, refusals (NA4)."""

import pytest

from model.answers import fails
from quaestor import MQMD, GetOptions, MQError, OpenOptions, PutOptions, Reason
from quaestor.mqi.objects import LocalQueue, QueueManagerAttributes
from quaestor.qmgr.connection.handle import RUN_MAX

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
KEPT, LOST = MQMD(persistence=1), MQMD(persistence=0)


def drained(queue):
    return [queue.get(GET_NOW) for _ in range(queue.inquire("CURDEPTH")["CURDEPTH"])]


def test_what_was_put_comes_back_and_is_there_after_the_commit(app, other, orders):
    bodies = [b"%d" % number * number for number in range(RUN_MAX + 50)]
    put = orders.put_all(bodies, KEPT)
    assert bodies == [message.body for message in put]
    assert len(bodies) == len({message.msg_id for message in put})
    reader = other.open("ORDERS", OpenOptions.INPUT_SHARED)
    with fails(Reason.NO_MSG_AVAILABLE):
        reader.get(GET_NOW)
    app.commit()
    found = drained(orders)
    assert [(one.body, one.msg_id, one.put_us) for one in put] == [(one.body, one.msg_id, one.put_us) for one in found]
    assert sorted(message.put_us for message in found) == [message.put_us for message in found]


def test_a_backout_takes_all_of_them(app, orders):
    orders.put_all([b"a", b"b", b"c"], KEPT)
    app.backout()
    assert [] == drained(orders)


def test_nothing_to_put_is_nothing(orders):
    assert [] == orders.put_all([])


def test_a_generator_is_as_good_as_a_list(app, orders):
    orders.put_all((b"%d" % number for number in range(3)), KEPT, NOW)
    assert [b"0", b"1", b"2"] == [message.body for message in drained(orders)]


def test_out_of_syncpoint_they_are_there_at_once(app, other, orders):
    reader = other.open("ORDERS", OpenOptions.INPUT_SHARED)
    for md in (KEPT, LOST):
        orders.put_all([b"a", b"b"], md, NOW)
        assert [b"a", b"b"] == [reader.get(GET_NOW).body for _ in range(2)]
    app.backout()


@pytest.mark.parametrize("options", [PutOptions.NONE, NOW])
@pytest.mark.parametrize("md", [KEPT, LOST])
@pytest.mark.parametrize("at", [0, 1, 7])
def test_those_before_the_one_that_is_refused_stay(app, orders, at, md, options):
    """Those behind it are not tried; the reason says how many were put."""
    app.alter(LocalQueue, "ORDERS", max_msg_length=100)
    bodies = [b"a"] * at + [bytes(101)] + [b"b"] * 3
    with pytest.raises(MQError) as refused:
        orders.put_all(bodies, md, options)
    assert (Reason.MSG_TOO_BIG_FOR_Q, 101, at) == (
        refused.value.reason, refused.value.facts["length"], refused.value.facts["put"],
    )  # fmt: skip
    app.commit()
    assert bodies[:at] == [message.body for message in drained(orders)]


def test_a_full_queue_and_maxumsgs_end_it(app, orders):
    app.alter(LocalQueue, "ORDERS", max_depth=5)
    with pytest.raises(MQError) as full:
        orders.put_all([b"x"] * 9, KEPT)
    assert (Reason.Q_FULL, 5) == (full.value.reason, full.value.facts["put"])
    app.backout()
    app.alter(LocalQueue, "ORDERS", max_depth=500)
    app.alter(QueueManagerAttributes, max_uncommitted=4)
    with pytest.raises(MQError) as limit:
        orders.put_all([b"x"] * 9, KEPT)
    assert (Reason.SYNCPOINT_LIMIT_REACHED, 4) == (limit.value.reason, limit.value.facts["put"])
    assert 9 == len(orders.put_all([b"x"] * 9, KEPT, NOW))  # a unit of the call is nobody's but its own
    app.backout()
    assert 9 == len(drained(orders))


def test_text_and_bytes_and_a_descriptor_of_its_own(app, orders):
    md = MQMD(persistence=1, correl_id=b"C" * 24, priority=3)
    orders.put_all([b"a", "b", "c", bytearray(b"d")], md)
    app.commit()
    found = drained(orders)
    assert [b"a", b"b", b"c", b"d"] == [message.body for message in found]
    assert ["", "MQSTR", "MQSTR", ""] == [message.envelope.format for message in found]
    assert {(b"C" * 24, 3)} == {(message.correl_id, message.priority) for message in found}


def test_a_wrong_body_and_a_handle_that_may_not_put_are_refused(app, orders):
    with pytest.raises(MQError) as refused:
        orders.put_all([b"a", 5, b"b"], KEPT)  # type: ignore[list-item]
    assert (Reason.BUFFER_ERROR, 1) == (refused.value.reason, refused.value.facts["put"])
    reader = app.open("ORDERS", OpenOptions.INPUT_SHARED)
    with pytest.raises(MQError) as closed:
        reader.put_all([b"a"])
    assert (Reason.NOT_OPEN_FOR_OUTPUT, 0) == (closed.value.reason, closed.value.facts["put"])


@pytest.mark.parametrize("body", ["order", "", b"order", b"", bytearray(b"order"), memoryview(b"order")])
def test_one_body_is_not_several(orders, body):
    """Neither its letters nor its bytes are messages."""
    with pytest.raises(MQError) as refused:
        orders.put_all(body, KEPT, NOW)
    assert (Reason.BUFFER_ERROR, 0) == (refused.value.reason, refused.value.facts["put"])
    assert "several" in str(refused.value)
    assert [] == drained(orders)
