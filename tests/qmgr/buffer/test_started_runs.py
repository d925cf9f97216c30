"""Pages that are started together: a run is what as many pages one by one are, and counts the same (B5, B8, B10)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmgr.buffer.pools import Pool
from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.messages import Message
from quaestor.storage.changes import text
from quaestor.storage.log_record import Kind

COUNTED = (
    "get_new_page",
    "set_writes",
    "steals",
    "page_reads",
    "deferred_write_starts",
    "immediate_writes",
    "pages_written",
    "short_on_storage",
)


def message(number):
    return Message(b"body %d" % number, MQMD(), bytes(24), NO_ID, 0, 1, 1_000)


class Started:
    """A pool whose pages are started in runs, or one by one."""

    def __init__(self, *, together):
        self.small, self.together, self.number = Pool(), together, 0

    def start(self, pages):
        small, heads, rbas, contents = self.small, [], [], []
        for page in pages:
            self.number += 1
            heads.append(b"head %d, " % self.number)
            contents.append(message(self.number))
            rbas.append(small.logged(Kind.TEXT, page, heads[-1] + contents[-1].body))
        if self.together:
            small.pool.started_run(small.page_set, pages, text, heads, rbas, contents)
        else:
            for page, head, rba, content in zip(pages, heads, rbas, contents, strict=True):
                small.pool.started(small.page_set, page, text, head, rba, content.body, content)

    def is_volatile(self, page):
        """Whether a page is here for non-persistent messages: those are not changed, only put and got."""
        frame = self.small.page_set.frames.get(page)
        return frame is not None and frame.volatile

    def state(self):
        """Everything that anybody can see of the pool."""
        small = self.small
        frames = {page: small.frame(page) for page in small.here()}
        seen = ("rba", "first_rba", "changed", "whole", "volatile", "in_use", "born", "content", "started_with", "rest")
        return (
            small.counted(*COUNTED),
            small.pool.stats.stealable_low,
            small.pool.stealable,
            small.changed(),
            small.stealable(),
            {page: {name: getattr(frame, name) for name in seen} for page, frame in frames.items()},
            {page: bytes(frame.data or b"")[4:] for page, frame in frames.items() if page > 3},
        )


@pytest.fixture
def pools():
    return Started(together=True), Started(together=False)


def alike(pools):
    together, apart = (each.state() for each in pools)
    assert apart == together
    return together


@pytest.mark.parametrize(
    "before",
    [
        lambda _: None,
        lambda small: small.look(5, 6, 7),
        lambda small: small.start(5, 6, 7),
        lambda small: (small.start(5, 6, 7), small.pool.write(small.pool.changed())),
        lambda small: (small.change(5), small.change(6)),
        lambda small: (small.volatile(5, b"lost"), small.volatile(7, b"lost")),
        lambda small: small.pool.get(small.page_set, 6),
        lambda small: (small.start(6, 5), setattr(small.pool, "checkpoint", 1)),
        lambda small: (small.look(7), setattr(small.pool, "checkpoint", 3)),
    ],
    ids=["nowhere", "here", "started", "written", "changed", "volatile", "in use", "older", "here, later"],
)
def test_a_run_over_pages_in_every_state(pools, before):
    for each in pools:
        before(each.small)
        each.start([5, 6, 7])
    *_, frames, _ = alike(pools)
    assert [message(number) for number in (1, 2, 3)] == [frames[page]["content"] for page in (5, 6, 7)]


def test_no_more_pages_are_taken_than_there_are_records(pools):
    """The log had room for two of four: the other pages are not touched."""
    together = pools[0]
    small = together.small
    rbas = [small.logged(Kind.TEXT, page, b"head body") for page in (5, 6)]
    contents = [message(number) for number in range(4)]
    small.pool.started_run(small.page_set, [5, 6, 7, 8], text, [b"head "] * 4, rbas, contents)
    assert ([5, 6], (2, 2, 2)) == (small.here(), small.counted("get_new_page", "set_writes", "steals"))


@pytest.mark.parametrize("pages", [15, 16, 17, 18, 19, 20, 25])
def test_a_run_that_reaches_a_limit_of_the_pool(pools, pages):
    """B5: 16 pages leave four buffers stealable; with 17 writing starts, with 20 the run writes for the writer."""
    for each in pools:
        each.start([*range(5, 5 + pages)])
    counted, low, *_ = alike(pools)
    assert (int(pages >= 17), int(pages >= 20)) == (min(counted[4], 1), min(counted[5], 1))
    assert max(20 - pages, 0) == low


def test_runs_are_written_with_what_they_were_started_with(pools):
    for each in pools:
        each.start([5, 6])
        each.small.pool.write(each.small.pool.changed())
        assert [b"head 1, body 1", b"head 2, body 2"] == [each.small.on_disk(page) for page in (5, 6)]
        assert [] == each.small.records(Kind.IMAGE)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.lists(st.integers(5, 40), min_size=1, max_size=12, unique=True)),
        st.tuples(st.just("look"), st.integers(5, 40)),
        st.tuples(st.just("change"), st.integers(5, 40)),
        st.tuples(st.just("volatile"), st.integers(5, 40)),
        st.tuples(st.just("step"), st.none()),
        st.tuples(st.just("checkpoint"), st.none()),
    ),
    max_size=12,
)


@settings(max_examples=40)
@given(STEPS)
def test_any_history_is_the_same_together_and_one_by_one(steps):
    pools = Started(together=True), Started(together=False)
    for each in pools:
        for verb, given_ in steps:
            if verb == "start":
                each.start(given_)
            elif verb == "volatile":
                each.small.volatile(given_, b"lost")
            elif verb == "step":
                each.small.pool.deferred_write_step()
            elif verb == "checkpoint":
                each.small.pool.checkpoint += 1
            elif verb == "look" or not each.is_volatile(given_):
                getattr(each.small, verb)(given_)
    alike(pools)
