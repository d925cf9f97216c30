"""A buffer with changes that wait, and how messages lie in pages (B1, B8, B12, Z1, Z2)."""

from types import SimpleNamespace

import pytest

from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer.frame import Frame, TornPageError
from quaestor.qmgr.data.stored import (
    FIRST_PAGE,
    FURTHER_PAGE,
    LONG,
    REFERENCES,
    SHORT,
    VERY_LONG,
    LongForm,
    fits_in_page,
    long_form,
    long_record,
    pack_references,
    read_message,
    short_beginning,
    short_beginnings,
    short_record,
    text_of,
    text_page_count,
)
from quaestor.storage.changes import INSERTION, STARTS, insert
from quaestor.storage.page import HEADER_LENGTH, PAGE, RECORD, RECORD_LENGTH, ROOM, StoredRecord, seal

PAGE_SET = SimpleNamespace(number=4)


# --- frames ----------------------------------------------------------------------------------------------------------


def overwrite(data, body, page_set, page):
    """A change: its bytes, and where it thinks it is."""
    data[: len(body)] = body
    data[-2:] = bytes((page_set, page))


def append(data, body, _page_set, _page):
    at = data.index(0)
    data[at : at + len(body)] = body


def started(**more):
    return Frame(PAGE_SET, 9, None, overwrite, b"head", b"rest", **more)


@pytest.mark.plain
def test_a_page_that_is_here_with_its_bytes():
    data = bytearray(b"x" * PAGE)
    frame = Frame(PAGE_SET, 9, data)
    assert (data, data) == (frame.data, frame.image(bytearray(PAGE)))
    assert (False, False, False, 0, 0, 0, 0) == (
        frame.changed,
        frame.whole,
        frame.volatile,
        frame.in_use,
        frame.rba,
        frame.first_rba,
        frame.born,
    )


@pytest.mark.plain
def test_a_page_that_was_started_here_is_changed_and_whole():
    frame = started(content="message", rba=77, born=3)
    assert (True, True, 77, 77, 3, "message") == (
        frame.changed,
        frame.whole,
        frame.rba,
        frame.first_rba,
        frame.born,
        frame.content,
    )
    assert (None, 0) == (frame.raw, frame.in_use)


@pytest.mark.plain
def test_changes_wait_until_somebody_wants_the_bytes():
    """B8: then they are made in their order, and the page is like any other."""
    frame = started()
    frame.change(append, b"-one")
    frame.change(append, b"-two")
    assert frame.raw is None
    assert b"headrest-one-two" == frame.data[:16]
    assert bytes((4, 9)) == frame.data[-2:]
    assert (None, None, b"", b"") == (frame.starting, frame.further, frame.started_with, frame.rest)
    frame.change(append, b"-three")
    assert b"headrest-one-two-three\0" == frame.data[:23]


@pytest.mark.plain
@pytest.mark.parametrize("further", [(), (b"-one",), (b"-one", b"-two")])
def test_an_image_is_made_in_memory_that_is_lent_and_the_changes_go_on_waiting(further):
    """B12: what the memory held before is not in it."""
    frame, lent = started(), bytearray(b"\xff" * PAGE)
    for body in further:
        frame.change(append, body)
    assert lent is frame.image(lent)
    assert b"headrest" + b"".join(further) == bytes(lent[:-2]).rstrip(b"\0")
    assert frame.raw is None
    assert frame.image(bytearray(PAGE)) == lent == frame.data


@pytest.mark.plain
def test_a_page_that_has_nothing_but_its_first_message_is_written_in_one_piece():
    """C5, B12: the same bytes as in memory that is lent; the change goes on waiting."""
    change = INSERTION.pack(7, 3 | STARTS, 0, HEADER_LENGTH) + b"a message"
    frame, lent = Frame(SimpleNamespace(number=4), 9, None, insert, change[:10], change[10:], None, 55), bytearray(PAGE)
    written = frame.sealed()
    seal(frame.image(lent), 55)
    assert lent == written
    assert frame.raw is None
    frame.change(append, b"-one")
    assert frame.sealed() is None
    assert started().sealed() is None
    assert Frame(SimpleNamespace(number=4), 9, bytearray(PAGE)).sealed() is None


@pytest.mark.plain
def test_a_page_that_is_started_again_forgets_what_it_was():
    frame = started()
    frame.change(append, b"-one")
    frame.start(overwrite, b"anew")
    assert b"anew" == bytes(frame.data[:-2]).rstrip(b"\0")
    frame = Frame(PAGE_SET, 9, bytearray(b"x" * PAGE))
    frame.start(overwrite, b"anew")
    assert b"anew" == bytes(frame.data[:-2]).rstrip(b"\0")


def everything(frame):
    return {name: getattr(frame, name) for name in Frame.__slots__}


@pytest.mark.plain
def test_a_buffer_that_was_stolen_has_nothing_of_its_page_but_the_memory():
    """B15: it is like a new one."""
    other, memory = SimpleNamespace(number=5), bytearray(b"x" * PAGE)
    waiting, changed = started(content="message", rba=77, born=3), Frame(PAGE_SET, 9, memory, rba=77, born=3)
    waiting.change(append, b"-one")
    waiting.volatile = changed.changed = changed.whole = changed.volatile = True
    for frame, left in ((waiting, None), (changed, memory)):
        frame.hold(other, 12)
        assert everything(Frame(other, 12, left)) == everything(frame)


@pytest.mark.plain
def test_bytes_that_are_given_to_a_page_end_its_waiting():
    frame, data = started(), bytearray(b"y" * PAGE)
    frame.change(append, b"-one")
    frame.data = data
    assert (data, None, None) == (frame.data, frame.starting, frame.further)
    frame.data = None
    assert frame.data is None


@pytest.mark.plain
def test_a_page_without_contents_is_not_changed():
    """B1."""
    with pytest.raises(Abend, match=r"B1: a page without contents is changed .*page_set=4, page=9"):
        Frame(PAGE_SET, 9).change(append, b"x")


def test_a_torn_page_says_which_it_is():
    torn = TornPageError(4, 9)
    assert (4, 9) == (torn.page_set, torn.page)
    assert "page 9 of page set 4 is not whole; recover the page set from its image copy" == str(torn)


# --- forms -----------------------------------------------------------------------------------------------------------


def message(size, number=1, **more):
    body = bytes(n % 251 for n in range(size))
    return Message(body, MQMD(format="FORM"), number.to_bytes(24, "big"), NO_ID, 3, 1, 1_000, **more)


def record_of(parts):
    return StoredRecord(0, *RECORD.unpack_from(b"".join(parts)))


@pytest.mark.parametrize("size", [0, 1, 3000])
def test_a_short_message_is_one_record(size):
    """Z1."""
    given = message(size)
    packed = given.pack()
    parts = short_record(given, packed, 42)
    record = record_of(parts)
    assert (SHORT, 42, size, len(packed), 0) == (
        record.form,
        record.sequence,
        record.body_length,
        record.descriptor_length,
        record.text_pages,
    )
    assert RECORD_LENGTH + len(packed) + size == record.stored_length == len(b"".join(parts))
    assert given == read_message(bytes(HEADER_LENGTH) + b"".join(parts), HEADER_LENGTH, None)


@pytest.mark.parametrize("more", [0, 1, 100])
def test_a_record_may_have_to_be_longer_than_it_is(more):
    """What V6 needed for a message, beside its body."""
    given = message(10)
    packed = given.pack()
    least = RECORD_LENGTH + len(packed)
    parts = short_record(given, packed, 42, least + more)
    assert least + more + 10 == record_of(parts).stored_length == len(b"".join(parts))
    assert least + 10 == record_of(short_record(given, packed, 42, least - 1)).stored_length
    assert given == read_message(b"".join(parts), 0, None)


@pytest.mark.parametrize("size", [0, 7, 2000])
def test_the_change_that_begins_a_page_is_head_record_and_message_at_once(size):
    """Z1: without the body, which follows."""
    given = message(size, expires_us=9, backout_count=2)
    record = b"".join(short_record(given, given.pack(), 42))
    whole = INSERTION.pack(7, 13 | STARTS, 0, HEADER_LENGTH) + record
    assert whole == short_beginning(7, 13, given, 42) + given.body


def test_the_changes_of_many_are_those_of_each():
    """Z1: up to one that is too long; each has the number behind the one before."""
    given = [message(size, number) for number, size in enumerate((5, 5, 0, 900, 5, 901, 5), 1)]
    heads = short_beginnings(7, 13, given, 100, 900)
    assert [short_beginning(7, 13, each, 100 + n) for n, each in enumerate(given[:5], 1)] == heads


def test_what_fits_in_a_page_fits_to_the_byte():
    given = message(0)
    packed = given.pack()
    longest = ROOM - RECORD_LENGTH - len(packed)
    assert [True, False] == [fits_in_page(message(size), packed) for size in (longest, longest + 1)]


@pytest.mark.parametrize(
    ("length", "packed_length", "packing", "form"),
    [
        (3636, 100, False, LongForm(LONG, 3635, 4048)),  # one byte in a further page (F-15)
        (3635, 100, False, LongForm(LONG, 0, ROOM)),  # no longer than a first page: all of it is text
        (100_000, 100, True, LongForm(LONG, 0, ROOM)),
        (3635 + 4048 * 10, 100, False, LongForm(LONG, 3635, 4048)),
        (3635 + 4048 * 200, 100, False, LongForm(VERY_LONG, 3635, 4048)),
        (ROOM * 2000, 100, True, LongForm(VERY_LONG, 0, ROOM)),
        (10_000, 500, False, LongForm(LONG, 0, ROOM)),  # a descriptor that leaves no room for the first 3,635 bytes
    ],
)
def test_how_a_long_message_is_cut(length, packed_length, packing, form):
    """Z2."""
    assert form == long_form(length, packed_length, packing=packing)
    assert (3635, 4048) == (FIRST_PAGE, FURTHER_PAGE)


@pytest.mark.parametrize("more", [0, 1])
def test_references_are_in_the_record_as_long_as_they_fit(more):
    """Z2: to the byte, in each of the three places where it is asked."""
    packed_length = 100
    room = (ROOM - RECORD_LENGTH - packed_length - FIRST_PAGE) // 4
    length = FIRST_PAGE + FURTHER_PAGE * room + more
    assert (VERY_LONG if more else LONG) == long_form(length, packed_length, packing=False).form
    room = (ROOM - RECORD_LENGTH - packed_length) // 4
    assert (VERY_LONG if more else LONG) == long_form(ROOM * room + more, packed_length, packing=True).form


@pytest.mark.parametrize(
    ("size", "cut", "pieces"),
    [
        (3636, LongForm(LONG, 3635, 4048), [1]),
        (3635 + 4048, LongForm(LONG, 3635, 4048), [4048]),
        (3635 + 4049, LongForm(LONG, 3635, 4048), [4048, 1]),
        (ROOM + 1, LongForm(LONG, 0, ROOM), [ROOM, 1]),
    ],
)
def test_text_is_what_the_first_page_does_not_take(size, cut, pieces):
    given = message(size)
    texts = [bytes(piece) for piece in text_of(given.body, cut)]
    assert pieces == [len(text) for text in texts]
    assert given.body == given.body[: cut.head] + b"".join(texts)


def test_the_record_of_a_long_message_has_references_and_the_beginning():
    given = message(9000)
    packed = given.pack()
    cut = LongForm(LONG, 3635, 4048)
    parts = long_record(given, packed, 42, cut, [11, 12])
    record = record_of(parts)
    assert (LONG, 2, 9000, 42, RECORD_LENGTH + len(packed) + 8 + 3635) == (
        record.form,
        record.text_pages,
        record.body_length,
        record.sequence,
        record.stored_length,
    )
    assert (pack_references([11, 12]), given.body[:3635]) == parts[2:]
    assert bytes.fromhex("0000000b0000000c") == pack_references([11, 12])


@pytest.mark.parametrize(
    ("cut", "size", "references", "pages"),
    [
        (LongForm(LONG, 3635, 4048), 9000, 2, 2),
        (LongForm(LONG, 0, ROOM), 9000, 3, 3),
        (LongForm(VERY_LONG, 3635, 4048), 3635 + 4048 * 300, 1, 301),
        (LongForm(VERY_LONG, 3635, 4048), 3635 + 4048 * 300 + 1, 1, 302),
        (LongForm(VERY_LONG, 0, ROOM), ROOM * 1500, 2, 1502),
    ],
)
def test_how_many_pages_a_record_stands_for(cut, size, references, pages):
    """Z2: of a very long message the reference pages, too."""
    given = message(0)._replace(body=bytes(size))
    record = record_of(long_record(given, given.pack(), 1, cut, list(range(references))))
    assert pages == text_page_count(record)
    assert REFERENCES == ROOM // 4
