"""Whether what a call was given is of the kind that calls take (FO1-FO3)."""

import pytest

from quaestor.mqi import forms
from quaestor.mqi.descriptors import MQMD, Target
from quaestor.mqi.objects import MESSAGE_MAX
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason

LARGEST = (1 << 32) - 1


class Long(bytes):
    """A body that only says how long it is."""

    length = MESSAGE_MAX + 1

    def __len__(self):
        return self.length


class Longest(Long):
    """As long as a body may be."""

    length = MESSAGE_MAX


def reason_of(call, *args, **named):
    with pytest.raises(MQError) as refused:
        call(*args, **named)
    return refused.value.reason


@pytest.mark.parametrize("options", [0, LARGEST, PutOptions.SYNCPOINT, GetOptions.WAIT, True])
def test_options_are_a_number_of_32_bits(options):
    forms.check_put(b"", None, options)
    forms.check_get(options, None, None)


@pytest.mark.parametrize("options", [-1, LARGEST + 1, None, "2", 2.0, b"\x02", [2]])
def test_what_are_no_options(options):
    assert Reason.OPTIONS_ERROR is reason_of(forms.check_put, b"", None, options)
    assert Reason.OPTIONS_ERROR is reason_of(forms.check_put1, "ORDERS", b"", None, options)
    assert Reason.OPTIONS_ERROR is reason_of(forms.check_get, options, None, None)


@pytest.mark.parametrize("body", [b"", b"x", bytearray(b"x"), memoryview(b"x"), "", "text", "Größe"])
def test_a_body_is_bytes_or_text(body):
    forms.check_body(body)


@pytest.mark.parametrize("body", [None, 5, ["x"], object(), {"a": 1}, "half \ud800", "\udcff"])
def test_what_is_no_body(body):
    assert Reason.BUFFER_ERROR is reason_of(forms.check_body, body)


@pytest.mark.parametrize("body", ["order", "", b"order", bytearray(b"x"), memoryview(b"x")])
def test_one_body_is_not_several(body):
    (none,) = forms.several(body)
    assert Reason.BUFFER_ERROR is reason_of(forms.check_put, none, None, 0)
    assert Reason.OPTIONS_ERROR is reason_of(forms.check_put, none, None, -1)


@pytest.mark.parametrize("bodies", [["a", "b"], ("a", "b"), iter(["a", "b"]), {"a": 1, "b": 2}])
def test_several_bodies_are_whatever_gives_them(bodies):
    assert ["a", "b"] == forms.several(bodies)


@pytest.mark.parametrize("wrong", [None, 5, b"ORDERS", ["ORDERS"]])
def test_an_object_is_named_by_text(wrong):
    for target in (wrong, Target(wrong), Target("ORDERS", wrong), Target("ORDERS", dynamic_name=wrong)):
        assert Reason.OD_ERROR is reason_of(forms.check_put1, target, b"", None, 0)
    for names in ((wrong, "CSQ.*"), ("", wrong)):
        assert Reason.OD_ERROR is reason_of(Target.of, "ORDERS", *names)


def test_a_body_is_no_longer_than_any_message():
    forms.check_body(Longest())
    assert Reason.MSG_TOO_BIG_FOR_Q_MGR is reason_of(forms.check_body, Long())
    with pytest.raises(MQError) as refused:
        forms.check_body(Long())
    assert {"length": MESSAGE_MAX + 1, "max_length": MESSAGE_MAX} == refused.value.facts


@pytest.mark.parametrize(
    "md",
    [
        MQMD(),
        MQMD(expiry=(1 << 31) - 1, priority=-(1 << 31), persistence=0, offset=1),
        MQMD(report=LARGEST, msg_type=-1, feedback=-1),
        MQMD(report=-1, msg_flags=LARGEST),
        MQMD(msg_flags=-(1 << 31)),
        MQMD(msg_id=b"short", correl_id=b"x" * 24, accounting_token=b"t" * 32),
        MQMD(reply_to_q="Q" * 255),
    ],
)
def test_a_descriptor_has_room_for_what_it_says(md):
    forms.check_descriptor(md)


@pytest.mark.parametrize(
    "md",
    [
        None,
        {},
        "MQMD",
        *(MQMD(**{field: 1 << 31}) for field in ("expiry", "priority", "persistence", "offset")),
        *(MQMD(**{field: -(1 << 31) - 1}) for field in ("expiry", "priority", "persistence", "offset")),
        *(MQMD(**{field: "5"}) for field in ("expiry", "priority", "persistence", "offset", "feedback", "encoding")),
        MQMD(report=1 << 32),
        MQMD(report=-(1 << 32) - 1),
        MQMD(msg_flags=1 << 32),
        *(MQMD(**{field: 1 << 31}) for field in ("msg_type", "feedback", "encoding", "ccsid")),
        *(MQMD(**{field: b"x" * 25}) for field in ("msg_id", "correl_id")),
        *(MQMD(**{field: "text"}) for field in ("msg_id", "correl_id")),
        MQMD(accounting_token=b"t" * 33),
        MQMD(accounting_token=5),
        *(MQMD(**{field: "x" * 256}) for field in ("reply_to_q", "reply_to_qmgr", "user_identifier", "format")),
        *(MQMD(**{field: b"bytes"}) for field in ("reply_to_q", "put_appl_name", "appl_origin_data")),
        MQMD(user_identifier="\ud800"),
    ],
)
def test_a_descriptor_without_room_for_what_it_says(md):
    assert Reason.MD_ERROR is reason_of(forms.check_descriptor, md)


@pytest.mark.parametrize("wait_ms", [None, -1, 0, 1, 10**12])
def test_a_wait_is_so_long_or_without_end(wait_ms):
    forms.check_get(0, wait_ms, None)


@pytest.mark.parametrize("wait_ms", [-2, "1", 1.5, b"1"])
def test_what_is_no_wait(wait_ms):
    assert Reason.WAIT_INTERVAL_ERROR is reason_of(forms.check_get, 0, wait_ms, None)


@pytest.mark.parametrize("length", [None, 0, 1, MESSAGE_MAX, 10**12])
def test_a_length_is_nothing_or_more(length):
    forms.check_get(0, None, length)


@pytest.mark.parametrize("length", [-1, "1", 1.5])
def test_what_is_no_length(length):
    assert Reason.BUFFER_LENGTH_ERROR is reason_of(forms.check_get, 0, None, length)


IDENTIFIERS, NUMBERS = ("msg_id", "correl_id", "group_id"), ("sequence", "token", "match")


@pytest.mark.parametrize("name", IDENTIFIERS)
@pytest.mark.parametrize("value", [b"", b"x" * 24, b"x" * 255, None])
def test_an_identifier_to_look_for_is_bytes_that_can_be_sent(name, value):
    forms.check_get(0, None, None, **{name: value})


@pytest.mark.parametrize("name", IDENTIFIERS)
@pytest.mark.parametrize("value", [b"x" * 256, "text", 5, bytearray(b"x")])
def test_what_is_no_identifier_to_look_for(name, value):
    assert Reason.MATCH_OPTIONS_ERROR is reason_of(forms.check_get, 0, None, None, **{name: value})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [None, 0, (1 << 63) - 1, -(1 << 63)])
def test_a_number_to_look_for_has_room_in_64_bits(name, value):
    forms.check_get(0, None, None, **{name: value})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, "1", 1.0, b"1"])
def test_what_is_no_number_to_look_for(name, value):
    assert Reason.MATCH_OPTIONS_ERROR is reason_of(forms.check_get, 0, None, None, **{name: value})


def test_a_selection_may_stand_in_its_order_too():
    """The connection passes it so, the client by name."""
    forms.check_get(0, None, None, b"m", b"c", b"g", 1, 2, 3)
    for at in range(6):
        wrong = [None] * 6
        wrong[at] = object()
        assert Reason.MATCH_OPTIONS_ERROR is reason_of(forms.check_get, 0, None, None, *wrong)


# --- of several mistakes the first (FO2) -----------------------------------------------------------------------------

BAD = object()


@pytest.mark.parametrize(
    ("mistakes", "reason"),
    [
        (("target", "options", "body", "md"), Reason.OD_ERROR),
        (("options", "body", "md"), Reason.OPTIONS_ERROR),
        (("body", "md"), Reason.BUFFER_ERROR),
        (("md",), Reason.MD_ERROR),
    ],
)
def test_the_first_mistake_of_a_put1(mistakes, reason):
    given = {"target": "ORDERS", "body": b"", "md": None, "options": 0} | dict.fromkeys(mistakes, BAD)
    assert reason is reason_of(forms.check_put1, given["target"], given["body"], given["md"], given["options"])


@pytest.mark.parametrize(
    ("mistakes", "reason"),
    [
        (("options", "body", "md", "correl_id"), Reason.OPTIONS_ERROR),
        (("body", "md", "correl_id"), Reason.BUFFER_ERROR),
        (("md", "correl_id"), Reason.MD_ERROR),
        (("correl_id",), Reason.MD_ERROR),
    ],
)
def test_the_first_mistake_of_a_put(mistakes, reason):
    given = {"body": b"", "md": None, "options": 0, "correl_id": None} | dict.fromkeys(mistakes, BAD)
    assert reason is reason_of(forms.check_put, *given.values())


@pytest.mark.parametrize(
    ("mistakes", "reason"),
    [
        (("options", "wait_ms", "max_length", "msg_id"), Reason.OPTIONS_ERROR),
        (("wait_ms", "max_length", "msg_id"), Reason.WAIT_INTERVAL_ERROR),
        (("max_length", "msg_id"), Reason.BUFFER_LENGTH_ERROR),
        (("msg_id",), Reason.MATCH_OPTIONS_ERROR),
    ],
)
def test_the_first_mistake_of_a_get(mistakes, reason):
    given = {"options": 0, "wait_ms": None, "max_length": None, "msg_id": None} | dict.fromkeys(mistakes, BAD)
    assert reason is reason_of(forms.check_get, **given)


def test_a_correlation_identifier_of_a_put_has_24_bytes_at_most():
    forms.check_put(b"", None, 0, b"x" * 24)
    assert Reason.MD_ERROR is reason_of(forms.check_put, b"", None, 0, b"x" * 25)
    assert Reason.MD_ERROR is reason_of(forms.check_put, b"", None, 0, "x")


@pytest.mark.parametrize("target", ["ORDERS", "", Target("ORDERS", "QM2", "A.*", "alice")])
def test_a_target_is_a_name_or_a_descriptor(target):
    forms.check_put1(target, b"", None, 0)


@pytest.mark.parametrize("target", [None, b"ORDERS", 5, ("ORDERS",)])
def test_what_is_no_target(target):
    assert Reason.OD_ERROR is reason_of(forms.check_put1, target, b"", None, 0)


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (MQError(Reason.NO_MSG_AVAILABLE), False),
        (MQError(Reason.HOBJ_ERROR), True),
        (MQError(Reason.TRUNCATED_MSG_FAILED), True),
        (TypeError(), True),
    ],
)
def test_a_get_that_found_no_message_was_good_in_its_form(error, counts):
    """FO3."""
    assert counts is forms.counts(error)
