"""Outcomes: which unit each client committed last, for clients that were cut off in a commit.

Rules
  OC1 A label is the client's name (1 to 32 bytes) and a number of eight bytes. A client's numbers only rise.
  OC2 The last number of a client is enough: a unit has committed if its number is not above that one. Whoever asks has
      nothing in flight any more, so what has not committed by then never will. A client that numbers its units anew
      goes on behind the last (`last_of`): a number used before would be known to have committed.
  OC3 At most `CLIENTS_MAX` clients are remembered, twice as many as a server lets in unless told otherwise; the one
      that has not committed for longest is forgotten first. Once forgotten, it is told that it has not committed.
  OC4 A name is a user's own (`owned`): the commits of another user who calls himself the same are not his.

Called by recovery, restart, connection.
"""

from hashlib import sha256

from quaestor.mqi.reasons import MQError, Reason

CLIENTS_MAX = 4000
CLIENT_NAME_MAX = 32
NUMBER_MAX = (1 << 64) - 1


def label(client: bytes, number: int) -> bytes:
    """What names a unit of a client (OC1)."""
    if not 1 <= len(client) <= CLIENT_NAME_MAX or not 0 <= number <= NUMBER_MAX:
        raise MQError(Reason.UOW_NOT_AVAILABLE, client=client, unit=number)
    return client + number.to_bytes(8, "big")


def owned(client: bytes, user: str) -> bytes:
    """A client's name, as one user's (OC4); of a client without a name there is none."""
    whose = user.encode()
    return sha256(len(whose).to_bytes(2, "big") + whose + client).digest() if client else b""


class Outcomes:
    """The last committed unit of each client."""

    def __init__(self) -> None:
        self.last: dict[bytes, int] = {}

    def note(self, label: bytes) -> None:
        """A unit commits."""
        client, number = label[:-8], int.from_bytes(label[-8:], "big")
        self.last[client] = max(number, self.last.pop(client, 0))
        if len(self.last) > CLIENTS_MAX:
            del self.last[next(iter(self.last))]  # OC3

    def committed(self, client: bytes, number: int) -> bool:
        """Whether a unit has committed (OC2)."""
        return number <= self.last.get(client, -1)

    def last_of(self, client: bytes) -> int:
        """The number behind which a client's next units are (OC2)."""
        return self.last.get(client, 0)
