"""Queues that several close, delete or lose at one moment: the log is waited for without the latch."""

from threading import Thread

import pytest

from qmgr.small import HeldForce, page_queue_manager
from quaestor.mqi.objects import DefinitionType, ModelQueue
from quaestor.mqi.options import CloseOptions
from quaestor.mqi.reasons import MQError, Reason

pytestmark = pytest.mark.plain

TEMPORARY, PERMANENT = DefinitionType.TEMPDYN, DefinitionType.PERMDYN
HOW = {TEMPORARY: CloseOptions.NONE, PERMANENT: CloseOptions.DELETE}


@pytest.fixture(params=[TEMPORARY, PERMANENT])
def kind(request):
    return request.param


@pytest.fixture
def qm(kind):
    made = page_queue_manager()
    made.bystander = made.connect("BOB")  # of one application alone the commit keeps the latch (V13)
    made.bystander.define(ModelQueue("MODEL", definition=kind))
    return made


def together(qm, monkeypatch, first, second):
    """`first` waits for the log when `second` begins; how each ended."""
    ended = []

    def run():
        try:
            second()
            ended.append("well")
        except MQError as error:
            ended.append(error.reason)

    other, latch = Thread(target=run, daemon=True), qm.messages._recovery.latch
    with HeldForce(qm.manager.engine.log, monkeypatch, first) as held:
        other.start()
        other.join(0.2)  # it is done, or waits for the log as well
        assert not latch.locked()
    other.join(5)
    return held.ended, *ended


def left(qm):
    """Queues that have storage."""
    return [queue.name for queue in qm.manager.engine.data.queues.values() if queue.name == "MINE"]


def test_a_queue_that_one_deletes_and_another_closes_is_dropped_once(qm, monkeypatch, kind):
    """OP4: both find that nobody has it open any more."""
    mine = qm.connect().open("MODEL", dynamic_name="MINE")
    second = qm.bystander.open("MINE", 16)
    ended = together(qm, monkeypatch, lambda: mine.close(HOW[kind]), second.close)
    assert (("well", "well"), None, []) == (ended, qm.connections.failure, left(qm))


def test_a_queue_that_is_deleted_when_its_application_is_ended_is_dropped_once(qm, monkeypatch, kind):
    """CM5: the end of the application closes what is being closed."""
    app = qm.connect()
    mine, state = app.open("MODEL", dynamic_name="MINE"), qm.messages.catalogue.state("MINE")
    ended = together(qm, monkeypatch, lambda: mine.close(HOW[kind]), lambda: qm.connections.end(app.thread))
    assert (("well", "well"), None, []) == (ended, qm.connections.failure, left(qm))
    assert (0, 0, 0) == (state.handles, state.input_handles, state.output_handles)


def test_a_handle_is_closed_once_by_two_threads(qm, monkeypatch, kind):
    app = qm.connect()
    mine, state = app.open("MODEL", dynamic_name="MINE"), qm.messages.catalogue.state("MINE")
    ended = together(qm, monkeypatch, lambda: mine.close(HOW[kind]), mine.close)
    assert (("well", "well"), None, []) == (ended, qm.connections.failure, left(qm))
    assert (0, 0, 0) == (state.handles, state.input_handles, state.output_handles)


def test_an_open_of_an_application_that_is_ended_leaves_nothing_open(qm, monkeypatch, kind):
    """SE7: a temporary queue goes with the handle that nobody will close."""
    app = qm.connect()
    ended = together(
        qm, monkeypatch, lambda: app.open("MODEL", dynamic_name="MINE"), lambda: qm.connections.end(app.thread)
    )
    assert ((Reason.CONNECTION_BROKEN, "well"), set()) == (ended, app.thread.opened)
    assert left(qm) == [] if kind is TEMPORARY else not qm.messages.catalogue.state("MINE").handles
