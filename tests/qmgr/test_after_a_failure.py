"""When the engine has failed nothing is written or confirmed any more, whoever was about to (J5, CM3, FA1, FA5)."""

import errno
import gc

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, CallBeside, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import Abend, Reason
from quaestor.storage.log_record import Kind
from quaestor.testing import FaultyDisk, SmallEngine

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
KEPT = MQMD(persistence=1)


@pytest.fixture
def disk():
    return FaultyDisk()


@pytest.fixture
def qm(disk):
    qm = page_queue_manager(disk=disk)
    qm.queue("ORDERS", max_depth=2)
    return qm


@pytest.fixture
def orders(qm):
    return qm.connect().open("ORDERS", EVERYTHING)


def breaks(disk):
    """From now on nothing can be written."""
    disk.fail_at = dict.fromkeys(range(disk.operations + 1, disk.operations + 50), errno.EIO)


def found(disk):
    """What a restart finds."""
    return bodies(drain(page_queue_manager(disk=disk.after_power_cut()).connect().open("ORDERS", EVERYTHING)))


# --- calls that waited for the latch (CM3) ----------------------------------------------------------------------------


class WaitingCall(CallBeside):
    """One of another application that begins to wait for the latch while this one changes pages."""

    def begin(self):
        self._thread.start()
        self._thread.join(0.05)


def interrupt_put(qm, orders, waiting, interrupt):
    """Put a message; when it is on the log and its page not yet begun, that is interrupted."""
    recovery = qm.manager.engine.recovery
    log_first = recovery._log_first

    def interrupted(*given):
        log_first(*given)
        recovery._log_first = log_first
        waiting.begin()
        raise interrupt

    recovery._log_first = interrupted
    with pytest.raises(interrupt):
        orders.put("not committed", KEPT)


@pytest.mark.plain
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_a_put_that_waited_while_another_was_interrupted_is_refused(qm, disk, orders, interrupt):
    """It would begin the same page, and restart, which undoes the other, would take its message back."""
    others = qm.connect().open("ORDERS", EVERYTHING)
    waiting = WaitingCall(lambda: others.put("acknowledged?", KEPT, NOW))
    interrupt_put(qm, orders, waiting, interrupt)
    assert waiting.join() in {Reason.CONNECTION_BROKEN, Reason.Q_MGR_STOPPING}
    assert [] == found(disk)


@pytest.mark.plain
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_a_commit_that_waited_is_not_acknowledged(qm, disk, orders, interrupt):
    other = qm.connect()
    other.put1("ORDERS", "acknowledged?", KEPT)
    waiting = WaitingCall(other.commit)
    before = disk.operations
    interrupt_put(qm, orders, waiting, interrupt)
    assert (Reason.CONNECTION_BROKEN, before) == (waiting.join(), disk.operations)


def test_pages_stay_as_they_are(disk):
    """They may have half of a change whose record nobody has forced."""
    small = SmallEngine(disk)
    unit = small.begin()
    small.put(unit, b"x")
    small.commit(unit)
    small.log.give_up(KeyboardInterrupt())
    before = disk.operations
    with pytest.raises(Abend, match="J5"):
        small.buffers.write_all()
    assert before == disk.operations


# --- the log (J5) -----------------------------------------------------------------------------------------------------


def fill(log):
    """Log so much that the next active log is entered."""
    start = log.files.start
    while log.files.start == start:
        log.append(Kind.FILLER, 0, 0, 0, 0, 0, bytes(1000))


def test_a_log_that_failed_is_not_written_to_the_end_of_its_data_set(disk):
    """What the failed sync has dropped is behind what is written there, so nothing of it may be confirmed (K2)."""
    small = SmallEngine(disk)
    rba = small.log.append(Kind.FILLER, 0, 0, 0, 0, 0, b"dropped")
    disk.fail_at[disk.operations + 2] = errno.EIO
    with pytest.raises(Abend, match="J5"):
        small.log.force(rba)
    hardened = small.log.hardened
    with pytest.raises(Abend, match="J5"):
        fill(small.log)
    assert hardened == small.log.hardened <= rba


@pytest.mark.plain
def test_a_switch_that_is_interrupted_is_final(disk, monkeypatch):
    """The bootstrap data set does not know the next one: what is confirmed there would not be found (F8)."""
    small = SmallEngine(disk)

    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as at_switch:
        at_switch.setattr(small.log.files, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fill(small.log)
    unit = small.begin()
    small.put(unit, b"acknowledged?")
    with pytest.raises(Abend, match="J5"):
        small.commit(unit)
    assert [] == SmallEngine(disk.after_power_cut()).bodies()


@pytest.mark.plain
def test_a_write_that_is_interrupted_while_it_is_begun_is_final(disk, monkeypatch):
    """It may be under way, and come after what would be written next."""
    small = SmallEngine(disk)
    rba = small.log.append(Kind.FILLER, 0, 0, 0, 0, 0, b"x")

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as at_start:
        at_start.setattr(small.log.files, "start_write_through", interrupted)
        with pytest.raises(KeyboardInterrupt):
            small.log.start_force(rba)
    with pytest.raises(Abend, match="J5"):
        small.log.force(rba)


class ToldOnce:
    """A write in flight whose end is told to one who is interrupted just then; the next would wait for ever."""

    def __init__(self):
        self.told = False

    def over(self, *, wait):
        assert not self.told, f"waits for ever: {wait}"
        self.told = True
        raise KeyboardInterrupt


def test_a_write_whose_end_was_told_to_one_who_was_interrupted_is_not_waited_for(disk):
    small = SmallEngine(disk)
    rba, disk.held = small.log.append(Kind.FILLER, 0, 0, 0, 0, 0, b"x"), True
    assert small.log.start_force(rba)
    small.log._flight.started = ToldOnce()
    with pytest.raises(KeyboardInterrupt):
        small.log.force(rba)
    for wait in (small.log.force, lambda _: small.log.finish_force(wait=True), lambda _: fill(small.log)):
        with pytest.raises(Abend, match="J5"):
            wait(rba)


# --- ending the unit of a call that was refused (FA5) -----------------------------------------------------------------


def test_many_are_put_one_is_refused_and_the_others_cannot_be_committed(qm, disk, orders):
    breaks(disk)
    with fails(Reason.CONNECTION_BROKEN):
        orders.put_all(["a", "b", "one too many"], KEPT, NOW)
    assert "EIO" in qm.manager.failure


def test_a_get_that_does_not_block_cannot_be_committed(qm, disk, orders):
    orders.put("x", KEPT, NOW)
    breaks(disk)
    with fails(Reason.CONNECTION_BROKEN):
        orders.look(GET_NOW, 0, None)
    assert "EIO" in qm.manager.failure


@pytest.mark.plain
def test_after_a_failure_the_unit_of_the_call_does_not_commit(qm, disk, orders, monkeypatch):
    """What it got is there after a restart: nobody was given it."""
    orders.put("acknowledged", KEPT, NOW)

    recovery, delete = qm.manager.engine.recovery, qm.manager.engine.recovery.delete

    def fails_behind_it(*given):
        delete(*given)
        raise OSError(errno.EIO, "EIO")

    qm.connect()
    monkeypatch.setattr(recovery, "delete", fails_behind_it)
    with fails(Reason.CONNECTION_BROKEN):
        orders.look(GET_NOW, 0, None)
    assert ["acknowledged"] == found(disk)


@pytest.mark.plain
def test_what_a_lost_application_left_cannot_be_backed_out(qm, orders, monkeypatch):
    lost = qm.connect()
    lost.put1("ORDERS", "not committed", KEPT)

    def broken(_unit):
        raise OSError(errno.EIO, "EIO")

    monkeypatch.setattr(qm.manager.engine.recovery, "back_out", broken)
    del lost
    gc.collect()
    with fails(Reason.Q_MGR_NOT_AVAILABLE):
        qm.connect()
    with fails(Reason.CONNECTION_BROKEN):
        orders.put("x")
    assert "EIO" in qm.manager.failure
