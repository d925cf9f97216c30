"""What accounting and trace cost: SMF records and bytes, microseconds, and the global trace.

Rules
  A1  Class 1 writes one record of one length for each transaction; class 3 adds a section for each queue.
  A2  A class 3 record holds 8 queues, each continuation 9 more.
  A3  Class 3 bytes are a line through the two printed sizes, for 1 to 8 queues.  What a continuation adds is not said:
      it is an argument, and without it more than 8 queues are refused.
  A4  Class 1 gathers at puts and gets alone; class 3 also at commit, backout and other calls.
  A6  SMF's VSAM data sets hold whole records in control intervals of a page, each record with a word in front.
  A5  Statistics trace costs nothing worth planning for, whatever the transaction rate [1969].

Called by whoever plans accounting.  Calls source, bounds.
"""

from dataclasses import dataclass
from enum import Enum

from quaestor.planner.bounds import at_least, within
from quaestor.planner.geometry import PAGE_BYTES, PAGES_PER_TRACK, TRACKS_PER_CYLINDER
from quaestor.planner.source import OutOfRangeError, Source, Table, formula

RDW_BYTES = 4

QUEUES_IN_PRIMARY = 8  # [1864]
QUEUES_IN_CONTINUATION = 9  # [1864]
CLASS_1_BYTES = 436  # T-21 [1906]
CLASS_3_SIZES = Table(
    "SMF 116 class 3 bytes of a transaction",
    Source("mp16-ch1", "T-21", "1906-1910"),
    ("queues", "bytes"),
    ((2, 8324), (8, 25076)),
)
CONTINUATION_WRITE_SHARE = 0.60  # T-22: of the primary's write cost, at most [1933]


class Accounting(Enum):
    """Classes of TRACE(ACCTG)."""

    CLASS_1 = 1
    CLASS_3 = 3


@dataclass(frozen=True, slots=True)
class AccountingCost:
    """Microseconds to gather at a call and to write the first record: from, to, and as in the paper's example."""

    gather_us: tuple[float, float]
    write_us: tuple[float, float]
    gather_us_typical: float
    write_us_typical: float


ACCOUNTING_SOURCE = Source("mp16-ch1", "T-22", "1919-1958")
ACCOUNTING_COST = {
    Accounting.CLASS_1: AccountingCost((2, 2), (1, 5), 2, 3),
    Accounting.CLASS_3: AccountingCost((1, 3), (6, 50), 2, 25),  # zEC12
}


class GlobalTrace(Enum):
    """TRACE(G) and where it goes; the value is the cost of a transaction as a multiple of no trace (T-23)."""

    OFF = 1
    RES = 2
    GTF = 8  # at least


GLOBAL_TRACE_SOURCE = Source("mp16-ch1", "T-23", "1979-1994")
TRANSACTION_US_UNTRACED = 100  # request and reply that do little but MQ [1986]


@formula("mp16-ch1", "F-50", "1862-1864")
def smf_116_records(queues: int, accounting: Accounting = Accounting.CLASS_3) -> int:
    """SMF 116 records of one transaction that touches this many queues (A1, A2)."""
    at_least(0, queues=queues)
    if accounting is Accounting.CLASS_1:
        return 1
    return 1 + -(-max(0, queues - QUEUES_IN_PRIMARY) // QUEUES_IN_CONTINUATION)


@formula("mp16-ch1", "T-21", "1904-1910")
def smf_116_bytes(
    queues: int, accounting: Accounting = Accounting.CLASS_3, continuation_fixed_bytes: float | None = None
) -> float:
    """SMF 116 bytes of one transaction (A1, A3): each queue 2792 bytes, each continuation its fixed part."""
    if accounting is Accounting.CLASS_1:
        at_least(0, queues=queues)
        return CLASS_1_BYTES
    at_least(1, queues=queues)
    if queues > QUEUES_IN_PRIMARY and continuation_fixed_bytes is None:
        raise OutOfRangeError(
            f"queues {queues} is not valid: 1 to {QUEUES_IN_PRIMARY}, unless continuation_fixed_bytes is given"
        )
    (low, low_bytes), (high, high_bytes) = CLASS_3_SIZES.rows
    per_queue_bytes = (high_bytes - low_bytes) / (high - low)
    continuations = smf_116_records(queues) - 1
    fixed_bytes = low_bytes - low * per_queue_bytes
    return fixed_bytes + per_queue_bytes * queues + continuations * (continuation_fixed_bytes or 0.0)


@formula("mp16-ch1", "T-21", "1912-1917")
def smf_116_volume_bytes(
    transactions: int,
    queues: int,
    accounting: Accounting = Accounting.CLASS_3,
    continuation_fixed_bytes: float | None = None,
) -> float:
    """SMF 116 bytes of many equal transactions."""
    at_least(0, transactions=transactions)
    return transactions * smf_116_bytes(queues, accounting, continuation_fixed_bytes)


@formula("mp1b", "ORACLE 2", "601, 618")
def smf_records_on_cylinders(cylinders: int, record_bytes: int) -> int:
    """SMF records that fit in VSAM data sets of so many cylinders: none spans a control interval (A6)."""
    at_least(1, cylinders=cylinders)
    within(1, PAGE_BYTES - RDW_BYTES, record_bytes=record_bytes)
    return cylinders * TRACKS_PER_CYLINDER * PAGES_PER_TRACK * (PAGE_BYTES // (record_bytes + RDW_BYTES))


@formula("mp16-ch1", "T-22", "1919-1958")
def accounting_cpu_us(
    accounting: Accounting,
    puts_and_gets: int,
    other_calls: int = 0,
    queues: int = 1,
    gather_us: float | None = None,
    write_us: float | None = None,
) -> float:
    """Microseconds accounting adds to a transaction (A4); the paper's own example values unless told."""
    at_least(0, puts_and_gets=puts_and_gets, other_calls=other_calls)
    cost = ACCOUNTING_COST[accounting]
    gather = cost.gather_us_typical if gather_us is None else gather_us
    write = cost.write_us_typical if write_us is None else write_us
    within(*cost.gather_us, gather_us=gather)
    within(*cost.write_us, write_us=write)
    calls = puts_and_gets + (other_calls if accounting is Accounting.CLASS_3 else 0)
    continuations = smf_116_records(queues, accounting) - 1
    return calls * gather + write * (1 + CONTINUATION_WRITE_SHARE * continuations)


@formula("mp16-ch1", "T-23", "1979-1994")
def global_trace_cpu_us(trace: GlobalTrace, untraced_us: float = TRANSACTION_US_UNTRACED) -> float:
    """Microseconds of a transaction that is nearly all MQ under TRACE(G); with GTF at least that."""
    at_least(0, untraced_us=untraced_us)
    return untraced_us * trace.value
