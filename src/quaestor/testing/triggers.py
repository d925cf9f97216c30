"""Triggers: whether the trigger messages in a history are those that the rules of triggering allow and ask for.

Rules
  TG1 idle: when everything was settled and trigger monitors had had their turn, messages are found that nobody serves:
      one or more on a queue that triggers FIRST, as many as its depth on one that triggers by DEPTH. Nothing is claimed
      of EVERY: whoever loses one of its trigger messages has lost it.
  TG2 doubled: one trigger message was got twice.
  TG3 without occasion: more trigger messages than there were occasions. EVERY: one for each message put, committed or
      not. DEPTH: one of each member, each time that triggering is switched on, and after each fault. FIRST: one of each
      member, each time that a message was taken away and the queue may have been empty then, that a server closed it,
      that a trigger monitor opened the initiation queue, and after each fault.

Called by whoever has a history.  Calls verdict.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from quaestor.mqi.objects import TriggerType
from quaestor.testing.history import Event
from quaestor.testing.verdict import Violation


def trigger_verdict(
    events: Iterable[Event], queues: Mapping[str, TriggerType], depth: int, members: int
) -> list[Violation]:
    """What triggering must not have done to these queues, which trigger at this depth (TG1 to TG3)."""
    told = list(events)
    return [*_idle(told, queues, depth), *_doubled(told), *_without_occasion(told, queues, members)]


def _idle(events: Sequence[Event], queues: Mapping[str, TriggerType], depth: int) -> Iterator[Violation]:
    left: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if event.verb == "drain" and event.outcome == "ok" and event.message:
            left[event.queue].append(event.message)
    for queue, kind in queues.items():
        enough = {TriggerType.FIRST: 1, TriggerType.DEPTH: depth}.get(kind)
        if enough is not None and len(left[queue]) >= enough:
            text = f"{len(left[queue])} messages wait on {queue} ({kind.name}), and nobody serves it (TG1)"
            yield Violation("idle", tuple(left[queue]), text)


def _doubled(events: Sequence[Event]) -> Iterator[Violation]:
    got = Counter(event.message for event in events if event.verb == "trigger" and event.message)
    for message, times in got.items():
        if times > 1:
            yield Violation("doubled", (message,), f"trigger message {message} was got {times} times (TG2)")


def _without_occasion(events: Sequence[Event], queues: Mapping[str, TriggerType], members: int) -> Iterator[Violation]:
    got = Counter(event.queue for event in events if event.verb == "trigger" and event.message)
    for queue, kind in queues.items():
        most = _occasions(events, queue, kind) * (1 if kind is TriggerType.EVERY else members)
        if got[queue] > most:
            text = f"{got[queue]} trigger messages for {queue} ({kind.name}), and {most} at most had an occasion (TG3)"
            yield Violation("without occasion", (), text)


def _occasions(events: Sequence[Event], queue: str, kind: TriggerType) -> int:
    """How often something happened that may be a reason for a trigger message (TG3)."""
    of_queue = Counter((event.verb, event.outcome) for event in events if event.queue == queue)
    if kind is TriggerType.EVERY:
        return of_queue["put", "invoke"]
    faults = sum(event.verb in ("fault", "lost") for event in events)
    if kind is TriggerType.DEPTH:
        return 1 + of_queue["rearm", "invoke"] + faults
    taken = sum(event.verb == "get" and event.queue == queue and bool(event.message) for event in events)
    watched = sum(event.verb == "monitor" and event.outcome == "invoke" for event in events)
    return 1 + taken + of_queue["serve", "invoke"] + watched + faults
