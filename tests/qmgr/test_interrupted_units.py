"""Whatever call a signal interrupts, and wherever: a unit ends as its application has said, or is backed out.

The account is exact: who was interrupted backs out until that has returned, and only then goes on.
"""

from contextlib import suppress

import pytest

from qmgr.small import EVERYTHING, page_queue_manager
from qmgr.test_interrupts import InterruptedAt
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.options import GetOptions
from quaestor.mqi.reasons import MQError
from quaestor.testing import FaultyDisk

KEPT = MQMD(persistence=1)
COMMITS = {"commit", "disconnect"}
EVERY = 4
"""Every so many moments; all of them take minutes."""


def bodies(qm):
    """What is on the queue for somebody else."""
    found = []
    with qm.connect() as app, app.open("ORDERS", EVERYTHING) as orders, suppress(MQError):
        while True:
            found.append(orders.browse(GetOptions.BROWSE_NEXT).text)
    return found


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in a generator that is being closed
@pytest.mark.parametrize("alone", [False, True], ids=["in company, accounted", "alone"])
@pytest.mark.parametrize("named", ["put", "backout", "abandon", *sorted(COMMITS)])
def test_a_unit_ends_as_its_application_says(named, alone):
    for moment in range(1, 2000, EVERY):
        disk = FaultyDisk()
        qm = page_queue_manager(disk=disk)
        qm.queue("ORDERS")
        _company = None if alone else (qm.connect(), qm.manager.statistics.start("ACCTG", (3,)))
        app = qm.connect()
        app.put1("ORDERS", "before", KEPT)
        app.commit()
        orders = app.open("ORDERS", EVERYTHING)
        orders.put("unit", KEPT)
        orders.get()
        call = (lambda o=orders: o.put("unit", KEPT)) if named == "put" else getattr(app, named)
        interrupted = InterruptedAt(moment).interrupts(call, qm.manager.engine.recovery.latch)
        if app.connected:
            with suppress(MQError):  # the queue manager has failed: its restart backs out
                app.backout()
        later = []
        with suppress(MQError):
            app.put1("ORDERS", "later", KEPT)
            app.commit()
            later = ["later"]
        seen = None if qm.manager.failure else bodies(qm)
        after = bodies(page_queue_manager(disk=disk.after_power_cut()))
        may_be = [["before", *later]] * (interrupted or named not in COMMITS) + [["unit", *later]] * (named in COMMITS)
        assert after in may_be, moment
        assert seen in (None, after), moment
        if not interrupted:
            break
    assert 10 < moment < 1999
