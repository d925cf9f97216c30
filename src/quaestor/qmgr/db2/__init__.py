"""Db2 manager: the shared repository as the queue manager uses it.

    work_list      requests, the server tasks that do them, and their times
    copy           what was last seen of the tables that members follow
    large_objects  the bodies of long messages, counted by what is asked
    manager        the manager: requests by kind, following, and what is done while the repository is away

Called by coupling_facility, command and the mover.  Calls storage.shared_tables.
"""

from quaestor.qmgr.db2.copy import Copy
from quaestor.qmgr.db2.manager import SERVERS, Db2Manager
from quaestor.qmgr.db2.work_list import WorkList

__all__ = ["SERVERS", "Copy", "Db2Manager", "WorkList"]
