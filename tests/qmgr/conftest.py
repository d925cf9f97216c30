"""The queue manager that tests of the MQI are given: on the plain model, and on pages with a log."""

import pytest

from qmgr.small import EVERYTHING, KINDS
from quaestor.mqi.objects import IndexType


@pytest.fixture(params=KINDS)
def qm(request):
    """The same semantics on the plain model and on pages with a log."""
    return KINDS[request.param]()


@pytest.fixture
def app(qm):
    return qm.connect()


@pytest.fixture
def other(qm):
    """A second application."""
    return qm.connect("BOB")


@pytest.fixture
def orders(qm, app):
    """An open queue, for everything."""
    qm.queue("ORDERS")
    return app.open("ORDERS", EVERYTHING)


@pytest.fixture
def indexed(qm, app):
    """The same queue with the index by which a shared one is searched for a CorrelId (M5)."""
    qm.queue("ORDERS", index_type=IndexType.CORRELID)
    return app.open("ORDERS", EVERYTHING)
