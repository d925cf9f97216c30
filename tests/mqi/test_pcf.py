"""PCF: messages to bytes and back, in both byte orders; what is cut, wrong or hostile is named."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.mqi.pcf import (
    BYTES,
    DEPTH_MAX,
    GROUP,
    INTEGER,
    INTEGER64,
    INTEGER64_LIST,
    INTEGER_FILTER,
    INTEGER_LIST,
    STRING,
    STRING_LIST,
    Filter,
    Parameter,
    PCFError,
    PCFMessage,
    pack,
    unpack,
)

LONG = st.integers(-(1 << 31), (1 << 31) - 1)
TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12).map(lambda text: text.rstrip(" \0"))
VALUES = st.one_of(
    LONG,
    st.integers(1 << 31, (1 << 63) - 1),
    TEXTS,
    st.binary(max_size=12),
    st.lists(LONG, min_size=1, max_size=4).map(tuple),
    st.lists(st.integers(1 << 40, 1 << 60), min_size=1, max_size=4).map(tuple),
    st.lists(TEXTS, min_size=1, max_size=4).map(tuple),
    st.builds(Filter, LONG, st.one_of(LONG, TEXTS, st.binary(max_size=8))),
)
PARAMETERS = st.lists(st.tuples(LONG, VALUES).map(lambda pair: Parameter(*pair)), max_size=5).map(tuple)
GROUPED = st.lists(st.tuples(LONG, PARAMETERS.filter(bool)).map(lambda pair: Parameter(*pair)), max_size=2).map(tuple)


def plain(parameters):
    """Without the kinds that reading adds."""
    return tuple(
        Parameter(
            p.number,
            plain(p.value) if p.value and isinstance(p.value, tuple) and isinstance(p.value[0], Parameter) else p.value,
        )
        for p in parameters
    )


@given(PARAMETERS, GROUPED, LONG, st.booleans())
def test_what_is_packed_is_read_back(parameters, groups, command, little):
    message = PCFMessage(command, parameters + groups, reason=3008)
    again = unpack(pack(message, little=little), little=little)
    assert plain(message.parameters) == plain(again.parameters)
    assert (command, 3008) == (again.command, again.reason)


def test_the_bytes_of_an_inquiry():
    message = PCFMessage(13, (Parameter(2016, "A.*"), Parameter(20, 1)))
    words = "00000001 00000024 00000001 0000000d 00000001 00000001 00000000 00000000 00000002"
    name = "00000004 00000018 000007e0 000004b8 00000003 412e2a00"
    kind = "00000003 00000010 00000014 00000001"
    assert bytes.fromhex(words + name + kind) == pack(message)
    assert pack(message, little=True)[:8] == bytes.fromhex("0100000024000000")


def test_every_cut_is_named():
    whole = pack(PCFMessage(13, (Parameter(2016, "A"), Parameter(1002, (1, 2)), Parameter(3011, ("A", "BB")))))
    for cut in range(len(whole)):
        with pytest.raises(PCFError):
            unpack(whole[:cut])


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", 3002),
        (pack(PCFMessage(1, kind=8)), 3001),
        (pack(PCFMessage(1)) + b"more", 3006),
        (pack(PCFMessage(1), little=True), 3001),
        (pack(PCFMessage(1))[:32] + b"\x7f\xff\xff\xff", 3006),
        (pack(PCFMessage(1))[:32] + b"\0\0\0\1" + bytes.fromhex("00000063 00000010 00000001 00000001"), 3013),
        (pack(PCFMessage(1))[:32] + b"\0\0\0\1" + bytes.fromhex("00000005 00000010 00000001 7fffffff"), 3006),
    ],
)
def test_what_is_wrong_is_named(raw, reason):
    with pytest.raises(PCFError) as caught:
        unpack(raw)
    assert reason == caught.value.reason


def test_groups_are_not_nested_for_ever():
    header = pack(PCFMessage(1))[:32] + b"\0\0\0\1"
    group = bytes.fromhex("00000014 00000010 00000001 00000001")
    with pytest.raises(PCFError):
        unpack(header + group * 5000)


@given(st.binary(max_size=120), st.booleans())
def test_no_bytes_break_the_reader(raw, little):
    header = pack(PCFMessage(13), little=little)[:32]
    for each in (raw, header + raw):
        with suppress(PCFError):
            unpack(each, little=little)


# -- the edges of each kind


def only(parameter, *, little=False):
    """The parameter as it is read back, and its bytes."""
    packed = pack(PCFMessage(13, (parameter,)), little=little)
    return unpack(packed, little=little).parameters[0], packed[36:]


def message_of(*words, count=1):
    """A message of one header and these words."""
    return pack(PCFMessage(13))[:32] + b"".join(word.to_bytes(4, "big", signed=True) for word in (count, *words))


@pytest.mark.parametrize(
    ("value", "kind", "length"),
    [
        (0, INTEGER, 16),
        ((1 << 31) - 1, INTEGER, 16),
        (-(1 << 31), INTEGER, 16),
        (1 << 31, INTEGER64, 24),
        (-(1 << 31) - 1, INTEGER64, 24),
        ((1, (1 << 31) - 1, -(1 << 31)), INTEGER_LIST, 28),
        ((1, 1 << 31), INTEGER64_LIST, 32),
        ((1, -(1 << 31) - 1), INTEGER64_LIST, 32),
        ("", STRING, 20),
        ("ABCD", STRING, 24),
        ("ABCDE", STRING, 28),
        (b"", BYTES, 16),
        (b"\1\2\3", BYTES, 20),
        (("", ""), STRING_LIST, 24),
        (("A", "BB"), STRING_LIST, 28),
        (("x",) * 200, STRING_LIST, 224),
        (Filter(2, 7), INTEGER_FILTER, 20),
    ],
)
@pytest.mark.parametrize("little", [False, True])
def test_a_value_says_its_kind_and_takes_so_many_bytes(value, kind, length, little):
    """PF1, PF2, PF3: the smallest kind that holds it, padded to a multiple of four."""
    read, packed = only(Parameter(7, value), little=little)
    order = "little" if little else "big"
    assert Parameter(7, value, kind) == read
    assert (kind, length, 7) == tuple(int.from_bytes(packed[at : at + 4], order) for at in (0, 4, 8))
    assert length == len(packed)


@pytest.mark.parametrize(
    ("kind", "packed"),
    [
        (INTEGER_LIST, "00000005 00000010 00000007 00000000"),
        (INTEGER64_LIST, "00000019 00000010 00000007 00000000"),
        (STRING_LIST, "00000006 00000018 00000007 000004b8 00000000 00000000"),
        (GROUP, "00000014 00000010 00000007 00000000"),
    ],
)
def test_an_empty_list_has_the_kind_that_is_given(kind, packed):
    assert (Parameter(7, (), kind), bytes.fromhex(packed)) == only(Parameter(7, (), kind))


def test_a_number_is_of_eight_bytes_when_that_is_asked_for():
    expected = bytes.fromhex("00000017 00000018 00000007 00000000 0000000000000005")
    assert (Parameter(7, 5, INTEGER64), expected) == only(Parameter(7, 5, INTEGER64))


def test_a_kind_that_is_not_known_is_not_written():
    with pytest.raises(PCFError) as caught:
        pack(PCFMessage(13, (Parameter(7, Filter(1, 1), 99),)))
    assert 3013 == caught.value.reason


def test_a_parameter_is_found_by_its_number():
    """The first of that number, as there may be more."""
    message = PCFMessage(13, (Parameter(1, "A"), Parameter(2, 0), Parameter(2, 5)))
    assert ("A", 0, None) == (message.value(1), message.value(2), message.value(3))


def test_trailing_blanks_and_zeros_are_not_part_of_a_text():
    """PF3."""
    assert "  A" == only(Parameter(7, "  A \0 "))[0].value


@pytest.mark.parametrize(("depth", "good"), [(1, True), (DEPTH_MAX, True), (DEPTH_MAX + 1, False)])
def test_groups_are_so_deep_and_no_deeper(depth, good):
    nested = Parameter(1, 5)
    for _ in range(depth):
        nested = Parameter(2, (nested,))
    raw = pack(PCFMessage(13, (nested,)))
    if good:
        assert plain((nested,)) == plain(unpack(raw).parameters)
    else:
        with pytest.raises(PCFError, match=f"{depth} groups deep"):
            unpack(raw)


@pytest.mark.parametrize(
    "words",
    [
        (INTEGER, 12, 7, 1),  # shorter than any parameter
        (INTEGER64, 16, 7, 0, 0, 0),  # its number is beyond it
        (STRING, 24, 7, 1208, 5, 0, 16, 0, 0, 0),  # a text that goes on in what follows
        (STRING, 24, 7, 1208, -1, 0),
        (BYTES, 20, 7, 5, 0, 16, 0, 0),
        (BYTES, 20, 7, -1, 0),
        (INTEGER_LIST, 20, 7, 2, 0, 0),
        (INTEGER_LIST, 20, 7, -1, 0),
        (INTEGER64_LIST, 24, 7, 2, 0, 0, 0, 0),
        (STRING_LIST, 28, 7, 1208, 2, 4, 0, 0),
        (STRING_LIST, 28, 7, 1208, -1, 4, 0),
        (STRING_LIST, 28, 7, 1208, 1, -4, 0),
        (STRING_LIST, 24, 7, 1208, 2_000_000_000, 0),  # empty texts cost their sender nothing
        (14, 28, 7, 1, 1208, 5, 0, 0),
        (15, 24, 7, 1, 5, 0, 0),
        (GROUP, 16, 7, -1),
    ],
)
def test_what_goes_beyond_its_structure_is_named(words):
    """PF4: a length is believed only as far as the structure it is in."""
    with pytest.raises(PCFError) as caught:
        unpack(message_of(*words))
    assert 3006 == caught.value.reason


def test_a_header_of_another_length_is_named():
    raw = bytearray(pack(PCFMessage(13)))
    raw[7] = 40
    with pytest.raises(PCFError) as caught:
        unpack(bytes(raw))
    assert 3002 == caught.value.reason
