"""TOML text: what somebody wrote into a file, as tables.

Rules
  TT1 A text that cannot be read is a ValueError of one line, whatever is wrong with it: no TOML, a number with more
      digits than Python reads, lists or tables too deep in each other. Whoever calls names the file.
  TT2 A file is text in UTF-8, with a byte order mark or without. A dump, say, is refused as what it is: no text.

Called by every reader of settings, plans and profiles.
"""

import tomllib
from pathlib import Path
from typing import Any


def tables(written: str) -> dict[str, Any]:
    """The tables of a text (TT1)."""
    try:
        return tomllib.loads(written)
    except RecursionError:
        raise ValueError("lists or tables in each other, too deep to be read") from None


def text_of(path: Path) -> str:
    """The text of a file (TT2)."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"no text in UTF-8: {error.object[error.start]:#04x} at byte {error.start}") from None
