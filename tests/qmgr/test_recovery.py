"""Units of recovery, two-phase commit, shunting, image copies, the log in words, group commit."""

import itertools
import random
import sqlite3
import threading
from dataclasses import replace

import pytest

from quaestor.mqi.reasons import Abend
from quaestor.qmgr.checker import check, used_pages
from quaestor.qmgr.recovery import NEXT, State, UnitOfRecovery
from quaestor.qmgr.recovery.describe import describe
from quaestor.qmgr.recovery.media import ImageCopy, copy_name, image_copy, restore
from quaestor.storage.log_record import ALLOCATES, Identity, Kind
from quaestor.storage.real_disk import RealDisk
from quaestor.testing import SMALL, FaultyDisk, SmallEngine


def put(engine, *bodies):
    unit = engine.begin()
    for body in bodies:
        engine.put(unit, body)
    engine.commit(unit)


@pytest.mark.parametrize(("now", "wanted"), list(itertools.product(State, State)))
def test_a_unit_moves_only_along_its_table(now, wanted):
    unit = UnitOfRecovery(Identity())
    unit.state = now
    if wanted in NEXT[now]:
        unit.become(wanted)
        assert wanted is unit.state
    else:
        with pytest.raises(Abend, match="U1"):
            unit.become(wanted)


def test_the_states_of_a_two_phase_commit():
    """Two log forces: one at the end of phase 1, one when it goes from phase 1 to phase 2."""
    engine = SmallEngine()
    put(engine, b"a", b"b")
    unit = engine.begin()
    assert (State.IN_FLIGHT, 0) == (unit.state, unit.urid)
    engine.get(unit)
    engine.get(unit)
    forces = engine.log.stats.suspensions
    engine.recovery.prepare(unit, b"X")
    assert State.IN_DOUBT is unit.state
    engine.recovery.commit(unit)
    assert State.ENDED is unit.state
    assert forces + 2 == engine.log.stats.suspensions
    assert [] == engine.bodies()


@pytest.mark.parametrize("sqlite_commits", [True, False])
def test_together_with_a_sqlite_transaction(sqlite_commits, tmp_path):
    """The coordinator prepares us, then decides by what the database did; a failure in between leaves us in doubt."""
    engine = SmallEngine()
    put(engine, b"order 1")
    database = sqlite3.connect(tmp_path / "orders.db", isolation_level=None)
    database.execute("create table orders (body)")
    unit = engine.begin()
    body = engine.get(unit)
    database.execute("begin")
    database.execute("insert into orders values (?)", (body,))
    engine.recovery.prepare(unit, b"order 1")
    database.execute("commit" if sqlite_commits else "rollback")
    engine = SmallEngine(engine.disk.after_power_cut())
    (found,) = engine.recovery.in_doubt()
    done = database.execute("select count(*) from orders").fetchone()[0]
    engine.recovery.resolve(found.xid, commit=bool(done))
    assert (done == 0) == (engine.bodies() == [b"order 1"])
    database.close()


@pytest.mark.parametrize("commit", [True, False])
def test_a_decision_about_a_unit_in_doubt_is_durable_when_it_is_answered(commit):
    """V4: the coordinator may forget it then; a restart must not ask again."""
    engine = SmallEngine()
    put(engine, b"got")
    unit = engine.begin()
    engine.get(unit)
    engine.put(unit, b"put")
    engine.recovery.prepare(unit, b"X")
    engine.recovery.resolve(b"X", commit=commit)
    for disk in (engine.disk.after_power_cut(), engine.disk):
        again = SmallEngine(disk)
        assert [] == again.recovery.in_doubt()
        assert [b"put" if commit else b"got"] == again.bodies()


@pytest.mark.parametrize("commit", [True, False])
def test_a_unit_that_logged_nothing_can_be_prepared(commit):
    engine = SmallEngine()
    unit = engine.begin()
    engine.put(unit, b"not persistent", persistent=False)
    before = engine.log.end
    engine.recovery.prepare(unit, b"X")
    assert (State.IN_DOUBT, []) == (unit.state, engine.bodies())
    (engine.commit if commit else engine.back_out)(unit)
    assert (State.ENDED, before) == (unit.state, engine.log.end)
    assert ([b"not persistent"] if commit else []) == engine.bodies()


def test_a_long_unit_is_shunted_and_the_log_goes_on():
    engine = SmallEngine(FaultyDisk(), replace(SMALL, log_bytes=64 << 10, logload=50))
    slow = engine.begin()
    engine.put(slow, b"slow")
    first = slow.first
    for n in range(200):
        put(engine, b"%d" % n * 200)
        unit = engine.begin()
        engine.get(unit)
        engine.commit(unit)
    assert slow.first > first
    assert engine.recovery.needed_rba() > first
    engine.back_out(slow)
    assert [] == engine.bodies()
    assert [] == check(engine.data)


@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize("in_doubt", [False, True])
def test_of_an_old_unit_that_has_nothing_to_undo_no_log_is_kept(in_doubt, commit):
    """V6, CP7: all that it did was taken back, as where a long put is refused half way."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, log_bytes=64 << 10, logload=50))
    recovery, slow, page_set = engine.recovery, engine.begin(), engine.queue.page_set
    page = engine.data.space.free_pages(page_set).pop()
    recovery.change(slow, Kind.TEXT, ALLOCATES, page_set, page, b"text")
    recovery.back_out_to(slow, 0)
    if in_doubt:
        recovery.prepare(slow, b"X")
    for _ in range(2):
        before = engine.log.end
        for _ in range(3):
            recovery.checkpoint()
        assert recovery.needed_rba() > before
    again = engine.again()
    assert in_doubt == bool(again.recovery.in_doubt())
    for found, unit in ((again, again.recovery.units.get(slow.urid)), (engine, slow)):
        if unit:
            (found.commit if commit else found.back_out)(unit)
        assert [] == found.bodies()
        assert [] == check(found.data)


def test_a_lost_page_set_comes_back_from_its_image_copy_and_the_log():
    engine = SmallEngine(FaultyDisk(), replace(SMALL, archive=True, log_bytes=64 << 10))
    put(engine, b"before", b"got later")
    image_copy(engine.recovery, 1, engine.disk)
    unit = engine.begin()
    engine.get(unit)
    engine.put(unit, b"after")
    engine.commit(unit)
    for n in range(60):
        put(engine, b"%d" % n * 1000)
    wanted = engine.bodies()
    disk = engine.disk.after_power_cut()
    del disk.files["pageset-01"]
    restore(disk, 1)
    assert disk.exists(copy_name(1))
    restarted = SmallEngine(disk, engine.engine.settings)
    assert wanted == restarted.bodies()
    assert [] == check(restarted.data)
    assert wanted == restarted.again().bodies()


def some_work(engine, rng, held, n):
    """A step of what applications and the background do, whatever it is."""
    unit = engine.begin()
    for _ in range(rng.randrange(1, 4)):
        engine.put(unit, b"%d " % n * rng.choice([10, 300, 4000]), persistent=rng.random() < 0.8)
    for _ in range(rng.randrange(3)):
        engine.get(unit)
    how = rng.random()
    if how < 0.6:
        engine.commit(unit)
    elif how < 0.8 or len(held) > 3:
        engine.back_out(unit)
    else:
        held.append(unit)
    if rng.random() < 0.3:
        rng.choice([engine.run_tasks, engine.recovery.checkpoint, engine.buffers.write_all])()
    if held and rng.random() < 0.3:
        rng.choice([engine.commit, engine.back_out])(held.pop(0))


@pytest.mark.parametrize("seed", range(40))
def test_a_copy_taken_while_others_work_comes_back_to_what_was_committed(seed):
    """Y7: pages of every age, a page set that grows, units that begin before it and end behind it."""
    rng, held, work = random.Random(seed), [], itertools.count()
    engine = SmallEngine(FaultyDisk(), replace(SMALL, archive=True, pages=16, expansion=16, log_bytes=128 << 10))
    for _ in range(rng.randrange(20)):
        some_work(engine, rng, held, next(work))
    copy = ImageCopy(engine.recovery, 1, engine.disk, run=rng.randrange(1, 9))
    copy.create()
    while (run := copy.read()) is not None:
        for _ in range(rng.randrange(3)):
            some_work(engine, rng, held, next(work))
        copy.write(*run)
        for _ in range(rng.randrange(3)):
            some_work(engine, rng, held, next(work))
    copy.complete()
    copy.keep()
    for _ in range(rng.randrange(20)):
        some_work(engine, rng, held, next(work))
    wanted = SmallEngine(engine.disk.after_power_cut(), engine.engine.settings).bodies()
    disk = engine.disk.after_power_cut()
    disk.delete("pageset-01")
    restore(disk, 1)
    restarted = SmallEngine(disk, engine.engine.settings)
    assert wanted == restarted.bodies()
    assert [] == check(restarted.data)
    assert wanted == restarted.again().bodies()


def test_a_page_that_nobody_uses_and_that_is_not_whole_is_copied_empty():
    """Y6: its space map page may be copied when somebody does."""
    engine = SmallEngine(FaultyDisk(), replace(SMALL, archive=True))
    put(engine, b"short")
    spoiled = 60
    for image in (engine.disk.files["pageset-01"].seen, engine.disk.files["pageset-01"].durable):
        image[spoiled * 4096 : spoiled * 4096 + 10] = b"0123456789"
    image_copy(engine.recovery, 1, engine.disk)
    assert not any(engine.disk.files[copy_name(1)].seen[spoiled * 4096 : spoiled * 4096 + 4096])


def spoil(disk, name, at):
    for image in (disk.files[name].seen, disk.files[name].durable):
        image[at] ^= 0xFF


def copied(size=9000, settings=SMALL):
    """An engine with a long message, whose page set has an image copy, and a page of its text."""
    engine = SmallEngine(FaultyDisk(), replace(settings, archive=True))
    put(engine, b"short", b"t" * size)
    engine.buffers.write_all()
    image_copy(engine.recovery, 1, engine.disk)
    pages = engine.disk.files["pageset-01"].seen
    return engine, next(n for n in range(2, 64) if b"t" * 3000 in pages[n * 4096 : n * 4096 + 4096])


def test_a_page_set_with_a_page_that_is_not_whole_is_not_copied_over_the_last_good_copy():
    engine, text = copied()
    before = bytes(engine.disk.files[copy_name(1)].seen)
    spoil(engine.disk, "pageset-01", text * 4096 + 700)
    engine.again()  # nothing has been noticed: text is read when somebody wants it
    with pytest.raises(Abend, match=rf"Y6: a page is not whole and no image copy is taken.*page={text}"):
        image_copy(engine.recovery, 1, engine.disk)
    assert [copy_name(1)] == engine.disk.names("copy")
    assert before == engine.disk.files[copy_name(1)].seen


def test_a_page_that_a_cut_tore_and_the_log_has_begun_anew_is_copied_whole():
    engine, text = copied()
    put(engine, b"t" * 9000)
    disk = engine.disk.after_power_cut()
    spoil(disk, "pageset-01", (text + 4) * 4096 + 700)
    again = SmallEngine(disk, engine.engine.settings)
    image_copy(again.recovery, 1, disk)
    restore(disk, 1)
    assert [b"short", b"t" * 9000, b"t" * 9000] == SmallEngine(disk, engine.engine.settings).bodies()


@pytest.mark.parametrize("at", [0, 4096, 3 * 4096, -1])
def test_a_copy_that_is_damaged_is_refused_and_the_page_set_stays(at):
    """Page 0, the space map, a page in use; one that is too short."""
    engine, text = copied()
    disk, before = engine.disk, bytes(engine.disk.files["pageset-01"].seen)
    if at < 0:
        del disk.files[copy_name(1)].seen[40 * 4096 :]
    else:
        spoil(disk, copy_name(1), (text * 4096 if at > 4096 else at) + 50)
    with pytest.raises(Abend, match=r"Y[46].*another one is needed"):
        restore(disk, 1)
    assert before == disk.files["pageset-01"].seen


def test_a_copy_that_the_log_cannot_bring_up_to_date_is_refused_and_the_page_set_stays():
    """An archive is missing, was cut short, or is damaged; the first is gone and not known any more."""
    engine, _ = copied(settings=replace(SMALL, log_bytes=64 << 10, buffer_pools={0: 64, 1: 400}))
    for n in range(200):
        put(engine, b"%d" % n * 500)
        engine.run_tasks()
    disk = engine.disk
    names = disk.names("archive-")
    assert len(names) > 3
    before = bytes(disk.files["pageset-01"].seen)
    archive = disk.files.pop(names[1])
    whole = bytes(archive.seen)
    refuse(disk, before, r"F2.*put it back")
    disk.files[names[1]] = archive
    for spoiled in (whole[:20_000], whole[:20_000] + b"?" + whole[20_001:]):
        archive.seen = bytearray(spoiled)
        refuse(disk, before, r"L2: the log is damaged")
    archive.seen = bytearray(whole)
    archives = engine.log.files.inventory.archives
    gone = archives.pop(0)
    engine.log.files.save()
    refuse(disk, before, r"F2.*put its archives back")
    archives.insert(0, gone)
    engine.log.files.save()
    restore(disk, 1)


def refuse(disk, before, why):
    with pytest.raises(Abend, match=why):
        restore(disk, 1)
    assert before == disk.files["pageset-01"].seen


def test_a_copy_of_an_earlier_page_set_of_the_number_is_refused():
    engine, _ = copied()
    put(engine, b"later")
    engine.log.files.inventory.since["1"] = engine.log.end
    engine.log.files.save()
    with pytest.raises(Abend, match="earlier page set"):
        restore(engine.disk, 1)
    engine.log.files.inventory.page_sets.remove(1)
    engine.log.files.save()
    with pytest.raises(Abend, match="no such page set"):
        restore(engine.disk, 1)


def test_a_page_set_of_more_than_one_space_map_page_is_copied_and_put_back():
    engine, _ = copied(settings=replace(SMALL, pages=4200))
    engine.queue.page_set.low_free = 4050
    put(engine, *[b"%d" % n * 1000 for n in range(40)])
    engine.buffers.write_all()
    image_copy(engine.recovery, 1, engine.disk)
    wanted, disk = engine.bodies(), engine.disk.after_power_cut()
    del disk.files["pageset-01"]
    restore(disk, 1)
    assert wanted == SmallEngine(disk, engine.engine.settings).bodies()


def test_every_record_can_be_described():
    engine = SmallEngine(FaultyDisk(), replace(SMALL, packing=True))
    put(engine, b"a", b"b" * 9000, b"c" * 1000, b"d" * 3000)
    unit = engine.begin()
    engine.get(unit)
    engine.put(unit, b"x")
    engine.back_out(unit)
    engine.buffers.write_all()
    engine.recovery.checkpoint()
    records = list(engine.log.scan(4096))
    lines = [describe(record) for record in records]
    assert len(lines) == len(records)
    seen = {Kind(record.kind) for record in records}
    assert {Kind.INSERT, Kind.TEXT, Kind.START, Kind.CHAIN, Kind.COMPENSATION, Kind.COMMIT, Kind.CHECKPOINT} <= seen
    assert any("undo next" in line for line in lines)


def test_usage_adds_up():
    engine = SmallEngine()
    put(engine, b"a", b"b")
    engine.put(None, b"n", persistent=False)
    usage = used_pages(engine.data, 1)
    assert usage["total"] == usage["unused"] + usage["persistent"] + usage["non_persistent"]
    assert (1, 4) == (usage["non_persistent"], usage["persistent"])


def test_one_force_serves_many_commits(tmp_path):
    """Eight threads commit at once: fewer calls of the logger than commits, and nothing lost."""
    engine = SmallEngine(RealDisk(tmp_path), replace(SMALL, buffer_pools={0: 64, 1: 2000}))
    engine.recovery.latch.release()
    before = engine.log.stats.logger_calls

    def work(name):
        for n in range(40):
            with engine.recovery.latch:
                unit = engine.begin()
                engine.put(unit, b"%d/%d" % (name, n))
                engine.commit(unit)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls = engine.log.stats.logger_calls - before
    assert calls < 8 * 40
    again = SmallEngine(RealDisk(tmp_path), engine.engine.settings)
    assert {b"%d/%d" % (name, n) for name in range(8) for n in range(40)} == set(again.bodies())


@pytest.mark.parametrize("packing", [True, False])
def test_no_message_makes_a_page_longer_than_it_is(packing):
    """Sizes around the largest that a page takes, written to the page set and read back after a restart (P5)."""
    settings = replace(SMALL, packing=packing, buffer_pools={0: 64, 1: 400}, log_bytes=4 << 20)
    engine = SmallEngine(FaultyDisk(), settings)
    bodies = [bytes((size % 256,)) * size for size in range(3600, 4100, 7)]
    put(engine, *bodies)
    engine.buffers.write_all()
    assert [] == check(engine.data)
    again = SmallEngine(engine.disk.after_power_cut(), settings)
    assert bodies == again.bodies()
    assert [] == check(again.data)
