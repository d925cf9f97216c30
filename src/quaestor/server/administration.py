"""Administration: what a server does for operators and their tools, beside its applications.

Rules
  AD1 PCF requests are answered on a thread of their own, as long as the queue manager runs; its end ends the thread.
      Nothing else does: a connection that an operator has ended is made again, a queue that cannot be read (its gets
      are inhibited, its page is not whole) is looked at again after a moment.
  AD2 STOP QMGR quiesces, with MODE(FORCE) stops at once; the answer is sent before the end begins.
  AD3 Figures and health are told over HTTP where the configuration names an address, which is let go before the data
      sets are: whoever starts the queue manager again as soon as it has stopped finds it free.

Called by process.  Calls the queue manager, the metrics endpoint.
"""

from collections.abc import Callable
from threading import Event, Thread

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.statistics.metrics import PREFIX
from quaestor.server.listeners import split_address
from quaestor.server.metrics_endpoint import MetricsEndpoint

WAIT_MS = 1000
RETRY_S = 0.5
FORCE = "FORCE"


class Administration:
    """The command server and the metrics endpoint of one queue manager (AD1, AD3)."""

    def __init__(self, manager: QueueManager, metrics: str, prefix: str = PREFIX) -> None:
        self._manager = manager
        self._endpoint: MetricsEndpoint | None = None
        if metrics:
            host, port = split_address(metrics)
            tells = lambda: manager.metrics(prefix)  # noqa: E731 - bound here
            self._endpoint = MetricsEndpoint(tells, lambda: manager.failure, host=host, port=port)
        self._commands = manager.command_server()
        self._ending = Event()
        self._thread = Thread(target=self._serve, name="quaestor-commands", daemon=True)
        self._thread.start()

    @property
    def metrics_address(self) -> str:
        if self._endpoint is None:
            return ""
        host, port = self._endpoint.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def on_stop(self, quiesce: Callable[[], None], stop: Callable[[], None]) -> None:
        """What STOP QMGR does (AD2)."""
        self._manager.command_parts.stop = lambda mode: stop() if mode == FORCE else quiesce()

    def close(self) -> None:
        """Nobody is told figures any more: the address is free before the queue manager has stopped (AD3)."""
        if self._endpoint is not None:
            self._endpoint.stop()
            self._endpoint = None

    def end(self) -> None:
        """The queue manager has stopped."""
        self._ending.set()
        self._thread.join()

    def _serve(self) -> None:
        """AD1."""
        while not self._ending.is_set():
            try:
                self._commands.serve_one(WAIT_MS)
            except MQError as error:
                if error.reason is Reason.Q_MGR_STOPPING:
                    return
                if error.reason in {Reason.CONNECTION_BROKEN, Reason.HCONN_ERROR}:
                    try:
                        self._commands = self._manager.command_server()
                    except MQError:
                        return  # the queue manager is stopping, or has failed and said why
                else:
                    self._ending.wait(RETRY_S)
