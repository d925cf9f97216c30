"""Descriptors of version 1: what they have no room for stands in an MQMDE in front of the body (EX1-EX4, BO8)."""

import pytest
from programs_of_ibm import reason_of

import ibmmqc.calls
import quaestor
from ibmmqc import extensions
from ibmmqc.structures import GMO, MD, MDE
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.objects import IndexType, LocalQueue
from quaestor.mqi.options import GetOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason

mq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")
CMQC = mq.CMQC
GROUP = b"G" * 24
MEMBER, LAST = CMQC.MQMF_MSG_IN_GROUP, CMQC.MQMF_LAST_MSG_IN_GROUP
PLAIN = {"Format": CMQC.MQFMT_STRING, "CodedCharSetId": 1208}


def old(**fields):
    return mq.MD(Version=CMQC.MQMD_VERSION_1, **fields)


def led(**fields):
    """A descriptor of version 1 that says that an extension leads the body."""
    return old(Format=CMQC.MQFMT_MD_EXTENSION, **fields)


def mde(**fields):
    return mq.MDE(**{**PLAIN, **fields}).pack()


def put_member(orders, body=b"an order", **fields):
    orders.put(body, mq.MD(**{"GroupId": GROUP, "MsgSeqNumber": 2, "MsgFlags": MEMBER, **PLAIN} | fields))


def read(body):
    return MDE.read(body[: MDE.length]), body[MDE.length :]


def test_the_extension_has_the_length_of_the_manual():
    assert 72 == MDE.length == CMQC.MQMDE_LENGTH_2
    assert CMQC.MQENC_NATIVE == extensions.ENCODING_NATIVE


# -- getting


def test_a_message_of_a_group_comes_with_an_extension(orders):
    """EX4: the descriptor describes the extension, the extension the body."""
    put_member(orders)
    got = old()
    fields, body = read(orders.get(None, got))
    assert b"an order" == body
    assert ("MDE", 2, 72) == (fields["StrucId"], fields["Version"], fields["StrucLength"])
    assert (GROUP, 2, 0, MEMBER, -1) == tuple(
        fields[name] for name in ("GroupId", "MsgSeqNumber", "Offset", "MsgFlags", "OriginalLength")
    )
    assert ("MQSTR", CMQC.MQENC_NATIVE, 1208) == (fields["Format"], fields["Encoding"], fields["CodedCharSetId"])
    assert (b"MQHMDE", CMQC.MQENC_NATIVE, 1208) == (got.Format.rstrip(), got.Encoding, got.CodedCharSetId)


def test_its_own_fields_of_version_2_are_left_as_they_were(orders):
    """DS1."""
    put_member(orders)
    got = old(GroupId=b"mine".ljust(24, b"\0"), MsgSeqNumber=9, MsgFlags=1)
    orders.get(None, got)
    assert (b"mine".ljust(24, b"\0"), 9, 1) == (got.GroupId, got.MsgSeqNumber, got.MsgFlags)


def test_a_descriptor_of_version_2_has_room_for_all_of_it(orders):
    put_member(orders)
    got = mq.MD()
    assert b"an order" == orders.get(None, got)
    assert (GROUP, 2, MEMBER, b"MQSTR") == (got.GroupId, got.MsgSeqNumber, got.MsgFlags, got.Format.rstrip())


def test_a_message_alone_comes_without(orders):
    """EX4: every field has its default."""
    orders.put(b"an order", mq.MD(**PLAIN))
    got = old()
    assert b"an order" == orders.get(None, got)
    assert b"MQSTR" == got.Format.rstrip()


def test_a_flag_alone_is_enough_for_one(orders):
    """EX4: bit 0 is a number below zero in C."""
    orders.put(b"x", mq.MD(MsgFlags=-(1 << 31)))
    fields, _ = read(orders.get(None, old()))
    assert (bytes(24), 1, -(1 << 31)) == (fields["GroupId"], fields["MsgSeqNumber"], fields["MsgFlags"])


@pytest.fixture
def ask(qmgr, orders):
    def asked(room, options=0, md=None):
        gmo = mq.GMO(Options=options, MatchOptions=0).pack()
        return ibmmqc.MQGET(qmgr.get_handle(), orders.get_handle(), (md or old()).pack(), gmo, room)

    return asked


ACCEPT = CMQC.MQGMO_ACCEPT_TRUNCATED_MSG


@pytest.mark.parametrize("room", [0, 71, 72, 73, 79])
def test_it_counts_in_the_length_that_is_needed(orders, ask, room):
    """EX4: 72 and 8 bytes; the message stays, and what fits is told."""
    put_member(orders)
    body, md, _, length, comp_code, reason = ask(room)
    assert (80, 1, CMQC.MQRC_TRUNCATED_MSG_FAILED) == (length, comp_code, reason)
    whole, got, gmo, *rest = ask(80)
    assert [80, 0, 0] == rest
    assert 80 == len(whole) == GMO.read(gmo)["ReturnedLength"]
    assert whole[:room] == body
    assert MD.read(got)["Format"] == MD.read(md)["Format"] == "MQHMDE"


@pytest.mark.parametrize("room", [0, 71, 72, 73, 79])
def test_what_is_shortened_begins_with_it(orders, ask, room):
    put_member(orders)
    browsed, *_ = ask(80, CMQC.MQGMO_BROWSE_FIRST)
    body, md, gmo, length, comp_code, reason = ask(room, ACCEPT)
    assert (browsed[:room], 80, 1, CMQC.MQRC_TRUNCATED_MSG_ACCEPTED) == (body, length, comp_code, reason)
    assert ("MQHMDE", room) == (MD.read(md)["Format"], GMO.read(gmo)["ReturnedLength"])
    assert CMQC.MQRC_NO_MSG_AVAILABLE == ask(80)[-1]


@pytest.mark.parametrize("length", [1, 28, 29, 100])
def test_a_message_without_one_may_fill_the_room(orders, ask, length):
    """BO8."""
    orders.put(b"x" * length, mq.MD(**PLAIN))
    orders.put(b"behind it")
    body, md, _, told, *codes = ask(100)
    assert (b"x" * length, length, [0, 0], "MQSTR") == (body, told, codes, MD.read(md)["Format"])
    assert b"behind it" == orders.get()


def test_a_message_without_one_may_be_too_long(orders, ask):
    """BO8: the length is its own."""
    orders.put(b"x" * 101)
    body, _, _, length, comp_code, reason = ask(100)
    assert (101, 1, CMQC.MQRC_TRUNCATED_MSG_FAILED) == (length, comp_code, reason)
    assert b"x" * 28 == body[:28]
    assert 1 == orders.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)


def test_a_browse_goes_on_from_message_to_message(orders, ask):
    """BO8: asking twice moves the cursor once."""
    for at in range(3):
        orders.put(b"%d" % at * 90)
    bodies = [ask(100, CMQC.MQGMO_BROWSE_NEXT)[0][:1] for _ in range(3)]
    assert [b"0", b"1", b"2"] == bodies
    assert b"2" == ask(100, CMQC.MQGMO_MSG_UNDER_CURSOR)[0][:1]


def test_a_message_that_another_got_meanwhile_is_looked_for_no_more(qmgr, orders, ask, monkeypatch):
    """BO8: the next that there is comes instead."""
    orders.put(b"first".ljust(90))
    orders.put(b"second".ljust(90))
    handle, takes = ibmmqc.calls._connections[qmgr.get_handle()]._queue(orders.get_handle()), [True]
    own_get = type(handle).get

    def get(self, options=0, **selecting):
        try:
            return own_get(self, options, **selecting)
        finally:
            if takes and self is handle:
                takes.clear()
                own_get(self, GetOptions.NO_SYNCPOINT)

    monkeypatch.setattr(type(handle), "get", get)
    assert b"second".ljust(90) == ask(100)[0]


def test_conversion_is_of_the_body_behind_it(orders):
    """The extension says what the body has become."""
    put_member(orders, "zwölf".encode("cp500"), CodedCharSetId=500)
    got = old(CodedCharSetId=1208)
    fields, body = read(orders.get(None, got, mq.GMO(Options=CMQC.MQGMO_CONVERT)))
    assert ("zwölf", 1208, "MQSTR") == (body.decode(), fields["CodedCharSetId"], fields["Format"])


def test_properties_come_out_of_the_body_behind_it(qmgr, orders):
    handle = mq.MessageHandle(qmgr)
    handle.properties.set("colour", "red")
    said = mq.MD(GroupId=GROUP, MsgFlags=MEMBER, **PLAIN)
    orders.put(b"an order", said, mq.PMO(OriginalMsgHandle=handle.msg_handle))
    there = mq.MessageHandle(qmgr)
    asked = mq.GMO(Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=there.msg_handle)
    fields, body = read(orders.get(None, old(), asked))
    assert (b"an order", "MQSTR") == (body, fields["Format"])
    assert "red" == there.properties.get("colour")


def test_a_group_in_logical_order(qmgr, orders):
    """Each member comes with its number."""
    ibmmqc.calls._connections[qmgr.get_handle()].connection.alter(LocalQueue, "ORDERS", index_type=IndexType.GROUPID)
    logical = mq.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER)
    for flags in (MEMBER, MEMBER, LAST):
        orders.put(b"x", mq.MD(MsgFlags=flags), logical)
    in_order = mq.GMO(Options=CMQC.MQGMO_LOGICAL_ORDER)
    got = [read(orders.get(None, old(), in_order))[0] for _ in range(3)]
    assert [1, 2, 3] == [fields["MsgSeqNumber"] for fields in got]
    assert [MEMBER, MEMBER, MEMBER | LAST] == [fields["MsgFlags"] for fields in got]
    assert 1 == len({fields["GroupId"] for fields in got})


def test_a_group_is_not_asked_for_by_a_field_that_is_not_there(orders):
    """DS1: without a group to match, any message does."""
    put_member(orders)
    any_group = mq.GMO(Version=2, MatchOptions=CMQC.MQMO_MATCH_GROUP_ID)
    assert b"an order" == read(orders.get(None, old(GroupId=b"H" * 24), any_group))[1]


# -- putting


def stored(qmgr):
    """The message as the native API sees it."""
    return ibmmqc.calls._connections[qmgr.get_handle()].connection.get("ORDERS", GetOptions.NO_SYNCPOINT)


@pytest.mark.parametrize("version", [1, 2])
def test_an_extension_is_taken_for_what_it_says(qmgr, orders, version):
    """EX1: of version 2, the fields of the descriptor have to be the defaults."""
    said = mq.MD(Version=version, Format=CMQC.MQFMT_MD_EXTENSION)
    orders.put(mde(GroupId=GROUP, MsgSeqNumber=3, MsgFlags=LAST, Encoding=273) + b"an order", said)
    message = stored(qmgr)
    assert (b"an order", "MQSTR", 1208, 273) == (
        message.body, message.envelope.format, message.envelope.ccsid, message.envelope.encoding
    )  # fmt: skip
    assert (GROUP, 3, LAST) == (message.envelope.group_id, message.envelope.msg_seq_number, message.envelope.msg_flags)
    assert (b"MQHMDE", CMQC.MQENC_NATIVE) == (said.Format.rstrip(), said.Encoding)


def test_put1_takes_one_too(qmgr, orders):
    qmgr.put1("ORDERS", mde(GroupId=GROUP, MsgFlags=MEMBER) + b"x", led())
    assert GROUP == stored(qmgr).envelope.group_id


def test_the_group_that_is_made_is_not_told(qmgr, orders):
    """DS1: a program that wants to know has a descriptor of version 2."""
    said = led()
    orders.put(mde(MsgFlags=MEMBER) + b"x", said)
    assert bytes(24) == said.GroupId
    assert bytes(24) != stored(qmgr).envelope.group_id


def test_the_character_set_behind_it_may_be_its_own(qmgr, orders):
    """EX1: MQCCSI_INHERIT."""
    orders.put(mde(CodedCharSetId=-2) + b"x", led(CodedCharSetId=1208))
    said = stored(qmgr).envelope
    assert (1208, "MQSTR") == (said.ccsid, said.format)


def test_an_extension_may_be_all_there_is(qmgr, orders):
    orders.put(mde(GroupId=GROUP, MsgFlags=MEMBER), led())
    assert b"" == stored(qmgr).body


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ({"Encoding": 273}, {}),
        ({"CodedCharSetId": 500}, {}),
        ({}, {"Version": 1}),
        ({}, {"Version": 3}),
        ({"Version": 2, "GroupId": b"H" * 24, "MsgFlags": MEMBER}, {}),
        ({"Version": 2, "MsgSeqNumber": 2, "MsgFlags": LAST}, {}),
        ({"Version": 2, "MsgFlags": 0x100000}, {}),
        ({"Format": b"MQSTR"}, {}),
    ],
)
def test_what_is_part_of_the_body(qmgr, orders, said, fields):
    """EX2."""
    body = mde(GroupId=GROUP, MsgSeqNumber=3, MsgFlags=LAST, **fields) + b"an order"
    orders.put(body, mq.MD(**{"Version": 1, "Format": CMQC.MQFMT_MD_EXTENSION} | said))
    message = stored(qmgr)
    assert body == message.body
    assert GROUP != message.envelope.group_id
    assert said.get("Format", b"MQHMDE").decode() == message.envelope.format


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        mde()[:71],
        b"MDX " + mde()[4:],
        mde(StrucLength=68),
        mde(StrucLength=76) + b"more",
        mde(CodedCharSetId=0),
        mde(CodedCharSetId=-1),
        mde(CodedCharSetId=-3),
    ],
    ids=["none", "cut short", "eye-catcher", "shorter", "longer", "no character set", "undefined", "application"],
)
def test_what_is_no_extension(orders, version, body):
    """EX3."""
    said = mq.MD(Version=version, Format=CMQC.MQFMT_MD_EXTENSION)
    assert CMQC.MQRC_MDE_ERROR == reason_of(orders.put, body, said)
    assert 0 == orders.inquire(CMQC.MQIA_CURRENT_Q_DEPTH)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"MsgFlags": 1}, CMQC.MQRC_MSG_FLAGS_ERROR),
        ({"MsgSeqNumber": 0}, CMQC.MQRC_MSG_SEQ_NUMBER_ERROR),
        ({"Offset": 1}, CMQC.MQRC_OFFSET_ERROR),
    ],
)
def test_its_fields_are_checked(orders, fields, reason):
    """EX3."""
    assert reason == reason_of(orders.put, mde(**fields), led())


def test_what_was_put_in_front_comes_back_in_front(orders):
    """EX1, EX4: the same bytes, through a message that is stored without."""
    body = mde(GroupId=GROUP, MsgSeqNumber=3, MsgFlags=LAST) + b"an order"
    orders.put(body, led())
    assert body == orders.get(None, old())


def test_what_the_native_api_put_in_a_group(qmgr, orders, tmp_path):
    with quaestor.connect("QM1", tmp_path / "QM1") as app:
        app.put1("ORDERS", b"x", MQMD(msg_flags=16, group_id=GROUP, encoding=785), PutOptions.NO_SYNCPOINT)
    fields, body = read(orders.get(None, old()))
    assert (b"x", 785, 1208, "") == (body, fields["Encoding"], fields["CodedCharSetId"], fields["Format"])


# -- the rule itself


def test_a_body_without_the_format_is_a_body():
    said = MQMD(format="MQSTR")
    assert (said, mde()) == extensions.honoured(said, mde())


def test_why_an_extension_is_refused():
    with pytest.raises(MQError) as refused:
        extensions.honoured(MQMD(format="MQHMDE", encoding=extensions.ENCODING_NATIVE), b"MDE too short")
    assert (Reason.MDE_ERROR, {"length": 13, "begins": b"MDE "}) == (refused.value.reason, refused.value.facts)
