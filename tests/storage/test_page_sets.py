"""Page sets: what is refused, what is reserved, and what a sync covers (T1-T5)."""

import errno
import os
from contextlib import suppress
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.mqi.reasons import Abend
from quaestor.storage.changes import SPAN, SYSTEM_PAGE, header, text
from quaestor.storage.page import HEADER_LENGTH, PAGE, SPACE_MAP, header_of, seal
from quaestor.storage.page_set import (
    NUMBER_MAX,
    PageSet,
    describe,
    described_pages,
    file_name,
    media_rba,
    numbers_on,
    spans,
)
from quaestor.storage.real_disk import RealDisk
from quaestor.testing import FaultyDisk, FaultyFile, PowerCut

NUMBER, PAGES = 7, 8


def made() -> tuple[FaultyDisk, PageSet]:
    disk = FaultyDisk()
    return disk, PageSet.create(disk, NUMBER, PAGES)


def a_page(contents: bytes, page: int) -> bytearray:
    data = bytearray(PAGE)
    text(data, contents, NUMBER, page)
    seal(data, 1)
    return data


def first_page(description: bytes, number: int = NUMBER) -> bytearray:
    data = bytearray(PAGE)
    header(data, description, number, 0)
    seal(data, 0)
    return data


# -- making and opening


def test_a_page_set_that_was_made_is_opened_as_it_is():
    disk, page_set = made()
    opened = PageSet.open(disk.after_power_cut(), NUMBER)
    assert (NUMBER, PAGES, PAGES) == (opened.number, opened.pages, opened.reserved)
    assert (NUMBER, PAGES, PAGES) == (page_set.number, page_set.pages, page_set.reserved)
    assert page_set.read_raw(0, PAGES) == opened.read_raw(0, PAGES)
    assert (0, 0) == (media_rba(opened.read_raw(0, 1)), header_of(opened.read(0)).rba)
    assert (0, 2, 0, 0) == (opened.buffer_pool, opened.low_free, opened.expansions, opened.freed_rba)


def test_a_new_page_set_has_two_system_pages_and_nothing_else():
    """T1: page 0, and the space map behind it, which speaks for both."""
    _, page_set = made()
    space = page_set.read(1)
    assert (SPACE_MAP, 0) == (header_of(space).kind, header_of(space).rba)
    assert bytes([SYSTEM_PAGE, SYSTEM_PAGE]) + bytes(SPAN - 2) == space[HEADER_LENGTH:]
    assert bytes((PAGES - 2) * PAGE) == page_set.read_raw(2, PAGES)


def test_a_page_set_that_is_made_again_holds_nothing_of_what_it_held():
    disk, page_set = made()
    page_set.write(5, [a_page(b"left over", 5)])
    again = PageSet.create(disk, NUMBER, PAGES)
    assert bytes(PAGE) == again.read_raw(5, 1)


def test_power_goes_while_a_page_set_is_made():
    """It counts as made when page 0 is durable, and then all of it is; before, it is not there or says nothing."""
    everything = FaultyDisk()
    whole = PageSet.create(everything, NUMBER, PAGES).read_raw(0, PAGES)
    outcomes = set()
    for cut in range(everything.operations + 1):
        for seed in range(4):
            disk = FaultyDisk(cut_after=cut)
            with suppress(PowerCut):
                PageSet.create(disk, NUMBER, PAGES)
            found = disk.after_power_cut(seed)
            formatted = PageSet.formatted(found, NUMBER)
            outcomes.add(formatted)
            opened = PageSet.open(found, NUMBER) if formatted else None
            if opened is not None and opened.read(0) is not None:
                assert whole == opened.read_raw(0, PAGES), f"cut after {cut}, seed {seed}"
    assert {False, True} == outcomes


def test_a_page_set_that_is_missing_or_was_not_finished_is_refused():
    disk = FaultyDisk()
    assert not PageSet.formatted(disk, NUMBER)
    with pytest.raises(Abend, match="missing"):
        PageSet.open(disk, NUMBER)
    disk.create(file_name(NUMBER), PAGES * PAGE)
    assert not PageSet.formatted(disk, NUMBER)
    with pytest.raises(Abend, match="not complete"):
        PageSet.open(disk, NUMBER)


def test_who_looks_whether_it_was_made_leaves_no_file_open(monkeypatch):
    disk, _ = made()
    closed = []
    monkeypatch.setattr(FaultyFile, "close", lambda self: closed.append(self.name))
    assert PageSet.formatted(disk, NUMBER)
    assert [file_name(NUMBER)] == closed


def test_a_file_that_is_shorter_than_page_0_says_is_refused():
    disk, page_set = made()
    page_set.write(0, [first_page(describe(NUMBER, PAGES + 1))])
    with pytest.raises(Abend, match="too short"):
        PageSet.open(disk, NUMBER)


def test_more_may_be_reserved_than_page_0_says():
    """T2: what page 0 says there is, is all that there is; settling finds the rest again."""
    disk, page_set = made()
    page_set.reserve(PAGES + 4)
    opened = PageSet.open(disk.after_power_cut(), NUMBER)
    assert (PAGES, PAGES) == (opened.pages, opened.reserved)
    opened.settle()
    assert (PAGES, PAGES + 4) == (opened.pages, opened.reserved)


def test_what_a_killed_process_has_written_is_durable_once_settled():
    disk, page_set = made()
    page_set.write(5, [a_page(b"written", 5)])
    page_set.settle()
    assert PAGES == page_set.reserved
    assert a_page(b"written", 5) == PageSet.open(disk.after_power_cut(), NUMBER).read(5)


def test_a_torn_page_0_leaves_the_size_to_the_file():
    disk, page_set = made()
    page_set.write(0, [b"?" * PAGE])
    opened = PageSet.open(disk, NUMBER)
    assert (PAGES, None) == (opened.pages, opened.read(0))


@pytest.mark.parametrize(
    ("description", "why"),
    [
        (b"PAGESOT " + describe(NUMBER, PAGES)[8:], "not this page set"),
        (describe(NUMBER + 1, PAGES), "not this page set"),
        (describe(NUMBER, PAGES)[:8] + b"\0\1" + describe(NUMBER, PAGES)[10:], "another format"),
    ],
)
def test_a_file_put_in_its_place_by_mistake_is_refused(description, why):
    """T4."""
    with pytest.raises(Abend, match=why):
        described_pages(first_page(description), NUMBER)


@given(st.integers(0, NUMBER_MAX), st.integers(1, 1 << 24), st.integers(0, 1 << 60))
def test_page_0_says_how_many_pages_there_are_and_from_where_to_redo(number, pages, rba):
    first = first_page(describe(number, pages, rba), number)
    assert (pages, rba) == (described_pages(first, number), media_rba(first))


def test_the_page_sets_on_a_disk_are_those_named_as_one():
    disk = FaultyDisk()
    for name in ("pageset-00", "pageset-42", "pageset-99", "pageset-100", "pageset-1", "pageset-07.old"):
        disk.create(name, 0)
    assert (0, 42, 99) == numbers_on(disk)


@pytest.mark.parametrize(
    ("pages", "bases"), [(1, [0]), (SPAN, [0]), (SPAN + 1, [0, SPAN]), (2 * SPAN + 1, [0, SPAN, 2 * SPAN])]
)
def test_every_span_begins_a_whole_span_behind_the_one_before(pages, bases):
    assert bases == list(spans(pages))


# -- pages


def test_a_run_of_pages_is_read_back_page_by_page():
    _, page_set = made()
    written = [a_page(b"five", 5), a_page(b"six", 6)]
    page_set.write(5, written)
    assert written == [page_set.read(5), page_set.read(6)]
    assert b"".join(written) == page_set.read_raw(5, 2)
    assert bytearray(PAGE) == page_set.read(7)


def test_a_page_that_is_not_whole_is_not_handed_on():
    """T3: nor is one that stands in another's place, or beyond the end."""
    _, page_set = made()
    page_set.write(5, [a_page(b"six", 6), b"?" * PAGE])
    assert [None, None, None] == [page_set.read(page) for page in (5, 6, PAGES)]


def test_a_page_set_is_stamped_until_something_is_written():
    """Nobody takes a page set for stamped that was only made or opened: page 0 would keep an RBA that is too old."""
    disk, page_set = made()
    assert (False, False) == (page_set.stamped, PageSet.open(disk, NUMBER).stamped)
    page_set.stamped = True
    page_set.harden()
    page_set.reserve(PAGES + 1)
    assert page_set.stamped
    page_set.write(5, [a_page(b"written", 5)])
    assert not page_set.stamped


# -- syncing


@pytest.mark.parametrize(
    ("unsynced", "syncing", "volatile"), [(0, 0, 0), (5, 0, 5), (0, 7, 7), (5, 7, 5), (9, 7, 7), (7, 7, 7)]
)
def test_the_oldest_change_that_may_be_volatile(unsynced, syncing, volatile):
    _, page_set = made()
    page_set.unsynced_rba, page_set.syncing_rba = unsynced, syncing
    assert volatile == page_set.volatile_rba
    page_set.start_sync()
    assert (0, volatile) == (page_set.unsynced_rba, page_set.syncing_rba)


def test_pages_written_during_a_sync_are_volatile_until_the_next():
    _, page_set = made()
    page_set.unsynced_rba = 50
    page_set.start_sync()
    page_set.unsynced_rba = 60
    assert 50 == page_set.volatile_rba
    page_set.end_sync()
    assert 60 == page_set.volatile_rba
    page_set.harden()
    assert 0 == page_set.volatile_rba


def test_hardening_makes_durable_what_was_written():
    disk, page_set = made()
    page_set.write(5, [a_page(b"kept", 5)])
    page_set.harden()
    assert a_page(b"kept", 5) == PageSet.open(disk.after_power_cut(), NUMBER).read(5)


def test_a_sync_that_fails_is_final():
    disk, page_set = made()
    page_set.unsynced_rba = 50
    disk.fail_at[disk.operations + 1] = errno.EIO
    with pytest.raises(OSError, match="EIO") as first:
        page_set.harden()
    before = disk.operations
    for later in (page_set.sync, page_set.harden, page_set.settle):
        with pytest.raises(OSError, match="EIO") as again:
            later()
        assert first.value is again.value
    assert (before, 50) == (disk.operations, page_set.volatile_rba)


def test_a_closed_page_set_is_neither_synced_nor_extended():
    disk, page_set = made()
    page_set.close()
    before = disk.operations
    page_set.sync()
    page_set.reserve(PAGES + 1)
    assert (before, PAGES) == (disk.operations, page_set.reserved)


class SlowFile:
    """A file whose sync lasts until it is let go of."""

    def __init__(self, file):
        self.file, self.syncing, self.let_go, self.told = file, Event(), Event(), []

    def sync(self):
        self.syncing.set()
        assert self.let_go.wait(10)
        self.told.append("synced")

    def extend(self, _size):
        self.told.append("extended")

    def close(self):
        self.told.append("closed")


@pytest.fixture
def slow():
    """A page set in the middle of a sync, and what may be asked of it meanwhile, on other threads."""
    _, page_set = made()
    page_set.file = file = SlowFile(page_set.file)
    threads = []

    def ask(*what):
        threads.append(Thread(target=what[0], args=what[1:]))
        threads[-1].start()
        return threads[-1]

    ask(page_set.sync)
    assert file.syncing.wait(10)
    yield page_set, file, ask
    file.let_go.set()
    for thread in threads:
        thread.join(10)


def test_a_page_set_is_not_closed_in_the_middle_of_a_sync(slow):
    """T5."""
    page_set, file, ask = slow
    closing = ask(page_set.close)
    closing.join(0.05)
    assert [] == file.told
    file.let_go.set()
    closing.join(10)
    assert ["synced", "closed"] == file.told


def test_a_page_set_is_not_extended_in_the_middle_of_a_sync(slow):
    page_set, file, ask = slow
    reserving = ask(page_set.reserve, PAGES + 1)
    reserving.join(0.05)
    assert ([], PAGES) == (file.told, page_set.reserved)
    file.let_go.set()
    reserving.join(10)
    assert (["synced", "extended", "synced"], PAGES + 1) == (file.told, page_set.reserved)


def test_nobody_waits_for_a_sync_who_asks_for_what_is_there(slow):
    """T2: who puts a message has the latch and does not wait for the disk."""
    page_set, file, ask = slow
    asking = ask(page_set.reserve, PAGES)
    asking.join(10)
    assert (False, []) == (asking.is_alive(), file.told)


# -- reserving


def test_space_is_set_aside_durably():
    disk, page_set = made()
    page_set.reserve(PAGES + 3)
    assert ((PAGES + 3) * PAGE, PAGES, PAGES + 3) == (page_set.file.size(), page_set.pages, page_set.reserved)
    assert (PAGES + 3) * PAGE == disk.after_power_cut().open(file_name(NUMBER)).size()


@pytest.mark.parametrize("pages", [1, PAGES - 1, PAGES])
def test_what_is_there_already_is_not_asked_for_again(pages):
    disk, page_set = made()
    before = disk.operations
    page_set.reserve(pages)
    assert (before, PAGES) == (disk.operations, page_set.reserved)


@pytest.mark.parametrize("failing", [1, 2])
def test_space_that_could_not_be_set_aside_is_not_counted(failing):
    disk, page_set = made()
    disk.fail_at[disk.operations + failing] = errno.ENOSPC
    with pytest.raises(OSError, match="ENOSPC"):
        page_set.reserve(PAGES + 3)
    assert PAGES == page_set.reserved


@pytest.mark.parametrize("operation", range(2, 6))
def test_a_page_set_that_cannot_be_made_is_not_left_open(operation, monkeypatch):
    """What is deleted and still open keeps its space."""
    disk, closed = FaultyDisk(), []
    monkeypatch.setattr(FaultyFile, "close", lambda self: closed.append(self.name))
    disk.fail_at[operation] = errno.ENOSPC
    with pytest.raises(OSError, match="ENOSPC"):
        PageSet.create(disk, NUMBER, PAGES)
    assert [file_name(NUMBER)] == closed


def test_a_page_set_that_cannot_grow_takes_no_space(tmp_path, monkeypatch):
    """K12: ext4 sets aside all that there is before it says that this is not enough."""
    page_set = PageSet.create(RealDisk(tmp_path), NUMBER, PAGES)

    def as_much_as_there_is(fd, offset, length):
        os.ftruncate(fd, offset + length // 2)
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "posix_fallocate", as_much_as_there_is)
    with pytest.raises(OSError, match="no space"):
        page_set.reserve(3 * PAGES)
    assert (PAGES * PAGE, PAGES) == (page_set.file.size(), page_set.reserved)
    page_set.close()
