"""The simulator's parts by hand: how long a log write takes, who leads, and what a pool gives away (S1 to S6)."""

import pytest
import simpy

from quaestor.planner.simulation_parts import Busy, Logger, Pool, StoredUnit
from quaestor.planner.simulator import Model, _Play, simulate

PAGE = 4096
ONE_MS, MANY_MS = 0.5, 3.04  # one page, and 128: 0.02 ms for each page more


def logger(env, *, current=2, group_commit=True, leads_max=0, turn_ms=0.0):
    def go_on():
        yield env.timeout(turn_ms)

    return Logger(
        env,
        Busy(1, 0, 1_000),
        io_ms=lambda: ONE_MS,
        many_pages_io_ms=MANY_MS,
        current_io_times=current,
        group_commit=group_commit,
        leads_max=leads_max,
        go_on=go_on,
    )


# --- the log ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log_bytes", "current", "took_ms"),
    [
        (0, 2, 2 * 0.5),  # the current buffer alone, twice under dual logging
        (PAGE - 1, 2, 2 * 0.5),
        (PAGE - 1, 1, 0.5),
        (PAGE, 2, 0.5 + 2 * 0.5),  # a full page, then the current buffer
        (2 * PAGE, 2, 0.52 + 2 * 0.5),
        (64 * PAGE, 2, 1.76 + 2 * 0.5),
        (128 * PAGE, 2, 3.04 + 2 * 0.5),  # as many as one I/O takes
        (129 * PAGE, 2, 3.04 + 0.5 + 2 * 0.5),  # one more is an I/O of one page
        (130 * PAGE, 1, 3.04 + 0.52 + 0.5),
        (256 * PAGE, 1, 2 * 3.04 + 0.5),
        (257 * PAGE + 100, 1, 2 * 3.04 + 0.5 + 0.5),
    ],
)
def test_a_log_write_is_its_full_pages_and_then_the_current_buffer(log_bytes, current, took_ms):
    """S5, L2, L5 [4726]: up to 128 pages go out in one I/O, by the straight line between one page and 128."""
    assert took_ms == pytest.approx(logger(simpy.Environment(), current=current).write_ms(log_bytes))


@pytest.mark.parametrize(("pages", "took_ms"), [(0, 20), (1, 30), (128, 30), (256, 40)])
def test_many_pages_are_not_written_sooner_than_one(pages, took_ms):
    """S5: where one page takes 10 ms, 128 take no less, whatever is said of them."""
    slow = logger(simpy.Environment())
    slow.io_ms = lambda: 10.0
    assert took_ms == pytest.approx(slow.write_ms(pages * PAGE))


def ends(leads_max=0, *, group_commit=True, at=(0, 0.1, 0.2, 0.3), turn_ms=0.0):
    """When each of those that force at these times goes on; each force writes one current buffer of 1 ms."""
    env = simpy.Environment()
    log = logger(env, group_commit=group_commit, leads_max=leads_max, turn_ms=turn_ms)
    found = {}

    def application(name, begins):
        yield env.timeout(begins)
        yield log.force(100)
        found[name] = env.now

    env.process(log.work())
    for name, begins in enumerate(at):
        env.process(application(name, begins))
    env.run(until=100)
    return [pytest.approx(found[name]) for name in sorted(found)], log


def test_one_turn_serves_the_first_and_the_next_all_that_came_meanwhile():
    """S1: the first begins at once; three wait for its end and share the second turn."""
    found, log = ends()
    assert found == [1, 2, 2, 2]
    assert (2, 4) == (log.turns, log.forces)
    assert 0.002 == pytest.approx(log.busy.share)


def test_without_group_commit_each_has_a_turn_of_its_own():
    found, log = ends(group_commit=False)
    assert found == [1, 2, 3, 4]
    assert (4, 4) == (log.turns, log.forces)


def test_who_leads_is_held_until_nobody_waits():
    """S6: the first leads; it goes on for those that came meanwhile, and is served with the last of them."""
    found, log = ends(leads_max=5)
    assert found == [2, 2, 2, 2]
    assert (2, 4) == (log.turns, log.forces)


def test_who_leads_is_let_go_after_so_many_turns():
    """S6 with one turn: the first leads for itself; one of the three that wait leads the second turn."""
    found, _ = ends(leads_max=1)
    assert found == [1, 2, 2, 2]


@pytest.mark.parametrize(("leads_max", "first"), [(1, 1), (2, 2), (3, 3), (4, 4), (9, 4)])
def test_the_leader_of_a_steady_stream(leads_max, first):
    """One more comes in every turn, four in all: the first is held for as many turns as it may lead."""
    found, log = ends(leads_max=leads_max, at=(0, 0.5, 1.5, 2.5))
    assert first == found[0].expected
    assert 4 == log.forces


def test_nobody_is_served_before_the_leader_has_a_processor():
    """S6: 0.25 ms of a processor after every I/O, once for all."""
    found, _ = ends(leads_max=9, turn_ms=0.25, at=(0, 0.1))
    assert found == [2.5, 2.5]


# --- the pool ---------------------------------------------------------------------------------------------------------


def units(*pages):
    return [StoredUnit(each, 0.0) for each in pages]


def states(pool):
    return pool.unused, sum(u.pages for u in pool.unchanged), sum(u.pages for u in pool.changed), pool.stealable


def test_buffers_are_taken_written_stolen_and_released():
    """S2, S3: ten buffers; stealable are those unused, and those written that nobody took since."""
    pool, (a, b, c) = Pool(10), units(4, 4, 4)
    assert pool.take(a)
    assert (6, 0, 4, 6) == states(pool)
    assert pool.take(b)
    assert (2, 0, 8, 2) == states(pool)
    assert not pool.take(c), "two are unused, and none is written"
    assert (2, 0, 8, 2) == states(pool)
    pool.written(a)
    assert (2, 4, 4, 6) == states(pool)
    assert pool.take(c), "the buffers of a are stolen"
    assert (2, 0, 8, 2) == states(pool)
    assert [True, False, False] == [pool.stolen(each) for each in (a, b, c)]
    pool.release(a)
    assert (2, 0, 8, 2) == states(pool), "those of a stolen unit were somebody else's already"
    pool.release(b)
    assert (6, 0, 4, 6) == states(pool)


def test_the_oldest_are_stolen_first_and_no_more_than_are_needed():
    pool, (a, b, c, d) = Pool(9), units(3, 3, 3, 4)
    for each in (a, b, c):
        pool.take(each)
    for each in (b, a, c):
        pool.written(each)
    assert (0, 9, 0, 9) == states(pool)
    assert pool.take(d)
    assert [False, True, True] == [pool.stolen(each) for each in (c, a, b)], "b was written first, then a"
    assert (2, 3, 4, 5) == states(pool)


def test_a_unit_is_written_once():
    pool, (a,) = Pool(10), units(4)
    pool.take(a)
    pool.written(a)
    pool.written(a)
    assert (6, 4, 0, 10) == states(pool)


@pytest.mark.parametrize(
    ("pages", "written", "left"),
    [
        ((4, 4, 4, 4, 4), 16, 1),  # an I/O takes 16 pages: four units
        ((5, 5, 5, 5, 5), 20, 1),  # a unit is written whole
        ((20, 1), 20, 1),
        ((1, 1), 2, 0),
        ((), 0, 0),
    ],
)
def test_one_write_takes_the_oldest_up_to_an_io(pages, written, left):
    """M-24 [1020-1022]: 16 pages an I/O."""
    pool = Pool(100)
    for each in units(*pages):
        pool.take(each)
    assert written == pool.write_oldest()
    assert left == len(pool.changed)


@pytest.mark.parametrize(
    ("taken", "short", "critical", "enough"),
    [
        (75, False, False, True),
        (76, False, False, False),
        (85, False, False, False),
        (86, True, False, False),
        (95, True, False, False),
        (96, True, True, False),
    ],
)
def test_where_deferred_write_begins_and_ends_in_a_pool_of_100(taken, short, critical, enough):
    """[4571-4573]: below 15 % stealable it starts, at 25 % it stops, below 5 % applications write themselves."""
    pool = Pool(100)
    pool.take(StoredUnit(taken, 0.0))
    assert (short, critical, enough) == (pool.is_short, pool.is_critical, pool.has_enough)


@pytest.mark.parametrize(
    ("ended", "took", "share"), [(10, 10, 0), (15, 5, 0.5), (15, 10, 0.5), (20, 10, 1), (25, 10, 0.5), (40, 40, 1)]
)
def test_busy_time_within_the_measured_stretch(ended, took, share):
    """S4: measured from 10 to 20."""
    busy = Busy(1, 10, 20)
    busy.add(ended, took)
    assert share == busy.share
    assert share / 4 == Busy(4, 10, 20, busy.spent_ms).share


# --- whole runs that can be followed by hand --------------------------------------------------------------------------

ALONE = {"message_bytes": 1_000, "getters": 0, "processors": 4, "commit_cpu_us": 0.0}


def test_a_put_takes_its_cpu_and_then_its_force():
    """E1, E2: ten messages of 20 us, 300 us for the unit, then two I/O times of 0.5 ms: 1.5 ms, 666 times a second."""
    run = simulate(Model(**ALONE | {"commit_cpu_us": 300.0}, put_cpu_us=20, messages_per_commit=10, log_io_ms=0.5), 1.0)
    assert 1.5 == pytest.approx(run.put_times.mean_ms)
    assert 1.5 == pytest.approx(run.put_times.p99_ms)
    assert (6_660, 666, 6_660) == (run.messages_put, run.log_turns, run.messages_on_queue)
    assert 1 == run.forces_per_turn
    assert 0.5 / 1.5 / 4 == pytest.approx(run.busy["processors"], rel=0.01)
    assert 1 / 1.5 == pytest.approx(run.busy["log"], rel=0.01)


def test_a_run_without_forces_served_none():
    run = simulate(Model(**ALONE, persistent=False, put_cpu_us=1_000), 1.0)
    assert (0, 0, 0.0) == (run.log_turns, run.log_forces, run.forces_per_turn)


def test_the_warm_up_counts_in_all_and_nowhere_else():
    """A put a millisecond: one second of warm-up and half a second that is measured, its first moment included."""
    run = simulate(Model(**ALONE, persistent=False, put_cpu_us=1_000, putters=1), 0.5, warm_up_s=1.0)
    assert 1_499 <= run.messages_put_in_all <= 1_500
    assert 499 <= run.messages_put <= 501
    assert 1_000 == pytest.approx(run.puts_per_s, rel=0.01)
    assert run.messages_put == len(run.put_ms)


@pytest.mark.parametrize(("network_ms", "commit_us"), [(0.25, 0.0), (0.25, 50.0), (0.0, 50.0)])
def test_a_channel_that_keeps_up_sends_batches_of_one(network_ms, commit_us):
    """E8: a message a millisecond; CPU of 100 us, the network, the commit of the batch; then the next is waited for."""
    model = Model(
        **ALONE | {"commit_cpu_us": commit_us},
        persistent=False,
        put_cpu_us=1_000,
        channels=1,
        channel_cpu_us=100,
        network_ms=network_ms,
    )
    run = simulate(model, 1.0)
    each_ms = 0.1 + network_ms + commit_us / 1_000
    assert each_ms == pytest.approx(run.on_queue_times.p50_ms)
    assert each_ms == pytest.approx(run.on_queue_times.mean_ms)
    assert run.batches == run.messages_got_in_all
    assert run.batches >= 940
    assert each_ms / (1 + commit_us / 1_000) == pytest.approx(run.busy["channels"], rel=0.02)


def test_a_batch_is_committed_once_and_its_messages_together():
    """E8: 100 messages lie there; batches of 10 take 10 x 100 us, 0.5 ms of network and 0.5 ms of commit: 2 ms each."""
    play = _Play(
        Model(
            **ALONE | {"commit_cpu_us": 500.0},
            persistent=False,
            channels=1,
            channel_cpu_us=100,
            batch_messages=10,
            network_ms=0.5,
        ),
        0.0,
        1.0,
        1,
    )
    for _ in range(100):
        unit = StoredUnit(1, 0.0)
        play.pool.take(unit)
        play.queue.put(unit)
    play.env.process(play._channel())
    play.env.run(until=100)
    assert 10 == play.run.batches
    assert [2.0 * batch for batch in range(1, 11) for _ in range(10)] == pytest.approx(play.run.on_queue_ms)


def test_pages_that_were_stolen_are_read_one_after_the_other():
    """E5: three pages of 0.25 ms, and none for what is still in its buffers."""
    play = _Play(Model(message_bytes=10_000, page_read_ms=0.25), 0.0, 1.0, 1)
    kept, stolen = units(3, 3)
    play.pool.take(kept)
    times = []

    def read(unit):
        yield from play._read(unit)
        times.append(play.env.now)

    for each in (kept, stolen):
        play.env.process(read(each))
    play.env.run(until=10)
    assert [0, 0.75] == times
    assert 3 == play.run.pages_read
