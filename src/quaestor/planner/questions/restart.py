"""Questions about restart and recovery: how long, by phase, and which LOGLOAD keeps the target.

Called by plan through the catalog.  Calls restart, logload, indexing, log_ranges.
"""

from typing import Any

from quaestor.planner import indexing, logload, restart
from quaestor.planner.answer import Figures, HeadRoom, Unit, figure
from quaestor.planner.log_ranges import LogRange
from quaestor.planner.logload import Shape
from quaestor.planner.questions.catalog import beyond, question
from quaestor.planner.questions.load import Load, needed
from quaestor.planner.restart import RestartEstimate

PHASES = {
    "status of units (phase 2)": lambda made: made.state_s,
    "forward (phase 3)": lambda made: made.forward_s,
    "backward (phase 4)": lambda made: made.backward_s,
}


def restart_inputs(load: Load) -> dict[str, Any]:
    """What a failure at the end of a log, just before its checkpoint, leaves to read, the longest unit in flight.

    Phase 2 then reads the whole log; forward recovery reads all pages that its range may name.
    """
    rebuild = rebuild_range(load)
    in_flight = round(load.peak_log_rate * load.workload.targets.longest_unit_s)
    return {
        "state": LogRange(0, load.log_bytes),
        "units": (),
        "rebuild_log_bytes": rebuild.bytes,
        "backward": LogRange(0, in_flight),
        "rebuild_pages": restart.forward_pages_max(rebuild),
    }


def rebuild_range(load: Load) -> LogRange:
    """The log since the checkpoints that page sets are rebuilt from."""
    return LogRange(0, round(restart.rebuild_bytes(load.checkpoint_log_bytes)))


@question("ch1-26", "How long does restart take after a failure, phase by phase?")
def phases(load: Load) -> Figures:
    inputs = restart_inputs(load)
    for what, pick in PHASES.items():
        yield figure(restart.restart_estimate, Unit.SECONDS, what=what, pick=pick, **inputs)
    target_s = load.workload.targets.restart_s

    def room(total_s: float) -> HeadRoom:
        return HeadRoom("restart time", total_s, target_s)

    def total(made: RestartEstimate) -> float:
        return made.total_s

    yield figure(restart.restart_estimate, Unit.SECONDS, what="in all", pick=total, head_room=room, **inputs)


@question("ch1-27", "What is the longest restart that this LOGLOAD allows?")
def longest_restart(load: Load) -> Figures:
    yield figure(
        logload.restart_s_max,
        Unit.SECONDS,
        what="one message a transaction, as measured on an old release",
        logload=load.workload.log.logload,
        log_writes_per_transaction=load.writes_per_message,
    )


@question("ch1-28", "Which LOGLOAD keeps the restart target?")
def fitting_logload(load: Load) -> Figures:
    yield figure(
        logload.logload_for_restart,
        Unit.COUNT,
        what="highest that keeps the target",
        restart_limit_s=load.workload.targets.restart_s,
        log_writes_per_transaction=load.writes_per_message,
    )
    for flow in load.workload.persistent:
        shape = Shape.LOW_DEPTH if load.lives_short(flow) and flow.outage_s == 0 else Shape.HIGH_VARIANCE
        yield figure(
            logload.recommended_logload,
            Unit.TEXT,
            about=flow.queue,
            what=f"recommended, {shape.value}",
            pick=lambda found: f"{found.low:,} to {found.high:,}",
            shape=shape,
            message_bytes=flow.message_bytes,
        )


beyond(
    "ch1-29",
    "Which archive logs will recovery need?",
    "needs the units of recovery at a failure (CSQR status table) and the BSDS's logs",
)


beyond(
    "ch1-30",
    "When will a running recovery end?",
    "needs the messages CSQR030I to CSQR033I of a restart under way",
)


@question("ch1-31", "How many pages may forward recovery read, and how long does that take?")
def page_reads(load: Load) -> Figures:
    stretch = rebuild_range(load)
    yield figure(restart.forward_pages_max, Unit.PAGES, what="at most", stretch=stretch)
    for zhpf in (False, True):
        yield figure(
            restart.forward_page_reads_s,
            Unit.SECONDS,
            what=f"all of them, {'with' if zhpf else 'without'} zHPF",
            pages_max=restart.forward_pages_max(stretch),
            zhpf=zhpf,
        )


@question("ch1-32", "How long does it take to recover a page set from its backup?")
def media_recovery(load: Load) -> Figures:
    yield figure(
        restart.media_recovery_s,
        Unit.SECONDS,
        what="backup as old as the active logs reach",
        failure_rba=load.log_bytes * load.active_logs,
        backup_rba=0,
        bytes_per_checkpoint=load.checkpoint_log_bytes,
        fuzzy=True,
    )


@question("ch1-33", "What do indexed queues add to start-up?")
def index_rebuild(load: Load) -> Figures:
    depths = tuple(flow.backlog for flow in load.workload.private if flow.indexed and flow.persistent)
    needed(depths or None, "a private, persistent [[flow]] that is indexed")
    for build in indexing.IndexBuild:
        yield figure(
            indexing.startup_delay_s,
            Unit.SECONDS,
            what=f"QINDBLD({build.value}), queues at their deepest",
            persistent_messages=depths,
            build=build,
        )


@question("ch1-34", "What do objects add to start-up?")
def objects(load: Load) -> Figures:
    count = needed(load.workload.queue_manager.objects, "[queue_manager] objects")
    yield figure(logload.recovery_s_by_objects, Unit.SECONDS, objects=count)
