"""Clients straight into z/OS, or through a concentrator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.planner import tiers
from quaestor.planner.source import OutOfRangeError, Source, Table


@pytest.mark.oracle("mp16-ch4-11/51", kind="exact", lines="5517-5521")
def test_storage_of_two_clients_exceeds_a_pair_of_channels():
    assert (177, 354) == (tiers.two_tier_storage_kb(1), tiers.two_tier_storage_kb(2))
    assert 214 == tiers.three_tier_storage_kb()
    assert 2 == tiers.clients_from_which_three_tiers_save_storage()


@pytest.mark.oracle("mp16-ch4-11/52", kind="exact", lines="5571")
def test_cost_by_messages_of_a_connection():
    """The ends are printed; the values between follow from the two of them."""
    cost = tiers.connection_cost()
    assert ("149.9", "755.1") == (f"{cost.message_us:.1f}", f"{cost.connection_us:.1f}")
    assert [905, 165] == [round(cost.us_per_message(n)) for n in (1, 50)]
    assert [527, 301, 225, 188, 157] == [int(cost.us_per_message(n) + 0.5) for n in (2, 5, 10, 20, 100)]


@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_more_messages_of_a_connection_never_cost_more(one, other):
    low, high = sorted((one, other))
    cost = tiers.connection_cost()
    assert cost.us_per_message(high) <= cost.us_per_message(low)
    assert cost.us_per_message(high) > cost.message_us


@given(st.integers(1, 50))
def test_storage_breaks_even_where_it_says(pairs):
    clients = tiers.clients_from_which_three_tiers_save_storage(pairs)
    assert tiers.two_tier_storage_kb(clients) > tiers.three_tier_storage_kb(pairs)
    assert tiers.two_tier_storage_kb(clients - 1) <= tiers.three_tier_storage_kb(pairs)


def test_limits_of_two_tiers():
    assert (9_999, "MAXCHL") == tiers.clients_max()
    assert (2 << 20) // 300 == tiers.clients_max(client_kb=300)[0]  # 2GB
    assert (1_000, "storage") == tiers.clients_max(storage_kb=177_000)
    assert (1, 2) == (tiers.times_logged(2), tiers.times_logged(3))
    assert tiers.connections_are_short_lived(9)
    assert not tiers.connections_are_short_lived(10)
    assert [1, 1, 2] == [tiers.message_channels_needed(rate, 5_000) for rate in (0, 5_000, 5_001)]


def test_the_comparison_names_both_sides():
    assert 6 == len(tiers.TIER_FACTORS)
    assert all(line.two_tiers and line.three_tiers for line in tiers.TIER_FACTORS)
    assert tiers.ROUND_TRIP_ORDER.index("client straight to z/OS") == 2


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: tiers.two_tier_storage_kb(-1), "clients -1 is not valid: 0 or more"),
        (lambda: tiers.three_tier_storage_kb(0), "channel_pairs 0 is not valid: 1 or more"),
        (lambda: tiers.times_logged(4), "tiers 4 is not valid: 2, 3"),
        (lambda: tiers.connection_cost().us_per_message(0.5), "messages_per_connection 0.5 is not valid: 1 or more"),
        (lambda: tiers.clients_max(client_kb=0), "client_kb 0 is not valid: more than 0"),
        (lambda: tiers.message_channels_needed(1, 0), "channel_rate_per_sec 0 is not valid: more than 0"),
        (
            lambda: tiers.connection_cost(Table("one point", Source("test", "1", "1"), ("n", "us"), ((5, 1), (5, 1)))),
            "messages_per_connection 5 is not valid: more than 5",
        ),
    ],
)
def test_impossible_values_name_the_range(call, says):
    with pytest.raises(OutOfRangeError, match=says):
        call()
