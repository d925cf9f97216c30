"""Shared getting: a handle's way from a shared queue, where other queue managers get at the same time.

Rules
  SG1 A plain get is one request: the message is claimed, not looked for first. What is only told because something has
      to be thought of (it may have expired, it is too long) goes the way of every other get; so does the last message
      that there is room for in a unit.
  SG2 A message that was found may be another's when it is taken or locked; then the get looks again.
  SG3 Whoever is about to wait has said before that it wants to be told, so no message comes unnoticed between looking
      and waiting. One that asks for anything, or browses, wants to be told of each message.
  SG4 A getter that got something, or left it where it is, wakes the next one that waits here (Y5).
  SG5 What the queue's INDXTYPE is not for is refused (M5) before anything is looked for, also of a getter that waited
      while INDXTYPE was altered. What the cursor stands on is not looked for.

Called by opening, which makes one for a shared queue.  Calls getting, the shared store.
"""

from typing import Any

from quaestor.mqi.matching import ANY, Selection, check_index
from quaestor.mqi.messages import Message
from quaestor.mqi.options import GetPlan
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.getting import InputPath
from quaestor.qmgr.message.needs import Arrival
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.services import Services, refuse
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.message.waiting import Waiting
from quaestor.qmgr.queue_store import AVAILABLE, VanishedError


class SharedInputPath(InputPath):
    """A handle's way from a shared queue (SG1-SG5)."""

    __slots__ = ("_queue", "_queue_store")

    def __init__(
        self, services: Services, state: QueueState, path: tuple[str, ...], thread: ApplicationThread, options: int
    ) -> None:
        super().__init__(services, state, path, thread, options)
        self._queue: Any = state.stored  # both know more than others need of them
        self._queue_store: Any = state.store

    def look(self, plan: GetPlan, asked: Selection, max_length: int) -> Message | Waiting:
        if plan.wait:
            self._queue.be_told(each=asked != ANY or not plan.plain)  # SG3
        while True:
            try:
                found = self._claim(plan, asked, max_length) or super().look(plan, asked, max_length)
            except VanishedError:
                self._caller.warning = None
                continue  # SG2
            except MQError as error:
                if error.reason is not Reason.NO_MSG_AVAILABLE:
                    self.state.waiters.next_one()  # SG4: it left what is there
                raise
            break
        if type(found) is not Waiting and self.state.waiters:
            self.state.waiters.next_one()  # SG4
        return found

    def _claim(self, plan: GetPlan, asked: Selection, max_length: int) -> Message | Waiting | None:
        """A plain get with one request; None when it must be looked for in another way (SG1)."""
        if not plan.plain or self._locked is not None or asked.sequence is not None or asked.token is not None:
            return None
        if self._version != self._catalogue.version:
            if not plan.browse:
                self._catalogue.gate.enter(self._caller)
            self._refresh()
        if self._refusal is not None:
            refuse(self._refusal, plan.fail_if_quiescing)
        if asked is not ANY:
            check_index(asked, self.state.definition)  # SG5
        caller, into = self._caller, plan.in_syncpoint or plan.if_persistent
        if into and not caller.has_room(self._max_uncommitted, 2):
            return None  # X3: whether there is to be a report is known when it has been looked at
        unit = caller.unit if into else caller.call_unit
        arrival = self._queue_store.claim(self._queue, unit, asked, max_length, in_unit=plan.in_syncpoint)
        if arrival is None:
            return self._nothing(plan, asked, max_length)
        return None if arrival.state == AVAILABLE else self._deliver(arrival, plan, max_length)

    def _first_for(self, asked: Selection, after: Arrival | None) -> Arrival | None:
        check_index(asked, self.state.definition)  # SG5
        return super()._first_for(asked, after)

    def _in_groups(self, plan: GetPlan, asked: Selection, after: Arrival | None) -> Arrival | None:
        check_index(asked, self.state.definition)  # SG5
        return super()._in_groups(plan, asked, after)
