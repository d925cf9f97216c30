"""Services: what every handle's way to a queue leans on, given once when it is opened.

Called by opening, putting, getting.  Holds the catalogue, the clock, the consequences, the counters.
"""

from collections.abc import Callable
from dataclasses import dataclass

from quaestor.clock import Clock
from quaestor.mqi import reports
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.qmgr.message.consequences import Consequences
from quaestor.qmgr.message.events import Events
from quaestor.qmgr.message.needs import AnyStore, Arrival
from quaestor.qmgr.message.reading import read
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.queue_store import VanishedError
from quaestor.smf.sections.message import MessageStatistics

CLOSED = -1
"""What a way that is closed has seen of definitions: who called it before, and waited for the latch, looks again."""


@dataclass(slots=True)
class Services:
    """Parts of the message manager that handles share."""

    catalogue: Catalogue
    clock: Clock
    new_id: Callable[[], bytes]
    consequences: Consequences
    stats: MessageStatistics
    events: Events

    def expire(self, store: AnyStore, arrival: Arrival, thread: ApplicationThread) -> None:
        """Remove a message that has expired, and report it if that was asked for (X2)."""
        message = read(store, arrival)
        asked = bool(message.envelope.report & reports.EXPIRATION)
        own = None
        if arrival.persistent and not (arrival.queue.shared or (asked and self.catalogue.in_group)):
            own = thread.unit_of_its_own(alone=not asked)
        unit = own or (thread.unit_of_call() if arrival.persistent else None)
        try:
            store.take(unit, arrival)
        except VanishedError:
            return  # another queue manager has removed it
        if thread.tally is not None:
            thread.tally.expired()
        if asked:
            self.consequences.report(reports.EXPIRATION, message, unit)
            if thread.tally is not None:
                thread.tally.generated()
        if own is not None:
            thread.end_of_its_own(own)


def refuse(refusal: MQError, fail_if_quiescing: bool) -> None:
    """Raise what a path is refused with; quiescing only stops those who asked to be told."""
    if refusal.reason is not Reason.Q_MGR_QUIESCING or fail_if_quiescing:
        raise MQError(refusal.reason, **refusal.facts)
