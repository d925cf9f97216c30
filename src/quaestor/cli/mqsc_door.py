"""The door of `quaestor mqsc` to a queue manager.

Rules
  MD1 A door takes one command and gives its answer: `lines` as an operator reads them, `rows` for programs, `ok`.
  MD2 A queue manager that does not exist is not made here: that is an `MQError` 2058. One that another process runs and
      that cannot be reached is 2059, with who has it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quaestor.mqi.reasons import MQError, Reason

HOME_VARIABLE = "QUAESTOR_HOME"
SIGN = "BSDS1"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command answered (MD1)."""

    lines: list[str]
    rows: list[dict[str, Any]]
    ok: bool


@dataclass(frozen=True, slots=True)
class Door:
    """An open door."""

    run: Callable[[str], Answer]
    close: Callable[[], None]


def default_directory(name: str) -> Path:
    root = os.environ.get(HOME_VARIABLE)
    return (Path(root) if root else Path.home() / ".local" / "share" / "quaestor") / name


def door(name: str, directory: Path | None) -> Door:
    """A door to the queue manager `name`: embedded, in this process."""
    import quaestor

    place = default_directory(name) if directory is None else directory
    if not (place / SIGN).exists():
        raise MQError(Reason.Q_MGR_NAME_ERROR, qmgr=name, directory=str(place), why="no queue manager is kept there")
    operator = quaestor.operate(name, place)

    def run(text: str) -> Answer:
        reply = operator.run(text)
        return Answer(reply.lines, reply.rows, reply.ok)

    return Door(run, operator.close)
