"""Putting: the way of a message from a handle to a queue.

Rules
  PU1 Everything that the definitions decide is looked up when the handle is opened and again only when some
      definition has changed; a put compares one number.
  PU2 In this order: form (FO2), options (2046), inhibited (2051), too long (2030, 2031), descriptor, full (2053), too
      many uncommitted (2024). Nothing is changed before the last of them has passed.
  PU3 Without syncpoint a message that is not persistent is available at once; a persistent one is put in the
      unit of the call and available when that has committed.
  PU4 Out of syncpoint, a message that a waiting getter (out of syncpoint too) asks for goes straight to it.
  PU5 What was put comes back as the application said it, also when it waits in a transmission queue, behind a header.
      After the put: trigger rule, confirm-on-arrival report, one waiter woken. A shared queue triggers where a member
      notices the message (M-89), not here, unless every message does.
  PU6 Puts in one unit that differ in nothing but their bodies decide once, and have one time (`put_more`). The first
      that has anything more to think of, or would be refused, is left to a put of its own, which says why.
  PU7 A put that is refused warns of nothing, also where one before it in the same call did.

Called by opening (which makes an `OutputPath`) and connection.  Calls describing, grouping, consequences, the store.
"""

from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from quaestor.mqi import forms, reports, triggering
from quaestor.mqi.descriptors import CCSID_UTF8, FORMAT_NONE, FORMAT_STRING, ID_LENGTH, MQMD, NO_ID, identifier
from quaestor.mqi.messages import EXPIRY_UNIT_US, Message
from quaestor.mqi.objects import PRIORITY_MAX, Queue, TriggerType
from quaestor.mqi.options import GROUP_FLAGS, OpenOptions, PutOptions, PutPlan, put_plan
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.resolution import Resolution, Resolver
from quaestor.qmgr.message.describing import Described, describe, pass_context
from quaestor.qmgr.message.grouping import Group, left_behind, next_to_put
from quaestor.qmgr.message.needs import Unit
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.services import Services, refuse
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.message.transmission import for_transmission

if TYPE_CHECKING:
    from quaestor.qmgr.message.getting import InputPath

DEFAULT_DESCRIPTOR: Final = MQMD()
NOTHING_DESCRIBED = Described(DEFAULT_DESCRIPTOR, None, NO_ID, 0, 0, 0, -1, plain=False)
new_message: Final = tuple.__new__
"""A message is made with every put: without the indirection of the named tuple's own constructor."""

TRANSMISSION_HEADER = 428
_CONTEXT_NEEDS = {
    PutOptions.PASS_IDENTITY_CONTEXT: (
        OpenOptions.PASS_IDENTITY_CONTEXT | OpenOptions.PASS_ALL_CONTEXT,
        Reason.NOT_OPEN_FOR_PASS_IDENT,
    ),
    PutOptions.PASS_ALL_CONTEXT: (OpenOptions.PASS_ALL_CONTEXT, Reason.NOT_OPEN_FOR_PASS_ALL),
    PutOptions.SET_IDENTITY_CONTEXT: (
        OpenOptions.SET_IDENTITY_CONTEXT | OpenOptions.SET_ALL_CONTEXT,
        Reason.NOT_OPEN_FOR_SET_IDENT,
    ),
    PutOptions.SET_ALL_CONTEXT: (OpenOptions.SET_ALL_CONTEXT, Reason.NOT_OPEN_FOR_SET_ALL),
}


class OutputPath:
    """A handle's way to a queue (PU1)."""

    __slots__ = (
        "_caller",
        "_catalogue",
        "_counted",
        "_described",
        "_express",
        "_group",
        "_in_syncpoint",
        "_max_depth",
        "_max_length",
        "_max_uncommitted",
        "_md_seen",
        "_new_id",
        "_now_us",
        "_open_options",
        "_options_seen",
        "_path",
        "_plain",
        "_plan",
        "_refusal",
        "_remote",
        "_services",
        "_simple",
        "_stats",
        "_store_put",
        "_store_put_run",
        "_stored",
        "_text_seen",
        "_triggers",
        "_user",
        "_version",
        "_waiters",
        "_waiting",
        "_watch",
        "state",
    )

    def __init__(
        self,
        services: Services,
        state: QueueState,
        resolution: Resolution,
        thread: ApplicationThread,
        options: int,
        user: str,
    ) -> None:
        self._services = services
        self._catalogue = services.catalogue
        self._now_us = services.clock.now_us
        self._new_id = services.new_id
        self._store_put = state.store.put
        self._store_put_run = state.store.put_run
        self._stats = services.stats
        self._caller, self._user = thread, user
        self._remote = resolution.remote
        self._path = tuple(definition.name for definition in resolution.path)
        self._open_options = int(options)
        self._plan: PutPlan = put_plan(PutOptions.NONE)
        self._in_syncpoint, self._simple = self._plan.in_syncpoint, self._plan.plain
        self._options_seen: object = PutOptions.NONE
        self._group: Group | None = None
        self._text_seen: tuple[MQMD | None, MQMD] = (None, DEFAULT_DESCRIPTOR)
        self._version = 0
        self.state = state
        self._stored = state.stored
        self._counted = state.stored.counted
        self._waiters = state.waiters
        self._waiting = state.waiters.waiting
        self._express = None if state.stored.shared else thread.express
        self._refresh()

    def _refresh(self) -> None:
        """Look again at the definitions of the path (PU1)."""
        path = self.definitions()
        queue, qmgr = self.state.definition, self._catalogue.qmgr
        self._version = self._catalogue.seen
        self._refusal = self._why_refused(path)
        header = 0 if self._remote is None else TRANSMISSION_HEADER
        self._max_length = min(queue.max_msg_length - header, qmgr.max_msg_length)
        self._max_depth = queue.max_depth
        self._max_uncommitted = qmgr.max_uncommitted
        self._triggers = triggering.eligible(queue) and (not queue.shared or queue.trigger_type is TriggerType.EVERY)
        self._watch = self._services.events.watch(self.state)
        self._plain = self._path_is_plain()
        self._md_seen: MQMD | None = None
        self._described = NOTHING_DESCRIBED

    def definitions(self) -> tuple[Queue, ...]:
        """The definitions of the path that are still there, the queue itself last."""
        found = [self._catalogue.find_queue(name) for name in self._path[:-1]]
        return (*(definition for definition in found if definition is not None), self.state.definition)

    def _why_refused(self, path: tuple[Queue, ...]) -> MQError | None:
        if self.state.deleted:
            return MQError(Reason.Q_DELETED, queue=self._path[-1])
        if self._catalogue.ending is Reason.Q_MGR_STOPPING:
            return MQError(Reason.Q_MGR_STOPPING)
        inhibited = next((definition.name for definition in path if not definition.put_allowed), None)
        if inhibited is not None:
            return MQError(Reason.PUT_INHIBITED, queue=inhibited)
        return None if self._catalogue.ending is None else MQError(self._catalogue.ending)

    def put(
        self,
        body: Any,
        descriptor: Any = None,
        options: Any = PutOptions.NONE,
        correl_id: Any = None,
        context: "InputPath | None" = None,
    ) -> Message:
        """Put one message (PU2-PU5). What the application gave may be of any type; a wrong one is refused here."""
        if descriptor is None:
            descriptor = DEFAULT_DESCRIPTOR
        if (
            descriptor is not self._md_seen
            or options is not self._options_seen
            or self._version != self._catalogue.version
            or type(body) is not bytes
            or context is not None
        ):
            body, described = self._looked_up(body, descriptor, options, correl_id, context)
        else:
            described = self._described
        envelope, msg_id, own_correl_id, priority, rank, persistence, expiry, plain = described
        if correl_id is None:
            correl_id = own_correl_id
        elif type(correl_id) is not bytes or len(correl_id) != ID_LENGTH:
            correl_id = identifier(correl_id)
        length = len(body)
        if length > self._max_length:
            raise self._too_long(length)
        if self._counted.depth >= self._max_depth:
            raise self._full()

        if msg_id is None:
            msg_id = self._new_id()
        put_us = self._now_us()
        expires_us = 0 if expiry < 0 else put_us + expiry * EXPIRY_UNIT_US
        if persistence and not self._in_syncpoint and plain and self._plain and self._simple and not self._waiting:
            express = self._express
            if express is not None and not self._caller.many:
                put = express(
                    self._stored, body, envelope, msg_id, correl_id, priority, rank, put_us, expires_us, expiry,
                    self._count_express,
                )  # fmt: skip
                if put is not None:
                    if self._waiting:  # somebody has come meanwhile
                        self._waiters.wake(put[1])
                    return put[0]
        message = new_message(
            Message, (body, envelope, msg_id, correl_id, priority, persistence, put_us, expires_us, 0, expiry, -1)
        )
        if not (plain and self._plain and self._simple):
            message = self._queue_with_care(message, rank, self._plan)
        elif self._in_syncpoint:
            unit = self._caller.unit
            if (
                unit is None
                or unit.shared is not None
                or unit.triggers
                or len(unit.puts) + len(unit.gets) >= self._max_uncommitted
            ):
                unit = self._caller.unit_in_syncpoint(self._max_uncommitted)
            self._store_put(unit, self._stored, message, rank)
        elif self._waiting:
            self._hand_over_or_queue(message, rank)
        elif not persistence:
            self._store_put(None, self._stored, message, rank)
        else:
            self._store_put(self._caller.unit_of_one(), self._stored, message, rank)
        stats = self._stats
        stats.puts += 1
        if persistence:
            stats.persistent_puts += 1
            stats.persistent_bytes_put += length
        else:
            stats.nonpersistent_puts += 1
            stats.nonpersistent_bytes_put += length
        return message

    def _looked_up(
        self, body: Any, md: Any, options: Any, correl_id: Any, context: "InputPath | None"
    ) -> tuple[bytes, Described]:
        """A put that is not like the one before it on this handle: what is asked for, and whether it may be (PU2)."""
        given = body, md
        try:
            if self._version != self._catalogue.version:
                self._catalogue.gate.enter(self._caller)
                self._refresh()
            if options is not self._options_seen:
                self._plan, self._options_seen = put_plan(options), options
                self._in_syncpoint, self._simple = self._plan.in_syncpoint, self._plan.plain
            plan = self._plan
            if self._refusal is not None:
                refuse(self._refusal, plan.fail_if_quiescing)
            if type(body) is not bytes:
                body, md = self._as_bytes(body, md)
            if len(body) > self._max_length:
                raise self._too_long(len(body))
            if plan.context or context is not None:
                self._md_seen = None
                return body, self._with_context(md, plan, context)
            if md is not self._md_seen:
                self._describe(md)
                if self._refusal is not None:
                    self._md_seen = None  # the next put looks again
        except MQError:
            self._caller.warning = None  # PU7
            forms.check_put(*given, options, correl_id)
            raise
        return body, self._described

    def put_more(self, bodies: list[Any], at: int, descriptor: MQMD | None, options: int) -> list[Message]:
        """Put from `at` on what is like the message put last, as far as it is; gives what was put (PU6)."""
        plan, caller = self._plan, self._caller
        md = descriptor if descriptor is not None else DEFAULT_DESCRIPTOR
        if not (self._plain and plan.plain) or self._version != self._catalogue.version:
            return []
        if self._stored.shared:
            return []
        if options != self._options_seen or md is not self._md_seen:
            return []
        envelope, msg_id, correl_id, priority, rank, persistence, expiry, plain = self._described
        unit = caller.unit if plan.in_syncpoint else caller.call_unit
        if unit is None or unit.shared is not None or msg_id is not None or not plain:
            return []
        room = self._max_depth - self._counted.depth
        if plan.in_syncpoint:
            room = min(room, self._max_uncommitted - len(unit.puts) - len(unit.gets) - unit.triggers)
        some = self._alike(bodies[at : at + max(room, 0)])
        if not some:
            return []
        new_id, put_us = self._new_id, self._now_us()
        expires_us = 0 if expiry < 0 else put_us + expiry * EXPIRY_UNIT_US
        rows = zip(
            some, repeat(envelope), [new_id() for _ in some], repeat(correl_id), repeat(priority), repeat(persistence),
            repeat(put_us), repeat(expires_us), repeat(0), repeat(expiry), repeat(-1), strict=False,
        )  # fmt: skip
        messages = [new_message(Message, row) for row in rows]
        put = self._store_put_run(unit, self._stored, messages, rank)
        del messages[put:]
        self._count(put, sum(map(len, some[:put])), persistence)
        return messages

    def _alike(self, bodies: list[Any]) -> list[bytes]:
        """The first of the bodies, as far as nothing but to put them is to be done about them."""
        longest = self._max_length
        for at, body in enumerate(bodies):
            if type(body) is not bytes or len(body) > longest:
                return bodies[:at]
        return bodies

    def _count_express(self, length: int) -> None:
        stats = self._stats
        stats.puts += 1
        stats.persistent_puts += 1
        stats.persistent_bytes_put += length

    def _count(self, messages: int, put_bytes: int, persistence: int) -> None:
        stats = self._stats
        stats.puts += messages
        if persistence:
            stats.persistent_puts += messages
            stats.persistent_bytes_put += put_bytes
        else:
            stats.nonpersistent_puts += messages
            stats.nonpersistent_bytes_put += put_bytes

    def _hand_over_or_queue(self, message: Message, rank: int) -> None:
        """A message out of syncpoint from which nothing follows, while somebody waits (PU3, PU4)."""
        if self._waiters.hand_over(message):
            if self._caller.tally is not None:
                self._caller.tally.handed_over()
        elif message.persistence:
            self._store_put(self._caller.unit_of_one(), self._stored, message, rank)
        else:
            self._waiters.wake(self._store_put(None, self._stored, message, rank))

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

    def _path_is_plain(self) -> bool:
        """Whether nothing but the queue itself has to be thought of at a put."""
        return self._remote is None and self._group is None and not self._triggers and self._watch is None

    def _as_bytes(self, body: object, md: MQMD) -> tuple[bytes, MQMD]:
        """A body as bytes; text says so in the descriptor."""
        if isinstance(body, str) and type(md) is MQMD:
            if md is not self._text_seen[0]:
                fmt = md.format if md.format != FORMAT_NONE else FORMAT_STRING
                self._text_seen = (md, replace(md, ccsid=CCSID_UTF8, format=fmt))
            return body.encode(), self._text_seen[1]
        if not isinstance(body, bytes | bytearray | memoryview | str):
            raise MQError(Reason.BUFFER_ERROR, body=type(body).__name__)
        return b"" if isinstance(body, str) else bytes(body), md  # a descriptor that is none is refused later

    def _describe(self, md: MQMD) -> None:
        if type(md) is not MQMD:
            raise MQError(Reason.MD_ERROR, descriptor=type(md).__name__)
        self._described = self._said(md)
        self._md_seen = md

    def _with_context(self, md: MQMD, plan: PutPlan, context: "InputPath | None") -> Described:
        """A put that passes, sets or refuses context; these are rare and looked up each time."""
        needs = _CONTEXT_NEEDS.get(PutOptions(plan.context))
        if needs is not None and not self._open_options & int(needs[0]):
            raise MQError(needs[1], queue=self._path[-1])
        if plan.context & (PutOptions.PASS_ALL_CONTEXT | PutOptions.PASS_IDENTITY_CONTEXT):
            if context is None or not context.saves_context:
                raise MQError(Reason.CONTEXT_HANDLE_ERROR)
            if context.saved is None:
                raise MQError(Reason.CONTEXT_NOT_AVAILABLE)
            md = pass_context(md, context.saved.descriptor, plan.context)
        return self._said(md, plan.context)

    def _said(self, md: MQMD, context: int = 0) -> Described:
        """What a descriptor means on this path."""
        travels, here = self._remote is not None, Resolver(self._catalogue.qmgr.name, self._catalogue.find_queue, "")
        return describe(md, self.definitions(), self._caller, self._user, here, context, travels=travels)

    def _physical(self, envelope: MQMD) -> tuple[MQMD, None]:
        """A message of a group put by its own numbers, perhaps in the middle of another group."""
        if self._group is not None:
            left_behind(self._group, self._caller)
        if envelope.msg_flags & GROUP_FLAGS and envelope.group_id == DEFAULT_DESCRIPTOR.group_id:
            envelope = replace(envelope, group_id=self._new_id())
        return envelope, None

    def _full(self) -> MQError:
        self._caller.warning = None  # PU7
        if self._watch is not None:
            self._services.events.refused(self._watch)
        return MQError(Reason.Q_FULL, queue=self._path[-1], depth=self._stored.depth)

    def _too_long(self, length: int) -> MQError:
        self._caller.warning = None  # PU7
        qmgr_max = self._catalogue.qmgr.max_msg_length
        if length > qmgr_max:
            return MQError(Reason.MSG_TOO_BIG_FOR_Q_MGR, length=length, max_length=qmgr_max)
        return MQError(Reason.MSG_TOO_BIG_FOR_Q, queue=self._path[-1], length=length, max_length=self._max_length)

    def resume_group(self, group: Group | None) -> None:
        """Be in this group, or in none."""
        self._group = group
        self._plain = self._path_is_plain()

    def close(self) -> None:
        """Warn of a group that is not complete."""
        if self._group is not None:
            left_behind(self._group, self._caller)
