"""Queues that are given other storage while applications come: the log is waited for without the latch (V6)."""

import pytest

from qmgr.small import EVERYTHING, HeldForce, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import LocalQueue, StorageClass
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason

NOW, KEPT = PutOptions.NO_SYNCPOINT, MQMD(persistence=1)
COMMANDS = (
    "ALTER QLOCAL(ORDERS) STGCLASS(OTHER)",
    "DEFINE QLOCAL(ORDERS) STGCLASS(OTHER) REPLACE",
    "ALTER STGCLASS(FIRST) PSID(1)",
)


@pytest.mark.plain
@pytest.mark.parametrize("command", COMMANDS)
def test_a_queue_that_is_being_moved_is_not_opened(monkeypatch, command):
    """Whoever opened it would put to storage that is dropped a moment later."""
    qm = page_queue_manager()
    app, other = qm.connect(), qm.connect("BOB")
    app.define(StorageClass("OTHER", page_set=1))
    app.define(StorageClass("FIRST", page_set=0))
    app.define(LocalQueue("ORDERS", storage_class="FIRST"))
    replies, refused, run = [], [], qm.manager.commands.run
    with HeldForce(qm.manager.engine.log, monkeypatch, lambda: replies.append(run(command, "ALICE"))):
        for way in (lambda: other.open("ORDERS"), lambda: other.put1("ORDERS", "x", KEPT, NOW)):
            with pytest.raises(MQError) as caught:
                way()
            refused.append(caught.value.reason)
    assert (True, [Reason.OBJECT_IN_USE] * 2) == (replies[0].ok, refused)
    queue = other.open("ORDERS", EVERYTHING)
    queue.put("x", KEPT, NOW)
    assert (1, "x") == (queue.opened.state.stored.page_set.number, queue.get(GetOptions.NO_SYNCPOINT).text)
