"""The releases between which the papers' rules change, in order.

A rule that begins "from V8.0" compares: `release >= Release.V8_0`.  A release between two of these behaves like the
earlier one.  Called by the formulas whose answer depends on the release.  Calls nothing.
"""

from enum import IntEnum


class Release(IntEnum):
    """A release of the queue manager; the value is version, release and modification run together."""

    V5_3 = 530
    V6_0 = 600
    V7_0_1 = 701
    V7_1 = 710
    V8_0 = 800
    V9_0 = 900
