"""Pages and 3390 tracks: the units in which logs and page sets are cut.

One page is one log control interval is one buffer: 4096 bytes [910, 1022, 1297].  The papers never state the 3390
geometry; fifteen tracks of twelve pages to a cylinder is what their archive list shows, where each log of 100
cylinders holds 73,728,000 bytes [1335, 1349-1359].

Called by the log, page set, backup and restart formulas.  Calls bounds.
"""

from quaestor.planner.bounds import at_least

PAGE_BYTES = 4096
PAGES_PER_TRACK = 12
TRACKS_PER_CYLINDER = 15
TRACK_BYTES = PAGES_PER_TRACK * PAGE_BYTES
CYLINDER_BYTES = TRACKS_PER_CYLINDER * TRACK_BYTES


def pages(data_bytes: int) -> int:
    """Whole pages that hold `data_bytes`."""
    at_least(0, data_bytes=data_bytes)
    return -(-data_bytes // PAGE_BYTES)


def tracks(data_bytes: int) -> int:
    """Whole 3390 tracks that hold `data_bytes`."""
    at_least(0, data_bytes=data_bytes)
    return -(-data_bytes // TRACK_BYTES)


def cylinders(data_bytes: int) -> int:
    """Whole 3390 cylinders that hold `data_bytes`."""
    at_least(0, data_bytes=data_bytes)
    return -(-data_bytes // CYLINDER_BYTES)
