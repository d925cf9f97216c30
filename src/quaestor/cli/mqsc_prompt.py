"""The prompt of `quaestor mqsc`: completion, history, continuation.

Rules
  PR1 What may stand at the cursor is offered while typing (see `mqi.mqsc.completion`), limited to what is supported.
  PR2 A line that ends in `+` or `-` goes on at the next prompt, where an empty line says nothing and `;` ends the
      command. Control-C drops a command half typed, Control-D and END leave.
  PR3 History is kept from one time to the next, in a file that only its owner can read.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory

from quaestor.mqi.mqsc.completion import completions
from quaestor.mqi.mqsc.syntax import CONTINUES
from quaestor.qmgr.command import FAMILIES
from quaestor.qmgr.command.family import marks_of

SUPPORTED = frozenset((mark.verb, mark.noun) for family in FAMILIES for _, mark in marks_of(family))


class CommandCompleter(Completer):
    """Offers words of the command that is being typed (PR1)."""

    def __init__(self) -> None:
        self.begun = ""
        """Earlier lines of a command that is continued."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        words, there = completions(self.begun + document.text_before_cursor, SUPPORTED)
        return (Completion(word, start_position=-there) for word in words)


def history_file() -> Path:
    root = os.environ.get("XDG_STATE_HOME")
    return (Path(root) if root else Path.home() / ".local" / "state") / "quaestor" / "mqsc-history"


def _history() -> FileHistory:
    """PR3."""
    path = history_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    return FileHistory(str(path))


def prompts(name: str, **session: Any) -> Iterator[str]:
    """Commands as they are typed, until the end (PR2)."""
    completer = CommandCompleter()
    prompt: PromptSession[str] = PromptSession(
        completer=completer, history=_history(), complete_while_typing=True, **session
    )
    lines: list[str] = []
    while True:
        try:
            line = prompt.prompt(f"{name}> " if not lines else f"{'':>{len(name)}}+ ")
        except KeyboardInterrupt:
            lines, completer.begun = [], ""
            continue
        except EOFError:
            return
        if lines and not line.strip():
            continue
        lines.append(line)
        if line.rstrip().endswith(CONTINUES):
            completer.begun += line.rstrip()[:-1]
            continue
        text, lines, completer.begun = "\n".join(lines), [], ""
        if text.strip():
            yield text.strip()
