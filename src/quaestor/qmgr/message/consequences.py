"""Consequences: messages that the queue manager itself puts because of what happened to another.

Rules
  Z1  A trigger event inside a unit is remembered and its trigger message put when the unit has ended, of FIRST and
      DEPTH also when it backed out: what they saw first may be gone, and the next is no event. Of EVERY a message that
      is gone has none. Outside a unit it is put at once. Trigger messages are not persistent and name the queue manager
      (ReplyToQMgr). What one says, and to which initiation queue it goes, is what the queue and its process say at the
      event, whatever is altered afterwards.
  Z2  A trigger of type DEPTH switches triggering off. That is logged, and others put meanwhile: none of their messages
      is a trigger event any more.
  Z3  A report goes to the reply-to queue in the unit of what it reports. Its identity is the original's, its origin the
      queue manager. One that cannot be put there goes to the dead-letter queue with a header that says why, and that
      the queue manager put it there; failing that, it is given up and counted.
  Z4  Nothing here fails the call it follows from. A shared queue whose structure cannot be reached is no trigger event:
      whoever reaches it again looks (MM4).
  Z5  While a queue's trigger message is being put, what comes to that queue is no trigger event: queues whose trigger
      messages lead back to them would fill each other.
  Z6  What applications may not put there (a persistent message to a temporary queue, anything to a model) is not put
      there here either. "As the queue says" is what the first definition of the path says, as with them.

Called by putting, getting, opening and the manager.  Calls the catalogue, the store and the pure rules.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from quaestor.clock import Clock
from quaestor.mqi import expiry, reports, triggering
from quaestor.mqi.descriptors import (
    APPL_TYPE_QMGR,
    AS_Q_DEF,
    CCSID_UTF8,
    FORMAT_DEAD_LETTER,
    FORMAT_EVENT,
    FORMAT_TRIGGER,
    MQMD,
    NO_ID,
    Target,
)
from quaestor.mqi.headers import MQDLH, TriggerMessage, begun_with
from quaestor.mqi.messages import EXPIRY_UNIT_US, NEVER_US, Message
from quaestor.mqi.objects import DefinitionType, LocalQueue, Process, TriggerType
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.resolution import Resolution
from quaestor.qmgr.message.catalogue import Catalogue
from quaestor.qmgr.message.needs import Unit
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.transmission import for_transmission


class TriggerEvent(NamedTuple):
    """What was so when a trigger event happened (Z1)."""

    state: QueueState
    initiation_queue: str
    body: bytes
    kind: TriggerType


class Consequences:
    """The queue manager as an application of its own."""

    def __init__(self, catalogue: Catalogue, clock: Clock, new_id: Callable[[], bytes]) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._new_id = new_id
        self.remembered: dict[int, list[TriggerEvent]] = {}  # by identity of the unit
        self._under_way: set[QueueState] = set()  # queues whose trigger messages are being put (Z5)
        self._switching: set[QueueState] = set()  # queues whose triggering is being switched off (Z2)
        self.given_up = 0

    # -- triggering

    def due(self, state: QueueState, priority: int) -> bool:
        """Whether a message that is about to be put will be a trigger event."""
        now = self._situation(state)
        if now is None:
            return False
        return triggering.due_on_arrival(state.definition, priority, now._replace(waiting=now.waiting + 1))

    def arrived(self, state: QueueState, priority: int, unit: Unit | None) -> None:
        """A message has been put to a queue that may trigger (Z1)."""
        now = self._situation(state)
        if now is None or not triggering.due_on_arrival(state.definition, priority, now):
            return
        event = self._event(state)
        if unit is None:
            self._put_trigger_message(event)
        else:
            unit.triggers += 1
            self.remembered.setdefault(id(unit), []).append(event)

    def changed(self, state: QueueState) -> None:
        """Handles or attributes of a queue that may trigger have changed."""
        now = self._situation(state)
        if now is not None and triggering.due_on_change(state.definition, now):
            self._put_trigger_message(self._event(state))

    def noticed(self, state: QueueState) -> None:
        """A message has come to a shared queue that may trigger; which every message does is done where it is put."""
        if state.definition.trigger_type is not TriggerType.EVERY:
            self.changed(state)

    def monitor_opened(self, initiation_queue: str) -> None:
        """A trigger monitor opened an initiation queue: messages may be waiting for it."""
        for queue in self._catalogue.local_queues():
            if queue.initiation_queue == initiation_queue and triggering.eligible(queue):
                self.changed(self._catalogue.state(queue.name))

    def unit_ended(self, unit: Unit, *, committed: bool) -> None:
        """Put the trigger messages that waited for the end of a unit (Z1)."""
        for event in self.remembered.pop(id(unit), ()):
            if committed or event.kind is not TriggerType.EVERY:
                self._put_trigger_message(event)

    def _situation(self, state: QueueState) -> triggering.Situation | None:
        """What a trigger depends on; None where nobody can tell (Z4), or it is being switched off (Z2)."""
        if state in self._switching:
            return None
        queue = state.definition
        since_ns = self._clock.monotonic_ns() - state.last_trigger_ns
        try:
            waiting = state.store.count(state.stored, queue.trigger_priority)
        except MQError:
            return None
        return triggering.Situation(
            waiting=waiting,
            input_handles=state.input_handles,
            monitored=self._monitored(queue),
            since_last_trigger_ms=since_ns / 1_000_000 if state.last_trigger_ns else 0,
            trigger_interval_ms=self._catalogue.qmgr.trigger_interval_ms,
        )

    def _monitored(self, queue: LocalQueue) -> bool:
        initiation = self._catalogue.find(LocalQueue, queue.initiation_queue)
        if initiation is None or not initiation.put_allowed or not initiation.get_allowed:
            return False
        if self._process(queue) is None and not queue.xmit:
            return False
        return self._catalogue.state(initiation.name).input_handles > 0

    def _process(self, queue: LocalQueue) -> Process | None:
        return self._catalogue.find(Process, queue.process)

    def _switch_off(self, state: QueueState) -> None:
        """Triggering goes off (Z2); if the queue is being altered just now, that alteration decides."""
        self._switching.add(state)
        try:
            with suppress(MQError):
                self._catalogue.alter(LocalQueue, state.definition.name, trigger=False)
        finally:
            self._switching.remove(state)

    def _put_trigger_message(self, event: TriggerEvent) -> None:
        if event.state in self._under_way:
            return  # Z5
        self._under_way.add(event.state)
        try:
            descriptor = MQMD(format=FORMAT_TRIGGER, persistence=0, reply_to_qmgr=self._catalogue.qmgr.name)
            self._deliver(Target(event.initiation_queue), event.body, descriptor, None)
        finally:
            self._under_way.remove(event.state)

    def _event(self, state: QueueState) -> TriggerEvent:
        """A trigger event of a queue, now (Z1, Z2)."""
        queue = state.definition
        if queue.trigger_type is TriggerType.DEPTH:
            self._switch_off(state)
        state.last_trigger_ns = self._clock.monotonic_ns()
        process = self._process(queue) or Process("UNDEFINED")
        body = TriggerMessage(
            q_name=queue.name,
            process_name=queue.process,
            trigger_data=queue.trigger_data,
            appl_type=process.appl_type,
            appl_id=process.appl_id,
            env_data=process.env_data,
            user_data=process.user_data,
        ).pack()
        return TriggerEvent(state, queue.initiation_queue, body, queue.trigger_type)

    # -- reports

    def report(self, kind: int, original: Message, unit: Unit | None) -> None:
        """Report to the sender of `original` (Z3)."""
        envelope = original.envelope
        target = Target(envelope.reply_to_q, envelope.reply_to_qmgr)
        descriptor = reports.report_descriptor(kind, original, self._clock.now_us())
        self._deliver(target, reports.body(kind, original), descriptor, unit)

    def put_event(self, queue: str, body: bytes, unit: Unit | None) -> None:
        """Put an event message, persistent in a unit; one that cannot be put is given up (Z4)."""
        descriptor = MQMD(format=FORMAT_EVENT, persistence=0 if unit is None else 1)
        try:
            self._put(self._catalogue.resolver().resolve(Target(queue)), body, descriptor, unit)
        except MQError:
            self.given_up += 1

    def _deliver(self, target: Target, body: bytes, md: MQMD, unit: Unit | None) -> None:
        try:
            self._put(self._catalogue.resolver().resolve(target), body, md, unit)
        except MQError as error:
            self._dead_letter(target, body, md, unit, error.reason)

    def _dead_letter(self, target: Target, body: bytes, md: MQMD, unit: Unit | None, reason: Reason) -> None:
        dead_letter_queue = self._catalogue.qmgr.dead_letter_queue
        qmgr = self._catalogue.qmgr.name
        now = datetime.fromtimestamp(self._clock.now_us() / 1_000_000, UTC)
        header = MQDLH(
            int(reason), target.name, target.qmgr or qmgr, md.encoding, md.ccsid or CCSID_UTF8, md.format,
            APPL_TYPE_QMGR, qmgr, now.strftime("%Y%m%d"), now.strftime("%H%M%S00"),
        )  # fmt: skip
        if not dead_letter_queue:
            self.given_up += 1  # Z3
            return
        try:
            resolved = self._catalogue.resolver().resolve(Target(dead_letter_queue))
            self._put(resolved, header.pack() + body, begun_with(FORMAT_DEAD_LETTER, md), unit)
        except MQError:
            self.given_up += 1  # Z3, Z4

    def _put(self, resolution: Resolution, body: bytes, md: MQMD, unit: Unit | None) -> None:
        if resolution.model is not None:
            raise MQError(Reason.Q_TYPE_ERROR, queue=resolution.queue.name)  # Z6
        state = self._catalogue.usable(resolution.queue.name)
        queue = state.definition
        if not all(definition.put_allowed for definition in resolution.path):
            raise MQError(Reason.PUT_INHIBITED, queue=queue.name)
        if state.stored.counted.depth >= queue.max_depth:
            raise MQError(Reason.Q_FULL, queue=queue.name)
        message = self._message(body, md, resolution.path[0].def_priority, queue.max_expiry)
        if message.persistence and queue.definition is DefinitionType.TEMPDYN:
            raise MQError(Reason.PERSISTENT_NOT_ALLOWED, queue=queue.name)  # Z6
        if resolution.remote is not None:
            message = for_transmission(message, resolution.remote)
        if len(message.body) > queue.max_msg_length:
            raise MQError(Reason.MSG_TOO_BIG_FOR_Q, queue=queue.name, length=len(message.body))
        rank = queue.def_priority if queue.fifo else min(message.priority, 9)
        arrival = state.store.put(unit, state.stored, message, rank)
        if unit is None and state.waiters:
            state.waiters.wake(arrival)
        if triggering.eligible(queue):
            self.arrived(state, rank, unit)

    def _message(self, body: bytes, md: MQMD, def_priority: int, max_expiry: int) -> Message:
        qmgr = self._catalogue.qmgr.name
        envelope = replace(
            md, put_appl_type=APPL_TYPE_QMGR, put_appl_name=qmgr, put_date="", put_time="", appl_origin_data=""
        )
        msg_id = self._new_id() if md.msg_id == NO_ID else md.msg_id
        priority = def_priority if md.priority == AS_Q_DEF else md.priority
        put_us, tenths = self._clock.now_us(), expiry.checked(md.expiry, max_expiry)
        expires_us = NEVER_US if tenths < 0 else put_us + tenths * EXPIRY_UNIT_US
        return Message(
            body, envelope, msg_id, md.correl_id, priority, md.persistence & 1, put_us, expires_us, expiry=tenths
        )
