"""Data set recovery: a shared message data set that has failed, written again from the logs.

Rules
  DR1 The entries of the structure say what is in a data set and where. Data that is there as it was written stays as it
      is; other data of persistent messages is written again, at the same place, and forced.
  DR2 The data comes from the backup and from every put on the logs since, whatever became of its unit: the structure
      knows which messages there are.
  DR3 A message that is not persistent and cannot be read any more is gone; its entry goes too.
  DR4 A persistent message whose data is nowhere ends the recovery before anything is said to be recovered. While the
      owner is up, that may be a put that its log has only in memory: the owner itself has it, or anybody later.

Called by media.  Calls backup, structures, message data sets.
"""

from collections.abc import Iterable, Mapping
from zlib import crc32

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.coupling_facility.backup import EVERYTHING, LogReader
from quaestor.qmgr.coupling_facility.data_sets import file_name
from quaestor.qmgr.coupling_facility.keys import HEAD_LENGTH, MEMBERS_MAX, PERSISTENT, beside, got_list
from quaestor.qmgr.coupling_facility.offloading import in_data_set_of
from quaestor.qmgr.coupling_facility.resolving import ask_once
from quaestor.qmgr.coupling_facility.structures import NAME_MAX, SharedStructure
from quaestor.storage.disk import Disk, File
from quaestor.storage.lists.operations import Delete, Entry, ReadList
from quaestor.storage.log_record import Kind, LogRecord
from quaestor.storage.message_data_set import PAGE, DataGoneError, Place, read_place
from quaestor.storage.shared_tables import Member


class EveryPut(LogReader):
    """Reads a member's log for the data of every message that was put to a structure (DR2)."""

    def _record(self, record: LogRecord) -> None:
        if record.kind == Kind.SHARED_DATA:
            self._unit(record).parts.append(record.body[NAME_MAX:])
        elif record.kind == Kind.SHARED_PUT:
            structure, entry = self._put(record)
            if structure == self._recovered.structure:
                self._recovered.there[beside(entry.adjunct).identity] = entry
        elif record.kind in (Kind.COMMIT, Kind.END_BACKOUT):
            self._units.pop(record.urid, None)


def write_again(
    structure: SharedStructure, lists: Iterable[int], owner: Member, disk: Disk, data: Mapping[bytes, bytes]
) -> int:
    """Bring a member's data set back (DR1, DR3); how many messages were written."""
    every = (*lists, *(got_list(member) for member in range(1, MEMBERS_MAX + 1)))
    pieces = structure.ask_heads(*(ReadList(number, most=EVERYTHING) for number in every))
    entries = [each for piece in pieces for each in piece if in_data_set_of(each, owner.number)]
    file = _opened(disk, file_name(structure.name), [_place(each) for each in entries])
    try:
        missing = [each for each in entries if not _is_there(file, _place(each))]
        for entry in missing:
            if beside(entry.adjunct).flags & PERSISTENT:
                _write(file, entry, data, structure.name)
            else:
                ask_once(structure, [Delete(entry.number, entry.list)])
        file.sync()
    finally:
        file.close()
    return len(missing)


def _place(entry: Entry) -> Place:
    return Place.unpack(entry.data[HEAD_LENGTH:])


def _opened(disk: Disk, name: str, places: list[Place]) -> File:
    size = max((at + count for place in places for at, count in place.extents), default=1) * PAGE
    file = disk.open(name) if disk.exists(name) else disk.create(name, size)
    if file.size() < size:
        file.extend(size)
    return file


def _is_there(file: File, place: Place) -> bool:
    try:
        read_place(file, place)
    except (DataGoneError, OSError):
        return False
    return True


def _write(file: File, entry: Entry, data: Mapping[bytes, bytes], structure: str) -> None:
    place, identity = _place(entry), beside(entry.adjunct).identity
    body = data.get(identity, b"")[HEAD_LENGTH:]
    if (len(body), crc32(body)) != (place.length, place.check):
        why = "the data of a message is neither in the backup nor on a log"
        raise MQError(Reason.CF_STRUC_FAILED, structure=structure, message=identity.hex(), why=why)  # DR4
    view = memoryview(body)
    for at, count in place.extents:
        file.write(at * PAGE, view[: count * PAGE])
        view = view[count * PAGE :]
