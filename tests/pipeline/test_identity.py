"""Who a record is, and who a dump is (rules U1 to U3)."""

import io

import pytest
import xxhash

from quaestor.pipeline import identity
from quaestor.pipeline.identity import chunk_digests, dump_digest, record_ids
from quaestor.smf.framing import DumpReader
from smf.dumps import blocked, spanned, with_section

A, B = with_section(b"\x01" * 60), with_section(b"\x02" * 60)


def ids(data):
    return [bytes(each) for block in DumpReader(io.BytesIO(data)).blocks() for each in record_ids(block)]


def test_a_record_is_its_bytes_behind_the_descriptor():
    """U1: the digest of all but the first four bytes."""
    assert [xxhash.xxh3_128_digest(A[4:]), xxhash.xxh3_128_digest(B[4:])] == ids(A + B)


@pytest.mark.parametrize(
    "framed",
    [
        pytest.param(lambda records: b"".join(spanned(each, 33) for each in records), id="spanned"),
        pytest.param(lambda records: blocked(records, 150), id="blocked"),
        pytest.param(lambda records: b"".join(each[4:] for each in records), id="stripped"),
    ],
)
def test_framing_is_no_part_of_a_record(framed):
    assert ids(A + B) == ids(framed([A, B]))


def test_a_bit_makes_another_record_and_a_copy_the_same():
    changed = bytearray(A)
    changed[-1] ^= 1
    first, copy, other = ids(A + A + bytes(changed))
    assert first == copy != other


def test_a_record_of_another_time_is_another_record():
    """U2: what tells two records of equal figures apart is their clock."""
    assert 2 == len({*ids(A + with_section(b"\x01" * 60, time=3_600_001))})


def digests(data, first=0, count=99):
    return chunk_digests(io.BytesIO(data), first, count)


def test_a_dump_is_digested_in_chunks_of_equal_size(monkeypatch):
    """U3: as many digests as chunks, the last one of what is left."""
    monkeypatch.setattr(identity, "CHUNK", 10)
    monkeypatch.setattr(identity, "_READ", 4)
    data = bytes(range(25))
    whole = [xxhash.xxh3_128_digest(data[at : at + 10]) for at in (0, 10, 20)]
    assert whole == digests(data)
    assert whole[:2] == digests(data[:20])
    assert [] == digests(b"")


def test_tasks_share_the_chunks(monkeypatch):
    """Any split of the chunks gives the same digests, in order."""
    monkeypatch.setattr(identity, "CHUNK", 10)
    data = bytes(range(95))
    whole = digests(data)
    assert 10 == len(whole)
    assert whole == digests(data, 0, 3) + digests(data, 3, 4) + digests(data, 7, 3)
    assert [] == digests(data, 10, 5)


def test_the_digest_of_a_dump_is_of_its_size_and_its_chunks_in_order():
    one, two = b"a" * 16, b"b" * 16
    assert xxhash.xxh3_128_hexdigest((32).to_bytes(8, "big") + one + two) == dump_digest(32, [one, two])
    assert 4 == len(
        {dump_digest(32, [one, two]), dump_digest(32, [two, one]), dump_digest(33, [one, two]), dump_digest(32, [one])}
    )
    assert dump_digest(0, []) == dump_digest(0, iter([]))
