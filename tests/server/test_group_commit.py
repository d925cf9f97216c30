"""Group commit by itself: one force, the ends of units in their order, then the answers (GC1-GC3, GC5)."""

from types import SimpleNamespace

import pytest

from qmgr.small import EVERYTHING
from quaestor import MQMD, GetOptions, PutOptions
from quaestor.clock import FakeClock
from quaestor.server.group_commit import GroupCommit

FORCE_US, END_US = 200, 30


class Recovery:
    """What a group commit asks of recovery, in the order in which it does."""

    def __init__(self, told, clock):
        self.told, self.clock = told, clock
        self.log = SimpleNamespace(force=self.force, force_ready_fd=None)
        self.served = SimpleNamespace(task=None)
        self.latch = self
        self.outcomes = self.begin = self.back_out = self.commit_unforced = self.prepare = self.in_doubt = (
            self.resolve
        ) = None
        self.logged = 0

    def __enter__(self):
        self.told.append("latch")

    def __exit__(self, *_):
        self.told.append("free")

    def start_commit(self, unit):
        self.logged += unit.logs
        return unit.logs and self.logged

    def force(self, rba):
        self.clock.us += FORCE_US
        self.told.append(f"forced to {rba}")

    def end_commit(self, unit):
        self.clock.us += END_US
        self.told.append(f"{unit.name} ends")


class Group:
    """A group commit with its clients."""

    def __init__(self):
        self.told, self.clock = [], FakeClock()
        self.recovery = Recovery(self.told, self.clock)
        self.commits = GroupCommit(self.recovery, self.clock)

    def commit(self, name, *, logs=1):
        self.commits.commit(SimpleNamespace(name=name, logs=logs))
        if logs:
            self.commits.deferred.append((SimpleNamespace(link=name), name.encode()))

    def answers(self):
        return [answer.decode() for _, answer in self.commits.durable]


@pytest.fixture
def group():
    return Group()


def test_one_force_serves_all_and_their_units_end_in_order(group):
    group.commit("A")
    group.commit("B")
    assert [] == group.told
    assert [] == group.answers()
    group.commits.harden()
    assert ["forced to 2", "latch", "A ends", "B ends", "free"] == group.told
    assert ["A", "B"] == group.answers()


def test_what_is_started_after_a_force_goes_with_the_next(group):
    group.commit("A")
    group.commits.harden()
    group.commit("B")
    assert ["A"] == group.answers()
    group.commits.harden()
    assert ["A", "B"] == group.answers()
    assert 2 == group.commits.count


def test_a_link_is_concerned_until_its_commit_is_over(group):
    group.commit("A")
    assert group.commits.concerns("A")
    assert not group.commits.concerns("B")
    group.commits.harden()
    assert not group.commits.concerns("A")


def test_when_the_engine_has_failed_nobody_is_answered(group):
    group.commit("A")
    group.commits.abandon()
    assert [] == group.answers()
    assert [] == group.told
    assert not group.commits.concerns("A")


def test_a_unit_that_logged_nothing_ends_at_once_and_waits_for_nobody(group):
    group.commit("A", logs=0)
    assert ["A ends"] == group.told
    assert not group.commits.started
    assert 0 == group.commits.count


def test_a_force_that_fails_answers_nobody(group):
    def fails(_rba):
        raise OSError("no more disk")

    group.recovery.log.force = fails
    group.commit("A")
    with pytest.raises(OSError, match="no more disk"):
        group.commits.harden()
    assert [] == group.told
    assert [] == group.answers()


def test_a_task_is_charged_for_its_own_wait(group):
    charged = []
    group.recovery.served.task = SimpleNamespace(waits_for_log=lambda: charged.append)
    group.commit("A")
    group.clock.us += 50
    group.commit("B")
    group.commits.harden()
    ended = 2 * END_US  # of both units, before anybody is charged
    assert [(50 + FORCE_US + ended) * 1000, (FORCE_US + ended) * 1000] == charged


def test_a_message_is_there_for_whoever_heard_of_its_commit(app, other, qm, orders):
    same = other.open("ORDERS")
    for number in range(200):
        orders.put(f"{number}", MQMD(persistence=1), PutOptions.NO_SYNCPOINT)
        assert f"{number}" == same.get(GetOptions.NO_SYNCPOINT).text


def test_what_was_got_is_gone_for_whoever_heard_of_it(app, other, qm, orders):
    same = other.open("ORDERS", EVERYTHING)
    for number in range(100):
        same.put(f"{number}", MQMD(persistence=1), PutOptions.NO_SYNCPOINT)
        assert f"{number}" == orders.get(GetOptions.NO_SYNCPOINT).text
        assert 0 == same.inquire("CURDEPTH")["CURDEPTH"]
