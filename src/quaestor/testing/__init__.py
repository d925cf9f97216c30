"""Shipped helpers for tests: a disk that loses power, a small engine, and counting since a moment.

    faulty_disk   a disk in memory: power cuts, refusals, what cannot be read
    small_engine  an engine with one queue; figures since a moment
    history       what clients saw; verdict, outcomes and triggers say whether that may be

Called by tests and by anybody who wants to prove the same of their own programs.
"""

from quaestor.testing.faulty_disk import FaultyDisk, FaultyFile, PowerCut, StartedFaultyWrite
from quaestor.testing.small_engine import SMALL, SmallEngine, since, snapshot

__all__ = [
    "SMALL",
    "FaultyDisk",
    "FaultyFile",
    "PowerCut",
    "SmallEngine",
    "StartedFaultyWrite",
    "since",
    "snapshot",
]
