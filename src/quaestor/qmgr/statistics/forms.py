"""Forms: a structure packed once as if nothing had happened, filled in for each task that did something.

Rules
  FO1 A form is filled from {field: value}; what is not named stays as the empty structure has it. The bytes are those
      that `layout.pack` gives for the same values (a test compares).
  FO2 Task records are many and mostly empty: filling a form takes a tenth of the time of packing an object. The forms
      of a level are made once, for all queue managers of a process.
  FO3 Text that the code page does not know is replaced, and cut to its field; a record is written whatever an
      application calls itself.
  FO4 A block within a structure is given as its words, one after the other.
  FO5 A number that is more than its field holds is the most that it holds, in arrays and blocks, too.

Called by accounts.  Calls the layouts.
"""

import struct
from collections.abc import Mapping
from functools import cache

from quaestor.layout import CP1047, LARGEST, Field, Record, pack

_CODES = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i2": "h", "i4": "i", "i8": "q"}
WORD = 4
Value = int | str | bytes | list[int]


class Form:
    """An empty structure of a level (FO1)."""

    def __init__(self, section: type[Record], length: int) -> None:
        self.section = section
        self._empty = pack(section(), length)
        self._fields = {each.name: each for each in section.LAYOUT.fields if each.end <= length}
        self._structs = {name: _struct(each) for name, each in self._fields.items()}

    def filled(self, values: Mapping[str, Value]) -> bytes:
        """The structure with these values."""
        made = bytearray(self._empty)
        for name, value in values.items():
            code = self._structs.get(name)
            if code is not None:
                _fill(made, self._fields[name], code, value)
        return bytes(made)


@cache
def form(section: type[Record], length: int) -> Form:
    """The form of a structure of so many bytes (FO2)."""
    return Form(section, length)


def _struct(each: Field) -> struct.Struct:
    if each.of is not None:
        return struct.Struct(f">{(each.end - each.offset) // WORD}I")  # FO4
    if each.wire in _CODES:
        return struct.Struct(f">{each.shape[0] if each.shape else 1}{_CODES[each.wire]}")
    return struct.Struct(f">{each.size}s")


def _fill(made: bytearray, each: Field, code: struct.Struct, value: Value) -> None:
    if isinstance(value, str):
        code.pack_into(made, each.offset, ebcdic(value, each.size))
    elif isinstance(value, list):
        most = LARGEST[f"u{WORD}" if each.of is not None else each.wire]
        code.pack_into(made, each.offset, *(min(one, most) for one in value))
    elif isinstance(value, int):
        code.pack_into(made, each.offset, min(value, LARGEST[each.wire]))
    else:
        code.pack_into(made, each.offset, value)


def ebcdic(text: str, size: int) -> bytes:
    """Text for a field of so many bytes (FO3)."""
    known = text.encode(CP1047.codec, "replace").decode(CP1047.codec)
    return CP1047.encode(known[:size], size)
