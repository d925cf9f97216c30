"""Structures that are reached again in the background (CF3, CS7): what was reached is used, or let go of."""

import pytest

from qmgr.shared.sharing import OUT, STRUCTURE, USES, VOLATILE, drained
from quaestor.qmgr.coupling_facility.structures import OWN_LOCK
from quaestor.storage.lists.operations import Lock, Unlock


@pytest.fixture
def lost(sharing):
    """The manager of a member that has lost its structure; it can be reached again."""
    manager = sharing.members["QM1"].shared
    sharing.cut_off(STRUCTURE)
    with manager.latch:
        manager.connect_step({})
    assert not manager.structures[STRUCTURE].connected
    sharing.away.clear()
    return manager


def test_a_structure_that_was_lost_is_reached_and_used(sharing, lost):
    assert not lost.reach_step()
    assert lost.structures[STRUCTURE].connected
    with sharing.members["QM1"].connect("ALICE") as app:
        app.open("ORDERS", USES).put(b"x", VOLATILE, OUT)
        assert [b"x"] == drained(app)


def test_what_is_reached_while_a_unit_is_being_forced_is_let_go_of(sharing, lost, monkeypatch):
    """CS7: it may not be connected to yet; its threads and its socket must not be left."""
    structure, reached = lost.structures[STRUCTURE], []
    reach = structure.reach

    def reach_then_commit():
        reached.append(reach())
        structure.committing = 1  # another thread has begun to
        return reached[-1]

    monkeypatch.setattr(structure, "reach", reach_then_commit)
    before = len(sharing.breakable)
    lost.reach_step()
    assert not structure.connected
    (made,) = sharing.breakable[before:]
    failed = [name for name, alive in sharing.probe().connectors().items() if not alive]
    assert ["QM1"] == failed
    assert made is reached[0]
    structure.committing = 0
    monkeypatch.undo()
    lost.reach_step()
    assert structure.connected
    assert sharing.probe().connectors()["QM1"]


def test_one_whose_lock_another_has_taken_is_tried_again(sharing, lost, monkeypatch):
    """CS3: it was found new, and another member came while this one stood still."""
    structure = lost.structures[STRUCTURE]
    sharing.facility.delete(sharing.prefix + STRUCTURE)
    take_over = structure.take_over

    def stands_still(*, failed):
        monkeypatch.undo()
        probe = sharing.probe()
        probe.request(Unlock(OWN_LOCK, "QM1"), Lock(OWN_LOCK, "PROBE"))
        take_over(failed=failed)

    monkeypatch.setattr(structure, "take_over", stands_still)
    lost.reach_step()
    assert not structure.connected
    sharing.probe().request(Unlock(OWN_LOCK, "PROBE"))
    lost.reach_step()
    assert structure.failing is None


def test_one_that_is_away_is_tried_again(sharing, lost):
    sharing.away.add(STRUCTURE)
    lost.reach_step()
    assert not lost.structures[STRUCTURE].connected
    sharing.away.clear()
    lost.reach_step()
    assert lost.structures[STRUCTURE].connected
