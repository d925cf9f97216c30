"""Shared store: shared queues as the message manager uses them (the queue store protocol, on lists).

Rules
  CM1 A put is one request: WRITE. Without a unit it stands under a committed key at once; in a unit under an
      uncommitted one (ORACLE 8, ORACLE 9).
  CM2 A get of the first message, or of one with given identifiers, is one request: a claim, which moves it to the
      member's own list (M-88), deletes it at once (not persistent, out of syncpoint), or only tells it when something
      has to be thought of first: it may have expired, or is longer than the buffer.
  CM3 What is read otherwise (browse, groups, tests that only the message manager can make) is read in pieces by READ
      LIST, and taken by its number. Another member may have been quicker: `VanishedError`, and the get looks again.
  CM4 Persistent puts and gets are logged, for RECOVER CFSTRUCT: the put after its entry is written, with its data; the
      get with the identity of the message. They change no page. A put that the log has no room for, in the middle of
      a long message perhaps, is taken back.
  CM7 The mark of a claim names the unit that a moved message would be in. As long as nothing was moved the name is
      free, and the next get that asks for the same makes the same claim: the very object, which is sent as it is. A
      claim whose answer was lost may have moved something, so it is never made again.

CM5 is of `browse_locks`, CM6 of `claiming`; `log_records` has what CM4 logs.

Called by message.  Calls structures, units, claiming, browse_locks, recovery (to log).
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from quaestor.clock import Clock
from quaestor.mqi.matching import ANY, Selection
from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.coupling_facility.browse_locks import BrowseLocks
from quaestor.qmgr.coupling_facility.claiming import claim_of, claimed_by
from quaestor.qmgr.coupling_facility.descriptors import Descriptors
from quaestor.qmgr.coupling_facility.keys import (
    BEHIND_KEY,
    COMMITTED_RANGE,
    EXPIRES,
    GOT,
    LOCKED,
    MARK,
    NO_MARK,
    OFFLOADED,
    PERSISTENT,
    PUT,
    UNCOMMITTED,
    UNMARKED,
    Identities,
    as_committed,
    at_least,
    committed_key,
    got_list,
    open_key,
    packed_message,
    where,
)
from quaestor.qmgr.coupling_facility.log_records import SHARED_GET, SHARED_PUT, name_of, pieces
from quaestor.qmgr.coupling_facility.shared_queue import (
    CLAIMED,
    REMOVED,
    SharedArrival,
    SharedQueue,
    fits_asked,
    just_put,
    place_of,
)
from quaestor.qmgr.coupling_facility.structures import SharedStructure, refused
from quaestor.qmgr.coupling_facility.units import SharedUnit, returning
from quaestor.qmgr.queue_store import AVAILABLE, GONE, TAKEN, WAITING, Arrival, Fits, VanishedError, put_singly
from quaestor.qmgr.recovery import RecoveryManager, UnitOfRecovery
from quaestor.storage.lists.operations import DELETED, LEFT, MOVED, Count, Delete, Entry, Move, Read, ReadList, Write
from quaestor.storage.lists.structure import StructureRefusal
from quaestor.storage.log_record import Kind
from quaestor.storage.message_data_set import DataSetFullError

PIECE = 32


class SharedStore:
    """Shared queues of one member (CM1-CM4, CM7)."""

    def __init__(
        self, recovery: RecoveryManager, clock: Clock, identities: Identities, descriptors: Descriptors
    ) -> None:
        self._recovery, self._clock = recovery, clock
        self._identities, self._descriptors = identities, descriptors
        self._member = identities.member
        self._locks = BrowseLocks()
        self.units: dict[bytes, SharedUnit] = {}
        """The parts in structures of units that have not ended there."""

    # --- put ----------------------------------------------------------------------------------------------------------

    def put_run(
        self, unit: UnitOfRecovery | None, queue: SharedQueue, messages: Sequence[Message], priority: int
    ) -> int:
        """Put messages that differ in body and identifier only (Q8)."""
        return put_singly(self.put, unit, queue, messages, priority)

    def put(self, unit: UnitOfRecovery | None, queue: SharedQueue, message: Message, priority: int) -> SharedArrival:
        """Put a message at the end of its priority (CM1)."""
        identities, member = self._identities, self._member
        counter, time_us = identities.counter(), identities.time_us(message.put_us)
        persistent = message.persistence == 1
        flags = (PERSISTENT if persistent else 0) | (EXPIRES if message.expires_us else 0)
        if unit is None:
            if persistent:
                raise Abend("CM4", "a persistent message is put without a unit of recovery", queue=queue.name)
            key = committed_key(priority, time_us, member, counter)
            mark = NO_MARK
        else:
            key = open_key(UNCOMMITTED, priority, time_us, member, counter)
            mark = MARK.pack(self.part_of(unit).id, queue.list, PUT)
        if persistent:
            self._recovery.log.check_space()
        adjunct = UNMARKED.pack(flags, len(message.body), 0, identities.of(counter)) + mark
        data = packed_message(message)
        try:
            (number,) = queue.structure.ask(Write(queue.list, key, data, adjunct))
        except StructureRefusal as refusal:
            raise refused(refusal, queue.structure.name, queue.name, queue.definition.max_depth) from refusal
        except MQError as error:
            if unit is not None:
                self.part_of(unit).not_answered(queue.structure, error)
            raise
        except DataSetFullError as error:
            raise MQError(Reason.STORAGE_MEDIUM_FULL, queue=queue.name, why=str(error)) from error
        arrival = just_put(queue, Entry(number, queue.list, key, adjunct, 1, b"", 0), message, priority)
        if unit is not None:
            if persistent:
                try:
                    self._log_put(unit, queue, arrival.entry, data)
                except MQError:
                    self._take_back(unit, queue, number)
                    raise
            arrival.state = WAITING
            self.part_of(unit).put(arrival, queue.structure)
        return arrival

    def _log_put(self, unit: UnitOfRecovery, queue: SharedQueue, entry: Entry, data: bytes) -> None:
        head = SHARED_PUT.pack(name_of(queue), queue.list, as_committed(entry.key))
        *parts, last = pieces(data)
        for part in parts:
            self._recovery.note(unit, Kind.SHARED_DATA, name_of(queue) + part)
        self._recovery.note(unit, Kind.SHARED_PUT, b"".join((head, entry.adjunct[: -MARK.size], NO_MARK, last)))

    def _take_back(self, unit: UnitOfRecovery, queue: SharedQueue, number: int) -> None:
        """An entry that was written is not to be (CM4); one that stays is ended by whoever connects again (PR8)."""
        try:
            with suppress(StructureRefusal):  # somebody has emptied the queue meanwhile
                queue.structure.ask(Delete(number, queue.list))
        except MQError as error:
            self.part_of(unit).not_answered(queue.structure, error)

    def part_of(self, unit: UnitOfRecovery) -> SharedUnit:
        """The unit's part in structures, begun with its first work there."""
        part: SharedUnit | None = unit.shared
        if part is None:
            part = unit.shared = self.begun(self._identities.new())
        return part

    def begun(self, identity: bytes) -> SharedUnit:
        """A part in structures under a name; it is known until it has ended."""
        part = self.units[identity] = SharedUnit(identity, self._descriptors)
        return part

    def entries_in(self, structure: SharedStructure) -> set[int]:
        """The entries of a structure that units and handles of this member have now."""
        return self._locks.entries_in(structure).union(*(unit.entries_in(structure) for unit in self.units.values()))

    # --- get ----------------------------------------------------------------------------------------------------------

    def claim(
        self, queue: SharedQueue, unit: UnitOfRecovery | None, asked: Selection, max_length: int, *, in_unit: bool
    ) -> SharedArrival | None:
        """The first message that fits, taken with one request where nothing has to be thought of (CM2).

        With `in_unit` it stays on this member's list until a unit ends, else only if it is persistent. `unit` is the
        one it will be in, if that has begun; `take` says it later.
        """
        if not self._recovery.log.ready:
            return self._located(queue, asked)  # CM4: the log may be full, so the get must be able to refuse
        part = None if unit is None else unit.shared
        asks, plain = (in_unit, max_length, queue.buffer.size), part is None and asked is ANY
        again, queue.claim = queue.claim, None
        if again is not None and plain and again[0] == asks:
            claim = again[1]
        else:
            tag = self._identities.new() if part is None else part.id
            claim = claim_of(queue, got_list(self._member), tag, asked, asks)
        try:
            claimed = claimed_by(queue, claim)
        except MQError as error:
            if part is not None:
                part.not_answered(queue.structure, error)
            raise
        if plain and (claimed is None or claimed.done != MOVED):
            queue.claim = asks, claim  # CM7
        if claimed is None:
            return None
        arrival = SharedArrival(queue, claimed.entry)
        if claimed.done != LEFT:
            arrival.state = REMOVED if claimed.done == DELETED else CLAIMED
        return arrival

    def _located(self, queue: SharedQueue, asked: Selection) -> SharedArrival | None:
        return self.locate(queue, asked.msg_id, asked.correl_id, asked.group_id)

    def locate(
        self,
        queue: SharedQueue,
        msg_id: bytes | None = None,
        correl_id: bytes | None = None,
        group_id: bytes | None = None,
        after: Arrival | None = None,
        fits: Fits | None = None,
        holder: object | None = None,
    ) -> SharedArrival | None:
        """The first available arrival that fits, in order (CM3)."""
        asked = where(msg_id, correl_id, group_id)
        for arrival in self._walk(queue, after, asked, 1 if fits is None else PIECE, holder):
            if fits is None or fits(arrival):
                return arrival
        return None

    def _walk(
        self,
        queue: SharedQueue,
        after: Arrival | None,
        asked: tuple[tuple[int, bytes], ...],
        most: int,
        holder: object | None = None,
    ) -> Iterator[SharedArrival]:
        """Available arrivals behind one, in order, and in its place what the handle itself has locked (CM5)."""
        low, behind = (COMMITTED_RANGE[0], 0) if after is None else (place_of(after), BEHIND_KEY)
        held = None if holder is None else self._locks.of(holder)
        if held is not None and (held.queue is not queue or place_of(held) <= low or not fits_asked(held, asked)):
            held = None
        while True:
            (entries,) = queue.structure.ask(ReadList(queue.list, low, COMMITTED_RANGE[1], most, behind, asked))
            for entry in entries:
                if entry.adjunct[0] & OFFLOADED:
                    queue.structure.check_offloads()
                if held is not None and place_of(held) < entry.key:
                    yield held
                    held = None
                yield SharedArrival(queue, entry)
            if len(entries) < most:
                break
            low, behind = entries[-1].key, BEHIND_KEY
        if held is not None:
            yield held

    def browse(self, queue: SharedQueue) -> Iterator[SharedArrival]:
        """Every available arrival in order, as it is now."""
        return self._walk(queue, None, (), PIECE)

    def read(self, arrival: SharedArrival) -> Message:
        """Descriptor and body: the request that found it brought them."""
        return arrival.message()

    def still_there(self, arrival: SharedArrival) -> bool:
        """Whether a message under a cursor is on the queue and available; those it locked itself are."""
        if arrival in self._locks:
            return True
        if arrival.state != AVAILABLE:
            return False
        queue: SharedQueue = arrival.queue
        (entry,) = queue.structure.ask_heads(Read(arrival.entry.number))
        return entry is not None and entry.list == queue.list and entry.key == arrival.entry.key

    def take(self, unit: UnitOfRecovery | None, arrival: SharedArrival) -> None:
        """Remove it: at once without a unit, else when the unit commits. Raises VanishedError (CM3)."""
        queue: SharedQueue = arrival.queue
        if arrival.persistent and unit is None:
            raise Abend("CM4", "a persistent message is got without a unit of recovery", queue=queue.name)
        if arrival.state == REMOVED:
            arrival.state = GONE
            return
        if arrival.state == CLAIMED:
            if unit is None:
                raise Abend("CM2", "a message was claimed for a unit and is got without one", queue=queue.name)
            self._claimed_for(unit, arrival)
        else:
            if arrival.persistent:
                self._recovery.log.check_space()
            self._take_by_number(unit, queue, arrival)
        if unit is None:
            arrival.state = GONE
            return
        if arrival.persistent:
            self._recovery.note(unit, Kind.SHARED_GET, SHARED_GET.pack(name_of(queue), arrival.beside.identity))
        arrival.state = TAKEN
        self.part_of(unit).got(arrival, queue.structure)

    def _claimed_for(self, unit: UnitOfRecovery, arrival: SharedArrival) -> None:
        """The claim named the unit's part in structures before there was one."""
        if unit.shared is None:
            unit.shared = self.begun(arrival.beside.holder)
        elif unit.shared.id != arrival.beside.holder:
            raise Abend("CM2", "a message was claimed for another unit", queue=arrival.queue.name)

    def _take_by_number(self, unit: UnitOfRecovery | None, queue: SharedQueue, arrival: SharedArrival) -> None:
        number, mine = arrival.entry.number, got_list(self._member)
        at = mine if arrival.beside.held_as == LOCKED and arrival.entry.list == mine else queue.list
        try:
            if unit is None:
                queue.structure.ask(Delete(number, at))
            else:
                self._keep(arrival, at, self.part_of(unit).id, GOT)
        except StructureRefusal as refusal:
            raise VanishedError(refusal.why) from refusal
        except MQError as error:
            if unit is not None:
                self.part_of(unit).not_answered(queue.structure, error)
            raise

    def _keep(self, arrival: SharedArrival, at: int, holder: bytes, held_as: int) -> None:
        """Move an entry to this member's list, marked as whose and as what."""
        queue: SharedQueue = arrival.queue
        entry, mine = arrival.entry, got_list(self._member)
        beside = arrival.beside._replace(holder=holder, origin=queue.list, held_as=held_as)
        adjunct = beside.packed()
        queue.structure.ask(Move(entry.number, at, mine, None, adjunct))
        arrival.entry = entry._replace(list=mine, adjunct=adjunct)

    # --- browse locks -------------------------------------------------------------------------------------------------

    def hold(self, arrival: SharedArrival, holder: object) -> None:
        """Hide a message from everybody but this handle (CM5)."""
        try:
            self._keep(arrival, arrival.queue.list, self._identities.new(), LOCKED)
        except StructureRefusal as refusal:
            raise VanishedError(refusal.why) from refusal
        self._locks.begin(arrival, holder)

    def let_go(self, arrival: SharedArrival, holder: object) -> None:
        """It is there for everybody again; where the structure cannot be told, whoever connects to it again does so."""
        lost = self._locks.end(arrival, holder)
        if arrival.state == AVAILABLE and not lost:
            move = returning(arrival.entry, self._member, counted=False)
            with suppress(StructureRefusal, MQError):  # the structure was lost, or is out of reach
                arrival.queue.structure.ask(move)
            queue: SharedQueue = arrival.queue
            arrival.entry = arrival.entry._replace(list=queue.list, adjunct=move.adjunct or b"")

    def unlocked(self, arrival: SharedArrival, holder: object) -> None:
        """The handle gets what it has locked: the lock ends, the message stays where it is."""
        self._locks.end(arrival, holder)

    # --- counting -----------------------------------------------------------------------------------------------------

    def count(self, queue: SharedQueue, priority: int) -> int:
        """Committed messages of at least this priority: what triggers a shared queue (M-89)."""
        (found,) = queue.structure.ask(Count(queue.list, *at_least(priority)))
        return int(found)
