"""Requests that are made at the same time (K8), beside forks (K5) and at the end of a process."""

import os
import signal
import subprocess
import sys
from threading import Event, Thread

import pytest

from quaestor.storage.real_disk import RealDisk

FORKS = 100


@pytest.fixture
def disk(tmp_path):
    disk = RealDisk(tmp_path)
    disk.own()
    yield disk
    disk.disown()


@pytest.fixture
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def nothing():
    """A request that is over at once."""


def fails():
    raise OSError(5, "EIO")


def in_child(do):
    """The process that does something after a fork, and its end; one that hangs is ended by a signal."""
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        do()
        os._exit(0)
    return child


def test_each_request_has_its_own_outcome(disk):
    assert [None, 5, None] == [error and error.errno for error in disk.together([nothing, fails, nothing])]
    assert [5, None] == [error and error.errno for error in disk.together([fails, nothing])]


def test_requests_are_overlapped(disk):
    """The first is over only when the second has begun, and the other way round."""
    first, second = Event(), Event()

    def meet(mine, others):
        mine.set()
        assert others.wait(5)

    assert [None, None] == disk.together([lambda: meet(first, second), lambda: meet(second, first)])


def test_what_is_no_error_of_the_system_is_raised(disk):
    with pytest.raises(ZeroDivisionError):
        disk.together([nothing, lambda: 1 // 0])
    assert [None, None] == disk.together([nothing, nothing])


def test_who_is_interrupted_leaves_no_request_under_way(disk):
    """He may close the file next, and its number be another's."""
    begun, over = Event(), []

    def slow():
        begun.set()
        Event().wait(0.05)
        over.append(True)

    def interrupted():
        assert begun.wait(5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        disk.together([interrupted, slow])
    assert [True] == over


def test_a_child_lets_go_of_what_another_thread_was_using(disk, quick_switches):
    """Whatever lock that thread had at the fork."""
    stop = Event()

    def work():
        while not stop.is_set():
            disk.together([nothing, nothing])

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        ends = [os.waitpid(in_child(disk.disown), 0)[1] for _ in range(FORKS)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert [0] * FORKS == ends


def test_a_child_owns_nothing_whoever_knows_of_the_disk(disk):
    """K5: of a queue manager that is just starting or stopping nobody tells the child to let go."""
    (there, begun), (end, ending) = os.pipe(), os.pipe()
    child = in_child(lambda: (os.write(begun, b"x"), os.read(end, 1)))
    try:
        assert os.read(there, 1)
        disk.disown()
        disk.own()
    finally:
        os.write(ending, b"x")
        for pipe in (there, begun, end, ending):
            os.close(pipe)
    assert 0 == os.waitpid(child, 0)[1]


@pytest.mark.parametrize("before", ["disk.together([int, int])", "pass"], ids=["used before", "not used before"])
def test_requests_are_made_at_the_end_of_the_process(tmp_path, before):
    """A queue manager that nobody has stopped stops there."""
    program = f"""
import atexit
from quaestor.storage.real_disk import RealDisk
disk = RealDisk({str(tmp_path)!r})
atexit.register(lambda: print(disk.together([int, int])))
{before}
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert ("[None, None]\n", "") == (ran.stdout, ran.stderr)
