"""A measured hour becomes a workload: rates, places and persistence by hand, and what must always hold."""

import tomllib
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.answers import plan
from quaestor.planner.measured_workload import toml_text, workload_tables
from quaestor.planner.measurement import (
    MeasuredChannel,
    MeasuredLog,
    MeasuredQueue,
    Measurement,
)
from quaestor.planner.measurement_check import log_agreement
from quaestor.planner.simulation_calibration import calibrated
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.workload_file import WorkloadError, workload_of

NINE = datetime(2026, 3, 2, 9)
ORDERS = MeasuredQueue(
    queue="ORDERS",
    valid_puts=7_200,
    valid_destructive_gets=7_000,
    put_bytes=7_200 * 1_500,
    get_bytes=7_000 * 1_500,
    persistent_puts=7_200,
    gets_persistent=7_000,
    on_queue_us=7_000 * 25_000.0,
    put_commits=720,
    get_commits=7_000,
    page_set=3,
    put_cpu_us=7_200 * 60.0,
    get_cpu_us=7_000 * 40.0,
)
LOG = MeasuredLog(
    seconds=3600, buffers_filled=9_000, writes_nowait=100_000, single_ios=8_000, single_io_us=2_400_000, copies=2
)
HOUR = Measurement(
    queue_manager="QM1",
    hour=NINE,
    seconds=3600,
    release="9.4.5",
    hours=[(NINE - timedelta(hours=1), 2.0), (NINE, 8.0), (NINE + timedelta(hours=1), 4.0)],
    queues=[ORDERS],
    log=LOG,
    tasks={"commits": 7_720, "commit_cpu_us": 7_720 * 20.0, "log_bytes": 36_000_000},
)


def pool(number, hour, buffers=20_000, low=9_000):
    names = ("get_page", "get_new_page", "page_reads", "set_writes", "pages_written", "write_ios", "immediate_writes")
    more = ("deferred_write_starts", "synchronous_write_starts", "steals", "hash_chain_changes", "short_on_storage")
    about = {"buffer_pool": number, "hour": hour, "seconds": 3600.0, "buffers": buffers, "stealable_low": low}
    return {**about, "stealable_now": low, **dict.fromkeys((*names, *more), 0)}


def only_flow(measured=HOUR, written=None):
    (flow,) = workload_tables(measured, written)[0]["flow"]
    return flow


def test_a_queue_by_hand():
    """Busy hours are 9 and 10, 6 calls a second on average, so the peak is 8/6; 2 messages a second at the peak."""
    assert 8 / 6 == pytest.approx(HOUR.peak)
    assert 14 / 6 == pytest.approx(HOUR.busy_hours)
    flow = only_flow()
    assert ("ORDERS", 1_500, 10, True, 3) == tuple(
        flow[key] for key in ("queue", "size", "messages_per_commit", "persistent", "page_set")
    )
    assert 2.0 == pytest.approx(flow["rate"] * flow["peak"], rel=1e-4)
    assert "25000 us" == flow["life"]


def test_the_day_keeps_its_volume():
    """Busy hours times the average rate are the calls of the day."""
    average = 8.0 / HOUR.peak
    assert sum(rate for _, rate in HOUR.hours) == pytest.approx(HOUR.busy_hours * average)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=24), st.data())
def test_peak_and_busy_hours_always_make_up_the_day(rates, data):
    hours = [(datetime(2026, 3, 2, n), rate) for n, rate in enumerate(rates)]
    at = data.draw(st.sampled_from(hours))[0]
    measured = replace(HOUR, hour=at, hours=hours)
    assert measured.peak >= 1
    highest = dict(hours)[at]
    if highest == max(rates) and highest > 0:
        assert 0.1 <= measured.busy_hours <= 24
        assert measured.peak <= 2.0000001  # busy hours have half of it at least


@given(st.integers(1, 10**7), st.integers(0, 100), st.integers(0, 10**7))
def test_both_kinds_of_messages_add_up_to_the_queue(puts, percent, gets):
    persistent = puts * percent // 100
    queue = replace(ORDERS, valid_puts=puts, persistent_puts=persistent, valid_destructive_gets=gets)
    flows = workload_tables(replace(HOUR, queues=[queue]))[0]["flow"]
    assert len({flow["queue"] for flow in flows}) == len(flows) == (1 if persistent in (0, puts) else 2)
    total = sum(flow["rate"] * flow["peak"] for flow in flows)
    assert max(puts, gets) / 3600 == pytest.approx(total, rel=1e-3)


def test_what_was_only_got_counts_too():
    queue = replace(ORDERS, valid_puts=0, put_bytes=0, persistent_puts=0)
    flow = only_flow(replace(HOUR, queues=[queue]))
    assert (1_500, True, 1) == (flow["size"], flow["persistent"], flow["messages_per_commit"])


def test_a_shared_queue_has_its_structure_and_its_members():
    queue = replace(ORDERS, structure="APP1", page_set=0, members=3)
    tables, notes = workload_tables(replace(HOUR, queues=[queue], group="QSG1"))
    assert {"shared": True, "structure": "APP1"}.items() <= tables["flow"][0].items()
    assert "page_set" not in tables["flow"][0]
    assert {"group": "QSG1", "members": 3}.items() <= tables["queue_manager"].items()
    assert ["assumed: CFCC level 22, for SMF does not tell it; write [coupling_facility]"] == [
        note for note in notes if note.startswith("assumed")
    ]


def test_writes_of_the_log_are_those_of_this_members_messages():
    """7,200 messages of three members, 2,400 of this one: its log counted 100,000 writes for those."""
    shared = replace(ORDERS, structure="APP1", members=3)
    for queue, writes in ((ORDERS, 100_000 / 7_200), (shared, 100_000 / 2_400)):
        tables, _ = workload_tables(replace(HOUR, queues=[queue], log=LOG))
        assert writes == pytest.approx(tables["log"]["writes_per_message"], rel=1e-4)


def test_a_file_says_what_smf_does_not_know():
    written = {
        "log": {"size": "2 GB", "copies": 1},
        "dasd": {"type": "DS8800 (RAID 5)", "log_io_time": "9 ms"},
        "targets": {"restart": "2 min"},
        "flow": [{"queue": "ORDERS", "size": "9k", "outage": "1 h"}],
    }
    tables, notes = workload_tables(HOUR, written)
    assert {"size": "2 GB", "copies": 2}.items() <= tables["log"].items()
    assert "300 us" == tables["dasd"]["log_io_time"]
    assert "2 min" == tables["targets"]["restart"]
    assert ("1 h", 1_500) == (tables["flow"][0]["outage"], tables["flow"][0]["size"])
    assert [] == notes


def test_channels_by_kind():
    channels = [
        channel("TO.B", "ClusSdr", batch_size=50, batch_interval=100),
        channel("FROM.B", "Receiver", batch_size=50),
        channel("APPS", "SvrConn", persistent_messages=0, shared_conversations=40, batch_size=1),
        channel("MQTT", "MQTT"),
    ]
    tables, notes = workload_tables(replace(HOUR, channels=channels))
    sender, receiver, client = tables["channel"]
    assert ("sender", 2, 1_000, 1.0, 50, "100000 us") == tuple(
        sender[key] for key in ("kind", "channels", "size", "rate", "batchsz", "batchint")
    )
    assert "receiver" == receiver["kind"]
    assert ("svrconn", 10, "many", False) == tuple(client[key] for key in ("kind", "sharecnv", "threads", "persistent"))
    assert "batchsz" not in client
    assert "left out: channel MQTT, of type MQTT" in notes


def test_pools_are_written_with_what_they_counted():
    pools = [pool(3, NINE - timedelta(hours=1)), pool(3, NINE, low=2_000)]
    tables, _ = workload_tables(replace(HOUR, buffer_pools=pools, page_sets={3: (250_000, 3)}))
    assert [{"number": 3, "buffers": 20_000}] == tables["buffer_pool"]
    assert ["pool 3, 08:00", "pool 3, 09:00"] == [each["name"] for each in tables["counted_pool"]]
    made = plan(workload_of(tables, "lake"))
    (verdict,) = made.of("ch1-23")
    assert "too small" == verdict.shown.lower().replace("_", " ")
    assert 2 == len(made.of("ch4-7"))


def test_what_is_written_is_read_back_the_same():
    tables, _ = workload_tables(replace(HOUR, buffer_pools=[pool(0, NINE)], page_sets={3: (1_000, 0)}))
    text = toml_text(tables)
    assert tables == tomllib.loads(text)
    assert workload_of(tables, "lake") == workload_of(tomllib.loads(text), "lake")


@given(st.text(min_size=1, max_size=48))
def test_any_name_is_written_so_that_it_reads_back(name):
    text = toml_text({"flow": [{"queue": name}]})
    assert name == tomllib.loads(text)["flow"][0]["queue"]


def test_an_hour_without_accounting_says_so():
    _, notes = workload_tables(replace(HOUR, queues=[]))
    assert any("class 3 accounting was off" in note for note in notes)


def test_the_log_rate_of_formulas_and_counters():
    tables, _ = workload_tables(HOUR)
    (line,) = log_agreement(HOUR, workload_of(tables, "lake"))
    assert line.startswith("log rate of that hour: 10 KiB/s counted, ")
    assert [] == list(log_agreement(replace(HOUR, log=None), workload_of(tables, "lake")))
    assert [] == list(log_agreement(replace(HOUR, log=replace(LOG, buffers_filled=0)), workload_of(tables, "lake")))


def mixed(**changes):
    """Half of the messages persistent: two flows."""
    return replace(HOUR, queues=[replace(ORDERS, persistent_puts=3_600, **changes)])


def test_a_file_that_was_saved_says_it_of_both_kinds():
    """A saved workload has two flows of such a queue; each is written on under its own name (Y1, Y3)."""
    saved = workload_tables(mixed())[0]["flow"]
    assert ["ORDERS", "ORDERS (non-persistent)"] == [flow["queue"] for flow in saved]
    written = {"flow": [{**flow, "outage": outage} for flow, outage in zip(saved, ("1 h", "2 h"), strict=True)]}
    tables, notes = workload_tables(mixed(), written)
    assert ["1 h", "2 h"] == [flow["outage"] for flow in tables["flow"]]
    assert not [note for note in notes if note.startswith("left out")]


def test_a_file_of_one_kind_speaks_for_both():
    tables, _ = workload_tables(mixed(), {"flow": [{"queue": "ORDERS", "outage": "1 h"}]})
    assert ["1 h", "1 h"] == [flow["outage"] for flow in tables["flow"]]


def test_what_the_hour_did_not_use_is_named_in_order():
    written = {"flow": [{"queue": name} for name in ("Z", "ORDERS", "B", "M", "A", "K", "ORDERS (non-persistent)")]}
    notes = workload_tables(HOUR, written)[1]
    assert "left out: A, B, K, M, ORDERS (non-persistent), Z, not used in this hour" in notes


def test_a_queue_of_non_persistent_messages_keeps_its_name():
    flow = only_flow(replace(HOUR, queues=[replace(ORDERS, persistent_puts=0)]))
    assert ("ORDERS", False) == (flow["queue"], flow["persistent"])


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({"persistent_puts": 7_201}, 1),
        ({"valid_puts": 0, "gets_persistent": 7_001}, 1),
        ({"valid_puts": 0, "gets_persistent": 1_750}, 0.25),
        ({"valid_puts": 0, "gets_persistent": None}, 0),
        ({"valid_puts": 0, "valid_destructive_gets": 0}, 0),
    ],
    ids=str,
)
def test_no_more_messages_are_persistent_than_there_are(changes, share):
    """Counters of one record are not read at one moment."""
    assert share == replace(ORDERS, **changes).persistent_share


@pytest.mark.parametrize(("commits", "messages"), [(7_200, 1), (20_000, 1), (4_300, 2), (2_700, 3), (None, 1), (0, 1)])
def test_messages_of_a_unit_are_the_nearest_whole_number(commits, messages):
    """7,200 puts: 1.67 to a commit are 2, 2.67 are 3; never less than 1 (Y4)."""
    assert messages == replace(ORDERS, put_commits=commits).messages_per_commit
    assert (
        messages == replace(ORDERS, valid_puts=0, valid_destructive_gets=7_200, get_commits=commits).messages_per_commit
    )


def test_a_mean_size_is_the_nearest_byte():
    assert (2, 2) == (
        replace(ORDERS, valid_puts=3, put_bytes=5).message_bytes,
        replace(ORDERS, valid_puts=0, valid_destructive_gets=3, get_bytes=5).message_bytes,
    )


def test_busy_hours_are_a_day_at_most_and_the_measured_hour_at_least():
    """A day on which clocks go back has 25 hours."""
    fold = [(NINE.replace(hour=n % 24, minute=n // 24), 8.0) for n in range(25)]
    assert 24 == replace(HOUR, hours=fold).busy_hours
    assert replace(HOUR, hours=[(NINE, 0.0)]).busy_hours is None
    assert 1 == replace(HOUR, hours=[(NINE, 8.0), (NINE - timedelta(days=1), 8.0)]).busy_hours


def test_a_pool_that_is_gone_is_left_out():
    pools = [pool(2, NINE, buffers=0), pool(3, NINE)]
    tables, _ = workload_tables(replace(HOUR, buffer_pools=pools))
    assert [3] == [each["number"] for each in tables["buffer_pool"]]
    assert [3] == [each["pool"] for each in tables["counted_pool"]]


def test_title_and_release_of_the_plan():
    tables, _ = workload_tables(HOUR)
    assert "QM1, 2026-03-02 09:00 to an hour later" == tables["title"]
    assert "9.4.5" == tables["queue_manager"]["release"]
    named, _ = workload_tables(replace(HOUR, release="9.4.5.1"), {"title": "Orders"})
    assert ("Orders", "9.4.5") == (named["title"], named["queue_manager"]["release"])


def test_a_coupling_facility_that_is_written_is_not_assumed():
    shared = replace(HOUR, queues=[replace(ORDERS, structure="APP1")])
    tables, notes = workload_tables(shared, {"coupling_facility": {"cfcc_level": 25}})
    assert ({"cfcc_level": 25}, []) == (tables["coupling_facility"], [note for note in notes if "CFCC" in note])


@pytest.mark.parametrize(("structure", "members", "written"), [("APP1", 2, 2), ("APP1", 1, None), (None, 2, None)])
def test_members_are_counted_on_shared_queues(structure, members, written):
    measured = replace(HOUR, queues=[replace(ORDERS, structure=structure, members=members)])
    assert written == workload_tables(measured)[0]["queue_manager"].get("members")


@pytest.mark.parametrize(
    ("writes", "written"),
    [(7_199, None), (7_200, 1.0), (100_000, 13.889), (72_000_000, 10_000), (72_000_001, None)],
)
def test_log_writes_of_a_message_are_one_at_least_and_such_as_a_workload_takes(writes, written):
    tables, _ = workload_tables(replace(HOUR, log=replace(LOG, writes_nowait=writes)))
    assert written == tables["log"].get("writes_per_message")


def test_log_writes_are_those_of_the_messages_that_one_log_had():
    """Of a shared queue the whole group's messages are counted, of the log one queue manager's writes."""
    shared = replace(ORDERS, queue="SHARED", structure="APP1", members=3, page_set=None)
    (alone,), (both,) = (
        [workload_tables(replace(HOUR, queues=queues))[0]["log"]["writes_per_message"]]
        for queues in ([ORDERS], [ORDERS, shared])
    )
    assert pytest.approx(100_000 / 7_200, rel=1e-4) == alone
    assert pytest.approx(100_000 / (7_200 + 7_200 / 3), rel=1e-4) == both


def channel(name, kind, **more):
    figures = {"instances": 2, "messages": 7_200, "persistent_messages": 7_200, "message_bytes": 7_200_000}
    return MeasuredChannel(channel=name, kind=kind, **{**figures, **more})


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("Sender", "sender"),
        ("Server", "sender"),
        ("ClusSdr", "sender"),
        ("Receiver", "receiver"),
        ("Requester", "receiver"),
        ("ClusRcvr", "receiver"),
        ("SvrConn", "svrconn"),
    ],
)
def test_every_kind_of_channel_has_its_own_attributes(kind, written):
    """Batches belong to channels that move messages, conversations to those of clients."""
    measured = channel("C", kind, batch_size=50, batch_interval=100, shared_conversations=4)
    (made,) = workload_tables(replace(HOUR, channels=[measured]))[0]["channel"]
    assert written == made["kind"]
    expected = {"sharecnv"} if written == "svrconn" else {"batchsz", "batchint"}
    assert expected == {"batchsz", "batchint", "sharecnv"} & made.keys()


def test_a_channel_is_one_at_least_and_persistent_by_majority():
    quiet = channel("C", "Sender", instances=0, persistent_messages=3_600)
    busier = replace(quiet, persistent_messages=3_601)
    for each, persistent in ((quiet, False), (busier, True)):
        (made,) = workload_tables(replace(HOUR, channels=[each]))[0]["channel"]
        assert (1, 2.0, persistent) == (made["channels"], made["rate"], made["persistent"])


def test_every_counter_of_a_pool_comes_from_its_own_column():
    row = {name: n for n, name in enumerate(pool(3, NINE), start=1)} | {"hour": NINE, "seconds": 3600.0}
    (made,) = workload_tables(replace(HOUR, buffer_pools=[row]))[0]["counted_pool"]
    other_names = {
        "get_pages": "get_page",
        "get_new_pages": "get_new_page",
        "read_ios": "page_reads",
        "synchronous_writes": "immediate_writes",
        "synchronous_thresholds": "synchronous_write_starts",
        "steal_contentions": "hash_chain_changes",
    }
    counted = {key: value for key, value in made.items() if key not in ("name", "pool", "lasted")}
    assert len(counted) == len(row) - 3
    assert counted == {key: row[other_names.get(key, key)] for key in counted}
    assert "1.0000 h" == made["lasted"]


def test_a_page_set_is_as_large_as_it_was_measured():
    written = {"page_set": [{"number": 3, "size": "1 GB", "buffer_pool": 9, "name": "orders"}]}
    tables, _ = workload_tables(replace(HOUR, page_sets={3: (1_000, 2)}), written)
    assert [{"number": 3, "size": 4_096_000, "buffer_pool": 2, "name": "orders"}] == tables["page_set"]


@pytest.mark.parametrize(
    ("on_queue_s", "written"),
    [(0.999, "999000 us"), (1, "1.000 s"), (3599.9, "3599.900 s"), (3600, "1.0000 h")],
)
def test_times_are_written_in_the_unit_that_fits(on_queue_s, written):
    assert written == only_flow(replace(HOUR, queues=[replace(ORDERS, on_queue_us=7_000e6 * on_queue_s)]))["life"]


def test_a_log_that_timed_no_write_has_no_io_time():
    assert (None, None) == (replace(LOG, single_ios=0).io_s, replace(LOG, single_io_us=0).io_s)


# --- calibration ------------------------------------------------------------------------------------------------------


def test_a_model_has_what_was_measured():
    made = calibrated(HOUR)
    model = made.model
    assert (1_500, True, 10, 2.0) == (
        model.message_bytes,
        model.persistent,
        model.messages_per_commit,
        model.arrivals_per_s,
    )
    assert (60, 40, 20) == pytest.approx((model.put_cpu_us, model.get_cpu_us, model.commit_cpu_us))
    assert 0.3 == pytest.approx(model.log_io_ms)
    assert 36_000_000 / 14_200 == pytest.approx(model.put_log_bytes)
    assert ("buffers", "page_read_ms") == made.assumed


def test_options_replace_what_was_measured():
    made = calibrated(HOUR, log_io_ms=2.0, buffers=1_000)
    assert (2.0, 1_000) == (made.model.log_io_ms, made.model.buffers)
    assert ("page_read_ms",) == made.assumed


def test_nothing_put_is_nothing_to_simulate():
    with pytest.raises(OutOfRangeError, match="no puts in its accounting"):
        calibrated(replace(HOUR, queues=[]))


@pytest.mark.parametrize(
    ("written", "puts", "maxumsgs"),
    [({}, 10_000, None), ({}, 10_001, 10_001), ({"maxumsgs": 50}, 50, 50), ({"maxumsgs": 50}, 51, 51)],
    ids=str,
)
def test_a_unit_of_work_may_be_longer_than_maxumsgs_is_said_to_be(written, puts, maxumsgs):
    """SMF does not tell MAXUMSGS, but a unit of work that was committed kept it."""
    queue = replace(ORDERS, valid_puts=puts, persistent_puts=puts, put_bytes=puts, put_commits=1)
    tables, notes = workload_tables(replace(HOUR, queues=[ORDERS, queue]), {"queue_manager": written})
    assert maxumsgs == tables["queue_manager"].get("maxumsgs")
    assert (puts > written.get("maxumsgs", 10_000)) == any("assumed: MAXUMSGS" in note for note in notes)
    tables["flow"] = tables["flow"][1:]
    assert puts == workload_of(tables, "w").flows[0].messages_per_commit


WRITTEN_CHANNEL = {"name": "TO.C", "kind": "sender", "size": 1000, "rate": "1/s", "persistent": True}
WRITTEN_FLOW = {"queue": "LATER", "size": 1000, "rate": "1/s", "persistent": True}


def test_what_nothing_was_counted_of_is_taken_from_the_file():
    """Y1: statistics of channels, page sets or queues may be off, or of a level that has none."""
    written = {
        "flow": [WRITTEN_FLOW],
        "channel": [WRITTEN_CHANNEL],
        "page_set": [{"number": 3, "size": "1 GB", "buffer_pool": 1}],
        "buffer_pool": [{"number": 1, "buffers": 5_000}],
    }
    tables, notes = workload_tables(replace(HOUR, queues=[]), written)
    assert written == {name: tables[name] for name in written}
    assert "no queue was used in this hour, or class 3 accounting was off: the file's flows are taken" in notes
    assert "LATER" == workload_of(tables, "lake").flows[0].queue


def test_a_channel_of_the_file_that_the_hour_did_not_use_is_named():
    tables, notes = workload_tables(replace(HOUR, channels=[channel("TO.B", "Sender")]), {"channel": [WRITTEN_CHANNEL]})
    assert ["TO.B"] == [each["name"] for each in tables["channel"]]
    assert "left out: TO.C, not used in this hour" in notes


@pytest.mark.parametrize("maxumsgs", ["10k", "10 000", 10_000])
def test_maxumsgs_may_be_written_as_any_count(maxumsgs):
    tables, _ = workload_tables(HOUR, {"queue_manager": {"maxumsgs": maxumsgs}})
    assert 10_000 == workload_of(tables, "lake").queue_manager.maxumsgs


@pytest.mark.parametrize(
    "written", [{"queue_manager": {"maxumsgs": "ten"}}, {"channel": [{"name": ["TO.B"]}]}], ids=str
)
def test_a_value_that_cannot_be_is_left_for_the_file_s_reader(written):
    tables, _ = workload_tables(HOUR, written)
    with pytest.raises(WorkloadError, match=r"maxumsgs: 'ten': not a count|\['TO.B'\] is not valid"):
        workload_of(tables, "lake")


@pytest.mark.parametrize(
    "measured",
    [
        replace(HOUR, page_sets={3: (16, 0)}),
        replace(HOUR, buffer_pools=[pool(0, NINE) | {"seconds": 0.4}]),
        replace(HOUR, buffer_pools=[pool(0, NINE) | {"get_page": 20_000_000_000}]),
        replace(HOUR, buffer_pools=[pool(0, NINE) | {"hash_chain_changes": None}]),
        replace(HOUR, log=replace(LOG, single_io_us=8_000 * 4.0)),
    ],
    ids=["few pages", "a short interval", "many calls", "an older level", "a fast disk"],
)
def test_whatever_was_measured_can_be_planned(measured):
    tables, _ = workload_tables(measured, {"dasd": {"type": "DS8800 (RAID 5)"}})
    assert plan(workload_of(tables, "lake")).answers


@pytest.mark.parametrize("seconds", [None, 0.0])
def test_a_pool_without_an_interval_counted_nothing(seconds):
    tables, _ = workload_tables(replace(HOUR, buffer_pools=[pool(0, NINE) | {"seconds": seconds}]))
    assert "counted_pool" not in tables
