"""What the MQI promises beyond the end of the queue manager: semantics 7, 11, 22, 27, 35, definitions, open units."""

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.clock import FakeClock
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import (
    AliasQueue,
    DefinitionType,
    IndexType,
    LocalQueue,
    ModelQueue,
    Namelist,
    Process,
    QueueManagerAttributes,
    RemoteQueue,
    StorageClass,
)
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.mqi.reports import Report
from quaestor.testing import FaultyDisk

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
KEPT, LOST = MQMD(persistence=1), MQMD(persistence=0)


class Machine:
    """A disk and a clock, and the queue manager that runs on them now."""

    def __init__(self):
        self.disk, self.clock = FaultyDisk(), FakeClock()
        self.qm = page_queue_manager(disk=self.disk, clock=self.clock)

    def crash(self):
        """The power goes; whatever was not synced may be lost."""
        self.disk = self.disk.after_power_cut()
        return self._start()

    def stop(self):
        self.qm.manager.stop()
        return self._start()

    def _start(self):
        self.clock.advance(seconds=1)
        self.qm = page_queue_manager(disk=self.disk, clock=self.clock)
        return self.qm


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture(params=["stop", "crash"])
def again(request, machine):
    """How the queue manager ends before it starts again."""
    return getattr(machine, request.param)


def test_committed_persistent_messages_survive_and_others_do_not(machine, again):
    machine.qm.queue("ORDERS")
    app = machine.qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    orders.put("committed", KEPT)
    orders.put("not persistent", LOST)
    app.commit()
    orders.put("got and not committed", KEPT, NOW)
    orders.get(correl_id=None)
    orders.put("put and not committed", KEPT)
    qm = again()
    assert ["committed", "got and not committed"] == bodies(drain(qm.connect().open("ORDERS", EVERYTHING)))


def test_07_the_backout_count_survives_with_hardenbo(machine, again):
    machine.qm.queue("ORDERS", harden_backout=True)
    app = machine.qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    orders.put("x", KEPT, NOW)
    for _ in range(3):
        orders.get()
        app.backout()
    message = again().connect().open("ORDERS", EVERYTHING).get()
    assert (message.text, message.backout_count) == ("x", 3)


def test_22_expired_messages_are_scanned_at_every_restart(machine, again):
    machine.qm.queue("ORDERS")
    machine.qm.connect().open("ORDERS", EVERYTHING).put("x", MQMD(persistence=1, expiry=10), NOW)
    qm = again()
    qm.clock.advance(seconds=5)
    orders = qm.connect().open("ORDERS", EVERYTHING)
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 1}
    qm.scan()
    assert orders.inquire("CURDEPTH") == {"CURDEPTH": 0}


def test_27_temporary_queues_are_gone_and_permanent_ones_are_not(machine, again):
    app = machine.qm.connect()
    app.define(ModelQueue("TEMP"))
    app.define(ModelQueue("PERM", definition=DefinitionType.PERMDYN))
    app.open("TEMP", EVERYTHING, dynamic_name="T").put("x", LOST, NOW)
    app.open("PERM", EVERYTHING, dynamic_name="P").put("x", KEPT, NOW)
    app = again().connect()
    with fails(Reason.UNKNOWN_OBJECT_NAME):
        app.open("T", EVERYTHING)
    assert app.open("P", EVERYTHING).get().text == "x"


def test_35_identifiers_are_not_repeated_after_a_restart(machine, again):
    machine.qm.queue("ORDERS")
    before = [machine.qm.connect().put1("ORDERS", "x", KEPT, NOW).msg_id for _ in range(50)]
    qm = again()
    after = [qm.connect().put1("ORDERS", "x", KEPT, NOW).msg_id for _ in range(50)]
    assert len({*before, *after}) == 100


def test_every_definition_survives(machine, again):
    definitions = [
        LocalQueue("LOCAL", max_depth=7, index_type=IndexType.CORRELID, descr="Größe"),
        ModelQueue("MODEL", share=True),
        AliasQueue("ALIAS", target="LOCAL"),
        RemoteQueue("REMOTE", remote_name="R", remote_qmgr="QM2"),
        Process("PROCESS", appl_id="x" * 256),
        Namelist("NAMES", names=tuple(f"NAME.{n:03d}" + "X" * 40 for n in range(200))),
        StorageClass("FAST", page_set=1),
    ]
    app = machine.qm.connect()
    for definition in definitions:
        app.define(definition)
    app.alter(QueueManagerAttributes, max_uncommitted=77, dead_letter_queue="LOCAL")
    app.alter(LocalQueue, "LOCAL", max_depth=8)
    app.define(LocalQueue("DELETED"))
    app.delete(LocalQueue, "DELETED")
    qm = again()
    found = {(type(definition), definition.name): definition for definition in qm.messages.catalogue.all()}
    for definition in definitions[1:]:
        assert found[type(definition), definition.name] == definition
    assert found[LocalQueue, "LOCAL"].max_depth == 8
    assert (LocalQueue, "DELETED") not in found
    assert (77, "LOCAL") == (qm.messages.catalogue.qmgr.max_uncommitted, qm.messages.catalogue.qmgr.dead_letter_queue)


def test_a_redefined_queue_does_not_find_its_predecessors_messages(machine, again):
    machine.qm.queue("ORDERS")
    app = machine.qm.connect()
    app.put1("ORDERS", "old", KEPT, NOW)
    app.delete(LocalQueue, "ORDERS", purge=True)
    machine.qm.queue("ORDERS")
    app.put1("ORDERS", "new", KEPT, NOW)
    assert ["new"] == bodies(drain(again().connect().open("ORDERS", EVERYTHING)))


@pytest.mark.plain
def test_storage_whose_definition_is_gone_is_not_found_again(machine):
    """The power goes between the end of a definition and the end of its storage."""
    machine.qm.queue("ORDERS")
    app = machine.qm.connect()
    app.put1("ORDERS", "old", KEPT, NOW)
    machine.qm.messages.catalogue._store.drop = lambda queue: None
    app.delete(LocalQueue, "ORDERS", purge=True)
    machine.crash().queue("ORDERS")
    assert [] == drain(machine.qm.connect().open("ORDERS", EVERYTHING))


def test_an_alteration_is_in_force_after_restart_or_was_never_acknowledged(machine, again):
    machine.qm.queue("ORDERS", max_depth=5)
    machine.qm.connect().alter(LocalQueue, "ORDERS", put_allowed=False)
    with fails(Reason.PUT_INHIBITED):
        again().connect().put1("ORDERS", "x")


@pytest.mark.parametrize(("ends", "left"), [("commit", []), ("backout", ["bad"]), (None, ["bad"])])
def test_11_a_marked_message_is_where_its_second_unit_left_it(machine, again, ends, left):
    """The backout of the first unit is not the end of the message: the unit it is in now decides."""
    machine.qm.queue("ORDERS")
    app = machine.qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    orders.put("bad", KEPT, NOW)
    orders.get(GetOptions.MARK_SKIP_BACKOUT)
    app.backout()
    if ends is not None:
        getattr(app, ends)()
    found = drain(again().connect().open("ORDERS", EVERYTHING))
    assert left == bodies(found)


@pytest.mark.parametrize("reported", [True, False], ids=["reported", "not reported"])
@pytest.mark.parametrize("then", ["nothing", "forced"])
def test_what_had_expired_stays_so_and_is_reported_once(machine, again, then, reported):
    """Semantics 22, V14: its removal is not waited for. One that the cut takes back is made again, with its report."""
    machine.qm.queue("ORDERS")
    machine.qm.queue("REPLIES")
    app = machine.qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    report = Report.EXPIRATION if reported else Report.NONE
    for n in range(3):
        orders.put(f"late {n}", MQMD(persistence=1, expiry=1, report=report, reply_to_q="REPLIES"), NOW)
    machine.clock.advance(seconds=1)
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get()
    if then == "forced":
        orders.put("kept", KEPT, NOW)
    app = again().connect()
    machine.qm.scan()
    orders, replies = app.open("ORDERS", EVERYTHING), app.open("REPLIES", EVERYTHING)
    assert (["kept"] if then == "forced" else []) == bodies(drain(orders))
    found = [replies.get(GET_NOW) for _ in range(replies.inquire("CURDEPTH")["CURDEPTH"])]
    assert (3 if reported else 0) == len({one.correl_id for one in found}) == len(found)


def test_the_page_of_what_had_expired_is_used_again_before_the_log_says_so(machine):
    """V14: by a message that is not logged, and whose page is written before any force. Then the power goes."""
    machine.qm.queue("ORDERS")
    app = machine.qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    for n in range(5):
        orders.put(f"late {n}" + "x" * 30_000, MQMD(persistence=1, expiry=1), NOW)
    orders = machine.stop().connect().open("ORDERS", EVERYTHING)  # a second later
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get()
    engine = machine.qm.manager.engine
    with engine.recovery.latch:
        for page_set in engine.buffers.page_sets.values():
            engine.data.space._reclaim(page_set)
            engine.data.space._found[page_set.number].clear()
    for n in range(5):
        orders.put(f"lost {n}" + "y" * 30_000, LOST, NOW)
    with engine.recovery.latch:
        for pool in engine.buffers.pools.values():
            pool.write([frame for frame in pool.changed() if frame.volatile])
    for seed in range(10):
        machine.qm = page_queue_manager(disk=machine.disk.after_power_cut(seed), clock=machine.clock)
        assert [] == drain(machine.qm.connect().open("ORDERS", EVERYTHING))
