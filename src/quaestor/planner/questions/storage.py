"""Questions about page sets, buffer pools, deferred write and other storage.

Called by plan through the catalog.  Calls page_sets, buffer_pools, buffer_flow, deferred_write, backup, utilities,
indexing, storage_use, security_costs.
"""

from dataclasses import fields
from itertools import pairwise

from quaestor.planner import (
    backup,
    buffer_flow,
    buffer_pools,
    deferred_write,
    indexing,
    page_sets,
    security_costs,
    storage_use,
    utilities,
)
from quaestor.planner.answer import Figure, Figures, HeadRoom, Refused, Unit, each_apart, figure
from quaestor.planner.buffer_flow import Life
from quaestor.planner.buffer_pools import Usage
from quaestor.planner.deferred_write import WriteRate
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.page_sets import EXPANSION_PERCENT, PAGES_PER_GIB
from quaestor.planner.quantity import HOUR_S, MIB
from quaestor.planner.questions.catalog import question
from quaestor.planner.questions.load import Load, flows_of_queues, needed
from quaestor.planner.release import Release
from quaestor.planner.restart import FORWARD
from quaestor.planner.workload import CountedPool, Flow, PageSet


def counted(load: Load) -> dict[int, list[CountedPool]]:
    """Intervals of each pool, in the order in which they were written."""
    made: dict[int, list[CountedPool]] = {}
    for each in needed(load.workload.counted_pools or None, "a [[counted_pool]]; --from-lake reads them"):
        made.setdefault(each.pool, []).append(each)
    return made


def usage_of_pool(load: Load, number: int) -> Usage:
    """What a pool is for, by the flows on its page sets; pool 0 is the system's."""
    if number == 0:
        return Usage.SYSTEM
    page_sets_of_pool = {each.number for each in load.workload.page_sets if each.buffer_pool == number}
    flows = [flow for flow in load.workload.private if flow.page_set in page_sets_of_pool]
    if not flows:
        return Usage.EVERYTHING_ELSE
    return Usage.SHORT_LIVED if all(load.lives_short(flow) for flow in flows) else Usage.LONG_LIVED


def interval_of(each: CountedPool) -> buffer_flow.PoolInterval:
    names = (field.name for field in fields(buffer_flow.PoolInterval))
    return buffer_flow.PoolInterval(**{name: getattr(each, name) for name in names})


def page_set_of(load: Load, flow: Flow) -> PageSet:
    return needed(load.workload.page_set(flow.page_set), f"the page set of {flow.queue}")


def name_of(flow: Flow) -> str:
    return flow.queue


def sized_page_sets(load: Load) -> tuple[PageSet, ...]:
    return needed(load.workload.page_sets or None, "a [[page_set]]")


def backlog_pages(load: Load, flow: Flow) -> int:
    return page_sets.pages_for_backlog(flow.backlog, flow.message_bytes, load.design)


def pages_of_pool(load: Load, number: int) -> int:
    """Pages that the normal life of messages keeps in a pool, outages left out."""
    flows = [flow for flow in load.private if page_set_of(load, flow).buffer_pool == number]
    return sum(_living_pages(load, flow) for flow in flows)


def _living_pages(load: Load, flow: Flow) -> int:
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
        others = 0 if page_set is None else _pages_beside(load, flow)
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
        pages += sum(backlog_pages(load, each) if gathering else _living_pages(load, each) for each in others)
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
        for method in (backup.CopyMethod.DFDSS, backup.CopyMethod.REPRO):
            yield figure(
                backup.copy_time_s,
                Unit.SECONDS,
                about=f"page set {page_set.number}",
                what=method.name,
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


@question("ch1-21", "Which kind of buffer pool does each queue belong in, and how large does it begin?")
def pool_of_queue(load: Load) -> Figures:
    for flow in load.private:
        usage = Usage.SHORT_LIVED if load.lives_short(flow) else Usage.LONG_LIVED
        yield figure(
            buffer_pools.start_pages,
            Unit.PAGES,
            about=flow.queue,
            what=f"{usage.name.lower().replace('_', '-')} messages",
            usage=usage,
            release=load.workload.queue_manager.version,
        )


@question("ch1-22", "How many buffers do the objects on page set 0 need?")
def object_buffers(load: Load) -> Figures:
    queues = needed(load.workload.queue_manager.queues, "[queue_manager] queues")
    pool = next((each for each in load.workload.buffer_pools if each.number == 0), None)
    yield figure(
        buffer_pools.queue_object_pages,
        Unit.BUFFERS,
        head_room=None if pool is None else lambda pages: HeadRoom("buffer pool 0", pages, pool.buffers),
        queues=queues,
    )


@question("ch1-23", "Is a pool too small, right or wasteful?")
def verdicts(load: Load) -> Figures:
    for number, intervals in counted(load).items():
        yield figure(
            buffer_pools.judge,
            Unit.TEXT,
            about=f"buffer pool {number}",
            what=f"over {len(intervals)} intervals",
            pick=lambda verdict: verdict.value,
            intervals=tuple(
                buffer_pools.PoolInterval(
                    each.buffers,
                    each.stealable_low,
                    each.short_on_storage,
                    each.steal_contentions,
                    each.synchronous_thresholds,
                )
                for each in intervals
            ),
            usage=usage_of_pool(load, number),
        )


@question("ch1-24", "How much may one checkpoint write, and for how long?")
def checkpoint(load: Load) -> Figures:
    pools, wide = load.workload.buffer_pools, load.workload.queue_manager.version >= Release.V8_0
    most: list[Figure | Refused] = []
    if wide:
        by_log = figure(
            deferred_write.checkpoint_pages_max,
            Unit.PAGES,
            what="at most, by the log",
            log_bytes=load.log_bytes,
            log_bytes_per_message=load.mean_of_persistent(load.put_log_bytes),
            pages_per_message=load.mean_of_persistent(lambda flow: _pages_written(load, flow)),
        )
        most.append(by_log)
    if pools or not wide:
        buffers = sum(pool.buffers for pool in needed(pools or None, "a [[buffer_pool]]"))
        by_pools = figure(
            deferred_write.checkpoint_pages_max_31_bit,
            Unit.PAGES,
            what="at most, by the pools",
            pool_bytes_total=buffers * PAGE_BYTES,
        )
        most.append(by_pools)
    yield from most
    rate = WriteRate.V8_0_DS8870_LOW if wide else WriteRate.V7_1
    yield figure(
        deferred_write.burst_s,
        Unit.SECONDS,
        what=f"burst at {rate.name}",
        data_bytes=min(each.value for each in most if isinstance(each, Figure)) * PAGE_BYTES,
        write_rate_bytes_per_s=rate.value,
    )


def _pages_written(load: Load, flow: Flow) -> float:
    """Pages of a page set that one message of a flow changes; a shared queue has none."""
    if flow.shared:
        return 0.0
    lie = page_sets.packing(flow.message_bytes, load.design)
    return lie.pages_per_message / lie.messages_per_page


@question("ch1-25", "Above the bar, and fixed in real storage?")
def above_the_bar(load: Load) -> Figures:
    version = load.workload.queue_manager.version
    yield figure(buffer_pools.may_lie_above_the_bar, Unit.FLAG, what="LOCATION(ABOVE)", release=version)
    if load.workload.buffer_pools and load.workload.queue_manager.free_real_bytes:
        yield figure(
            buffer_pools.may_be_page_fixed,
            Unit.FLAG,
            what="PAGECLAS(FIXED4KB) for all pools",
            pool_pages=sum(pool.buffers for pool in load.workload.buffer_pools),
            free_real_bytes=load.workload.queue_manager.free_real_bytes,
        )


@question("ch4-5", "How many buffers keep 15 % of a pool free at the peak?")
def buffers_needed(load: Load) -> Figures:
    for pool in needed(load.workload.buffer_pools or None, "a [[buffer_pool]]"):
        pages = pages_of_pool(load, pool.number)
        if pages == 0 or not all_short(load, pool.number):
            continue
        yield figure(
            buffer_flow.buffers_that_keep_messages,
            Unit.BUFFERS,
            about=f"buffer pool {pool.number}",
            head_room=lambda most, of=pool: HeadRoom(f"buffer pool {of.number}", most, of.buffers),  # type: ignore[misc]
            peak_pages=pages,
        )


def all_short(load: Load, number: int) -> bool:
    """Whether a pool holds short-lived messages alone; for others free buffers may run low."""
    return all(load.lives_short(flow) for flow in load.private if page_set_of(load, flow).buffer_pool == number)


@question("ch4-6", "At which counts of buffers does deferred write begin and stop?")
def thresholds(load: Load) -> Figures:
    for pool in needed(load.workload.buffer_pools or None, "a [[buffer_pool]]"):
        yield figure(
            buffer_flow.pool_thresholds,
            Unit.TEXT,
            about=f"buffer pool {pool.number}",
            pick=lambda at: (
                f"begins at {at.deferred_write_starts_at_stealable:,} stealable, "
                f"stops at {at.deferred_write_stops_at_stealable:,}, synchronous at {at.synchronous_at_stealable:,}"
            ),
            buffers=pool.buffers,
        )


@question("ch4-7", "Which buffer pool rules does an interval meet?")
def pool_rules(load: Load) -> Figures:
    for number, intervals in counted(load).items():
        long_lived = usage_of_pool(load, number) is Usage.LONG_LIVED
        for each in intervals:
            yield figure(
                buffer_flow.findings,
                Unit.TEXT,
                about=each.name,
                pick=lambda found: "; ".join(f"{one.rule}: {one.because}" for one in found) or "none",
                interval=interval_of(each),
                life=Life.LONG if long_lived else Life.SHORT,
            )


@question("ch4-8", "Is a pool thrashing for want of an index?")
def access_shifts(load: Load) -> Figures:
    for number, intervals in counted(load).items():
        used = [each for each in intervals if each.get_pages and each.get_new_pages]
        for before, after in pairwise(used):
            yield figure(
                buffer_flow.access_shift,
                Unit.TEXT,
                about=f"buffer pool {number}",
                what=f"{before.name}, then {after.name}",
                pick=lambda shift: (
                    f"{'more browsing or gets by identifier' if shift.more_browsing else 'no sign of it'}: "
                    f"x{shift.get_pages_ratio:.3g} pages looked at"
                ),
                before=interval_of(before),
                after=interval_of(after),
            )


@question("ch1-40", "How much storage do indexes take?")
def index_storage(load: Load) -> Figures:
    indexed = [flow for flow in load.private if flow.indexed]
    needed(indexed or None, "a private [[flow]] that is indexed")
    queues = len(flows_of_queues(indexed))
    yield figure(indexing.index_bytes, Unit.BYTES, messages=sum(flow.backlog for flow in indexed), queues=queues)


@question("ch1-41", "How much common storage do connections take?")
def common_storage(load: Load) -> Figures:
    connections = {0: needed(load.workload.queue_manager.connections, "[queue_manager] connections")}
    for channel in load.workload.channels:
        key = channel.sharecnv if channel.kind == "svrconn" else 0
        connections[key] = connections.get(key, 0) + channel.channels
    yield figure(storage_use.csa_bytes, Unit.BYTES, connections_by_sharecnv=connections)


@question("ch1-42", "How much storage do handles, users, the group and the cluster take?")
def other_storage(load: Load) -> Figures:
    qmgr = load.workload.queue_manager
    opened = qmgr.queues_open_each
    if qmgr.users is not None:
        yield figure(security_costs.security_bytes, Unit.BYTES, what="users", users=qmgr.users, queues_per_user=opened)
    if load.workload.shared:
        structures = max(1, len(load.workload.structures))
        yield figure(
            storage_use.group_private_bytes,
            Unit.BYTES,
            what="membership in the group",
            structures=structures,
            backs_up_structures=True,
        )
    if qmgr.cluster_bytes is not None:
        yield figure(
            storage_use.cluster_cache_bytes, Unit.BYTES, what="cluster cache", configuration_bytes=qmgr.cluster_bytes
        )
    applications = needed(qmgr.connections, "[queue_manager] connections")
    yield figure(
        storage_use.handle_bytes, Unit.BYTES, what="handles", applications=applications, queues_open_each=opened
    )


@question("ch1-43", "When is an idle user's entry discarded?")
def idle_users(load: Load) -> Figures:  # noqa: ARG001  the defaults answer it
    yield figure(security_costs.discarded_at_min, Unit.MINUTES, what="after the last use")


@question("ch1-45", "How many channels can move very large messages at once?")
def large_at_once(load: Load) -> Figures:
    sizes = [channel.message_bytes for channel in load.channels if channel.message_bytes >= MIB]
    if sizes:
        yield figure(storage_use.channels_at_once, Unit.COUNT, message_bytes=max(sizes))


@question("ch1-46", "Is the unit of work small enough, and which MAXUMSGS do utilities need?")
def units_of_work(load: Load) -> Figures:
    for flow in load.workload.flows:
        yield figure(
            utilities.is_small_unit_of_work,
            Unit.FLAG,
            about=flow.queue,
            what="small enough",
            puts_per_commit=flow.messages_per_commit,
        )
    yield figure(
        utilities.maxumsgs_for_one_unit_of_work,
        Unit.MESSAGES,
        what="MAXUMSGS to move the deepest queue in one unit",
        queue_depths=tuple(
            max(1, sum(flow.backlog for flow in flows)) for flows in flows_of_queues(load.workload.flows).values()
        ),
    )
