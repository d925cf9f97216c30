"""Data manager: private queues as pages; 20 subqueues each (persistence x priority).

Rules
  D1  A persistent message is changed on its page only through recovery; a non-persistent one is never logged and its
      page is formed only if it must leave the buffer pool.
  D2  A page holds messages of one subqueue only. By default one message (the V7.0.1 rule); with `packing` as many as
      fit (the V5.2 rule), the pages of a subqueue then being chained. What fits is reckoned as V5.2 did, whose records
      took 370 bytes beside the message, so that a page set holds as many messages as the papers' tables say.
  D3  A message belongs to the unit that put or got it until that unit ends: it is locked, and not there for others.
  D5  A put that fails (page set or log full) leaves nothing behind, whatever it had done.
  D7  Messages that are put together (`put_run`) are the same on their pages and in the log as if put one by one; only
      what the buffer pool had to write meanwhile may come later.
  D8  A message that would have to be read in is refused (2102) while the pool has no buffer that could be had without
      log for units that end (B13).

D4, D6 and D9 are of `occupied`.

Called by message, the scheduler.  Calls inserting (pages of messages), recovery, buffer, lock; `objects` keeps
definitions, `load` rebuilds all this.
"""

from collections.abc import Iterator, Sequence

from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.buffer import BufferManager
from quaestor.qmgr.data.occupied import OccupiedPages
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.lock import LockManager
from quaestor.qmgr.queue_store import AVAILABLE, GONE, TAKEN, WAITING, Arrival, Fits
from quaestor.qmgr.recovery import RecoveryManager, UnitOfRecovery
from quaestor.qmgr.resource_manager import Task, Unit
from quaestor.smf.sections.data import DataStatistics
from quaestor.storage.changes import MARK
from quaestor.storage.page import HEADER_LENGTH
from quaestor.storage.page_set import PageSet


class DataManager(OccupiedPages):
    """Private queues (D1-D8)."""

    name = "data"

    def __init__(
        self, recovery: RecoveryManager, buffers: BufferManager, locks: LockManager, *, packing: bool = False
    ) -> None:
        super().__init__(recovery, buffers, packing=packing)
        self.recovery, self.locks = recovery, locks
        self.packing = packing
        self.stats = DataStatistics()
        self.queues: dict[int, PrivateQueue] = {}
        self.sequence = 0

    # --- put ----------------------------------------------------------------------------------------------------------

    def put(self, unit: UnitOfRecovery | None, queue: PrivateQueue, message: Message, priority: int) -> Arrival:
        """Put a message at the end of its priority."""
        self.stats.message_puts += 1
        arrival = Arrival()
        arrival.queue = queue
        arrival.priority = priority
        body, envelope, arrival.msg_id, arrival.correl_id, _, persistence, arrival.put_us, expires_us, _, _, _ = message
        arrival.length = len(body)
        arrival.group_id = envelope.group_id
        arrival.expires_us = expires_us
        arrival.backout_count = 0
        arrival.holder = unit  # D3: of its unit from the beginning
        arrival.text_pages = None
        self.sequence = arrival.sequence = self.sequence + 1
        if persistence != 1:
            arrival.persistent = False
            self._pages.insert_volatile(queue, message, arrival)
        elif unit is None:
            raise Abend("D1", "a persistent message is put without a unit of recovery", queue=queue.name)
        else:
            arrival.persistent = True
            self._pages.insert(unit, queue, message, arrival)
        queue.depth += 1
        queue.by_priority[priority] += 1
        if expires_us:
            queue.with_expiry += 1
        if unit is None:
            queue.add(arrival)
        else:
            arrival.state = WAITING
            self.locks.stats.lock_gets += 1
            queue.uncommitted += 1
            unit.puts.append(arrival)
        return arrival

    def put_run(
        self, unit: UnitOfRecovery | None, queue: PrivateQueue, messages: Sequence[Message], priority: int
    ) -> int:
        """Put messages that differ in body and identifier only; gives how many, all unless one is refused (D7)."""
        at, together = 0, unit is not None and messages[0].persistence == 1
        while True:
            try:
                if together and unit is not None:
                    at += self._put_together(unit, queue, messages[at:] if at else messages, priority)
                if at == len(messages):
                    return at
                self.put(unit, queue, messages[at], priority)
            except MQError:
                return at
            at += 1

    def _put_together(
        self, unit: UnitOfRecovery, queue: PrivateQueue, messages: Sequence[Message], priority: int
    ) -> int:
        """Put persistent messages up to the first for which there is anything to decide (PG7); gives how many."""
        sequence = self.sequence
        pages = self._pages.insert_run(unit, queue, messages, priority, sequence)
        if not pages:
            return 0
        _, envelope, _, correl_id, _, _, put_us, expires_us, _, _, _ = messages[0]
        group_id, puts, length = envelope.group_id, unit.puts, -1
        for page, message in zip(pages, messages, strict=False):
            sequence += 1
            arrival = Arrival()
            arrival.queue = queue
            arrival.sequence = sequence
            arrival.priority = priority
            arrival.persistent = True
            arrival.msg_id = message[2]
            arrival.correl_id = correl_id
            arrival.group_id = group_id
            if len(message[0]) != length:
                length = len(message[0])  # one number for all of a length: they may be queued by the million
            arrival.length = length
            arrival.put_us = put_us
            arrival.expires_us = expires_us
            arrival.backout_count = 0
            arrival.holder = unit
            arrival.state = WAITING
            arrival.page = page
            arrival.slot = HEADER_LENGTH
            arrival.text_pages = None
            puts.append(arrival)
        count = len(pages)
        self.sequence = sequence
        self.stats.message_puts += count
        self.locks.stats.lock_gets += count
        queue.depth += count
        queue.by_priority[priority] += count
        queue.uncommitted += count
        if expires_us:
            queue.with_expiry += count
        return count

    # --- get ----------------------------------------------------------------------------------------------------------

    def locate(
        self,
        queue: PrivateQueue,
        msg_id: bytes | None = None,
        correl_id: bytes | None = None,
        group_id: bytes | None = None,
        after: Arrival | None = None,
        fits: Fits | None = None,
        holder: object | None = None,
    ) -> Arrival | None:
        """The first available arrival that fits, in order."""
        if msg_id is None and correl_id is None and group_id is None and after is None and fits is holder is None:
            return queue.first()
        wanted = {"msg_id": msg_id, "correl_id": correl_id, "group_id": group_id}
        key = wanted.get(queue.index_field)
        if key is not None and after is None:
            candidates: Iterator[Arrival] = iter(queue.with_key(key))
        else:
            candidates = queue.walk(after)
        found, skipped = None, 0
        for arrival in candidates:
            if (
                (arrival.holder is None or arrival.holder is holder)
                and (msg_id is None or arrival.msg_id == msg_id)
                and (correl_id is None or arrival.correl_id == correl_id)
                and (group_id is None or arrival.group_id == group_id)
                and (fits is None or fits(arrival))
            ):
                found = arrival
                break
            skipped += 1
        task = self.recovery.served.task
        if task is not None and skipped:
            task.skipped(skipped)
        return found

    def browse(self, queue: PrivateQueue) -> Iterator[Arrival]:
        """Every available arrival in order, as it is now."""
        return (arrival for arrival in queue.available() if arrival.holder is None)

    def read(self, arrival: Arrival) -> Message:
        """Descriptor and body."""
        page_set: PageSet = arrival.queue.page_set
        pool = self.buffers.pool_of[page_set.number]
        here = self._here(page_set, arrival)
        if here is not None and here.changed and not arrival.backout_count and arrival.text_pages is None:
            found: Message | None = here.content  # the common case: nothing to bring in and nothing to join
            if found is not None:
                pool.stats.get_page += 1
                self.stats.gets_from_buffer += 1
                return found
        if here is None and pool.is_stuck:
            raise MQError(Reason.RESOURCE_PROBLEM, queue=arrival.queue.name, buffer_pool=pool.number)  # D8
        reads = pool.stats.page_reads
        frame = pool.get(page_set, arrival.page)
        try:
            message = self._message_in(frame, arrival)
        finally:
            pool.release(frame)
        if pool.stats.page_reads == reads:
            self.stats.gets_from_buffer += 1
        else:
            self.stats.gets_from_disk += 1
            self._read_ahead(pool, arrival)
        if arrival.backout_count:
            message = message._replace(backout_count=arrival.backout_count)
        return message

    def take(self, unit: UnitOfRecovery | None, arrival: Arrival) -> None:
        """Remove an arrival: at once without a unit, else when the unit commits (D3)."""
        self.stats.message_gets += 1
        queue: PrivateQueue = arrival.queue
        if unit is not None and not self.locks.lock(arrival, unit):
            raise Abend("D3", "a message is got that another holds", queue=queue.name)
        if arrival.state != AVAILABLE:
            raise Abend("D3", "a message is got that is not there", queue=queue.name, state=arrival.state)
        if arrival.persistent:
            if unit is None:
                raise Abend("D1", "a persistent message is got without a unit of recovery", queue=queue.name)
            try:
                mark = MARK.pack(arrival.slot, arrival.backout_count)
                self.recovery.delete(unit, queue.page_set, arrival.page, mark)  # D1
            except MQError:
                self.locks.unlock(arrival, unit)
                raise
        queue.remove(arrival)
        queue.depth -= 1
        queue.by_priority[arrival.priority] -= 1
        if arrival.expires_us:
            queue.with_expiry -= 1
        if unit is None:
            arrival.state = GONE
            self.release_pages(arrival)
        else:
            arrival.state = TAKEN
            queue.uncommitted += 1
            unit.gets.append(arrival)

    # --- end of unit --------------------------------------------------------------------------------------------------

    def committed(self, unit: Unit) -> None:
        """Puts become available, gets are gone (D3, D4)."""
        puts, gets = unit.puts, unit.gets
        for arrival in puts:
            if arrival.holder is not unit:
                raise Abend("D3", "a message is committed that another holds", queue=arrival.queue.name)
            arrival.holder = None
            queue = arrival.queue
            queue.uncommitted -= 1
            queue.add(arrival)
        for arrival in gets:
            if arrival.holder is not unit:
                raise Abend("D3", "a message is committed that another holds", queue=arrival.queue.name)
            arrival.holder = None
            arrival.queue.uncommitted -= 1
            arrival.state = GONE
            self.release_pages(arrival)
        self.locks.stats.lock_releases += len(puts) + len(gets)
        for settle in unit.other:
            settle()

    def backed_out(self, unit: Unit) -> None:
        """Gets return to their place with a higher backout count, which HARDENBO makes durable; puts are gone (D4)."""
        hardens = False
        for arrival in unit.gets:
            queue = arrival.queue
            queue.uncommitted -= 1
            queue.depth += 1
            queue.by_priority[arrival.priority] += 1
            if arrival.expires_us:
                queue.with_expiry += 1
            arrival.backout_count = min(arrival.backout_count + 1, 255)
            hardens = hardens or queue.harden_backout
            self.locks.unlock(arrival, unit)
            queue.add(arrival)
        for arrival in unit.puts:
            queue = arrival.queue
            queue.uncommitted -= 1
            queue.depth -= 1
            queue.by_priority[arrival.priority] -= 1
            if arrival.expires_us:
                queue.with_expiry -= 1
            arrival.state = GONE
            self.locks.unlock(arrival, unit)
            self.release_pages(arrival, texts=False)
        if hardens:
            self.recovery.harden()

    # --- background ---------------------------------------------------------------------------------------------------

    def tasks(self) -> Sequence[Task]:
        space = self.space
        return (
            Task("scavenger", self.scavenge, every_ms=5000),
            Task("give kept pages back", space.step, every_ms=20, due=space.crowds),
            Task("grow page sets", space.grow_step, latched=False, urgent=True, due=space.grow_due, apart=True),
        )

    def count(self, queue: PrivateQueue, priority: int) -> int:
        """Messages of at least this priority, uncommitted puts included, uncommitted gets not."""
        self.stats.message_counts += 1
        return sum(queue.by_priority[priority:])
