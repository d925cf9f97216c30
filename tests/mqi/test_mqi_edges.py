"""Headers, names, selections and structures at their edges: the bytes, what is refused, and by which reason."""

import pytest

from quaestor.mqi import matching, messages, names
from quaestor.mqi.attributes import AttributeValueError
from quaestor.mqi.descriptors import MQMD
from quaestor.mqi.headers import (
    MQDLH,
    MQXQH,
    TriggerMessage,
    field_text,
    pack_descriptor,
    text_field,
    unpack_descriptor,
)
from quaestor.mqi.matching import ANY, Selection, selection
from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import MQError, Reason
from quaestor.mqi.structures import StructureDefinition

GROUPED = MQMD(group_id=b"G" * 24, msg_seq_number=3, msg_flags=8, offset=5, original_length=7, format="MQSTR")


def refused(reason, call, *given):
    with pytest.raises(MQError) as caught:
        call(*given)
    assert reason == caught.value.reason


def with_word(raw, at, word):
    return raw[:at] + word.to_bytes(4, "big", signed=True) + raw[at + 4 :]


# -- headers


@pytest.mark.parametrize(("text", "stored"), [("AB", b"AB  "), ("ABCDE", b"ABCD"), ("", b"    "), ("é", b"\xc3\xa9  ")])
def test_a_character_field_has_exactly_its_length(text, stored):
    """H1."""
    assert stored == text_field(text, 4)


@pytest.mark.parametrize(("stored", "text"), [(b"AB  ", "AB"), (b"AB\0CD", "AB"), (b" A B ", " A B"), (b"\0", "")])
def test_a_character_field_ends_with_its_blanks_or_a_zero(stored, text):
    assert text == field_text(stored)


def test_the_bytes_of_a_dead_letter_header():
    packed = MQDLH(2053, "ORDERS", "QM1", 273, 500, "MQSTR", 28, "JOB", "20261115", "12000000").pack()
    words = bytes.fromhex("00000001 00000805")
    names_ = b"ORDERS".ljust(48) + b"QM1".ljust(48)
    numbers = bytes.fromhex("00000111 000001f4")
    rest = b"MQSTR   " + bytes.fromhex("0000001c") + b"JOB".ljust(28) + b"2026111512000000"
    assert b"DLH " + words + names_ + numbers + rest == packed


@pytest.mark.parametrize(
    ("read", "whole", "reason"),
    [
        (MQDLH.unpack, MQDLH(1, "Q", "QM").pack(), Reason.DLH_ERROR),
        (TriggerMessage.unpack, TriggerMessage("Q").pack(), Reason.MD_ERROR),
        (unpack_descriptor, pack_descriptor(MQMD()), Reason.MD_ERROR),
        (MQXQH.unpack, MQXQH("Q", "QM", MQMD()).pack(), Reason.XQH_ERROR),
        (MQXQH.unpack, MQXQH("Q", "QM", GROUPED).pack(), Reason.XQH_ERROR),
    ],
    ids=["dead letter", "trigger message", "descriptor", "transmission", "with an extension"],
)
def test_a_header_that_is_short_or_another_one_is_refused(read, whole, reason):
    """H1: too short, another eye-catcher, an unknown version."""
    read(whole)
    refused(reason, read, whole[:-1])
    refused(reason, read, b"ELSE" + whole[4:])
    for version in (0, 2):
        refused(reason, read, with_word(whole, 4, version))


@pytest.mark.parametrize(
    ("at", "word"),
    [(4, 1), (4, 3), (8, 0), (8, -72), (8, 71), (8, 73), (8, 1 << 30)],
)
def test_an_extension_of_another_version_or_length_is_refused(at, word):
    """H1: a length that was believed would cut the message behind it, or give parts of the header as one."""
    whole = MQXQH("Q", "QM", GROUPED).pack() + b"body"
    refused(Reason.XQH_ERROR, MQXQH.unpack, with_word(whole, 428 + at, word))
    refused(Reason.XQH_ERROR, MQXQH.unpack, whole[:428] + b"ELSE" + whole[432:])


@pytest.mark.parametrize(
    ("md", "length"),
    [
        (MQMD(), 428),
        (MQMD(group_id=b"G" * 24), 500),
        (MQMD(msg_flags=1), 500),
        (MQMD(msg_seq_number=2), 500),
        (GROUPED, 500),
    ],
)
def test_what_the_first_descriptor_lacks_travels_in_an_extension(md, length):
    whole = MQXQH("Q" * 48, "QM", md).pack()
    header, body = MQXQH.unpack(whole + b"body")
    assert (length, MQXQH("Q" * 48, "QM", md), b"body") == (len(whole), header, body)


# -- names


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("*", "U16"),
        ("A*", "AU16"),
        ("A*  ", "AU16"),
        ("P" * 32 + "*", "P" * 32 + "U16"),
        ("P" * 33 + "*", None),
        ("A B*", None),
        ("**", None),
        ("PLAIN", "PLAIN"),
        ("P" * 48, "P" * 48),
        ("P" * 49, None),
        ("", None),
    ],
)
def test_the_name_of_a_dynamic_queue(pattern, name):
    """N4."""
    if name is None:
        refused(Reason.DYNAMIC_Q_NAME_ERROR, names.dynamic_name, pattern, "U16")
    else:
        assert name == names.dynamic_name(pattern, "U16")


@pytest.mark.parametrize(
    ("generic", "name", "picks"),
    [("*", "A", True), ("A*", "A", True), ("A*", "BA", False), ("A", "AB", False), ("A*B", "AXB", False)],
)
def test_which_names_a_generic_one_picks(generic, name, picks):
    """N3."""
    assert picks is names.picks(generic, name)


def test_a_name_that_is_none_is_refused_by_the_reason_that_is_asked_for():
    refused(Reason.OBJECT_NAME_ERROR, names.checked, "A B")
    refused(Reason.UNKNOWN_OBJECT_NAME, names.checked, "", Reason.UNKNOWN_OBJECT_NAME)
    refused(Reason.OBJECT_NAME_ERROR, names.checked, " A")


# -- matching

EVERYTHING = {"msg_id": b"M" * 24, "correl_id": b"C" * 24, "group_id": b"G" * 24, "sequence": 2, "token": 9}


@pytest.mark.parametrize(
    ("match", "field"), [(1, "msg_id"), (2, "correl_id"), (4, "group_id"), (8, "sequence"), (32, "token")]
)
def test_only_what_the_match_options_name_counts(match, field):
    """M1, M2."""
    assert Selection(**{field: EVERYTHING[field]}) == selection(**EVERYTHING, match=match)
    assert (Selection(**EVERYTHING), ANY) == (selection(**EVERYTHING), selection(**EVERYTHING, match=0))
    asked = Selection(**{field: EVERYTHING[field]})
    assert matching.matches(asked, **EVERYTHING)
    other = {"sequence": 3, "token": 8}.get(field, b"?" * 24)
    assert not matching.matches(asked, **EVERYTHING | {field: other})
    assert asked.specific is (field != "sequence")


@pytest.mark.parametrize("match", [16, 64, 33 | 128, -1])
def test_match_options_that_are_not_known_are_refused(match):
    refused(Reason.MATCH_OPTIONS_ERROR, lambda: selection(match=match))


@pytest.mark.parametrize(
    ("identifier", "looked_for"),
    [
        (None, None),
        (b"", None),
        (bytes(5), None),
        (bytes(24), None),
        (b"A", b"A" + bytes(23)),
        (b"A" * 24, b"A" * 24),
    ],
)
def test_the_identifier_that_is_looked_for(identifier, looked_for):
    """M1, M3."""
    assert looked_for == matching.wanted(identifier)


@pytest.mark.parametrize("identifier", [b"A" * 25, "A" * 24, 5])
def test_what_is_no_identifier_is_refused(identifier):
    refused(Reason.MATCH_OPTIONS_ERROR, matching.wanted, identifier)


def test_any_message_is_nothing_specific():
    assert not ANY.specific


# -- messages


def test_identifiers_name_the_queue_manager_and_only_go_up():
    """G2."""
    following = messages.id_maker("QM1", 1 << 40)
    made = [following() for _ in range(3)]
    assert [b"CSQ QM1         " + ((1 << 52) + number).to_bytes(8, "big") for number in (1, 2, 3)] == made
    assert b"CSQ ABCDEFGHIJKL" == messages.id_maker("ABCDEFGHIJKLM", 0)()[:16]


@pytest.mark.parametrize(
    ("put_us", "date", "time"),
    [
        (0, "19700101", "00000000"),
        (1_700_000_000_129_999, "20231114", "22132012"),
        (1_700_000_000_090_000, "20231114", "22132009"),
    ],
)
def test_when_a_message_was_put(put_us, date, time):
    """To the hundredth of a second, not rounded."""
    md = Message(b"", MQMD(), bytes(24), bytes(24), 0, 0, put_us).descriptor
    assert (date, time) == (md.put_date, md.put_time)


@pytest.mark.parametrize(("original", "truncated"), [(-1, False), (3, False), (4, True)])
def test_a_message_that_was_shortened_says_so(original, truncated):
    message = Message(b"abc", MQMD(), bytes(24), bytes(24), 0, 1, 0, original_length=original)
    assert (truncated, True) == (message.truncated, message.persistent)


def test_the_length_of_the_stored_form_is_in_its_fixed_part():
    """G3."""
    packed = Message(b"abc", GROUPED, b"M" * 24, b"C" * 24, 5, 1, 9).pack()
    assert (len(packed), 70 + len(GROUPED.packed())) == (messages.packed_length(packed[:70]), len(packed))


# -- structures


@pytest.mark.parametrize("name", ["A", "@#$", "A23456789_12"])
def test_names_that_a_structure_may_have(name):
    assert name == StructureDefinition(name).name


@pytest.mark.parametrize("name", ["", "1A", "a", "A23456789_123", "CSQ_ADMIN", "A B"])
def test_names_that_no_structure_may_have(name):
    with pytest.raises(AttributeValueError, match="1 to 12 characters"):
        StructureDefinition(name)


@pytest.mark.parametrize(
    ("level", "offload", "keeps_long", "in_data_sets"),
    [(3, "SMDS", False, False), (4, "SMDS", True, False), (5, "SMDS", True, True), (5, "DB2", True, False)],
)
def test_where_long_messages_are_kept(level, offload, keeps_long, in_data_sets):
    """SU3."""
    structure = StructureDefinition("APP1", level=level, offload=offload)
    assert (keeps_long, in_data_sets) == (structure.keeps_long, structure.in_data_sets)


@pytest.mark.parametrize(
    ("offload", "given", "sizes"),
    [
        ("SMDS", (), (32, 4, 0)),
        ("DB2", (), (64, 64, 64)),
        ("DB2", ("OFFLD2SZ",), (64, 4, 64)),
        ("DB2", ("OFFLD1SZ", "OFFLD2SZ", "OFFLD3SZ"), (32, 4, 0)),
    ],
)
def test_without_data_sets_no_rule_sends_anything_away_unless_it_is_given(offload, given, sizes):
    """SU4."""
    made = StructureDefinition("APP1", level=5, offload=offload).without_rules(given)
    assert sizes == (made.offload1_size, made.offload2_size, made.offload3_size)


def test_a_structure_reads_back_from_its_row():
    """SU1: sizes as DISPLAY shows them; what an older row does not say has its default."""
    made = StructureDefinition("APP1", "ours", level=5, offload1_size=16, full_threshold=70, data_set_block="1M")
    row = made.row()
    assert ("16K", "1M", 70, "ours") == (row["OFFLD1SZ"], row["DSBLOCK"], row["FULLTHRESHOLD"], row["DESCR"])
    assert made == StructureDefinition.of("APP1", row)
    assert StructureDefinition("APP1", level=4) == StructureDefinition.of("APP1", {"CFLEVEL": 4})


@pytest.mark.parametrize(
    "wrong", [{"level": 2}, {"level": 6}, {"size_kb": 15}, {"full_threshold": 0}, {"offload1_threshold": 101}]
)
def test_a_structure_with_an_attribute_out_of_range_is_refused(wrong):
    with pytest.raises(AttributeValueError):
        StructureDefinition("APP1", **wrong)
