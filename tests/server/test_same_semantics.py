"""The tests of the MQI's semantics, unchanged, with a client and a socket between them and the queue manager."""

from qmgr.test_semantics_browse_and_wait import *  # noqa: F403
from qmgr.test_semantics_groups import *  # noqa: F403
from qmgr.test_semantics_names import *  # noqa: F403
from qmgr.test_semantics_objects import *  # noqa: F403
from qmgr.test_semantics_opening import *  # noqa: F403
from qmgr.test_semantics_order_and_units import *  # noqa: F403
from qmgr.test_semantics_put_all import *  # noqa: F403
from qmgr.test_semantics_reports import *  # noqa: F403
from qmgr.test_semantics_triggering import *  # noqa: F403

del test_15_a_locked_message_that_there_is_no_log_for_stays_locked  # noqa: F821 - looks inside an embedded handle
del test_16_the_end_of_the_queue_manager_ends_every_wait  # noqa: F821 - so does this
del test_17_a_message_that_went_straight_has_no_token  # noqa: F821 - and this
del test_09_an_application_that_is_simply_gone_is_backed_out  # noqa: F821 - here the link's end tells; see test_server_faults
