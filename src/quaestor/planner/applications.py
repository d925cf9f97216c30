"""Applications: what connecting, large units of work, waiting, conversion, events and triggers cost.

Rules
  A1  A program loaded at each connect is loaded from disk unless its library is in LLA; the directory search in
      FREEZE saves more than the load itself.
  A2  A getter tries every uncommitted message of a large unit of work before it fails.
  A3  A unit of work of about 200 messages is large enough; 10,000 is the default limit.
  A4  Every arriving message wakes every waiter; one gets it.
  A5  Costs that the papers give as a multiple of a put or a get are multiples here: the basic cost is an argument.

Called by the plan and by the advisor (APP-1 to APP-5, LLA-1 to LLA-3, Q-1, Q-2, Q-5).  Calls source, bounds, cfrm.
"""

from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.cfrm import MAXUMSGS_DEFAULT
from quaestor.planner.source import Source, formula

EXTRACT = "mp16-ch4-11"

UNIT_OF_WORK_MESSAGES_ADVISED = 200
UNITS_OF_WORK_SOURCE = Source(EXTRACT, "6.3, 6.4", "4895-4931")


class LibraryLookaside(Enum):
    """What the library of the connect module is listed in; the value is transactions a second (A1)."""

    NONE = 17
    LIBRARIES = 65
    LIBRARIES_AND_FREEZE = 300


LLA_SOURCE = Source(EXTRACT, "6.1 ORACLE 28", "4863-4867")
IMS_CONNECT_CHECK_GAIN_PERCENT_MAX = 10.0
"""CSQQDEFV found in LIBRARIES and FREEZE (ORACLE 29, line 4881)."""


@formula(EXTRACT, "6.1 ORACLE 28", "4863-4867")
def lookaside_speed_up(before: LibraryLookaside, after: LibraryLookaside) -> float:
    """Gain in transactions that connect, open, put, close and disconnect each time."""
    return after.value / before.value


class LoadedAt(Enum):
    """What is loaded again and again, and which libraries LLA should hold for it (lines 4849-4881)."""

    CONNECT = "SCSQAUTH in LIBRARIES, the whole STEPLIB concatenation in FREEZE"
    CODE_PAGE_CONVERSION = "STEPLIB in LIBRARIES and FREEZE"
    CHANNEL_START_WITH_EXITS = "the CSQXLIB concatenation in FREEZE"
    IMS_CONNECT_CHECK = "the library of CSQQDEFV in LIBRARIES and FREEZE"


FAILED_ATTEMPT_US = 1.0


@formula(EXTRACT, "6.3 ORACLE 30", "4906")
def failed_get_ms(uncommitted_messages: int, *, attempt_us: float = FAILED_ATTEMPT_US) -> float:
    """CPU of one get that finds only uncommitted messages (A2)."""
    at_least(0, uncommitted_messages=uncommitted_messages, attempt_us=attempt_us)
    return uncommitted_messages * attempt_us / 1_000


@dataclass(frozen=True, slots=True)
class CommitCost:
    """One commit: how many messages it ends, and what it takes."""

    messages: int
    cpu_us: float
    elapsed_us: float


COMMIT_COSTS = (CommitCost(1, 2.0, 7.0), CommitCost(1_000, 4.0, 51.0))
COMMIT_SOURCE = Source(EXTRACT, "6.3 ORACLE 31", "4912")
"""Neither persistence nor machine is stated; 7 us leave no room to force the log, so read them as non-persistent."""


@formula(EXTRACT, "6.3 ORACLE 31", "4912")
def commits_cost(messages: int, each: CommitCost) -> CommitCost:
    """All commits for a number of messages, in units of work of the measured size."""
    at_least(0, messages=messages)
    commits = -(-messages // each.messages)
    return CommitCost(messages, commits * each.cpu_us, commits * each.elapsed_us)


def unit_of_work_is_large(messages: int, *, advised: int = UNIT_OF_WORK_MESSAGES_ADVISED) -> bool:
    """Whether a unit of work exceeds what is advised (A3, APP-1); above MAXUMSGS it would not run at all."""
    within(0, MAXUMSGS_DEFAULT, messages=messages)
    at_least(1, advised=advised)
    return messages > advised


WAITER_US = 1.0


@formula(EXTRACT, "7.8 ORACLE 50", "5416-5418")
def get_with_waiters_us(get_us: float, waiters: int, *, waiter_us: float = WAITER_US) -> float:
    """A successful get on a queue where others wait too, on 2817-703 (A4)."""
    at_least(0, get_us=get_us, waiters=waiters, waiter_us=waiter_us)
    return get_us + waiters * waiter_us


class Conversion(Enum):
    """MQFMT_STRING conversion; the value is how many basic gets of that size it costs on top (A5)."""

    NONE = 0
    SINGLE_BYTE = 1
    DOUBLE_BYTE = 4


@formula(EXTRACT, "7.8", "5424-5426")
def get_with_conversion_us(basic_get_us: float, conversion: Conversion) -> float:
    """`basic_get_us` is a non-persistent get out of syncpoint of the same length."""
    at_least(0, basic_get_us=basic_get_us)
    return basic_get_us * (1 + conversion.value)


@formula(EXTRACT, "7.8", "5430, 5442-5444")
def put_with_side_messages_us(
    put_us: float,
    *,
    small_persistent_put_us: float,
    small_nonpersistent_put_us: float,
    events_per_message: float = 0.0,
    triggers_per_message: float = 0.0,
    process_start_us: float = 0.0,
    queue_managers: int = 1,
) -> float:
    """A put with the event and trigger messages it causes (A5).

    An event costs a small persistent put; a trigger a small non-persistent one and the start of a process.  On a
    shared queue each queue manager may make the trigger message, and one process starts.
    """
    at_least(
        0,
        put_us=put_us,
        small_persistent_put_us=small_persistent_put_us,
        process_start_us=process_start_us,
        small_nonpersistent_put_us=small_nonpersistent_put_us,
        events_per_message=events_per_message,
    )
    within(0, 1, triggers_per_message=triggers_per_message)
    at_least(1, queue_managers=queue_managers)
    trigger_us = queue_managers * small_nonpersistent_put_us + process_start_us
    return put_us + events_per_message * small_persistent_put_us + triggers_per_message * trigger_us


ASYNC_PUT_SAVES_PERCENT = {100_000: 18.0, 1_000: 55.0}
"""Saving on z/OS of a client's put that does not wait for its answer, by message bytes (ORACLE 39, line 5111)."""

READ_AHEAD_GET_RATE_FACTOR = 4.0
READ_AHEAD_SAVES_PERCENT = (12.0, 55.0)
"""Non-persistent gets of a client that only consumes (ORACLE 40, line 5115)."""


@formula(EXTRACT, "7.1 ORACLE 39", "5111")
def async_put_us(put_us: float, saves_percent: float) -> float:
    """z/OS cost of an asynchronous client put; the saving must lie where it was measured."""
    above(0, put_us=put_us)
    within(min(ASYNC_PUT_SAVES_PERCENT.values()), max(ASYNC_PUT_SAVES_PERCENT.values()), saves_percent=saves_percent)
    return put_us * (1 - saves_percent / 100)
