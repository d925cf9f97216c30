"""Reading: a message of an arrival, where nobody is about to change anything.

Rules
  RE1 A page that is not whole or cannot be read is an answer to whoever wanted its message (2193, GE7), and no failure
      of the queue manager (FA4): the message stays until media recovery brings the page back.

Called by services, grouping, administering.  Calls the store; getting, which every get goes through, does the same.
"""

from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.message.needs import AnyStore, Arrival


def read(store: AnyStore, arrival: Arrival) -> Message:
    """Descriptor and body (RE1)."""
    try:
        return store.read(arrival)
    except TornPageError as error:
        raise MQError(Reason.PAGESET_ERROR, **error.facts) from error
