"""Proofs about restarts that are cut, and their teeth: each fails when its rule is removed."""

import importlib

import pytest

from crash.images import (
    mended_and_torn_again,
    torn_when_it_was_begun_in_a_run,
    torn_when_it_was_freed_in_a_restart,
)
from crash.restarts import (
    cut_copying,
    cut_copying_again,
    half_redone_pages,
    killed_then_cut_in_the_bootstrap,
    media_recovery,
    media_recovery_of_a_page_set_that_grew,
    torn_after_half_redone_pages,
    torn_when_it_was_begun_again_in_a_restart,
)
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import BufferManager, TornPageError
from quaestor.qmgr.log import LogManager
from quaestor.storage.bootstrap import Bootstrap
from quaestor.testing import FaultyFile

pytestmark = [pytest.mark.crash, pytest.mark.plain]
restart_module = importlib.import_module("quaestor.qmgr.recovery.restart")
media_module = importlib.import_module("quaestor.qmgr.recovery.media")


def without_the_changes_that_waited(patch):
    """X4: an image of a page that was half redone does not stand for the changes before it."""
    image = restart_module._Redo._image

    def forgetful(self, record, page, body):
        self._torn.pop((record.page_set, page), None)
        image(self, record, page, body)

    patch.setattr(restart_module._Redo, "_image", forgetful)


def with_images_as_if_all_was_redone(patch):
    """X4: an image has what is not read only if what may be missing in it is not before where the log is read from."""
    image = restart_module._Redo._image
    patch.setattr(
        restart_module._Redo, "_image", lambda self, record, *change: image(self, record._replace(previous=0), *change)
    )


def with_images_in_a_run_as_if_all_was_made(patch):
    """B4: what is put together is in the log before it is on pages; an image that is logged meanwhile says so."""
    patch.setattr(LogManager, "made_to", property(lambda self: 0, lambda self, rba: None), raising=False)


def with_pages_torn_that_have_no_image(patch):
    """X4: an image that is none says nothing of its page, which may be free and need not be whole."""
    image = restart_module._Redo._image

    def careful(self, record, page, body):
        if 0 < record.previous < self._page_sets.get(record.page_set, 0):
            self._torn.setdefault((record.page_set, page), [])
        image(self, record, page, body)

    patch.setattr(restart_module._Redo, "_image", careful)


def with_images_that_are_needed_from_where_they_are(patch):
    """X4: a page that was made of an image of a restart needs the log from where that had come to."""
    image, start = restart_module._Redo._image, restart_module._Redo._start

    def hasty(self, record, *change):
        self._start = lambda frame, rba, oldest, *how: start(self, frame, rba, max(oldest, record.rba), *how)
        image(self, record, *change)
        del self._start

    patch.setattr(restart_module._Redo, "_image", hasty)


def with_a_copy_that_ends_early(patch):
    """X7: a page set is a copy until all that was redone is durable."""
    patch.setattr(BufferManager, "harden", lambda self, page_set: None)


def with_a_header_as_the_log_has_it(patch):
    """X7: a copy stays one, and the file grows, when page 0 is redone."""
    patch.setattr(restart_module._Redo, "_described", lambda self, number, body: body)


def with_page_0_before_the_others(patch):
    """Y4: page 0 makes a copy whole, and is written last."""

    def hasty(target, first):
        target.write(0, first)
        target.sync()
        target.close()

    patch.setattr(media_module, "_complete", hasty)


def with_one_name_for_both_copies(patch):
    """Y5: the copy before goes when the new one is complete, not when it is begun."""
    patch.setattr(media_module, "new_copy_name", media_module.copy_name)


def with_a_new_copy_that_is_volatile(patch):
    """Y5: the new copy is durable when it takes the place of the one before."""

    def hasty(target, first):
        target.write(0, first)
        target.close()

    patch.setattr(media_module, "_complete", hasty)


def with_a_bootstrap_as_a_killed_process_left_it(patch):
    """S2: what is read of the bootstrap data set at start is durable before it is written again."""
    opened = Bootstrap.open.__func__

    def hasty(cls, disk):
        with pytest.MonkeyPatch.context() as nested:
            nested.setattr(FaultyFile, "sync", lambda self: None)
            return opened(cls, disk)

    patch.setattr(Bootstrap, "open", classmethod(hasty))


PROOFS = [
    (without_the_changes_that_waited, half_redone_pages),
    (with_images_as_if_all_was_redone, torn_after_half_redone_pages),
    (with_images_as_if_all_was_redone, torn_when_it_was_begun_again_in_a_restart),
    (with_images_in_a_run_as_if_all_was_made, torn_when_it_was_begun_in_a_run),
    (with_pages_torn_that_have_no_image, torn_when_it_was_freed_in_a_restart),
    (with_images_that_are_needed_from_where_they_are, mended_and_torn_again),
    (with_a_copy_that_ends_early, media_recovery),
    (with_a_header_as_the_log_has_it, media_recovery_of_a_page_set_that_grew),
    (with_page_0_before_the_others, cut_copying),
    (with_one_name_for_both_copies, cut_copying_again),
    (with_a_new_copy_that_is_volatile, cut_copying_again),
    (with_a_bootstrap_as_a_killed_process_left_it, killed_then_cut_in_the_bootstrap),
]


@pytest.mark.parametrize("proof", dict.fromkeys(proof for _, proof in PROOFS), ids=lambda x: x.__name__)
def test_the_next_restart_makes_the_same_of_it(proof):
    proof()


@pytest.mark.parametrize(("remove", "proof"), PROOFS, ids=lambda x: x.__name__)
def test_without_its_rule_it_does_not(remove, proof, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend, TornPageError)):
        proof()
