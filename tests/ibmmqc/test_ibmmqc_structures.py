"""The MQI's structures, as IBM's package packs them."""

import pytest

from ibmmqc import structures
from ibmmqc.structures import GMO, MD, OD, Structure, connection_name, pointed

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
