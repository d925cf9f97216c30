"""Who a task was: header lines, thread type, and what its thread cross-reference says.

The cross-reference (QWHCCV, WTIDCORI) is 12 bytes: for CICS a thread number, the transaction and a packed task
number; for IMS the PST region and the PSB; for the others it says nothing.

Called by programs, mq1160, mq116s.  Calls figures.
"""

from collections.abc import Iterator

from quaestor.smf.codes import CONNTYPE
from quaestor.smf.printing.figures import ABSENT, View, clock_time, token_hex, zone_text
from quaestor.smf.records import SmfRecord

CICS, BATCH, IMS_CONTROL, IMS_DEPENDENT = 1, 2, 3, 4
THREAD_TYPES = {**CONNTYPE, BATCH: "MVS/TSO"}  # the word MQ116S has for batch
BLANK = b"\0\x40"  # zeros, or blanks of EBCDIC
_DOTS = 27


def thread_type(connection_type: int | None) -> str:
    if connection_type is None:
        return ABSENT
    return THREAD_TYPES.get(connection_type, f"unknown ({connection_type})")


def cross_reference(connection_type: int | None, correlation: bytes, view: View) -> str:
    """The thread cross-reference in words, as far as the connection type gives it a meaning."""
    if not correlation.strip(BLANK):
        return ""
    if connection_type == CICS:
        thread, transaction, task = correlation[:4], view.characters(correlation[4:8]), correlation[8:].hex()[:-1]
        return f"thread {int.from_bytes(thread, 'big')}, transaction {transaction}, task {task.lstrip('0') or '0'}"
    if connection_type in (IMS_CONTROL, IMS_DEPENDENT):
        region = view.characters(correlation[:4])
        return (
            f"PST {region if region.isalnum() else token_hex(correlation[:4])}, PSB {view.characters(correlation[4:])}"
        )
    return view.characters(correlation)


def smf_date(record: SmfRecord) -> str:
    """The date of the SMF header as yyyyddd."""
    return f"{record.local_time:%Y%j}" if record.local_time else ABSENT


def smf_time(record: SmfRecord) -> str:
    """The time of the SMF header, hh:mm:ss.th."""
    return clock_time(record.local_time) if record.local_time else ABSENT


def header_lines(record: SmfRecord) -> Iterator[str]:
    """The header of MQ1150 and MQ1160, and under it what the record tells about its time and level."""
    header = record.header
    yield f"MVS:{header.system} MQ_Subsys:{header.queue_manager} Date {smf_date(record)} Time {smf_time(record)}"
    yield when_and_level(record)


def when_and_level(record: SmfRecord) -> str:
    """SMF type, UTC, local time with its zone offset, interval, release and queue-sharing group (P5)."""
    parts = [f"SMF {record.header.record_type}-{record.header.subtype}"]
    if record.utc_time is not None:
        parts.append(f"UTC {record.utc_time:%Y-%m-%d} {clock_time(record.utc_time)}")
    if record.local_time is not None:
        zone = f" {zone_text(record.zone)}" if record.zone is not None else ""
        parts.append(f"local {record.local_time:%Y-%m-%d} {clock_time(record.local_time)}{zone}")
    if record.interval_us:
        parts.append(f"interval {record.interval_us / 1e6:.2f} s")
    if record.release:
        parts.append(f"MQ {record.release}")
    if record.headers.extension is not None and record.headers.extension.queue_sharing_group:
        parts.append(f"QSG {record.headers.extension.queue_sharing_group}")
    return "  " + ", ".join(parts)


def dotted(label: str, text: str | None, note: str = "") -> str:
    """A line of identification as MQ116S has it: label, dots, note, value."""
    dots = "." * (_DOTS - len(label) - len(note))
    return f"== {label}{dots}{note}> {ABSENT if text is None else text}".rstrip()


def dotted_token(label: str, token: bytes | None, text: str = "", *, always: bool = False) -> Iterator[str]:
    """A token in words, then in hexadecimal: `always`, or when it is neither blank nor zero."""
    yield dotted(label, None if token is None else text)
    if token is not None and (always or token.strip(BLANK)):
        yield dotted(label, token_hex(token), "(HEX)")
