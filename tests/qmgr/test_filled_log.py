"""A log that is filled up to the paper's figures (FL1-FL5): more bytes, and nothing else is different."""

import errno
from dataclasses import replace

import pytest

import quaestor
from crash.prefixes import backout_by_prefixes, shunting_by_prefixes
from crash.scenarios import TINY, World, message
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue
from quaestor.mqi.reasons import Abend, MQError, Reason
from quaestor.qmgr.checker import check
from quaestor.qmgr.log.filling import GET, PUT, UNIT, FilledLog
from quaestor.qmgr.recovery.describe import describe
from quaestor.qmgr.recovery.media import image_copy, restore
from quaestor.storage.log_record import HEADER_LENGTH, Kind
from quaestor.testing import SMALL, FaultyDisk, SmallEngine, since, snapshot

FILLED = replace(SMALL, log_space="mp16")


def logged(engine, work):
    """The records that something logs."""
    start = engine.log.end
    work()
    engine.log.force(engine.log.end - 1)
    return list(engine.log.scan(start))


def put_unit(engine, *bodies, together=False):
    unit = engine.begin()
    if together:
        assert len(bodies) == engine.put_all(unit, bodies)
    else:
        for body in bodies:
            engine.put(unit, body)
    engine.commit(unit)


def get_unit(engine, count=1):
    unit = engine.begin()
    found = [engine.get(unit) for _ in range(count)]
    engine.commit(unit)
    return found


def space(records):
    return sum(record.length for record in records)


def test_a_filler_follows_what_it_is_owed_for():
    engine = SmallEngine(settings=FILLED)
    put = logged(engine, lambda: put_unit(engine, b"x", b"y"))
    assert [Kind.INSERT, Kind.FILLER, Kind.INSERT, Kind.FILLER, Kind.COMMIT, Kind.FILLER] == [r.kind for r in put]
    assert 2 * (PUT + 1) + UNIT == space(put)
    got = logged(engine, lambda: get_unit(engine, 2))
    assert 2 * GET + UNIT == space(got)
    assert {0} == {record.urid for record in put + got if record.kind == Kind.FILLER}


def test_a_unit_that_is_one_record_has_the_end_of_a_unit_filled_too():
    engine = SmallEngine(settings=FILLED)
    unit = engine.begin()
    unit.alone = True
    records = logged(engine, lambda: (engine.put(unit, b"x"), engine.commit(unit)))
    assert [Kind.INSERT, Kind.FILLER] == [record.kind for record in records]
    assert PUT + 1 + UNIT == space(records)


def test_pages_that_a_get_gives_back_are_part_of_it():
    """FL2: what that logged after the unit's end is missing in the next filler."""
    engine = SmallEngine(settings=FILLED)
    put_unit(engine, *[bytes(9000)] * 4)
    first, second = (logged(engine, lambda: get_unit(engine)) for _ in range(2))
    given_back = space(record for record in first if record.kind == Kind.FREE)
    assert given_back > HEADER_LENGTH
    assert GET + UNIT + given_back == space(first)
    assert GET + UNIT == space(second)


def test_too_little_for_a_record_is_owed_on():
    log = SmallEngine(settings=FILLED).log
    fillers = []
    for _ in range(4):
        start = log.end
        log.append(Kind.DELETE, 0, 1, 0, 1, 1, bytes(GET - HEADER_LENGTH - 15))
        fillers.append(log.end - start - GET + 15)
    assert [0, 0, 45, 0] == fillers


def test_long_names_in_a_descriptor_take_no_more_space(tmp_path):
    """The paper's product has one length for all descriptors."""
    names = MQMD(persistence=1, reply_to_q="Q" * 48, reply_to_qmgr="M" * 48, format="FORMAT")
    with quaestor.connect("QM1", tmp_path, settings=FILLED) as app:
        app.define(LocalQueue("ORDERS"))
        log = app._recovery.log
        spaces = []
        for md in (MQMD(persistence=1), names):
            before = log.end
            app.put("ORDERS", bytes(100), md)
            app.commit()
            spaces.append(log.end - before)
    assert [PUT + 100 + UNIT] * 2 == spaces


@pytest.mark.parametrize(
    "sizes", [[1] * 300, [1024] * 100, [10, 3500, 20, 9000, 30] * 5], ids=["short", "1 KB", "mixed"]
)
def test_puts_that_are_there_together_take_the_same_space(sizes):
    """J12: and the same messages are there, over threshold writes and switches of the log."""
    found = []
    for together in (False, True):
        roomy = {"buffer_pools": {0: 64, 1: 2000}, "pages": 1000}
        engine = SmallEngine(FaultyDisk(), replace(FILLED, wrthrsh=4, log_bytes=64 << 10, **roomy))
        start = engine.log.end
        bodies = [message(number, size) for number, size in enumerate(sizes)]
        put_unit(engine, *bodies, together=together)
        assert bodies == engine.bodies() == SmallEngine(engine.disk.after_power_cut(), FILLED).bodies()
        kinds = [record.kind for record in engine.log.scan(start)] if len(sizes) < 30 else []
        found.append((engine.log.end - start, kinds))
    assert found[0] == found[1]


@pytest.mark.plain
def test_a_run_of_puts_is_one_piece_of_work():
    """J12: not one by one because of the fillers."""
    engine = SmallEngine(settings=replace(FILLED, buffer_pools={0: 64, 1: 400}, pages=400))
    begun = []
    append_run = engine.log.append_run
    engine.log.append_run = lambda *args: begun.append(append_run(*args)) or begun[-1]
    put_unit(engine, *[b"x"] * 50, together=True)
    assert 49 == sum(map(len, begun))
    assert len(begun) < 5


def test_only_records_that_somebody_asked_for_are_counted():
    """FL4: two gets and a commit are three writes (mp16-ch4-11/19), and LOGLOAD comes as often."""
    counts = []
    for settings in (SMALL, FILLED):
        engine = SmallEngine(settings=replace(settings, logload=40, log_bytes=1 << 20))
        put_unit(engine, b"x", b"y")
        before = snapshot(engine.log.stats)
        get_unit(engine, 2)
        assert (3,) == since(before, engine.log.stats, "writes_nowait")
        for number in range(100):
            put_unit(engine, message(number))
            get_unit(engine)
        counts.append((engine.recovery.checkpoints, engine.log.records, engine.log.stats.checkpoints))
    assert counts[0] == counts[1]
    assert counts[0][0] > 5


def test_the_log_in_words_names_fillers():
    engine = SmallEngine(settings=FILLED)
    *_, commit, filler = logged(engine, lambda: put_unit(engine, b"x"))
    owed = UNIT - commit.length
    assert f"{commit.end:012X} {owed:6d} FILLER {owed - HEADER_LENGTH} bytes" == describe(filler)


def test_a_queue_manager_may_change_its_habit():
    """Least, filled, least: each finds what the other left, a unit in flight included."""
    disk = FaultyDisk()
    for number, settings in enumerate((SMALL, FILLED, SMALL, FILLED)):
        engine = SmallEngine(disk, settings)
        assert [message(each) for each in range(number)] == engine.bodies()
        assert [] == check(engine.data)
        put_unit(engine, message(number))
        engine.put(engine.begin(), b"in flight")
        engine.buffers.write_all()
        disk = engine.disk.after_power_cut(number)


@pytest.mark.crash
@pytest.mark.parametrize("proof", [backout_by_prefixes, shunting_by_prefixes])
def test_backing_out_and_shunting_go_on_where_they_were_cut(proof):
    proof(replace(TINY, log_space="mp16"))


def test_a_page_set_is_recovered_over_fillers():
    engine = SmallEngine(FaultyDisk(), FILLED)
    put_unit(engine, b"one", bytes(9000))
    image_copy(engine.recovery, 1, engine.disk)
    put_unit(engine, b"three", b"four")
    get_unit(engine)
    wanted, disk = engine.bodies(), engine.disk.after_power_cut()
    del disk.files["pageset-01"]
    restore(disk, 1)
    again = SmallEngine(disk, FILLED)
    assert wanted == again.bodies() == [bytes(9000), b"three", b"four"]
    assert [] == check(again.data)


def many_units_end_in_what_is_left_of_the_log():
    """The next active log cannot be made ready: what is left of the current one ends every unit there is (J6)."""
    world = World(FaultyDisk(), replace(TINY, log_space="mp16", buffer_pools={0: 16, 1: 400}, pages=400))
    engine = world.engine
    engine.recovery.in_steps, engine.log.files.offload = True, no_space
    units = [engine.begin() for _ in range(80)]
    put = 0
    while accepted(engine, units[put % len(units)], message(put)):
        put += 1
    assert put > len(units)
    for unit in units:
        engine.recovery.start_commit(unit)
    engine.recovery.harden()
    again = SmallEngine(engine.disk.after_power_cut(), TINY)
    assert sorted(message(number) for number in range(put)) == sorted(again.bodies())


def accepted(engine, unit, body):
    try:
        engine.put(unit, body)
    except MQError as error:
        return error.reason is not Reason.Q_SPACE_NOT_AVAILABLE
    return True


def no_space(_number):
    raise OSError(errno.ENOSPC, "no space")


@pytest.mark.plain
def test_what_is_left_for_ending_units_is_not_filled():
    many_units_end_in_what_is_left_of_the_log()


@pytest.mark.plain
def test_without_that_rule_there_would_be_no_room_to_end_them(monkeypatch):
    """The tooth of FL3."""

    def always(self):
        owed, self._owed = self._owed, 0
        super(FilledLog, self).append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(owed - HEADER_LENGTH))
        self.records -= 1

    monkeypatch.setattr(FilledLog, "_fill", always)
    with pytest.raises(Abend, match=r"J5.*no space"):
        many_units_end_in_what_is_left_of_the_log()


def test_a_habit_that_is_not_known():
    with pytest.raises(MQError, match=r"2046.*one_of='least, mp16'"):
        replace(SMALL, log_space="mp17")
