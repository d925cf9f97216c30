"""Dispositions: which QSGDISP a command may name, what it means when it names none, and what it picks.

Rules
  DP1 DEFINE and DELETE take QMGR, COPY and GROUP, for local queues SHARED too; ALTER takes PRIVATE as well, which is
      QMGR or COPY. Without a word they mean QMGR. CLEAR and MOVE take PRIVATE, which they mean without a word, and
      SHARED.
  DP2 DISPLAY means LIVE without a word: all that can be used here, QMGR, COPY and SHARED. ALL is that and GROUP.
  DP3 GROUP, COPY and SHARED need a queue-sharing group (CSQM121I). A DISPLAY of COPY shows nothing without one.

Called by objects and queues.  Calls nothing.
"""

from quaestor.mqi.mqsc import Command, MQSCError
from quaestor.mqi.mqsc.words import QUEUE
from quaestor.mqi.objects import QUEUE_TYPES

QMGR, COPY, GROUP, SHARED, PRIVATE, LIVE, ALL = "QMGR", "COPY", "GROUP", "SHARED", "PRIVATE", "LIVE", "ALL"
_TAKES = {
    "DEFINE": (QMGR, COPY, GROUP, SHARED),
    "ALTER": (QMGR, COPY, GROUP, PRIVATE, SHARED),
    "DELETE": (QMGR, COPY, GROUP, SHARED),
    "DISPLAY": (LIVE, ALL, QMGR, COPY, GROUP, PRIVATE, SHARED),
    "CLEAR": (PRIVATE, SHARED),
    "MOVE": (PRIVATE, SHARED),
}
"""What a verb takes; the first is what it means without a word (DP1, DP2)."""

PICKS = {
    LIVE: {QMGR, COPY, SHARED},
    ALL: {QMGR, COPY, SHARED, GROUP},
    PRIVATE: {QMGR, COPY},
    **{one: {one} for one in (QMGR, COPY, SHARED, GROUP)},
}
"""The dispositions of objects that a word picks."""

_QUEUES = {QUEUE, *(kind.MQSC_TYPE for kind in QUEUE_TYPES)}
ORDER = (QMGR, COPY, SHARED, GROUP)
"""In which objects of one name are shown."""


def disposition_of(command: Command, *, in_group: bool) -> str:
    """QSGDISP as the command means it (DP1 to DP3)."""
    takes = _TAKES[command.verb]
    shareable = _QUEUES if command.verb == "DISPLAY" else {"QLOCAL"}
    if command.noun not in shareable:
        takes = tuple(word for word in takes if word != SHARED)
    word = command.word("QSGDISP", takes[0], *takes)
    needs_group = {GROUP} if command.verb == "DISPLAY" else {GROUP, COPY, SHARED}
    if word in needs_group and not in_group:
        why = f"QSGDISP({word}) is not allowed: this queue manager is not in a queue-sharing group"
        raise MQSCError(why, command.line, code="CSQM121I")  # DP3
    return word
