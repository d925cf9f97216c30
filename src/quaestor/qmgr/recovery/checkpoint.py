"""What a checkpoint record says: the units that are incomplete, and from where each page set must be redone."""

import json
from typing import NamedTuple

from quaestor.storage.log_record import Identity


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


def unpack_checkpoint(packed: bytes) -> CheckpointBody:
    found = json.loads(packed)
    units = [
        UnitEntry(urid, first, last, state, bytes.fromhex(xid), Identity(*identity))
        for urid, first, last, state, xid, identity in found["units"]
    ]
    page_sets = {int(number): rba for number, rba in found["page_sets"].items()}
    outcomes = {bytes.fromhex(client): number for client, number in found.get("outcomes", {}).items()}
    return CheckpointBody(units, page_sets, outcomes)
