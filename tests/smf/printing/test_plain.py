"""The content of a printout for machines."""

import json

from quaestor.layout import pack, unpack
from quaestor.smf.printing.plain import plain_record, plain_section, plain_task
from quaestor.smf.records import Task
from quaestor.smf.sections.channel import ChannelAccounting
from quaestor.smf.sections.headers import CorrelationHeader, ExtensionHeader
from quaestor.smf.sections.message import MessageAccounting, MessageStatistics
from quaestor.smf.sections.queue_accounting import QueueAccounting
from smf.printing.given import record, us, utc


def test_a_record_says_who_when_and_what():
    made = plain_record(
        record(
            116,
            0,
            MessageAccounting(cpu=us(12.5), puts_0_99=3),
            correlation=CorrelationHeader(connection_type=1),
            extension=ExtensionHeader(release="100000"),
        )
    )
    assert ("116-0", "MV25", "V520", "10.0.0") == (
        made["record"],
        made["system"],
        made["queue_manager"],
        made["release"],
    )
    assert "2000-10-23T16:40:34.250000" == made["local_time"]
    assert "2000-10-23T15:40:34.250000+00:00" == made["utc_time"]
    assert "+01:00" == made["zone"]
    assert ["QWHS", "QWHC", "QWHX"] == list(made["headers"])
    assert "CICS" == made["headers"]["QWHC"]["connection_type"]
    (accounting,) = made["sections"]["QMAC"]
    assert 12.5 == accounting["cpu_us"]
    assert 3 == accounting["puts_0_99"]
    json.dumps(made)


def test_what_is_absent_or_not_set_is_null():
    old = unpack(MessageStatistics, pack(MessageStatistics(opens=1), 48), length=48)
    assert (1, None) == (plain_section(old)["opens"], plain_section(old)["persistent_puts"])
    assert plain_section(ChannelAccounting(exit_shortest=0x8FFFFFFF))["exit_shortest_us"] is None
    assert plain_section(ChannelAccounting())["started_at"] is None


def test_codes_flags_tokens_and_stamps_are_texts():
    queue = plain_section(
        QueueAccounting(queue_type=1, index_type=99, flag_bits=0x4000, correlator=b"\xab" * 16, opened_at=utc(1, 2, 3))
    )
    assert "Local" == queue["queue_type"]
    assert 99 == queue["index_type"]
    assert "Object is a topic" == queue["flag_bits"]
    assert "AB" * 16 == queue["correlator"]
    assert "2000-10-23T01:02:03+00:00" == queue["opened_at"]
    assert 14 < len(queue["cf_calls"][0]["kinds"])


def test_a_task_brings_the_queues_of_its_continuations():
    queues = [QueueAccounting(object_name="ONE"), QueueAccounting(object_name="TWO")]
    made = plain_task(Task(record(116, 1, queues[0]), None, None, queues))
    assert ["ONE", "TWO"] == [each["object_name"] for each in made["sections"]["WQST"]]


def test_a_task_without_queues_has_none():
    assert {} == plain_task(Task(record(116, 1), None, None, []))["sections"]
