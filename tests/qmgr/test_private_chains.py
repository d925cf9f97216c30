"""A private queue in memory: its chains, its cursors and its index, one example each (E1-E4)."""

import pytest

from quaestor.mqi.descriptors import NO_ID
from quaestor.mqi.objects import IndexType
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.queue_store import AVAILABLE, TAKEN, Arrival

pytestmark = pytest.mark.plain

KEY, OTHER = b"K".ljust(24, b"\0"), b"O".ljust(24, b"\0")


def arrival(sequence, priority=0, correl_id=NO_ID, msg_id=NO_ID):
    one = Arrival()
    one.sequence, one.priority, one.holder = sequence, priority, None
    one.msg_id, one.correl_id, one.group_id = msg_id, correl_id, NO_ID
    return one


def queue(*arrivals, index_type=IndexType.NONE):
    found = PrivateQueue(7, "ORDERS", None, index_type)
    for each in arrivals:
        found.add(each)
    return found


def numbers(arrivals):
    return [each.sequence for each in arrivals]


def gone(orders, one, state=TAKEN):
    orders.remove(one)
    one.state = state


def test_a_new_queue_has_nothing():
    orders = queue()
    assert (7, "ORDERS", 0, 0, 0, 0, False) == (
        orders.queue_id,
        orders.name,
        orders.depth,
        orders.uncommitted,
        orders.with_expiry,
        orders.high,
        orders.harden_backout,
    )
    assert ([0] * 10, [0] * 20, orders) == (orders.by_priority, orders.last_pages, orders.counted)
    assert not orders.shared
    assert (None, None, [], []) == (orders.first(), orders.top(), orders.available(), list(orders.walk(None)))


@pytest.mark.parametrize(
    ("put", "order"),
    [
        ([(1, 0), (2, 0), (3, 0)], [1, 2, 3]),
        ([(1, 0), (2, 9), (3, 5), (4, 9)], [2, 4, 3, 1]),
        ([(2, 0), (3, 0), (1, 0)], [1, 2, 3]),  # committed late, or backed out: at its place
        ([(1, 0), (4, 0), (3, 0), (2, 0)], [1, 2, 3, 4]),
        ([(5, 3), (1, 3), (3, 3)], [1, 3, 5]),
    ],
)
def test_arrivals_stand_by_priority_and_then_in_order_of_arrival(put, order):
    """E1, whenever each of them becomes available."""
    orders = queue(*(arrival(*each) for each in put))
    assert order == numbers(orders.available()) == numbers(orders.walk(None))
    assert order[0] == orders.first().sequence == orders.top().sequence
    assert {AVAILABLE} == {each.state for each in orders.available()}


def test_the_first_is_one_that_nobody_holds_and_the_top_is_anyones():
    held, free = arrival(1, 5), arrival(2, 5)
    low = arrival(3, 1)
    orders = queue(held, free, low)
    held.holder = "browser"
    assert (2, 1) == (orders.first().sequence, orders.top().sequence)
    free.holder = "browser"
    assert (3, 1) == (orders.first().sequence, orders.top().sequence)
    low.holder = "browser"
    assert (None, 1) == (orders.first(), orders.top().sequence)


def test_high_comes_down_only_over_empty_chains():
    """E2: a message of a higher priority that is held will be there again."""
    held, low = arrival(1, 9), arrival(2, 2)
    orders = queue(held, low)
    held.holder = "browser"
    assert (2, 9) == (orders.first().sequence, orders.high)
    held.holder = None
    gone(orders, held)
    assert (2, 2) == (orders.first().sequence, orders.high)
    gone(orders, low)
    assert (None, 0) == (orders.first(), orders.high)
    orders.add(held)
    assert (1, 9) == (orders.first().sequence, orders.high)


def test_a_chain_that_empties_below_high_leaves_high():
    top, low = arrival(1, 4), arrival(2, 3)
    orders = queue(top, low)
    gone(orders, low)
    assert (1, 4) == (orders.first().sequence, orders.high)


def test_what_follows_goes_on_in_the_next_priority_that_has_any():
    one, two, three = arrival(1, 7), arrival(2, 7), arrival(3, 2)
    orders = queue(one, two, three)
    assert (two, three, None) == tuple(orders.following(each) for each in (one, two, three))


def test_a_cursor_on_an_arrival_that_left_finds_what_is_still_there():
    """E3: the next ones may have left since, too."""
    arrivals = [arrival(n) for n in range(1, 6)]
    orders = queue(*arrivals)
    one, two, three, four, _ = arrivals
    gone(orders, two)
    assert three is orders.following(two)
    gone(orders, three)
    assert four is orders.following(two)
    assert four is orders.following(one)
    for each in (four, arrivals[4]):
        gone(orders, each)
    assert orders.following(two) is None


def test_a_cursor_finds_what_has_come_in_between_since():
    """E3: the arrival behind it left, came back, and another that commits late stands before it."""
    one, two, late, four = (arrival(n) for n in (1, 2, 3, 4))
    orders = queue(one, two, four)
    gone(orders, two)
    orders.add(late)
    assert late is orders.following(two)
    gone(orders, four)
    assert late is orders.following(two)
    gone(orders, one)
    assert [3] == numbers(orders.walk(two))


def test_a_cursor_does_not_go_back_to_what_it_has_passed():
    early, two, three = arrival(1), arrival(2), arrival(3)
    orders = queue(two, three)
    gone(orders, two)
    orders.add(early)
    assert three is orders.following(two)


def test_a_walk_sees_the_queue_as_it_is_when_it_comes_there():
    arrivals = [arrival(n) for n in range(1, 5)]
    orders = queue(*arrivals)
    seen = []
    for each in orders.walk(None):
        seen.append(each.sequence)
        if each.sequence == 1:
            gone(orders, arrivals[0])
            gone(orders, arrivals[2])
            orders.add(arrival(5))
    assert [1, 2, 4, 5] == seen


def test_a_queue_that_is_no_more_holds_nothing_together():
    one = arrival(1)
    orders = queue(one)
    orders.end()
    assert all(end.later is not end and end.sooner is not end for end in orders.chains)


# --- the index -------------------------------------------------------------------------------------------------------


def test_without_an_index_there_is_none():
    orders = queue(arrival(1, correl_id=KEY))
    assert (None, "", []) == (orders.index, orders.index_field, orders.with_key(KEY))


@pytest.mark.parametrize(
    ("index_type", "field"),
    [(IndexType.MSGID, "msg_id"), (IndexType.CORRELID, "correl_id"), (IndexType.GROUPID, "group_id")],
)
def test_an_index_is_of_one_identifier(index_type, field):
    one, other = arrival(1), arrival(2)
    setattr(one, field, KEY)
    orders = queue(one, other, index_type=index_type)
    assert (field, {KEY: one}) == (orders.index_field, orders.index)


def test_those_of_one_identifier_are_found_in_order_of_delivery():
    """E4: by priority, then by arrival, whenever they came."""
    several = [arrival(n, priority, KEY) for n, priority in ((4, 0), (1, 0), (3, 9), (2, 0))]
    orders = queue(*several, arrival(9, 5, OTHER), arrival(10), index_type=IndexType.CORRELID)
    assert ([3, 1, 2, 4], [9], []) == tuple(numbers(orders.with_key(key)) for key in (KEY, OTHER, NO_ID))


def test_an_identifier_is_forgotten_with_its_last_arrival():
    """E4: one that is alone stands there itself."""
    several = [arrival(n, 0, KEY) for n in (1, 2, 3)]
    orders = queue(*several, index_type=IndexType.CORRELID)
    assert {1, 2, 3} == orders.index[KEY].keys()
    gone(orders, several[0])
    assert {2, 3} == orders.index[KEY].keys()
    gone(orders, several[2])
    assert several[1] is orders.index[KEY]
    gone(orders, several[1])
    assert {} == orders.index
    orders.add(several[2])
    assert {KEY: several[2]} == orders.index


def test_arrivals_without_the_identifier_come_and_go_beside_the_index():
    one = arrival(1)
    orders = queue(one, index_type=IndexType.CORRELID)
    assert {} == orders.index
    gone(orders, one)
    assert [] == orders.available()


def test_another_index_is_made_of_what_is_there():
    one, two = arrival(1, correl_id=KEY, msg_id=OTHER), arrival(2, correl_id=KEY)
    orders = queue(one, two, index_type=IndexType.CORRELID)
    orders.set_index(IndexType.MSGID)
    assert ({OTHER: one}, []) == (orders.index, orders.with_key(KEY))
    orders.set_index(IndexType.NONE)
    assert (None, "") == (orders.index, orders.index_field)
    orders.set_index(IndexType.CORRELID)
    assert [1, 2] == numbers(orders.with_key(KEY))
