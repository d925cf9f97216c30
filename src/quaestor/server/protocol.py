"""The protocol between a queue manager and its clients: frames, operations, limits.

A connection carries **frames**. A frame is a header of twelve bytes (length of the whole frame, operation, flags,
conversation, number) and a payload. Integers are big-endian.

Rules
  W1  The first frame is HELLO with the magic word and the versions the client speaks; the answer names the one in use.
      Until the link is authenticated a frame has at most `HELLO_MAX` bytes.
  W2  One link carries many conversations. A conversation is a connection in MQI terms: it has its own unit of recovery,
      its own handles, and its calls are made in the order they were sent.
  W3  Requests are numbered by the client and may be sent without waiting for answers (pipelining). An answer, REPLY or
      ERROR, carries the conversation and number of its request. Number 0 asks for no answer: an asynchronous put. Its
      first error is the answer to the conversation's next numbered request, which is then not carried out; a
      back out forgets it. So a commit never confirms a unit of which a put has failed.
  W4  A PUT carries one body or many. With the puts not answered, any number of puts and a commit are one round trip.
  W5  A GET that has to wait is parked; it holds no thread, and other requests of the conversation go on. CANCEL with
      the number of a parked GET ends its wait; its answer is an ERROR, unless the message is on its way already.
  W6  Read ahead: a GET may give credit; the server then sends further non-persistent messages (AHEAD) behind the
      answer. They are off the queue. It never does so for persistent messages, in syncpoint or with a selection.
  W7  HEARTBEAT: the server sends one to a link whose client waits for an answer and hears of nothing else for
      `heartbeat_s`; it is sent back. Either side that hears nothing for twice that time ends the link.
  W8  Whatever is not a frame of this protocol ends the link, with one line in the log: a length out of range, an
      unknown operation, a payload that does not parse. Nothing of it reaches the engine.
  W9  A link that ends, in whatever way but DISCONNECT of its conversations, backs out their units.
  W10 A COMMIT may carry a number. A client that gave its name in HELLO can ask afterwards, on another link, whether the
      unit of that number has committed (`outcome`); a new link under the name ends an older one first, so that the
      answer is final. The answer to HELLO has the number of the last that has. A name is a user's own.

Hot calls (put, get, commit, back out) have payloads packed by hand (`wire`); the others are CALL, a list of values
whose first is the call's name (`values`, `calls`).
Why not an existing protocol: AMQP and the like cost several times the processor time per message and know neither
syncpoint over several queues, nor browse cursors, nor MQI reasons with their facts.
"""

from enum import IntEnum
from struct import Struct

MAGIC = b"QUAESTOR"
VERSION = 2
HEADER = Struct(">IBBHI")
"""length of the frame, operation, flags, conversation, number"""

HEADER_LENGTH = HEADER.size
HELLO_MAX = 4096
CLIENT_MAX = 32
"""Bytes of the name that a client gives itself."""

FRAME_MAX = 104_857_600 + 65_536
"""A message of MAXMSGL at its most, and what is around it."""

HEARTBEAT_MAX_S = 86_400
"""The longest `heartbeat_s` (W7): what waits for twice that time can be told to every operating system."""

READ_AHEAD_MESSAGES, READ_AHEAD_BYTES = 100, 1 << 18
PORT_DEFAULT = 1414


class Op(IntEnum):
    """What a frame is. Up to 31 requests, from 32 on answers."""

    HELLO = 1
    CALL = 2
    PUT = 3
    GET = 4
    COMMIT = 5
    BACKOUT = 6
    HEARTBEAT = 7
    CANCEL = 8

    REPLY = 32
    ERROR = 33
    AHEAD = 34


# flags of PUT
TEXT, CORREL, DESCRIPTOR, SAME_DESCRIPTOR, CONTEXT, MANY = 1, 2, 4, 8, 16, 32
# flags of GET
WAITS, SELECTS, LIMITED, CREDIT = 1, 2, 4, 8
# flag of COMMIT
NUMBERED = 1
# flag of REPLY: a warning stands in front of the answer
WARNED = 1


class ProtocolError(Exception):
    """Bytes that are no frame of this protocol (W8)."""


def frame(op: int, flags: int, conversation: int, number: int, payload: bytes = b"") -> bytes:
    return HEADER.pack(HEADER_LENGTH + len(payload), op, flags, conversation, number) + payload
