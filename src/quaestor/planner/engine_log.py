"""What this product's own engine leaves on the log, as charts that stand beside the paper's.

Rules
  EL1 A put is one record: the record's header, the change that begins the message's page, the message header, the
      packed descriptor, the body. The page's place in the space map goes with it. A get is one record: where it was.
  EL2 A unit of work adds its identity to its first record, and the record of its commit.
  EL3 So the engine logs less than the paper's product does beside the message: about 300 bytes for put and commit where
      the paper has 1,060. A plan for it takes these charts (`charts=ENGINE_CHARTS`), one for z/OS the paper's,
      and so does one for an engine that is told to log as much as the paper's product (`log_space = "mp16"`).
  EL4 A message beyond one page logs its further pages in records of their own.

Called by whoever plans a log for this engine.  Calls log_space.  The engine's own tests hold it to these figures.
"""

from quaestor.planner.bounds import at_least
from quaestor.planner.log_space import Action, Charts, QueueKind, Scope, log_bytes_per_unit_of_work
from quaestor.planner.source import Source, Table, formula

RECORD_HEADER = 44
IDENTITY = 72
CHANGE_AND_MESSAGE_HEADERS = 102
DESCRIPTOR = 42
"""A packed descriptor with the putter's context; names of other lengths make it a little longer or shorter."""

DELETION = 4
FIRST_PAGE, FURTHER_PAGE, REFERENCE = 3635, 4048, 4
UNIT = IDENTITY + RECORD_HEADER
PUT = RECORD_HEADER + CHANGE_AND_MESSAGE_HEADERS + DESCRIPTOR
GET = RECORD_HEADER + DELETION


def put_bytes(message_bytes: int) -> int:
    """Log bytes of one put, without its unit's (EL1, EL4)."""
    at_least(0, message_bytes=message_bytes)
    further = -(-max(0, message_bytes - FIRST_PAGE) // FURTHER_PAGE)
    return PUT + message_bytes + further * (RECORD_HEADER + REFERENCE)


def _rows(action: Action) -> tuple[tuple[int, ...], ...]:
    """(message bytes, out of syncpoint, commit each, a tenth of ten and their commit)."""
    found = []
    for size in (0, 1, 1024, FIRST_PAGE, 4096):
        each = put_bytes(size) if action is Action.PUT else GET
        found.append((size, each + UNIT, each + UNIT, each + round(UNIT / 10)))
    return tuple(found)


def _chart(action: Action) -> Table:
    columns = ("message_bytes", *(scope.value for scope in Scope))
    return Table(f"log bytes of an engine {action.value}", Source("engine", "EL1", "-"), columns, _rows(action))


ENGINE_CHARTS: Charts = {(QueueKind.LOCAL, action): _chart(action) for action in Action}


@formula("engine", "EL1 to EL4", "-")
def engine_log_bytes_per_unit_of_work(message_bytes: int, action: Action, messages: int = 1) -> float:
    """Bytes that a unit of work of `messages` equal calls and one commit leaves on this engine's log."""
    return log_bytes_per_unit_of_work(message_bytes, action, messages=messages, extrapolate=True, charts=ENGINE_CHARTS)
