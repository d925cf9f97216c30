"""Message properties in handles and in the MQRFH2."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibmmqc.properties import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    NULL,
    STRING,
    MessageHandle,
    Property,
    carried,
    full,
    shown,
)

BIG, LITTLE = 785, 546
WHOLE = ((8, INT8), (16, INT16), (32, INT32), (64, INT64))
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
        assert 0 == made.set(name, kind, value)
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


@pytest.mark.parametrize("name", ["", "1st", "a b", "<x>", "a'", "a..b", ".a", "a.", "%", "usr.%", "Größe", "a.1"])
def test_a_name_that_cannot_be_a_property(name):
    made = MessageHandle()
    assert (2442, 0) == (made.set(name, STRING, "x"), len(made))


@pytest.mark.parametrize("name", ["a", "_", "a-b", "a.b", "usr.a.b.c", " padded ", "x" * 200])
def test_a_name_that_can_be_a_property(name):
    made = MessageHandle()
    assert 0 == made.set(name, STRING, "x")
    assert made.find(name, following=False) is not None


@pytest.mark.parametrize("kind", [0, 1, 3, 2048, -1])
def test_a_type_that_nobody_knows(kind):
    made = MessageHandle()
    assert (2473, 0) == (made.set("a", kind, "x"), len(made))


REFUSED = [
    *((STRING, text) for text in ("\0", "\x01", "a\x0b", "\x1f", "\ud800", "\ufffe", "\uffff")),
    *((kind, value) for bits, kind in WHOLE for value in (1 << bits - 1, -(1 << bits - 1) - 1)),
    *((kind, value) for _, kind in WHOLE for value in ("", "abc", "1.5", None, float("inf"))),
    (FLOAT32, 1e39),
    *((kind, value) for kind in (FLOAT32, FLOAT64) for value in ("", "abc", None)),
    *((BYTES, value) for value in ("text", 5, None)),
]
TAKEN = [
    *((STRING, text, text) for text in ("", "\t\n\r", "a\r\nb", "~\x7f\x85", "\ud7ff", "\ue000\ufffd", "\U0010ffff")),
    *((STRING, value, text) for value, text in ((b"abc", "abc"), (b"\xff", "\ufffd"), (5, "5"))),
    *((kind, value, value) for bits, kind in WHOLE for value in ((1 << bits - 1) - 1, -(1 << bits - 1), 0)),
    *((kind, "12", 12) for _, kind in WHOLE),
    (FLOAT32, 1.5, 1.5),
    (FLOAT64, 1e300, 1e300),
    (FLOAT64, float("-inf"), float("-inf")),
    *((BOOLEAN, value, 1) for value in (1, True, "1", "TRUE", "true")),
    *((BOOLEAN, value, 0) for value in (0, False, "0", "FALSE", "")),
    (BYTES, bytearray(b"ab"), b"ab"),
    (BYTES, b"", b""),
    (NULL, "whatever", None),
]


@pytest.mark.parametrize(("kind", "value"), REFUSED)
def test_a_value_that_its_type_or_xml_has_no_room_for(kind, value):
    made = handle(a=(STRING, "before"))
    assert 2004 == made.set("a", kind, value)
    assert "before" == made.find("a", following=False)[1].value


@pytest.mark.parametrize(("kind", "value", "back"), TAKEN)
def test_a_value_comes_back_through_a_message(kind, value, back):
    taken = carried(handle(a=(kind, value)).pack("", LITTLE, 1208) + b"body", LITTLE)
    assert (b"body", (kind, back)) == (taken.body, tuple(taken.properties.find("a", following=False)[1]))


@pytest.mark.parametrize(
    ("prop", "length"),
    [
        (Property(STRING, "Größe"), 7),
        (Property(BYTES, b"abc"), 3),
        (Property(NULL, None), 0),
        (Property(BOOLEAN, 1), 4),
        (Property(INT8, 1), 1),
        (Property(INT16, 1), 2),
        (Property(INT32, 1), 4),
        (Property(INT64, 1), 8),
        (Property(FLOAT32, 1.0), 4),
        (Property(FLOAT64, 1.0), 8),
    ],
)
def test_the_length_of_a_value_is_that_of_its_type(prop, length):
    assert length == prop.length


# --- the cursor ------------------------------------------------------------------------------------------------------


def names_of(made, pattern="%", each=lambda _name: None):
    """The names that a walk with a wildcard meets; `each` is done with every one of them."""
    met, found = [], made.find(pattern, following=False)
    while found is not None:
        met.append(shown(found[0]))
        each(found[0])
        found = made.find(pattern, following=True)
    return met


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.data())
def test_a_walk_meets_every_property_whatever_is_deleted_behind_it(names, data):
    """PR4: the cursor counts on from where it stands, not from a place that moved."""
    made = handle(**{name: (STRING, name) for name in names})
    doomed = data.draw(st.sets(st.sampled_from(names))) if names else set()
    assert names == names_of(made, each=lambda name: shown(name) in doomed and made.delete(name))
    assert [name for name in names if name not in doomed] == names_of(made)


def test_what_is_deleted_ahead_of_a_walk_is_not_met():
    made = handle(**{name: (STRING, name) for name in "abc"})
    assert ["a", "c"] == names_of(made, each=lambda name: name == "usr.a" and made.delete("b"))


def test_the_cursor_is_on_what_was_inquired_until_that_is_deleted():
    made = handle(**{name: (STRING, name) for name in "abc"})
    assert made.under_cursor() is None
    made.find("b", following=False)
    assert "usr.b" == made.under_cursor()[0]
    assert made.find("none", following=False) is None
    assert "usr.b" == made.under_cursor()[0]
    made.delete("a")
    assert "usr.b" == made.under_cursor()[0]
    made.delete("b")
    assert made.under_cursor() is None
    assert "usr.c" == made.find("%", following=True)[0]
    made.clear()
    assert made.under_cursor() is None


def test_a_folder_of_its_own_is_walked_alone():
    of_shops = {"shop.size": (INT32, 2), "shop.colour": (STRING, "red"), "shopping.x": (INT32, 3)}
    made = handle(size=(INT32, 1), **of_shops)
    assert ["shop.size", "shop.colour"] == names_of(made, "shop.%")
    assert ["size"] == names_of(made, "usr.%")
    assert ["size", "shop.size", "shop.colour", "shopping.x"] == names_of(made, " % ")


@pytest.mark.parametrize("element", ["<a dt='i1'>300</a>", "<a dt='i4'>x</a>", "<a dt='r8'/>", "<a dt='bin.hex'>0</a>"])
def test_a_header_with_a_value_that_cannot_be_is_no_header(element):
    packed = handle(a=(INT32, 5)).pack("", BIG, 0)
    folder = f"<usr>{element}</usr>".encode().ljust(40)
    head = packed[:8] + struct.pack(">i", 36 + 4 + 40) + packed[12:36]
    assert carried(head + struct.pack(">i", 40) + folder, BIG) is None


def test_elements_that_say_no_type_are_texts_and_strange_names_are_passed_over():
    text = b"<usr><a>5</a><b dt='string'>x</b><c dt='new'>y</c><d xsi:nil='true'/><e:f xmlns:e='g'>z</e:f></usr>"
    folder = text.ljust(-(-len(text) // 4) * 4)
    head = handle().pack("MQSTR", BIG, 819)
    packed = head[:8] + struct.pack(">i", 40 + len(folder)) + head[12:] + struct.pack(">i", len(folder)) + folder
    taken = carried(packed + b"rest", BIG)
    assert (b"rest", "MQSTR", 819) == (taken.body, taken.format, taken.ccsid)
    found = {name: tuple(taken.properties.find(name, following=False)[1]) for name in names_of(taken.properties)}
    assert {"a": (STRING, "5"), "b": (STRING, "x"), "c": (STRING, "y"), "d": (NULL, None)} == found


@pytest.mark.parametrize(
    "damage",
    [
        lambda header: header[:20],
        lambda header: b"RFX " + header[4:],
        lambda header: header[:4] + struct.pack(">i", 9) + header[8:],
        lambda header: header[:8] + struct.pack(">i", 1 << 20) + header[12:],
        lambda header: header[:36] + struct.pack(">i", -1) + header[40:],
        lambda header: header[:36] + struct.pack(">i", len(header) - 40 + 8) + header[40:] + b" " * 8,
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
