"""TLS link: a link whose frames are encrypted.

Rules
  TL1 Nothing is read before the handshake is over. One that fails is told to the audit, and the link ends. Each of its
      steps is short, and one for which a turn has no time left comes in the next (SV9).
  TL2 What TLS has decrypted is no longer in the socket, so nobody would be told of it: a link reads all of that. One
      receive gives one record at most, so it reads several at a time; then it is the turn of others, however much one
      client sends.
  TL3 TLS says nothing of what it has sent before it has sent all that it was given, so it is given a record at a time:
      a client that takes a long answer slowly is seen to take it (LI3).

Called by service.  Calls link, of which it is a kind.
"""

import ssl
from functools import partial
from typing import TYPE_CHECKING

from quaestor.readiness import READ
from quaestor.server.link import Link

if TYPE_CHECKING:
    from quaestor.server.service import Service

RECORDS_AT_ONCE = 16
RECORD = 1 << 14


def _send_records(sock: ssl.SSLSocket, data: bytes | memoryview) -> int:
    """Send as much as there is room for; how much that was (TL3)."""
    rest, sent = memoryview(data), 0
    try:
        while sent < len(rest):
            sent += sock.send(rest[sent : sent + RECORD])
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
        if not sent:
            raise
    return sent


class TlsLink(Link):
    """One client behind TLS (TL1-TL3)."""

    again = (*Link.again, ssl.SSLWantReadError, ssl.SSLWantWriteError)
    sock: ssl.SSLSocket

    def __init__(self, service: "Service", sock: ssl.SSLSocket, peer: str, now: float) -> None:
        super().__init__(service, sock, peer, now)
        self._handshaking = True
        self._send = partial(_send_records, sock)

    def ready(self, events: int) -> bool:
        if self._handshaking and not (self.service.arrivals.may_shake_hands() and self._shook_hands()):
            return False
        records = RECORDS_AT_ONCE
        while super().ready(events) and self.open and (records > 1 or self.sock.pending()):  # TL2
            events, records = READ, records - 1
        return True

    def _shook_hands(self) -> bool:
        """Whether the handshake is over (TL1)."""
        try:
            self.sock.do_handshake()
        except ssl.SSLWantWriteError:
            self.want(writing=True)
        except ssl.SSLWantReadError:
            self.want(writing=False)
        except (ssl.SSLError, OSError) as error:
            why = getattr(error, "verify_message", None) or getattr(error, "reason", None) or str(error)
            self.service.journal.audit("QSV020W", peer=self.peer, why=f"TLS: {why}")
            self.end(None)
        else:
            self._handshaking = False
            self.want(writing=False)
        return not self._handshaking

    def why_failed(self, error: OSError) -> str | None:
        return f"TLS: {error.reason or error}" if isinstance(error, ssl.SSLError) else super().why_failed(error)
