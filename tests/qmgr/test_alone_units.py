"""Units that are alone (V11): a put or a get out of syncpoint is one record, the change and its commit."""

import pytest

from qmgr.small import page_queue_manager
from quaestor.mqi import reports
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.recovery.describe import describe
from quaestor.storage.log_record import ALLOCATES, Kind
from quaestor.testing import FaultyDisk, SmallEngine

PERSISTENT = MQMD(persistence=1)


def logged(engine, work):
    """(kind, whether it has a unit) of the records that something logs."""
    start = engine.log.end
    work()
    engine.log.force(engine.log.end - 1)
    return [(Kind(record.kind), bool(record.urid)) for record in engine.log.scan(start)]


def alone(engine):
    unit = engine.begin()
    unit.alone = True
    return unit


def put_alone(engine, body=b"x"):
    unit = alone(engine)
    engine.put(unit, body)
    engine.commit(unit)
    return unit


def get_alone(engine):
    unit = alone(engine)
    body = engine.get(unit)
    engine.commit(unit)
    return body


def test_a_put_and_a_get_are_one_record_each():
    engine = SmallEngine()
    assert [(Kind.INSERT, False)] == logged(engine, lambda: put_alone(engine))
    assert [b"x"] == engine.bodies()
    assert [(Kind.DELETE, False)] == logged(engine, lambda: get_alone(engine))
    assert [] == engine.bodies()
    assert 0 == engine.queue.uncommitted
    assert not engine.recovery.units


def test_a_message_put_alone_is_there_after_a_restart_and_one_got_alone_is_not():
    engine = SmallEngine(FaultyDisk())
    put_alone(engine, b"one")
    put_alone(engine, b"two")
    assert b"one" == get_alone(engine)
    again = SmallEngine(engine.disk.after_power_cut())
    assert [b"two"] == again.bodies()
    assert [] == again.restarted.units


def test_nobody_sees_it_before_the_log_is_forced():
    engine = SmallEngine()
    unit = alone(engine)
    engine.put(unit, b"x")
    assert ([], 1, 1) == (engine.bodies(), engine.queue.depth, engine.queue.uncommitted)
    assert engine.recovery.start_commit(unit) == unit.last > 0
    assert [] == engine.bodies()
    engine.log.force(unit.last)
    engine.recovery.end_commit(unit)
    assert [b"x"] == engine.bodies()


def test_a_long_message_takes_a_unit_like_any_other():
    engine = SmallEngine()
    kinds = logged(engine, lambda: put_alone(engine, bytes(9000)))
    assert [(Kind.TEXT, True), (Kind.TEXT, True), (Kind.INSERT, True), (Kind.COMMIT, True)] == kinds


def test_a_checkpoint_between_the_record_and_its_force_knows_of_no_unit():
    engine = SmallEngine(FaultyDisk())
    unit = alone(engine)
    engine.put(unit, b"x")
    rba = engine.recovery.start_commit(unit)
    engine.recovery.checkpoint()
    assert engine.log.hardened > rba
    assert [b"x"] == SmallEngine(engine.disk.after_power_cut()).bodies()


def test_what_was_logged_for_good_is_not_backed_out():
    engine = SmallEngine()
    unit = alone(engine)
    engine.put(unit, b"x")
    with pytest.raises(Abend, match="V11"):
        engine.back_out(unit)


def test_a_second_change_is_a_broken_promise():
    engine = SmallEngine()
    unit = alone(engine)
    engine.put(unit, b"x")
    with pytest.raises(Abend, match="V11"):
        engine.recovery.note(unit, Kind.SHARED_UNIT, b"")


def test_one_that_changed_nothing_ends_either_way():
    engine = SmallEngine()
    assert [] == logged(engine, lambda: engine.commit(alone(engine)))
    assert [] == logged(engine, lambda: engine.back_out(alone(engine)))


def test_the_log_in_words_says_that_it_is_for_good():
    engine = SmallEngine()
    start = engine.log.end
    put_alone(engine)
    get_alone(engine)
    put, got = engine.log.scan(start)
    assert put.flags == ALLOCATES
    assert " INSERT for good page 1/" in describe(put)
    assert " DELETE for good page 1/" in describe(got)
    unit = engine.begin()
    engine.put(unit, b"x")
    engine.commit(unit)
    assert not any("for good" in describe(record) for record in engine.log.scan(got.end))


@pytest.mark.parametrize(("count", "kinds"), [(1, [Kind.INSERT]), (3, [Kind.INSERT] * 3 + [Kind.COMMIT])])
def test_calls_out_of_syncpoint(count, kinds):
    """One put is alone; several in one call are a unit, which commits them together."""
    manager = page_queue_manager()
    manager.queue("ORDERS")
    app = manager.connect()
    orders, log = app.open("ORDERS"), manager.manager.engine.log
    start = log.end
    orders.put_all([b"x"] * count, PERSISTENT, PutOptions.NO_SYNCPOINT)
    assert kinds == [Kind(record.kind) for record in log.scan(start)]
    start = log.end
    orders.put(b"y", PERSISTENT, PutOptions.NO_SYNCPOINT)
    orders.get(GetOptions.NO_SYNCPOINT)
    assert [(Kind.INSERT, 0), (Kind.DELETE, 0)] == [(record.kind, record.urid) for record in log.scan(start)]


def test_a_get_that_has_a_report_to_send_is_a_unit():
    """The confirmation of delivery is put in the unit of the get, so the two are there together or not at all."""
    manager = page_queue_manager()
    manager.queue("ORDERS")
    manager.queue("REPLIES", def_persistent=True)
    app = manager.connect()
    orders, log = app.open("ORDERS"), manager.manager.engine.log
    asked = MQMD(persistence=1, report=reports.COD, reply_to_q="REPLIES")
    orders.put(b"x", asked, PutOptions.NO_SYNCPOINT)
    start = log.end
    orders.get(GetOptions.NO_SYNCPOINT)
    assert [Kind.DELETE, Kind.INSERT, Kind.COMMIT] == [record.kind for record in log.scan(start)]
