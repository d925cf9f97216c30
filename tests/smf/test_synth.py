"""Synthetic dumps hold together: the same seed gives the same bytes, and every record agrees with every other."""

import io
from dataclasses import replace

import numpy as np
import pytest
from synthetic import Installation, dump_of, installation, thin

from quaestor.smf.blocks import Damage
from quaestor.smf.catalog import CURRENT_LEVEL, LEVELS, SECTIONS, length_at
from quaestor.smf.detection import Framing
from quaestor.smf.framing import DumpReader
from quaestor.smf.records import read_records, tasks
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.synth.generate import with_days
from quaestor.smf.synth.profile_file import at_level, load_profile

VERBS = ("opens", "closes", "gets", "puts", "put1s", "inquires", "sets")
NAMES = {
    "opens": "open",
    "closes": "close",
    "gets": "get",
    "puts": "put",
    "put1s": "put1",
    "inquires": "inq",
    "sets": "set",
}


@pytest.fixture(scope="module")
def clean():
    return installation("clean", days=1)


@pytest.fixture(scope="module")
def troubled():
    """Days with incidents: identities hold in bad intervals too."""
    return installation("incidents", days=2)


@pytest.fixture(scope="module", params=["clean", "troubled"])
def either(request):
    return request.getfixturevalue(request.param)


# --- the same, every time --------------------------------------------------------------------------------------------


def test_same_profile_and_seed_give_the_same_bytes():
    profile = load_profile("small")
    assert dump_of(profile)[0] == dump_of(profile)[0]


def test_another_seed_gives_other_bytes():
    profile = load_profile("small")
    assert dump_of(profile)[0] != dump_of(with_days(profile, seed=99))[0]


def test_a_day_does_not_depend_on_the_days_after_it():
    profile = load_profile("small")
    one, two = dump_of(with_days(profile, 1))[0], dump_of(with_days(profile, 2))[0]
    assert two.startswith(one[:-18])  # all but the end-of-dump record


def test_a_queue_manager_does_not_depend_on_its_neighbours():
    profile = load_profile("small")
    alone = replace(
        profile,
        queue_managers=profile.queue_managers[:1],
        applications=profile.applications_on(profile.queue_managers[0]),
        incidents=(),
    )
    alone = replace(alone, applications=tuple(replace(each, queue_managers=()) for each in alone.applications))
    both = replace(profile, incidents=())

    def of_the_first(dump):
        records = list(DumpReader(io.BytesIO(dump)).blocks())
        return [
            bytes(block.data[at : at + length])
            for block in records
            for at, length in zip(block.offsets.tolist(), block.lengths.tolist(), strict=True)
            if bytes(block.data[at + 18 : at + 22]) == "QM01".encode("cp037")
        ]

    assert of_the_first(dump_of(both)[0]) == of_the_first(dump_of(alone)[0])


@pytest.mark.parametrize(
    "options",
    [
        {"framing": Framing.BDW},
        {"framing": Framing.BDW, "spanned": True, "block_bytes": 27_998},
        {"framing": Framing.STRIPPED},
        {"compress": True},
    ],
    ids=["bdw", "vbs", "stripped", "gzip"],
)
def test_every_framing_holds_the_same_records(options):
    profile = thin(load_profile("small"), 0.1)

    def records_of(dump):
        found = []
        for block in DumpReader(io.BytesIO(dump)).blocks():
            assert [] == block.damages
            places = zip(block.offsets.tolist(), block.lengths.tolist(), strict=True)
            found += [bytes(block.data[at + 4 : at + length]) for at, length in places]
        return sorted(found)

    assert records_of(dump_of(profile)[0]) == records_of(dump_of(profile, **options)[0])


def test_records_come_in_the_order_in_which_they_were_built(clean):
    for structure in ("QMST", "WTAS"):
        assert np.all(np.diff(clean[structure]["utc_time"].astype("datetime64[us]").astype(np.int64)) >= 0)


def test_a_dump_of_a_size_ends_with_a_whole_interval():
    """Sums agree to the end: every interval that has a task has its statistics, and they are the same."""
    profile = load_profile("bench")
    data, made = dump_of(profile, size_bytes=3_000_000)
    assert 3_000_000 <= made.bytes == len(data) < 6_000_000
    read = list(read_records(DumpReader(io.BytesIO(data))))
    puts = {"WQST": 0, "QMST": 0}
    for record in read:
        for structure in puts:
            puts[structure] += sum(each.puts for each in record.sections.get(structure, []))
    assert puts["WQST"] == puts["QMST"] > 0
    assert 1 < sum(record.name == "115-2" for record in read) < 96  # not a whole day of two queue managers


# --- accounting and statistics agree ---------------------------------------------------------------------------------


def test_message_manager_counts_what_the_tasks_did(either):
    """QMST of an interval = the sum of the queue records of all tasks of that interval."""
    assert either.sums("WQST", *VERBS) == either.sums("QMST", *VERBS)


def test_data_manager_counts_the_messages_that_moved(either):
    assert either.sums("WQST", "valid_puts", "valid_gets") == either.sums("QIST", "message_puts", "message_gets")


def test_gets_come_from_the_buffer_pool_or_from_disk(either):
    for gets, disk, buffer in either.sums("QIST", "message_gets", "gets_from_disk", "gets_from_buffer").values():
        assert gets == disk + buffer


def test_queue_statistics_are_the_sum_over_tasks(either):
    counted = either.sums("QQST", "puts", "put1s", "gets", "browses", "opens", "closes", by=["queue"])
    assert counted
    done = either.sums(
        "WQST", "puts", "put1s", "valid_destructive_gets", "valid_gets", "opens", "closes", by=["base_name"]
    )
    refused = either.sums("QQST", "puts_failed", by=["queue"])
    for key, (puts, put1s, gets, browses, opens, closes) in counted.items():
        calls, of_put1, destructive, valid, opened, closed = done.get(key, (0,) * 6)
        assert (calls - refused[key][0], of_put1, destructive, valid - destructive, opened, closed) == (
            puts,
            put1s,
            gets,
            browses,
            opens,
            closes,
        )


def test_page_set_reads_of_tasks_are_those_of_the_pools(either):
    tasks_read = either.sums("WQST", "get_page_set_reads", by=["buffer_pool"])
    pools_read = either.sums("QPST", "page_reads", by=["buffer_pool"])
    for key, read in pools_read.items():
        shared_or_not_used = (0,)
        assert tasks_read.get(key, shared_or_not_used) == read


def test_page_sets_share_what_their_pool_read_and_wrote(either):
    pools = either.sums("QPST", "page_reads", "pages_written", "immediate_writes", by=["buffer_pool"])
    sets = either.sums(
        "QIS1",
        "read_pages",
        "deferred_write_pages",
        "checkpoint_pages",
        "immediate_write_pages",
        by=["buffer_pool"],
    )
    assert sets
    for key, (read, deferred, aged, immediate) in sets.items():
        assert pools[key] == (read, deferred + aged + immediate, immediate)


def test_coupling_facility_calls_of_tasks_are_those_of_the_structures(either):
    figures = ("single_calls", "multiple_calls", "single_redrives", "single_elapsed_us", "multiple_elapsed_us")
    done = either.sums("WTAS", *(f"cf_{figure}" for figure in figures))
    for row in either["QEST"].table.select(["queue_manager", "interval", "structures"]).to_pylist():
        used = [each for each in row["structures"] if each["structure"]]
        counted = tuple(sum(each[figure] for each in used) for figure in figures)
        assert counted == pytest.approx(done[row["queue_manager"], row["interval"]])


def test_db2_reads_include_those_of_the_tasks(either):
    done = either.sums("WTAS", "db2_requests", "db2_server_elapsed_us")
    for key, (reads, served) in either.sums("Q5ST", "reads", "read_server_elapsed_us").items():
        assert reads >= done[key][0]
        assert served >= done[key][1]


def test_log_writes_follow_persistent_work(either):
    """WRNW and LSUS are those of the tasks and a few of the queue manager's own; BFFL holds their bytes."""
    done = either.sums("WTAS", "log_writes", "log_forces", "log_bytes")
    hours = either.profile.interval_minutes / 60
    figures = ("writes_nowait", "suspensions", "buffers_filled")
    for key, (writes, forces, filled) in either.sums("QJST", *figures).items():
        of_tasks = done[key]
        assert 120 * hours == writes - of_tasks[0]
        assert 24 * hours == forces - of_tasks[1]
        assert 0 <= filled * 4096 - of_tasks[2] - 60_000 * hours < 4096


def test_nothing_persistent_logs_nothing(clean):
    queues = clean["WQST"]
    persistent = queues["gets_persistent"] + queues["puts_persistent"] + queues["put1s_persistent"]
    by_task = {}
    for position, number in zip(queues["position"].tolist(), persistent.tolist(), strict=True):
        by_task[position] = by_task.get(position, 0) + number
    task = clean["WTAS"]
    for position, forces, logged in zip(
        *(c.tolist() for c in task.columns("position", "log_forces", "log_bytes")), strict=True
    ):
        assert (by_task[position] > 0) == (forces > 0) == (logged > 0)


def test_channels_moved_what_their_tasks_moved(either):
    """Messages of senders and receivers in QCST = messages of their own queue in WQST."""
    queues = either["WQST"]
    moved = {}
    for name, interval, channel, queue, puts, gets in zip(
        *(
            column.tolist()
            for column in queues.columns(
                "queue_manager", "interval", "task_channel", "base_name", "valid_puts", "valid_gets"
            )
        ),
        strict=True,
    ):
        if channel and queue != "SYSTEM.CHANNEL.SYNCQ":
            moved[name, interval, channel] = moved.get((name, interval, channel), 0) + puts + gets
    channels = either["QCST"].where(either["QCST"]["channel_type"] != 7)
    assert len(channels)
    for name, interval, channel, messages in zip(
        *(c.tolist() for c in channels.columns("queue_manager", "interval", "channel", "messages")), strict=True
    ):
        assert moved[name, interval, channel] == messages


# --- every row for itself --------------------------------------------------------------------------------------------


def test_elapsed_is_cpu_and_waits(either):
    queues = either["WQST"]
    for verb in NAMES.values():
        elapsed, cpu = queues.columns(f"{verb}_elapsed_us", f"{verb}_cpu_us")
        waits = sum(
            np.nan_to_num(queues[f"{verb}_{wait}_elapsed_us"].astype(float))
            for wait in ("log_write", "log_force", "page_set")
            if f"{verb}_{wait}_elapsed_us" in queues.table.column_names
        )
        assert np.all(elapsed + 1e-3 >= cpu + waits), verb
    task = either["WTAS"]
    for verb in ("commit", "backout", "other"):
        assert np.all(task[f"{verb}_elapsed_us"] >= task[f"{verb}_cpu_us"])


def test_time_is_spent_only_by_calls(either):
    queues = either["WQST"]
    for counted, verb in NAMES.items():
        assert np.all((queues[counted] > 0) == (queues[f"{verb}_cpu_us"] > 0)), verb


def test_gets_are_of_one_kind_each(either):
    queues = either["WQST"]
    kinds = sum(queues[kind] for kind in ("browses_any", "browses_specific", "gets_any", "gets_specific", "gets_other"))
    assert np.array_equal(queues["gets"], kinds)
    assert np.all(queues["valid_gets"] <= queues["gets"])
    assert np.all(queues["valid_puts"] <= queues["puts"] + queues["put1s"])


def test_total_use_is_the_sum_of_all_calls(either):
    queues = either["WQST"]
    assert np.array_equal(queues["calls"], sum(queues[verb] for verb in VERBS))


def test_bytes_lie_between_the_extreme_sizes(either):
    queues = either["WQST"]
    for verb in ("get", "put"):
        valid, total = queues.columns(f"valid_{verb}s", f"{verb}_bytes")
        some = valid > 0
        low, high = (queues[f"{verb}_size_{end}"][some].astype(float) for end in ("low", "high"))
        assert np.all(valid[some] * low <= total[some])
        assert np.all(total[some] <= valid[some] * high)
        assert np.all(total[~some] == 0)
        assert np.all(np.isnan(queues[f"{verb}_size_low"][~some].astype(float)))  # MP1B F-7


def test_time_on_queue_fits_its_extremes(either):
    queues = either["WQST"]
    number = queues["valid_destructive_gets"]
    shortest, longest, total = queues.columns("on_queue_shortest_us", "on_queue_longest_us", "on_queue_elapsed_us")
    assert np.all(number * shortest <= total + 1)
    assert np.all(total <= number * longest + 1)
    one = number == 1
    assert np.array_equal(shortest[one], longest[one])


def lives(installation):
    """Begin and end of every task, in microseconds."""
    names = ("wtas_interval_start", "interval_end")
    return [installation["WTAS"][name].astype("datetime64[us]").astype(np.int64) for name in names]


def test_tasks_lie_inside_their_interval(either):
    start, end = lives(either)
    length = either.profile.interval_us
    assert np.all(end > start)
    assert np.array_equal(start // length, (end - 1) // length)  # zones are whole intervals here


def test_a_task_does_not_work_longer_than_it_lives(either):
    queues, task = either["WQST"], either["WTAS"]
    spent = sum(queues[f"{verb}_elapsed_us"] for verb in NAMES.values())
    by_task = {}
    for position, number in zip(queues["position"].tolist(), spent.tolist(), strict=True):
        by_task[position] = by_task.get(position, 0) + number
    own = sum(task[f"{verb}_elapsed_us"] for verb in ("commit", "backout", "other"))
    start, end = lives(either)
    short = task["flag_bits"] == 0x20000000
    total = np.array([by_task[position] for position in task["position"].tolist()]) + own
    assert np.all(total[short] <= (end - start)[short] + 1)


def test_correlators_tie_queues_to_their_task():
    records = read_records(DumpReader(io.BytesIO(dump_of(thin(load_profile("small"), 0.1))[0])))
    found = [task for task in tasks(records) if task.queues]
    assert found
    for task in found:
        correlator = task.accounting.allocated_at.to_bytes(8, "big")
        correlator += task.accounting.correlator_2.to_bytes(4, "big") + task.accounting.correlator_3.to_bytes(4, "big")
        assert {correlator} == {queue.correlator for queue in task.queues}
        assert len(task.queues) == task.accounting.queue_blocks


def test_no_two_tasks_of_an_interval_share_a_correlator(either):
    queues = either["WQST"]
    named = set(zip(*(c.tolist() for c in queues.columns("queue_manager", "correlator", "position")), strict=True))
    assert len(named) == len({(name, position) for name, _, position in named})
    per_interval = set(
        zip(*(c.tolist() for c in queues.columns("queue_manager", "interval", "correlator", "position")), strict=True)
    )
    assert len({each[:3] for each in per_interval}) == len(per_interval)


# --- identities of the papers ----------------------------------------------------------------------------------------


def test_log_identities(either):
    """MP1B F-42 and F-43: CIWR = copies x BFFL + SERW, BFWR = LSUS + THRW."""
    log = either["QJST"]
    assert np.array_equal(log["cis_written"], 2 * log["buffers_filled"] + log["serial_rewrites"])
    assert np.array_equal(log["logger_calls"], log["suspensions"] + log["threshold_writes"])
    assert np.all(log["writes_wait"] == 0)  # F-21
    assert np.all(log["serial_rewrites"] <= 2 * log["suspensions"])


def test_log_io_figures_add_up(either):
    for row in either["QJST"].table.select(["copies", "log_ios", "cis_written"]).to_pylist():
        kinds = [kind for copy in row["copies"] for kind in copy["kinds"]]
        assert row["log_ios"] == sum(kind["ios"] for kind in kinds)
        assert row["cis_written"] == sum(kind["cis"] for kind in kinds)
        for kind in kinds:
            assert kind["io_elapsed_us"] <= kind["suspended_us"]
            assert kind["longest_io_us"] * max(1, kind["ios"]) >= kind["io_elapsed_us"]


def test_buffer_pool_identities(either):
    """STL = RIO + steals for new pages; whole I/Os of 16 pages but for synchronous writes; DMC <= IMW <= WIO."""
    pool = either["QPST"]
    low, now, buffers = pool.columns("stealable_low", "stealable_now", "buffers")
    assert np.all((low <= now) & (now <= buffers))
    assert np.all(pool["page_reads"] <= pool["steals"])
    assert np.all(pool["steals"] <= pool["page_reads"] + pool["get_new_page"])
    written, ios, immediate = pool.columns("pages_written", "write_ios", "immediate_writes")
    assert np.array_equal(written, 16 * (ios - immediate) + immediate)
    assert np.all(pool["synchronous_write_starts"] <= immediate)


def test_pages_of_a_pool_follow_its_messages(clean):
    """One message to a page: 4 set writes per page put and one per page got (MP1B ORACLE 18, F-38)."""
    done = clean.sums("WTAS", "pages_got_old", "pages_got_new")
    pools = clean.sums("QPST", "get_page", "get_new_page")
    for key, (old, new) in done.items():
        assert pools[key][1] == new
        assert pools[key][0] >= old


def test_v52_packs_two_short_messages_to_a_page():
    def new_pages(level):
        dump, _ = dump_of(at_level(thin(load_profile("small"), 0.2), level))
        records = read_records(DumpReader(io.BytesIO(dump)))
        return sum(task.pages_got_new for record in records for task in record.sections.get("WTAS", []))

    assert new_pages("5.2") < 0.8 * new_pages("8.0")


def test_db2_lists_every_five_seconds(either):
    """MP1B M-9 and M-10: 720 lists an hour, one server task more than asked for."""
    db2 = either["Q5ST"].where(either["Q5ST"]["tasks"] > 0)
    assert {either.profile.interval_minutes * 12} == set(db2["lists"].tolist())
    assert np.array_equal(db2["tasks"] + 1, db2["tasks_active"])


def test_db2_thread_time_is_server_time_and_more(either):
    db2 = either["Q5ST"].where(either["Q5ST"]["tasks"] > 0)
    for verb in ("delete", "list", "read", "update", "write", "scs_select", "scs_update", "ssk_select"):
        thread, server = db2.columns(f"{verb}_thread_elapsed_us", f"{verb}_server_elapsed_us")
        assert np.all(thread >= server)
        longest = db2[f"{verb}_server_longest_us"]
        assert np.all(longest <= server + 1e-3)
        assert np.all(longest * np.maximum(1, db2[f"{verb}s"]) + db2[f"{verb}s"] >= server)


def test_channel_initiator_tasks_fill_the_interval(either):
    for structure in ("QCT_DSP", "QCT_ADP", "QCT_SSL", "QCT_DNS"):
        task = either[structure]
        assert np.allclose(task["request_elapsed_us"] + task["wait_elapsed_us"], either.profile.interval_us)
        assert np.all(task["cpu_us"] <= task["request_elapsed_us"])
        assert np.all((task["requests"] > 0) | (task["request_elapsed_us"] == 0))


def test_old_accounting_agrees_with_the_new(clean):
    """116-0 and 116-1 of the same task: bands add up to the valid puts and gets, CPU to the verbs and the commit."""
    old, queues, task = clean["QMAC"], clean["WQST"], clean["WTAS"]
    bands = ("0_99", "100_999", "1000_9999", "10000_up")
    short = {
        position
        for position, flag, name in zip(
            *(c.tolist() for c in task.columns("position", "flag_bits", "queue_manager")), strict=True
        )
        if flag == 0x20000000 and name == "QM01"
    }
    mine = queues.where(np.isin(queues["position"], list(short)))
    assert len(old) == len(short)
    assert sum(old[f"puts_{band}"].sum() for band in bands) == mine["valid_puts"].sum()
    assert sum(old[f"gets_{band}"].sum() for band in bands) == mine["valid_gets"].sum()
    tasks_of = task.where(np.isin(task["position"], list(short)))
    cpu = sum(mine[f"{verb}_cpu_us"].sum() for verb in NAMES.values())
    cpu += tasks_of["commit_cpu_us"].sum() + tasks_of["backout_cpu_us"].sum()
    assert cpu == pytest.approx(old["cpu_us"].sum())


# --- rhythm ----------------------------------------------------------------------------------------------------------


def test_nights_and_weekends_are_quiet_and_weeks_grow():
    profile = load_profile("month")
    month = Installation(replace(profile, applications=profile.applications[1:2], incidents=()))
    puts = {}
    for (name, interval), (number,) in month.sums("QMST", "puts").items():
        puts[name, interval] = number
    by_day = [sum(puts["PRD1", 24 * day + hour] for hour in range(24)) for day in range(28)]
    assert by_day[5] < 0.5 * by_day[0]  # Saturday against Monday
    assert puts["PRD1", 3] < 0.2 * puts["PRD1", 9]  # 03:00 against 09:00
    weeks = [sum(by_day[7 * week : 7 * week + 7]) for week in range(4)]
    assert 1.05 < weeks[3] / weeks[0] < 1.14  # three weeks of 3 % are 9.3 %


# --- levels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_is_written_and_read(level):
    profile = at_level(thin(load_profile("small"), 0.05), level)
    data, made = dump_of(replace(profile, interval_minutes=240))
    read = list(read_records(DumpReader(io.BytesIO(data))))
    assert [] == [each for each in read if isinstance(each, Damage)]
    assert made.records == len(read)
    known = {name for name, section in SECTIONS.items() if length_at(section, level)}
    found = {name for record in read for name in record.sections}
    assert found <= known
    expected = {"QMST", "QJST", "QPST", "QEST", "WTID", "WTAS", "WQST"}
    assert expected <= found
    for structure, since in (("QTST", "7.0"), ("QCST", "8.0"), ("QIS1", "9.0"), ("QQST", "9.3.0"), ("QSRS", "10.0.0")):
        assert (structure in found) == (LEVELS.index(level) >= LEVELS.index(since)), structure
    puts = {"WQST": 0, "QMST": 0}
    for record in read:
        for structure in puts:
            puts[structure] += sum(each.puts for each in record.sections.get(structure, []))
    assert puts["WQST"] == puts["QMST"] > 0
    lengths = {each.length for record in read for each in record.sections.get("WQST", [])}
    assert {length_at(QueueAccounting, level)} == lengths


def test_bench_holds_every_structure_at_the_current_level_and_v8():
    bench = installation("bench", days=1)
    assert {"QSST", "QJST", "QMST", "QIST", "QPST", "QLST", "Q5ST", "QEST", "QTST", "QESD", "QIS1", "QQST", "QSPH",
            "QSGM", "QSRS", "QCCT", "QCT_DSP", "QCT_ADP", "QCT_SSL", "QCT_DNS", "QCST", "QWAC", "QMAC", "WTID",
            "WTAS", "WQST"} == set(bench.tables)  # fmt: skip
    releases = {release for _, release in bench.inventory if release}
    assert {"8.0.0", CURRENT_LEVEL} == releases
    assert any(name == "116-2" for name, _ in bench.inventory)
