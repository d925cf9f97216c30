"""What this product's own engine leaves on the log, beside what the paper's product does.

Rules
  EL1 A put is one record: the record's header, the change that begins the message's page, the message header, the
      packed descriptor, the body. The page's place in the space map goes with it. A get is one record: where it was.
  EL2 A unit of work adds its identity to its first record, and the record of its commit.
  EL3 So the engine logs less than the paper's product does beside the message: about 300 bytes for put and commit where
      the paper has 1,060. A plan for it takes these figures, one for z/OS the paper's charts, and so does one for an
      engine that is told to log as much as the paper's product (`log_space = "mp16"`).
  EL4 A message beyond one page logs each further page in a record of its own when it is put, and gives all of them back
      in one record when it is got.
  EL5 Each record counts towards LOGLOAD: four for a message put and got, each with its commit.

Called by the questions' load.  Calls log_space.  The engine's own tests hold it to these figures.
"""

from quaestor.planner.bounds import at_least
from quaestor.planner.log_space import Action
from quaestor.planner.source import formula

RECORD_HEADER = 44
IDENTITY = 72
CHANGE_AND_MESSAGE_HEADERS = 102
DESCRIPTOR = 42
"""A packed descriptor with the putter's context; names of other lengths make it a little longer or shorter."""

DELETION = 4
FIRST_PAGE, FURTHER_PAGE, REFERENCE, RETURNED = 3635, 4048, 4, 2
UNIT = IDENTITY + RECORD_HEADER
PUT = RECORD_HEADER + CHANGE_AND_MESSAGE_HEADERS + DESCRIPTOR
GET = RECORD_HEADER + DELETION


def put_bytes(message_bytes: int) -> int:
    """Log bytes of one put, without its unit's (EL1, EL4)."""
    return PUT + message_bytes + _further_pages(message_bytes) * (RECORD_HEADER + REFERENCE)


def get_bytes(message_bytes: int) -> int:
    """Log bytes of one destructive get, without its unit's (EL1, EL4)."""
    further = _further_pages(message_bytes)
    return GET + (RECORD_HEADER + RETURNED * further if further else 0)


def _further_pages(message_bytes: int) -> int:
    at_least(0, message_bytes=message_bytes)
    return -(-max(0, message_bytes - FIRST_PAGE) // FURTHER_PAGE)


@formula("engine", "EL5", "-")
def engine_log_writes_per_message(message_bytes: int, messages: int = 1) -> float:
    """Records that a message put and got leaves on this engine's log, in units of work of `messages`."""
    at_least(1, messages=messages)
    further = _further_pages(message_bytes)
    return 1 + further + (2 if further else 1) + 2 / messages


@formula("engine", "EL1 to EL4", "-")
def engine_log_bytes_per_unit_of_work(message_bytes: int, action: Action, messages: int = 1) -> int:
    """Bytes that a unit of work of `messages` equal calls and one commit leaves on this engine's log."""
    at_least(1, messages=messages)
    return UNIT + messages * (put_bytes(message_bytes) if action is Action.PUT else get_bytes(message_bytes))
