"""Checking: the proof that nothing in the structures of a group belongs to nobody.

Rules
  SC1 What is in use of a structure is what is on its lists: entries are counted by both.
  SC2 An uncommitted put, a get or a lock of a browse belongs to a member that is connected, or to a unit in doubt.
      Anything else should have been ended by peers. Where nobody works (`idle`) there is none at all.
  SC3 Nothing is on a list that no queue and no member has.
  SC4 The structure has one own entry, and each queue's list has one last entry.
  SC5 A lock is held by a member that is connected; where nobody works, by none.
  SC6 The data of a message that was offloaded is what was written. Where nobody works, nobody has still to be told of
      space that he may free, and no body is in the repository that no message names.
  SC7 A problem is named, never repaired here. A structure that cannot be reached, or has failed, is a problem.

Called by `quaestor cf check` and by tests, while members work.  Calls list structures, data sets, bodies, tables.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from quaestor.clock import SystemClock
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.coupling_facility.bodies import Bodies, BodyPlace, named_in
from quaestor.qmgr.coupling_facility.data_sets import file_name
from quaestor.qmgr.coupling_facility.definitions import FORMAT_LOCK, SharedDefinitions
from quaestor.qmgr.coupling_facility.descriptors import EVERYTHING, descriptor_in
from quaestor.qmgr.coupling_facility.forwarding import ANSWERS_LIST, QUESTIONS_LIST
from quaestor.qmgr.coupling_facility.interest import INTEREST_LIST
from quaestor.qmgr.coupling_facility.keys import (
    COMMITTED,
    LAST_KEY,
    LOCKED,
    beside,
    decided_list,
    freed_list,
    got_list,
    member_of,
    open_puts,
)
from quaestor.qmgr.coupling_facility.offloading import has_left, place_of
from quaestor.qmgr.coupling_facility.positions import POSITIONS_LIST
from quaestor.qmgr.coupling_facility.settings import Group
from quaestor.qmgr.coupling_facility.structures import ADMIN, LISTS, OWN_LIST, OWN_LOCK, admin_shape, shape_of
from quaestor.storage.disk import File
from quaestor.storage.lists.operations import Count, Entry, Lock, Operation, ReadList, ReadSpace, Unlock
from quaestor.storage.lists.structure import ListStructure, StructureLostError
from quaestor.storage.message_data_set import DataGoneError, Place, read_place
from quaestor.storage.shared_tables import RepositoryAwayError, Structure

CHECKER = "(CHECKER)"
LOCK_NAMES = {OWN_LOCK: "its own lock", FORMAT_LOCK: "the lock of its formatting"}


@dataclass(frozen=True, slots=True)
class _Known:
    """What the rest of the group says."""

    living: set[int]
    names: dict[int, str]
    in_doubt: set[bytes]
    idle: bool


def check_structures(group: Group, *, idle: bool = False) -> list[str]:
    """Every problem found, in words; none when all is well. With `idle` nobody works at the moment."""
    try:
        admin = group.connect(admin_shape(), CHECKER, _nobody)
    except StructureLostError as error:
        return [f"{ADMIN}: {error} (SC7)"]
    try:
        return list(_problems(group, admin, idle=idle))
    except StructureLostError as error:
        return [f"{error} (SC7)"]
    finally:
        _leave(admin)


def _problems(group: Group, admin: ListStructure, *, idle: bool) -> Iterator[str]:
    members = group.tables.members.all()
    connected = admin.connectors()
    descriptors = _lists(admin, [each.number for each in members])
    known = _Known(
        living={each.number for each in members if connected.get(each.name)},
        names={each.number: each.name for each in members},
        in_doubt={each.unit for each in map(descriptor_in, descriptors) if each.in_doubt},
        idle=idle,
    )
    yield from (f"{ADMIN}: {name} has failed and was not recovered (SC2)" for name in _failed(connected, known))
    yield from _places(admin, ADMIN, {OWN_LIST, POSITIONS_LIST, QUESTIONS_LIST, ANSWERS_LIST, *known.names})
    lists = SharedDefinitions(group.tables).all_lists()
    for row in group.tables.structures.all():
        yield from _structure(group, row, lists.get(row.name, []), known)


def _failed(connected: dict[str, bool], known: _Known) -> list[str]:
    return [name for name, alive in connected.items() if not alive and name in known.names.values()]


def _structure(group: Group, row: Structure, queues: list[int], known: _Known) -> Iterator[str]:
    name = row.name
    connection = group.connect(shape_of(name, row.attributes), CHECKER, _nobody)
    try:
        gets = {got_list(member) for member in known.names}
        words = {freed_list(member) for member in known.names}
        decided = {decided_list(member) for member in known.names}
        yield from _places(connection, name, {OWN_LIST, INTEREST_LIST, *queues, *gets, *words, *decided})
        yield from _own_entries(connection, name, queues)
        yield from _open_work(connection, name, queues, sorted(gets), known)
        yield from _locks(connection, name, known)
        yield from _offloaded(group, connection, name, [*queues, *sorted(gets)])
        if known.idle:
            left = _lists(connection, [freed_list(member) for member in known.living])
            yield from (f"{name}: {len(left)} words about space to free (SC6)" for _ in left[:1])
            yield from _bodies_left(group, connection, name)
    finally:
        _leave(connection)


def _places(connection: ListStructure, name: str, used: set[int]) -> Iterator[str]:
    """Entries in use and entries on lists, as of one moment (SC1, SC3)."""
    numbers = range(LISTS)
    space, *counts = connection.request(ReadSpace(), *(Count(number) for number in numbers))
    if space.entries != sum(counts):
        yield f"{name}: {space.entries} entries are in use and {sum(counts)} are on lists (SC1)"
    for number, count in zip(numbers, counts, strict=True):
        if count and number not in used:
            yield f"{name}: {count} entries on list {number}, which nobody has (SC3)"


def _own_entries(connection: ListStructure, name: str, queues: list[int]) -> Iterator[str]:
    own, *last = connection.request(Count(OWN_LIST), *(Count(queue, LAST_KEY, LAST_KEY) for queue in queues))
    if own != 1:
        yield f"{name}: {own} own entries, it is not in use or was taken over twice (SC4)"
    for queue, count in zip(queues, last, strict=True):
        if count != 1:
            yield f"{name}: list {queue} has {count} last entries (SC4)"


def _open_work(
    connection: ListStructure, name: str, queues: list[int], gets: list[int], known: _Known
) -> Iterator[str]:
    """Uncommitted puts, gets and locks (SC2)."""
    puts: list[Operation] = [ReadList(queue, *open_puts(), most=EVERYTHING) for queue in queues]
    found = connection.request(*puts, *(ReadList(number, most=EVERYTHING) for number in gets))
    for entry in (entry for entries in found for entry in entries):
        about = beside(entry.adjunct)
        member = member_of(about.holder)
        if about.holder in known.in_doubt or (member in known.living and not known.idle):
            continue
        what = "put" if entry.key[0] != COMMITTED else "locked" if about.held_as == LOCKED else "got"
        yield f"{name}: entry {entry.number}, {what} by {known.names.get(member, member)}, was left there (SC2)"


def _locks(connection: ListStructure, name: str, known: _Known) -> Iterator[str]:
    for lock, what in LOCK_NAMES.items():
        (holder,) = connection.request(Lock(lock, CHECKER))
        if holder == CHECKER:
            connection.request(Unlock(lock, CHECKER))
        elif known.idle or holder not in {known.names[number] for number in known.living}:
            yield f"{name}: {holder} has {what} (SC5)"


def _offloaded(group: Group, connection: ListStructure, name: str, lists: list[int]) -> Iterator[str]:
    """Data sets have what the entries say (SC6); an entry that was got while it was looked at has no data any more."""
    directories = {each.number: each.log_directory for each in group.tables.members.all()}
    bodies = Bodies(name, 0, group.objects, SystemClock())
    for entry in filter(has_left, _lists(connection, lists)):
        place = place_of(entry)
        try:
            if isinstance(place, BodyPlace):
                bodies.read(place)
            else:
                _read(group.open_disk(directories.get(place.member, "")).open(file_name(name)), place)
        except OSError as error:
            yield f"{name}: the data of entry {entry.number} is in {error.filename}, which cannot be read (SC6)"
        except MQError as error:
            yield f"{name}: the data of entry {entry.number} cannot be read: {error} (SC6)"
        except DataGoneError as error:
            if any(entry.number == each.number for each in _lists(connection, [entry.list])):
                yield f"{name}: entry {entry.number}: {error} (SC6)"


def _read(file: File, place: Place) -> None:
    try:
        read_place(file, place)
    finally:
        file.close()


def _bodies_left(group: Group, connection: ListStructure, name: str) -> Iterator[str]:
    """Bodies that nothing names (SC6)."""
    try:
        there = set(group.objects.bodies(name))
    except RepositoryAwayError as error:
        yield f"{name}: {error} (SC7)"
        return
    left = there - named_in(connection)
    if left:
        yield f"{name}: {len(left)} bodies in the repository that no message names (SC6)"


def _lists(connection: ListStructure, numbers: list[int]) -> list[Entry]:
    """Every entry of some lists, as of one moment."""
    found = connection.request(*(ReadList(number, most=EVERYTHING) for number in numbers))
    return [entry for entries in found for entry in entries]


def _leave(connection: ListStructure) -> None:
    try:
        connection.disconnect()
    except StructureLostError:
        return  # it is gone already


def _nobody(_token: int) -> None:
    """Nothing is watched."""
