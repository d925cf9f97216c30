"""MQ116S and MQ1160 with the figures that MP1B prints."""

import struct

import pytest

from quaestor.layout import CODE_PAGES
from quaestor.smf.printing import mq116s
from quaestor.smf.printing.figures import View
from quaestor.smf.printing.programs import printout, task_printout
from quaestor.smf.printing.queue_account import account, verb_table
from quaestor.smf.records import Task, read_dump, tasks
from quaestor.smf.sections.headers import CorrelationHeader
from quaestor.smf.sections.message import MessageAccounting
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification, ThreadAccounting
from smf.dumps import REAL, REAL_DUMPS
from smf.printing.given import assert_golden, at_v52, record, squeezed, us, utc

real = pytest.mark.skipif(not REAL_DUMPS, reason="no real dumps beside the repository (../shared/data/smf)")
BLANKS = b"\x40"
ALLOCATED = utc(15, 36, 47, 79)
CORRELATOR = struct.pack(">QII", ALLOCATED, 0x7F14B7B8, 0x2741F038)


def called(group, times, elapsed_us, cpu_us):
    """Elapsed and CPU time of a verb whose averages are these."""
    return {f"{group}_elapsed": us(elapsed_us, times), f"{group}_cpu": us(cpu_us, times)}


def task(identification=None, accounting=None, queues=(), at=(16, 37, 36, 61)):
    return Task(record(116, 1, at=at), identification, accounting, list(queues))


def lines(*args, **more):
    return squeezed(task_printout(task(*args, **more)))


@pytest.mark.oracle("mp1b/54", kind="parser", lines="3680-3789")
def test_a_batch_job_that_gets_four_thousand_times():
    who = TaskIdentification(
        connection_type=2,
        connection_name="PAICEIMS",
        operator_id="PAICE1",
        user_id="PAICE1",
        correlation=12 * BLANKS,
        unit_of_work_id=16 * BLANKS + bytes.fromhex("B4D611B3A73D0001"),
    )
    did = TaskAccounting(
        allocated_at=ALLOCATED,
        correlator_2=0x7F14B7B8,
        correlator_3=0x2741F038,
        interval_start=ALLOCATED,
        interval_end=utc(15, 37, 56, 61),
        commits=2000,
        **called("commit", 2000, 130, 34),
        suspends=2000,
        suspend_elapsed=us(100, 2000),
        pages_got_new=20878,
        pages_got_old=1672,
    )
    queue = QueueAccounting(
        correlator=CORRELATOR,
        object_name="CP0000",
        base_name="CP0000",
        queue_type=1,
        opened_at=utc(15, 36, 47, 80),
        closed_at=utc(15, 37, 56, 60),
        page_set=2,
        buffer_pool=2,
        calls=6000,
        opens=1000,
        **called("open", 1000, 62, 60),
        closes=1000,
        **called("close", 1000, 26, 25),
        gets=4000,
        **called("get", 4000, 93, 90),  # ours: the two figures are lost in print
        gets_any=4000,
        valid_gets=4000,
        get_bytes=140_000,
        get_size_high=70,
        empty_pages_skipped=2218,
        on_queue_longest=us(940_000),
        on_queue_shortest=us(2_000),
        on_queue_elapsed=us(3_000, 4000),
        put_size_low=0x0FFFFFFF,
    )
    assert_golden("mq116s_task.txt", task_printout(task(who, at_v52(did, 712), [at_v52(queue, 576)])))


@pytest.mark.oracle("mp1b/3", kind="rule", lines="4299-4311")
@pytest.mark.parametrize(
    ("job", "partner"), [("V521CHIN", "WINMVS2B(2162)"), ("V52ACHIN", "9.20.101.14")], ids=["sender", "receiver"]
)
def test_both_ends_of_a_channel_name_it_and_their_partner(job, partner):
    who = TaskIdentification(connection_type=6, connection_name=job, channel="V521.V52A", channel_connection=partner)
    printed = lines(who)
    assert "== Thread type................> Channel initiator" in printed
    assert f"== Connection name............> {job}" in printed
    assert "== Channel name...............> V521.V52A" in printed
    assert f"== Chl Connection.............> {partner}" in printed


@pytest.mark.oracle("mp1b/51", kind="parser", lines="3382-3395")
@pytest.mark.parametrize(
    ("connection_type", "name", "printed"),
    [
        (7, "V52F", "RRS batch"),
        (6, "V52FCHIN", "Channel initiator"),
        (3, "V52F", "IMS control region"),
        (2, "J", "MVS/TSO"),
    ],
)
def test_thread_types(connection_type, name, printed):
    who = TaskIdentification(connection_type=connection_type, connection_name=name)
    assert f"== Thread type................> {printed}" in lines(who)


@pytest.mark.oracle("mp1b/4", kind="exact", lines="1205-1216")
def test_two_sets_average_ten_and_two_milliseconds():
    queue = QueueAccounting(sets=2, set_elapsed=81_920_000, set_cpu=16_384_000)
    assert "Set 2 10000 2000 0 0" == squeezed(verb_table(queue))[1]


@pytest.mark.oracle("mp1b/42", kind="parser", lines="3148-3166")
@pytest.mark.parametrize(
    ("verb", "count", "group", "number", "elapsed", "cpu"),
    [
        ("Open", "opens", "open", 1, 103, 102),
        ("Put", "puts", "put", 5872, 155, 150),
        ("Put1", "put1s", "put1", 1, 3254, 262),
        ("Close", "closes", "close", 1, 28, 27),
        ("Get", "gets", "get", 5874, 94, 92),
        ("Get", "gets", "get", 2000, 1431, 93),
    ],
)
def test_averages_of_a_verb(verb, count, group, number, elapsed, cpu):
    queue = at_v52(QueueAccounting(**{count: number}, **called(group, number, elapsed, cpu)), 576)
    (_, row) = squeezed(verb_table(queue))
    assert row.startswith(f"{verb} {number} {elapsed} {cpu}")


@pytest.mark.oracle("mp1b/42", kind="parser", lines="3148-3166")
def test_averages_of_commits_and_other_calls():
    did = TaskAccounting(commits=5872, **called("commit", 5872, 4358, 49), others=6, **called("other", 6, 63, 62))
    printed = lines(None, did)
    assert "== Commit : Count 5872 ,avg elapse 4358 ,avg CPU 49" in printed
    assert "== Other : Count 6 ,avg elapse 63 ,avg CPU 62" in printed


@pytest.mark.oracle("mp1b/43", kind="exact", lines="3188-3192")
@pytest.mark.parametrize(
    ("valid", "total", "largest", "smallest"),
    [(5872, 5_872_000, 1000, 1000), (1, 124, 124, 124), (5872, 5872 * 428, 428, 428), (1000, 1_000_000, 1000, 1000)],
)
def test_sizes_of_puts(valid, total, largest, smallest):
    queue = QueueAccounting(valid_puts=valid, put_bytes=total, put_size_high=largest, put_size_low=smallest)
    row = next(line for line in squeezed(account(queue, View())) if line.startswith("PUTs"))
    assert f"PUTs: Valid {valid} Max size {largest} Min Size {smallest} Total bytes {total:016X} ({total})" == row


LATENCIES = [  # valid gets, longest, shortest and average microseconds as printed, average as we print it
    pytest.param(5873, 8.6e9, 3.2e4, 1.5e6, "00000 0:00:01.500", id="idle channel reads its sync message"),
    pytest.param(11741, 1.1e6, 9.3e3, 2.7e4, "00000 0:00:00.027", id="busy channel"),
    pytest.param(3, 1.3e9, 1.3e9, 4.2e8, "-", id="average below minimum: browses were counted"),
    pytest.param(16, 0, 0, 0, None, id="no destructive get"),
]


@pytest.mark.oracle("mp1b/44", kind="exact", lines="3222-3231")
@pytest.mark.parametrize(("valid", "longest", "shortest", "average", "printed"), LATENCIES)
def test_time_on_queue(valid, longest, shortest, average, printed):
    queue = at_v52(
        QueueAccounting(
            valid_gets=valid,
            on_queue_longest=us(longest),
            on_queue_shortest=us(shortest),
            on_queue_elapsed=us(average, valid),
        ),
        576,
    )
    rows = [line for line in squeezed(account(queue, View())) if "Average latency" in line]
    assert ([] if printed is None else [f"GETs: Average latency {printed}"]) == rows


def test_average_time_on_queue_divides_by_destructive_gets_where_they_are_counted():
    """Three valid gets, one of them destructive: the one second belongs to that one."""
    second = us(1_000_000)
    queue = QueueAccounting(
        valid_gets=3,
        valid_destructive_gets=1,
        on_queue_longest=second,
        on_queue_shortest=second,
        on_queue_elapsed=second,
    )
    assert "GETs: Average latency 00000 0:00:01.000" in squeezed(account(queue, View()))


@pytest.mark.oracle("mp1b/45", kind="parser", lines="3265-3267")
@pytest.mark.parametrize("figures", [(5, 3179, 3083, 3344, 3241), (5, 3366, 3260, 3571, 3462)])
def test_db2_requests_of_a_task(figures):
    requests, thread, server, thread_longest, server_longest = figures
    did = TaskAccounting(
        db2_requests=requests,
        db2_thread_elapsed=us(thread, requests),
        db2_server_elapsed=us(server, requests),
        db2_thread_longest=us(thread_longest),
        db2_server_longest=us(server_longest),
    )
    expected = "== DB2 : Count {} ,avg thread {} ,avg server {} ,max thread {} ,max server {}".format(*figures)
    assert expected in lines(None, did)


@pytest.mark.oracle("mp1b/46", kind="parser", lines="3291-3293")
@pytest.mark.parametrize(("single", "multiple"), [((32, 51), (16, 288)), ((4667, 43), (1333, 55))])
def test_coupling_facility_calls_of_a_task(single, multiple):
    did = TaskAccounting(
        cf_single_calls=single[0],
        cf_single_elapsed=us(single[1], single[0]),
        cf_multiple_calls=multiple[0],
        cf_multiple_elapsed=us(multiple[1], multiple[0]),
    )
    printed = lines(None, did)
    assert f"== CF single : Count {single[0]} ,avg elapse {single[1]} ,retries 0" in printed
    assert f"== CF multiple : Count {multiple[0]} ,avg elapse {multiple[1]} ,retries 0" in printed


def test_a_size_never_set_is_no_size():
    """The shortest message starts at x0FFFFFFF: without a valid put it says nothing."""
    queue = QueueAccounting(gets=1, valid_gets=1, get_bytes=7, get_size_high=7, get_size_low=7, put_size_low=0x0FFFFFFF)
    printed = "\n".join(account(queue, View()))
    assert "PUTs" not in printed
    assert str(0x0FFFFFFF) not in printed


def test_latch_waits_print_by_class():
    did = TaskAccounting()
    did.latch_waits[10], did.latch_elapsed[10], did.latch_class_longest[10] = 4, us(100, 4), us(250)
    assert ["== Latch 11 : Count 4 ,avg elapse 100 ,longest 250"] == [
        line for line in lines(None, did) if line.startswith("== Latch")
    ]


def test_coupling_facility_requests_print_by_verb_and_kind():
    queue = QueueAccounting()
    write = queue.cf_calls[3].kinds[6]
    write.requests, write.sync, write.sync_elapsed, write.async_, write.async_elapsed = 12, 10, 200, 2, 90
    assert "CF Put Write : Count 12 ,sync 10 ,avg elapse 20 ,async 2 ,avg elapse 45" in squeezed(account(queue, View()))


@pytest.mark.parametrize(
    ("connection_type", "correlation", "words"),
    [
        (1, "00000003" + "A8EA".encode("cp037").hex() + "0012345C", "thread 3, transaction A8EA, task 12345"),
        (4, "0236BC1UDOC ".encode("cp037").hex(), "PST 0236, PSB BC1UDOC"),
        (4, "0000000A" + "BC1UDOC ".encode("cp037").hex(), "PST 0000000A, PSB BC1UDOC"),
        (2, 24 * "0", ""),
    ],
    ids=["CICS", "IMS with region in characters", "IMS with region in binary", "batch"],
)
def test_thread_cross_reference(connection_type, correlation, words):
    who = TaskIdentification(connection_type=connection_type, correlation=bytes.fromhex(correlation))
    printed = lines(who)
    assert f"== Correlator Id..............> {words}".rstrip() in printed
    assert f"== Correlator Id.........(HEX)> {correlation.upper()}" in printed


def test_text_of_tokens_follows_the_code_page():
    who = TaskIdentification(unit_of_work_id="[NET]".encode("cp037").ljust(24, BLANKS))
    in_037 = squeezed(mq116s.identification(who, View(page=CODE_PAGES["037"])))
    assert "== UOW identifier.............> [NET]" in in_037
    assert "== UOW identifier.............> [NET]" not in squeezed(mq116s.identification(who, View()))


def test_a_continuation_without_its_task_prints_its_queues_under_their_token():
    printed = lines(None, None, [QueueAccounting(correlator=CORRELATOR, object_name="Q")])
    assert "== Task Token : 23/10/2000, 15:36:47.79 UTC (2000-10-23 16:36:47.79 +01:00), 7f14b7b8, 2741f038" in printed
    assert "Open name Q , Base name" in printed


def test_old_accounting_prints_cpu_in_milliseconds_and_size_bands():
    """MQ1160: the header is that of MP1B, 16:39:42.04; its rows did not survive."""
    old = record(
        116,
        0,
        ThreadAccounting(started_at=utc(15, 30, 0), ended_at=utc(15, 39, 42), commits=7),
        MessageAccounting(cpu=us(12_345), puts_0_99=1, puts_100_999=2, puts_1000_9999=3, gets_10000_up=4),
        at=(16, 39, 42, 4),
        correlation=CorrelationHeader(connection_type=2, connection_name="PAICEIMS", user_id="PAICE1"),
    )
    assert_golden("mq1160_accounting.txt", printout(old))


@real
@pytest.mark.real
def test_the_real_accounting_dump_prints_as_mq116s_would():
    printed = [list(task_printout(each)) for each in tasks(read_dump(REAL / "TEST116.dat"))]
    (task_lines,) = printed
    squeezed_lines = squeezed(task_lines)
    assert "MVS:H019 ,MQSeries sys:MQPC ,Jobname:PRDC ,Userid:IMS ,Date 2015327 ,Time 11:00:00.02" == task_lines[0]
    assert "== Thread type................> IMS MPP/BMP" in squeezed_lines
    assert "== Commit : Count 1 ,avg elapse 1218 ,avg CPU 19" in squeezed_lines
    assert "== Suspend : Count 2 ,avg elapse 3343" in squeezed_lines
    assert "== Pages : New 2 ,Old 6" in squeezed_lines
    puts = [line for line in squeezed_lines if line.startswith("Put ")]
    assert ["Put 1 85 80 0 0 0 0", "Put 1 131 126 0 0 0 0"] == puts
    sizes = [line for line in squeezed_lines if line.startswith("PUTs")]
    assert ["PUTs: Valid 1 Max size 354 Min Size 354 Total bytes 0000000000000162 (354)"] == sizes[:1]


@real
@pytest.mark.real
@pytest.mark.parametrize("path", REAL_DUMPS, ids=lambda path: path.name)
def test_every_record_of_a_real_dump_prints(path):
    found = list(read_dump(path))
    others = [each for each in found if each.kind and each.name not in ("116-1", "116-2")]
    text = "\n".join(line for each in others for line in printout(each))
    text += "\n".join(line for each in tasks(found) for line in task_printout(each))
    assert len(others) == text.count("MQ_Subsys:")
    assert sum(each.name == "116-1" for each in found) == text.count(mq116s.NEW_TASK)
    assert str(0x0FFFFFFF) not in text
    assert str(0x8FFFFFFF) not in text
