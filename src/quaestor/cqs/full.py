"""Structure full: what is refused, what is said, and to whom.

Rules
  FU1 A structure is full when it has no list entry or no data elements left. Puts to it are rejected, reads are
      allowed, and deletes give space back: it is not an end, and the transaction manager goes on.
  FU2 What a rejected put means depends on where the message came from: an application has status QF at its insert;
      output that was committed is kept; a terminal is told DFS070, one of fast path DFS2194; a link to another system
      is stopped, and the partner says DFS2140. The console has CQS0205E once.

Called by unit_of_work, client, transaction_manager.  Calls pair.
"""

from enum import Enum
from typing import NamedTuple

from quaestor.cqs.messages import Message
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.refusals import CQSError, Why
from quaestor.cqs.structure import SharedStructure


class Origin(Enum):
    """Where a message came from that could not be put."""

    INSERT = "application insert"
    COMMITTED_OUTPUT = "committed output"
    TERMINAL = "terminal"
    FAST_PATH_TERMINAL = "fast path terminal"
    MSC_LINK = "MSC link"


class Reaction(NamedTuple):
    """What follows from a rejected put (FU2)."""

    code: str
    text: str
    kept: bool = False


REACTIONS = {
    Origin.INSERT: Reaction("QF", "status of the insert"),
    Origin.COMMITTED_OUTPUT: Reaction("", "kept in the queue pool until a system checkpoint finds room", kept=True),
    Origin.TERMINAL: Reaction("DFS070", "UNABLE TO ROUTE MESSAGE"),
    Origin.FAST_PATH_TERMINAL: Reaction("DFS2194", "SHARED EMHQ NOT AVAILABLE"),
    Origin.MSC_LINK: Reaction("DFS2140", "DESTINATION {name} STOPPED, REASON CODE {reason}"),
}


def note_full(pair: StructurePair, refused: CQSError) -> None:
    """Remember that a structure is full, and say so once (FU2)."""
    name = refused.facts["structure"]
    number = next(each.number for each in pair.structures if each.connection.shape.name == name)
    if number not in pair.full:
        pair.full.add(number)
        pair.around.console.append(f"CQS0205E STRUCTURE {name} IS FULL")


def check_room(pair: StructurePair, message: Message) -> None:
    """Refuse a message for which a structure that was full has no room still (FU1)."""
    number = pair.structure_of(message.queue)
    if number in pair.full:
        pair.active(lambda: _check_room(pair.structures[number], message))


def _check_room(structure: SharedStructure, message: Message) -> None:
    space = structure.space()
    entries, elements = space.entries_total - space.entries, space.elements_total - space.elements
    if len(message.records) > entries or message.elements > elements:
        raise CQSError(Why.STRUCTURE_FULL, structure=structure.connection.shape.name)
