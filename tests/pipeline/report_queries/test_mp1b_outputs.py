"""The outputs of MP1B's sample program on the rows that the paper prints (O1 to O8)."""

from datetime import datetime

import pytest

from pipeline.report_queries.given_rows import HEAD, columns, frame, printed, tables, words

TASK = f"{HEAD}, task_connection_type int, " + columns(
    "string", "task_connection_name task_channel task_channel_connection"
)
WTAS = (
    f"{TASK}, "
    + columns("long", "commits backouts others db2_requests cf_single_calls cf_single_redrives cf_multiple_calls")
    + ", cf_multiple_redrives long, "
    + columns(
        "double", "commit_elapsed_us commit_cpu_us backout_elapsed_us backout_cpu_us other_elapsed_us other_cpu_us"
    )
    + ", "
    + columns("double", "db2_thread_elapsed_us db2_server_elapsed_us db2_thread_longest_us db2_server_longest_us")
    + ", cf_single_elapsed_us double, cf_multiple_elapsed_us double"
)
VERBS = {
    "open": "opens",
    "close": "closes",
    "get": "gets",
    "put": "puts",
    "put1": "put1s",
    "inq": "inquires",
    "set": "sets",
}
WQST = (
    f"{TASK}, base_name string, "
    + columns("long", *VERBS.values(), "valid_puts put_bytes put_size_high put_size_low valid_gets get_bytes")
    + ", get_size_high long, get_size_low long, valid_destructive_gets long, "
    + columns("double", *(f"{verb}_elapsed_us {verb}_cpu_us" for verb in VERBS))
    + ", "
    + columns("double", *(f"{verb}_log_write_elapsed_us" for verb in ("get", "put", "put1", "set")))
    + ", "
    + columns("double", *(f"{verb}_page_set_elapsed_us" for verb in ("get", "put", "put1")))
    + ", on_queue_longest_us double, on_queue_shortest_us double, on_queue_elapsed_us double"
)


def call(verb, number, elapsed_us, cpu_us):
    """The three columns of a verb, from its number and averages."""
    plural = {**VERBS, "commit": "commits", "other": "others"}[verb]
    return {plural: number, f"{verb}_elapsed_us": number * elapsed_us, f"{verb}_cpu_us": number * cpu_us}


def queue(record, job, name, *calls, **more):
    made = {"record_id": record, "task_connection_name": job, "base_name": name, "valid_destructive_gets": None, **more}
    for each in calls:
        made.update(call(*each))
    return made


def task(record, job, *calls, **more):
    made = {"record_id": record, "task_connection_name": job, **more}
    for each in calls:
        made.update(call(*each))
    return made


CHANNEL_TASKS = [task(1, "V52FCHIN", ("commit", 5872, 4358, 49), ("other", 6, 63, 62))]
CHANNEL_QUEUES = [
    queue(1, "V52FCHIN", "SERVER", ("open", 1, 103, 102), ("put", 5872, 155, 150)),
    queue(1, "V52FCHIN", "SYSTEM.ADMIN.CHANNEL.EVENT", ("put1", 1, 3254, 262)),
    queue(
        1, "V52FCHIN", "SYSTEM.CHANNEL.SYNCQ",
        ("open", 2, 71, 70), ("close", 1, 28, 27), ("put", 5872, 117, 109), ("get", 5874, 94, 92),
    ),
]  # fmt: skip
# STATS prints averages cut to whole microseconds; what was cut makes the 3 ms between its rows and SUMMARY's 3329.
BATCH_TASKS = [task(2, "PAICE4P", ("commit", 2000, 2143, 28))]
BATCH_QUEUES = [
    queue(
        2, "PAICE4P", "CPV521", ("open", 1000, 70.3, 68), ("close", 1000, 26.9, 25), ("get", 2000, 1431, 93),
        get_log_write_elapsed_us=2_535_000,
    ),
    queue(2, "PAICE4P", "V52F", ("open", 1000, 195.3, 187), ("close", 1000, 19.9, 19), ("put", 1000, 154.6, 149)),
]  # fmt: skip


@pytest.mark.oracle("mp1b/42", kind="parser", lines="3148-3166")
def test_stats(spark):
    provider = tables(
        WTAS=frame(spark, WTAS, CHANNEL_TASKS + BATCH_TASKS), WQST=frame(spark, WQST, CHANNEL_QUEUES + BATCH_QUEUES)
    )
    assert words(
        "V52FCHIN _ Commit 5872 4358 49",
        "V52FCHIN _ Other 6 63 62",
        "V52FCHIN SERVER Open 1 103 102",
        "V52FCHIN SERVER Put 5872 155 150",
        "V52FCHIN SYSTEM.ADMIN.CHANNEL.EVENT Put1 1 3254 262",
        "V52FCHIN SYSTEM.CHANNEL.SYNCQ Open 2 71 70",
        "V52FCHIN SYSTEM.CHANNEL.SYNCQ Close 1 28 27",
        "V52FCHIN SYSTEM.CHANNEL.SYNCQ Put 5872 117 109",
        "V52FCHIN SYSTEM.CHANNEL.SYNCQ Get 5874 94 92",
        "PAICE4P _ Commit 2000 2143 28",
        "PAICE4P CPV521 Open 1000 70 68",
        "PAICE4P CPV521 Close 1000 26 25",
        "PAICE4P CPV521 Get 2000 1431 93",
        "PAICE4P V52F Open 1000 195 187",
        "PAICE4P V52F Close 1000 19 19",
        "PAICE4P V52F Put 1000 154 149",
    ) == printed("stats", provider)


@pytest.mark.oracle("mp1b/41", kind="exact", lines="3100-3142")
def test_summary(spark):
    """Percentages of the whole are cut; what is neither CPU nor log nor page set is other."""
    provider = tables(WQST=frame(spark, WQST, BATCH_QUEUES))
    assert words("PAICE4P 3329 7 1 85 4 0 0 0 19 76 0 5") == printed("summary", provider)


def test_a_queue_that_was_only_open_spent_no_time_on_anything(spark):
    """O10: of nothing, nothing is other."""
    idle = [{"task_connection_name": "IDLE", "record_id": 1}]
    assert words("IDLE 0 0 0 0 0 0 0 0 0 0 0 0") == printed("summary", tables(WQST=frame(spark, WQST, idle)))


def test_the_records_of_a_job_together(spark):
    """With grain=job two records are one row; percentages and averages come from the totals (O2)."""
    again = [{**each, "record_id": 3} for each in BATCH_QUEUES]
    provider = tables(WQST=frame(spark, WQST, BATCH_QUEUES + again), WTAS=frame(spark, WTAS, BATCH_TASKS))
    assert words("PAICE4P 6658 7 1 85 4 0 0 0 19 76 0 5") == printed("summary", provider, grain="job")
    assert 2 == len(printed("summary", provider))
    assert words("PAICE4P CPV521 Get 4000 1431 93") == [
        row for row in printed("stats", provider, grain="job", queue="CPV5*") if row[2] == "Get"
    ]


@pytest.mark.oracle("mp1b/43", kind="exact", lines="3188-3192")
def test_put(spark):
    rows = [
        ("V52FCHIN", "SERVER", 5872, 5872, 0, 5872000, 1000, 1000),
        ("V52FCHIN", "SYSTEM.ADMIN.CHANNEL.EVENT", 1, 0, 1, 124, 124, 124),
        ("V52FCHIN", "SYSTEM.CHANNEL.SYNCQ", 5872, 5872, 0, 2513216, 428, 428),
        ("V52F", "NEVER.PUT", 0, 0, 0, 0, 0, 0x0FFFFFFF),
        ("PAICE4P", "V52F", 1000, 1000, 0, 1000000, 1000, 1000),
    ]
    names = (
        "task_connection_name",
        "base_name",
        "valid_puts",
        "puts",
        "put1s",
        "put_bytes",
        "put_size_high",
        "put_size_low",
    )
    given = [dict(zip(names, row, strict=True), record_id=number) for number, row in enumerate(rows)]
    shown = [tuple(map(str, row)) for row in rows if row[1] != "NEVER.PUT"]
    assert shown == printed("put", tables(WQST=frame(spark, WQST, given)))


@pytest.mark.oracle("mp1b/44", kind="exact", lines="3222-3231")
def test_get(spark):
    """Bytes as printed; an average below the minimum is none, where the program printed 4.2E+08 and 8.2E+08 (O5)."""
    lines = [
        "V52FCHIN SYSTEM.CHANNEL.SYNCQ 5874 5873 2513644 428 428 8.6E+09 3.2E+04 1.5E+06",
        "V52FCHIN SYSTEM.CHANNEL.SYNCQ 11743 11741 5166052 452 428 1.1E+06 9.3E+03 2.7E+04",
        "V52FCHIN V521 17616 11744 8385216 1428 0 1.7E+04 2.7E+03 4.0E+03",
        "V52FCHIN SYSTEM.CHANNEL.SYNCQ 6 3 1284 428 428 1.3E+09 1.3E+09 4.2E+08",
        "V52FCHIN SYSTEM.CLUSTER.TRANSMIT.QUEUE 17 16 34008 2764 780 0.0E+00 0.0E+00 0.0E+00",
        "V52FCHIN SYSTEM.CHANNEL.SYNCQ 6 3 1284 428 428 1.3E+09 1.3E+09 8.2E+08",
        "V52FCHIN SYSTEM.CLUSTER.TRANSMIT.QUEUE 3 2 5528 2764 2764 0.0E+00 0.0E+00 0.0E+00",
        "V52FCHIN SYSTEM.CHANNEL.SYNCQ 2 1 428 428 428 8.6E+09 3.1E+04 1.7E+05",
        "PAICE4P CPV521 2000 2000 1000000 1000 0 2.1E+05 6.5E+03 4.1E+04",
    ]
    given = []
    for number, row in enumerate(words(*lines)):
        job, name, gets, valid, size, high, low, longest, shortest, mean = row
        given.append(
            queue(
                number, job, name, gets=int(gets), valid_gets=int(valid), get_bytes=int(size), get_size_high=int(high),
                get_size_low=int(low), on_queue_longest_us=float(longest), on_queue_shortest_us=float(shortest),
                on_queue_elapsed_us=float(mean) * int(valid),
            )
        )  # fmt: skip
    expected = words(*lines)
    for place in (3, 5):
        expected[place] = (*expected[place][:-1], "-")
    assert expected == printed("get", tables(WQST=frame(spark, WQST, given)))


ON_QUEUE = ("on_queue_longest_us", "on_queue_shortest_us", "on_queue_elapsed_us")


def test_time_on_queue_divides_by_destructive_gets_where_they_are_counted(spark):
    """Three valid gets, two of them browses: the mean is the one destructive get's (O5)."""
    row = queue(
        1, "V52FCHIN", "SYSTEM.CHANNEL.SYNCQ", gets=6, valid_gets=3, valid_destructive_gets=1,
        on_queue_longest_us=1.3e9, on_queue_shortest_us=1.3e9, on_queue_elapsed_us=1.3e9,
    )  # fmt: skip
    assert "1.3E+09" == printed("get", tables(WQST=frame(spark, WQST, [row])))[0][-1]
    browsed = {**row, "valid_destructive_gets": 0, **dict.fromkeys(set(row) & set(ON_QUEUE), 0.0)}
    assert ["-", "-"] == list(printed("get", tables(WQST=frame(spark, WQST, [browsed])))[0][-2:])
    both = printed("get", tables(WQST=frame(spark, WQST, [row, browsed])), grain="job")
    assert ["1.3E+09", "1.3E+09", "1.3E+09"] == list(both[0][-3:])


@pytest.mark.oracle("mp1b/45", kind="parser", lines="3265-3267")
@pytest.mark.oracle("mp1b/46", kind="parser", lines="3291-3293")
@pytest.mark.oracle("mp1b/51", kind="parser", lines="3382-3395")
def test_db2_cf_and_threads(spark):
    """Requests to Db2, requests to the coupling facility, and who was connected, from one table of tasks."""

    def db2(record, mean_t, mean_s, most_t, most_s):
        return task(
            record, "V521CHIN", db2_requests=5, db2_thread_elapsed_us=5 * mean_t, db2_server_elapsed_us=5 * mean_s,
            db2_thread_longest_us=most_t, db2_server_longest_us=most_s, task_connection_type=6,
        )  # fmt: skip

    def cf(record, job, singles, single_us, multiples, multiple_us, **more):
        return task(
            record, job, cf_single_calls=singles, cf_single_elapsed_us=singles * single_us, cf_multiple_calls=multiples,
            cf_multiple_elapsed_us=multiples * multiple_us, **more,
        )  # fmt: skip

    channel = {"task_channel": "TO.V52G", "task_channel_connection": "WINMVS2A(2163)", "task_connection_type": 6}
    rows = [
        db2(1, 3179, 3083, 3344, 3241),
        db2(2, 3366, 3260, 3571, 3462),
        cf(3, "V520CHIN", 32, 51, 16, 288, **channel),
        cf(4, "V5201", 4667, 43, 1333, 55, task_connection_type=7),
        task(5, "V52F", task_connection_type=3),
    ]
    provider = tables(WTAS=frame(spark, WTAS, rows))
    assert words("V521CHIN 5 3179 3083 3344 3241", "V521CHIN 5 3366 3260 3571 3462") == printed("db2", provider)
    assert words("V520CHIN 32 0 51 16 0 288", "V5201 4667 0 43 1333 0 55") == printed("cf", provider)
    assert [
        ("V520CHIN", "Channel", "TO.V52G", "WINMVS2A(2163)"),
        ("V5201", "RRS", "", ""),
        ("V52F", "IMS Control", "", ""),
    ] == printed("thread", provider)[2:]
    assert words("V521CHIN Channel _ _") == printed("thread", provider, grain="job", job="V521*")


STRUCTURE = (
    "structure:string,structure_number:bigint,single_calls:bigint,multiple_calls:bigint,single_elapsed_us:double,"
    "multiple_elapsed_us:double,single_redrives:bigint,multiple_redrives:bigint,structure_full:bigint"
)


@pytest.mark.oracle("mp1b/47", kind="parser", lines="3315-3319")
def test_scf(spark):
    def interval(hour, admin, admin_us, singles, single_us, multiples):
        used = [
            ("CSQ_ADMIN", 0, admin, 0, float(admin * admin_us), 0.0, 0, 0, 0),
            ("APPLICATION1", 1, singles, multiples, float(singles * single_us), float(multiples * 156), 0, 0, 0),
            ("", 2, 0, 0, 0.0, 0.0, 0, 0, 0),
        ]
        moment = datetime(2000, 10, 19, hour)
        return (moment, moment.date(), hour, "V52D", "MVS1", used)

    rows = [interval(10, 11914, 32, 35082, 44, 17531), interval(11, 74621, 33, 223852, 43, 111937)]
    made = spark.createDataFrame(rows, f"{HEAD}, structures array<struct<{STRUCTURE}>>")
    assert words(
        "2000293 V52D 0 CSQ_ADMIN 11914 32 0 0 0 0 0",
        "2000293 V52D 1 APPLICATION1 35082 44 0 17531 156 0 0",
        "2000293 V52D 0 CSQ_ADMIN 74621 33 0 0 0 0 0",
        "2000293 V52D 1 APPLICATION1 223852 43 0 111937 156 0 0",
    ) == printed("scf", tables(QEST=made))


@pytest.mark.oracle("mp1b/48", kind="parser", lines="3351-3353")
@pytest.mark.oracle("mp1b/49", kind="parser", lines="3359-3363")
def test_mm_and_bm(spark):
    """Calls of the message manager; pools that nobody used have all their buffers and no value of now (F-19)."""
    calls = columns("long", "opens closes gets puts put1s inquires internal_inquires sets")
    rows = [
        {"queue_manager": "V52D", "opens": 42, "gets": 23193, "puts": 5637, "put1s": 11914},
        {"queue_manager": "V52F", "gets": 5},
    ]
    manager = tables(QMST=frame(spark, f"{HEAD}, {calls}", rows))
    assert words("2000293 42 0 23193 5637 11914 0 0 0", "2000293 0 0 5 0 0 0 0 0") == printed("mm", manager)

    counts = "deferred_write_starts synchronous_write_starts steals hash_chain_changes short_on_storage"
    names = columns("long", "buffer_pool buffers stealable_now stealable_low", counts)
    sizes = [(0, 50000), (1, 99000), (2, 99000), (3, 99000)]
    rows = [{"queue_manager": "V52D", "buffer_pool": n, "buffers": size, "stealable_low": size} for n, size in sizes]
    assert words(*(f"2000293 V52D {number} {size} 0 100 0 0 0 0 0" for number, size in sizes)) == printed(
        "bm", tables(QPST=frame(spark, f"{HEAD}, {names}", rows))
    )


@pytest.mark.oracle("mp1b/50", kind="parser", lines="3371-3374")
@pytest.mark.oracle("mp1b/52", kind="parser", lines="3403-3405")
def test_sdb2_and_log(spark):
    moments = [
        (datetime(2000, 11, 3, 0, 30, 0, 400_000), 4),
        (datetime(2000, 11, 3, 1), 1),
        (datetime(2000, 11, 3, 1, 30), 0),
    ]
    rows = [{"queue_manager": "V52G", "local_time": moment, "queue_depth_high": depth} for moment, depth in moments]
    made = frame(spark, f"{HEAD}, queue_depth_high long, deadlocks long", rows)
    assert words(
        "2000308 00:30:00.40 V52G 4 0", "2000308 01:00:00.00 V52G 1 0", "2000308 01:30:00.00 V52G 0 0"
    ) == printed("sdb2", tables(Q5ST=made))

    reads = "reads_from_buffer reads_from_active reads_from_archive reads_delayed_tape_volume reads_delayed_unavailable"
    names = columns("long", "writes_wait writes_nowait writes_force waits_no_buffer", reads)
    names += ", " + columns("long", "checkpoints log_ios cis_written buffers_paged_in")
    busy = {
        "queue_manager": "V52F",
        "writes_nowait": 273944,
        "writes_force": 157,
        "log_ios": 82188,
        "cis_written": 82188,
    }
    rows = [{"queue_manager": "V52D", "local_time": datetime(2000, 10, 19, 13)}, busy]
    assert words(
        "2000293 V52F 0 273944 157 0 0 0 0 0 0 0 82188 82188 0", "2000293 V52D 0 0 0 0 0 0 0 0 0 0 0 0 0"
    ) == printed("log", tables(QJST=frame(spark, f"{HEAD}, {names}", rows)))
