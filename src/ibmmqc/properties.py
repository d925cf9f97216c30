"""Message properties: named values beside a message's body, kept in message handles and carried in an MQRFH2.

Rules
  PR1 A property without a folder is in `usr`; `usr.colour` and `colour` are the same property.
  PR2 Properties travel in an MQRFH2 in front of the body, one folder an XML element, in the byte order of the
      message's encoding; the header keeps the format and character set of what follows it.
  PR3 A value has the type it was set with, and comes back with it. One that its type has no room for, or that no XML
      can carry, is refused (2004), as a type that nobody knows is (2473) and a name that no property can have (2442).
  PR4 A name with % means the next property of that folder after the last one inquired, then 2471; deleting some on the
      way passes none over. The cursor is on the last one inquired until it is deleted.
  PR5 A header that cannot be read is no header: the message is given as it is.

Called by calls.  Calls nothing.
"""

import re
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

FORMAT_RFH2 = "MQHRF2"
NULL, BOOLEAN, BYTES, INT8, INT16, INT32, INT64, FLOAT32, FLOAT64, STRING = (1 << n for n in range(1, 11))
_WORDS = {
    NULL: "",
    BOOLEAN: "boolean",
    BYTES: "bin.hex",
    INT8: "i1",
    INT16: "i2",
    INT32: "i4",
    INT64: "i8",
    FLOAT32: "r4",
    FLOAT64: "r8",
    STRING: "string",
}
_TYPES = {word: number for number, word in _WORDS.items() if word}
_LENGTHS = {BOOLEAN: 4, INT8: 1, INT16: 2, INT32: 4, INT64: 8, FLOAT32: 4, FLOAT64: 8, NULL: 0}
NAME_ERROR, TYPE_ERROR, VALUE_ERROR = 2442, 2473, 2004
_FORMATS = {INT8: "b", INT16: "h", INT32: "i", INT64: "q", FLOAT32: "f", FLOAT64: "d"}
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAME = re.compile(r"[A-Za-z_][\w\-]*(\.[A-Za-z_][\w\-]*)+$", re.ASCII)
_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_WRAPPED = "<folders xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'>{}</folders>"
_REVERSED = 2  # the integer part of an encoding that is little-endian
_INTEGERS = 0xF
_CCSID = 1208
_LAYOUT = "4siiii8sii"


class Property(NamedTuple):
    """A value and its type (PR3)."""

    kind: int
    value: Any

    @property
    def length(self) -> int:
        if self.kind in _LENGTHS:
            return _LENGTHS[self.kind]
        return len(self.value.encode() if isinstance(self.value, str) else self.value)


class MessageHandle:
    """The properties of one message, in the order they were set."""

    def __init__(self) -> None:
        self._values: dict[str, Property] = {}
        self._cursor, self._is_on_one = -1, False

    def __len__(self) -> int:
        return len(self._values)

    def set(self, name: str, kind: int, value: Any) -> int:
        """Set a property; 0, or the reason why it cannot be (PR3)."""
        key = full(name)
        if kind not in _WORDS:
            return TYPE_ERROR
        if not _NAME.match(key):
            return NAME_ERROR
        try:
            self._values[key] = Property(kind, _plain(kind, value))
        except (ValueError, TypeError, OverflowError, struct.error):
            return VALUE_ERROR
        return 0

    def delete(self, name: str) -> bool:
        key = full(name)
        if key not in self._values:
            return False
        at = list(self._values).index(key)
        del self._values[key]
        if at <= self._cursor:
            self._is_on_one &= at != self._cursor
            self._cursor -= 1  # PR4
        return True

    def clear(self) -> None:
        self._values.clear()
        self._cursor, self._is_on_one = -1, False

    def under_cursor(self) -> tuple[str, Property] | None:
        """The property last inquired, if it is still there (PR4)."""
        return list(self._values.items())[self._cursor] if self._is_on_one else None

    def find(self, name: str, *, following: bool) -> tuple[str, Property] | None:
        """The property of a name, or the next one that a name with % means (PR4)."""
        several, anything = "%" in name, name.strip() == "%"
        sought = full(name).rstrip("%")
        start = self._cursor + 1 if following and several else 0
        for at, (key, value) in enumerate(self._values.items()):
            if at >= start and (anything or key == sought or (several and key.startswith(sought))):
                self._cursor, self._is_on_one = at, True
                return key, value
        return None

    # -- in a message

    def pack(self, message_format: str, encoding: int, ccsid: int) -> bytes:
        """The header that carries the properties (PR2)."""
        order = "<" if encoding & _INTEGERS == _REVERSED else ">"
        folders = b"".join(_sized(folder, order) for folder in self._folders())
        length = struct.calcsize(order + _LAYOUT) + len(folders)
        fmt = message_format.encode().ljust(8)
        return struct.pack(order + _LAYOUT, b"RFH ", 2, length, encoding, ccsid or _CCSID, fmt, 0, _CCSID) + folders

    def _folders(self) -> Iterator[str]:
        by_folder: dict[str, list[str]] = {}
        for key, prop in self._values.items():
            folder, _, name = key.partition(".")
            by_folder.setdefault(folder, []).append(_element(name, prop))
        for folder, elements in by_folder.items():
            yield f"<{folder}>{''.join(elements)}</{folder}>"


class Carried(NamedTuple):
    """A message whose properties were taken off."""

    properties: MessageHandle
    body: bytes
    format: str
    encoding: int
    ccsid: int


def carried(body: bytes, encoding: int) -> Carried | None:
    """The properties in front of a body, and what follows them; None when there are none to read (PR5)."""
    order = "<" if encoding & _INTEGERS == _REVERSED else ">"
    fixed = struct.calcsize(order + _LAYOUT)
    if len(body) < fixed or body[:4] != b"RFH ":
        return None
    _, version, length, behind, ccsid, fmt, _, _ = struct.unpack_from(order + _LAYOUT, body)
    if version != 2 or not fixed <= length <= len(body):
        return None
    handle = MessageHandle()
    at = fixed
    while at + 4 <= length:
        (size,) = struct.unpack_from(order + "i", body, at)
        if size < 0 or at + 4 + size > length or not _read_folder(handle, body[at + 4 : at + 4 + size]):
            return None
        at += 4 + size
    return Carried(handle, body[length:], fmt.decode(errors="replace").rstrip(), behind, ccsid)


def full(name: str) -> str:
    """A property's name with its folder (PR1)."""
    return name.strip() if "." in name else f"usr.{name.strip()}"


def shown(key: str) -> str:
    """A property's name as it is told: without `usr`."""
    return key.removeprefix("usr.")


def _plain(kind: int, value: Any) -> Any:
    if kind == STRING:
        text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        if _NO_XML.search(text):
            raise ValueError("XML has no place for a character of it")
        return text
    if kind == BYTES:
        return bytes(memoryview(value))
    if kind == NULL:
        return None
    if kind == BOOLEAN:
        return int(str(value).upper() in ("1", "TRUE"))
    number = float(value) if kind in (FLOAT32, FLOAT64) else int(value)
    struct.pack(f"<{_FORMATS[kind]}", number)  # whether there is room for it
    return number


def _element(name: str, prop: Property) -> str:
    if prop.kind == NULL:
        return f"<{name} xsi:nil='true'/>"
    text = prop.value.hex() if prop.kind == BYTES else escape(str(prop.value), {"\r": "&#13;"})
    typed = "" if prop.kind == STRING else f" dt='{_WORDS[prop.kind]}'"
    return f"<{name}{typed}>{text}</{name}>"


def _sized(folder: str, order: str) -> bytes:
    text = folder.encode()
    text += b" " * (-len(text) % 4)
    return struct.pack(order + "i", len(text)) + text


def _read_folder(handle: MessageHandle, text: bytes) -> bool:
    try:
        root = ET.fromstring(_WRAPPED.format(text.decode().strip("\0 ")))  # noqa: S314 - expat refuses entity bombs
        for folder in root:
            for element in folder:
                kind = NULL if element.get(_NIL) else _TYPES.get(element.get("dt", "string"), STRING)
                written = element.text or ""
                value = bytes.fromhex(written) if kind == BYTES else written
                if handle.set(f"{folder.tag}.{element.tag}", kind, value) == VALUE_ERROR:
                    return False
    except (ET.ParseError, UnicodeError, ValueError):
        return False
    return True
