"""The queue manager that tests of the MQI are given: on the plain model, and on pages with a log."""

import pytest

from qmgr.small import EVERYTHING, KINDS


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
