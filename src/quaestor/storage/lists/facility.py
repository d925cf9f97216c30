"""Facility: structures in the memory of one process, and who is connected to them.

Rules
  LF1 The first connector allocates a structure; it lives on when all connectors are gone (LS3).
  LF2 A connector has one connection. Another one of the same name, a fence or the loss of the structure ends it: it
      answers nothing any more, and its end is nobody's (LS5).

Called by the coupling facility's own process and by tests.  Calls memory.
"""

from collections.abc import Sequence
from typing import Any

from quaestor.storage.lists.memory import MemoryStructure
from quaestor.storage.lists.operations import Operation, answers
from quaestor.storage.lists.structure import Shape, StructureLostError, Told


class MemoryFacility:
    """Structures of one process, with their connectors; for tests and for the coupling facility's own process."""

    def __init__(self) -> None:
        self._structures: dict[str, MemoryStructure] = {}
        self._told: dict[tuple[str, str], Told] = {}
        self._connectors: dict[str, dict[str, bool]] = {}
        self._live: dict[tuple[str, str], MemoryConnection] = {}

    def connect(self, shape: Shape, connector: str, told: Told) -> "MemoryConnection":
        """The first connector allocates the structure; later ones find it as it is."""
        structure = self._structures.setdefault(shape.name, MemoryStructure(shape))
        self.fence(shape.name, connector)
        self._connectors.setdefault(shape.name, {})[connector] = True
        self._told[shape.name, connector] = told
        made = self._live[shape.name, connector] = MemoryConnection(self, structure, connector)
        return made

    def fence(self, structure: str, connector: str) -> None:
        """The connection of a connector is of no use any more (LS5)."""
        connection = self._live.pop((structure, connector), None)
        if connection is not None:
            connection.fenced = True
            self.leave(structure, connector, failed=True)

    def tell(self, structure: str, watches: Sequence[tuple[str, int]]) -> None:
        for connector, token in watches:
            told = self._told.get((structure, connector))
            if told is not None:
                told(token)

    def leave(self, structure: str, connector: str, *, failed: bool) -> None:
        """A connector has gone; one that failed stays known until it is recovered."""
        known = self._connectors[structure]
        if failed:
            known[connector] = False
        else:
            known.pop(connector, None)
            self._live.pop((structure, connector), None)
        self._told.pop((structure, connector), None)
        self._structures[structure].forget_watches(connector)

    def connectors(self, structure: str) -> dict[str, bool]:
        return dict(self._connectors[structure])

    def status(self) -> dict[str, Any]:
        """Space and connectors of every structure."""
        return {
            name: {"space": structure.run([["space"]])[0][0], "connectors": self.connectors(name)}
            for name, structure in self._structures.items()
        }

    def delete(self, structure: str) -> None:
        """SETXCF FORCE: the structure and what is in it are gone."""
        for known in [each for each in self._live if each[0] == structure]:
            self._live.pop(known).fenced = True
        self._structures.pop(structure, None)
        self._connectors.pop(structure, None)


class MemoryConnection:
    """A connector of a structure in this process."""

    def __init__(self, facility: MemoryFacility, structure: MemoryStructure, connector: str) -> None:
        self._facility, self._structure = facility, structure
        self.shape, self.connector = structure.shape, connector
        self.fenced = False

    def request(self, *operations: Operation) -> tuple[Any, ...]:
        return answers(operations, self.run([operation.packed() for operation in operations]))

    @property
    def used(self) -> tuple[int, int]:
        return self._structure.used

    def run(self, request: Sequence[Sequence[Any]]) -> list[Any]:
        """A request as it is written; what each operation answers, before it is made a value."""
        return self.answer(request)[0]

    def answer(self, request: Sequence[Sequence[Any]]) -> tuple[list[Any], int, int]:
        """The same with the entries and elements that are then in use."""
        if self.fenced:
            self._still_ours()
        structure = self._structure
        found, watches = structure.run(request)
        if watches:
            self._facility.tell(self.shape.name, watches)
        return found, len(structure.entries), structure.elements

    def _still_ours(self) -> None:
        if self.fenced:
            raise StructureLostError(f"{self.shape.name}: another connection of {self.connector} has taken over")

    def connectors(self) -> dict[str, bool]:
        self._still_ours()
        return self._facility.connectors(self.shape.name)

    def forget(self, connector: str) -> None:
        self._still_ours()
        if not self._facility.connectors(self.shape.name).get(connector):
            self._facility.leave(self.shape.name, connector, failed=False)

    def fence(self, connector: str) -> None:
        self._still_ours()
        self._facility.fence(self.shape.name, connector)

    def disconnect(self) -> None:
        if not self.fenced:
            self._facility.leave(self.shape.name, self.connector, failed=False)

    def fail(self) -> None:
        """The connector is gone without a word; one that has another connection by now is not."""
        if not self.fenced:
            self._facility.leave(self.shape.name, self.connector, failed=True)
