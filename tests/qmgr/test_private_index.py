"""The index of a private queue: whoever asks by an identifier finds what a walk over the queue would (E4)."""

from hypothesis import given
from hypothesis import strategies as st

from quaestor.mqi.descriptors import NO_ID
from quaestor.mqi.objects import IndexType
from quaestor.qmgr.data.queue import PrivateQueue
from quaestor.qmgr.queue_store import Arrival
from quaestor.testing import SmallEngine

KEYS = [NO_ID, b"A" * 24, b"B" * 24]
STEPS = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 2), st.integers(0, 5)), max_size=30)


def arrival(sequence, key, priority):
    made = Arrival()
    made.sequence, made.correl_id, made.priority, made.holder = sequence, key, priority, None
    return made


@given(STEPS)
def test_it_has_what_a_walk_finds_whatever_comes_and_goes(steps):
    """Each step puts one, and takes one of those that are there if its last number says so."""
    queue = PrivateQueue(1, "Q", SmallEngine().queue.page_set, IndexType.CORRELID)
    there = []
    for sequence, (key, priority, which) in enumerate(steps, 1):
        there.append(arrival(sequence, key, priority))
        queue.add(there[-1])
        if which < len(there):
            queue.remove(there.pop(which))
        for wanted in KEYS[1:]:
            found = [one for one in queue.available() if one.correl_id == wanted]
            assert found == queue.with_key(wanted)
    assert {one.correl_id for one in there} - {NO_ID} == queue.index.keys()


def test_an_identifier_of_its_own_takes_no_more_than_its_place():
    queue = PrivateQueue(1, "Q", SmallEngine().queue.page_set, IndexType.CORRELID)
    first, second = arrival(1, KEYS[1], 0), arrival(2, KEYS[1], 0)
    queue.add(first)
    assert first is queue.index[KEYS[1]]
    queue.add(second)
    queue.remove(first)
    assert second is queue.index[KEYS[1]]
