"""Live statistics: the section objects a queue manager counts into, as tables of one row each.

Rules
  H1  A section becomes the row that its SMF record would give: the same columns, the same units, unused slots left
      out. A test packs sections, decodes them and compares.
  H2  A live interval has nothing before it: rules that compare intervals do not fire.

Called by who watches a running queue manager.  Calls smf for the columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from quaestor.advisor.views import empty
from quaestor.clock import TOD_UNITS_PER_MICROSECOND
from quaestor.layout import Field, Record
from quaestor.smf.arrow_schema import Source, columns_of, schema


@dataclass(frozen=True, slots=True)
class Interval:
    """Whose sections they are, and what time they cover."""

    queue_manager: str
    system: str
    end: datetime
    seconds: float
    release: str = ""
    queue_sharing_group: str = ""


def tables_of(sections: Iterable[Record], interval: Interval) -> dict[str, pa.Table]:
    """The tables of live sections by structure (H1)."""
    found: dict[str, list[Record]] = {}
    for each in sections:
        found.setdefault(each.LAYOUT.structure, []).append(each)
    return {structure: _table(structure, members, interval) for structure, members in found.items()}


def _table(structure: str, sections: list[Record], interval: Interval) -> pa.Table:
    made = schema(type(sections[0]))
    rows = [_row(each, number, interval) for number, each in enumerate(sections)]
    return pa.Table.from_pylist(rows, schema=made) if rows else empty(structure)


def _row(section: Record, number: int, interval: Interval) -> dict[str, object]:
    row: dict[str, object] = {
        "queue_manager": interval.queue_manager,
        "system": interval.system,
        "release": interval.release or None,
        "queue_sharing_group": interval.queue_sharing_group or None,
        "local_time": interval.end,
        "interval_us": interval.seconds * 1e6,
        "occurrence": number,
    }
    for column in columns_of(section.LAYOUT):
        if column.source is Source.FIELD:
            row[column.name] = _value(column.field, getattr(section, column.field.name, None))
    return row


def _value(each: Field, value: object) -> object:
    """A field's value as its table shows it: intervals in microseconds, blocks by name, unset values unknown."""
    if value is None or (each.unset is not None and value == each.unset):
        return None
    if isinstance(value, list):
        inner = [_element(each, item) for item in value]
        return [item for item in inner if not _unused(item)] if each.of is not None else inner
    return _element(each, value)


def _element(each: Field, value: object) -> object:
    if isinstance(value, list):
        return [_element(each, item) for item in value]
    if isinstance(value, Record):
        return {
            inner.column: _value(inner, getattr(value, inner.name)) for inner in value.LAYOUT.fields if inner.kind.shown
        }
    if each.is_tod_interval and isinstance(value, int):
        return value / TOD_UNITS_PER_MICROSECOND
    if each.kind.unit in {"utc", "local"}:
        return None  # no rule reads an instant of a live section
    return value


def _unused(item: object) -> bool:
    """A slot whose leading name is blank is not in use."""
    if not isinstance(item, Mapping):
        return False
    first = next(iter(item.values()), None)
    return first == ""
