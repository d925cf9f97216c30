"""Questions about the log: how much is written, how large and how many logs, how far the DASD carries them.

Called by plan through the catalog.  Calls logs, log_space, log_rate, archive, throughput, dasd, log_flow.
"""

from typing import Any

from quaestor.planner import archive, dasd, log_flow, log_rate, log_space, logs, throughput
from quaestor.planner.answer import Figures, HeadRoom, Unit, figure
from quaestor.planner.archive import ArchiveQuantities
from quaestor.planner.dasd import MEGABYTE, PLANNING_SHARE
from quaestor.planner.log_space import Action
from quaestor.planner.questions.catalog import question
from quaestor.planner.questions.load import Load, needed
from quaestor.planner.throughput import Ending, UnitOfWork

LONGEST_GET_BYTES = 100_000
ZHPF_MEASURED_BYTES = (1_000, 5_000, 1_000_000)


@question("ch1-1", "What does one persistent message log when it is put, and when it is got?")
def message_log_bytes(load: Load) -> Figures:
    for flow in load.persistent:
        for action in Action:
            formula, inputs = load.unit_log_bytes(flow, action)
            what = f"{action.value}s and commit of {flow.messages_per_commit}"
            yield figure(formula, Unit.BYTES, about=flow.queue, what=what, **inputs)


@question("ch1-2", "How fast is the log written?")
def log_rates(load: Load) -> Figures:
    for flow in load.persistent:
        calls = tuple(
            log_rate.LoggedCall(action, flow.message_bytes, queue=flow.kind, log_bytes=log_bytes)
            for action, log_bytes in ((Action.PUT, load.put_log_bytes(flow)), (Action.GET, load.get_log_bytes(flow)))
        )
        yield figure(
            log_rate.log_rate_bytes_per_s,
            Unit.BYTES_PER_S,
            about=flow.queue,
            what="at the peak",
            transactions_per_s=flow.peak_per_s * load.workload.share_of(flow),
            calls=calls,
        )
    calls = (log_rate.LoggedCall(Action.PUT, round(load.mean_message_bytes), log_bytes=load.mean_log_bytes),)
    yield figure(
        log_rate.log_rate_bytes_per_s,
        Unit.BYTES_PER_S,
        what="all flows and batches, at the peak",
        transactions_per_s=load.peak_messages_per_s,
        calls=calls,
    )


@question("ch1-3", "How much active log covers 30 minutes of peak, and a day?")
def log_for_periods(load: Load) -> Figures:
    yield figure(
        logs.log_bytes_for_period, Unit.BYTES, what="30 minutes of peak", log_rate_bytes_per_s=load.peak_log_rate
    )
    yield figure(
        logs.active_log_bytes_for_a_day,
        Unit.BYTES,
        what="a day",
        average_log_rate_bytes_per_s=load.log_rate_over_the_day,
    )


@question("ch1-4", "Does one active log last 30 minutes at the peak?")
def log_lasts(load: Load) -> Figures:
    yield figure(
        logs.active_log_size,
        Unit.BYTES,
        what="recommended size",
        pick=lambda size: size.log_bytes,
        peak_log_rate_bytes_per_s=load.peak_log_rate,
        release=load.workload.queue_manager.version,
        archive=load.workload.log.archive,
    )
    yield figure(
        logs.fill_time_s,
        Unit.SECONDS,
        what="one log fills in",
        head_room=lambda lasts_s: HeadRoom("30 minutes for one active log", logs.FILL_TIME_MIN_S, lasts_s),
        log_bytes=load.log_bytes,
        log_rate_bytes_per_s=load.peak_log_rate,
    )


@question("ch1-5", "How many active logs does a copy need?")
def log_count(load: Load) -> Figures:
    log = load.workload.log
    defined = log.active_logs
    yield figure(
        logs.active_logs_needed,
        Unit.COUNT,
        head_room=(lambda count: HeadRoom("active logs of a copy", count, defined)) if defined else None,
        log_bytes=load.log_bytes,
        peak_log_rate_bytes_per_s=load.peak_log_rate,
        archive_time_s=log.archive_time_s,
        archive_delay_s=log.archive_delay_s,
        day_bytes=load.log_bytes_per_day,
    )


@question("ch1-6", "How large may an active log be at this release with these archives?")
def largest_log(load: Load) -> Figures:
    yield figure(
        logs.largest_active_log_bytes,
        Unit.BYTES,
        head_room=lambda largest: HeadRoom("size of an active log", load.log_bytes, largest),
        release=load.workload.queue_manager.version,
        archive=load.workload.log.archive,
    )


@question("ch1-7", "How many volumes does the ring of logs need?")
def log_volumes(load: Load) -> Figures:
    pav = load.dasd.pav
    yield figure(logs.log_volumes, Unit.COUNT, active_logs=load.active_logs, copies=load.workload.log.copies, pav=pav)


@question("ch1-8", "Which PRIQTY and SECQTY do striped archives take?")
def archive_quantities(load: Load) -> Figures:
    log = load.workload.log
    primary = needed(log.archive_primary, "[log] archive_primary")
    stripes = needed(log.archive_stripes, "[log] archive_stripes")
    yield figure(
        archive.striped_quantities,
        Unit.TEXT,
        pick=lambda made: f"PRIQTY={made.primary}, SECQTY={made.secondary}",
        unstriped=ArchiveQuantities(primary, log.archive_secondary),
        stripes=stripes,
    )


@question("ch1-9", "What does the 8-byte RBA add to the log?")
def wider_rba(load: Load) -> Figures:
    yield figure(
        log_space.log_bytes_with_8_byte_rba,
        Unit.BYTES,
        what="a day's log with it",
        log_bytes_with_6_byte_rba=load.log_bytes_per_day,
        reply_bytes=round(load.mean_message_bytes),
    )


@question("ch1-10", "How many persistent messages a second does this DASD carry?")
def messages_carried(load: Load) -> Figures:
    for share, what in ((1.0, "at most"), (PLANNING_SHARE, "to plan with")):
        yield figure(
            throughput.messages_per_s_max,
            Unit.PER_S,
            what=what,
            head_room=lambda rate, what=what: HeadRoom(  # type: ignore[misc]
                f"persistent messages {what}", load.peak_messages_per_s, rate
            ),
            sustainable_bytes_per_s=load.dasd_log_bytes_per_s,
            log_bytes_per_message=load.mean_log_bytes,
            share=share,
        )


@question("ch1-11", "How much log does a channel batch add?")
def batch_log(load: Load) -> Figures:
    for channel in load.channels:
        if channel.kind != "svrconn":
            yield figure(
                log_rate.batch_log_bytes,
                Unit.BYTES,
                about=channel.name,
                what="a batch",
                path=log_rate.Path(channel.kind),
                achieved_batch=load.achieved_batch(channel),
                all_fast_non_persistent=not channel.persistent,
            )


@question("ch1-12", "How is the log divided between puts and gets that peak at different times?")
def put_and_get_shares(load: Load) -> Figures:
    for flow in load.persistent:
        per_s = flow.peak_per_s * load.workload.share_of(flow)
        for action, what in ((Action.PUT, "puts alone"), (Action.GET, "gets alone")):
            if load.has_engine_log(flow):
                own = load.put_log_bytes(flow) if action is Action.PUT else load.get_log_bytes(flow)
                yield figure(
                    log_rate.log_rate_bytes_per_s,
                    Unit.BYTES_PER_S,
                    about=flow.queue,
                    what=what,
                    transactions_per_s=per_s,
                    calls=(log_rate.LoggedCall(action, flow.message_bytes, log_bytes=own),),
                )
                continue
            yield figure(
                log_rate.mixed_log_rate_bytes_per_s,
                Unit.BYTES_PER_S,
                about=flow.queue,
                what=what,
                user_bytes=flow.message_bytes,
                puts_per_s=per_s if action is Action.PUT else 0.0,
                gets_per_s=per_s if action is Action.GET else 0.0,
                hold_slope=flow.message_bytes > LONGEST_GET_BYTES,
            )


@question("ch1-14", "What is lost at first use of a log that was not formatted?")
def first_use(load: Load) -> Figures:
    inputs: dict[str, Any] = {
        "data_rate_bytes_per_s": load.dasd_log_bytes_per_s,
        "response_time_s": load.log_io_s,
        "throughput_per_s": load.peak_messages_per_s,
    }
    for unit, what, pick in (
        (Unit.BYTES_PER_S, "data rate left", lambda made: made.data_rate_bytes_per_s),
        (Unit.SECONDS, "response time", lambda made: made.response_time_s),
        (Unit.PER_S, "throughput left", lambda made: made.throughput_per_s),
    ):
        yield figure(logs.unformatted_log, unit, what=what, pick=pick, **inputs)


@question("ch1-38", "How many log forces does the work wait for?")
def forces(load: Load) -> Figures:
    for flow in load.persistent:
        put = UnitOfWork(Ending.ONE_PHASE, puts=flow.messages_per_commit)
        get = UnitOfWork(Ending.ONE_PHASE, gets=flow.messages_per_commit)
        yield figure(
            throughput.log_forces_per_call, Unit.COUNT, about=flow.queue, what="for each put and get", flow=(put, get)
        )


@question("ch1-39", "How many small messages in a unit of work log as much as one large one?")
def equal_log(load: Load) -> Figures:
    sizes = sorted({flow.message_bytes for flow in load.persistent})
    if len(sizes) > 1:
        yield figure(
            throughput.messages_with_as_much_log,
            Unit.MESSAGES,
            what="of the smallest for one of the largest",
            small_user_bytes=sizes[0],
            large_user_bytes=sizes[-1],
        )


@question("ch4-1", "What log data rate is needed, and is it within half of what the DASD does?")
def log_dasd(load: Load) -> Figures:
    yield figure(
        dasd.required_log_mb_per_sec,
        Unit.MIB_PER_S,
        head_room=lambda needs: HeadRoom(
            "half the log data rate of the DASD", needs, PLANNING_SHARE * load.dasd_log_bytes_per_s / MEGABYTE
        ),
        message_rate_per_sec=load.peak_messages_per_s,
        log_bytes_per_message=load.mean_log_bytes,
    )


@question("ch4-2", "How many persistent messages of each size does this DASD sustain?")
def dasd_by_size(load: Load) -> Figures:
    for flow in load.persistent:
        yield figure(
            dasd.messages_per_sec,
            Unit.PER_S,
            about=flow.queue,
            what="at its size, or the nearest measured",
            log_mb_per_sec=load.dasd_mb_per_s(flow.message_bytes),
            log_bytes_per_message=load.log_bytes_per_message(flow),
        )


@question("ch4-3", "What do single logging, stripes and zHPF gain?")
def log_gains(load: Load) -> Figures:
    yield figure(
        logs.single_logging_rate_bytes_per_s,
        Unit.BYTES_PER_S,
        what="data rate of a single log",
        dual_rate_bytes_per_s=load.dasd_log_bytes_per_s,
    )
    yield figure(
        dasd.single_logging_gain_percent_range, Unit.PERCENT, what="gain of a single log, small to 1 MB messages"
    )
    yield figure(
        dasd.stripes_used,
        Unit.COUNT,
        what="stripes a mean log write touches",
        bytes_in_write=max(1, round(load.mean_log_bytes)),
        stripes=load.dasd.stripes,
    )
    measured = [size for size in ZHPF_MEASURED_BYTES if size <= load.mean_message_bytes]
    size = max(measured, default=ZHPF_MEASURED_BYTES[0])
    yield figure(dasd.zhpf_row_gain_percent, Unit.PERCENT, what="gain of zHPF, size below", message_bytes=size)


@question("ch4-9", "How many log I/Os, and how long, does a put or get with its commit take?")
def unit_of_work_io(load: Load) -> Figures:
    current = log_flow.current_buffer_io_times(dual=load.workload.log.copies == 2)
    pages = {
        flow.queue: load.put_log_bytes(flow) * flow.messages_per_commit // log_flow.PAGE_BYTES
        for flow in load.persistent
    }
    for queue, full in pages.items():
        yield figure(
            log_flow.unit_of_work_io_times,
            Unit.COUNT,
            about=queue,
            what="I/O times of puts and commit",
            full_pages=full,
            current_io_times=current,
        )
    response_ms = load.log_io_s * 1000
    for queue, full in pages.items():
        yield figure(
            log_flow.elapsed_ms,
            Unit.MS,
            about=queue,
            what="waiting for the log",
            io_times=log_flow.unit_of_work_io_times(full, current_io_times=current),
            response_ms=response_ms,
        )


@question("ch4-10", "What is the highest rate that the log's I/O times allow?")
def log_bound(load: Load) -> Figures:
    many_ms = needed(load.dasd.many_pages_io_s, "[dasd] log_io_time_128_pages") * 1000
    for flow in load.persistent:
        units = 1000
        pages = int(units * load.put_log_bytes(flow) * flow.messages_per_commit / log_flow.PAGE_BYTES)
        yield figure(
            log_flow.log_time,
            Unit.PER_S,
            about=flow.queue,
            what="one commit after the other",
            pick=lambda time: time.messages_per_sec_max,
            messages=units * flow.messages_per_commit,
            pages=max(units, pages),
            put_commits=units,
            get_commits=units,
            many_pages_io_ms=many_ms,
            current_io_ms=load.log_io_s * 1000,
            current_io_times=log_flow.current_buffer_io_times(dual=load.workload.log.copies == 2),
        )


@question("ch4-11", "Is OUTBUFF large enough?")
def output_buffers(load: Load) -> Figures:
    units = (load.put_log_bytes(flow) * flow.messages_per_commit for flow in load.persistent)
    waiting = max(log_flow.WRITE_THRESHOLD_PAGES, int(max(units) // log_flow.PAGE_BYTES) + 1)
    outbuff_kb = load.workload.log.outbuff_bytes / 1024
    yield figure(
        log_flow.outbuff_kb_for,
        Unit.KB,
        what="for the longest unit of work",
        head_room=lambda kb: HeadRoom("OUTBUFF", kb, outbuff_kb),
        pages_waiting_at_most=waiting,
    )
