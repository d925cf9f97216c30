"""Teeth: each numbered rule is removed in turn, and the power-cut proof named beside it must then fail.

A proof that still holds without the rule would prove nothing about it.
"""

import importlib
import struct
from dataclasses import replace

import pytest

from crash.prefixes import backout_by_prefixes, shunting_by_prefixes
from crash.scenarios import (
    TINY,
    backouts,
    checkpoints,
    checkpoints_in_steps,
    commit_in_flight,
    commit_single,
    expansion,
    expansion_ahead,
    express,
    killed_then_cut,
    long_messages,
    out_of_syncpoint,
    pages_leave_early,
    pages_written_during_a_sync,
    prove,
    puts_and_gets,
    puts_together,
    the_log_waits_for_steps,
    unit_longer_than_the_ring,
)
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import BufferPool, OldPages, TornPageError
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.qmgr.recovery.stamping import Stamping
from quaestor.storage.changes import UNDO_NEXT, UNDONE, undo_of
from quaestor.storage.log_files import LogFiles
from quaestor.storage.page import PAGE
from quaestor.storage.page_set import PageSet
from quaestor.testing import FaultyFile, StartedFaultyWrite

pytestmark = [pytest.mark.crash, pytest.mark.plain]
restart_module = importlib.import_module("quaestor.qmgr.recovery.restart")
checkpointing_module = importlib.import_module("quaestor.qmgr.recovery.checkpointing")
manager_module = importlib.import_module("quaestor.qmgr.recovery.manager")
load_module = importlib.import_module("quaestor.qmgr.data.load")


def without_write_ahead(patch):
    """B2: the log is forced before a changed page is written."""
    patch.setattr(BufferPool, "log_check", lambda self, rba: None)


def without_images(patch):
    """B4: a page that is written over its older self goes to the log first."""
    patch.setattr(BufferPool, "_log_images", lambda self, frames: 0)


def without_unsynced(patch):
    """B6: a written page counts as changed until its page set is synced."""
    patch.setattr(PageSet, "sync", lambda self: None)


def with_the_record_before_the_pages(patch):
    """CP1: the record of a checkpoint is written when the pages of which it speaks are durable."""

    def hasty(self):
        for page_set in self._page_sets.values():
            page_set.start_sync()
            page_set.end_sync()
        yield from ()

    patch.setattr(OldPages, "sync", hasty)


def with_the_note_before_the_record(patch):
    """CP1: the bootstrap data set names a checkpoint when its record is durable."""
    patch.setattr(checkpointing_module, "partial", lambda _force, _rba: lambda: None)


def with_a_sync_that_covers_what_came_later(patch):
    """T5: a page that is written while a sync is under way is volatile until the next one.

    A page set that is stamped has a next one in the same checkpoint (ST1), so none is.
    """

    def end_sync(self):
        self.syncing_rba = self.unsynced_rba = 0

    patch.setattr(PageSet, "end_sync", end_sync)
    patch.setattr(Stamping, "pieces", lambda _self: iter(()))


def without_the_pages_that_stay(patch):
    """OP4: the oldest change of every page that stays changed is noted."""
    is_old = OldPages._is_old

    def forgetful(self, pool, frame):
        old = is_old(self, pool, frame)
        self._kept.clear()
        return old

    patch.setattr(OldPages, "_is_old", forgetful)


def with_pages_that_any_change_renews(patch):
    """B10: only a change that starts a page makes those before it needless."""
    set_write = BufferPool.set_write

    def renewing(self, frame, rba):
        set_write(self, frame, rba)
        frame.first_rba = rba

    patch.setattr(BufferPool, "set_write", renewing)


def without_the_force_between_two_holds(patch):
    """OP3, B4: an image is durable before the page is written, in steps too."""
    patch.setattr(BufferPool, "log_check", lambda self, rba: None)


def without_force(patch):
    """V2: a unit has committed when its COMMIT record is durable."""
    patch.setattr(RecoveryManager, "_force", lambda self, rba: None)


def without_the_end_of_a_flight(patch):
    """J10: nothing is confirmed before the write that is in flight has ended."""
    patch.setattr(LogManager, "finish_force", lambda self, *, wait: True)


def without_the_write_of_a_flight(patch):
    """K9: a write that was started is volatile until it is over."""
    patch.setattr(StartedFaultyWrite, "over", lambda self, *, wait: True)


def without_the_flight_before_another(patch):
    """J10: one write is in flight at most, and whoever needs the log waits for it."""
    land = LogManager._land

    def hasty(self, *, wait):
        flight = self._flight
        if flight is None or not wait:
            return land(self, wait=wait)
        self.hardened = self._synced = flight.upto
        self._flight = None
        self._wrote(flight.start, flight.upto, flight.since_ns)
        return True

    patch.setattr(LogManager, "_land", hasty)


def without_undo_next(patch):
    """V3: a compensation record names the record to undo next."""

    class Forgetful:
        size = UNDO_NEXT.size
        unpack_from = UNDO_NEXT.unpack_from

        @staticmethod
        def pack(_following, kind):
            return UNDO_NEXT.pack(0, kind)

    patch.setattr(manager_module, "UNDO_NEXT", Forgetful)


def without_undo(patch):
    """X1: what was in flight is undone."""
    patch.setattr(restart_module, "_backward", lambda recovery: None)


def without_redo(patch):
    """X1: what may not have reached the page sets is redone."""
    patch.setattr(restart_module._Redo, "record", lambda self, record: None)


def without_needed_rba(patch):
    """F2: an active log is used again only when nothing needs it."""
    patch.setattr(RecoveryManager, "needed_rba", lambda self: 1 << 62)


def without_complete_shunting(patch):
    """V6: shunted records count only when all of them are there."""
    follow = restart_module._follow

    def hasty(units, record):
        follow(units, record)
        if record.urid in units:
            units[record.urid].last = record.rba

    patch.setattr(restart_module, "_follow", hasty)


def without_sync_at_restart(patch):
    """K1: what a killed process wrote is volatile until it is synced."""
    patch.setattr(LogFiles, "sync", lambda self, since=0: None)


def without_lost_texts(patch):
    """A5: text pages whose release was lost are given back at start."""
    patch.setattr(load_module._Loader, "give_back_lost_texts", lambda self: None)


def without_sync(patch):
    """K1: nothing is durable before it is synced."""
    patch.setattr(FaultyFile, "sync", lambda self: None)


def without_compensation_records(patch):
    """V3: undoing is logged like any other change."""

    def undo(self, unit, record):
        kind, body = record.kind, record.body
        if kind in UNDONE:
            undoing = undo_of(kind, record.flags, record.page, body)
            self._compensate(
                self.buffers.page_sets[record.page_set], undoing.page, undoing.kind, undoing.body, unit.last
            )
        return record.previous

    patch.setattr(RecoveryManager, "undo", undo)


def with_a_checkpoint_too_new(patch):
    """V5: a checkpoint names the oldest change of each page set that may not be on disk."""
    patch.setattr(OldPages, "recovery_rbas", lambda self: dict.fromkeys(self._page_sets, self._log.end))


def without_the_space_map(patch):
    """L5: a record that takes a page takes it at restart too."""
    patch.setattr(restart_module._Redo, "_take_page", lambda self, record, use: None)


def without_the_chain_of_a_run(patch):
    """J12: each record of a run is the next one's `previous`, so that undoing finds all of them."""
    begin_pages = RecoveryManager.begin_pages

    def leave_behind(self, unit, *run):
        last = unit.last
        begun = begin_pages(self, unit, *run)
        unit.last = last
        return begun

    patch.setattr(RecoveryManager, "begin_pages", leave_behind)


def without_the_log_of_a_run(patch):
    """D7: what is put together is in the log before it is on its page."""

    def only_count(self, kind, flags, urid, previous, page_set, changes):
        return [previous for _ in changes]

    patch.setattr(LogManager, "append_run", only_count)


def without_the_force_of_an_express_put(patch):
    """EX3: a message that is put for good is on its queue when the log is forced, not before."""
    patch.setattr(RecoveryManager, "end_for_good", lambda self, rba, *, latched: None)


def without_the_force_of_one_record(patch):
    """V11: the record of a unit that is alone is its commit, so the log is forced up to it."""
    start_commit = RecoveryManager.start_commit
    patch.setattr(RecoveryManager, "start_commit", lambda self, unit: start_commit(self, unit) if unit.urid else 0)


def without_the_sync_of_what_was_sent(patch):
    """J17: what the disk has begun with is volatile until it is synced."""
    patch.setattr(FaultyFile, "sync_written", lambda self: None)


def without_the_write_of_what_is_sent(patch):
    """J17: what counts as sent has been written."""
    patch.setattr(FaultyFile, "write_soon", lambda self, offset, data: None)


def without_space_that_is_durable(patch):
    """T2: the file system has reserved an extent, durably, before the growth is logged."""

    def hasty(self, pages):
        self.file.extend(pages * PAGE)
        self.reserved = max(self.reserved, pages)

    patch.setattr(PageSet, "reserve", hasty)


def with_a_log_used_again_before_its_checkpoint(patch):
    """J14, CP1: the next active log waits until the checkpoint that frees it is over."""
    needed_rba = RecoveryManager.needed_rba

    def hasty(self):
        coming = self._under_way is not None or self.log.switched
        return max(needed_rba(self), self.log.files.next_end()) if coming else needed_rba(self)

    patch.setattr(RecoveryManager, "needed_rba", hasty)


TEETH = [
    (without_space_that_is_durable, expansion, {}),
    (without_space_that_is_durable, expansion_ahead, {}),
    (with_a_log_used_again_before_its_checkpoint, the_log_waits_for_steps, {}),
    (without_the_force_of_one_record, out_of_syncpoint, {}),
    (without_the_force_of_an_express_put, express, {}),
    (without_compensation_records, backouts, {}),
    (with_a_checkpoint_too_new, checkpoints, {}),
    (with_a_checkpoint_too_new, checkpoints_in_steps, {}),
    (with_the_record_before_the_pages, checkpoints_in_steps, {}),
    (with_the_note_before_the_record, checkpoints_in_steps, {}),
    (with_a_sync_that_covers_what_came_later, pages_written_during_a_sync, {}),
    (without_the_pages_that_stay, checkpoints_in_steps, {}),
    (with_pages_that_any_change_renews, checkpoints, {"packing": True}),
    (without_the_force_between_two_holds, checkpoints_in_steps, {}),
    (without_the_space_map, puts_and_gets, {}),
    (without_write_ahead, pages_leave_early, {}),
    (without_images, checkpoints, {"packing": True}),
    (without_unsynced, checkpoints, {}),
    (without_force, puts_and_gets, {}),
    (without_undo, pages_leave_early, {}),
    (without_redo, puts_and_gets, {}),
    (without_needed_rba, unit_longer_than_the_ring, {}),
    (without_sync_at_restart, killed_then_cut, {"wrthrsh": 2}),
    (without_lost_texts, long_messages, {}),
    (without_sync, puts_and_gets, {}),
    (without_the_chain_of_a_run, puts_together, {}),
    (without_the_log_of_a_run, puts_together, {}),
]
SENT = [
    (without_the_sync_of_what_was_sent, puts_and_gets, {}),
    (without_the_sync_of_what_was_sent, express, {}),
    (without_the_write_of_what_is_sent, out_of_syncpoint, {}),
]
IN_FLIGHT = [
    (without_the_end_of_a_flight, {}),
    (without_the_write_of_a_flight, {}),
    (without_the_write_of_a_flight, {"dual_logs": True}),
    (without_the_flight_before_another, {"wrthrsh": 2}),
]


@pytest.mark.parametrize(("remove", "proof", "settings"), TEETH, ids=lambda x: getattr(x, "__name__", ""))
def test_a_proof_fails_without_its_rule(remove, proof, settings, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend, TornPageError, struct.error)):  # a page without its beginning
        prove(proof, replace(TINY, **settings), at_most=60, seeds=3)


@pytest.mark.parametrize(("remove", "proof", "settings"), SENT, ids=lambda x: getattr(x, "__name__", ""))
def test_a_proof_of_one_application_fails_without_its_rule(remove, proof, settings, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend, TornPageError)):
        prove(proof, replace(TINY, **settings), at_most=60, seeds=3, ends=[commit_single])


@pytest.mark.parametrize(("remove", "settings"), IN_FLIGHT, ids=lambda x: getattr(x, "__name__", ""))
def test_a_proof_with_forces_in_flight_fails_without_its_rule(remove, settings, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend, TornPageError)):
        prove(puts_and_gets, replace(TINY, **settings), at_most=60, seeds=3, ends=[commit_in_flight])


@pytest.mark.parametrize(
    ("remove", "proof"),
    [(without_undo_next, backout_by_prefixes), (without_complete_shunting, shunting_by_prefixes)],
    ids=lambda x: x.__name__,
)
def test_a_proof_by_prefixes_fails_without_its_rule(remove, proof, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend)):
        proof()
