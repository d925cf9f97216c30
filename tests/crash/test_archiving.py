"""Archives: every record in them is good, or there is none and the operator knows (AR1-AR4, F6, J15)."""

import errno
from dataclasses import replace

import pytest

from crash.scenarios import TINY, World, found_after, message, prove
from quaestor.clock import FakeClock
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.engine import Engine, settings_of
from quaestor.qmgr.log import LogManager
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.storage import archiving
from quaestor.storage.archiving import Archiving
from quaestor.storage.log_files import LogFiles
from quaestor.testing import FaultyDisk, FaultyFile, SmallEngine

pytestmark = [pytest.mark.crash, pytest.mark.plain]
SINGLE = replace(TINY, logs=4, archive=True, buffer_pools={0: 16, 1: 64})
DUAL = replace(SINGLE, dual_logs=True)
SIZE = SINGLE.log_bytes
FIRST = SIZE + 4096
"""Where the second active log begins: with the end of a record."""


def filled(settings=SINGLE, logs=2, size=700):
    """A world whose log has just gone on to another data set, for the n-th time; nothing is archived yet."""
    world, number = World(FaultyDisk(), settings), 0
    world.said = []
    files = world.engine.log.files
    files.tell = lambda identifier, _text, **facts: world.said.append((identifier, facts))
    while files.start < 4096 + logs * SIZE or world.engine.log.hardened < files.start:
        world.unit(puts=[message(number, size + number % 50)], gets=1 if number else 0)
        number += 1
    return world


def spoil(disk, name, at, length=1):
    image = disk.files[name]
    for place in range(at, at + length):
        image.seen[place] ^= 0xFF
        image.durable[place] ^= 0xFF


def archive_all(engine):
    while engine.log.make_ready_step():
        pass


def archived(engine):
    return {start: engine.disk.open(name).read(0, SIZE) for start, _, name in engine.log.files.inventory.archives}


@pytest.mark.parametrize("at", range(1000, SIZE, 4001))
def test_what_one_copy_of_a_dual_log_has_damaged_is_taken_from_the_other(at):
    """Damage at different places of both copies."""
    world = filled(DUAL)
    engine = world.engine
    good = bytes(engine.disk.files["log2-02"].seen)
    spoil(engine.disk, "log1-02", at, 40)
    spoil(engine.disk, "log2-02", (at + SIZE // 2) % SIZE, 40)
    archive_all(engine)
    assert good == archived(engine)[FIRST]
    assert ["CSQJ106E"] == [identifier for identifier, _ in world.said]
    assert "log1-02" == world.said[0][1]["log"]


def test_a_copy_that_cannot_be_read_is_one_that_has_nothing_good(monkeypatch):
    world = filled(DUAL)
    read = FaultyFile.read

    def broken(self, offset, size):
        if self.name == "log1-01":
            raise OSError(errno.EIO, "broken", self.name)
        return read(self, offset, size)

    monkeypatch.setattr(FaultyFile, "read", broken)
    archive_all(world.engine)
    assert bytes(world.disk.files["log2-01"].seen) == archived(world.engine)[4096]


def a_damaged_log_is_not_archived(at=30_000):
    world = filled()
    engine = world.engine
    spoil(engine.disk, "log1-02", at)
    for _ in range(3):
        archive_all(engine)
    assert [4096] == list(archived(engine))
    assert ["archive-0000000000001000"] == engine.disk.names("archive")
    assert ["CSQJ124E"] == [identifier for identifier, _ in world.said]
    assert "log1-02" == world.said[0][1]["log"]
    return world


@pytest.mark.parametrize("at", range(1000, SIZE - 1000, 4001))
def test_a_log_without_a_good_copy_is_not_archived_and_the_operator_is_told_once(at):
    a_damaged_log_is_not_archived(at)


def a_record_between_two_logs(at=0):
    """It began in a log that has been archived, and its end is damaged since."""
    world = filled(logs=1)
    archive_all(world.engine)
    while world.engine.log.hardened < FIRST + SIZE:
        world.unit(puts=[message(1, 700)])
    spoil(world.disk, "log1-02", at)
    archive_all(world.engine)
    assert [4096] == list(archived(world.engine))
    assert [("CSQJ124E", "log1-02")] == [(identifier, facts["log"]) for identifier, facts in world.said]


@pytest.mark.parametrize("at", [0, 1, 50])
def test_the_end_of_a_record_of_the_log_before_is_looked_at(at):
    a_record_between_two_logs(at)


@pytest.mark.parametrize("at", [0, 1, 50, 100])
def test_a_record_between_two_logs_that_is_damaged_keeps_both(at):
    world = filled()
    spoil(world.disk, "log1-02", at)
    for _ in range(3):
        archive_all(world.engine)
    assert {} == archived(world.engine)
    assert ["log1-01", "log1-02"] == [facts["log"] for _, facts in world.said]


@pytest.mark.parametrize("at", [0, 1, 50, 100])
def test_a_record_between_two_dual_logs_is_taken_from_the_other_copy(at):
    world = filled(DUAL)
    good = bytes(world.disk.files["log2-02"].seen)
    spoil(world.disk, "log1-02", at)
    archive_all(world.engine)
    assert good == archived(world.engine)[FIRST]


def put_on(world, units=1000):
    for n in range(units):
        world.unit(puts=[message(n, 900)], gets=1)


def refused(world):
    """Put and commit until new work is refused; what has been told is there."""
    engine = world.engine
    with pytest.raises(MQError) as told:
        put_on(world)
    assert Reason.Q_SPACE_NOT_AVAILABLE == told.value.reason
    assert "damaged at RBA" in told.value.facts["why"]
    for unit in list(engine.recovery.units.values()):
        engine.back_out(unit)


def test_the_ring_goes_on_until_it_comes_round_to_the_damaged_log():
    """Then new work is refused and units can be ended; nothing that was told is lost."""
    world = a_damaged_log_is_not_archived()
    start = world.engine.log.files.start
    refused(world)
    assert start + 2 * SIZE == world.engine.log.files.start
    assert world.state == world.engine.bodies()
    assert [] == check(world.engine.data)
    assert world.state == found_after(world.disk.after_power_cut(), SINGLE)


@pytest.mark.parametrize("restarted", [False, True])
def test_with_new_image_copies_the_damaged_log_is_used_again(restarted):
    """Nobody needs it then (F2): neither restart nor recovering a page set. One page set is not enough."""
    world = a_damaged_log_is_not_archived()
    refused(world)
    if restarted:
        said, world.engine = world.said, SmallEngine(world.disk.after_power_cut(), SINGLE)
        world.engine.log.files.tell = lambda identifier, _text, **facts: said.append((identifier, facts))
    engine = world.engine
    image_copy(engine.recovery, 1, engine.disk)
    refused(world)
    image_copy(engine.recovery, 0, engine.disk)
    start = engine.log.files.start
    for n in range(200):
        world.unit(puts=[message(n, 900)], gets=1)
        engine.run_tasks()
    assert engine.log.files.start > start + 2 * SIZE
    assert "CSQJ001I" == world.said[-1][0]
    assert FIRST not in archived(engine)
    assert world.state == found_after(engine.disk.after_power_cut(), SINGLE)


def put_many(engine, unit):
    for n in range(1000):
        engine.put(unit, message(n, 900))


def test_a_damaged_log_that_only_a_unit_needs_is_used_again_when_the_unit_has_ended():
    """Archives are not kept here: one is made because a unit is so long that it began where the ring comes round to."""
    settings = replace(SINGLE, archive=False, buffer_pools={0: 16, 1: 400})
    world = World(FaultyDisk(), settings)
    engine = world.engine
    files, unit = engine.log.files, engine.begin()
    while files.start < 4096 + 2 * SIZE:
        engine.put(unit, message(0, 900))
    spoil(world.disk, "log1-01", SIZE // 2)
    with pytest.raises(MQError, match=r"2056.*damaged at RBA"):
        put_many(engine, unit)
    engine.commit(unit)
    world.allowed = [engine.bodies()]
    put_on(world, 100)
    assert files.start >= 4096 + 5 * SIZE
    assert world.state == found_after(world.disk.after_power_cut(), settings)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_archive_that_cannot_be_made_stops_nobody_and_is_told_once(code, monkeypatch):
    world = filled()
    engine = world.engine
    broken = [True]
    write = FaultyFile.write

    def failing(self, offset, data):
        if broken and self.name.startswith("archive"):
            raise OSError(code, "no archive")
        write(self, offset, data)

    monkeypatch.setattr(FaultyFile, "write", failing)
    for _ in range(3):
        assert not engine.log.make_ready_step()
    assert [] == engine.disk.names("archive")
    assert ["CSQJ128E"] == [identifier for identifier, _ in world.said]
    world.unit(puts=[message(1)])
    broken.clear()
    archive_all(engine)
    assert [4096, FIRST] == list(archived(engine))
    broken.append(True)
    world.unit(puts=[message(n, 900) for n in range(80)])
    engine.run_tasks()
    assert ["CSQJ128E"] * 2 == [identifier for identifier, _ in world.said]


def test_who_is_refused_does_not_try_again_at_once(monkeypatch):
    """J15: to make an archive holds up everybody, and a put that is refused is soon followed by the next one."""
    world = filled(logs=3)
    engine, tries = world.engine, []
    offload, clock = engine.log.files.offload, FakeClock()
    engine.log._now_ns = clock.monotonic_ns

    def failing(number):
        tries.append(number)
        raise OSError(errno.ENOSPC, "no archive")

    monkeypatch.setattr(engine.log.files, "offload", failing)
    unit = engine.begin()

    def refused(times):
        for _ in range(times):
            with pytest.raises(MQError, match=r"2056.*no archive"):
                engine.put(unit, message(1))

    refused(100)
    assert 1 == len(tries)
    clock.advance(milliseconds=199)
    refused(100)
    assert 1 == len(tries)
    clock.advance(milliseconds=1)
    refused(100)
    assert 2 == len(tries)
    monkeypatch.setattr(engine.log.files, "offload", offload)
    clock.advance(milliseconds=200)
    engine.put(unit, message(1))
    engine.back_out(unit)


def a_bootstrap_full_of_archives():
    """New work is refused when the ring has come round; it starts, and goes on when archives are pruned (S4)."""
    world = filled()
    engine, inventory = world.engine, world.engine.log.files.inventory
    rbas = range(1 << 40, (1 << 40) + 10_000 * SIZE, SIZE)
    noted = [(rba - (1 << 41), rba - (1 << 41) + SIZE, f"archive-{rba:016x}") for rba in rbas]
    while engine.log.files._bootstrap.has_room():
        inventory.archives += [noted.pop() for _ in range(100)]
    with pytest.raises(MQError, match=r"2056.*full of archives; prune them"):
        put_on(world)
    for unit in list(engine.recovery.units.values()):
        engine.back_out(unit)
    assert "CSQJ128E" == world.said[-1][0]
    engine.recovery.checkpoint()
    for number in (0, 1):
        image_copy(engine.recovery, number, engine.disk)
    engine = world.engine = SmallEngine(engine.disk.after_power_cut(), SINGLE)
    engine.log.files.prune()
    put_on(world, 200)
    assert world.state == found_after(engine.disk.after_power_cut(), SINGLE)


def test_a_bootstrap_data_set_full_of_archives_is_no_dead_end():
    a_bootstrap_full_of_archives()


def test_without_room_for_the_rest_it_is(monkeypatch):
    monkeypatch.setattr("quaestor.storage.bootstrap.NOT_FOR_ARCHIVES", 0)
    with pytest.raises((Abend, pytest.fail.Exception)):
        a_bootstrap_full_of_archives()


def test_an_archive_is_made_in_pieces(monkeypatch):
    monkeypatch.setattr(archiving, "PIECE", 8192)
    world = filled()
    pieces = 1
    while world.engine.log.make_ready_step():
        pieces += 1
    assert pieces >= 2 * SIZE // (8192 + 1024)
    assert bytes(world.disk.files["log1-02"].seen) == archived(world.engine)[FIRST]


def switches(world):
    """The log goes round its ring with background work between units."""
    for n in range(100):
        world.unit(puts=[message(n, 2500)], gets=1 if n else 0)
        if n % 3:
            world.engine.run_tasks()


@pytest.mark.parametrize("logs", [2, 3, 4])
@pytest.mark.parametrize("archive", [True, False])
def test_power_goes_at_any_moment_while_archives_are_made(logs, archive, monkeypatch):
    monkeypatch.setattr(archiving, "PIECE", 16384)
    prove(switches, replace(SINGLE, logs=logs, archive=archive), at_most=100)


@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("size", [40, 333, 3000, 9000])
def test_a_ring_may_have_two_logs(archive, size):
    """The log that was just left is the next: it is archived when its last record is written (J15)."""
    settings = replace(SINGLE, logs=2, archive=archive, buffer_pools={0: 16, 1: 400})
    world = World(FaultyDisk(), settings)
    for n in range(40):
        world.unit(puts=[message(6 * n + m, size) for m in range(6)], gets=6 if n else 0)
    assert world.state == found_after(world.disk.after_power_cut(), settings)


# --- teeth: without its rule a test fails -----------------------------------------------------------------------------


def without_looking(patch):
    """AR1: the first copy is taken as it is."""

    def blind(self, rba, stop):
        return self._read(rba, stop - rba, 0), stop

    patch.setattr(Archiving, "_good_records", blind)


def without_a_look_at_what_ends_here(patch):
    """AR4: what is left of a record that began before is taken as it is."""
    patch.setattr(Archiving, "_last_claim", lambda self, copy: 0)


def without_keeping_what_is_damaged(patch):
    """F6: a damaged log is used again, whoever may need it."""

    def careless(self, number):
        if self.inventory.starts[number] not in self._damaged:
            self.offload(number)

    patch.setattr(LogFiles, "_keep", careless)


def without_the_end_of_the_log_that_was_left(patch):
    """J15: of two logs the one that was left is archived before its last record is written."""
    patch.setattr(LogManager, "_end_left_log", lambda self: None)


TEETH = [
    (without_looking, lambda: test_what_one_copy_of_a_dual_log_has_damaged_is_taken_from_the_other(20_000)),
    (without_looking, a_damaged_log_is_not_archived),
    (without_a_look_at_what_ends_here, a_record_between_two_logs),
    (without_keeping_what_is_damaged, test_the_ring_goes_on_until_it_comes_round_to_the_damaged_log),
    (without_the_end_of_the_log_that_was_left, lambda: test_a_ring_may_have_two_logs(archive=True, size=333)),
]


@pytest.mark.parametrize(("remove", "proof"), TEETH)
def test_without_its_rule_it_does_not_hold(remove, proof, monkeypatch):
    remove(monkeypatch)
    with pytest.raises((AssertionError, Abend, MQError, pytest.fail.Exception)):
        proof()


def test_a_utility_archives_for_the_image_copies_there_are():
    """F2: it starts and stops a queue manager whose settings it does not know, and that may take more than a log."""
    world = World(FaultyDisk(), SINGLE)
    image_copy(world.engine.recovery, 1, world.disk)
    world.unit(puts=[message(1)])
    world.engine.recovery.latch.release()
    world.engine.engine.stop()
    assert not world.engine.log.files.inventory.archives
    utility = Engine(world.disk, FakeClock(), settings_of(world.disk))
    utility.start()
    for _ in range(SINGLE.logs + 1):
        utility.log.truncate()
        utility.recovery.checkpoint()
    utility.stop()
    restore(world.disk, 1)
    assert world.state == found_after(world.disk, SINGLE)
