"""Which stretches of the log a restart reads, and on which data sets they lie (R1 to R4)."""

import pytest

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
from quaestor.planner.source import OutOfRangeError

FIRST = LogDataSet("A1", 0x0000, 0x0FFF)
SECOND = LogDataSet("A2", 0x1000, 0x1FFF)
THIRD = LogDataSet("A3", 0x2000, 0x2FFF)
ACTIVE = LogDataSet("LOGCOPY1.DS01", 0x3000, 0x3FFF, active=True)
LOGS = [FIRST, SECOND, THIRD, ACTIVE]
FAILURE = 0x3800


def unit(status, start, end=None):
    return UnitOfRecovery(UnitStatus(status), start, end)


def test_a_data_set_is_an_archive_unless_it_is_said_to_be_active():
    assert [False, False, False, True] == [each.active for each in LOGS]


@pytest.mark.parametrize(
    ("rba", "held"), [(0x0FFF, False), (0x1000, True), (0x17FF, True), (0x1FFF, True), (0x2000, False)]
)
def test_a_data_set_holds_its_first_and_its_last_byte(rba, held):
    assert held == SECOND.holds(rba)


@pytest.mark.parametrize(
    ("begin", "end", "met"),
    [
        (0x0000, 0x1000, False),  # up to its first byte, not including it
        (0x0000, 0x1001, True),
        (0x1800, 0x1900, True),
        (0x1FFF, 0x3000, True),
        (0x2000, 0x3000, False),
        (0x0000, 0x4000, True),
    ],
)
def test_a_data_set_meets_a_stretch(begin, end, met):
    assert met == SECOND.meets(LogRange(begin, end))


def test_a_stretch_has_as_many_bytes_as_lie_between():
    assert 0x234 == LogRange(0x1000, 0x1234).bytes
    assert 0 == LogRange(5, 5).bytes
    with pytest.raises(OutOfRangeError, match="to_rba 4 is not valid: 5 or more"):
        LogRange(5, 4)


# --- forward ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["C", "D"])
def test_a_unit_is_read_from_the_start_of_its_first_data_set(status):
    """R1: up to its last record where that is known, to the failure where it is not."""
    assert [LogRange(0x1000, 0x1900)] == forward_ranges([unit(status, 0x1800, 0x1900)], LOGS, FAILURE)
    assert [LogRange(0x1000, FAILURE)] == forward_ranges([unit(status, 0x1800)], LOGS, FAILURE)


@pytest.mark.parametrize("status", ["F", "A"])
def test_units_in_flight_or_backout_are_not_read_forward(status):
    assert [] == forward_ranges([unit(status, 0x1800)], LOGS, FAILURE)


def test_a_unit_that_begins_at_the_first_byte_of_a_data_set_needs_no_other():
    assert [LogRange(0x1000, 0x1100)] == forward_ranges([unit("D", 0x1000, 0x1100)], LOGS, FAILURE)
    assert [LogRange(0x0000, 0x1100)] == forward_ranges([unit("D", 0x0FFF, 0x1100)], LOGS, FAILURE)


def test_stretches_that_overlap_are_read_once():
    """R2: the longer end holds, also where the second unit lies within the first."""
    both = [unit("D", 0x0100, 0x1200), unit("C", 0x1300, 0x1400)]
    assert [LogRange(0x0000, 0x1400)] == forward_ranges(both, LOGS, FAILURE)
    within = [unit("D", 0x0100, 0x1FF0), unit("C", 0x0200, 0x0300)]
    assert [LogRange(0x0000, 0x1FF0)] == forward_ranges(within, LOGS, FAILURE)


def test_stretches_that_touch_are_one_and_others_stay_apart():
    touching = [unit("D", 0x0100, 0x1000), unit("D", 0x1800, 0x1900)]
    assert [LogRange(0x0000, 0x1900)] == forward_ranges(touching, LOGS, FAILURE)
    apart = [unit("D", 0x2100, 0x2200), unit("D", 0x0100, 0x0FFF)]
    assert [LogRange(0x0000, 0x0FFF), LogRange(0x2000, 0x2200)] == forward_ranges(apart, LOGS, FAILURE)


def test_an_rba_that_no_data_set_holds_is_refused_with_what_they_hold():
    with pytest.raises(
        OutOfRangeError, match="RBA 000000004000 is in no log data set: they hold 000000000000 to 000000003FFF"
    ):
        forward_ranges([unit("D", 0x4000, 0x4001)], LOGS, FAILURE)
    with pytest.raises(OutOfRangeError, match="they hold 000000001000 to 000000002FFF"):
        forward_ranges([unit("D", 0x0001, 0x0002)], [THIRD, SECOND], FAILURE)
    with pytest.raises(OutOfRangeError, match="RBA 000000000001 is not valid: no log data set was given"):
        forward_ranges([unit("D", 1, 2)], [], FAILURE)


# --- backward ---------------------------------------------------------------------------------------------------------


def test_backward_recovery_reads_from_the_failure_to_the_oldest_unit():
    """R3: units in flight and in backout; those in doubt or in commit are not backed out."""
    units = [unit("F", 0x2200), unit("A", 0x1100), unit("F", 0x3000), unit("D", 0x0001), unit("C", 0x0002)]
    assert LogRange(0x1100, FAILURE) == backward_range(units, FAILURE)


def test_nothing_in_flight_is_nothing_to_read():
    assert 0 == backward_range([unit("D", 1, 2)], FAILURE).bytes
    assert LogRange(FAILURE, FAILURE) == backward_range([], FAILURE)


# --- archives ---------------------------------------------------------------------------------------------------------


def test_archives_are_mounted_in_order_and_active_logs_are_not():
    """R4."""
    found = archives_to_mount([LogRange(0x0800, 0x1001), LogRange(0x3000, FAILURE)], [ACTIVE, SECOND, THIRD, FIRST])
    assert [FIRST, SECOND] == found
    assert [] == archives_to_mount([LogRange(0x3000, FAILURE)], LOGS)
    assert [] == archives_to_mount([], LOGS)


def test_an_archive_of_two_stretches_is_mounted_once():
    assert [SECOND] == archives_to_mount([LogRange(0x1000, 0x1100), LogRange(0x1200, 0x1300)], LOGS)


@pytest.mark.parametrize(
    ("text", "rba"),
    [("0", 0), ("FF", 255), ("00000000FFO0", 0xFF00), (" 1a ", 26), ("F" * 16, 2**64 - 1)],
)
def test_an_rba_as_messages_print_it(text, rba):
    """The letter O of a scanned page is a zero."""
    assert rba == rba_of(text)


@pytest.mark.parametrize("text", ["", " ", "0" * 17, "12G4", "-1", "0x10"])
def test_what_is_no_rba_is_refused(text):
    with pytest.raises(OutOfRangeError, match="1 to 16 hexadecimal digits"):
        rba_of(text)


ARCHIVED = LogDataSet("A4", 0x3000, 0x3FFF)  # the log of ACTIVE, archived and not yet written over


@pytest.mark.parametrize(
    ("begin", "end", "mounted"),
    [
        (0x3000, 0x3800, []),
        (0x3000, 0x4000, []),
        (0x2FFF, 0x4000, ["A3"]),
        (0x1800, 0x3001, ["A2", "A3"]),
        (0x3000, 0x4001, []),  # the last byte is in no data set at all
        (0x1800, 0x1800, []),  # nothing to read
    ],
)
def test_an_archive_of_what_an_active_log_still_holds_is_not_mounted(begin, end, mounted):
    """R4: the BSDS names both."""
    both = [*LOGS, ARCHIVED]
    assert mounted == [each.name for each in archives_to_mount([LogRange(begin, end)], both)]


def test_an_archive_is_mounted_for_the_part_that_no_active_log_holds():
    """R4: active logs of another size hold its second half alone."""
    half = LogDataSet("LOGCOPY1.DS02", 0x3800, 0x47FF, active=True)
    mounted = [archives_to_mount([LogRange(begin, 0x4000)], [ARCHIVED, half]) for begin in (0x37FF, 0x3800)]
    assert [[ARCHIVED], []] == mounted
