"""Teeth: each numbered rule is removed in turn, and the power-cut proof named beside it must then fail.

A proof that still holds without the rule would prove nothing about it.
"""

import importlib
from dataclasses import replace

import pytest

from crash.prefixes import backout_by_prefixes, shunting_by_prefixes
from crash.scenarios import (
    TINY,
    checkpoints,
    killed_then_cut,
    long_messages,
    pages_leave_early,
    prove,
    puts_and_gets,
    unit_longer_than_the_ring,
)
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import BufferPool, TornPageError
from quaestor.qmgr.data import PrivateQueue
from quaestor.qmgr.lock import LockManager
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.changes import UNDO_NEXT
from quaestor.storage.log_files import LogFiles
from quaestor.storage.page_set import PageSet
from quaestor.testing import FaultyFile, SmallEngine

pytestmark = pytest.mark.crash
restart_module = importlib.import_module("quaestor.qmgr.recovery.restart")
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
    patch.setattr(PageSet, "sync", lambda self: setattr(self, "unsynced_rba", 0))


def without_force(patch):
    """V2: a unit has committed when its COMMIT record is durable."""
    patch.setattr(RecoveryManager, "_force", lambda self, rba: None)


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


TEETH = [
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
]


@pytest.mark.parametrize(("remove", "proof", "settings"), TEETH, ids=lambda x: getattr(x, "__name__", ""))
def test_a_proof_fails_without_its_rule(remove, proof, settings, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend, TornPageError)):
        prove(proof, replace(TINY, **settings), at_most=60, seeds=3)


@pytest.mark.parametrize(
    ("remove", "proof"),
    [(without_undo_next, backout_by_prefixes), (without_complete_shunting, shunting_by_prefixes)],
    ids=lambda x: x.__name__,
)
def test_a_proof_by_prefixes_fails_without_its_rule(remove, proof, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend)):
        proof()


def without_lock_at_get(patch):
    """D3: a message that a unit has got is not there for others."""
    patch.setattr(PrivateQueue, "remove", lambda self, arrival: None)
    patch.setattr(LockManager, "lock", lambda self, resource, holder: True)
    patch.setattr(LockManager, "unlock", lambda self, resource, holder: None)


def a_message_is_got_once():
    engine = SmallEngine()
    unit = engine.begin()
    engine.put(unit, b"once")
    engine.commit(unit)
    one, other = engine.begin(), engine.begin()
    assert b"once" == engine.get(one)
    assert engine.get(other) is None


def test_a_message_is_got_once():
    a_message_is_got_once()


def test_without_the_lock_it_would_be_got_twice(monkeypatch):
    without_lock_at_get(monkeypatch)
    with pytest.raises((AssertionError, Abend)):
        a_message_is_got_once()
