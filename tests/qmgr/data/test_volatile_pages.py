"""Pages of non-persistent messages: their bytes when they must leave the pool, and the way back (B7)."""

from dataclasses import replace

import pytest

from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import Frame
from quaestor.qmgr.checker import check
from quaestor.qmgr.data.stored import read_message
from quaestor.qmgr.data.volatile import form_page
from quaestor.storage.log_record import Kind
from quaestor.storage.page import HEADER_LENGTH, PAGE, VOLATILE, header_of, is_whole, records_of, seal
from quaestor.testing import SMALL, FaultyDisk, SmallEngine


class PageSet7:
    number = 7


def message(body=b"not for ever"):
    return Message(body, MQMD(format="FORM"), b"M" * 24, NO_ID, 4, 0, 1_000)


def frame(content):
    made = Frame(PageSet7, 9)
    made.content = content
    return made


@pytest.mark.plain
def test_a_page_with_a_message_says_where_it_belongs():
    """P1, P4: page and page set, and one record that ends where the header says. Of no queue: nobody asks (Y2)."""
    page = frame(message())
    data = form_page(page)
    header = header_of(data)
    assert (VOLATILE, 1, 0, 9, 7, 0, 0, 0) == (
        header.kind,
        header.records,
        header.queue_id,
        header.page,
        header.page_set,
        header.next_page,
        header.subqueue,
        header.reserved,
    )
    (record,) = records_of(data)
    assert (HEADER_LENGTH, header.end) == (record.at, record.at + record.stored_length)
    assert (PAGE, bytes(PAGE - header.end)) == (len(data), bytes(data[header.end :]))
    seal(data, 5)
    assert is_whole(data, 7, 9)


@pytest.mark.plain
def test_a_page_with_a_piece_of_a_long_message_is_nobodys():
    """Whoever has the message knows its pieces."""
    data = form_page(frame(b"piece of text"))
    header = header_of(data)
    assert (VOLATILE, 0, 0, b"piece of text") == (
        header.kind,
        header.records,
        header.queue_id,
        data[HEADER_LENGTH : header.end],
    )


@pytest.mark.plain
def test_what_was_formed_is_not_kept_twice():
    """The pool has the bytes now; the message is read from them when it is wanted."""
    page = frame(message())
    page.data = form_page(page)
    assert page.content is None
    assert message() == read_message(page.data, HEADER_LENGTH, lambda _: b"")


@pytest.mark.plain
def test_a_page_without_contents_cannot_be_formed():
    with pytest.raises(Abend, match=r"B7: .*nothing to be formed of"):
        form_page(frame(None))


@pytest.mark.parametrize("size", [1, 3000, 4000, 20_000])
def test_messages_leave_a_pool_that_is_too_small_and_come_back(size):
    """B7: 60 messages in a pool of 30 buffers; of them nothing is logged, only the space map (B4). Restart has none."""
    small = SmallEngine(FaultyDisk(), replace(SMALL, buffer_pools={0: 64, 1: 30}, pages=600))
    bodies = [bytes((number,)) * size for number in range(60)]
    appended = small.log.end
    for body in bodies:
        small.put(None, body, persistent=False)
    stats = small.buffers.pools[1].stats
    assert stats.pages_written > 0
    small.log.force(small.log.end - 1)
    assert {(Kind.IMAGE, 1)} == {(record.kind, record.page) for record in small.log.scan(appended)}
    assert (bodies, []) == (small.bodies(), check(small.data))
    assert stats.page_reads > 0
    assert bodies[:20] == [small.get(None) for _ in range(20)]
    assert bodies[20:] == small.bodies()
    assert [] == small.again().bodies()
