"""The calls of the native API: what a connection and a handle answer, behind whichever door.

Rules
  NA1 The embedded connection and the client's have these calls with these parameters; a program cannot tell them apart
      but by speed.
  NA2 A call that fails raises `MQError` with the reason; one that succeeds with a warning leaves it in `warning`.
  NA3 As a context manager a unit of work commits at the end and backs out when an exception leaves it, behind any door.
  NA4 `put_all` is as many puts as it has bodies, in order, of one descriptor. If one is refused, those before it are
      put (in the unit of recovery, if there is one), those behind it are not; the reason's fact `put` says how many
      were.

Answered by qmgr.connection and server.client.  Asked by applications, the command line and the ibmmqc seam.
"""

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import MQObject, QueueManagerAttributes
from quaestor.mqi.options import CloseOptions, GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError


@runtime_checkable
class QueueHandle(Protocol):
    """An open queue."""

    name: str

    @property
    def token(self) -> int: ...

    def put(
        self,
        body: bytes | bytearray | memoryview | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        correl_id: bytes | None = None,
        context: Any = None,
    ) -> Message: ...

    def put_all(
        self,
        bodies: Iterable[bytes | bytearray | memoryview | str],
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
    ) -> list[Message]: ...

    def get(
        self,
        options: int = GetOptions.NONE,
        *,
        wait_ms: int | None = None,
        max_length: int | None = None,
        msg_id: bytes | None = None,
        correl_id: bytes | None = None,
        group_id: bytes | None = None,
        sequence: int | None = None,
        token: int | None = None,
        match: int | None = None,
    ) -> Message: ...

    def browse(self, options: int = GetOptions.BROWSE_NEXT, **selecting: Any) -> Message: ...

    def inquire(self, *keywords: str) -> dict[str, Any]: ...

    def set(self, **values: Any) -> None: ...

    def close(self, options: int = CloseOptions.NONE) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class UnitOfWork:
    """`with app.begin():` commits at the end, backs out on an exception (NA3)."""

    __slots__ = ("_connection",)

    def __init__(self, connection: "QueueConnection") -> None:
        self._connection = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._connection.commit()
        else:
            self._connection.backout()


@runtime_checkable
class QueueConnection(Protocol):
    """A connected application."""

    connected: bool

    @property
    def warning(self) -> MQError | None: ...

    def open(
        self,
        target: str | Target,
        options: int = OpenOptions.INPUT_AS_Q_DEF | OpenOptions.OUTPUT,
        *,
        qmgr: str = "",
        dynamic_name: str = "CSQ.*",
    ) -> QueueHandle: ...

    def put1(
        self,
        target: str | Target,
        body: bytes | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        qmgr: str = "",
    ) -> Message: ...

    def put(
        self,
        target: str | Target,
        body: bytes | str,
        descriptor: MQMD | None = None,
        options: int = PutOptions.NONE,
        *,
        qmgr: str = "",
    ) -> Message: ...

    def get(self, target: str | Target, options: int = GetOptions.NONE, **selecting: Any) -> Message: ...

    def begin(self) -> UnitOfWork: ...

    def commit(self, unit: int | None = None) -> None: ...

    def backout(self) -> None: ...

    def outcome(self, unit: int) -> bool: ...

    def prepare(self, xid: bytes) -> None: ...

    def commit_prepared(self, xid: bytes) -> None: ...

    def backout_prepared(self, xid: bytes) -> None: ...

    def in_doubt(self) -> tuple[bytes, ...]: ...

    def define(self, definition: MQObject, *, replace: bool = False) -> None: ...

    def alter(self, kind: type[MQObject], name: str = "", **changes: Any) -> None: ...

    def delete(self, kind: type[MQObject], name: str, *, purge: bool = False) -> None: ...

    def inquire(
        self,
        kind: type[MQObject] = QueueManagerAttributes,
        name: str = "",
        *keywords: str,
        alternate_user: str | None = None,
    ) -> dict[str, Any]: ...

    def disconnect(self) -> None: ...

    def abandon(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
