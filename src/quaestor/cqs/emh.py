"""Expedited message handling: whether fast path input runs here or anywhere in the group.

Rules
  EM1 A routing code that is stopped in the front end rejects the message.
  EM2 Local only: to the balancing group of the program when it is active here; else rejected.
  EM3 Local first, the default: to the local balancing group when the program is active here and the group has five or
      fewer queued; else to the program ready queue when it is active anywhere; else rejected.
  EM4 Global only: to the program ready queue when the program is active anywhere; else rejected.
  EM5 Which programs (PSBs) are active in the group stands on the control queue of the structure: everybody can read
      it, and it goes with the server whose client had started it.

Called by transaction_manager.  Calls pair.
"""

from enum import Enum

from quaestor.cqs.image import entries_of
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.queue_names import Private
from quaestor.cqs.structure import control_key
from quaestor.storage.lists.operations import Delete, Write

LOCAL_QUEUED_MAX = 5


class SysplexCode(Enum):
    """The sysplex processing code that the routing exit sets."""

    LOCAL_ONLY = "local only"
    LOCAL_FIRST = "local first"
    GLOBAL_ONLY = "global only"


class Route(Enum):
    """Where a message goes."""

    LOCAL = "local balancing group"
    GLOBAL = "program ready queue"
    REJECT = "reject"


def route(code: SysplexCode, *, stopped: bool, active_here: bool, queued_here: int, active_anywhere: bool) -> Route:
    """Where fast path input goes (EM1-EM4)."""
    if stopped:
        return Route.REJECT
    if code is SysplexCode.LOCAL_ONLY:
        return Route.LOCAL if active_here else Route.REJECT
    if code is SysplexCode.LOCAL_FIRST and active_here and queued_here <= LOCAL_QUEUED_MAX:
        return Route.LOCAL
    return Route.GLOBAL if active_anywhere else Route.REJECT


def start_program(pair: StructurePair, program: str, client: str) -> None:
    """A region of a client runs a program from now on (EM5)."""
    entry = Write(Private.CONTROL, control_key("P", program, client), b"", pair.server.encode())
    if client not in active_programs(pair).get(program, ()):
        pair.active(lambda: pair.primary.change(entry))


def stop_program(pair: StructurePair, program: str, client: str) -> None:
    """No region of a client runs it any more."""
    pair.active(lambda: _stop(pair, control_key("P", program, client)))


def _stop(pair: StructurePair, key: bytes) -> None:
    gone = [
        Delete(entry.number, Private.CONTROL)
        for entry in entries_of(pair.primary.connection, Private.CONTROL, key, key)
    ]
    if gone:
        pair.primary.change(*gone)


def active_programs(pair: StructurePair) -> dict[str, list[str]]:
    """The global table: programs, and the clients that run them (EM5)."""
    low, high = control_key("P", "").replace(b" ", b"\0"), b"P".ljust(16, b"\xff")
    found: dict[str, list[str]] = {}
    for entry in pair.active(lambda: list(entries_of(pair.primary.connection, Private.CONTROL, low, high))):
        found.setdefault(entry.key[1:9].decode().rstrip(), []).append(entry.key[9:].decode().rstrip())
    return found
