"""Shared queues: what gets by a common key, opens of undefined queues, and first opens cost.

Rules
  K1  A get by a unique key takes constant time.  With a common key the coupling facility is re-driven: not at all up
      to 50 messages with the key, then in steps, and 6 times above about 5,200.
  K2  Where exactly the steps lie is our fit: the papers give 50, about 1,100, each further 1,000, and 5,200; steps of
      1,031 from 50 on reproduce the one total they print.  `REDRIVE_STEP` is that one free parameter.
  K3  An open of an undefined queue in a queue-sharing group asks Db2 every time.
  K4  The first open of a shared queue on a queue manager, and the last close, register with the coupling facility;
      any open between them does not.

Called by the plan and by the advisor (SHQ-4 to SHQ-6).  Calls source, bounds.
"""

from dataclasses import dataclass

from quaestor.planner.bounds import above, at_least, within
from quaestor.planner.source import Source, Table, formula

EXTRACT = "mp16-ch4-11"

REDRIVE_FIRST = 50
REDRIVE_STEP = 1_031
REDRIVES_MAX = 6
COMMON_KEY_COST_FACTOR = 15.0
COMMON_KEY_COST_FACTOR_ABOVE = 6_000
STCK_UNITS_PER_US = 4_096


@formula(EXTRACT, "6.5 ORACLE 32", "4951-4961")
def redrives_of_one_get(messages_with_key: int, *, step: int = REDRIVE_STEP) -> int:
    """Times one get by a common key goes back to the coupling facility (K1, K2)."""
    at_least(0, messages_with_key=messages_with_key)
    at_least(1, step=step)
    over = messages_with_key - REDRIVE_FIRST
    return 0 if over <= 0 else min(REDRIVES_MAX, (over - 1) // step + 1)


@formula(EXTRACT, "6.5 ORACLE 32", "4963-4972")
def redrives_to_drain(messages_with_key: int, *, step: int = REDRIVE_STEP) -> int:
    """Re-drives of all gets that empty a queue whose messages share a key."""
    at_least(0, messages_with_key=messages_with_key)
    at_least(1, step=step)
    flat_from = REDRIVE_FIRST + (REDRIVES_MAX - 1) * step
    below = min(messages_with_key, flat_from)
    stepped = sum(below - start for start in range(REDRIVE_FIRST, below, step))
    return stepped + REDRIVES_MAX * (messages_with_key - below)


@formula(EXTRACT, "6.5", "4939")
def common_key_cost_factor(messages_with_key: int) -> float | None:
    """Cost of a get by a common key over one by a unique key, where the papers say; None between 50 and 6,000."""
    at_least(1, messages_with_key=messages_with_key)
    if messages_with_key < REDRIVE_FIRST:
        return 1.0
    return COMMON_KEY_COST_FACTOR if messages_with_key > COMMON_KEY_COST_FACTOR_ABOVE else None


@dataclass(frozen=True, slots=True)
class StructureUse:
    """SMF 115 counters of one structure: calls for one entry, calls for several, their time and their retries."""

    single_calls: int
    single_elapsed_stck: int
    multiple_calls: int
    multiple_elapsed_stck: int
    multiple_retries: int

    def __post_init__(self) -> None:
        at_least(0, single_calls=self.single_calls)
        within(0, self.multiple_calls, multiple_retries=self.multiple_retries)

    @property
    def single_elapsed_sec(self) -> float:
        return self.single_elapsed_stck / STCK_UNITS_PER_US / 1e6

    @property
    def multiple_elapsed_sec(self) -> float:
        return self.multiple_elapsed_stck / STCK_UNITS_PER_US / 1e6

    @property
    def single_us_avg(self) -> float:
        above(0, single_calls=self.single_calls)
        return 1e6 * self.single_elapsed_sec / self.single_calls

    @property
    def multiple_us_avg(self) -> float:
        above(0, multiple_calls=self.multiple_calls)
        return 1e6 * self.multiple_elapsed_sec / self.multiple_calls

    @property
    def first_multiple_calls(self) -> int:
        """Calls for several entries that were not re-drives."""
        return self.multiple_calls - self.multiple_retries


@formula(EXTRACT, "6.5 SHQ-4", "4961-4972")
def retries_per_message(use: StructureUse, messages: int) -> float:
    at_least(1, messages=messages)
    return use.multiple_retries / messages


UNDEFINED_OPEN_QUEUE_MANAGER_US = 59.4
UNDEFINED_OPEN_DB2_US = 54.4
UNDEFINED_OPEN_FACTOR = (8.0, 10.0)
SHAREDYN_DEFINE_MS = 8.0
UNDEFINED_OPEN_SOURCE = Source(EXTRACT, "6.6 ORACLE 33, 35", "4976-4980, 5012")


@formula(EXTRACT, "6.6 ORACLE 33", "4980")
def undefined_open_us(attempts: int = 1) -> float:
    """CPU of opening and closing a queue that does not exist: queue manager and Db2 together (K3)."""
    at_least(0, attempts=attempts)
    return attempts * (UNDEFINED_OPEN_QUEUE_MANAGER_US + UNDEFINED_OPEN_DB2_US)


@dataclass(frozen=True, slots=True)
class VerbTime:
    """Count and averages of one verb in class 3 accounting; the totals follow."""

    count: int
    elapsed_us_avg: float
    cpu_us_avg: float

    @property
    def elapsed_sec(self) -> float:
        return self.count * self.elapsed_us_avg / 1e6

    @property
    def cpu_sec(self) -> float:
        return self.count * self.cpu_us_avg / 1e6


FIRST_OPEN = Table(
    "open of one shared queue, first open each time, microseconds on queue manager 1",
    Source(EXTRACT, "6.7 ORACLE 36", "5046-5059"),
    ("queue_managers", "cpu_us", "elapsed_us"),
    ((1, 24, 30), (2, 34, 138), (3, 51, 490)),
)
FIRST_OPEN_LATCH_US = (9.0, 24.0)
"""Wait for DMCSEGAL (latch 11) in each open, with one queue manager and with three."""


@formula(EXTRACT, "6.7 ORACLE 36", "5046-5059")
def first_open_wait_us(queue_managers: int) -> float:
    """Time of a first open that is not CPU; it grows steeply with the queue managers that compete (K4)."""
    return FIRST_OPEN.exactly(queue_managers, "elapsed_us") - FIRST_OPEN.exactly(queue_managers, "cpu_us")


@formula(EXTRACT, "6.7 ORACLE 37", "5066-5074")
def first_open_percent(opens_with_cf: int, opens_without_cf: int) -> float:
    """Share of opens that were first opens."""
    at_least(0, opens_with_cf=opens_with_cf, opens_without_cf=opens_without_cf)
    above(0, opens=opens_with_cf + opens_without_cf)
    return 100 * opens_with_cf / (opens_with_cf + opens_without_cf)


HELD_OPEN_US = 2.0
HOLDER = Table(
    "total CPU seconds on LPAR 1 for 1,000,000 opens and closes of one shared queue",
    Source(EXTRACT, "6.7 ORACLE 38", "5082-5088"),
    ("queue_managers", "baseline_cpu_sec", "held_open_cpu_sec"),
    ((1, 108.9, 17.0), (2, 150.1, 17.0), (3, 290.6, 17.0)),
)


@formula(EXTRACT, "6.7 ORACLE 38", "5082-5088")
def holder_saves_percent(queue_managers: int) -> float:
    """CPU saved when an application holds the queue open on each queue manager (SHQ-6)."""
    baseline = HOLDER.exactly(queue_managers, "baseline_cpu_sec")
    return 100 * (1 - HOLDER.exactly(queue_managers, "held_open_cpu_sec") / baseline)
