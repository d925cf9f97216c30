"""Structures that MP1B did not know, row by row: every figure under its label, averages worked out by hand (P2, P4)."""

import pytest

from quaestor.layout import Record, at, elapsed, gauge, micros, octets, record
from quaestor.smf.catalog import SECTIONS
from quaestor.smf.printing.figures import View
from quaestor.smf.printing.forms import Form, figure, row, two_digits
from quaestor.smf.printing.programs import FORMS
from smf.printing.given import ms, squeezed, us, utc


def rows(structure, place=1, /, **figures):
    """The printout of a section with these figures and no others."""
    section = SECTIONS[structure](**figures)
    return squeezed(FORMS[structure].lines(section, View(), place))


# --- where messages are kept -----------------------------------------------------------------------------------------


def test_a_page_set_with_all_kinds_of_io():
    """250 of 1,000 pages are a quarter; 6 ms of 4 I/Os are 1,500 us each; what no row names follows."""
    assert [
        "03 BP 01 #pages 1000 #unused 250 %unused 25 #pers 500 #nonpers 249 #full 2",
        "03 DWP write I/Os 4 pages 64 avg I/O uS 1500",
        "03 IMW write I/Os 3 pages 5 avg I/O uS 333",
        "03 Read I/Os 2 pages 7 avg I/O uS 900",
        "03 Put cursor high position ........................... 751",
        "03 Pages written at checkpoint ........................ 16",
    ] == rows(
        "QIS1",
        page_set=3,
        buffer_pool=1,
        pages=1000,
        pages_unused=250,
        pages_persistent=500,
        pages_nonpersistent=249,
        full=2,
        deferred_write_ios=4,
        deferred_write_pages=64,
        deferred_write_elapsed=ms(6),
        immediate_write_ios=3,
        immediate_write_pages=5,
        immediate_write_elapsed=us(1000),
        read_ios=2,
        read_pages=7,
        read_elapsed=us(1801),
        checkpoint_pages=16,
        put_cursor_high=751,
    )


def test_a_page_set_that_did_nothing_has_one_row():
    assert ["12 BP 00 #pages 0 #unused 0 %unused 0 #pers 0 #nonpers 0 #full 0"] == rows("QIS1", page_set=12)


def test_a_shared_message_data_set():
    assert [
        "Structure #: 2, Name APP1",
        "Blocks: total 1001 data 1000 used 333 free 667 %used 33 messages 166",
        "Buffers: size 262144 total 100 shared 10 private 5 saved 2 empty 83",
        "Pool waits 4 avg wait uS 250",
        "Buffer waits 3 avg wait uS 33",
        "Read requests 50 saved 25 partly saved 6 %saved 50",
        "Format I/Os 1 pages 64 avg I/O uS 2000 avg wait uS 3000",
        "Write I/Os 10 pages 160 avg I/O uS 700 avg wait uS 900",
        "Read own I/Os 5 pages 80 avg I/O uS 800 avg wait uS 1000",
        "Read other I/Os 2 pages 32 avg I/O uS 1500 avg wait uS 2500",
    ] == rows(
        "QESD",
        structure_number=2,
        structure="APP1",
        blocks_total=1001,
        blocks_data=1000,
        blocks_used=333,
        blocks_free=667,
        messages=166,
        buffer_size=262_144,
        buffers_total=100,
        buffers_shared=10,
        buffers_private=5,
        buffers_saved=2,
        buffers_empty=83,
        pool_waits=4,
        pool_wait_elapsed=ms(1),
        buffer_waits=3,
        buffer_wait_elapsed=us(100),
        read_requests=50,
        reads_saved=25,
        reads_partly_saved=6,
        format_ios=1,
        format_pages=64,
        format_io_elapsed=ms(2),
        format_wait_elapsed=ms(3),
        write_ios=10,
        write_pages=160,
        write_io_elapsed=ms(7),
        write_wait_elapsed=ms(9),
        read_ios=5,
        read_pages=80,
        read_io_elapsed=ms(4),
        read_wait_elapsed=ms(5),
        other_read_ios=2,
        other_read_pages=32,
        other_read_io_elapsed=ms(3),
        other_read_wait_elapsed=ms(5),
    )


def test_a_shared_message_data_set_without_waits_and_ios_has_four_rows():
    assert [
        "Structure #: 0, Name",
        "Blocks: total 0 data 0 used 0 free 0 %used 0 messages 0",
        "Buffers: size 0 total 0 shared 0 private 0 saved 0 empty 0",
        "Read requests 0 saved 0 partly saved 0 %saved 0",
    ] == rows("QESD")


@pytest.mark.parametrize(
    ("structure", "figures", "printed"),
    [
        (
            "QSPH",
            {"pool": "POOL1", "pool_size": 4096, "pool_size_before": 2048, "pools": 3},
            ["Pool POOL1 size 4096 before 2048 pools 3"],
        ),
        (
            "QSGM",
            {
                "csect": "CSQSMAIN",
                "held": 100,
                "obtained": 200,
                "requests": 7,
                "request_high": 64,
                "request_low": 8,
            },
            ["CSECT CSQSMAIN held 100 obtained 200 requests 7 longest 64 shortest 8"],
        ),
        (
            "QSRS",
            {
                "region_24_user_allocated": 1,
                "region_24_system_allocated": 2,
                "region_24_limit": 3,
                "region_31_user_allocated": 4,
                "region_31_system_allocated": 5,
                "region_31_limit": 6,
                "region_31_available": 7,
                "region_31_cushion": 8,
                "objects_64": 9,
                "objects_64_size": 10,
                "usable_64_high": 11,
                "available_64": 12,
                "memlimit": 13,
            },
            [
                "24-bit: user 1 system 2 limit 3",
                "31-bit: user 4 system 5 limit 6 available 7 cushion 8",
                "64-bit: objects 9 size 10 high 11 available 12 MEMLIMIT 13",
            ],
        ),
    ],
)
def test_storage(structure, figures, printed):
    assert printed == rows(structure, **figures)


# --- the channel initiator -------------------------------------------------------------------------------------------


def test_the_channel_initiator():
    assert [
        "Job QM1ACHIN QSG QSGA",
        "Channels: most 20 MAXCHL 200 most active 10 ACTCHL 100 TCPCHL 90 LU62CHL 80",
        "Storage: 31-bit MB 64 64-bit 209715200 limit 2147483648",
    ] == rows(
        "QCCT",
        job_name="QM1ACHIN",
        queue_sharing_group="QSGA",
        channels_high=20,
        max_channels=200,
        active_channels_high=10,
        max_active_channels=100,
        max_tcp_channels=90,
        max_lu62_channels=80,
        storage_31_mb=64,
        storage_64=200 << 20,
        storage_64_limit=2 << 30,
    )


LONGEST = "03 Longest uS 900 at 2000-10-23 15:00:01.00 UTC"


@pytest.mark.parametrize(
    ("structure", "more", "second"),
    [
        ("QCT_DSP", {"channels": 7}, ["03 Channels 7"]),
        ("QCT_ADP", {}, []),
        ("QCT_SSL", {"longest_request": us(900), "longest_at": utc(15, 0, 1)}, [LONGEST]),
        ("QCT_DNS", {"longest_request": us(900), "longest_at": utc(15, 0, 1)}, [LONGEST]),
    ],
)
def test_a_task_of_the_channel_initiator_bears_its_number(structure, more, second):
    """8 requests of 100 us CPU and 1 ms: 12 and 125 us each, cut to whole ones."""
    first = "03 Requests 8 avg CPU uS 12 avg elapse uS 125 wait uS 5000000"
    figures = {"requests": 8, "cpu": us(100), "request_elapsed": ms(1), "wait_elapsed": ms(5000)}
    assert [first, *second] == rows(structure, 3, **figures, **more)
    assert rows(structure, 12, **figures)[0].startswith("12 Requests 8 ")


def test_a_sender_channel():
    """300 messages in 7 batches are 42 each; 100 of them persistent are 33 per cent."""
    assert [
        "Channel QM1.TO.QM2, Sender, Private, Running, STATCHL High",
        "Connection 10.0.0.1(1414) Remote QM2",
        "Started 2000-10-23 08:00:00.00 UTC",
        "Stopped 2000-10-23 16:00:00.00 UTC",
        "Last message 2000-10-23 15:59:59.00 UTC",
        "Collected 2000-10-23 16:01:00.00 UTC",
        "Messages 300 bytes 307200 avg bytes 1024",
        "Persistent 100 bytes 102400 %messages 33",
        "Batches 7 full 5 avg msgs 42 size limit 50 interval 9 data limit 5000",
        "Sent: buffers 310 bytes 400000 Received: buffers 12 bytes 900",
        "Network uS: avg 320 shortest 190 longest 2560 at 2000-10-23 12:00:00.00 UTC",
        "Exits uS: avg 10 shortest 5 longest 20 at 2000-10-23 13:00:00.00 UTC",
        "Put retries 1 XMITQ empty 2 Dispatcher 3",
    ] == rows(
        "QCST",
        channel="QM1.TO.QM2",
        channel_type=1,
        disposition=4,
        channel_status=3,
        statchl=65,
        connection_name="10.0.0.1(1414)",
        remote_name="QM2",
        started_at=utc(8, 0, 0),
        stopped_at=utc(16, 0, 0),
        last_message_at=utc(15, 59, 59),
        collected_at=utc(16, 1, 0),
        messages=300,
        message_bytes=307_200,
        persistent_messages=100,
        persistent_bytes=102_400,
        batches=7,
        full_batches=5,
        batch_size=50,
        batch_interval=9,
        batch_data_limit=5000,
        buffers_sent=310,
        bytes_sent=400_000,
        buffers_received=12,
        bytes_received=900,
        network_average=320,
        network_shortest=190,
        network_longest=2560,
        network_longest_at=utc(12, 0, 0),
        exit_average=10,
        exit_shortest=5,
        exit_longest=20,
        exit_longest_at=utc(13, 0, 0),
        put_retries=1,
        transmission_queue_empty=2,
        dispatcher=3,
    )


def test_a_channel_of_an_unknown_type_that_never_ran():
    """Codes nobody named print as numbers; times never set are left out."""
    assert [
        "Channel A.B, 99, Default, Inactive, STATCHL None",
        "Connection Remote",
        "Messages 0 bytes 0 avg bytes 0",
    ] == rows("QCST", channel="A.B", channel_type=99, disposition=1, channel_status=0, statchl=-1)[:3]


# --- queues and topics -----------------------------------------------------------------------------------------------


def test_a_queue_of_one_interval():
    assert [
        "Queue ORDERS",
        "Page set 4 Buffer pool 2 Flags none",
        "Depth: now 5 high 100 low 1 oldest s 12 queue time uS: short 300 long 400",
        "Handles: input now 1 high 2 low 3 output now 4 high 5 low 6",
        "Last put 2000-10-23 15:00:00.00 UTC",
        "Last get 2000-10-23 15:00:01.00 UTC",
        "Put # 10 bytes 1005 avg bytes 100",
        "Put nonpers # 4 bytes 400 pers # 6 bytes 605",
        "Put1 # 2 bytes 50 avg bytes 25",
        "Get # 3 bytes 100 avg bytes 33",
        "Get nonpers # 1 bytes 30 pers # 2 bytes 70",
        "Browse # 0 bytes 0 avg bytes 0",
        "Sizes: longest 200 shortest 50 average 100",
        "#MQOPEN 1 #MQCLOSE 2 #MQINQ 3 #MQSET 4",
    ] == rows(
        "QQST",
        queue="ORDERS",
        page_set=4,
        buffer_pool=2,
        depth=5,
        depth_high=100,
        depth_low=1,
        oldest_message_age_s=12,
        queue_time_short_us=300,
        queue_time_long_us=400,
        input_handles=1,
        input_handles_high=2,
        input_handles_low=3,
        output_handles=4,
        output_handles_high=5,
        output_handles_low=6,
        last_put_at=utc(15, 0, 0),
        last_get_at=utc(15, 0, 1),
        puts=10,
        put_bytes=1005,
        puts_nonpersistent=4,
        put_bytes_nonpersistent=400,
        puts_persistent=6,
        put_bytes_persistent=605,
        put1s=2,
        put1_bytes=50,
        gets=3,
        get_bytes=100,
        gets_nonpersistent=1,
        get_bytes_nonpersistent=30,
        gets_persistent=2,
        get_bytes_persistent=70,
        message_size_high=200,
        message_size_low=50,
        message_size_average=100,
        opens=1,
        closes=2,
        inquires=3,
        sets=4,
    )


def test_a_shared_queue_names_its_group_and_structure():
    assert "QSG QSGA Structure APP1" in rows("QQST", queue="ORDERS", queue_sharing_group="QSGA", structure="APP1")


def test_topics():
    assert [
        "#MQSUB 10 durable 4 expired 1",
        "Messages put 20 most subscribers 5 no subscriber 2",
        "Publish: longest uS 700 total uS 9000",
    ] == rows(
        "QTST",
        subscribes=10,
        subscribes_durable=4,
        subscriptions_expired=1,
        messages_put=20,
        subscribers_high=5,
        publishes_no_subscriber=2,
        publish_longest=us(700),
        publish_elapsed=us(9000),
    )


# --- rows of MQ1150 that the worked examples leave at zero -----------------------------------------------------------

DB2_VERBS = [
    ("Reads", "reads", "read"),
    ("Writes", "writes", "write"),
    ("Updates", "updates", "update"),
    ("Lists", "lists", "list"),
    ("Deletes", "deletes", "delete"),
    *(
        (f"SCS {verb.capitalize()}s", f"scs_{verb}s", f"scs_{verb}")
        for verb in ("select", "insert", "update", "delete")
    ),
    *((f"SSK {verb.capitalize()}s", f"ssk_{verb}s", f"ssk_{verb}") for verb in ("select", "insert", "delete")),
    *(
        (f"LMS {verb.capitalize()}s", f"lms_{verb}s", f"lms_{verb}")
        for verb in ("select", "insert", "update", "delete", "list")
    ),
]


@pytest.mark.parametrize(("label", "count", "group"), DB2_VERBS)
def test_requests_to_db2_have_a_row_each(label, count, group):
    """4 requests: 10 ms of thread and 6 of server are 2 and 1 each; the longest stand beside them."""
    figures = {
        count: 4,
        f"{group}_thread_elapsed": ms(10),
        f"{group}_thread_longest": ms(5),
        f"{group}_server_elapsed": ms(6),
        f"{group}_server_longest": ms(3),
    }
    row = f"{label} : #: 4 Task avg m/s : 2 Task max m/s : 5 DB2 avg m/s : 1 DB2 max m/s : 3"
    assert [row] == [line for line in rows("Q5ST", **figures) if "avg" in line]


def test_the_storage_manager_in_the_order_of_its_rows():
    names = [
        ("fixed_pools_allocated", "fixed_pools_freed"),
        ("fixed_pool_segments_freed", "fixed_pool_segments_added", "fixed_pools_contracted"),
        ("variable_pools_allocated", "variable_pools_freed"),
        ("variable_pool_segments_freed", "variable_pool_segments_added", "variable_pools_contracted"),
        ("getmains", "freemains", "storage_requests_nonzero_return_code"),
        ("times_short_storage_set", "short_storage_contractions", "abends_lack_storage"),
    ]
    figures = {name: 10 * row + place for row, held in enumerate(names, 1) for place, name in enumerate(held, 1)}
    assert [
        "fix. pools created: 11, Deallocated: 12",
        "fix. segments freed: 21, expanded: 22, contracted 23",
        "var. pools created: 31, Deallocated: 32",
        "var. segments freed: 41, expanded: 42, contracted 43",
        "# Getmains: 51, # Freemains: 52, # non-zero Rcs 53",
        "# SOS bit: 61, # contractions 62, # Abends 63",
    ] == rows("QSST", **figures)


# --- what no row names -----------------------------------------------------------------------------------------------


@record("LATER", size=40)
class Later(Record):
    """A structure of a level that nobody has seen yet."""

    waited: elapsed = at(0, "WAITED", "Time waited")
    spent: micros = at(8, "SPENT", "CPU spent (us)")
    moved: octets = at(12, "MOVED", "Data moved")
    held: octets = at(20, "HELD", "Data held (bytes)")
    depth: gauge = at(28, "DEPTH", "Depth")
    parts: gauge = at(32, "PARTS", "Parts", shape=(2,))


def test_a_figure_that_no_row_names_prints_with_its_unit_once():
    made = Later(waited=us(5), spent=6, moved=7, held=8, depth=9, parts=[1, 0])
    assert [
        f"  {label} {value}"
        for label, value in (
            ("Time waited (us) ".ljust(52, "."), "5"),
            ("CPU spent (us) ".ljust(52, "."), "6"),
            ("Data moved (bytes) ".ljust(52, "."), "7"),
            ("Data held (bytes) ".ljust(52, "."), "8"),
            ("Depth ".ljust(52, "."), "9"),
            ("Parts ".ljust(52, "."), "1 0"),
        )
    ] == list(Form("").lines(made, View()))
    assert [] == list(Form("").lines(Later(), View()))  # zeros say nothing (P4)


def test_rows_without_a_lead_are_indented_and_numbered_ones_begin_with_their_place():
    row_of_depth = (row(figure("Depth", "depth", 3)),)
    made = Later(depth=5)
    assert ["  Depth   5"] == list(Form("", row_of_depth).lines(made, View()))
    assert ["  01 Depth   5"] == list(Form("", row_of_depth, numbered=True).lines(made, View()))
    assert ["  12 Depth   5"] == list(Form("", row_of_depth, numbered=True).lines(made, View(), 12))
    assert ["==Depth   5"] == list(Form("", row_of_depth, indent="==").lines(made, View()))
    led = Form("", row_of_depth, lead=two_digits("", "depth"))
    assert ["  05 Depth   5"] == list(led.lines(made, View()))


def test_a_row_is_left_out_when_sparse_and_zero_or_absent_altogether():
    full, sparse = row(figure("Depth", "depth", 0)), row(figure("Depth", "depth", 0), sparse=True)
    absent = Later()
    absent.depth = None
    shown = [(full.shows(made), sparse.shows(made)) for made in (Later(depth=1), Later(), absent)]
    assert [(True, True), (True, False), (False, False)] == shown
