"""Put with care: a message with a group, a remote queue, new identifiers, a trigger or a report to think of.

Rules
  PU5 What was put comes back as the application said it, also when it waits in a transmission queue, behind a header.
      After the put: trigger rule, confirm-on-arrival report, one waiter woken. A shared queue triggers where a member
      notices the message (M-89), not here, unless every message does.

Called by putting, whose `OutputPath` is a `CarefulOutput`.  Calls grouping, consequences, events, the store.
"""

from dataclasses import replace

from quaestor.mqi import reports
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import PRIORITY_MAX
from quaestor.mqi.options import GROUP_FLAGS, PutPlan
from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.message.grouping import Group, left_behind, next_to_put
from quaestor.qmgr.message.needs import Unit
from quaestor.qmgr.message.put_lookup import DEFAULT_DESCRIPTOR, LookedUpOutput
from quaestor.qmgr.message.services import CLOSED
from quaestor.qmgr.message.transmission import for_transmission


class CarefulOutput(LookedUpOutput):
    """A way out on which something follows from a put (PU5)."""

    __slots__ = ()

    def _queue_with_care(self, message: Message, rank: int, plan: PutPlan) -> Message:
        """A message with a group, a remote queue, new identifiers, a trigger or a report to think of (PU5, PU7)."""
        try:
            return self._queued_with_care(message, rank, plan)
        except MQError:
            self._caller.warning = None
            raise

    def _queued_with_care(self, message: Message, rank: int, plan: PutPlan) -> Message:
        message, group = self._finished(message, plan)
        stored = message if self._remote is None else for_transmission(message, self._remote)
        longest = self.state.definition.max_msg_length
        if len(stored.body) > longest:  # the header of a message in a group is longer than that of others
            raise MQError(Reason.MSG_TOO_BIG_FOR_Q, queue=self._path[-1], length=len(stored.body), max_length=longest)
        reported = message.envelope.report & reports.COA and self._remote is None
        unit: Unit | None
        if plan.in_syncpoint:
            unit = self._caller.unit_in_syncpoint(self._max_uncommitted, self._messages(2 if reported else 1, rank))
        else:
            unit = self._caller.unit_of_call() if message.persistence else None
        try:
            arrival = self._store_put(unit, self._stored, stored, rank)
        except MQError as error:
            if error.reason is Reason.Q_FULL and self._watch is not None:
                self._services.events.refused(self._watch)
            raise
        if group is not self._group:
            self._caller.in_group(unit, self, self._group)
            self.resume_group(group)
        if self._triggers:
            self._services.consequences.arrived(self.state, rank, unit)
        if self._watch is not None:
            self._services.events.put(self._watch, self.state)
        if message.priority > PRIORITY_MAX:
            self._caller.warning = MQError(Reason.PRIORITY_EXCEEDS_MAXIMUM, priority=message.priority)
        elif message.envelope.report and reports.unknown(message.envelope.report):
            self._caller.warning = MQError(Reason.UNKNOWN_REPORT_OPTION, report=message.envelope.report)
        if reported:
            self._services.consequences.report(reports.COA, message, unit)
            if self._caller.tally is not None:
                self._caller.tally.generated()
        if unit is None and self._waiting:
            self._waiters.wake(arrival)
        return message

    def _messages(self, messages: int, rank: int) -> int:
        """How many messages a put adds to its unit, if it matters: so many, and one that it may trigger (X3)."""
        if not self._triggers or self._caller.has_room(self._max_uncommitted, messages + 1):
            return messages
        return messages + self._services.consequences.due(self.state, rank)

    def _finished(self, message: Message, plan: PutPlan) -> tuple[Message, Group | None]:
        """Identifiers and group, and the group the handle is in afterwards."""
        if plan.new_msg_id:
            message = message._replace(msg_id=self._new_id())
        if plan.new_correl_id:
            message = message._replace(correl_id=self._new_id())
        envelope, group = message.envelope, self._group
        if plan.logical_order:
            envelope, group = next_to_put(group, envelope, message.persistence, plan, self._new_id)
        elif group is not None or envelope.msg_flags:
            envelope, group = self._physical(envelope)
        if envelope is not message.envelope:
            message = message._replace(envelope=envelope)
        return message, group

    def _physical(self, envelope: MQMD) -> tuple[MQMD, None]:
        """A message of a group put by its own numbers, perhaps in the middle of another group."""
        if self._group is not None:
            left_behind(self._group, self._caller)
        if envelope.msg_flags & GROUP_FLAGS and envelope.group_id == DEFAULT_DESCRIPTOR.group_id:
            envelope = replace(envelope, group_id=self._new_id())
        return envelope, None

    def resume_group(self, group: Group | None) -> None:
        """Be in this group, or in none."""
        self._group = group
        self._plain = self._path_is_plain()

    def close(self) -> None:
        """Refuse who waits for the latch; warn of a group that is not complete."""
        self._version, self._closed = CLOSED, True
        if self._group is not None:
            left_behind(self._group, self._caller)
