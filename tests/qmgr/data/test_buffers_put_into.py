"""The buffer a non-persistent message was put into: looked at first, and believed only while it has its page (D9)."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.mqi.objects import LocalQueue
from quaestor.qmgr.data.occupied import OccupiedPages
from quaestor.testing import SMALL, FaultyDisk, SmallEngine

TWO = replace(SMALL, buffer_pools={0: 64, 1: 20}, page_sets={0: 0, 1: 1, 2: 1}, pages=200)
"""Two page sets in one pool, whose pages have the same numbers."""

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 1), st.sampled_from([1, 3000, 4000, 9000]), st.booleans()),
        st.tuples(st.just("get"), st.integers(0, 1), st.integers(0, 20)),
        st.tuples(st.just("resize"), st.integers(8, 60)),
        st.tuples(st.just("write")),
    ),
    max_size=60,
)


class Crowded:
    """An engine with a queue on each of two page sets, more messages than buffers, and what must be on the queues."""

    def __init__(self):
        self.small = SmallEngine(FaultyDisk(), TWO)
        self.queues = [self.small.data.queue(LocalQueue(f"Q{number}", page_set=number)) for number in (1, 2)]
        self.expected = [[], []]
        self.made = 0

    def put(self, which, size, persistent=False):
        self.made += 1
        body = self.made.to_bytes(2, "big") * (size // 2 + 1)
        unit = self.small.begin() if persistent else None
        self.small.put(unit, body, persistent=persistent, queue=self.queues[which])
        if unit is not None:
            self.small.commit(unit)
        self.expected[which].append(body)

    def get(self, which, at=0):
        """The message at a place of the queue, as a get by identifier does it."""
        there = self.queues[which].available()
        if there:
            at %= len(there)
            persistent = there[at].persistent
            unit = self.small.begin() if persistent else None
            message = self.small.data.read(there[at])
            self.small.data.take(unit, there[at])
            if unit is not None:
                self.small.commit(unit)
            assert self.expected[which].pop(at) == message.body

    def pool(self):
        return self.small.buffers.pools[1]

    def holds(self):
        """Every message is there, and the buffer it is read from is the one its page set has for its page."""
        for queue, expected in zip(self.queues, self.expected, strict=True):
            for arrival in queue.available():
                assert self.small.data._here(queue.page_set, arrival) is queue.page_set.frames.get(arrival.page)
            assert expected == self.small.bodies(queue)


@settings(max_examples=60)
@given(STEPS)
def test_it_is_the_one_that_the_page_set_has(steps):
    """Whatever is put, got by identifier, written and stolen, and whatever size the pool is given."""
    crowded = Crowded()
    for verb, *with_what in steps:
        match verb:
            case "put":
                crowded.put(*with_what)
            case "get":
                crowded.get(*with_what)
            case "resize":
                crowded.pool().resize(*with_what)
            case "write":
                crowded.small.buffers.write_all()
        crowded.holds()


def outgrow_the_pool():
    """Buffers of the first page set go to the second, and back."""
    crowded = Crowded()
    for which in (0, 1, 0):
        for _ in range(30):
            crowded.put(which, 100)
    for which in (0, 1):
        for _ in range(len(crowded.expected[which])):
            crowded.get(which)
    crowded.holds()


def take_turns_by_any_number():
    """A buffer of a page of the first page set goes to the page of that number of the second."""
    for count in range(15, 40):
        crowded = Crowded()
        for which in (0, 1):
            for _ in range(count):
                crowded.put(which, 100)
        for which in (0, 1):
            for _ in range(count):
                crowded.get(which)


def write_and_read_again():
    """Messages whose buffers were written, given up and read into others."""
    crowded = Crowded()
    for _ in range(10):
        crowded.put(0, 100)
    crowded.small.buffers.write_all()
    crowded.pool().resize(0)
    crowded.pool().resize(60)
    crowded.holds()


@pytest.mark.parametrize("proof", [outgrow_the_pool, take_turns_by_any_number, write_and_read_again])
def test_a_buffer_that_was_stolen_or_given_up_is_none_of_it(proof):
    proof()


def test_a_buffer_that_was_given_up_keeps_no_message():
    """Messages know it as long as they are queued: what a pool no longer has is not in memory."""
    crowded = Crowded()
    for _ in range(15):
        crowded.put(0, 3000)
    crowded.pool().resize(0)
    known = [arrival.frame for arrival in crowded.queues[0].available()]
    assert [(None, None)] * 15 == [(frame.content, frame.raw) for frame in known]
    crowded.pool().resize(20)
    crowded.holds()


def _whatever_its_page_is(page_set, arrival):
    return arrival.frame if arrival.frame.changed else page_set.frames.get(arrival.page)


def _of_any_page_set(page_set, arrival):
    put_into = arrival.frame
    found = put_into.changed and put_into.page == arrival.page
    return put_into if found else page_set.frames.get(arrival.page)


def _changed_or_not(page_set, arrival):
    put_into = arrival.frame
    found = put_into.page == arrival.page and put_into.page_set is page_set
    return put_into if found else page_set.frames.get(arrival.page)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("remove", "proof"),
    [
        (_whatever_its_page_is, outgrow_the_pool),
        (_of_any_page_set, take_turns_by_any_number),
        (_changed_or_not, write_and_read_again),
    ],
)
def test_each_condition_is_needed(remove, proof, monkeypatch):
    monkeypatch.setattr(OccupiedPages, "_here", staticmethod(remove))
    with pytest.raises(AssertionError):
        proof()
