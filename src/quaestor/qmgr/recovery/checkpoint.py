"""What a checkpoint record says: the units that are incomplete, and from where each page set must be redone.

Rules
  CB1 There may be any number of units. What is too long for one record stands in several: all but the last of them are
      CHECKPOINT_DATA, and each names the one before it (`previous`). The log is kept from where the checkpoint began,
      which is before all of them.

Called by checkpoints, restart and the log printer.  Calls nothing.
"""

import json
from collections.abc import Callable
from typing import Final, NamedTuple

from quaestor.storage.log_record import Identity, LogRecord

PART_MAX: Final = 1 << 15
"""Bytes of a checkpoint in one record at most (CB1)."""


class UnitEntry(NamedTuple):
    """An incomplete unit of recovery."""

    urid: int
    first: int
    last: int
    state: str
    xid: bytes
    identity: Identity


class CheckpointBody(NamedTuple):
    """The contents of a checkpoint."""

    units: list[UnitEntry]
    page_sets: dict[int, int]
    """{page set: RBA of its oldest change that may not be on disk}"""

    outcomes: dict[bytes, int]
    """{client: number of the last unit it committed}"""


def pack_checkpoint(body: CheckpointBody) -> bytes:
    units = [[*unit[:4], unit.xid.hex(), list(unit.identity)] for unit in body.units]
    outcomes = {client.hex(): number for client, number in body.outcomes.items()}
    told = {"units": units, "page_sets": body.page_sets, "outcomes": outcomes}
    return json.dumps(told, separators=(",", ":")).encode()


def parts_of(packed: bytes) -> list[bytes]:
    """What each record of a checkpoint has of it, the CHECKPOINT record last (CB1)."""
    return [packed[at : at + PART_MAX] for at in range(0, len(packed), PART_MAX)]


def read_checkpoint(read: Callable[[int], LogRecord], rba: int) -> CheckpointBody:
    """The checkpoint whose last record is at an RBA (CB1)."""
    parts = list[bytes]()
    while rba:
        record = read(rba)
        parts.append(record.body)
        rba = record.previous
    return unpack_checkpoint(b"".join(reversed(parts)))


def unpack_checkpoint(packed: bytes) -> CheckpointBody:
    found = json.loads(packed)
    units = [
        UnitEntry(urid, first, last, state, bytes.fromhex(xid), Identity(*identity))
        for urid, first, last, state, xid, identity in found["units"]
    ]
    page_sets = {int(number): rba for number, rba in found["page_sets"].items()}
    outcomes = {bytes.fromhex(client): number for client, number in found.get("outcomes", {}).items()}
    return CheckpointBody(units, page_sets, outcomes)
