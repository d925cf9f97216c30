"""What channels cost: moving a message, starting and stopping, tracing, connecting a client.

Rules
  Q1  Moving a message costs a fixed part and a part for every 1000 bytes; the two ends share it evenly.  Within 10% of
      what was measured, over the charted sizes.
  Q2  Plan with a batch of 1 unless a larger achieved batch is proven.  Of persistent messages only that line is
      printed.  Slow puts at BATCHSZ(50) cost what BATCHSZ(1) costs.
  Q3  The paper evaluates 105 + 3.7 S at 10,000 bytes as 138; it is 142.  The formula holds.
  Q4  Starting and stopping depend on how many channels SYSTEM.CHANNEL.SYNCQ knows.  The printed start rate rises with
      their number though its CPU does too: it is a reference, read between rows, not beyond them.

Called by the planner's answers.  Calls bounds, measured, source.
"""

from dataclasses import dataclass

from quaestor.planner.bounds import at_least
from quaestor.planner.measured import MeasuredChange, Range
from quaestor.planner.source import OutOfRangeError, Source, Table, formula

EXTRACT = "mp16-ch2-3"


@dataclass(frozen=True, slots=True)
class MoveCost:
    """CPU to move a message between two systems, both ends together: fixed, and for each 1000 bytes."""

    fixed_us: float
    us_per_1000_bytes: float
    source: Source

    def cpu_us(self, message_bytes: float) -> float:
        at_least(0, message_bytes=message_bytes)
        return self.fixed_us + self.us_per_1000_bytes * message_bytes / 1000


# keyed by persistence and BATCHSZ
MOVE_COSTS = {
    (False, 1): MoveCost(187, 4.4, Source(EXTRACT, "B13", "4106-4116")),
    (False, 50): MoveCost(105, 3.7, Source(EXTRACT, "B13", "4118-4127")),
    (True, 1): MoveCost(870, 14, Source(EXTRACT, "B13", "4151-4160")),
}

START_STOP = Table(
    "starting and stopping sender channels, V9.0 on 3906-703",
    Source(EXTRACT, "B9 ORACLE 67", "3749-3753"),
    ("pairs_known", "starts_per_s", "start_cpu_ms", "stops_per_s", "stop_cpu_ms"),
    ((1000, 250, 0.58, 730, 0.45), (2000, 285, 0.76, 660, 0.55), (4000, 360, 1.15, 570, 0.79)),
)

_TRACE = Source(EXTRACT, "B7 ORACLE 64", "3709-3715")
TRACE_CHINIT_BUSY = MeasuredChange("TRACE(CHINIT), one busy channel pair", _TRACE, Range(25, 55))
TRACE_CHINIT_IDLE = MeasuredChange("TRACE(CHINIT), idle channel initiator", _TRACE, Range.at(3))
CLASS_4 = MeasuredChange("class(4) accounting and statistics", _TRACE, Range(1, 2))

CONNECTION_SHARED = MeasuredChange(
    "client connection with SHARECNV above 0", Source(EXTRACT, "B8 ORACLE 66", "3733"), Range.at(20)
)
_BATCHING = Source(EXTRACT, "B6 ORACLE 62", "3679, 3684")
BATCHSZ_1_PERSISTENT = MeasuredChange("BATCHSZ(1) where 1 is achieved, small persistent", _BATCHING, Range(-20, 0))
ACHIEVED_50_FAST = MeasuredChange("achieved batch 50 against 1, FAST non-persistent", _BATCHING, Range.at(-50))
ACHIEVED_4_SMALL = MeasuredChange(
    "achieved batch 4 against 1, below 5000 bytes", Source(EXTRACT, "B6", "3608"), Range.at(-50), Range.at(100)
)
SOFTWARE_TO_ZEDC = MeasuredChange("ZLIBFAST with zEDC against software", Source(EXTRACT, "B5", "3558"), Range.at(-80))


@formula(EXTRACT, "B13 moving a message", "4065-4164")
def move_cpu_us(message_bytes: float, persistent: bool, batchsz: int = 1) -> float:
    """CPU of queue manager and channel initiator at both ends to move one message (Q1 to Q3)."""
    if (persistent, batchsz) not in MOVE_COSTS:
        valid = ", ".join(str(size) for kept, size in MOVE_COSTS if kept == persistent)
        kind = "persistent" if persistent else "non-persistent"
        raise OutOfRangeError(f"batchsz {batchsz} has no line for {kind} messages; valid are {valid}")
    return MOVE_COSTS[persistent, batchsz].cpu_us(message_bytes)


@formula(EXTRACT, "B13 at one end", "4110-4160")
def move_cpu_us_at_one_end(message_bytes: float, persistent: bool, batchsz: int = 1) -> float:
    """CPU at the sending end, and as much at the receiving end (Q1)."""
    return move_cpu_us(message_bytes, persistent, batchsz) / 2


@formula(EXTRACT, "B9 restart of channels [D]", "3745-3753")
def restart_s(channels: int, pairs_known: int | None = None) -> float:
    """Time to start so many sender channels without TLS (Q4); all of them known unless said otherwise."""
    at_least(0, channels=channels)
    known = channels if pairs_known is None else pairs_known
    return channels / START_STOP.between(known, "starts_per_s")


@formula(EXTRACT, "B9 stop of channels [D]", "3749-3753")
def stop_s(channels: int, pairs_known: int | None = None) -> float:
    """Time to stop so many sender channels (Q4)."""
    at_least(0, channels=channels)
    known = channels if pairs_known is None else pairs_known
    return channels / START_STOP.between(known, "stops_per_s")


@formula(EXTRACT, "B9 CPU of starting and stopping", "3749-3753")
def start_stop_cpu_ms(pairs_known: float) -> float:
    """CPU to start one channel and stop it again (Q4)."""
    return START_STOP.between(pairs_known, "start_cpu_ms") + START_STOP.between(pairs_known, "stop_cpu_ms")


@formula(EXTRACT, "B7 cost of trace", "3707-3715")
def trace_change(busy: bool, class_4_only: bool = False) -> MeasuredChange:
    """What TRACE(CHINIT) adds, or both class(4) options alone."""
    if class_4_only:
        return CLASS_4
    return TRACE_CHINIT_BUSY if busy else TRACE_CHINIT_IDLE


@formula(EXTRACT, "B8 cost of a connection", "3733-3735")
def connection_cost(base: float, sharecnv: int) -> float:
    """Cost of a client connection, from what it costs with SHARECNV(0); less if an instance is already there."""
    at_least(0, base=base, sharecnv=sharecnv)
    shared = sharecnv > 0
    return CONNECTION_SHARED.cpu_after(base).high if shared else base
