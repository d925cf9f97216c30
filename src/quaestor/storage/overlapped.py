"""Overlapped requests: a thread makes them while whoever asked makes another (K8).

Rules
  OV1 `ask` hands a request over and returns; `Asked.wait` gives what it failed with, when it is over. They are made one
      after the other. When `close` returns they are over, and so is the thread.
  OV2 The thread works to the end of the process: a queue manager that nobody has stopped is stopped there. The pools of
      the standard library take nothing any more by then.
  OV3 A child made by fork has no such thread and waits for nothing: it lets go of the object (K5).

Called by real_disk.
"""

from _thread import allocate_lock
from queue import SimpleQueue
from threading import Thread

from quaestor.storage.disk import Request, outcome


class Asked:
    """A request that was handed over (OV1)."""

    __slots__ = ("_failed", "_over", "_request", "_unforeseen")

    def __init__(self, request: Request) -> None:
        self._request, self._over = request, allocate_lock()
        self._over.acquire()
        self._failed: OSError | None = None
        self._unforeseen: BaseException | None = None

    def make(self) -> None:
        try:
            self._failed = outcome(self._request)
        except BaseException as error:  # noqa: BLE001 - raised to whoever waits
            self._unforeseen = error
        finally:
            self._over.release()

    def wait(self) -> OSError | None:
        with self._over:
            if self._unforeseen is not None:
                raise self._unforeseen
            return self._failed


class Overlapped:
    """A thread for requests (OV1-OV3)."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[Asked | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, name="overlapped-io", daemon=True)
        self._thread.start()

    def ask(self, request: Request) -> Asked:
        asked = Asked(request)
        self._asked.put(asked)
        return asked

    def close(self) -> None:
        self._asked.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (asked := self._asked.get()) is not None:
            asked.make()


def overlapped() -> Overlapped | None:
    """A thread for requests; none where the interpreter is at its end and makes no new one."""
    try:
        return Overlapped()
    except RuntimeError:
        return None
