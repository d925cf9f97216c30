"""Redis wire: how requests to a structure in Redis are written, sent and answered.

Rules
  LW1 A write and a claim that come alone, as every put and get out of syncpoint, have functions and a form of their
      own: fields at fixed places, which neither side has to look for. Everything else is a list of operations (LO3).
  LW2 An entry is on the wire what it is in the server: a head, which is key (16), arrival (8), number (8), list (2),
      version (4), length of the data (4), adjunct data; and the data, which the server never takes apart.
  LW3 An answer is a string: refused, why and at which operation; or done, entries and elements in use, the answer. That
      of a claim has a second string, the data of the entry it found.
  LW4 What does not change is written once: the beginning of each command for a connection, the whole of it for an
      operation that is asked again, the very same object (LC5).
  LW5 A request is one send and, as nearly always, one receive, on a socket that the library of Redis has connected. The
      system keeps the time (LC4); a socket with TLS keeps it itself.

Called by redis_engine.  Calls operations, readiness, client (for the time).
Why not the library's own connection: it polls before it sends and before it receives, and a reply goes through its
parser's buffer; that is as much as everything else that a member does for a request.
"""

import socket
import struct
from collections.abc import Callable
from ssl import SSLSocket
from typing import Any, NamedTuple

import msgpack

from quaestor.readiness import Arrival
from quaestor.storage.lists.client import RECEIVE, no_longer_than
from quaestor.storage.lists.operations import Claim, Claimed, Entry, Operation, Write, answer, packed
from quaestor.storage.lists.structure import checked

_HEAD = struct.Struct(">16sQQHII")
_WRITTEN = struct.Struct(">HII")
_ASKED = struct.Struct(">HHBBII16s16s")
_DONE = struct.Struct(">BQQ")
_NUMBER = struct.Struct(">Q")
_NO, _TWO, _STRING, _END = 0, b"*2\r\n", 0x24, b"\r\n"
_ENTRIES = {"read", "first", "take"}


class Reply(NamedTuple):
    """An answer (LW3)."""

    told: bytes
    data: bytes | None = None

    @property
    def refusal(self) -> tuple[str, int] | None:
        """Why it was refused and at which operation; None when it was done."""
        if self.told[0] != _NO:
            return None
        why, at = msgpack.unpackb(self.told[1:])
        return why, at

    @property
    def used(self) -> tuple[int, int]:
        """Entries and elements in use."""
        _, entries, elements = _DONE.unpack_from(self.told)
        return entries, elements


Answered = Callable[[Reply], tuple[Any, ...]]
"""What the operations of a request answer, from a reply that says it was done."""


class RequestForms:
    """How the requests of one connection are written (LW1, LW4)."""

    def __init__(self, library: str, *same: str | int) -> None:
        self._write, self._claim, self._run = (
            command("FCALL", f"{library}_{function}", *same, more=more)
            for function, more in (("write", 3), ("claim", 1), ("run", 1))
        )
        self._asked: Operation | None = None
        self._frame = b""

    def framed(self, operations: tuple[Operation, ...]) -> tuple[bytes, Answered]:
        """A request as it is sent, and how its reply is read."""
        if len(operations) == 1:
            operation = operations[0]
            if operation is self._asked:
                return self._frame, _claimed
            if type(operation) is Write:
                return self._written(operation), _number
            if type(operation) is Claim and not operation.where:
                self._frame, self._asked = self._asking(operation), operation
                return self._frame, _claimed
        body = packed(operations)
        return b"%s$%d\r\n%s\r\n" % (self._run, len(body), body), lambda reply: _answers(operations, reply)

    def _written(self, write: Write) -> bytes:
        key, data, adjunct = write.key, write.data, write.adjunct
        checked(key, adjunct)
        rest = _WRITTEN.pack(write.list, 1, len(data)) + adjunct
        return b"%s$16\r\n%s\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (self._write, key, len(rest), rest, len(data), data)

    def _asking(self, claim: Claim) -> bytes:
        checked(claim.low)
        checked(claim.high)
        asked = (claim.list, claim.target, claim.keep, claim.leave, claim.most, claim.buffer, claim.low, claim.high)
        mark = claim.mark
        return b"%s$%d\r\n%s%s\r\n" % (self._claim, _ASKED.size + len(mark), _ASKED.pack(*asked), mark)


def command(*words: str | int, more: int = 0) -> bytes:
    """A command as it is sent to Redis, of which so many further words are to follow."""
    parts = [str(word).encode() for word in words]
    return b"*%d\r\n" % (len(parts) + more) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


# -- answers, rules LW2 and LW3


def _entry(head: bytes, data: bytes) -> Entry:
    key, arrival, number, list_, version, _ = _HEAD.unpack_from(head)
    return Entry(number, list_, key, head[_HEAD.size :], version, data, arrival)


def _number(reply: Reply) -> tuple[int]:
    number: tuple[int] = _NUMBER.unpack_from(reply.told, _DONE.size)
    return number


def _claimed(reply: Reply) -> tuple[Claimed | None]:
    told, data = reply
    if data is None:
        return (None,)
    return (Claimed(_entry(told[_DONE.size + 1 :], data), told[_DONE.size]),)


def _answers(operations: tuple[Operation, ...], reply: Reply) -> tuple[Any, ...]:
    return tuple(map(_answer, operations, msgpack.unpackb(reply.told[_DONE.size :], raw=True)))


def _answer(operation: Operation, raw: Any) -> Any:
    name = operation.NAME
    if name in _ENTRIES:
        return None if raw is False else _entry(*raw)
    if name == "claim":
        return None if raw is False else Claimed(_entry(*raw[1:]), raw[0])
    if name == "list":
        return tuple(_entry(*each) for each in raw)  # an empty table has no kind in Lua: {} or []
    return answer(operation, raw.decode() if isinstance(raw, bytes) else raw)


# -- the socket, rule LW5


class RedisWire:
    """A socket to a Redis server on which requests are made, each answered before the next (LW5)."""

    def __init__(self, sock: socket.socket, away_s: float) -> None:
        if not isinstance(sock, SSLSocket):
            no_longer_than(sock, away_s)
        self._look = Arrival(sock.fileno()).receive
        self._send, self._receive = sock.sendall, sock.recv

    def exchange(self, frame: bytes) -> Reply:
        """Send a command and wait for its reply. Raises OSError; ValueError for a reply that is no answer of ours."""
        self._send(frame)
        raw = self._look(self._receive, RECEIVE)
        while len(raw) < len(_TWO):
            raw += self._more()
        if raw[:4] != _TWO:
            raw, start, end = self._string(raw, 0)
            return Reply(raw[start:end])
        raw, start, end = self._string(raw, 4)
        raw, data, last = self._string(raw, end + 2)
        return Reply(raw[start:end], raw[data:last])

    def _string(self, raw: bytes, at: int) -> tuple[bytes, int, int]:
        """What has come, with the whole string that begins at a place; where that begins and ends."""
        while (start := raw.find(_END, at) + 2) < 2:  # not found
            raw += self._more()
        if raw[at] != _STRING:
            raise ValueError(raw[at : start - 2].decode(errors="replace"))
        end = start + int(raw[at + 1 : start - 2])
        while len(raw) < end + 2:
            raw += self._more()
        return raw, start, end

    def _more(self) -> bytes:
        part = self._receive(RECEIVE)
        if not part:
            raise EOFError("the connection has ended")
        return part
