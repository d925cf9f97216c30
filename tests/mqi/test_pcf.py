"""PCF: messages to bytes and back, in both byte orders; what is cut, wrong or hostile is named."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.mqi.pcf import Filter, Parameter, PCFError, PCFMessage, pack, unpack

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
