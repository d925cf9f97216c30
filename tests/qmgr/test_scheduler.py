"""Background work: steps when they are due, a failure that is heard."""

import threading

import pytest

from quaestor.clock import FakeClock
from quaestor.qmgr.resource_manager import Task
from quaestor.qmgr.scheduler import Scheduler


class Manager:
    """A manager with one task that has three pieces to do."""

    def __init__(self, step=None):
        self.pieces, self.done = 3, 0
        self.step = step or self._step

    def _step(self):
        self.done += 1
        return self.done < self.pieces

    def tasks(self):
        return [Task("work", self.step, every_ms=100)]


def test_a_step_with_more_to_do_runs_again_at_the_next_turn():
    manager, clock = Manager(), FakeClock()
    scheduler = Scheduler(threading.Lock(), [manager], clock)
    for _ in range(5):
        scheduler.run_due()
    assert 3 == manager.done
    clock.advance(milliseconds=100)
    scheduler.run_due()
    assert 4 == manager.done


def test_steps_of_one_period_run_one_after_the_other():
    """W6: once the first of two steps takes 7 ms; from then on the second is due with it, not 7 ms after it."""
    clock, ran, takes_ms = FakeClock(), [], [7, 0, 0]
    first = Manager(lambda: bool(ran.append("first") or clock.advance(milliseconds=takes_ms[len(ran) // 2])))
    second = Manager(lambda: bool(ran.append("second")))
    scheduler = Scheduler(threading.Lock(), [first, second], clock)
    wakes = 0
    while len(ran) < 6:
        clock.advance(milliseconds=scheduler.run_due())
        wakes += 1
    assert (["first", "second"] * 3, 3) == (ran, wakes)


def test_the_thread_stops_when_told():
    manager = Manager()
    ran = threading.Event()
    manager.step = lambda: bool(ran.set())
    scheduler = Scheduler(threading.Lock(), [manager], FakeClock())
    scheduler.start()
    assert ran.wait(5)
    scheduler.stop()
    assert scheduler.failure is None


def test_a_failure_is_heard():
    heard = []

    def fail():
        raise OSError("disk")

    scheduler = Scheduler(threading.Lock(), [Manager(fail)], FakeClock(), heard.append)
    scheduler.start()
    scheduler.stop()
    assert [scheduler.failure] == heard
    with pytest.raises(OSError, match="disk"):
        raise heard[0]


def test_a_step_with_nothing_to_do_does_not_wait_for_the_latch():
    """W5: an application has the latch; who has nothing to do does not ask for it, who has something runs then."""
    latch, clock, due = threading.Lock(), FakeClock(), []
    manager = Manager()
    manager.tasks = lambda: [Task("work", manager.step, every_ms=100, due=lambda: bool(due))]
    scheduler = Scheduler(latch, [manager], clock)
    with latch:
        assert 100 == scheduler.run_due()
    assert 0 == manager.done
    due.append("something")
    clock.advance(milliseconds=100)
    scheduler.run_due()
    assert 1 == manager.done


def test_a_wait_is_not_over_before_the_step_is_due():
    clock = FakeClock()
    scheduler = Scheduler(threading.Lock(), [Manager(lambda: False)], clock)
    scheduler.run_due()
    clock.advance(microseconds=98_500)
    assert 2 == scheduler.run_due()


def test_a_step_apart_holds_up_no_other():
    """One that waits for what somebody asked for, and one that is due every millisecond meanwhile."""
    asked, answered, ran = threading.Event(), threading.Event(), threading.Semaphore(0)

    class Two:
        def tasks(self):
            def waits():
                asked.set()
                return not answered.wait(5)

            def works():
                ran.release()
                return True

            return [Task("waits", waits, latched=False, apart=True), Task("works", works)]

    scheduler = Scheduler(threading.Lock(), [Two()], FakeClock())
    scheduler.start()
    assert asked.wait(5)
    assert all(ran.acquire(timeout=5) for _ in range(20))
    answered.set()
    scheduler.stop()
    assert scheduler.failure is None


def test_a_failure_in_one_thread_stops_both():
    heard, ran = [], threading.Event()

    def fail():
        raise OSError("disk")

    class Two:
        def tasks(self):
            return [Task("fails", fail, latched=False, apart=True), Task("works", lambda: bool(ran.set()) or True)]

    scheduler = Scheduler(threading.Lock(), [Two()], FakeClock(), heard.append)
    scheduler.start()
    for lane in scheduler._lanes:
        lane.thread.join(5)
    assert [False, False] == [lane.thread.is_alive() for lane in scheduler._lanes]
    scheduler.stop()
    assert [scheduler.failure] == heard
