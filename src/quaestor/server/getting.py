"""Getting: a conversation's GET, and what is sent ahead of further ones.

Rules
  GN1 A get that neither waits nor selects, the rule, is decided first. One that waits and finds nothing is `Parked`.
  GN2 Messages that are read ahead (protocol W6) are sent behind the answer of the get that gave credit for them. What
      goes wrong meanwhile is told to whoever asks next: what was asked for is off the queue, and must be sent.

Called by conversation.  Calls the handles, parked.
"""

from typing import TYPE_CHECKING, Any

from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.message import Waiting
from quaestor.qmgr.message.gate import HeldUpError
from quaestor.server import wire
from quaestor.server.open_handle import SMALL, OpenHandle
from quaestor.server.parked import Parked, may_wait
from quaestor.server.protocol import (
    CREDIT,
    LIMITED,
    READ_AHEAD_BYTES,
    READ_AHEAD_MESSAGES,
    SELECTS,
    WAITS,
    Op,
    ProtocolError,
)

if TYPE_CHECKING:
    from quaestor.server.conversation import Conversation

_REPLY, _AHEAD = int(Op.REPLY), int(Op.AHEAD)
_NO_SYNCPOINT = int(GetOptions.NO_SYNCPOINT)
_NOTHING: dict[str, Any] = {}
_unpack_get, _GET_LENGTH = wire.GET.unpack_from, wire.GET.size
_pack_answer, _ANSWER_LENGTH = wire.ANSWER.pack, wire.ANSWER_LENGTH


def get(on: "Conversation", flags: int, number: int, packed: bytes, at: int, end: int) -> bytes:
    handle_id, options, wait_ms, longest = _unpack_get(packed, at)
    opened = on.handles.get(handle_id) or on.opened(handle_id)
    if options > SMALL:
        options = opened.known_options(options)
    at += _GET_LENGTH
    if not flags and at == end:
        handle = opened.handle
        message = handle.get(options)
        if message[1] is opened.got_envelope and on.thread.warning is None:
            body, token = message[0], handle.token
            length = _ANSWER_LENGTH + len(body)
            return _pack_answer(length, _REPLY, 0, on.number, number, *message[2:], token, 0) + body
        return on.got(number, opened, message)
    max_length = longest if flags & LIMITED else None
    selecting = _NOTHING
    if flags & SELECTS:
        selecting = wire.unpack_selection(packed, at, end)
    elif at != end:
        raise ProtocolError("a get that does not fill its frame")
    if not flags & WAITS:
        message = opened.handle.get(options, max_length=max_length, **selecting)
    else:
        result = opened.handle.look(options, wait_ms, None, max_length, direct=True, **selecting)
        if isinstance(result, Waiting):
            may_wait(on, number, opened, result)
            parked = Parked(on, number, opened, options, wait_ms, max_length, selecting, result)
            parked.wait()
            on.service.wait_until(parked)
            return b""
        message = result
    answer = on.got(number, opened, message)
    if flags & CREDIT and options & _NO_SYNCPOINT and not message.persistence:
        answer += _ahead(on, handle_id, opened)
    return answer


def _ahead(on: "Conversation", handle_id: int, opened: OpenHandle) -> bytes:
    """Further messages that may be sent before they are asked for (protocol W6)."""
    frames, room = [], READ_AHEAD_BYTES
    for _ in range(READ_AHEAD_MESSAGES):
        try:
            message = opened.handle.get_nonpersistent(room)
        except (MQError, HeldUpError):
            break  # whoever asks for it is told; what was asked for is off the queue and must be sent
        if message is None:
            break
        room -= len(message.body)
        token, envelope = opened.handle.token, opened.knows_ahead(message)
        frames.append(wire.pack_answer(_AHEAD, on.number, handle_id, message, message.body, token, envelope))
    return b"".join(frames)
