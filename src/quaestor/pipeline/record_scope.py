"""Which raw tables an update reads, and which column an official field name means there.

Rules
  V1  A record name such as SMF_116_01 stands for the structures of that record; without SECTION only those that occur
      once, with SECTION the one that repeats. The header and task fields of the record stay in scope.
  V2  Queue sections of 116-1 and of its 116-2 continuations are one table.
  V3  Official names are accepted, and the human names of the same columns; where one reads like another's official name
      (GETS are the specific gets, not all `gets`), the official name wins. Names that the papers use for another
      release of a field (SM116STY) are aliases.
  V4  Intervals are in TOD units under their official name, so that the papers' `/4096` gives microseconds; under the
      human name they are microseconds already.

  V5  SM115END and SM116END are the day that a record closes: the date of the moment one minute before it was written.
      Interval records of a day's last interval are written at or just after midnight; dated by SM116DTE they would make
      a week or a month of their own. Weekly and monthly tables use it; what MP1B prints with SM116DTE stays so.

Called by compilation.  Calls smf for the layouts.  Knows no Spark.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from functools import lru_cache

import pyarrow as pa

from quaestor.smf.arrow_schema import Source, columns_of, shown
from quaestor.smf.catalog import SECTIONS


class Type(Enum):
    """What an expression of the update language yields."""

    INTEGER = "integer"
    DOUBLE = "double"
    STRING = "string"
    DATE = "date"
    TIME = "time"
    STAMP = "timestamp"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class RecordSource:
    """The structures behind a record name: those that occur once, and those that repeat by section name."""

    once: tuple[str, ...]
    sections: Mapping[str, str]


RECORDS: Mapping[str, RecordSource] = {
    "SMF_115_01": RecordSource(("QJST", "QSST"), {}),
    "SMF_115_02": RecordSource(
        ("QMST", "QIST", "QLST", "Q5ST", "QTST"), {"STRUCTURE": "QEST", "SMDS": "QESD", "BUFFER_POOL": "QPST"}
    ),
    "SMF_115_05": RecordSource((), {"POOL": "QSPH"}),
    "SMF_115_06": RecordSource((), {"GETMAIN": "QSGM"}),
    "SMF_115_07": RecordSource(("QSRS",), {}),
    "SMF_115_201": RecordSource((), {"PAGE_SET": "QIS1"}),
    "SMF_115_215": RecordSource((), {"BUFFER_POOL": "QPST"}),
    "SMF_115_216": RecordSource((), {"QUEUE": "QQST"}),
    "SMF_115_231": RecordSource(
        ("QCCT",), {"DISPATCHER": "QCT_DSP", "ADAPTER": "QCT_ADP", "SSL_TASK": "QCT_SSL", "DNS_TASK": "QCT_DNS"}
    ),
    "SMF_116_00": RecordSource(("QMAC", "QWAC"), {}),
    "SMF_116_01": RecordSource(("WTAS",), {"QUEUE_BLOCK": "WQST"}),
    "SMF_116_10": RecordSource((), {"CHANNEL": "QCST"}),
}

EXPLODED = {"QEST": "structures"}
"""Structures whose rows stand in an array: the section is one element of it."""


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A field in scope: the raw table's column, its type, and whether TOD units are meant (V4)."""

    structure: str
    column: str
    type: Type
    tod: bool = False
    inside: str = ""  # the array it is exploded from
    before: bool = False  # the moment before is meant (V5)


_HEADER_FIELDS = {
    "DTE": ("local_time", Type.DATE),
    "END": ("local_time", Type.DATE),
    "TME": ("local_time", Type.TIME),
    "SID": ("system", Type.STRING),
    "SSI": ("queue_manager", Type.STRING),
    "STF": ("subtype", Type.INTEGER),
    "STY": ("subtype", Type.INTEGER),
    "REL": ("release", Type.STRING),
}


def structures_of(record: str, section: str | None) -> tuple[str, ...] | None:
    """The structures an update may read (V1); None when the record or section is not known."""
    source = RECORDS.get(record)
    if source is None:
        return None
    if section is None:
        return source.once or None
    structure = source.sections.get(section)
    return (structure,) if structure else None


def find(structures: tuple[str, ...], name: str) -> ScopeColumn | None:
    """The column that a field name means in these structures (V3)."""
    for structure in structures:
        found = _scope(structure).get(name)
        if found is not None:
            return found
    return None


def near(structures: tuple[str, ...], name: str) -> list[str]:
    """Field names that look like `name`, for an error message."""
    names = [each for structure in structures for each in _scope(structure) if each.isupper()]
    return get_close_matches(name, names, n=3, cutoff=0.6)


@lru_cache(maxsize=64)
def _scope(structure: str) -> Mapping[str, ScopeColumn]:
    scope: dict[str, ScopeColumn] = {}
    for each in _columns(structure):
        scope.setdefault(each[0], each[1])
    return scope


def _columns(structure: str) -> Iterator[tuple[str, ScopeColumn]]:
    section = SECTIONS[structure]
    record_type = "116" if structure in ("WTAS", "WQST", "QMAC", "QWAC", "QCST", "WTID") else "115"
    for suffix, (column, kind) in _HEADER_FIELDS.items():
        yield f"SM{record_type}{suffix}", ScopeColumn(structure, column, kind, before=suffix == "END")
    typed = [(each, found) for each in columns_of(section.LAYOUT) if (found := _type(each.type)) is not None]
    for each, found in typed:
        if each.source in (Source.FIELD, Source.TASK, Source.TRANSACTION):
            yield each.field.official, ScopeColumn(structure, each.name, found, tod=each.field.is_tod_interval)
    for each, found in typed:
        yield each.name.upper(), ScopeColumn(structure, each.name, found)
    yield from _exploded(structure)


def _exploded(structure: str) -> Iterator[tuple[str, ScopeColumn]]:
    array = EXPLODED.get(structure)
    if array is None:
        return
    element = SECTIONS[structure].LAYOUT[array].of
    if element is None:
        return
    for each in shown(element.LAYOUT):
        kind = Type.STRING if each.wire == "text" else Type.DOUBLE if each.is_tod_interval else Type.INTEGER
        yield each.official, ScopeColumn(structure, each.column, kind, tod=each.is_tod_interval, inside=array)
        yield each.column.upper(), ScopeColumn(structure, each.column, kind, inside=array)


def _type(kind: pa.DataType) -> Type | None:
    if pa.types.is_integer(kind):
        return Type.INTEGER
    if pa.types.is_floating(kind):
        return Type.DOUBLE
    if pa.types.is_string(kind):
        return Type.STRING
    if pa.types.is_timestamp(kind):
        return Type.STAMP
    return Type.BYTES if pa.types.is_binary(kind) else None
