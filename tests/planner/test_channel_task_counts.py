"""Adapters, dispatchers, SSL tasks (MP16 chapter 3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.channel_tasks import (
    ADAPTERS_USED,
    PEAK_BY_DISPATCHERS,
    adapters,
    adapters_are_short,
    channels_by_dispatcher,
    dispatcher_group,
    dispatcher_request_us,
    dispatcher_requests_per_s_max,
    dispatchers_for_channels,
    omvs_limit,
    omvs_threads,
    restart_may_help,
    ssl_tasks,
    task_use,
)
from quaestor.planner.measured import percent_change
from quaestor.planner.source import OutOfRangeError


@pytest.mark.oracle("mp16-ch2-3/51", kind="identity", lines="3416, 3785")
@pytest.mark.parametrize(("processors", "tasks"), [(1, 30), (4, 30), (5, 38), (8, 62), (15, 118), (16, 120), (64, 120)])
def test_adapters_by_processors(processors, tasks):
    assert tasks == adapters(processors)
    assert 8 == adapters(processors, heavy_persistent=False)


@pytest.mark.oracle("mp16-ch2-3/52", kind="measured", lines="3422-3430")
def test_persistent_work_uses_more_adapters():
    assert (1, 8) == (ADAPTERS_USED.exactly(0, "adapters_over_50_percent"), ADAPTERS_USED.exactly(0, "adapters_used"))
    assert (10, 19) == (ADAPTERS_USED.exactly(1, "adapters_over_50_percent"), ADAPTERS_USED.exactly(1, "adapters_used"))
    assert ADAPTERS_USED.exactly(0, "adapters_used") <= adapters(1, heavy_persistent=False)
    assert ADAPTERS_USED.exactly(1, "adapters_used") <= adapters(1)


@pytest.mark.oracle("mp16-ch2-3/53", kind="exact", lines="3452-3456")
def test_150_channels_over_3_dispatchers():
    assert (50, 50, 50) == channels_by_dispatcher(150, maxchl=150, dispatchers=3)


@pytest.mark.oracle("mp16-ch2-3/54", kind="identity", lines="3440")
def test_a_large_maxchl_spreads_few_channels_unevenly():
    assert (10, 10) + (0,) * 18 == channels_by_dispatcher(20, maxchl=200, dispatchers=20)
    assert (4,) * 5 == channels_by_dispatcher(20, maxchl=20, dispatchers=5)
    assert [10, 4] == [dispatcher_group(200, 20), dispatcher_group(20, 5)]


@pytest.mark.oracle("mp16-ch2-3/55", kind="measured", lines="3450-3462")
def test_busy_channels_shared_by_three_dispatchers():
    one, three = (PEAK_BY_DISPATCHERS.exactly(count, "transactions_per_s") for count in (1, 3))
    assert 40_000 == one
    assert 50 == percent_change(one, three)


@pytest.mark.oracle("mp16-ch2-3/56", kind="measured", lines="3468-3471")
def test_compression_in_the_dispatcher():
    assert [6, 13, 219] == [dispatcher_request_us(kind) for kind in ("none", "zlibfast", "zlibhigh")]
    assert 4566 == int(dispatcher_requests_per_s_max("zlibhigh"))
    assert dispatcher_requests_per_s_max("none", 50) == pytest.approx(1e6 / 12)


@pytest.mark.oracle("mp16-ch2-3/57", kind="exact", lines="3500")
def test_threads_of_ten_channel_initiators():
    assert 130 == omvs_threads(dispatchers=10, channel_initiators=10)
    assert 13 + 11 == omvs_threads(dispatchers=10, ssl_tasks=11)


@pytest.mark.oracle("mp16-ch2-3/74", kind="approx", lines="3963-3971")
@pytest.mark.parametrize(
    ("requests", "busy", "cpu_s", "cpu", "cpu_us", "elapsed_us"),
    [
        (78_284, 26.4, 3.943509, 6.6, 50, 202),
        (37, 0.0, 0.000213, 0.0, 6, 6),
        (37, 0.0, 0.000210, 0.0, 6, 5),
        (367_304, 27.0, 4.429724, 7.4, 12, 44),
    ],
)
@pytest.mark.parametrize("interval_s", [60, 60.817430])
def test_the_ssl_task_report(requests, busy, cpu_s, cpu, cpu_us, elapsed_us, interval_s):
    """CPU per request is exact; the percents fit 60 s, and the printed 60.817430 s within half a point."""
    use = task_use(requests, cpu_s, requests * elapsed_us / 1e6, interval_s)
    assert cpu_us == round(use.cpu_us_mean)
    assert use.busy_percent == pytest.approx(busy, abs=0.5)
    assert use.cpu_percent == pytest.approx(cpu, abs=0.5)
    assert not restart_may_help(use.busy_percent)
    if interval_s == 60:
        assert cpu == round(use.cpu_percent, 1)


def test_every_adapter_used_means_they_may_be_short():
    assert adapters_are_short([900, 20, 1])
    assert not adapters_are_short([900, 20, 0])
    assert not adapters_are_short([]), "without a report nothing is known"


def test_dispatchers():
    assert [5, 20, 30] == [
        dispatchers_for_channels(1000, 5),
        dispatchers_for_channels(1001, 5),
        dispatchers_for_channels(1001, 30),
    ]


def test_ssl_tasks_exceed_dispatchers_and_processors():
    assert 21 == ssl_tasks(dispatchers=20)
    assert 33 == ssl_tasks(dispatchers=20, processors=32)


def test_omvs_limits_grow_with_dispatchers():
    assert 500 + 15 * 4 == omvs_limit(500, more_dispatchers=15, queue_managers=4)


def test_a_task_that_did_nothing():
    assert 0 == task_use(0, 0.0, 0.0, 60).cpu_us_mean
    assert restart_may_help(90.1)


@given(maxchl=st.integers(1, 9_999), dispatchers=st.integers(1, 200), data=st.data())
def test_every_channel_has_one_dispatcher_and_loads_differ_by_a_group_at_most(maxchl, dispatchers, data):
    channels = data.draw(st.integers(0, maxchl))
    spread = channels_by_dispatcher(channels, maxchl, dispatchers)
    assert sum(spread) == channels
    assert len(spread) == dispatchers
    assert max(spread) - min(spread) <= dispatcher_group(maxchl, dispatchers)


@given(maxchl=st.integers(1, 500), dispatchers=st.integers(1, 50))
def test_one_more_channel_lands_on_one_dispatcher(maxchl, dispatchers):
    before = (0,) * dispatchers
    for channels in range(1, min(maxchl, 60) + 1):
        after = channels_by_dispatcher(channels, maxchl, dispatchers)
        assert sorted(now - then for now, then in zip(after, before, strict=True))[:-1] == [0] * (dispatchers - 1)
        before = after


@given(st.integers(1, 200))
def test_adapters_grow_with_processors_up_to_120(processors):
    assert 30 <= adapters(processors) <= adapters(processors + 1) <= 120


def test_impossible_values_are_refused():
    with pytest.raises(OutOfRangeError, match="channels 11 is not valid: 0 to 10"):
        channels_by_dispatcher(11, maxchl=10, dispatchers=2)
    with pytest.raises(OutOfRangeError, match="processors 0 is not valid: 1 or more"):
        adapters(0)
    with pytest.raises(OutOfRangeError, match="compression rle is not valid: none, zlibfast, zlibhigh"):
        dispatcher_request_us("rle")
    with pytest.raises(OutOfRangeError, match="interval_s 0 is not valid: more than 0"):
        task_use(1, 1.0, 1.0, 0)
