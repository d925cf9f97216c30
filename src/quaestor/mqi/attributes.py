"""Attributes: one declaration of each attribute an object has, for every use that is made of it.

Rules
  A1  A field of an object class is declared once, with its MQSC keyword, its number in the stored form, its
      default, its range or its words. The parser, DISPLAY, inquire and set, the stored form and the checks
      all read that declaration.
  A2  The number in the stored form is never reused and never changes.
  A3  A value outside its range or words is refused where the object is built, with what is valid.
  A4  The stored form holds only what differs from the default: number (1 byte), length (2), value.
  A5  The name of another object is looked at where it is said or altered, not where the object is built: what was
      stored before is still read. MQSC's blanks behind it are padding.

Called by objects.  Calls reasons, names.
"""

import dataclasses
import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from quaestor.mqi.names import NAME_MAX, NAME_RULE, is_name

T = TypeVar("T")
NAME_FIELD = "name"
TEXTS_MAX = 256
SEPARATOR = "\0"
_WHOLE = re.compile("-?[0-9]{1,18}")
SIGNED_LENGTH = 9  # a number stored in so many bytes is negative; others have no leading zeros


class AttributeValueError(ValueError):
    """A value that an attribute cannot have (A3)."""

    def __init__(self, keyword: str, value: object, valid: str) -> None:
        super().__init__(f"{keyword}({value}) is not valid: {valid}")
        self.keyword, self.value, self.valid = keyword, value, valid


class Attribute(NamedTuple):
    """What there is to know about one attribute (A1)."""

    field: str
    keyword: str
    number: int
    default: Any
    length: int = 0  # longest text; 0 for other kinds
    low: int = 0
    high: int = 0
    words: Mapping[str, Any] | None = None  # MQSC word -> value
    bare: tuple[str, str] | None = None  # words that stand alone: SHARE, NOSHARE
    fixed: bool = False  # cannot be altered
    named: Mapping[str, int] | None = None  # numbers that MQSC writes as words: EXPRYINT(OFF)
    names_object: bool = False  # text that is the name of another object, or empty; or a list of names

    def check(self, value: object) -> None:
        """Refuse what the attribute cannot hold (A3)."""
        if self.words is not None:
            if value not in self.words.values():
                raise AttributeValueError(self.keyword, value, "one of " + ", ".join(self.words))
        elif isinstance(self.default, tuple):
            _check_texts(self, value)
        elif self.length:
            if not isinstance(value, str) or not _fits(value, self.length):
                raise AttributeValueError(self.keyword, value, f"text of at most {self.length} bytes")
        elif not isinstance(value, int) or not self.low <= value <= self.high:
            raise AttributeValueError(self.keyword, value, f"a number from {self.low} to {self.high}")

    def check_name(self, value: object) -> None:
        """Refuse what no object can be called (A5)."""
        if self.names_object and value:
            for name in value if isinstance(value, tuple) else (value,):
                if not (isinstance(name, str) and is_name(name)):
                    raise AttributeValueError(self.keyword, name, NAME_RULE)

    def written(self, value: Any) -> tuple[str, ...]:
        """The value as MQSC writes it."""
        if isinstance(value, tuple):
            return value
        known = self.words if self.words is not None else self.named or {}
        return (next((word for word, meant in known.items() if meant == value), str(value)),)

    def parse(self, values: tuple[str, ...]) -> Any:
        """The value that MQSC wrote; `written` is its inverse (A1, A3)."""
        if isinstance(self.default, tuple):
            names = tuple(name.rstrip(" ") for name in values)
            value: Any = () if names == ("",) else names
        elif len(values) != 1:
            raise AttributeValueError(self.keyword, ",".join(values), "one value")
        elif self.words is not None:
            value = self.words.get(values[0].upper(), values[0])
        elif self.length:
            value = values[0].rstrip(" ") if self.names_object else values[0]
        else:
            value = self._number(values[0])
        self.check(value)
        return value

    def _number(self, written: str) -> int | str:
        if self.named is not None and written.upper() in self.named:
            return self.named[written.upper()]
        number = whole_number(written)
        return written if number is None else number


def whole_number(written: str) -> int | None:
    """The number that MQSC wrote, None when it wrote none: digits, perhaps with a sign, no more than any can have."""
    return int(written) if _WHOLE.fullmatch(written) else None


def _fits(text: str, length: int) -> bool:
    """Whether a text is stored in so many bytes; half of a surrogate pair is in none."""
    try:
        return len(text.encode()) <= length
    except UnicodeEncodeError:
        return False


def _check_texts(attribute: Attribute, value: object) -> None:
    good = isinstance(value, tuple) and all(
        isinstance(v, str) and len(v) <= attribute.length and SEPARATOR not in v for v in value
    )
    if not good:
        raise AttributeValueError(attribute.keyword, value, f"names of at most {attribute.length} characters")
    if isinstance(value, tuple) and len(value) > TEXTS_MAX:
        raise AttributeValueError(attribute.keyword, f"{len(value)} names", f"at most {TEXTS_MAX}")


def text(keyword: str, number: int, length: int, default: str = "", *, fixed: bool = False) -> Any:
    return _field(default, keyword=keyword, number=number, length=length, fixed=fixed)


def object_name(keyword: str, number: int) -> Any:
    """The name of another object, which need not be defined; or nothing (A5)."""
    return _field("", keyword=keyword, number=number, length=NAME_MAX, names_object=True)


def object_names(keyword: str, number: int) -> Any:
    """Names of other objects, which need not be defined; or none (A5)."""
    return _field((), keyword=keyword, number=number, length=NAME_MAX, names_object=True)


def number(keyword: str, number: int, default: int, low: int, high: int, *, fixed: bool = False, **named: int) -> Any:
    return _field(default, keyword=keyword, number=number, low=low, high=high, fixed=fixed, named=named or None)


def words(keyword: str, number: int, default: T, fixed: bool = False, /, **choices: T) -> Any:
    return _field(default, keyword=keyword, number=number, words=choices, fixed=fixed)


def enumerated(keyword: str, number: int, default: IntEnum, fixed: bool = False, /, **choices: IntEnum) -> Any:
    """An attribute whose words are the names of an enumeration (or those of `choices`)."""
    return words(keyword, number, default, fixed, **(choices or {kind.name: kind for kind in type(default)}))


def switch(keyword: str, number: int, default: bool, *, fixed: bool = False) -> Any:
    """An attribute written as a bare word or its opposite: SHARE, NOSHARE."""
    bare = (keyword, "NO" + keyword)
    return _field(default, keyword=keyword, number=number, words={"YES": True, "NO": False}, bare=bare, fixed=fixed)


def _field(default: Any, **declared: Any) -> Any:
    return dataclasses.field(default=default, metadata={"declared": declared})


def declared(cls: type) -> dict[str, Attribute]:
    """The attributes of an object class by field name, in the order of declaration (A1)."""
    return {
        f.name: Attribute(field=f.name, default=f.default, **f.metadata["declared"])
        for f in dataclasses.fields(cls)
        if "declared" in f.metadata
    }


def pack_attributes(obj: Any, attributes: Mapping[str, Attribute]) -> bytes:
    """Name and what differs from the default (A4)."""
    parts = [(0, obj.name.encode())]
    for field, attribute in attributes.items():
        value = getattr(obj, field)
        if value != attribute.default:
            parts.append((attribute.number, _value_bytes(value)))
    return b"".join(bytes((at,)) + len(value).to_bytes(2, "big") + value for at, value in parts)


def unpack_attributes(packed: bytes, attributes: Mapping[str, Attribute]) -> dict[str, Any]:
    """Keyword arguments for the object class; an unknown number is an error named as such."""
    by_number = {a.number: a for a in attributes.values()}
    values: dict[str, Any] = {}
    at = 0
    while at < len(packed):
        number, length = packed[at], int.from_bytes(packed[at + 1 : at + 3], "big")
        stored = packed[at + 3 : at + 3 + length]
        at += 3 + length
        if at > len(packed):
            raise ValueError(f"the stored form is cut in attribute number {number}")
        if number == 0:
            values[NAME_FIELD] = stored.decode()
        elif number in by_number:
            values[by_number[number].field] = _bytes_value(stored, by_number[number])
        else:
            raise ValueError(f"attribute number {number} was written by a newer release")
    if NAME_FIELD not in values:
        raise ValueError("the stored form has no name")
    return values


def _value_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, tuple):
        return SEPARATOR.join(value).encode()
    return (
        int(value).to_bytes(9, "big", signed=True).lstrip(b"\0")
        if value >= 0
        else int(value).to_bytes(9, "big", signed=True)
    )


def _bytes_value(stored: bytes, attribute: Attribute) -> Any:
    if isinstance(attribute.default, tuple):
        return tuple(stored.decode().split(SEPARATOR))
    if attribute.length:
        return stored.decode()
    value = int.from_bytes(stored, "big", signed=len(stored) == SIGNED_LENGTH)
    return type(attribute.default)(value)
