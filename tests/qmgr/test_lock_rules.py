"""Locks on messages: granted or refused, never waited for (N1-N3)."""

import pytest

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.lock import LockManager


class Message:
    holder = None


@pytest.fixture
def locks():
    return LockManager()


def counted(locks):
    stats = locks.stats
    return stats.lock_gets, stats.already_held, stats.lock_releases


def test_who_comes_first_has_it_and_keeps_it(locks):
    """N1, N3: the lock is in the message."""
    message = Message()
    assert locks.lock(message, "first")
    assert not locks.lock(message, "second")
    assert ("first", (2, 0, 0)) == (message.holder, counted(locks))


def test_who_has_it_may_ask_again_and_lets_it_go_once(locks):
    """N1: that it was held already is counted apart."""
    message = Message()
    for _ in range(3):
        assert locks.lock(message, "unit")
    locks.unlock(message, "unit")
    assert (None, (3, 2, 1)) == (message.holder, counted(locks))


def test_what_is_let_go_is_anothers(locks):
    message = Message()
    locks.lock(message, "first")
    locks.unlock(message, "first")
    assert locks.lock(message, "second")
    assert "second" == message.holder


@pytest.mark.parametrize("holder", [None, "first"])
def test_nobody_lets_go_what_he_has_not(locks, holder):
    message = Message()
    message.holder = holder
    with pytest.raises(Abend, match=r"N1: a lock is released by one who does not hold it"):
        locks.unlock(message, "second")
    assert (holder, 0) == (message.holder, locks.stats.lock_releases)


def test_equal_is_not_the_same(locks):
    """N1: two units may look alike; a lock knows which of them it is."""
    message, one, other = Message(), [], []
    locks.lock(message, one)
    assert not locks.lock(message, other)
    with pytest.raises(Abend):
        locks.unlock(message, other)


def test_it_does_nothing_by_itself(locks):
    """N2: what ends with a unit ends by the data manager, which knows the messages."""
    message = Message()
    locks.lock(message, "unit")
    locks.committed("unit")
    locks.backed_out("unit")
    assert ("unit", ()) == (message.holder, locks.tasks())
