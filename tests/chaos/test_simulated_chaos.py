"""Chaos in one process, by seeds; then rules are taken away one by one, and the verdict notices each."""

import pytest

from chaos.simulated import DECIDES, KINDS, TRIGGERS, Simulation
from quaestor.mqi import triggering
from quaestor.mqi.objects import TriggerType
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.coupling_facility import manager, resolving, store, units
from quaestor.qmgr.coupling_facility.in_doubt import UnitsInDoubt
from quaestor.qmgr.coupling_facility.keys import COMMITTED_RANGE, UNCOMMITTED
from quaestor.qmgr.coupling_facility.manager import CouplingFacilityManager
from quaestor.qmgr.message.consequences import Consequences
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.lists.facility import MemoryFacility

pytestmark = pytest.mark.crash
SEEDS, TRIED = range(12), range(60)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_nothing_is_twice_nothing_is_left(tmp_path, seed):
    assert [] == Simulation(tmp_path, seed).run()


@pytest.mark.parametrize("seed", SEEDS)
def test_units_in_doubt_end_as_their_coordinator_says(tmp_path, seed):
    assert [] == Simulation(tmp_path, seed, kinds=DECIDES).run()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_queue_is_left_without_a_server(tmp_path, seed):
    assert [] == Simulation(tmp_path, seed, kinds=TRIGGERS).run()


def without_completion(patch):
    """PR2: a unit whose COMMIT record is on the log is completed by whoever recovers its member."""
    patch.setattr(resolving, "_outcome", lambda *_: False)


def without_the_uncommitted_keys(patch):
    """CK1: uncommitted puts stand where getters do not look."""
    patch.setattr(store, "COMMITTED_RANGE", (COMMITTED_RANGE[0], bytes([UNCOMMITTED]).ljust(16, b"\xff")))


def without_force(patch):
    """V2: the log is forced before the structures are told."""
    patch.setattr(RecoveryManager, "_force", lambda _self, _rba: None)


def without_fence(patch):
    """LS5: what a connector sent before it was replaced is not done."""
    patch.setattr(MemoryFacility, "fence", lambda *_: None)


def without_reconciling(patch):
    """PR8: what was done without an answer is undone."""
    patch.setattr(manager, "reconcile", lambda *_: set())


def without_resolving_later(patch):
    """CF2: what could not be resolved at the start is resolved when it can."""
    resolve_own = CouplingFacilityManager._resolve_own

    def once(self):
        done = resolve_own(self)
        self._own_left = False
        return done

    patch.setattr(CouplingFacilityManager, "_resolve_own", once)


def without_backout(patch):
    """CU6: gets of a unit that did not commit are given back."""

    def kept(gets, member, *, commit):
        return iter(()) if not commit else units_ending_gets(gets, member, commit=True)

    units_ending_gets = units.ending_gets
    patch.setattr(units, "ending_gets", kept)
    patch.setattr(resolving, "ending_gets", kept)


def without_the_mark_of_doubt(patch):
    """PR4: a unit in doubt is left to its coordinator."""
    outcome = resolving._outcome
    patch.setattr(resolving, "_outcome", lambda *words: outcome(*words[:5], lambda _unit: False, words[6]))


def without_waiting_for_structures(patch):
    """CU8: nothing is decided before it is known where a unit in doubt worked."""
    patch.setattr(units.SharedUnit, "check", lambda _self: None)


def without_adopting(patch):
    """ID2: what a unit in doubt has in a recovered structure is looked for."""
    patch.setattr(UnitsInDoubt, "adopt_in", lambda *_: None)


def without_noticing(patch):
    """MM4: what comes to a shared queue triggers where there is a monitor."""
    patch.setattr(Consequences, "noticed", lambda *_: None)


def without_looking_at_what_waits(patch):
    """T5: messages that are there count when a trigger monitor opens the initiation queue and when a server closes."""
    patch.setattr(triggering, "due_on_change", lambda queue, now: now.waiting == 1 and due_on_change(queue, now))


def with_two_for_every(patch):
    """T2: EVERY is one trigger message for each message."""
    put_one = Consequences._put_trigger_message

    def put_two(self, event):
        put_one(self, event)
        if event.state.definition.trigger_type is TriggerType.EVERY:
            put_one(self, event)

    patch.setattr(Consequences, "_put_trigger_message", put_two)


due_on_change = triggering.due_on_change
TEETH = [
    (KINDS, without_completion, 18),
    (KINDS, without_the_uncommitted_keys, 4),
    (KINDS, without_force, 3),
    (KINDS, without_fence, 0),
    (KINDS, without_reconciling, 9),
    (KINDS, without_resolving_later, 18),
    (KINDS, without_backout, 2),
    (DECIDES, without_the_mark_of_doubt, 2),
    (DECIDES, without_waiting_for_structures, 21),
    (DECIDES, without_adopting, 0),
    (TRIGGERS, without_noticing, 4),
    (TRIGGERS, without_looking_at_what_waits, 0),
]
"""Each with the seed that notices first; others are tried when requests have changed."""


@pytest.mark.plain
@pytest.mark.parametrize(("kinds", "remove", "first"), TEETH, ids=lambda each: getattr(each, "__name__", ""))
def test_chaos_notices_a_missing_rule(tmp_path, kinds, remove, first, monkeypatch):
    remove(monkeypatch)
    assert any(noticed(tmp_path / str(at), seed, kinds) for at, seed in enumerate([first, *TRIED]))


@pytest.mark.plain
def test_a_calm_group_notices_too_many_trigger_messages(tmp_path, monkeypatch):
    """Without faults there are few occasions (TG3)."""
    assert [] == Simulation(tmp_path, 1, kinds=TRIGGERS, calm=True).run()
    with_two_for_every(monkeypatch)
    assert any(noticed(tmp_path / str(seed), seed, TRIGGERS, calm=True) for seed in TRIED)


def noticed(folder, seed, kinds, **how):
    folder.mkdir()
    try:
        return Simulation(folder, seed, kinds=kinds, **how).run()
    except (AssertionError, Abend):
        return True
