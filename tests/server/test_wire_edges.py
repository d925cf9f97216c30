"""What travels, at its edges: the most and the least that fits, the exact bytes, and what is refused (WI, VA)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor import MQMD, Message, MQError, Reason
from quaestor.mqi.reasons import CompCode
from quaestor.server import values, wire
from quaestor.server.protocol import FRAME_MAX, HEADER, HEADER_LENGTH, Op, ProtocolError, frame

MESSAGE = Message(b"body", MQMD(reply_to_q="REPLIES"), b"M" * 24, b"C" * 24, 5, 1, 1 << 50, 1 << 51, 3, 77, 4)


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


# -- frames


def test_the_bytes_of_a_frame():
    """Length, operation, flags, conversation, number, payload."""
    assert bytes.fromhex("0000000e 03 21 0102 01020304") + b"ab" == frame(Op.PUT, 33, 0x0102, 0x01020304, b"ab")
    assert (12, 12) == (HEADER_LENGTH, len(frame(Op.COMMIT, 0, 1, 1)))


def test_a_message_of_the_greatest_length_fits_into_a_frame():
    assert 100 * (1 << 20) + wire.ANSWER_LENGTH + len(MESSAGE.envelope.packed()) <= FRAME_MAX


# -- values


@pytest.mark.parametrize(
    ("value", "packed"),
    [
        (None, "4e"),
        (True, "54"),
        (False, "46"),
        (5, "69 0000000000000005"),
        (-1, "69 ffffffffffffffff"),
        ((1 << 63) - 1, "69 7fffffffffffffff"),
        (-(1 << 63), "69 8000000000000000"),
        (1 << 63, "49 00000009 008000000000000000"),
        (-(1 << 63) - 1, "49 00000009 ff7fffffffffffffff"),
        (Reason.Q_FULL, "69 0000000000000805"),
        (0.5, "64 3fe0000000000000"),
        ("é", "73 00000002 c3a9"),
        (b"\0\1", "62 00000002 0001"),
        (bytearray(b"\2"), "62 00000001 02"),
        (memoryview(b"\3"), "62 00000001 03"),
        ([], "6c 00000000"),
        ([None], "6c 00000001 4e"),
        ((), "74 00000000"),
        ((True, False), "74 00000002 54 46"),
        ({7}, "74 00000001 69 0000000000000007"),
        ({"a": None}, "6d 00000001 73 00000001 61 4e"),
        ({1: None}, "6d 00000001 73 00000001 31 4e"),
        (Exception("why"), "73 00000003 776879"),
    ],
)
def test_the_bytes_of_a_value(value, packed):
    """VA1, VA3."""
    assert bytes.fromhex(packed) == values.pack(value)


@pytest.mark.parametrize(
    "value",
    [
        ((1, [2, (3,)]), {"k": ()}),
        {"a": 0.5, "b": -2.25, "c": {"d": None, "e": True}},
        [1 << 63, -(1 << 63) - 1, 1 << 200, -(1 << 200)],
        [MESSAGE, b"behind"],
    ],
    ids=["sequences", "maps", "integers", "messages"],
)
def test_what_holds_others_comes_back_as_it_was(value):
    """VA1: a tuple as a tuple, each value under its own key."""
    assert value == values.unpack(values.pack(value))


def test_a_message_among_values_has_no_token():
    whole = wire.pack_message(MESSAGE, 0, MESSAGE.envelope.packed()) + MESSAGE.body
    assert b"M" + len(whole).to_bytes(4, "big") + whole == values.pack(MESSAGE)


def test_values_are_nested_so_deep_and_no_deeper():
    """VA2: on both sides."""
    deepest = nested(values.DEPTH_MAX)
    packed = values.pack(deepest)
    assert deepest == values.unpack(packed)
    with pytest.raises(ValueError, match="nested too deeply"):
        values.pack(nested(values.DEPTH_MAX + 1))
    with pytest.raises(ProtocolError, match="nested too deeply"):
        values.unpack(bytes.fromhex("6c00000001") + packed)
    within = {"k": nested(values.DEPTH_MAX - 1)}
    assert within == values.unpack(values.pack(within))
    with pytest.raises(ValueError, match="nested too deeply"):
        values.pack({"k": deepest})


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        ("", "cannot be read"),
        ("69 00", "cannot be read"),
        ("64 00", "cannot be read"),
        ("73 00", "cannot be read"),
        ("73 00000002 61", "longer than its frame"),
        ("62 7fffffff", "longer than its frame"),
        ("6c 00000001", "longer than its frame"),
        ("6c 00000002 4e4e4e", "1 bytes behind"),
        ("73 00000001 ff", "cannot be read"),
        ("6d 00000001 4e 4e", "key is not text"),
        ("4e 4e 4e", "2 bytes behind"),
        ("7a 00000000", "unknown tag 122"),
        ("4d 00000000", "a message cannot be read"),
    ],
)
def test_what_is_no_value_is_refused(packed, why):
    """VA2."""
    with pytest.raises(ProtocolError, match=why):
        values.unpack(bytes.fromhex(packed))


# -- errors


@pytest.mark.parametrize(
    ("packed", "reason", "comp_code", "facts"),
    [
        ([2053, 2, {"depth": 1}], Reason.Q_FULL, CompCode.FAILED, {"depth": 1}),
        ([2079, 1, {}], Reason(2079), CompCode.WARNING, {}),
        ([2053, 0, {}], Reason.Q_FULL, CompCode.FAILED, {}),
        ([9999, 1, {"a": 1}], Reason.UNEXPECTED_ERROR, CompCode.WARNING, {"reason": 9999, "a": 1}),
    ],
)
def test_an_error_is_what_was_sent(packed, reason, comp_code, facts):
    found = values.unpack_error(values.pack(packed))
    assert (reason, comp_code, facts) == (found.reason, found.comp_code, found.facts)


@pytest.mark.parametrize("packed", [5, (2053, 2, {}), [2053, 2], [2053, 2, {}, 1], [2053, 2, []]])
def test_what_is_no_error_is_refused(packed):
    with pytest.raises(ProtocolError, match="an error without"):
        values.unpack_error(values.pack(packed))


# -- messages


def test_an_answer_is_a_frame_with_the_message_in_it():
    """WI2: what `pack_answer` makes in one step is a frame, the message and its body."""
    envelope = MESSAGE.envelope.packed()
    expected = frame(Op.REPLY, 0, 7, 9, wire.pack_message(MESSAGE, 55, envelope) + b"body")
    assert expected == wire.pack_answer(Op.REPLY, 7, 9, MESSAGE, b"body", 55, envelope)
    assert len(expected) == HEADER.unpack_from(expected)[0]


@pytest.mark.parametrize("envelope", [b"", MESSAGE.envelope.packed()])
def test_a_message_without_a_body_ends_where_it_says(envelope):
    packed = b"before" + wire.pack_message(MESSAGE, 1, envelope)
    assert len(packed) == wire.message_end(packed + b"behind", 6)
    found, token, last = wire.unpack_message(packed + b"behind", 6, len(packed), MESSAGE.envelope, b"its own")
    assert (MESSAGE._replace(body=b"its own"), 1, MESSAGE.envelope) == (found, token, last)


def test_a_body_ends_with_its_frame():
    packed = wire.pack_message(MESSAGE, 1, MESSAGE.envelope.packed()) + b"body"
    assert MESSAGE == wire.unpack_message(packed + b"behind", 0, len(packed), None)[0]


def test_an_envelope_may_fill_its_frame_and_no_more():
    """WI3."""
    packed = wire.pack_message(MESSAGE, 1, MESSAGE.envelope.packed())
    assert b"" == wire.unpack_message(packed, 0, len(packed), None)[0].body
    with pytest.raises(ProtocolError, match="longer than its frame"):
        wire.unpack_message(packed, 0, len(packed) - 1, None)


def test_a_message_without_an_envelope_needs_one_before_it():
    with pytest.raises(ProtocolError, match="without an envelope"):
        wire.unpack_message(wire.pack_message(MESSAGE, 1, b""), 0, wire.MESSAGE_LENGTH, None)


# -- descriptors


@given(
    st.integers(-1, 1 << 30),
    st.integers(-1, 9),
    st.integers(0, 2),
    st.integers(0, 1 << 30),
    st.sampled_from([bytes(24), b"I" * 24]),
)
def test_a_descriptor_comes_back(expiry, priority, persistence, offset, msg_id):
    """WI1: but for its correlation identifier."""
    md = MQMD(expiry=expiry, priority=priority, persistence=persistence, offset=offset, msg_id=msg_id, format="MQSTR")
    assert md == wire.unpack_descriptor(wire.pack_descriptor(md))


def test_an_identifier_that_is_short_travels_padded():
    assert b"short".ljust(24, b"\0") == wire.unpack_descriptor(wire.pack_descriptor(MQMD(msg_id=b"short"))).msg_id


@pytest.mark.parametrize(
    "md",
    [
        "no descriptor",
        MQMD(accounting_token=bytes(33)),
        MQMD(expiry=1 << 31),
        MQMD(priority="high"),
        MQMD(msg_id="text"),
    ],
    ids=["another kind", "token", "range", "number", "identifier"],
)
def test_what_is_no_descriptor_is_refused_before_it_travels(md):
    with pytest.raises(MQError) as caught:
        wire.pack_descriptor(md)
    assert Reason.MD_ERROR == caught.value.reason


@pytest.mark.parametrize("cut", [0, 16, 17, 30])
def test_a_descriptor_that_is_cut_is_refused(cut):
    """WI3."""
    with pytest.raises(ProtocolError, match="a descriptor cannot be read"):
        wire.unpack_descriptor(wire.pack_descriptor(MQMD(msg_id=b"I" * 24))[:cut])


def test_descriptors_are_remembered_up_to_a_number(monkeypatch):
    """WI1: then they are forgotten, and are other objects."""
    monkeypatch.setattr(wire, "_DESCRIPTORS", {})
    monkeypatch.setattr(wire, "_DESCRIPTORS_MAX", 3)
    packed = [wire.pack_descriptor(MQMD(offset=number)) for number in range(4)]
    found = [wire.unpack_descriptor(each) for each in packed[:3]]
    assert all(one is wire.unpack_descriptor(each) for one, each in zip(found, packed, strict=False))
    wire.unpack_descriptor(packed[3])
    assert found[0] is not wire.unpack_descriptor(packed[0])
    assert found[0] == wire.unpack_descriptor(packed[0])


# -- selections


@pytest.mark.parametrize(
    ("selecting", "packed"),
    [
        ({}, "00"),
        ({"msg_id": b"\7"}, "01 01 07"),
        ({"correl_id": b""}, "02 00"),
        ({"msg_id": b"\1", "group_id": b"\2\3"}, "05 01 01 02 0203"),
        ({"sequence": 3}, "08 0000000000000003 0000000000000000 00000000"),
        ({"token": 4, "match": 5}, "30 0000000000000000 0000000000000004 00000005"),
        ({"msg_id": None}, "00"),
    ],
)
def test_the_bytes_of_a_selection(selecting, packed):
    """A bit for each thing named, then the identifiers, then the numbers."""
    raw = bytes.fromhex(packed)
    assert raw == wire.pack_selection(selecting)
    named = {name: value for name, value in selecting.items() if value is not None}
    assert named == wire.unpack_selection(b"xx" + raw, 2, 2 + len(raw))


@pytest.mark.parametrize("length", [255, 256])
def test_an_identifier_has_255_bytes_at_most(length):
    """A longer one than 24 is refused by the queue manager, one beyond a byte's length already here."""
    selecting = {"msg_id": bytes(length)}
    if length <= 255:
        assert selecting == wire.unpack_selection(wire.pack_selection(selecting), 0, 2 + length)
    else:
        with pytest.raises(MQError) as caught:
            wire.pack_selection(selecting)
        assert Reason.MATCH_OPTIONS_ERROR == caught.value.reason


@pytest.mark.parametrize("selecting", [{"msg_id": "text"}, {"sequence": 1 << 63}, {"match": "all"}])
def test_what_selects_nothing_is_refused(selecting):
    with pytest.raises(MQError) as caught:
        wire.pack_selection(selecting)
    assert Reason.MATCH_OPTIONS_ERROR == caught.value.reason


@pytest.mark.parametrize("packed", ["", "40", "80", "00 00", "01", "01 05 00", "08 00", "01 01 07 07"])
def test_what_is_no_selection_is_refused(packed):
    """WI3."""
    raw = bytes.fromhex(packed)
    with pytest.raises(ProtocolError, match="selection"):
        wire.unpack_selection(raw, 0, len(raw))


# -- runs of bodies


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        ("0001 00000002 61", "longer than its frame"),
        ("0001 00000001 61 62", "do not fill"),
        ("0000 00", "do not fill"),
        ("0002 00000001 61 00000002 62", "longer than its frame"),
    ],
)
def test_bodies_that_do_not_fit_their_frame_are_refused(packed, why):
    raw = bytes.fromhex(packed)
    with pytest.raises(ProtocolError, match=why):
        wire.unpack_bodies(raw, 0, len(raw))


@pytest.mark.parametrize(
    ("packed", "bodies"),
    [
        ("0000", []),
        ("0001 00000000", [b""]),
        ("0002 00000001 61 00000001 62", [b"a", b"b"]),
        ("0002 00000002 6161 00000000", [b"aa", b""]),
        ("0003 00000002 6161 00000001 62 00000003 636363", [b"aa", b"b", b"ccc"]),
    ],
)
def test_bodies_of_one_length_or_of_several(packed, bodies):
    raw = bytes.fromhex(packed)
    assert bodies == wire.unpack_bodies(b"xx" + raw, 2, 2 + len(raw))
