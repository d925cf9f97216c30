"""The IMS bridge: commit modes, one and two TPIPEs, and what to add next."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner import ims_bridge as bridge
from quaestor.planner.ims_bridge import BRIDGE_RUNS, BridgeRun, CommitMode, ImsSettings, Limit
from quaestor.planner.ims_monitor import Wait, cut, occupancy_percent_from_wfi
from quaestor.planner.source import OutOfRangeError

CM0, CM1 = CommitMode.COMMIT_THEN_SEND, CommitMode.SEND_THEN_COMMIT
CM0_1, CM1_1, CM0_2, CM1_2 = BRIDGE_RUNS


@pytest.mark.oracle("mp16-ch4-11/53", kind="measured", lines="5639")
def test_unused_shared_bridge_queues():
    assert 1 == pytest.approx(100 * bridge.UNUSED_SHARED_BRIDGE_QUEUE_COST_PERCENT)
    assert 10 == bridge.UNUSED_SHARED_BRIDGE_QUEUE_WAKES_SEC


@pytest.mark.oracle("mp16-ch4-11/54", kind="measured", lines="5672")
def test_wait_for_input():
    assert {False: 75, True: 880} == bridge.WFI_RATE


@pytest.mark.oracle("mp16-ch4-11/55", kind="measured", lines="5716-5718")
def test_peak_with_one_region():
    assert (2_750, 2_000) == (bridge.PEAK_WITH_ONE_REGION[CM0], bridge.PEAK_WITH_ONE_REGION[CM1])


def test_send_then_commit_holds_its_region_longer():
    assert not bridge.region_is_held_while_output_is_sent(CM0)
    assert bridge.region_is_held_while_output_is_sent(CM1)
    assert (8, 6) == (len(bridge.COMMIT_STEPS[CM0]), len(bridge.COMMIT_STEPS[CM1]))
    assert CM1 is bridge.better_commit_mode(persistent=True, spare_regions=False)
    assert CM0 is bridge.better_commit_mode(persistent=False, spare_regions=False)


@pytest.mark.oracle("mp16-ch4-11/65", kind="exact", lines="6011-6115")
@pytest.mark.parametrize("run", BRIDGE_RUNS, ids=lambda run: f"CM{run.mode.value}-{run.tpipes}")
def test_cost_of_a_transaction(run):
    assert run.cost_us_printed == round(run.cost_us)


WFI = {
    CM0_1: (Wait(82_718, 41_191_904), Wait(79_081, 42_015_547)),
    CM1_1: (Wait(79_882, 16_582_118), Wait(79_855, 16_592_048)),
    CM0_2: (Wait(85_064, 39_500_980), Wait(84_605, 39_736_498)),
    CM1_2: (Wait(713, 166_333), Wait(693, 158_148)),
}


@pytest.mark.oracle("mp16-ch4-11/65", kind="exact", lines="6040-6115")
def test_waits_of_the_regions():
    assert [161_799, 159_737, 169_669, 1_406] == [sum(wait.iwaits for wait in waits) for waits in WFI.values()]
    means = [cut(wait.mean_us) for waits in WFI.values() for wait in waits]
    assert ["497", "531", "207", "207", "464", "469", "233", "228"] == means
    occupied = [f"{occupancy_percent_from_wfi(wait, 60):.1f}" for waits in WFI.values() for wait in waits]
    assert ["31.3", "30.0", "72.4", "72.3", "34.2", "33.8", "99.7", "99.7"] == occupied
    printed = [percent for run in BRIDGE_RUNS for percent in run.occupancy_percents]
    assert [float(percent) for percent in occupied] == pytest.approx(printed, abs=0.7)
    lgmsg = [Wait(52, 111_728), Wait(10, 17_574), Wait(82, 167_153), Wait(16, 48_000)]
    assert ["2148", "1757", "2038", "3000"] == [cut(wait.mean_us) for wait in lgmsg]


@pytest.mark.oracle("mp16-ch4-11/65", kind="source-error", lines="6098")
def test_the_average_wait_of_commit_mode_0():
    """Printed 500 us; weighted by their counts the two regions give 514."""
    waits = WFI[CM0_1]
    assert 514 == round(sum(wait.total_us for wait in waits) / sum(wait.iwaits for wait in waits))


@pytest.mark.oracle("mp16-ch4-11/65", kind="measured", lines="6011-6115")
def test_the_four_runs():
    assert [2_700, 2_747, 2_852, 3_017] == [run.transactions_per_sec for run in BRIDGE_RUNS]
    assert [82.5, 87, 89.5, 92.57] == [run.busy_percent for run in BRIDGE_RUNS]
    assert [(CM0, 1), (CM1, 1), (CM0, 2), (CM1, 2)] == [(run.mode, run.tpipes) for run in BRIDGE_RUNS]
    assert [(6, 1), (6, 4), (3, 2), (3, 2)] == [(run.request_depth_high, run.reply_depth_high) for run in BRIDGE_RUNS]
    occupied = [run.occupancy_percents for run in BRIDGE_RUNS]
    assert [(31.2, 29.9), (72.3, 72.3), (33.6, 34.0), (99.7, 99.7)] == occupied


def limits_of(run: BridgeRun):
    return bridge.limits_now(
        cpu_busy_percent=run.busy_percent,
        occupancy_percents=run.occupancy_percents,
        request_depth_high=run.request_depth_high,
        requesters_per_queue=6 // run.tpipes,
    )


@pytest.mark.oracle("mp16-ch4-11/65", kind="exact", lines="6067-6115")
def test_what_to_add_next():
    """One TPIPE: requests stand in the queue. With two, commit mode 0 takes more TPIPEs, commit mode 1 a region."""
    assert "5.6" == f"{100 * (CM0_2.transactions_per_sec / CM0_1.transactions_per_sec - 1):.1f}"
    assert "9.8" == f"{100 * (CM1_2.transactions_per_sec / CM1_1.transactions_per_sec - 1):.1f}"
    assert (Limit.BRIDGE_TASK,) == limits_of(CM0_1) == limits_of(CM1_1) == limits_of(CM0_2)
    assert (Limit.REGIONS,) == limits_of(CM1_2)


def test_nothing_limits_where_requests_do_not_wait():
    assert (Limit.BRIDGE_TASK,) == limits_of(replace(CM0_1, request_depth_high=3))
    assert () == limits_of(replace(CM0_1, request_depth_high=2))
    assert () == limits_of(replace(CM0_1, request_depth_high=1))
    assert (Limit.CPU,) == limits_of(replace(CM0_1, busy_percent=99.97))
    assert (Limit.CPU, Limit.REGIONS) == limits_of(replace(CM1_2, busy_percent=100.0))


def test_region_time_differs_from_run_to_run():
    assert [226, 526, 661] == [round(run.region_us) for run in (CM0_1, CM1_1, CM1_2)]
    assert 709 == round(bridge.region_us_per_transaction([63.7, 63.5], 1_794.8))


@pytest.mark.oracle("mp16-ch4-11/66", kind="measured", lines="6139")
def test_tuned_local_rate():
    assert (2_000, 35) == (bridge.TUNED_LOCAL_RATE_PER_SEC, bridge.TUNED_LOCAL_GAIN_PERCENT)


def capacity(**changed):
    known = {
        "regions": 2,
        "region_us": 526,
        "tpipes": 1,
        "bridge_task_rate_per_sec": 2_700,
        "processors": 3,
        "cost_us": 950,
    }
    return bridge.bridge_capacity_per_sec(**known | changed)


def test_capacity_is_the_least_of_three():
    assert (2_700, Limit.BRIDGE_TASK) == capacity()
    rate, limit = capacity(tpipes=2)
    assert (3_158, Limit.CPU) == (round(rate), limit)
    rate, limit = capacity(regions=1, tpipes=2)
    assert (1_901, Limit.REGIONS) == (round(rate), limit)
    assert 3 == bridge.tpipes(bridge_queues=1, queue_managers=3)


@given(st.floats(0, 1e5), st.floats(1, 1e4), st.floats(1, 1e4))
def test_what_is_needed_suffices_and_no_more(rate, region_us, task_rate):
    regions = bridge.regions_needed(rate, region_us)
    pipes = bridge.tpipes_needed(rate, task_rate)
    carried, _ = capacity(
        regions=regions, region_us=region_us, tpipes=pipes, bridge_task_rate_per_sec=task_rate, cost_us=1e-3
    )
    assert carried >= rate * (1 - 1e-9)
    assert rate * region_us / 1e4 / regions <= 90 * (1 + 1e-9)
    assert regions == 1 or rate * region_us / 1e4 / (regions - 1) > 90 * (1 - 1e-9)
    assert pipes == 1 or rate > (pipes - 1) * task_rate * (1 - 1e-9)


WELL = ImsSettings(regions=4, schedules=4, qbuf=256, checkpoint_minutes_avg=15)


def test_settings_that_are_wrong():
    def rules(**changed):
        return [finding.rule for finding in bridge.settings_findings(replace(WELL, **changed))]

    assert [] == rules()
    assert ["IMS-1"] == rules(checkpoint_minutes_avg=9.4 / 60)
    first = bridge.settings_findings(replace(WELL, checkpoint_minutes_avg=9.4 / 60))[0]
    assert "a checkpoint every 0.16 min, aim 10 to 20; CPLOG 500000 of at most 16000000" == first.because
    assert ["IMS-4"] == rules(qbuf=3) == rules(buffer_waits=1)
    assert ["IMS-5"] == rules(regions_without_work=1)
    assert ["IMS-8"] == rules(schedules=107_692)
    assert ["IMS-9"] == rules(online_log_waits=1)
    assert ["IMS-10"] == rules(parallel_instances_allowed=False)
    assert ["IMS-11"] == rules(unused_shared_bridge_queues=100)
    everything = bridge.settings_findings(
        ImsSettings(2, 99, 1, 1, 1, 1.0, parallel_instances_allowed=False, unused_shared_bridge_queues=1)
    )
    assert ["IMS-1", "IMS-10", "IMS-4", "IMS-5", "IMS-8"] == [finding.rule for finding in everything if finding.alarm]
    assert (
        "100 unused bridge queues, about 1 %"
        == bridge.settings_findings(replace(WELL, unused_shared_bridge_queues=100))[0].because
    )


def test_modules_to_preload():
    assert 26 == len(set(bridge.PRELOAD_MODULES))
    assert all(name.startswith("CSQ") and len(name) in {7, 8} for name in bridge.PRELOAD_MODULES)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: capacity(regions=0), "regions 0 is not valid: 1 or more"),
        (lambda: capacity(cost_us=0), "cost_us 0 is not valid: more than 0"),
        (
            lambda: bridge.regions_needed(1, 1, occupancy_percent_max=101),
            "occupancy_percent_max 101 is not valid: 0 to",
        ),
        (lambda: bridge.tpipes(1, 0), "queue_managers 0 is not valid: 1 or more"),
        (lambda: limits_of(replace(CM0_1, busy_percent=101)), "cpu_busy_percent 101 is not valid: 0 to 100"),
        (lambda: replace(WELL, regions_without_work=5), "regions_without_work 5 is not valid: 0 to 4"),
        (lambda: replace(WELL, cplog=999), "cplog 999 is not valid: 1000 to 16000000"),
        (lambda: bridge.region_us_per_transaction([1], 0), "transactions_per_sec 0 is not valid: more than 0"),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()
