"""Members: how a server joins the group of a pair, and how the others complete the work of one that has failed.

Rules
  MB1 Whoever finds the gate free has a structure that nobody has begun. With a recovery data set the structure is
      recovered before anybody uses it; without one the queues begin empty, and a first structure checkpoint is taken.
      So they do where a gate says that they have moved, and both data sets that could say where to are scratched (RD4).
  MB2 A server that failed is fenced first, in the log (ML2) and on the structures (LS5): nothing that it asked for and
      that comes late is done. Then what it had logged and not done is done in its name, the output it kept is adopted,
      what it had locked is ready again, what it had reserved is free, its clients are gone.
  MB3 One peer at a time recovers; which one, a lock of the structure says. A peer that fails in the midst is itself
      recovered, and so is what it had begun.
  MB4 A server that starts recovers its own earlier incarnation in the same way, and then whoever else has failed.
  MB5 Whoever has not come back to a structure within ten seconds after it was made anew has failed with the old one.
      When a structure moves to another facility, all have as much time to follow it: until then none has failed.

Called by server.  Calls pair, rebuild.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from quaestor.cqs import rebuild
from quaestor.cqs.changes import Change, Kind, Shift, packed_message, packed_values
from quaestor.cqs.image import Image, entries_of
from quaestor.cqs.messages import Message
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.queue_names import Private
from quaestor.cqs.redo import redo
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.structure import MOVED, OPEN, RECOVERY, GateClosedError, SharedStructure
from quaestor.storage.lists.operations import Delete, Holding, Lock, Unlock
from quaestor.storage.lists.structure import StructureLostError

REJOIN_US = 10_000_000
ATTEMPTS_MAX = 400


def connect(pair: StructurePair) -> None:
    """Connect to the structures of a pair, which are whole and open then (MB1)."""
    try:
        _connect(pair)
    except Exception:
        pair.drop()
        raise


def _connect(pair: StructurePair) -> None:
    for _ in range(ATTEMPTS_MAX):
        _connect_all(pair)
        gates = [structure.holder() for structure in pair.structures]
        if any(gate.startswith(MOVED) for gate in gates) and pair.data_sets.present():
            pair.around.wait()  # whoever moves it is about to say where to
        elif (all(gate.startswith(OPEN) for gate in gates) and _named(pair)) or _opened_by_us(pair):
            break
        for structure in pair.structures:
            structure.connection.disconnect()
    else:
        raise CQSError(Why.NO_RECOVERY_DATA_SET, structures=pair.places())  # it moved, and nothing says where to
    _complete_earlier_self(pair)
    pair.refresh()
    pair.connected()


def _connect_all(pair: StructurePair) -> None:
    pair.structures = []
    for number, (name, facility) in enumerate(pair.places()):
        pair.structures.append(pair.linked(number, name, facility))


def _named(pair: StructurePair) -> bool:
    """Whether the log has no later name for the structures: one that was slow logs it when it has lost the gates."""
    return pair.log.knows(max(structure.begun()[0] for structure in pair.structures))


def _opened_by_us(pair: StructurePair) -> bool:
    """Hold the gates, make whole what is not, and open them (MB1); False when the structures have moved."""
    try:
        pair.hold()
    except GateClosedError:
        return False
    new = [structure.number for structure in pair.structures if structure.identity() is None]
    if new:
        rebuild.begin(pair, new)
    else:
        rebuild.name_again(pair)
    pair.open()
    return True


def join(pair: StructurePair) -> None:
    """A new incarnation of this server (MB4)."""
    pair.log.start()
    pair.connect()
    pair.kept = _kept_by(pair, pair.server)
    pair.active(lambda: tidy(pair, pair.server))
    recover_failed(pair)


def leave(pair: StructurePair) -> None:
    """End in good order: the log and the structures know that nothing is left to complete."""
    pair.active(lambda: _leave(pair))
    for structure in pair.structures:
        structure.connection.disconnect()
    pair.log.close()
    pair.log.incarnation = 0


def _leave(pair: StructurePair) -> None:
    pair.log.append(Kind.END)
    for structure in pair.structures:
        structure.change(control=replace(structure.control, active=False))


def _complete_earlier_self(pair: StructurePair) -> None:
    """An earlier incarnation of this server that did not end (MB4)."""
    for structure in pair.structures:
        structure.gate = structure.holder()
        earlier = structure.controls().get(pair.server)
        if earlier is not None and earlier.active and earlier.incarnation != pair.log.incarnation:
            with _recovering(pair):
                pair.log.begun = max(each.begun()[0] for each in pair.structures)
                pair.log.fence(pair.server, earlier.incarnation)
                redo(pair, {pair.server}, end=pair.log.end)


def recover_failed(pair: StructurePair) -> list[str]:
    """Complete the work of servers that have failed (MB2); their names."""
    return pair.active(lambda: _recover_failed(pair))


def _recover_failed(pair: StructurePair) -> list[str]:
    for structure in pair.structures:
        structure.ask()
    pair.log.check()
    failed = {
        control.server: control.incarnation
        for structure in pair.structures
        for control in structure.controls().values()
        if control.active
        and control.server not in {pair.server, *pair.log.lost}
        and _gone(pair, structure, control.server)
    }
    if failed:
        with _recovering(pair):
            for server, incarnation in failed.items():
                _recover(pair, server, incarnation)
    return sorted(failed)


def _gone(pair: StructurePair, structure: SharedStructure, server: str) -> bool:
    """Whether a server has failed, or has not come back to a structure that was made anew (MB5)."""
    if pair.around.clock.now_us() - pair.missed_us < REJOIN_US:
        return False
    connected = structure.connection.connectors().get(server)
    if connected is not None:
        return not connected
    return pair.around.clock.now_us() - structure.begun()[1] > REJOIN_US


def _recover(pair: StructurePair, server: str, incarnation: int) -> None:
    """Complete the work of one server (MB2)."""
    pair.log.fence(server, incarnation)
    for structure in pair.structures:
        structure.connection.fence(server)
    redo(pair, {server}, end=pair.log.end)
    kept = _kept_by(pair, server)
    if kept:
        pair.log.append(Kind.ADOPTED, packed_values(server, *map(packed_message, kept.values())))
        pair.kept.update(kept)
    tidy(pair, server)
    for structure in pair.structures:
        control = structure.controls().get(server)
        if control is not None:
            structure.change(control=replace(control, active=False))
        structure.connection.forget(server)


def tidy(pair: StructurePair, server: str) -> None:
    """What a server had locked is ready again, what it had reserved is free, its clients are gone (MB2)."""
    returned = Change(
        tuple(
            Shift.returned(structure.number, beside)
            for structure in pair.structures
            for beside in structure.held(Private.LOCK, server)
        )
    )
    if returned.effects:
        pair.perform(lambda: returned, force=False)
    for structure in pair.structures:
        structure.release(structure.held(Private.MOVE, server))
        gone = [
            Delete(entry.number, Private.CONTROL)
            for entry in entries_of(structure.connection, Private.CONTROL)
            if entry.key[:1] in b"CP" and entry.adjunct.decode() == server
        ]
        if gone:
            structure.change(*gone)


def _kept_by(pair: StructurePair, server: str) -> dict[bytes, Message]:
    """Committed output that a server keeps, by its last checkpoint and the log behind it."""
    checkpoint, saved = pair.data_sets.newest()
    control = pair.primary.controls().get(server)
    image, start = Image(kept=saved.kept), checkpoint.rba
    if control is not None and control.checkpoint > start:
        image, start = Image(), control.checkpoint
    for record in pair.log.read(start):
        image.bring_forward(record)
    return image.kept.get(server, {})


@contextmanager
def _recovering(pair: StructurePair) -> Iterator[None]:
    """Alone among the peers (MB3)."""
    me = pair.server
    for structure in pair.structures:
        while (holder := structure.connection.request(Lock(RECOVERY, me))[0]) != me:
            if structure.failed(holder):
                structure.connection.request(Unlock(RECOVERY, holder))
            else:
                pair.around.wait()
        structure.guards = (Holding(RECOVERY, me),)
    try:
        yield
    except Exception:
        with suppress(StructureLostError):
            _recovered(pair)
        raise
    _recovered(pair)


def _recovered(pair: StructurePair) -> None:
    for structure in pair.structures:
        structure.connection.request(Unlock(RECOVERY, pair.server))
        structure.guards = ()
