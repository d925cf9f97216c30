"""What only the queue manager says of objects nobody else defines or alters (AD5); what is in use stays (V3)."""

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import DefinitionType, LocalQueue, QueueManagerAttributes, StorageClass
from quaestor.mqi.options import PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.testing import FaultyDisk

KEPT, NOW = MQMD(persistence=1), PutOptions.NO_SYNCPOINT


def test_no_attribute_that_is_altered_takes_a_queue_away_at_the_next_start():
    disk = FaultyDisk()
    qm = page_queue_manager(disk=disk)
    qm.queue("ORDERS")
    app = qm.connect()
    app.put("ORDERS", "x", KEPT, NOW)
    for own in ({"definition": DefinitionType.TEMPDYN}, {"page_set": 50}, {"copied": True}):
        with pytest.raises(AttributeValueError):
            app.alter(LocalQueue, "ORDERS", **own)
    app.disconnect()
    qm.manager.stop()
    again = page_queue_manager(disk=disk).connect()
    assert ["x"] == bodies(drain(again.open("ORDERS", EVERYTHING)))


def test_nobody_defines_a_dynamic_queue(app):
    for kind in (DefinitionType.TEMPDYN, DefinitionType.PERMDYN):
        with pytest.raises(AttributeValueError, match="DEFTYPE"):
            app.define(LocalQueue("ORDERS", definition=kind))


def test_an_attribute_that_the_object_does_not_have_is_named(qm, app):
    qm.queue("ORDERS")
    with pytest.raises(AttributeValueError, match="nonsense"):
        app.alter(LocalQueue, "ORDERS", nonsense=1)


def test_a_queue_manager_keeps_its_name_and_is_not_deleted(qm, app):
    with fails(Reason.Q_MGR_NAME_ERROR):
        app.define(QueueManagerAttributes("QM2", descr="x"), replace=True)
    with fails(Reason.OBJECT_TYPE_ERROR):
        app.delete(QueueManagerAttributes, "QM1")
    app.define(QueueManagerAttributes("QM1", descr="ours"), replace=True)
    assert app.inquire(QueueManagerAttributes, "", "DESCR") == {"DESCR": "ours"}


@pytest.mark.parametrize("what", [{"command_level": 800}, {"platform": 1}, {"command_queue": "Q"}])
def test_a_queue_manager_says_itself_what_it_is(app, what):
    """O6."""
    with pytest.raises(AttributeValueError, match="itself"):
        app.define(QueueManagerAttributes("QM1", **what), replace=True)
    with pytest.raises(AttributeValueError, match="itself"):
        app.alter(QueueManagerAttributes, "QM1", **what)
    told = {"CMDLEVEL": 900, "PLATFORM": 3, "SYNCPT": True, "MAXPRTY": 9, "COMMANDQ": "SYSTEM.ADMIN.COMMAND.QUEUE"}
    assert app.inquire(QueueManagerAttributes, "", *told) == told


def test_a_storage_class_that_a_queue_names_is_not_deleted(qm, app):
    app.define(StorageClass("PAY"))
    app.define(LocalQueue("PAY.ROLL", storage_class="PAY"))
    with fails(Reason.OBJECT_IN_USE) as refused:
        app.delete(StorageClass, "PAY")
    assert refused.value.facts["queues"] == ["PAY.ROLL"]
    app.delete(LocalQueue, "PAY.ROLL")
    app.delete(StorageClass, "PAY")
