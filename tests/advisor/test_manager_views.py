"""Views of the log, of buffer pools and of page sets: what stands beside the counts of one interval."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from advisor.given import NINE, table
from quaestor.advisor.view_catalog import BY_NAME
from quaestor.advisor.views import before_in_time

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def view(name, **tables):
    return BY_NAME[name].make(tables)


# --- the log ----------------------------------------------------------------------------------------------------------


def copies(*kinds):
    """Two copies; of each (I/Os of one page, their time, I/Os of several pages, their time)."""
    return [
        {"kinds": [{"ios": one, "io_elapsed_us": one_us}, {"ios": many, "io_elapsed_us": many_us}]}
        for one, one_us, many, many_us in kinds
    ]


def test_figures_of_each_log_copy():
    """Copy 1: 100 I/Os of 400 us and 50 of 1,000; copy 2 is 1.59 times as slow with several pages (the bad example)."""
    log = table("QJST", {"copies": copies((100, 40_000.0, 50, 50_000.0), (100, 42_000.0, 50, 79_500.0))})
    made = view("QJST", QJST=log)
    assert [150, 150] == [made.ios_copy_1[0], made.ios_copy_2[0]]
    assert [600, 810] == [made.io_us_copy_1[0], made.io_us_copy_2[0]]
    assert [1000, 1590] == [made.pages_io_us_copy_1[0], made.pages_io_us_copy_2[0]]
    assert [50, 50] == [made.pages_ios_copy_1[0], made.pages_ios_copy_2[0]]


def test_a_second_copy_that_was_not_written_has_no_times():
    made = view("QJST", QJST=table("QJST", {"copies": copies((7, 700.0, 0, 0.0), (0, 0.0, 0, 0.0))}))
    assert (7, 0, 100) == (made.ios_copy_1[0], made.ios_copy_2[0], made.io_us_copy_1[0])
    assert np.isnan([made.io_us_copy_2[0], made.pages_io_us_copy_1[0], made.pages_io_us_copy_2[0]]).all()


def test_records_of_an_older_release_have_no_copies():
    """Beside a record that has them, each keeps its own."""
    rows = [{"copies": None}, {"copies": copies((1, 10.0, 1, 20.0), (2, 60.0, 3, 90.0))}, {"copies": []}]
    made = view("QJST", QJST=table("QJST", *rows))
    assert [True, False, True] == np.isnan(made.ios_copy_1).tolist()
    assert (2, 5, 15, 30) == (made.ios_copy_1[1], made.ios_copy_2[1], made.io_us_copy_1[1], made.io_us_copy_2[1])
    none = view("QJST", QJST=table("QJST", {"copies": None}))
    assert np.isnan([none.ios_copy_1[0], none.io_us_copy_2[0]]).all()


def log_of(manager, pages, group="QSG1", at=NINE, minutes=60):
    whose = {"queue_manager": manager, "queue_sharing_group": group}
    return {**whose, "buffers_filled": pages, "local_time": at, "interval_us": minutes * 60e6}


def test_a_members_share_of_the_groups_log():
    """1 is even: of 400 pages of four members 200 are twice an even share."""
    rows = [log_of(f"QM0{number}", pages) for number, pages in ((1, 200), (2, 100), (3, 50), (4, 50))]
    assert [2, 1, 0.5, 0.5] == list(view("QJST", QJST=table("QJST", *rows)).group_log_share)


def test_shares_are_of_one_group_and_hour():
    rows = [log_of("QM01", 300), log_of("QM02", 100), log_of("QM03", 70, "QSG2"), log_of("QM04", 70, "QSG2")]
    rows += [log_of("QM01", 10, at=NINE + HOUR), log_of("QM02", 30, at=NINE + HOUR + 10 * MINUTE)]
    assert [1.5, 0.5, 1, 1, 0.5, 1.5] == list(view("QJST", QJST=table("QJST", *rows)).group_log_share)


def test_short_intervals_of_an_hour_add_up():
    """An hour is told by the middles of intervals: ten o'clock ends the one of nine, long or short."""
    halves = [log_of("QM01", 30, at=NINE + 30 * MINUTE, minutes=30), log_of("QM01", 60, at=NINE + HOUR, minutes=30)]
    rows = [*halves, log_of("QM02", 30, at=NINE + HOUR)]
    assert [1.5, 1.5, 0.5] == list(view("QJST", QJST=table("QJST", *rows)).group_log_share)


@pytest.mark.parametrize(
    "rows",
    [
        [log_of("QM01", 100)],  # alone in its group
        [log_of("QM01", 100, ""), log_of("QM02", 100, "")],  # in none
        [log_of("QM01", 100, None), log_of("QM02", 100, None)],
        [log_of("QM01", 0), log_of("QM02", 0)],  # nothing was logged
    ],
)
def test_no_share_without_company_or_log(rows):
    assert np.isnan(view("QJST", QJST=table("QJST", *rows)).group_log_share).all()


# --- buffer pools -----------------------------------------------------------------------------------------------------


def pool(at=NINE, manager="QM01", number=3, **values):
    return {"queue_manager": manager, "buffer_pool": number, "buffers": 1000, "local_time": at, **values}


def test_a_pool_has_the_interval_before_beside_it():
    rows = [pool(buffers=5000), pool(NINE + HOUR, buffers=1000), pool(NINE + HOUR, number=1), pool(manager="QM02")]
    made = view("QPST", QPST=table("QPST", *rows))
    assert [True, False, True, True] == np.isnan(made.buffers_before).tolist()
    assert 5000 == made.buffers_before[1]


@pytest.mark.parametrize(
    ("length", "minutes", "after"),
    [(60, 60, 0), (60, 61, 0), (60, 62, 1), (60, 180, 1), (1, 1.5, 0), (1, 1.6, 1)],
)
def test_a_gap_is_a_start(length, minutes, after):
    """The next interval begins when the one before has ended, or nobody counted in between: a minute says so, or half
    of a short interval.
    """
    rows = [pool(at, interval_us=length * 60e6) for at in (NINE, NINE + minutes * MINUTE)]
    assert [0, after] == list(view("QPST", QPST=table("QPST", *rows)).after_gap)


def test_intervals_are_put_in_order_before_they_are_compared():
    rows = [pool(NINE + 5 * HOUR), pool(NINE + HOUR, buffers=7), pool()]
    made = view("QPST", QPST=table("QPST", *rows))
    assert [1, 0, 0] == list(made.after_gap)
    assert [7, 1000] == list(made.buffers_before[:2])


@pytest.mark.parametrize(
    ("seconds_after", "checkpoints"),
    [(0, 4), (4, 4), (5, 4), (6, None), (3600, None), (-5, 4), (-6, None)],
)
def test_checkpoints_of_the_record_that_was_built_with_the_pools(seconds_after, checkpoints):
    """Records of one interval are built within five seconds of each other; what an hour later counted is not of it."""
    log = table("QJST", {"checkpoints": 4, "local_time": NINE + timedelta(seconds=seconds_after)})
    made = view("QPST", QPST=table("QPST", pool()), QJST=log)
    assert [checkpoints] == [None if np.isnan(each) else each for each in made.log_checkpoints]


def test_what_a_pool_wrote_in_the_day_up_to_an_interval():
    """The evening stores 700 pages, the morning reads them; a day later they no longer count."""
    evening, morning = NINE + 12 * HOUR, NINE + 23 * HOUR
    rows = [pool(evening, pages_written=700), pool(morning, pages_written=5), pool(morning, number=1, pages_written=1)]
    rows += [pool(evening + 24 * HOUR, pages_written=2), pool(evening + 24 * HOUR - MINUTE, pages_written=10)]
    made = view("QPST", QPST=table("QPST", *rows[::-1]))
    assert [715, 17, 1, 705, 700] == list(made.written_in_day)


@pytest.mark.parametrize(("at", "written", "counted"), [(None, 7, 7), (NINE, None, None)])
def test_what_is_not_known_counts_for_no_day(at, written, counted):
    rows = [pool(pages_written=100), pool(at, pages_written=written)]
    made = view("QPST", QPST=table("QPST", *rows)).written_in_day
    assert [100, counted] == [None if np.isnan(each) else each for each in made]


def test_a_log_record_without_a_time_is_built_with_none():
    log = table("QJST", {"checkpoints": 4, "local_time": None})
    assert np.isnan(view("QPST", QPST=table("QPST", pool()), QJST=log).log_checkpoints).all()


@pytest.mark.parametrize(
    ("location", "above", "fixed"),
    [(0, 0, 0), (0x80000000 - 2**32, 1, 0), (0x40000000, 0, 1), (0xC0000000 - 2**32, 1, 1), (None, None, None)],
)
def test_where_a_pool_lies(location, above, fixed):
    """The first bit says above the bar, the second that its pages are fixed; an older release says nothing."""
    made = view("QPST", QPST=table("QPST", pool(location=location)))
    found = [None if np.isnan(each) else each for each in (made.above_the_bar[0], made.page_fixed[0])]
    assert [above, fixed] == found


def test_a_pool_over_all_intervals():
    rows = [
        pool(NINE, buffers=1000, stealable_low=800, get_new_page=5),
        pool(NINE + 2 * HOUR, buffers=2000, stealable_low=1000, get_new_page=7),
        pool(NINE + HOUR, buffers=1000, stealable_low=600, get_new_page=9),
        pool(number=1, stealable_low=10),
    ]
    made = view("pool_range", QPST=table("QPST", *rows))
    assert [3, 1] == list(made.buffer_pool)
    assert [0.5, 0.01] == list(made.stealable_low_share)
    assert [3, 1] == list(made.intervals)
    assert [10_800, 3600] == list(made.seconds)
    assert [2000, 1000] == list(made.buffers)
    assert [21, 0] == list(made.new_pages)
    assert [datetime(2026, 3, 2, 11), datetime(2026, 3, 2, 9)] == list(made.local_time.astype(object))


def test_a_pool_that_rested_is_told_from_its_first_interval_on():
    """Two intervals of an hour, a night apart, cover twelve hours; one without a time covers none."""
    rows = [pool(NINE + 11 * HOUR), pool(), pool(None)]
    made = view("pool_range", QPST=table("QPST", *rows))
    assert ([43_200], [3]) == (list(made.seconds), list(made.intervals))


def test_the_row_before_in_time():
    keys = [np.array(["A", "B", "A", "A", "B"], object)]
    times = np.array(
        ["2026-03-02T11", "2026-03-02T09", "2026-03-02T09", "2026-03-02T10", "2026-03-02T08"], "datetime64[us]"
    )
    assert [3, 4, -1, 2, -1] == before_in_time(keys, times).tolist()
    assert [] == before_in_time([np.empty(0, object)], np.empty(0, "datetime64[us]")).tolist()


# --- page sets --------------------------------------------------------------------------------------------------------


def page_set(number=4, at=NINE, manager="QM01", **values):
    return {"page_set": number, "local_time": at, "queue_manager": manager, **values}


def test_how_full_a_page_set_is():
    rows = [page_set(pages=1000, pages_unused=50), page_set(5, pages=0, pages_unused=0)]
    made = view("QIS1", QIS1=table("QIS1", *rows))
    assert 0.95 == made.used_share[0]
    assert np.isnan(made.used_share[1])
    assert np.isnan(made.depth).all()


def test_the_depth_of_a_page_sets_queues():
    """The sum of depths and the longest mean message, of queues of this page set and queue manager at this time."""
    queues = table(
        "QQST",
        page_set(depth=10, message_size_average=100),
        page_set(depth=30, message_size_average=5000),
        page_set(5, depth=7, message_size_average=1),
        page_set(depth=1000, manager="QM02"),
        page_set(depth=2000, at=NINE + HOUR),
    )
    sets = table("QIS1", page_set(), page_set(5), page_set(6), page_set(at=NINE + HOUR))
    made = view("QIS1", QIS1=sets, QQST=queues)
    assert [40, 7] == list(made.depth[:2])
    assert [5000, 1] == list(made.message_size[:2])
    assert np.isnan(made.depth[2])
    assert 2000 == made.depth[3]


def test_the_checkpoints_that_wrote_a_page_set():
    log = [
        {"checkpoints": 3},
        {"checkpoints": 5, "queue_manager": "QM02"},
        {"checkpoints": 7, "local_time": NINE + HOUR},
    ]
    sets = table("QIS1", page_set(), page_set(at=NINE + HOUR), page_set(manager="QM03"))
    made = view("QIS1", QIS1=sets, QJST=table("QJST", *log))
    assert [3, 7, None] == [None if np.isnan(each) else each for each in made.log_checkpoints]


@pytest.mark.parametrize(("seconds", "depth"), [(-6, None), (-5, 9), (5, 9), (6, None), (3600, None)])
def test_queues_of_another_interval_say_nothing_about_a_page_set(seconds, depth):
    """Queue statistics that were switched on later have no depth for the hours before."""
    queues = table("QQST", page_set(at=NINE + timedelta(seconds=seconds), depth=9, message_size_average=100))
    made = view("QIS1", QIS1=table("QIS1", page_set()), QQST=queues)
    assert [depth] == [None if np.isnan(each) else each for each in made.depth]


def test_of_two_intervals_each_has_its_own():
    """Records of three intervals of a minute, the pool's of the second one missing in the log."""
    times = [NINE, NINE + MINUTE, NINE + 2 * MINUTE]
    log = table("QJST", *({"checkpoints": n, "local_time": times[n] + timedelta(seconds=1)} for n in (0, 2)))
    made = view("QPST", QPST=table("QPST", *(pool(at) for at in times)), QJST=log)
    assert [0, None, 2] == [None if np.isnan(each) else each for each in made.log_checkpoints]
