"""A message put and committed in one step is the same as one put alone in a unit (EX1-EX3)."""

from dataclasses import replace
from threading import get_ident

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quaestor
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.qmgr.checker import check
from quaestor.qmgr.data import express
from quaestor.testing import SMALL, FaultyDisk, SmallEngine

PERSISTENT, NOW = MQMD(persistence=1), PutOptions.NO_SYNCPOINT
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 5000), st.integers(0, 9)),
        st.tuples(st.just("get"), st.just(0), st.just(0)),
        st.tuples(st.just("checkpoint"), st.just(0), st.just(0)),
    ),
    max_size=60,
)


def put_in_a_unit(engine, body, priority):
    unit = engine.begin()
    unit.alone = True
    engine.put(unit, body, priority=priority)
    engine.commit(unit)


def put_express(engine, body, priority):
    if not engine.put_express(body, priority=priority):
        put_in_a_unit(engine, body, priority)


def played(steps, put, *, single=False):
    engine = SmallEngine(FaultyDisk())
    engine.recovery.alone = engine.recovery.single = single
    for number, (step, size, priority) in enumerate(steps):
        if step == "put":
            put(engine, f"{number} ".encode().ljust(size, b"."), priority)
        elif step == "get":
            unit = engine.begin()
            engine.get(unit)
            engine.commit(unit)
        else:
            engine.recovery.checkpoint()
    return engine


def seen(engine):
    """Everything that can be told apart of an engine from outside: files, messages, depths, and every counter."""
    engine.log.force(engine.log.end - 1)
    queue, pools = engine.queue, engine.buffers.pools.values()
    return {
        "files": {name: bytes(image.durable) for name, image in engine.disk.files.items()},
        "bodies": engine.bodies(),
        "arrivals": [
            (one.sequence, one.priority, one.msg_id, one.page, one.slot, one.length, one.put_us, one.state, one.holder)
            for one in engine.data.browse(queue)
        ],
        "queue": (queue.depth, queue.uncommitted, queue.by_priority, queue.with_expiry, queue.high),
        "counters": (engine.log.stats, engine.data.stats, engine.locks.stats, [pool.stats for pool in pools]),
        "space": {number: list(pages) for number, pages in engine.data.space.empty.items()},
    }


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_nobody_can_tell_it_from_a_unit_that_is_alone(steps):
    """EX1: byte by byte on disk, page by page, counter by counter."""
    one, other = played(steps, put_express), played(steps, put_in_a_unit)
    assert seen(other) == seen(one)
    assert [] == check(one.data)
    assert one.bodies() == SmallEngine(one.disk.after_power_cut()).bodies()


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_nor_when_the_application_is_alone(steps):
    """EX3, V13: what is on disk, on the queue and counted is the same when the disk begins first."""
    alone, other = played(steps, put_express, single=True), played(steps, put_in_a_unit)
    assert seen(other) == seen(alone)
    assert [] == check(alone.data)
    assert alone.bodies() == SmallEngine(alone.disk.after_power_cut()).bodies()


def with_a_page():
    """An engine with pages at hand: a put has looked for them."""
    engine = SmallEngine(FaultyDisk())
    put_in_a_unit(engine, b"first", 0)
    return engine


def long_way(engine, body=b"x"):
    """Whether a message has to go the long way, which leaves everything as it was."""
    before = seen(engine), engine.log.end, engine.data.sequence
    went = engine.put_express(body)
    return not went and before == (seen(engine), engine.log.end, engine.data.sequence)


def test_a_message_goes_the_long_way_where_there_is_anything_to_decide():
    """EX2, one reason after the other; without any of them it goes at once."""
    engine = with_a_page()
    assert long_way(engine, bytes(3001))
    engine.recovery.served.task = object()
    assert long_way(engine)
    engine.recovery.served.task = None
    engine.log.ready = False
    assert long_way(engine)
    engine.log.ready = True
    assert engine.put_express(bytes(3000))
    assert [b"first", bytes(3000)] == engine.bodies()


def test_it_goes_the_long_way_while_no_page_is_at_hand():
    assert long_way(SmallEngine(FaultyDisk()))


def test_packed_pages_are_filled_by_the_long_way():
    engine = SmallEngine(FaultyDisk(), replace(SMALL, packing=True))
    put_in_a_unit(engine, b"first", 0)
    assert long_way(engine)


@pytest.mark.plain
def test_until_the_log_is_forced_it_is_uncommitted_and_the_latch_is_free():
    """EX3."""
    engine, found = with_a_page(), []
    force = engine.log.force

    def forced(rba):
        found.append((engine.recovery.latch.locked(), engine.queue.depth, engine.queue.uncommitted, engine.bodies()))
        force(rba)

    engine.log.force = forced
    assert engine.put_express(b"second")
    assert [(False, 2, 1, [b"first"])] == found
    assert (0, [b"first", b"second"]) == (engine.queue.uncommitted, engine.bodies())


@pytest.fixture
def ways(monkeypatch):
    """How many messages went which way."""
    counted = {"express": 0, "long": 0}
    make = express.express

    def counting(data, recovery):
        put = make(data, recovery)

        def counts(*asked):
            arrival = put(*asked)
            counted["long" if arrival is None else "express"] += 1
            return arrival

        return counts

    monkeypatch.setattr("quaestor.qmgr.data.engine.express", counting)
    return counted


def test_puts_of_an_application_out_of_syncpoint_go_that_way(ways, tmp_path):
    """The first has to look for pages; what is in syncpoint, not persistent or one of many is in a unit, or in none."""
    with quaestor.connect("QM1", tmp_path) as app:
        app.define(LocalQueue("ORDERS"))
        with app.open("ORDERS") as orders:
            for body in ("one", "two", "three"):
                orders.put(body, PERSISTENT, NOW)
            assert {"express": 2, "long": 1} == ways
            orders.put("in syncpoint", PERSISTENT)
            app.commit()
            orders.put("not persistent", MQMD(persistence=0), NOW)
            orders.put_all(["of", "many"], PERSISTENT, NOW)
            app.put1("ORDERS", "with a handle of its own", PERSISTENT, NOW)
            assert {"express": 3, "long": 1} == ways
            assert 8 == sum(1 for _ in iter(lambda: got(orders), None))


def got(queue):
    try:
        return queue.get(GetOptions.NO_SYNCPOINT).text
    except quaestor.MQError:
        return None


@pytest.mark.plain
def test_who_came_to_wait_during_the_force_is_woken(tmp_path):
    """PU5: nobody waited when the message was put; somebody does when it has become available."""
    with quaestor.connect("QM1", tmp_path) as app, quaestor.connect("QM1", tmp_path) as other:
        app.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
        orders, getter = app.open("ORDERS"), other.open("ORDERS")
        orders.put("finds pages", PERSISTENT, NOW)
        assert "finds pages" == getter.get(GetOptions.NO_SYNCPOINT).text
        woken, log, this = [], app._recovery.log, get_ident()
        force = log.force

        def forced(rba):
            log.force = force
            waiting = getter.look(GetOptions.NO_SYNCPOINT, 60_000, None)
            waiting.post = lambda: woken.append(get_ident())
            force(rba)

        log.force = forced
        orders.put("for whoever came", PERSISTENT, NOW)
        assert [this] == woken
        assert "for whoever came" == getter.get(GetOptions.NO_SYNCPOINT).text
