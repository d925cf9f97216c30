"""Bound: one connection of a program written for IBM's API, its object handles and its calls.

Rules
  BO1 Objects have numbers, from 1 up; a number that is not open is 2019.
  BO4 A get whose room is too small answers the length that was needed (2080), or the part that fits (2079). What it
      needs includes the properties that travel with the message, so it may be more than the body. Unlocking a message
      returns nothing of it, and warns of nothing.
  BO5 Properties of a message handle travel in front of the body and come back into the handle of a get.
  BO6 A request on the command queue is answered when it is there for others: with the put, or with the commit.
  BO7 An object descriptor keeps the name that was asked for, so that it can be used again; a model's becomes that of
      the queue that was made from it. The names resolved are those of the queue here, also of one that leads elsewhere.
  BO8 A get with a descriptor of version 1 first asks with room for an extension (EX4). Where the message needs none
      and fits without, that very message is asked for again; where somebody else has it by then, all begins anew.

BO2, BO3 and BO9 are of `asked`.

Called by calls.  Calls the native API, asked, structures, extensions, consumers.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from ibmmqc import attributes, extensions
from ibmmqc.asked import (
    CONVERT,
    FORCE_HEADER,
    NO_PROPERTIES,
    OPEN_DROPPED,
    get_options,
    known,
    put_options,
    selection,
    target_of,
)
from ibmmqc.attributes import NAMELIST, PROCESS, QUEUE, QUEUE_MANAGER, STORAGE_CLASS, Inquired
from ibmmqc.consumers import Call, Consumers
from ibmmqc.descriptors import converted, envelope, group_status, in_byte_order, returned
from ibmmqc.doors import Door
from ibmmqc.properties import FORMAT_RFH2, MessageHandle, carried
from ibmmqc.structures import GMO, MD, OD, PMO
from quaestor.mqi.calls import QueueHandle
from quaestor.mqi.descriptors import CCSID_UTF8, MQMD
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import COMMAND_QUEUE, MQObject, Namelist, Process, QueueManagerAttributes, StorageClass
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions, put1_plan
from quaestor.mqi.reasons import CompCode, MQError, Reason

KINDS: dict[int, type[MQObject]] = {
    NAMELIST: Namelist,
    PROCESS: Process,
    STORAGE_CLASS: StorageClass,
    QUEUE_MANAGER: QueueManagerAttributes,
}

Got = tuple[bytes, bytes, bytes, int, int, int]


class Other(NamedTuple):
    """An open object that is no queue: it can be inquired about."""

    object_type: int
    name: str
    alternate_user: str | None = None

    @property
    def kind(self) -> type[MQObject]:
        return KINDS[self.object_type]


@dataclass
class AsyncPuts:
    """What became of the puts that asked for no response, for MQSTAT."""

    done: int = 0
    warned: int = 0
    failed: int = 0
    comp_code: int = 0
    reason: int = 0
    queue: str = ""

    def note(self, said: MQError | None) -> None:
        """Count a put by its warning or failure, None when it has neither."""
        failed = said is not None and said.comp_code is CompCode.FAILED
        self.done += said is None
        self.warned += said is not None and not failed
        self.failed += failed
        if said is not None and int(said.comp_code) > self.comp_code:
            self.comp_code, self.reason = int(said.comp_code), int(said.reason)
            self.queue = str(said.facts.get("queue", ""))


class Bound:
    """A connection and its open objects."""

    def __init__(
        self,
        hconn: int,
        door: Door,
        message_handles: dict[int, MessageHandle],
        callback: Callable[[], Call | None],
    ) -> None:
        self.name, self.connection, self._answer = door
        self._asks = False
        self.async_puts = AsyncPuts()
        self.consumers = Consumers(hconn, self.get, callback, lambda: self.connection.connected)
        self._message_handles = message_handles
        self.made_for_it: set[int] = set()
        """Message handles that end with it, by their numbers."""

        self._objects: dict[int, QueueHandle | Other] = {}
        self._asked_for: dict[int, str] = {}
        self._number = itertools.count(1)

    # -- objects

    def open(self, od: bytes, options: int) -> tuple[int, bytes]:
        """MQOPEN: the number of the object, and the descriptor with the name it came to have."""
        asked = known(OD, od)
        if asked["ObjectType"] == QUEUE:
            opened: QueueHandle | Other = self.connection.open(target_of(asked), options & ~OPEN_DROPPED)
        else:
            opened = self._other(asked, options)
        hobj = next(self._number)
        self._objects[hobj], self._asked_for[hobj] = opened, asked["ObjectName"]
        return hobj, OD.write(od, **self._resolved(asked, opened))

    def _resolved(self, asked: dict[str, Any], opened: QueueHandle | Other) -> dict[str, str]:
        """Names in the descriptor of an object that was opened (BO7)."""
        if isinstance(opened, Other):
            return {}
        made = _is_made_from(opened.name, asked["DynamicQName"])
        name = {"ObjectName": opened.name} if made and opened.name != asked["ObjectName"] else {}
        return {"ResolvedQName": opened.name, "ResolvedQMgrName": self.name, **name}

    def _other(self, asked: dict[str, Any], options: int) -> Other:
        kind = KINDS.get(asked["ObjectType"])
        if kind is None:
            raise MQError(Reason.OBJECT_TYPE_ERROR, type=asked["ObjectType"])
        steering = OPEN_DROPPED | OpenOptions.FAIL_IF_QUIESCING | OpenOptions.ALTERNATE_USER_AUTHORITY
        if options & ~steering != OpenOptions.INQUIRE:
            raise MQError(Reason.OPTION_NOT_VALID_FOR_TYPE, options=options, type=kind.MQSC_TYPE)
        name = "" if kind is QueueManagerAttributes else asked["ObjectName"]
        other = asked["AlternateUserId"] if options & OpenOptions.ALTERNATE_USER_AUTHORITY else None
        self.connection.inquire(kind, name, alternate_user=other)
        return Other(asked["ObjectType"], asked["ObjectName"] or self.name, other)

    def close(self, hobj: int, options: int) -> None:
        """MQCLOSE; a consumer of the queue goes with it."""
        opened = self._object(hobj)
        self.consumers.deregister(hobj)
        if not isinstance(opened, Other):
            opened.close(options)
        del self._objects[hobj], self._asked_for[hobj]

    def inquire(self, hobj: int, selectors: list[int]) -> tuple[list[int], bytes]:
        """MQINQ: numbers and text."""
        opened = self._object(hobj)
        if isinstance(opened, Other):
            name = "" if opened.kind is QueueManagerAttributes else opened.name
            read = partial(self.connection.inquire, opened.kind, name, alternate_user=opened.alternate_user)
            return attributes.inquire(Inquired(opened.name, opened.object_type, read), selectors)
        asked_for = self._asked_for[hobj]
        return attributes.inquire(Inquired(opened.name, QUEUE, opened.inquire, asked_for), selectors)

    def set(self, hobj: int, selectors: list[int], numbers: list[int], text: bytes) -> None:
        """MQSET."""
        self._queue(hobj).set(**attributes.settings(selectors, numbers, text))

    def _object(self, hobj: int) -> QueueHandle | Other:
        opened = self._objects.get(hobj)
        if opened is None:
            raise MQError(Reason.HOBJ_ERROR, handle=hobj)  # BO1
        return opened

    def check_queue(self, hobj: int) -> None:
        """Refuse a number that is no open queue (BO1)."""
        self._queue(hobj)

    def _queue(self, hobj: int) -> QueueHandle:
        opened = self._object(hobj)
        if isinstance(opened, Other):
            raise MQError(Reason.HOBJ_ERROR, handle=hobj, why=f"{opened.kind.MQSC_TYPE} {opened.name} is no queue")
        return opened

    # -- messages

    def _context(self, asked: dict[str, Any]) -> QueueHandle | None:
        """The queue whose context is to be passed; a put that passes none does not need one (2097 where it does)."""
        opened = self._objects.get(asked["Context"])
        return None if isinstance(opened, Other) else opened

    def put(self, hobj: int, md: bytes, pmo: bytes, body: bytes) -> tuple[bytes, bytes]:
        """MQPUT: descriptor and options as they came to be."""
        handle, asked = self._queue(hobj), known(PMO, pmo)
        said, body = self._said(md, asked, body)
        message = handle.put(body, said, put_options(asked["Options"]), context=self._context(asked))
        self._asked(handle.name, asked["Options"])
        return self._put(md, pmo, message, handle.name)

    def put1(self, od: bytes, md: bytes, pmo: bytes, body: bytes) -> tuple[bytes, bytes]:
        """MQPUT1."""
        target, asked = known(OD, od), known(PMO, pmo)
        said, body = self._said(md, asked, body)
        options = put_options(asked["Options"])
        put1_plan(options)
        passed = options & (PutOptions.PASS_ALL_CONTEXT | PutOptions.PASS_IDENTITY_CONTEXT)
        alternate = options & PutOptions.ALTERNATE_USER_AUTHORITY
        if not passed:
            message = self.connection.put1(target_of(target), body, said, options)
        else:
            with self.connection.open(
                target_of(target), OpenOptions.OUTPUT | passed | alternate
            ) as queue:  # the same bits
                message = queue.put(body, said, options, context=self._context(asked))
        self._asked(target["ObjectName"], asked["Options"])
        return self._put(md, pmo, message, target["ObjectName"])

    def _asked(self, queue: str, options: int) -> None:
        """BO6."""
        if queue == COMMAND_QUEUE:
            self._asks = True
            if not options & PutOptions.SYNCPOINT:
                self._answer()

    def commit(self) -> None:
        """MQCMIT."""
        self.connection.commit()
        if self._asks:
            self._asks = False
            self._answer()

    def _put(self, md: bytes, pmo: bytes, message: Message, queue: str) -> tuple[bytes, bytes]:
        given, md = MD.read(md), returned(md, message)
        if given["Format"] == extensions.FORMAT_EXTENSION:
            md = MD.write(md, **{field: given[field] for field in ("Format", "Encoding", "CodedCharSetId")})
        return md, PMO.write(pmo, ResolvedQName=queue, ResolvedQMgrName=self.name)

    def _said(self, md: bytes, asked: dict[str, Any], body: bytes) -> tuple[MQMD, bytes]:
        """Descriptor and body as they are stored: without an extension, with properties (EX1, BO5)."""
        said, body = extensions.honoured(envelope(known(MD, md)), body)
        return self._with_properties(said, asked, body)

    def _with_properties(self, said: MQMD, asked: dict[str, Any], body: bytes) -> tuple[MQMD, bytes]:
        """Descriptor and body with the properties of a message handle in front (BO5)."""
        handle = self._message_handles.get(asked["NewMsgHandle"] or asked["OriginalMsgHandle"])
        if handle is None or not len(handle):
            return said, body
        return replace(said, format=FORMAT_RFH2), handle.pack(said.format, said.encoding, said.ccsid) + body

    def get(self, hobj: int, md: bytes, gmo: bytes, room: int) -> Got:
        """MQGET: body, descriptor, options, length, completion and reason code."""
        asked, sought = known(GMO, gmo), known(MD, md)
        keeps_handle = asked["MsgHandle"] in self._message_handles and not asked["Options"] & FORCE_HEADER
        strips = keeps_handle or bool(asked["Options"] & NO_PROPERTIES)
        cuts_here = strips and bool(asked["Options"] & GetOptions.ACCEPT_TRUNCATED_MSG)
        try:
            handle = self._queue(hobj)
            message = self._got(handle, asked, sought, None if cuts_here else room)
        except MQError as error:
            return self._not_got(error, md, gmo, sought["Version"], room)
        gmo = GMO.write(
            gmo,
            ResolvedQName=handle.name,
            GroupStatus=group_status(message.envelope.msg_flags),
            MsgToken=handle.token.to_bytes(16, "big"),
        )
        body, md, length, reason = self._delivered(message, md, asked, sought, room, strips=strips)
        comp_code = CompCode.WARNING if reason else CompCode.OK
        return body, md, GMO.write(gmo, ReturnedLength=len(body)), length, int(comp_code), reason

    def _got(self, handle: QueueHandle, asked: dict[str, Any], sought: dict[str, Any], room: int | None) -> Message:
        """The message, if it has so much room (BO8)."""
        options, chosen = get_options(asked["Options"]), selection(asked, sought)
        wait_ms = asked["WaitInterval"] if asked["Options"] & GetOptions.WAIT else None
        if room is None or sought["Version"] > 1 or options & GetOptions.ACCEPT_TRUNCATED_MSG:
            return handle.get(options, wait_ms=wait_ms, max_length=room, **chosen)
        while True:
            try:
                return handle.get(options, wait_ms=wait_ms, max_length=max(room - extensions.LENGTH, 0), **chosen)
            except MQError as error:
                short = error.facts.get("message")
                if short is None or extensions.needed(1, short.envelope) or _needed(error) > room:
                    raise
                that = {
                    **chosen,
                    "match": chosen["match"] | 1 | 2,
                    "msg_id": short.msg_id,
                    "correl_id": short.correl_id,
                }
            with _unless_gone():
                return handle.get(options & ~int(GetOptions.WAIT), max_length=room, **that)

    def _not_got(self, error: MQError, md: bytes, gmo: bytes, version: int, room: int) -> Got:
        """The answer of a get that failed; one without enough room has what fits (BO4)."""
        short, needed = error.facts.get("message"), _needed(error)
        body = b"" if short is None else short.body
        if error.reason is Reason.TRUNCATED_MSG_FAILED and short is not None:
            md = returned(md, short)
            if extensions.needed(version, short.envelope):
                said = short.envelope
                body = extensions.extension(said, (said.format, said.encoding, said.ccsid or CCSID_UTF8)) + body
                md, needed = _extended(md), needed + extensions.LENGTH
        return body[:room], md, gmo, needed, int(error.comp_code), int(error.reason)

    def _delivered(
        self, message: Message, md: bytes, asked: dict[str, Any], sought: dict[str, Any], room: int, *, strips: bool
    ) -> tuple[bytes, bytes, int, int]:
        """A message as the program wants it: without properties, converted, shortened. Its true length; a reason."""
        md, body, said = returned(md, message), message.body, message.envelope
        shape = (said.format, said.encoding, said.ccsid)
        if strips and said.format == FORMAT_RFH2:
            taken = carried(body, said.encoding)
            if taken is not None:
                body, shape = taken.body, (taken.format, taken.encoding, taken.ccsid)
                if asked["MsgHandle"] in self._message_handles:
                    self._message_handles[asked["MsgHandle"]] = taken.properties
        elif asked["MsgHandle"] in self._message_handles:
            self._message_handles[asked["MsgHandle"]].clear()
        reason, ccsid = 0, shape[2] or CCSID_UTF8
        if asked["Options"] & CONVERT:
            fits = None if asked["Options"] & GetOptions.ACCEPT_TRUNCATED_MSG else room
            body, turned = in_byte_order(body, shape[0], shape[1], sought["Encoding"])
            shape = (shape[0], turned, shape[2])
            body, ccsid, reason = converted(body, shape[0], shape[2], sought["CodedCharSetId"], fits)
        md = MD.write(md, Format=shape[0], Encoding=shape[1], CodedCharSetId=ccsid)
        length = len(body) if strips or not message.truncated else message.original_length
        if extensions.needed(sought["Version"], said):
            body = extensions.extension(said, (shape[0], shape[1], ccsid)) + body
            md, length = _extended(md), length + extensions.LENGTH
        if asked["Options"] & GetOptions.UNLOCK:
            body = b""
        elif length > room or message.truncated:
            reason, body = int(Reason.TRUNCATED_MSG_ACCEPTED), body[:room]
        warned = self.connection.warning
        return body, md, length, reason or (0 if warned is None else int(warned.reason))


def _extended(md: bytes) -> bytes:
    """A descriptor that says that an extension leads the body."""
    fields = {"Encoding": extensions.ENCODING_NATIVE, "CodedCharSetId": CCSID_UTF8}
    return MD.write(md, Format=extensions.FORMAT_EXTENSION, **fields)


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Go on where the message that was meant is not there any more."""
    try:
        yield
    except MQError as error:
        if error.reason is not Reason.NO_MSG_AVAILABLE:
            raise


def _is_made_from(name: str, pattern: str) -> bool:
    """Whether a queue of this name can have been made from a model, with this name for dynamic queues (BO7)."""
    prefix, generated, _ = pattern.partition("*")
    return name.startswith(prefix) if generated else name == pattern


def _needed(error: MQError) -> int:
    return int(error.facts.get("length", 0))
