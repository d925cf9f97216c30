"""Requests: calls of an application as frames, and answers as what the calls return. No I/O.

Rules
  RQ1 What can be refused without the queue manager is refused here with the same reason: a body that is neither bytes
      nor text, or longer than any message may be (2031: no frame has room for it, and one that is too long ends the
      link), a descriptor or a name that cannot be packed, a negative length or wait. Which of several is named, here or
      there, is a rule of its own (`mqi.forms`).
  RQ6 An answer that is not of the kind its call has is as little to be read as bytes that are no value.

RQ2 to RQ5 and RQ7 are of `handle_requests`.

Called by connection and asynchronous.  Calls wire, values, handle_requests.
"""

from typing import Any

from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.descriptors import MQMD, NO_ID, Target, identifier
from quaestor.mqi.messages import Message
from quaestor.mqi.objects import OBJECT_TYPES, MQObject, attributes_of
from quaestor.mqi.options import PutOptions
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server import values, wire
from quaestor.server.client.handle_requests import HandleRequests, body_of
from quaestor.server.client.request import Request
from quaestor.server.protocol import HEARTBEAT_MAX_S, NUMBERED, Op, ProtocolError

ASYNC = int(PutOptions.ASYNC_RESPONSE)
_ATTRIBUTE_KINDS = {
    attribute.keyword: type(attribute.default)
    for kind in OBJECT_TYPES.values()
    for attribute in attributes_of(kind).values()
    if issubclass(type(attribute.default), int)
}
_ANSWERS: dict[str, type[Any]] = {
    "open": list,
    "put1": Message,
    "inquire": dict,
    "inquire object": dict,
    "in doubt": list,
    "outcome": bool,
    "mqsc": dict,
    "status": dict,
    "figures": list,
}


def call(name: str, *args: Any) -> Request:
    """A call by name; a handle travels as the number that it has now."""
    sent = (one.number if isinstance(one, HandleRequests) else one for one in args)
    return Request(int(Op.CALL), 0, values.pack([name, *sent]))


def answer(name: str, payload: bytes) -> Any:
    """What a call by name was answered (RQ6)."""
    found, kind = values.unpack(payload), _ANSWERS.get(name, object)
    if not isinstance(found, kind) or (name == "open" and len(found) != 2):
        raise ProtocolError(f"{name} is answered by {type(found).__name__}")
    return found


def welcome(payload: bytes) -> dict[str, Any]:
    """What a queue manager says of itself, its heartbeat at least (RQ6)."""
    told = values.unpack(payload)
    if not isinstance(told, dict) or not isinstance(told.get("heartbeat_s"), int | float):
        raise ProtocolError("a welcome without a heartbeat")
    if not isinstance(told.get("unit", 0), int):
        raise ProtocolError("a welcome with a unit that is no number")
    if not 0 <= told["heartbeat_s"] <= HEARTBEAT_MAX_S:
        raise ProtocolError("a welcome with a heartbeat that nobody can wait for")
    return told


def warned(payload: bytes) -> tuple[MQError, bytes]:
    """The warning in front of an answer, and the answer."""
    (length,) = wire.LENGTH.unpack_from(payload)
    return values.unpack_error(payload[4 : 4 + length]), payload[4 + length :]


def commit(unit: int | None) -> Request:
    if unit is None:
        return Request(int(Op.COMMIT), 0, b"")
    return Request(int(Op.COMMIT), NUMBERED, wire.UNIT.pack(unit))


BACKOUT = Request(int(Op.BACKOUT), 0, b"")


_BAD_TEXTS = (
    Reason.OBJECT_NAME_ERROR,
    Reason.OBJECT_Q_MGR_NAME_ERROR,
    Reason.DYNAMIC_Q_NAME_ERROR,
    Reason.OD_ERROR,
)


def where(target: Target) -> list[str]:
    """An object descriptor as it travels; an alternate user is sent by those who name one."""
    alternate = (target.alternate_user,) if target.alternate_user else ()
    texts = [target.name, target.qmgr, target.dynamic_name, *alternate]
    for text, reason in zip(texts, _BAD_TEXTS, strict=False):
        try:
            str(text).encode()
        except UnicodeEncodeError as error:
            raise MQError(reason, why=str(error)) from error  # RQ1
    return texts


def open_arguments(target: Target, options: int) -> list[Any]:
    name, qmgr, dynamic_name, *alternate = where(target)
    return [name, qmgr, dynamic_name, options, *alternate]


def put1(target: Target, body: Any, md: MQMD | None, options: int) -> Request:
    body, _ = body_of(body)
    packed = None if md is None else wire.pack_descriptor(md)
    correl_id = b"" if md is None or md.correl_id == NO_ID else identifier(md.correl_id)
    return call("put1", where(target), body, packed, correl_id, options)


def inquire_object(
    kind: type[MQObject], name: str, keywords: tuple[str, ...], alternate_user: str | None
) -> tuple[Any, ...]:
    """The request of MQINQ of an object that is no queue; the other user only where there is one."""
    asked = ("inquire object", kind.MQSC_TYPE, name, list(keywords))
    return asked if alternate_user is None else (*asked, alternate_user)


def inquired(found: Any) -> dict[str, Any]:
    """Attributes with the kinds they have in the queue manager."""
    return {keyword: _ATTRIBUTE_KINDS.get(keyword, _same)(value) for keyword, value in found.items()}


def _same(value: Any) -> Any:
    return value


def failure(payload: bytes) -> Exception:
    """The exception of an ERROR frame."""
    found = values.unpack(payload)
    if isinstance(found, list) and len(found) == 3 and isinstance(found[0], str):
        return AttributeValueError(found[0], found[1], found[2])
    return values.unpack_error(payload)
