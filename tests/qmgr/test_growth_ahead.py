"""A page set grows ahead of need: when space is set aside, by whom, and what becomes of it (Y4, Y6, Y7, T2)."""

import errno
import threading
from dataclasses import replace

import pytest

from qmgr.test_background_work import eventually, started  # noqa: F401 - a fixture
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.checker import check, used_pages
from quaestor.qmgr.data.space import FOUND, LEAD_MAX
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.storage.page import PAGE
from quaestor.storage.page_set import PageSet
from quaestor.testing import SMALL, FaultyDisk, SmallEngine

SETTINGS = replace(SMALL, pages=200, expansion=100, buffer_pools={0: 64, 1: 1000})


class Growing:
    """An engine whose page set 1 has 200 pages and grows by 100, and who had to wait for what."""

    def __init__(self, disk=None, settings=SETTINGS):
        self.small = SmallEngine(disk or FaultyDisk(), settings)
        self.space, self.page_set = self.small.data.space, self.small.queue.page_set
        self.said, self.nudged = [], 0
        self.space.tell = lambda identifier, _text, **facts: self.said.append((identifier, facts))
        self.space.nudge = self._nudge

    def _nudge(self):
        self.nudged += 1

    def put(self, count=1, *, persistent=True):
        unit = self.small.begin()
        try:
            for _ in range(count):
                self.small.put(unit, b"x", persistent=persistent)
        except MQError:
            self.small.back_out(unit)
            raise
        self.small.commit(unit)

    def background(self):
        self.small.recovery.latch.release()
        try:
            assert self.space.grow_step() is False
        finally:
            self.small.recovery.latch.acquire()

    @property
    def durable(self):
        """Pages that a power cut leaves."""
        return len(self.small.disk.files["pageset-01"].durable) // PAGE

    def sizes(self):
        return self.page_set.pages, self.page_set.reserved


@pytest.mark.parametrize("persistent", [True, False])
def test_space_is_set_aside_when_fewer_pages_are_left_than_it_grows_by(persistent):
    growing = Growing()
    growing.put(FOUND, persistent=persistent)
    assert not growing.space.grow_due()
    growing.put(1, persistent=persistent)
    assert growing.space.grow_due()
    assert 1 == growing.nudged
    growing.background()
    assert (200, 300) == growing.sizes()
    assert 300 == growing.durable
    assert not growing.space.grow_due()
    assert 200 == used_pages(growing.small.data, 1)["total"]


def test_a_put_that_finds_it_done_touches_no_file():
    growing = Growing()
    growing.put(150)
    growing.background()
    sync, growing.page_set.file.sync = growing.page_set.file.sync, None
    growing.put(60)
    growing.page_set.file.sync = sync
    assert (300, 300) == growing.sizes()
    assert (1, {}) == (growing.page_set.expansions, growing.space.lead)


def test_one_growth_after_the_other_is_ahead():
    """Y4 says by how much, as if nobody worked ahead."""
    growing, sizes = Growing(), []
    for _ in range(60):
        growing.put(20)
        growing.background()
        sizes.append(growing.page_set.pages)
    assert {} == growing.space.lead
    assert [200, 300, 400, 500, 625, 781, 976, 1220] == sorted(set(sizes))
    assert [] == check(growing.small.data)


def test_a_put_that_finds_nothing_done_does_it_and_begins_twice_as_early_from_then_on():
    growing = Growing()
    growing.put(201)
    assert (300, 300) == growing.sizes()
    assert {1: 200} == growing.space.lead
    assert growing.space.grow_due()
    growing.background()
    assert (300, 500) == growing.sizes(), "two growths, because one was not enough"
    growing.put(200)
    assert {1: 200} == growing.space.lead


def test_it_never_begins_earlier_than_64_mb_before():
    growing = Growing()
    growing.space.lead[1] = LEAD_MAX - 1
    growing.put(201)
    assert {1: LEAD_MAX} == growing.space.lead


def test_a_page_set_that_nobody_puts_to_does_not_grow():
    growing = Growing(settings=replace(SETTINGS, page_sets={0: 0, 1: 1, 2: 1}))
    growing.put(5)
    growing.small.run_tasks()
    assert [200, 200] == [growing.small.buffers.page_sets[number].reserved for number in (0, 1)]


def test_one_that_is_hardly_used_does_not_grow():
    """As a new page set is: it would grow by more than it has."""
    growing = Growing(settings=replace(SETTINGS, expansion=2048))
    growing.put(FOUND)
    assert not growing.space.grow_due()
    growing.put(FOUND)
    growing.background()
    assert (200, 2248) == growing.sizes()


def test_one_that_may_not_grow_does_not_do_so_ahead():
    growing = Growing()
    growing.small.engine.storage.alter_page_set(1, "NONE")
    growing.put(150)
    assert not growing.space.grow_due()
    growing.small.engine.storage.alter_page_set(1, "SYSTEM")
    growing.put(45)
    growing.background()
    assert (200, 220) == growing.sizes()
    growing.small.engine.storage.alter_page_set(1, "NONE")
    with pytest.raises(MQError, match="2192"):
        growing.put(20)
    assert (200, 220) == growing.sizes()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_once_and_costs_nothing_until_pages_are_wanted(code):
    growing = Growing()
    extend, growing.page_set.file.extend = growing.page_set.file.extend, refusing(code)
    growing.put(150)
    growing.background()
    assert [("CSQP014E", 1, 200)] == [(told, facts["page_set"], facts["pages"]) for told, facts in growing.said]
    growing.put(30)
    assert not growing.space.grow_due(), "it is left to whoever finds no page"
    with pytest.raises(MQError, match="2192"):
        growing.put(100)
    assert 1 == len(growing.said)
    assert [] == check(growing.small.data)
    assert 180 == growing.small.queue.depth
    growing.page_set.file.extend = extend
    growing.put(100)
    growing.background()
    assert growing.page_set.reserved > growing.page_set.pages == 300
    assert 1 == len(growing.said)
    assert 280 == len(growing.small.again().bodies())


def refusing(code):
    def extend(_size):
        raise OSError(code, errno.errorcode[code])

    return extend


def test_a_sync_that_fails_is_final_for_the_page_set():
    """K2: nothing that was written before it may be relied on, so the next checkpoint stops the queue manager."""
    growing = Growing()
    growing.put(150)
    growing.small.disk.fail_at[growing.small.disk.operations + 2] = errno.EIO
    growing.background()
    assert (200, 200) == growing.sizes()
    assert ["CSQP014E"] == [told for told, _ in growing.said]
    with pytest.raises(OSError, match="EIO"):
        growing.page_set.harden()


def test_what_was_set_aside_is_known_after_restart():
    growing = Growing()
    growing.put(150)
    growing.background()
    again = Growing(growing.small.disk.after_power_cut())
    assert (200, 300) == again.sizes()
    again.put(60)
    assert {} == again.space.lead


@pytest.mark.parametrize("extra", [0, 1, PAGE - 1, PAGE, 150 * PAGE + 512])
def test_a_file_that_had_half_grown_starts_as_it_was_described(extra):
    growing = Growing()
    growing.put(150)
    disk = growing.small.disk.after_power_cut()
    disk.files["pageset-01"].write(200 * PAGE, bytes(extra))  # of a process that was killed
    again = Growing(disk)
    assert (200, 200 + extra // PAGE) == again.sizes()
    again.put(140)
    assert 300 == again.page_set.pages <= again.durable
    assert [] == check(again.small.data)
    assert 290 == len(Growing(again.small.disk.after_power_cut()).small.bodies())


def test_an_image_copy_has_what_is_described():
    growing = Growing()
    growing.put(150)
    growing.background()
    image_copy(growing.small.recovery, 1, growing.small.disk)
    growing.put(100)
    disk = growing.small.disk.after_power_cut()
    restore(disk, 1)
    assert 200 * PAGE == disk.open("pageset-01").size()
    again = Growing(disk)
    assert (300, 300) == again.sizes()
    assert 250 == len(again.small.bodies())


def test_a_page_set_that_is_deleted_meanwhile_is_left_alone():
    growing = Growing()
    growing.put(150)
    disk, space = growing.small.disk, growing.space
    growing.small.data.drop(growing.small.queue)
    reserve = growing.page_set.reserve
    growing.small.engine.storage.delete_page_set(1)
    assert not space.grow_due()
    growing.background()
    reserve(900)
    assert not disk.exists("pageset-01")


def test_two_who_want_space_are_one_request():
    disk = FaultyDisk()
    page_set = PageSet.create(disk, 3, 8)
    operations, sync, syncing, go_on = disk.operations, page_set.file.sync, threading.Event(), threading.Event()

    def slow():
        syncing.set()
        go_on.wait(10)
        sync()

    page_set.file.sync = slow
    threads = [threading.Thread(target=page_set.reserve, args=(40,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert syncing.wait(10)
    assert 8 == page_set.reserved
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert 40 == page_set.reserved
    assert operations + 2 == disk.operations


def test_a_queue_manager_grows_by_itself(started):  # noqa: F811
    """W4: the put nudges; nobody else sees to it."""
    manager = started(pages=200, expansion=100, buffer_pools={0: 64, 1: 1000})
    with manager.connect("ALICE") as app:
        app.define(LocalQueue("DEEP", page_set=1))
        for _ in range(150):
            app.put1("DEEP", "x", MQMD(persistence=1))
        page_set = manager.engine.buffers.page_sets[1]
        assert eventually(lambda: page_set.reserved == 300)
        assert 200 == page_set.pages
        app.commit()


def test_its_operator_is_told_of_a_full_disk(started):  # noqa: F811
    manager = started(pages=200, expansion=100, buffer_pools={0: 64, 1: 1000})
    manager.engine.buffers.page_sets[1].file.extend = refusing(errno.ENOSPC)
    with manager.connect("ALICE") as app:
        app.define(LocalQueue("DEEP", page_set=1))
        for _ in range(150):
            app.put1("DEEP", "x", MQMD(persistence=1))
        assert eventually(lambda: any("CSQP014E" == entry.identifier for entry in manager.operator_log.entries))
        app.commit()
