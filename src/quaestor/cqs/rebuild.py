"""Rebuild: recovery and copy of structures, and their beginning, altering and end. Activity is quiesced in all of them.

Rules
  RB1 Recovery makes structures that are lost from the newest recovery data set that is good and the merged log from
      where it says: exactly the recoverable messages, those that are locked still locked.
  RB2 Copy makes structures anew on the same or another coupling facility, of the same or another size, with all their
      messages, recoverable or not; at least one server must have access.
  RB3 A structure that was made begins with a REBUILD record (ML3) and ends with a structure checkpoint that names it:
      a failure in between leaves what was before, or a structure that is not whole and is made again.
  RB4 Altering changes the size of a structure in place, never below what it holds nor above SIZE.
  RB5 Deleting scratches both recovery data sets first, for with one of them the structure would be recovered.
  RB6 When the share of servers that have no way to a structure reaches REBUILDPERCENT, one that has copies it to the
      next facility of the preference list, and they follow.

Called by members, overflow, server.  Calls pair, image, checkpoint.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from quaestor.cqs import checkpoint
from quaestor.cqs.image import Image, entries_of
from quaestor.cqs.linked_pair import PRIMARY
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.queue_names import Private
from quaestor.cqs.redo import told_by_log
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.structure import GATE, MOVED, Control, SharedStructure
from quaestor.storage.lists.operations import Alter, Holding, Unlock, Write
from quaestor.storage.lists.structure import Shape, StructureRefusal


def begin(pair: StructurePair, new: Sequence[int]) -> None:
    """Make structures that nobody has begun; their gates are held (RB1)."""
    rba = pair.log.rebuild(*new)
    image = told_by_log(pair, rba)
    for structure in pair.structures:
        if structure.number in new:
            structure.wipe()
            _fill(pair, structure, image, rba)
    if PRIMARY in new:
        pair.write_overflow(image.names(1))
    checkpoint.save(pair, image, rba)
    for structure in pair.structures:
        structure.begin(rba, pair.around.clock.now_us())


def recover(pair: StructurePair) -> int:
    """Make the structures of a pair anew from recovery data set and log, damaged or not (RB1); how many messages."""
    if not pair.data_sets.all():
        raise CQSError(Why.NO_RECOVERY_DATA_SET)
    with pair.latch:
        pair.active(pair.hold)
        try:
            begin(pair, [structure.number for structure in pair.structures])
            pair.open()
        except Exception:
            pair.drop()  # the next request makes them again
            raise
        pair.refresh()
        pair.connected()
        return pair.data_sets.newest()[0].messages


def name_again(pair: StructurePair) -> None:
    """Structures that are whole and whose quiescer has failed go on (RB3); everybody looks at them again."""
    rba = pair.log.rebuild()
    for structure in pair.structures:
        structure.begin(rba, pair.around.clock.now_us())


def _fill(pair: StructurePair, structure: SharedStructure, image: Image, rba: int) -> None:
    """Load a structure, large enough for what it must hold, with the servers that are known (RB1)."""
    space = structure.space()
    room = len(image.members) + 16
    entries, elements = image.entries(structure.number) + room, image.elements(structure.number) + room
    if entries > space.entries_total or elements > space.elements_total:
        grown = Alter(max(entries, space.entries_total), max(elements, space.elements_total))
        structure.connection.request(Holding(GATE, pair.server), grown)
    image.load(structure.number, structure.connection, Holding(GATE, pair.server))
    for server, incarnation in image.members.items():
        control = Control(server, incarnation, rba)
        write = Write(Private.CONTROL, control.key, b"", control.packed())
        structure.connection.request(Holding(GATE, pair.server), write)


def copy(pair: StructurePair, facility: str = "", kilobytes: int | None = None) -> tuple[str, ...]:
    """Copy the structures of the pair (RB2); the names of the new ones."""
    return pair.active(lambda: _copy(pair, facility, kilobytes))


def copy_if_lost(pair: StructurePair) -> tuple[str, ...]:
    """Copy the structures to another facility when enough servers have no way to this one (RB6)."""
    return pair.active(lambda: _copy_if_lost(pair))


def _copy_if_lost(pair: StructurePair) -> tuple[str, ...]:
    pair.primary.ask()
    pair.log.check()
    systems = [control for control in pair.primary.controls().values() if control.active]
    here = pair.places()[PRIMARY][1]
    others = [name for name in pair.policy.preference if name != here]
    if others and pair.policy.rebuild_due(len(pair.log.lost), len(systems)):
        return _copy(pair, others[0], None)
    return ()


def _copy(pair: StructurePair, facility: str, kilobytes: int | None) -> tuple[str, ...]:
    old = pair.structures
    with pair.quiesced():
        try:
            made = _made(pair, facility, kilobytes)
        except Exception:
            with suppress(StructureRefusal):  # somebody else holds them now
                name_again(pair)
            raise
        pair.structures = made
    for structure in old:
        structure.wipe()
        structure.leave(MOVED)
        structure.connection.disconnect()
    pair.refresh()
    pair.connected()
    return tuple(structure.connection.shape.name for structure in made)


def _made(pair: StructurePair, facility: str, kilobytes: int | None) -> list[SharedStructure]:
    """The new structures, whole and named by a structure checkpoint (RB3); a failure leaves no connection to them."""
    made: list[SharedStructure] = []
    try:
        _make(pair, facility, kilobytes, made)
    except Exception:
        for structure in made:
            structure.connection.fail()
        raise
    return made


def _make(pair: StructurePair, facility: str, kilobytes: int | None, made: list[SharedStructure]) -> None:
    checkpoint.complete(pair)
    rba = pair.log.rebuild(facility)
    told, places = told_by_log(pair, rba), []
    image = Image(kept=told.kept, members=told.members)
    for structure, (name, place) in zip(pair.structures, pair.places(), strict=True):
        following = (f"{name.partition('#')[0]}#{rba}", facility or place)
        size = kilobytes if structure.number == PRIMARY else None
        made.append(pair.linked(structure.number, *following))
        _copy_to(made[-1], pair, structure, size, rba)
        image.take(structure.number, structure.connection)
        places.append(following)
    for structure in made:
        structure.begin(rba, pair.around.clock.now_us())
    checkpoint.save(pair, image, rba, tuple(places))


def _copy_to(
    structure: SharedStructure, pair: StructurePair, old: SharedStructure, kilobytes: int | None, rba: int
) -> None:
    """Everything that the old structure has but its gate and its servers' positions."""
    structure.seize(structure.holder())
    structure.wipe()
    space, guard = old.space(), Holding(GATE, pair.server)
    shape = pair.policy.shaped("", kilobytes) if kilobytes else None
    entries = max(space.entries, shape.entries if shape else space.entries_total)
    elements = max(space.elements, shape.elements if shape else space.elements_total)
    structure.connection.request(guard, Alter(entries + 1, elements))
    for entry in entries_of(old.connection, Private.CONTROL):
        if entry.key[:1] == b"M":
            moved = replace(Control.of(entry), applied=rba, checkpoint=0)
            structure.connection.request(guard, Write(Private.CONTROL, entry.key, b"", moved.packed()))
        elif entry.key[:1] != b"I":
            structure.connection.request(guard, Write(Private.CONTROL, entry.key, entry.data, entry.adjunct))
    image = Image()
    image.take(old.number, old.connection)
    image.load(old.number, structure.connection, guard)


def alter(pair: StructurePair, kilobytes: int) -> Shape:
    """Change the size of the primary structure in place (RB4)."""
    if kilobytes > pair.policy.size:
        raise CQSError(Why.TOO_LARGE, size=pair.policy.size)
    shape = pair.policy.shaped("", kilobytes)
    try:
        pair.active(lambda: pair.primary.connection.request(Alter(shape.entries, shape.elements)))
    except StructureRefusal as refusal:
        raise CQSError(Why.TOO_SMALL, kilobytes=kilobytes) from refusal
    return shape


def delete(pair: StructurePair) -> None:
    """The queues end: both recovery data sets, then all that is on the structures (RB5)."""
    with pair.latch:
        pair.active(pair.hold)
        pair.data_sets.scratch()
        for structure in pair.structures:
            structure.wipe()
            structure.connection.request(Unlock(GATE, pair.server))
        pair.forget()
