"""A queue manager that programs written for IBM's API reach, and one of its queues."""

from contextlib import suppress

import pytest

import quaestor
from quaestor.testing import SMALL


@pytest.fixture
def qmgr(tmp_path, monkeypatch):
    mq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")
    monkeypatch.setenv("QUAESTOR_EMBEDDED", str(tmp_path))
    with quaestor.connect("QM1", tmp_path / "QM1", settings=SMALL) as admin:
        admin.define(quaestor.LocalQueue("ORDERS", share=True, def_exclusive=False, descr="what is wanted"))
        admin.define(quaestor.ModelQueue("REPLIES.MODEL"))
        admin.define(quaestor.Process("BILLING", appl_id="bill.py"))
        connected = mq.connect("QM1")
        yield connected
        with suppress(mq.PYIFError):  # `is_connected` asks the queue manager, which may refuse to answer
            connected.disconnect()


@pytest.fixture
def orders(qmgr):
    mq = pytest.importorskip("ibmmq")
    all_ways = ("INPUT_SHARED", "OUTPUT", "BROWSE", "INQUIRE", "SET")
    queue = mq.Queue(qmgr, "ORDERS", sum(getattr(mq.CMQC, f"MQOO_{way}") for way in all_ways))
    yield queue
    if qmgr.is_connected:
        queue.close()
