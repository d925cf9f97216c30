"""Planted incidents show in the fields they name, where and when they were planted, and nowhere else.

Every check below is a rule of the papers on the fields of the records. On the clean profile none of them fires; on the
profile with incidents each fires exactly for what was planted.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from synthetic import dump_of, installation

from quaestor.smf.catalog import SECTIONS
from quaestor.smf.synth import incidents
from quaestor.smf.synth.profile import Incident
from quaestor.smf.synth.profile_check import ProfileError, check
from quaestor.smf.synth.profile_file import at_level, load_profile


def rows(found, structure, mask, column=None):
    """Queue manager, interval and object of the rows of a structure that a rule fires on."""
    chosen = found[structure].where(np.nan_to_num(np.asarray(mask, float)).astype(bool))
    names = chosen[column].tolist() if column else [""] * len(chosen)
    return {
        (name, interval, str(each))
        for name, interval, each in zip(
            chosen["queue_manager"].tolist(), chosen["interval"].tolist(), names, strict=True
        )
    }


def structures(found, rule):
    """The structures of QEST that a rule fires on."""
    return {
        (row["queue_manager"], row["interval"], each["structure"])
        for row in found["QEST"].table.select(["queue_manager", "interval", "structures"]).to_pylist()
        for each in row["structures"]
        if each["structure"] and rule(each)
    }


def applications(found, structure, mask):
    """The applications of a profile whose tasks a rule fires on."""
    chosen = found[structure].where(np.asarray(mask, bool))
    known = {}
    for each in found.profile.applications:
        known[each.channel_name or each.connection or each.name] = each.name
    channel, job = chosen.columns("task_channel", "task_connection_name")
    return {
        (name, interval, known[of_channel or of_job])
        for name, interval, of_channel, of_job in zip(
            chosen["queue_manager"].tolist(), chosen["interval"].tolist(), channel.tolist(), job.tolist(), strict=True
        )
    }


def initiator_tasks(found, structure, rule):
    """Intervals in which a rule fires on the tasks of a channel initiator, given their requests and busy shares."""
    table = found[structure]
    groups = {}
    busy = table["request_elapsed_us"] / found.profile.interval_us
    for name, interval, requests, share in zip(
        table["queue_manager"].tolist(),
        table["interval"].tolist(),
        table["requests"].tolist(),
        busy.tolist(),
        strict=True,
    ):
        groups.setdefault((name, interval), []).append((requests, share))
    return {(name, interval, "") for (name, interval), group in groups.items() if rule(group)}


def pool_is_small(found):
    pool = found["QPST"]
    low = pool["stealable_low"] < 0.15 * pool["buffers"]
    signs = [pool[name] > 0 for name in ("short_on_storage", "synchronous_write_starts", "deferred_write_starts")]
    return rows(found, "QPST", low & signs[0] & signs[1] & signs[2] & (pool["page_reads"] > 0), "buffer_pool")


def messages_are_read_back(found):
    spilled = rows(found, "WQST", found["WQST"]["get_page_set_reads"] > 0, "base_name")
    small = pool_is_small(found)
    manager = found.profile.queue_managers[0]
    return {
        (name, interval, queue)
        for name, interval, queue in spilled
        if (name, interval, str(manager.pool_of(found.profile.queue(queue).page_set))) not in small
    }


def log(figure):
    return lambda found: rows(found, "QJST", found["QJST"][figure] > 0)


def tapes_are_short(found):
    reads = found["QJST"]
    failed = reads["tape_mounts_attempted"] > reads["tape_mounts_successful"]
    delayed = (reads["reads_delayed_tape_volume"] > 0) & (reads["reads_delayed_unavailable"] > 0)
    return rows(found, "QJST", failed & delayed & (reads["reads_from_archive"] > 0))


def checkpoints_are_frequent(found):
    return rows(found, "QJST", found["QJST"]["checkpoints"] * 60 / found.profile.interval_minutes > 10)


def log_io_is_long(found):
    def average_us(row):
        kinds = [kind for copy in row["copies"] for kind in copy["kinds"]]
        return sum(kind["io_elapsed_us"] for kind in kinds) / max(1, sum(kind["ios"] for kind in kinds))

    table = found["QJST"].table.select(["queue_manager", "interval", "copies"]).to_pylist()
    return {(row["queue_manager"], row["interval"], "") for row in table if average_us(row) > 1500}


def messages_per_unit(found):
    table = found["WQST"]
    moved = {}
    for position, number in zip(
        table["position"].tolist(), (table["valid_puts"] + table["valid_gets"]).tolist(), strict=True
    ):
        moved[position] = moved.get(position, 0) + number
    task = found["WTAS"]
    messages = np.array([moved[position] for position in task["position"].tolist()])
    return messages / np.maximum(1, task["commits"] + task["backouts"])


def per_queue(found, *figures):
    """Figures of a queue over all tasks of an interval."""
    return found.sums("WQST", *figures, by=["base_name"])


def index_is_missing(found):
    return rows(
        found,
        "WQST",
        (found["WQST"]["index_type"] == 0)
        & (found["WQST"]["gets_specific"] > 0)
        & (found["WQST"]["messages_skipped"] > 10 * found["WQST"]["valid_gets"]),
        "base_name",
    )


def index_is_not_used(found):
    table = found["WQST"]
    indexed = rows(found, "WQST", table["index_type"] > 0, "base_name")
    used = per_queue(found, "gets_specific", "browses_specific", "gets_any")
    return {
        (name, interval, queue)
        for (name, interval, queue) in indexed
        if used[name, interval, queue][0] + used[name, interval, queue][1] == 0 and used[name, interval, queue][2] > 0
    }


def db2_is_slow(found):
    db2 = found["Q5ST"]
    slow = [
        db2[f"{verb}_server_elapsed_us"] > 10_000 * np.maximum(1, db2[f"{verb}s"])
        for verb in ("update", "write", "delete")
    ]
    return rows(found, "Q5ST", slow[0] & slow[1] & slow[2])


def db2_requests_queue(found):
    db2 = found["Q5ST"]
    delay = db2["read_thread_elapsed_us"] - db2["read_server_elapsed_us"]
    return rows(found, "Q5ST", (db2["queue_depth_high"] > 20) & (delay > 1000 * db2["reads"]) & (db2["reads"] > 0))


def batches_hold_one_message(found):
    channel = found["QCST"]
    single = (channel["channel_type"] == 1) & (channel["messages"] > 0) & (channel["messages"] < 2 * channel["batches"])
    names = {each.channel_name: each.name for each in found.profile.applications if each.kind == "sender"}
    return {(manager, interval, names[name]) for manager, interval, name in rows(found, "QCST", single, "channel")}


CHECKS = {
    "buffer_pool_small": pool_is_small,
    "page_set_reads": messages_are_read_back,
    "page_set_full": lambda found: rows(found, "QIS1", found["QIS1"]["full"] > 0, "page_set"),
    "log_buffers_short": log("waits_no_buffer"),
    "log_buffers_paged": log("buffers_paged_in"),
    "archive_reads": lambda found: log("reads_from_active")(found) & log("reads_from_archive")(found),
    "tape_units_short": tapes_are_short,
    "frequent_checkpoints": checkpoints_are_frequent,
    "long_log_io": log_io_is_long,
    "backing_out": lambda found: {
        each
        for each in applications(found, "WTAS", found["WTAS"]["backouts"] > 0)
        if (*each[:2], "") in log("reads_from_buffer")(found)
    },
    "slow_units": lambda found: applications(
        found, "WTAS", found["WTAS"]["commit_elapsed_us"] > 10_000 * np.maximum(1, found["WTAS"]["commits"])
    ),
    "large_units": lambda found: applications(found, "WTAS", messages_per_unit(found) > 200),
    "mqset_used": lambda found: applications(found, "WQST", found["WQST"]["sets"] > 0),
    "queue_without_index": index_is_missing,
    "index_not_needed": index_is_not_used,
    "expired_messages": lambda found: rows(found, "WQST", found["WQST"]["messages_expired"] > 0, "base_name"),
    "structure_full": lambda found: structures(found, lambda each: each["structure_full"] > 0),
    "cf_redrives": lambda found: structures(found, lambda each: each["single_redrives"] > 0),
    "cf_slow": lambda found: structures(
        found, lambda each: each["single_elapsed_us"] > 30 * max(1, each["single_calls"])
    ),
    "smds_full": lambda found: rows(
        found, "QESD", (found["QESD"]["allocations_failed"] > 0) & (found["QESD"]["blocks_free_low"] == 0), "structure"
    ),
    "slow_db2": db2_is_slow,
    "db2_servers_short": db2_requests_queue,
    "db2_deadlocks": lambda found: rows(found, "Q5ST", found["Q5ST"]["deadlocks"] > 0),
    "batch_of_one": batches_hold_one_message,
    "dispatcher_starved": lambda found: initiator_tasks(
        found, "QCT_DSP", lambda group: max(busy for _, busy in group) > 0.9 and sum(n == 0 for n, _ in group) > 1
    ),
    "adapters_short": lambda found: initiator_tasks(
        found, "QCT_ADP", lambda group: all(n > 0 for n, _ in group) and group[-1][1] > 0.5
    ),
    "ssl_task_busy": lambda found: initiator_tasks(found, "QCT_SSL", lambda group: max(b for _, b in group) > 0.9),
    "channels_near_limit": lambda found: rows(
        found, "QCCT", found["QCCT"]["channels_high"] > 0.9 * found["QCCT"]["max_channels"]
    ),
}


@pytest.fixture(scope="module")
def clean():
    return installation("clean")


@pytest.fixture(scope="module")
def troubled():
    return installation("incidents")


def planted(found, kind):
    """Queue manager, interval and object of every incident of a kind, interval by interval."""
    profile = found.profile
    return {
        (each.queue_manager, each.day * profile.intervals_per_day + interval, each.object)
        for each in profile.incidents
        if each.kind == kind
        for interval in range(*incidents.active_intervals(each, profile).indices(profile.intervals_per_day))
    }


def test_every_kind_has_a_check_and_is_planted():
    assert set(incidents.KINDS) == set(CHECKS)
    assert set(incidents.KINDS) == {each.kind for each in load_profile("incidents").incidents}


@pytest.mark.parametrize("kind", incidents.KINDS)
def test_an_incident_shows_where_it_was_planted_and_nowhere_else(troubled, kind):
    expected = planted(troubled, kind)
    assert expected
    assert expected == CHECKS[kind](troubled)


@pytest.mark.parametrize("kind", incidents.KINDS)
def test_nothing_shows_on_a_clean_profile(clean, kind):
    assert set() == CHECKS[kind](clean)


# --- the other thresholds a clean profile must keep -------------------------------------------------------------------


def test_clean_pools_keep_15_percent_free_and_use_more_than_half(clean):
    """MP1B A-25, A-26, A-28; MP16 A-42, BP-5: no steals, no reads, no deferred write; no pool is oversized either."""
    pool = clean["QPST"]
    free = pool["stealable_low"] / pool["buffers"]
    assert np.all(free > 0.15)
    for name in ("steals", "page_reads", "deferred_write_starts", "immediate_writes", "hash_chain_changes"):
        assert np.all(pool[name] == 0), name
    for name in set(pool["queue_manager"].tolist()):
        for number in range(4):
            mine = (pool["queue_manager"] == name) & (pool["buffer_pool"] == number)
            assert free[mine].min() < 0.5, (name, number)


def test_clean_pools_update_what_they_get(clean):
    """MP1B A-32: a normal run changes most of the pages it gets; a search does not."""
    pool = clean["QPST"]
    some = pool["get_page"] > 1000
    assert np.all(pool["set_writes"][some] > 0.3 * pool["get_page"][some])


def test_clean_logs_stay_below_every_threshold(clean):
    """MP1B A-36 to A-46, MP16 LOG-3."""
    log = clean["QJST"]
    for name in (
        "waits_no_buffer",
        "reads_from_buffer",
        "reads_from_active",
        "reads_from_archive",
        "reads_delayed_tape_volume",
        "reads_delayed_unavailable",
        "threshold_writes",
        "buffers_paged_in",
        "tape_mounts_attempted",
    ):
        assert np.all(log[name] == 0), name
    assert np.all(log["checkpoints"] * 60 / clean.profile.interval_minutes <= 10)
    assert np.all(log["logger_calls"] < 3 * log["buffers_filled"])
    assert np.all(log["cis_written"] > 1.2 * log["log_ios"])


def test_clean_db2_answers_in_time(clean):
    """MP1B A-16 to A-19."""
    db2 = clean["Q5ST"].where(clean["Q5ST"]["tasks"] > 0)
    assert np.all(db2["queue_depth_high"] <= 10)
    assert np.all(db2["deadlocks"] + db2["abends"] == 0)
    for verb in ("update", "write", "delete", "read", "scs_update"):
        number = db2[f"{verb}s"]
        assert np.all(db2[f"{verb}_server_elapsed_us"] <= 10_000 * number)
        assert np.all(db2[f"{verb}_thread_elapsed_us"] - db2[f"{verb}_server_elapsed_us"] <= 1000 * number)


def test_clean_tasks_are_quick_and_not_bound_by_the_log(clean):
    """MP1B A-1, A-3, A-7, A-10; MP16 APP-1."""
    task, queues = clean["WTAS"], clean["WQST"]
    spent = {}
    total = sum(queues[f"{verb}_elapsed_us"] for verb in ("open", "close", "get", "put", "put1", "inq", "set"))
    for position, number in zip(queues["position"].tolist(), total.tolist(), strict=True):
        spent[position] = spent.get(position, 0) + number
    elapsed = np.array([spent[position] for position in task["position"].tolist()]) + task["commit_elapsed_us"]
    assert np.all(elapsed < 10_000 * np.maximum(1, task["commits"]))
    who = np.array(
        [f"{job} {channel}" for job, channel in zip(*task.columns("task_connection_name", "task_channel"), strict=True)]
    )
    for name in set(who):
        assert task["log_force_elapsed_us"][who == name].sum() < 0.5 * elapsed[who == name].sum(), name
    for name in ("get_page_set_reads", "messages_skipped", "messages_expired", "sets"):
        assert np.all(queues[name] == 0), name


def test_clean_channels_have_room(clean):
    """MP16 CH-R4, CH-R8, CH-R17, CH-R20, CH-R21, CH-R24, CH-R30, CH-R31."""
    channel = clean["QCST"].where(clean["QCST"]["channel_type"] != 7)
    some = channel["batches"] > 0
    achieved = channel["messages"][some] / channel["batches"][some]
    assert np.all(achieved > 2)
    assert np.all(channel["batch_size"] <= 100)
    assert np.all(channel["message_bytes"][some] / channel["batches"][some] < 0.5 * 5000 * 1024)
    limits = clean["QCCT"]
    assert np.all(limits["channels_high"] <= 0.75 * limits["max_channels"])
    assert np.all(limits["active_channels_high"] <= 0.75 * limits["max_active_channels"])
    for structure in ("QCT_DSP", "QCT_ADP", "QCT_SSL"):
        assert np.all(clean[structure]["request_elapsed_us"] < 0.7 * clean.profile.interval_us)
    busy_dispatchers = initiator_tasks(clean, "QCT_DSP", lambda group: any(n == 0 for n, _ in group))
    assert set() == busy_dispatchers


def test_clean_page_sets_and_structures_have_room(clean):
    page_set = clean["QIS1"]
    assert np.all(page_set["pages_unused"] > 0.1 * page_set["pages"])
    assert np.all(page_set["expansions"] == 0)
    assert set() == structures(clean, lambda each: each["entries_high"] > 0.5 * 200_000)
    assert np.all(clean["QESD"]["blocks_free_low"] > 0.5 * clean["QESD"]["blocks_data"])


# --- the list beside the dump ----------------------------------------------------------------------------------------


def test_the_list_names_what_was_planted(troubled):
    listed = troubled.made.side_file(troubled.profile)
    assert listed == json.loads(json.dumps(listed))
    assert len(troubled.profile.incidents) == len(listed["incidents"])
    first = listed["incidents"][0]
    assert {
        "id": "I-01",
        "kind": "buffer_pool_small",
        "system": "SYSA",
        "queue_manager": "QM01",
        "object": "3",
        "from": "2026-03-02T09:00:00+01:00",
        "to": "2026-03-02T11:00:00+01:00",
    }.items() <= first.items()
    assert len({each["id"] for each in listed["incidents"]}) == len(listed["incidents"])


def test_a_clean_profile_lists_nothing(clean):
    assert [] == clean.made.side_file(clean.profile)["incidents"]


def officials(layout):
    """Official names of a structure's fields, those of its inner arrays included."""
    inner = (officials(each.of.LAYOUT) for each in layout.fields if each.of is not None)
    return {each.official for each in layout.fields}.union(*inner)


@pytest.mark.parametrize("kind", incidents.KINDS)
def test_fields_exist_and_rules_have_a_source(kind):
    for name in incidents.KINDS[kind].fields:
        structure, official = name.split(".")
        assert official in officials(SECTIONS[structure].LAYOUT)
    assert all(rule.split("/")[0].startswith(("mp1b", "mp16")) for rule in incidents.KINDS[kind].rules)


def test_days_that_are_not_generated_list_nothing():
    profile = load_profile("incidents")
    assert {0} == {each.day for each in profile.incidents if each.day < 1}
    _, made = dump_of(replace(profile, days=1))
    assert sum(each.day == 0 for each in profile.incidents) == len(made.incidents)


def test_an_older_level_is_not_planted_with_what_it_cannot_show():
    old = at_level(load_profile("incidents"), "5.2")
    kinds = {each.kind for each in old.incidents}
    assert {"buffer_pool_small", "log_buffers_short", "structure_full"} <= kinds
    assert not kinds & {"batch_of_one", "page_set_full", "smds_full", "adapters_short"}


@pytest.mark.parametrize(
    ("incident", "says"),
    [
        (Incident("earthquake", "QM01"), "is not one of buffer_pool_small"),
        (Incident("slow_db2", "QM99"), "no queue manager QM99"),
        (Incident("slow_db2", "QM03"), "object '' is not one of those it has"),
        (Incident("buffer_pool_small", "QM01", "9"), "object '9' is not one of 0, 1, 2, 3"),
        (Incident("page_set_full", "QM03", "2"), "level 8.0 of QM03 has no QIS1"),
        (Incident("slow_db2", "QM01", from_hour=5, to_hour=4), "no time of a day"),
        (Incident("slow_db2", "QM01", severity=0), "severity 0"),
    ],
)
def test_incidents_that_cannot_be_are_refused(incident, says):
    with pytest.raises(ProfileError, match=says):
        check(replace(load_profile("clean"), incidents=(incident,)))
