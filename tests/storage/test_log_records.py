"""Log records: what was packed is read back where it stands, and nothing else is good (L1-L6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.storage.log_record import (
    ALLOCATES,
    FIRST,
    HEADER,
    HEADER_LENGTH,
    IDENTITY_LENGTH,
    LONG_USER,
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
    flags, identified = pack_identity(identity)
    assert (FIRST, IDENTITY_LENGTH) == (flags, len(identified))
    packed = run([(1, body, identified)], flags=flags)[1]
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
        (Identity("C" * 17, "U" * 16, "T" * 33, 1), Identity("C" * 16, "U" * 16, "T" * 32, 1)),
        (Identity("é" * 9, "", "", 0), Identity("é" * 8, "", "", 0)),
        (Identity("x" + "é" * 8, "", "", 0), Identity("x" + "é" * 7 + "\N{REPLACEMENT CHARACTER}", "", "", 0)),
    ],
)
def test_names_are_kept_as_far_as_they_fit(given_, kept):
    flags, packed = pack_identity(given_)
    assert (FIRST, IDENTITY_LENGTH, kept) == (flags, len(packed), unpack_identity(packed))


# -- long names of users


@pytest.mark.parametrize(
    ("user", "more"),
    [
        ("SIXTEEN.LETTERS.", 0),
        ("SIXTEEN.LETTERS.A", 1),
        ("SIXTEEN.LETTERS.ALICE", 5),
        ("x" + "é" * 8, 1),  # the sixteenth byte is the first of two
        ("U" * 16 + "\0", 1),
        ("U" * 15 + "\0U", 1),
        ("U" * 255, 239),
    ],
)
def test_a_long_name_of_a_user_is_kept_whole_behind_the_identity(user, more):
    """L6: with one byte for how much that is; a name of sixteen bytes costs what it did."""
    identity = Identity("CONNECTION", user, "THREAD", 77)
    flags, packed = pack_identity(identity)
    assert IDENTITY_LENGTH + (more + 1 if more else 0) == len(packed)
    assert (FIRST | LONG_USER if more else FIRST) == flags
    assert identity == unpack_identity(packed)


@given(
    st.binary(max_size=50),
    st.text(st.characters(codec="utf-8"), min_size=17, max_size=63),
    st.sampled_from([0, ALLOCATES]),
)
def test_a_first_record_with_a_long_name_is_read_back(body, user, flag):
    """L6: the body ends where the identity begins."""
    flags, identified = pack_identity(Identity("C", user, "T", 5))
    packed = run([(1, body, identified)], flags=flags | flag)[1]
    record = parse(packed, START)
    assert (START, body, flags | flag) == (record.urid, record.body, record.flags)
    assert Identity("C", user, "T", 5) == unpack_identity(record.identity)


def test_the_bytes_of_an_identity():
    """L3, L6: connection, user, thread, when it began; then the rest of a long name and its length."""
    _, packed = pack_identity(Identity("BATCH", "SIXTEEN.LETTERS.ALICE", "7", 0x0102))
    words = [b"BATCH".ljust(16, b"\0"), b"SIXTEEN.LETTERS.", b"7".ljust(32, b"\0"), bytes.fromhex("0000000000000102")]
    assert b"".join(words) + b"ALICE\x05" == packed


def test_a_first_record_from_before_there_were_long_names_is_read():
    """L6: the flag is not there, and the name was cut."""
    before = b"BATCH".ljust(16, b"\0") + b"SIXTEEN.LETTERS." + bytes(32) + (9).to_bytes(8, "big")
    record = parse(run([(1, b"body", before)], flags=FIRST)[1], START)
    assert (b"body", Identity("BATCH", "SIXTEEN.LETTERS.", "", 9)) == (record.body, unpack_identity(record.identity))


def test_a_flag_of_a_long_name_says_nothing_about_other_records():
    """L6: only a first record has an identity."""
    record = parse(run([(1, b"body\x02", b"")], flags=LONG_USER)[1], START)
    assert (b"body\x02", b"") == (record.body, record.identity)
