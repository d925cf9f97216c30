"""What a client asks, as whoever sends it gets it.

Called by everything that makes, sends or answers requests.  Calls nothing.
"""

from typing import NamedTuple


class Request(NamedTuple):
    """A frame before it has a conversation and a number."""

    op: int
    flags: int
    payload: bytes
