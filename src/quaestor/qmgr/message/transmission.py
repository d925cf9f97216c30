"""Transmission: a message for another queue manager, as it stands on a transmission queue.

Rules
  XQ1 In front of the body stands the transmission header: the queue and queue manager it is for, and the
      descriptor the application gave. The message itself has the format of transmission messages, the same
      identifier, and the application's identifier again as correlation identifier. It is in no group; the header's
      descriptor says in which, how the body is encoded and how long the message is to live.
  XQ2 `MQXQH.unpack` gives back what was put; the mover calls it on the other side.

Called by putting, consequences.  Calls headers.
"""

from dataclasses import replace

from quaestor.mqi.descriptors import FORMAT_XMIT, NO_ID
from quaestor.mqi.headers import MQXQH, begun_with
from quaestor.mqi.messages import Message


def for_transmission(message: Message, remote: tuple[str, str]) -> Message:
    """The message that goes on the transmission queue in place of `message` (XQ1)."""
    header = MQXQH(remote[0], remote[1], message.descriptor)
    envelope = replace(
        begun_with(FORMAT_XMIT, message.envelope), report=0, group_id=NO_ID, msg_flags=0, msg_seq_number=1
    )
    return message._replace(body=header.pack() + message.body, envelope=envelope, correl_id=message.msg_id)
