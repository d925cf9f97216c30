"""Message manager: what each MQI call means.

It resolves names at open, fills descriptors at put, chooses the message at get, and puts what follows from either.
Its parts, each with its own numbered rules:

    needs          what it asks of the managers below          thread        an application and its units
    known_objects  definitions in force                        describing    descriptor -> what is stored
    catalogue      their changes
    opening        open, close, dynamic queues                 grouping      groups in logical order
    putting        a handle's way to a queue                   waiting       who waits, who is woken
    getting        a handle's way from a queue, browsing       consequences  triggers, reports, dead letters
    inquiring      attributes by keyword                       transmission  messages for other queue managers
    gate           who may begin a unit while the log is about to be switched
    queue_state    queues at work

Called by connection and command.  Calls the store, recovery, security.
"""

from quaestor.qmgr.message.manager import MessageManager
from quaestor.qmgr.message.opening import OpenQueue
from quaestor.qmgr.message.thread import ApplicationThread
from quaestor.qmgr.message.waiting import Waiting

__all__ = ["ApplicationThread", "MessageManager", "OpenQueue", "Waiting"]
