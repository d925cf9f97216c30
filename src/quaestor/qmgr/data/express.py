"""Express: a persistent message that is put and committed in one call, from its page to its place on the queue.

Rules
  EX1 It does what `put` in a unit that is alone and the commit of that unit do (D1, D3, V11): the same log record, the
      same page, the same counters. There is no unit, because nobody could ask for it: it would begin and end here.
  EX2 Where there is anything to decide (a long message, packed pages, no page at hand, a log that is not ready, a task
      that is accounted for) nothing is done, and the message goes the long way.
  EX3 Until the log is forced the message is uncommitted and not on its queue. The latch is given up meanwhile, unless
      the application is the only one: then the message is queued while the disk writes, and nobody sees it there
      before the log is forced, because the latch is kept (V13).

Called by message, for applications in this process and the only client of a server (X5).  Calls recovery, space.
Why: behind a force the processor has to fetch every instruction anew, and this is a third fewer of them (ADR 56).
"""

from collections.abc import Callable
from typing import Any, Final

from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.messages import HEADER_LENGTH as MESSAGE_LENGTH
from quaestor.mqi.messages import Message
from quaestor.qmgr.data.inserting import PERSISTENT_SUBQUEUES, SURELY_SHORT
from quaestor.qmgr.data.manager import DataManager
from quaestor.qmgr.data.stored import pack_beginning
from quaestor.qmgr.queue_store import Arrival, Express
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.storage.changes import STARTS
from quaestor.storage.page import HEADER_LENGTH, LIVE, RECORD_LENGTH, SHORT

new_message: Final = tuple.__new__


def express(data: DataManager, recovery: RecoveryManager) -> Express:
    """The way for one queue manager."""
    log, served, at_hand, locks = recovery.log, recovery.served, data.space.at_hand, data.locks
    log_for_good, begin_logged, end = recovery.log_for_good, recovery.begin_logged, recovery.end_for_good
    longest = -1 if data.packing else SURELY_SHORT

    def put(
        queue: Any,
        body: bytes,
        envelope: MQMD,
        msg_id: bytes,
        correl_id: bytes,
        own_priority: int,
        priority: int,
        put_us: int,
        expires_us: int,
        expiry: int,
        count: Callable[[int], None],
    ) -> tuple[Message, Arrival] | None:
        page_set, length = queue.page_set, len(body)
        pages, flags = at_hand(page_set)
        if not pages or length > longest or not log.ready or served.task is not None:
            return None  # EX2
        page, sequence, packed = pages[-1], data.sequence + 1, envelope.packed()
        described = len(packed)
        header = MESSAGE_LENGTH + described
        change = pack_beginning(  # as `short_beginning` does
            queue.queue_id, PERSISTENT_SUBQUEUES + priority | STARTS, 0, HEADER_LENGTH,
            LIVE, SHORT, 0, RECORD_LENGTH + header + length, header, length, 0, sequence,
            msg_id, correl_id, own_priority, 1, put_us, expires_us, 0, described,
        ) + packed  # fmt: skip
        rba = log_for_good(page_set.number, flags, page, change, body)
        message = new_message(
            Message, (body, envelope, msg_id, correl_id, own_priority, 1, put_us, expires_us, 0, expiry, -1)
        )
        begin_logged(rba, flags, page_set, page, change, body, message)
        pages.pop()
        data.sequence = sequence
        queue.depth += 1
        queue.by_priority[priority] += 1
        if expires_us:
            queue.with_expiry += 1
        alone = recovery.alone
        if not alone:
            queue.uncommitted += 1
            end(rba, latched=False)  # EX3
            queue.uncommitted -= 1
        arrival = Arrival()
        arrival.queue = queue
        arrival.sequence = sequence
        arrival.priority = priority
        arrival.persistent = True
        arrival.msg_id = msg_id
        arrival.correl_id = correl_id
        arrival.group_id = envelope.group_id
        arrival.length = length
        arrival.put_us = put_us
        arrival.expires_us = expires_us
        arrival.backout_count = 0
        arrival.holder = None
        arrival.page = page
        arrival.slot = HEADER_LENGTH
        arrival.text_pages = None
        queue.add(arrival)
        data.stats.message_puts += 1
        stats = locks.stats
        stats.lock_gets += 1
        stats.lock_releases += 1
        count(length)
        if alone:
            end(rba, latched=True)
        return message, arrival

    return put
