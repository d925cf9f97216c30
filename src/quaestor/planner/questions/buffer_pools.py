"""Questions about buffer pools: how large, for what, whether they are right, and what deferred write does with them.

Called by plan through the catalog, and by definitions.  Calls buffer_pools, buffer_flow, deferred_write, page_sets.
"""

from dataclasses import fields
from itertools import pairwise

from quaestor.planner import buffer_flow, buffer_pools, deferred_write, page_sets
from quaestor.planner.answer import Figure, Figures, HeadRoom, Refused, Unit, figure
from quaestor.planner.buffer_flow import Life
from quaestor.planner.buffer_pools import Usage
from quaestor.planner.deferred_write import WriteRate
from quaestor.planner.geometry import PAGE_BYTES
from quaestor.planner.questions.catalog import question
from quaestor.planner.questions.load import Load, needed
from quaestor.planner.questions.page_sets import living_pages, page_set_of
from quaestor.planner.release import Release
from quaestor.planner.workload import CountedPool, Flow


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


def pages_of_pool(load: Load, number: int) -> int:
    """Pages that the normal life of messages keeps in a pool, outages left out."""
    flows = [flow for flow in load.private if page_set_of(load, flow).buffer_pool == number]
    return sum(living_pages(load, flow) for flow in flows)


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
