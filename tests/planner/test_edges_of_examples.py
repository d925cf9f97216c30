"""The papers' worked examples moved to their edges: one message more, the last value below a limit, exactly on it."""

import pytest

from quaestor.planner import applications as app
from quaestor.planner.answer import HeadRoom, Unit, looked_up, plain
from quaestor.planner.backup import whole_days_between_backups
from quaestor.planner.buffer_flow import PageState, PoolInterval, Request, next_state
from quaestor.planner.cfrm import PolicySizes, alter_allowed
from quaestor.planner.channel_costs import move_cpu_us
from quaestor.planner.channel_tasks import adapters_are_short, task_use
from quaestor.planner.channels import MCA_FOOTPRINT_KB, ChannelGroup, storage_needed_kb, svrconn_footprint_kb
from quaestor.planner.compression import LogCopyIo, archive_disturbs_copy_two, archive_is_compressed
from quaestor.planner.coupling_facility import group_log_mb_per_s
from quaestor.planner.deferred_write import checkpoint_pages_max
from quaestor.planner.expiry import check_expryint, expiry_cpu_s_per_h
from quaestor.planner.geometry import cylinders, pages, tracks
from quaestor.planner.hardware import cost_us_per_transaction, processors_busy
from quaestor.planner.ims_bridge import ImsSettings, settings_findings
from quaestor.planner.ims_monitor import checkpoint_minutes_avg, checkpoint_seconds
from quaestor.planner.large_messages import bytes_over_step, lob_space_mb
from quaestor.planner.log_flow import LogCounters, is_log_bound
from quaestor.planner.log_writer import LogSettings, Record, play
from quaestor.planner.logload import LOGLOAD_MIN, logload_for_restart, transactions_between_checkpoints
from quaestor.planner.network import Run, next_change
from quaestor.planner.source import OutOfRangeError

PAGE = 4096
GIB = 1 << 30


# --- chapter 1: logs, pages, restart ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval_h", "day_h", "days"), [(25.6, 12, 2), (25.6, 24, 1), (24, 24, 1), (23.9, 24, 0), (36, 12, 3)]
)
def test_whole_days_of_application_time_between_backups(interval_h, day_h, days):
    """ORACLE 28 [1089]: with 25 hours in active logs, a day of 12 hours is backed up every second day."""
    assert days == whole_days_between_backups(interval_h, day_h)


@pytest.mark.parametrize(
    ("log_bytes", "per_message", "gib"),
    [
        (4 * GIB, 1057, 12),  # ORACLE 21 [1042]: three to a log page
        (4 * GIB, 751, 20),  # ORACLE 22 [1044]: five
        (4 * GIB, 4096, 4),  # exactly one
        (4 * GIB, 2048, 8),
        (4 * GIB, 8192, 2),  # one message on two log pages: half as many pages of the page set
    ],
)
def test_pages_of_one_log_that_a_checkpoint_may_write(log_bytes, per_message, gib):
    """F-25 [1034-1044]."""
    assert gib * GIB == checkpoint_pages_max(log_bytes, per_message) * PAGE


def test_a_log_page_begun_holds_no_message_of_a_checkpoint():
    """Whole log pages, and whole messages in each."""
    assert 3 == checkpoint_pages_max(2 * PAGE - 1, 1057)
    assert 1 == checkpoint_pages_max(2 * PAGE - 1, 4097)
    assert 1 == checkpoint_pages_max(2 * PAGE - 1, 4096)
    assert 0 == checkpoint_pages_max(PAGE - 1, 10)


@pytest.mark.parametrize(("data_bytes", "needs"), [(0, 0), (1, 1), (737_280, 1), (737_281, 2), (3 * 737_280, 3)])
def test_cylinders_are_whole(data_bytes, needs):
    """A 3390 cylinder has 15 tracks of 12 pages: 737,280 bytes [1335, 1349-1359]."""
    assert needs == cylinders(data_bytes)
    assert isinstance(cylinders(data_bytes), int)
    assert (needs * 15 - 14 if needs else 0) <= tracks(data_bytes) <= needs * 15
    assert -(-data_bytes // 4096) == pages(data_bytes)


def test_the_lowest_logload_is_the_answer_to_the_shortest_restart_that_can_be_kept():
    """F-44, F-45: 200 records are 100 transactions of two, at half a second each and the fixed second."""
    costs = {"s_per_transaction": 0.5, "startup_s": 0, "finish_s": 0}
    assert LOGLOAD_MIN == logload_for_restart(51, 2, **costs)
    with pytest.raises(OutOfRangeError, match=r"restart_limit_s 50\.9 is not valid: 51 or more"):
        logload_for_restart(50.9, 2, **costs)


def test_the_shortest_restart_of_the_papers_transaction():
    """7 + 1 + 0.2 s, and 200 of its 31 writes at 5.8 ms a transaction: 37 ms [1602-1617]."""
    with pytest.raises(OutOfRangeError, match=r"restart_limit_s 8 is not valid: 8\.237 or more"):
        logload_for_restart(8, 31)


@pytest.mark.parametrize(("logload", "writes", "transactions"), [(450_000, 31, 14_516), (310, 31, 10), (309, 31, 9)])
def test_a_transaction_begun_is_not_counted_between_checkpoints(logload, writes, transactions):
    """ORACLE 52 [1617]."""
    assert transactions == transactions_between_checkpoints(logload, writes)


@pytest.mark.parametrize("valid", [0, 5, 99_999_999])
def test_expryint_that_is_taken(valid):
    """M-50 [2068]: 0 is off, and 5 s the shortest."""
    check_expryint(valid)


@pytest.mark.parametrize("wrong", [-1, 1, 4, 100_000_000])
def test_expryint_that_is_refused(wrong):
    with pytest.raises(OutOfRangeError, match="0, or 5 to 99999999"):
        check_expryint(wrong)


def test_a_million_messages_scanned_every_hour():
    """T-24 [2081-2083]: 9 to 12 us to scan a message, 10 to 20 us to scan and delete it; twice that when offloaded."""
    assert (9, 12) == expiry_cpu_s_per_h(1_000_000, 3600)
    assert (10, 20) == expiry_cpu_s_per_h(1_000_000, 3600, expired=1_000_000)
    assert (4 * 18, 4 * 24) == expiry_cpu_s_per_h(1_000_000, 900, offloaded=True)
    assert (0, 0) == expiry_cpu_s_per_h(1_000_000, 0)


# --- chapters 2 and 3: coupling facility, channels --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new_kb", "allowed"), [(9_999, False), (10_000, True), (15_000, True), (20_000, True), (20_001, False)]
)
def test_an_operator_alters_within_minsize_and_size(new_kb, allowed):
    """[2544-2549]: both ends belong to the policy."""
    assert allowed == alter_allowed(PolicySizes(init_kb=10_000, size_kb=20_000, min_kb=10_000), new_kb)


def test_logs_of_a_group_add_up_also_slow_ones():
    """[3237]."""
    assert 32.6 == pytest.approx(group_log_mb_per_s([32.1, 0.5, 0]))
    with pytest.raises(OutOfRangeError, match="log_mb_per_s -1 is not valid"):
        group_log_mb_per_s([32.1, -1])


@pytest.mark.parametrize(
    ("message_bytes", "over"),
    [
        (0, 0),
        (64_512, 0),
        (64_513, 1),
        (65_536, 1_024),
        (523_264, 523_264 - 64_512),  # the last byte of the first row of Db2
        (523_265, 1),
        (2 * 523_264, 523_264),
        (2 * 523_264 + 1, 1),
    ],
)
def test_how_far_a_message_stands_over_a_cost_step(message_bytes, over):
    """CF-R44 [2883-2886]: 63 KB leave the structure; every 511 KB is another row."""
    assert over == bytes_over_step(message_bytes)


def test_lob_space_in_whole_pages():
    """[2843-2846]: a message of 1 byte takes a page of 32 KB, and 1,000 KB are an MB here."""
    assert 32 == lob_space_mb(1, 1_000)
    assert 32 == lob_space_mb(32_768, 1_000)
    assert 64 == lob_space_mb(32_769, 1_000)
    assert 0.032 == lob_space_mb(32_768, 1)


def test_adapters_are_short_when_each_has_worked():
    """CH-R8 [3434]."""
    assert adapters_are_short([5, 1, 9])
    assert not adapters_are_short([5, 0, 9])
    with pytest.raises(OutOfRangeError, match="requests -1 is not valid"):
        adapters_are_short([5, -1])


def test_a_row_of_the_task_report():
    """T5, ORACLE 74 [3963-3971]: 1,000 requests of 50 us CPU in 60 s that took 3 s in all."""
    found = task_use(1_000, 0.05, 3, 60)
    assert (5, 50) == (found.busy_percent, pytest.approx(found.cpu_us_mean))
    assert 1 / 12 == pytest.approx(found.cpu_percent)
    assert 1_000_000 == task_use(1, 1, 1, 1).cpu_us_mean
    assert 0 == task_use(0, 0, 0, 60).cpu_us_mean


def test_sharecnv_1_has_one_conversation_and_0_too():
    """H1 [3318-3325]: what shares nothing has one conversation, no more."""
    for sharecnv in (0, 1):
        assert svrconn_footprint_kb(1, sharecnv, 1) > 0
        with pytest.raises(OutOfRangeError, match="conversations 2 is not valid: 1 to 1"):
            svrconn_footprint_kb(1, sharecnv, 2)
    assert svrconn_footprint_kb(1, 10, 10) > svrconn_footprint_kb(1, 10, 1)


def test_no_group_has_fewer_channels_than_none():
    """H1 [3308-3314]."""
    each = MCA_FOOTPRINT_KB.rows[0][1]
    assert 10 * each == storage_needed_kb([ChannelGroup(10, each), ChannelGroup(0, each)])
    with pytest.raises(OutOfRangeError, match="channels -1 is not valid"):
        storage_needed_kb([ChannelGroup(10, each), ChannelGroup(-1, each)])


def test_batch_sizes_without_a_line_are_refused_with_those_that_have_one():
    """B13 [4065-4164]: the lines of persistent messages are not those of the others."""
    for persistent, kind in ((True, "persistent"), (False, "non-persistent")):
        with pytest.raises(OutOfRangeError, match=f"batchsz 3 has no line for {kind} messages") as refused:
            move_cpu_us(1_000, persistent, 3)
        sizes = str(refused.value).rpartition("valid are ")[2].split(", ")
        assert len(sizes) == len(set(sizes))
        assert all(move_cpu_us(1_000, persistent, int(size)) > 0 for size in sizes)


# --- chapters 4 to 11 -------------------------------------------------------------------------------------------------


def test_one_message_more_than_a_unit_of_work_holds_is_another_commit():
    """ORACLE 31 [4912]: 1,000 messages to a commit of 4 us CPU and 51 us elapsed."""
    large = app.COMMIT_COSTS[1]
    assert (4, 51) == (app.commits_cost(1_000, large).cpu_us, app.commits_cost(1_000, large).elapsed_us)
    assert (8, 102) == (app.commits_cost(1_001, large).cpu_us, app.commits_cost(1_001, large).elapsed_us)
    assert (0, 0) == (app.commits_cost(0, large).cpu_us, app.commits_cost(0, large).elapsed_us)


def test_a_page_in_use_names_what_it_takes():
    """[4523-4557]: a changed page in use is not written and not stolen."""
    with pytest.raises(OutOfRangeError) as refused:
        next_state(PageState.CHANGED_IN_USE, Request.STEAL)
    assert "a page changed, in use takes no steal; it takes get page, set write, release" == str(refused.value)


def test_a_pool_that_stole_nothing_had_no_contention():
    quiet = dict.fromkeys(PoolInterval.__slots__, 0) | {"seconds": 60, "buffers": 100}
    assert 0 == PoolInterval(**quiet).steal_contention_percent
    assert 25 == PoolInterval(**quiet | {"steals": 8, "steal_contentions": 2}).steal_contention_percent


@pytest.mark.parametrize(
    ("measured_ms", "bound"), [(10, True), (11.7, True), (11.8, False), (8.7, True), (8.69, False)]
)
def test_a_put_explained_by_its_log_io_alone(measured_ms, bound):
    """LOG-6: four I/O times of 2.5 ms, within 15 % of what was measured."""
    assert bound == is_log_bound(measured_ms, 4, 2.5)


@pytest.mark.parametrize(("pages_of_all", "reaches"), [(19_999, False), (20_000, True), (20_001, True)])
def test_wrthrsh_is_reached_by_twenty_pages_of_one_message(pages_of_all, reaches):
    """LOG-2: the twentieth full buffer calls the logger."""
    counted = LogCounters(messages=1_000, writes_nowait=1, buffers_filled=pages_of_all, logger_calls=1)
    assert reaches == counted.reaches_write_threshold()


def test_an_application_waits_for_a_buffer_until_an_io_ends():
    """W3: of 40 KB of OUTBUFF, ten buffers, the eleventh page waits from 1 to 2 ms; five more are filled by 2.5."""
    run = play(
        [Record(0, 15 * PAGE, forces=True, fill_ms_per_page=0.1)], LogSettings(outbuff_kb=40, write_threshold_pages=20)
    )
    assert ["B1...B10 in parallel", "B11...B15 in parallel"] == [str(io) for io in run.ios]
    assert [1, 2.5] == pytest.approx([io.start_ms for io in run.ios])
    assert [11] == run.waited_before
    assert 3.5 == pytest.approx(run.end_ms)


def test_an_io_of_half_a_millisecond_is_over_when_the_next_force_comes():
    """W5, W6: the first is written at once; the second finds the log idle and writes the same page again, in series."""
    first, again = (Record(at, 100, forces=True) for at in (0, 0.6))
    run = play([first, again], LogSettings(io_ms=0.5))
    assert [(0, False), (0.6, True)] == [(io.start_ms, io.series) for io in run.ios]
    assert 1.6 == pytest.approx(run.end_ms)


def test_the_part_to_exchange_next_while_two_are_suspect():
    """ORACLE 7 [4277-4285]: with one left, it is known."""
    runs = [Run("all", frozenset({"host A", "switch", "host B"}), healthy=False)]
    assert "host A" == next_change(runs)
    runs.append(Run("without A", frozenset({"host C", "switch", "host B"}), healthy=False))
    assert "host B" == next_change(runs)
    runs.append(Run("with B alone", frozenset({"host B"}), healthy=True))
    assert next_change(runs) is None


def test_cost_of_a_transaction_and_how_busy_it_makes_the_machine():
    """ORACLE 65 [6011-6115]: each is the other's inverse."""
    assert 1_000_000 == cost_us_per_transaction(1, 100, 1)
    assert 150 == cost_us_per_transaction(3, 50, 10_000)
    assert 1.5 == pytest.approx(processors_busy(10_000, 150))


COPY_ONE = LogCopyIo(requests=1_000, control_intervals=1_000, io_us_avg=1_000, after_io_us_avg=10)


@pytest.mark.parametrize(
    ("io_us", "bypass", "disturbs"), [(1_301, 1, True), (1_300, 1, False), (1_590, 0, False), (1_110, 5, False)]
)
def test_archives_disturb_copy_two_above_the_cut_off_only(io_us, bypass, disturbs):
    """ZEDC-2 [4396-4431]: 1.59 and 1.11 are the papers' bad and good runs."""
    copy_two = LogCopyIo(requests=1_000, control_intervals=1_000, io_us_avg=io_us, after_io_us_avg=10)
    assert disturbs == archive_disturbs_copy_two(COPY_ONE, copy_two, dfw_bypass_rate=bypass)


@pytest.mark.parametrize(("archive", "compressed"), [(989_999, True), (990_000, False), (1_000_000, False)])
def test_an_archive_within_one_percent_of_its_log_is_not_compressed(archive, compressed):
    """ZEDC-1 [4362-4366]."""
    assert compressed == archive_is_compressed(archive, 1_000_000)


@pytest.mark.parametrize(("qbuf", "waits", "found"), [(9, 0, True), (10, 0, False), (10, 1, True)])
def test_as_many_ims_buffers_as_regions_are_enough_while_nobody_waits(qbuf, waits, found):
    """IMS-4 [5637]."""
    findings = settings_findings(ImsSettings(regions=10, schedules=10, qbuf=qbuf, buffer_waits=waits))
    assert found == ("IMS-4" in [each.rule for each in findings])


def test_waits_for_an_online_log_are_an_alarm():
    """IMS-9 [5638]."""
    (found,) = settings_findings(ImsSettings(regions=1, schedules=1, qbuf=1, online_log_waits=3))
    assert ("IMS-9", True, "3 waits for an online log") == (found.rule, found.alarm, found.because)


def test_checkpoints_over_new_year():
    """ORACLE 60 [5880-5909]: 2012 had 366 days; five minutes before midnight and five after are ten minutes."""
    console = ["DFS994I *CHKPT 12366/235500**SIMPLE**", "DFS994I *CHKPT 13001/000500**SIMPLE**"]
    assert 10 == checkpoint_minutes_avg(checkpoint_seconds(console))
    ordinary = ["DFS994I *CHKPT 13365/235500**SIMPLE**", "DFS994I *CHKPT 14001/000500**SIMPLE**"]
    assert 10 == checkpoint_minutes_avg(checkpoint_seconds(ordinary))


# --- answers ----------------------------------------------------------------------------------------------------------


def test_head_room_of_a_limit_below_one():
    """A3: a target of half a second, of which a quarter is used."""
    assert 50 == HeadRoom("response time", 0.25, 0.5).percent
    assert -100 == HeadRoom("response time", 1, 0.5).percent


def test_a_value_from_a_table_says_where_it_was_looked_up():
    """A1: the key by the name of the table's first column, and the column that was read."""
    found = looked_up("channels.MCA_FOOTPRINT_KB", MCA_FOOTPRINT_KB, 32, "footprint_kb", Unit.KB, about="C")
    assert {MCA_FOOTPRINT_KB.columns[0]: 32, "column": "footprint_kb"} == found.inputs
    assert MCA_FOOTPRINT_KB.source == found.source
    assert "C" == found.about


def test_a_dataclass_is_a_table_for_other_programs():
    assert {"requests": 1_000, "control_intervals": 1_000, "io_us_avg": 1_000, "after_io_us_avg": 10} == plain(COPY_ONE)
