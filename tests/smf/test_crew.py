"""The crew's rules: tasks shared by processes, results where they are asked for (C1-C5)."""

import os
import signal
from pathlib import Path
from threading import Event

import pytest

from quaestor.smf.crew import LostProcessError, crew


def squared(number):
    return number * number, os.getpid()


def test_every_task_is_done_once_and_answered_under_its_number():
    with crew(range(50), squared, 3) as working:
        assert [working.result(number)[0] for number in range(50)] == [number * number for number in range(50)]


def test_results_may_be_asked_for_in_any_order():
    with crew(range(20), squared, 2) as working:
        assert [working.result(number)[0] for number in reversed(range(20))] == [n * n for n in reversed(range(20))]


def test_one_process_does_all_itself():
    with crew(range(5), squared, 1) as working:
        assert {working.result(number)[1] for number in range(5)} == {os.getpid()}


def slow(number):
    Event().wait(0.02)
    return number, os.getpid()


def test_who_wants_the_results_works_too():
    """C2: two processes means this one and one more."""
    with crew(range(20), slow, 2) as working:
        workers = {working.result(number)[1] for number in range(20)}
    assert os.getpid() in workers
    assert len(workers) == 2


def test_there_may_be_more_tasks_than_the_pipe_holds_numbers():
    """C1: a pipe of 64 KiB holds 16,384 numbers."""
    with crew(range(40_000), abs, 2) as working:
        assert sum(working.result(number) for number in range(40_000)) == 40_000 * 39_999 // 2


def all_results(tasks, work):
    with crew(tasks, work, 2) as working:
        return [working.result(number) for number in range(len(tasks))]


def elsewhere(owner):
    """Fails, but only in a helper."""
    if os.getpid() != owner:
        raise ValueError("not here")
    Event().wait(0.05)


def test_an_exception_in_a_helper_is_raised_where_its_result_is_asked_for():
    with pytest.raises(ValueError, match="not here"):
        all_results([os.getpid()] * 10, elsewhere)


def dies(owner):
    if os.getpid() != owner:
        os.kill(os.getpid(), signal.SIGKILL)
    Event().wait(0.05)


def test_a_helper_that_is_killed_is_an_error_and_not_a_wait():
    """C4."""
    with pytest.raises(LostProcessError, match="exit code -9"):
        all_results([os.getpid()] * 10, dies)


def leaves_a_mark(path):
    Event().wait(0.02)
    path.touch()
    return path.name


def test_what_is_dropped_is_not_done_where_it_has_not_begun(tmp_path):
    marks = [tmp_path / str(number) for number in range(20)]
    with crew(marks, leaves_a_mark, 1) as working:
        for number in range(1, 19):
            working.drop(number)
        assert working.result(19) == "19"
        assert working.result(0) == "0"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["0", "19"]


def test_helpers_are_gone_when_the_crew_has_ended():
    before = _children()
    with pytest.raises(KeyboardInterrupt):
        interrupted(before)
    assert _children() == before


def interrupted(before):
    with crew(range(100), slow, 3) as working:
        working.result(0)
        assert len(_children()) == len(before) + 2
        raise KeyboardInterrupt


def _children():
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split()
