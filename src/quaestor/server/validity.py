"""Validity: from when to when clients can believe what a server shows.

Rules
  VD1 A server starts with whatever certificate it is given; one that clients refuse by its dates, or will within 30
      days, is one warning.
  VD2 A chain is good while all of its certificates are.
  VD3 The dates are read out of the certificates themselves: Python's ssl tells those of a peer alone, and a server
      runs without `cryptography`. Dates that cannot be read are no reason not to start, and are said.
  VD4 Time goes on while a server runs: four times a day the dates are looked at again, and each doubt is told once.
      They are those of the chain that is shown, whatever its file holds by then: that is used from the next start on.

Called by process, and for it by the service's sweeps.  Calls the clock.
"""

import binascii
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from quaestor.clock import Clock

SOON = timedelta(days=30)  # VD1
LOOK_NS = 6 * 3600 * 1_000_000_000  # VD4
_BLOCK = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----(.*?)-----END ", re.DOTALL)
_CONTEXT_0, _UTC_TIME = 0xA0, 0x17
_CENTURY_TURNS = 50  # RFC 5280: a year of two digits is between 1950 and 2049


class Watch:
    """The chain that a server shows, looked at from time to time; `tell` hears each doubt once (VD4)."""

    def __init__(self, chain: bytes, clock: Clock, tell: Callable[[str], None]) -> None:
        self._chain, self._clock, self._tell = chain, clock, tell
        self._told: set[str] = set()
        self._next_ns = clock.monotonic_ns()

    def look(self) -> None:
        """Tell what is new to tell, if it is time for a look."""
        now_ns = self._clock.monotonic_ns()
        if now_ns < self._next_ns:
            return
        self._next_ns = now_ns + LOOK_NS
        why = doubt(self._chain, datetime.fromtimestamp(self._clock.now_us() / 1_000_000, UTC))
        if why and why not in self._told:
            self._told.add(why)
            self._tell(why)


def doubt(chain: bytes, now: datetime) -> str:
    """Why clients do not believe a chain of certificates, or soon will not; empty while they do (VD1)."""
    try:
        begins, ends = valid(chain)
    except ValueError:
        return "its dates cannot be read"  # VD3
    if ends < now:
        return f"it expired on {ends:%Y-%m-%d at %H:%M:%S} UTC"
    if begins > now:
        return f"it is not valid before {begins:%Y-%m-%d at %H:%M:%S} UTC"
    return f"it expires on {ends:%Y-%m-%d at %H:%M:%S} UTC" if ends - now < SOON else ""


def valid(chain: bytes) -> tuple[datetime, datetime]:
    """From when to when all certificates of a chain are valid (VD2)."""
    dates = [_dates(binascii.a2b_base64(block)) for block in _BLOCK.findall(chain)]
    if not dates:
        raise ValueError("no certificate")
    return max(begins for begins, _ in dates), min(ends for _, ends in dates)


def _dates(certificate: bytes) -> tuple[datetime, datetime]:
    """The two times of a certificate in DER (VD3, RFC 5280): the fourth part of what was signed, version aside."""
    (_, whole), *_ = _parts(certificate)  # more follows a certificate that says for what it is trusted
    (_, signed), *_ = _parts(whole)
    _, _, _, dates, *_ = (content for tag, content in _parts(signed) if tag != _CONTEXT_0)
    begins, ends = (_time(tag, content) for tag, content in _parts(dates))
    return begins, ends


def _parts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each value in a row."""
    at = 0
    while at + 2 <= len(content):
        tag, length = content[at], content[at + 1]
        at += 2
        if length & 0x80:
            size = length & 0x7F
            length, at = int.from_bytes(content[at : at + size]), at + size
        yield tag, content[at : at + length]
        at += length


def _time(tag: int, content: bytes) -> datetime:
    text = content.decode("ascii")
    if tag == _UTC_TIME:
        text = ("20" if int(text[:2]) < _CENTURY_TURNS else "19") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
