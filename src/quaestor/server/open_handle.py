"""Open handle: a handle of a conversation, and what both ends of the link know of it already.

Rules
  OH1 What was sent once is not sent again: an envelope travels when it is another than that of the message before, and
      a descriptor is remembered.
  OH2 Messages put, got and read ahead are three sequences, each in the order in which it was sent: the other end may
      look at one of them later than at another.

Called by conversation, putting, getting and parked.  Calls nothing.
"""

from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.messages import Message
from quaestor.qmgr.connection import Handle

SMALL = 256
"""Integers up to here are one object each, as the message manager wants to see the options of like calls."""


class OpenHandle:
    """A handle of the conversation, and what both ends know of it already."""

    __slots__ = ("ahead_envelope", "got_envelope", "handle", "md", "options", "put_envelope")

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.md: MQMD | None = None
        self.options = 0
        self.put_envelope: MQMD | None = None
        self.got_envelope: MQMD | None = None
        self.ahead_envelope: MQMD | None = None

    def known_options(self, options: int) -> int:
        """The same object for the same options as with the call before: what they mean is then known, too."""
        if options == self.options:
            return self.options
        self.options = options
        return options

    def knows_put(self, message: Message) -> bytes:
        """The envelope of a message that was put, as far as it has to be sent; the other end knows it from then on."""
        if message.envelope is self.put_envelope:
            return b""
        self.put_envelope = message.envelope
        return message.envelope.packed()

    def knows_got(self, message: Message) -> bytes:
        """The same for a message that was got."""
        if message.envelope is self.got_envelope:
            return b""
        self.got_envelope = message.envelope
        return message.envelope.packed()

    def knows_ahead(self, message: Message) -> bytes:
        """The same for a message that is read ahead, which may be looked at long after others that were got (OH2)."""
        if message.envelope is self.ahead_envelope:
            return b""
        self.ahead_envelope = message.envelope
        return message.envelope.packed()
