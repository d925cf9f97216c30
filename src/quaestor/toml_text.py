"""TOML text: what somebody wrote into a file, as tables.

Rules
  TT1 A text that cannot be read is a ValueError of one line, whatever is wrong with it: no TOML, a number with more
      digits than Python reads, lists or tables too deep in each other. Whoever calls names the file.

Called by every reader of settings, plans and profiles.
"""

import tomllib
from typing import Any


def tables(written: str) -> dict[str, Any]:
    """The tables of a text (TT1)."""
    try:
        return tomllib.loads(written)
    except RecursionError:
        raise ValueError("lists or tables in each other, too deep to be read") from None
