"""The calls that are not put, get, commit or back out: by name, with values for parameters.

Rules
  CA1 A call takes the conversation and the values that came with it, and answers with a value. Parameters of the wrong
      number or kind are the caller's error (2012), not ours. A handle's number has two bytes: there are no more handles
      than that, whatever MAXHANDS says (2017).
  CA2 Definitions travel in their stored form; a kind of object by its MQSC type.
  CV6 A call that waits for another queue manager (MQSC with CMDSCOPE) is carried out beside the loop; meanwhile the
      conversation's other calls stay in the backlog, and other conversations go on.

Called by conversation.  Calls the connection and its handles.
"""

import dataclasses
from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from quaestor.mqi.descriptors import Target
from quaestor.mqi.objects import OBJECT_TYPES, MQObject, object_from_bytes
from quaestor.mqi.reasons import MQError, Reason
from quaestor.server import values
from quaestor.server.protocol import ProtocolError
from quaestor.server.wire import unpack_descriptor

if TYPE_CHECKING:
    from quaestor.server.conversation import Conversation

WAITING = ("CMDSCOPE", "RESET")
"""In commands that wait for other members of a group."""

LONG = ("AR", "B")
"""How the commands begin that wait for applications (ARCHIVE) or take their time (BACKUP), however short they are."""

HANDLES_MAX = 65_535
_KINDS = {kind.MQSC_TYPE: kind for kind in OBJECT_TYPES.values()}


def kind_of(name: str) -> type[MQObject]:
    """The object class of an MQSC type (CA2)."""
    kind = _KINDS.get(name)
    if kind is None:
        raise MQError(Reason.OBJECT_TYPE_ERROR, type=name)
    return kind


def _open(
    on: "Conversation", name: str, qmgr: str, dynamic_name: str, options: int, alternate_user: str = ""
) -> list[Any]:
    if len(on.handles) >= HANDLES_MAX:
        raise MQError(Reason.HANDLE_NOT_AVAILABLE, handles=len(on.handles))
    handle = on.connection.open(Target(name, qmgr, dynamic_name, alternate_user), options)
    return [on.add(handle), handle.name]


def _close(on: "Conversation", handle: int, options: int) -> None:
    on.handle(handle).close(options)
    del on.handles[handle]


def _put1(
    on: "Conversation", target: list[str], body: bytes | str, md: bytes | None, correl_id: bytes, options: int
) -> Any:
    descriptor = None if md is None else unpack_descriptor(md)
    if descriptor is not None and correl_id:
        descriptor = dataclasses.replace(descriptor, correl_id=correl_id)
    return on.connection.put1(Target(*target), body, descriptor, options)


def _inquire(on: "Conversation", handle: int, keywords: list[str]) -> dict[str, Any]:
    return on.handle(handle).inquire(*keywords)


def _set(on: "Conversation", handle: int, attributes: dict[str, Any]) -> None:
    on.handle(handle).set(**attributes)


def _define(on: "Conversation", packed: bytes, replace: bool) -> None:
    on.connection.define(object_from_bytes(packed), replace=replace)


def _alter(on: "Conversation", kind: str, name: str, changes: dict[str, Any]) -> None:
    on.connection.alter(kind_of(kind), name, **changes)


def _delete(on: "Conversation", kind: str, name: str, purge: bool) -> None:
    on.connection.delete(kind_of(kind), name, purge=purge)


def _inquire_object(
    on: "Conversation", kind: str, name: str, keywords: list[str], alternate_user: str | None = None
) -> dict[str, Any]:
    return on.connection.inquire(kind_of(kind), name, *keywords, alternate_user=alternate_user)


def _begin(on: "Conversation") -> None:
    on.connection.begin()


def _prepare(on: "Conversation", xid: bytes) -> None:
    on.connection.prepare(xid)


def _commit_prepared(on: "Conversation", xid: bytes) -> None:
    on.connection.commit_prepared(xid)


def _backout_prepared(on: "Conversation", xid: bytes) -> None:
    on.connection.backout_prepared(xid)


def _in_doubt(on: "Conversation") -> list[bytes]:
    return list(on.connection.in_doubt())


def _outcome(on: "Conversation", unit: int) -> bool:
    """What is answered here must be durable, also when its commit was started in this very turn."""
    on.service.commits.harden()
    return on.connection.outcome(unit)


def _disconnect(on: "Conversation") -> None:
    """Commit now; the conversation ends when that is durable, and when it was refused."""
    on.ending = True
    on.connection.commit()


class Later(NamedTuple):
    """A call that waits for others, or for long: it is carried out beside the loop, and answered then."""

    carry_out: Callable[[], Any]


class Commands(Protocol):
    """What runs MQSC: the command manager."""

    def run(self, text: str, user: str) -> Any: ...


def _mqsc(on: "Conversation", text: str) -> dict[str, Any] | Later:
    commands, user = on.service.commands, on.link.user
    if commands is None:
        raise MQError(Reason.ENVIRONMENT_ERROR, why="this queue manager runs no commands")
    written = text.upper()
    waits = any(word in written for word in WAITING) or written.lstrip().startswith(LONG)
    return Later(lambda: _run(commands, text, user)) if waits else _run(commands, text, user)


def _run(commands: Commands, text: str, user: str) -> dict[str, Any]:
    reply = commands.run(text, user)
    told = {"lines": list(reply.lines), "rows": list(reply.rows), "ok": bool(reply.ok)}
    return told | {"members": reply.members} if reply.members else told


def _status(on: "Conversation") -> dict[str, Any]:
    return on.service.status()


def _figures(on: "Conversation") -> list[bytes]:
    return on.service.figures(on.link.user)


CALLS: dict[str, Callable[..., Any]] = {
    "open": _open,
    "close": _close,
    "put1": _put1,
    "inquire": _inquire,
    "set": _set,
    "define": _define,
    "alter": _alter,
    "delete": _delete,
    "inquire object": _inquire_object,
    "begin": _begin,
    "prepare": _prepare,
    "commit prepared": _commit_prepared,
    "backout prepared": _backout_prepared,
    "in doubt": _in_doubt,
    "outcome": _outcome,
    "disconnect": _disconnect,
    "mqsc": _mqsc,
    "status": _status,
    "figures": _figures,
}


def call(on: "Conversation", _flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
    """CALL: a name and its values."""
    asked = values.unpack(packed[at:end], values.REQUEST_VALUES)
    known = CALLS.get(asked[0]) if isinstance(asked, list) and asked and isinstance(asked[0], str) else None
    if known is None:
        raise ProtocolError("a call of no known name")
    done = known(on, *asked[1:])
    if isinstance(done, Later):
        on.busy = True  # CV6
        Thread(target=_beside, args=(on, number, done), name="quaestor-later", daemon=True).start()
        return b""
    return on.reply(number, values.pack(done))


def _beside(on: "Conversation", number: int, asked: Later) -> None:
    """Carry a call out on a thread of its own; the loop answers it (CV6)."""
    try:
        done = asked.carry_out()
    except Exception as error:  # noqa: BLE001 - told apart where it is told
        failed = error
        on.service.ask(lambda: _carried_out(on, on.refusal(number, failed)))
    else:
        on.service.ask(lambda: _carried_out(on, on.reply(number, values.pack(done))))


def _carried_out(on: "Conversation", answer: bytes) -> None:
    if on.link.open:
        on.link.send(answer)
        on.resume()
