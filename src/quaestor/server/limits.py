"""Limits: how much one client may ask of a queue manager before it is refused or held back."""

from dataclasses import dataclass

from quaestor.server.protocol import FRAME_MAX


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server allows. Handles per connection and uncommitted messages are MAXHANDS and MAXUMSGS of the QMGR."""

    connections: int = 2000
    """Of clients that have said who they are; the next one is told 2025 and closed."""

    strangers: int = 500
    """Of those who have not yet; who comes then has the place of whoever came first."""

    conversations: int = 200
    """Of one link."""

    frame_bytes: int = FRAME_MAX
    backlog_requests: int = 1000
    """Requests a conversation may have waiting behind one; then its link is not read until they are fewer."""

    backlog_bytes: int = 4 << 20
    """The same, in bytes: a request may be as long as a message."""

    output_bytes: int = 1 << 20
    """Answers a client has not taken; then its link is not read until it takes them."""

    hello_s: float = 10
    """From the connection to the end of authentication."""

    stalled_s: float = 60
    """A client that takes none of its answers, or stops in the middle of a frame, for so long is cut off."""

    heartbeat_s: float = 30
    quiesce_s: float = 30
    """How long a quiesce waits for applications to end."""
