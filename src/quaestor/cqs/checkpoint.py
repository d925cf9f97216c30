"""Checkpoints: of a server to the log, and of a structure pair to a recovery data set.

Rules
  CP1 A system checkpoint is one log record: the committed output that this server keeps because a structure was full.
      Before it is written the server tries to put that output. Activity is not quiesced.
  CP2 A structure checkpoint is an image of all recoverable messages of the pair. Activity is quiesced, and what
      servers have logged before it is done on the structures first; so the image is the log up to one RBA.
  CP3 When it is saved, log segments go that no recovery data set needs (RD3).

Called by server, rebuild.  Calls pair, redo, recovery_data_sets.
"""

from dataclasses import replace

from quaestor.cqs.changes import Change, Kind, Put, packed_messages
from quaestor.cqs.image import Image
from quaestor.cqs.messages import Message
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.recovery_data_sets import Checkpoint
from quaestor.cqs.redo import redo, told_by_log
from quaestor.cqs.refusals import NO_ROOM, CQSError


def system_checkpoint(pair: StructurePair) -> int:
    """Put what is kept, where there is room now; then log what is still kept (CP1). Gives the RBA of the record."""
    with pair.latch:
        for message in list(pair.kept.values()):
            _release(pair, message)
        return pair.active(lambda: _system_checkpoint(pair))


def _release(pair: StructurePair, message: Message) -> None:
    try:
        pair.perform(lambda: _released(pair, message))
    except CQSError as refused:
        if refused.why not in NO_ROOM:
            raise


def _released(pair: StructurePair, message: Message) -> Change:
    return Change((Put.ready(pair.structure_of(message.queue), message),), released=(message.id,))


def _system_checkpoint(pair: StructurePair) -> int:
    record = pair.log.append(Kind.CHECKPOINT, packed_messages(list(pair.kept.values())))
    pair.primary.change(control=replace(pair.primary.control, checkpoint=record.rba))
    return record.rba


def structure_checkpoint(pair: StructurePair) -> Checkpoint:
    """Save an image of the pair (CP2)."""
    return pair.active(lambda: _structure_checkpoint(pair))


def _structure_checkpoint(pair: StructurePair) -> Checkpoint:
    with pair.quiesced():
        rba = complete(pair)
        told = told_by_log(pair, rba)
        image = Image(kept=told.kept, members=told.members)
        for structure in pair.structures:
            image.take(structure.number, structure.connection)
        return save(pair, image, rba)


def complete(pair: StructurePair) -> int:
    """Do what every server has logged; the RBA before which all is done (CP2). The pair is quiesced."""
    pair.log.check()
    rba = pair.log.end
    redo(pair, set(pair.primary.controls()), end=rba)
    for structure in pair.structures:
        for control in structure.controls().values():
            mine = control.server == pair.server
            structure.change(control=replace(control, applied=rba - 1, token=max(control.token, pair.token * mine)))
    return rba


def save(pair: StructurePair, image: Image, rba: int, places: tuple[tuple[str, str], ...] = ()) -> Checkpoint:
    """Write an image to a recovery data set; it holds what was logged before `rba` (CP3)."""
    now = pair.around.clock.now_us()
    head = Checkpoint(rba, pair.generation, places or pair.places(), now, pair.server)
    saved = pair.data_sets.save(head, image.recoverable(), pair.log.held())
    pair.log.trim(pair.data_sets.needed_rba())
    return saved
