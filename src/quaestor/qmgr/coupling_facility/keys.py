"""Keys: the order of a shared queue's list, and what stands beside a message on it.

Rules
  CK1 The list of a queue is in this order (ORACLE 9): committed messages, highest priority first, oldest first; puts
      in doubt by the queue manager that put them, priority, time; other uncommitted puts likewise; last, one entry
      that belongs to the queue itself.
  CK2 A key changes its class and keeps the rest: a commit moves a put to the place that its time of arrival gives it,
      and a backed-out get returns to the key it had.
  CK3 Time in a key only goes up within a queue manager; the counter tells apart what has the same time, also when the
      member was restarted and its clock has not moved: two entries of a queue never have the same key.
  CK4 A message has one identity for ever: member, epoch of the member's log, counter. The epoch rises with every
      start, so a restarted member never repeats one. Units of recovery are named in the same way.
  CK5 Adjunct data begins with what a claim looks at (flags, length) and ends with the mark: the unit or handle that
      has the entry, the list it is from, and as what. Under a committed key the mark means nothing.
  CK6 Data begins with the three identifiers a message can be asked for by; then what else stands in its header, its
      descriptor, its body. All before the body has the length it has in MP16 (CF-M14), 372 bytes and 72 more for a
      message of a group: so a message takes the elements that a plan for it counts on. A descriptor that needs more
      than that has more.

Called by the parts of the coupling facility manager.  Calls nothing.
"""

import struct
from typing import NamedTuple

from quaestor.mqi.descriptors import ID_LENGTH, MQMD, NO_ID
from quaestor.mqi.messages import HEADER, Message
from quaestor.storage.lists.operations import KEY_LENGTH, KEY_MAX

COMMITTED, IN_DOUBT, UNCOMMITTED = 1, 2, 3
"""Classes of keys, in their order (CK1)."""

LAST_KEY = KEY_MAX
PRIORITY_TOP = 9
COMMITTED_RANGE = bytes([COMMITTED]).ljust(KEY_LENGTH, b"\0"), bytes([COMMITTED]).ljust(KEY_LENGTH, b"\xff")
BEHIND_KEY = (1 << 52) - 1
"""An arrival behind every entry that has a key."""

QUEUES_MAX, MEMBERS_MAX = 512, 31
GOT_LISTS = QUEUES_MAX
"""Lists 1 to 512 are queues; behind them one list for each member's uncommitted gets."""

PERSISTENT, EXPIRES, OFFLOADED = 1, 2, 4
"""Flags of an entry (CK5); the data of one that is OFFLOADED is elsewhere."""

NOBODYS, PUT, GOT, LOCKED, DOUBTED = range(5)
"""As what a unit or handle has an entry (CK5)."""

_COMMITTED = struct.Struct(">BBQB5s")
_OPEN = struct.Struct(">BBBQ5s")
IDENTITY_LENGTH = 10
_IDENTITY = struct.Struct(">BI5s")
ADJUNCT = struct.Struct(">BIB10s10sHB")
EPOCH_MASK = 0x7FFF
UNMARKED, MARK = struct.Struct(">BIB10s"), struct.Struct(">10sHB")
"""The two parts of adjunct data: what belongs to the message, and who has it (CK5)."""

NO_MARK = bytes(MARK.size)
_DATA = struct.Struct(">24s" + HEADER.format[1:])
GROUP_AT, MSG_ID_AT, CORREL_ID_AT = 0, ID_LENGTH, 2 * ID_LENGTH
Range = tuple[bytes, bytes]


DESCRIPTOR_AT = _DATA.size
"""Of an entry's data: what stands before the descriptor, and can be searched (CK6)."""

HEAD_LENGTH, GROUPED = 372, 72
"""Of an entry's data: what stays in the structure in any case, and how much more the headers of a group have (CK6)."""


def freed_list(member: int) -> int:
    """The list on which peers tell a member which of its offloaded data nobody needs any more."""
    return GOT_LISTS + MEMBERS_MAX + 1 + member


def decided_list(member: int) -> int:
    """The list on which a member's units say that they have committed in this structure, and so in others (CU3)."""
    return GOT_LISTS + 2 * (MEMBERS_MAX + 1) + member


def got_list(member: int) -> int:
    """The list of a member's uncommitted gets."""
    return GOT_LISTS + member


def committed_key(priority: int, time_us: int, member: int, counter: bytes) -> bytes:
    return _COMMITTED.pack(COMMITTED, PRIORITY_TOP - priority, time_us, member, counter)


def open_key(kind: int, priority: int, time_us: int, member: int, counter: bytes) -> bytes:
    """The key of a put that is in doubt or in flight."""
    return _OPEN.pack(kind, member, PRIORITY_TOP - priority, time_us, counter)


def as_committed(key: bytes) -> bytes:
    """The key under which an uncommitted put is there for everybody (CK2)."""
    _, member, rank, time_us, counter = _OPEN.unpack(key)
    return _COMMITTED.pack(COMMITTED, rank, time_us, member, counter)


def back_in_doubt(key: bytes) -> bytes:
    """The key in doubt of a put that is known by its committed key."""
    _, rank, time_us, member, counter = _COMMITTED.unpack(key)
    return _OPEN.pack(IN_DOUBT, member, rank, time_us, counter)


def as_in_doubt(key: bytes) -> bytes:
    return bytes([IN_DOUBT]) + key[1:]


def puts_of(kind: int, member: int) -> Range:
    """The keys of a member's puts in doubt or in flight: what peer recovery looks for (CK1)."""
    first = bytes([kind, member])
    return first.ljust(KEY_LENGTH, b"\0"), first.ljust(KEY_LENGTH, b"\xff")


def open_puts() -> Range:
    """The keys of all uncommitted puts of a queue."""
    return bytes([IN_DOUBT]).ljust(KEY_LENGTH, b"\0"), bytes([UNCOMMITTED]).ljust(KEY_LENGTH, b"\xff")


def at_least(priority: int) -> Range:
    """The keys of committed messages of a priority or above."""
    return COMMITTED_RANGE[0], bytes([COMMITTED, PRIORITY_TOP - priority]).ljust(KEY_LENGTH, b"\xff")


class Beside(NamedTuple):
    """Adjunct data (CK5)."""

    flags: int
    length: int
    backouts: int
    identity: bytes
    holder: bytes
    origin: int
    held_as: int

    def packed(self) -> bytes:
        return ADJUNCT.pack(*self)


def beside(adjunct: bytes) -> Beside:
    return Beside(*ADJUNCT.unpack(adjunct))


class Identities:
    """Makes the identities of one member's messages and units, and the times of its keys (CK3, CK4)."""

    def __init__(self, member: int, epoch: int) -> None:
        self.member = member
        self.epoch = epoch
        self._prefix = _IDENTITY.pack(member, epoch, b"")[:-5]
        self._last = (epoch & EPOCH_MASK) << 24  # CK3: a restarted member goes on above what it used
        self._time_us = 0

    def counter(self) -> bytes:
        self._last += 1
        return self._last.to_bytes(5, "big")

    def following(self) -> int:
        """The counter of what is made next."""
        return self._last + 1

    def of(self, counter: bytes) -> bytes:
        return self._prefix + counter

    def new(self) -> bytes:
        return self._prefix + self.counter()

    def time_us(self, now_us: int) -> int:
        self._time_us = max(self._time_us, now_us)
        return self._time_us


def member_of(identity: bytes) -> int:
    return identity[0]


def epoch_of(identity: bytes) -> int:
    return int.from_bytes(identity[1:5], "big")


def packed_message(message: Message) -> bytes:
    """The data of an entry (CK6)."""
    body, envelope, msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, _, _ = message
    packed = envelope.packed()
    head = _DATA.pack(
        envelope.group_id, msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, len(packed)
    )
    return b"".join((head, packed.ljust(_room(envelope.group_id), b"\0"), body))


def _room(group_id: bytes) -> int:
    """How long the place for a descriptor is, at least (CK6)."""
    return HEAD_LENGTH - DESCRIPTOR_AT if group_id == NO_ID else HEAD_LENGTH - DESCRIPTOR_AT + GROUPED


Described = tuple[bytes, bytes, bytes, int, int, int, int, int, int]
"""Of the data of an entry, what stands before descriptor and body (CK6): group, message and correlation identifier,
priority, persistence, put and expires in microseconds, backouts, length of the descriptor."""


def described(data: bytes) -> Described:
    found: Described = _DATA.unpack_from(data)
    return found


def message_in(data: bytes, about: Described) -> Message:
    """The message that an entry's data is, which says this about itself."""
    group_id, msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, length = about
    envelope = MQMD.unpacked(data[DESCRIPTOR_AT : DESCRIPTOR_AT + length])
    body = data[DESCRIPTOR_AT + max(length, _room(group_id)) :]
    return Message(body, envelope, msg_id, correl_id, priority, persistence, put_us, expires_us, backouts)


def where(msg_id: bytes | None, correl_id: bytes | None, group_id: bytes | None) -> tuple[tuple[int, bytes], ...]:
    """Which entries have these identifiers."""
    asked = ((MSG_ID_AT, msg_id), (CORREL_ID_AT, correl_id), (GROUP_AT, group_id))
    return tuple((at, wanted) for at, wanted in asked if wanted is not None)
