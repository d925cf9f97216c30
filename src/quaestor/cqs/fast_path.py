"""Fast path in the small transaction manager: input that fits one buffer, run here or on the shared queues (EMH).

Rules
  FP1 Where a message goes is `emh.route`; a balancing group here is a queue in memory, the program ready queue is on
      the structure of fast path.
  FP2 A region takes from its own balancing group first, then from the shared queue. The reply of a message that ran
      here goes to its terminal directly; that of one that came by the structure goes back by the structure.

Called by tests and the demo.  Calls emh, client.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from quaestor.cqs import emh
from quaestor.cqs.emh import Route, SysplexCode
from quaestor.cqs.full import REACTIONS, Origin
from quaestor.cqs.queue_names import QueueName, QueueType, lterm, program
from quaestor.cqs.refusals import NO_ROOM, CQSError
from quaestor.cqs.server import CommonQueueServer

FastProgram = Callable[[str], str]


class FastPath:
    """Expedited message handling of one system (FP1, FP2)."""

    def __init__(self, name: str, server: CommonQueueServer, programs: Mapping[str, FastProgram]) -> None:
        self.name, self._programs = name, dict(programs)
        self._told: set[QueueName] = set()
        self.client = server.register(name, self._told.add)
        self.groups: dict[str, deque[tuple[str, str]]] = {psb: deque() for psb in programs}
        self.stopped: set[str] = set()
        self.received: dict[str, list[str]] = {}
        for psb in programs:
            emh.start_program(self.client.pair, psb, name)
            self.client.register_interest(program(psb))

    def log_on(self, terminal: str) -> None:
        self.received[terminal] = []
        self.client.register_interest(lterm(terminal))

    def stop_program(self, psb: str) -> None:
        """No region here runs it any more; what waits in its balancing group is rejected."""
        self.client.deregister_interest(program(psb))
        emh.stop_program(self.client.pair, psb, self.name)
        for terminal, _ in self.groups.pop(psb):
            self.received[terminal].append(f"{psb} has stopped")

    def enter(self, terminal: str, psb: str, text: str, code: SysplexCode = SysplexCode.LOCAL_FIRST) -> Route:
        """Input for a program; where it went (FP1)."""
        route = emh.route(
            code,
            stopped=psb in self.stopped,
            active_here=psb in self.groups,
            queued_here=len(self.groups.get(psb, ())),
            active_anywhere=psb in emh.active_programs(self.client.pair),
        )
        if route is Route.LOCAL:
            self.groups[psb].append((terminal, text))
        elif route is Route.GLOBAL and not self._put(terminal, psb, text):
            return Route.REJECT
        return route

    def _put(self, terminal: str, psb: str, text: str) -> bool:
        try:
            self.client.put(program(psb), [terminal.encode(), text.encode()])
        except CQSError as refused:
            if refused.why not in NO_ROOM:
                raise
            reaction = REACTIONS[Origin.FAST_PATH_TERMINAL]
            self.received[terminal].append(f"{reaction.code} {reaction.text}")
            return False
        return True

    def run(self) -> int:
        """Run what waits here, then what waits on the shared queue (FP2); how many messages."""
        done = 0
        for psb, group in self.groups.items():
            while group:
                terminal, text = group.popleft()
                self.received[terminal].append(self._programs[psb](text))
                done += 1
            while self._run_shared(psb):
                done += 1
        return done

    def _run_shared(self, psb: str) -> bool:
        unit = self.client.begin()
        message = unit.read(program(psb))
        if message is None:
            return False
        terminal, text = (segment.decode() for segment in message.segments)
        unit.insert(lterm(terminal), [self._programs[psb](text).encode()])
        unit.commit()
        return True

    def deliver(self) -> int:
        """Send replies that came by the structure; how many."""
        queues: Sequence[QueueName] = [queue for queue in self._told if queue.type is QueueType.LTERM_READY]
        sent = 0
        for queue in queues:
            self._told.discard(queue)
            while (message := self.client.delete(queue)) is not None:
                self.received[queue.name] += [segment.decode() for segment in message.segments]
                sent += 1
        return sent
