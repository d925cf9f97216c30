"""Client: a connection to a structure in the coupling facility of this machine.

Rules
  LC1 Two sockets: one for requests, answered in order, one on which the facility tells what is watched. A request is a
      write and a read, without a thread between; what is small comes with one read, into room that is kept. Whoever
      asks looks out for the answer before it sleeps (RD2): an answer takes less time than waking up.
  LC2 A frame is its length (4 bytes, big-endian) and msgpack. Requests: [verb, arguments...]; answers: ["ok", value] or
      ["no", why, at].
      A request is answered with what its operations answer and the entries and elements then in use.
  LC3 A socket that fails means the structure is lost; the connector is seen as failed by the facility when the request
      socket ends without a word of parting.
  LC4 A facility that does not answer for `AWAY_S` is lost, as one whose socket fails: it may have done the request or
      may do it later, unless there is another connection by then (LS5). The socket ends with that, whoever has it, and
      with whatever else ends the waiting: an answer that comes late is not taken for that of the next request.
  LC5 Operations are values: one that is asked again, the very same object, is sent as the same bytes.

Called by whoever was given a socket.  Calls operations, structure, readiness.
"""

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import msgpack

from quaestor.readiness import Arrival
from quaestor.storage.lists.operations import PACKED, Operation, answers
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal, Told

LENGTH = struct.Struct(">I")
AWAY_S = 10
_TIME = struct.Struct("ll")
PREFIX = LENGTH.size
FRAME_MAX = 64 << 20
RECEIVE = 1 << 16
_packed = msgpack.packb
_unpacked = msgpack.unpackb


def send(sock: socket.socket, value: Any) -> None:
    """One frame (LC2)."""
    body = _packed(value)
    sock.sendall(LENGTH.pack(len(body)) + body)


def received(sock: socket.socket) -> Iterator[Any]:
    """Every frame that comes, until the other end is gone (EOFError)."""
    data = bytearray()
    while True:
        data += _more(sock, RECEIVE)
        yield from frames(data)


def frames(data: bytearray) -> Iterator[Any]:
    """Every whole frame of what has come, which is taken off; ValueError when it is none of ours."""
    at, end = 0, len(data)
    try:
        while end - at >= LENGTH.size:
            (length,) = LENGTH.unpack_from(data, at)
            if length > FRAME_MAX:
                raise ValueError(f"a frame of {length} bytes")
            if end - at < LENGTH.size + length:
                break
            at += LENGTH.size + length
            yield _unpacked(bytes(data[at - length : at]))
    finally:
        del data[:at]


def _more(sock: socket.socket, most: int) -> bytes:
    part = sock.recv(most)
    if not part:
        raise EOFError("the connection has ended")
    return part


def reach(path: str | Path) -> socket.socket:
    """A socket to the coupling facility."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(str(path))
    except OSError as error:
        sock.close()
        raise StructureLostError(f"no coupling facility at {path}: {error.strerror}") from error
    return sock


class Questions:
    """A socket on which questions are asked, each answered before the next (LC1, LC2)."""

    def __init__(self, path: str | Path, within_s: int | None = None) -> None:
        self.sock = reach(path) if within_s is None else reach_within(path, within_s)
        self._arrival = Arrival(self.sock.fileno())
        self._packed = msgpack.Packer().pack  # one for all: a new one has a new buffer
        self._room = memoryview(bytearray(RECEIVE))
        self._send, self._receive, self._look = self.sock.sendall, self.sock.recv_into, self._arrival.receive

    def ask(self, *question: Any) -> Any:
        """Ask and wait for the answer (LC3)."""
        return self.exchange(self.framed(question))

    def framed(self, question: tuple[Any, ...]) -> bytes:
        """A question as it is sent (LC2)."""
        body: bytes = self._packed(question)
        return LENGTH.pack(len(body)) + body

    def exchange(self, frame: bytes) -> Any:
        """Send a question that is framed and wait for the answer (LC3)."""
        room = self._room
        try:
            self._send(frame)
            have = self._look(self._receive, room)
            if have > PREFIX and LENGTH.unpack_from(room)[0] == have - PREFIX:
                answer = _unpacked(room[PREFIX:have])  # it came as a whole, as nearly always
            else:
                answer = _unpacked(self._rest(have))
        except (OSError, EOFError) as error:
            end(self.sock)  # LC4
            raise StructureLostError(f"the coupling facility is gone: {error}") from error
        except BaseException:
            end(self.sock)  # LC4: nobody waits for the answer
            raise
        if answer[0] == "no":
            raise StructureRefusal(*answer[1:])
        return answer[1]

    def _rest(self, have: int) -> memoryview:
        """The frame that has begun to come, where no other can follow unasked; EOFError when the other end is gone."""
        room, start = self._room, PREFIX
        if not have:
            raise EOFError("the connection has ended")
        while have < start:
            have += self._more(room[have:], have)
        end = start + int(LENGTH.unpack_from(room)[0])
        if end > len(room):
            room = memoryview(bytearray(end))
            room[:have] = self._room[:have]
        while have < end:
            have += self._more(room[have:end], have)
        return room[start:end]

    def _more(self, room: memoryview, have: int) -> int:
        more = self.sock.recv_into(room)
        if not more:
            raise EOFError(f"the connection has ended, {have} bytes into an answer")
        return more


def end(sock: socket.socket) -> None:
    """Nothing more comes or goes, on either side."""
    with suppress(OSError):  # it may have ended already
        sock.shutdown(socket.SHUT_RDWR)


def reach_within(path: str | Path, seconds: int) -> socket.socket:
    """A socket on which nothing waits longer; the system keeps the time, so a request costs no more (LC4)."""
    sock = reach(path)
    no_longer_than(sock, seconds)
    return sock


def no_longer_than(sock: socket.socket, seconds: float) -> None:
    """Nothing waits longer on a socket; the system keeps the time, and Python asks no more before each call."""
    sock.settimeout(None)
    whole = int(seconds)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        sock.setsockopt(socket.SOL_SOCKET, option, _TIME.pack(whole, int((seconds - whole) * 1e6)))


def facility_status(path: str | Path) -> dict[str, Any]:
    """{structure: {"space": [...], "connectors": {...}}} of a coupling facility."""
    questions = Questions(path)
    try:
        told: dict[str, Any] = questions.ask("status")
    finally:
        questions.sock.close()
    return told


class FacilityConnection:
    """A connector of a structure in the coupling facility."""

    def __init__(self, path: str | Path, shape: Shape, connector: str, told: Told) -> None:
        self.connector = connector
        self.used = (0, 0)
        self._told = told
        self._lock = Lock()
        self._asked: Operation | None = None
        self._frame = b""
        self._requests, self._listening = Questions(path, AWAY_S), Questions(path)
        try:
            self.shape = Shape(*self._ask("connect", astuple(shape), connector))
            self._listening.ask("listen", shape.name, connector)
        except BaseException:
            self._close()
            raise
        self._listener = Thread(target=self._listen, name=f"watches of {connector}", daemon=True)
        self._listener.start()

    def request(self, *operations: Operation) -> tuple[Any, ...]:
        with self._lock:
            questions = self._requests
            if len(operations) != 1 or operations[0] is not self._asked:
                packed = [PACKED[type(operation)](operation) for operation in operations]
                self._frame = questions.framed(("request", packed))
                self._asked = operations[0] if len(packed) == 1 else None
            raw, entries, elements = questions.exchange(self._frame)  # LC5
        self.used = entries, elements
        return answers(operations, raw)

    def connectors(self) -> dict[str, bool]:
        known: dict[str, bool] = self._ask("connectors")
        return known

    def forget(self, connector: str) -> None:
        self._ask("forget", connector)

    def fence(self, connector: str) -> None:
        self._ask("fence", connector)

    def disconnect(self) -> None:
        try:
            self._ask("disconnect")
        finally:
            self._close()
            self._listener.join()

    def fail(self) -> None:
        """The connector is gone without a word."""
        self._close()
        self._listener.join()

    def _ask(self, *question: Any) -> Any:
        with self._lock:
            return self._requests.ask(*question)

    def _listen(self) -> None:
        try:
            for token in received(self._listening.sock):
                self._told(token)
        except (OSError, EOFError):
            return  # the next request says that the structure is lost

    def _close(self) -> None:
        for sock in (self._requests.sock, self._listening.sock):
            end(sock)
            sock.close()
