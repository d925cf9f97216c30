"""Proofs about images of pages that lack changes which the log has: of a restart, or of messages put together (X4)."""

from dataclasses import replace

from crash import restarts
from crash.scenarios import World, found_after, message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.recovery.checkpoint import read_checkpoint
from quaestor.storage.changes import REDO, map_page_of
from quaestor.storage.log_record import ALLOCATES, Kind
from quaestor.storage.page import PAGE, header_of
from quaestor.testing import FaultyDisk, SmallEngine

FEW, MANY = replace(restarts.FEW, packing=True), replace(restarts.MANY, packing=True)
MESSAGES, GOT = 80, 60


def page_sets_at_checkpoint(engine):
    """From where each page set is redone by the next start."""
    return read_checkpoint(engine.log.read, engine.log.files.inventory.checkpoints[-1]).page_sets


def images_at_next_start(engine):
    """What the next start reads of images, in order."""
    return [record for record in engine.log.scan(page_sets_at_checkpoint(engine)[1]) if record.kind == Kind.IMAGE]


def check_images(log):
    """Of all images in the active logs none lacks a change of its page that it should have (B4)."""
    changes, since = {}, log.files.inventory.since
    known = [rba for rba in log.files.inventory.checkpoints if rba >= log.files.oldest_active()]
    for record in log.scan(min(known)):
        kind = record.body[8] if record.kind == Kind.COMPENSATION else record.kind
        if kind not in REDO or record.rba < since.get(str(record.page_set), 0):
            continue
        if kind == Kind.IMAGE:
            rba, all_before = header_of(record.body).rba, record.previous or record.rba
            missing = [each for each in changes.get((record.page_set, record.page), ()) if rba < each < all_before]
            assert not missing, f"the image of page {record.page} at {record.rba:X} lacks the change at {missing[0]:X}"
        else:
            changes.setdefault((record.page_set, record.page), []).append(record.rba)
        if record.flags & ALLOCATES:
            changes.setdefault((record.page_set, map_page_of(record.page)), []).append(record.rba)


def torn(disk, page):
    survivor = disk.after_power_cut(0)
    survivor.files["pageset-01"].write(page * PAGE + 1000, b"torn")
    return survivor


def _written_pages():
    """A world whose messages, two to a page, are on the page set; a start needs nothing from before."""
    world = World(FaultyDisk(), MANY)
    world.unit(puts=[message(n, 1500) for n in range(MESSAGES)])
    world.engine.buffers.write_all()
    for _ in range(2):
        world.engine.recovery.checkpoint()
    return world


def _mended_or_told(disk, pages, state):
    for page in pages:
        try:
            assert state == found_after(torn(disk, page), MANY)
        except (Abend, TornPageError) as told:
            if "image copy" not in str(told):
                raise


def torn_when_it_was_freed_in_a_restart():
    """Restart logs pages half redone, and then comes to where they were freed. Messages that are not persistent use
    them; they are torn when power goes. The next start, which reads the images but not that, does not want them.
    """
    world = _written_pages()
    for _ in range(GOT):
        world.unit(gets=1)
    world.engine.data.scavenge()
    world.engine.log.force(world.engine.log.end - 1)
    again = SmallEngine(world.disk.after_power_cut(0), FEW)
    assert world.state == again.bodies()
    images, start = images_at_next_start(again), page_sets_at_checkpoint(again)[1]
    again.queue.page_set.low_free = 0
    for n in range(2 * GOT):
        again.put(None, message(n, 3000), persistent=False)
    used = {arrival.page for arrival in again.data.browse(again.queue) if not arrival.persistent}
    freed = sorted({record.page for record in images if record.previous < start} & used)
    assert freed
    for page in freed:
        assert world.state == found_after(torn(again.disk, page), FEW)


def mended_and_torn_again():
    """A page is made of an image of a restart. Before it is written the engine ends; it is made of it again."""
    world = _written_pages()
    unit = world.unit(gets=GOT, outcome="leave")
    world.engine.recovery.prepare(unit, b"in doubt")
    again = SmallEngine(world.disk.after_power_cut(0), FEW)
    images, start = images_at_next_start(again), page_sets_at_checkpoint(again)[1]
    again.buffers.write_all()
    again.recovery.harden()
    mended = 0
    for record in images:
        if record.previous >= start and record.page > 1:
            disk = torn(again.disk, record.page)
            for _ in range(3):
                disk = SmallEngine(disk, MANY).disk.after_power_cut(0)
            engine = SmallEngine(disk, MANY)
            engine.recovery.resolve(b"in doubt", commit=False)
            assert world.state == engine.bodies()
            mended += 1
    assert mended


def torn_when_it_was_begun_in_a_run():
    """Pages that were emptied are begun again by a run of messages, which is in the log before it is on pages.

    The first of the run want buffers, so the pages of the last are logged as they were, behind what they are to have.
    Some are written with it, and a checkpoint needs only what the others lack. They are torn then; or somebody gets and
    backs out what is there, and they are torn when they are written again.
    """
    world = World(FaultyDisk(), replace(restarts.FEW, buffer_pools={0: 12, 1: 24}))
    world.unit(puts=[message(n, 3000) for n in range(MESSAGES)])
    early, late = world.unit(gets=40, outcome="leave"), world.unit(gets=20, outcome="leave")
    engine, data, pool = world.engine, world.engine.data, world.engine.buffers.pool_of[1]
    for unit in (late, early):
        engine.commit(unit)
    unit = engine.begin()
    engine.put(unit, message(0))
    engine.put_all(unit, [message(n, 300) for n in range(60)])
    engine.commit(unit)
    written = pool.changed()[:5]
    pool.write(written)
    engine.recovery.checkpoint()
    state, start = engine.bodies(), page_sets_at_checkpoint(engine)[1]
    logged = {frame.page for frame in written if frame.rba < start} & {
        each.page for each in images_at_next_start(engine)
    }
    assert logged
    _mended_or_told(engine.disk, logged, state)
    unit = engine.begin()
    for arrival in [arrival for arrival in data.browse(engine.queue) if arrival.page in logged]:
        data.take(unit, arrival)
    engine.back_out(unit)
    engine.buffers.write_all()
    engine.log.force(engine.log.end - 1)
    for page in logged:
        found = SmallEngine(torn(engine.disk, page), MANY)
        assert sorted(state) == sorted(found.bodies())
