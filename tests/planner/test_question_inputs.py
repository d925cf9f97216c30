"""What questions hand to their formulas, by hand from the example workload: units, totals, the right flow or channel.

Formulas have their oracles, and every answer is computed again from its inputs; here the inputs themselves are held.
"""

import tomllib
from importlib.resources import files

import pytest

from quaestor.planner.answers import plan
from quaestor.planner.questions.load import Load
from quaestor.planner.workload_file import load_workload, workload_of

GIB = 1 << 30
PERSISTENT_AT_THE_PEAK = 125 + 125 + 8 + 120 / 2  # the shared flow is spread over two queue managers
MEAN_BYTES = (125 * 1000 + 125 * 4096 + 8 * 20_480 + 60 * 2048) / PERSISTENT_AT_THE_PEAK

EXPECTED = [  # question, about, what (its beginning), inputs
    ("ch1-14", "", "data rate", {"throughput_per_s": PERSISTENT_AT_THE_PEAK, "response_time_s": 0.0006}),
    ("ch1-19", "page set 2", "", {"active_log_bytes_total": 8 * 2 * GIB}),
    ("ch1-32", "", "backup", {"failure_rba": 8 * 2 * GIB, "backup_rba": 0}),
    ("ch1-35", "", "an hour", {"transactions": 100 * 3600, "queues": 2}),
    ("ch1-42", "", "membership", {"structures": 1}),
    ("ch1-45", "", "", {"message_bytes": 1 << 20}),
    ("ch2-16", "", "augmented", {"scm_mb": 16 * 1024}),
    ("ch2-25", "PAY1.CLIENT", "key", {"bytes_per_s": 0.5 * 1024 * 1200, "sslrkeyc_bytes": 50 << 20}),
    ("ch2-26", "PAY1.TO.HOST2", "as if", {"channels": 4, "pairs_known": 1000}),
    ("ch2-29", "PAY1.CLIENT", "", {"uses_v7_functions": True}),
    ("ch4-4", "APP1", "archives", {"structure_mb": 1024}),
    ("ch4-10", "PAY.ORDER", "one commit", {"messages": 1000, "current_io_ms": 0.6, "many_pages_io_ms": 3}),
    ("ch4-10", "PAY.ARCHIVE", "one commit", {"messages": 50 * 1000, "put_commits": 1000}),
    ("ch4-19", "PAY.SHARED", "for this flow", {"messages_per_sec": 120, "cf_us_per_message": 360}),
]


def example():
    return tomllib.loads((files("quaestor.planner") / "workloads" / "example.toml").read_text())


@pytest.fixture(scope="module")
def made():
    return plan(load_workload())


def answer(made, number, about="", what=""):
    (found,) = [each for each in made.of(number) if each.about == about and each.what.startswith(what)]
    return found


def planned(**changes):
    return plan(workload_of(example() | changes, "w"))


def with_channel(**changes):
    """The example with this change of its first channel, a sender."""
    first, *rest = example()["channel"]
    return planned(channel=[first | changes, *rest])


@pytest.mark.parametrize(("number", "about", "what", "inputs"), EXPECTED, ids=lambda each: str(each)[:24])
def test_inputs_are_those_of_the_workload(made, number, about, what, inputs):
    given = answer(made, number, about, what).inputs
    assert inputs == pytest.approx({key: given[key] for key in inputs})


def test_log_data_of_a_structure_since_its_backup(made):
    """Megabytes of one queue manager's log: its peak rate over the interval between backups."""
    rate = answer(made, "ch1-3", what="30 minutes").inputs["log_rate_bytes_per_s"] / 2**20
    interval = answer(made, "ch2-9", what="at the peak")
    assert rate == pytest.approx(interval.inputs["longest_log_mb_per_s"])
    (log_mb,) = answer(made, "ch2-9", what="recovery").inputs["log_mb_since_backup"]
    assert rate * interval.value * 60 == pytest.approx(log_mb)


def test_the_log_rate_that_a_dasd_carries_is_told_in_megabytes_for_each_copy(made):
    of_dasd = answer(made, "ch1-14", what="data rate").inputs["data_rate_bytes_per_s"]
    assert of_dasd / 2**20 / 2 == pytest.approx(answer(made, "ch2-18").inputs["log_mb_per_s_each"])


def test_queues_of_its_own_fill_a_member_s_log_too(made):
    """All of the shared flow, of which the member has one half, and all that it logs beside."""
    of_member = answer(made, "ch2-9", what="at the peak").inputs["longest_log_mb_per_s"]
    shared = answer(made, "ch1-2", "PAY.SHARED", "at the peak").value / 2**20
    assert of_member + shared == pytest.approx(answer(made, "ch2-18").inputs["log_mb_per_s"])
    first, *rest = example()["flow"]
    fuller = answer(planned(flow=[first | {"rate": "10k/s"}, *rest]), "ch2-18")
    assert 2 <= fuller.value


def test_the_largest_checkpoint_is_written_in_bytes(made):
    pages = answer(made, "ch1-24", what="at most, by the pools").value
    assert 4096 * pages == answer(made, "ch1-24", what="burst").inputs["data_bytes"]


def test_a_mean_message_is_the_mean_by_rate():
    assert MEAN_BYTES == pytest.approx(Load(load_workload()).mean_message_bytes)


def test_the_one_getter_takes_units_of_work():
    flows = example()["flow"]
    flows[0]["messages_per_commit"] = 5
    answered = answer(planned(flow=flows), "ch4-12", "PAY.ORDER", "units of work")
    assert 125 / 5 == answered.head_room.used


def test_a_batch_interval_is_handed_over_in_milliseconds():
    made = with_channel(batchint="100 ms")
    assert 100 == answer(made, "ch2-23", "PAY1.TO.HOST2", "a batch").inputs["batchint_ms"]


def test_clients_that_share_nothing_use_no_function_of_version_7():
    *others, client, files_channel = example()["channel"]
    made = planned(channel=[*others, client | {"sharecnv": 0}, files_channel])
    assert answer(made, "ch2-29", "PAY1.CLIENT").inputs["uses_v7_functions"] is False


def test_more_channels_than_were_measured_are_all_known_pairs():
    found = answer(with_channel(channels=1500), "ch2-26", "PAY1.TO.HOST2")
    assert 1500 == found.inputs["pairs_known"]
    assert "as if 1500 pairs were known" == found.what


@pytest.mark.parametrize(
    ("sharecnv", "threads", "kb"),
    [(0, "many", 96), (1, "many", 179), (10, "many", 242), (10, "one", 179)],
)
def test_a_client_holds_the_conversations_of_its_threads(sharecnv, threads, kb):
    """ORACLE 45 [3320-3325], messages of 1 KB; a channel that one thread alone uses holds one conversation."""
    *others, client, files_channel = example()["channel"]
    of_threads = client | {"sharecnv": sharecnv, "threads": threads}
    made = planned(channel=[*others, of_threads, files_channel])
    assert kb == answer(made, "ch2-19", "PAY1.CLIENT").inputs["footprint_kb"]


@pytest.mark.parametrize(
    ("release", "sender_kb", "client_kb"),
    [("6.0", 140, 140), ("7.0.1", 90.87, 514), ("7.1", 90.87, 514), ("8.0", 90.87, 242)],
)
def test_a_channel_takes_what_its_release_gives_it(release, sender_kb, client_kb):
    """H5 [3292, 3304-3325, 3725-3726]: messages of 4 KB and 1 KB; ten conversations of a client."""
    *others, client, files_channel = example()["channel"]
    made = planned(
        queue_manager=example()["queue_manager"] | {"release": release},
        channel=[*others, client | {"sharecnv": 10, "threads": "many"}, files_channel],
    )
    assert sender_kb == pytest.approx(answer(made, "ch2-19", "PAY1.TO.HOST2").inputs["footprint_kb"], abs=0.01)
    assert client_kb == answer(made, "ch2-19", "PAY1.CLIENT").inputs["footprint_kb"]
    large = [each.said for each in made.unanswered if each.number == "ch2-19" and each.about == "PAY1.FILES"]
    assert (release == "6.0") == bool(large)


def test_a_channel_without_figures_does_not_silence_the_others():
    """SHARECNV(5) was not measured: what all need is not known, how many senders there can be is."""
    *others, client, files_channel = example()["channel"]
    made = planned(channel=[*others, client | {"sharecnv": 5}, files_channel])
    assert {"PAY1.TO.HOST2", "PAY1.FROM.HOST2", "PAY1.FILES"} == {each.about for each in made.of("ch2-19")}
    without = [each.said for each in made.unanswered if each.number == "ch2-19"]
    why = "sharecnv 5 has no figures; valid are 0, 1, and 10 and above"
    assert [f"in all: {why}", f"PAY1.CLIENT: {why}"] == without


@pytest.mark.parametrize(("size", "batch"), [("4k", 50), ("1 MB", 5)])
def test_a_bulk_transfer_fills_its_batches(size, batch):
    """A preloaded queue is never empty before BATCHSZ is, or BATCHLIM of 5000 KB [3526-3539, 3638]."""
    made = with_channel(traffic="bulk", persistent=False, size=size)
    assert batch == answer(made, "ch2-23", "PAY1.TO.HOST2", "a batch").value
    assert (50 if batch == 50 else 1) == answer(made, "ch2-24", "PAY1.TO.HOST2").inputs["batchsz"]


def test_a_batch_of_a_busy_channel_that_waits_is_a_large_one():
    """100 messages a second and an interval of 1 s fill BATCHSZ(50); the costs were measured for that size."""
    made = with_channel(rate="100/s", batchint="1 s", persistent=False)
    assert 50 == answer(made, "ch2-24", "PAY1.TO.HOST2").inputs["batchsz"]


@pytest.mark.parametrize(("release", "rate"), [("7.1", "V7_1"), ("8.0", "V8_0_DS8870_LOW")])
def test_checkpoints_are_written_faster_from_8_0_on(release, rate):
    made = planned(queue_manager=example()["queue_manager"] | {"release": release})
    assert f"burst at {rate}" in [each.what for each in made.of("ch1-24")]


def test_every_structure_takes_storage():
    made = planned(structure=[*example()["structure"], {"name": "APP2", "size": "1 GB"}])
    assert 2 == answer(made, "ch1-42", what="membership").inputs["structures"]


def test_channels_without_a_message_are_not_busy():
    idle = [each | {"rate": "0/s"} for each in example()["channel"]]
    for channels, busy in ((idle, False), (example()["channel"], True)):
        assert {busy} == {each.inputs["busy"] for each in planned(channel=channels).of("ch2-28")}


def test_one_size_of_messages_is_not_compared():
    (first, *_) = example()["flow"]
    assert not planned(flow=[first], structure=[]).of("ch1-39")
