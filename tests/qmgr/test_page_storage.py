"""Buffer pools and page sets change while the queue manager runs, and stay changed over any restart."""

import errno
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.answers import fails
from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import Abend, Reason
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.page_storage import PageSetDefinition, PoolDefinition
from quaestor.testing import SMALL, FaultyDisk, PowerCut, SmallEngine

SIZES = st.integers(8, 300)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 12_000), st.booleans()),
        st.tuples(st.just("get"), st.integers(1, 6)),
        st.tuples(st.just("resize"), SIZES),
        st.tuples(st.just("step")),
    ),
    max_size=40,
)


def run(small, steps):
    """Put, get and resize; gives what must be on the queue."""
    expected, number, pool = [], 0, small.buffers.pools[1]
    for verb, *given_ in steps:
        if verb == "put":
            length, persistent = given_
            number += 1
            body = bytes((number % 256,)) * length
            unit = small.begin()
            small.put(unit, body, persistent=persistent)
            small.commit(unit)
            expected.append((body, persistent))
        elif verb == "get" and expected:
            unit = small.begin()
            for _ in range(min(given_[0], len(expected))):
                assert expected.pop(0)[0] == small.get(unit)
            small.commit(unit)
        elif verb == "resize":
            pool.resize(given_[0])
        elif verb == "step":
            small.buffers.step()
        assert pool._resident <= pool.buffers
        assert 0 <= pool.stealable <= pool.buffers == pool.stats.buffers
    return expected


@settings(max_examples=60)
@given(STEPS)
def test_a_pool_changes_its_size_under_load_and_loses_nothing(steps):
    small = SmallEngine()
    expected = run(small, steps)
    assert [body for body, _ in expected] == small.bodies()
    assert [] == check(small.data)
    again = small.again()
    assert [body for body, persistent in expected if persistent] == again.bodies()
    assert [] == check(again.data)


def test_a_pool_shrinks_in_steps_when_it_is_full_of_changed_pages():
    small = SmallEngine()
    pool = small.buffers.pools[1]
    pool.resize(4000)
    unit = small.begin()
    for _ in range(3000):
        small.put(unit, b"x")
    small.commit(unit)
    assert not pool.resize(100)
    assert 100 < pool.buffers < 4000
    steps = 0
    while small.buffers.step():
        steps += 1
    assert (100, 100) == (pool.buffers, pool._resident)
    assert steps >= 1
    assert 3000 == len(small.bodies())


def test_a_larger_pool_is_there_at_once():
    pool = SmallEngine().buffers.pools[1]
    assert pool.resize(1000)
    assert (1000, 850, 950) == (pool.stats.buffers, pool.start_at, pool.synchronous_at)


def test_what_a_command_made_of_a_pool_holds_over_a_restart():
    small = SmallEngine()
    small.engine.storage.alter_pool(1, buffers=200, location="ABOVE")
    small.engine.storage.define_pool(7, PoolDefinition(300))
    again = small.again()
    assert (200, 300) == (again.buffers.pools[1].buffers, again.buffers.pools[7].buffers)
    assert 0x80000000 == again.buffers.pools[1].stats.location
    again.engine.storage.delete_pool(7)
    assert 7 not in again.again().buffers.pools


def test_the_rules_of_pools():
    storage = SmallEngine().engine.storage
    with fails(Reason.OBJECT_IN_USE):
        storage.delete_pool(1)
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        storage.alter_pool(9, buffers=500)
    with fails(Reason.OBJECT_ALREADY_EXISTS):
        storage.define_pool(1, PoolDefinition(500))
    assert storage.define_pool(1, PoolDefinition(500), replace=True)
    with fails(Reason.OBJECT_NAME_ERROR):
        storage.define_pool(100, PoolDefinition(500))
    for definition in (PoolDefinition(99), PoolDefinition(500_001)):
        with pytest.raises(AttributeValueError, match="a number from 100 to 500000"):
            storage.define_pool(2, definition)
    storage.define_pool(2, PoolDefinition(500_001, "ABOVE"))


def on_page_set(small, number, name="ON3"):
    return small.data.queue(LocalQueue(name, page_set=number))


def test_a_page_set_is_defined_used_deleted_and_defined_again():
    small = SmallEngine()
    storage = small.engine.storage
    storage.define_page_set(3, PageSetDefinition(1, "SYSTEM"))
    queue = on_page_set(small, 3)
    unit = small.begin()
    small.put(unit, b"first life", queue=queue)
    small.commit(unit)
    with fails(Reason.OBJECT_IN_USE):
        storage.delete_page_set(3)

    again = small.again()
    queue = on_page_set(again, 3)
    assert [b"first life"] == again.bodies(queue)
    assert "SYSTEM" == again.data.space.expand[3]
    again.data.drop(queue)
    again.engine.storage.delete_page_set(3)
    assert "pageset-03" not in again.disk.files

    without = again.again()
    assert 3 not in without.buffers.page_sets
    without.engine.storage.define_page_set(3, PageSetDefinition(0))
    queue = on_page_set(without, 3)
    unit = without.begin()
    without.put(unit, b"second life", queue=queue)
    without.commit(unit)
    last = without.again()
    assert [b"second life"] == last.bodies(on_page_set(last, 3))
    assert [] == check(last.data)


@pytest.mark.parametrize(
    ("code", "reason"), [(errno.ENOSPC, Reason.STORAGE_MEDIUM_FULL), (errno.EIO, Reason.RESOURCE_PROBLEM)]
)
@pytest.mark.parametrize("operation", range(1, 6))
def test_a_page_set_that_cannot_be_made_is_refused_and_nothing_else(operation, code, reason):
    """The queue manager goes on, and it can be defined when there is room."""
    engine = SmallEngine(FaultyDisk(), SMALL)
    storage, disk = engine.engine.storage, engine.disk
    disk.fail_at[disk.operations + operation] = code
    with fails(reason):
        storage.define_page_set(3, PageSetDefinition(1))
    assert not disk.exists("pageset-03")
    assert 3 not in storage.page_sets
    disk.fail_at = {}
    unit = engine.begin()
    engine.put(unit, b"goes on")
    engine.commit(unit)
    storage.define_page_set(3, PageSetDefinition(1))
    again = SmallEngine(disk.after_power_cut(), SMALL)
    assert ([b"goes on"], True) == (again.bodies(), 3 in again.buffers.page_sets)


@pytest.mark.plain
def test_a_page_set_stays_while_the_log_is_waited_for_that_says_of_its_first_queue(monkeypatch):
    small = SmallEngine()
    storage, log, said = small.engine.storage, small.log, []
    storage.define_page_set(5, PageSetDefinition(1))
    force = log.force

    def deleted_meanwhile(rba):
        with small.recovery.latch:
            monkeypatch.setattr(log, "force", force)
            with fails(Reason.OBJECT_IN_USE):
                storage.delete_page_set(5)
            said.append("refused")
        force(rba)

    monkeypatch.setattr(log, "force", deleted_meanwhile)
    queue = small.data.queue(LocalQueue("NEW", page_set=5))
    unit = small.begin()
    small.put(unit, b"kept", queue=queue)
    small.commit(unit)
    assert said == ["refused"]
    again = small.again()
    assert again.get(again.begin(), again.data.queue(LocalQueue("NEW"))) == b"kept"


def test_page_set_0_stays_and_a_settings_page_set_that_was_deleted_stays_away():
    small = SmallEngine()
    with fails(Reason.OBJECT_IN_USE):
        small.engine.storage.delete_page_set(0)
    small.data.drop(small.queue)
    small.engine.storage.delete_page_set(1)
    engine = SmallEngine(small.disk, page_set=0)
    assert [0] == sorted(engine.buffers.page_sets)


def test_a_page_set_that_may_not_grow_is_full():
    small = SmallEngine()
    small.engine.storage.alter_page_set(1, "NONE")
    unit = small.begin()
    with fails(Reason.STORAGE_MEDIUM_FULL):
        for _ in range(100):
            small.put(unit, b"x")
    small.engine.storage.alter_page_set(1, "SYSTEM")
    small.put(unit, b"x")
    assert 64 + 6 == small.buffers.page_sets[1].pages


def test_a_page_set_whose_pool_is_not_defined_is_named():
    from dataclasses import replace

    with pytest.raises(Abend, match="buffer pool that is not defined"):
        SmallEngine(FaultyDisk(), replace(SMALL, page_sets={0: 0, 1: 5}))


def test_before_the_start_what_a_command_kept_holds_against_an_input_set():
    from quaestor.clock import FakeClock
    from quaestor.qmgr.data.engine import Engine

    small = SmallEngine()
    small.engine.storage.alter_pool(1, buffers=200)
    engine = Engine(small.disk, FakeClock(), SMALL)
    engine.storage.define_pool(1, PoolDefinition(1000))
    engine.storage.define_pool(2, PoolDefinition(1000))
    engine.storage.define_page_set(2, PageSetDefinition(2))
    engine.start()
    assert (200, 1000, 2) == (
        engine.buffers.pools[1].buffers,
        engine.buffers.pools[2].buffers,
        engine.buffers.page_sets[2].buffer_pool,
    )
    engine = Engine(small.disk, FakeClock(), SMALL)
    engine.storage.define_pool(1, PoolDefinition(1000), replace=True)
    engine.storage.define_pool(2, PoolDefinition(1000))
    engine.storage.define_page_set(2, PageSetDefinition(2))
    engine.start()
    assert 1000 == engine.buffers.pools[1].buffers


def change_everything(small):
    """What the power is cut in: pools and page sets change between commits."""
    storage = small.engine.storage
    storage.alter_pool(1, buffers=100)
    storage.define_page_set(3, PageSetDefinition(1))
    queue = on_page_set(small, 3)
    unit = small.begin()
    small.put(unit, b"kept", queue=queue)
    small.commit(unit)
    unit = small.begin()
    small.get(unit, queue)
    small.commit(unit)
    small.data.drop(queue)
    storage.delete_page_set(3)
    storage.define_page_set(3, PageSetDefinition(0))


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(2))
def test_the_power_goes_anywhere_and_the_queue_manager_starts(seed):
    disk = FaultyDisk()
    small = SmallEngine(disk)
    before = disk.operations
    change_everything(small)
    for cut in range(before, disk.operations + 1):
        small = SmallEngine(disk := FaultyDisk(seed=seed))
        disk.cut_after = cut
        with suppress(PowerCut):
            change_everything(small)
        again = SmallEngine(disk.after_power_cut())
        assert [] == check(again.data)
        if 3 not in again.buffers.page_sets:
            change_everything(again)


def defined(small):
    small.engine.storage.define_page_set(3, PageSetDefinition(1))


def deleted_and_defined(small):
    small.engine.storage.delete_page_set(3)
    small.engine.storage.define_page_set(3, PageSetDefinition(1))


@pytest.mark.crash
@pytest.mark.parametrize(("before", "command"), [(lambda _: None, defined), (defined, deleted_and_defined)])
def test_what_a_cut_takes_from_the_log_says_nothing_of_a_new_page_set(before, command):
    """Another unit had logged a lot that was not forced; its RBAs are used again, for messages on the new page set."""
    small = SmallEngine(FaultyDisk())
    before(small)
    unit = small.begin()
    for _ in range(40):
        small.put(unit, bytes(1000))
    command(small)
    again = SmallEngine(small.disk.after_power_cut())
    unit, queue = again.begin(), on_page_set(again, 3)
    again.put(unit, b"kept", queue=queue)
    again.commit(unit)
    last = SmallEngine(again.disk.after_power_cut())
    assert ([b"kept"], []) == (last.bodies(on_page_set(last, 3)), check(last.data))


def test_the_rest_of_an_active_log_is_skipped():
    small = SmallEngine()
    unit = small.begin()
    small.put(unit, b"before")
    small.commit(unit)
    start = small.log.files.start
    for _ in range(4):
        small.log.truncate()
        unit = small.begin()
        small.put(unit, b"after")
        small.commit(unit)
    assert start + 4 * small.log.files.size == small.log.files.start
    assert [b"before"] + [b"after"] * 4 == small.again().bodies()


def test_a_page_set_deleted_long_ago_asks_nothing_of_the_log():
    """The log goes round after the deletion: no restart may want what it said before (X8)."""
    small = SmallEngine(FaultyDisk())
    small.engine.storage.define_page_set(3, PageSetDefinition(0))
    small.engine.storage.delete_page_set(3)
    first = small.log.files.oldest_active()
    while small.log.files.oldest_active() == first:
        unit = small.begin()
        small.put(unit, b"x" * 2000, persistent=True)
        small.get(unit)
        small.commit(unit)
        small.recovery.checkpoint()
    again = small.again()
    assert [] == check(again.data)


# --- units that had to do with a page set that is no more (V15) -------------------------------------------------------


def refused_on_page_set_3(small):
    """A unit whose long put on page set 3 was refused half way, and taken back; it put something elsewhere too."""
    small.engine.storage.define_page_set(3, PageSetDefinition(1, "NONE"))
    queue, unit = on_page_set(small, 3), small.begin()
    with fails(Reason.STORAGE_MEDIUM_FULL):
        small.put(unit, bytes(500_000), queue=queue)
    small.put(unit, b"not committed")
    small.data.drop(queue)
    return unit


def test_a_unit_is_backed_out_over_a_page_set_that_was_deleted_since():
    small = SmallEngine()
    unit = refused_on_page_set_3(small)
    small.engine.storage.delete_page_set(3)
    small.back_out(unit)
    assert ([], {}) == (small.bodies(), small.recovery.units)


def test_a_restart_backs_it_out_too():
    small = SmallEngine()
    refused_on_page_set_3(small)
    small.engine.storage.delete_page_set(3)
    again = small.again()
    assert ([], {}) == (again.bodies(), again.recovery.units)
    assert [] == check(again.data)


@pytest.mark.plain
@pytest.mark.parametrize("shunted", [False, True])
def test_what_was_not_taken_back_is_not_undone_in_the_page_set_that_has_the_number_now(shunted, monkeypatch):
    """There was no log to take the text pages back (V12); their numbers are another message's by now."""
    small = SmallEngine()
    with monkeypatch.context() as without_log:
        without_log.setattr(small.recovery, "may_undo", lambda _record: False)
        unit = refused_on_page_set_3(small)
    small.engine.storage.delete_page_set(3)
    small.engine.storage.define_page_set(3, PageSetDefinition(1))
    other, body = small.begin(), b"committed" * 9_000
    small.put(other, body, queue=on_page_set(small, 3, "NEW"))
    small.commit(other)
    for _ in range(3 if shunted else 0):
        small.recovery.checkpoint()
    small.back_out(unit)
    assert [] == check(small.data)
    again = small.again()
    assert [body] == again.bodies(on_page_set(again, 3, "NEW"))
    assert [] == check(again.data)
