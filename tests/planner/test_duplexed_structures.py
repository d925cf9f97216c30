"""What duplexing costs (MP16 chapter 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner.duplexing import (
    ADMIN_CF_LOAD_PERCENT,
    DuplexedLoad,
    distance_us,
    duplex_admin_change,
    duplex_both_change,
    duplexed_load,
    duplexing_fits,
)
from quaestor.planner.measured import Range
from quaestor.planner.source import OutOfRangeError

PERCENT = st.floats(0, 100)


@pytest.mark.oracle("mp16-ch2-3/19", kind="measured", lines="2665-2676")
@pytest.mark.parametrize(
    ("link", "persistent", "message_kb", "throughput", "cpu"),
    [
        ("ICP", False, 1, -30, Range(0, 30)),
        ("ICP", False, 32, -20, Range(0, 30)),
        ("ICP", True, 1, -25, Range(0, 30)),
        ("ICP", True, 32, -12, Range(0, 30)),
        ("CFP", False, 1, -18, Range(3, 8)),
        ("CFP", False, 63, -18, Range(3, 8)),
    ],
)
def test_duplexing_the_admin_structure(link, persistent, message_kb, throughput, cpu):
    change = duplex_admin_change(persistent, message_kb, link)
    assert cpu == change.cpu_percent
    assert Range.at(throughput) == change.throughput_percent
    assert {1: 33, 63: 10} == ADMIN_CF_LOAD_PERCENT


@pytest.mark.oracle("mp16-ch2-3/20", kind="measured", lines="2684-2687")
@pytest.mark.parametrize(
    ("persistent", "message_kb", "cpu", "throughput"),
    [
        (True, 1, 15, Range.at(0)),
        (False, 1, 30, Range.at(-40)),
        (False, 10, None, Range.at(-50)),
        (True, 32, 12, Range(-10, 0)),
        (False, 32, 25, None),
    ],
)
def test_duplexing_both_structures(persistent, message_kb, cpu, throughput):
    change = duplex_both_change(persistent, message_kb)
    assert throughput == change.throughput_percent
    assert (None if cpu is None else Range.at(cpu)) == change.cpu_percent


@pytest.mark.oracle("mp16-ch2-3/21", kind="measured", lines="2633")
def test_ten_kilometres():
    assert Range(200, 250) == distance_us(10)
    assert Range(0, 0) == distance_us(0)


def test_both_facilities_carry_twice_the_load():
    assert DuplexedLoad(primary_percent=50, secondary_percent=45) == duplexed_load(20, 10, 5)
    assert duplexing_fits(duplexed_load(30), primary_engines=2, secondary_engines=2)
    assert not duplexing_fits(duplexed_load(30), primary_engines=2, secondary_engines=1)
    assert not duplexing_fits(duplexed_load(30, other_primary_percent=1), primary_engines=2, secondary_engines=2)


@given(mq=PERCENT, other=PERCENT)
def test_duplexing_never_unloads_a_facility(mq, other):
    load = duplexed_load(mq, other)
    assert load.primary_percent >= mq + other
    assert load.primary_percent >= load.secondary_percent


@given(near=st.floats(0, 100), further=st.floats(0, 100))
def test_distance_only_adds(near, further):
    assert distance_us(near).high <= distance_us(near + further).high
    assert distance_us(near).low <= distance_us(near).high


def test_unmeasured_combinations_name_the_measured_ones():
    with pytest.raises(
        OutOfRangeError, match="message 2 KB persistent was not measured duplexed; valid are 1 KB persis"
    ):
        duplex_both_change(True, 2)
    with pytest.raises(OutOfRangeError, match="valid are 1 KB non-persistent, 63 KB non-persistent"):
        duplex_admin_change(True, 1, "CFP")
    with pytest.raises(OutOfRangeError, match="is not valid: ICP, CFP"):
        duplex_admin_change(True, 1, "CBP")
    with pytest.raises(OutOfRangeError, match="km -1 is not valid: 0 or more"):
        distance_us(-1)
