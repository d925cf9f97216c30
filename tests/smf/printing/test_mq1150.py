"""MQ1150 with the figures that MP1B prints."""

import pytest

from quaestor.smf.printing import mq1150
from quaestor.smf.printing.figures import View
from quaestor.smf.printing.programs import printout
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.coupling_facility import CouplingFacilityStatistics, StructureFigures
from quaestor.smf.sections.data import DataStatistics
from quaestor.smf.sections.db2 import Db2Statistics
from quaestor.smf.sections.lock import LockStatistics
from quaestor.smf.sections.log import LogStatistics
from quaestor.smf.sections.message import MessageStatistics
from quaestor.smf.sections.storage import StorageStatistics
from smf.printing.given import assert_golden, at_v52, ms, record, squeezed, us


def pool(number, buffers, low, now, getp=0, stw=0, **more):
    return BufferStatistics(
        buffer_pool=number, buffers=buffers, stealable_low=low, stealable_now=now, get_page=getp, set_writes=stw, **more
    )


def verb(group, task_avg, task_max, db2_avg, db2_max, times):
    """Thread and server times of a Db2 verb, in milliseconds."""
    return {
        f"{group}_thread_elapsed": ms(task_avg, times),
        f"{group}_thread_longest": ms(task_max),
        f"{group}_server_elapsed": ms(db2_avg, times),
        f"{group}_server_longest": ms(db2_max),
    }


def structures(*used):
    return CouplingFacilityStatistics(structures=[*used, *(StructureFigures() for _ in range(64 - len(used)))])


def structure(number, name, single, single_us, multiple, multiple_us, entries, elements, retries=0):
    return StructureFigures(
        structure_number=number,
        structure=name,
        single_calls=single,
        single_elapsed=us(single_us, single),
        single_redrives=retries,
        multiple_calls=multiple,
        multiple_elapsed=us(multiple_us, multiple),
        entries_high=entries,
        elements_high=elements,
    )


PUT_COMMIT = structures(
    structure(0, "CSQ_ADMIN", 1000, 53, 0, 0, 344, 666),
    structure(1, "APPLICATION1", 1000, 73, 1000, 211, 1313, 7192),
)


def lines(form, section):
    return squeezed(form.lines(section, View()))


@pytest.mark.oracle("mp1b/53", kind="parser", lines="3475-3646")
def test_statistics_of_a_queue_manager_in_five_minutes():
    first = record(
        115,
        1,
        StorageStatistics(
            fixed_pools_allocated=1,
            variable_pools_allocated=3,
            variable_pools_freed=3,
            variable_pool_segments_freed=4,
            variable_pool_segments_added=4,
            getmains=2003,
            freemains=2007,
        ),
        at_v52(LogStatistics(), 120),
    )
    db2 = Db2Statistics(
        tasks=10,
        tasks_active=11,
        queue_depth_high=1,
        reads=304,
        writes=24,
        lists=60,
        deletes=21,
        scs_selects=21,
        scs_inserts=71,
        scs_updates=71,
        **verb("read", 2, 8, 2, 8, 304),
        **verb("write", 9, 68, 8, 68, 24),
        **verb("list", 20, 38, 20, 38, 60),
        **verb("delete", 28, 104, 27, 104, 21),
        **verb("scs_select", 7, 92, 7, 92, 21),
        **verb("scs_insert", 20, 259, 20, 259, 71),
        **verb("scs_update", 13, 31, 13, 31, 71),
    )
    second = record(
        115,
        2,
        at_v52(MessageStatistics(opens=6001, closes=2001, gets=9051, puts=4000), 48),
        at_v52(DataStatistics(), 76),
        pool(0, 50000, 49967, 49967, 13944, 13944),
        pool(1, 99000, 98664, 98664, 8334, 6018),
        pool(2, 99000, 94876, 94876, 16176, 11725, get_new_page=1227),  # the print does not say which pool
        pool(3, 99000, 99000, 0),
        LockStatistics(lock_gets=105821, already_held=2998, lock_releases=32873),
        at_v52(db2, 488),
        PUT_COMMIT,
    )
    assert_golden("mq1150_statistics.txt", [*printout(first), *printout(second)])


@pytest.mark.oracle("mp1b/32", kind="parser", lines="1715-1729")
def test_db2_rows_without_a_figure_are_left_out():
    idle = Db2Statistics(tasks=4, tasks_active=5, queue_depth_high=1, lists=180, **verb("list", 2, 3, 2, 2, 180))
    assert [
        "Tasks : Servers 4 Active 5 Conns 0 Discs 0 High 1 Abend 0 Requeue 0",
        "Number of deadlock conditions : 0",
        "Lists : #: 180 Task avg m/s : 2 Task max m/s : 3 DB2 avg m/s : 2 DB2 max m/s : 2",
    ] == lines(mq1150.DB2, idle)


@pytest.mark.oracle("mp1b/33", kind="parser", lines="1731-1751")
def test_defining_a_shared_queue():
    defined = Db2Statistics(
        tasks=4,
        tasks_active=5,
        queue_depth_high=1,
        reads=3,
        writes=1,
        lists=12,
        **verb("read", 1, 1, 1, 1, 3),
        **verb("write", 110, 110, 109, 109, 1),
        **verb("list", 2, 3, 2, 3, 12),
    )
    assert [
        "Reads : #: 3 Task avg m/s : 1 Task max m/s : 1 DB2 avg m/s : 1 DB2 max m/s : 1",
        "Writes : #: 1 Task avg m/s : 110 Task max m/s : 110 DB2 avg m/s : 109 DB2 max m/s : 109",
        "Lists : #: 12 Task avg m/s : 2 Task max m/s : 3 DB2 avg m/s : 2 DB2 max m/s : 3",
    ] == lines(mq1150.DB2, defined)[2:]


@pytest.mark.oracle("mp1b/34", kind="parser", lines="1753-1773")
def test_a_shared_channel_starts_and_ends():
    channel = Db2Statistics(
        scs_rows_high=2,
        scs_selects=1,
        scs_inserts=1,
        scs_updates=1,
        scs_deletes=1,
        ssk_selects=1,
        **verb("scs_select", 2, 2, 2, 2, 1),
        **verb("scs_insert", 4, 4, 4, 4, 1),
        **verb("scs_update", 6, 6, 5, 5, 1),
        **verb("scs_delete", 6, 6, 5, 5, 1),
        **verb("ssk_select", 1, 1, 1, 1, 1),
    )
    assert [
        "SCS Maximum rows returned on query : 2",
        "SCS Selects : #: 1 Task avg m/s : 2 Task max m/s : 2 DB2 avg m/s : 2 DB2 max m/s : 2",
        "SCS Inserts : #: 1 Task avg m/s : 4 Task max m/s : 4 DB2 avg m/s : 4 DB2 max m/s : 4",
        "SCS Updates : #: 1 Task avg m/s : 6 Task max m/s : 6 DB2 avg m/s : 5 DB2 max m/s : 5",
        "SCS Deletes : #: 1 Task avg m/s : 6 Task max m/s : 6 DB2 avg m/s : 5 DB2 max m/s : 5",
        "SSK Selects : #: 1 Task avg m/s : 1 Task max m/s : 1 DB2 avg m/s : 1 DB2 max m/s : 1",
    ] == lines(mq1150.DB2, channel)[2:]


@pytest.mark.oracle("mp1b/35", kind="parser", lines="1862-1903")
def test_structures_in_use_with_averages_in_microseconds():
    assert [
        "Structure #: 0, Name CSQ_ADMIN, Structure-fulls 0",
        "Single 1000, Avg time uS 53, Single retries 0",
        "Multiple 0, Avg time uS 0, Multiple retries 0",
        "Max used entries 344, Max used elements 666",
        "Structure #: 1, Name APPLICATION1, Structure-fulls 0",
        "Single 1000, Avg time uS 73, Single retries 0",
        "Multiple 1000, Avg time uS 211, Multiple retries 0",
        "Max used entries 1313, Max used elements 7192",
    ] == lines(mq1150.COUPLING_FACILITY, PUT_COMMIT)


@pytest.mark.oracle("mp1b/37", kind="parser", lines="1943-1985")
def test_retries_of_large_messages():
    both = structures(structure(1, "APPLICATION1", 4000, 218, 1000, 63, 1040, 41248, retries=1000))
    assert [
        "Single 4000, Avg time uS 218, Single retries 1000",
        "Multiple 1000, Avg time uS 63, Multiple retries 0",
        "Max used entries 1040, Max used elements 41248",
    ] == lines(mq1150.COUPLING_FACILITY, both)[1:]


@pytest.mark.oracle("mp1b/47", kind="parser", lines="3315-3319")
@pytest.mark.parametrize(
    ("admin", "single", "multiple"),
    [((11914, 32), (35082, 44), (17531, 156)), ((74621, 33), (223852, 43), (111937, 156))],
)
def test_structures_of_a_busy_day(admin, single, multiple):
    day = structures(
        structure(0, "CSQ_ADMIN", *admin, 0, 0, 0, 0), structure(1, "APPLICATION1", *single, *multiple, 0, 0)
    )
    printed = lines(mq1150.COUPLING_FACILITY, day)
    assert f"Single {admin[0]}, Avg time uS {admin[1]}, Single retries 0" == printed[1]
    assert f"Single {single[0]}, Avg time uS {single[1]}, Single retries 0" == printed[5]
    assert f"Multiple {multiple[0]}, Avg time uS {multiple[1]}, Multiple retries 0" == printed[6]


@pytest.mark.oracle("mp1b/48", kind="parser", lines="3351-3353")
def test_calls_of_the_message_manager():
    day = at_v52(MessageStatistics(opens=42, gets=23193, puts=5637, put1s=11914), 48)
    assert [
        "#MQOPEN 42 #MQCLOSE 0 #MQGET 23193 #MQPUT 5637 #MQPUT1 11914 #MQINQ 0 #MQSET 0",
        "#Close handle 0",
    ] == lines(mq1150.MESSAGE, day)


@pytest.mark.oracle("mp1b/49", kind="parser", lines="3359-3363")
def test_a_pool_never_used_shows_low_as_full_and_now_as_zero():
    assert [
        "03 #buff 99000 #low 99000 #now 0 #getp 0 #getn 0",
        "03 Rio 0 STW 0 TPW 0 WIO 0 IMW 0",
        "03 DWT 0 DMC 0 STL 0 STLA 0 SOS 0",
    ] == lines(mq1150.BUFFER, pool(3, 99000, 99000, 0))


@pytest.mark.oracle("mp1b/50", kind="parser", lines="3371-3374")
@pytest.mark.parametrize(("at", "deepest"), [((0, 30, 0, 40), 4), ((1, 0, 0, 0), 1), ((1, 30, 0, 0), 0)])
def test_depth_of_the_db2_work_list(at, deepest):
    header, _, title, tasks, deadlocks = squeezed(
        printout(record(115, 2, Db2Statistics(queue_depth_high=deepest), at=(at[0] + 1, *at[1:]), queue_manager="V52G"))
    )
    assert f"MVS:MV25 MQ_Subsys:V52G Date 2000297 Time {at[0] + 1:02}:{at[1]:02}:{at[2]:02}.{at[3]:02}" == header
    assert "DB2 manager : Q5ST" == title
    assert f"High {deepest} " in tasks
    assert "Number of deadlock conditions : 0" == deadlocks


@pytest.mark.oracle("mp1b/52", kind="parser", lines="3403-3405")
def test_log_figures_in_the_order_of_the_record():
    day = at_v52(LogStatistics(writes_nowait=273944, writes_force=157, log_ios=82188, cis_written=82188), 120)
    assert [
        "Write_Wait 0 Write_Nowait 273944 Write_Force 157 WTB 0",
        "Read_Stor 0 Read_Active 0 Read_Archive 0 TVC 0",
        "BSDS_Reqs 0 CIs_Created 0 BFWR 0 ALR 0",
        "ALW 0 CIs_Offload 0 Checkpoints 0",
        "WUR 0 LAMA 0 LAMS 0",
        "Write_Susp 0 Write_Reqs 82188 CI_Writes 82188",
        "Write_Serl 0 Write_Thrsh 0 Buff_Pagein 0",
    ] == lines(mq1150.LOG, day)


@pytest.mark.oracle("mp1b/26", kind="parser", lines="2535-2545")
def test_log_of_a_thousand_puts():
    puts = LogStatistics(
        writes_nowait=10030,
        bsds_accesses=13,
        buffers_filled=467,
        logger_calls=1000,
        suspensions=1000,
        log_ios=2934,
        cis_written=2934,
        serial_rewrites=2000,
    )
    printed = lines(mq1150.LOG, at_v52(puts, 120))
    assert "BSDS_Reqs 13 CIs_Created 467 BFWR 1000 ALR 0" == printed[2]
    assert "Write_Susp 1000 Write_Reqs 2934 CI_Writes 2934" == printed[5]
    assert "Write_Serl 2000 Write_Thrsh 0 Buff_Pagein 0" == printed[6]


def test_log_copies_print_since_v8_and_not_before():
    log = LogStatistics()
    log.copies[1].kinds[0].ios, log.copies[1].kinds[0].io_elapsed = 10, us(500, 10)
    assert "Copy 2 Single-page I/Os 10 CIs 0 avg I/O uS 500 avg susp uS 0" in lines(mq1150.LOG, log)
    assert not [line for line in lines(mq1150.LOG, at_v52(log, 120)) if line.startswith("Copy")]


def test_a_row_that_the_section_cuts_in_two_prints_a_dash_for_what_is_missing():
    cut = at_v52(MessageStatistics(opens=1, closes=2, gets=3), 20)
    assert ["#MQOPEN 1 #MQCLOSE 2 #MQGET 3 #MQPUT - #MQPUT1 - #MQINQ - #MQSET -"] == lines(mq1150.MESSAGE, cut)
