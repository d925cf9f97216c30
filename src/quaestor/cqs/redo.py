"""Redo: what the log says and a structure does not show yet.

Called by members, checkpoint, rebuild.  Calls pair, recovery_data_sets.
"""

from collections.abc import Iterable

from quaestor.cqs.changes import Change, Kind
from quaestor.cqs.image import Image
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.refusals import CQSError, Why


def redo(pair: StructurePair, servers: Iterable[str], *, end: int) -> None:
    """Do on the structures what servers have logged before `end` and not done (SS2)."""
    controls = {
        (structure.number, control.server): control
        for structure in pair.structures
        for control in structure.controls().values()
        if control.server in servers
    }
    if not controls:
        return
    for record in pair.log.read(min(control.applied for control in controls.values()) + 1):
        if record.kind != Kind.CHANGE or record.rba >= end:
            continue
        change = Change.of(record.body)
        for structure in pair.structures:
            control = controls.get((structure.number, record.member))
            effects = change.on(structure.number)
            if control is not None and effects and control.applied < record.rba:
                controls[structure.number, record.member] = structure.apply(effects, record.rba, control)


def told_by_log(pair: StructurePair, rba: int) -> Image:
    """The pair as the newest recovery data set and the log behind it have it, up to an RBA."""
    saved = pair.data_sets.all()
    if not saved and pair.data_sets.present() and pair.log.has_changes():
        raise CQSError(Why.NO_RECOVERY_DATA_SET, scratch=pair.data_sets.names)  # RD4
    if not saved:
        return Image(members={pair.server: pair.log.incarnation})
    checkpoint, image = saved[0]
    for record in pair.log.read(checkpoint.rba):
        if record.rba < rba:
            image.bring_forward(record)
    return image
