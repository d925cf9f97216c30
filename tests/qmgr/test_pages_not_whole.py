"""Messages whose pages are not whole: an answer to who wants them, and to nobody else (GE7, FA4, RE1)."""

import pytest

from model.answers import bodies, drain, fails
from qmgr.small import EVERYTHING, page_queue_manager
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import IndexType
from quaestor.mqi.options import GetOptions, MsgFlags, PutOptions
from quaestor.mqi.reasons import Reason
from quaestor.qmgr.buffer import TornPageError

pytestmark = pytest.mark.plain

NOW = PutOptions.NO_SYNCPOINT
KEPT = MQMD(persistence=1)


@pytest.fixture
def qm():
    qm = page_queue_manager()
    qm.queue("ORDERS")
    return qm


class TornPages:
    """Pages of some messages are not whole until they are mended."""

    def __init__(self, qm):
        self._data, self._read = qm.manager.engine.data, qm.manager.engine.data.read
        self._data.read = self._torn

    def _torn(self, arrival):
        if arrival.length == len("torn"):
            raise TornPageError(1, 17)
        return self._read(arrival)

    def mend(self):
        self._data.read = self._read


@pytest.mark.parametrize(
    ("queue", "asks"),
    [
        ("ORDERS", {"sequence": 2}),
        ("GROUPS", {"options": GetOptions.LOGICAL_ORDER}),
        ("GROUPS", {"options": GetOptions.ALL_MSGS_AVAILABLE}),
        ("GROUPS", {"options": GetOptions.LOGICAL_ORDER | GetOptions.BROWSE_FIRST}),
    ],
    ids=["number", "order", "complete", "browse"],
)
def test_a_get_that_has_to_look_into_such_a_message_is_refused_too(qm, queue, asks):
    """RE1: the queue manager goes on."""
    qm.queue("GROUPS", index_type=IndexType.GROUPID)
    app = qm.connect()
    handle = app.open(queue, EVERYTHING)
    member = MQMD(persistence=1, msg_flags=MsgFlags.MSG_IN_GROUP, group_id=b"G" * 24, msg_seq_number=1)
    pages = TornPages(qm)
    handle.put("torn", member, NOW)
    with fails(Reason.PAGESET_ERROR) as caught:
        handle.get(**asks)
    assert caught.value.facts == {"page_set": 1, "page": 17}
    pages.mend()
    assert ["torn"] == bodies(drain(handle))


def test_a_queue_with_such_a_message_is_not_moved(qm):
    qm.queue("THERE")
    app = qm.connect()
    pages = TornPages(qm)
    for body in ("whole", "torn"):
        app.put1("ORDERS", body, KEPT, NOW)
    with qm.manager.engine.recovery.latch, fails(Reason.PAGESET_ERROR):
        qm.messages.move("ALICE", "ORDERS", "THERE", add=False)
    pages.mend()
    assert ["whole", "torn"] == bodies(drain(app.open("ORDERS", EVERYTHING)))


def test_such_a_message_may_have_expired(qm):
    """RE1, MM2: who meets it is refused, and the scan removes the others."""
    app = qm.connect()
    orders = app.open("ORDERS", EVERYTHING)
    pages = TornPages(qm)
    for body in ("torn", "late one", "later one"):
        orders.put(body, MQMD(persistence=1, expiry=1), NOW)
    qm.clock.advance(seconds=10)
    with fails(Reason.PAGESET_ERROR):
        orders.get()
    with fails(Reason.PAGESET_ERROR):
        orders.browse()
    qm.scan()
    assert {"CURDEPTH": 1} == orders.inquire("CURDEPTH")
    pages.mend()
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get()
    assert {"CURDEPTH": 0} == orders.inquire("CURDEPTH")
