"""The door of `quaestor mqsc` to a queue manager.

Rules
  MD1 A door takes one command and gives its answer: `lines` as an operator reads them, `rows` for programs, `ok`.
  MD2 A queue manager that runs as a server on this machine is reached through its socket; one that does not run, also
      when it was killed and its socket is left, is opened in this process, with the page sets of `server.toml`. One
      that was created and never started is made by that.
  MD3 A queue manager that does not exist is not made here; it is refused in the words of the commands `qmgr`. One that
      another process runs and that cannot be reached is an `MQError` 2059, with who has it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quaestor.cli.refused import Refused

SIGNS, SOCKET = ("BSDS1", "BSDS2", "server.toml"), "socket"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answered (MD1)."""

    lines: list[str]
    rows: list[dict[str, Any]]
    ok: bool
    members: list[dict[str, Any]]
    """The answers of the members of its group, of a command for more than one."""


@dataclass(frozen=True, slots=True)
class Door:
    """An open door."""

    run: Callable[[str], Answer]
    close: Callable[[], None]


def door(name: str, directory: Path | None) -> Door:
    """A door to the queue manager `name` (MD2)."""
    from quaestor.server.home import Home, default_directory
    from quaestor.storage.real_disk import owner_of

    place = default_directory(name) if directory is None else directory
    if (place / SOCKET).exists() and owner_of(place) is not None:
        return _server(name, place)
    if not any((place / sign).exists() for sign in SIGNS):
        raise Refused(Home(place).none_here(name))
    return _embedded(name, place)


def _server(name: str, place: Path) -> Door:
    from quaestor.server.client.opening import LINKS, hello_of
    from quaestor.server.client.place import Place

    connection = LINKS.connect(Place(name, path=place / SOCKET), hello_of(name, None, None, "MQSC", b""))

    def run(text: str) -> Answer:
        told = connection.mqsc(text)
        return Answer(told["lines"], told["rows"], told["ok"], told.get("members", []))

    return Door(run, connection.disconnect)


def _embedded(name: str, place: Path) -> Door:
    import quaestor
    from quaestor.server.home import Home

    home = Home(place)
    settings = home.settings(home.configuration()) if home.exists else None
    operator = quaestor.operate(name, place, settings=settings)

    def run(text: str) -> Answer:
        reply = operator.run(text)
        return Answer(reply.lines, reply.rows, reply.ok, reply.members)

    return Door(run, operator.close)
