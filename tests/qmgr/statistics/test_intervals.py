"""Intervals add up: whatever is cut whenever, the sum of the intervals is what was counted."""

from contextlib import suppress
from itertools import pairwise
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmgr.small import SetClock
from quaestor.clock import FakeClock
from quaestor.layout import Add, copied, pack
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.options import GetOptions, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.statistics import TraceSettings
from quaestor.qmgr.statistics.forms import Form
from quaestor.qmgr.statistics.intervals import Looks, difference
from quaestor.qmgr.statistics.settings import TraceError, parsed
from quaestor.smf.records import SmfRecord, tasks, unpack_record
from quaestor.smf.sections.lock import LockStatistics
from quaestor.smf.sections.log import LogStatistics
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting
from quaestor.testing import SMALL, FaultyDisk

STATIME_S = 60


def queue_manager(trace="stat,acctg(1,3)", clock=None, **settings):
    clock, smf = clock or FakeClock(), FaultyDisk()
    made = QueueManager(
        "QM1",
        FaultyDisk(),
        clock,
        SMALL,
        traces=TraceSettings(trace, statime_s=STATIME_S, **settings),
        open_smf=lambda: smf,
    )
    made.start(background=False)
    return made, clock, smf


def records(smf):
    """Every record on the SMF disk, in order."""
    found = []
    for name in smf.names():
        data = bytes(smf.files[name].seen)
        while data:
            length = int.from_bytes(data[:2], "big")
            found.append(unpack_record(data[:length]))
            data = data[length:]
    return found


def sections(smf, structure):
    return [section for record in records(smf) for section in record.sections.get(structure, [])]


def total(found, name):
    return sum(getattr(section, name) for section in found)


# --- the arithmetic ---------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8))
def test_differences_of_a_section_add_up(steps):
    looks, live = Looks(), LockStatistics()
    cuts = []
    for step in steps:
        live.lock_gets += step
        cuts.append(looks.since("lock", live))
    assert live.lock_gets == sum(cut.lock_gets for cut in cuts)
    assert [*steps] == [cut.lock_gets for cut in cuts]


def test_blocks_inside_a_section_are_differences_too_and_extremes_begin_anew():
    looks, live = Looks(), LogStatistics()
    figures = live.copies[0].kinds[1]
    figures.ios, figures.longest_io = 5, 900
    first = looks.since("log", live)
    figures.ios, figures.longest_io = 7, 100
    second = looks.since("log", live)
    assert [(5, 900), (2, 100)] == [
        (s.copies[0].kinds[1].ios, s.copies[0].kinds[1].longest_io) for s in (first, second)
    ]


def test_only_sums_are_differences():
    before, now = LogStatistics(), LogStatistics()
    for each in LogStatistics.LAYOUT.fields:
        if each.of is None and not each.shape and each.wire in {"u4", "i4"}:
            setattr(before, each.name, 10)
            setattr(now, each.name, 25)
    made = difference(before, copied(now))
    for each in LogStatistics.LAYOUT.fields:
        if each.of is None and not each.shape and each.wire in {"u4", "i4"}:
            assert (15 if each.kind.add is Add.SUM else 25) == getattr(made, each.name), each.name


@pytest.mark.parametrize("section", [QueueAccounting, TaskAccounting])
def test_a_form_gives_the_bytes_that_packing_gives(section):
    values = {
        each.name: [3] * each.shape[0] if each.shape else 7
        for each in section.LAYOUT.fields
        if each.of is None and each.wire in {"u4", "i4", "u8"} and each.kind.name not in {"block_id", "block_length"}
    }
    texts = {each.name: "ABC" for each in section.LAYOUT.fields if each.kind.name == "text"}
    length = section.LAYOUT.size
    assert pack(section(**values, **texts), length) == Form(section, length).filled({**values, **texts})


def test_a_name_no_code_page_knows_is_replaced_and_cut():
    made = Form(QueueAccounting, 2800).filled({"object_name": "ORDERS→" + "X" * 60})
    assert 48 == len(made[32:80])


# --- the queue manager ------------------------------------------------------------------------------------------------


def test_a_counter_that_has_run_over_loses_no_interval():
    """Four bytes are too few for a long interval of a busy manager: the figure stands still, the records are there."""
    qm, clock, smf = queue_manager("stat")
    qm.engine.locks.stats.lock_gets = 2**32 + 5
    clock.advance(seconds=STATIME_S)
    qm.stop()
    assert [2**32 - 1] == [section.lock_gets for section in sections(smf, "QLST")]


STEPS = st.lists(st.sampled_from(["put", "get", "commit", "backout", "interval", "half"]), max_size=40)


@given(STEPS)
def test_intervals_of_115_and_116_add_up_to_the_work_done(steps):
    """Cut at any moment, a task that runs on and one that comes and goes: nothing is lost or counted twice."""
    qm, clock, smf = queue_manager()
    app = qm.connect("ALICE", "LONG")
    app.define(LocalQueue("ORDERS"))
    queue = app.open("ORDERS")
    started = qm.engine.buffers.pools[1].stats.get_new_page
    done = {"put": 0, "get": 0, "commit": 0, "backout": 0}
    for step in steps:
        if step == "put":
            queue.put(b"x" * 100)
        elif step == "get":
            with suppress(MQError):
                queue.get()
        elif step in done:
            getattr(app, step)()
        else:
            clock.advance(seconds=STATIME_S if step == "interval" else STATIME_S / 2)
            qm.scheduler.run_due()
        if step in done:
            done[step] += 1
    app.disconnect()
    pages = qm.engine.buffers.pools[1].stats.get_new_page - started  # page 0 at start and stop is nobody's work (ST1)
    qm.stop()

    calls, accounts, units = sections(smf, "QMST"), sections(smf, "WQST"), sections(smf, "WTAS")
    assert (done["put"], done["get"]) == (total(calls, "puts"), total(calls, "gets"))
    assert (done["put"], done["get"]) == (total(accounts, "puts"), total(accounts, "gets"))
    assert (done["commit"], done["backout"]) == (total(units, "commits"), total(units, "backouts"))
    assert total(accounts, "put_bytes") == 100 * done["put"]
    pools = [pool for pool in sections(smf, "QPST") if pool.buffer_pool == 1]
    assert total(pools, "get_new_page") == pages
    assert 1 == len([unit for unit in units if unit.flag_bits & 0x20000000])


def test_an_interval_is_as_long_as_its_header_says_and_they_leave_no_gap():
    qm, clock, smf = queue_manager("stat")
    for _ in range(3):
        clock.advance(seconds=STATIME_S + 1)
        qm.scheduler.run_due()
    clock.advance(seconds=10)
    qm.stop()
    logs = [record for record in records(smf) if (115, 1) == (record.header.record_type, record.header.subtype)]
    assert [61e6, 61e6, 61e6, 10e6] == [record.interval_us for record in logs]
    starts = [record.headers.common.interval_start_local for record in logs]
    assert [61 * 4_096_000_000 // 1000] * 3 == [(b - a) // 1000 for a, b in pairwise(starts)]


def asked(qm):
    """What has been counted so far: the records' sections by their structure, and how long it took."""
    found = [unpack_record(record) for record in qm.statistics.so_far()]
    return {name: each for record in found for name, each in record.sections.items()}, found[0].interval_us


@pytest.mark.parametrize("trace", ["stat", ""])
def test_what_is_counted_so_far_may_be_asked_for_and_nothing_ends_by_it(trace):
    """SM5: since the last record, or since the start where there is no trace; lows are those of the time, too."""
    qm, clock, smf = queue_manager(trace)
    app = qm.connect("ALICE")
    app.define(LocalQueue("ORDERS"))
    clock.advance(seconds=20)
    for number in range(1, 4):
        app.put("ORDERS", b"x" * 100)
        seen, lasted_us = asked(qm)
        assert (number, 20e6) == (total(seen["QMST"], "put1s"), lasted_us)
    low = next(pool.stealable_low for pool in seen["QPST"] if pool.buffer_pool == 1)
    assert low < SMALL.buffer_pools[1]
    clock.advance(seconds=STATIME_S)
    qm.scheduler.run_due()
    if trace:
        assert 3 == total(sections(smf, "QMST"), "put1s")
        assert [low] == [pool.stealable_low for pool in sections(smf, "QPST") if pool.buffer_pool == 1]
    clock.advance(seconds=5)
    seen, lasted_us = asked(qm)
    assert (0 if trace else 3, 5e6 if trace else 85e6) == (total(seen["QMST"], "put1s"), lasted_us)
    app.disconnect()
    qm.stop()


@pytest.mark.parametrize("hours", [-25, -1, 1, 25])
@pytest.mark.parametrize(
    "ends", [lambda made: made.statistics.stop("STAT"), lambda made: made.stop()], ids=["trace stopped", "all stopped"]
)
def test_an_interval_is_as_long_as_it_lasted_whatever_the_time_of_day_was_set_to(hours, ends):
    made, clock, smf = queue_manager(clock=SetClock())
    app = made.connect("ALICE")
    clock.advance(seconds=STATIME_S)
    made.scheduler.run_due()
    clock.advance(seconds=STATIME_S // 2)
    clock.set(hours=hours)
    app.define(LocalQueue("ORDERS"))
    clock.advance(seconds=STATIME_S // 2)
    made.scheduler.run_due()
    clock.advance(seconds=10)
    ends(made)
    made.statistics.write_step()
    logs = [record for record in records(smf) if (115, 1) == (record.header.record_type, record.header.subtype)]
    assert [60e6, 60e6, 10e6] == [record.interval_us for record in logs]


def test_a_task_is_cut_at_the_second_interval_it_sees():
    """MP1B M-2: at the end of an interval only a task that was there before it began."""
    qm, clock, smf = queue_manager("acctg(3)")
    clock.advance(seconds=1)
    app = qm.connect("ALICE", "LONG")
    app.define(LocalQueue("ORDERS"))
    seen = []
    for _ in range(3):
        app.put("ORDERS", b"x")
        clock.advance(seconds=STATIME_S)
        qm.scheduler.run_due()
        seen.append(total(sections(smf, "WQST"), "put1s"))
    assert [0, 2, 3] == seen
    app.disconnect()
    qm.stop()
    assert [False, False, True] == [bool(unit.flag_bits) for unit in sections(smf, "WTAS")]


def test_low_water_is_that_of_the_interval():
    qm, clock, smf = queue_manager("stat")
    app = qm.connect("ALICE", "LONG")
    app.define(LocalQueue("ORDERS"))
    queue = app.open("ORDERS")
    for _ in range(30):
        queue.put(b"x", None, PutOptions.NO_SYNCPOINT)
    for _ in range(30):
        queue.get(GetOptions.NO_SYNCPOINT)
    for _ in range(2):
        clock.advance(seconds=STATIME_S)
        qm.scheduler.run_due()
    lows = [pool.stealable_low for pool in sections(smf, "QPST") if pool.buffer_pool == 1]
    assert lows[0] < 64 - 29
    assert lows[1] > lows[0]
    app.disconnect()
    qm.stop()


# --- traces -----------------------------------------------------------------------------------------------------------


def test_traces_start_stop_and_are_displayed():
    qm, _, smf = queue_manager("")
    manager = qm.statistics
    assert [] == manager.display()
    app = qm.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS"))
    queue = app.open("ORDERS")
    queue.put(b"before")
    assert (1, 2) == (manager.start("STAT", {1}), manager.start("acctg", {3}))
    assert [(1, "STAT", (1,)), (2, "ACCTG", (3,))] == [(t.number, t.kind, t.classes) for t in manager.display()]
    queue.put(b"counted")
    queue.put(b"counted too")
    assert [2] == manager.stop("ACCTG")
    queue.put(b"after")
    assert [1] == manager.stop("STAT", {1})
    assert [] == manager.display()
    app.commit()
    app.disconnect()
    qm.stop()
    assert 2 == total(sections(smf, "WQST"), "puts")
    assert 3 == total(sections(smf, "QMST"), "puts")
    (task,) = tasks(record for record in records(smf) if isinstance(record, SmfRecord))
    assert 0 == task.accounting.flag_bits


def test_a_trace_is_stopped_by_its_number_too():
    qm, _, _ = queue_manager("stat,acctg(1,3)")
    qm.statistics.stop(2)
    assert ["STAT"] == [trace.kind for trace in qm.statistics.display()]
    with pytest.raises(MQError):
        qm.statistics.stop(2)
    qm.stop()


def test_the_interval_can_be_set():
    qm, clock, smf = queue_manager("stat")
    assert {"STATIME": 1, "ACCTIME": -1} == qm.statistics.intervals()
    qm.statistics.set_interval("STATIME", 5)
    clock.advance(seconds=STATIME_S)
    qm.scheduler.run_due()
    assert [] == records(smf)
    with pytest.raises(MQError):
        qm.statistics.set_interval("STATIME", 0)
    qm.stop()


@pytest.mark.parametrize("specific", [False, True])
@pytest.mark.parametrize("browse", [False, True])
def test_a_get_that_waits_when_its_task_is_ended_is_counted(browse, specific):
    """Sums of 115 are sums of 116, whoever ended the task, and when; the get is of the kind that it was."""
    qm, _, smf = queue_manager("stat,acctg(3)")
    app = qm.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS"))
    queue, ended = app.open("ORDERS", OpenOptions.INPUT | OpenOptions.BROWSE), []
    options = GetOptions.BROWSE_FIRST if browse else GetOptions.NONE

    def wait():
        try:
            queue.get(options, wait_ms=60_000, correl_id=b"A" * 24 if specific else None)
        except MQError as error:
            ended.append(error.reason)

    waiting = Thread(target=wait, daemon=True)
    waiting.start()
    while not qm.messages.catalogue.state("ORDERS").waiters.waiting:
        waiting.join(0.01)
    qm.stop()
    waiting.join(10)
    assert 1 == len(ended)
    accounts = sections(smf, "WQST")
    assert 1 == total(sections(smf, "QMST"), "gets") == total(accounts, "gets")
    assert 1 == total(accounts, f"{'browses' if browse else 'gets'}_{'specific' if specific else 'any'}")


def test_what_is_deleted_and_defined_again_counts_from_nothing():
    """IV4: the second page set has counted less than the first."""
    qm, clock, smf = queue_manager("stat")

    def work(messages):
        for command in ("DEFINE BUFFPOOL(3)", "DEFINE PSID(7) BUFFPOOL(3)", "DEFINE STGCLASS(ONCE) PSID(7)"):
            assert qm.commands.run(command, "OPER").ok
        app = qm.connect("ALICE", "JOB")
        app.define(LocalQueue("ORDERS", storage_class="ONCE", def_persistent=True))
        for _ in range(messages):
            app.put("ORDERS", b"x")
        app.commit()
        clock.advance(seconds=STATIME_S)
        qm.scheduler.run_due()
        app.delete(LocalQueue, "ORDERS", purge=True)
        app.disconnect()
        for command in ("DELETE STGCLASS(ONCE)", "DELETE PSID(7)", "DELETE BUFFPOOL(3)"):
            assert qm.commands.run(command, "OPER").ok, command

    work(messages=20)
    work(messages=2)
    clock.advance(seconds=1)
    qm.scheduler.run_due()
    first, second = [section for section in sections(smf, "QPST") if section.buffer_pool == 3]
    assert first.get_new_page > second.get_new_page > 0
    qm.stop()


def test_a_pool_is_recorded_where_its_definition_says_it_lies():
    """PS4: as DISPLAY USAGE tells it, before and after ALTER BUFFPOOL."""
    qm, clock, smf = queue_manager("stat")
    for command in ("DEFINE BUFFPOOL(3) LOCATION(ABOVE) PAGECLAS(FIXED4KB)", "DEFINE BUFFPOOL(4)"):
        assert qm.commands.run(command, "OPER").ok
    clock.advance(seconds=STATIME_S)
    qm.scheduler.run_due()
    assert qm.commands.run("ALTER BUFFPOOL(4) LOCATION(ABOVE)", "OPER").ok
    clock.advance(seconds=STATIME_S)
    qm.scheduler.run_due()
    qm.stop()
    where = {number: [] for number in (1, 3, 4)}
    for pool in sections(smf, "QPST"):
        where.get(pool.buffer_pool, []).append(pool.location)
    assert [0, 0xC0000000, 0] == [where[number][0] for number in (1, 3, 4)]
    assert [0, 0xC0000000, 0x80000000] == [where[number][1] for number in (1, 3, 4)]


def test_accounting_may_have_an_interval_of_its_own():
    """SM1: SET SYSTEM ACCTIME leaves the intervals of statistics as they are."""
    qm, clock, smf = queue_manager("stat,acctg(3)")
    app = qm.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS"))
    queue = app.open("ORDERS")

    def cut(minutes):
        """(115-2, 116-1) records of so many minutes, with a put in each."""
        before = len(sections(smf, "QMST")), len(sections(smf, "WTAS"))
        for _ in range(minutes):
            queue.put(b"x")
            clock.advance(seconds=60)
            qm.scheduler.run_due()
        clock.advance(seconds=1)
        qm.scheduler.run_due()
        return len(sections(smf, "QMST")) - before[0], len(sections(smf, "WTAS")) - before[1]

    cut(2)
    assert (6, 6) == cut(6)
    qm.statistics.set_interval("ACCTIME", 3)
    assert {"STATIME": 1, "ACCTIME": 3} == qm.statistics.intervals()
    assert (6, 2) == cut(6)
    qm.statistics.set_interval("ACCTIME", -1)
    assert (6, 6) == cut(6)
    app.commit()
    app.disconnect()
    qm.stop()
    assert 20 == total(sections(smf, "WQST"), "puts") == total(sections(smf, "QMST"), "puts")


@pytest.mark.parametrize("way", ["comes", "goes"])
def test_a_class_has_what_was_done_while_it_was_traced(way):
    """SM3: whatever other classes there are; those have all of it."""
    qm, clock, smf = queue_manager("acctg(1)" if way == "comes" else "acctg(1),acctg(3)")
    app = qm.connect("ALICE", "JOB")
    app.define(LocalQueue("ORDERS"))
    queue = app.open("ORDERS")
    for _ in range(3):
        queue.put(b"before")
    clock.advance(seconds=1)
    if way == "comes":
        qm.statistics.start("ACCTG", {3})
    else:
        qm.statistics.stop(2)
    for _ in range(4):
        queue.put(b"after")
    app.commit()
    app.disconnect()
    qm.stop()
    assert (4 if way == "comes" else 3) == total(sections(smf, "WQST"), "puts")
    assert 7 == total(sections(smf, "QMAC"), "puts_0_99")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", []),
        ("stat", [("STAT", {1, 2})]),
        ("stat,acctg(3)", [("STAT", {1, 2}), ("ACCTG", {3})]),
        (" ACCTG( 1, 3 ) , Stat(1)", [("ACCTG", {1, 3}), ("STAT", {1})]),
        ("acctg", [("ACCTG", {1})]),
    ],
)
def test_traces_are_written_as_people_write_them(written, meant):
    assert meant == parsed(written)


@pytest.mark.parametrize("written", ["global", "stat(9)", "stat;acctg", "acctg(3"])
def test_traces_nobody_knows_are_refused(written):
    with pytest.raises(TraceError):
        parsed(written)
