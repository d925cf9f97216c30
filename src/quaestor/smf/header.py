"""The header of a record: who wrote it, when, at which level.

Rules
  H1  The length in triplet 0 tells which headers stand there: 36 or 52 bytes of QWHS, 128 = QWHS (36) + QWHC (92),
      16 more = QWHX. The flag bit for QWHX holds residue in 116-1 and is not trusted.
  H2  The SMF header and QWHSTIME are local time, QWHSSTCK is UTC. Header minus QWHSSTCK, to the quarter of an hour,
      is the record's own zone offset. A day or more is none: one of the two clocks was never set.
  H3  The release is QWHX's where there is one, for the SMF header has said 946 ever since V10; otherwise the header's.
  H4  QWHSDURN is microseconds, but TOD units in 115-231 and 116-10. Ten years or more is none: no queue manager has
      been up that long, and no hour is found from it.

Called by records and printing; columns does the same for many records at once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from quaestor import clock
from quaestor.layout import CodePage, unpack
from quaestor.smf.catalog import RecordKind
from quaestor.smf.sections.headers import CommonHeader, CorrelationHeader, ExtensionHeader, Smf115Header, Smf116Header

COMMON_SIZE = 52
COMMON_BEFORE_CORRELATION = 36
CORRELATION_SIZE = 92
EXTENSION_SIZE = 16
STUB_SIZE = 4
NO_ZONE = timedelta(days=1)
NO_INTERVAL_US = timedelta(days=3653) / timedelta(microseconds=1)

SmfHeader = Smf115Header | Smf116Header


@dataclass(frozen=True, slots=True)
class HeaderSection:
    """The headers behind triplet 0; those a record does not have are None."""

    common: CommonHeader | None = None
    correlation: CorrelationHeader | None = None
    extension: ExtensionHeader | None = None


def header_lengths(kind: RecordKind, length: int) -> tuple[int, int, int]:
    """Lengths of QWHS, QWHC and QWHX in a header section of `length` bytes (H1)."""
    if kind.stub:
        return 0, 0, EXTENSION_SIZE if length >= STUB_SIZE + EXTENSION_SIZE else 0
    if kind.correlated:
        known = COMMON_BEFORE_CORRELATION + CORRELATION_SIZE
        if length < known:
            return min(length, COMMON_BEFORE_CORRELATION), 0, 0
        return COMMON_BEFORE_CORRELATION, CORRELATION_SIZE, EXTENSION_SIZE if length >= known + EXTENSION_SIZE else 0
    extended = length >= COMMON_SIZE + EXTENSION_SIZE
    return min(length, COMMON_SIZE), 0, EXTENSION_SIZE if extended else 0


def unpack_header(data: bytes, at: int, length: int, kind: RecordKind, page: CodePage) -> HeaderSection:
    """The header section at `at` of a record (H1)."""
    common, correlation, extension = header_lengths(kind, length)
    after_common = at + (STUB_SIZE if kind.stub else common)
    return HeaderSection(
        unpack(CommonHeader, data, at, common, page) if common else None,
        unpack(CorrelationHeader, data, after_common, correlation, page) if correlation else None,
        unpack(ExtensionHeader, data, after_common + correlation, extension, page) if extension else None,
    )


def release_of(header: SmfHeader, extension: ExtensionHeader | None) -> str:
    """The release that wrote the record, such as 8.0.0 or 10.0.0 (H3)."""
    if extension is not None and len(extension.release) == 6 and extension.release.isdigit():
        vv, rr, mm = (int(extension.release[i : i + 2]) for i in (0, 2, 4))
        return f"{vv}.{rr}.{mm}"
    return ".".join(header.release)


def utc_of(common: CommonHeader | None) -> datetime | None:
    """When the record was built, UTC (H2)."""
    return clock.datetime_from_tod(common.built_at) if common is not None and common.built_at is not None else None


def zone_of(local: datetime | None, utc: datetime | None) -> timedelta | None:
    """The record's own zone offset (H2)."""
    if local is None or utc is None:
        return None
    zone = clock.zone_offset(local, utc)
    return zone if abs(zone) < NO_ZONE else None


def interval_us(common: CommonHeader | None, kind: RecordKind) -> float | None:
    """The interval's length in microseconds (H4)."""
    if common is None or common.interval_length is None:
        return None
    length = common.interval_length
    us = clock.microseconds(length) if kind.tod_interval else float(length)
    return us if us < NO_INTERVAL_US else None
