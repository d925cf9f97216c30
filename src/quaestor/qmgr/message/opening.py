"""Opening: from a name to a handle's ways to a queue, and the end of them.

Rules
  OP1 The name is resolved, then authority checked on the name given, then the options against the type of the
      queue found: input, browse and set only on a local queue (2045). With ALTERNATE_USER_AUTHORITY the user named in
      the object descriptor is checked, if the application may act for him; context is the application's own affair.
      Of a model both names are checked: its own, and that of the queue that is to be made.
  OP2 Shared and exclusive input exclude each other (2042), for a shared queue over all members of the group. A NOSHARE
      queue has one input handle at most; input "as the queue says" is what DEFSOPT says.
  OP3 Opening a model makes a dynamic queue; a temporary one goes with the handle that made it, a permanent one
      when it is closed with DELETE (empty) or DELETE_PURGE; neither with uncommitted work on it (2055). A shared one
      (SHAREDYN) is a permanent one for all members of the group. MQPUT1 makes none (2057).
  OP4 A dynamic queue that is deleted while others have it open is gone for them too (2052); its storage goes
      with the last handle.
      A permanent one that cannot be deleted stays open (2056 where there is no log). A temporary one is closed all the
      same, and so is its application: the background removes it when there is log again (`remove_left`).
  OP5 Opening an initiation queue for input and closing the last input handle of a queue are occasions to trigger.
  OP6 A handle is closed once. While the log is waited for, for the end of a dynamic queue, another thread may close the
      same handle, or end its application.

Called by the message manager.  Calls resolution, security, the catalogue.
"""

from typing import Any

from quaestor.mqi import triggering
from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.descriptors import Target
from quaestor.mqi.names import dynamic_name
from quaestor.mqi.objects import DefinitionType, LocalQueue, ModelQueue, MQObject, Queue
from quaestor.mqi.options import INPUT_ANY, CloseOptions, OpenOptions, check_close, check_open
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.resolution import Resolution
from quaestor.qmgr.message import inquiring
from quaestor.qmgr.message.getting import InputPath
from quaestor.qmgr.message.putting import OutputPath
from quaestor.qmgr.message.queue_state import QueueState
from quaestor.qmgr.message.services import Services
from quaestor.qmgr.message.shared_getting import SharedInputPath
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.security import Access, Security

_ACCESSES = (
    (INPUT_ANY, Access.GET),
    (int(OpenOptions.BROWSE), Access.BROWSE),
    (int(OpenOptions.OUTPUT), Access.PUT),
    (int(OpenOptions.INQUIRE), Access.INQUIRE),
    (int(OpenOptions.SET), Access.SET),
    (256 | 512 | 1024 | 2048, Access.CONTEXT),
)
"""What open options ask for, and the access each needs."""

USER_LENGTH = 12
_TAKEN = (Reason.OBJECT_ALREADY_EXISTS, Reason.NAME_IN_USE)


class OpenQueue:
    """An open handle as the message manager sees it."""

    __slots__ = ("exclusive", "input", "name", "options", "output", "resolution", "state", "thread")

    def __init__(self, resolution: Resolution, state: QueueState, thread: ApplicationThread, options: int) -> None:
        self.name = state.definition.name  # after resolution: what a dynamic queue came to be called
        self.resolution = resolution
        self.state = state
        self.thread = thread
        self.options = options
        self.exclusive = False
        self.output: OutputPath | None = None
        self.input: InputPath | None = None


class Opener:
    """Opens and closes queues."""

    def __init__(self, services: Services, security: Security) -> None:
        self._services = services
        self._catalogue = services.catalogue
        self._security = security
        self.left: list[LocalQueue] = []
        """Temporary queues that could not be removed with their handles (OP4)."""

    def open(self, thread: ApplicationThread, target: Target, options: int, *, models: bool = True) -> OpenQueue:
        check_open(options)
        bits = int(options)
        resolution = self._catalogue.resolver().resolve(target)
        self._authorise(thread.user, target, target.name.rstrip(" "), bits)  # OP1
        _check_type(resolution, bits)
        if resolution.model is not None:
            if not models:
                raise MQError(Reason.Q_TYPE_ERROR, queue=target.name)  # OP3
            resolution = self._instance(thread.user, resolution.model, target, bits)
        state = self._catalogue.usable(resolution.queue.name)
        opened = OpenQueue(resolution, state, thread, bits)
        if resolution.path[0].queue_type == ModelQueue.queue_type:
            state.creator = opened
        self._count_in(opened)
        path = tuple(definition.name for definition in resolution.path)
        if bits & OpenOptions.OUTPUT:
            user = (
                thread.user if not bits & OpenOptions.ALTERNATE_USER_AUTHORITY else checked_user(target.alternate_user)
            )
            opened.output = OutputPath(self._services, state, resolution, thread, bits, user)
        if bits & (INPUT_ANY | OpenOptions.BROWSE):
            way = SharedInputPath if state.stored.shared else InputPath
            opened.input = way(self._services, state, path, thread, bits)
        if bits & INPUT_ANY:
            self._services.consequences.monitor_opened(opened.name)  # OP5
        return opened

    def close(self, opened: OpenQueue, options: int = CloseOptions.NONE) -> None:
        check_close(options)
        state, known = opened.state, opened.thread.opened
        if opened not in known:
            return  # OP6
        temporary = state.definition.definition is DefinitionType.TEMPDYN and state.creator is opened
        if options:
            self._check_delete(opened, int(options))
            if not (temporary or state.deleted):
                self._catalogue.remove(state.definition)  # OP3
                if opened not in known:
                    return  # OP6
        for way in (opened.output, opened.input):
            if way is not None:
                way.close()
        self._count_out(opened)
        if state.creator is opened:
            state.creator = None
        if temporary and not state.deleted:
            self.remove_temporary(state.definition)
        elif state.deleted and not state.handles:
            self._catalogue.forget(state)  # OP4
        elif opened.options & INPUT_ANY and triggering.eligible(state.definition) and not state.deleted:
            self._services.consequences.changed(state)  # OP5

    def remove_temporary(self, queue: LocalQueue) -> None:
        """A temporary queue goes: at once, or when there is log for it (OP4)."""
        try:
            self._catalogue.remove(queue)
        except MQError:
            self.left.append(queue)

    def remove_left(self) -> bool:
        """Background: remove what was left (OP4)."""
        left, self.left = self.left, []
        for queue in left:
            self.remove_temporary(queue)
        return False

    def inquire(self, opened: OpenQueue, keywords: tuple[str, ...]) -> dict[str, Any]:
        if not opened.options & OpenOptions.INQUIRE:
            raise MQError(Reason.NOT_OPEN_FOR_INQUIRE, queue=opened.name)
        if opened.state.deleted:
            raise MQError(Reason.Q_DELETED, queue=opened.name)
        return inquiring.inquire(self._meant(opened), opened.state, keywords)

    def set(self, opened: OpenQueue, values: dict[str, Any]) -> None:
        if not opened.options & OpenOptions.SET:
            raise MQError(Reason.NOT_OPEN_FOR_SET, queue=opened.name)
        if opened.state.deleted:
            raise MQError(Reason.Q_DELETED, queue=opened.name)
        meant = self._meant(opened)
        changes = inquiring.changes(type(meant), values)
        try:
            self._catalogue.alter(type(meant), meant.name, **changes)
        except AttributeValueError as error:
            raise MQError(inquiring.VALUE_ERRORS[error.keyword], keyword=error.keyword, value=error.value) from error
        self.altered(self._meant(opened))

    def _meant(self, opened: OpenQueue) -> Queue:
        """The definition that was opened, as it is now; of a model the queue that was made from it."""
        first = self._catalogue.find_queue(opened.resolution.path[0].name)
        return opened.state.definition if first is None or isinstance(first, ModelQueue) else first

    def altered(self, definition: MQObject) -> None:
        """A definition changed: waits may have to end, triggers may be due."""
        if not isinstance(definition, LocalQueue) or isinstance(definition, ModelQueue):
            self.wake_all()  # an alias may be inhibited now
            return
        state = self._catalogue.state(definition.name)
        state.waiters.look_again()
        if triggering.eligible(definition):
            self._services.consequences.changed(state)

    def wake_all(self) -> None:
        """Let every waiter look again at what holds for it."""
        for queue in self._catalogue.local_queues():
            self._catalogue.state(queue.name).waiters.look_again()

    def _authorise(self, user: str, target: Target, name: str, bits: int) -> None:
        needed = Access.NONE
        for options, access in _ACCESSES:
            if bits & options:
                needed |= access
        check = self._security.check
        if bits & OpenOptions.ALTERNATE_USER_AUTHORITY:
            alternate = checked_user(target.alternate_user)
            check(user, "altuser", alternate, Access.UPDATE)
            check(alternate, "queue", name, needed & ~Access.CONTEXT, acting=user)
            needed &= Access.CONTEXT
        check(user, "queue", name, needed)

    def _instance(self, user: str, model: ModelQueue, target: Target, bits: int) -> Resolution:
        """A new dynamic queue (OP3)."""
        if model.definition is DefinitionType.SHAREDYN and not model.structure:
            raise MQError(Reason.CF_STRUC_ERROR, model=model.name, why="DEFTYPE(SHAREDYN) needs CFSTRUCT")
        number = self._services.clock.now_us() << 4 | (self._catalogue.version & 15)
        while True:
            queue = model.instance(dynamic_name(target.dynamic_name, f"{number:016X}"))
            self._authorise(user, target, queue.name, bits)  # OP1
            try:
                self._catalogue.define(queue)
            except MQError as error:
                if error.reason not in _TAKEN or not target.dynamic_name.rstrip().endswith("*"):
                    raise
                number += 1  # the name is taken, perhaps by another member of the group
            else:
                return Resolution((model, queue), queue)

    def _count_in(self, opened: OpenQueue) -> None:
        """Shared or exclusive input (OP2)."""
        state, queue, bits = opened.state, opened.state.definition, opened.options
        reads = bool(bits & INPUT_ANY)
        if reads:
            as_defined = bits & OpenOptions.INPUT_AS_Q_DEF and queue.def_exclusive
            opened.exclusive = bool(bits & OpenOptions.INPUT_EXCLUSIVE or as_defined or not queue.share)
            if state.exclusive or (opened.exclusive and state.input_handles):
                raise MQError(Reason.OBJECT_IN_USE, queue=opened.name, input_handles=state.input_handles)
        stored: Any = state.stored
        if stored.shared and (not state.handles or (reads and not state.input_handles)):
            stored.opened(reads=reads, alone=opened.exclusive)
        if reads:
            state.input_handles += 1
            state.exclusive = opened.exclusive
        if bits & OpenOptions.OUTPUT:
            state.output_handles += 1
        state.handles += 1
        opened.thread.opened.add(opened)

    def _count_out(self, opened: OpenQueue) -> None:
        state = opened.state
        stored: Any = state.stored
        if opened.options & INPUT_ANY:
            state.input_handles -= 1
            state.exclusive = state.exclusive and not opened.exclusive
            if stored.shared and not state.input_handles:
                stored.read_no_more()
        if opened.options & OpenOptions.OUTPUT:
            state.output_handles -= 1
        state.handles -= 1
        if stored.shared and not state.handles:
            stored.closed()
        opened.thread.opened.discard(opened)

    def _check_delete(self, opened: OpenQueue, options: int) -> None:
        """Whether a dynamic queue may be deleted at close (OP3)."""
        state, kind = opened.state, opened.state.definition.definition
        if kind is DefinitionType.PREDEFINED or (kind is DefinitionType.TEMPDYN and state.creator is not opened):
            raise MQError(Reason.OPTION_NOT_VALID_FOR_TYPE, queue=opened.name)
        if state.deleted or kind is DefinitionType.TEMPDYN:
            return
        if state.stored.uncommitted or (state.stored.depth and options == CloseOptions.DELETE):
            raise MQError(Reason.Q_NOT_EMPTY, queue=opened.name, depth=state.stored.depth)


def _check_type(resolution: Resolution, bits: int) -> None:
    """Input, browse and set only on a queue of this queue manager (OP1)."""
    local_only = bits & (INPUT_ANY | OpenOptions.BROWSE | OpenOptions.SET)
    if local_only and resolution.remote is not None:
        raise MQError(Reason.OPTION_NOT_VALID_FOR_TYPE, queue=_names(resolution.path), options=bits)


def checked_user(user: object) -> str:
    """The user named in an object descriptor."""
    try:
        if isinstance(user, str) and len(user.encode()) <= USER_LENGTH:
            return user.rstrip(" ")
    except UnicodeEncodeError as error:
        raise MQError(Reason.OD_ERROR, alternate_user=user) from error
    raise MQError(Reason.OD_ERROR, alternate_user=user)


def _names(path: tuple[Queue, ...]) -> str:
    return " -> ".join(definition.name for definition in path)
