"""Queue names: which list header a queue is on, and the 16-byte keys of its entries.

Rules
  QN1 A structure has 192 list headers: 0 to 70 are private to the servers, 71 to 191 belong to the clients. A client
      queue type has eleven of them, so that queues of one type do not all wait for one list; nine types use 71 to 169.
  QN2 The header of a name is a fixed function of type and name, the same in every system: 71 + 11 (type - 1) + slot.
  QN3 A key is the digit of the type, the name in eight places, and seven places more: blank, so that messages of one
      name are synonyms and first in first out. Names of one header are in collating order.
  QN4 A message that comes back from the lock queue gets a low value there, with the time of its put behind it: it
      stands before all that were not read, and those that came back stand as they were put.
  QN5 Serial transactions run only where they arrived: the seven places begin with the client's name, of at most four.
  QN6 A continuation is on the staging queue of its kind under the identifier of its message: the putter's name in
      eight places and the first seven bytes of the clock (STCK).

Called by everything here.  Calls nothing.
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from zlib import crc32

HEADERS, FIRST_CLIENT_HEADER, HEADERS_PER_TYPE = 192, 71, 11
PRIVATE_HEADERS, CLIENT_HEADERS = range(FIRST_CLIENT_HEADER), range(FIRST_CLIENT_HEADER, HEADERS)
NAME_LENGTH, TOKEN_LENGTH = 8, 7
ID_LENGTH = NAME_LENGTH + TOKEN_LENGTH
_NAME = re.compile(r"[A-Z0-9@#$]{1,8}")
_CLIENT = re.compile(r"[A-Z0-9@#$]{1,4}")


class Private(IntEnum):
    """Private queues: list headers whose meaning the servers decide."""

    CONTROL = 0
    COLD = 1
    LOCK = 2
    REBUILD = 3
    MOVE = 4
    DELETE = 5


class QueueType(IntEnum):
    """Client queue types."""

    TRANSACTION_READY = 1
    TRANSACTION_STAGING = 2
    TRANSACTION_SUSPEND = 3
    TRANSACTION_SERIAL = 4
    LTERM_READY = 5
    LTERM_STAGING = 6
    APPC_READY = 7
    REMOTE_READY = 8
    OTMA_READY = 9

    PROGRAM_READY = 1  # on the structure of fast path (EMHQ)

    @property
    def headers(self) -> range:
        first = FIRST_CLIENT_HEADER + HEADERS_PER_TYPE * (self - 1)
        return range(first, first + HEADERS_PER_TYPE)

    @property
    def staging(self) -> "QueueType":
        """Where continuations of its messages go: those of transactions, or those of all output."""
        return QueueType.TRANSACTION_STAGING if self < QueueType.LTERM_READY else QueueType.LTERM_STAGING


STAGING = frozenset({QueueType.TRANSACTION_STAGING, QueueType.LTERM_STAGING})
REGISTERED = frozenset(
    {QueueType.TRANSACTION_READY, QueueType.TRANSACTION_SERIAL, QueueType.LTERM_READY, QueueType.REMOTE_READY}
)
"""Types in whose queues a client registers interest."""

FAST_PATH = frozenset({QueueType.PROGRAM_READY, QueueType.LTERM_READY})
"""Types that the structure of fast path has."""


@dataclass(frozen=True, slots=True, order=True)
class QueueName:
    """A queue: its type, its name, and for a serial transaction the client where it runs (QN5)."""

    type: QueueType
    name: str
    client: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.type in STAGING:
            raise ValueError(f"no queue name: {self}")
        if (self.type is QueueType.TRANSACTION_SERIAL) != bool(self.client):
            raise ValueError(f"a serial transaction, and nothing else, names its client: {self}")

    def __str__(self) -> str:
        return f"{self.type:d}{self.name}" + (f"@{self.client}" if self.client else "")

    @property
    def prefix(self) -> bytes:
        return f"{self.type:d}{self.name:<8}{self.client and f'{self.client:<4}'}".encode()

    @property
    def key(self) -> bytes:
        """The key of its messages (QN3)."""
        return self.prefix.ljust(16)

    @property
    def range(self) -> tuple[bytes, bytes]:
        """From the lowest to the highest key of its messages."""
        return self.prefix.ljust(16, b"\0"), self.prefix.ljust(16, b"\xff")

    @property
    def header(self) -> int:
        return header_of(self.key)

    def returned_key(self, message_id: bytes) -> bytes:
        """The key of a message that comes back (QN4)."""
        room = 16 - len(self.prefix)
        return self.prefix + b"\0" + message_id[-room + 1 :]

    @staticmethod
    def of_key(key: bytes) -> "QueueName":
        """The queue of a key of its messages."""
        kind = QueueType(key[0] - ord("0"))
        client = key[9:13].decode().rstrip() if kind is QueueType.TRANSACTION_SERIAL else ""
        return QueueName(kind, key[1:9].decode().rstrip(), client)


def header_of(key: bytes) -> int:
    """The list header of a client queue's key (QN2); a continuation is spread by the whole of its identifier."""
    kind = QueueType(key[0] - ord("0"))
    name = key[1:] if kind in STAGING else key[1:9]
    return kind.headers[crc32(name) % HEADERS_PER_TYPE]


def message_id(client: str, token: int) -> bytes:
    """The identifier of a message: who put it, and the first seven bytes of the clock when he did (QN6)."""
    return client.ljust(NAME_LENGTH).encode() + token.to_bytes(TOKEN_LENGTH, "big")


def token(identifier: bytes) -> int:
    """The clock in the identifier of a message (QN6)."""
    return int.from_bytes(identifier[NAME_LENGTH:], "big")


def staging_key(kind: QueueType, identifier: bytes) -> bytes:
    """The key of the continuations of a message of a type (QN6)."""
    return b"%d" % kind.staging + identifier


def private_key(identifier: bytes) -> bytes:
    """The key of a message on a private queue."""
    return b"0" + identifier


def checked_client(name: str) -> str:
    """The name of a client; ValueError when it cannot be one (QN5)."""
    if not _CLIENT.fullmatch(name):
        raise ValueError(f"a client's name has one to four letters or digits: {name!r}")
    return name


def transaction(name: str) -> QueueName:
    """Where input for a transaction is put."""
    return QueueName(QueueType.TRANSACTION_READY, name)


def serial_transaction(name: str, client: str) -> QueueName:
    """Where input for a transaction with SERIAL=YES is put by a client."""
    return QueueName(QueueType.TRANSACTION_SERIAL, name, client)


def suspended(name: str) -> QueueName:
    """Where messages of a transaction wait that cannot run now."""
    return QueueName(QueueType.TRANSACTION_SUSPEND, name)


def lterm(name: str) -> QueueName:
    """Where output for a logical terminal is put."""
    return QueueName(QueueType.LTERM_READY, name)


def remote(name: str) -> QueueName:
    """Where messages for an MSNAME or a remote logical terminal are put."""
    return QueueName(QueueType.REMOTE_READY, name)


def program(name: str) -> QueueName:
    """Where input for a fast path program (PSB) is put, on the structure of fast path."""
    return QueueName(QueueType.PROGRAM_READY, name)
