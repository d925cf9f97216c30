"""Structure rebuild: a structure moves from one coupling facility to another while queue managers use it.

Rules
  RB1 The facility that has the structure copies it, piece by piece, and serves nobody meanwhile: what is asked waits.
      When the copy is complete it is in use there, and whoever asks here is refused with MOVED and where it is now.
      A facility that does not take the copy is waited for as any other (LC4).
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

from quaestor.storage.lists.client import AWAY_S, Questions
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
        self._incoming: dict[tuple[Any, str], Incoming] = {}  # by the socket that it comes on
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
            self._remember({**self._moved, name: path})
        except (StructureLostError, OSError) as lost:
            raise _refusal("LOST", str(lost)) from lost
        self._facility.delete(name)
        self._gone(name, path)

    def _copy(self, name: str, path: str) -> None:
        other = Questions(path, AWAY_S)
        try:
            other.ask("incoming", name, head_of(self._facility, name))
            for piece in pieces_of(self._facility, name):
                other.ask("entries", name, piece)
            other.ask("complete", name)
        finally:
            other.sock.close()

    # -- coming

    def throw_away(self, link: Any) -> None:
        """A socket has ended: what has come on it and is not complete is nobody's (RB2)."""
        self._incoming = {known: incoming for known, incoming in self._incoming.items() if known[0] is not link}

    def _begin(self, link: Any, name: str, head: list[Any]) -> bool:
        if any(self._facility.status().get(name, {"connectors": {}})["connectors"].values()):
            raise StructureRefusal("IN_USE")  # RB3
        self._incoming[link, name] = Incoming(head)
        return True

    def _take(self, link: Any, name: str, entries: list[list[Any]]) -> bool:
        self._incoming[link, name].take(entries)
        return True

    def _complete(self, link: Any, name: str) -> bool:
        incoming = self._incoming.pop((link, name))
        try:
            self._remember({moved: path for moved, path in self._moved.items() if moved != name})
        except OSError as error:
            raise _refusal("LOST", str(error)) from error
        incoming.complete(self._facility)
        return True

    def _remember(self, moved: dict[str, str]) -> None:
        """What has moved is known to whoever is started here next (RB5)."""
        fresh = self._kept.with_suffix(".new")
        fresh.write_text(json.dumps(moved), encoding="utf-8")
        fresh.replace(self._kept)
        self._moved = moved
        if not moved:
            self._kept.unlink()


def moved_to(path: str) -> StructureRefusal:
    """The refusal that says where a structure is now, in place of an operation (LV1)."""
    return _refusal(MOVED, path)


def _refusal(why: str, said: str) -> StructureRefusal:
    return StructureRefusal(why, said)  # type: ignore[arg-type] # words in place of the number of an operation
