"""Questions about structures: which there are, how large each is and how many messages it holds.

Called by plan through the catalog, by the other questions about shared queues and by definitions.  Calls
structure_choice, structures, cfrm, offload.
"""

from collections.abc import Callable, Mapping
from typing import Any

from quaestor.planner import cfrm, offload, structure_choice, structures
from quaestor.planner.answer import Figures, HeadRoom, Unit, figure
from quaestor.planner.questions.catalog import question
from quaestor.planner.questions.load import Load, flows_of_queues, needed
from quaestor.planner.release import Release
from quaestor.planner.structure_choice import SharedQueue
from quaestor.planner.structures import Population
from quaestor.planner.workload import Flow, Structure

APPLICATION_STRUCTURE = "APPLICATION1"
CFLEVEL_WITH_DATA_SETS = 5


def has_data_sets(load: Load) -> bool:
    """Whether the release knows CFLEVEL(5), and with it shared message data sets."""
    return load.workload.queue_manager.version >= Release.V7_1


def long_messages_in(load: Load) -> str:
    """Where the release keeps messages that are too long for a structure."""
    return "smds" if has_data_sets(load) else "db2"


def cflevel_of(load: Load, flows: list[Flow]) -> int:
    """The CFLEVEL of the structure that these flows share."""
    largest = max(flow.message_bytes for flow in flows)
    return CFLEVEL_WITH_DATA_SETS if has_data_sets(load) else structure_choice.least_cflevel(largest)


def shared_queues(load: Load) -> tuple[SharedQueue, ...]:
    """Each queue once: where some of its messages are persistent, it lies where those are recovered."""
    duplexed = load.coupling_facility.duplexed
    return tuple(
        SharedQueue(
            name,
            any(flow.persistent for flow in flows),
            max(flow.message_bytes for flow in flows),
            duplexed=duplexed,
        )
        for name, flows in flows_of_queues(load.shared).items()
    )


def flows_of_structures(load: Load) -> Mapping[str, list[Flow]]:
    """Shared flows by their structure; those that name none share one."""
    by_name: dict[str, list[Flow]] = {}
    for flow in load.shared:
        by_name.setdefault(flow.structure or APPLICATION_STRUCTURE, []).append(flow)
    return by_name


def populations(flows: list[Flow]) -> tuple[Population, ...]:
    return tuple(Population(flow.message_bytes, flow.backlog) for flow in flows)


def sizing(load: Load, flows: list[Flow]) -> tuple[Callable[..., int], dict[str, Any]]:
    """The formula for the size of a structure, and its inputs; where its ratio is fixed, the one that wants more."""
    facility = load.coupling_facility
    inputs: dict[str, Any] = {"populations": populations(flows), "cfcc_level": facility.cfcc_level}
    algorithm = structures.structure_size_kb, {**inputs, "auto_alter": facility.auto_alter}
    if facility.auto_alter or facility.cfcc_level not in structures.CFCC_LEVELS_MEASURED:
        return algorithm
    fixed = structures.structure_size_at_fixed_ratio_kb, inputs
    return max(algorithm, fixed, key=lambda pair: pair[0](**pair[1]))


def needed_kb(load: Load, flows: list[Flow]) -> int:
    formula, inputs = sizing(load, flows)
    return formula(**inputs)


def defined(load: Load, name: str) -> Structure | None:
    return next((each for each in load.workload.structures if each.name == name), None)


def size_kb(load: Load, name: str, flows: list[Flow]) -> int:
    """KB of a structure as it is defined, or as it should be."""
    found = defined(load, name)
    return found.size_bytes // 1024 if found else needed_kb(load, flows)


@question("ch2-1", "How many structures, and which queues in which?")
def which_structures(load: Load) -> Figures:
    yield figure(
        structure_choice.application_structures,
        Unit.TEXT,
        pick=lambda made: "; ".join(
            f"CFLEVEL({each.cflevel}) RECOVER({'YES' if each.recover else 'NO'}): {', '.join(each.queues)}"
            for each in made
        ),
        queues=shared_queues(load),
        smds=has_data_sets(load),
    )


@question("ch2-2", "Which sizes does each structure get?")
def structure_sizes(load: Load) -> Figures:
    for name, flows in flows_of_structures(load).items():
        init_kb = needed_kb(load, flows)
        yield figure(
            cfrm.recommended_sizes,
            Unit.TEXT,
            about=name,
            pick=lambda made: f"INITSIZE({made.init_kb}) SIZE({made.size_kb}) MINSIZE({made.min_kb}), in KB",
            init_kb=init_kb,
        )
        if init_kb and structures.is_small(init_kb):
            yield figure(
                structures.is_small,
                Unit.FLAG,
                about=name,
                what="too small to trust: more is needed below 16 MB",
                structure_kb=init_kb,
            )


@question("ch2-3", "How large is CSQ_ADMIN?")
def admin_structure(load: Load) -> Figures:
    needed(load.workload.coupling_facility, "[coupling_facility]")
    members = load.workload.queue_manager.members
    yield figure(cfrm.admin_init_size_kb, Unit.KB, what="INITSIZE", queue_managers=members)
    yield figure(
        cfrm.admin_carries_unit,
        Unit.FLAG,
        what="carries the largest unit of recovery",
        messages_in_unit_max=load.workload.queue_manager.maxumsgs,
    )


@question("ch2-4", "How many elements does a message take beside its entry?")
def elements(load: Load) -> Figures:
    for flow in load.shared:
        yield figure(structures.elements_per_message, Unit.COUNT, about=flow.queue, message_bytes=flow.message_bytes)


@question("ch2-5", "How many messages fit a structure?")
def messages_that_fit(load: Load) -> Figures:
    for name, flows in flows_of_structures(load).items():
        for flow in flows:
            yield figure(
                structures.messages_in_structure,
                Unit.MESSAGES,
                about=f"{flow.queue} in {name}",
                what="of this queue alone",
                structure_kb=size_kb(load, name, flows),
                message_bytes=flow.message_bytes,
                cfcc_level=load.coupling_facility.cfcc_level,
                auto_alter=load.coupling_facility.auto_alter,
            )


@question("ch2-6", "Which size outlasts an outage of the getters?")
def outage_size(load: Load) -> Figures:
    for flow in load.shared:
        yield figure(
            structures.messages_for_outage,
            Unit.MESSAGES,
            about=flow.queue,
            puts_per_s=(flow.peak_per_s,),
            outage_s=max(flow.outage_s, flow.life_s),
        )
    for name, flows in flows_of_structures(load).items():
        found = defined(load, name)
        formula, inputs = sizing(load, flows)
        room = None if found is None else _room(found)
        yield figure(formula, Unit.KB, about=name, head_room=room, **inputs)


def _room(structure: Structure) -> Callable[[float], HeadRoom]:
    return lambda kb: HeadRoom(f"structure {structure.name}", kb, structure.size_bytes / 1024)


@question("ch2-7", "How many fit with offload, and how large are the data sets?")
def with_offload(load: Load) -> Figures:
    needed(has_data_sets(load) or None, "[queue_manager] release 7.1 or later, for CFLEVEL(5)")
    for name, flows in flows_of_structures(load).items():
        pools = structures.pools_allocated(size_kb(load, name, flows), load.coupling_facility.cfcc_level)
        for flow in flows:
            inputs: dict[str, Any] = {"pools": pools, "message_bytes": flow.message_bytes}
            inputs["auto_alter"] = load.coupling_facility.auto_alter
            about = f"{flow.queue} in {name}"
            yield figure(offload.tiered_capacity, Unit.MESSAGES, about=about, pick=lambda made: made.total, **inputs)
            yield figure(
                offload.tiered_capacity,
                Unit.BYTES,
                about=about,
                what="in shared message data sets",
                pick=lambda made: made.smds_bytes,
                **inputs,
            )
