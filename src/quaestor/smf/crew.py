"""The crew: processes that share tasks with the one that gathers the results.

Rules
  C1  Numbers of tasks stand in a pipe, thousands of them; whoever is free reads the next. A process that is killed
      holds nothing the others would wait for.
  C2  The process that wants the results works too: it does a task of its own while the one it asked for is not done.
  C3  A helper is forked, so it starts at once and with everything imported. What it found there it never collects: it
      would have to copy it, page by page, to look at it. A system that cannot fork has no helpers.
  C4  A helper that ends early is an error where its results are gathered; an exception in a task likewise.
  C5  Ctrl-C is for the process that owns the crew; the others end when it does, at once and wherever they are.

Called by export.  Calls nothing of ours.
"""

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

_NUMBER_BYTES = 4


class LostProcessError(OSError):
    """A process of the crew ended before its work was done (C4)."""


class Crew(Generic[TaskT, ResultT]):
    """Tasks under way in several processes; results by number."""

    def __init__(self, tasks: Sequence[TaskT], work: Callable[[TaskT], ResultT], processes: int) -> None:
        self._tasks, self._work = tasks, work
        self._done: dict[int, ResultT] = {}
        self._dropped: set[int] = set()
        self._numbers, self._offer = os.pipe()
        os.set_blocking(self._offer, False)
        self._offered = 0
        self._offer_more()
        can_fork = "fork" in multiprocessing.get_all_start_methods()
        self._helpers = [self._helper() for _ in range(processes - 1 if can_fork else 0)]

    def result(self, number: int) -> ResultT:
        """What a task gave; meanwhile others are done here (C2)."""
        while number not in self._done:
            self._offer_more()
            self._gather(0)
            if number in self._done:
                break
            mine = self._claim()
            if mine is None:
                self._gather(None)
            elif mine not in self._dropped:
                self._done[mine] = self._work(self._tasks[mine])
        return self._done.pop(number)

    def drop(self, number: int) -> None:
        """Nobody will ask for it: it need not be done where it has not begun."""
        self._dropped.add(number)
        self._done.pop(number, None)

    def end(self, *, at_once: bool) -> None:
        """Let the helpers go; at once when something has failed."""
        self._close_offer()
        os.close(self._numbers)
        for process, results in self._helpers:
            results.close()
            if at_once:
                process.terminate()
            process.join()

    def _helper(self) -> tuple[BaseProcess, Connection]:
        context = multiprocessing.get_context("fork")
        mine, its = context.Pipe(duplex=False)
        process = context.Process(target=self._help, args=(its,), daemon=True)
        process.start()
        its.close()
        return process, mine

    def _help(self, results: Connection) -> None:
        """What a helper does (C1)."""
        gc.freeze()  # C3
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # C5
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._close_offer()
        while (number := self._claim()) is not None:
            try:
                result: ResultT | Exception = self._work(self._tasks[number])
            except Exception as error:  # noqa: BLE001 - raised again where the result is asked for
                result = error
            results.send((number, result))

    def _offer_more(self) -> None:
        """Numbers into the pipe, as many as it takes; behind the last it ends."""
        try:
            while self._offered < len(self._tasks):
                os.write(self._offer, self._offered.to_bytes(_NUMBER_BYTES, "big"))
                self._offered += 1
        except BlockingIOError:
            return
        self._close_offer()

    def _close_offer(self) -> None:
        if self._offer >= 0:
            os.close(self._offer)
            self._offer = -1

    def _claim(self) -> int | None:
        """The next task that nobody has begun; None when there is none."""
        raw = os.read(self._numbers, _NUMBER_BYTES)
        return int.from_bytes(raw, "big") if raw else None

    def _gather(self, timeout: float | None) -> None:
        """Take what the helpers have sent; wait for something to come when there is no timeout."""
        ready = wait([results for _, results in self._helpers], timeout)
        for process, results in [helper for helper in self._helpers if helper[1] in ready]:
            try:
                number, result = results.recv()
            except EOFError:
                self._ended(process, results)
                continue
            if isinstance(result, Exception):
                raise result
            if number not in self._dropped:
                self._done[number] = result

    def _ended(self, process: BaseProcess, results: Connection) -> None:
        """A helper has left: because there was nothing more to do, or too early (C4)."""
        process.join()
        results.close()
        self._helpers.remove((process, results))
        if process.exitcode:
            raise LostProcessError(f"a process ended before its work was done (exit code {process.exitcode})")


@contextmanager
def crew(tasks: Sequence[TaskT], work: Callable[[TaskT], ResultT], processes: int) -> Iterator[Crew[TaskT, ResultT]]:
    """Tasks shared by so many processes, this one among them."""
    made = Crew(tasks, work, processes)
    try:
        yield made
    except BaseException:
        made.end(at_once=True)
        raise
    made.end(at_once=False)
