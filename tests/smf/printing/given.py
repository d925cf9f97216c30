"""Records with the figures of MP1B's worked examples, and comparison with golden printouts."""

import os
import re
from datetime import UTC, date, datetime
from pathlib import Path

from quaestor.clock import packed_date, tod_from_datetime, tod_interval, us_from_tod
from quaestor.layout import pack, unpack
from quaestor.smf.catalog import CATALOG, CURRENT_LEVEL
from quaestor.smf.header import HeaderSection
from quaestor.smf.records import SmfRecord
from quaestor.smf.sections.headers import CommonHeader, Smf115Header, Smf116Header
from quaestor.smf.sections.queue_accounting import QueueAccounting
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.writer import RecordIdentity, build_record

GOLDEN = Path(__file__).parents[2] / "golden" / "print"
OCTOBER_23 = date(2000, 10, 23)  # day 297 of 2000


def us(microseconds, times=1):
    """TOD units of so many microseconds, `times` over."""
    return tod_interval(microseconds * times)


def ms(milliseconds, times=1):
    return us(1000 * milliseconds, times)


def utc(hour, minute, second, hundredths=0):
    """The TOD stamp of a moment on 23 October 2000."""
    return tod_from_datetime(datetime(2000, 10, 23, hour, minute, second, 10_000 * hundredths, tzinfo=UTC))


def record(record_type, subtype, *sections, at=(16, 40, 34, 25), system="MV25", queue_manager="V520", **headers):
    """A record of 23 October 2000 with one section or several of each structure; local time is UTC + 1 hour."""
    hour, minute, second, hundredths = at
    cls = Smf115Header if record_type == 115 else Smf116Header
    header = cls(
        record_type=record_type,
        subtype=subtype,
        system=system,
        queue_manager=queue_manager,
        release="520",
        date_packed=packed_date(OCTOBER_23),
        time_hundredths=((hour * 60 + minute) * 60 + second) * 100 + hundredths,
    )
    headers.setdefault("common", CommonHeader(built_at=utc(hour - 1, minute, second, hundredths)))
    made = SmfRecord(0, 0, header, CATALOG.get((record_type, subtype)), HeaderSection(**headers))
    for each in sections:
        made.sections.setdefault(each.LAYOUT.structure, []).append(each)
    return made


def written(record_type, subtype, *sections, queue_manager="QM01", level=CURRENT_LEVEL):
    """The bytes of a record of 23 October 2000, 15:40:34 UTC."""
    identity = RecordIdentity("MV25", queue_manager, level, zone_minutes=60)
    return build_record(CATALOG[record_type, subtype], sections, identity, us_from_tod(utc(15, 40, 34)))


def task_bytes(job, *queues, queue_manager="QM01"):
    """A 116-1 record of a batch job with these queues."""
    who = TaskIdentification(connection_type=2, connection_name=job)
    accounts = [QueueAccounting(object_name=name) for name in queues]
    return written(116, 1, who, TaskAccounting(commits=1), *accounts, queue_manager=queue_manager)


def continuation_bytes(job, *queues):
    """The 116-2 record that continues it."""
    who = TaskIdentification(connection_type=2, connection_name=job)
    return written(116, 2, who, *(QueueAccounting(object_name=name) for name in queues))


def at_v52(section, length):
    """The section as a V5.2 queue manager wrote it: fields of later levels are absent."""
    return unpack(type(section), pack(section, length), length=length)


def squeezed(lines):
    """Lines with every run of blanks as one: what MP1B's damaged print can be compared with."""
    return [re.sub(r" +", " ", line).strip() for line in lines]


def assert_golden(name, lines):
    """The printout equals its golden file. QUAESTOR_GOLDEN=write renews the file: read the difference before use."""
    path, printed = GOLDEN / name, "\n".join(lines) + "\n"
    if os.environ.get("QUAESTOR_GOLDEN") == "write":
        path.write_text(printed, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == printed
