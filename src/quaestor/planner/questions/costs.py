"""Questions about CPU and rates: accounting, single getters, shared queues, tiers, IMS, other machines.

Called by plan through the catalog.  Calls tracing, queues, applications, shared_access, tiers, ims_bridge, hardware,
throughput.
"""

from typing import Any

from quaestor.planner import (
    applications,
    hardware,
    ims_bridge,
    large_messages,
    queues,
    shared_access,
    throughput,
    tiers,
    tracing,
)
from quaestor.planner.answer import Figures, HeadRoom, Unit, each_apart, figure, looked_up
from quaestor.planner.applications import Conversion, LibraryLookaside
from quaestor.planner.questions.catalog import beyond, question
from quaestor.planner.questions.load import Load, needed
from quaestor.planner.questions.structures import long_messages_in
from quaestor.planner.workload import AccountingTrace, Flow

GROUP_MESSAGES_MEASURED = 5
SHARED_MEASURED = {1_000: "1,000 bytes", 5_000: "5,000 bytes"}


def accounting(load: Load) -> AccountingTrace:
    return needed(load.workload.accounting, "[accounting]")


@question("ch1-35", "How many SMF 116 records, and how many bytes?")
def smf_116(load: Load) -> Figures:
    trace = accounting(load)
    inputs: dict[str, Any] = {"queues": trace.queues_per_transaction, "accounting": trace.accounting}
    yield figure(tracing.smf_116_records, Unit.COUNT, what="records a transaction", **inputs)
    hour = round(trace.transactions_per_s * 3600)
    yield figure(tracing.smf_116_volume_bytes, Unit.BYTES, what="an hour", transactions=hour, **inputs)


@question("ch1-36", "What does accounting add to a transaction?")
def accounting_cpu(load: Load) -> Figures:
    trace = accounting(load)
    yield figure(
        tracing.accounting_cpu_us,
        Unit.US,
        accounting=trace.accounting,
        puts_and_gets=trace.calls_per_transaction,
        queues=trace.queues_per_transaction,
    )


@question("ch1-37", "What does the global trace cost?")
def global_trace(load: Load) -> Figures:
    untraced = tracing.TRANSACTION_US_UNTRACED if load.workload.machine is None else load.workload.machine.cost_us
    for trace in tracing.GlobalTrace:
        yield figure(
            tracing.global_trace_cpu_us,
            Unit.US,
            what=f"a transaction, TRACE(G) {trace.name}",
            trace=trace,
            untraced_us=untraced or tracing.TRANSACTION_US_UNTRACED,
        )


@question("ch4-12", "What is the highest rate of one strictly ordered getter?")
def ordered_getter(load: Load) -> Figures:
    ordered = [flow for flow in load.persistent if flow.strict_order]
    needed(ordered or None, "a persistent [[flow]] with strict_order")
    for flow in ordered:
        units = flow.peak_per_s / flow.messages_per_commit
        yield figure(
            throughput.instance_units_per_s_max,
            Unit.PER_S,
            about=flow.queue,
            what="units of work, waiting for the log alone",
            head_room=lambda most, of=flow.queue, used=units: HeadRoom(  # type: ignore[misc]
                f"the one getter of {of}", used, most
            ),
            forces_per_unit=1,
            log_write_s=load.log_io_s,
        )


@question("ch4-13", "What does LLA do for work that connects again and again?")
def lookaside(load: Load) -> Figures:  # noqa: ARG001  the measured figures answer it
    for after in (LibraryLookaside.LIBRARIES, LibraryLookaside.LIBRARIES_AND_FREEZE):
        yield figure(
            applications.lookaside_speed_up,
            Unit.COUNT,
            what=f"times as fast with {after.name}",
            before=LibraryLookaside.NONE,
            after=after,
        )


@question("ch4-14", "What does a get cost that meets a large uncommitted unit of work?")
def failed_get(load: Load) -> Figures:
    for flow in load.workload.flows:
        yield figure(
            applications.failed_get_ms, Unit.MS, about=flow.queue, uncommitted_messages=flow.messages_per_commit
        )


@question("ch4-15", "How many redrives does a common key cause?")
def common_key(load: Load) -> Figures:
    for flow in load.shared:
        if flow.indexed:
            yield figure(
                shared_access.redrives_to_drain,
                Unit.COUNT,
                about=flow.queue,
                what="to drain it, all with one key",
                messages_with_key=flow.backlog,
            )


@question("ch4-16", "What do opens of undefined queues and first opens cost?")
def opens(load: Load) -> Figures:
    needed(load.workload.shared or None, "a shared [[flow]]")
    yield figure(shared_access.undefined_open_us, Unit.US, what="CPU of an undefined open")
    yield figure(
        shared_access.holder_saves_percent,
        Unit.PERCENT,
        what="CPU saved by holding the queue open",
        queue_managers=load.workload.queue_manager.members,
    )


@question("ch4-17", "What rate does one private queue sustain?")
def private_queue(load: Load) -> Figures:
    sizes = queues.PRIVATE_QUEUE_RATE.column("message_bytes")
    for flow in load.private:
        if not flow.persistent:
            size = min(max(flow.message_bytes, sizes[0]), sizes[-1])
            yield looked_up(
                "queues.PRIVATE_QUEUE_RATE",
                queues.PRIVATE_QUEUE_RATE,
                size,
                "messages_per_sec",
                Unit.PER_S,
                about=flow.queue,
                what="at its size, or the nearest measured; non-persistent, 2827-7A1",
            )


def _shared_measured(message_bytes: int) -> str:
    """The size that was measured on a shared queue and is nearest."""
    return SHARED_MEASURED[min(SHARED_MEASURED, key=lambda size: abs(size - message_bytes))]


@question("ch4-18", "What does it cost to move to shared queues?")
def shared_cost(load: Load) -> Figures:
    for flow in load.shared:
        if flow.persistent:
            yield figure(
                queues.shared_queue_cpu_factor,
                Unit.COUNT,
                about=flow.queue,
                what="times the CPU of a private queue",
                size=_shared_measured(flow.message_bytes),
                queue_managers=load.workload.queue_manager.members,
            )


@question("ch4-19", "How many engines does the coupling facility need?")
def cf_engines(load: Load) -> Figures:
    def engines(flow: Flow) -> Figures:
        yield figure(
            queues.cf_engines_needed,
            Unit.COUNT,
            about=flow.queue,
            what="for this flow at the peak",
            messages_per_sec=flow.peak_per_s,
            cf_us_per_message=1000 * large_messages.cf_cpu_ms_per_message(flow.message_bytes, long_messages_in(load)),
        )

    return each_apart((flow for flow in load.shared if flow.persistent), lambda flow: flow.queue, engines)


@question("ch4-20", "Which size of group moves a volume fastest?")
def groups(load: Load) -> Figures:  # noqa: ARG001  the measured figures answer it
    yield figure(
        queues.group_speed_up,
        Unit.COUNT,
        what="times as fast with 5 messages of 1 MB as with 5,000 of 1 KB",
        messages_per_group=GROUP_MESSAGES_MEASURED,
    )


@question("ch4-21", "What do waiters, conversion, events and triggers add to a message?")
def additions(load: Load) -> Figures:
    trace = accounting(load)
    get_us = needed(trace.get_us, "[accounting] get_us, as class 3 records have it")
    yield figure(
        applications.get_with_waiters_us,
        Unit.US,
        what=f"a get with {trace.waiters} waiting",
        get_us=get_us,
        waiters=trace.waiters,
    )
    for conversion in (Conversion.SINGLE_BYTE, Conversion.DOUBLE_BYTE):
        yield figure(
            applications.get_with_conversion_us,
            Unit.US,
            what=f"a get with {conversion.name.lower().replace('_', '-')} conversion",
            basic_get_us=get_us,
            conversion=conversion,
        )
    put_us = needed(trace.put_us, "[accounting] put_us, as class 3 records have it")
    for what, events, triggers in (("an event", 1.0, 0.0), ("a trigger", 0.0, 1.0)):
        yield figure(
            applications.put_with_side_messages_us,
            Unit.US,
            what=f"a put that causes {what}, small puts as this one",
            put_us=put_us,
            small_persistent_put_us=put_us,
            small_nonpersistent_put_us=put_us,
            events_per_message=events,
            triggers_per_message=triggers,
        )


@question("ch4-22", "Two tiers or three for the clients?")
def client_tiers(load: Load) -> Figures:
    clients = sum(channel.channels for channel in load.channels if channel.kind == "svrconn")
    needed(clients or None, "a [[channel]] of kind svrconn")
    yield figure(tiers.two_tier_storage_kb, Unit.KB, what="clients straight to z/OS", clients=clients)
    yield figure(tiers.three_tier_storage_kb, Unit.KB, what="through a concentrator, one pair of channels")
    yield figure(
        tiers.clients_max,
        Unit.COUNT,
        what="clients straight to z/OS at most",
        pick=lambda found: found[0],
        head_room=lambda most: HeadRoom("clients straight to z/OS", clients, most),
    )


@question("ch4-23", "IMS bridge: which commit mode, how many regions and TPIPEs?")
def bridge(load: Load) -> Figures:
    ims = needed(load.workload.ims_bridge, "[ims_bridge]")
    yield figure(
        ims_bridge.better_commit_mode,
        Unit.TEXT,
        pick=lambda mode: f"commit mode {mode.value}",
        persistent=ims.persistent,
        spare_regions=ims.spare_regions,
    )
    yield figure(
        ims_bridge.regions_needed, Unit.COUNT, what="regions", rate_per_sec=ims.rate_per_s, region_us=ims.region_us
    )
    yield figure(
        ims_bridge.tpipes_needed,
        Unit.COUNT,
        what="TPIPEs",
        rate_per_sec=ims.rate_per_s,
        bridge_task_rate_per_sec=ims.bridge_task_per_s,
    )


beyond(
    "ch4-24",
    "Which IMS settings are wrong?",
    "needs what IMS counted with its settings; the advisor reads it",
)


@question("ch4-25", "What does a cost measured elsewhere become here, and how busy is the machine?")
def other_machine(load: Load) -> Figures:
    machine = load.machine
    here = hardware.machine(needed(machine.type, "[machine] type"))
    there = hardware.machine(needed(machine.measured_on, "[machine] measured_on"))
    cost = needed(machine.cost_us, "[machine] cost_us")
    yield figure(hardware.convert_cost_us, Unit.US, what="a transaction", cost_us=cost, source=there, target=here)
    rate = accounting(load).transactions_per_s
    per_s = rate * hardware.convert_cost_us(cost, there, here) / 1000
    yield figure(
        hardware.cpu_busy_percent,
        Unit.PERCENT,
        what="busy with these transactions",
        head_room=lambda busy: HeadRoom("processors", busy, 100),
        cost_ms_per_sec=per_s,
        processors=machine.processors,
    )
