"""The chapter on log DASD: the printed rates, half of them, and what they carry."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner import dasd
from quaestor.planner.dasd import Ceiling, ZhpfLimit
from quaestor.planner.source import OutOfRangeError

ONE_KB, FIVE_KB, ONE_MB = 1_024, 5_120, 1_048_576

PRINTED = """
RVA-T82                                           2.3   2.8    -
ESS E20 with ESCON                                5.3   7.1    -
ESS F20 with ESCON                                7.1   10.2   11.3
ESS F20 with FICON                                7.4   13.0   15.6
ESS 800                                           10.0  16.5   24
DS8000 (RAID 5)                                   14.9  36.0   68.1
DS8000 (RAID 10)                                  15.6  36.1   68.6
DS8800 (RAID 5)                                   32.1  62.4   128.7
DS8870 (RAID 5) with 4 stripes                    47.8  98.5   215
DS8870 (RAID 5) with 4 stripes plus zHPF enabled  64.7  136.4  337.5
"""
ROWS = [re.split(r"\s{2,}", line.strip()) for line in PRINTED.strip().splitlines()]


@pytest.mark.oracle("mp16-ch4-11/1", kind="measured", lines="4194-4204")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_sustainable_log_data_rate(row):
    name, *printed = row
    for size, rate in zip((ONE_KB, FIVE_KB, ONE_MB), printed, strict=True):
        if rate == "-":
            with pytest.raises(OutOfRangeError, match="1000 to 5120"):
                dasd.log_rate_mb_per_sec(name, size)
        else:
            assert float(rate) == dasd.log_rate_mb_per_sec(name, size)
    assert len(ROWS) == len(dasd.LOG_RATES)


@pytest.mark.oracle("mp16-ch4-11/2", kind="exact", lines="4206")
@pytest.mark.parametrize(
    ("name", "size", "planned"),
    [
        ("DS8800 (RAID 5)", ONE_KB, "16.05"),
        ("DS8870 (RAID 5) with 4 stripes", ONE_KB, "23.9"),
        ("DS8870 (RAID 5) with 4 stripes", FIVE_KB, "49.25"),
        ("DS8870 (RAID 5) with 4 stripes", ONE_MB, "107.5"),
        ("DS8870 (RAID 5) with 4 stripes plus zHPF enabled", ONE_KB, "32.35"),
        ("DS8870 (RAID 5) with 4 stripes plus zHPF enabled", FIVE_KB, "68.2"),
        ("DS8870 (RAID 5) with 4 stripes plus zHPF enabled", ONE_MB, "168.75"),
    ],
)
def test_a_plan_uses_half_of_the_rate(name, size, planned):
    assert planned == f"{dasd.planning_log_rate_mb_per_sec(name, size):g}"


@pytest.mark.oracle("mp16-ch4-11/3", kind="exact", lines="719-721")
def test_messages_on_a_ds8800():
    """A 1,000 byte persistent message put and got writes 2,300 log bytes; the papers drop the fraction."""
    rate = dasd.log_rate_mb_per_sec("DS8800 (RAID 5)", 1_000)
    assert 14_634 == int(dasd.messages_per_sec(rate, 2_300))


def test_zhpf_row_against_the_row_without():
    assert ["35.4", "38.5", "57.0"] == [f"{dasd.zhpf_row_gain_percent(n):.1f}" for n in (1_000, 5_000, 1_000_000)]


@pytest.mark.oracle("mp16-ch4-11/4", kind="measured", lines="4208-4210")
def test_single_logging_gains():
    assert (5, 80) == dasd.single_logging_gain_percent_range()


@pytest.mark.oracle("mp16-ch4-11/5", kind="scenario", lines="4214")
def test_four_stripes():
    """A write on one stripe gains nothing, one that touches all four gains the most."""
    assert 1 == dasd.stripes_used(4_096, 4)
    assert [2, 3, 4, 4] == [dasd.stripes_used(4_096 * pages, 4) for pages in (2, 3, 4, 15)]


@pytest.mark.oracle("mp16-ch4-11/6", kind="measured", lines="4246-4248")
def test_zhpf_gains():
    assert 200 == dasd.rate_with_zhpf(100, ZhpfLimit.IO_CHANNELS)
    assert 117 == pytest.approx(dasd.rate_with_zhpf(100, ZhpfLimit.LOG_DASD))
    assert 155 == dasd.rate_with_zhpf(100, ZhpfLimit.LARGE_STRIPED)
    assert 120 == dasd.rate_with_zhpf(100, ZhpfLimit.IMS_LOG)


def test_the_lowest_ceiling_holds():
    common = {"log_mb_per_sec": 32.1, "log_bytes_per_message": 2_300}
    rate, why = dasd.persistent_rate_per_sec_max(**common, instances=1, elapsed_us_per_message=757)
    assert (1_321, Ceiling.ONE_INSTANCE) == (round(rate), why)
    rate, why = dasd.persistent_rate_per_sec_max(**common, instances=100, elapsed_us_per_message=757)
    assert (14_634, Ceiling.LOG_DASD) == (int(rate), why)
    rate, why = dasd.persistent_rate_per_sec_max(
        **common, instances=100, elapsed_us_per_message=757, queue_rate_per_sec_max=9_000
    )
    assert (9_000, Ceiling.ONE_QUEUE) == (rate, why)


def test_which_dasd_takes_a_workload():
    """7,000 messages of 1,000 bytes a second write 15.35 MB/sec: half of a DS8800, a third of the striped DS8870."""
    fits = dasd.dasd_types_that_fit(1_000, 7_000, 2_300)
    assert ["DS8800 (RAID 5)", *list(dasd.LOG_RATES)[-2:]] == [fit.dasd for fit in fits]
    assert "15.35" == f"{fits[0].required_mb_per_sec:.2f}"
    assert not dasd.log_dasd_fit("DS8000 (RAID 10)", 1_000, 7_000, 2_300).fits
    assert () == dasd.dasd_types_that_fit(1_000, 1e6, 2_300)
    assert list(dasd.LOG_RATES) == [fit.dasd for fit in dasd.dasd_types_that_fit(FIVE_KB, 1, 2_300)]
    assert list(dasd.LOG_RATES)[2:] == [fit.dasd for fit in dasd.dasd_types_that_fit(FIVE_KB + 1, 1, 2_300)]


def test_the_smaller_size_speaks_for_sizes_between():
    name = "DS8800 (RAID 5)"
    assert 32.1 == dasd.log_rate_mb_per_sec(name, 4_999)
    assert 32.1 < dasd.log_rate_mb_per_sec(name, 4_999, interpolate=True) < 62.4
    assert 128.7 == dasd.log_rate_mb_per_sec(name, ONE_MB, interpolate=True)


def burst(active_logs, archive_mb_per_sec):
    return dasd.seconds_until_no_active_log_is_free(
        active_log_mb=1_000, active_logs=active_logs, log_mb_per_sec=100, archive_mb_per_sec=archive_mb_per_sec
    )


def test_a_burst_fills_the_active_logs():
    assert 40 == burst(4, 0)  # nothing is archived: four logs of ten seconds each
    assert 60 == burst(4, 50)  # log 3 is wanted again after 60 s, its archive ends after 10 + 3 * 20 s
    assert math.inf == burst(2, 100)


@given(st.integers(2, 30), st.floats(0, 99))
def test_archiving_and_more_logs_only_help(active_logs, archive_mb_per_sec):
    assert burst(active_logs, archive_mb_per_sec) >= burst(active_logs, 0)
    assert burst(active_logs + 1, archive_mb_per_sec) >= burst(active_logs, archive_mb_per_sec)


@given(st.sampled_from(sorted(dasd.LOG_RATES)), st.floats(1_000, 5_120), st.floats(1_000, 5_120))
def test_larger_messages_never_lower_the_rate(name, one, other):
    low, high = sorted((one, other))
    for interpolate in (False, True):
        assert dasd.log_rate_mb_per_sec(name, low, interpolate=interpolate) <= dasd.log_rate_mb_per_sec(
            name, high, interpolate=interpolate
        )


@given(st.floats(0, 1e6), st.floats(1, 1e6))
def test_rate_and_need_are_inverse(rate, log_bytes):
    assert rate == pytest.approx(dasd.messages_per_sec(dasd.required_log_mb_per_sec(rate, log_bytes), log_bytes))


@given(st.integers(1, 10**8), st.integers(1, 16))
def test_stripes_are_between_one_and_all(size, stripes):
    assert 1 <= dasd.stripes_used(size, stripes) <= stripes


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dasd.log_rate_mb_per_sec("DS8800 (RAID 5)", 999), "message_bytes 999 is not valid: 1000 to"),
        (lambda: dasd.log_rate_mb_per_sec("DS8800 (RAID 5)", ONE_MB + 1), "is not valid: 1000 to 1048576"),
        (lambda: dasd.log_rate_mb_per_sec("3390", 1_000), "is not valid: RVA-T82, ESS E20"),
        (lambda: dasd.planning_log_rate_mb_per_sec("ESS 800", 1_000, share=1.1), "share 1.1 is not valid: 0 to 1"),
        (lambda: dasd.messages_per_sec(1, 0), "log_bytes_per_message 0 is not valid: more than 0"),
        (lambda: dasd.messages_per_sec(math.nan, 1), "log_mb_per_sec nan is not valid: 0 or more"),
        (lambda: dasd.stripes_used(1, 0), "stripes 0 is not valid: 1 or more"),
        (lambda: burst(1, 0), "active_logs 1 is not valid: 2 or more"),
        (lambda: dasd.zhpf_row_gain_percent(2_000), "rows are 1000, 5000, 1e.06"),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()


def test_a_workload_fits_up_to_its_share():
    """DS8800 writes 32.1 MB/s at 1 KB; half of that is planned with."""
    exactly = 0.5 * 32.1 * 1_048_576 / 2048
    fit = dasd.log_dasd_fit("DS8800 (RAID 5)", 1000, exactly, 2048)
    assert 0.5 == pytest.approx(fit.used_share)
    assert dasd.log_dasd_fit("DS8800 (RAID 5)", 1000, 0.999 * exactly, 2048).fits
    assert not dasd.log_dasd_fit("DS8800 (RAID 5)", 1000, 1.001 * exactly, 2048).fits
    assert dasd.LogDasdFit("any", 1.0, 2.0, 0.5).fits
    assert not dasd.LogDasdFit("any", 1.01, 2.0, 0.5).fits


def test_the_types_that_fit_come_slowest_first():
    rates = [fit.attainable_mb_per_sec for fit in dasd.dasd_types_that_fit(1000, 100, 2048)]
    assert len(rates) > 5
    assert rates == sorted(rates)


@pytest.mark.parametrize(
    ("instances", "queue_rate", "ceiling", "rate"),
    [
        (1, None, Ceiling.ONE_INSTANCE, 1_000),
        (10, None, Ceiling.LOG_DASD, 5_000),
        (10, 2_000, Ceiling.ONE_QUEUE, 2_000),
        (10, 0, Ceiling.ONE_QUEUE, 0),
        (1, 2_000, Ceiling.ONE_INSTANCE, 1_000),
    ],
)
def test_each_ceiling_holds_where_it_is_the_lowest(instances, queue_rate, ceiling, rate):
    """10 MB/s at 2 KB a message are 5,120 messages; a message takes an instance 1 ms."""
    given_log = {"log_mb_per_sec": 5_000 * 2048 / 1_048_576, "log_bytes_per_message": 2048}
    found = dasd.persistent_rate_per_sec_max(
        **given_log, instances=instances, elapsed_us_per_message=1_000, queue_rate_per_sec_max=queue_rate
    )
    assert (pytest.approx(rate), ceiling) == found


def test_a_queue_without_a_rate_is_no_negative_one():
    with pytest.raises(OutOfRangeError, match="queue_rate_per_sec_max -1 is not valid: 0 or more"):
        dasd.persistent_rate_per_sec_max(
            log_mb_per_sec=1,
            log_bytes_per_message=1,
            instances=1,
            elapsed_us_per_message=1,
            queue_rate_per_sec_max=-1,
        )
