"""The parts of a synthetic dump, one by one: costs, rhythm, ledger, sheets, conditions, shares of a pool."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.clock import tod_from_us, tod_interval
from quaestor.smf.catalog import CATALOG
from quaestor.smf.records import unpack_record
from quaestor.smf.sections.buffer import BufferStatistics
from quaestor.smf.sections.lock import LockStatistics
from quaestor.smf.sections.message import MessageStatistics
from quaestor.smf.synth import buffer_pools, channels, costs, generate, log_work
from quaestor.smf.synth.incidents import Conditions, active_intervals
from quaestor.smf.synth.ledger import Ledger
from quaestor.smf.synth.profile import Incident, QueueManager, Rhythm
from quaestor.smf.synth.profile_file import load_profile
from quaestor.smf.synth.rhythm import factors, stream
from quaestor.smf.synth.sheet import Sheet, Templates, tod, tod_units
from quaestor.smf.writer import Interval, RecordIdentity, build_record

SMALL = load_profile("small")
MANAGER = SMALL.queue_managers[0]
NOW = QueueManager("QM01", "SYSA")
OLD = QueueManager("QM01", "SYSA", "5.2")


def with_incident(kind, name="", *, hours=(0, 24), severity=1.0, day=0, profile=SMALL):
    incident = Incident(kind, MANAGER.name, name, day, *hours, severity)
    return replace(profile, incidents=(incident,))


def conditions(kind, name="", **options):
    return Conditions(with_incident(kind, name, **options), MANAGER, 0)


# --- costs: the papers' numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "logged"),
    [(1000, 2300), (10_000, 11_750), (500, 1800), (5000, 6600), (30_000, 32_500), (100_000, 105_050)],
)
def test_log_bytes_of_a_put_and_get(size, logged):
    """MP16 F-13 with headers of 300 bytes: ORACLE 12's column, to the byte."""
    total = costs.log_bytes_of_put((size,)) + costs.log_bytes_of_get((size,))
    assert [logged] == total.tolist()


@pytest.mark.parametrize(
    ("size", "share"), [(0, 500), (10_240, 500), (102_400, 1300), (56_320, 900), (1_000_000, 1300)]
)
def test_the_share_of_the_get_rises_from_10_kb_to_100(size, share):
    assert [share] == costs.log_bytes_of_get((size,)).tolist()


@pytest.mark.parametrize(
    ("size", "pages"), [(0, 1), (3796, 1), (3797, 2), (7892, 2), (7893, 3), (100_000, 25), (4_194_304, 1025)]
)
def test_a_message_with_its_headers_takes_whole_pages(size, pages):
    assert [pages] == costs.pages_of((size,)).tolist()


@pytest.mark.parametrize(("size", "elements"), [(0, 2), (140, 2), (141, 3), (1024, 6), (64_512, 254)])
def test_elements_in_a_structure(size, elements):
    """MP1B F-35: bytes + 372 in elements of 256."""
    assert [elements] == costs.elements_of((size,)).tolist()


@pytest.mark.parametrize(
    ("manager", "size", "requests"),
    [
        (NOW, 1000, (3, 1, 4)),
        (NOW, 5000, (6, 2, 8)),
        (OLD, 1900, (2.5, 0.5, 2.5)),  # two short messages share a page before V6
        (OLD, 1901, (3, 1, 4)),
        (OLD, 5000, (6, 2, 8)),
    ],
)
def test_pages_of_a_put(manager, size, requests):
    """Get page, get new page, set write (costs C4)."""
    assert requests == tuple(each.tolist()[0] for each in costs.pages_of_puts(manager, (size,)))


def test_pages_of_a_get():
    assert [[2, 3], [1, 2]] == [each.tolist() for each in costs.pages_of_gets((1000, 5000))]


def test_cpu_of_calls_is_that_of_the_sample_within_a_tenth():
    """MP1B ORACLE 42: a put takes 149 us, and 2 us for each KB, on a machine of factor 1."""
    calls = np.full(1000, 10)
    used = costs.cpu_us("put", calls, 10 * 1024.0, replace(NOW, cpu_factor=1.0), np.random.default_rng(1))
    usual = 10 * 149 + 20
    assert 0.9 * usual <= used.min() < used.max() <= 1.1 * usual
    assert used.mean() == pytest.approx(usual, rel=0.01)
    half = costs.cpu_us("put", calls, 10 * 1024.0, replace(NOW, cpu_factor=0.5), np.random.default_rng(1))
    assert np.allclose(used / 2, half)


# --- rhythm ----------------------------------------------------------------------------------------------------------


def middles(rhythm, **changes):
    """Factors without chance: the mean over many draws of one day."""
    profile = replace(SMALL, interval_minutes=60, **changes)
    drawn = [factors(profile, rhythm, 0, stream(profile, "draw", number)) for number in range(200)]
    return np.mean(drawn, axis=0)


def test_an_hour_s_factor_is_that_of_its_middle():
    """Y1: intervals of an hour have the factors of the hours themselves, the day closes on itself."""
    hours = tuple(1.0 + hour / 10 for hour in range(24))
    profile = replace(SMALL, start=date(2026, 3, 2))
    assert np.allclose(middles(Rhythm("r", hours), start=profile.start), hours, rtol=0.01)


def test_half_hours_lie_on_the_line_between_hours():
    profile = replace(SMALL, interval_minutes=30)
    hours = (10.0, 20.0) * 12
    drawn = [factors(profile, Rhythm("r", hours), 0, stream(profile, number)) for number in range(200)]
    quarter_to, quarter_past = np.mean(drawn, axis=0)[1:3]  # 00:45 and 01:15
    assert (quarter_to, quarter_past) == (pytest.approx(12.5, rel=0.01), pytest.approx(17.5, rel=0.01))


@pytest.mark.parametrize(("day", "factor"), [(0, 1.0), (7, 1.1), (14, 1.21), (3, 1.1 ** (3 / 7)), (7000, 10.0)])
def test_growth_is_compound_per_week_and_ends_at_ten_times(day, factor):
    """Y2."""
    flat = Rhythm("flat")
    still, grown = (
        factors(replace(SMALL, growth_percent_per_week=percent), flat, day, stream(SMALL, "same"))
        for percent in (0.0, 10.0)
    )
    assert np.allclose(grown / still, factor)


def test_single_intervals_lie_at_most_four_per_cent_off_the_rhythm():
    found = factors(SMALL, Rhythm("flat"), 0, stream(SMALL, "x"))
    assert 0.96 <= found.min() < 1 < found.max() <= 1.04


def test_a_stream_depends_on_seed_and_names_and_their_order():
    """Y3."""
    other = replace(SMALL, seed=SMALL.seed + 1)
    drawn = [
        stream(profile, *names).integers(2**60)
        for profile, names in ((SMALL, ("a", "b")), (SMALL, ("b", "a")), (SMALL, ("a",)), (other, ("a", "b")))
    ]
    assert 4 == len(set(drawn))
    assert drawn[0] == stream(SMALL, "a", "b").integers(2**60)


# --- ledger ----------------------------------------------------------------------------------------------------------

ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(["queue", "task"]),
        st.sampled_from(["A", "B"]),
        st.sampled_from(["puts", "gets"]),
        st.integers(0, 3),
        st.integers(0, 10**9),
    ),
    max_size=30,
)


@given(ENTRIES)
def test_a_ledger_is_the_sum_of_what_was_entered(entries):
    ledger, model = Ledger(4), {}
    for group, name, figure, interval, value in entries:
        ledger.enter(group, name, {figure: np.array([value])}, np.array([interval]))
        model.setdefault((group, name, figure), [0] * 4)[interval] += value
    for group in ("queue", "task"):
        for figures in (("puts",), ("gets",), ("puts", "gets")):
            each = {
                name: [sum(model.get((group, name, f), [0] * 4)[n] for f in figures) for n in range(4)]
                for name in ("A", "B")
            }
            assert all(each[name] == ledger.sum(group, name, *figures).tolist() for name in each)
            assert [a + b for a, b in zip(each["A"], each["B"], strict=True)] == ledger.total(group, *figures).tolist()
    assert list(dict.fromkeys(name for group, name, *_ in entries if group == "queue")) == ledger.names("queue")


def test_many_tasks_of_one_interval_are_one_sum():
    ledger = Ledger(3)
    ledger.enter("queue", "Q", {"puts": np.array([1, 2, 4, 8])}, np.array([0, 2, 2, 0]))
    assert [9, 0, 6] == ledger.sum("queue", "Q", "puts").tolist()
    assert [0, 0, 0] == ledger.sum("queue", "Q", "nothing").tolist() == ledger.total("nobody", "puts").tolist()


# --- sheets ----------------------------------------------------------------------------------------------------------

IDENTITY = RecordIdentity("SYSA", "QM01", "10.0.0", zone_minutes=90)
MIDNIGHT_US = 1_772_409_600_000_000  # 2026-03-02 00:00 UTC


def test_a_sheet_is_filled_column_by_column():
    """Rows as the writer makes them, but for the columns that were set (S1, S2)."""
    pools = build_record(CATALOG[115, 215], [BufferStatistics(), BufferStatistics()], IDENTITY, 0)
    locks = build_record(CATALOG[115, 2], [LockStatistics()], IDENTITY, 0, interval=Interval(1, 5))
    sheet = Sheet([pools, locks], 3)
    assert (3, [0, len(pools)]) == (len(sheet), sheet.starts.tolist())
    sheet.fill("QPST", {"get_page": np.array([1, 2, 3]), "no_such_column": 5})
    sheet.fill("QPST", {"get_page": 9}, occurrence=1)
    sheet.fill("QPST", {"get_page": 7}, occurrence=2)  # there is none
    sheet.fill("QMST", {"opens": 7})
    sheet.fill("QLST", {"lock_gets": np.array([4, 5, 6])})
    for row in range(3):
        data = sheet.data[row].tobytes()
        first, second = unpack_record(data[: len(pools)]), unpack_record(data[len(pools) :])
        assert [row + 1, 9] == [pool.get_page for pool in first.sections["QPST"]]
        assert (["QLST"], row + 4) == ([*second.sections], second.sections["QLST"][0].lock_gets)


def test_a_sheet_is_stamped_with_local_time_and_utc():
    """S3: one moment, three clocks; the day changes where the local one does."""
    sheet = Sheet([build_record(CATALOG[115, 2], [MessageStatistics()], IDENTITY, 0)], 2)
    when = np.array([MIDNIGHT_US + 22 * 3_600_000_000, MIDNIGHT_US + 22 * 3_600_000_000 + 30 * 60_000_000 + 10_000])
    sheet.stamp(when, IDENTITY)
    sheet.stamp_interval(when - 1_800_000_000, IDENTITY)
    for row, moment in enumerate(when.tolist()):
        whole = build_record(
            CATALOG[115, 2], [MessageStatistics()], IDENTITY, moment, interval=Interval(moment - 1_800_000_000, 1)
        )
        made, expected = unpack_record(sheet.data[row].tobytes()), unpack_record(whole)
        assert (expected.local_time, expected.utc_time, expected.zone) == (made.local_time, made.utc_time, made.zone)
        assert expected.headers.common.interval_start_local == made.headers.common.interval_start_local


def test_a_template_is_built_once():
    built, templates = [], Templates()
    for name in ("a", "b", "a"):
        templates.get(name, lambda: built.append(1) or [b"x"])
    assert 2 == len(built)


def test_tod_of_many_is_tod_of_each():
    moments = np.array([0, MIDNIGHT_US, 1])
    assert [tod_from_us(each) for each in moments.tolist()] == tod(moments).tolist()
    assert [tod_interval(each) for each in (0, 0.5, 1e6)] == tod_units(np.array([0, 0.5, 1e6])).tolist()


# --- conditions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "hours", "active"),
    [
        (30, (0, 24), (0, 48)),
        (30, (9, 10), (18, 20)),
        (30, (9.25, 10.75), (19, 21)),  # those that lie wholly inside
        (30, (9.1, 9.2), (19, 20)),  # at least one
        (30, (23.9, 24), (47, 48)),
        (15, (0, 0.25), (0, 1)),
        (60, (23, 24), (23, 24)),
    ],
)
def test_an_incident_is_active_in_whole_intervals(minutes, hours, active):
    profile = replace(SMALL, interval_minutes=minutes)
    found = active_intervals(Incident("mqset_used", "QM01", "", 0, *hours), profile)
    assert active == (found.start, found.stop)


def test_severity_is_of_one_kind_object_manager_and_day():
    profile = with_incident("cf_slow", "APP1", hours=(1, 2), severity=2.0, day=1)
    here = Conditions(profile, MANAGER, 1)
    per_hour = profile.intervals_per_day // 24
    expected = np.zeros(profile.intervals_per_day)
    expected[per_hour : 2 * per_hour] = 2.0
    assert expected.tolist() == here.severity("cf_slow", "APP1").tolist()
    others = [
        here.severity("cf_slow", "APP2"),
        here.severity("cf_redrives", "APP1"),
        Conditions(profile, MANAGER, 0).severity("cf_slow", "APP1"),
        Conditions(profile, replace(MANAGER, name="ELSE"), 1).severity("cf_slow", "APP1"),
    ]
    assert not any(each.any() for each in others)
    assert [1, 11] == sorted({*here.cf_slowdown("APP1").tolist()})


def test_slowness_follows_severity():
    slow = conditions("long_log_io", severity=0.5)
    assert {21.0} == {*slow.log_slowdown().tolist()}
    assert {1.0} == {*slow.cf_slowdown("APP1").tolist()}
    assert {150.0} == {*slow.db2_dispatch_us().tolist()}
    assert {150.0 + 4000.0} == {*conditions("db2_servers_short").db2_dispatch_us().tolist()}


# --- log, pools, channels --------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(1, 40), st.integers(0, 2**32))
def test_a_running_count_passes_a_multiple_once(counted, step, seed):
    """J4: however it is cut, the passes differ by one at most from the whole divided by the step."""
    passed = log_work._every(np.array(counted), step, np.random.default_rng(seed))
    assert (passed >= 0).all()
    assert 0 <= passed.sum() - sum(counted) // step <= 1
    assert all(abs(p - c / step) < 1 + 1e-9 for p, c in zip(passed.tolist(), counted, strict=True))


@given(st.integers(0, 10**6), st.integers(1, 7))
def test_page_sets_share_a_pool_s_figure_without_a_remainder(whole, parts):
    """B4: equal parts, the first takes what does not divide."""
    shares = [buffer_pools._part({"x": np.array([whole])}, "x", n, parts, 1)[0] for n in range(parts)]
    assert whole == sum(shares)
    assert 1 == len({*shares[1:], whole // parts})
    assert [0, 0] == buffer_pools._part({}, "x", 0, parts, 2).tolist()


def test_writes_of_a_pool_too_small_keep_their_identities():
    """B3: TPW = pages per I/O x (WIO - IMW) + IMW, and DMC <= IMW <= WIO."""
    new_pages, checkpoints = np.array([0, 100, 5000, 70]), np.array([0, 1, 0, 2])
    for manager, per_io in ((NOW, 16), (OLD, 4)):
        for short in (np.zeros(4), np.ones(4)):
            made = buffer_pools._writes(manager, short, new_pages, checkpoints, np.random.default_rng(2))
            ios, immediate = made["write_ios"], made["immediate_writes"]
            assert (made["pages_written"] == per_io * (ios - immediate) + immediate).all()
            assert (made["synchronous_write_starts"] <= immediate).all()
            assert (immediate <= ios).all()
            wanted = short > 0
            for name in ("deferred_write_starts", "synchronous_write_starts", "short_on_storage"):
                assert (wanted == (made[name] > 0)).all()
            if not short.any():
                assert ((checkpoints > 0) == (ios > 0)).all()


@pytest.mark.parametrize(
    ("pool_above", "level", "flags"), [(True, "8.0", 0x80000000), (True, "7.1", 0), (False, "8.0", 0)]
)
def test_a_pool_is_above_the_bar_since_v8(pool_above, level, flags):
    pool = replace(MANAGER.buffer_pools[0], above_bar=pool_above)
    assert flags == buffer_pools.pool_flags(pool, replace(NOW, level=level))


def test_a_task_of_the_channel_initiator_waits_when_it_does_not_work():
    """H3: wait = interval - elapsed; a task that was planted busy has 97 per cent of the interval."""
    here = Conditions(SMALL, MANAGER, 0)
    interval = SMALL.interval_us * 4096
    total = (np.array([100, 0, 10]), np.array([10**9, 0, 7]), np.array([2 * 10**9, 0, interval * 3]))
    for busy in (np.zeros(3), np.ones(3)):
        made = channels._task(here, total, np.full(3, 0.5), busy=busy)
        assert (interval == made["request_elapsed"] + made["wait_elapsed"]).all()
        assert (made["cpu"] <= made["request_elapsed"]).all()
        if busy.any():
            assert {int(interval * 0.97)} == {*made["request_elapsed"].tolist()}
        else:
            assert [51, 0, 6] == made["requests"].tolist()
            assert [10**9 + 1, 0, interval * 6 // 10] == made["request_elapsed"].tolist()


# --- a dump of a size ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "records"), [(1, 2), (200, 2), (201, 4), (400, 4), (401, 5), (10_000, 5)])
def test_a_dump_of_a_size_ends_with_the_interval_that_reached_it(size, records):
    """D3: five records of 100 bytes, two in each of the first two intervals; nothing is cut in half."""
    built = np.array([10, 20, 60, 61, 130]) * 1_000_000
    day = generate.Day(np.zeros(500, np.uint8), np.arange(5) * 100, built)
    ends = np.array([50, 100, 150]) * 1_000_000
    cut = generate._cut(day, size, ends)
    assert (records, 100 * records) == (len(cut.offsets), cut.data.size)
    assert built[:records].tolist() == cut.built_us.tolist()


def test_a_local_day_begins_at_its_own_midnight():
    profile = replace(SMALL, start=date(2026, 3, 2))
    for minutes in (0, 60, -330):
        manager = replace(MANAGER, zone_minutes=minutes)
        assert MIDNIGHT_US - minutes * 60_000_000 == generate.midnight_us(profile, manager, 0)
        assert MIDNIGHT_US + (1440 - minutes) * 60_000_000 == generate.midnight_us(profile, manager, 1)
