"""Administration: what a server does for operators and their tools, beside its applications.

Rules
  AD1 PCF requests are answered on a thread of their own, as long as the queue manager runs; its end ends the thread.
  AD2 STOP QMGR quiesces, with MODE(FORCE) stops at once; the answer is sent before the end begins.
  AD3 Figures and health are told over HTTP where the configuration names an address.

Called by process.  Calls the queue manager, the metrics endpoint.
"""

from collections.abc import Callable
from threading import Thread

from quaestor.mqi.reasons import MQError
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.server.listeners import split_address
from quaestor.server.metrics_endpoint import MetricsEndpoint

WAIT_MS = 1000
FORCE = "FORCE"


class Administration:
    """The command server and the metrics endpoint of one queue manager (AD1, AD3)."""

    def __init__(self, manager: QueueManager, metrics: str) -> None:
        self._manager = manager
        self._endpoint: MetricsEndpoint | None = None
        if metrics:
            host, port = split_address(metrics)
            self._endpoint = MetricsEndpoint(manager.metrics, lambda: manager.failure, host=host, port=port)
        self._commands = manager.command_server()
        self._ending = False
        self._thread = Thread(target=self._serve, name="quaestor-commands", daemon=True)
        self._thread.start()

    @property
    def metrics_address(self) -> str:
        return "" if self._endpoint is None else "{}:{}".format(*self._endpoint.address)

    def on_stop(self, quiesce: Callable[[], None], stop: Callable[[], None]) -> None:
        """What STOP QMGR does (AD2)."""
        self._manager.command_parts.stop = lambda mode: stop() if mode == FORCE else quiesce()

    def end(self) -> None:
        """The queue manager has stopped."""
        self._ending = True
        if self._endpoint is not None:
            self._endpoint.stop()
        self._thread.join()

    def _serve(self) -> None:
        while not self._ending:
            try:
                self._commands.serve_one(WAIT_MS)
            except MQError:
                return  # the queue manager is stopping, or has failed and said why
