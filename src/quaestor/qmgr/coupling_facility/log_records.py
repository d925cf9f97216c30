"""Log records of shared queues: how a persistent put or get stands in the log, for RECOVER CFSTRUCT (CM4).

A put is its structure, list, committed key, adjunct data and data; what is too long for one record goes before it in
pieces. A get names the identity of the message.

Called by the shared store, which writes them, and by backup, which reads them back.  Calls keys.
"""

import struct

from quaestor.qmgr.coupling_facility.keys import ADJUNCT, HEAD_LENGTH, beside
from quaestor.qmgr.coupling_facility.shared_queue import SharedQueue
from quaestor.qmgr.coupling_facility.structures import NAME_MAX
from quaestor.storage.lists.operations import Entry

SHARED_PUT = struct.Struct(">12sH16s")
"""structure, list, committed key; then adjunct data and data"""

SHARED_GET = struct.Struct(">12s10s")
"""structure, identity of the message"""

LOGGED_MAX = 128 * 1024
"""Data in one log record; longer data is logged in pieces of this length, the last with the put itself."""


def name_of(queue: SharedQueue) -> bytes:
    """The structure of a queue as records name it."""
    return queue.structure.name.encode().ljust(NAME_MAX)


def pieces(data: bytes) -> list[bytes]:
    """Data in pieces that a log record can hold, at least one (CM4)."""
    return [data[at : at + LOGGED_MAX] for at in range(0, len(data), LOGGED_MAX)]


def pieces_before(entry: Entry) -> int:
    """How many pieces of a message are logged before the last, which this is; those of others may precede (CM4)."""
    missing = beside(entry.adjunct).length + HEAD_LENGTH - len(entry.data)
    return max(-(-missing // LOGGED_MAX), 0)


def entry_of_log(body: bytes) -> tuple[str, Entry]:
    """Structure and entry of a SHARED_PUT record (CM4)."""
    name, number, key = SHARED_PUT.unpack_from(body)
    at = SHARED_PUT.size
    adjunct = body[at : at + ADJUNCT.size]
    return name.decode().rstrip(), Entry(0, number, key, adjunct, 1, body[at + ADJUNCT.size :], 0)


def identity_of_log(body: bytes) -> tuple[str, bytes]:
    """Structure and identity of the message of a SHARED_GET record (CM4)."""
    name, identity = SHARED_GET.unpack_from(body)
    return name.decode().rstrip(), identity
