"""Interest: which clients of a server want to know of work on which queues.

Rules
  IN1 A client that registers is told at once when the queue has work.
  IN2 It is told when the queue goes from empty to not empty; not of further messages, nor when the queue is empty
      again. All that are registered are told; who reads first has the message.
  IN3 Interest is registered in queues that a client can be told of: not in staging, suspend, APPC and OTMA queues.
  IN4 When something may have been missed, because a structure was rebuilt or a connection was lost, every queue with
      work is told again.
  IN5 What was on its way when the last client deregistered is for nobody.

Called by server, client.  Calls pair.
"""

from collections.abc import Callable
from itertools import count
from threading import Lock

from quaestor.cqs.pair import StructurePair
from quaestor.cqs.queue_names import FAST_PATH, REGISTERED, QueueName
from quaestor.cqs.refusals import CQSError, Why
from quaestor.storage.lists.operations import Unwatch, Watch
from quaestor.storage.lists.redis_engine import LOOK_AT_ALL

Inform = Callable[[QueueName], None]


class Interest:
    """Registered queue names of one pair, for the clients of one server."""

    def __init__(self, pair: StructurePair) -> None:
        self._pair = pair
        self._lock = Lock()
        self._tokens: dict[QueueName, int] = {}
        self._queues: dict[int, QueueName] = {}
        self._clients: dict[QueueName, dict[str, Inform]] = {}
        self._numbers = count(1)

    def register(self, queue: QueueName, client: str, inform: Inform) -> None:
        """Tell a client of work on a queue (IN1, IN3)."""
        if queue.type not in (FAST_PATH if self._pair.policy.fast_path else REGISTERED):
            raise CQSError(Why.NOT_A_REGISTERED_TYPE, queue=str(queue))
        with self._lock:
            token = self._tokens.setdefault(queue, next(self._numbers))
            self._queues[token] = queue
            self._clients.setdefault(queue, {})[client] = inform
        if self._pair.active(lambda: self._watch(queue, token)):
            inform(queue)

    def deregister(self, queue: QueueName, client: str) -> None:
        with self._lock:
            clients = self._clients.get(queue, {})
            clients.pop(client, None)
            if clients or queue not in self._tokens:
                return
            token = self._tokens.pop(queue)
            del self._queues[token], self._clients[queue]
        self._pair.active(lambda: self._unwatch(token))

    def deregister_all(self, client: str) -> None:
        for queue in self.of(client):
            self.deregister(queue, client)

    def of(self, client: str) -> list[QueueName]:
        """Queues in which a client is registered."""
        with self._lock:
            return [queue for queue, clients in self._clients.items() if client in clients]

    def told(self, _structure: int, token: int) -> None:
        """The structure says that a queue has work (IN2); it may be in any thread."""
        with self._lock:
            known = [self._queues[token]] if token in self._queues else []  # IN5
            queues = list(self._clients) if token == LOOK_AT_ALL else known
            tell = [(inform, queue) for queue in queues for inform in self._clients[queue].values()]
        for inform, queue in tell:
            inform(queue)

    def watch_again(self) -> None:
        """After a new connection (IN4)."""
        with self._lock:
            queues = dict(self._tokens)
        for queue, token in queues.items():
            if self._watch(queue, token):
                self.told(0, token)

    def _watch(self, queue: QueueName, token: int) -> bool:
        """Watch a queue on every structure of the pair; whether there is work."""
        watch = Watch(self._pair.server, token, queue.header, *queue.range)
        work = [structure.ask(watch)[0] for structure in self._pair.structures]
        return any(work)

    def _unwatch(self, token: int) -> None:
        for structure in self._pair.structures:
            structure.connection.request(Unwatch(self._pair.server, token))
