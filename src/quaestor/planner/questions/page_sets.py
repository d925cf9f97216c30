"""Questions about page sets: what they hold, when they expand, what copying and mending them takes.

Called by plan through the catalog, and by the questions about pools.  Calls page_sets, backup, utilities.
"""

from quaestor.planner import backup, page_sets, utilities
from quaestor.planner.answer import Figures, HeadRoom, Unit, each_apart, figure
from quaestor.planner.backup import CopyMethod
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.page_sets import EXPANSION_PERCENT, PAGES_PER_GIB
from quaestor.planner.quantity import HOUR_S
from quaestor.planner.questions.catalog import question
from quaestor.planner.questions.load import Load, flows_of_queues, needed
from quaestor.planner.restart import FORWARD
from quaestor.planner.workload import Flow, PageSet

COPIES = {
    CopyMethod.DFDSS: "DFDSS",
    CopyMethod.REPRO: "REPRO",
    CopyMethod.REPRO_SHORT_OF_CPU: "REPRO, short of CPU",
}


def page_set_of(load: Load, flow: Flow) -> PageSet:
    return needed(load.workload.page_set(flow.page_set), f"the page set of {flow.queue}")


def name_of(flow: Flow) -> str:
    return flow.queue


def sized_page_sets(load: Load) -> tuple[PageSet, ...]:
    return needed(load.workload.page_sets or None, "a [[page_set]]")


def backlog_pages(load: Load, flow: Flow) -> int:
    return page_sets.pages_for_backlog(flow.backlog, flow.message_bytes, load.design)


def living_pages(load: Load, flow: Flow) -> int:
    """Pages that the normal life of a flow's messages takes, outages left out."""
    messages = int(flow.peak_per_s * flow.life_s) + 1
    return page_sets.pages_for_backlog(messages, flow.message_bytes, load.design)


@question("ch1-15", "How many messages does a page set hold?")
def page_set_capacity(load: Load) -> Figures:
    def capacity(flow: Flow) -> Figures:
        page_set = page_set_of(load, flow)
        yield figure(
            page_sets.messages_that_fit,
            Unit.MESSAGES,
            about=flow.queue,
            what=f"page set {page_set.number} for this queue alone",
            page_set_bytes=page_set.data_bytes,
            message_bytes=flow.message_bytes,
            design=load.design,
            pages_per_gib=PAGES_PER_GIB,
        )

    return each_apart(load.private, name_of, capacity)


@question("ch1-16", "How many pages does the largest backlog need?")
def backlog(load: Load) -> Figures:
    for flow in load.private:
        page_set = load.workload.page_set(flow.page_set)
        usable = None if page_set is None else page_set.data_bytes // PAGE_BYTES * EXPANSION_PERCENT / 100
        others = _pages_beside(load, flow)
        yield figure(
            page_sets.pages_for_backlog,
            Unit.PAGES,
            about=flow.queue,
            head_room=(
                None
                if usable is None
                else lambda pages, of=flow, most=usable, beside=others: HeadRoom(  # type: ignore[misc]
                    f"page set {of.page_set} before it expands", pages + beside, most
                )
            ),
            messages=flow.backlog,
            message_bytes=flow.message_bytes,
            design=load.design,
        )


def _pages_beside(load: Load, flow: Flow) -> int:
    """Pages of other messages on the page set while these gather.

    Those of the same queue gather with them, for they have the same getters; of others as many as normally live there.
    """
    pages = 0
    for flows in flows_of_queues(each for each in load.private if each.page_set == flow.page_set).values():
        gathering = flow in flows
        others = (each for each in flows if each is not flow)
        pages += sum(backlog_pages(load, each) if gathering else living_pages(load, each) for each in others)
    return pages


@question("ch1-17", "When does a page set begin to expand once nobody gets?")
def expansion(load: Load) -> Figures:
    def until_expansion(flow: Flow) -> Figures:
        page_set = page_set_of(load, flow)
        yield figure(
            page_sets.time_to_expansion_s,
            Unit.SECONDS,
            about=flow.queue,
            what="from empty, at the peak",
            total_pages=page_set.data_bytes // PAGE_BYTES,
            used_pages=0,
            backlog_growth_per_s=flow.peak_per_s,
            message_bytes=flow.message_bytes,
            design=load.design,
        )

    return each_apart((flow for flow in load.private if flow.average_per_s > 0), name_of, until_expansion)


@question("ch1-18", "How long does it take to copy or restore a page set?")
def copying(load: Load) -> Figures:
    for page_set in sized_page_sets(load):
        for method, what in COPIES.items():
            yield figure(
                backup.copy_time_s,
                Unit.SECONDS,
                about=f"page set {page_set.number}",
                what=what,
                page_set_bytes=page_set.data_bytes,
                method=method,
            )


@question("ch1-19", "How often must page sets be backed up?")
def backup_interval(load: Load) -> Figures:
    targets, written_per_h = load.workload.targets, load.average_log_rate * HOUR_S

    def interval(page_set: PageSet) -> Figures:
        restore_s = backup.copy_time_s(page_set.data_bytes)
        allowed_s = backup.restart_time_allowed_s(targets.page_set_recovery_s, targets.reaction_s, restore_s)
        yield figure(
            backup.backup_interval,
            Unit.HOURS,
            about=f"page set {page_set.number}",
            pick=lambda interval: interval.interval_h,
            restart_allowed_s=allowed_s,
            log_read_rate_bytes_per_s=FORWARD.bytes_per_s,
            log_write_rate_bytes_per_h=written_per_h,
            active_log_bytes_total=load.log_bytes * load.active_logs,
        )

    return each_apart(sized_page_sets(load), lambda page_set: f"page set {page_set.number}", interval)


@question("ch1-20", "What do the page set utilities cost?")
def utility_costs(load: Load) -> Figures:
    for page_set in sized_page_sets(load):
        for utility in utilities.Utility:
            yield figure(
                utilities.utility_cost,
                Unit.SECONDS,
                about=f"page set {page_set.number}",
                what=f"{utility.value}, elapsed",
                pick=lambda cost: cost.elapsed_s,
                utility=utility,
                page_set_bytes=page_set.data_bytes,
            )
