"""Puts of one descriptor that travel in one frame: the same messages, counts and refusals as one by one (PU6)."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qmgr.small import EVERYTHING
from quaestor import MQMD, GetOptions, MQError, OpenOptions, PutOptions, Reason
from quaestor.mqi.objects import MESSAGE_MAX, LocalQueue, Process, QueueManagerAttributes, TriggerType
from quaestor.server.client.handle_requests import FRAME_BYTES, HandleRequests

LATER = PutOptions.ASYNC_RESPONSE
KEPT = MQMD(persistence=1)


def put_all(queue, bodies, md=KEPT, options=LATER):
    for body in bodies:
        queue.put(body, md, options)


def drained(queue):
    return [queue.get(GetOptions.NO_SYNCPOINT) for _ in range(queue.inquire("CURDEPTH")["CURDEPTH"])]


COUNTS = ("puts", "persistent_puts", "persistent_bytes_put", "nonpersistent_puts", "nonpersistent_bytes_put")


def counted(qm):
    return {name: getattr(qm.messages.stats, name) for name in COUNTS}


def test_a_run_is_what_its_puts_would_have_been(qm, app, orders):
    """Order, descriptor and persistence; identifiers of their own, times that do not go back."""
    bodies = [b"%d" % number * number for number in range(250)]
    put_all(orders, bodies)
    app.commit()
    found = drained(orders)
    assert bodies == [message.body for message in found]
    assert {1} == {message.persistence for message in found}
    assert 250 == len({message.msg_id for message in found})
    assert sorted(message.put_us for message in found) == [message.put_us for message in found]


@pytest.mark.parametrize("md", [None, KEPT, MQMD(persistence=0), MQMD(persistence=1, expiry=600)])
def test_a_run_counts_what_its_puts_would_have_counted(qm, app, orders, md):
    bodies = [bytes(length) for length in (1, 10, 100, 1000)]
    before = counted(qm)
    for body in bodies:
        orders.put(body, md)
    app.commit()
    singly = {name: value - before[name] for name, value in counted(qm).items()}
    before = counted(qm)
    put_all(orders, bodies, md)
    app.commit()
    assert singly == {name: value - before[name] for name, value in counted(qm).items()}
    one, other = drained(orders)[::4]
    assert (one.persistence, one.priority, one.expiry) == (other.persistence, other.priority, other.expiry)


def test_one_that_is_too_long_refuses_the_unit(qm, app, orders):
    """Its neighbours are put, but the commit tells of it, and the back out takes them all (W3)."""
    app.alter(LocalQueue, "ORDERS", max_msg_length=100)
    put_all(orders, [b"a", b"b", bytes(101), b"c"])
    with pytest.raises(MQError) as refused:
        app.commit()
    assert (Reason.MSG_TOO_BIG_FOR_Q, 101) == (refused.value.reason, refused.value.facts["length"])
    app.backout()
    assert [] == drained(orders)


def test_the_one_that_does_not_fit_on_the_queue_is_told(qm, app, orders):
    app.alter(LocalQueue, "ORDERS", max_depth=5)
    put_all(orders, [b"x"] * 6)
    with pytest.raises(MQError) as refused:
        app.commit()
    assert (Reason.Q_FULL, 5) == (refused.value.reason, refused.value.facts["depth"])
    app.backout()
    put_all(orders, [b"x"] * 5)
    app.commit()
    assert 5 == len(drained(orders))


def test_a_run_ends_at_maxumsgs(qm, app, orders):
    app.alter(QueueManagerAttributes, max_uncommitted=4)
    put_all(orders, [b"x"] * 5)
    with pytest.raises(MQError) as refused:
        app.commit()
    assert Reason.SYNCPOINT_LIMIT_REACHED is refused.value.reason
    app.backout()
    put_all(orders, [b"x"] * 4)
    app.commit()
    assert 4 == len(drained(orders))


def test_a_triggered_queue_triggers_for_a_run(qm, app):
    """A queue whose puts have consequences is put to one by one: TRIGTYPE(DEPTH) fires at its depth."""
    app.define(Process("SERVE", appl_id="serve"))
    qm.queue("INIT")
    triggered = {"trigger": True, "trigger_type": TriggerType.DEPTH, "trigger_depth": 3}
    qm.queue("WORK", initiation_queue="INIT", process="SERVE", **triggered)
    init, work = app.open("INIT", EVERYTHING), app.open("WORK", OpenOptions.OUTPUT)
    put_all(work, [b"1", b"2", b"3"])
    app.commit()
    assert 1 == len(drained(init))


def test_a_body_that_no_message_may_have_costs_nobody_the_link(app, orders):
    """No frame has room for it; it is refused before it is sent, and the unit goes on."""
    huge = bytes(MESSAGE_MAX + 1)
    orders.put("kept", KEPT)
    for refused in (
        lambda: orders.put(huge, KEPT),
        lambda: orders.put(bytearray(huge), KEPT),
        lambda: app.put1("ORDERS", huge),
        lambda: orders.put_all(["kept too", huge], KEPT),
    ):
        with pytest.raises(MQError) as caught:
            refused()
        assert caught.value.reason is Reason.MSG_TOO_BIG_FOR_Q_MGR
    app.commit()
    assert [b"kept", b"kept too"] == [message.body for message in drained(orders)]


def test_a_frame_of_many_has_room_for_each_that_may_be_put():
    """A short message in front of the longest one goes in a frame of its own."""
    longest = bytes(MESSAGE_MAX)
    frames = [run for run, _ in HandleRequests.put_frames([bytes(FRAME_BYTES - 1), longest, b"x"])]
    assert [[FRAME_BYTES - 1], [MESSAGE_MAX], [1]] == [[len(body) for body in run] for run in frames]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"", b"short", bytes(3001), bytes(9000), "text"]),
            st.sampled_from([None, KEPT, MQMD(persistence=0), MQMD(persistence=1, priority=7)]),
        ),
        max_size=12,
    )
)
def test_any_mixture_arrives_as_if_put_one_by_one(qm, app, orders, puts):
    for options in (LATER, PutOptions.NONE):
        for body, md in puts:
            orders.put(body, md, options)
        app.commit()
    found = [(message.body, message.persistence, message.priority, message.envelope) for message in drained(orders)]
    later, now = [], []
    for priority in sorted({entry[2] for entry in found}, reverse=True):
        alike = [entry for entry in found if entry[2] == priority]
        later += alike[: len(alike) // 2]
        now += alike[len(alike) // 2 :]
    assert now == later
    assert 2 * len(puts) == len(found)
