"""Histories hold what they must (RH7 to RH11), and their teeth: where a numbered rule is removed, some do not."""

import importlib
from zlib import crc32

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
from crash.test_teeth_restarts import (
    with_a_header_as_the_log_has_it,
    with_a_new_copy_that_is_volatile,
    with_images_as_if_all_was_redone,
    with_images_in_a_run_as_if_all_was_made,
    with_one_name_for_both_copies,
    with_pages_torn_that_have_no_image,
)
from quaestor.qmgr.data.inserting import MessagePages
from quaestor.qmgr.log.reading import LogReader
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.active_log import ActiveLog

pytestmark = [pytest.mark.crash, pytest.mark.plain]
bootstrap_module = importlib.import_module("quaestor.storage.bootstrap")
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


def without_shunting(patch):
    """V6: what undoing an old unit needs is logged again, so that the log before it may go."""
    patch.setattr(RecoveryManager, "_shunt", lambda self, unit: None)


def without_alike_copies(patch):
    """LR3: what a restart has read is in both copies of the log."""
    patch.setattr(LogReader, "make_alike", lambda self, rba, end: None)


def with_the_first_copy_of_what_was_not_read(patch):
    """LR4: what stands in front of what was read, in its CI, may be in the second copy alone."""
    patch.setattr(LogReader, "alike", lambda self, rba, size: True)


def with_copies_that_are_mended_in_part(patch):
    """AL6: of a block that cannot be read no part can be written."""
    patch.setattr(ActiveLog, "_around", lambda self, at, copy: b"")


def without_the_header_in_the_checksum(patch):
    """S2: the checksum of a place of the bootstrap data set is of its header too."""
    patch.setattr(bootstrap_module, "crc32", lambda packed, _of_header=0: crc32(packed))


def without_pages_that_wait_for_the_scavenger(patch):
    """PG6: a page of several messages is given back when the last of them is gone."""
    release = MessagePages.release

    def forgetful(self, queue, page):
        counted = release(self, queue, page)
        self.emptied.clear()
        return counted

    patch.setattr(MessagePages, "release", forgetful)


def with_the_last_page_given_back(patch):
    """PG6: the last page of a subqueue takes the next message."""
    release = MessagePages.release

    def hasty(self, queue, page):
        with pytest.MonkeyPatch.context() as nested:
            nested.setattr(queue, "last_pages", ())
            return release(self, queue, page)

    patch.setattr(MessagePages, "release", hasty)


TEETH = [
    (with_images_as_if_all_was_redone, 169),
    (with_images_in_a_run_as_if_all_was_made, 0),
    (with_pages_torn_that_have_no_image, 1),
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
    (without_lost_texts, 11),
    (without_shunting, 11),
    (without_pages_that_wait_for_the_scavenger, 0),
    (with_the_last_page_given_back, 0),
]
"""Rules, and the seed of a history that notices when there is no such rule."""

OF_TWO_COPIES = [
    (without_alike_copies, 30),
    (with_the_first_copy_of_what_was_not_read, 28),
    (with_copies_that_are_mended_in_part, 1),
    (without_the_header_in_the_checksum, 12),
]
"""The same, of histories with two copies of the log."""

OF_IMAGE_COPIES = [
    (with_a_header_as_the_log_has_it, 0),
    (with_one_name_for_both_copies, 4),
    (with_a_new_copy_that_is_volatile, 0),
]
"""The same, of histories with archives, and so with image copies."""

AT_MOST = 60
"""Histories from that seed on: after a change of the engine it may be one of the next that notices."""


def play_some(first, **given):
    for seed in range(first, first + AT_MOST):
        History(seed, **given).play()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_holds(seed):
    History(seed).play()


@pytest.mark.parametrize(
    ("remove", "first", "given"),
    [(*tooth, {}) for tooth in TEETH]
    + [(*tooth, {"dual_logs": True}) for tooth in OF_TWO_COPIES]
    + [(*tooth, {"archive": True}) for tooth in OF_IMAGE_COPIES],
)
def test_without_its_rule_some_do_not(remove, first, given, monkeypatch):
    remove(monkeypatch)
    with pytest.raises(AssertionError, match=r"seed \d+: (?s:.*)\nEngineSettings\((?s:.*)\nlast: \w"):
        play_some(first, **given)


@pytest.mark.parametrize("seed", [*range(10), 90004, 77144960])
def test_a_history_of_two_copies_holds(seed):
    """RH10; in the last a page is taken, and written as it was when its space map page is given back (B4)."""
    History(seed, dual_logs=True).play()


@pytest.mark.parametrize("seed", [*range(10), 551000618])
def test_a_history_of_image_copies_holds(seed):
    """RH6."""
    History(seed, archive=True).play()


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
