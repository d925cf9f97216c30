"""A cold start after a crash at any moment: page sets whose log is lost start again (CS1-CS8)."""

from contextlib import suppress
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from crash.scenarios import (
    TINY,
    World,
    backouts,
    checkpoints,
    expansion,
    found_after,
    log_switches,
    message,
    pages_leave_early,
)
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.page_storage import PageSetDefinition
from quaestor.qmgr.recovery.cold import _Look, cold_start
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.storage.changes import header
from quaestor.storage.log_files import CI
from quaestor.storage.page import PAGE, is_whole, seal
from quaestor.storage.page_set import describe, described_pages
from quaestor.testing import FaultyDisk, PowerCut, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
WIDE = replace(TINY, pages=640, buffer_pools={0: 16, 1: 64})
PACKED = replace(TINY, packing=True)
ROOMY = replace(TINY, pages=64, expansion=256, buffer_pools={0: 16, 1: 200}, log_bytes=1 << 20)


class Watched(FaultyDisk):
    """Keeps what the page sets hold before every so many operations."""

    def __init__(self):
        super().__init__()
        self.watching, self.moments = False, []

    def operate(self, effect):
        if self.watching and self.operations % self.every == 0:
            self.moments.append({n: bytes(image.seen) for n, image in self.files.items() if n.startswith("pageset")})
        super().operate(effect)


def crashed(script, settings=TINY, every=4):
    """Page sets as a queue manager that was killed leaves them, at one moment after the other."""
    disk = Watched()
    disk.every = every
    world = World(disk, settings)
    disk.watching = True
    script(world)
    for moment in disk.moments:
        left = FaultyDisk()
        for name, contents in moment.items():
            left.create(name, 0).write(0, contents)
            left.open(name).sync()
        yield left


def cold(disk):
    return cold_start(disk, logs=TINY.logs, log_bytes=TINY.log_bytes)


def every_crash_can_be_started_cold(script):
    """Gives how many pages were freed, in all."""
    freed = 0
    for disk in crashed(script):
        freed += cold(disk).freed
        engine = SmallEngine(disk, TINY)
        unit = engine.begin()
        engine.put(unit, message(999))
        engine.commit(unit)
        found = engine.bodies()
        assert message(999) in found
        assert found == found_after(disk.after_power_cut())
    return freed


@pytest.mark.parametrize("script", [backouts, checkpoints, expansion, log_switches, pages_leave_early])
def test_whenever_it_crashed_it_starts_cold(script):
    every_crash_can_be_started_cold(script)


def test_pages_that_were_not_written_with_their_messages_are_freed():
    assert every_crash_can_be_started_cold(expansion)


def text(number):
    """A body of which every part says whose it is."""
    return b"%07d " % number * (1000 + 500 * (number % 3))


def long_ones(world):
    """Long messages come and go, over the pages of those before; some pages are written, in any order."""
    engine = world.engine
    pool, choose = engine.buffers.pools[1], Random(5)
    for number in range(16):
        world.unit(puts=[text(number)])
        frames = [frame for frame in pool.changed() if not frame.in_use]
        pool.write(choose.sample(frames, min(len(frames), number % 5)))
        if number > 2:
            world.unit(gets=1)
        if number % 6 == 5:
            engine.recovery.checkpoint()


def very_long_ones(world):
    """The same with reference pages."""
    engine = world.engine
    pool, choose = engine.buffers.pools[1], Random(6)
    for number in range(3):
        world.unit(puts=[text(number) * 40], gets=1 if number else 0)
        frames = [frame for frame in pool.changed() if not frame.in_use]
        pool.write(choose.sample(frames, len(frames) // (2 if number != 1 else 1)))


@pytest.mark.parametrize(("script", "settings"), [(long_ones, TINY), (long_ones, PACKED), (very_long_ones, ROOMY)])
def test_a_long_message_is_there_with_its_own_text_or_not_at_all(script, settings):
    lost = whole = 0
    for disk in crashed(script, settings, 4 if settings is not ROOMY else 40):
        lost += cold(disk).without_text
        found = found_after(disk, settings)
        assert len(set(found)) == len(found)
        for body in found:
            number = int(body[:7])
            assert body == (text(number) if script is long_ones else text(number) * 40)
        whole += len(found)
    assert lost
    assert whole


def test_without_that_it_would_never_start_again(monkeypatch):
    monkeypatch.setattr(_Look, "write", lambda self: None)
    with pytest.raises(Abend, match="A1: a page is not what the space map says"):
        every_crash_can_be_started_cold(expansion)


def test_a_cold_start_that_is_cut_is_made_again():
    """In between nothing starts, or it is complete."""
    disk = list(crashed(expansion))[-1]
    whole = disk.after_power_cut()
    before = whole.operations
    assert cold(whole).freed
    wanted = found_after(whole)
    for cut in range(whole.operations - before + 1):
        survivor = disk.after_power_cut(cut_after=cut)
        with suppress(PowerCut):
            cold(survivor)
        survivor = survivor.after_power_cut(cut)
        try:
            found = found_after(survivor)
        except Abend:
            cold(survivor)
            found = found_after(survivor)
        assert wanted == found, f"cut after {cut}"


@pytest.mark.parametrize("readable", [True, False])
def test_pages_that_a_cut_cold_start_tore_are_mended(readable):
    """Every sector of a page that it writes may be old or new; the space map page has its changes in the second."""

    def far(world):
        world.engine.queue.page_set.low_free = 600
        world.unit(puts=[message(n) for n in range(10)])
        pool = world.engine.buffers.pools[1]
        pool.write([frame for frame in pool.changed() if frame.page < 605])
        world.engine.recovery.checkpoint()

    disk = list(crashed(far, WIDE))[-1]
    whole = disk.after_power_cut()
    assert 5 == cold(whole).freed
    wanted, torn = found_after(whole, WIDE), 0
    for cut, seed in product((2, 4), (0, 10)):
        survivor = disk.after_power_cut(cut_after=cut)
        with suppress(PowerCut):
            cold(survivor)
        survivor = survivor.after_power_cut(seed)
        if not is_whole(survivor.open("pageset-01").read(PAGE, PAGE), 1, 1):
            torn += 1
            if not readable:
                unreadable(survivor, 1)
        try:
            found = found_after(survivor, WIDE)
        except Abend:
            cold(survivor)
            found = found_after(survivor, WIDE)
        assert wanted == found, f"cut after {cut}, seed {seed}"
        assert not survivor.names("cold-")
    assert torn


GREW = replace(ROOMY, pages=16, expansion=16)


def grown():
    """Page sets of a queue manager that was killed: messages and their space map are there, page 0 is of before."""
    world = World(FaultyDisk(), GREW)
    page_set, buffers = world.engine.queue.page_set, world.engine.buffers
    world.unit(puts=[message(n) for n in range(20)])
    for pool in buffers.pools.values():
        pool.write([frame for frame in pool.changed() if frame.page])
    buffers.sync()
    assert page_set.pages > described_pages(page_set.read_raw(0, 1), 1)
    for name in ("BSDS1", *world.disk.names("log1-")):
        world.disk.delete(name)
    return world.disk.after_power_cut(), world.state


def test_messages_are_there_whose_page_set_grew_for_them():
    """CS7: once, they were gone, and came back with the first start after the page set had grown again."""
    disk, state = grown()
    assert cold(disk).pages > 2 * GREW.pages
    world = World(disk, GREW)
    assert state == world.engine.bodies()
    world.allowed = [state]
    for number in range(40, 80):
        world.unit(puts=[message(number)], gets=1)
    assert world.state == found_after(disk.after_power_cut(), GREW)


def test_they_are_there_wherever_the_cold_start_is_cut():
    """CS4, CS7."""
    for cut, seed in product(range(30), range(3)):
        disk, state = grown()
        disk = disk.after_power_cut(0, cut_after=cut)
        with suppress(PowerCut):
            cold(disk)
        disk = disk.after_power_cut(seed)
        try:
            found = found_after(disk, GREW)
        except Abend:
            cold(disk)
            found = found_after(disk, GREW)
        assert state == found


@pytest.fixture
def stopped():
    """Page sets of a queue manager that was stopped, with a message on a page."""
    engine = SmallEngine(settings=TINY)
    unit = engine.begin()
    engine.put(unit, message(1))
    engine.commit(unit)
    (arrival,) = engine.data.browse(engine.queue)
    engine.recovery.latch.release()
    engine.engine.stop()
    return engine.disk, arrival.page


def unreadable(disk, page):
    disk.unreadable["pageset-01"] = range(page * PAGE + 512, page * PAGE + 1024)


def test_a_page_that_is_not_in_use_need_not_be_readable(stopped):
    """Once, nothing could be started any more."""
    disk, page = stopped
    unreadable(disk, page + 1)
    assert not cold(disk).freed
    engine = SmallEngine(disk, TINY)
    unit = engine.begin()
    engine.put(unit, message(2))
    engine.commit(unit)
    assert [message(1), message(2)] == engine.bodies()
    assert [] == check(engine.data)


@pytest.mark.parametrize("which", ["a space map page", "a message page"])
def test_a_page_in_use_that_cannot_be_read_is_named_and_nothing_is_changed(stopped, which):
    disk, page = stopped
    page = 1 if which == "a space map page" else page
    unreadable(disk, page)
    before = disk.operations
    with pytest.raises(Abend, match="CS3: a page is not whole") as caught:
        cold(disk)
    assert {"page_set": 1, "page": page} == caught.value.facts
    assert before == disk.operations
    disk.unreadable.clear()
    assert [message(1)] == found_after(disk)


def with_a_page_set_of_its_own():
    """Page sets of a queue manager that was stopped; a command defined one of them, and a queue is on it."""
    engine = SmallEngine(settings=TINY)
    engine.engine.storage.define_page_set(7, PageSetDefinition(1))
    unit = engine.begin()
    engine.put(unit, message(7), queue=engine.data.queue(LocalQueue("FAR", page_set=7)))
    engine.commit(unit)
    engine.recovery.latch.release()
    engine.engine.stop()
    return engine.disk


def test_a_page_set_that_a_command_defined_is_there():
    """Once, nothing could be started: the definition had gone with the bootstrap data set."""
    disk = with_a_page_set_of_its_own()
    assert (0, 1, 7) == cold(disk).page_sets
    engine = SmallEngine(disk, TINY)
    assert [message(7)] == engine.bodies(engine.data.queue(LocalQueue("FAR", page_set=7)))
    assert 0 == engine.buffers.page_sets[7].buffer_pool
    assert [] == check(engine.data)


def half_made():
    """What a definition of a page set leaves on a disk with a message, wherever it is cut."""
    for cut, seed in product(range(14), range(3)):
        world = World(FaultyDisk())
        world.unit(puts=[message(1)])
        world.engine.buffers.write_all()
        world.engine.buffers.sync()
        world.disk.cut_after = world.disk.operations + cut
        with suppress(PowerCut):
            world.engine.engine.storage.define_page_set(7, PageSetDefinition(1))
        yield world.disk.after_power_cut(seed)


@pytest.mark.parametrize("known", [True, False])
def test_a_page_set_that_was_not_made_to_its_end_is_left_aside(known):
    """CS8: once, nothing could be started until somebody had deleted it; a command makes it again."""
    left = 0
    for disk in half_made():
        if known:
            disk.create("copy-07", PAGE)  # of one that was deleted
        else:
            disk.delete("BSDS1")
        made = cold(disk)
        left += made.left_aside == (7,)
        engine = SmallEngine(disk, TINY)
        assert [message(1)] == engine.bodies()
        if 7 not in engine.engine.storage.page_sets:
            engine.engine.storage.define_page_set(7, PageSetDefinition(1))
        unit = engine.begin()
        engine.put(unit, message(7), queue=engine.data.queue(LocalQueue("FAR", page_set=7)))
        engine.commit(unit)
        assert [] == check(engine.data)
    assert left > 5


@pytest.mark.parametrize("why", ["a message is on it", "it has an image copy", "the bootstrap data set has it"])
def test_a_page_set_without_its_beginning_is_named(why):
    """CS8: it was made, whatever became of its page 0; and nothing is changed."""
    disk = with_a_page_set_of_its_own()
    lost = 1 if why == "a message is on it" else disk.open("pageset-07").size() // PAGE
    for image in (disk.files["pageset-07"].seen, disk.files["pageset-07"].durable):
        image[: lost * PAGE] = bytes(lost * PAGE)
    if why == "it has an image copy":
        disk.create("copy-07", PAGE)
    if why != "the bootstrap data set has it":
        disk.delete("BSDS1")
    before = {name: bytes(image.seen) for name, image in disk.files.items()}
    with pytest.raises(Abend, match="T4: a page set is not complete"):
        cold(disk)
    assert before == {name: bytes(image.seen) for name, image in disk.files.items()}


def test_a_queue_whose_page_set_is_gone_is_named():
    disk = with_a_page_set_of_its_own()
    disk.delete("pageset-07")
    assert (0, 1) == cold(disk).page_sets
    with pytest.raises(Abend, match="O4: a queue is on a page set that is not there") as caught:
        SmallEngine(disk, TINY)
    assert {"queue": "FAR", "page_set": 7} == caught.value.facts
    defined = replace(TINY, page_sets={0: 0, 1: 1, 7: 1})
    engine = SmallEngine(disk, defined)
    assert [] == engine.bodies(engine.data.queue(LocalQueue("FAR", page_set=7)))


def test_an_image_copy_of_before_is_refused():
    """Once, one that was taken beside much other work was brought up to date with the new log, without its beginning.

    It is redone from the end of the log, which is far above the pages: much work has not reached them.
    """
    settings = replace(TINY, page_sets={0: 0, 1: 1, 2: 0}, buffer_pools={0: 600, 1: 64}, log_bytes=1 << 20)
    engine = SmallEngine(settings=settings, page_set=1)
    unit = engine.begin()
    engine.put(unit, message(0))
    engine.commit(unit)
    engine.recovery.latch.release()
    engine.engine.stop()
    engine = SmallEngine(engine.disk, settings, page_set=1)
    far = engine.data.queue(LocalQueue("FAR", page_set=2))
    for number in range(60):
        engine.put(engine.begin(), message(number), queue=far)
    needed = image_copy(engine.recovery, 1, engine.disk)
    made = cold_start(engine.disk, logs=3, log_bytes=1 << 20)
    assert made.highest_rba + 2 * CI < needed
    engine = SmallEngine(engine.disk, settings, page_set=1)
    for number in range(1, 4):
        unit = engine.begin()
        engine.put(unit, message(number))
        engine.commit(unit)
    engine.recovery.latch.release()
    engine.engine.stop()
    with pytest.raises(Abend, match="Y6: the image copy is of an earlier page set"):
        restore(engine.disk, 1)
    put_back_by_hand = engine.disk.after_power_cut()
    put_back_by_hand.files["pageset-01"] = put_back_by_hand.files["copy-01"]
    with pytest.raises(Abend, match="Y6: the image copy is of an earlier page set"):
        SmallEngine(put_back_by_hand, settings, page_set=1)
    assert 4 == len(SmallEngine(engine.disk, settings, page_set=1).bodies())


def test_the_new_log_begins_behind_a_copy_of_a_page_set_that_is_not_there(stopped):
    """CS2: once, it could be put back when the page set was defined again, and its log was another."""
    disk, _ = stopped
    first = bytearray(PAGE)
    header(first, describe(42, 16, 1 << 30), 42, 0)
    seal(first, 0)
    disk.create("copy-42", PAGE).write(0, first)
    assert cold(disk).first_rba > 1 << 30
