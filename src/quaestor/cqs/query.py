"""Query: what stands on a structure pair, for operators.

Called by the command line.  Calls pair, image.
"""

from datetime import timedelta
from typing import Any

from quaestor.clock import UNIX_EPOCH
from quaestor.cqs.image import Image, entries_of
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.queue_names import Private, QueueName
from quaestor.cqs.structure import SharedStructure


def status(pair: StructurePair) -> dict[str, Any]:
    """Structures, servers, clients, queues and recovery data sets of a pair, as plain values."""
    return pair.active(lambda: _status(pair))


def _status(pair: StructurePair) -> dict[str, Any]:
    image = Image()
    for structure in pair.structures:
        structure.ask()
        image.take(structure.number, structure.connection)
    return {
        "structures": [_structure(pair, structure, image) for structure in pair.structures],
        "servers": _servers(pair),
        "clients": _clients(pair),
        "queues": _queues(pair, image),
        "locked": sum(placed.header == Private.LOCK for placed in image.placed.values()),
        "cold": sum(placed.header == Private.COLD for placed in image.placed.values()),
        "recovery_data_sets": [
            {
                "sequence": checkpoint.sequence,
                "taken": _time(checkpoint.taken_us),
                "server": checkpoint.server,
                "rba": checkpoint.rba,
                "messages": checkpoint.messages,
            }
            for checkpoint, _ in pair.data_sets.all()
        ],
        "log_end_rba": pair.log.end,
    }


def _structure(pair: StructurePair, structure: SharedStructure, image: Image) -> dict[str, Any]:
    space = structure.space()
    name, facility = pair.places()[structure.number]
    return {
        "name": name,
        "facility": facility,
        "messages": len(image.of(structure.number)),
        "entries": space.entries,
        "entries_total": space.entries_total,
        "elements": space.elements,
        "elements_total": space.elements_total,
    }


def _servers(pair: StructurePair) -> list[dict[str, Any]]:
    connectors = pair.primary.connection.connectors()
    return [
        {
            "name": control.server,
            "state": _state(control.active, connectors.get(control.server)),
            "rba": control.applied,
        }
        for control in pair.primary.controls().values()
        if control.server != pair.server
    ]


def _state(active: bool, connected: bool | None) -> str:
    if not active:
        return "ended"
    return "active" if connected else "failed"


def _clients(pair: StructurePair) -> dict[str, str]:
    """Clients of the group, and the server that each is registered with."""
    entries = entries_of(pair.primary.connection, Private.CONTROL, b"C".ljust(16, b"\0"), b"C".ljust(16, b"\xff"))
    return {entry.key[1:9].decode().rstrip(): entry.adjunct.decode() for entry in entries}


def _queues(pair: StructurePair, image: Image) -> list[dict[str, Any]]:
    found: dict[QueueName, list[int]] = {}
    for structure in pair.structures:
        for queue, placed in image.queues(structure.number).items():
            use = found.setdefault(queue, [0, 0])
            use[0] += len(placed)
            use[1] += sum(each.message.elements for each in placed)
    return [
        {
            "queue": str(queue),
            "type": queue.type.name.lower().replace("_", " "),
            "name": queue.name,
            "messages": messages,
            "elements": elements,
            "overflow": queue.key in pair.overflow,
        }
        for queue, (messages, elements) in sorted(found.items())
    ]


def _time(us: int) -> str:
    return (UNIX_EPOCH + timedelta(microseconds=us)).strftime("%Y-%m-%dT%H:%M:%SZ")
