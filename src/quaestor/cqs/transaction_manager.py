"""A small transaction manager on shared queues: terminals, transactions, regions. It shows how the queues are used.

Rules
  TM1 A system registers interest in the transactions that it has and that are not stopped, and in the logical
      terminals that are logged on to it. A system without regions is a front end: it takes input and delivers output.
  TM2 Input goes to the transaction ready queue, or, when a region is free here and it fits one record, straight to the
      lock queue (CL3). Serial transactions go to their own queue, and run here one at a time.
  TM3 A free region reads a message from a queue that was told of, runs the program, and commits: the reply and
      whatever else it inserted is put, the input deleted, as one. A program that fails is backed out; one that cannot
      run now has its message suspended.
  TM4 Output is sent to its terminal and deleted when the terminal has acknowledged it.
  TM5 A rejected put is answered as `full` says (FU2), and the system goes on.

Called by the demo and tests.  Calls client.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from quaestor.cqs.client import Client
from quaestor.cqs.full import REACTIONS, Origin
from quaestor.cqs.messages import Message
from quaestor.cqs.queue_names import QueueName, QueueType, lterm, serial_transaction, suspended, transaction
from quaestor.cqs.refusals import NO_ROOM, CQSError
from quaestor.cqs.server import CommonQueueServer
from quaestor.cqs.unit_of_work import UnitOfWork

Output = tuple[QueueName, Sequence[bytes]]
Program = Callable[[Sequence[bytes]], Sequence[Output]]
"""What a program makes of the segments of its input: output by destination. The first segment of input names the
terminal it came from."""

QF = REACTIONS[Origin.INSERT].code


@dataclass(slots=True)
class Counts:
    """What a system did."""

    informed: int = 0
    queued: int = 0
    shortcuts: int = 0
    scheduled: int = 0
    false_alarms: int = 0
    delivered: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class Running:
    """A message in a region."""

    unit: UnitOfWork
    message: Message


@dataclass(slots=True)
class Terminal:
    """A terminal, and what it has been sent."""

    name: str
    received: list[str] = field(default_factory=list)


class TransactionManager:
    """One system of the group (TM1-TM5)."""

    def __init__(
        self,
        name: str,
        server: CommonQueueServer,
        programs: Mapping[str, Program],
        *,
        regions: int = 1,
        serial: Sequence[str] = (),
        tell: Callable[[str], None] = lambda _what: None,
    ) -> None:
        self.name, self._programs, self._serial = name, dict(programs), frozenset(serial)
        self._tell = tell
        self._told: deque[QueueName] = deque()
        self._work: deque[QueueName] = deque()
        self._free = regions
        self.terminals: dict[str, Terminal] = {}
        self.links_stopped: set[str] = set()
        self.counts = Counts()
        self.client: Client = server.register(name, self._informed)
        if regions:
            for code in self._programs:
                self.client.register_interest(self.queue_of(code))

    def queue_of(self, code: str) -> QueueName:
        """Where input for a transaction goes (TM2)."""
        return serial_transaction(code, self.name) if code in self._serial else transaction(code)

    # -- terminals

    def log_on(self, name: str) -> Terminal:
        """A terminal is in session here: its output is delivered here (TM1)."""
        terminal = self.terminals.setdefault(name, Terminal(name))
        self.client.register_interest(lterm(name))
        self._tell(f"{self.name} registers interest in {name}, which logged on")
        return terminal

    def log_off(self, name: str) -> None:
        self.client.deregister_interest(lterm(name))
        del self.terminals[name]

    def stop_transaction(self, code: str) -> None:
        """It is not run here any more; messages stay on their queue for others."""
        self.client.deregister_interest(self.queue_of(code))

    def start_transaction(self, code: str) -> None:
        """It is run here again, and so are messages that were suspended."""
        self.client.register_interest(self.queue_of(code))
        self.client.move(suspended(code), self.queue_of(code))

    def enter(self, terminal: str, code: str, *segments: str) -> Running | None:
        """Input from a terminal (TM2); what runs when a region took it at once."""
        data = [terminal.encode(), *(segment.encode() for segment in segments)]
        try:
            return self._taken_in(code, data)
        except CQSError as refused:
            if refused.why not in NO_ROOM:
                raise
            self.counts.rejected += 1
            reaction = REACTIONS[Origin.TERMINAL]
            self.terminals[terminal].received.append(f"{reaction.code} {reaction.text}")
            return None

    def enter_from_link(self, link: str, code: str, *segments: str) -> str | None:
        """Input from another system; what its partner says when it could not be put, and the link is stopped (TM5)."""
        try:
            self.client.put(self.queue_of(code), [link.encode(), *(segment.encode() for segment in segments)])
        except CQSError as refused:
            if refused.why not in NO_ROOM:
                raise
            reaction = REACTIONS[Origin.MSC_LINK]
            self.links_stopped.add(link)
            return f"{reaction.code} {reaction.text.format(name=code, reason=refused.why.name)}"
        return None

    def _taken_in(self, code: str, data: list[bytes]) -> Running | None:
        queue = self.queue_of(code)
        if self._free and code in self._programs:
            taken = self.client.put_locked(queue, data)
            if taken is not None:
                self._free -= 1
                self.counts.shortcuts += 1
                self._tell(f"{self.name} puts {code} on the lock queue: a region is free here")
                return Running(*taken)
        self._tell(f"{self.name} puts input for {code} on its queue")
        self.client.put(queue, data)
        self.counts.queued += 1
        return None

    # -- regions, rule TM3

    def schedule(self) -> Running | None:
        """Give a free region a message from a queue that was told of; None when there is no region or no work."""
        while self._free and (queue := self._next_work()) is not None:
            unit = self.client.begin()
            message = unit.read(queue)
            if message is None:
                self.counts.false_alarms += 1
                continue
            self._work.append(queue)  # there may be more
            self._free -= 1
            self.counts.scheduled += 1
            self._tell(f"{self.name} reads {queue}: the message is on the lock queue")
            return Running(unit, message)
        return None

    def complete(self, running: Running) -> str:
        """Run the program and commit; the status of its inserts, blank or QF."""
        status = ""
        for queue, segments in self._programs[running.message.queue.name](running.message.segments):
            try:
                running.unit.insert(queue, segments)
            except CQSError as refused:
                if refused.why not in NO_ROOM:
                    raise
                status = QF
        running.unit.commit()
        self._tell(f"{self.name} commits: output is put, {running.message.queue} is deleted")
        self._freed(running)
        return status

    def fail(self, running: Running, *, suspend: bool = False) -> None:
        """The program ends badly: its message is ready again, or suspended when it cannot run now."""
        if suspend:
            running.unit.suspend(running.message)
            running.unit.commit()
        else:
            running.unit.backout()
        self._freed(running)

    def _freed(self, running: Running) -> None:
        self._free += 1
        if running.message.queue.type is QueueType.TRANSACTION_SERIAL:
            self._work.append(running.message.queue)

    def _next_work(self) -> QueueName | None:
        self._take_note()
        for _ in range(len(self._work)):
            queue = self._work.popleft()
            if queue.type is not QueueType.LTERM_READY:
                return queue
            self._work.append(queue)
        return None

    # -- output, rule TM4

    def deliver(self) -> int:
        """Send what waits for the terminals of this system; how many messages."""
        sent = 0
        self._take_note()
        for queue in [queue for queue in self._work if queue.type is QueueType.LTERM_READY]:
            self._work.remove(queue)
            while (message := self.send(queue)) is not None:
                self.acknowledge(message)
                sent += 1
        return sent

    def send(self, queue: QueueName) -> Running | None:
        """Read output and send it to its terminal; it stays on the lock queue."""
        terminal = self.terminals.get(queue.name)
        unit = self.client.begin()
        message = unit.read(queue) if terminal is not None else None
        if terminal is None or message is None:
            return None
        terminal.received += [segment.decode() for segment in message.segments]
        self._tell(f"{self.name} reads {queue} and sends it to {terminal.name}")
        return Running(unit, message)

    def acknowledge(self, sent: Running) -> None:
        """The terminal has it: it is deleted."""
        sent.unit.commit()
        self.counts.delivered += 1
        self._tell(f"{self.name} deletes {sent.message.queue}: the terminal has acknowledged it")

    def _informed(self, queue: QueueName) -> None:
        self.counts.informed += 1
        self._tell(f"{self.name} is told: there is work on {queue}")
        self._told.append(queue)  # perhaps in another thread: it is looked at by whoever works here

    def _take_note(self) -> None:
        while self._told:
            queue = self._told.popleft()
            if queue not in self._work:
                self._work.append(queue)
