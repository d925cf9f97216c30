"""The lines above every printout: who, when, at which level."""

from quaestor.clock import tod_interval
from quaestor.smf.printing.identity import header_lines, thread_type
from quaestor.smf.printing.programs import Program, program_of
from quaestor.smf.sections.headers import CommonHeader, ExtensionHeader
from smf.printing.given import record, utc


def test_utc_comes_from_the_record_and_gives_the_zone():
    assert [
        "MVS:MV25 MQ_Subsys:V520 Date 2000297 Time 16:40:34.25",
        "  SMF 115-2, UTC 2000-10-23 15:40:34.25, local 2000-10-23 16:40:34.25 +01:00, MQ 5.2.0",
    ] == list(header_lines(record(115, 2)))


def test_interval_release_and_queue_sharing_group_where_the_record_has_them():
    common = CommonHeader(built_at=utc(15, 40, 34), interval_length=1_800_000_000)
    extension = ExtensionHeader(release="100000", queue_sharing_group="QSG1")
    _, line = header_lines(record(115, 2, common=common, extension=extension))
    assert line.endswith("interval 1800.00 s, MQ 10.0.0, QSG QSG1")


def test_the_channel_initiator_counts_its_interval_in_tod_units():
    common = CommonHeader(built_at=utc(15, 40, 34), interval_length=tod_interval(60_000_000))
    _, line = header_lines(record(115, 231, common=common))
    assert "interval 60.00 s" in line


def test_without_a_common_header_there_is_local_time_only():
    _, line = header_lines(record(115, 7, common=None))
    assert "  SMF 115-7, local 2000-10-23 16:40:34.25, MQ 5.2.0" == line


def test_an_impossible_date_is_a_dash():
    broken = record(115, 2)
    broken.header.date_packed, broken.header.release = 0xDEADBEEF, ""
    assert ["MVS:MV25 MQ_Subsys:V520 Date - Time -", "  SMF 115-2, UTC 2000-10-23 15:40:34.25"] == list(
        header_lines(broken)
    )


def test_thread_types_nobody_knows_are_said_to_be_unknown():
    assert ("-", "unknown (99)") == (thread_type(None), thread_type(99))


def test_each_record_has_its_program():
    assert Program.MQ1150 is program_of(record(115, 231))
    assert Program.MQ1160 is program_of(record(116, 0))
    assert Program.MQ116S is program_of(record(116, 1))
    assert Program.MQ116S is program_of(record(116, 10))
    assert program_of(record(30, 1)) is None
