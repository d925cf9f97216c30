"""What accounting and trace cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.quantity import MIB
from quaestor.planner.source import OutOfRangeError
from quaestor.planner.tracing import (
    Accounting,
    GlobalTrace,
    accounting_cpu_us,
    global_trace_cpu_us,
    smf_116_bytes,
    smf_116_records,
    smf_116_volume_bytes,
    smf_records_on_cylinders,
)

ONE, THREE = Accounting.CLASS_1, Accounting.CLASS_3


@pytest.mark.oracle("mp16-ch1/59", kind="exact", lines="1864")
def test_records_of_20_queues():
    assert smf_116_records(20) == 3
    assert [1, 1, 2, 2, 3] == [smf_116_records(n) for n in (0, 8, 9, 17, 18)]
    assert smf_116_records(20, ONE) == 1


@pytest.mark.oracle("mp16-ch1/60", kind="exact", lines="1912-1917")
def test_volume_of_a_million_transactions():
    assert int(smf_116_volume_bytes(1_000_000, 2, ONE) / MIB) == 415
    assert int(smf_116_volume_bytes(1_000_000, 2, THREE) / MIB) == 7938
    assert int(smf_116_volume_bytes(1_000_000, 8, THREE) / MIB) == 23914


@pytest.mark.oracle("mp16-ch1/61", kind="exact", lines="1936-1958")
def test_accounting_of_a_cics_transaction():
    """One MQPUT1, then COMMIT, BACKOUT and OTHER, in a transaction of 1000 microseconds."""
    assert 1000 + accounting_cpu_us(ONE, puts_and_gets=1, other_calls=3) == 1005
    assert 1000 + accounting_cpu_us(THREE, puts_and_gets=1, other_calls=3) == 1033


@pytest.mark.oracle("mp16-ch1/62", kind="bench", lines="1986-1988")
def test_global_trace():
    costs = [global_trace_cpu_us(trace) for trace in GlobalTrace]
    assert [100, 200, 800] == costs


def test_continuations_cost_up_to_60_percent_of_the_primary():
    assert accounting_cpu_us(THREE, 0, queues=20, write_us=50) == pytest.approx(50 * (1 + 2 * 0.6))


@given(st.integers(1, 7))
def test_each_queue_adds_the_same(queues):
    assert smf_116_bytes(queues + 1) - smf_116_bytes(queues) == 2792
    assert smf_116_bytes(queues, ONE) == 436


@given(st.integers(9, 200), st.integers(0, 1000))
def test_more_than_8_queues_need_the_size_of_a_continuation(queues, fixed):
    with pytest.raises(OutOfRangeError, match="is not valid: 1 to 8, unless continuation_fixed_bytes"):
        smf_116_bytes(queues)
    records = smf_116_records(queues)
    assert smf_116_bytes(queues, THREE, fixed) == 2740 + 2792 * queues + (records - 1) * fixed


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100))
def test_class_3_gathers_at_every_call_and_class_1_does_not(puts_and_gets, others, queues):
    assert accounting_cpu_us(ONE, puts_and_gets, others, queues) == 2 * puts_and_gets + 3
    assert accounting_cpu_us(THREE, puts_and_gets, others, queues) >= 2 * (puts_and_gets + others) + 25


@pytest.mark.parametrize(
    ("impossible", "valid"),
    [
        (lambda: accounting_cpu_us(ONE, 1, gather_us=3), "2 to 2"),
        (lambda: accounting_cpu_us(THREE, 1, write_us=51), "6 to 50"),
        (lambda: accounting_cpu_us(THREE, -1), "0 or more"),
        (lambda: smf_116_bytes(0), "1 or more"),
        (lambda: smf_116_records(-1), "0 or more"),
        (lambda: smf_116_volume_bytes(-1, 1), "0 or more"),
        (lambda: global_trace_cpu_us(GlobalTrace.RES, -1), "0 or more"),
    ],
)
def test_impossible_values_name_what_is_valid(impossible, valid):
    with pytest.raises(OutOfRangeError, match=f"is not valid: {valid}"):
        impossible()


@pytest.mark.oracle("mp1b/2", kind="exact", lines="601, 618")
def test_records_that_fit_on_100_cylinders():
    """A task record of two queues fills a control interval alone; nine of class 1 share one (printed: 160,000)."""
    assert 18_000 == smf_records_on_cylinders(100, 2_260)
    assert 162_000 == smf_records_on_cylinders(100, 436)
    assert 160_000 == pytest.approx(smf_records_on_cylinders(100, 436), rel=0.013)


@given(st.integers(1, 1000), st.integers(1, 4091))
def test_longer_records_never_fit_more_often(cylinders, length):
    assert smf_records_on_cylinders(cylinders, length) >= smf_records_on_cylinders(cylinders, length + 1)
    assert smf_records_on_cylinders(cylinders, length) * (length + 4) <= cylinders * 180 * 4096


def test_a_record_longer_than_a_control_interval_is_refused():
    with pytest.raises(OutOfRangeError, match="record_bytes 4093 is not valid: 1 to 4092"):
        smf_records_on_cylinders(1, 4_093)
