"""Who wrote a record, when, at which level, over which interval (rules H1 to H4), one header at a time."""

from datetime import UTC, datetime, timedelta

import pytest

from quaestor.clock import tod_from_datetime
from quaestor.layout import CODE_PAGES, CP1047, pack
from quaestor.smf.catalog import CATALOG
from quaestor.smf.header import (
    HeaderSection,
    header_lengths,
    interval_us,
    release_of,
    unpack_header,
    utc_of,
    zone_of,
)
from quaestor.smf.records import unpack_record
from quaestor.smf.sections.headers import (
    CommonHeader,
    CorrelationHeader,
    ExtensionHeader,
    Smf115Header,
    Smf116Header,
)
from smf.dumps import record

STATISTICS, ACCOUNTING, STORAGE = CATALOG[115, 2], CATALOG[116, 1], CATALOG[115, 5]
CHANNEL_INITIATOR, CHANNELS = CATALOG[115, 231], CATALOG[116, 10]
COMMON = CommonHeader(header_type=1, queue_manager="QM1A", built_at=5 << 12, interval_length=60_000_000)
WHO = CorrelationHeader(header_type=2, user_id="CICSUSER", connection_name="CICSA", connection_type=1)
GROUP = ExtensionHeader(header_type=0x10, queue_sharing_group="QSG1", release="100000")


# --- which headers there are (H1) ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "length", "parts"),
    [
        (STATISTICS, 4, (4, 0, 0)),
        (STATISTICS, 36, (36, 0, 0)),
        (STATISTICS, 51, (51, 0, 0)),
        (STATISTICS, 52, (52, 0, 0)),
        (STATISTICS, 67, (52, 0, 0)),
        (STATISTICS, 68, (52, 0, 16)),
        (STATISTICS, 200, (52, 0, 16)),
        (ACCOUNTING, 35, (35, 0, 0)),
        (ACCOUNTING, 36, (36, 0, 0)),
        (ACCOUNTING, 127, (36, 0, 0)),
        (ACCOUNTING, 128, (36, 92, 0)),
        (ACCOUNTING, 143, (36, 92, 0)),
        (ACCOUNTING, 144, (36, 92, 16)),
        (STORAGE, 4, (0, 0, 0)),
        (STORAGE, 19, (0, 0, 0)),
        (STORAGE, 20, (0, 0, 16)),
    ],
)
def test_the_length_tells_which_headers_stand_there(kind, length, parts):
    """One byte less than a header needs, and it is not there."""
    assert parts == header_lengths(kind, length)


def test_a_v8_statistics_record_has_the_common_header_alone():
    data = b"\xee" * 10 + pack(COMMON, 52)
    found = unpack_header(data, 10, 52, STATISTICS, CP1047)
    assert HeaderSection(found.common, None, None) == found
    assert ("QM1A", 5 << 12, 60_000_000) == (
        found.common.queue_manager,
        found.common.built_at,
        found.common.interval_length,
    )


def test_a_v10_statistics_record_has_its_group_behind():
    data = b"\xee" * 10 + pack(COMMON, 52) + pack(GROUP)
    found = unpack_header(data, 10, 68, STATISTICS, CP1047)
    assert found.correlation is None
    assert ("QSG1", "100000") == (found.extension.queue_sharing_group, found.extension.release)


def test_an_accounting_record_says_which_task_caused_it():
    """QWHS is 36 bytes long there: it has no interval."""
    data = b"\xee" * 10 + pack(COMMON, 36) + pack(WHO) + pack(GROUP)
    found = unpack_header(data, 10, 144, ACCOUNTING, CP1047)
    assert ("QM1A", None) == (found.common.queue_manager, found.common.interval_length)
    assert ("CICSUSER", "CICSA", 1) == (
        found.correlation.user_id,
        found.correlation.connection_name,
        found.correlation.connection_type,
    )
    assert "QSG1" == found.extension.queue_sharing_group


def test_a_storage_record_has_a_stub_and_its_group():
    data = b"\xee" * 10 + b"\xff\xff\xff\xff" + pack(GROUP)
    found = unpack_header(data, 10, 20, STORAGE, CP1047)
    assert (None, None, "QSG1") == (found.common, found.correlation, found.extension.queue_sharing_group)
    assert HeaderSection() == unpack_header(data, 10, 4, STORAGE, CP1047)


def test_names_are_read_in_the_code_page_asked_for():
    """X'BA' is [ in 037 and another letter in 1047."""
    data = bytearray(pack(COMMON, 52))
    data[12:16] = bytes([0xD8, 0xBA, 0xF1, 0x40])
    assert "Q[1" == unpack_header(bytes(data), 0, 52, STATISTICS, CODE_PAGES["037"]).common.queue_manager
    assert "Q[1" != unpack_header(bytes(data), 0, 52, STATISTICS, CP1047).common.queue_manager


# --- the release (H3) ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("three", "six", "release"),
    [
        ("800", None, "8.0.0"),
        ("520", None, "5.2.0"),
        ("943", None, "9.4.3"),
        ("946", "100000", "10.0.0"),
        ("946", "100102", "10.1.2"),
        ("946", "091203", "9.12.3"),
        ("946", "100112", "10.1.12"),
        ("946", "10000", "9.4.6"),
        ("946", "10000X", "9.4.6"),
        ("946", "", "9.4.6"),
        ("", None, ""),
    ],
)
def test_the_release_is_that_of_the_extension_where_it_has_one(three, six, release):
    """The header has said 946 ever since V10; six digits are two each of version, release and modification."""
    extension = None if six is None else ExtensionHeader(release=six)
    assert release == release_of(Smf115Header(release=three), extension)
    assert release == release_of(Smf116Header(release=three), extension)


# --- times (H2) ------------------------------------------------------------------------------------------------------


def test_the_moment_is_that_of_the_clock_in_the_common_header():
    when = datetime(2026, 11, 17, 13, 50, 1, 250_000, tzinfo=UTC)
    assert when == utc_of(CommonHeader(built_at=tod_from_datetime(when)))
    assert utc_of(None) is None
    assert utc_of(CommonHeader(built_at=0)) is None
    assert utc_of(CommonHeader(built_at=None)) is None


@pytest.mark.parametrize(
    ("lag_seconds", "minutes"),
    [(0, 60), (7 * 60 + 29, 60), (7 * 60 + 31, 75), (-7 * 60 - 29, 60), (-7 * 60 - 31, 45)],
)
def test_a_zone_is_told_to_the_quarter_of_an_hour(lag_seconds, minutes):
    """SMF buffers a record a little after it was built: that is no part of the zone."""
    utc = datetime(2016, 2, 27, 9, tzinfo=UTC)
    local = datetime(2016, 2, 27, 10) + timedelta(seconds=lag_seconds)
    assert timedelta(minutes=minutes) == zone_of(local, utc)


def test_without_one_of_the_two_times_there_is_no_zone():
    utc = datetime(2016, 2, 27, 9, tzinfo=UTC)
    assert zone_of(None, utc) is None
    assert zone_of(utc.replace(tzinfo=None), None) is None


# --- the interval (H4) -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "length", "us"),
    [
        (STATISTICS, 1_800_000_000, 1_800_000_000.0),
        (CHANNEL_INITIATOR, 1_800_000_000 * 4096, 1_800_000_000.0),
        (CHANNELS, 4096, 1.0),
        (CHANNELS, 6144, 1.5),
        (STATISTICS, 0, 0.0),
    ],
    ids=["microseconds", "TOD units in 115-231", "TOD units in 116-10", "half a microsecond", "none"],
)
def test_an_interval_is_in_microseconds_whatever_the_record_counts_in(kind, length, us):
    assert us == interval_us(CommonHeader(interval_length=length), kind)


def test_a_header_too_short_for_an_interval_has_none():
    assert interval_us(None, STATISTICS) is None
    assert interval_us(CommonHeader(interval_length=None), STATISTICS) is None


# --- a whole record --------------------------------------------------------------------------------------------------


def test_a_record_tells_its_times_its_release_and_its_interval():
    """Half an hour of a V10 queue manager in a zone six hours behind, written 250 ms after it was built."""
    utc = datetime(2026, 11, 17, 18, 30, tzinfo=UTC)
    common = CommonHeader(built_at=tod_from_datetime(utc), interval_length=1_800_000_000)
    body = (36).to_bytes(4, "big") + (68).to_bytes(2, "big") + (1).to_bytes(2, "big") + pack(common, 52) + pack(GROUP)
    hundredths = (12 * 60 + 30) * 6000 + 25
    made = unpack_record(record(body, record_type=115, subtype=240, date=0x0126321F, time=hundredths))
    assert ("115-240", "10.0.0", utc) == (made.name, made.release, made.utc_time)
    assert datetime(2026, 11, 17, 12, 30, 0, 250_000) == made.local_time
    assert timedelta(hours=-6) == made.zone
    assert 1_800_000_000.0 == made.interval_us


def test_a_record_nobody_knows_has_no_interval_but_a_time():
    made = unpack_record(record(bytes(60), record_type=115, subtype=999, date=0x0116058F, time=100))
    assert (None, None, None) == (made.kind, made.interval_us, made.utc_time)
    assert "115" == made.name
    assert datetime(2016, 2, 27, 0, 0, 1) == made.local_time
