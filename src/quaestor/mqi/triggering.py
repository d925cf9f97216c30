"""Triggering: whether the queue manager owes an application a trigger message. A pure rule.

Rules
  T1  The message's priority must reach TRIGMPRI, and only such messages are counted.
  T2  FIRST: the count goes from none to one, or TRIGINT has passed since the last trigger message.
      EVERY: every message. DEPTH: the count reaches TRIGDPTH; triggering is then switched off.
  T3  FIRST and DEPTH ask that nobody has the queue open for input; EVERY does not.
  T4  TRIGGER must be on, gets allowed, and the initiation queue open for input by a trigger monitor.
  T5  Messages that are there already also count when the last input handle closes, when a trigger monitor
      opens the initiation queue, and when triggering is switched on: FIRST with at least one, DEPTH with TRIGDPTH.

Called by the message manager.  Calls objects.
"""

from typing import NamedTuple

from quaestor.mqi.objects import LocalQueue, TriggerType


class Situation(NamedTuple):
    """What the rule looks at beside the definition of the queue."""

    waiting: int  # messages of sufficient priority, this one and uncommitted ones included
    input_handles: int
    monitored: bool  # the initiation queue can be put to and somebody reads it
    since_last_trigger_ms: float
    trigger_interval_ms: int


def eligible(queue: LocalQueue) -> bool:
    """Whether the definition alone allows a trigger message at all (T4)."""
    return queue.trigger and queue.trigger_type is not TriggerType.NONE and queue.get_allowed


def due_on_arrival(queue: LocalQueue, priority: int, now: Situation) -> bool:
    """Whether the message that has just arrived is a trigger event (T1-T4)."""
    if not eligible(queue) or not now.monitored or priority < queue.trigger_priority:
        return False
    if queue.trigger_type is TriggerType.EVERY:
        return True
    if now.input_handles:
        return False
    if queue.trigger_type is TriggerType.DEPTH:
        return now.waiting >= queue.trigger_depth
    return now.waiting == 1 or now.since_last_trigger_ms >= now.trigger_interval_ms


def due_on_change(queue: LocalQueue, now: Situation) -> bool:
    """Whether messages that wait already are a trigger event after an open, close or alter (T5)."""
    if not eligible(queue) or not now.monitored or now.input_handles:
        return False
    if queue.trigger_type is TriggerType.DEPTH:
        return now.waiting >= queue.trigger_depth
    return queue.trigger_type is TriggerType.FIRST and now.waiting > 0
