"""The IMS monitor run of one minute: 2 regions, 6 requesters, 1,803 transactions a second."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner import ims_monitor as ims
from quaestor.planner.hardware import cost_us_per_transaction
from quaestor.planner.ims_monitor import Calls, Partition, RegionTime, RegionVerdict, RunProfile, Wait, cut
from quaestor.planner.source import OutOfRangeError

MINUTE = 60.0
PROFILE = RunProfile(interval_sec=MINUTE, messages_dequeued=107_692, schedules=2, dli_calls=215_380)
REGION_1, REGION_4 = 38_219_948, 38_117_765
DLI_1 = RegionTime(107_821, 37_679_783, 37_668_306)
DLI_4 = RegionTime(107_559, 37_571_817, 37_568_048)


@pytest.mark.oracle("mp16-ch4-11/56", kind="identity", lines="5744-5753")
def test_physical_busy_follows_from_lpar_busy():
    rows = [Partition("MVS2A", 3, 99.97), Partition("MVS2B", 3, 97.52), Partition("MVS25", 3, 100.0)]
    assert ["9.67", "9.44", "9.68"] == [f"{ims.physical_busy_percent(row, 31):.2f}" for row in rows]
    assert all(row.at_capacity for row in rows)
    assert [False, True] == [Partition("one", 3, busy).at_capacity for busy in (96.99, 97.0)]


@pytest.mark.oracle("mp16-ch4-11/57", kind="exact", lines="5813-5828")
def test_run_profile():
    assert ("1794.8", "1.9") == (cut(PROFILE.transactions_per_sec, 1), cut(PROFILE.dli_calls_per_transaction, 1))
    assert "1794.87" == f"{PROFILE.transactions_per_sec:.2f}"
    assert ("0.0", "0.0") == (cut(0 / 107_692, 1), cut(115 / 107_692, 1))
    assert 1_531 == int(cost_us_per_transaction(3, 92, 1_803) + 0.5)


@pytest.mark.oracle("mp16-ch4-11/57", kind="source-error", lines="5813-5828")
def test_the_printed_trace_time_is_cut():
    """59.9 seconds, as printed, would give 1797.8."""
    assert "1797.8" == cut(RunProfile(59.9, 107_692, 2, 215_380).transactions_per_sec, 1)


@pytest.mark.oracle("mp16-ch4-11/58", kind="identity", lines="5835-5850")
def test_call_summary():
    calls = [Calls("ISRT", 107_691, 0, 11), Calls("GU", 107_689, 10, 686)]
    low, high = ims.mean_call_us_range(calls)
    assert "348.5" == f"{low:.1f}"
    assert low <= (DLI_1.elapsed_us + DLI_4.elapsed_us) / 215_380 < high
    assert "349" == cut((DLI_1.elapsed_us + DLI_4.elapsed_us) / 215_380)
    assert PROFILE.dli_calls == sum(line.calls for line in calls)


@pytest.mark.oracle("mp16-ch4-11/59", kind="exact", lines="5854-5878")
def test_region_summary():
    assert ("2121", "38168856") == (cut((3_235 + 1_007) / 2), cut((REGION_1 + REGION_4) / 2))
    assert ("349", "349") == (cut(DLI_1.mean_us), cut(DLI_4.mean_us))
    assert 75_251_600 == DLI_1.elapsed_us + DLI_4.elapsed_us
    assert 75_236_354 == DLI_1.not_wait_us + DLI_4.not_wait_us
    assert (11_477, 3_769) == (DLI_1.iwait_us, DLI_4.iwait_us)
    assert 15_246 == DLI_1.iwait_us + DLI_4.iwait_us
    assert "23928" == cut(RegionTime(6, 143_571, 143_571).mean_us)
    assert ("63.7", "63.5") == tuple(f"{ims.occupancy_percent(us, MINUTE):.1f}" for us in (REGION_1, REGION_4))


# The console of the run: each checkpoint says which one a restart would use, which is the one before.
TIMES = ["122503", "122513", "122522", "122531", "122541", "122550"]
CONSOLE = [
    "12.24.54 STC00997 DFS2212I monitor on",
    *(
        line
        for before, now in zip(["122436", *TIMES], TIMES, strict=False)
        for line in (
            f"12.25.{now[4:]} STC00997 DFS2716I no MSDB",
            f"12.25.{now[4:]} STC00997 DFS994I *CHKPT 08296/{now}**SIMPLE* IM9A",
            f"12.25.{now[4:]} STC00997 DFS3804I LATEST RESTART CHKPT: 08296/{before}, LATEST BUILDQ: 08296/120523",
        )
    ),
    "12.25.54 STC00997 DFS2213I monitor off",
]


@pytest.mark.oracle("mp16-ch4-11/60", kind="scenario", lines="5880-5909")
def test_checkpoints_on_the_console():
    seconds = ims.checkpoint_seconds(CONSOLE)
    assert 6 == len(seconds)
    assert {9, 10} == {after - before for before, after in pairwise(seconds)}
    assert "9.4" == f"{60 * ims.checkpoint_minutes_avg(seconds):.1f}"
    assert ims.checkpoints_too_often(ims.checkpoint_minutes_avg(seconds))
    assert [True, False, False] == [ims.checkpoints_too_often(minutes) for minutes in (9.9, 10, 15)]
    assert (10, 20) == ims.CHECKPOINT_MINUTES


def test_checkpoints_past_midnight_and_none():
    before, after = ims.checkpoint_seconds(["DFS994I *CHKPT 08296/235950*", "DFS994I *CHKPT 08297/000010*"])
    assert 20 == after - before
    assert () == ims.checkpoint_seconds(CONSOLE[:1])
    assert () == ims.checkpoint_seconds([])


@pytest.mark.parametrize(("last", "first"), [("00366", "01001"), ("08366", "09001"), ("09365", "10001")])
def test_checkpoints_past_new_year(last, first):
    """Days are year and day of the year; 2000, unlike 1900, and 2008 were leap years."""
    before, after = ims.checkpoint_seconds([f"DFS994I *CHKPT {last}/235950*", f"DFS994I *CHKPT {first}/000010*"])
    assert (86_390, 86_410) == (before, after)


def test_seconds_are_counted_from_the_first_days_midnight():
    assert (3723,) == ims.checkpoint_seconds(["DFS994I *CHKPT 08296/010203*"])


@pytest.mark.parametrize(
    ("percent", "verdict"),
    [
        (100, RegionVerdict.FULL),
        (99, RegionVerdict.FULL),
        (98.99, RegionVerdict.SOME_SPARE),
        (90, RegionVerdict.SOME_SPARE),
        (89.99, RegionVerdict.NOT_THE_LIMIT),
        (0, RegionVerdict.NOT_THE_LIMIT),
    ],
)
def test_the_least_occupied_region_decides(percent, verdict):
    assert verdict is ims.region_verdict([100, percent])


@pytest.mark.oracle("mp16-ch4-11/61", kind="exact", lines="5913-5937")
def test_region_iwait():
    one, four = Wait(4, 11_477), Wait(6, 3_769)
    assert ("2869", "628") == (cut(one.mean_us), cut(four.mean_us))
    assert (10, 15_246) == (one.iwaits + four.iwaits, one.total_us + four.total_us)
    assert "4.57" == f"{2_869 / 628:.2f}"
    assert "1524" == cut(Wait(10, 15_246).mean_us)


@pytest.mark.oracle("mp16-ch4-11/62", kind="exact", lines="5941-5946")
def test_program_summary():
    assert "708" == cut((REGION_1 + REGION_4) / PROFILE.messages_dequeued)
    assert "1.9" == cut(PROFILE.dli_calls_per_transaction, 1)
    assert "2121" == cut(4_242 / PROFILE.schedules)


@pytest.mark.oracle("mp16-ch4-11/62", kind="source-error", lines="5941-5946")
def test_the_messages_of_a_schedule_lost_their_first_digit():
    """Printed 3846.0."""
    assert "53846.0" == cut(PROFILE.dequeued_per_schedule, 1)


@pytest.mark.oracle("mp16-ch4-11/63", kind="exact", lines="5950-5960")
def test_program_io():
    waits = [Wait(50_600, 21_753_542), Wait(50_379, 21_858_044)]
    assert 100_979 == sum(wait.iwaits for wait in waits)
    assert ["429", "433"] == [cut(wait.mean_us) for wait in waits]
    occupied = [ims.occupancy_percent_from_wfi(wait, MINUTE) for wait in waits]
    assert ["63.74", "63.57"] == [f"{percent:.2f}" for percent in occupied]
    assert occupied == pytest.approx([63.7, 63.5], abs=0.1)
    assert RegionVerdict.NOT_THE_LIMIT is ims.region_verdict(occupied)


FOUR = [Wait(41, 24_830), Wait(41, 33_346), Wait(43, 25_763), Wait(27, 12_985)]
FIVE = [Wait(1_593, 900_430), Wait(1_530, 853_962), Wait(1_525, 886_910), Wait(1_595, 887_466), Wait(1_613, 899_249)]


@pytest.mark.oracle("mp16-ch4-11/64", kind="scenario", lines="5962-5997")
def test_sixteen_requesters_on_one_tpipe():
    assert ["605", "813", "599", "480"] == [cut(wait.mean_us) for wait in FOUR]
    assert ["565", "558", "581", "556", "557"] == [cut(wait.mean_us) for wait in FIVE]
    assert RegionVerdict.FULL is ims.region_verdict([99.7] * 4)
    assert RegionVerdict.SOME_SPARE is ims.region_verdict([98.3] * 5)
    for waits, verdict in ((FOUR, RegionVerdict.FULL), (FIVE, RegionVerdict.SOME_SPARE)):
        assert verdict is ims.region_verdict(ims.occupancy_percent_from_wfi(wait, MINUTE) for wait in waits)


@pytest.mark.oracle("mp16-ch4-11/64", kind="source-error", lines="5993")
def test_four_regions_were_fuller_than_printed():
    """Printed 99.7 %; the waits leave 99.94 to 99.98 %."""
    occupied = [ims.occupancy_percent_from_wfi(wait, MINUTE) for wait in FOUR]
    assert ("99.94", "99.98") == (f"{min(occupied):.2f}", f"{max(occupied):.2f}")


@given(st.integers(0, 60_000_000))
def test_waiting_and_executing_fill_the_interval(wfi_us):
    executing = ims.occupancy_percent(60_000_000 - wfi_us, MINUTE)
    assert executing == pytest.approx(ims.occupancy_percent_from_wfi(Wait(1, wfi_us), MINUTE))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9))
def test_a_region_that_waits_for_work_settles_it(percents):
    full, spare = ims.region_verdict([100.0, *percents]), ims.region_verdict([0.0, *percents])
    assert RegionVerdict.NOT_THE_LIMIT is spare
    assert (RegionVerdict.FULL is full) == (min(percents) >= 99)


@given(st.floats(0, 1e9), st.integers(0, 6))
def test_cut_never_rounds_up(value, decimals):
    assert value - 10**-decimals - 1e-6 <= float(cut(value, decimals)) <= value + 1e-6


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: RunProfile(0, 1, 1, 1), "interval_sec 0 is not valid: more than 0"),
        (lambda: RunProfile(60, 0, 1, 1), "messages_dequeued 0 is not valid: 1 or more"),
        (lambda: RunProfile(60, 1, 0, 1), "schedules 0 is not valid: 1 or more"),
        (lambda: RegionTime(0, 5, 5), "occurrences 0 is not valid: 1 or more"),
        (lambda: ims.region_verdict([5], full_percent=50, moderate_percent=51), "moderate_percent 51 is not valid"),
        (lambda: RegionTime(1, 5, 6), "not_wait_us 6 is not valid: 0 to 5"),
        (lambda: ims.occupancy_percent(61e6, MINUTE), "execution_us 61000000 is not valid: 0 to 60000000"),
        (lambda: ims.region_verdict([]), "regions 0 is not valid: 1 or more"),
        (lambda: ims.region_verdict([50, 101]), "occupancy_percent of region 2 101 is not valid: 0 to 100"),
        (lambda: ims.checkpoint_minutes_avg([5]), "checkpoints 1 is not valid: 2 or more"),
        (lambda: ims.mean_call_us_range([]), "calls 0 is not valid: more than 0"),
        (lambda: ims.physical_busy_percent(Partition("p", 4, 1), 3), "processors_of_machine 3 is not valid: 4 or more"),
        (lambda: Wait(0, 0).mean_us, "iwaits 0 is not valid: more than 0"),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()
