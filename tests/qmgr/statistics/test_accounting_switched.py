"""Accounting starts, stops and is cut while calls are made (AH2, AH7, CM6): each ends, and is counted, as it would."""

import pytest

from qmgr.moments import At
from qmgr.small import EVERYTHING, CallBeside, page_queue_manager
from qmgr.statistics.test_intervals import STATIME_S, queue_manager, sections, total
from qmgr.test_interrupts import CALLS, KEPT, NOW
from quaestor.mqi.objects import DefinitionType, LocalQueue, ModelQueue
from quaestor.mqi.options import CloseOptions, GetOptions, OpenOptions
from quaestor.testing import FaultyDisk

GET_NOW = GetOptions.NO_SYNCPOINT
SWITCHES = {"starts": ("start",), "stops": ("stop",), "stops and starts": ("stop", "start")}


def waits(qm):
    while not qm.messages.catalogue.anybody_waits:
        """Until somebody does."""


@pytest.mark.plain
@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("named", CALLS)
def test_a_call_ends_as_it_would_have_whenever_accounting(named, switch):
    qm, meant = page_queue_manager(disk=FaultyDisk()), None
    qm.queue("ORDERS", max_depth=1_000_000)
    statistics, recovery = qm.manager.statistics, qm.manager.engine.recovery

    def act():
        with recovery.latch:
            for command in SWITCHES[switch]:
                getattr(statistics, command)("ACCTG", (3,))

    for moment in range(2000):
        if "stop" in SWITCHES[switch]:
            statistics.start("ACCTG", (3,))
        app = qm.connect()
        orders = app.open("ORDERS", EVERYTHING)
        orders.put("first", KEPT, NOW)
        reason, acted = At(recovery.latch, moment, act).during(lambda a=app, o=orders: CALLS[named](o, a))
        meant = reason if not moment else meant
        assert (meant, None) == (reason, recovery.served.task), moment
        app.abandon()
        statistics.stop("ACCTG")
        if moment and not acted:
            break
    statistics.write_step()
    assert not qm.manager.failure
    assert 2 < moment < 1999


@pytest.mark.plain
def test_every_call_is_in_a_record_whenever_the_interval_ends():
    """AK3: a queue that is open no more is forgotten when the call that has closed it has been counted."""
    qm, clock, smf = queue_manager("acctg(3)")
    with qm.connect("ALICE", "DEFINES") as app:
        app.define(LocalQueue("ORDERS"))

    def interval_ends():
        with qm.engine.recovery.latch:
            for _ in range(2):  # the first is not that of a task which has begun in it
                clock.advance(seconds=STATIME_S + 1)
                qm.statistics.interval_step()

    def session(app):
        orders = app.open("ORDERS")
        orders.put("x", KEPT, NOW)
        orders.get(GET_NOW)
        orders.close()
        app.put1("ORDERS", "x", KEPT, NOW)
        app.get("ORDERS", GET_NOW)
        app.disconnect()

    acted, moment = True, 0
    while acted:
        moment += 1
        app = qm.connect("ALICE", "JOB")
        _, acted = At(qm.engine.recovery.latch, moment, interval_ends).during(lambda a=app: session(a))
    qm.stop()
    found = sections(smf, "WQST")
    counted = {name: total(found, name) / moment for name in ("opens", "closes", "puts", "put1s", "gets", "valid_gets")}
    assert {"opens": 2, "closes": 2, "puts": 1, "put1s": 1, "gets": 2, "valid_gets": 2} == counted
    assert moment > 50


def test_a_wait_that_began_before_accounting_is_nobodys():
    """The get that waits on is not tallied, and takes nothing from the time of the calls that follow."""
    qm, clock, smf = queue_manager("stat")
    app = qm.connect("ALICE", "GETTER")
    app.define(LocalQueue("ORDERS", share=True, def_exclusive=False))
    queue = app.open("ORDERS", OpenOptions.INPUT_SHARED)
    getting = CallBeside(lambda: queue.get(GET_NOW, wait_ms=-1))
    getting.start()
    waits(qm)
    with qm.engine.recovery.latch:
        qm.statistics.start("ACCTG", (3,))
        qm.messages.look_again()
    waits(qm)
    with qm.engine.recovery.latch:
        clock.advance(seconds=3600)
    with qm.connect("BOB", "PUTTER") as putter:
        putter.put("ORDERS", "x", None, NOW)
    assert ("well", None) == (getting.join(), qm.engine.recovery.served.task)
    app.commit()
    app.disconnect()
    qm.stop()
    assert [0] == [task.commit_elapsed for task in sections(smf, "WTAS") if task.commits]
    assert [(0, 1)] == [(queue.gets, queue.put1s) for queue in sections(smf, "WQST") if queue.base_name == "ORDERS"]


def test_accounting_starts_while_a_queue_is_being_closed_that_is_deleted_with_it(monkeypatch):
    """It is no more, and its handle is still there: the latch is given up while the log is waited for."""
    qm, _, _ = queue_manager("stat")
    with qm.connect("ALICE", "JOB") as app:
        app.define(ModelQueue("MODEL", definition=DefinitionType.PERMDYN))
        queue = app.open("MODEL", dynamic_name="MINE")
        discard = qm.messages.catalogue._discard

        def started(definition):
            discard(definition)
            qm.statistics.start("ACCTG", (3,))

        monkeypatch.setattr(qm.messages.catalogue, "_discard", started)
        queue.close(CloseOptions.DELETE_PURGE)
    qm.stop()
