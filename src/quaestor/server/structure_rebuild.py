"""Structure rebuild: a structure moves from one coupling facility to another while queue managers use it.

Rules
  RB1 The facility that has the structure copies it, piece by piece, and serves nobody meanwhile: what is asked waits.
      When the copy is complete it is in use there, and whoever asks here is refused with MOVED and where it is now.
  RB2 A copy that fails changes nothing: the structure goes on here, and what came there is thrown away. If only the
      last answer was lost, a complete copy is there that nobody was told of; the next rebuild replaces it.
  RB3 A facility does not take a structure that somebody is connected to there.
  RB4 A facility that ends after everything has moved leaves its name to the one that has it, so that its address goes
      on to be right.
  RB5 Where structures are is written beside the socket before anybody is told: a facility that is killed and started
      again sends connectors there, and does not make a second, empty structure of the same name.

Called by the coupling facility.  Calls the image of structures, the client.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quaestor.storage.lists.client import Questions
from quaestor.storage.lists.facility import MemoryFacility
from quaestor.storage.lists.image import Incoming, head_of, pieces_of
from quaestor.storage.lists.movable import MOVED
from quaestor.storage.lists.structure import StructureLostError, StructureRefusal


class Rebuilding:
    """Structures that come to a facility and go from it (RB1-RB5)."""

    def __init__(self, facility: MemoryFacility, path: Path, gone: Callable[[str, str], None]) -> None:
        self._facility, self._path, self._gone = facility, path, gone
        self._kept = path.with_name(f"{path.name}.moved")
        self._moved: dict[str, str] = json.loads(self._kept.read_text()) if self._kept.exists() else {}
        self._incoming: dict[str, Incoming] = {}
        self.verbs: dict[str, Callable[..., Any]] = {
            "rebuild": self._rebuild,
            "incoming": self._begin,
            "entries": self._take,
            "complete": self._complete,
        }

    def check(self, structure: str) -> None:
        """Refuse whoever connects to a structure that has moved (RB1)."""
        where = self._moved.get(structure)
        if where is not None:
            raise moved_to(where)

    def left_to(self) -> str:
        """The facility that this one leaves its name to; empty when there is none (RB4)."""
        return "" if self._facility.status() or not self._moved else next(reversed(self._moved.values()))

    # -- going

    def _rebuild(self, _link: Any, structure: str, path: str) -> list[str]:
        """Move a structure, or all, to the facility at a socket; what has moved."""
        if Path(path).resolve() == self._path.resolve():
            raise StructureRefusal("IN_USE")
        names = [structure] if structure else sorted(self._facility.status())
        for name in names:
            self._move(name, path)
        return names

    def _move(self, name: str, path: str) -> None:
        try:
            self._copy(name, path)
        except StructureLostError as lost:
            raise _refusal("LOST", str(lost)) from lost
        self._moved[name] = path
        self._remember()
        self._facility.delete(name)
        self._gone(name, path)

    def _copy(self, name: str, path: str) -> None:
        other = Questions(path)
        try:
            other.ask("incoming", name, head_of(self._facility, name))
            for piece in pieces_of(self._facility, name):
                other.ask("entries", name, piece)
            other.ask("complete", name)
        finally:
            other.sock.close()

    # -- coming

    def _begin(self, _link: Any, name: str, head: list[Any]) -> bool:
        if any(self._facility.status().get(name, {"connectors": {}})["connectors"].values()):
            raise StructureRefusal("IN_USE")  # RB3
        self._incoming[name] = Incoming(head)
        return True

    def _take(self, _link: Any, name: str, entries: list[list[Any]]) -> bool:
        self._incoming[name].take(entries)
        return True

    def _complete(self, _link: Any, name: str) -> bool:
        self._incoming.pop(name).complete(self._facility)
        self._moved.pop(name, None)
        self._remember()
        return True

    def _remember(self) -> None:
        """What has moved is known to whoever is started here next (RB5)."""
        fresh = self._kept.with_suffix(".new")
        fresh.write_text(json.dumps(self._moved), encoding="utf-8")
        fresh.replace(self._kept)
        if not self._moved:
            self._kept.unlink()


def moved_to(path: str) -> StructureRefusal:
    """The refusal that says where a structure is now, in place of an operation (LV1)."""
    return _refusal(MOVED, path)


def _refusal(why: str, said: str) -> StructureRefusal:
    return StructureRefusal(why, said)  # type: ignore[arg-type] # words in place of the number of an operation
