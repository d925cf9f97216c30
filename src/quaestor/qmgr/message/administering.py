"""Administering: what operators do with all messages of a queue at once, and what they may not say of objects.

Rules
  AD1 A queue is cleared, and messages are moved from and to it, only while nobody has it open and nothing on it is
      uncommitted (2042, 2055).
  AD2 The work is done in units of `BATCH` messages, so that no unit holds the log back. A message is at every moment on
      one of the two queues, never on both; after a cut, those of finished units are moved and the others are not. One
      in which a message is refused (there is no log) is backed out.
  AD3 Messages keep everything they have: identifiers, times, expiry, priority. The target's limits hold (2030, 2053).
  AD4 From a private queue to the shared queue of the same name and back, a move needs no second name: neither of the
      two can be opened here while both are defined.
  AD5 What the queue manager itself says of an object (whether a queue is dynamic, whose copy it is, its own name and
      what it is, O6) nobody else defines or alters: a queue that was called temporary would be gone with all messages
      at the next start, a queue manager of another name would not start. A page set is chosen when a queue is defined,
      if at all.
  AD6 Another object that an attribute names has a name that an object can have (A5).
  AD7 A queue that is shared stays so, and so does one that is not, whatever CFSTRUCT is altered to.

Called by the message manager for command.  Calls the catalogue, the store, recovery.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.objects import DefinitionType, LocalQueue, MQObject, QueueManagerAttributes, attributes_of
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.qmgr.message.needs import Arrival, Recovery
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.reading import read
from quaestor.qmgr.queue_store import AVAILABLE, VanishedError

BATCH = 1000
_ITS_OWN = "said by the queue manager itself"


def check_definition(definition: MQObject, qmgr: str) -> None:
    """Refuse a definition that says what only the queue manager says (AD5, AD6)."""
    if isinstance(definition, QueueManagerAttributes) and definition.name != qmgr:
        raise MQError(Reason.Q_MGR_NAME_ERROR, asked_for=definition.name, found=qmgr)
    if type(definition) is LocalQueue and definition.definition is not DefinitionType.PREDEFINED:
        raise AttributeValueError("DEFTYPE", definition.definition.name, _ITS_OWN)
    for field, attribute in attributes_of(type(definition)).items():
        value = getattr(definition, field)
        attribute.check_name(value)
        if attribute.fixed and isinstance(definition, QueueManagerAttributes) and value != attribute.default:
            raise AttributeValueError(attribute.keyword, value, _ITS_OWN)


def check_changes(kind: type[MQObject], changes: Mapping[str, object]) -> None:
    """Refuse a change of what only the queue manager says, or of what the object does not have (AD5, AD6)."""
    attributes: dict[str, Any] = attributes_of(kind)
    for field, value in changes.items():
        attribute = attributes.get(field)
        if attribute is None:
            raise AttributeValueError(field, "", f"an attribute of {kind.MQSC_TYPE}")
        if attribute.fixed:
            raise AttributeValueError(attribute.keyword, "", _ITS_OWN)
        attribute.check_name(value)


def check_structure(queue: LocalQueue, structure: object) -> None:
    """Refuse to make a shared queue of a private one, or the other way round (AD7)."""
    if bool(structure) != queue.shared:
        valid = "a structure" if queue.shared else "nothing for a queue that is not shared"
        raise AttributeValueError("CFSTRUCT", structure, valid)


def clear(catalogue: Catalogue, recovery: Recovery, name: str) -> int:
    """Remove every message of a queue; how many there were."""
    state = _unused(catalogue, name)
    removed = 0
    for batch in _batches(state):
        unit = recovery.begin()
        try:
            for arrival in batch:
                with suppress(VanishedError):
                    state.store.take(unit, arrival)
        except MQError:
            recovery.back_out(unit)
            raise
        recovery.commit(unit)
        removed += len(batch)
    return removed


def move(catalogue: Catalogue, recovery: Recovery, source: str, target: str, *, add: bool, shared: bool) -> int:
    """Move every message of a queue to another, which is empty unless `add`; how many there were.

    Where both have one name, the private and the shared queue are meant, and `shared` says which is the source (AD4).
    """
    here, there = _pair(catalogue, source, target, shared=shared)
    if there.stored.depth and not add:
        raise MQError(Reason.Q_NOT_EMPTY, queue=target, depth=there.stored.depth)
    _check_limits(here, there)
    moved = 0
    for batch in _batches(here):
        unit = recovery.begin()
        try:
            for arrival in batch:
                message, priority = read(here.store, arrival), arrival.priority
                here.store.take(unit, arrival)
                there.store.put(unit, there.stored, message, priority)
        except (MQError, VanishedError):
            recovery.back_out(unit)
            raise
        recovery.commit(unit)
        moved += len(batch)
    return moved


def _pair(catalogue: Catalogue, source: str, target: str, *, shared: bool) -> tuple[QueueState, QueueState]:
    if source != target:
        return _unused(catalogue, source), _unused(catalogue, target)
    other = catalogue.shadowed(source)
    if other is None:
        why = "source and target are the same queue: there is no private and shared one of this name"
        raise MQError(Reason.OBJECT_NAME_ERROR, name=target, why=why)
    private, twin = _unused(catalogue, source), _checked(other)
    return (twin, private) if shared else (private, twin)


def _unused(catalogue: Catalogue, name: str) -> QueueState:
    if catalogue.find(LocalQueue, name) is None:
        raise MQError(Reason.UNKNOWN_OBJECT_NAME, name=name, type=LocalQueue.MQSC_TYPE)
    return _checked(catalogue.state(name))


def _checked(state: QueueState) -> QueueState:
    """AD1."""
    if state.handles:
        raise MQError(Reason.OBJECT_IN_USE, queue=state.definition.name, handles=state.handles)
    if state.stored.uncommitted:
        raise MQError(Reason.Q_NOT_EMPTY, queue=state.definition.name, uncommitted=state.stored.uncommitted)
    return state


def _check_limits(here: QueueState, there: QueueState) -> None:
    """AD3, before anything has moved."""
    limits = there.definition
    if here.stored.depth + there.stored.depth > limits.max_depth:
        raise MQError(Reason.Q_FULL, queue=limits.name, depth=there.stored.depth, max_depth=limits.max_depth)
    longest = max((arrival.length for arrival in here.store.browse(here.stored)), default=0)
    if longest > limits.max_msg_length:
        raise MQError(Reason.MSG_TOO_BIG_FOR_Q, queue=limits.name, length=longest, max_length=limits.max_msg_length)


def _batches(state: QueueState) -> Iterator[list[Arrival]]:
    """What is there now, in batches; others may take some of it while a commit waits for the log."""
    arrivals = list(state.store.browse(state.stored))
    for at in range(0, len(arrivals), BATCH):
        batch = [a for a in arrivals[at : at + BATCH] if a.state == AVAILABLE and a.holder is None]
        if batch:
            yield batch
