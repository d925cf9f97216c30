"""Persistent message throughput."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.dasd import PLANNING_SHARE
from quaestor.planner.log_rate import put_and_get_log_bytes
from quaestor.planner.quantity import MIB
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.throughput import (
    Ending,
    UnitOfWork,
    instance_units_per_s_max,
    instances_needed,
    log_forces,
    log_forces_per_call,
    messages_per_s_max,
    messages_with_as_much_log,
    unit_of_work_log_bytes,
)


@pytest.mark.oracle("mp16-ch1/10", kind="exact", lines="721")
def test_messages_a_second_on_a_ds8800():
    assert messages_per_s_max(32.1 * MIB, put_and_get_log_bytes(1000)) == 14_634
    assert messages_per_s_max(32.1 * MIB, put_and_get_log_bytes(1000), PLANNING_SHARE) == 7_317


@pytest.mark.oracle("mp16-ch1/63", kind="exact", lines="2020-2022")
def test_two_forces_for_each_put_and_each_get_at_worst():
    cics_vsam_and_put = UnitOfWork(Ending.TWO_PHASE, puts=1)
    db2_procedure_get = UnitOfWork(Ending.TWO_PHASE, gets=1)
    assert (2, 2) == (log_forces([cics_vsam_and_put]), log_forces([db2_procedure_get]))
    assert log_forces_per_call([cics_vsam_and_put, db2_procedure_get]) == 2


@pytest.mark.oracle("mp16-ch1/64", kind="exact", lines="2023-2028")
def test_four_forces_for_a_request_and_its_reply():
    flow = [
        UnitOfWork(Ending.ONE_PHASE, puts=1),  # receiver channel, batch of 1
        UnitOfWork(Ending.TWO_PHASE, gets=1, puts=1),  # CICS: get, DB2 update, put reply
        UnitOfWork(Ending.ONE_PHASE, gets=1),  # sender channel, batch of 1
    ]
    assert log_forces(flow) == 4
    assert sum(unit.puts for unit in flow) == 2
    assert log_forces_per_call(flow) == 1


@pytest.mark.oracle("mp16-ch1/65", kind="exact", lines="2036")
def test_five_small_messages_log_like_one_of_10_kb():
    assert unit_of_work_log_bytes(5, 1000) == 11_500
    assert round(messages_with_as_much_log(1000, 10_000)) == 5
    assert messages_with_as_much_log(1000, 100_000) == pytest.approx(50, rel=0.1)


def test_forces_by_the_end_of_the_unit():
    assert UnitOfWork(Ending.OUT_OF_SYNCPOINT, puts=3, gets=2).forces == 5
    assert UnitOfWork(Ending.ONE_PHASE, puts=3, gets=2).forces == 1
    assert UnitOfWork(Ending.TWO_PHASE, puts=3, gets=2).forces == 2
    assert {0} == {UnitOfWork(ending).forces for ending in Ending}


@given(st.sampled_from([Ending.ONE_PHASE, Ending.TWO_PHASE]), st.integers(1, 50), st.integers(0, 50))
def test_more_messages_to_a_commit_force_less_for_each(ending, puts, gets):
    fewer, more = UnitOfWork(ending, puts, gets), UnitOfWork(ending, puts + 1, gets)
    assert log_forces_per_call([more]) < log_forces_per_call([fewer])


def test_one_instance_waits_for_its_forces():
    assert instance_units_per_s_max(2, log_write_s=0.001) == 500
    assert instance_units_per_s_max(2, log_write_s=0.001, other_s=0.002) == 250
    assert instances_needed(1200, 2, 0.001) == 3
    assert instances_needed(400, 2, 0.001, strict_order=True) == 1
    with pytest.raises(OutOfRangeError, match="units_per_s 1200 is not valid in strict order: at most 500"):
        instances_needed(1200, 2, 0.001, strict_order=True)


@given(st.floats(0, 1e5), st.integers(1, 4), st.floats(1e-4, 0.1))
def test_enough_instances_reach_the_rate(rate, forces, write_s):
    needed = instances_needed(rate, forces, write_s)
    assert needed * instance_units_per_s_max(forces, write_s) >= rate * (1 - 1e-9)


@pytest.mark.parametrize(
    "impossible",
    [
        lambda: messages_per_s_max(-1, 1),
        lambda: messages_per_s_max(1, 0),
        lambda: messages_per_s_max(1, 1, 1.5),
        lambda: instance_units_per_s_max(0, 1),
        lambda: instance_units_per_s_max(1, 0),
        lambda: instances_needed(-1, 1, 1),
        lambda: unit_of_work_log_bytes(-1, 1),
    ],
)
def test_impossible_values_name_what_is_valid(impossible):
    with pytest.raises(OutOfRangeError, match="is not valid: "):
        impossible()


def test_a_flow_without_persistent_calls_has_no_average():
    with pytest.raises(OutOfRangeError, match="0 persistent calls: 1 or more"):
        log_forces_per_call([UnitOfWork(Ending.ONE_PHASE)])
