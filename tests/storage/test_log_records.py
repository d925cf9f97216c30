"""Log records: what was packed is read back where it stands, and nothing else is good (L1-L4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.storage.log_record import (
    FIRST,
    HEADER,
    HEADER_LENGTH,
    IDENTITY_LENGTH,
    RECORD_MAX,
    Identity,
    Kind,
    LogRecord,
    pack_identity,
    pack_run,
    parse,
    record_length,
    unpack_identity,
)

URID, PREVIOUS, PAGE_SET, START, EPOCH = 500, 600, 4, 1 << 33, 9
FOR_EVER = 1 << 62
CHANGES = st.lists(st.tuples(st.integers(0, 1 << 24), st.binary(max_size=20), st.binary(max_size=40)), max_size=8)
NAMES = st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=16)


def run(changes, stop=FOR_EVER, flags=0):
    return pack_run(Kind.TEXT, flags, URID, PREVIOUS, PAGE_SET, changes, START, stop, EPOCH)


def records_in(packed: bytes) -> list[LogRecord]:
    """Read one after the other, as the log is."""
    found, at = [], 0
    while at < len(packed):
        length = record_length(packed[at : at + HEADER_LENGTH])
        record = parse(packed[at : at + length], START + at)
        assert record is not None
        found.append(record)
        at = record.end - START
    return found


@given(CHANGES)
def test_a_run_is_read_back_as_records_that_are_chained(changes):
    """L3: each is the next one's `previous`, the first has that of the unit."""
    rbas, packed = run(changes)
    expected, at, previous = [], START, PREVIOUS
    for page, head, tail in changes:
        length = HEADER_LENGTH + len(head) + len(tail)
        expected.append(LogRecord(at, Kind.TEXT, 0, URID, previous, PAGE_SET, page, EPOCH, length, head + tail))
        previous, at = at, at + length
    assert expected == records_in(packed)
    assert [record.rba for record in expected] == rbas


@given(CHANGES, st.integers(0, 500))
def test_a_run_ends_with_the_last_record_that_ends_before_the_stop(changes, room):
    rbas, packed = run(changes, START + room)
    ends = [sum(HEADER_LENGTH + len(h) + len(t) for _, h, t in changes[: n + 1]) for n in range(len(changes))]
    fitting = [end for end in ends if end <= room]
    assert (len(fitting), max(fitting, default=0)) == (len(rbas), len(packed))
    assert run(changes[: len(fitting)]) == (rbas, packed)


def test_a_record_may_end_where_the_run_stops_and_not_one_byte_later():
    length = HEADER_LENGTH + 5
    assert [START] == run([(1, b"ab", b"cde")], START + length)[0]
    assert ([], b"") == run([(1, b"ab", b"cde")], START + length - 1)


def test_the_bytes_of_a_record():
    """L1: checksum, length, rba, urid, previous, page, epoch, page set, kind, flags; then the body."""
    _, packed = run([(0x0A0B0C, b"he", b"ad")])
    words = "00000030 0000000200000000 00000000000001f4 0000000000000258 000a0b0c 00000009 0004 04 00"
    assert bytes.fromhex(words) + b"head" == packed[4:]


@pytest.mark.parametrize(
    ("rba", "epoch", "good"),
    [
        (START, 0, True),
        (START, EPOCH, True),
        (START, EPOCH + 1, False),
        (START + 1, EPOCH, False),
        (START - 1, EPOCH, False),
    ],
)
def test_a_record_is_good_at_its_own_rba_and_not_before_an_older_epoch(rba, epoch, good):
    """L1, L2."""
    _, packed = run([(1, b"body", b"")])
    assert good is (parse(packed, rba, epoch) is not None)


def test_a_record_with_something_behind_it_is_not_good():
    _, packed = run([(1, b"body", b"")])
    assert parse(packed + b"\0", START) is None


@pytest.mark.parametrize(
    ("claimed", "length"),
    [
        (0, 0),
        (HEADER_LENGTH - 1, 0),
        (HEADER_LENGTH, HEADER_LENGTH),
        (RECORD_MAX, RECORD_MAX),
        (RECORD_MAX + 1, 0),
        (0xFFFFFFFF, 0),
        (1 << 24 | HEADER_LENGTH, 0),
    ],
)
def test_a_header_claims_a_length_that_a_record_can_have(claimed, length):
    assert length == record_length(HEADER.pack(0, claimed, 0, 0, 0, 0, 0, 0, 0, 0))


# -- the first record of a unit


@given(st.binary(max_size=50), st.builds(Identity, NAMES, NAMES, NAMES, st.integers(0, 1 << 60)))
def test_the_first_record_of_a_unit_names_it_and_whom_it_works_for(body, identity):
    """L3: its RBA is the unit's id, whatever the header says, and its identity is no part of the body."""
    packed = run([(1, body, pack_identity(identity))], flags=FIRST)[1]
    record = parse(packed, START)
    assert (START, body, identity) == (record.urid, record.body, unpack_identity(record.identity))
    assert (PREVIOUS, PAGE_SET, 1, EPOCH, len(packed)) == (
        record.previous,
        record.page_set,
        record.page,
        record.epoch,
        record.length,
    )
    assert (Kind.TEXT, FIRST, START + len(packed)) == (record.kind, record.flags, record.end)


@pytest.mark.parametrize(
    ("given_", "kept"),
    [
        (Identity(), Identity()),
        (Identity("C" * 16, "U" * 16, "T" * 32, 1), Identity("C" * 16, "U" * 16, "T" * 32, 1)),
        (Identity("C" * 17, "U" * 17, "T" * 33, 1), Identity("C" * 16, "U" * 16, "T" * 32, 1)),
        (Identity("é" * 9, "", "", 0), Identity("é" * 8, "", "", 0)),
        (Identity("x" + "é" * 8, "", "", 0), Identity("x" + "é" * 7 + "\N{REPLACEMENT CHARACTER}", "", "", 0)),
    ],
)
def test_names_are_kept_as_far_as_they_fit(given_, kept):
    packed = pack_identity(given_)
    assert (IDENTITY_LENGTH, kept) == (len(packed), unpack_identity(packed))
