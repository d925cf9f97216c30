"""Asked: what the structures and options of a call ask for, in the words of the native API.

Rules
  BO2 Without a syncpoint option a put or get is outside syncpoint: the rule of the platforms IBM's package runs on.
  BO3 Options that only steer what we do not have (read ahead, cluster binding, response type) are dropped; any other
      option that is not known is 2046.
  BO9 A structure with another eye-catcher than its own, or of a version that is not known, is refused: 2026, 2044, 2173
      or 2186.

The other rules are of `bound`.

Called by bound.  Calls structures.
"""

from typing import Any

from ibmmqc.structures import VERSIONS, Structure
from quaestor.mqi.descriptors import NO_ID, Target
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason

OPEN_DROPPED = 16384 | 32768 | 65536 | 131072 | 262144 | 524288 | 1048576 | 4194304  # BO3
PUT_DROPPED = 65536 | 131072 | 262144 | 8388608
GET_DROPPED = 65536 | 262144
CONVERT = 16384
ASYNC_RESPONSE = 65536
NO_PROPERTIES, IN_HANDLE, FORCE_HEADER, COMPATIBLE = 1 << 26, 1 << 27, 1 << 25, 1 << 28
_PROPERTY_OPTIONS = NO_PROPERTIES | IN_HANDLE | FORCE_HEADER | COMPATIBLE
_IN_OR_OUT = int(GetOptions.SYNCPOINT | GetOptions.NO_SYNCPOINT | GetOptions.SYNCPOINT_IF_PERSISTENT)
_NOT_TAKING = int(
    GetOptions.BROWSE_FIRST | GetOptions.BROWSE_NEXT | GetOptions.BROWSE_MSG_UNDER_CURSOR | GetOptions.UNLOCK
)
_ERRORS = {"MD": Reason.MD_ERROR, "OD": Reason.OD_ERROR, "PMO": Reason.PMO_ERROR, "GMO": Reason.GMO_ERROR}
_VERSION_WITH_MATCH = _VERSION_WITH_GROUPS = 2
MATCH_OFFSET = 16
"""What is selected by its offset in a message is all of it: there are no segments."""


def known(structure: Structure, packed: bytes) -> dict[str, Any]:
    """The fields of a structure that says what it is, in a version that is known (BO9)."""
    fields, kind = structure.read(packed), structure.name[2:]
    if fields["StrucId"] != kind or not 1 <= fields["Version"] <= VERSIONS[kind.lower()]:
        raise MQError(_ERRORS[kind], structure=fields["StrucId"], version=fields["Version"])
    return fields


def target_of(asked: dict[str, Any]) -> Target:
    """The object that a descriptor names."""
    return Target(asked["ObjectName"], asked["ObjectQMgrName"], asked["DynamicQName"], asked["AlternateUserId"])


def put_options(options: int) -> int:
    """Put options as the native API takes them (BO2, BO3)."""
    kept = options & ~PUT_DROPPED
    return kept if kept & (PutOptions.SYNCPOINT | PutOptions.NO_SYNCPOINT) else kept | PutOptions.NO_SYNCPOINT


def get_options(options: int) -> int:
    """Get options as the native API takes them (BO2, BO3)."""
    kept = options & ~(GET_DROPPED | CONVERT | _PROPERTY_OPTIONS)
    return kept if kept & (_IN_OR_OUT | _NOT_TAKING) else kept | GetOptions.NO_SYNCPOINT


def selection(asked: dict[str, Any], sought: dict[str, Any]) -> dict[str, Any]:
    """Which message is meant, by the options and the descriptor passed."""
    match = asked["MatchOptions"] & ~MATCH_OFFSET if asked["Version"] >= _VERSION_WITH_MATCH else 1 | 2
    if sought["Version"] < _VERSION_WITH_GROUPS:
        sought = {**sought, "GroupId": NO_ID, "MsgSeqNumber": 1}
    chosen: dict[str, Any] = {"match": match}
    for bit, key, field in ((1, "msg_id", "MsgId"), (2, "correl_id", "CorrelId"), (4, "group_id", "GroupId")):
        if match & bit and sought[field] != NO_ID:
            chosen[key] = sought[field]
    if match & 8:
        chosen["sequence"] = sought["MsgSeqNumber"]
    if match & 32:
        chosen["token"] = int.from_bytes(asked["MsgToken"], "big")
    return chosen
