"""Put lookup: what a handle's way out knows before a put, and what a put that is not like the last one asks for.

Rules
  PU1 Everything that the definitions decide is looked up when the handle is opened and again only when some
      definition has changed; a put compares one number.
  PU7 A put that is refused warns of nothing, also where one before it in the same call did.

Called by putting, whose `OutputPath` is a `LookedUpOutput`.  Calls describing, the catalogue.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from quaestor.mqi import forms, triggering
from quaestor.mqi.descriptors import CCSID_UTF8, FORMAT_NONE, FORMAT_STRING, MQMD, NO_ID
from quaestor.mqi.objects import Queue, TriggerType
from quaestor.mqi.options import OpenOptions, PutOptions, PutPlan, put_plan
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.resolution import Resolution, Resolver
from quaestor.qmgr.message.describing import Described, describe, pass_context
from quaestor.qmgr.message.grouping import Group
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.services import Services, refuse
from quaestor.qmgr.message.thread import ApplicationThread

if TYPE_CHECKING:
    from quaestor.qmgr.message.getting import InputPath

DEFAULT_DESCRIPTOR: Final = MQMD()
NOTHING_DESCRIBED = Described(DEFAULT_DESCRIPTOR, None, NO_ID, 0, 0, 0, -1, plain=False)
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


class LookedUpOutput:
    """What definitions, options and a descriptor decide for one handle (PU1)."""

    __slots__ = (
        "_caller",
        "_catalogue",
        "_closed",
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
        self._version, self._closed = 0, False
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
        if self._closed:
            return MQError(Reason.HOBJ_ERROR, queue=self._path[-1])
        if self.state.deleted:
            return MQError(Reason.Q_DELETED, queue=self._path[-1])
        if self._catalogue.ending is Reason.Q_MGR_STOPPING:
            return MQError(Reason.Q_MGR_STOPPING)
        inhibited = next((definition.name for definition in path if not definition.put_allowed), None)
        if inhibited is not None:
            return MQError(Reason.PUT_INHIBITED, queue=inhibited)
        return None if self._catalogue.ending is None else MQError(self._catalogue.ending)

    def _path_is_plain(self) -> bool:
        """Whether nothing but the queue itself has to be thought of at a put."""
        return self._remote is None and self._group is None and not self._triggers and self._watch is None

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

    def _as_bytes(self, body: object, md: MQMD) -> tuple[bytes, MQMD]:
        """A body as bytes; text says so in the descriptor."""
        if isinstance(body, str) and type(md) is MQMD:
            if md is not self._text_seen[0]:
                fmt = md.format if md.format != FORMAT_NONE else FORMAT_STRING
                self._text_seen = (md, replace(md, ccsid=CCSID_UTF8, format=fmt))
            return forms.encoded(body), self._text_seen[1]
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
