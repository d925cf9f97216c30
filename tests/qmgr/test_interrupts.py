"""Whatever a signal raises at whatever moment, nobody keeps the engine latch, nor gives back another's (R7, LA3)."""

import signal
import sys
from contextlib import suppress
from functools import partial

import pytest

from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import MQError
from quaestor.qmgr.resource_manager import without
from quaestor.testing import FaultyDisk

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
KEPT = MQMD(persistence=1)


@pytest.fixture
def disk():
    return FaultyDisk()


@pytest.fixture
def qm(disk):
    qm = page_queue_manager(disk=disk)
    qm.queue("ORDERS", max_depth=1_000_000)
    return qm


class Taken:
    """A latch that is waited for in vain so often: each time a signal comes."""

    def __init__(self, latch, interrupts):
        self._latch, self._left = latch, interrupts

    def acquire(self, waits=True):
        if self._left:
            self._left -= 1
            raise KeyboardInterrupt
        return self._latch.acquire(waits)

    def release(self):
        self._latch.release()

    def locked(self):
        return self._latch.locked()

    def __enter__(self):
        self._latch.acquire()

    def __exit__(self, *_):
        self._latch.release()


@pytest.mark.parametrize("interrupts", [1, 3])
def test_a_latch_is_had_again_before_an_interrupt_goes_on(qm, interrupts):
    latch = Taken(qm.manager.engine.recovery.latch, interrupts)
    qm.manager.engine.recovery.latch.acquire()
    with pytest.raises(KeyboardInterrupt):
        without(latch, lambda: None)
    assert latch.locked()
    latch.release()


def with_company(qm):
    """Another application: so the latch is given up for the log."""
    return qm.connect()


@pytest.mark.plain
def test_who_is_interrupted_on_his_way_back_from_the_log_still_has_the_latch(qm, monkeypatch):
    """He gave back the latch of whoever had it meanwhile: two were in the engine."""
    _company, app, recovery = with_company(qm), qm.connect(), qm.manager.engine.recovery
    app.put1("ORDERS", "acknowledged?", KEPT)
    monkeypatch.setattr(recovery, "latch", Taken(recovery.latch, 1))
    held = []
    monkeypatch.setattr(qm.manager.connections, "on_failure", lambda _: held.append(recovery.latch.locked()))
    with pytest.raises(KeyboardInterrupt):
        app.commit()
    assert [True] == held
    assert not recovery.latch.locked()


@pytest.mark.plain
def test_a_wait_that_is_interrupted_on_its_way_back_stops_nothing(qm, monkeypatch):
    """HA4: nothing was being changed."""
    app = qm.connect()
    orders, latch = app.open("ORDERS", EVERYTHING), qm.manager.engine.recovery.latch
    monkeypatch.setattr(orders, "_latch", Taken(latch, 1))
    with pytest.raises(KeyboardInterrupt):
        orders.get(GET_NOW, wait_ms=1)
    assert (False, "") == (latch.locked(), qm.manager.failure)
    orders.put("work goes on", None, NOW)
    assert "work goes on" == orders.get(GET_NOW).text


@pytest.mark.plain
def test_who_was_held_up_and_is_interrupted_still_has_the_latch(qm, monkeypatch):
    """A gate that was closed (GA3)."""
    app, gate, latch = qm.connect(), qm.messages.catalogue.gate, qm.manager.engine.recovery.latch
    orders = app.open("ORDERS", EVERYTHING)
    with latch:
        qm.connections.hold_units()

    class Waited:
        def wait(self):
            assert not latch.locked()
            raise KeyboardInterrupt

        def set(self):
            """The gate is opened."""

    monkeypatch.setattr(gate, "_open", Waited())
    with pytest.raises(KeyboardInterrupt):
        orders.put("x", KEPT)
    assert not latch.locked()


CALLS = {
    "put": lambda orders, _: orders.put("x", KEPT, NOW),
    "put and commit": lambda orders, app: (orders.put("x", KEPT), app.commit()),
    "put many": lambda orders, _: orders.put_all(["x"] * 3, KEPT, NOW),
    "get": lambda orders, _: orders.get(GET_NOW),
    "get that waits": lambda orders, _: orders.get(GET_NOW, wait_ms=1, correl_id=b"nobody's".ljust(24)),
    "browse": lambda orders, _: orders.browse(GetOptions.BROWSE_FIRST | GetOptions.LOCK),
    "prepare": lambda orders, app: (orders.put("x", KEPT), app.prepare(b"X"), app.commit_prepared(b"X")),
    "put1": lambda _, app: app.put1("ORDERS", "x", KEPT, NOW),
    "open": lambda _, app: app.open("ORDERS", EVERYTHING),
    "inquire and set": lambda orders, _: (orders.inquire("CURDEPTH"), orders.set(GET="ENABLED")),
    "back out": lambda orders, app: (orders.put("x", KEPT), app.backout()),
    "in doubt": lambda _, app: (app.in_doubt(), app.inquire()),
    "abandon": lambda orders, app: (orders.put("x", KEPT), app.abandon()),
    "get that does not block": lambda orders, _: orders.give_up(orders.look(GET_NOW, 1, None, correl_id=b"N" * 24)),
    "get that is not persistent": lambda orders, _: orders.get_nonpersistent(10),
    "close": lambda orders, app: (orders.close(), app.disconnect()),
}


class InterruptedAt:
    """Raises an interrupt at the n-th moment at which Python would: a function begins, or one of C has ended."""

    def __init__(self, moment):
        self._left = moment

    def __call__(self, _, event, __):
        if event in ("call", "c_return"):
            self._left -= 1
            if not self._left:
                raise KeyboardInterrupt

    def interrupts(self, call, latch):
        """Whether the call was interrupted before it was over; then the latch is free as soon as he is told."""
        sys.setprofile(self)
        try:
            call()
        except (KeyboardInterrupt, MQError):
            sys.setprofile(None)
            assert not latch.locked()
        finally:
            sys.setprofile(None)
        return self._left <= 0


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a generator that is being closed
@pytest.mark.parametrize("accounted", [False, True], ids=["plain", "accounted"])
@pytest.mark.parametrize("named", CALLS)
def test_an_interrupt_anywhere_leaves_the_latch_free(named, accounted):
    qm = None
    for moment in range(1, 2000):
        if qm is None or qm.manager.failure:
            qm = page_queue_manager(disk=FaultyDisk())
            qm.queue("ORDERS")
            _company = qm.connect()
            if accounted:
                qm.manager.statistics.start("ACCTG", (3,))
        app = qm.connect()
        orders = app.open("ORDERS", EVERYTHING)
        orders.put("first", KEPT, NOW)
        latch = qm.manager.engine.recovery.latch
        interrupted = InterruptedAt(moment).interrupts(lambda a=app, o=orders: CALLS[named](o, a), latch)
        assert not latch.locked(), moment
        with suppress(MQError):
            app.abandon()
        if not interrupted:
            break
    assert 5 < moment < 1999


class TooLongError(Exception):
    """What a program raises that gives a call so many seconds."""


class Clock:
    """Ways to handle a signal."""

    def ring(self, number, frame):
        raise TooLongError

    def __call__(self, number, frame):
        self.ring(number, frame)


def ring(number, frame, more=()):
    raise TooLongError


HANDLERS = {"function": ring, "method": Clock().ring, "object": Clock(), "part": partial(ring, more=(1,))}


@pytest.fixture(params=HANDLERS.values(), ids=HANDLERS)
def handler(request):
    before = signal.signal(signal.SIGUSR1, request.param)
    yield
    signal.signal(signal.SIGUSR1, before)


def ringing(*_, **__):
    signal.raise_signal(signal.SIGUSR1)


@pytest.mark.plain
@pytest.mark.usefixtures("handler")
@pytest.mark.parametrize("named", ["put", "put and commit", "get", "put1", "inquire and set", "prepare"])
def test_what_a_handler_raises_in_the_middle_of_a_change_is_an_interrupt(qm, monkeypatch, named):
    """FA1: it comes to the application as it is, and nobody works on with what it left."""
    app = qm.connect()
    orders, log = app.open("ORDERS", EVERYTHING), qm.manager.engine.recovery.log
    orders.put("first", KEPT, NOW)
    for way in ("append", "append_run", "force", "send"):
        monkeypatch.setattr(log, way, ringing)
    if named == "inquire and set":
        monkeypatch.setattr(app.messages, "inquire", ringing)
    with pytest.raises(TooLongError):
        CALLS[named](orders, app)
    assert qm.manager.failure
    assert not qm.manager.engine.recovery.latch.locked()


@pytest.mark.usefixtures("handler")
def test_a_wrong_argument_is_no_interrupt(qm):
    app = qm.connect()
    with app.open("ORDERS", EVERYTHING) as orders:
        for wrong in (3, None, object()):
            with suppress(MQError, TypeError):
                orders.put(wrong)
        orders.put("right", None, NOW)
    assert not qm.manager.failure
