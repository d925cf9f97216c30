"""Messages: a body, what its application said about it, and what the queue manager added.

Rules
  G1  A message is a value. The queue manager's own fields (identifiers, priority, persistence, times, backout
      count) stand beside the application's descriptor, so putting a thousand messages under one descriptor
      makes a thousand small tuples and one descriptor.
  G2  An identifier has 24 bytes. The queue manager's own ones are the product (CSQ), a blank, twelve
      characters of the queue manager's name and a clock value that only goes up, so they are never repeated.
  G3  `pack` and `unpack` are the stored form, without the body: 70 bytes and the packed descriptor.
  G4  Times are UNIX microseconds; `expires_us` 0 is never.
  G5  Date and time of the put are those that the context says (it was set, passed or refused), else when it was put.
      The message lives, and is as old, from its own put on.

Called by stores, the message manager, applications.  Calls descriptors, layout (code pages).
"""

import struct
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import NamedTuple

from quaestor.layout import CODE_PAGES
from quaestor.mqi.descriptors import MQMD, UNLIMITED

EXPIRY_UNIT_US = 100_000
NEVER_US = 0
_CODECS = {0: "utf-8", 1208: "utf-8", 819: "latin-1", 1252: "cp1252"}
_EBCDIC = {37: CODE_PAGES["037"], 500: CODE_PAGES["500"], 1047: CODE_PAGES["1047"], 1140: CODE_PAGES["1140"]}
HEADER = struct.Struct(">24s24sBBqqHH")
"""message identifier, correlation identifier, priority, persistence, put, expires, backouts, descriptor length"""

HEADER_LENGTH = HEADER.size


class Message(NamedTuple):
    """A message as it stands on a queue (G1)."""

    body: bytes
    envelope: MQMD  # what the application said; the fields below overrule it
    msg_id: bytes
    correl_id: bytes
    priority: int
    persistence: int
    put_us: int
    expires_us: int = NEVER_US
    backout_count: int = 0
    expiry: int = UNLIMITED  # tenths of a second that were left when the message was got
    original_length: int = -1  # the true length, where the body was shortened

    @property
    def persistent(self) -> bool:
        return self.persistence == 1

    @property
    def truncated(self) -> bool:
        return self.original_length > len(self.body)

    @property
    def text(self) -> str:
        """The body as text, by the descriptor's coded character set."""
        return decoded(self.body, self.envelope.ccsid)

    @property
    def descriptor(self) -> MQMD:
        """The whole MQMD, as a get returns it."""
        put_date, put_time = self._date_and_time()
        return replace(
            self.envelope,
            msg_id=self.msg_id,
            correl_id=self.correl_id,
            priority=self.priority,
            persistence=self.persistence,
            expiry=self.expiry,
            backout_count=self.backout_count,
            put_date=put_date,
            put_time=put_time,
            original_length=self.original_length,
        )

    def _date_and_time(self) -> tuple[str, str]:
        """G5."""
        said = self.envelope
        if said.put_date or said.put_time:
            return said.put_date.rstrip(), said.put_time.rstrip()
        put = datetime.fromtimestamp(self.put_us / 1_000_000, UTC)
        return put.strftime("%Y%m%d"), put.strftime("%H%M%S") + f"{put.microsecond // 10_000:02d}"

    def pack(self) -> bytes:
        """The stored form of everything but the body (G3)."""
        packed = self.envelope.packed()
        return (
            HEADER.pack(
                self.msg_id,
                self.correl_id,
                self.priority,
                self.persistence,
                self.put_us,
                self.expires_us,
                self.backout_count,
                len(packed),
            )
            + packed
        )


def unpack(header: bytes, body: bytes) -> Message:
    """The message that `pack` described, with its body (G3)."""
    msg_id, correl_id, priority, persistence, put_us, expires_us, backouts, length = HEADER.unpack_from(header)
    envelope = MQMD.unpacked(header[HEADER_LENGTH : HEADER_LENGTH + length])
    return Message(body, envelope, msg_id, correl_id, priority, persistence, put_us, expires_us, backouts)


def packed_length(header: bytes) -> int:
    """How many bytes `pack` made, read from their fixed part."""
    return HEADER_LENGTH + int.from_bytes(header[HEADER_LENGTH - 2 : HEADER_LENGTH], "big")


def decoded(body: bytes, ccsid: int) -> str:
    """A body as text, by its coded character set. Raises LookupError when that is not known."""
    page = _EBCDIC.get(ccsid)
    if page is None:
        return body.decode(_codec(ccsid))
    return body.translate(page.permutation).decode(page.codec)


def encoded(text: str, ccsid: int) -> bytes:
    """Text in a coded character set; the inverse of `decoded`."""
    page = _EBCDIC.get(ccsid)
    if page is None:
        return text.encode(_codec(ccsid))
    return text.encode(page.codec).translate(page.permutation)


def _codec(ccsid: int) -> str:
    if ccsid not in _CODECS:
        raise LookupError(f"coded character set {ccsid} is not known")
    return _CODECS[ccsid]


def id_maker(qmgr: str, now_us: int) -> Callable[[], bytes]:
    """A function that makes this queue manager's next identifier (G2).

    The clock value is the start of the queue manager, then counts: a restart begins with a later value, and
    2**12 identifiers fit between two microseconds of the clock, so no run reaches the next one's.
    """
    prefix = b"CSQ " + qmgr[:12].encode().ljust(12)[:12]
    following = count((now_us << 12) + 1).__next__

    def next_id() -> bytes:
        return prefix + following().to_bytes(8, "big")

    return next_id
