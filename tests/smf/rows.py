"""What a table must hold, said record by record: the slow decoder's objects as rows of plain values."""

import random
from datetime import timedelta

import numpy as np

from quaestor import clock
from quaestor.layout import CP1047, unpack
from quaestor.smf.arrow_schema import TASK_SECTIONS
from quaestor.smf.blocks import Block
from quaestor.smf.catalog import length_at
from quaestor.smf.records import block_records
from quaestor.smf.writer import Interval, RecordIdentity, build_record

WHEN_US = 1_780_000_000_000_000
TASK_FIELDS = [
    "connection_type",
    "connection_name",
    "user_id",
    "operator_id",
    "correlation",
    "channel",
    "channel_connection",
]


def random_record(kind, level, seed, occurrences=2):
    """A record with every slot of its level filled with random bytes."""
    chance = random.Random(seed)
    sections = []
    for slot in kind.slots:
        if slot.used_at(level):
            length = length_at(slot.section, level)
            count = occurrences if slot.repeats else 1
            sections += [unpack(slot.section, chance.randbytes(length), 0, length) for _ in range(count)]
    zone_minutes = chance.randrange(-48, 57) * 15
    identity = RecordIdentity("SYS1", f"QM{seed % 10}", level, zone_minutes, chance.choice(["", "QSGA"]))
    interval = Interval(WHEN_US, chance.randrange(1, 10**9))
    return build_record(kind, sections, identity, WHEN_US + seed, interval=interval)


def block_of(records, gap=b""):
    """A block of whole records, `gap` bytes between them that belong to nobody; positions are offsets plus 1000."""
    data, offsets = bytearray(), []
    for each in records:
        offsets.append(len(data))
        data += each + gap
    starts = np.array(offsets, dtype=np.int64)
    lengths = np.array([len(each) for each in records], dtype=np.int64)
    return Block(data, starts, lengths, starts + 1000)


def expected_tables(block, names="human"):
    """Rows by structure, from the objects that the record-by-record decoder makes."""
    tables = {}
    for offset, length, record in zip(block.offsets, block.lengths, block_records(block), strict=True):
        raw = bytes(block.data[offset : offset + length])
        for structure, sections in record.sections.items():
            for occurrence, section in enumerate(sections):
                row = record_columns(record) | {"occurrence": occurrence}
                row |= task_columns(record, structure, names)
                row |= section_columns(section, section_bytes(raw, record, structure, occurrence), names)
                tables.setdefault(structure, []).append(row)
    return tables


def section_bytes(raw, record, structure, occurrence):
    """The section as it lies in the record."""
    slot = next(slot for slot in record.kind.slots if slot.section.LAYOUT.structure == structure)
    at = 28 + 8 * slot.triplet
    offset, length = int.from_bytes(raw[at : at + 4], "big"), int.from_bytes(raw[at + 4 : at + 6], "big")
    begin = offset + occurrence * length
    return raw[begin : begin + length]


def record_columns(record):
    common, extension = record.headers.common, record.headers.extension
    started = common.interval_start_local if common else None
    start = clock.datetime_from_tod(started) if started and record.zone is not None else None
    return {
        "record_type": record.header.record_type,
        "subtype": record.header.subtype,
        "system": record.header.system,
        "queue_manager": record.header.queue_manager,
        "release": record.release,
        "queue_sharing_group": (extension.queue_sharing_group or None) if extension else None,
        "local_time": record.local_time,
        "utc_time": record.utc_time,
        "zone_minutes": None if record.zone is None else record.zone // timedelta(minutes=1),
        "interval_start": None if start is None else start - record.zone,
        "interval_us": record.interval_us,
        "position": record.position,
    }


def task_columns(record, structure, names):
    layout = TASK_SECTIONS.get(structure)
    if layout is None:
        return {}
    task = record.headers.correlation if layout.structure == "QWHC" else record.sections.get("WTID", [None])[-1]
    row = {}
    for name in TASK_FIELDS:
        each = next((each for each in layout.fields if each.name == name), None)
        if each is not None:
            row |= named(each, None if task is None else getattr(task, name), names, "task_")
    official = "WTIDCTRN" if layout.structure == "WTID" else "QWHCTRN"
    return row | {"task_transaction" if names == "human" else official: transaction(task)}


def transaction(task):
    """The CICS transaction or the IMS PSB that stands behind the thread."""
    size = None if task is None or task.correlation is None else {1: 4, 3: 8, 4: 8}.get(task.connection_type)
    return CP1047.decode(task.correlation[4 : 4 + size]) or None if size else None


def section_columns(section, raw, names):
    layout, row = section.LAYOUT, {}
    if layout.structure == "WTAS":
        row["correlator" if names == "human" else "WTASCORR"] = raw[8:24] if len(raw) >= 24 else None
    for each in layout.fields:
        if each.kind.shown:
            value = getattr(section, each.name)
            if layout.structure == "QEST" and value is not None:
                value = [slot for number, slot in enumerate(value) if any(raw[8 + 64 * number :][:12])]
            clash = each.column in record_column_names() and names == "human"
            row |= named(each, value, names, f"{layout.structure.lower()}_" if clash else "")
    return row


def record_column_names():
    return {"queue_sharing_group", "interval_start", "queue_manager", "system", "release", "position", "subtype"}


def named(each, value, names, prefix):
    """A field's column, and the text of its code beside it."""
    name = prefix + each.column if names == "human" else each.official
    row = {name: plain(each, value, names)}
    if each.codes is not None:
        row[name + ("_name" if names == "human" else "_NAME")] = each.codes.get(row[name])
    return row


def plain(each, value, names):
    """A value as a table shows it."""
    if value is None:
        return None
    if isinstance(value, list):
        return [plain(each, element, names) for element in value]
    if each.of is not None:
        return {
            inner.column if names == "human" else inner.official: plain(inner, getattr(value, inner.name), names)
            for inner in each.of.LAYOUT.fields
            if inner.kind.shown
        }
    return value if isinstance(value, (str, bytes)) else number(each, value)


def number(each, value):
    if each.kind.unit == "utc":
        return clock.datetime_from_tod(value)
    if each.kind.name in ("elapsed", "longest", "shortest"):
        return value / 4096
    most = 2**31 - 1 if each.kind.name == "code" else 2**63 - 1
    return None if value == each.unset or value > most else value
