"""After a force clients are answered before their units end, and nobody can tell (GC2, GC5, GC6)."""

from types import SimpleNamespace

import pytest

from qmgr.small import EVERYTHING
from quaestor import MQMD, GetOptions, PutOptions
from quaestor.clock import FakeClock
from quaestor.server.group_commit import GroupCommit

FORCE_US, ANSWER_US, END_US = 200, 7, 30


class Recovery:
    """What a group commit asks of recovery, in the order in which it does."""

    def __init__(self, told, clock):
        self.told, self.clock = told, clock
        self.log = SimpleNamespace(force=self.force, force_ready_fd=None)
        self.served = SimpleNamespace(task=None)
        self.latch = self
        self.outcomes = self.begin = self.back_out = self.prepare = self.in_doubt = self.resolve = None
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


class Client:
    """A conversation that has nothing to do but to be answered, unless it is `busy` with more."""

    link = None

    def __init__(self, told, clock, *, busy=False):
        self.told, self.clock, self.busy = told, clock, busy

    def answered(self, answer):
        if self.busy:
            return False
        self.clock.us += ANSWER_US
        self.told.append(f"{answer.decode()} answered")
        return True


class Group:
    """A group commit with its clients."""

    def __init__(self):
        self.told, self.clock = [], FakeClock()
        self.recovery = Recovery(self.told, self.clock)
        self.commits = GroupCommit(self.recovery, self.clock)

    def commit(self, name, *, shared=None, busy=False, logs=1):
        self.commits.commit(SimpleNamespace(name=name, shared=shared, logs=logs))
        if logs:
            self.commits.deferred.append((Client(self.told, self.clock, busy=busy), name.encode()))

    def late(self):
        return [answer.decode() for _, answer in self.commits.durable]


@pytest.fixture
def group():
    return Group()


def test_clients_are_answered_behind_the_force_and_before_their_units_end(group):
    group.commit("A")
    group.commit("B")
    assert [] == group.told
    group.commits.harden()
    assert ["forced to 2", "A answered", "B answered", "latch", "A ends", "B ends", "free"] == group.told
    assert [] == group.late()
    assert group.commits.over


def test_who_has_more_to_do_is_answered_when_its_unit_has_ended(group):
    group.commit("A")
    group.commit("B", busy=True)
    group.commits.harden()
    assert ["forced to 2", "A answered", "latch", "A ends", "B ends", "free"] == group.told
    assert ["B"] == group.late()


def test_work_in_structures_is_over_before_anybody_is_answered(group):
    """Whoever hears of a commit may look for its messages at another member of the group."""
    group.commit("A")
    group.commit("B", shared=object())
    group.commits.harden()
    assert ["forced to 2", "latch", "A ends", "B ends", "free"] == group.told
    assert ["A", "B"] == group.late()


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
    assert not group.commits.over


def test_a_task_is_charged_for_the_force_and_not_for_the_answers_of_others(group):
    charged = []
    group.recovery.served.task = SimpleNamespace(waits_for_log=lambda: charged.append)
    group.commit("A")
    group.clock.us += 50
    group.commit("B")
    group.commits.harden()
    assert [(50 + FORCE_US) * 1000, FORCE_US * 1000] == charged


def test_the_loop_hears_of_every_force_once(group):
    for name in "AB":
        group.commit(name)
        group.commits.harden()
        assert group.commits.over
        group.commits.over = False
    assert ["A answered", "B answered"] == [each for each in group.told if "answered" in each]


def test_a_message_is_there_for_whoever_heard_of_its_commit(app, other, qm, orders):
    """The answer comes before the unit has ended, the next request after that."""
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
