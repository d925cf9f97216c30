"""The simulated queue manager keeps its messages, behaves as queues do, and agrees with closed forms."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.planner.log_flow import log_time
from quaestor.planner.simulation_parts import Busy, Pool, StoredUnit
from quaestor.planner.simulator import Model, percentiles, simulate
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.throughput import instance_units_per_s_max

FREE = {"put_cpu_us": 0.0, "get_cpu_us": 0.0}


# --- closed forms -----------------------------------------------------------------------------------------------------


def test_one_instance_that_waits_for_its_own_force():
    """F-52: one putter, one force of two I/O times and its CPU: exact but for the last unit."""
    run = simulate(Model(message_bytes=1000, getters=0, put_cpu_us=100, log_io_ms=0.5), 5)
    expected = instance_units_per_s_max(1, 2 * 0.5e-3, 100e-6)
    assert expected == pytest.approx(run.puts_per_s, rel=0.001)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_the_log_without_group_commit_is_m_d_1(load):
    """Poisson arrivals, one write at a time of 1 ms: mean wait load / (2 (1 - load)) of it; within 6 %."""
    model = Model(
        message_bytes=1000, arrivals_per_s=load * 1000, getters=0, log_io_ms=1.0, current_io_times=1,
        group_commit=False, buffers=10_000_000, **FREE,
    )  # fmt: skip
    run = simulate(model, 25, warm_up_s=1)
    assert 1 + load / (2 * (1 - load)) == pytest.approx(run.put_times.mean_ms, rel=0.06)
    assert load == pytest.approx(run.busy["log"], rel=0.02)


def test_puts_with_their_commits_take_what_log_time_says():
    """One application, one page a message: log_flow adds up the same I/O times."""
    expected = log_time(
        1000, pages=1000, put_commits=1000, get_commits=0, many_pages_io_ms=3, current_io_ms=0.6
    ).messages_per_sec_max  # fmt: skip
    run = simulate(Model(message_bytes=1000, getters=0, log_io_ms=0.6, **FREE), 10)
    assert expected == pytest.approx(run.puts_per_s, rel=0.001)


def test_long_messages_fill_pages_as_log_time_says():
    """Ten full pages a message: one I/O for them, between one page and 128, and two for the current buffer."""
    model = Model(message_bytes=40_000, getters=0, put_log_bytes=10 * 4096, log_io_ms=0.6, many_pages_io_ms=1.5, **FREE)
    run = simulate(model, 10)
    assert 1000 / (0.6 + 0.9 * 9 / 127 + 2 * 0.6) == pytest.approx(run.puts_per_s, rel=0.001)
    most = replace(model, put_log_bytes=128 * 4096, log_io_ms=0.6)
    assert 1000 / (1.5 + 2 * 0.6) == pytest.approx(simulate(most, 10).puts_per_s, rel=0.001)


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_non_persistent_work_is_bound_by_processors(processors):
    """Each message costs 50 + 50 us of CPU: processors / 100 us of them a second; within 1 %."""
    model = Model(
        message_bytes=1000, persistent=False, putters=20, getters=20, put_cpu_us=50, get_cpu_us=50,
        processors=processors, buffers=1_000_000,
    )  # fmt: skip
    run = simulate(model, 0.2, warm_up_s=0.05)
    through = (run.messages_put + run.messages_got) / 2 / run.seconds
    assert processors / 100e-6 == pytest.approx(through, rel=0.01)
    assert "processors" == run.bottleneck


def test_group_commit_serves_all_that_wait_in_one_turn():
    """Many putters without CPU: every turn of 2 x 0.5 ms serves all of them."""
    run = simulate(Model(message_bytes=1000, putters=40, getters=0, log_io_ms=0.5, buffers=1_000_000, **FREE), 1)
    assert 40 == pytest.approx(run.forces_per_turn, rel=0.01)
    assert 40 * 1000 == pytest.approx(run.puts_per_s, rel=0.01)
    assert "log" == run.bottleneck


# --- applications that write the log themselves (E10) -----------------------------------------------------------------

ENGINE = {
    "message_bytes": 1000, "getters": 0, "put_cpu_us": 20, "commit_cpu_us": 60, "turn_cpu_us": 100, "leads_max": 8,
    "processors": 1, "log_io_ms": 0.2, "current_io_times": 1, "buffers": 1_000_000,
}  # fmt: skip


def test_one_application_has_nobody_to_go_on_for():
    """80 us of CPU and a write of 200 us."""
    assert 1000 / 0.28 == pytest.approx(simulate(Model(**ENGINE), 2).puts_per_s, rel=0.001)


def test_two_applications_take_turns_and_share_no_force():
    """One puts and leads for itself, goes on, and leads for the other: 80 + 200 + 100 + 200 us for two units."""
    run = simulate(Model(**ENGINE, putters=2), 2, warm_up_s=0.1)
    assert 2 * 1000 / 0.58 == pytest.approx(run.puts_per_s, rel=0.005)
    assert 1 == pytest.approx(run.forces_per_turn, rel=0.01)


@pytest.mark.parametrize(("applications", "unit"), [(4, 1), (8, 1), (16, 1), (4, 10), (8, 10), (4, 100)])
def test_one_leads_for_itself_and_then_once_for_all_others(applications, unit):
    """Its write is over before they have put, but the processor is theirs: it comes back when all of them wait.

    So all units in series, one turn, and one write that all but one of them share.
    """
    run = simulate(Model(**ENGINE, putters=applications, messages_per_commit=unit), 2, warm_up_s=0.1)
    cycle_ms = applications * (20 * unit + 60) / 1000 + 0.1 + 0.2
    assert applications * unit * 1000 / cycle_ms == pytest.approx(run.puts_per_s, rel=0.01)
    assert applications / 2 == pytest.approx(run.forces_per_turn, rel=0.01)


def test_a_force_that_is_shared_is_not_paid_by_each():
    """The same costs in every unit's commit: sixteen applications do half of what they do when they share them."""
    shared = simulate(Model(**ENGINE, putters=16), 1).puts_per_s
    each = simulate(Model(**{**ENGINE, "commit_cpu_us": 160, "turn_cpu_us": 0}, putters=16), 1).puts_per_s
    assert each < 0.6 * shared


@pytest.mark.parametrize("leads_max", [1, 2, 8])
def test_who_leads_is_held_for_so_many_turns_while_others_come(leads_max):
    """Somebody comes in every turn: a write and going on, 300 us. Who leads may have waited for one before."""
    model = Model(**{**ENGINE, **FREE, "commit_cpu_us": 0, "leads_max": leads_max}, arrivals_per_s=20_000)
    longest_ms = max(simulate(model, 0.5).put_ms)
    assert leads_max * 0.3 - 1e-9 <= longest_ms <= (leads_max + 1) * 0.3 + 1e-9


# --- laws -------------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    putters=st.integers(1, 8),
    getters=st.integers(0, 8),
    persistent=st.booleans(),
    commit=st.integers(1, 20),
    message_bytes=st.integers(0, 20_000),
    buffers=st.integers(4000, 20_000),
)
def test_no_message_is_lost_or_made(putters, getters, persistent, commit, message_bytes, buffers):
    model = Model(
        message_bytes=message_bytes, persistent=persistent, messages_per_commit=commit, putters=putters,
        getters=getters, buffers=buffers, put_cpu_us=200, get_cpu_us=200,
    )  # fmt: skip
    run = simulate(model, 0.2)
    assert run.messages_put_in_all == run.messages_got_in_all + run.messages_on_queue
    assert run.messages_on_queue >= 0
    assert run.messages_put_in_all % commit == 0
    assert all(0 <= share <= 1 + 1e-9 for share in run.busy.values())
    if getters == 0:
        assert 0 == run.messages_got_in_all


def test_one_getter_keeps_up_with_half_of_what_it_can():
    """A get takes 1.65 ms: at 300/s all arrive at the other side, and none sooner than that."""
    model = Model(message_bytes=1000, arrivals_per_s=300, getters=1, put_cpu_us=10, get_cpu_us=50, log_io_ms=0.8)
    run = simulate(model, 30, warm_up_s=2)
    assert 300 == pytest.approx(run.messages_per_s, rel=0.05)
    assert min(run.on_queue_ms) >= 0.05 + 1.6 - 1e-9


def test_more_putters_never_put_less():
    rates = [
        simulate(Model(message_bytes=1000, putters=count, getters=0, put_cpu_us=100), 0.5).puts_per_s
        for count in (1, 2, 4, 8, 32)
    ]
    assert rates == sorted(rates)


def test_a_slower_log_never_puts_more_and_never_answers_sooner():
    runs = [
        simulate(Model(message_bytes=1000, putters=6, getters=2, log_io_ms=io_ms), 1) for io_ms in (0.2, 0.5, 1.0, 3.0)
    ]
    rates = [run.puts_per_s for run in runs]
    means = [run.put_times.mean_ms for run in runs]
    assert rates == sorted(rates, reverse=True)
    assert means == sorted(means)


def test_one_log_copy_is_faster_than_two():
    one, two = (
        simulate(Model(message_bytes=1000, getters=0, current_io_times=times), 3).puts_per_s for times in (1, 2)
    )
    assert one > two


def test_where_the_bottleneck_moves():
    """The log with a few putters; the processors once CPU is dear; nobody when there is little to do."""
    assert "log" == simulate(Model(message_bytes=1000, putters=8, getters=4), 2).bottleneck
    dear = Model(message_bytes=1000, putters=60, getters=30, put_cpu_us=2000, get_cpu_us=2000, processors=2)
    assert "processors" == simulate(dear, 2).bottleneck
    assert "applications" == simulate(Model(message_bytes=1000, arrivals_per_s=20), 5).bottleneck


def test_the_same_seed_gives_the_same_run_and_another_another():
    model = Model(message_bytes=1000, arrivals_per_s=500)
    first, again, other = (simulate(model, 2, seed=seed).put_ms for seed in (1, 1, 2))
    assert first == again
    assert first != other


# --- pages ------------------------------------------------------------------------------------------------------------


def test_a_backlog_beyond_the_pool_is_written_and_nothing_is_read_while_nobody_gets():
    run = simulate(Model(message_bytes=1000, getters=0, buffers=1000, putters=8, log_io_ms=0.1), 0.5)
    assert run.pages_written_deferred > 0
    assert 0 == run.pages_read


@pytest.mark.parametrize("putters", [1, 4, 30])
def test_every_page_beyond_the_pool_was_written_by_somebody(putters):
    """E4: nobody gets, and 20 buffers hold 20 pages: the others are on the page set."""
    model = Model(message_bytes=1000, persistent=False, getters=0, putters=putters, buffers=20, page_write_ms=20)
    run = simulate(model, 1)
    assert run.messages_put_in_all - 20 <= run.pages_written_deferred + run.pages_written_synchronously


def test_getters_that_fall_behind_read_what_was_stolen():
    slow = Model(message_bytes=1000, putters=8, getters=1, buffers=1000, log_io_ms=0.1, get_cpu_us=5000)
    assert simulate(slow, 0.5).pages_read > 0


def test_getters_that_keep_up_read_nothing():
    """P5: with 15 % free at the peak, no page is read back."""
    run = simulate(Model(message_bytes=1000, arrivals_per_s=400, getters=4, buffers=5000), 5)
    assert 0 == run.pages_read == run.pages_written_synchronously


def test_slow_page_writes_turn_synchronous():
    model = Model(
        message_bytes=1000, putters=20, getters=0, buffers=1000, log_io_ms=0.05, page_write_ms=50, page_ios_at_once=1
    )
    run = simulate(model, 3)
    assert run.pages_written_synchronously > 0
    assert "page I/O" == run.bottleneck


@settings(max_examples=100)
@given(st.lists(st.sampled_from(["put", "get", "write"]), max_size=200), st.integers(1, 5))
def test_a_pool_accounts_for_every_buffer(steps, pages):
    pool, live = Pool(100), []
    for step in steps:
        if step == "put":
            unit = StoredUnit(pages, 0.0)
            if pool.take(unit):
                live.append(unit)
        elif step == "get" and live:
            pool.release(live.pop(0))
        elif step == "write":
            pool.write_oldest()
        held = [sum(unit.pages for unit in some) for some in (pool.changed, pool.unchanged)]
        assert 100 == pool.unused + sum(held)
        assert pool.stealable == pool.unused + held[1]


# --- figures and refusals ---------------------------------------------------------------------------------------------


def test_percentiles_by_the_nearest_rank():
    found = percentiles([float(n) for n in range(1, 101)])
    assert (50, 90, 99, 50.5) == (found.p50_ms, found.p90_ms, found.p99_ms, found.mean_ms)
    assert 7.0 == percentiles([7.0]).p99_ms


def test_busy_counts_only_the_measured_stretch():
    busy = Busy(1, 10, 20)
    busy.add(12, 5)  # 7 to 12: two of them count
    busy.add(25, 10)  # 15 to 25: five of them count
    assert 0.7 == pytest.approx(busy.share)


def test_a_run_in_which_nothing_ends_has_no_percentiles():
    with pytest.raises(OutOfRangeError, match="no unit of work ended"):
        _ = simulate(Model(message_bytes=1000, log_io_ms=5000), 1).put_times


@pytest.mark.parametrize(
    ("wrong", "valid"),
    [
        ({"log_io_ms": 0}, "log_io_ms 0 is not valid: more than 0"),
        ({"message_bytes": -1}, "message_bytes -1 is not valid: 0 or more"),
        ({"putters": 0}, "putters 0 is not valid: 1 or more, or arrivals_per_s"),
        ({"arrivals_per_s": 0}, "arrivals_per_s 0 is not valid: more than 0"),
        ({"buffers": 19}, "buffers 19 is not valid: 20 or more"),
        ({"processors": 0}, "processors 0 is not valid: 1 or more"),
        ({"put_cpu_us": math.nan}, "put_cpu_us nan is not valid: 0 or more"),
        ({"current_io_times": 3}, "current_io_times 3 is not valid: 1 to 2"),
    ],
)
def test_what_cannot_be_is_refused(wrong, valid):
    with pytest.raises(OutOfRangeError, match=valid):
        Model(**{"message_bytes": 1000, **wrong})


@pytest.mark.parametrize(
    ("model", "units_per_s"),
    [
        ({"arrivals_per_s": 1_000.0, "messages_per_commit": 10}, 100),
        ({"put_cpu_us": 100, "commit_cpu_us": 50, "messages_per_commit": 4, "persistent": False}, 3 * 1e6 / 450),
        ({"putters": 6, "log_io_ms": 2, **FREE}, 6 * 1e3 / 4),
        ({"putters": 6, "log_io_ms": 2, "log_io_samples_ms": (1.0, 3.0), **FREE}, 6 * 1e3 / 2),
        ({"putters": 10**6}, 3 * 1e6 / 30),
    ],
)
def test_no_more_is_played_than_somebody_waits_for(model, units_per_s):
    """E11: what arrives, or what CPU and log let through, over the time that is asked for."""
    made = Model(message_bytes=100, **model)
    assert units_per_s == pytest.approx(made.units_per_s_max)
    with pytest.raises(OutOfRangeError, match=r"units of work are not valid: 10,000,000 or less; simulate shorter"):
        simulate(made, 1.001e7 / units_per_s)


def test_a_simulation_takes_some_time():
    with pytest.raises(OutOfRangeError, match="seconds 0 is not valid: more than 0"):
        simulate(Model(message_bytes=1), 0)


# --- channels (E8) ----------------------------------------------------------------------------------------------------


def channel_model(**changes):
    made = {"message_bytes": 1000, "arrivals_per_s": 200, "getters": 0, "channels": 1, "log_io_ms": 0.2}
    return Model(**{**made, **changes})


def test_a_channel_carries_what_arrives():
    run = simulate(channel_model(), 10, warm_up_s=1)
    assert 200 == pytest.approx(run.messages_per_s, rel=0.1)
    assert 0 < run.busy["channels"] < 1


def test_a_slow_network_makes_batches_longer_until_they_are_full():
    """One round trip a batch: at 50 ms, 20 batches a second of at most 50 messages."""
    near, far = (simulate(channel_model(network_ms=ms), 4, warm_up_s=1) for ms in (1, 50))
    assert near.batches > 3 * far.batches
    flooded = simulate(channel_model(network_ms=50, arrivals_per_s=2_000), 3, warm_up_s=1)
    assert "channels" == flooded.bottleneck
    assert flooded.messages_per_s < 50 * 1000 / 50


def test_more_channels_never_carry_less():
    model = channel_model(network_ms=50, arrivals_per_s=2_500)
    carried = [simulate(replace(model, channels=n), 1.5, warm_up_s=0.5).messages_per_s for n in range(1, 5)]
    for fewer, more in pairwise(carried):
        assert more >= 0.98 * fewer


def test_messages_wait_for_the_end_of_their_batch():
    run = simulate(channel_model(network_ms=20, arrivals_per_s=500), 10, warm_up_s=1)
    assert run.on_queue_times.p50_ms > 20


def test_no_message_is_lost():
    run = simulate(channel_model(getters=1, channels=2), 10)
    assert run.messages_put_in_all == run.messages_got_in_all + run.messages_on_queue
    assert 0 <= run.messages_on_queue < 100


def test_log_times_drawn_from_samples_spread_the_put_times():
    even = Model(message_bytes=1000, arrivals_per_s=100, log_io_ms=0.5, current_io_times=1)
    spread = replace(even, log_io_samples_ms=(0.2,) * 98 + (15.2,) * 2)  # the same mean
    calm, rough = (simulate(model, 20, warm_up_s=1).put_times for model in (even, spread))
    assert rough.p50_ms < calm.p50_ms
    assert rough.p99_ms > 3 * calm.p99_ms


@pytest.mark.parametrize(
    ("wrong", "valid"),
    [
        ({"channels": -1}, "channels -1 is not valid: 0 or more"),
        ({"batch_messages": 0}, "batch_messages 0 is not valid: 1 or more"),
        ({"log_io_samples_ms": (1.0, 0.0)}, "log_io_sample_ms 0 is not valid: more than 0"),
        ({"commit_cpu_us": -1}, "commit_cpu_us -1 is not valid: 0 or more"),
        ({"turn_cpu_us": -1, "leads_max": 1}, "turn_cpu_us -1 is not valid: 0 or more"),
        ({"turn_cpu_us": 1}, "turn_cpu_us is for applications that write the log: leads_max 1 or more"),
        ({"leads_max": -1}, "leads_max -1 is not valid: 0 or more"),
    ],
)
def test_channels_and_samples_that_cannot_be_are_refused(wrong, valid):
    with pytest.raises(OutOfRangeError, match=valid):
        channel_model(**wrong)
