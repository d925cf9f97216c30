"""Arrow arrays over NumPy's memory: plain ones, validity, text, the names of codes.

Rules
  A1  No copy: an Arrow array holds the memory that NumPy filled.
  A2  Text is dictionary-encoded first; only distinct values are decoded, and small dictionaries only once.
  A3  The text of a code nobody named is null.
  A4  Arrays are made from buffers and read from them: `pa.array` and `to_numpy` import pandas where it is installed.

Called by gather, cells, record_columns and columns.  Knows nothing of records.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from quaestor.layout import CodePage

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_REMEMBERED_BYTES = 4096  # dictionaries up to this size are kept (A2)


def primitive(kind: pa.DataType, values: NDArray[Any], valid: Mask | None = None) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [bitmap(valid), pa.py_buffer(values)])


def bitmap(valid: Mask | None) -> pa.Buffer | None:
    """Arrow's validity bits; None when nothing is null."""
    if valid is None or np.count_nonzero(valid) == len(valid):
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def numbers(array: pa.Array, dtype: type[np.generic]) -> NDArray[Any]:
    """The values of a plain array; those under nulls mean nothing."""
    return np.frombuffer(array.buffers()[1], dtype, len(array) + array.offset)[array.offset :]


def validity(array: pa.Array) -> Mask | None:
    """Where an array is not null; None when nowhere."""
    if not array.null_count:
        return None
    bits = np.frombuffer(array.buffers()[0], np.uint8)
    return np.unpackbits(bits, count=len(array) + array.offset, bitorder="little")[array.offset :].astype(np.bool_)


def booleans(values: Mask) -> pa.Array:
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])


def strings(values: Iterable[str]) -> pa.Array:
    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    return pa.Array.from_buffers(
        pa.string(), len(encoded), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    )


def both(one: Mask | None, other: Mask) -> Mask:
    """Valid by both; None means valid everywhere."""
    return other if one is None else one & other


def dictionary(indices: pa.Array, texts: pa.Array) -> pa.Array:
    """A dictionary-encoded column from indices that are known to be right."""
    return pa.DictionaryArray.from_arrays(indices, texts, safe=False)


def texts(packed: NDArray[np.void], size: int, page: CodePage, valid: Mask | None = None) -> pa.Array:
    """Text fields of `size` bytes as a dictionary of strings (A2)."""
    fixed = pa.Array.from_buffers(pa.binary(size), packed.size, [bitmap(valid), pa.py_buffer(packed)])
    encoded = fixed.dictionary_encode()
    data = encoded.dictionary.buffers()[1].to_pybytes()[: len(encoded.dictionary) * size]
    read = _remembered if len(data) <= _REMEMBERED_BYTES else _decoded
    distinct, places = read(data, size, page)
    indices = encoded.indices if places is None else places.take(encoded.indices)
    return dictionary(indices, distinct)


def _decoded(data: bytes, size: int, page: CodePage) -> tuple[pa.Array, pa.Array | None]:
    """The distinct strings, and where each value went if some were one text: different bytes, for fill differs.

    A code page gives one character for each byte, so all values are decoded together.
    """
    joined = data.translate(page.permutation).decode(page.codec)
    numbers: dict[str, int] = {}
    values = [joined[at : at + size].rstrip(" \0") for at in range(0, len(joined), size)]
    places = [numbers.setdefault(value, len(numbers)) for value in values]
    merged = len(numbers) < len(places)
    return strings(numbers), primitive(pa.int32(), np.array(places, np.int32)) if merged else None


_remembered = lru_cache(maxsize=1024)(_decoded)


@dataclass(frozen=True, slots=True)
class CodeNames:
    """The texts of a coded field, ready to be looked up by code (A3)."""

    lowest: int
    table: NDArray[np.int32]
    texts: pa.Array

    @classmethod
    def of(cls, names: Mapping[int, str]) -> "CodeNames":
        lowest, highest = min(names), max(names)
        table = np.full(highest - lowest + 2, -1, dtype=np.int32)
        table[[code - lowest for code in names]] = np.arange(len(names))
        return cls(lowest, table, strings(names.values()))

    def indices(self, codes: NDArray[np.int32], valid: Mask | None) -> tuple[NDArray[np.int32], Mask]:
        """Indices into the texts, and which of them mean something."""
        places = (codes - np.int32(self.lowest)).view(np.uint32)  # below the lowest wraps to far above the highest
        found = self.table[np.minimum(places, len(self.table) - 1)]
        return found, both(valid, found >= 0)

    def column(self, codes: NDArray[np.int32], valid: Mask | None) -> pa.Array:
        return dictionary(primitive(pa.int32(), *self.indices(codes, valid)), self.texts)


@dataclass(frozen=True, slots=True)
class Values:
    """A column in NumPy's hands; `texts` is the dictionary when the values are indices into one, -1 where null."""

    values: NDArray[Any]
    valid: Mask | None = None
    texts: pa.Array | None = None

    @classmethod
    def of(cls, encoded: pa.Array) -> "Values":
        """Of a dictionary-encoded text column."""
        values, valid = numbers(encoded.indices, np.int32), validity(encoded.indices)
        return cls(values if valid is None else np.where(valid, values, np.int32(-1)), valid, encoded.dictionary)

    @property
    def names(self) -> list[str]:
        return [] if self.texts is None else self.texts.to_pylist()

    def tidy(self) -> "Values":
        """The column without a mask when nothing is null."""
        whole = self.valid is not None and self.valid.all()
        return Values(self.values, None, self.texts) if whole else self

    def blank_is_null(self) -> "Values":
        blank = self.names.index("") if "" in self.names else -1
        return Values(self.values, both(self.valid, self.values != blank), self.texts)


@dataclass(frozen=True, slots=True)
class Stack:
    """Columns of equal width one under another, to be repeated together: one take for all of them."""

    columns: tuple[tuple[str, pa.DataType, Values], ...]
    values: NDArray[Any]

    @classmethod
    def of(cls, columns: Iterable[tuple[str, pa.DataType, Values]]) -> "list[Stack]":
        made: dict[int, list[tuple[str, pa.DataType, Values]]] = {}
        for name, kind, values in columns:
            made.setdefault(values.values.itemsize, []).append((name, kind, values.tidy()))
        return [
            cls(tuple(alike), np.stack([each.values.view(f"i{width}") for _, _, each in alike]))
            for width, alike in made.items()
        ]

    def repeat(self, places: Ints, there: Mask | None = None) -> Iterator[tuple[str, pa.Array]]:
        """The values at `places`; null where not `there`."""
        taken = self.values.take(places, axis=1)
        whole, count, size = pa.py_buffer(taken), len(places), len(places) * taken.itemsize
        for index, (name, kind, made) in enumerate(self.columns):
            valid = bitmap(there if made.valid is None else both(there, made.valid[places]))
            plain = kind if made.texts is None else pa.int32()
            part = pa.Array.from_buffers(plain, count, [valid, whole.slice(index * size, size)])
            yield name, part if made.texts is None else dictionary(part, made.texts)
