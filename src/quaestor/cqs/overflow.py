"""Overflow processing: what is done before a structure fills, so that one queue does not stop all the others.

Rules
  OV1 It begins when the data elements in use of the primary structure reach the threshold, 70 % unless the policy says
      otherwise.
  OV2 A structure that is smaller than SIZE is enlarged first, so that its use falls by 20 points; to SIZE where that is
      not enough, or where no more than 20 per cent are in use.
  OV3 Else the queue names that use the most data elements are candidates, while activity is quiesced, until they make
      up 20 % of the data elements of the structure, 512 of them at most. An exit may spare a name.
  OV4 With an overflow structure the messages of the candidates move there, and their names are in overflow status;
      when the threshold is reached again, more names follow. When the overflow structure is full, puts to those names
      are rejected, and no others.
  OV5 Without one they stay, puts to them are rejected, and the threshold is not tested again.
  OV6 A name leaves overflow status when its queue is empty; the pair leaves overflow mode with its last name.
  OV7 A change that brings it about has happened: when this fails, it is the next change that tries again.

Called by unit_of_work, client.  Calls pair, rebuild.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from quaestor.cqs.changes import Change, Put, Remove
from quaestor.cqs.image import Image, Placed, entries_of
from quaestor.cqs.linked_pair import PRIMARY
from quaestor.cqs.messages import Beside
from quaestor.cqs.pair import StructurePair
from quaestor.cqs.policy import Policy
from quaestor.cqs.queue_names import Private, QueueName
from quaestor.cqs.refusals import CQSError
from quaestor.storage.lists.operations import Alter, Count, Space
from quaestor.storage.lists.structure import StructureLostError

RELIEF_POINTS, CANDIDATE_PERCENT, CANDIDATES_MAX = 20, 20, 512
MOVED_AT_ONCE = 100
OverflowExit = Callable[[QueueName, int], bool]
"""Whether a name that uses so many elements may go to overflow status."""


def after_change(pair: StructurePair, space: Space | None, queues: Iterable[QueueName]) -> None:
    """What a change may have brought about: a structure too full (OV1), or a name that is empty again (OV6)."""
    with suppress(CQSError, StructureLostError, OSError):  # OV7
        if space is not None and _reached(pair.policy, space):
            process(pair)
        if any(queue.key in pair.overflow for queue in queues):
            relieve(pair)


def _reached(policy: Policy, space: Space) -> bool:
    return 100 * space.elements >= policy.overflow_threshold_percent * space.elements_total


def enlarged(total: int, used: int, most: int) -> int:
    """The size at which the use of a structure is 20 points lower, at most `most` (OV2)."""
    percent = 100 * used / total - RELIEF_POINTS
    return min(most, round(100 * used / percent)) if percent > 0 else most


def process(pair: StructurePair) -> frozenset[QueueName]:
    """Enlarge, or put names in overflow status (OV2-OV5); the names."""
    if pair.overflow and len(pair.structures) == 1:
        return frozenset()  # OV5
    return pair.active(lambda: _process(pair))


def _process(pair: StructurePair) -> frozenset[QueueName]:
    if _enlarge(pair) and not _reached(pair.policy, pair.primary.space()):
        return frozenset()
    with pair.quiesced():
        if not _reached(pair.policy, pair.primary.space()):
            return frozenset()
        names = _candidates(pair)
        pair.write_overflow(pair.overflow | {queue.key for queue in names})
        if len(pair.structures) > 1:
            for messages in names.values():
                _transfer(pair, messages)
    return frozenset(names)


def _enlarge(pair: StructurePair) -> bool:
    """Enlarge the primary structure when it may grow (OV2)."""
    space, largest = pair.primary.space(), pair.policy.shaped("", pair.policy.size)
    if space.elements_total >= largest.elements:
        return False
    elements = enlarged(space.elements_total, space.elements, largest.elements)
    entries = min(largest.entries, space.entries_total * elements // space.elements_total)
    pair.primary.change(Alter(entries, elements))
    return True


def _candidates(pair: StructurePair) -> dict[QueueName, list[Placed]]:
    """The queue names that use most, with their messages (OV3)."""
    image = Image()
    image.take(PRIMARY, pair.primary.connection)
    queues = {queue: found for queue, found in image.queues(PRIMARY).items() if queue.key not in pair.overflow}
    use = {queue: sum(placed.message.elements for placed in found) for queue, found in queues.items()}
    wanted = pair.primary.space().elements_total * CANDIDATE_PERCENT / 100
    chosen: dict[QueueName, list[Placed]] = {}
    for queue in sorted(queues, key=lambda each: (-use[each], each)):
        if wanted <= 0 or len(chosen) == CANDIDATES_MAX:
            break
        if pair.overflow_exit(queue, use[queue]) and _fits(pair, queues[queue], chosen):
            chosen[queue] = queues[queue]
            wanted -= use[queue]
    return chosen


def _fits(pair: StructurePair, messages: list[Placed], others: dict[QueueName, list[Placed]]) -> bool:
    """Whether the overflow structure has room for a queue behind others."""
    if len(pair.structures) == 1:
        return True
    space = pair.structures[1].space()
    all_of_it = [placed.message for found in (messages, *others.values()) for placed in found]
    entries = sum(len(message.records) for message in all_of_it)
    elements = sum(message.elements for message in all_of_it)
    return entries <= space.entries_total - space.entries and elements <= space.elements_total - space.elements


def _transfer(pair: StructurePair, messages: list[Placed]) -> None:
    """Move the messages of a queue to the overflow structure, in their order (OV4)."""
    for at in range(0, len(messages), MOVED_AT_ONCE):
        some = messages[at : at + MOVED_AT_ONCE]
        puts = tuple(Put(1, placed.message, placed.header, placed.key) for placed in some)
        gone = tuple(Remove(PRIMARY, placed.header, placed.message.beside) for placed in some)
        pair.perform(partial(Change, (*puts, *gone)))


def relieve(pair: StructurePair) -> frozenset[bytes]:
    """Take names whose queues are empty out of overflow status (OV6); those that are left."""
    return pair.active(lambda: _relieve(pair))


def _relieve(pair: StructurePair) -> frozenset[bytes]:
    if not any(_empty(pair, key) for key in pair.overflow):
        return pair.overflow
    with pair.quiesced():
        pair.write_overflow(key for key in pair.overflow if not _empty(pair, key))
    return pair.overflow


def _empty(pair: StructurePair, key: bytes) -> bool:
    """Whether nothing of a queue is left where its overflow status puts it, neither ready nor locked nor reserved."""
    structure = pair.structures[-1]
    queue = QueueName.of_key(key)
    if structure.connection.request(Count(queue.header, *queue.range))[0]:
        return False
    return not any(
        Beside.of(entry.adjunct).queue_key == key
        for header in (Private.LOCK, Private.MOVE)
        for entry in entries_of(structure.connection, header)
    )
