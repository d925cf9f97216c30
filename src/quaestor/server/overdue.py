"""Overdue: why a link is cut off that is looked over.

Rules
  SV4 Once a second links are looked over: who has not said who it is, does not take its answers, stopped in a frame,
      or does not answer heartbeats is cut off. Heartbeats are sent to whoever waits for an answer. Of a link that is
      not read, because too much of it waits already, no answer is expected.

Called by service.  Calls link.
"""

from quaestor.server.limits import Limits
from quaestor.server.link import Link
from quaestor.server.protocol import Op, frame


def why_cut_off(link: Link, limits: Limits, now: float) -> str | None:
    """What a link has not done in time; it may be sent a heartbeat."""
    if not link.authenticated:
        return "did not say who it is" if now - link.since > limits.hello_s else None
    if link.stuck and now - link.took > limits.stalled_s:
        return "does not take its answers"
    if link.partial_since and now - max(link.partial_since, link.heard) > limits.stalled_s:
        return "stopped in the middle of a frame"
    if any(one.parked or one.busy for one in link.conversations.values()):
        silent = now - link.heard
        if silent > 2 * limits.heartbeat_s and link.reading:
            return "does not answer heartbeats"
        if silent > limits.heartbeat_s:
            link.send(frame(Op.HEARTBEAT, 0, 0, 0))
    return None
