"""How long a restart takes: the paper's single examples, then its full worked example."""

from itertools import pairwise
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.geometry import CYLINDER_BYTES
from quaestor.planner.log_ranges import (
    LogDataSet,
    LogRange,
    UnitOfRecovery,
    UnitStatus,
    archives_to_mount,
    backward_range,
    forward_ranges,
    rba_of,
)
from quaestor.planner.quantity import GB, GIB, HOUR_S, MB, MIB
from quaestor.planner.restart import (
    BACKWARD,
    FORWARD,
    OLD_DASD_FORWARD,
    OLD_TAPE_BACKWARD,
    OLD_TAPE_FORWARD,
    READ_RATES,
    RestartEstimate,
    backward_s,
    bytes_between_checkpoints,
    forward_page_reads_s,
    forward_pages_max,
    media_recovery_s,
    page_read_rate_bytes_per_s,
    read_time_s,
    rebuild_bytes,
    restart_estimate,
    state_cpu_s,
    state_range,
    units_s,
)
from quaestor.planner.source import OutOfRangeError

CHECKPOINT = rba_of("0211B7842C44")
RBAS = st.integers(0, 2**48 - 1)


@pytest.mark.oracle("mp16-ch1/38", kind="bench", lines="1287")
def test_phase_2_of_2_gb_of_small_messages():
    assert state_cpu_s(2 * GIB) == pytest.approx(22)


@pytest.mark.oracle("mp16-ch1/39", kind="approx", lines="1299")
def test_pages_read_one_at_a_time():
    rate = page_read_rate_bytes_per_s(230)
    assert rate / 4096 == pytest.approx(4300, rel=0.012)
    assert rate / MIB == pytest.approx(16.8, rel=0.012)
    assert round(4300 * 4096 / MIB, 1) == 16.8


@pytest.mark.oracle("mp16-ch1/40", kind="approx", lines="1749-1753")
def test_forward_recovery_over_7_gb():
    pages_max = forward_pages_max(LogRange(0, 7 * GIB))
    assert pages_max == 1_835_008
    assert forward_page_reads_s(pages_max, share_read=0.8, page_read_us=233) == pytest.approx(340, rel=0.01)


def test_pages_of_page_sets_take_longer_than_their_log():
    """R3 [1295]: 7 GB of log are read in 68 s, the pages that it names in seven minutes."""
    nothing, log = LogRange(0, 0), LogRange(0, 7 * GIB)
    assert 68 == round(restart_estimate(nothing, (), log.bytes, nothing).forward_s)
    by_pages = restart_estimate(nothing, (), log.bytes, nothing, rebuild_pages=forward_pages_max(log))
    assert forward_page_reads_s(1_835_008) == by_pages.forward_s == by_pages.total_s


@pytest.mark.oracle("mp16-ch1/36", kind="derived", lines="1495-1496")
def test_forward_pages_of_a_short_range():
    stretch = LogRange(rba_of("0000479AF9FA"), rba_of("0000479B33A0"))
    assert (14_758, 4) == (stretch.bytes, forward_pages_max(stretch))


@pytest.mark.oracle("mp16-ch1/41", kind="approx", lines="1319")
def test_a_page_set_without_backup_needs_all_log_there_was():
    assert pytest.approx(2300, rel=0.012) == CHECKPOINT / GB
    hours = media_recovery_s(CHECKPOINT, rate_bytes_per_s=BACKWARD.bytes_per_s) / HOUR_S
    assert 10.7 <= hours <= 12
    assert 10.7 <= media_recovery_s(CHECKPOINT, 0, 56 * MB) / HOUR_S <= 12


@pytest.mark.oracle("mp16-ch1/42", kind="approx", lines="1321")
def test_a_page_set_from_a_backup():
    backup = rba_of("021000000000")
    assert (CHECKPOINT - backup) / MIB == pytest.approx(7000, rel=0.005)
    assert media_recovery_s(CHECKPOINT, backup, 56 * MIB) / 60 == pytest.approx(2, rel=0.05)


@pytest.mark.oracle("mp16-ch1/43", kind="approx", lines="1327")
def test_backward_over_900_mb():
    units = [UnitOfRecovery(UnitStatus.IN_FLIGHT, rba_of("0211B7F88502"))]
    stretch = backward_range(units, rba_of("0211F0000000"))
    assert stretch.bytes / MIB == pytest.approx(900, rel=0.005)
    assert backward_s(stretch) == pytest.approx(16, rel=0.005)


# The worked example: three active logs of 100 cylinders, archives on virtual tape, three units of recovery.

LOG_BYTES = 100 * CYLINDER_BYTES
FAILURE = rba_of("0000296A8000")
STARTS = [0, *(0xA000 + n * LOG_BYTES for n in range(10))]
ON_ACTIVE = {9, 10}
TAPES = [
    LogDataSet(str(n), start, following - 1, active=n in ON_ACTIVE)
    for n, (start, following) in enumerate(pairwise(STARTS), start=1)
]
CURRENT = LogDataSet("current", STARTS[-1], STARTS[-1] + LOG_BYTES - 1, active=True)
LOGS = [*TAPES, CURRENT]
IN_FLIGHT = UnitOfRecovery(UnitStatus.IN_FLIGHT, rba_of("0000000A1F55"))
IN_DOUBT = UnitOfRecovery(UnitStatus.IN_DOUBT, rba_of("0000046280C4"), end_rba=rba_of("0000046280C4"))
IN_COMMIT = UnitOfRecovery(UnitStatus.IN_COMMIT, rba_of("000008E340AO"))  # the letter O, as printed
UNITS = [IN_FLIGHT, IN_DOUBT, IN_COMMIT]
FORWARD_RATE, BACKWARD_RATE = OLD_TAPE_FORWARD.bytes_per_s, OLD_TAPE_BACKWARD.bytes_per_s


def test_the_archives_are_the_printed_ones():
    printed = {
        2: ("00000000A000", "000004659FFF"),
        4: ("000008CAA000", "00000D2F9FFF"),
        10: ("00002328A000", "0000278D9FFF"),
    }
    for number, (start, end) in printed.items():
        assert (rba_of(start), rba_of(end)) == (TAPES[number - 1].start_rba, TAPES[number - 1].end_rba)
    assert len(TAPES) == 10
    assert LOG_BYTES == 73_728_000


@pytest.mark.oracle("mp16-ch1/44", kind="approx", lines="1380-1385")
def test_example_phase_2():
    stretch = state_range(rba_of("0000278DF333"), FAILURE)
    assert stretch.bytes == 31_231_181
    assert round(stretch.bytes / MB) == 31
    assert round(read_time_s(stretch.bytes, FORWARD_RATE)) == 12


@pytest.mark.oracle("mp16-ch1/45", kind="approx", lines="1403-1411")
def test_example_in_doubt():
    (stretch,) = forward_ranges([IN_DOUBT], LOGS, FAILURE)
    assert stretch.bytes == 73_523_396
    assert round(stretch.bytes / MB) == 74
    assert round(units_s([stretch], FORWARD_RATE)) == 27


@pytest.mark.oracle("mp16-ch1/46", kind="approx", lines="1413-1417")
def test_example_in_commit():
    (stretch,) = forward_ranges([IN_COMMIT], LOGS, FAILURE)
    assert stretch.bytes == 547_348_480
    assert round(stretch.bytes / MB) == 547
    assert floor(units_s([stretch], FORWARD_RATE)) == 202


@pytest.mark.oracle("mp16-ch1/47", kind="approx", lines="1419")
def test_example_buffer_pools():
    assert round(read_time_s(LOG_BYTES, FORWARD_RATE)) == 27
    assert round(read_time_s(rebuild_bytes(LOG_BYTES), FORWARD_RATE)) == 82


@pytest.mark.oracle("mp16-ch1/48", kind="exact", lines="1421-1424")
def test_example_forward():
    assert RestartEstimate(12, 27 + 202, 82, 1400).forward_s == 229
    ranges = forward_ranges(UNITS, LOGS, FAILURE)
    assert floor(max(units_s(ranges, FORWARD_RATE), read_time_s(rebuild_bytes(LOG_BYTES), FORWARD_RATE))) == 229


@pytest.mark.oracle("mp16-ch1/49", kind="approx", lines="1447-1449")
def test_example_backward():
    stretch = backward_range(UNITS, FAILURE)
    assert stretch.bytes == 694_182_059
    assert stretch.bytes / MB == pytest.approx(700, rel=0.01)
    assert backward_s(stretch, BACKWARD_RATE) == pytest.approx(1400, rel=0.01)


@pytest.mark.oracle("mp16-ch1/50", kind="exact", lines="1389-1390, 1426, 1436, 1451")
def test_example_tapes():
    forward = archives_to_mount(forward_ranges(UNITS, LOGS, FAILURE), LOGS)
    assert ["2", "4", "5", "6", "7", "8"] == [tape.name for tape in forward]
    backward = archives_to_mount([backward_range(UNITS, FAILURE)], LOGS)
    assert ["8", "7", "6", "5", "4", "3", "2"] == [tape.name for tape in reversed(backward)]
    assert len(forward) + len(backward) == 13


@pytest.mark.oracle("mp16-ch1/51", kind="loose", lines="1451")
def test_example_total():
    estimate = restart_estimate(
        state_range(rba_of("0000278DF333"), FAILURE),
        forward_ranges(UNITS, LOGS, FAILURE),
        rebuild_bytes(LOG_BYTES),
        backward_range(UNITS, FAILURE),
        FORWARD_RATE,
        BACKWARD_RATE,
        mounts=13,
        mount_s=60,
    )
    assert estimate.mounting_s == 13 * 60
    assert estimate.total_s / 60 == pytest.approx(39.9, rel=0.02)
    assert estimate.total_s / 60 == pytest.approx(45, rel=0.15)


# What holds of every restart.


def test_backwards_is_at_best_half_as_fast():
    assert BACKWARD.bytes_per_s / FORWARD.bytes_per_s == pytest.approx(0.5, abs=0.04)
    assert OLD_TAPE_FORWARD.bytes_per_s / OLD_TAPE_BACKWARD.bytes_per_s > 5
    assert pytest.approx(2.4, abs=0.06) == OLD_DASD_FORWARD.bytes_per_s / MB
    assert max(READ_RATES, key=lambda rate: rate.bytes_per_s) is FORWARD


def test_ranges_that_meet_are_read_once():
    near = [UnitOfRecovery(UnitStatus.IN_DOUBT, start, start + 10) for start in (0xA001, 0xB001)]
    assert forward_ranges(near, LOGS, FAILURE) == [LogRange(0xA000, 0xB00B)]


def test_phase_2_reads_the_log_from_its_start():
    checkpoint = rba_of("0000278DF333")
    assert state_range(checkpoint, FAILURE, CURRENT.start_rba).from_rba == CURRENT.start_rba
    with pytest.raises(OutOfRangeError, match="log_start_rba"):
        state_range(10, 20, log_start_rba=11)


def test_nothing_in_flight_is_nothing_to_undo():
    assert backward_range([IN_COMMIT], FAILURE).bytes == 0
    assert forward_ranges([IN_FLIGHT], LOGS, FAILURE) == []
    assert archives_to_mount([LogRange(FAILURE, FAILURE)], LOGS) == []


def test_an_rba_on_no_data_set_is_refused():
    lost = UnitOfRecovery(UnitStatus.IN_DOUBT, rba_of("0000FFFFFFFF"))
    with pytest.raises(OutOfRangeError, match="0000FFFFFFFF is in no log data set: they hold 000000000000 to"):
        forward_ranges([lost], LOGS, rba_of("0001FFFFFFFF"))
    with pytest.raises(OutOfRangeError, match="no log data set was given"):
        forward_ranges([lost], [], FAILURE)


@given(st.lists(st.tuples(st.integers(0xA000, FAILURE - 1), st.integers(0, 10**9)), min_size=1, max_size=8))
def test_forward_ranges_are_apart_and_hold_every_unit(units):
    listed = [UnitOfRecovery(UnitStatus.IN_DOUBT, start, min(start + length, FAILURE)) for start, length in units]
    ranges = forward_ranges(listed, LOGS, FAILURE)
    assert all(one.to_rba < other.from_rba for one, other in pairwise(ranges))
    for unit in listed:
        assert any(each.from_rba <= unit.start_rba and unit.end_rba <= each.to_rba for each in ranges)


@given(RBAS, st.integers(1, 2**32), st.floats(1, 1e10))
def test_more_log_or_a_slower_reader_takes_longer(start, length, rate):
    longer = media_recovery_s(start + length, start, rate)
    assert longer < media_recovery_s(start + length, start, rate / 2)
    assert media_recovery_s(start + length - 1, start, rate) < longer
    assert longer <= media_recovery_s(start + length, start, rate, 1000, fuzzy=True)


@given(st.integers(0, 10**7), st.floats(0, 1), st.floats(1, 10_000))
def test_zhpf_reads_40_percent_faster(pages, share, read_us):
    plain, zhpf = (forward_page_reads_s(pages, share, read_us, zhpf=on) for on in (False, True))
    assert plain == pytest.approx(zhpf * 1.4)


def test_checkpoints_to_rebuild():
    assert bytes_between_checkpoints(4 * GIB, 4) == GIB
    assert rebuild_bytes(GIB, failed_in_checkpoint=False) == 2 * GIB


@given(RBAS)
def test_an_rba_reads_back(rba):
    assert rba == rba_of(f"{rba:012X}") == rba_of(f"{rba:016x}")


@pytest.mark.parametrize("text", ["", "XYZ", "00000000000000000", "-1"])
def test_an_rba_that_is_none(text):
    with pytest.raises(OutOfRangeError, match="is not valid: 1 to 16 hexadecimal digits"):
        rba_of(text)


@pytest.mark.parametrize(
    "impossible",
    [
        lambda: LogRange(5, 4),
        lambda: LogRange(-1, 4),
        lambda: read_time_s(1, 0),
        lambda: read_time_s(-1),
        lambda: forward_page_reads_s(1, 1.1),
        lambda: forward_page_reads_s(-1),
        lambda: page_read_rate_bytes_per_s(0),
        lambda: bytes_between_checkpoints(1, 0.5),
        lambda: rebuild_bytes(-1),
        lambda: media_recovery_s(5, 6),
        lambda: restart_estimate(LogRange(0, 1), [], 0, LogRange(0, 1), mounts=-1),
    ],
)
def test_impossible_values_name_what_is_valid(impossible):
    with pytest.raises(OutOfRangeError, match="is not valid: "):
        impossible()


def test_a_data_set_is_needed_from_its_first_byte_to_its_last():
    tape = LogDataSet("T", 100, 199)
    stretches = [(50, 100), (50, 101), (199, 300), (200, 300)]
    assert [False, True, True, False] == [tape.meets(LogRange(*each)) for each in stretches]


def test_ranges_that_touch_are_one():
    touching = [LogDataSet("1", 0, 99), LogDataSet("2", 100, 199)]
    units = [UnitOfRecovery(UnitStatus.IN_DOUBT, 5, 100), UnitOfRecovery(UnitStatus.IN_DOUBT, 120, 150)]
    assert forward_ranges(units, touching, 200) == [LogRange(0, 150)]


def test_the_shortest_and_longest_rba():
    assert (0, 2**64 - 1) == (rba_of("0"), rba_of("F" * 16))


def test_what_is_not_said_costs_nothing():
    nothing = LogRange(0, 0)
    assert restart_estimate(nothing, [], 0, nothing, mounts=3).total_s == 0
    assert RestartEstimate(1, 2, 3, 4, mounts=5).total_s == 8
    assert media_recovery_s(100, 0, 1, fuzzy=True) == 100
    assert bytes_between_checkpoints(100, 1) == 100
