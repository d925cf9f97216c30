"""The tests of the MQI's semantics, unchanged, with a client and a socket between them and the queue manager."""

from qmgr.test_semantics_browse_and_wait import *  # noqa: F403
from qmgr.test_semantics_groups_and_reports import *  # noqa: F403
from qmgr.test_semantics_objects import *  # noqa: F403
from qmgr.test_semantics_order_and_units import *  # noqa: F403
from qmgr.test_semantics_put_all import *  # noqa: F403

del test_16_the_end_of_the_queue_manager_ends_every_wait  # noqa: F821 - looks inside an embedded handle
del test_09_an_application_that_is_simply_gone_is_backed_out  # noqa: F821 - here the link's end tells; see test_faults
