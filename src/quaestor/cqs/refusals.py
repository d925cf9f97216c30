"""Refusals: what a common queue server does not do, and why; one type for all of them.

Called by everything here.  Calls nothing.
"""

from enum import Enum
from typing import Any


class Why(Enum):
    """Why a request was refused."""

    STRUCTURE_FULL = "the structure has no entry or no data elements left for this put"
    QUEUE_IN_OVERFLOW = "the queue is in overflow status and there is no overflow structure"
    SEGMENT_TOO_LONG = "a segment is longer than a queue buffer"
    UNIT_TOO_LONG = "a unit of work has more output than a log record holds"
    TOO_MANY_CLIENTS = "the server has all the clients it can have"
    CLIENT_REGISTERED = "a client of this name is registered already"
    NOT_REGISTERED = "the client is not registered"
    NOT_A_REGISTERED_TYPE = "no interest is registered in queues of this type"
    NOT_ON_THIS_STRUCTURE = "the structure has no queues of this type"
    NOT_STARTED = "the server has not been started, or has ended"
    FENCED = "the server was taken for failed and its work was completed by others: start it again"
    REBUILT = "the structure was rebuilt in the meantime: connect again"
    UNIT_ENDED = "the unit of work has ended"
    NOT_LOCKED = "the message is not locked by this unit of work"
    NO_RECOVERY_DATA_SET = "no structure recovery data set is good"
    TOO_SMALL = "the structure would be smaller than what it holds"
    TOO_LARGE = "the policy allows no structure of this size"
    NOT_AUTHORIZED = "the client may not register"
    NO_FACILITY = "no coupling facility of this name is in the policy"


NO_ROOM = frozenset({Why.STRUCTURE_FULL, Why.QUEUE_IN_OVERFLOW})
"""Refusals of a put that may succeed later."""


class CQSError(Exception):
    """A request that was refused: `CQSError(Why.STRUCTURE_FULL, structure="MSGQ")`."""

    def __init__(self, why: Why, **facts: Any) -> None:
        super().__init__(why, facts)
        self.why, self.facts = why, facts

    def __str__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in self.facts.items())
        return f"{self.why.name}: {self.why.value}" + (f" ({facts})" if facts else "")
