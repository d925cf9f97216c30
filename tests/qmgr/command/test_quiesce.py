"""ARCHIVE LOG MODE(QUIESCE): who is held up, who goes on, and how it ends (SY2, FM5, GA1-GA4)."""

import threading

import pytest

from qmgr.command.console import Console, depth
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.queue_manager import QueueManager

PERSISTENT = MQMD(persistence=1)
NO_SYNCPOINT = PutOptions.NO_SYNCPOINT
SOON_S = 0.05


class Quiesced(Console):
    """A console whose ARCHIVE LOG waits, on a thread of its own, for the unit of an application."""

    def __init__(self, wait="WAIT(YES)", accounted=False):
        super().__init__(archive=True)
        assert self.run("DEFINE QLOCAL(ORDERS) SHARE DEFSOPT(SHARED)").ok
        self.first, self.replies, self.others = self.qm.connect("ALICE", "first"), [], []
        self.second = self.qm.connect("BOB", "second")
        if accounted:
            assert self.run("START TRACE(ACCTG) CLASS(3)").ok
        self.queue = self.second.open("ORDERS", OpenOptions.INPUT_SHARED | OpenOptions.OUTPUT | OpenOptions.BROWSE)
        self.first.put("ORDERS", b"first", PERSISTENT)
        self.qm.commands.pause = threading.Event().wait
        self.beside(lambda: self.replies.append(self.run(f"ARCHIVE LOG MODE(QUIESCE) TIME(60) {wait}")))
        self.until(lambda: self.qm.connections.units_held)

    def beside(self, call):
        """Make a call on a thread; what it raised is kept with it."""

        def make():
            try:
                call()
            except MQError as error:
                self.others.append(error)

        thread = threading.Thread(target=make, daemon=True)
        thread.start()
        return thread

    def until(self, condition):
        pause = threading.Event()
        for _ in range(1000):
            if condition():
                return
            pause.wait(0.01)
        raise AssertionError("it did not come about")

    def ended(self):
        self.until(lambda: self.replies)
        return self.replies[0]


CALLS = {
    "put": lambda q: q.queue.put(b"second", PERSISTENT),
    "put, not persistent": lambda q: q.queue.put(b"second"),
    "put out of syncpoint": lambda q: q.queue.put(b"second", PERSISTENT, NO_SYNCPOINT),
    "put1": lambda q: q.second.put1("ORDERS", b"second", PERSISTENT),
    "put all": lambda q: q.queue.put_all([b"second"], PERSISTENT, NO_SYNCPOINT),
    "get": lambda q: q.queue.get(wait_ms=60_000),
}


@pytest.mark.parametrize("accounted", [False, True], ids=["", "accounted"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_nobody_begins_a_unit_until_the_log_is_switched(call, accounted):
    """GA1: the second application is held up, the first goes on and ends its unit."""
    q = Quiesced(accounted=accounted)
    held = q.beside(lambda: call(q))
    held.join(SOON_S)
    assert held.is_alive()
    q.first.put("ORDERS", b"more", PERSISTENT)
    assert [] == q.replies
    q.first.commit()
    assert q.ended().lines[0].startswith("CSQJ312I")
    held.join(10)
    assert not held.is_alive()
    assert [] == q.others
    q.second.commit()
    assert depth(q, "ORDERS") == (1 if call is CALLS["get"] else 3)


def test_who_only_looks_goes_on():
    """GA1."""
    q = Quiesced()
    with pytest.raises(MQError, match="NO_MSG_AVAILABLE"):
        q.queue.browse()
    assert q.run("DIS QL(ORDERS)").ok
    q.second.define(LocalQueue("OTHER"))
    q.second.commit()
    q.first.backout()
    assert q.ended().ok


def test_when_the_time_is_over_everybody_goes_on():
    q = Quiesced()
    held = q.beside(lambda: q.queue.put(b"second", PERSISTENT))
    held.join(SOON_S)
    q.qm.commands.pause = lambda _: None
    reply = q.ended()
    assert not reply.ok
    assert "CSQJ317I +QM1 Quiesce period elapsed with 1 outstanding URs" == reply.lines[0]
    held.join(10)
    assert not held.is_alive()
    assert 2 == depth(q, "ORDERS")


def test_an_operator_who_does_not_wait_is_told_by_the_log():
    """WAIT(NO) is the default: the answer says that it has begun."""
    q = Quiesced(wait="")
    assert q.ended().lines[0].startswith("CSQJ310I")
    held = q.beside(lambda: q.queue.put(b"second", PERSISTENT))
    q.qm.scheduler.run_due()
    held.join(SOON_S)
    assert held.is_alive()
    q.first.commit()
    q.clock.advance(seconds=1)
    q.qm.scheduler.run_due()
    held.join(10)
    assert not held.is_alive()
    assert "CSQJ312I" in [entry.identifier for entry in q.qm.operator_log.entries]


def test_an_operator_who_does_not_wait_is_told_that_it_failed():
    q = Quiesced(wait="WAIT(NO)")
    assert q.ended().ok
    for _ in range(60 * 20 + 2):
        q.qm.commands.step()
    assert "CSQJ317I" == q.qm.operator_log.entries[-1].identifier
    q.queue.put(b"second", PERSISTENT)


def test_one_archive_at_a_time():
    q = Quiesced()
    for again in ("ARCHIVE LOG", "ARCHIVE LOG MODE(QUIESCE) TIME(60) WAIT(YES)"):
        assert q.run(again).lines[0].startswith("CSQJ318I")
    assert q.qm.connections.units_held
    q.first.commit()
    assert q.ended().ok
    assert q.run("ARCHIVE LOG").ok


def test_a_queue_manager_that_stops_waits_for_no_archive():
    """CP3: the log is not switched behind the end."""
    q = Quiesced()
    q.qm.stop()
    reply = q.ended()
    assert Reason.Q_MGR_STOPPING is reply.reason


@pytest.mark.parametrize("end", [QueueManager.stop, lambda qm: qm._failed(OSError("no disk"))])
def test_nobody_is_held_up_by_a_queue_manager_that_has_ended(end):
    """The step that would let them go on is not run any more."""
    q = Quiesced(wait="WAIT(NO)")
    held = q.beside(lambda: q.queue.put(b"second", PERSISTENT))
    held.join(SOON_S)
    assert held.is_alive()
    end(q.qm)
    held.join(10)
    assert not held.is_alive()
    assert 1 == len(q.others)


def test_an_application_that_is_ended_while_it_is_held_up_begins_nothing():
    q = Quiesced()
    held = q.beside(lambda: q.queue.put(b"second", PERSISTENT))
    held.join(SOON_S)
    q.qm.connections.end(q.second.thread)
    q.first.commit()
    assert q.ended().ok
    held.join(10)
    assert [Reason.CONNECTION_BROKEN] == [error.reason for error in q.others]
    assert 1 == depth(q, "ORDERS")
    assert not q.qm.engine.recovery.units


def test_a_get_that_waits_when_it_is_held_up_has_its_message_later():
    """GA1: woken by the end of the unit that was waited for, it finds the log switched, or waits for that."""
    q = Quiesced()
    got = []
    held = q.beside(lambda: got.append(q.queue.get(GetOptions.NO_SYNCPOINT, wait_ms=60_000).body))
    held.join(SOON_S)
    q.first.commit()
    assert q.ended().ok
    held.join(10)
    assert [b"first"] == got
