"""Writing pages: first the log, then in place, adjacent ones together (B2, B4, B6, B13)."""

import pytest

from qmgr.buffer.pools import NUMBER, Pool
from quaestor.storage.changes import pack_next
from quaestor.storage.log_record import HEADER_LENGTH, Kind
from quaestor.storage.page import PAGE, header_of
from quaestor.storage.page_set import PageSet


@pytest.fixture
def small():
    return Pool(pages_per_io=2)


@pytest.fixture
def requests(small, monkeypatch):
    """(page set, first page, pages, how far the log was durable) of every request to a page set."""
    made, write = [], PageSet.write

    def writes(page_set, page, run):
        made.append((page_set.number, page, len(run), small.log.hardened))
        write(page_set, page, run)

    monkeypatch.setattr(PageSet, "write", writes)
    return made


def write_all_changed(small):
    small.pool.write(small.pool.changed())


# --- first the log (B2, B4) -------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_a_page_is_written_when_its_last_change_is_durable(small, requests):
    """B2: whichever of the pages has it."""
    last = small.start(9, 5)
    assert last >= small.log.hardened
    write_all_changed(small)
    assert [(NUMBER, 5), (NUMBER, 9)] == [request[:2] for request in requests]
    assert all(hardened > last for *_, hardened in requests)


def test_the_log_is_forced_up_to_the_images_too(small, requests):
    """B2, B4: the image is a change that the page must not be ahead of."""
    changed = small.change(5)
    rba = small.pool.prepare(small.pool.changed())
    assert rba > changed
    small.pool.log_check(rba)
    assert small.log.hardened > rba
    assert [] == requests


def test_without_an_image_the_last_change_is_all_that_is_forced(small):
    first, second = small.start(5), small.start(6)
    assert second == small.pool.prepare(small.pool.changed())
    assert first == small.pool.prepare([small.frame(5)])


def test_a_page_that_is_written_over_an_older_self_goes_to_the_log_first(small):
    """B4: all of it as it is now, under the RBA of its last change."""
    rba = small.change(5, following=77)
    write_all_changed(small)
    assert [5] == small.records(Kind.IMAGE)
    (image,) = [record for record in small.log.scan(small.began) if record.kind == Kind.IMAGE]
    assert (rba, 77, small.page_set.read_raw(5, 1)) == (header_of(image.body).rba, 77, bytes(image.body))


def test_one_image_is_enough_until_the_page_was_written(small):
    """B4: prepared twice and changed meanwhile, it needs no other; once it is written, the next change does."""
    small.change(5)
    small.pool.prepare(small.pool.changed())
    small.pool.prepare(small.pool.changed())
    small.change(5)
    small.pool.prepare(small.pool.changed())
    assert [5] == small.records(Kind.IMAGE)
    write_all_changed(small)
    small.change(5)
    write_all_changed(small)
    assert [5, 5] == small.records(Kind.IMAGE)


def test_a_page_that_was_started_since_it_was_read_needs_no_image(small):
    """B4: the log can build all of it; not any more when it was written and is then changed."""
    small.start(5)
    write_all_changed(small)
    assert [] == small.records(Kind.IMAGE)
    small.change(5)
    write_all_changed(small)
    assert [5] == small.records(Kind.IMAGE)


def test_a_page_without_a_logged_change_begins_with_its_image(small):
    """The space map of non-persistent messages: restart has nothing of it to redo before that."""
    frame = small.pool.get(small.page_set, 5)
    small.pool.set_unlogged(frame)
    small.pool.release(frame)
    rba = small.pool.prepare([frame])
    assert (rba, True) == (frame.first_rba, frame.whole)


def test_an_image_does_not_make_a_page_younger(small):
    """B6: restart begins with the first change, which the image holds."""
    first = small.change(5)
    small.pool.prepare(small.pool.changed())
    assert first == small.frame(5).first_rba


# --- then in place ----------------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_adjacent_pages_are_one_request_whatever_their_order(small, requests):
    small.start(9, 6, 5, 7, 12, 13)
    write_all_changed(small)
    assert [(5, 3), (9, 1), (12, 2)] == [request[1:3] for request in requests]
    assert [b"started"] * 6 == [small.on_disk(page) for page in (5, 6, 7, 9, 12, 13)]


@pytest.mark.plain
def test_pages_of_two_page_sets_are_never_one_request(small, requests):
    """Page 9 of one and page 10 of the next follow each other only by number."""
    other = small.add_page_set(8)
    requests.clear()
    small.start(9)
    frame = small.pool.get(other, 10)
    small.pool.set_write(frame, small.log.append(Kind.CHAIN, 0, 0, 0, 8, 10, pack_next(1)))
    small.pool.release(frame)
    write_all_changed(small)
    assert [(NUMBER, 9, 1), (8, 10, 1)] == [request[:3] for request in requests]


def test_requests_are_counted_as_the_papers_count_them(small):
    """Two pages to an I/O here: three pages are two I/Os, and one page by itself is one."""
    small.start(5, 6, 7, 20)
    write_all_changed(small)
    assert (3, 4) == small.counted("write_ios", "pages_written")
    figures = small.buffers.meter.page_sets[NUMBER]
    assert (3, 4, 0) == (figures.deferred_write_ios, figures.deferred_write_pages, figures.immediate_write_ios)


def test_nothing_to_write_is_no_request(small, requests):
    end = small.log.end
    small.pool.write([])
    assert ([], end, (0, 0)) == (requests, small.log.end, small.counted("write_ios", "pages_written"))


def test_a_written_page_is_as_its_copy_and_may_be_stolen(small):
    small.start(6, 5)
    write_all_changed(small)
    for page in (5, 6):
        frame = small.frame(page)
        assert (False, False, 0) == (frame.changed, frame.whole, frame.first_rba)
    assert ([], [5, 6]) == (small.changed(), small.stealable())


# --- until the next sync (B6) -----------------------------------------------------------------------------------------


def test_restart_needs_the_changes_of_a_written_page_until_its_page_set_is_synced(small):
    """B6: the oldest of them, in whichever order they were written."""
    first, second, third = small.start(5), small.start(6), small.start(7)
    assert first == small.buffers.recovery_rbas(1 << 40)[NUMBER]
    small.pool.write([small.frame(6)])
    assert second == small.page_set.unsynced_rba
    small.pool.write([small.frame(7), small.frame(5)])
    assert (first, first) == (small.page_set.unsynced_rba, small.buffers.recovery_rbas(1 << 40)[NUMBER])
    small.buffers.sync()
    assert (0, 1 << 40) == (small.page_set.unsynced_rba, small.buffers.recovery_rbas(1 << 40)[NUMBER])
    assert third < small.log.hardened


def test_pages_of_non_persistent_messages_hold_restart_back_for_nothing(small):
    """B7: they have no change that it would need."""
    small.volatile(5, b"lost")
    write_all_changed(small)
    assert (0, [5]) == (small.page_set.unsynced_rba, small.formed)


def test_what_is_changed_again_after_it_was_written_is_volatile_from_its_first_change_on(small):
    first = small.change(5)
    write_all_changed(small)
    small.change(5)
    assert first == small.buffers.recovery_rbas(1 << 40)[NUMBER]


def test_a_page_set_alone_is_hardened(small):
    """Its image copy is made of what is durable; pages of others wait."""
    other = small.add_page_set(8)
    small.start(5)
    small.volatile(6, b"lost")
    frame = small.pool.get(other, 10)
    small.pool.set_write(frame, small.log.append(Kind.CHAIN, 0, 0, 0, 8, 10, pack_next(1)))
    small.pool.release(frame)
    small.buffers.harden(small.page_set)
    assert (b"started", [6, 10], 0) == (small.on_disk(5), small.changed(), small.page_set.volatile_rba)


# --- when the log is short (B13) --------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize(
    ("images", "pages", "chosen"),
    [(9, 9, [5, 6, 7, 8, 9]), (9, 2, [5, 6]), (1, 9, [5, 6, 8]), (0, 9, [6, 8]), (0, 1, [6]), (2, 3, [5, 6, 7])],
)
def test_pages_that_need_no_image_are_written_in_the_place_of_others(small, monkeypatch, images, pages, chosen):
    """B13: 5, 7 and 9 were read and changed; 6 was started, 8 holds non-persistent messages."""
    small.change(5)
    small.start(6)
    small.change(7)
    small.volatile(8, b"lost")
    small.change(9)
    monkeypatch.setattr(small.pool, "images_left", lambda wanted: min(wanted, images))
    found = small.pool.writable(small.pool.changed(), pages)
    assert chosen == [frame.page for frame in found]


def test_images_stay_out_of_the_last_quarter_of_the_log(small):
    """B13: so many fit before it, of which no more are given than are wanted."""
    files = small.log.files
    left = files.limit - small.log.end - files.size // 4
    room = left // (PAGE + HEADER_LENGTH)
    assert (3, room, room) == tuple(map(small.pool.images_left, (3, room, room + 1)))
