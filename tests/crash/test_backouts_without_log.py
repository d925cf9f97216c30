"""A unit is longer than the log that is left, and no other log can be made ready: its backout waits (V12, X10, B13)."""

import errno
from contextlib import suppress
from dataclasses import replace

import pytest

from crash.scenarios import TINY, message
from qmgr.small import EVERYTHING, Small
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue, QueueManagerAttributes
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.buffer.writing import IMAGE, PageWriter
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.load import _Loader
from quaestor.qmgr.queue_manager import QueueManager
from quaestor.qmgr.recovery import RecoveryManager
from quaestor.qmgr.recovery.checkpointing import CheckpointTaker
from quaestor.qmgr.recovery.unit import State
from quaestor.storage.changes import TEXT_PAGE, map_page_of
from quaestor.storage.log_files import LogFiles
from quaestor.storage.log_record import HEADER_LENGTH, Kind
from quaestor.storage.page import HEADER_LENGTH as PAGE_HEADER
from quaestor.testing import FaultyDisk, PowerCut, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
LOG = 32 << 10
ROOMY = replace(TINY, log_bytes=LOG, buffer_pools={0: 16, 1: 3000}, pages=3000, logload=100_000)
KEPT = MQMD(persistence=1)


class ArchiveDisk:
    """Where archives go: full or not."""

    full = False


@pytest.fixture
def archives(monkeypatch):
    there, begin = ArchiveDisk(), LogFiles._begin_archive

    def begin_unless_full(self, start):
        if there.full:
            raise OSError(errno.ENOSPC, "no space")
        return begin(self, start)

    monkeypatch.setattr(LogFiles, "_begin_archive", begin_unless_full)
    monkeypatch.setattr("quaestor.qmgr.log.manager.AGAIN_NS", 0)  # whoever comes finds out that there is room
    return there


def small(settings=ROOMY, disk=None):
    engine = SmallEngine(disk or FaultyDisk(), settings)
    engine.said = []
    engine.log.files.tell = lambda identifier, _text, **facts: engine.said.append((identifier, facts))
    return engine


def put_unit(engine, *bodies):
    unit = engine.begin()
    for body in bodies:
        engine.put(unit, body)
    engine.commit(unit)


def fill(engine, archives, units, change, logs=5):
    """Units change something in turn, over some active logs; then archives are full, and soon they are refused."""
    stop_archiving = engine.log.end + logs * LOG

    def work():
        for n in range(100_000):
            archives.full = engine.log.end > stop_archiving
            change(units[n % len(units)], n)
            if n % 50 == 0:
                engine.run_tasks()

    with pytest.raises(MQError, match=r"2056.*no space"):
        work()


def use_up(log, archives):
    """The ring comes round to a log that somebody needs and that cannot be archived: the current one is the last."""
    archives.full = True
    log.files.needed_rba = lambda: 0

    def fill_up():
        while True:
            log.check_space()
            log.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(2000))

    with pytest.raises(MQError, match="2056"):
        fill_up()


def append_filler(log, *, keep):
    """Have so much of the log left."""
    log.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(log.files.limit - log.end - keep - HEADER_LENGTH))


def run(engine, rounds=40):
    for _ in range(rounds):
        engine.run_tasks()


def put(engine, size=40):
    return lambda unit, n: engine.put(unit, message(n, size))


def get(engine):
    def change(unit, _n):
        assert engine.get(unit) is not None

    return change


def long_units(archives, kind, count=1, settings=ROOMY):
    """Units that got or put two logs hold, or five; beside them one that has put a message, and what is committed."""
    engine = small(settings)
    stays = [message(n) for n in range(1500 if kind == "gets" else 3)]
    put_unit(engine, *stays)
    engine.buffers.write_all()
    units, other = [engine.begin() for _ in range(count)], engine.begin()
    engine.put(other, b"other")
    if kind == "gets":
        fill(engine, archives, units, get(engine), logs=2)
    else:
        fill(engine, archives, units, put(engine))
    return engine, units, other, stays


KINDS = pytest.mark.parametrize("kind", ["puts", "gets"])
ARCHIVE = pytest.mark.parametrize("archive", [True, False])


@ARCHIVE
@KINDS
@pytest.mark.parametrize("count", [1, 20])
def test_a_backout_waits_and_goes_on_when_there_is_log(archive, kind, count, archives):
    """V12: the application is answered, others commit, nothing is there twice or not at all."""
    engine, units, other, stays = long_units(archives, kind, count, replace(ROOMY, archive=archive))
    for unit in units:
        engine.back_out(unit)
    waiting = list(engine.recovery.waiting)
    assert waiting
    assert {State.IN_BACKOUT} == {unit.state for unit in waiting}
    engine.commit(other)
    run(engine)
    assert waiting == engine.recovery.waiting
    if kind == "puts":
        assert [*stays, b"other"] == engine.bodies()
    archives.full = False
    run(engine)
    assert [] == engine.recovery.waiting
    assert {State.ENDED} == {unit.state for unit in units}
    assert sorted([*stays, b"other"]) == sorted(engine.bodies())
    assert (len(stays) + 1, 0) == (engine.queue.depth, engine.queue.uncommitted)
    assert [] == check(engine.data)
    assert sorted([*stays, b"other"]) == sorted(SmallEngine(engine.disk.after_power_cut(), ROOMY).bodies())


@KINDS
def test_a_restart_without_log_leaves_it_waiting(kind, archives):
    """X10: again and again; what is left of the unit is there for nobody, and then it is undone."""
    engine, (unit,), other, stays = long_units(archives, kind)
    engine.back_out(unit)
    engine.commit(other)
    disk = engine.disk
    for _ in range(3):
        disk = disk.after_power_cut()
        engine = small(disk=disk)
        (again,) = engine.recovery.waiting
        assert (unit.urid, State.IN_BACKOUT) == (again.urid, again.state)
        assert [] == check(engine.data)
        assert set(engine.bodies()) <= {*stays, b"other"}
        assert [] == again.puts if kind == "gets" else again.gets == []
        assert len(engine.bodies()) == len(stays) + 1 - len(again.gets)
    archives.full = False
    run(engine)
    assert [] == engine.recovery.waiting
    assert sorted([*stays, b"other"]) == sorted(engine.bodies())
    assert [] == check(engine.data)


@KINDS
def test_what_was_in_flight_waits_too_after_a_restart(kind, archives):
    """X10: nobody had asked for the backout; the restart does."""
    engine, _units, other, stays = long_units(archives, kind, 3)
    engine.commit(other)
    engine.recovery.harden()
    engine = small(disk=engine.disk.after_power_cut())
    assert engine.recovery.waiting
    assert [] == check(engine.data)
    archives.full = False
    run(engine)
    assert sorted([*stays, b"other"]) == sorted(engine.bodies())


@KINDS
def test_power_goes_while_it_goes_on(kind, archives):
    engine, (unit,), other, stays = long_units(archives, kind)
    engine.back_out(unit)
    engine.commit(other)
    archives.full = False
    disk = engine.disk
    for more in (0, 3, 7, 15, 40):
        disk = disk.after_power_cut(seed=more, cut_after=None)
        engine = small(disk=disk)
        disk.cut_after = disk.operations + more
        with suppress(PowerCut):
            run(engine)
            engine.buffers.write_all()
        archives.full = more == 3
    archives.full = False
    engine = small(disk=disk.after_power_cut())
    run(engine)
    assert [] == engine.recovery.waiting
    assert sorted([*stays, b"other"]) == sorted(engine.bodies())
    assert [] == check(engine.data)


def test_the_operator_is_told_of_every_unit_that_waits(archives):
    engine, units, _, _ = long_units(archives, "puts", 20)
    for unit in units:
        engine.back_out(unit)
    told = [facts["urid"] for identifier, facts in engine.said if identifier == "CSQJ111A"]
    assert [f"{unit.urid:012X}" for unit in engine.recovery.waiting] == told
    assert 0 < len(told) < 20


def test_the_background_goes_on_one_unit_after_the_other(archives):
    engine, units, _, _ = long_units(archives, "puts", 20)
    (task,) = [task for task in engine.recovery.tasks() if task.name == "back out what waits for log"]
    assert (False, False, True) == (task.due(), task.step(), task.latched)
    for unit in units:
        engine.back_out(unit)
    before = list(engine.recovery.waiting)
    assert (True, False) == (task.due(), task.step())
    archives.full = False
    assert task.step()
    assert before[1:] == engine.recovery.waiting
    while task.step():
        pass
    assert not task.due()


def test_the_last_eighth_of_the_log_is_left_for_others(archives):
    """V12: and that is enough for each of them."""
    engine, (unit,), _, _ = long_units(archives, "gets")
    others = [engine.begin() for _ in range(30)]
    for number, other in enumerate(others):
        other.label = b"CLIENT" + number.to_bytes(8, "big")
    engine.back_out(unit)
    left = engine.log.files.limit - engine.log.end
    assert LOG // 8 - 500 < left <= LOG // 8
    for other in others:
        engine.commit(other)


def test_a_decision_to_back_out_is_durable_although_the_backout_waits(archives):
    """V4: whoever decided is not asked again."""
    engine, (unit,), _, _ = long_units(archives, "gets")
    engine.recovery.prepare(unit, b"XID")
    engine.recovery.resolve(b"XID", commit=False)
    assert [] == engine.recovery.in_doubt()
    again = small(disk=engine.disk.after_power_cut())
    assert [] == again.recovery.in_doubt()
    assert unit.urid in [each.urid for each in again.recovery.waiting]


def long_messages(archives):
    """A unit of long messages: the last of them has lost its record, but not its text, when the log is used up."""
    engine = small()
    unit = engine.begin()
    fill(engine, archives, [unit], put(engine, 9000))
    archives.full = True
    appended, log = [], engine.log
    append_filler(log, keep=LOG // 8 + 60)
    append = log.append
    log.append = lambda kind, *rest: appended.append(kind) or append(kind, *rest)
    engine.back_out(unit)
    assert [Kind.BEGIN_BACKOUT, Kind.COMPENSATION] == appended
    log.append = append
    log.force(log.end - 1)
    return engine


def test_text_pages_that_are_freed_later_are_not_given_back_before(archives):
    """A5: or somebody else's text in them would be freed with them."""
    engine = small(disk=long_messages(archives).disk.after_power_cut())
    (unit,) = engine.recovery.waiting
    assert [] == check(engine.data)
    archives.full = False
    put_unit(engine, message(1, 9000), message(2, 9000))
    run(engine)
    assert State.ENDED is unit.state
    put_unit(engine, message(3, 9000), message(4, 9000))
    assert [message(n, 9000) for n in (1, 2, 3, 4)] == engine.bodies()
    assert [] == check(engine.data)


def test_a_marked_message_is_not_got_again_while_the_backout_waits(archives):
    """The application is warned; the message comes back to its queue with the others."""
    clock = FakeClock()
    manager = QueueManager("QM1", FaultyDisk(), clock, ROOMY)
    manager.start(background=False)
    qm = Small(clock, manager.messages, manager.connections, manager.security, manager)
    app = qm.connect()
    app.define(LocalQueue("ORDERS"))
    orders, engine = app.open("ORDERS", EVERYTHING), manager.engine
    orders.put("marked", MQMD(persistence=0))
    orders.put("kept", KEPT)
    app.commit()
    orders.get(GetOptions.SYNCPOINT | GetOptions.MARK_SKIP_BACKOUT)
    orders.get(GetOptions.SYNCPOINT)
    use_up(engine.log, archives)
    append_filler(engine.log, keep=LOG // 8)
    app.backout()
    assert (Reason.Q_SPACE_NOT_AVAILABLE, None) == (app.warning.reason, app.thread.unit)
    with pytest.raises(MQError, match="2033"):
        orders.get(GetOptions.SYNCPOINT)
    archives.full = False
    with engine.recovery.latch:
        assert not engine.recovery.back_out_step()
    got = [orders.get(GetOptions.SYNCPOINT) for _ in range(2)]
    assert [("marked", 1), ("kept", 1)] == [(each.text, each.backout_count) for each in got]


def test_the_expiry_scan_leaves_what_there_is_no_log_for(archives):
    """MM2: the background would end the queue manager with it."""
    manager = QueueManager("QM1", FaultyDisk(), clock := FakeClock(), ROOMY)
    manager.start(background=False)
    qm = Small(clock, manager.messages, manager.connections, manager.security, manager)
    qm.queue("ORDERS")
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    for _ in range(2):
        orders.put("late", MQMD(persistence=1, expiry=1), PutOptions.NO_SYNCPOINT)
    clock.advance(seconds=10)
    use_up(manager.engine.log, archives)
    qm.scan()
    assert {"CURDEPTH": 2} == orders.inquire("CURDEPTH")
    archives.full = False
    clock.advance(seconds=60)
    app.alter(QueueManagerAttributes, expiry_interval_s=1)
    qm.scan()
    assert {"CURDEPTH": 0} == orders.inquire("CURDEPTH")


def test_a_queue_that_cannot_be_cleared_is_as_it_was(archives):
    """AD2: the first messages need no log; a later one that does is refused, and nobody would end their unit."""
    manager = QueueManager("QM1", FaultyDisk(), clock := FakeClock(), ROOMY)
    manager.start(background=False)
    qm = Small(clock, manager.messages, manager.connections, manager.security, manager)
    qm.queue("ORDERS")
    app, state = qm.connect(), manager.messages.catalogue.state("ORDERS")
    for persistence in (0, 0, 1):
        app.put1("ORDERS", "message", MQMD(persistence=persistence), PutOptions.NO_SYNCPOINT)
    use_up(manager.engine.log, archives)
    with pytest.raises(MQError, match="2056"), manager.engine.recovery.latch:
        manager.messages.clear("ALICE", "ORDERS")
    assert (3, 0) == (state.stored.depth, state.stored.uncommitted)
    archives.full = False
    with manager.engine.recovery.latch:
        assert manager.messages.clear("ALICE", "ORDERS") == 3


# --- shunting and images ----------------------------------------------------------------------------------------------


def test_a_long_unit_is_not_shunted_into_the_end_of_the_log(archives):
    """CP7: nor is anything lost by that; when there is log again it is."""
    engine, (unit,), _, _ = long_units(archives, "puts")
    log = engine.log
    unit.born = engine.recovery.checkpoints - 2
    first = unit.first
    append_filler(log, keep=LOG // 3)
    engine.recovery.checkpoint()
    assert first == unit.first
    assert LOG // 4 - 1000 < log.files.limit - log.end < LOG // 4
    again = small(disk=engine.disk.after_power_cut())
    assert [first] == [each.first for each in again.recovery.waiting if each.urid == unit.urid]
    archives.full = False
    unit.born = engine.recovery.checkpoints - 2
    engine.recovery.checkpoint()
    assert unit.first > first


def changed_on_disk(archives):
    """A hundred pages that are on disk have been changed since: each needs an image; the log is nearly used up."""
    engine = small()
    put_unit(engine, *[message(n) for n in range(100)])
    engine.buffers.write_all()
    for _ in range(3):
        engine.recovery.checkpoint()
    got = engine.begin()
    for _ in range(100):
        engine.get(got)
    engine.commit(got)
    use_up(engine.log, archives)
    return engine


def images_since(engine, rba):
    engine.log.force(engine.log.end - 1)
    return [record.page for record in engine.log.scan(rba) if record.kind == Kind.IMAGE]


def test_a_checkpoint_does_not_write_pages_into_the_last_quarter_of_the_log(archives):
    """B13: they stay changed, and restart redoes them from where they were changed first."""
    engine = changed_on_disk(archives)
    start, log = engine.log.end, engine.log
    for _ in range(3):
        engine.recovery.checkpoint()
    written = images_since(engine, start)
    assert 0 < len(written) <= LOG * 3 // 4 // IMAGE
    assert log.files.limit - log.end > LOG // 4 - 3 * 600
    pool = engine.buffers.pools[1]
    assert len(pool.changed()) >= 100 - len(written)
    archives.full = False
    assert [] == SmallEngine(engine.disk.after_power_cut(), ROOMY).bodies()
    log.check_space()
    for _ in range(3):
        engine.recovery.checkpoint()
    assert 100 <= len(set(images_since(engine, start)))


def test_pages_that_need_no_image_are_written_in_their_place(archives):
    """B13, B5: deferred write passes over those that do."""
    engine = changed_on_disk(archives)
    log, pool = engine.log, engine.buffers.pools[1]
    append_filler(log, keep=LOG // 4)
    unit = engine.begin()
    for n in range(10):
        engine.put(unit, message(n), persistent=False)
    engine.commit(unit)
    before, end = set(pool.changed()), log.end
    pool._start_writing()
    assert not pool.deferred_write_step()
    written = before - set(pool.changed())
    assert {True} == {frame.volatile or not frame.first_rba for frame in written}
    assert [] == images_since(engine, end)
    assert (0, False) == (pool.images_left(1), pool.is_stuck)


def got_from_disk(messages):
    """A small pool, so many messages on disk, and a unit that has got 600 of them, which is there too."""
    engine = small(replace(ROOMY, buffer_pools={0: 16, 1: 64}))
    stays = [message(n) for n in range(messages)]
    put_unit(engine, *stays)
    engine.buffers.write_all()
    unit = engine.begin()
    for _ in range(600):
        engine.get(unit)
    engine.buffers.write_all()
    engine.recovery.checkpoint()
    return engine, unit, stays


def test_a_backout_waits_for_log_when_it_would_find_no_buffer(archives):
    """V12: undoing a get changes a page that is on disk, and that page needs an image before another may come."""
    engine, unit, stays = got_from_disk(600)
    log = engine.log
    use_up(log, archives)
    append_filler(log, keep=LOG // 4)
    engine.back_out(unit)
    assert [unit] == engine.recovery.waiting
    assert log.files.limit - log.end > LOG // 8
    assert engine.buffers.pools[1].is_stuck
    archives.full = False
    run(engine, 100)
    assert [] == engine.recovery.waiting
    assert stays == engine.bodies()
    assert [] == check(engine.data)


# --- ends without log -------------------------------------------------------------------------------------------------


def stop(engine):
    engine.recovery.latch.release()
    engine.engine.stop()


def uses(engine):
    """What the space map says of the first pages of the page set."""
    page_set = engine.queue.page_set
    space_map = engine.buffers.pool_of[page_set.number].peek(page_set, map_page_of(0)).data
    return bytes(space_map[PAGE_HEADER:])


@pytest.mark.parametrize("keep", [LOG // 4, LOG // 8, 200], ids=["a quarter", "an eighth", "hardly any"])
def test_a_stop_writes_as_many_pages_as_there_is_log_for(archives, keep):
    """B13, G2: the next start redoes the others. It has no log for that either, but some for itself."""
    engine = changed_on_disk(archives)
    unit = engine.begin()
    engine.put(unit, b"not persistent", persistent=False)
    append_filler(engine.log, keep=keep)
    engine.commit(unit)
    stop(engine)
    archives.full = keep > 200
    for disk in (engine.disk, engine.disk.after_power_cut()):
        again = small(disk=disk)
        assert [] == again.bodies()
        assert [] == check(again.data)


def test_a_stop_with_log_writes_every_page(archives):
    engine = changed_on_disk(archives)
    archives.full = False
    start = engine.log.end
    stop(engine)
    again = small(disk=engine.disk)
    assert [] == again.bodies()
    assert 100 <= len(set(images_since(again, start)))


def test_whoever_would_read_a_page_is_refused_when_that_would_take_log_from_others(archives):
    """B13, D8: a browser could use up the rest of the log, and the queue manager would end with it."""
    engine, unit, stays = got_from_disk(700)
    use_up(engine.log, archives)
    append_filler(engine.log, keep=LOG // 4)
    engine.back_out(unit)
    assert engine.buffers.pools[1].is_stuck
    end = engine.log.end
    reasons = set()
    for arrival in engine.data.browse(engine.queue):
        with pytest.raises(MQError) as refused:
            engine.data.read(arrival)
        reasons.add(refused.value.reason)
    assert ({Reason.RESOURCE_PROBLEM}, end) == (reasons, engine.log.end)
    archives.full = False
    run(engine, 100)
    assert stays == engine.bodies()


@pytest.mark.parametrize("end", ["backs out", "commits"])
def test_a_put_that_fails_half_way_is_undone_as_far_as_there_is_log(monkeypatch, end):
    """V12: its text pages belong to the unit, whose backout gives them back; if it commits, a restart does (A5)."""
    engine = small()
    put_unit(engine, b"stays")
    begin, stop_archiving = LogFiles._begin_archive, engine.log.end + 70 * LOG

    def begin_unless_full(self, start):
        if engine.log.end > stop_archiving:
            raise OSError(errno.ENOSPC, "no space")
        return begin(self, start)

    monkeypatch.setattr(LogFiles, "_begin_archive", begin_unless_full)
    unit = engine.begin()
    engine.put(unit, b"put")
    with pytest.raises(MQError, match="2056"):
        engine.put(unit, message(1, 3_000_000))
    assert engine.log.files.limit - engine.log.end >= LOG // 8 - 100
    assert uses(engine).count(TEXT_PAGE)
    stop_archiving = 1 << 60
    if end == "commits":
        engine.commit(unit)
        assert [b"stays", b"put"] == engine.bodies()
    else:
        engine.back_out(unit)
        assert [b"stays"] == engine.bodies()
    stop(engine)
    again = small(disk=engine.disk)
    assert ([b"stays", b"put"] if end == "commits" else [b"stays"]) == again.bodies()
    assert 0 == uses(again).count(TEXT_PAGE)
    assert [] == check(again.data)


# --- teeth: without its rule a test fails -----------------------------------------------------------------------------


def without_waiting(patch):
    """V12: undo, whatever is left."""
    patch.setattr(RecoveryManager, "may_undo", lambda self, record: True)


def without_care_for_images(patch):
    """B13: as many as are wanted."""
    patch.setattr(PageWriter, "images_left", lambda self, wanted: wanted)


def without_room_for_shunting(patch):
    """CP7: it is shunted, whatever is left."""
    patch.setattr(CheckpointTaker, "has_room", lambda self, size=0: True)


def without_text_that_is_freed_later(patch):
    """A5: what no message refers to is given back."""
    load = _Loader.give_back_lost_texts

    def careless(self):
        self._undone_later.clear()
        load(self)

    patch.setattr(_Loader, "give_back_lost_texts", careless)


TEETH = [
    (without_waiting, lambda archives: test_a_backout_waits_and_goes_on_when_there_is_log(True, "puts", 1, archives)),
    (without_waiting, lambda archives: test_what_was_in_flight_waits_too_after_a_restart("gets", archives)),
    (without_care_for_images, test_a_checkpoint_does_not_write_pages_into_the_last_quarter_of_the_log),
    (without_care_for_images, test_a_backout_waits_for_log_when_it_would_find_no_buffer),
    (without_room_for_shunting, test_a_long_unit_is_not_shunted_into_the_end_of_the_log),
    (without_text_that_is_freed_later, test_text_pages_that_are_freed_later_are_not_given_back_before),
]


@pytest.mark.parametrize(("remove", "proof"), TEETH)
def test_without_its_rule_it_does_not_hold(remove, proof, archives, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend)):
        proof(archives)
