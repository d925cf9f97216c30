"""What a workload amounts to: the rates and sizes that several questions share, each computed once.

Rules
  L1  A flow logs its put and its get; their bytes come from the charts, beyond 4 KB by the slope of their last rows.
  L2  The log rate of the queue manager is that of its persistent flows, its part of the shared ones, and its batches.
  L3  Log size and number are those defined today; where none are, those the plan recommends.
  L4  Log between checkpoints: as much as LOGLOAD allows, and never more than one log, for a log switch is a checkpoint.
  L5  Beyond the sizes that were measured the nearest is used: of DASD rates 1,000 bytes and 1 MB, or 5,000 bytes where
      that is the largest; of batches 50.  Between the sizes of DASD rates the line is ours.

Called by every module of questions.  Calls workload and the formulas of logs, restart and batches.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from quaestor.planner.answer import MissingError
from quaestor.planner.batches import achieved_batch_size, batches_per_s
from quaestor.planner.dasd import MEGABYTE, log_rate_mb_per_sec, sizes_measured
from quaestor.planner.engine_log import engine_log_bytes_per_unit_of_work, engine_log_writes_per_message
from quaestor.planner.log_rate import Path, batch_log_bytes
from quaestor.planner.log_space import Action, QueueKind, log_bytes_per_unit_of_work
from quaestor.planner.logload import WRITES_PER_MESSAGE, transactions_between_checkpoints
from quaestor.planner.logs import ActiveLogSize, active_log_size, active_logs_needed, fill_time_s
from quaestor.planner.measured_workload import NON_PERSISTENT
from quaestor.planner.page_sets import Design, design_of
from quaestor.planner.quantity import DAY_S, HOUR_S
from quaestor.planner.workload import Channel, CouplingFacility, Dasd, Flow, Machine, Workload

T = TypeVar("T")
BATCH_MEASURED_MAX = 50


@dataclass(frozen=True)
class Load:
    """A workload with what follows from it."""

    workload: Workload

    # --- what may be missing --------------------------------------------------------------------------------------

    @property
    def persistent(self) -> tuple[Flow, ...]:
        return self._some(self.workload.persistent, "a persistent [[flow]] with a rate above 0")

    @property
    def shared(self) -> tuple[Flow, ...]:
        return self._some(self.workload.shared, "a shared [[flow]]")

    @property
    def private(self) -> tuple[Flow, ...]:
        return self._some(self.workload.private, "a private [[flow]]")

    @property
    def channels(self) -> tuple[Channel, ...]:
        return self._some(self.workload.channels, "a [[channel]]")

    @property
    def dasd(self) -> Dasd:
        return needed(self.workload.dasd, "[dasd]")

    @property
    def machine(self) -> Machine:
        return needed(self.workload.machine, "[machine]")

    @property
    def coupling_facility(self) -> CouplingFacility:
        return needed(self.workload.coupling_facility, "[coupling_facility]")

    @property
    def log_io_s(self) -> float:
        return needed(self.dasd.log_io_s, "[dasd] log_io_time")

    def _some(self, found: tuple[T, ...], what: str) -> tuple[T, ...]:
        return needed(found or None, what)

    # --- the log --------------------------------------------------------------------------------------------------

    def put_log_bytes(self, flow: Flow) -> float:
        """Log bytes of one put (L1)."""
        return self._call_log_bytes(flow, Action.PUT)

    def get_log_bytes(self, flow: Flow) -> float:
        return self._call_log_bytes(flow, Action.GET)

    def unit_log_bytes(self, flow: Flow, action: Action) -> tuple[Callable[..., float], dict[str, Any]]:
        """The formula for a unit of work of puts or gets, and its inputs: the paper's product's, or this one's own."""
        inputs = {"message_bytes": flow.message_bytes, "action": action, "messages": flow.messages_per_commit}
        if self.has_engine_log(flow):
            return engine_log_bytes_per_unit_of_work, inputs
        return log_bytes_per_unit_of_work, {**inputs, "queue": flow.kind, "extrapolate": True}

    def has_engine_log(self, flow: Flow) -> bool:
        """Whether this product's own figures apply, not the paper's."""
        return self.workload.queue_manager.product == "quaestor" and flow.kind is QueueKind.LOCAL

    def _call_log_bytes(self, flow: Flow, action: Action) -> float:
        formula, inputs = self.unit_log_bytes(flow, action)
        return formula(**inputs) / flow.messages_per_commit

    def log_bytes_per_message(self, flow: Flow) -> float:
        return self.put_log_bytes(flow) + self.get_log_bytes(flow) if flow.persistent else 0.0

    def flow_log_rate(self, flow: Flow, per_s: float) -> float:
        """Log bytes a second that the planned queue manager writes for a flow at a rate (L2)."""
        return per_s * self.workload.share_of(flow) * self.log_bytes_per_message(flow)

    def batch_inputs(self, channel: Channel) -> dict[str, Any]:
        """What the size of a channel's batches follows from; a bulk transfer finds its queue preloaded."""
        return {
            "messages_per_s": channel.average_per_s,
            "batchsz": channel.batchsz,
            "batchint_ms": channel.batchint_s * 1000,
            "message_bytes": channel.message_bytes,
            "preloaded": channel.traffic == "bulk",
        }

    def achieved_batch(self, channel: Channel) -> float:
        return min(achieved_batch_size(**self.batch_inputs(channel)), BATCH_MEASURED_MAX)

    @cached_property
    def batch_log_rate(self) -> float:
        """Log bytes a second of all channel batches (L2)."""
        return sum(
            channel.channels
            * batches_per_s(channel.average_per_s, self.achieved_batch(channel))
            * batch_log_bytes(Path(channel.kind), self.achieved_batch(channel))
            for channel in self.workload.channels
            if channel.persistent and channel.kind != "svrconn"
        )

    @cached_property
    def peak_log_rate(self) -> float:
        """Log bytes a second at the peak (L2)."""
        flows = sum(self.flow_log_rate(flow, flow.peak_per_s) for flow in self.persistent)
        return flows + self.batch_log_rate

    @cached_property
    def average_log_rate(self) -> float:
        """Log bytes a second in the busy hours."""
        return sum(self.flow_log_rate(flow, flow.average_per_s) for flow in self.persistent) + self.batch_log_rate

    @property
    def log_bytes_per_day(self) -> float:
        return self.average_log_rate * self.workload.targets.busy_hours * HOUR_S

    @property
    def log_rate_over_the_day(self) -> float:
        return self.log_bytes_per_day / DAY_S

    @cached_property
    def peak_messages_per_s(self) -> float:
        """Persistent messages a second that the planned queue manager logs at the peak."""
        return sum(flow.peak_per_s * self.workload.share_of(flow) for flow in self.persistent)

    def mean_of_persistent(self, figure: Callable[[Flow], float]) -> float:
        """The mean of a figure over persistent messages, by rate."""
        total = sum(flow.peak_per_s * self.workload.share_of(flow) * figure(flow) for flow in self.persistent)
        return total / self.peak_messages_per_s

    @cached_property
    def mean_message_bytes(self) -> float:
        """Mean size of a persistent message."""
        return self.mean_of_persistent(lambda flow: flow.message_bytes)

    @property
    def mean_log_bytes(self) -> float:
        """Log bytes of a mean persistent message, batches included."""
        return self.peak_log_rate / self.peak_messages_per_s

    @cached_property
    def dasd_log_bytes_per_s(self) -> float:
        """The highest log data rate of the DASD at the mean message size."""
        return self.dasd_mb_per_s(self.mean_message_bytes) * MEGABYTE

    def dasd_mb_per_s(self, message_bytes: float) -> float:
        """The highest log data rate of the DASD at a message size (L5)."""
        least, largest = sizes_measured(self.dasd.type)
        return log_rate_mb_per_sec(self.dasd.type, min(max(message_bytes, least), largest), interpolate=True)

    @cached_property
    def recommended_log(self) -> ActiveLogSize:
        return active_log_size(self.peak_log_rate, self.workload.queue_manager.version, self.workload.log.archive)

    @property
    def log_bytes(self) -> int:
        """Size of one active log (L3)."""
        return self.workload.log.log_bytes or self.recommended_log.log_bytes

    @cached_property
    def logs_needed(self) -> int:
        """Active logs of a copy at this size."""
        return self.logs_of(self.log_bytes)

    def logs_of(self, log_bytes: int) -> int:
        log = self.workload.log
        return active_logs_needed(
            log_bytes, self.peak_log_rate, log.archive_time_s, log.archive_delay_s, self.log_bytes_per_day
        )

    @property
    def active_logs(self) -> int:
        return self.workload.log.active_logs or self.logs_needed

    @property
    def fill_time_s(self) -> float:
        return fill_time_s(self.log_bytes, self.peak_log_rate)

    @property
    def writes_per_message(self) -> float:
        """Writes to log buffers that a mean persistent message counts towards LOGLOAD."""
        written = self.workload.log.writes_per_message
        if written is not None:
            return written
        if not any(self.has_engine_log(flow) for flow in self.workload.persistent):
            return WRITES_PER_MESSAGE
        return self.mean_of_persistent(self._log_writes)

    def _log_writes(self, flow: Flow) -> float:
        if self.has_engine_log(flow):
            return engine_log_writes_per_message(flow.message_bytes, flow.messages_per_commit)
        return WRITES_PER_MESSAGE

    @cached_property
    def checkpoint_log_bytes(self) -> float:
        """Log between two checkpoints (L4)."""
        messages = transactions_between_checkpoints(self.workload.log.logload, self.writes_per_message)
        return min(messages * self.mean_log_bytes, self.log_bytes)

    @property
    def checkpoint_interval_s(self) -> float:
        return self.checkpoint_log_bytes / self.peak_log_rate

    # --- pages ----------------------------------------------------------------------------------------------------

    @property
    def design(self) -> Design:
        return design_of(self.workload.queue_manager.version)

    def lives_short(self, flow: Flow) -> bool:
        """Whether messages are got before two checkpoints have passed; without a log there are none."""
        return not self.workload.persistent or flow.life_s < 2 * self.checkpoint_interval_s


def needed(value: T | None, what: str) -> T:
    """The value, or the answer that it is missing."""
    if value is None:
        raise MissingError(f"the workload lacks {what}")
    return value


def flows_of_queues(flows: Iterable[Flow]) -> dict[str, list[Flow]]:
    """Flows by the queue they go through: a measurement tells its persistent messages and the others apart."""
    made: dict[str, list[Flow]] = {}
    for flow in flows:
        made.setdefault(flow.queue.removesuffix(NON_PERSISTENT), []).append(flow)
    return made
