"""A buffer pool of 20 buffers: what is asked of it, stolen and written, and how it changes its size (B1-B10)."""

import pytest

from qmgr.buffer.pools import Pool
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.buffer.writing import IMAGE
from quaestor.storage.changes import chain, pack_next, text
from quaestor.storage.log_record import Kind
from quaestor.storage.page import HEADER_LENGTH, header_of

REQUESTS = ("get_page", "get_new_page", "page_reads", "set_writes", "steals")
WRITES = ("deferred_write_starts", "pages_written", "write_ios", "immediate_writes", "synchronous_write_starts")


@pytest.fixture
def small():
    return Pool()


# --- requests (B1) ----------------------------------------------------------------------------------------------------


def test_a_page_is_read_once_and_then_it_is_here(small):
    small.look(5, 5, 5)
    assert (3, 0, 1, 0, 1) == small.counted(*REQUESTS)
    assert ([5], [], [5]) == (small.here(), small.changed(), small.stealable())
    assert (b"page 5\0", 1) == (small.frame(5).data[HEADER_LENGTH : HEADER_LENGTH + 7], small.frame(5).rba)
    figures = small.buffers.meter.page_sets[7]
    assert (1, 1) == (figures.read_ios, figures.read_pages)


def test_the_same_call_gets_a_page_again_and_asks_once(small):
    """A second look of one call is no second request, whether the page is still here or not."""
    first = small.pool.get(small.page_set, 5)
    assert first is small.pool.again(small.page_set, 5)
    assert (2, (1, 0, 1, 0, 1)) == (first.in_use, small.counted(*REQUESTS))
    small.pool.again(small.page_set, 6)
    assert (1, 0, 2, 0, 2) == small.counted(*REQUESTS)


def test_a_new_page_is_not_read(small):
    frame = small.pool.new(small.page_set, 5)
    assert (None, 0, 1) == (frame.data, frame.rba, frame.in_use)
    assert (0, 1, 0, 0, 1) == small.counted(*REQUESTS)
    assert frame is small.pool.new(small.page_set, 5)
    assert (2, (0, 2, 0, 0, 1)) == (frame.in_use, small.counted(*REQUESTS))


def test_a_look_before_a_request_is_one_only_if_the_page_must_be_brought(small):
    frame = small.pool.peek(small.page_set, 5)
    assert (0, 1, [5]) == (frame.in_use, small.counted("get_page")[0], small.stealable())
    assert frame is small.pool.peek(small.page_set, 5)
    assert (1,) == small.counted("get_page")


def test_a_page_is_stealable_while_nobody_uses_it(small):
    """B3: it counts as used until the last of its users has released it."""
    once, twice = (small.pool.get(small.page_set, 5) for _ in range(2))
    assert ([], 19) == (small.stealable(), small.pool.stealable)
    small.pool.release(once)
    assert ([], 19) == (small.stealable(), small.pool.stealable)
    small.pool.release(twice)
    assert ([5], 20) == (small.stealable(), small.pool.stealable)
    assert 19 == small.pool.stats.stealable_low


def test_a_page_in_use_is_out_of_reach_of_those_who_steal(small):
    """B3: 19 others come and go through the buffers that are left."""
    held = small.pool.get(small.page_set, 2)
    small.look(*range(3, 42))
    assert held is small.frame(2)
    assert ([2, *range(23, 42)], 40) == (small.here(), small.counted("steals")[0])


def test_the_page_that_was_used_longest_ago_is_stolen(small):
    """B3: page 2 has been looked at again, so page 3 goes first, then 4."""
    small.look(*range(2, 22))
    small.look(2)
    small.look(50)
    assert [2, *range(4, 22), 50] == small.here()
    small.look(51)
    assert [2, *range(5, 22), 50, 51] == small.here()
    assert [*range(5, 22), 2, 50, 51] == small.stealable()


def test_a_buffer_that_nobody_used_is_taken_before_any_is_stolen(small):
    small.look(*range(2, 21))
    small.look(30)
    assert [*range(2, 21), 30] == small.here()


def test_a_page_that_is_not_whole_leaves_no_buffer_behind(small):
    """T3: the caller is told; the next one finds as many buffers as before."""
    small.page_set.write(5, [b"\xff" * 4096])
    with pytest.raises(TornPageError, match="page 5 of page set 7 is not whole"):
        small.look(5)
    assert ([], 20) == (small.here(), small.pool.stealable)


def test_when_every_buffer_is_in_use_there_is_nothing_to_give(small):
    """B3: before that is said, the pool has tried to write what it could."""
    for page in range(2, 22):
        small.pool.get(small.page_set, page)
    with pytest.raises(Abend, match=r"B3: every buffer of the pool is in use .*buffer_pool=7"):
        small.look(30)
    assert (1, 1, 0) == small.counted("short_on_storage", "deferred_write_starts", "pages_written")


def test_who_finds_only_changed_pages_has_some_written(small):
    """19 pages are in use, and page 2 is changed: it is written and its buffer taken."""
    small.start(2)
    for page in range(3, 22):
        small.pool.get(small.page_set, page)
    small.look(30)
    assert (1, 1) == small.counted("short_on_storage", "pages_written")
    assert b"started" == small.on_disk(2)
    assert [*range(3, 22), 30] == small.here()


@pytest.mark.plain
def test_who_finds_no_buffer_at_all_has_a_page_written_that_the_log_has_no_room_for(small, monkeypatch):
    """B13: all 20 pages need an image, which the background may not log; it is stuck, and says so.

    One is logged, for one is wanted: what is left of the log is for ending units.
    """
    monkeypatch.setattr(small.pool, "images_left", lambda _: 0)
    for page in range(2, 21):
        small.change(page)
    assert (False, 1) == (small.pool.is_stuck, small.pool.stealable)
    small.change(21)
    assert (True, 0, 0) == (small.pool.is_stuck, small.pool.stealable, *small.counted("pages_written"))
    small.from_now()
    end = small.log.end
    small.look(30)
    assert (1, 1) == small.counted("short_on_storage", "pages_written")
    assert (IMAGE, True) == (small.log.end - end, 30 in small.here())


def test_a_pool_is_not_stuck_while_the_log_has_room(small):
    for page in range(2, 22):
        small.pool.get(small.page_set, page)
    assert (0, False) == (small.pool.stealable, small.pool.is_stuck)


# --- changed pages ----------------------------------------------------------------------------------------------------


def test_a_changed_page_waits_to_be_written_and_is_not_stealable(small):
    """B3: its first change is what restart would begin with, its last what the log is forced up to."""
    first, last = small.change(5), small.change(5)
    frame = small.frame(5)
    assert (first, last, True, 0) == (frame.first_rba, frame.rba, frame.changed, frame.in_use)
    assert ([5], [], 19) == (small.changed(), small.stealable(), small.pool.stealable)
    assert (2, 0, 1, 2, 1) == small.counted(*REQUESTS)


def test_a_page_is_changed_in_one_step_wherever_it_is(small):
    """B8: on disk, here and unchanged, or changed already."""
    rbas = []
    for following in (1, 2, 3):
        body = pack_next(following)
        rbas.append(small.logged(Kind.CHAIN, 5, body))
        small.pool.change(small.page_set, 5, chain, body, rbas[-1])
        assert following == header_of(small.frame(5).data).next_page
        if following == 1:
            small.pool.write(small.pool.changed())
    frame = small.frame(5)
    assert (rbas[1], rbas[2], 0) == (frame.first_rba, frame.rba, frame.in_use)
    assert (0, 0, 1, 3, 1) == small.counted(*REQUESTS)


def test_a_page_of_non_persistent_messages_that_is_changed_by_the_log_is_volatile_no_more(small):
    """B7 ends where the first logged change of the page begins: from there on restart needs it."""
    small.volatile(5, b"lost at restart")
    assert (True, 0) == (small.frame(5).volatile, small.frame(5).first_rba)
    small.frame(5).data = small._form(small.frame(5))
    rba = small.logged(Kind.CHAIN, 5, pack_next(9))
    small.pool.change(small.page_set, 5, chain, pack_next(9), rba)
    assert (False, rba, [5]) == (small.frame(5).volatile, small.frame(5).first_rba, small.changed())


def test_a_page_that_is_set_to_be_written_without_log_has_no_first_change(small):
    """What the space map says of non-persistent messages does not outlive a restart: nothing of it is redone."""
    frame = small.pool.get(small.page_set, 5)
    small.pool.set_unlogged(frame)
    small.pool.set_unlogged(frame)
    small.pool.release(frame)
    assert ([5], 0, 2) == (small.changed(), frame.first_rba, small.counted("set_writes")[0])
    assert 1000 == small.buffers.recovery_rbas(1000)[7]


def test_what_nobody_needs_any_more_is_not_written_and_is_stolen_first(small):
    small.look(8, 9)
    small.start(5)
    small.pool.forget(small.frame(5))
    assert ([], [5, 8, 9]) == (small.changed(), small.stealable())
    frame = small.frame(5)
    assert (False, False, 0, None) == (frame.changed, frame.whole, frame.first_rba, frame.content)
    small.pool.write_all()
    assert b"page 5" == small.on_disk(5)


def test_what_is_forgotten_while_it_is_used_is_stealable_when_it_is_released(small):
    small.start(5)
    frame = small.pool.get(small.page_set, 5)
    small.pool.forget(frame)
    assert ([], []) == (small.changed(), small.stealable())
    small.pool.release(frame)
    assert ([], [5]) == (small.changed(), small.stealable())


def test_what_is_forgotten_unchanged_stays_where_it_is_among_the_stealable(small):
    small.look(8, 9)
    small.pool.forget(small.frame(9))
    assert [8, 9] == small.stealable()


# --- pages that are started (B8, B10) ---------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["nowhere", "here", "changed"])
def test_a_page_that_is_started_is_all_that_the_change_says(small, before):
    """C2: nothing of what the page held is needed, so it is not read; nor does it need an image to be written (B4)."""
    if before != "nowhere":
        small.look(5)
    if before == "changed":
        small.change(5)
    small.from_now()
    rba = small.start(5)
    frame = small.frame(5)
    assert (rba, rba, True, True, False, 0) == (
        frame.rba,
        frame.first_rba,
        frame.changed,
        frame.whole,
        frame.volatile,
        frame.in_use,
    )
    assert (0, 1, 0, 1, int(before == "nowhere")) == small.counted(*REQUESTS)
    assert ([5], [], 19) == (small.changed(), small.stealable(), small.pool.stealable)
    small.pool.write(small.pool.changed())
    assert (b"started", []) == (small.on_disk(5), small.records(Kind.IMAGE))


def test_what_is_kept_with_a_started_page_is_what_it_was_last_started_with(small):
    for content in ("first", "second"):
        rba = small.logged(Kind.TEXT, 5, b"headrest")
        assert small.pool.started(small.page_set, 5, text, b"head", rba, b"rest", content) is small.frame(5)
    assert ("second", b"head", b"rest") == (small.frame(5).content, small.frame(5).started_with, small.frame(5).rest)
    small.pool.write(small.pool.changed())
    assert b"headrest" == small.on_disk(5)


def test_a_page_that_is_started_again_after_a_checkpoint_is_as_new_as_that(small):
    """B10: it goes behind pages that were changed before; within one age it keeps its place."""
    small.start(5, 6, 7)
    small.start(5)
    assert [5, 6, 7] == small.changed()
    small.pool.checkpoint += 1
    small.start(6)
    assert ([5, 7, 6], [0, 0, 1]) == (small.changed(), [frame.born for frame in small.pool.changed()])


def test_a_page_that_is_changed_after_a_checkpoint_is_as_old_as_it_was(small):
    """B10 is for pages that are started: the earlier changes of others are still needed."""
    first = small.change(5)
    small.change(6)
    small.pool.checkpoint += 1
    small.change(5)
    assert ([5, 6], 0, first) == (small.changed(), small.frame(5).born, small.frame(5).first_rba)


def test_a_page_started_while_in_use_stays_in_use(small):
    frame = small.pool.get(small.page_set, 5)
    small.start(5)
    assert (frame, 1, [5], []) == (small.frame(5), frame.in_use, small.changed(), small.stealable())


# --- when pages are written (B5) --------------------------------------------------------------------------------------


def test_writing_starts_when_three_of_twenty_are_stealable_and_stops_at_five(small):
    """B5: 85 % and 75 %. The oldest are written, as many as are too much."""
    small.start(*range(2, 18))
    assert ((0, 0, 0, 0, 0), False, 4) == (small.counted(*WRITES), small.pool.due, small.pool.stealable)
    small.start(18)
    assert ((1, 0, 0, 0, 0), True, 3) == (small.counted(*WRITES), small.pool.due, small.pool.stealable)
    assert not small.pool.deferred_write_step()
    assert ((1, 2, 1, 0, 0), False, 5) == (small.counted(*WRITES), small.pool.due, small.pool.stealable)
    assert ([*range(4, 19)], [2, 3]) == (small.changed(), small.stealable())
    assert not small.pool.deferred_write_step()
    assert (1, 2, 1, 0, 0) == small.counted(*WRITES)


def test_writing_starts_whatever_it_is_that_takes_the_buffers(small):
    """B5: three are stealable because 17 are in use; there is nothing to write, and nothing is."""
    for page in range(2, 18):
        small.pool.get(small.page_set, page)
    assert not small.pool.due
    small.pool.get(small.page_set, 18)
    assert small.pool.due
    assert not small.pool.deferred_write_step()
    assert (1, 0, 0, 0, 0) == small.counted(*WRITES)


def test_who_changes_a_page_when_none_is_stealable_writes_five(small):
    """B5: 95 %. The background has not come; with 19 changed nobody writes for it yet, with 20 somebody must."""
    small.start(*range(2, 21))
    assert ((1, 0, 0, 0, 0), 1) == (small.counted(*WRITES), small.pool.stealable)
    small.start(21)
    assert ((1, 5, 1, 1, 1), 5) == (small.counted(*WRITES), small.pool.stealable)
    assert [2, 3, 4, 5, 6] == small.stealable()
    assert not small.pool.due
    figures = small.buffers.meter.page_sets[7]
    assert (1, 5, 0) == (figures.immediate_write_ios, figures.immediate_write_pages, figures.deferred_write_pages)


def test_who_releases_a_changed_page_writes_when_the_writer_is_behind(small):
    """B5: page 21 is changed while in use, and written about when it is released; a page in use is not written."""
    held = small.pool.get(small.page_set, 2)
    small.pool.set_write(held, small.logged(Kind.CHAIN, 2, pack_next(1)))
    small.start(*range(3, 21))
    assert (0,) == small.counted("immediate_writes")
    last = small.pool.get(small.page_set, 21)
    small.pool.set_write(last, small.logged(Kind.CHAIN, 21, pack_next(1)))
    assert (0,) == small.counted("immediate_writes")
    small.pool.release(last)
    assert (1, 5) == small.counted("immediate_writes", "pages_written")
    assert [2, *range(8, 22)] == small.changed()


def test_a_written_page_that_is_in_use_is_not_stealable_yet(small):
    frame = small.pool.get(small.page_set, 5)
    small.pool.set_write(frame, small.logged(Kind.CHAIN, 5, pack_next(1)))
    small.pool.write([frame])
    assert ([], []) == (small.changed(), small.stealable())
    small.pool.release(frame)
    assert [5] == small.stealable()


def test_a_step_writes_no_more_than_its_share(monkeypatch, small):
    """W1: calls wait for a step. With four pages a step, reaching 25 % takes two."""
    monkeypatch.setattr("quaestor.qmgr.buffer.stealing.STEP_PAGES", 4)
    for page in range(2, 22):
        frame = small.pool.get(small.page_set, page)
        small.pool.set_write(frame, small.logged(Kind.CHAIN, page, pack_next(1)))
    for frame in small.pool.changed():
        frame.in_use = 0
    assert small.pool.deferred_write_step()
    assert ((4,), 4) == (small.counted("pages_written"), small.pool.stealable)
    assert not small.pool.deferred_write_step()
    assert ((5,), 5) == (small.counted("pages_written"), small.pool.stealable)


def test_what_is_lowest_is_remembered(small):
    """The statistics say how few were stealable at worst, though many are by now."""
    small.start(*range(2, 21))
    small.pool.write(small.pool.changed())
    assert (1, 20) == (small.pool.stats.stealable_low, small.pool.stealable)
    small.start(2)
    assert 1 == small.pool.stats.stealable_low


# --- non-persistent messages (B7) -------------------------------------------------------------------------------------


def test_a_page_of_non_persistent_messages_is_formed_when_it_must_be_written(small):
    """B7: not before, and not for a shutdown, which has no use for it."""
    small.volatile(5, b"one")
    assert (0, 1, 0, 1, 1) == small.counted(*REQUESTS)
    small.pool.write_all()
    assert ([], [5]) == (small.formed, small.changed())
    small.pool.write(small.pool.changed())
    assert ([5], b"one", [], [5]) == (small.formed, small.on_disk(5), small.changed(), small.stealable())
    assert [] == small.records(Kind.IMAGE)


@pytest.mark.parametrize("before", ["here", "started", "volatile"])
def test_what_a_page_was_does_not_come_back_over_non_persistent_messages(small, before):
    """B7, B12: the page may have had bytes, changes that wait, or other messages."""
    {"here": small.look, "started": small.start, "volatile": lambda page: small.volatile(page, b"older")}[before](5)
    small.volatile(5, b"newer", rba := small.log.end - 1)
    frame = small.frame(5)
    assert (None, True, 0, rba) == (frame.data, frame.volatile, frame.first_rba, frame.rba)
    small.pool.write(small.pool.changed())
    assert (b"newer", []) == (small.on_disk(5), small.records(Kind.IMAGE))


def test_non_persistent_messages_take_buffers_as_others_do(small):
    """B5: the 17th page starts the writer, the 20th is written for by whoever puts it."""
    for page in range(2, 18):
        small.volatile(page, b"x")
    assert (0,) == small.counted("deferred_write_starts")
    small.volatile(18, b"x")
    assert (1, 0) == small.counted("deferred_write_starts", "immediate_writes")
    for page in (19, 20, 21):
        small.volatile(page, b"x")
    assert (1, 1, 5) == small.counted("deferred_write_starts", "immediate_writes", "pages_written")
    assert [2, 3, 4, 5, 6] == small.formed


def test_a_page_that_is_taken_from_the_stealable_is_missed_there(small):
    """B5: of twenty pages that were looked at, 17 are used for messages: then the writer starts."""
    small.look(*range(2, 22))
    for page in range(2, 18):
        small.volatile(page, b"x")
    assert (4, False) == (small.pool.stealable, small.pool.due)
    small.volatile(18, b"x")
    assert (3, 3, True) == (small.pool.stealable, small.pool.stats.stealable_low, small.pool.due)


# --- reading ahead ----------------------------------------------------------------------------------------------------


def test_pages_are_read_ahead_with_one_request(small):
    """They are stealable until somebody wants them; a page that is here is newer than what was read."""
    small.start(12)
    small.from_now()
    small.pool.read_ahead(small.page_set, 10, 5)
    assert ([10, 11, 12, 13, 14], [10, 11, 13, 14]) == (small.here(), small.stealable())
    assert (0, 0, 4, 0, 4) == small.counted(*REQUESTS)
    figures = small.buffers.meter.page_sets[7]
    assert (1, 5) == (figures.read_ios, figures.read_pages)
    assert [b"page 10", b"page 14"] == [small.frame(page).data[HEADER_LENGTH:][:7] for page in (10, 14)]
    assert 1 == small.frame(10).rba
    small.look(10)
    assert (1, 0, 4, 0, 4) == small.counted(*REQUESTS)


def test_a_page_that_is_not_whole_is_not_read_ahead(small):
    """T3: whoever wants it finds out."""
    small.page_set.write(11, [b"\xff" * 4096])
    small.pool.read_ahead(small.page_set, 10, 3)
    assert [10, 12] == small.here()


def test_what_cannot_be_read_ahead_is_left_to_whoever_wants_it(small):
    """B14: nobody has asked for it yet."""
    small.disk.unreadable[small.page_set.file.name] = range(11 * 4096, 12 * 4096)
    small.pool.read_ahead(small.page_set, 10, 3)
    assert [] == small.here()
    with pytest.raises(TornPageError):
        small.look(11)


@pytest.mark.parametrize(("changed", "read"), [(15, True), (16, False)])
def test_nothing_is_read_ahead_when_fewer_than_a_quarter_are_stealable(small, changed, read):
    """B14: in a small pool."""
    small.start(*range(2, 2 + changed))
    small.pool.read_ahead(small.page_set, 50, 1)
    assert read == (50 in small.here())


@pytest.mark.parametrize(("stealable", "read"), [(33, True), (32, True), (31, False)])
def test_of_a_large_pool_a_few_are_enough(small, stealable, read):
    """B14: sixteen times what is read, however full the pool is."""
    pool = small.buffers.define_pool(3, 1000)
    pool._resident = 1000 - stealable
    pool.read_ahead(small.page_set, 50, 2)
    assert read == (50 in small.here())


# --- another size (B9) ------------------------------------------------------------------------------------------------


def test_a_larger_pool_is_there_at_once(small):
    small.start(*range(2, 18))
    assert small.pool.resize(40)
    assert (40, 40, 34, 6, 10, 24) == (
        small.pool.buffers,
        small.pool.stats.buffers,
        small.pool.start_at,
        small.pool.few,
        small.pool.enough,
        small.pool.stealable,
    )
    assert not small.pool.resize_step()


def test_buffers_that_nobody_uses_are_given_up_first(small):
    """B9: 6 of 20 pages are here, so 14 go for nothing."""
    small.look(*range(2, 8))
    assert small.pool.resize(6)
    assert ([*range(2, 8)], 6, 6) == (small.here(), small.pool.buffers, small.pool.stats.buffers)


def test_then_those_that_were_used_longest_ago(small):
    small.look(*range(2, 22))
    small.look(2)
    assert small.pool.resize(18)
    assert [2, *range(5, 22)] == small.here()
    assert (0, 18) == (small.counted("pages_written")[0], small.pool.stealable)


def test_a_pool_of_changed_pages_writes_so_that_it_can_shrink(small):
    """B9: 16 are changed and 4 unused; for a pool of 10 the six oldest are written and given up."""
    small.start(*range(2, 18))
    assert small.pool.resize(10)
    assert ([*range(8, 18)], [*range(8, 18)], 6) == (small.here(), small.changed(), small.counted("pages_written")[0])
    assert [b"started"] * 6 == [small.on_disk(page) for page in range(2, 8)]


def test_a_pool_whose_pages_are_in_use_shrinks_when_they_are_released(small):
    """B9: until then it has and counts the buffers that it still has."""
    frames = [small.pool.get(small.page_set, page) for page in range(2, 12)]
    assert not small.pool.resize(8)
    assert (10, 10, True) == (small.pool.buffers, small.pool.stats.buffers, small.pool.due)
    assert small.pool.resize_step()
    for frame in frames:
        small.pool.release(frame)
    assert not small.pool.resize_step()
    assert (8, [*range(4, 12)], 8) == (small.pool.buffers, small.here(), small.pool.stealable)


def test_a_pool_that_shrinks_to_its_size_again_stops(small):
    """Another wish takes the place of the one before."""
    frames = [small.pool.get(small.page_set, page) for page in range(2, 22)]
    assert not small.pool.resize(8)
    assert small.pool.resize(20)
    small.pool.release(frames[0])
    assert (False, 20) == (small.pool.resize_step(), small.pool.buffers)


def test_a_pool_shrinks_in_steps(monkeypatch, small):
    """B9, W1: with four pages a step a full pool comes to 10 in three."""
    monkeypatch.setattr("quaestor.qmgr.buffer.stealing.STEP_PAGES", 4)
    small.look(*range(2, 22))
    assert not small.pool.resize(10)
    sizes = [small.pool.buffers]
    while small.pool.resize_step():
        sizes.append(small.pool.buffers)
    assert [16, 12, 10] == [*sizes, small.pool.buffers]


# --- page sets that go ------------------------------------------------------------------------------------------------


def test_of_a_page_set_that_is_no_more_nothing_is_written(small):
    small.start(2, 3)
    small.look(4, 5)
    other = small.add_page_set(8)
    small.pool.release(small.pool.get(other, 9))
    small.buffers.remove_page_set(7)
    assert ([], [], [9], 20) == (small.here(), small.changed(), small.stealable(), small.pool.stealable)
    assert (b"page 2", 0) == (small.on_disk(2), small.counted("pages_written")[0])


def test_a_page_set_is_not_taken_away_from_under_its_user(small):
    """B1."""
    small.pool.get(small.page_set, 5)
    with pytest.raises(Abend, match=r"B1: a page set is taken away while a page of it is in use .*page_set=7"):
        small.pool.discard(small.page_set)


def test_a_pool_counts_from_its_own_size():
    """QPST begins with every buffer stealable."""
    stats = Pool(buffers=33).pool.stats
    assert (7, 33, 33, 33) == (stats.buffer_pool, stats.buffers, stats.stealable_low, stats.stealable_now)


def test_the_buffers_of_a_pool_stay_the_same_whatever_pages_they_hold(small):
    """B15: however a page comes, and whatever was there before."""
    buffers = set()
    for number, take in enumerate((small.look, small.start, small.look, lambda page: small.volatile(page, b"short"))):
        for page in range(2 + number, 60, 2):
            take(page)
            buffers |= set(small.page_set.frames.values())
    assert len(buffers) == small.pool.buffers
