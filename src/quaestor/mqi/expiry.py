"""Expiry: how long a message is worth keeping. Pure rules.

Rules
  E1  Expiry is given in tenths of a second, positive or unlimited (-1); anything else is 2013.
  E2  The clock starts at the put, not at the commit: a message carries the time at which it ends.
  E3  A get returns what is left, in tenths, never less than 1 for a message that has not expired.
  E4  CAPEXPRY of the queue shortens a longer or unlimited expiry.

Called by the message manager.  Calls reasons.
"""

from quaestor.mqi.descriptors import UNLIMITED
from quaestor.mqi.messages import EXPIRY_UNIT_US, NEVER_US
from quaestor.mqi.objects import DEPTH_MAX
from quaestor.mqi.reasons import MQError, Reason


def checked(expiry: int, cap: int) -> int:
    """The expiry that holds, in tenths (E1, E4)."""
    if expiry != UNLIMITED and expiry <= 0:
        raise MQError(Reason.EXPIRY_ERROR, expiry=expiry)
    if cap > DEPTH_MAX:
        return expiry
    return cap if expiry == UNLIMITED else min(expiry, cap)


def has_expired(expires_us: int, now_us: int) -> bool:
    return expires_us != NEVER_US and now_us >= expires_us


def remaining(expires_us: int, now_us: int) -> int:
    """Tenths left (E3)."""
    if expires_us == NEVER_US:
        return UNLIMITED
    return max(1, (expires_us - now_us) // EXPIRY_UNIT_US)
