"""Group commit by itself: one force, the ends of units in their order, then the answers (GC1-GC6)."""

from types import SimpleNamespace

import pytest

from qmgr.small import EVERYTHING
from quaestor import MQMD, GetOptions, PutOptions
from quaestor.clock import FakeClock
from quaestor.server.group_commit import GroupCommit

FORCE_US, END_US = 200, 30
HANDED_ON = ("outcomes", "begin", "back_out", "commit_unforced", "prepare", "in_doubt", "resolve")
"""What a group commit leaves to recovery."""


class Recovery:
    """What a group commit asks of recovery, in the order in which it does."""

    def __init__(self, told, clock):
        self.told, self.clock = told, clock
        self.log = SimpleNamespace(
            force=self.force, start_force=self.start_force, finish_force=self.finish_force, force_ready_fd=None
        )
        self.alone = False
        self.can_begin = True  # a force that nobody waits for
        self.over = False
        self.served = SimpleNamespace(task=None)
        self.latch = self
        for name in HANDED_ON:
            setattr(self, name, f"recovery's {name}")
        self.logged = 0

    def __enter__(self):
        self.told.append("latch")

    def __exit__(self, *_):
        self.told.append("free")

    def start_commit(self, unit):
        self.logged += unit.logs
        return unit.logs and self.logged

    def commit(self, unit):
        self.told.append(f"{unit.name} commits alone")

    def force(self, rba):
        self.clock.us += FORCE_US
        self.told.append(f"forced to {rba}")

    def start_force(self, rba):
        if self.can_begin:
            self.told.append(f"begun to {rba}")
        return self.can_begin

    def finish_force(self, *, wait):
        if wait:
            self.told.append("waited for")
        return wait or self.over

    def end_commit(self, unit):
        self.clock.us += END_US
        self.told.append(f"{unit.name} ends")


class Conversation:
    def __init__(self, link):
        self.link = link


class Group:
    """A group commit with its clients."""

    def __init__(self):
        self.told, self.clock = [], FakeClock()
        self.recovery = Recovery(self.told, self.clock)
        self.commits = GroupCommit(self.recovery, self.clock)

        self.conversations = {}

    def conversation(self, name):
        return self.conversations.setdefault(name, Conversation(name))

    def commit(self, name, *, logs=1):
        self.commits.commit(SimpleNamespace(name=name, logs=logs))
        if logs:
            self.commits.deferred.append((self.conversation(name), name.encode()))

    def serve(self, name):
        """A call without the log."""
        self.commits.others.add(self.conversation(name))

    def fly(self, *names):
        """These commits are in flight: somebody else is there."""
        for name in names:
            self.commit(name)
        self.serve("somebody else")
        assert self.commits.depart()

    def answers(self):
        return [answer.decode() for _, answer in self.commits.durable]


@pytest.fixture
def group():
    return Group()


def test_to_a_conversation_it_is_the_recovery_manager(group):
    """GC1: apart from `commit`. Many are served in one turn, so nobody is alone."""
    assert [f"recovery's {name}" for name in HANDED_ON] == [getattr(group.commits, name) for name in HANDED_ON]
    assert group.recovery.latch is group.commits.latch
    assert (False, False) == (group.commits.alone, group.commits.single)


def test_the_commit_of_who_is_alone_is_over_when_it_returns(group):
    """GC6."""
    group.recovery.alone = True
    group.commits.commit(SimpleNamespace(name="A", logs=1))
    assert ["A commits alone"] == group.told
    assert (0, []) == (group.commits.count, group.commits.started)


def test_who_is_alone_now_goes_with_a_group_that_waits(group):
    """GC6, GC2: the others have disconnected, and their commits are under way."""
    group.commit("A")
    group.recovery.alone = True
    group.commit("B")
    group.commits.harden()
    assert ["forced to 2", "latch", "A ends", "B ends", "free"] == group.told


def test_who_is_alone_now_waits_for_the_force_in_flight(group):
    """GC6, GC2."""
    group.fly("A")
    group.recovery.alone = True
    group.commit("B")
    assert ["begun to 1"] == group.told
    group.commits.harden()
    assert ["A", "B"] == group.answers()


@pytest.mark.parametrize("look_ns", [0, 50_000])
def test_forces_overlap_with_calls_where_nobody_looks_before_he_sleeps(look_ns, monkeypatch):
    """GC4, RD2."""
    monkeypatch.setattr("quaestor.server.group_commit.LOOK_NS", look_ns)
    assert (look_ns == 0) is Group().commits.overlaps


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


# -- a force that is in flight (GC2, GC4)


def test_a_force_is_only_begun_when_others_are_there(group):
    """Nobody is told, and no unit ends, before the log says that it is over."""
    group.commit("A")
    group.commit("B")
    group.serve("C")
    assert group.commits.depart()
    assert (True, [], ["begun to 2"], []) == (
        group.commits.in_flight,
        group.commits.started,
        group.told,
        group.answers(),
    )
    group.commits.land()
    assert (True, ["begun to 2"], []) == (group.commits.in_flight, group.told, group.answers())
    group.recovery.over = True
    group.commits.land()
    assert (False, ["A", "B"]) == (group.commits.in_flight, group.answers())
    assert ["begun to 2", "latch", "A ends", "B ends", "free"] == group.told


@pytest.mark.parametrize("served", [[], ["A"], ["A", "B"]])
def test_a_force_is_waited_for_when_everybody_who_called_waits_for_it(group, served):
    for name in served:
        group.serve(name)
    group.commit("A")
    group.commit("B")
    assert not group.commits.depart()
    assert (False, [], []) == (group.commits.in_flight, group.told, group.answers())
    group.commits.harden()
    assert (["forced to 2", "latch", "A ends", "B ends", "free"], ["A", "B"]) == (group.told, group.answers())


@pytest.mark.parametrize("can_begin", [False, True])
def test_who_called_before_a_force_is_forgotten(group, can_begin):
    """Who is not there any more is not served meanwhile: the next force is waited for."""
    group.recovery.can_begin = can_begin
    group.serve("C")
    group.commit("A")
    assert can_begin is group.commits.depart()
    group.commits.harden()
    group.commit("B")
    group.recovery.can_begin = True
    assert not group.commits.depart()


def test_a_log_that_cannot_begin_a_force_is_waited_for(group):
    group.recovery.can_begin = False
    group.serve("C")
    group.commit("A")
    assert not group.commits.depart()
    assert not group.commits.in_flight
    group.commits.harden()
    assert (["forced to 1", "latch", "A ends", "free"], ["A"]) == (group.told, group.answers())


def test_what_is_started_during_a_force_does_not_end_with_it(group):
    group.fly("A")
    group.commit("B")
    group.recovery.over = True
    group.commits.land()
    assert (["A"], ["begun to 1", "latch", "A ends", "free"]) == (group.answers(), group.told)
    assert group.commits.concerns("B")
    group.commits.harden()
    assert (["A", "B"], "forced to 2") == (group.answers(), group.told[4])


def test_an_end_that_is_said_once_too_often_ends_nothing(group):
    """What was started since is not durable, whatever the log says of the force before."""
    group.fly("A")
    group.recovery.over = True
    group.commits.land()
    group.commit("B")
    before = list(group.told)
    group.commits.land()
    assert (["A"], before) == (group.answers(), group.told)
    assert group.commits.concerns("B")


def test_who_waits_waits_for_the_force_in_flight_and_then_for_his_own(group):
    group.fly("A")
    group.commit("B")
    group.commits.harden()
    ended = ["waited for", "latch", "A ends", "free", "forced to 2", "latch", "B ends", "free"]
    assert (["begun to 1", *ended], ["A", "B"]) == (group.told, group.answers())
    assert not group.commits.in_flight


def test_nothing_is_forced_when_nothing_was_started(group):
    group.fly("A")
    group.commits.harden()
    group.commits.harden()
    assert not [each for each in group.told if each.startswith("forced")]


def test_a_link_is_concerned_while_its_commit_is_in_flight(group):
    group.fly("A")
    assert (True, False) == (group.commits.concerns("A"), group.commits.concerns("somebody else"))
    group.commits.harden()
    assert not group.commits.concerns("A")


def test_when_the_engine_has_failed_nobody_in_flight_is_answered(group):
    group.fly("A")
    group.commit("B")
    before = list(group.told)
    group.commits.abandon()
    group.recovery.over = True
    group.commits.land()
    assert (before, [], False) == (group.told, group.answers(), group.commits.in_flight)
    assert (False, False) == (group.commits.concerns("A"), group.commits.concerns("B"))


def test_a_force_in_flight_that_fails_answers_nobody(group):
    def fails(*, wait):
        raise OSError("no more disk")

    group.fly("A")
    group.recovery.log.finish_force = fails
    for end in (group.commits.land, group.commits.harden):
        with pytest.raises(OSError, match="no more disk"):
            end()
    assert (["begun to 1"], []) == (group.told, group.answers())


def test_a_task_in_flight_is_charged_until_its_force_is_over(group):
    """GC5: not with the next."""
    charged = []
    group.recovery.served.task = SimpleNamespace(waits_for_log=lambda: charged.append)
    group.fly("A")
    group.clock.us += 70
    group.recovery.over = True
    group.commits.land()
    assert [(70 + END_US) * 1000] == charged
    group.commits.harden()
    assert 1 == len(charged)


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
