"""Putting: a conversation's PUT, one message or a run of them.

Rules
  PG1 A put says what is another than with the put before: the descriptor, if it changed, and a correlation identifier
      or the handle whose context is passed on, if there is one. A put like the one before, the rule, is decided first.
  PG2 A run is put as one call. Of a run that nobody answers each put stands for itself; the first error is kept (CV3).

Called by conversation.  Calls the handles.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.connection import Handle
from quaestor.server import wire
from quaestor.server.open_handle import SMALL
from quaestor.server.protocol import CONTEXT, CORREL, DESCRIPTOR, MANY, SAME_DESCRIPTOR, TEXT, Op, ProtocolError

if TYPE_CHECKING:
    from quaestor.server.conversation import Conversation

_REPLY = int(Op.REPLY)
_unpack_put, _PUT_LENGTH = wire.PUT.unpack_from, wire.PUT.size
_pack_answer, _ANSWER_LENGTH = wire.ANSWER.pack, wire.ANSWER_LENGTH


def put(on: "Conversation", flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
    handle_id, options = _unpack_put(packed, at)
    opened = on.handles.get(handle_id) or on.opened(handle_id)
    if options > SMALL:
        options = opened.known_options(options)
    at += _PUT_LENGTH
    if flags == SAME_DESCRIPTOR and number and at <= end:
        message = opened.handle.put(packed[at:end], opened.md, options)
        if message[1] is opened.put_envelope and on.thread.warning is None:  # as with the put before, as a rule
            return _pack_answer(_ANSWER_LENGTH, _REPLY, 0, on.number, number, *message[2:], 0, 0)
        return on.message_answer(number, message, b"", 0, opened.knows_put(message))
    correl_id = context = md = None
    if flags:
        if flags & CORREL:
            correl_id = packed[at : at + 24]
            at += 24
        if flags & CONTEXT:
            (context_id,) = wire.COUNT.unpack_from(packed, at)
            context, at = on.opened(context_id).handle, at + 2
        if flags & SAME_DESCRIPTOR:
            md = opened.md
        elif flags & DESCRIPTOR:
            (length,) = wire.COUNT.unpack_from(packed, at)
            at += 2
            md = opened.md = wire.unpack_descriptor(packed[at : at + length])
            at += length
    if at > end:
        raise ProtocolError("a put that ends before its body")
    if flags & MANY:
        if correl_id is not None:
            md = dataclasses.replace(md or MQMD(), correl_id=correl_id)
        bodies: list[Any] = wire.unpack_bodies(packed, at, end)
        if flags & TEXT:
            bodies = [_text(body) for body in bodies]
        if not number:
            _put_unanswered(on, opened.handle, bodies, md, options)
            return b""
        messages = opened.handle.put_all(bodies, md, options)
        return on.reply(number, b"".join(wire.pack_message(one, 0, opened.knows_put(one)) for one in messages))
    body: bytes | str = packed[at:end]
    if flags & TEXT:
        body = _text(packed[at:end])
    message = opened.handle.put(body, md, options, correl_id=correl_id, context=context)
    return on.message_answer(number, message, b"", 0, opened.knows_put(message)) if number else b""


def _put_unanswered(on: "Conversation", handle: Handle, bodies: list[Any], md: MQMD | None, options: int) -> None:
    """Asynchronous puts of one descriptor; each stands for itself, the first error is kept (CV3)."""
    at, thread = 0, on.thread
    try:
        while at < len(bodies):
            try:
                at += len(handle.put_all(bodies[at:], md, options))
            except MQError as error:
                on.error(0, b"", error)
                at += error.facts["put"] + 1
            thread.begun = True  # GA4
    finally:
        thread.begun = False


def _text(packed: bytes) -> str:
    try:
        return packed.decode()
    except UnicodeDecodeError as error:
        raise ProtocolError("a text that is not UTF-8") from error
