"""zEDC: archives, recovery from them, the two log copies side by side, SMF log streams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner import compression as zedc
from quaestor.planner.compression import COMPRESSED, UNCOMPRESSED, CacheSubsystem, LogCopyIo
from quaestor.planner.source import OutOfRangeError

KB, MB = 1_024, 1_048_576


@pytest.mark.oracle("mp16-ch4-11/8", kind="measured", lines="4330-4332")
@pytest.mark.parametrize(
    ("size", "tcb", "throughput"), [(4 * KB, 7, 1), (32 * KB, 26, 2), (MB, 90, 30), (4 * MB, 100, 45)]
)
def test_what_archive_compression_costs_and_gains(size, tcb, throughput):
    assert tcb == zedc.ZEDC_EFFECT.exactly(size, "queue_manager_tcb_increase_percent")
    assert throughput == zedc.ZEDC_EFFECT.exactly(size, "peak_throughput_increase_percent")


@pytest.mark.oracle("mp16-ch4-11/9", kind="exact", lines="4340-4342")
def test_recovering_four_gigabytes():
    plain = zedc.recover_structure_seconds(4_096, UNCOMPRESSED)
    packed = zedc.recover_structure_seconds(4_096, COMPRESSED)
    assert ("46.5", "151.7", "3.26") == (f"{plain:.1f}", f"{packed:.1f}", f"{packed / plain:.2f}")
    assert "2.21" == f"{COMPRESSED.cpu_per_mb_printed / UNCOMPRESSED.cpu_per_mb_printed:.2f}"


@pytest.mark.oracle("mp16-ch4-11/9", kind="source-error", lines="4340-4344")
def test_the_printed_unit_of_recovery_cost_exceeds_the_machine():
    """Milliseconds would need 75.7 processors of a 3-way; microseconds need 7.6 % of one."""
    assert "75.7" == f"{zedc.recovery_cpu_share(UNCOMPRESSED, unit_us=1_000):.1f}"
    assert "7.6" == f"{100 * zedc.recovery_cpu_share(UNCOMPRESSED):.1f}"


@pytest.mark.oracle("mp16-ch4-11/10", kind="measured", lines="4346-4348")
def test_one_zedc_feature_carries_one_queue_manager():
    assert (65, 50) == (zedc.ZEDC_BUSY_PERCENT_INCOMPRESSIBLE, zedc.ZEDC_BUSY_PERCENT_COMPRESSIBLE)
    assert (8, 16) == (zedc.ZEDC_FEATURES_PER_DRAWER_MAX, zedc.LPARS_PER_ZEDC_FEATURE_MAX)
    assert [0, 1, 2, 3] == [zedc.zedc_features_needed(n) for n in range(4)]
    assert [0, 1, 1, 2] == [zedc.zedc_features_needed(n, compressible=True) for n in range(4)]


@pytest.mark.oracle("mp16-ch4-11/11", kind="measured", lines="4322, 4380, 4390")
def test_log_rate_with_compressed_archives():
    gains = zedc.LOG_RATE_GAIN_PERCENT
    assert (30, 45) == (gains["incompressible"], gains["compressible by 80 %"])
    assert 303 == round(zedc.rate_before_gain(zedc.LOG_RATE_COMPRESSED_MB_PER_SEC, gains["compressible by 80 %"]))


RUN_A = {
    "one": (LogCopyIo(4_273, 4_273, 192, 5), LogCopyIo(4_273, 4_273, 243, 20)),
    "many": (LogCopyIo(43_776, 4_520_380, 766, 2), LogCopyIo(43_776, 4_520_380, 1_218, 35)),
}
RUN_B = {
    "one": (LogCopyIo(5_273, 5_273, 201, 5), LogCopyIo(5_273, 5_273, 183, 31)),
    "many": (LogCopyIo(58_617, 6_057_227, 811, 2), LogCopyIo(58_617, 6_057_227, 897, 34)),
}


@pytest.mark.oracle("mp16-ch4-11/12", kind="exact", lines="4398-4421")
def test_the_two_log_copies_side_by_side():
    for run, exact in ((RUN_A, "103.26"), (RUN_B, "103.34")):
        assert ["1e+02"] * 2 == [copy.pages_per_io_printed for copy in run["many"]]
        assert exact == f"{run['many'][0].pages_per_io:.2f}"
        assert ["1"] * 2 == [copy.pages_per_io_printed for copy in run["one"]]
    assert ["1.59", "1.11"] == [f"{zedc.copy_two_slowdown(*run['many']):.2f}" for run in (RUN_A, RUN_B)]
    more = RUN_B["many"][0].control_intervals / RUN_A["many"][0].control_intervals
    assert 34 == round(100 * (more - 1))


CACHE = [
    CacheSubsystem("7004 run A", 7_468, 4_296, 3_172, 0.0),
    CacheSubsystem("7128 run A", 8_995, 520.9, 8_474, 2_727),
    CacheSubsystem("7407 run A", 0.0, 0.0, 0.0, 0.0),
    CacheSubsystem("7004 run B", 9_754, 5_607, 4_147, 0.0),
    CacheSubsystem("7128 run B", 6_701, 695.4, 6_006, 0.0),
    CacheSubsystem("7407 run B", 0.0, 0.0, 0.0, 0.0),
]


@pytest.mark.oracle("mp16-ch4-11/13", kind="identity", lines="4409-4431")
@pytest.mark.parametrize("row", CACHE, ids=lambda row: row.control_unit)
def test_reads_and_fast_writes_make_the_io_rate(row):
    """RMF prints four significant digits, so the sum agrees when rounded to whole I/Os."""
    assert row.io_rate == round(row.io_rate_from_parts)


def test_fast_write_bypass_points_at_the_archives():
    assert zedc.archive_disturbs_copy_two(*RUN_A["many"], dfw_bypass_rate=CACHE[1].dasd_fast_write_bypass_rate)
    assert not zedc.archive_disturbs_copy_two(*RUN_B["many"], dfw_bypass_rate=CACHE[4].dasd_fast_write_bypass_rate)
    assert zedc.archive_disturbs_copy_two(*RUN_A["many"], dfw_bypass_rate=0.1)
    assert not zedc.archive_disturbs_copy_two(*RUN_A["many"], dfw_bypass_rate=0)


@pytest.mark.oracle("mp16-ch4-11/14", kind="measured", lines="4455-4457")
def test_smf_log_streams():
    assert 100 == zedc.smf_rate_without_loss(100, log_stream=False, zedc=True)
    assert 200 == zedc.smf_rate_without_loss(100, log_stream=True)
    assert 760 == pytest.approx(zedc.smf_rate_without_loss(100, log_stream=True, zedc=True))


def test_an_archive_as_large_as_its_log_is_not_compressed():
    assert not zedc.archive_is_compressed(1_000, 1_000)
    assert zedc.archive_is_compressed(200, 1_000)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_recovery_time_adds_up(one, other):
    for archive in (UNCOMPRESSED, COMPRESSED):
        parts = zedc.recover_structure_seconds(one, archive) + zedc.recover_structure_seconds(other, archive)
        assert parts == pytest.approx(zedc.recover_structure_seconds(one + other, archive))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: zedc.recover_structure_seconds(-1, COMPRESSED), "structure_mb -1 is not valid: 0 or more"),
        (lambda: zedc.zedc_features_needed(1, busy_percent_max=60), "busy_percent_max 60 is not valid: 65 to 100"),
        (lambda: zedc.rate_before_gain(1, -100), "gain_percent -100 is not valid: more than -100"),
        (lambda: LogCopyIo(0, 0, 0, 0).pages_per_io, "requests 0 is not valid: more than 0"),
        (lambda: zedc.ZEDC_EFFECT.exactly(1, "peak_throughput_increase_percent"), "rows are 4096, 32768"),
        (lambda: zedc.smf_rate_without_loss(-1, log_stream=True), "data_set_rate -1 is not valid: 0 or more"),
        (lambda: zedc.archive_is_compressed(1, 0), "log_bytes 0 is not valid: more than 0"),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()
