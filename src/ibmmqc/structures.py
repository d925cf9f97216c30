"""Structures: the MQI's C structures of 64-bit Linux, as IBM's Python package packs them.

Rules
  ST1 A structure has the native byte order and alignment, as the C compiler would lay it out.
  ST2 Reading checks the length; a structure of another length is the caller's error (ValueError), as in IBM's module.
  ST3 Character fields are text without padding; binary fields (identifiers, tokens) stay bytes.
  ST4 Writing changes the fields that are named and keeps all others byte for byte.

Called by calls, consumers, extensions, properties.  Calls nothing.
"""

import ctypes
import struct
from typing import Any

_BINARY = frozenset({"MsgId", "CorrelId", "GroupId", "AccountingToken", "MsgToken", "ConnTag", "ConnectionId"})


class Structure:
    """One of the MQI's structures: its fields by name, in order."""

    def __init__(self, name: str, fields: str) -> None:
        declared = [field.split(":") for field in fields.split()]
        self.name = name
        self._names = [field for field, _ in declared]
        self._struct = struct.Struct("@" + "".join(kind for _, kind in declared))
        self._texts = {field for field, kind in declared if kind.endswith("s") and field not in _BINARY}

    @property
    def length(self) -> int:
        return self._struct.size

    def read(self, packed: bytes) -> dict[str, Any]:
        """The fields of a packed structure (ST2, ST3)."""
        if len(packed) != self._struct.size:
            raise ValueError(f"{self.name} wrong size. Given: {len(packed)}, expected {self._struct.size}")
        values = dict(zip(self._names, self._struct.unpack(packed), strict=True))
        for field in self._texts:
            values[field] = values[field].split(b"\0", 1)[0].decode(errors="replace").rstrip(" ")
        return values

    def write(self, packed: bytes, **changes: Any) -> bytes:
        """The structure with some fields changed (ST4)."""
        values = dict(zip(self._names, self._struct.unpack(packed), strict=True))
        for field, value in changes.items():
            values[field] = self._padded(field, value) if isinstance(value, str) else value
        return self._struct.pack(*values.values())

    def blank(self) -> bytes:
        """A structure of zeros."""
        return bytes(self._struct.size)

    def _padded(self, field: str, text: str) -> bytes:
        room = len(self._struct.unpack(self.blank())[self._names.index(field)])
        return text.encode()[:room].ljust(room, b" ")


_VARIABLE = "{0}Ptr:P {0}Offset:i {0}BufSize:i {0}Length:i {0}CCSID:i "  # an MQCHARV

MD = Structure(
    "MQMD",
    "StrucId:4s Version:i Report:i MsgType:i Expiry:i Feedback:i Encoding:i CodedCharSetId:i Format:8s Priority:i "
    "Persistence:i MsgId:24s CorrelId:24s BackoutCount:i ReplyToQ:48s ReplyToQMgr:48s UserIdentifier:12s "
    "AccountingToken:32s ApplIdentityData:32s PutApplType:i PutApplName:28s PutDate:8s PutTime:8s ApplOriginData:4s "
    "GroupId:24s MsgSeqNumber:i Offset:i MsgFlags:i OriginalLength:i",
)
MDE = Structure(
    "MQMDE",
    "StrucId:4s Version:i StrucLength:i Encoding:i CodedCharSetId:i Format:8s Flags:i GroupId:24s MsgSeqNumber:i "
    "Offset:i MsgFlags:i OriginalLength:i",
)
OD = Structure(
    "MQOD",
    "StrucId:4s Version:i ObjectType:i ObjectName:48s ObjectQMgrName:48s DynamicQName:48s AlternateUserId:12s "
    "RecsPresent:i KnownDestCount:i UnknownDestCount:i InvalidDestCount:i ObjectRecOffset:i ResponseRecOffset:i "
    "ObjectRecPtr:P ResponseRecPtr:P AlternateSecurityId:40s ResolvedQName:48s ResolvedQMgrName:48s "
    + _VARIABLE.format("ObjectString")
    + _VARIABLE.format("SelectionString")
    + _VARIABLE.format("ResObjectString")
    + "ResolvedType:i Pad:4s",
)
PMO = Structure(
    "MQPMO",
    "StrucId:4s Version:i Options:i Timeout:i Context:i KnownDestCount:i UnknownDestCount:i InvalidDestCount:i "
    "ResolvedQName:48s ResolvedQMgrName:48s RecsPresent:i PutMsgRecFields:i PutMsgRecOffset:i ResponseRecOffset:i "
    "PutMsgRecPtr:P ResponseRecPtr:P OriginalMsgHandle:q NewMsgHandle:q Action:i PubLevel:i",
)
GMO = Structure(
    "MQGMO",
    "StrucId:4s Version:i Options:i WaitInterval:i Signal1:i Signal2:i ResolvedQName:48s MatchOptions:i GroupStatus:b "
    "SegmentStatus:b Segmentation:b Reserved1:c MsgToken:16s ReturnedLength:i Reserved2:i MsgHandle:q",
)
CNO = Structure(
    "MQCNO",
    "StrucId:4s Version:i Options:i ClientConnOffset:i ClientConnPtr:P ConnTag:128s SSLConfigPtr:P SSLConfigOffset:i "
    "ConnectionId:24s SecurityParmsOffset:i SecurityParmsPtr:P CCDTUrlPtr:P CCDTUrlOffset:i CCDTUrlLength:i "
    "Reserved:q ApplName:28s Reserved2:i BalanceParmsPtr:P BalanceParmsOffset:i Reserved3:i",
)
CSP = Structure(
    "MQCSP",
    "StrucId:4s Version:i AuthenticationType:i Reserved1:i UserIdPtr:P UserIdOffset:i UserIdLength:i Reserved2:q "
    "PasswordPtr:P PasswordOffset:i PasswordLength:i Reserved3:q InitialKeyPtr:P InitialKeyOffset:i InitialKeyLength:i "
    "Reserved4:q TokenPtr:P TokenOffset:i TokenLength:i",
)
CBD = Structure(
    "MQCBD",
    "StrucId:4s Version:i CallbackType:i Options:i CallbackArea:P CallbackFunction:P CallbackName:128s "
    "MaxMsgLength:i Reserved1:i",
)
CBC = Structure(
    "MQCBC",
    "StrucId:4s Version:i CallType:i Hobj:i CallbackArea:P ConnectionArea:P CompCode:i Reason:i State:i "
    "DataLength:i BufferLength:i Flags:i ReconnectDelay:i Reserved1:i",
)
CTLO = Structure("MQCTLO", "StrucId:4s Version:i Options:i Reserved:i ConnectionArea:P")
STS = Structure(
    "MQSTS",
    "StrucId:4s Version:i CompCode:i Reason:i PutSuccessCount:i PutWarningCount:i PutFailureCount:i ObjectType:i "
    "ObjectName:48s ObjectQMgrName:48s ResolvedObjectName:48s ResolvedQMgrName:48s "
    + _VARIABLE.format("ObjectString")
    + _VARIABLE.format("SubName")
    + "OpenOptions:i SubOptions:i",
)
IMPO = Structure(
    "MQIMPO",
    "StrucId:4s Version:i Options:i RequestedEncoding:i RequestedCCSID:i ReturnedEncoding:i ReturnedCCSID:i "
    "Reserved1:i " + _VARIABLE.format("ReturnedName") + "TypeString:8s",
)
DMPO = Structure("MQDMPO", "StrucId:4s Version:i Options:i")

VERSIONS = {
    "bno": 1,
    "cbc": 2,
    "cbd": 1,
    "cd": 11,
    "cmho": 1,
    "cno": 8,
    "csp": 3,
    "ctlo": 1,
    "dmho": 1,
    "dmpo": 1,
    "gmo": 4,
    "impo": 1,
    "md": 2,
    "od": 4,
    "pd": 1,
    "pmo": 3,
    "sco": 4,
    "sd": 1,
    "smpo": 1,
    "sro": 1,
    "sts": 2,
}
"""The newest version of each structure that is understood; IBM's package lays its structures out by it."""

_CD_CONNECTION_AT, _CD_CONNECTION_LENGTH = 1024, 264  # ConnectionName in an MQCD


def connection_name(channel: bytes) -> str:
    """CONNAME of a client channel definition: `host(port)`."""
    field = channel[_CD_CONNECTION_AT : _CD_CONNECTION_AT + _CD_CONNECTION_LENGTH]
    return field.split(b"\0", 1)[0].decode(errors="replace").strip()


def pointed(address: int, length: int) -> bytes:
    """The bytes that a pointer of a structure leads to."""
    return ctypes.string_at(address, length) if address and length > 0 else b""
