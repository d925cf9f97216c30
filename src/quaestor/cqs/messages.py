"""Messages: logical records of segments, and what stands beside each entry on the structure.

Rules
  QM1 A message is segments. They are gathered into logical records of a queue buffer's size; a segment is never
      divided.
  QM2 Record 1 has the message prefix: how many records there are, and the name under which the others are staged.
  QM3 Beside every entry stands whose message it is (identifier), of which queue, which record of how many, whether it
      is recoverable, and on a private queue the client and the server that hold it there.

Called by client, pair, image.  Calls queue_names.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from quaestor.cqs.queue_names import ID_LENGTH, QueueName, header_of, private_key, staging_key
from quaestor.cqs.refusals import CQSError, Why

QBUFFER_BYTES = 4096
ELEMENT_BYTES = 512
_PREFIX = struct.Struct(">H16s")  # records, staging name
_LENGTH = struct.Struct(">I")
_BESIDE = struct.Struct(f">{ID_LENGTH}s16sHHB8s8s")
_RECOVERABLE = 1


class Holder(NamedTuple):
    """Who holds a message on a private queue."""

    client: str = ""
    server: str = ""


NOBODY = Holder()


@dataclass(frozen=True, slots=True)
class Beside:
    """The adjunct data of an entry (QM3)."""

    id: bytes
    queue_key: bytes
    record: int = 1
    records: int = 1
    recoverable: bool = True
    holder: Holder = NOBODY

    def packed(self) -> bytes:
        flags = _RECOVERABLE if self.recoverable else 0
        holder = (self.holder.client.encode(), self.holder.server.encode())
        return _BESIDE.pack(self.id, self.queue_key, self.record, self.records, flags, *holder)

    @staticmethod
    def of(adjunct: bytes) -> "Beside":
        identifier, key, record, records, flags, client, server = _BESIDE.unpack(adjunct)
        holder = Holder(client.rstrip(b"\0").decode(), server.rstrip(b"\0").decode())
        return Beside(identifier, key, record, records, bool(flags & _RECOVERABLE), holder)

    @property
    def queue(self) -> QueueName:
        return QueueName.of_key(self.queue_key)

    @property
    def private_key(self) -> bytes:
        return private_key(self.id)

    @property
    def staging_key(self) -> bytes:
        return staging_key(self.queue.type, self.id)

    @property
    def staging_header(self) -> int:
        return header_of(self.staging_key)

    def held_by(self, holder: Holder) -> "Beside":
        return replace(self, holder=holder)

    def continuation(self, record: int) -> "Beside":
        return replace(self, record=record, holder=NOBODY)


@dataclass(frozen=True, slots=True)
class Message:
    """A message with all its records."""

    beside: Beside
    records: tuple[bytes, ...]

    @staticmethod
    def made(
        queue: QueueName,
        identifier: bytes,
        segments: Sequence[bytes],
        *,
        recoverable: bool = True,
        qbuffer_bytes: int = QBUFFER_BYTES,
    ) -> "Message":
        """Segments as logical records (QM1, QM2)."""
        groups = list(_gathered(segments, qbuffer_bytes))
        beside = Beside(identifier, queue.key, 1, len(groups), recoverable)
        staging = beside.staging_key if len(groups) > 1 else b""
        first, *others = (b"".join(group) for group in groups)
        return Message(beside, (_PREFIX.pack(len(groups), staging) + first, *others))

    @property
    def id(self) -> bytes:
        return self.beside.id

    @property
    def queue(self) -> QueueName:
        return self.beside.queue

    @property
    def segments(self) -> tuple[bytes, ...]:
        first, *others = self.records
        return tuple(_cut(b"".join((first[_PREFIX.size :], *others))))

    @property
    def elements(self) -> int:
        """Data elements that it takes on a structure."""
        return sum(-(-len(record) // ELEMENT_BYTES) for record in self.records)


def staged(first: bytes) -> tuple[int, bytes]:
    """How many records a message has, and the staging name in its prefix (QM2)."""
    records, name = _PREFIX.unpack_from(first)
    return records, name if records > 1 else b""


def _gathered(segments: Sequence[bytes], qbuffer_bytes: int) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    room = qbuffer_bytes - _PREFIX.size
    for segment in segments:
        packed = _LENGTH.pack(len(segment)) + segment
        if len(packed) > qbuffer_bytes - _PREFIX.size:
            raise CQSError(Why.SEGMENT_TOO_LONG, bytes=len(segment), qbuffer_bytes=qbuffer_bytes)
        if len(packed) > room:
            yield group
            group, room = [], qbuffer_bytes
        group.append(packed)
        room -= len(packed)
    yield group


def _cut(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size + length
        yield data[at - length : at]
