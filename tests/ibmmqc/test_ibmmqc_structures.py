"""The MQI's structures, as IBM's package packs them."""

import ctypes
import re
import struct

import pytest

from ibmmqc import structures
from ibmmqc.structures import GMO, MD, OD, VERSIONS, Structure, connection_name, pointed

ibmmq = pytest.importorskip("ibmmq", reason="IBM's package is not installed")

PAIRED = ["MD", "OD", "PMO", "GMO", "CNO", "CSP", "CBD", "CBC", "CTLO", "STS", "IMPO", "DMPO"]


@pytest.mark.parametrize("name", PAIRED)
def test_a_structure_has_the_length_that_ibms_package_packs(name):
    assert len(getattr(ibmmq, name)().pack()) == getattr(structures, name).length


def test_fields_are_read_where_ibms_package_puts_them():
    md = ibmmq.MD(ReplyToQ=b"REPLIES", MsgId=b"\x01" * 24, Priority=7, Format=b"MQSTR   ", OriginalLength=-1)
    fields = MD.read(md.pack())
    assert ("REPLIES", 7, "MQSTR") == (fields["ReplyToQ"], fields["Priority"], fields["Format"])
    assert (b"\x01" * 24, -1) == (fields["MsgId"], fields["OriginalLength"])


def test_writing_changes_what_is_named_and_nothing_else():
    packed = ibmmq.OD(ObjectName=b"ORDERS", DynamicQName=b"A.*").pack()
    written = OD.write(packed, ResolvedQName="ORDERS.REAL")
    again = ibmmq.OD().unpack(written)
    assert (b"ORDERS.REAL".ljust(48), b"A.*".ljust(48, b"\0")) == (again.ResolvedQName, again.DynamicQName)
    assert packed == OD.write(written, ResolvedQName=bytes(48))


def test_a_text_longer_than_its_field_is_cut():
    assert "X" * 48 == GMO.read(GMO.write(GMO.blank(), ResolvedQName="X" * 60))["ResolvedQName"]


def test_a_structure_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"MQMD wrong size\. Given: 3, expected 364"):
        MD.read(b"abc")


def test_native_alignment_is_kept():
    assert 16 == Structure("pair", "Small:i Large:q").length


def test_the_address_of_a_client_channel():
    assert "mq.example(1415)" == connection_name(ibmmq.CD(ConnectionName=b"mq.example(1415)").pack())
    assert "" == connection_name(ibmmq.CD().pack())


def test_a_pointer_to_nothing():
    assert b"" == pointed(0, 5)


def declared(layout):
    """Names and kinds of the fields of a structure of ours."""
    kinds = re.findall(r"\d*[a-zA-Z]", layout._struct.format.lstrip("@"))
    return layout._names, kinds


def distinct(kind, number):
    """A value that only this field has, in as many bytes as it has."""
    if kind.endswith("s"):
        return chr(ord("A") + number % 26).encode() * int(kind[:-1])
    return bytes([number]) if kind == "c" else number


def as_text(value):
    return value.decode().rstrip("\0 ") if isinstance(value, bytes) else value


@pytest.mark.parametrize("name", PAIRED)
def test_every_field_is_read_where_ibms_package_puts_it(name):
    """Each field has a value that no other has; ours reads the same value under the same name."""
    layout = getattr(structures, name)
    names, kinds = declared(layout)
    values = {field: distinct(kind, number) for number, (field, kind) in enumerate(zip(names, kinds, strict=True), 1)}
    packed = struct.pack("@" + "".join(kinds), *values.values())
    theirs = getattr(ibmmq, name)().unpack(packed)
    ours = layout.read(packed)
    assert set(names) == set(ours)
    for field, kind in zip(names, kinds, strict=True):
        if hasattr(theirs, field) and isinstance(getattr(theirs, field), bytes | int):
            assert as_text(getattr(theirs, field)) == as_text(ours[field]), (field, kind)


@pytest.mark.parametrize("name", PAIRED)
def test_writing_a_field_changes_its_bytes_alone(name):
    layout = getattr(structures, name)
    names, kinds = declared(layout)
    blank, sizes = layout.blank(), 0
    touched = [0] * layout.length
    for number, (field, kind) in enumerate(zip(names, kinds, strict=True), 1):
        written = layout.write(blank, **{field: distinct(kind, number)})
        assert distinct(kind, number) == struct.unpack("@" + "".join(kinds), written)[number - 1]
        for at, (before, after) in enumerate(zip(blank, written, strict=True)):
            touched[at] += before != after
        sizes += struct.calcsize(kind)
    assert max(touched) == 1
    assert layout.length - sizes < 16, "no more is left over than alignment asks for"


def test_versions_are_those_that_ibms_package_may_be_told():
    for name, version in VERSIONS.items():
        constants = ibmmq.CMQXC if name == "cd" else ibmmq.CMQC
        assert 1 <= version <= getattr(constants, f"MQ{name.upper()}_CURRENT_VERSION"), name


@pytest.mark.parametrize(
    ("packed", "text"),
    [(b"NAME    ", "NAME"), (b"NA\0ME   ", "NA"), (b"  NAME  ", "  NAME"), (b"\xff       ", "\ufffd"), (bytes(8), "")],
)
def test_a_character_field_is_text_without_its_padding(packed, text):
    assert {"Format": text} == Structure("one", "Format:8s").read(packed)


def test_an_identifier_stays_bytes():
    one = Structure("one", "MsgId:24s CorrelId:24s GroupId:24s AccountingToken:32s MsgToken:16s ConnTag:128s")
    assert {bytes} == {type(value) for value in one.read(one.blank()).values()}


def test_a_pointer_is_followed_as_far_as_it_says():
    text = ctypes.create_string_buffer(b"secret")
    assert b"sec" == pointed(ctypes.addressof(text), 3)
    assert b"" == pointed(ctypes.addressof(text), 0)
    assert b"" == pointed(ctypes.addressof(text), -1)
