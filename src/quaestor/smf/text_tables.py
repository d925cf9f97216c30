"""Tables as text: CSV with arrays laid out in columns, JSON lines with arrays as they are.

Rules
  X1  CSV has one column for each element of an array, named by its place: `latch_waits_0`, and for a block inside an
      array `cf_calls_0_kinds_3_requests`. There are as many as the structure declares, whatever a level fills.
  X2  A JSON line is one row. Its text is built column by column, as the tables are: no Python per row.
  X3  Null is an empty field in CSV and null in JSON. Tokens are hexadecimal. Instants are ISO 8601, UTC ones with Z;
      CSV has a blank in place of the T, which spreadsheets read.

Called by export.  Calls arrow_schema for the shapes of arrays.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from quaestor.layout import Field, Layout
from quaestor.smf.arrow_schema import Names, columns_of, field_name, schema_of, shown

_ROWS_AT_A_TIME = 4096  # a row of WQST is ten thousand characters long
_HEXADECIMAL = np.frombuffer(b"".join(b"%02X" % byte for byte in range(256)), "V2")


class TextPieces:
    """What one process makes of one part of a dump: rows without a line of names."""

    def __init__(self, directory: Path, to: Literal["csv", "jsonl"], names: Names) -> None:
        self._directory = directory
        self._to = to
        self._names = names
        self._pieces: dict[str, Path] = {}

    def add(self, layout: Layout, table: pa.Table) -> None:
        path = self._pieces.setdefault(layout.structure, self._directory / f"{layout.structure}.{self._to}")
        with path.open("ab") as sink:
            for batch in table.to_batches(max_chunksize=_ROWS_AT_A_TIME):
                if self._to == "csv":
                    csv.write_csv(flat(batch, layout, self._names), sink, csv.WriteOptions(include_header=False))
                else:
                    sink.write(json_lines(batch))

    def close(self) -> dict[str, Path]:
        return self._pieces


class TextFile:
    """The file of one structure, out of pieces in the order of the dump; CSV begins with a line of names."""

    def __init__(self, path: Path, layout: Layout, names: Names) -> None:
        self._path = path
        if path.suffix == ".csv":
            schema = schema_of(columns_of(layout, names), dictionary=False)
            csv.write_csv(flat(pa.RecordBatch.from_pylist([], schema), layout, names), path)

    def add(self, piece: Path) -> None:
        with piece.open("rb") as source, self._path.open("ab") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)

    def close(self) -> None:
        """Nothing is open."""


# --- CSV -------------------------------------------------------------------------------------------------------------


def flat(batch: pa.RecordBatch, layout: Layout, names: Names) -> pa.RecordBatch:
    """The batch with arrays and blocks laid out in columns, and all values as text can show them (X1, X3)."""
    fields = {each.name: each.field for each in columns_of(layout, names)}
    columns = dict(
        pair
        for name, array in zip(batch.schema.names, batch.columns, strict=True)
        for pair in _flat(name, array, fields[name], fields[name].shape, names)
    )
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _flat(
    name: str, array: pa.Array, each: Field, shape: tuple[int, ...], names: Names
) -> Iterator[tuple[str, pa.Array]]:
    if shape:
        for number in range(shape[0]):
            yield from _flat(f"{name}_{number}", _element(array, number), each, shape[1:], names)
    elif each.of is not None:
        for inner, child in zip(shown(each.of.LAYOUT), array.flatten(), strict=True):
            yield from _flat(f"{name}_{field_name(inner, names)}", child, inner, inner.shape, names)
    elif pa.types.is_dictionary(array.type):
        yield name, array.dictionary_decode()
    else:
        yield name, _hexadecimal(array) if pa.types.is_binary(array.type) else array


def _element(lists: pa.Array, number: int) -> pa.Array:
    """One element of every list; null where the list is shorter."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy()
    places = np.cumsum(lengths) - lengths + number
    return lists.flatten().take(pa.array(places, mask=lengths <= number))


# --- JSON lines ------------------------------------------------------------------------------------------------------


def json_lines(batch: pa.RecordBatch) -> memoryview:
    """The rows of a batch, one JSON object a line (X2)."""
    lines = _objects(batch.schema.names, batch.columns, end="}\n")
    offsets = np.frombuffer(lines.buffers()[1], np.int32)
    return memoryview(lines.buffers()[2])[offsets[lines.offset] : offsets[lines.offset + len(lines)]]


def _objects(names: list[str], arrays: list[pa.Array], end: str = "}") -> pa.Array:
    """Objects out of their members' columns."""
    parts: list[pa.Array | str] = []
    for number, (name, array) in enumerate(zip(names, arrays, strict=True)):
        parts += [f"{',' if number else '{'}{json.dumps(name)}:", _values(array)]
    return pc.binary_join_element_wise(*parts, end, "")


def _values(array: pa.Array) -> pa.Array:
    """Every value of an array as JSON text (X3)."""
    return _members(array).fill_null("null")


def _members(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _quoted(array.dictionary).take(array.indices)
    if pa.types.is_string(kind):
        return _members(array.dictionary_encode())
    if pa.types.is_binary(kind):
        return pc.binary_join_element_wise('"', _hexadecimal(array), '"', "")
    if pa.types.is_timestamp(kind):
        text = pc.replace_substring(array.cast(pa.string()), " ", "T", max_replacements=1)
        return pc.binary_join_element_wise('"', text, '"', "")
    if pa.types.is_list(kind):
        return _lists(array)
    if pa.types.is_struct(kind):
        made = _objects([kind.field(number).name for number in range(kind.num_fields)], array.flatten())
        return pc.if_else(array.is_valid(), made, None)
    return array.cast(pa.string())


def _quoted(texts: pa.Array) -> pa.Array:
    return pa.array([json.dumps(each) for each in texts.to_pylist()], pa.string())


def _lists(lists: pa.Array) -> pa.Array:
    lengths = pc.list_value_length(lists)
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum(lengths.fill_null(0).to_numpy(), out=offsets[1:])
    texts = pa.ListArray.from_arrays(pa.array(offsets), _values(lists.flatten()))
    made = pc.binary_join_element_wise("[", pc.binary_join(texts, ","), "]", "")
    return pc.if_else(lengths.is_valid(), made, None)


def _hexadecimal(tokens: pa.Array) -> pa.Array:
    """Binary values as hexadecimal text."""
    offsets = np.frombuffer(tokens.buffers()[1], np.int32)[tokens.offset : tokens.offset + len(tokens) + 1]
    data = np.frombuffer(tokens.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    buffers = [None, pa.py_buffer((offsets - offsets[0]) * 2), pa.py_buffer(_HEXADECIMAL[data])]
    made = pa.Array.from_buffers(pa.string(), len(tokens), buffers)
    return pc.if_else(tokens.is_valid(), made, None) if tokens.null_count else made
