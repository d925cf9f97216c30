"""Pages and the changes made to them: the same bytes today and at restart, and what undoes a change (C1-C5, P1-P5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaestor.mqi.reasons import Abend
from quaestor.storage.changes import (
    BACKOUTS_MAX,
    FREE,
    INSERTION,
    MARK,
    REDO,
    SPAN,
    STARTS,
    SYSTEM_PAGE,
    TEXT_PAGE,
    UNDONE,
    WHOLE,
    Compensation,
    map_page_of,
    pack_free,
    pack_next,
    starts_page,
    undo_of,
    undo_part,
)
from quaestor.storage.log_record import ALLOCATES, Kind, LogRecord
from quaestor.storage.page import (
    DELETED,
    HEADER_LENGTH,
    LIVE,
    MESSAGES,
    PAGE,
    PAGE_SET_HEADER,
    RECORD,
    RECORD_LENGTH,
    ROOM,
    SHORT,
    SPACE_MAP,
    TEXT,
    PageHeader,
    header_of,
    is_whole,
    records_of,
    seal,
    sealed,
)

PAGE_SET, NUMBER, QUEUE, SUBQUEUE = 4, 1234, 77, 3
SOMETHING = b"\xa5" * PAGE


def stored(body: bytes, sequence: int) -> bytes:
    """A record of a short message without a descriptor."""
    return RECORD.pack(LIVE, SHORT, 0, RECORD_LENGTH + len(body), 0, len(body), 0, sequence) + body


def changed(data: bytearray, kind: Kind, body: bytes) -> bytearray:
    REDO[kind](data, body, PAGE_SET, NUMBER)
    return data


def insertions(bodies: list[bytes]) -> list[bytes]:
    """What the data manager logs for messages that go into one page, one after the other."""
    made, at = [], HEADER_LENGTH
    for number, body in enumerate(bodies):
        record = stored(body, number)
        made.append(INSERTION.pack(QUEUE, SUBQUEUE | (0 if number else STARTS), number, at) + record)
        at += len(record)
    return made


def filled(bodies: list[bytes], before: bytes = SOMETHING) -> bytearray:
    page = bytearray(before)
    for insertion in insertions(bodies):
        changed(page, Kind.INSERT, insertion)
    return page


def bodies_of(page: bytearray) -> list[bytes]:
    """The bodies of the messages that are not deleted."""
    return [
        bytes(page[found.at + RECORD_LENGTH : found.at + found.stored_length])
        for found in records_of(page)
        if found.state == LIVE
    ]


BODIES = st.lists(st.binary(max_size=60), min_size=1, max_size=20)

# -- messages in a page


@given(BODIES)
def test_messages_are_found_in_the_order_they_came(bodies):
    """P4, C1."""
    page = filled(bodies)
    end = HEADER_LENGTH + sum(RECORD_LENGTH + len(body) for body in bodies)
    expected = PageHeader(0, MESSAGES, len(bodies), end, 0, NUMBER, QUEUE, 0, PAGE_SET, SUBQUEUE, 0)
    assert (bodies, expected, PAGE) == (bodies_of(page), header_of(page), len(page))
    assert list(range(len(bodies))) == [found.sequence for found in records_of(page)]


@given(BODIES, st.integers(0, 255).map(lambda byte: bytes([byte]) * PAGE))
def test_what_starts_a_page_needs_nothing_of_what_it_held(bodies, before):
    """C2: the first record makes a message page of whatever is there."""
    page = filled(bodies, before)
    end = header_of(page).end
    assert filled(bodies)[:end] == page[:end]
    assert before[end:] == page[end:]


@given(BODIES, st.data())
def test_backing_out_gives_the_messages_that_were_there(bodies, data):
    """C3: puts are undone by deletes, gets by undeletes, and a message that came back says how often."""
    page = filled(bodies)
    got = data.draw(st.integers(0, len(bodies) - 1))
    backouts = data.draw(st.integers(0, 300))
    at = list(records_of(page))[got].at
    deletion = MARK.pack(at, backouts)
    changed(page, Kind.DELETE, deletion)
    assert bodies[:got] + bodies[got + 1 :] == bodies_of(page)
    kind, number, undoing = undo_of(Kind.DELETE, 0, NUMBER, deletion)
    changed(page, Kind(kind), undoing)
    assert (Kind.UNDELETE, NUMBER, bodies) == (kind, number, bodies_of(page))
    assert min(backouts + 1, BACKOUTS_MAX) == list(records_of(page))[got].backout_count

    last = insertions(bodies)[-1]
    kind, number, undoing = undo_of(Kind.INSERT, 0, NUMBER, last)
    changed(page, Kind(kind), undoing)
    assert (Kind.DELETE, NUMBER, bodies[:-1]) == (kind, number, bodies_of(page))


def test_an_empty_page_for_messages():
    page = changed(bytearray(SOMETHING), Kind.START, INSERTION.pack(QUEUE, SUBQUEUE, 0, 0))
    assert PageHeader(0, MESSAGES, 0, HEADER_LENGTH, 0, NUMBER, QUEUE, 0, PAGE_SET, SUBQUEUE, 0) == header_of(page)
    assert [] == list(records_of(page))


def test_a_page_points_to_the_next():
    page = filled([b"one", b"two"])
    before = header_of(page)
    changed(page, Kind.CHAIN, pack_next(0x01020304))
    assert before._replace(next_page=0x01020304) == header_of(page)
    assert [b"one", b"two"] == bodies_of(page)


def test_a_deleted_record_is_marked_and_nothing_else_changes():
    page = filled([b"one", b"two"])
    at = list(records_of(page))[1].at
    expected = page[:at] + bytes([DELETED]) + page[at + 1 :]
    assert expected == changed(page, Kind.DELETE, MARK.pack(at, 9))


# -- other pages


@given(st.binary(max_size=ROOM))
def test_a_page_of_text(text):
    page = changed(bytearray(SOMETHING), Kind.TEXT, text)
    end = HEADER_LENGTH + len(text)
    assert PageHeader(0, TEXT, 0, end, 0, NUMBER, 0, 0, PAGE_SET, 0, 0) == header_of(page)
    assert (text, SOMETHING[end:]) == (bytes(page[HEADER_LENGTH:end]), bytes(page[end:]))


def test_page_0_describes_its_page_set():
    page = changed(bytearray(SOMETHING), Kind.HEADER, b"what it says")
    end = HEADER_LENGTH + 12
    assert PageHeader(0, PAGE_SET_HEADER, 0, end, 0, NUMBER, 0, 0, PAGE_SET, 0, 0) == header_of(page)
    assert (b"what it says", SOMETHING[end:]) == (bytes(page[HEADER_LENGTH:end]), bytes(page[end:]))


def test_an_image_is_the_whole_page():
    assert filled([b"one"]) == changed(bytearray(SOMETHING), Kind.IMAGE, bytes(filled([b"one"])))


def test_an_empty_space_map_has_system_pages_only():
    """C4: one byte per page of the span."""
    page = changed(bytearray(SOMETHING), Kind.FORMAT_MAP, b"\0\1")
    assert PageHeader(0, SPACE_MAP, 0, PAGE, 0, NUMBER, 0, 0, PAGE_SET, 0, 0) == header_of(page)
    assert bytes([SYSTEM_PAGE, SYSTEM_PAGE]) + bytes(SPAN - 2) == page[HEADER_LENGTH:]


@given(st.sets(st.integers(SPAN, 2 * SPAN - 1), max_size=20))
def test_pages_that_are_freed_are_free_and_no_others(pages):
    """C4."""
    space = bytearray([TEXT_PAGE]) * PAGE
    changed(space, Kind.FREE, pack_free(sorted(pages)))
    freed = {SPAN + at for at, use in enumerate(space[HEADER_LENGTH:]) if use == FREE}
    assert (pages, bytes([TEXT_PAGE]) * HEADER_LENGTH) == (freed, space[:HEADER_LENGTH])


@pytest.mark.parametrize(
    ("page", "space_map"),
    [
        (0, 1),
        (1, 1),
        (2, 1),
        (SPAN - 1, 1),
        (SPAN, SPAN),
        (SPAN + 1, SPAN),
        (2 * SPAN - 1, SPAN),
        (2 * SPAN, 2 * SPAN),
    ],
)
def test_the_space_map_of_a_span_stands_at_its_beginning(page, space_map):
    """T1: but for the first span, where page 0 stands."""
    assert space_map == map_page_of(page)


# -- what can be undone


def test_a_put_is_undone_by_a_delete_of_its_record():
    insertion = INSERTION.pack(QUEUE, SUBQUEUE, 1, 300) + stored(b"body", 1)
    assert Compensation(Kind.DELETE, NUMBER, bytes.fromhex("012c0000")) == undo_of(Kind.INSERT, 0, NUMBER, insertion)


@pytest.mark.parametrize("page", [5, SPAN - 1, SPAN + 9, 3 * SPAN + 1])
def test_a_text_page_that_was_taken_is_freed(page):
    taken_back = undo_of(Kind.TEXT, ALLOCATES, page, b"text")
    assert Compensation(Kind.FREE, map_page_of(page), (page % SPAN).to_bytes(2, "big")) == taken_back


@pytest.mark.parametrize("kind", sorted(set(REDO) - UNDONE))
def test_what_is_true_whatever_becomes_of_a_unit_is_never_undone(kind):
    with pytest.raises(Abend, match="C3"):
        undo_of(kind, ALLOCATES, NUMBER, bytes(20))


def test_a_text_page_that_was_there_before_is_never_freed():
    with pytest.raises(Abend, match="C3"):
        undo_of(Kind.TEXT, 0, NUMBER, b"text")


@given(st.binary(max_size=60), st.integers(0, 65535), st.integers(0, 65535))
def test_a_shunted_record_is_undone_as_the_record_itself(body, at, backouts):
    """What undoing needs of a record's body is all that it needs."""
    for kind, whole in (
        (Kind.INSERT, INSERTION.pack(QUEUE, SUBQUEUE, 1, at) + body),
        (Kind.DELETE, MARK.pack(at, backouts) + body),
        (Kind.TEXT, body),
    ):
        part = undo_part(LogRecord(0, kind, 0, 0, 0, PAGE_SET, NUMBER, 0, 0, whole))
        assert undo_of(kind, ALLOCATES, NUMBER, whole) == undo_of(kind, ALLOCATES, NUMBER, part)
        assert len(part) <= INSERTION.size


@pytest.mark.parametrize(
    ("kind", "body", "starts"),
    [
        (Kind.INSERT, insertions([b""])[0], True),
        (Kind.INSERT, insertions([b"", b""])[1], False),
        (Kind.INSERT, INSERTION.pack(QUEUE, STARTS, 0, HEADER_LENGTH), True),
        (Kind.INSERT, INSERTION.pack(QUEUE, STARTS - 1, 0, HEADER_LENGTH), False),
        (Kind.START, b"", True),
        (Kind.TEXT, b"", True),
        (Kind.HEADER, b"", True),
        (Kind.FORMAT_MAP, b"", True),
        (Kind.IMAGE, b"", True),
        (Kind.DELETE, b"", False),
        (Kind.UNDELETE, b"", False),
        (Kind.FREE, b"", False),
        (Kind.CHAIN, b"", False),
    ],
)
def test_which_changes_repair_a_torn_page(kind, body, starts):
    """C2."""
    assert starts is starts_page(kind, body)


# -- sealing


def test_a_sealed_page_is_whole_in_its_own_place_only():
    page = filled([b"one"])
    seal(page, 0x0102030405060708)
    assert 0x0102030405060708 == header_of(page).rba
    assert [b"one"] == bodies_of(page)
    places = [(PAGE_SET, NUMBER), (PAGE_SET, NUMBER + 1), (PAGE_SET + 1, NUMBER)]
    assert [True, False, False] == [is_whole(page, *place) for place in places]


def test_a_page_that_was_never_written_is_all_zeros():
    zeros, nearly = bytes(PAGE), bytes(PAGE - 1) + b"\1"
    assert (True, False) == (is_whole(zeros, PAGE_SET, NUMBER), is_whole(nearly, PAGE_SET, NUMBER))


def test_a_page_that_was_cut_off_is_not_whole():
    page = filled([b"one"])
    seal(page, 1)
    assert (False, False) == (is_whole(page[:-1], PAGE_SET, NUMBER), is_whole(bytes(PAGE - 1), PAGE_SET, NUMBER))


@pytest.mark.parametrize("size", [PAGE - 1, PAGE + 1])
def test_a_page_of_another_size_is_never_sealed(size):
    with pytest.raises(Abend, match="P5"):
        seal(bytearray(size), 1)


MESSAGE = st.binary(max_size=ROOM - RECORD_LENGTH)


@given(MESSAGE, st.data(), st.integers(0, 2**64 - 1))
def test_a_page_with_one_message_is_written_as_if_it_had_been_made_step_by_step(body, data, rba):
    """C5: what starts the page is in two parts, cut anywhere behind what says where it goes."""
    page = filled([body], bytes(PAGE))
    seal(page, rba)
    (insertion,) = insertions([body])
    cut = data.draw(st.integers(INSERTION.size, len(insertion)))
    whole = WHOLE[REDO[Kind.INSERT]]
    assert page == whole(insertion[:cut], insertion[cut:], PAGE_SET, NUMBER, rba)


def test_a_message_that_does_not_fit_in_a_page_is_never_written():
    """P5."""
    (insertion,) = insertions([bytes(ROOM - RECORD_LENGTH + 1)])
    with pytest.raises(Abend, match="P5"):
        WHOLE[REDO[Kind.INSERT]](insertion, b"", PAGE_SET, NUMBER, 1)
    assert PAGE == len(sealed(bytes(PAGE - 4)))
