"""Threads that commit together share a processor, where that is asked for (OC1-OC6)."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import PutOptions
from quaestor.qmgr import one_processor
from quaestor.qmgr.one_processor import OneProcessor, processor_of
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.storage.real_disk import RealDisk
from quaestor.testing import SMALL

ALL = os.sched_getaffinity(0)
pytestmark = pytest.mark.skipif(len(ALL) < 2, reason="there is one processor")


class Thread:
    """A thread that does what it is told, one thing after the other."""

    def __init__(self):
        self._pool = ThreadPoolExecutor(1)
        self.number = self.does(threading.get_native_id)

    def does(self, work, *words):
        return self._pool.submit(work, *words).result(timeout=10)

    def processors(self):
        return self.does(os.sched_getaffinity, 0)

    def end(self):
        self._pool.shutdown()


@pytest.fixture
def threads():
    made = [Thread() for _ in range(3)]
    yield made
    for each in made:
        each.end()


@pytest.fixture
def said():
    return []


@pytest.fixture
def company(said):
    made = OneProcessor(lambda *words, **facts: said.append((words, facts)), asked=True)
    yield made
    made.rest()


@pytest.mark.parametrize("processor", [min(ALL), max(ALL)])
def test_the_system_says_where_a_thread_runs(threads, processor):
    threads[0].does(os.sched_setaffinity, 0, {processor})
    assert processor == processor_of(threads[0].number)


def test_those_who_wait_are_kept_together_and_nobody_else(threads, company):
    first, second, other = threads
    first.does(company.join)
    second.does(company.join)
    together, too, apart = (each.processors() for each in threads)
    assert (1, together, ALL) == (len(together), too, apart)
    assert together < ALL
    assert other.number not in company._kept


def test_who_has_not_waited_from_one_look_to_the_next_has_its_own_processors_back(threads, company):
    busy, idle, _ = threads
    found = []
    for _ in range(3):
        busy.does(company.join)
        if not found:
            idle.does(company.join)
        company.look()
        found.append((len(busy.processors()), len(idle.processors())))
    assert [(1, 1), (1, len(ALL)), (1, len(ALL))] == found
    company.look()
    assert ALL == busy.processors()


def test_the_first_names_its_processor_again_when_nobody_is_kept(threads, company, monkeypatch):
    first, second, _ = threads
    found = []
    for processor in (min(ALL), max(ALL)):
        monkeypatch.setattr(one_processor, "processor_of", {first.number: processor}.__getitem__)
        first.does(company.join)
        second.does(company.join)
        found.append((first.processors(), second.processors()))
        company.look()
        company.look()
    assert [({min(ALL)}, {min(ALL)}), ({max(ALL)}, {max(ALL)})] == found


def test_a_thread_with_a_processor_of_its_own_stays_there(threads, company):
    first, pinned, _ = threads
    first.does(company.join)
    (there,) = first.processors()
    (elsewhere,) = own = {next(iter(ALL - {there}))}
    pinned.does(os.sched_setaffinity, 0, own)
    pinned.does(company.join)
    company.look()
    company.look()
    assert own == pinned.processors()
    assert there != elsewhere


def test_two_queue_managers_do_not_take_each_others_choice_for_the_threads_own(threads, company, said):
    """What the first has narrowed the second leaves alone: each gives back what it found."""
    second = OneProcessor(lambda *words, **_: said.append(words), asked=True)
    thread = threads[0]
    for each in (company, second):
        thread.does(each.join)
    company.rest()
    second.rest()
    assert (ALL, []) == (thread.processors(), said)


def test_a_thread_that_has_ended_is_forgotten(threads, company, said):
    gone = Thread()
    gone.does(company.join)
    gone.end()
    company.look()
    company.look()
    assert ({}, []) == (company._kept, said)


def test_nobody_is_kept_unless_told(threads):
    company = OneProcessor(print, asked=False)
    threads[0].does(company.join)
    assert (ALL, ()) == (threads[0].processors(), company.tasks())


def test_a_system_that_refuses_is_told_of_once(threads, company, said, monkeypatch):
    def refuse(_thread, _processors):
        raise PermissionError(1, "not allowed")

    monkeypatch.setattr(one_processor.os, "sched_setaffinity", refuse)
    for each in threads:
        each.does(company.join)
    (((identifier, _), facts),) = said
    assert ("CSQY902W", True) == (identifier, "not allowed" in facts["error"])


def test_a_queue_manager_keeps_its_committers_together_until_they_stop_committing(tmp_path, threads):
    manager = QueueManager("QM1", RealDisk(tmp_path), FakeClock(), replace(SMALL, one_processor=True))
    manager.start(background=False)
    with manager.connect("ALICE") as app:
        app.define(LocalQueue("ORDERS"))
    start = threading.Barrier(len(threads))

    def commit_until_kept():
        with manager.connect("ALICE") as app:
            start.wait(10)
            for _ in range(2000):
                app.put1("ORDERS", "x", MQMD(persistence=1), PutOptions.NO_SYNCPOINT)
                if len(os.sched_getaffinity(0)) == 1:
                    return True
        return False

    waiting = [each._pool.submit(commit_until_kept) for each in threads]
    kept = [each.result(timeout=60) for each in waiting]
    together = {tuple(each.processors()) for each, was in zip(threads, kept, strict=True) if was}
    assert (True, 1) == (any(kept), len(together))
    manager.one_processor.look()
    manager.one_processor.look()
    assert [ALL] * 3 == [each.processors() for each in threads]
    manager.stop()


def test_a_queue_manager_that_stops_keeps_nobody(tmp_path, threads):
    manager = QueueManager("QM1", RealDisk(tmp_path), FakeClock(), replace(SMALL, one_processor=True))
    manager.start(background=False)
    thread = threads[0]
    thread.does(manager.one_processor.join)
    before = thread.processors()
    manager.stop()
    assert (1, ALL) == (len(before), thread.processors())
