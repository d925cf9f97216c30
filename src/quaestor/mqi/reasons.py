"""Reason codes: what a call answers when it does not simply succeed.

Rules
  R1  A reason has IBM MQ's number and name; each carries one line of meaning for the person who meets it.
  R2  `MQError` is an answer to the application: raised where it is known, with the facts that explain it.
  R3  `Abend` is our own bug: an invariant is broken, the queue manager must stop and restart from its log.
  R4  Whether a reason is a warning or a failure follows from the reason. Two reasons can be either (an
      incomplete group or message); there the one who raises says so.

Called by everything above.  Calls nothing.
"""

from enum import IntEnum
from typing import Any, Self


class CompCode(IntEnum):
    """How a call ended."""

    OK = 0
    WARNING = 1
    FAILED = 2


class Reason(IntEnum):
    """IBM MQ reason codes that the queue manager gives (R1)."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> Self:
        reason = int.__new__(cls, number)
        reason._value_ = number
        reason.meaning = meaning
        return reason

    NONE = 0, "the call succeeded"
    ALIAS_BASE_Q_TYPE_ERROR = 2001, "the alias names an object that is neither a local nor a remote queue"
    ALREADY_CONNECTED = 2002, "the application is already connected"
    BACKED_OUT = 2003, "the unit of recovery was backed out"
    BUFFER_ERROR = 2004, "the message body is not bytes or text"
    BUFFER_LENGTH_ERROR = 2005, "the buffer length is negative"
    CONNECTION_BROKEN = 2009, "the connection to the queue manager is lost"
    DYNAMIC_Q_NAME_ERROR = 2011, "the name given for a dynamic queue is not valid"
    ENVIRONMENT_ERROR = 2012, "the call is not valid in this environment"
    EXPIRY_ERROR = 2013, "the expiry is neither positive nor unlimited"
    FEEDBACK_ERROR = 2014, "the feedback code is not valid"
    GET_INHIBITED = 2016, "gets are inhibited for the queue"
    HANDLE_NOT_AVAILABLE = 2017, "the connection has reached its maximum number of open handles"
    HCONN_ERROR = 2018, "the connection is not connected"
    HOBJ_ERROR = 2019, "the handle is closed or belongs to another connection"
    INHIBIT_VALUE_ERROR = 2020, "the value for inhibit-put or inhibit-get is not valid"
    SYNCPOINT_LIMIT_REACHED = 2024, "too many uncommitted messages in one unit of recovery (MAXUMSGS)"
    MAX_CONNS_LIMIT_REACHED = 2025, "the queue manager accepts no more connections"
    MD_ERROR = 2026, "the message descriptor is not valid"
    MISSING_REPLY_TO_Q = 2027, "a reply or report was asked for but no reply-to queue is named"
    MSG_TYPE_ERROR = 2029, "the message type is not valid"
    MSG_TOO_BIG_FOR_Q = 2030, "the message is longer than the queue's MAXMSGL"
    MSG_TOO_BIG_FOR_Q_MGR = 2031, "the message is longer than the queue manager's MAXMSGL"
    NO_MSG_AVAILABLE = 2033, "no message fits the request"
    NO_MSG_UNDER_CURSOR = 2034, "the browse cursor stands on no message that can be taken"
    NOT_AUTHORIZED = 2035, "the user may not do this"
    NOT_OPEN_FOR_BROWSE = 2036, "the handle was not opened to browse"
    NOT_OPEN_FOR_INPUT = 2037, "the handle was not opened for input"
    NOT_OPEN_FOR_INQUIRE = 2038, "the handle was not opened to inquire"
    NOT_OPEN_FOR_OUTPUT = 2039, "the handle was not opened for output"
    NOT_OPEN_FOR_SET = 2040, "the handle was not opened to set attributes"
    OBJECT_CHANGED = 2041, "the object was redefined since it was opened"
    OBJECT_IN_USE = 2042, "the object is open in a way that excludes this"
    OBJECT_TYPE_ERROR = 2043, "the object type is not valid"
    OD_ERROR = 2044, "the object descriptor is not valid"
    OPTION_NOT_VALID_FOR_TYPE = 2045, "an option does not apply to this type of object"
    OPTIONS_ERROR = 2046, "the options are unknown or contradict each other"
    PERSISTENCE_ERROR = 2047, "the persistence is not valid"
    PERSISTENT_NOT_ALLOWED = 2048, "a temporary dynamic queue holds no persistent messages"
    PRIORITY_EXCEEDS_MAXIMUM = 2049, "the priority is above the maximum and was lowered for queuing"
    PRIORITY_ERROR = 2050, "the priority is not valid"
    PUT_INHIBITED = 2051, "puts are inhibited for the queue"
    Q_DELETED = 2052, "the queue was deleted since it was opened"
    Q_FULL = 2053, "the queue holds its maximum number of messages (MAXDEPTH)"
    Q_NOT_EMPTY = 2055, "the queue holds messages or uncommitted work"
    Q_SPACE_NOT_AVAILABLE = 2056, "there is no room left for the message"
    Q_TYPE_ERROR = 2057, "the queue is not of a type that allows this"
    Q_MGR_NAME_ERROR = 2058, "the queue manager name is not valid or not known here"
    Q_MGR_NOT_AVAILABLE = 2059, "the queue manager cannot be reached"
    REPORT_OPTIONS_ERROR = 2061, "the report options are not valid"
    SECOND_MARK_NOT_ALLOWED = 2062, "the unit of recovery already holds a marked get"
    SECURITY_ERROR = 2063, "the security check itself failed"
    SELECTOR_ERROR = 2067, "the attribute asked for does not exist"
    SELECTOR_NOT_FOR_TYPE = 2068, "the attribute does not apply to this type of object"
    STORAGE_NOT_AVAILABLE = 2071, "memory is short"
    SYNCPOINT_NOT_AVAILABLE = 2072, "no unit of recovery can be begun here"
    TRIGGER_CONTROL_ERROR = 2075, "the value for trigger control is not valid"
    TRIGGER_DEPTH_ERROR = 2076, "the trigger depth is not valid"
    TRIGGER_MSG_PRIORITY_ERR = 2077, "the trigger message priority is not valid"
    TRIGGER_TYPE_ERROR = 2078, "the trigger type is not valid"
    TRUNCATED_MSG_ACCEPTED = 2079, "the message was longer than asked for; it is shortened and taken"
    TRUNCATED_MSG_FAILED = 2080, "the message is longer than asked for; it stays on the queue"
    UNKNOWN_ALIAS_BASE_Q = 2082, "the queue that the alias names is not defined"
    UNKNOWN_OBJECT_NAME = 2085, "no object of this name is defined"
    UNKNOWN_OBJECT_Q_MGR = 2086, "no way leads to the queue manager named in the object descriptor"
    UNKNOWN_REMOTE_Q_MGR = 2087, "no way leads to the queue manager that is named"
    WAIT_INTERVAL_ERROR = 2090, "the wait interval is not valid"
    XMIT_Q_TYPE_ERROR = 2091, "the transmission queue is not a local queue"
    XMIT_Q_USAGE_ERROR = 2092, "the transmission queue is not defined with USAGE(XMITQ)"
    NOT_OPEN_FOR_PASS_ALL = 2093, "the handle was not opened to pass all context"
    NOT_OPEN_FOR_PASS_IDENT = 2094, "the handle was not opened to pass identity context"
    NOT_OPEN_FOR_SET_ALL = 2095, "the handle was not opened to set all context"
    NOT_OPEN_FOR_SET_IDENT = 2096, "the handle was not opened to set identity context"
    CONTEXT_HANDLE_ERROR = 2097, "the context handle is not an open input queue of this connection"
    CONTEXT_NOT_AVAILABLE = 2098, "the context handle has got no message yet"
    OBJECT_ALREADY_EXISTS = 2100, "an object of this name exists already"
    OBJECT_DAMAGED = 2101, "the object's stored form cannot be read"
    RESOURCE_PROBLEM = 2102, "a resource of the queue manager is exhausted"
    UNKNOWN_REPORT_OPTION = 2104, "a report option is not known here; it was taken all the same"
    STORAGE_CLASS_ERROR = 2105, "the storage class is not defined or its page set is not open"
    NO_EXTERNAL_PARTICIPANTS = 2121, "a unit of work was begun without other participants"
    PARTICIPANT_NOT_AVAILABLE = 2122, "a participant of the unit of work does not answer"
    OUTCOME_MIXED = 2123, "participants of the unit of work ended differently"
    OUTCOME_PENDING = 2124, "a participant has not yet completed the unit of work"
    UOW_IN_PROGRESS = 2128, "a unit of work is already begun"
    DLH_ERROR = 2141, "the dead-letter header is not valid"
    OBJECT_NAME_ERROR = 2152, "the object name is not valid"
    OBJECT_Q_MGR_NAME_ERROR = 2153, "the object queue manager name is not valid"
    Q_MGR_QUIESCING = 2161, "the queue manager is ending"
    Q_MGR_STOPPING = 2162, "the queue manager is stopping"
    PMO_ERROR = 2173, "the put options are not valid"
    REMOTE_Q_NAME_ERROR = 2184, "a remote definition must not be reached under another queue manager's name"
    INCONSISTENT_PERSISTENCE = 2185, "the messages of a group differ in persistence"
    GMO_ERROR = 2186, "the get options are not valid"
    STORAGE_MEDIUM_FULL = 2192, "the page set is full"
    PAGESET_ERROR = 2193, "the page set could not be read or written"
    NAME_NOT_VALID_FOR_TYPE = 2194, "a name was given where the object type takes none"
    UNEXPECTED_ERROR = 2195, "the queue manager met an error of its own"
    UNKNOWN_XMIT_Q = 2196, "the transmission queue is not defined"
    UNKNOWN_DEF_XMIT_Q = 2197, "the default transmission queue is not defined"
    DEF_XMIT_Q_TYPE_ERROR = 2198, "the default transmission queue is not a local queue"
    DEF_XMIT_Q_USAGE_ERROR = 2199, "the default transmission queue is not defined with USAGE(XMITQ)"
    NAME_IN_USE = 2201, "a queue of this name was deleted, and is still open or has uncommitted work on it"
    MSG_ID_ERROR = 2206, "the queue cannot be searched by this message identifier"
    CORREL_ID_ERROR = 2207, "the queue cannot be searched by this correlation identifier"
    NO_MSG_LOCKED = 2209, "the handle holds no locked message"
    CONNECTION_NOT_AUTHORIZED = 2217, "the user may not connect"
    CALL_IN_PROGRESS = 2219, "another thread is inside a call of this connection"
    INCOMPLETE_GROUP = 2241, "the handle has a message group that is not complete"
    INCOMPLETE_MSG = 2242, "the handle has a segmented message that is not complete"
    INCONSISTENT_UOW = 2245, "messages of a group are partly in and partly out of syncpoint"
    INVALID_MSG_UNDER_CURSOR = 2246, "the message under the cursor is not the next in logical order"
    MATCH_OPTIONS_ERROR = 2247, "the match options are not valid here"
    MDE_ERROR = 2248, "the extension of the message descriptor in front of the body is not valid"
    MSG_FLAGS_ERROR = 2249, "the message flags are not known here; segmentation is not supported"
    MSG_SEQ_NUMBER_ERROR = 2250, "the message sequence number is not valid"
    OFFSET_ERROR = 2251, "the segment offset is not valid"
    UOW_NOT_AVAILABLE = 2255, "this connection has no unit of work to take the call into"
    GROUP_ID_ERROR = 2258, "the group identifier is not valid"
    INCONSISTENT_BROWSE = 2259, "a browse in logical order changed its options within a group"
    XQH_ERROR = 2260, "the transmission header is not valid"
    FUNCTION_NOT_SUPPORTED = 2298, "this queue manager does not do that"
    DB2_NOT_AVAILABLE = 2342, "the shared repository cannot be reached"
    OBJECT_NOT_UNIQUE = 2343, "the name is that of a shared queue and of a queue of this queue manager"
    CF_NOT_AVAILABLE = 2345, "the coupling facility cannot be reached"
    CF_STRUC_IN_USE = 2346, "the coupling facility structure is in use"
    CF_STRUC_ERROR = 2349, "the coupling facility structure does not answer as it should"
    BACKOUT_THRESHOLD_REACHED = 2362, "the message was backed out more often than the queue's BOTHRESH"
    CF_STRUC_FAILED = 2373, "the coupling facility structure has failed and waits for its recovery"
    Q_INDEX_TYPE_ERROR = 2394, "the queue's INDXTYPE does not allow this kind of get"
    CALLBACK_NOT_REGISTERED = 2448, "no function is registered for the queue"
    CALLBACK_TYPE_ERROR = 2483, "a function is for messages or for events"
    OPERATION_ERROR = 2488, "the operation asked for is not known"
    HCONN_ASYNC_ACTIVE = 2500, "the connection's functions are being called already"
    OPERATION_NOT_ALLOWED = 2534, "the operation is not allowed while the connection's functions are being called"
    RECONNECT_FAILED = 2548, "the connection was made again, but what was open could not be opened again"
    CALL_INTERRUPTED = 2549, "the connection was lost in the call; whether the message was put is not known"
    DATA_SET_NOT_AVAILABLE = 2561, "the data of the message is in a shared message data set that cannot be used now"


WARNINGS = frozenset(
    {
        Reason.PRIORITY_EXCEEDS_MAXIMUM,
        Reason.TRUNCATED_MSG_ACCEPTED,
        Reason.TRUNCATED_MSG_FAILED,
        Reason.UNKNOWN_REPORT_OPTION,
        Reason.NO_EXTERNAL_PARTICIPANTS,
        Reason.PARTICIPANT_NOT_AVAILABLE,
        Reason.OUTCOME_PENDING,
        Reason.NO_MSG_LOCKED,
    }
)


class MQError(Exception):
    """A call's answer that is not success (R2): `MQError(Reason.Q_FULL, queue="ORDERS", depth=5000)`."""

    def __init__(self, reason: Reason, comp_code: CompCode | None = None, **facts: Any) -> None:
        super().__init__(reason, facts)
        self.reason = reason
        self.facts = facts
        self.comp_code = comp_code or (CompCode.WARNING if reason in WARNINGS else CompCode.FAILED)  # R4

    def having_put(self, messages: int) -> "MQError":
        """The same answer of a call for many messages, of which so many were put before (fact `put`)."""
        return MQError(self.reason, self.comp_code, **self.facts | {"put": messages})

    def __str__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in self.facts.items())
        return f"MQRC {int(self.reason)} {self.reason.name}: {self.reason.meaning}" + (f" ({facts})" if facts else "")


def said(failure: BaseException) -> str:
    """What a failure says; its name where it says nothing."""
    return str(failure) or type(failure).__name__


class Abend(Exception):  # noqa: N818 - the mainframe's own word for it
    """A broken invariant, named by its rule (R3): `Abend("B3", "stole a page in use", page=17)`."""

    def __init__(self, rule: str, what: str, **facts: Any) -> None:
        super().__init__(rule, what, facts)
        self.rule = rule
        self.what = what
        self.facts = facts

    def __str__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in self.facts.items())
        return f"{self.rule}: {self.what}" + (f" ({facts})" if facts else "")
