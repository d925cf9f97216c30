"""Big-endian records as class bodies: one declaration, every use.

A class body lists each field with the manual's offset and official name. From that one declaration come packing,
unpacking, the NumPy dtype, the columns of a table, and the way a field adds up over intervals.

Rules
  L1  Offsets are asserted at import: a field begins where the one before it ended, the last one ends at `size`.
  L2  The length comes from the record. A field that does not lie wholly inside a shorter section is absent:
      None in the object, null in a table, never 0. Bytes beyond what we know are left alone.
  L3  An array cut by the end of its section keeps the elements that lie wholly inside.
  L4  The kind of a field says how intervals add up (`Add`), whether people see it (`shown`) and its unit.
  L5  Intervals stay in TOD units inside objects; tables show microseconds.
  L6  Text is EBCDIC in one selectable code page; trailing blanks and nulls are not part of the value.

Called by smf for its structures, by the statistics that fill them, and for code pages by mqi.  Calls nothing.
Knows no structure by name.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from math import prod
from typing import Annotated, Any, ClassVar, TypeVar

R = TypeVar("R", bound="Record")


# --- code pages (L6) -------------------------------------------------------------------------------------------------

# 037 and 1047 differ in six places; the permutation is its own inverse
_BETWEEN_037_AND_1047 = bytes.maketrans(b"\x5f\xb0\xba\xbb\xad\xbd", b"\xb0\x5f\xad\xbd\xba\xbb")
_IDENTITY = bytes(range(256))


@dataclass(frozen=True, slots=True)
class CodePage:
    """An EBCDIC code page: a codec of the standard library, after a permutation of the bytes."""

    name: str
    codec: str
    permutation: bytes = _IDENTITY

    def decode(self, data: bytes) -> str:
        """Text without the blanks and nulls that fill its field."""
        return data.translate(self.permutation).decode(self.codec).rstrip(" \0")

    def encode(self, text: str, size: int) -> bytes:
        """Text padded with blanks to its field; too long a text is refused."""
        data = text.encode(self.codec).translate(self.permutation)
        if len(data) > size:
            raise ValueError(f"{text!r} does not fit in {size} bytes")
        return data.ljust(size, b"\x40")


def printable(text: str) -> str:
    """Text for people to read: any byte is a character of a name, and what no printer shows is a point.

    Otherwise a name could end its line, or tell a terminal what to do.
    """
    return text if text.isprintable() else "".join(each if each.isprintable() else "." for each in text)


CODE_PAGES: Mapping[str, CodePage] = {
    "1047": CodePage("1047", "cp037", _BETWEEN_037_AND_1047),
    "037": CodePage("037", "cp037"),
    "500": CodePage("500", "cp500"),
    "1140": CodePage("1140", "cp1140"),
}
CP1047 = CODE_PAGES["1047"]


# --- kinds of field (L4) ---------------------------------------------------------------------------------------------


class Add(Enum):
    """What becomes of a field when intervals are summed up."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    LAST = "last"
    KEY = "key"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a field is: its default wire form, how it adds up, its unit, and whether a table shows it."""

    name: str
    wire: str
    add: Add
    unit: str = ""
    shown: bool = True


count = Annotated[int, Kind("count", "u4", Add.SUM)]
octets = Annotated[int, Kind("octets", "u8", Add.SUM, "bytes")]
gauge = Annotated[int, Kind("gauge", "u4", Add.LAST)]
high = Annotated[int, Kind("high", "u4", Add.MAX)]
low = Annotated[int, Kind("low", "u4", Add.MIN)]
average = Annotated[int, Kind("average", "u4", Add.NONE)]
elapsed = Annotated[int, Kind("elapsed", "u8", Add.SUM, "us")]
longest = Annotated[int, Kind("longest", "u8", Add.MAX, "us")]
shortest = Annotated[int, Kind("shortest", "u8", Add.MIN, "us")]
micros = Annotated[int, Kind("micros", "u4", Add.SUM, "us")]
micros_high = Annotated[int, Kind("micros_high", "u4", Add.MAX, "us")]
micros_low = Annotated[int, Kind("micros_low", "u4", Add.MIN, "us")]
micros_average = Annotated[int, Kind("micros_average", "u4", Add.NONE, "us")]
stamp = Annotated[int, Kind("stamp", "u8", Add.LAST, "utc")]
local_stamp = Annotated[int, Kind("local_stamp", "u8", Add.LAST, "local")]
text = Annotated[str, Kind("text", "text", Add.KEY)]
code = Annotated[int, Kind("code", "i4", Add.KEY)]
flags = Annotated[int, Kind("flags", "u4", Add.LAST)]
token = Annotated[bytes, Kind("token", "bytes", Add.NONE)]
number = Annotated[int, Kind("number", "u4", Add.KEY)]
block_id = Annotated[int, Kind("block_id", "u2", Add.NONE, shown=False)]
block_length = Annotated[int, Kind("block_length", "u2", Add.NONE, shown=False)]
eye_catcher = Annotated[str, Kind("eye_catcher", "text", Add.NONE, shown=False)]
internal = Annotated[int, Kind("internal", "u4", Add.NONE, shown=False)]
reserved = Annotated[bytes, Kind("reserved", "bytes", Add.NONE, shown=False)]
block = Annotated[Any, Kind("block", "block", Add.NONE)]

_TOD_KINDS = frozenset({"elapsed", "longest", "shortest"})
_STRUCT_CODES = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i2": "h", "i4": "i", "i8": "q"}
_SIZES = {"u1": 1, "u2": 2, "u4": 4, "u8": 8, "i2": 2, "i4": 4, "i8": 8}
LARGEST: Mapping[str, int] = {wire: (1 << 8 * size - (wire[0] == "i")) - 1 for wire, size in _SIZES.items()}
"""The largest number of each wire form."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record: where it is, what it is called, what it means."""

    offset: int
    official: str
    meaning: str
    wire: str = ""
    size: int = 0
    shape: tuple[int, ...] = ()
    of: "type[Record] | None" = None
    default: Any = None
    codes: Mapping[int, str] | None = None
    bits: Mapping[int, str] | None = None
    unset: int | None = None
    name: str = ""
    kind: Kind = field(default=Kind("", "", Add.NONE))

    @property
    def element_size(self) -> int:
        if self.of is not None:
            return self.of.LAYOUT.size
        return _SIZES.get(self.wire) or self.size

    @property
    def end(self) -> int:
        return self.offset + prod(self.shape) * self.element_size

    @property
    def is_tod_interval(self) -> bool:
        return self.kind.name in _TOD_KINDS

    @property
    def column(self) -> str:
        """The column's name in a table: the unit comes last (L5)."""
        unit = self.kind.unit
        return f"{self.name}_us" if unit == "us" and not self.name.endswith("_us") else self.name

    def within(self, length: int) -> tuple[int, ...] | None:
        """The shape that lies inside a section of `length` bytes; None when nothing does (L2, L3)."""
        if self.end <= length:
            return self.shape
        if not self.shape:
            return None
        row = self.element_size * prod(self.shape[1:])
        rows = max(0, length - self.offset) // row
        return (rows, *self.shape[1:]) if rows else None


def at(
    offset: int,
    official: str,
    meaning: str,
    *,
    wire: str = "",
    size: int = 0,
    shape: tuple[int, ...] = (),
    of: "type[Record] | None" = None,
    default: Any = None,
    codes: Mapping[int, str] | None = None,
    bits: Mapping[int, str] | None = None,
    unset: int | None = None,
) -> Any:
    """Declare a field. `size` for text and bytes; `shape` and `of` for arrays; `unset` is the value that means none."""
    return Field(offset, official, meaning, wire, size, shape, of, default, codes, bits, unset)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """All that a class body declared; one per class, so identity is equality."""

    structure: str
    size: int
    fields: tuple[Field, ...]
    defaults: tuple[tuple[str, Any], ...]
    lengths: Mapping[str, int]

    def __getitem__(self, name: str) -> Field:
        """The field with this human or official name."""
        for each in self.fields:
            if name in (each.name, each.official):
                return each
        raise KeyError(f"{self.structure} has no field {name}")


class Record:  # noqa: PLW1641  counters change, so a record is not hashable
    """Base of every declared record. Fields are plain attributes; absent ones are None (L2)."""

    __slots__ = ()
    LAYOUT: ClassVar[Layout]

    def __init__(self, **values: Any) -> None:
        for name, default in self.LAYOUT.defaults:
            value = values.pop(name, default) if values else default
            setattr(self, name, _copied(value) if isinstance(value, _OWNED) else value)
        if values:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(values)}")

    def __eq__(self, other: object) -> bool:
        """Equal in every field but the block length, which belongs to the bytes, not to the value."""
        if type(other) is not type(self):
            return NotImplemented
        compared = (each.name for each in self.LAYOUT.fields if each.kind.name != "block_length")
        return all(getattr(self, name) == getattr(other, name) for name in compared)

    def __repr__(self) -> str:
        shown = (e for e in self.LAYOUT.fields if e.kind.shown and getattr(self, e.name) != e.default)
        return f"{type(self).__name__}({', '.join(f'{e.name}={getattr(self, e.name)!r}' for e in shown)})"


_OWNED = (list, Record)
"""Values that belong to one record only."""


def copied(made: R) -> R:
    """A record as it is now, on its own."""
    copy = made.__class__.__new__(made.__class__)
    for name, _ in made.LAYOUT.defaults:
        setattr(copy, name, _copied(getattr(made, name)))
    return copy


def _copied(value: Any) -> Any:
    if not isinstance(value, _OWNED):
        return value
    return [_copied(each) for each in value] if isinstance(value, list) else copied(value)


def record(structure: str, *, size: int, lengths: Mapping[str, int] | None = None) -> Callable[[type[R]], type[R]]:
    """Turn a class body into a record (L1). `lengths` maps a level to the section's length at that level."""

    def build(cls: type[R]) -> type[R]:
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        fields = tuple(_finish(cls, name, each) for name, each in declared.items())
        _assert_contiguous(structure, size, fields)
        body = {name: value for name, value in vars(cls).items() if name not in {*declared, "__dict__", "__weakref__"}}
        body["__slots__"] = tuple(declared)
        defaults = tuple((each.name, each.default) for each in fields)
        body["LAYOUT"] = Layout(structure, size, fields, defaults, lengths or {"all": size})
        made: type[R] = type(cls.__name__, cls.__bases__, body)
        return made

    return build


def _finish(cls: type, name: str, declared: Field) -> Field:
    kind: Kind = cls.__annotations__[name].__metadata__[0]
    wire = declared.wire or kind.wire
    sized = replace(declared, name=name, kind=kind, wire=wire, size=declared.size or _SIZES.get(wire, 0))
    return replace(sized, default=_default(sized))


def _default(each: Field) -> Any:
    """The value of a field nobody set: zero, blank, or an array of such."""
    if each.default is not None:
        return each.default
    value: Any = {"text": "", "bytes": bytes(each.size)}.get(each.wire, 0 if each.of is None else None)
    if each.of is not None:
        value = each.of()
    for dimension in reversed(each.shape):
        value = [_copied(value) for _ in range(dimension)]
    return value


def _assert_contiguous(structure: str, size: int, fields: tuple[Field, ...]) -> None:
    end = 0
    for each in fields:
        if each.offset != end:
            raise AssertionError(
                f"{structure}.{each.official}: declared at {each.offset}, follows a field that ends at {end}"
            )
        end = each.end
    if end != size:
        raise AssertionError(f"{structure}: fields end at {end}, size is {size}")


# --- packing and unpacking -------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _inside(layout: Layout, length: int) -> tuple[tuple[Field, tuple[int, ...] | None], ...]:
    """Every field with the shape that lies inside `length`, None for an absent one (L2, L3)."""
    return tuple((each, each.within(length)) for each in layout.fields)


def _leaves(layout: Layout, length: int) -> Iterator[str]:
    """The struct code of every leaf that lies inside `length`, in order; gaps do not occur (L1)."""
    for each, shape in _inside(layout, length):
        if shape is None:
            return
        for _ in range(prod(shape)):
            if each.of is not None:
                yield from _leaves(each.of.LAYOUT, each.of.LAYOUT.size)
            else:
                yield _STRUCT_CODES.get(each.wire) or f"{each.size}s"


@lru_cache(maxsize=1024)
def _compiled(layout: Layout, length: int) -> struct.Struct:
    return struct.Struct(">" + "".join(_leaves(layout, length)))


def unpack(
    cls: type[R], data: bytes | memoryview, offset: int = 0, length: int | None = None, page: CodePage = CP1047
) -> R:
    """The record at `offset`; `length` is the section's own length and decides what is absent (L2)."""
    known = cls.LAYOUT.size if length is None else min(length, cls.LAYOUT.size)
    values = iter(_compiled(cls.LAYOUT, known).unpack_from(data, offset))
    return _build(cls, values, known, page)


def _build(cls: type[R], values: Iterator[Any], length: int, page: CodePage) -> R:
    made = cls.__new__(cls)
    for each, shape in _inside(cls.LAYOUT, length):
        setattr(made, each.name, None if shape is None else _take(each, shape, values, page))
    return made


def _take(each: Field, shape: tuple[int, ...], values: Iterator[Any], page: CodePage) -> Any:
    if shape:
        return [_take(each, shape[1:], values, page) for _ in range(shape[0])]
    if each.of is not None:
        return _build(each.of, values, each.of.LAYOUT.size, page)
    value = next(values)
    return page.decode(value) if each.wire == "text" else value


def pack(made: Record, length: int | None = None, page: CodePage = CP1047) -> bytes:
    """The bytes of a record, cut to `length`; bytes beyond what we know are zero. Absent fields pack as zero."""
    size = made.LAYOUT.size if length is None else length
    known = min(size, made.LAYOUT.size)
    compiled = _compiled(made.LAYOUT, known)
    values: list[Any] = []
    for each, shape in _inside(made.LAYOUT, known):
        if shape is not None:
            value = size if each.kind.name == "block_length" else getattr(made, each.name)
            _give(each, shape, value, page, values)
    return compiled.pack(*values).ljust(size, b"\0")


def _give(each: Field, shape: tuple[int, ...], value: Any, page: CodePage, values: list[Any]) -> None:
    if shape:
        rows = value or ()
        for row in range(shape[0]):
            _give(each, shape[1:], rows[row] if row < len(rows) else None, page, values)
    elif each.of is not None:
        nested = value or each.of()
        for inner in each.of.LAYOUT.fields:
            _give(inner, inner.shape, getattr(nested, inner.name), page, values)
    elif each.wire == "text":
        values.append(page.encode(value or "", each.size))
    elif each.wire == "bytes":
        values.append(_filled(each, value or b""))
    else:
        values.append(value or 0)


def _filled(each: Field, value: bytes) -> bytes:
    if len(value) > each.size:
        raise ValueError(f"{each.official} of {len(value)} bytes does not fit in {each.size}")
    return value.ljust(each.size, b"\0")


def saturated(made: R) -> R:
    """A copy in which no number is more than its field holds: a counter that has run over stands still at the end."""
    return type(made)(**{each.name: _saturated(each, getattr(made, each.name)) for each in made.LAYOUT.fields})


def _saturated(each: Field, value: Any) -> Any:
    if isinstance(value, list):
        return [_saturated(each, inner) for inner in value]
    if isinstance(value, Record):
        return saturated(value)
    return min(value, LARGEST[each.wire]) if isinstance(value, int) else value


# --- tables ----------------------------------------------------------------------------------------------------------


def dtype_spec(cls: type[Record], length: int | None = None) -> dict[str, Any]:
    """What `numpy.dtype` takes: names, big-endian formats and offsets of all that lies inside `length` (L2, L3)."""
    size = cls.LAYOUT.size if length is None else length
    inside = [(each, shape) for each, shape in _inside(cls.LAYOUT, size) if shape is not None]
    return {
        "names": [each.name for each, _ in inside],
        "formats": [(_format(each), shape) if shape else _format(each) for each, shape in inside],
        "offsets": [each.offset for each, _ in inside],
        "itemsize": size,
    }


def _format(each: Field) -> Any:
    if each.of is not None:
        return dtype_spec(each.of)
    return f">{each.wire}" if each.wire in _SIZES else f"V{each.size}"
