"""What work costs: CPU per call, bytes and records logged, pages touched, elements in a structure.

Every number is one the papers print; where they print a range or an example, the source is named beside it.

Rules
  C1  CPU of a call: the averages of MP1B's sample program report (ORACLE 42), times the machine's factor.
  C2  Log bytes of a put and get: user data + 300 of headers + 1000, and 150 per page when there are several (MP16
      F-13); the getting share is 500 up to 10 KB and rises to 1,300 at 100 KB.
  C3  Log records: 4 per unit of recovery and 6 per message put (MP1B F-41); a get adds 2 to 3 (ORACLE 27).
  C4  Pages: a message starts on a new page; before V6 two short ones share a page (MP1B M-27, T-13). Per page put:
      4 get page, 1 get new page, 4 set write, and one set write more per further message; one message to a page
      takes 3, 1 and 4 (ORACLE 18).
  C5  A message in a structure is one entry and ceil((bytes + 372) / 256) elements (MP1B F-35).
  C6  Db2 server time: 2 ms to read or list; 5 to 10 ms where the Db2 log is written (MP1B A-16, ORACLES 32 to 34).

Called by accounting and the statistics models.  Pure.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaestor.smf.synth.profile import PAGE_BYTES, QueueManager

CPU_US = {  # C1
    "open": 68.0,
    "close": 25.0,
    "get": 92.0,
    "put": 149.0,
    "put1": 262.0,
    "inq": 20.0,
    "set": 40.0,
    "commit": 46.0,
    "backout": 60.0,
    "other": 54.0,
}
CPU_US_PER_KB = 2.0
CPU_US_PER_SKIPPED_MESSAGE = 0.6
PAGE_SET_IO_US = 900.0
LOG_RECORDS_PER_UNIT, LOG_RECORDS_PER_PUT, LOG_RECORDS_PER_GET = 4, 6, 3  # C3
DB2_US = {  # C6
    "delete": 6500.0,
    "list": 2200.0,
    "read": 2500.0,
    "update": 5800.0,
    "write": 7000.0,
    "scs_select": 1900.0,
    "scs_update": 5600.0,
    "ssk_select": 1500.0,
}
FIRST_READ_BYTES = 4096  # a get from a structure reads with this buffer first (MP1B M-14)
SENDER_BATCH_LOG_BYTES, SENDER_MESSAGE_LOG_BYTES, RECEIVER_BATCH_LOG_BYTES = 2500, 24, 1300  # MP16 T-9

_HEADERS = 300
_PER_PUT_AND_GET = 1000
_PER_PAGE = 150
_SHORT_MESSAGE = 1900  # two of these share a page before V6

Numbers = NDArray[np.float64]


def pages_of(sizes: tuple[int, ...]) -> Numbers:
    """Pages that a message of each size takes."""
    return np.ceil((np.array(sizes, float) + _HEADERS) / PAGE_BYTES)


def log_bytes_of_get(sizes: tuple[int, ...]) -> Numbers:
    return np.interp(sizes, [10_240, 102_400], [500, 1300])  # C2


def log_bytes_of_put(sizes: tuple[int, ...]) -> Numbers:
    pages = pages_of(sizes)
    several = np.where(pages >= 2, pages * _PER_PAGE, 0)
    return np.array(sizes, float) + _HEADERS + _PER_PUT_AND_GET + several - log_bytes_of_get(sizes)  # C2


def elements_of(sizes: tuple[int, ...]) -> Numbers:
    return np.ceil((np.array(sizes, float) + 372) / 256)  # C5


def pages_of_puts(manager: QueueManager, sizes: tuple[int, ...]) -> tuple[Numbers, Numbers, Numbers]:
    """Get page, get new page and set write requests of putting one message of each size (C4)."""
    pages = pages_of(sizes)
    packed = np.array(sizes) <= (-1 if manager.at_least("6.0") else _SHORT_MESSAGE)
    get_page = np.where(packed, 2.5, 3 * pages)
    get_new = np.where(packed, 0.5, pages)
    return get_page, get_new, np.where(packed, 2.5, 4 * pages)


def pages_of_gets(sizes: tuple[int, ...]) -> tuple[Numbers, Numbers]:
    """Get page and set write requests of getting one message of each size; the emptying task adds one page each."""
    pages = pages_of(sizes)
    return pages + 1, pages


def cpu_us(
    verb: str, calls: NDArray[Any], message_bytes: NDArray[Any] | float, manager: QueueManager, rng: np.random.Generator
) -> Numbers:
    """CPU of some calls of each task: fixed cost, cost of the bytes moved, and a little chance (C1)."""
    chance = 0.9 + 0.2 * rng.random(len(calls), dtype=np.float32)
    work = calls * CPU_US[verb] + np.asarray(message_bytes) * (CPU_US_PER_KB / 1024)
    return np.asarray(work * manager.cpu_factor * chance, np.float64)
