"""The content of a printout for machines: one object per record or task, of numbers, texts and lists only.

Columns have the human names of the declarations. Intervals are microseconds, stamps are ISO 8601 in UTC, tokens are
hexadecimal, coded fields their meaning where one is known. What is absent or not set is null (P3).

Called by the command `smf print --json`.  Calls layout and clock.
"""

from typing import Any

from quaestor.clock import datetime_from_tod, microseconds
from quaestor.layout import Field, Record
from quaestor.smf.printing.figures import names_of_bits, zone_text
from quaestor.smf.records import SmfRecord, Task


def plain_record(record: SmfRecord) -> dict[str, Any]:
    """A record with all its headers and sections."""
    headers = {
        each.LAYOUT.structure: plain_section(each)
        for each in (record.headers.common, record.headers.correlation, record.headers.extension)
        if each is not None
    }
    sections = {name: [plain_section(each) for each in found] for name, found in record.sections.items()}
    return {**_about(record), "headers": headers, "sections": sections}


def plain_task(task: Task) -> dict[str, Any]:
    """A task with the queues of its record and of every continuation."""
    made = plain_record(task.record)
    if task.queues:
        made["sections"]["WQST"] = [plain_section(each) for each in task.queues]
    return made


def _about(record: SmfRecord) -> dict[str, Any]:
    return {
        "record": f"{record.header.record_type}-{record.header.subtype}",
        "position": record.position,
        "system": record.header.system,
        "queue_manager": record.header.queue_manager,
        "release": record.release,
        "local_time": record.local_time.isoformat() if record.local_time else None,
        "utc_time": record.utc_time.isoformat() if record.utc_time else None,
        "zone": None if record.zone is None else zone_text(record.zone),
        "interval_us": record.interval_us,
    }


def plain_section(section: Record) -> dict[str, Any]:
    """Every field that people see, under its column's name."""
    return {each.column: _plain(getattr(section, each.name), each) for each in section.LAYOUT.fields if each.kind.shown}


def _plain(value: Any, each: Field) -> Any:
    if isinstance(value, list):
        return [_plain(inner, each) for inner in value]
    if isinstance(value, Record):
        return plain_section(value)
    if value is None or (each.unset is not None and value == each.unset):
        return None
    if each.is_tod_interval:
        return microseconds(value)
    match each.kind.name:
        case "stamp" | "local_stamp":
            when = datetime_from_tod(value)
            local = each.kind.name == "local_stamp"
            return None if when is None else (when.replace(tzinfo=None) if local else when).isoformat()
        case "token":
            return value.hex().upper()
        case "flags":
            return names_of_bits(value, each)
        case "code":
            return (each.codes or {}).get(value, value)
        case _:
            return value
