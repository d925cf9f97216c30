"""Movable: a connection to a structure that goes with it when it is rebuilt in another coupling facility.

Rules
  LV1 A facility that no longer has a structure refuses with MOVED and the socket where it is. That request was not
      done: it is asked again there, so none is lost and none is done twice.
  LV2 Who is told by watches is told once to look at everything: what came while it changed over is not missed. So is
      who connects where the structure was: others may not have followed yet.
  LV3 A structure may move again; a chain that does not end means that it is lost.

Called by whoever was given a socket.  Calls client.
"""

from pathlib import Path
from typing import Any

from quaestor.storage.lists.client import FacilityConnection, Questions
from quaestor.storage.lists.operations import Operation
from quaestor.storage.lists.redis_engine import LOOK_AT_ALL
from quaestor.storage.lists.structure import Shape, StructureLostError, StructureRefusal, Told

MOVED = "MOVED"
MOVES_MAX = 8


class MovableConnection:
    """A connector of a structure in a coupling facility, wherever it is now (LV1-LV3)."""

    def __init__(self, path: str | Path, shape: Shape, connector: str, told: Told) -> None:
        self.connector, self._told = connector, told
        self._connection = _connected(str(path), shape, connector, told)
        self.shape = self._connection.shape

    @property
    def used(self) -> tuple[int, int]:
        return self._connection.used

    def request(self, *operations: Operation) -> tuple[Any, ...]:
        try:
            return self._connection.request(*operations)
        except StructureRefusal as refusal:
            if refusal.why != MOVED:
                raise
            answers: tuple[Any, ...] = self._follow(refusal, "request", *operations)
            return answers

    def connectors(self) -> dict[str, bool]:
        found: dict[str, bool] = self._asked("connectors")
        return found

    def forget(self, connector: str) -> None:
        self._asked("forget", connector)

    def fence(self, connector: str) -> None:
        self._asked("fence", connector)

    def disconnect(self) -> None:
        self._asked("disconnect")

    def fail(self) -> None:
        self._connection.fail()

    def _asked(self, what: str, *arguments: Any) -> Any:
        try:
            return getattr(self._connection, what)(*arguments)
        except StructureRefusal as refusal:
            return self._follow(refusal, what, *arguments)

    def _follow(self, refusal: StructureRefusal, what: str, *arguments: Any) -> Any:
        """Ask again where the structure is now."""
        for _ in range(MOVES_MAX):
            if refusal.why != MOVED:
                raise refusal
            old = self._connection
            self._connection = _connected(str(refusal.at), self.shape, self.connector, self._told)
            old.fail()
            self._told(LOOK_AT_ALL)  # LV2
            try:
                return getattr(self._connection, what)(*arguments)
            except StructureRefusal as again:
                refusal = again
        raise StructureLostError(f"{self.shape.name} is not where it is said to be")


def _connected(path: str, shape: Shape, connector: str, told: Told) -> FacilityConnection:
    for moves in range(MOVES_MAX):
        try:
            made = FacilityConnection(path, shape, connector, told)
        except StructureRefusal as refusal:
            if refusal.why != MOVED:
                raise
            path = str(refusal.at)
        else:
            if moves:
                told(LOOK_AT_ALL)  # LV2
            return made
    raise StructureLostError(f"{shape.name} is not where it is said to be")


def rebuild(path: str | Path, to: str | Path, structure: str = "") -> list[str]:
    """SETXCF START,REBUILD: move one structure, or all, from a coupling facility to another; what has moved."""
    operator = Questions(path)
    try:
        moved: list[str] = operator.ask("rebuild", structure, str(Path(to).absolute()))
    finally:
        operator.sock.close()
    return moved
