"""Indexed queues: the storage of an index, and what its rebuild adds to start-up.

Rules
  I1  272 bytes above the bar for each message, 47 KB for each queue with an index.
  I2  At start-up the first page of every persistent message on every private indexed queue is read.  One queue is read
      in sequence; up to ten queues side by side.
  I3  The measured 8 million messages in 280 seconds, 35 microseconds each, is the default; the paper's other figure, a
      few milliseconds for each page, disagrees with it by a factor of a hundred.
  I4  QINDBLD(WAIT) adds the rebuild to start-up; with NOWAIT start-up ends first, and a queue's users wait for its own.
  I5  Shared queues keep their index in the structure and rebuild nothing.

Called by whoever plans queues or start-up.  Calls quantity, release, source, bounds.
"""

from collections.abc import Sequence
from enum import Enum
from heapq import heapify, heapreplace

from quaestor.planner.bounds import at_least
from quaestor.planner.quantity import KIB
from quaestor.planner.release import Release
from quaestor.planner.source import formula

INDEX_BYTES_PER_MESSAGE = 272  # [2046]
INDEX_BYTES_PER_QUEUE = 47 * KIB  # [2251]
REBUILD_US_PER_MESSAGE = 280 / 8  # 8 million messages in 280 s on a DS8000 [2048]
REBUILDS_IN_PARALLEL = 10  # [2064]


class IndexBuild(Enum):
    """QINDBLD of CSQ6SYSP."""

    WAIT = "WAIT"
    NOWAIT = "NOWAIT"


@formula("mp16-ch1", "F-54", "2046, 2251")
def index_bytes(messages: int, queues: int = 1) -> int:
    """Storage of the indexes of some queues with so many messages in all (I1)."""
    at_least(0, messages=messages, queues=queues)
    return messages * INDEX_BYTES_PER_MESSAGE + queues * INDEX_BYTES_PER_QUEUE


@formula("mp16-ch1", "F-54", "2044")
def indexed_messages_about(release: Release) -> int:
    """The depth that was reached on indexed queues: 7.2 million in 31-bit storage, more than 100 million after."""
    return 100_000_000 if release >= Release.V7_0_1 else 7_200_000


@formula("mp16-ch1", "F-55", "2048, 2062-2064")
def rebuild_s(
    persistent_messages: Sequence[int],
    us_per_message: float = REBUILD_US_PER_MESSAGE,
    parallel: int = REBUILDS_IN_PARALLEL,
) -> float:
    """Seconds until the last index is built, queues taken in the order given as a builder comes free (I2, I3)."""
    at_least(1, parallel=parallel)
    at_least(0, us_per_message=us_per_message)
    builders = [0.0] * parallel
    heapify(builders)
    for messages in persistent_messages:
        at_least(0, persistent_messages=messages)
        heapreplace(builders, builders[0] + messages * us_per_message / 1_000_000)
    return max(builders)


@formula("mp16-ch1", "F-55", "2048, 2058-2060")
def startup_delay_s(
    persistent_messages: Sequence[int],
    build: IndexBuild = IndexBuild.WAIT,
    us_per_message: float = REBUILD_US_PER_MESSAGE,
    parallel: int = REBUILDS_IN_PARALLEL,
) -> float:
    """Seconds that index rebuild adds to start-up (I4)."""
    return rebuild_s(persistent_messages, us_per_message, parallel) if build is IndexBuild.WAIT else 0.0
