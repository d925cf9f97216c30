"""Laws that the formulas keep whatever the figures: more load never needs less, inverses meet, units scale.

One line for a law: the formula, the argument that grows, its range, what else it is given, and which way the result
goes.  Hypothesis draws two values of the argument; a law that a single pair breaks is no law.
"""

from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.planner import (
    backup,
    batches,
    dasd,
    hardware,
    log_space,
    logload,
    logs,
    page_sets,
    restart,
    structure_backup,
    structures,
    throughput,
)
from quaestor.planner.answers import plan
from quaestor.planner.log_ranges import LogRange
from quaestor.planner.log_space import Action, QueueKind
from quaestor.planner.quantity import GIB, KIB, MIB, duration_s, rate_per_s, show_bytes, size_bytes
from quaestor.planner.whatif import Change, changed
from quaestor.planner.workload_file import load_workload

UP, DOWN = 1, -1
MONOTONE = [
    # formula, argument, least, most, the others, direction
    ("logs.fill_time_s", "log_rate_bytes_per_s", 1.0, 1e9, {"log_bytes": 4 * GIB}, DOWN),
    ("logs.fill_time_s", "log_bytes", 1.0, 4.0 * GIB, {"log_rate_bytes_per_s": 1e6}, UP),
    ("logs.log_bytes_for_period", "log_rate_bytes_per_s", 0.0, 1e9, {}, UP),
    ("logs.longest_unit_of_work_s", "peak_log_rate_bytes_per_s", 1.0, 1e9, {"log_bytes": GIB}, DOWN),
    ("logs.highest_rate_for_30_minutes_bytes_per_s", "log_bytes", MIB, 4 * GIB, {}, UP),
    ("log_space.structure_backup_bytes", "depth", 0, 10**7, {"message_bytes": 1000}, UP),
    ("log_space.time_to_rba_reset_s", "log_rate_bytes_per_s", 1.0, 1e9, {"rba_bytes": 8}, DOWN),
    ("backup.copy_time_s", "page_set_bytes", 0, 64 * GIB, {}, UP),
    ("backup.active_log_hours", "log_write_rate_bytes_per_h", 1.0, 1e12, {"active_log_bytes_total": 1e10}, DOWN),
    ("backup.recovery_time_s", "restore_s", 0.0, 1e5, {"reaction_s": 60.0, "restart_s": 60.0}, UP),
    ("page_sets.pages_per_message", "message_bytes", 0, 100 * MIB, {}, UP),
    ("page_sets.pages_for_backlog", "messages", 0, 10**7, {"message_bytes": 5000}, UP),
    ("page_sets.messages_that_fit", "page_set_bytes", MIB, 64 * GIB, {"message_bytes": 5000}, UP),
    ("page_sets.messages_that_fit", "message_bytes", 0, 4 * MIB, {"page_set_bytes": 4 * GIB}, DOWN),
    ("buffer_pools.object_pages_crude", "objects", 0, 10**6, {}, UP),
    ("buffer_pools.queue_object_pages", "queues", 0, 10**6, {}, UP),
    ("buffer_flow.buffers_that_keep_messages", "peak_pages", 0, 10**7, {}, UP),
    ("restart.read_time_s", "log_bytes", 0.0, 1e12, {}, UP),
    ("restart.page_read_rate_bytes_per_s", "page_read_us", 1.0, 1e6, {}, DOWN),
    ("restart.state_cpu_s", "log_bytes", 0.0, 1e12, {}, UP),
    ("logload.transactions_between_checkpoints", "logload", 200, 16_000_000, {"log_writes_per_transaction": 31}, UP),
    ("logload.restart_s_max", "logload", 200, 16_000_000, {"log_writes_per_transaction": 31}, UP),
    ("logload.recovery_s_by_objects", "objects", 140, 14_484, {}, UP),
    ("deferred_write.burst_s", "data_bytes", 0.0, 1e12, {"write_rate_bytes_per_s": 1e8}, UP),
    ("storage_use.cluster_cache_bytes", "configuration_bytes", 0.0, 1e8, {}, UP),
    ("storage_use.handle_bytes", "applications", 0, 10**5, {"queues_open_each": 3}, UP),
    ("storage_use.group_common_bytes", "structures", 1, 60, {}, UP),
    ("security_costs.security_bytes", "users", 0, 10**6, {}, UP),
    ("structures.elements_per_message", "message_bytes", 0, 63 * KIB, {}, UP),
    ("structures.stored_bytes", "message_bytes", 0, 63 * KIB, {}, UP),
    ("structure_backup.log_mb_per_s", "messages_per_s", 0.0, 1e5, {"message_kb": 2.0}, UP),
    ("structure_backup.log_readable_mb", "budget_min", 0.0, 1e4, {}, UP),
    ("shared_access.redrives_to_drain", "messages_with_key", 0, 10**5, {}, UP),
    ("shared_gets.buffer_class_bytes", "message_bytes", 0.0, 63.0 * KIB, {}, UP),
    ("offload.smds_bytes_needed", "offloaded_messages", 0, 10**6, {"message_bytes": 100_000}, UP),
    ("storage_class_memory.messages_in_scm", "scm_bytes", MIB, 1024 * GIB, {"message_bytes": 2048}, UP),
    ("channels.mca_footprint_kb", "message_kb", 1.0, 1024.0, {}, UP),
    ("channels.channels_max", "footprint_kb", 1.0, 1e6, {}, DOWN),
    ("channel_tls.renegotiations_per_s", "bytes_per_s", 0.0, 1e9, {"sslrkeyc_bytes": 10**6}, UP),
    ("batches.batches_per_s", "achieved", 1.0, 9999.0, {"messages_per_s": 1000.0}, DOWN),
    ("queues.cf_busy_percent", "messages_per_sec", 0.0, 1e5, {"cf_us_per_message": 20.0, "cf_engines": 2}, UP),
    ("queues.cf_engines_needed", "messages_per_sec", 0.0, 1e5, {"cf_us_per_message": 20.0}, UP),
    ("dasd.required_log_mb_per_sec", "message_rate_per_sec", 0.0, 1e6, {"log_bytes_per_message": 2300.0}, UP),
    ("dasd.messages_per_sec", "log_bytes_per_message", 1.0, 1e7, {"log_mb_per_sec": 32.1}, DOWN),
    ("throughput.instance_units_per_s_max", "log_write_s", 1e-5, 1.0, {"forces_per_unit": 1}, DOWN),
    ("throughput.unit_of_work_log_bytes", "messages", 1, 10**5, {"user_bytes": 1000}, UP),
    ("ims_bridge.regions_needed", "rate_per_sec", 0.0, 1e4, {"region_us": 25_000.0}, UP),
    ("ims_bridge.tpipes_needed", "rate_per_sec", 0.0, 1e5, {"bridge_task_rate_per_sec": 2000.0}, UP),
    ("tiers.two_tier_storage_kb", "clients", 0, 10**5, {}, UP),
    ("tracing.smf_116_records", "queues", 0, 1000, {}, UP),
    ("applications.failed_get_ms", "uncommitted_messages", 0, 10**6, {}, UP),
    ("applications.get_with_waiters_us", "waiters", 0, 10**5, {"get_us": 40.0}, UP),
    ("hardware.cpu_busy_percent", "cost_ms_per_sec", 0.0, 1e5, {"processors": 3}, UP),
    ("utilities.maxumsgs_for_one_unit_of_work", "queue_depths", 1, 10**6, {}, UP),
]


def formula(name):
    module, _, function = name.partition(".")
    return getattr(import_module(f"quaestor.planner.{module}"), function)


@pytest.mark.parametrize("law", MONOTONE, ids=lambda law: f"{law[0]}-{law[1]}")
@settings(max_examples=25)
@given(data=st.data())
def test_more_of_it_never_turns_the_result_round(law, data):
    name, argument, least, most, others, direction = law
    drawn = st.integers(least, most) if isinstance(least, int) else st.floats(least, most)
    low, high = sorted((data.draw(drawn), data.draw(drawn)))

    def result(value):
        given_value = (value,) if argument == "queue_depths" else value
        return formula(name)(**{argument: given_value}, **others)

    before, after = (result(value) for value in (low, high))
    least_first = (before, after) if direction == UP else (after, before)
    assert least_first[0] <= least_first[1] * (1 + 1e-12), (low, before, high, after)


# --- inverses ---------------------------------------------------------------------------------------------------------


@given(st.floats(1e3, 4e8))
def test_a_log_sized_for_30_minutes_lasts_30_minutes(rate):
    size = logs.log_bytes_for_period(rate)
    assert 1800 <= logs.fill_time_s(size, rate) < 1800 + 1.001 / rate + 1e-6


@given(st.integers(MIB, 4 * GIB))
def test_the_highest_rate_for_30_minutes_fills_the_log_in_30_minutes(size):
    assert 1800 == pytest.approx(logs.fill_time_s(size, logs.highest_rate_for_30_minutes_bytes_per_s(size)))


@given(st.floats(60, 3600), st.floats(10, 60))
def test_a_logload_for_a_restart_time_keeps_it(limit, writes):
    logload_found = logload.logload_for_restart(limit, writes)
    assert logload.restart_s_max(logload_found, writes) <= limit * 1.001


@given(st.floats(0.1, 1e4), st.floats(100, 1e6))
def test_the_rate_a_disk_carries_needs_that_disk(mb_per_s, log_bytes):
    rate = dasd.messages_per_sec(mb_per_s, log_bytes)
    assert mb_per_s == pytest.approx(dasd.required_log_mb_per_sec(rate, log_bytes))


@given(st.integers(0, 10**6), st.integers(0, 60_000))
def test_pages_of_a_backlog_hold_it(messages, size):
    pages = page_sets.pages_for_backlog(messages, size)
    assert pages >= messages * size / 4096 * 0.99 - 1


@given(st.integers(20_000, 400_000), st.integers(1, 30_000), st.sampled_from([14, 17, 22]))
def test_a_structure_sized_for_messages_holds_them(messages, size, level):
    # the size goes by planned bytes a message, the capacity by measured pools: the papers' two ways differ by a tenth
    kb = structures.structure_size_kb([structures.Population(size, messages)], level)
    assert structures.messages_in_structure(kb, size, level) >= 0.85 * messages


@given(st.sampled_from(sorted(hardware.MACHINES)), st.sampled_from(sorted(hardware.MACHINES)), st.floats(1, 1e6))
def test_a_cost_there_and_back_is_the_same(here, there, cost):
    one, other = hardware.machine(here), hardware.machine(there)
    assert cost == pytest.approx(hardware.convert_cost_us(hardware.convert_cost_us(cost, one, other), other, one))


@given(st.floats(0.1, 1e4), st.integers(1, 9999))
def test_batches_carry_every_message(rate, batchsz):
    achieved = batches.achieved_batch_size(rate, batchsz)
    assert 1 <= achieved <= batchsz
    assert rate == pytest.approx(batches.batches_per_s(rate, achieved) * achieved)


@given(st.floats(1, 1e5), st.integers(1, 4), st.floats(1e-4, 0.1))
def test_instances_that_are_needed_carry_the_rate(rate, forces, write_s):
    instances = throughput.instances_needed(rate, forces, write_s)
    each = throughput.instance_units_per_s_max(forces, write_s)
    assert (instances - 1) * each < rate * 1.000001
    assert instances * each >= rate * 0.999999


@given(st.floats(0.01, 50), st.floats(2, 600))
def test_a_backup_interval_keeps_its_budget(log_mb_per_s, budget_min):
    interval = structure_backup.backup_interval_min(log_mb_per_s, budget_min)
    logged = interval * 60 * log_mb_per_s
    assert logged <= structure_backup.log_readable_mb(budget_min) * 1.001 + 60 * log_mb_per_s


@given(st.integers(0, 2**40), st.integers(0, 2**32))
def test_reading_back_takes_longer_than_forward(begin, length):
    stretch = LogRange(begin, begin + length)
    assert restart.backward_s(stretch) >= restart.units_s([stretch])


@given(st.floats(1, 1e7), st.floats(1e3, 1e12))
def test_a_backup_interval_is_restart_time_in_log(allowed_s, written_per_h):
    hours = backup.backup_interval_h(allowed_s, 1e8, written_per_h)
    assert allowed_s * 1e8 == pytest.approx(hours * written_per_h, rel=1e-6)


# --- log bytes --------------------------------------------------------------------------------------------------------


@given(st.integers(0, 4096), st.sampled_from(list(QueueKind)), st.integers(1, 500))
def test_a_commit_shared_by_more_messages_costs_each_less(size, queue, messages):
    def each(count):
        return log_space.log_bytes_per_unit_of_work(size, Action.PUT, queue, count, extrapolate=True) / count

    assert each(messages + 1) <= each(messages) * (1 + 1e-9)
    assert each(messages) >= size


@given(st.integers(0, 100_000), st.sampled_from(list(QueueKind)))
def test_a_put_logs_its_message_and_a_get_does_not(size, queue):
    put, got = (
        log_space.log_bytes_per_unit_of_work(size, action, queue, extrapolate=True)
        for action in (Action.PUT, Action.GET)
    )
    assert put >= size
    assert got < 2_000 + 0.02 * size


# --- units ------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**50))
def test_a_size_that_is_shown_reads_back_to_four_figures(size):
    assert size == pytest.approx(size_bytes(show_bytes(size)), rel=6e-4, abs=1)


@given(st.floats(0.001, 1e6))
def test_a_rate_is_the_same_by_second_minute_and_hour(rate):
    per_s = rate_per_s(f"{rate:.6f}/s")
    assert per_s == pytest.approx(rate_per_s(f"{60 * rate:.6f}/min"), rel=1e-3, abs=1e-6)


@given(st.integers(1, 10**6))
def test_a_duration_is_the_same_in_every_unit(seconds):
    assert seconds == duration_s(f"{seconds} s") == duration_s(f"{seconds * 1000} ms") == duration_s(f"{seconds}s")


# --- a whole plan -----------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(st.floats(1.0, 8.0), st.floats(1.0, 4.0))
def test_more_messages_never_give_a_limit_more_room(times, more):
    workload = load_workload()

    def rooms(factor):
        made = plan(changed(workload, Change(factor)))
        return {(answer.number, answer.about, answer.what, room.what): room.percent for answer, room in made.limits}

    before, after = rooms(times), rooms(times * more)
    defined = {"active logs of a copy", "30 minutes for one active log", "structure APP1", "OUTBUFF", "processors"}
    for key in before.keys() & after.keys():
        if key[3] in defined or key[3].startswith("page set"):
            assert after[key] <= before[key] + 1e-6, key
