"""Questions about shared queues at work: backups, what survives, and what messages cost the coupling facility.

Called by plan through the catalog.  Calls structure_backup, duplexing, coupling_facility, large_messages, shared_gets,
storage_class_memory, log_space, expiry, compression.
"""

from quaestor.planner import (
    compression,
    coupling_facility,
    duplexing,
    expiry,
    large_messages,
    log_space,
    shared_gets,
    storage_class_memory,
    structure_backup,
    structure_choice,
    structures,
)
from quaestor.planner.answer import Figures, HeadRoom, Unit, figure
from quaestor.planner.questions.catalog import question
from quaestor.planner.questions.load import Load, needed
from quaestor.planner.questions.structures import cflevel_of, flows_of_structures, long_messages_in, size_kb
from quaestor.planner.workload import Flow


def kept_whole(load: Load) -> tuple[Flow, ...]:
    """Shared flows whose messages lie in the structure as they are, not in data sets."""
    whole = tuple(flow for flow in load.shared if flow.message_bytes <= structures.LARGEST_WHOLE_BYTES)
    return needed(whole or None, "a shared [[flow]] of at most 63 KB")


@question("ch1-13", "How much log does a structure backup write?")
def backup_log(load: Load) -> Figures:
    backed_up = tuple(flow for flow in load.shared if flow.persistent)  # a backup holds persistent messages alone
    for flow in needed(backed_up or None, "a shared persistent [[flow]]"):
        yield figure(
            log_space.structure_backup_bytes,
            Unit.BYTES,
            about=flow.queue,
            what="at its deepest",
            depth=flow.backlog,
            message_bytes=flow.message_bytes,
        )


@question("ch2-8", "How much room do messages hold that are got but not yet deleted?")
def undeleted(load: Load) -> Figures:
    for flow in load.shared:
        yield figure(
            shared_gets.undeleted_bytes,
            Unit.BYTES,
            about=flow.queue,
            what="at CFLEVEL(4)",
            stored_message_bytes=structures.bytes_held(flow.message_bytes),
            queue_managers=load.workload.queue_manager.members,
        )


@question("ch2-9", "How often must structures be backed up, and how long is recovery?")
def backups(load: Load) -> Figures:
    kept = [flow for flow in load.shared if flow.persistent and flow.average_per_s > 0]
    needed(kept or None, "a shared, persistent [[flow]]")
    budget_min = structure_backup.replay_budget_min(load.workload.targets.structure_recovery_s / 60)
    longest = load.peak_log_rate / 2**20
    yield figure(
        structure_backup.backup_interval_min,
        Unit.MINUTES,
        what="at the peak log rate of this queue manager",
        longest_log_mb_per_s=longest,
        budget_min=budget_min,
    )
    interval = structure_backup.backup_interval_min(longest, budget_min)
    yield figure(
        structure_backup.recovery_s,
        Unit.SECONDS,
        what="recovery just before the next backup",
        log_mb_since_backup=(longest * interval * 60,),
    )


@question("ch2-10", "What survives the loss of a structure?")
def survival(load: Load) -> Figures:
    for flow in load.shared:
        yield figure(
            structure_choice.message_survives,
            Unit.FLAG,
            about=flow.queue,
            what="messages survive, with backups and logs kept",
            persistent=flow.persistent,
            cflevel=cflevel_of(load, [flow]),
            recover=flow.persistent,
            duplexed=load.coupling_facility.duplexed,
        )
    yield figure(
        structure_choice.application_failure,
        Unit.TEXT,
        what="queue managers",
        duplexed=load.coupling_facility.duplexed,
        cflevel=cflevel_of(load, list(load.shared)),
    )


@question("ch2-11", "What does duplexing cost?")
def duplexing_cost(load: Load) -> Figures:
    for flow in load.shared:
        for what, change in (
            ("CPU more", lambda made: (made.cpu_percent.low, made.cpu_percent.high)),
            ("throughput", lambda made: (made.throughput_percent.low, made.throughput_percent.high)),
        ):
            yield figure(
                duplexing.duplex_both_change,
                Unit.PERCENT,
                about=flow.queue,
                what=f"{what}, as measured at 1 KB",
                pick=change,
                persistent=flow.persistent,
                message_kb=1,
            )


@question("ch2-12", "When must the coupling facility get another engine or a faster link?")
def engines(load: Load) -> Figures:
    facility = load.coupling_facility
    busy = needed(facility.busy_percent, "[coupling_facility] busy_percent")
    yield figure(
        coupling_facility.busy_limit_percent,
        Unit.PERCENT,
        what="busy at most",
        head_room=lambda limit: HeadRoom("coupling facility busy", busy, limit),
        engines=facility.engines,
    )
    yield figure(
        coupling_facility.engines_needed, Unit.COUNT, what="engines", engines=facility.engines, busy_percent=busy
    )
    if facility.link is not None:
        yield figure(
            coupling_facility.fastest_link,
            Unit.TEXT,
            what="link",
            pick=lambda link: f"{link.name}, {link.mb_per_s:g} MB/s",
            kinds=(facility.link,),
            distance_m=facility.distance_m,
        )


@question("ch2-13", "How many redrives does the mix of sizes cause?")
def redrives(load: Load) -> Figures:
    largest = structures.LARGEST_WHOLE_BYTES  # the largest buffer takes every message that is kept whole
    sizes = tuple(min(largest, structures.stored_bytes(flow.message_bytes)) for flow in kept_whole(load))
    yield figure(
        shared_gets.redrives_of_a_run,
        Unit.COUNT,
        what="of one message of each flow got in turn from one queue",
        pick=lambda made: made.count,
        messages_bytes=sizes,
    )


@question("ch2-14", "How much LOB space do large messages need, and what do data sets save?")
def large(load: Load) -> Figures:
    for flow in load.shared:
        if flow.message_bytes > structures.LARGEST_WHOLE_BYTES:
            yield figure(
                large_messages.lob_space_mb,
                Unit.MB,
                about=flow.queue,
                message_bytes_with_headers=structures.stored_bytes(flow.message_bytes),
                messages_max=flow.backlog,
            )
            yield figure(
                large_messages.smds_saves_ms,
                Unit.MS,
                about=flow.queue,
                what="CPU saved by data sets",
                pick=lambda saved: saved[0],
                message_bytes=flow.message_bytes,
            )


@question("ch2-15", "What CPU does a shared persistent message take?")
def message_cpu(load: Load) -> Figures:
    for flow in load.shared:
        if flow.persistent:
            for function, what in (
                (large_messages.cpu_ms_per_message, "z/OS"),
                (large_messages.cf_cpu_ms_per_message, "coupling facility"),
            ):
                yield figure(
                    function,
                    Unit.MS,
                    about=flow.queue,
                    what=what,
                    message_bytes=flow.message_bytes,
                    offload=long_messages_in(load),
                )


@question("ch2-16", "What does storage class memory hold, and what does it need?")
def scm(load: Load) -> Figures:
    scm_bytes = needed(load.coupling_facility.scm_bytes, "[coupling_facility] scm")
    for flow in kept_whole(load):
        yield figure(
            storage_class_memory.messages_in_scm,
            Unit.MESSAGES,
            about=flow.queue,
            scm_bytes=scm_bytes,
            message_bytes=flow.message_bytes,
        )
    yield figure(storage_class_memory.augmented_mb, Unit.MIB, what="augmented space", scm_mb=scm_bytes / 2**20)


@question("ch2-17", "What does a unit of recovery over two structures cost?")
def crossing(load: Load) -> Figures:
    for persistent in sorted({flow.persistent for flow in load.shared}):
        yield figure(
            coupling_facility.crossing_structures,
            Unit.PERCENT,
            what=f"CPU more, {'persistent' if persistent else 'non-persistent'}",
            pick=lambda made: made.cpu_percent.low,
            persistent=persistent,
        )


@question("ch2-18", "When does the group need another queue manager?")
def members_needed(load: Load) -> Figures:
    """The log of the shared queues and of this member's own queues and channels, at half of what a DASD takes."""
    members = load.workload.queue_manager.members
    group = sum(flow.peak_per_s * load.log_bytes_per_message(flow) for flow in load.shared)
    own = sum(load.flow_log_rate(flow, flow.peak_per_s) for flow in load.workload.private) + load.batch_log_rate
    yield figure(
        coupling_facility.queue_managers_needed,
        Unit.COUNT,
        head_room=lambda count: HeadRoom("queue managers of the group", count, members),
        log_mb_per_s=(group + own) / 2**20,
        log_mb_per_s_each=load.dasd_log_bytes_per_s / 2**20 / 2,
        channels=sum(channel.channels for channel in load.workload.channels),
    )


@question("ch1-44", "What does the expiry scan of shared queues cost?")
def expiry_scan(load: Load) -> Figures:
    interval_s = needed(load.workload.queue_manager.expryint_s, "[queue_manager] expryint")
    for flow in load.shared:
        yield figure(
            expiry.expiry_cpu_s_per_h,
            Unit.SECONDS,
            about=flow.queue,
            what="CPU an hour at its deepest",
            depth=flow.backlog,
            expryint_s=round(interval_s),
            offloaded=flow.message_bytes > structures.LARGEST_WHOLE_BYTES,
        )


@question("ch4-4", "How long does RECOVER CFSTRUCT take, with and without compressed archives?")
def recover_structure(load: Load) -> Figures:
    recovered = {
        name: flows for name, flows in flows_of_structures(load).items() if any(each.persistent for each in flows)
    }
    for name, flows in needed(recovered or None, "a shared persistent [[flow]]").items():
        for archive, what in (
            (compression.UNCOMPRESSED, "archives as they are"),
            (compression.COMPRESSED, "compressed"),
        ):
            yield figure(
                compression.recover_structure_seconds,
                Unit.SECONDS,
                about=name,
                what=what,
                structure_mb=size_kb(load, name, flows) / 1024,
                archive=archive,
            )
