"""What every row begins with: who, when, in which zone, for which interval; and whose task it was (rules H, E, I)."""

from datetime import UTC, datetime, timedelta

import pytest

from quaestor.clock import UNIX_EPOCH, tod_interval
from quaestor.smf.catalog import CATALOG, SECTIONS
from quaestor.smf.columns import decode
from quaestor.smf.sections.headers import CorrelationHeader
from quaestor.smf.sections.task import TaskAccounting, TaskIdentification
from quaestor.smf.writer import Interval, RecordIdentity, build_record, task_records
from smf.dumps import with_section
from smf.rows import WHEN_US, block_of

WHEN = UNIX_EPOCH + timedelta(microseconds=WHEN_US)


def row(identity, kind=(115, 215), section="QPST", **options):
    data = build_record(CATALOG[kind], [SECTIONS[section]()], identity, WHEN_US, **options)
    return decode(block_of([data])).tables[section].to_pylist()[0]


@pytest.mark.parametrize("zone_minutes", [0, -360, -240, 60, 330, 345, 840, -720])
def test_a_record_carries_its_own_zone(zone_minutes):
    """The header is local, QWHSSTCK is UTC: their difference is the zone, to the quarter of an hour (H2)."""
    found = row(RecordIdentity("SYSA", "QM1A", "8.0", zone_minutes))
    local = WHEN.replace(tzinfo=None) + timedelta(minutes=zone_minutes)
    assert (WHEN, zone_minutes) == (found["utc_time"], found["zone_minutes"])
    assert local.replace(microsecond=local.microsecond // 10_000 * 10_000) == found["local_time"]


@pytest.mark.parametrize(("kind", "section"), [((115, 215), "QPST"), ((115, 231), "QCCT")])
def test_the_interval_is_utc_and_microseconds(kind, section):
    """QWHSTIME is local (E2); QWHSDURN counts TOD units where the channel initiator writes it (H4)."""
    interval = Interval(WHEN_US - 60_000_000, 60_000_000)
    found = row(
        RecordIdentity("SYSA", "QM1A", "8.0", -240), kind, "QPST" if kind[1] == 215 else "QCCT", interval=interval
    )
    assert (WHEN - timedelta(minutes=1), 60_000_000.0) == (found["interval_start"], found["interval_us"])


def test_intervals_end_at_the_last_fraction_of_a_microsecond():
    data = bytearray(build_record(CATALOG[115, 231], [SECTIONS["QCCT"]()], RecordIdentity("S", "Q", "8.0"), WHEN_US))
    at = int.from_bytes(data[28:32], "big") + 44
    data[at : at + 8] = (tod_interval(10.5) + 1).to_bytes(8, "big")
    assert 10.5 + 1 / 4096 == decode(block_of([bytes(data)])).tables["QCCT"]["interval_us"][0].as_py()


def test_a_record_without_header_section_has_local_time_only():
    (found,) = decode(block_of([with_section()])).tables["QPST"].to_pylist()
    assert datetime(2016, 2, 27, 10) == found["local_time"]
    nothing = ("utc_time", "zone_minutes", "interval_start", "interval_us", "queue_sharing_group")
    assert [None] * len(nothing) == [found[name] for name in nothing]
    assert "8.0.0" == found["release"]


def test_a_date_that_is_none_is_null():
    """Day 366 of a year of 365 days."""
    (found,) = decode(block_of([with_section(date=0x0115366F)])).tables["QPST"].to_pylist()
    assert found["local_time"] is None
    (found,) = decode(block_of([with_section(date=0x0116366F)])).tables["QPST"].to_pylist()
    assert datetime(2016, 12, 31, 10) == found["local_time"]


@pytest.mark.parametrize(
    ("level", "release"), [("5.2", "5.2.0"), ("8.0", "8.0.0"), ("9.4.5", "9.4.5"), ("10.0.0", "10.0.0")]
)
def test_the_release_is_the_true_one(level, release):
    """The SMF header has said 946 ever since V10 (H3)."""
    assert release == row(RecordIdentity("SYSA", "QM1A", level), (115, 2), "QMST")["release"]


def test_the_queue_sharing_group_is_known_from_v10_on():
    groups = [
        row(RecordIdentity("SYSA", "QM1A", level, 0, group))["queue_sharing_group"]
        for level, group in (("10.0.0", "QSG1"), ("10.0.0", ""), ("8.0", "QSG1"))
    ]
    assert ["QSG1", None, None] == groups


def test_instants_are_utc_in_every_table():
    found = row(RecordIdentity("SYSA", "QM1A", "8.0", 60), interval=Interval(WHEN_US, 1))
    assert UTC.utcoffset(None) == found["utc_time"].utcoffset() == found["interval_start"].utcoffset()


# --- tasks -----------------------------------------------------------------------------------------------------------


def correlation(behind):
    """The thread's cross-reference: four bytes of the thread, then what the connecting system puts there."""
    return bytes(4) + behind


@pytest.mark.parametrize(
    ("connection_type", "behind", "transaction"),
    [
        (1, "ORD1".encode("cp037") + b"\x00\x12\x34\x5c", "ORD1"),  # CICS: transaction, packed task number
        (1, "OR  ".encode("cp037") + b"\x00\x12\x34\x5c", "OR"),
        (3, "STOCKUPD".encode("cp037"), "STOCKUPD"),  # IMS: PSB
        (4, "STOCK   ".encode("cp037"), "STOCK"),
        (2, "BILLJOB ".encode("cp037"), None),  # batch has none
        (6, b"\x01\x02\x03\x04\x05\x06\x07\x08", None),
        (1, b"\x40" * 8, None),
    ],
)
def test_the_transaction_is_what_people_know(connection_type, behind, transaction):
    """In all four tables, whichever section identifies the task (I1, I2)."""
    identity = RecordIdentity("SYSA", "QM1A", "8.0")
    who = {"connection_type": connection_type, "connection_name": "CICSA", "correlation": correlation(behind)}
    made = task_records(
        TaskIdentification(channel="TO.QM2", **who), TaskAccounting(), [SECTIONS["WQST"]()], identity, WHEN_US
    )
    sections = [SECTIONS["QWAC"](), SECTIONS["QMAC"]()]
    made.append(
        build_record(CATALOG[116, 0], sections, identity, WHEN_US, correlation=CorrelationHeader(header_type=2, **who))
    )
    tables = decode(block_of(made)).tables
    for structure in ("WTAS", "WQST", "QWAC", "QMAC"):
        (found,) = tables[structure].to_pylist()
        assert (transaction, "CICSA") == (found["task_transaction"], found["task_connection_name"])
        assert correlation(behind) == found["task_correlation"]
    assert "TO.QM2" == tables["WQST"]["task_channel"][0].as_py()


def test_a_task_that_lost_its_identity_is_null_and_its_figures_stay():
    identity = RecordIdentity("SYSA", "QM1A", "8.0")
    whole = task_records(
        TaskIdentification(connection_name="JOB1"), TaskAccounting(), [SECTIONS["WQST"](puts=3)], identity, WHEN_US
    )[0]
    lost = bytearray(whole)
    lost[36:40] = (60_000).to_bytes(4, "big")  # the triplet of WTID
    for records, names in (([whole, bytes(lost)], ["JOB1", None]), ([bytes(lost)], [None])):
        table = decode(block_of(records)).tables["WQST"]
        assert names == table["task_connection_name"].to_pylist()
        assert [3] * len(records) == table["puts"].to_pylist()
        assert [name and "" for name in names] == table["task_channel"].to_pylist()
