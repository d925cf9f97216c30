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


# --- what is held, and what is urgent (W4) ----------------------------------------------------------------------------

HOUR_MS = 3_600_000


class Given:
    """A manager with the tasks it is given."""

    def __init__(self, *tasks):
        self.tasks = lambda: tasks


class Looks(FakeClock):
    """A clock that knows how often it was looked at."""

    def __init__(self):
        super().__init__()
        self.looks = 0

    def monotonic_ns(self):
        self.looks += 1
        return super().monotonic_ns()


def quickly(call):
    """Whether a call returns without waiting for the hour."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(5)
    return not thread.is_alive()


def test_a_step_has_the_latch_unless_it_waits_for_files():
    latch, held = threading.Lock(), []

    def step():
        return bool(held.append(latch.locked()))

    tasks = (Task("pages", step), Task("files", step, latched=False))
    Scheduler(latch, [Given(*tasks)], FakeClock()).run_due()
    assert [True, False] == held


def test_a_step_with_more_to_do_is_due_in_a_millisecond():
    """W1: others have their turn in between; without any step there is nothing to wait for either."""
    scheduler = Scheduler(threading.Lock(), [Given(Task("work", lambda: True, every_ms=100))], FakeClock())
    assert 1 == scheduler.run_due()
    assert 1 == Scheduler(threading.Lock(), [], FakeClock()).run_due()


def test_an_urgent_step_runs_when_something_outside_says_so():
    """W4: it is due in an hour, and so is the other, which is not urgent and stays so."""
    ran, urgent = [], threading.Semaphore(0)
    tasks = (
        Task("urgent", lambda: bool(urgent.release()), every_ms=HOUR_MS, urgent=True),
        Task("other", lambda: bool(ran.append("other")), every_ms=HOUR_MS),
    )
    scheduler = Scheduler(threading.Lock(), [Given(*tasks)], FakeClock())
    scheduler.start()
    assert urgent.acquire(timeout=5)
    for _ in range(3):
        scheduler.nudge()
        assert urgent.acquire(timeout=5)
    assert quickly(scheduler.stop)
    assert ["other"] == ran


def test_what_is_said_while_an_urgent_step_runs_is_not_missed():
    """W4: the step has looked already when more work comes; it looks once more."""
    inside, go_on, looks = threading.Event(), threading.Event(), []
    again = threading.Event()

    def step():
        looks.append("look")
        inside.set()
        if len(looks) > 1:
            again.set()
        return not go_on.wait(5)

    scheduler = Scheduler(threading.Lock(), [Given(Task("urgent", step, every_ms=HOUR_MS, urgent=True))], FakeClock())
    scheduler.start()
    assert inside.wait(5)
    scheduler.nudge()
    go_on.set()
    assert again.wait(5)
    assert quickly(scheduler.stop)
    assert ["look", "look"] == looks


def test_a_thread_with_nothing_to_do_sleeps():
    """W5: also after it was woken; a thread that turns takes the interpreter from an application each time."""
    clock, ran = Looks(), threading.Semaphore(0)
    task = Task("urgent", lambda: bool(ran.release()), every_ms=HOUR_MS, urgent=True)
    scheduler = Scheduler(threading.Lock(), [Given(task)], clock)
    scheduler.start()
    assert ran.acquire(timeout=5)
    scheduler.nudge()
    assert ran.acquire(timeout=5)
    threading.Event().wait(0.1)
    assert clock.looks < 20
    assert all(lane.thread.daemon for lane in scheduler._lanes)
    assert quickly(scheduler.stop)


def test_stopping_waits_for_the_step_that_runs():
    """Whoever stops the queue manager closes files next."""
    inside, go_on, over = threading.Event(), threading.Event(), []

    def step():
        inside.set()
        go_on.wait(5)
        return bool(over.append("step"))

    scheduler = Scheduler(threading.Lock(), [Given(Task("long", step, every_ms=HOUR_MS))], FakeClock())
    scheduler.start()
    assert inside.wait(5)
    stopping = threading.Thread(target=lambda: over.append(scheduler.stop() or "stopped"), daemon=True)
    stopping.start()
    stopping.join(0.05)
    assert stopping.is_alive()
    go_on.set()
    stopping.join(5)
    assert ["step", "stopped"] == over
    assert quickly(scheduler.stop)


def test_what_becomes_due_while_it_is_stopped_does_not_run():
    clock, ran = Looks(), threading.Semaphore(0)
    scheduler = Scheduler(threading.Lock(), [Given(Task("work", lambda: bool(ran.release()), every_ms=HOUR_MS))], clock)
    scheduler.start()
    assert ran.acquire(timeout=5)
    while clock.looks < 2:  # it has looked how long it may sleep
        threading.Event().wait(0.001)
    clock.advance(milliseconds=HOUR_MS)
    assert quickly(scheduler.stop)
    assert not ran.acquire(blocking=False)


def test_stopping_what_never_began_or_has_stopped_is_nothing():
    """In tests and tools steps run when asked; whoever stops the queue manager does not know."""
    scheduler = Scheduler(threading.Lock(), [Manager()], FakeClock())
    assert quickly(scheduler.stop)
    assert [None] == [lane.thread for lane in scheduler._lanes]
    started = Scheduler(threading.Lock(), [Manager()], FakeClock())
    started.start()
    assert quickly(started.stop)
    assert [None] == [lane.thread for lane in started._lanes]
