"""Names, identifiers, descriptors, headers and objects: what is valid, and that stored forms read back the same."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqi_objects import NAMES, objects, values

from quaestor.mqi import matching, messages, names
from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.headers import MQDLH, MQXQH, TriggerMessage, pack_descriptor, unpack_descriptor
from quaestor.mqi.messages import Message, id_maker
from quaestor.mqi.objects import (
    OBJECT_TYPES,
    DefinitionType,
    LocalQueue,
    ModelQueue,
    StorageClass,
    attributes_of,
    object_from_bytes,
)
from quaestor.mqi.options import GetOptions, PutOptions, get_plan, put_plan
from quaestor.mqi.reasons import Abend, CompCode, MQError, Reason

ids = st.binary(min_size=24, max_size=24)
short = st.text("ABC xyzü", max_size=4).map(str.strip)


# -- names


@given(st.text(max_size=60))
def test_a_name_has_48_of_these_characters(text):
    allowed = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./_%")
    assert names.is_name(text) == (1 <= len(text) <= 48 and set(text) <= allowed)


@given(NAMES, st.integers(0, 5))
def test_padding_is_not_part_of_a_name(name, blanks):
    assert names.checked(name + " " * blanks) == name


@given(NAMES, st.integers(0, 48))
def test_a_generic_name_picks_what_begins_with_it(name, length):
    assert names.picks(name[:length] + "*", name)
    assert names.picks(name, name)
    assert not names.picks(name + "X*", name)


@given(st.text("ABC", max_size=32))
def test_a_dynamic_name_ends_in_something_unique(prefix):
    assert names.dynamic_name(prefix + "*", "0123456789ABCDEF") == prefix + "0123456789ABCDEF"


@pytest.mark.parametrize(
    ("name", "valid"), [("A", True), ("A2345678", True), ("A23456789", False), ("1A", False), ("a", False)]
)
def test_storage_class_names(name, valid):
    assert names.is_storage_class(name) is valid


# -- matching

parts = st.sampled_from([b"A" * 24, b"B" * 24, NO_ID])
asked = st.none() | parts


@given(asked, asked, asked, st.none() | st.integers(1, 2), parts, parts, parts, st.integers(1, 2))
def test_everything_asked_for_must_match(m, c, g, s, msg_id, correl_id, group_id, sequence):
    selection = matching.selection(m, c, g, s)
    wanted = [(m, msg_id), (c, correl_id), (g, group_id)]
    expected = all(want in {None, NO_ID, have} for want, have in wanted) and s in {None, sequence}
    assert matching.matches(selection, msg_id, correl_id, group_id, sequence) is expected


@given(st.binary(max_size=30))
def test_identifiers_are_padded_or_refused(identifier):
    if len(identifier) > 24:
        with pytest.raises(MQError):
            matching.wanted(identifier)
    else:
        assert matching.wanted(identifier) in {None, identifier.ljust(24, b"\0")}


# -- identifiers


@given(st.text("QMZ.1", min_size=1, max_size=20), st.integers(0, 2**51))
def test_identifiers_carry_product_name_and_a_rising_value(qmgr, now_us):
    make = id_maker(qmgr, now_us)
    made = [make() for _ in range(5)]
    assert made == sorted(set(made))
    assert {(24, b"CSQ ", qmgr[:12].encode().ljust(12))} == {(len(i), i[:4], i[4:16]) for i in made}
    assert max(made) < id_maker(qmgr, now_us + 1)()


# -- stored forms

descriptors = st.builds(
    MQMD,
    report=st.integers(0, 2**32 - 1),
    msg_type=st.integers(0, 999999999),
    feedback=st.integers(0, 999999999),
    encoding=st.integers(-(2**31), 2**31 - 1),
    ccsid=st.integers(-4, 65535),
    format=short,
    reply_to_q=short,
    reply_to_qmgr=short,
    user_identifier=short,
    accounting_token=st.binary(max_size=32).map(lambda token: token.ljust(32, b"\0")),
    appl_identity_data=short,
    put_appl_type=st.integers(-1, 30),
    put_appl_name=short,
    appl_origin_data=st.text("ABC", max_size=4),
    group_id=ids,
    msg_seq_number=st.integers(1, 999999999),
    msg_flags=st.sampled_from([0, 8, 24]),
)


@given(descriptors, ids, ids, st.integers(0, 9), st.integers(0, 1), st.integers(0, 2**60), st.binary(max_size=50))
def test_a_message_reads_back_from_its_stored_form(md, msg_id, correl_id, priority, persistence, put_us, body):
    message = Message(body, md, msg_id, correl_id, priority, persistence, put_us, put_us // 2, 3)
    packed = message.pack()
    assert messages.unpack(packed, body) == message
    assert messages.packed_length(packed) == len(packed)
    assert messages.unpack(packed, body).envelope is messages.unpack(bytes(bytearray(packed)), body).envelope


def test_a_descriptor_of_a_newer_release_is_named():
    with pytest.raises(MQError) as caught:
        MQMD.unpacked(b"\x63" + MQMD().packed()[1:])
    assert caught.value.facts == {"stored_version": 0x63, "known_version": 1}


@given(descriptors, ids, ids)
def test_a_descriptor_travels_in_its_version_1_layout(md, msg_id, correl_id):
    sent = replace(md, msg_id=msg_id, correl_id=correl_id, group_id=NO_ID, msg_seq_number=1, msg_flags=0, priority=4)
    assert len(pack_descriptor(sent)) == 324
    assert unpack_descriptor(pack_descriptor(sent)) == sent
    header, body = MQXQH.unpack(MQXQH("Q", "QM2", replace(md, priority=4)).pack() + b"body")
    assert (header.descriptor, body) == (replace(md, priority=4), b"body")


@pytest.mark.parametrize("bad", [b"", b"MD  ", b"XX  " + bytes(320), b"MD  \0\0\0\x09" + bytes(316)])
def test_a_bad_descriptor_layout(bad):
    with pytest.raises(MQError):
        unpack_descriptor(bad)


@pytest.mark.parametrize("bad", [b"", b"XQH " + bytes(40), b"ABCD" + bytes(500)])
def test_a_bad_transmission_header(bad):
    with pytest.raises(MQError) as caught:
        MQXQH.unpack(bad)
    assert caught.value.reason is Reason.XQH_ERROR


def test_a_transmission_header_cut_in_its_extension():
    whole = MQXQH("Q", "QM2", MQMD(group_id=b"G" * 24, msg_flags=8)).pack()
    with pytest.raises(MQError):
        MQXQH.unpack(whole[:-1])


@given(st.integers(0, 9999), NAMES, NAMES, short, st.binary(max_size=20))
def test_a_dead_letter_header_reads_back(reason, queue, qmgr, name, body):
    header = MQDLH(reason, queue, qmgr, format=name, put_appl_name=name, put_date="20261115", put_time="12000000")
    assert len(header.pack()) == 172
    assert MQDLH.unpack(header.pack() + body) == (header, body)


@given(NAMES, NAMES, short)
def test_a_trigger_message_reads_back(queue, process, data):
    message = TriggerMessage(queue, process, data, 2, data, data, data)
    assert len(message.pack()) == 684
    assert TriggerMessage.unpack(message.pack()) == message


def test_a_bad_trigger_message():
    with pytest.raises(MQError):
        TriggerMessage.unpack(b"TM  ")


@given(objects())
def test_an_object_reads_back_from_its_stored_form(obj):
    assert object_from_bytes(obj.pack()) == obj


def test_what_a_newer_release_wrote_is_named():
    for packed in (b"", b"\xfe", LocalQueue("A").pack() + b"\xfa\x00\x01x"):
        with pytest.raises(ValueError, match="newer release"):
            object_from_bytes(packed)


def test_stored_numbers_of_attributes_are_unique():
    for kind in OBJECT_TYPES.values():
        numbers = [attribute.number for attribute in attributes_of(kind).values()]
        assert len(numbers) == len(set(numbers))
        assert 0 not in numbers


@given(st.data())
def test_every_attribute_writes_and_parses_its_values(data):
    kind = data.draw(st.sampled_from(list(OBJECT_TYPES.values())))
    attribute = data.draw(st.sampled_from(list(attributes_of(kind).values())))
    value = data.draw(values(attribute))
    assert attribute.parse(attribute.written(value)) == value


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        (LocalQueue, {"max_depth": -1}),
        (LocalQueue, {"max_depth": "many"}),
        (LocalQueue, {"descr": "x" * 65}),
        (LocalQueue, {"put_allowed": "ENABLED"}),
        (LocalQueue, {"name": "BAD NAME"}),
        (ModelQueue, {"definition": DefinitionType.PREDEFINED}),
        (StorageClass, {"page_set": 100}),
        (StorageClass, {"name": "TOOLONGNAME"}),
        (OBJECT_TYPES[6], {"names": ("X" * 49,)}),
        (OBJECT_TYPES[6], {"names": "X"}),
    ],
)
def test_objects_refuse_what_they_cannot_hold(kind, attributes):
    with pytest.raises(AttributeValueError):
        kind(**{"name": "OBJECT"} | attributes)


def test_a_model_makes_a_local_queue_with_its_attributes():
    made = ModelQueue("MODEL", max_depth=9, definition=DefinitionType.PERMDYN).instance("DYN")
    assert made == LocalQueue("DYN", max_depth=9, definition=DefinitionType.PERMDYN)


# -- options and reasons


def planned(make, bits):
    """The plan, or None when the options are refused as such."""
    try:
        return make(bits)
    except MQError as error:
        if error.reason is not Reason.OPTIONS_ERROR:
            raise
        return None


@given(st.integers(0, 2**17 - 1))
def test_put_options_are_planned_or_refused(bits):
    plan = planned(put_plan, bits)
    if plan is not None:
        assert plan.in_syncpoint is not bool(bits & PutOptions.NO_SYNCPOINT)


@given(st.integers(0, 2**18 - 1))
def test_get_options_are_planned_or_refused(bits):
    plan = planned(get_plan, bits)
    if plan is not None:
        assert not (plan.browse and plan.in_syncpoint)
        under_cursor = bits & (GetOptions.MSG_UNDER_CURSOR | GetOptions.BROWSE_MSG_UNDER_CURSOR)
        assert plan.wait is bool(bits & GetOptions.WAIT and not under_cursor)


def test_every_reason_has_a_meaning_and_a_number_of_its_own():
    assert len({reason.value for reason in Reason}) == len(Reason)
    assert all(reason.meaning and reason.meaning[0].islower() for reason in Reason)


def test_an_error_tells_reason_and_facts():
    error = MQError(Reason.Q_FULL, queue="ORDERS", depth=5000)
    assert str(error) == (
        "MQRC 2053 Q_FULL: the queue holds its maximum number of messages (MAXDEPTH) (queue='ORDERS', depth=5000)"
    )
    assert error.comp_code is CompCode.FAILED
    assert MQError(Reason.TRUNCATED_MSG_FAILED).comp_code is CompCode.WARNING
    assert str(Abend("B3", "stole a page in use", page=17)) == "B3: stole a page in use (page=17)"


@pytest.mark.parametrize(
    ("ccsid", "body"), [(0, "Größe".encode()), (1208, "Größe".encode()), (500, "Größe".encode("cp500"))]
)
def test_text_follows_the_coded_character_set(ccsid, body):
    assert Message(body, MQMD(ccsid=ccsid), NO_ID, NO_ID, 0, 0, 0).text == "Größe"
