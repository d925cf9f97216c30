"""Histories hold what they must (RH7 to RH9), and their teeth: where a numbered rule is removed, some do not."""

import importlib

import pytest

from crash import play
from crash.histories import History
from crash.scenarios import image_of
from crash.test_teeth import (
    with_a_checkpoint_too_new,
    without_compensation_records,
    without_force,
    without_images,
    without_lost_texts,
    without_needed_rba,
    without_sync_at_restart,
    without_write_ahead,
)
from crash.test_teeth_alone import without_lock_at_get
from crash.test_teeth_restarts import with_a_header_as_the_log_has_it, with_the_first_image_there_is
from quaestor.qmgr.recovery import RecoveryManager

pytestmark = [pytest.mark.crash, pytest.mark.plain]
load_module = importlib.import_module("quaestor.qmgr.data.load")

SEEDS = range(150)
"""Some twenty seconds; `make histories` plays others."""


def without_the_work_of_units_in_doubt(patch):
    """X6: what a unit in doubt put and got is known again after a start."""
    patch.setattr(load_module, "work_of", lambda recovery, unit: [])


def without_the_force_of_prepare(patch):
    """V4: a unit is in doubt when its record is durable."""
    prepare = RecoveryManager.prepare

    def hasty(self, unit, xid):
        with pytest.MonkeyPatch.context() as nested:
            nested.setattr(self, "_force", lambda rba: None, raising=False)
            prepare(self, unit, xid)

    patch.setattr(RecoveryManager, "prepare", hasty)


TEETH = [
    (with_the_first_image_there_is, 45),
    (with_a_header_as_the_log_has_it, 21),
    (with_a_checkpoint_too_new, 0),
    (without_write_ahead, 1),
    (without_images, 0),
    (without_force, 0),
    (without_the_force_of_prepare, 0),
    (without_compensation_records, 0),
    (without_needed_rba, 1),
    (without_sync_at_restart, 1),
    (without_lock_at_get, 0),
    (without_the_work_of_units_in_doubt, 0),
    (without_lost_texts, 0),
]
"""Rules, and the seed of a history that notices when there is no such rule."""

AT_MOST = 60
"""Histories from that seed on: after a change of the engine it may be one of the next that notices."""


def play_some(first):
    for seed in range(first, first + AT_MOST):
        History(seed).play()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_holds(seed):
    History(seed).play()


@pytest.mark.parametrize(("remove", "first"), TEETH)
def test_without_its_rule_some_do_not(remove, first, monkeypatch):
    remove(monkeypatch)
    with pytest.raises(AssertionError, match=r"seed \d+: (?s:.*)\nEngineSettings\((?s:.*)\nlast: \w"):
        play_some(first)


@pytest.mark.parametrize("seed", [3, 4])
def test_a_history_is_made_by_its_seed_alone(seed):
    """RH1."""
    played = [History(seed) for _ in range(2)]
    for history in played:
        history.play()
    one, other = (history.world for history in played)
    assert one.said == other.said
    assert image_of(one.disk) == image_of(other.disk)


def test_who_plays_is_told_the_first_seed_that_fails(capsys, monkeypatch):
    assert 0 == play.main(["--seconds", "0", "--seed", "3"])
    assert "1 histories from seed 3 on, 0 failed\n" == capsys.readouterr().out
    without_force(monkeypatch)
    assert 1 == play.main(["--seconds", "0.2", "--seed", "0"])
    assert capsys.readouterr().out.endswith("the first that failed has seed 0\n")
