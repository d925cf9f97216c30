"""Power is cut at every operation of every scenario; what was confirmed is there, what was not is not."""

import errno
from contextlib import suppress
from dataclasses import replace

import pytest

import quaestor
from crash.scenarios import (
    ENDS,
    SCENARIOS,
    TINY,
    WaitingDisk,
    World,
    commit,
    commit_in_flight,
    commit_single,
    cuts,
    expansion,
    expansion_ahead,
    filmed,
    found_after,
    image_of,
    message,
    prove,
    run_until_cut,
    spread,
)
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.objects import DefinitionType, LocalQueue, ModelQueue
from quaestor.mqi.options import CloseOptions, OpenOptions
from quaestor.qmgr.checker import check
from quaestor.testing import FaultyDisk, FaultyFile, PowerCut, SmallEngine

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("script", SCENARIOS, ids=lambda s: s.__name__)
def test_what_was_confirmed_is_there_and_nothing_else(script):
    """However units end: neither a force in flight confirms anything, nor a write that was only sent (V13, J17)."""
    prove(script, ends=ENDS)


@pytest.mark.parametrize("script", SCENARIOS, ids=lambda s: s.__name__)
@pytest.mark.parametrize(
    ("change", "ends"),
    [
        ({"packing": True}, [commit]),
        ({"dual_logs": True}, ENDS),
        ({"archive": True}, [commit, commit_single]),
        ({"buffer_pools": {0: 12, 1: 12}, "pages_per_io": 4}, [commit]),
        ({"log_space": "mp16", "wrthrsh": 4}, [commit]),
        ({"wrthrsh": 2}, [commit_in_flight]),
    ],
    ids=["packing", "dual", "archive", "few buffers", "filled log", "threshold writes too"],
)
def test_settings_change_nothing_about_it(script, change, ends):
    prove(script, replace(TINY, **change), at_most=20, ends=ends)


@pytest.mark.parametrize("script", SCENARIOS, ids=lambda s: s.__name__)
def test_neither_does_a_disk_whose_writes_must_be_waited_for(script):
    prove(script, at_most=40, kind=WaitingDisk)


@pytest.mark.parametrize("script", [expansion, expansion_ahead], ids=lambda s: s.__name__)
def test_a_restart_needs_no_space_but_what_a_growth_was_given(script, monkeypatch):
    """T2: the disk is full when power is back; what was put into the pages of a growth is there all the same."""
    begun = World(FaultyDisk()).disk.operations
    film = filmed(script, [cut for cut in cuts(script) if cut > begun])
    monkeypatch.setattr(FaultyFile, "extend", full)
    film.prove()


def full(file, size):
    if size > file.size():
        raise OSError(errno.ENOSPC, "no space")


@pytest.mark.parametrize("script", SCENARIOS, ids=lambda s: s.__name__)
def test_a_restart_may_be_cut_and_begun_again(script):
    """Power goes in the scenario, then in the restart, then in the restart of that."""
    known = {}
    for cut in cuts(script, at_most=12):
        first = FaultyDisk(cut_after=cut, seed=cut)
        allowed = run_until_cut(script, first)
        probe = first.after_power_cut()
        SmallEngine(probe, TINY)
        for second_cut in spread(probe.operations, at_most=8):
            disk = first.after_power_cut(cut_after=second_cut)
            with pytest.raises(PowerCut):
                SmallEngine(disk, TINY)
            disk = disk.after_power_cut(seed=second_cut, cut_after=second_cut // 2 + 1)
            with suppress(PowerCut):
                SmallEngine(disk, TINY)
            disk = disk.after_power_cut(seed=second_cut + 7)
            image = image_of(disk)
            if image not in known:
                known[image] = found_after(disk)
            assert known[image] in allowed, f"cut after {cut}, then {second_cut}"


def test_a_unit_in_doubt_stays_in_doubt_over_restarts():
    world = World(FaultyDisk())
    world.unit(puts=[message(1), message(2)])
    unit = world.unit(puts=[message(3)], gets=1, outcome="leave")
    world.engine.recovery.prepare(unit, b"XID-1")
    engine = world.engine
    for seed in range(3):
        engine = SmallEngine(engine.disk.after_power_cut(seed), TINY)
        assert [message(2)] == engine.bodies()
        assert [b"XID-1"] == [each.xid for each in engine.recovery.in_doubt()]
        assert [] == check(engine.data)
    committed = SmallEngine(engine.disk.after_power_cut(9), TINY)
    committed.recovery.resolve(b"XID-1", commit=True)
    assert [message(2), message(3)] == committed.bodies()
    engine.recovery.resolve(b"XID-1", commit=False)
    assert [message(1), message(2)] == engine.bodies()
    assert [] == check(engine.data) == check(committed.data)


def test_messages_of_a_dropped_queue_never_come_back_on_another_that_has_its_number():
    """The queue with the highest number is dropped, power goes, a new queue gets that number, power goes again."""
    engine = SmallEngine(FaultyDisk(), TINY)
    doomed = engine.data.queue(LocalQueue("DOOMED", page_set=1))
    unit = engine.begin()
    for n in range(3):
        engine.put(unit, message(n), queue=doomed)
    engine.commit(unit)
    engine.buffers.write_all()
    engine.data.drop(doomed)
    assert [] == check(engine.data)
    engine = SmallEngine(engine.disk.after_power_cut(1), TINY)
    assert [] == check(engine.data)
    heir = engine.data.queue(LocalQueue("HEIR", page_set=1))
    assert heir.queue_id == doomed.queue_id
    engine = SmallEngine(engine.disk.after_power_cut(2), TINY)
    assert [] == engine.bodies(engine.data.queue(LocalQueue("HEIR", page_set=1)))
    assert [] == check(engine.data)


def test_deleting_a_queue_with_its_messages_leaves_nothing(tmp_path):
    """DELETE QLOCAL PURGE and a dynamic queue closed with PURGE, as an application does it."""
    app = quaestor.connect("QM1", tmp_path, settings=TINY)
    app.define(LocalQueue("DOOMED", page_set=1))
    app.define(ModelQueue("MODEL", definition=DefinitionType.PERMDYN))
    dynamic = app.open(Target("MODEL", dynamic_name="DYN.*"), OpenOptions.OUTPUT)
    for n in range(4):
        app.put("DOOMED", message(n), MQMD(persistence=1))
        dynamic.put(message(n), MQMD(persistence=1))
    app.commit()
    app.delete(LocalQueue, "DOOMED", purge=True)
    dynamic.close(CloseOptions.DELETE_PURGE)
    data = app._recovery.managers[0]
    with data.recovery.latch:
        assert [] == check(data)
    app.disconnect()
