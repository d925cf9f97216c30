"""Message properties in handles and in the MQRFH2."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibmmqc.properties import (
    BOOLEAN,
    BYTES,
    FLOAT64,
    INT32,
    INT64,
    NULL,
    STRING,
    MessageHandle,
    carried,
    full,
    shown,
)

BIG, LITTLE = 785, 546
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)
TEXTS = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc")), max_size=40).map(str.strip)
VALUES = st.one_of(
    st.tuples(st.just(STRING), TEXTS),
    st.tuples(st.just(INT32), st.integers(-(1 << 31), (1 << 31) - 1)),
    st.tuples(st.just(INT64), st.integers(-(1 << 63), (1 << 63) - 1)),
    st.tuples(st.just(BOOLEAN), st.integers(0, 1)),
    st.tuples(st.just(BYTES), st.binary(max_size=30)),
    st.tuples(st.just(FLOAT64), st.floats(allow_nan=False)),
    st.tuples(st.just(NULL), st.none()),
)


def handle(**values):
    made = MessageHandle()
    for name, (kind, value) in values.items():
        assert made.set(name, kind, value)
    return made


@given(st.dictionaries(NAMES, VALUES, max_size=6), st.sampled_from([BIG, LITTLE]), st.binary(max_size=50))
def test_properties_come_back_as_they_were_set(values, encoding, body):
    packed = handle(**values).pack("MQSTR", encoding, 1208)
    assert len(packed) % 4 == 0
    taken = carried(packed + body, encoding)
    assert (body, "MQSTR", encoding, 1208) == (taken.body, taken.format, taken.encoding, taken.ccsid)
    found = {name: taken.properties.find(name, following=False)[1] for name in values}
    assert values == {name: tuple(prop) for name, prop in found.items()}


def test_a_name_without_a_folder_is_in_usr():
    made = handle(colour=(STRING, "red"))
    assert ("usr.colour", "red") == (
        made.find("usr.colour", following=False)[0],
        made.find("colour", following=False)[1][1],
    )
    assert ("usr.colour", "jms.type") == (full("colour"), full("jms.type"))
    assert ("colour", "jms.type") == (shown("usr.colour"), shown("jms.type"))


def test_folders_are_elements_of_their_own():
    packed = handle(colour=(STRING, "r<d"), **{"shop.size": (INT32, 5)}).pack("", BIG, 0)
    assert b"<usr><colour>r&lt;d</colour></usr>" in packed
    assert b"<shop><size dt='i4'>5</size></shop>" in packed


def test_a_name_with_a_wildcard_goes_from_one_to_the_next():
    made = handle(a=(STRING, "1"), b=(STRING, "2"), **{"shop.c": (STRING, "3")})
    walk = [made.find("%", following=False)]
    while (following := made.find("%", following=True)) is not None:
        walk.append(following)
    assert ["usr.a", "usr.b", "shop.c"] == [name for name, _ in walk]
    assert "shop.c" == made.find("shop.%", following=False)[0]


def test_what_is_deleted_is_gone():
    made = handle(a=(STRING, "1"))
    assert made.delete("a")
    assert not made.delete("a")
    assert made.find("a", following=False) is None
    assert 0 == len(made)


@pytest.mark.parametrize("name", ["", "1st", "a b", "<x>", "a'"])
def test_a_name_that_cannot_be_a_property(name):
    assert not MessageHandle().set(name, STRING, "x")


@pytest.mark.parametrize(
    "damage",
    [
        lambda header: header[:20],
        lambda header: b"RFX " + header[4:],
        lambda header: header[:4] + struct.pack(">i", 9) + header[8:],
        lambda header: header[:8] + struct.pack(">i", 1 << 20) + header[12:],
        lambda header: header[:36] + struct.pack(">i", -1) + header[40:],
        lambda header: header.replace(b"</usr>", b"</usx>"),
        lambda header: header.replace(b"red", b"\xff\xfe\xfd"),
        lambda header: b"",
    ],
)
def test_a_header_that_cannot_be_read_is_no_header(damage):
    assert carried(damage(handle(colour=(STRING, "red")).pack("MQSTR", BIG, 1208)), BIG) is None


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_never_break_it(noise):
    carried(b"RFH " + noise, BIG)
    carried(handle(a=(STRING, "b")).pack("", LITTLE, 0)[:36] + noise, LITTLE)
