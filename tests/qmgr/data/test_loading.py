"""Load: at start the queues are again what they were, and pages that hold nothing are free (A1-A5)."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.messages import Message
from quaestor.mqi.reasons import Abend
from quaestor.qmgr.buffer import TornPageError
from quaestor.qmgr.checker import check
from quaestor.storage.changes import FREE, MESSAGE_PAGE, SPAN, TEXT_PAGE, VOLATILE_PAGE, map_page_of, text
from quaestor.storage.log_record import Kind
from quaestor.storage.page import HEADER_LENGTH, PAGE, seal
from quaestor.testing import SMALL, FaultyDisk, SmallEngine

FACTS = (
    "sequence",
    "priority",
    "msg_id",
    "correl_id",
    "group_id",
    "length",
    "put_us",
    "expires_us",
    "backout_count",
    "page",
    "slot",
    "persistent",
)
"""What is known of a message without reading it."""


def put(small, unit, body, priority=0, expires_us=0, number=1, group=NO_ID):
    identifiers = number.to_bytes(24, "big"), (number + 1).to_bytes(24, "big")
    envelope = MQMD(group_id=group)
    message = Message(body, envelope, *identifiers, priority, 1, 1_000 + number, expires_us)
    small.data.put(unit, small.queue, message, priority)


def counts(small):
    queue = small.queue
    return queue.depth, queue.uncommitted, queue.with_expiry, list(queue.by_priority)


def known(small):
    return [tuple(getattr(each, fact) for fact in FACTS) for each in small.data.browse(small.queue)]


def use(small, page):
    """What the space map of page set 1 says of a page."""
    page_set = small.queue.page_set
    data = small.buffers.pool_of[1].peek(page_set, map_page_of(page)).data
    return data[HEADER_LENGTH + page % SPAN]


def records_since(small, rba, kind):
    small.log.force(small.log.end - 1)
    return [record for record in small.log.scan(rba) if record.kind == kind and record.page_set == 1]


def written(small):
    """Every page is on disk, and the log is not needed for it any more."""
    for _ in range(3):
        small.recovery.checkpoint()
    return small


# --- queues (A3) ------------------------------------------------------------------------------------------------------

PUTS = st.lists(
    st.tuples(st.integers(1, 9000), st.integers(0, 9), st.sampled_from([0, 10**15])), min_size=1, max_size=9
)


@settings(max_examples=25)
@given(PUTS, st.booleans(), st.booleans())
def test_a_queue_is_what_it_was(puts, packing, on_disk):
    """A1, A3: whether the pages come from disk or from what restart has built of the log."""
    small = SmallEngine(FaultyDisk(), replace(SMALL, packing=packing))
    unit = small.begin()
    for number, (length, priority, expires_us) in enumerate(puts, 1):
        put(small, unit, bytes((number,)) * length, priority, expires_us, number, bytes((number,)) * 24)
    small.commit(unit)
    if on_disk:
        written(small)
    again = small.again()
    assert (known(small), counts(small), small.bodies()) == (known(again), counts(again), again.bodies())
    assert [] == check(again.data)


def test_what_is_put_after_restart_stands_behind_what_was_there():
    """Sequence numbers go on."""
    small = SmallEngine()
    unit = small.begin()
    for body in (b"one", b"two"):
        small.put(unit, body)
    small.commit(unit)
    again = written(small).again()
    assert small.data.sequence == again.data.sequence
    unit = again.begin()
    again.put(unit, b"three")
    again.commit(unit)
    assert [b"one", b"two", b"three"] == again.bodies()


@pytest.mark.parametrize("on_disk", [True, False])
@pytest.mark.parametrize("decision", ["commit", "back out"])
def test_what_is_in_doubt_is_held_by_its_unit(decision, on_disk):
    """A3: one message was put and one of two got when the unit was prepared; it is so after restart, until decided."""
    small = SmallEngine()
    unit = small.begin()
    for number, body in enumerate((b"first", b"second"), 1):
        put(small, unit, body, expires_us=10**15, number=number)
    small.commit(unit)
    unit = small.begin()
    assert b"first" == small.get(unit)
    put(small, unit, b"third", priority=5, expires_us=10**15, number=3)
    small.recovery.prepare(unit, b"xid")
    if on_disk:
        written(small)
    again = small.again()
    assert (counts(small), [b"second"]) == (counts(again), again.bodies())
    assert (2, 2, 2) == counts(again)[:3]
    (found,) = again.recovery.in_doubt()
    assert (1, 1) == (len(found.gets), len(found.puts))
    again.recovery.resolve(b"xid", commit=decision == "commit")
    assert ([b"third", b"second"] if decision == "commit" else [b"first", b"second"]) == again.bodies()
    assert (2, 0, 2) == counts(again)[:3]
    assert [] == check(again.data)


# --- pages that hold nothing (A2, A4) ---------------------------------------------------------------------------------


def test_pages_of_non_persistent_messages_are_free_and_nobody_is_told():
    """A2: also when the space map was written while they were taken."""
    small = SmallEngine()
    small.put(None, b"lost", persistent=False)
    small.put(None, b"lost too", persistent=False)
    written(small)
    assert [VOLATILE_PAGE, VOLATILE_PAGE] == [use(small, 2), use(small, 3)]
    end = small.log.end
    again = small.again()
    assert ([FREE, FREE], []) == ([use(again, 2), use(again, 3)], again.bodies())
    assert [] == records_since(again, end, Kind.FREE)
    assert 2 == again.data.space.free_page(again.queue.page_set)


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_page_whose_messages_were_got_is_kept_for_the_next(on_disk):
    """A4, Y1: the space map calls it a message page still; it is used again before any free one."""
    small = SmallEngine()
    unit = small.begin()
    small.put(unit, b"got")
    small.put(unit, b"stays")
    small.commit(unit)
    unit = small.begin()
    assert b"got" == small.get(unit)
    small.commit(unit)
    if on_disk:
        written(small)
    again = small.again()
    assert ([2], [MESSAGE_PAGE, MESSAGE_PAGE]) == (again.data.space.empty[1], [use(again, 2), use(again, 3)])
    unit = again.begin()
    again.put(unit, b"next")
    assert [] == again.data.space.empty[1]
    again.commit(unit)
    assert ([b"stays", b"next"], []) == (again.bodies(), check(again.data))


# --- text pages (A5) --------------------------------------------------------------------------------------------------


def test_text_pages_that_no_message_refers_to_are_given_back():
    """A5: page 40 was left by a cut between the commit of a get and the records that give its pages back."""
    small = SmallEngine()
    unit = small.begin()
    small.put(unit, bytes(9000))
    small.commit(unit)
    own = [page for page in range(2, 20) if use(small, page) == TEXT_PAGE]
    assert own
    small.data.space._set_use(small.queue.page_set, 40, TEXT_PAGE)
    written(small)
    end = small.log.end
    again = small.again()
    assert (FREE, {TEXT_PAGE}) == (use(again, 40), {use(again, page) for page in own})
    assert 1 == len(records_since(again, end, Kind.FREE))
    assert ([bytes(9000)], []) == (again.bodies(), check(again.data))


@pytest.mark.parametrize("size", [9000, 60_000])
def test_text_pages_that_messages_account_for_stay_and_are_not_looked_for(size):
    small = SmallEngine(FaultyDisk(), replace(SMALL, pages=200, buffer_pools={0: 64, 1: 200}))
    unit = small.begin()
    small.put(unit, bytes(size))
    small.put(unit, b"short")
    small.commit(unit)
    end = written(small).log.end
    again = small.again()
    assert ([bytes(size), b"short"], []) == (again.bodies(), records_since(again, end, Kind.FREE))


# --- damage (A1) ------------------------------------------------------------------------------------------------------


def one_message_on_page_2():
    small = SmallEngine()
    unit = small.begin()
    small.put(unit, b"one")
    small.commit(unit)
    written(small)
    assert MESSAGE_PAGE == use(small, 2)
    return small


def test_a_page_that_is_not_what_the_space_map_says_is_named():
    """A1: it is whole, and it is another kind of page."""
    small = one_message_on_page_2()
    page = bytearray(PAGE)
    text(page, b"no messages", 1, 2)
    seal(page, small.log.end)
    small.queue.page_set.write(2, [page])
    with pytest.raises(Abend, match=r"A1: a page is not what the space map says.*page_set=1, page=2"):
        small.again()


def test_a_page_that_is_not_whole_is_named():
    """T3: the log begins behind its changes, so nothing can make it good but an image copy."""
    small = one_message_on_page_2()
    small.queue.page_set.write(2, [b"\xff" * PAGE])
    with pytest.raises(TornPageError, match="page 2 of page set 1 is not whole"):
        small.again()


def test_messages_far_apart_are_read_with_a_request_for_each_run():
    """A1: a run spans 256 pages at most; pages 2 and 3 are one, 300 and 301 the next."""
    small = SmallEngine(FaultyDisk(), replace(SMALL, pages=400))
    found = small.data.space._found[1]
    unit = small.begin()
    for pages in ([3, 2], [301, 300]):
        found.clear()
        found.extend(pages)
        for page in reversed(pages):
            small.put(unit, b"on %d" % page)
    small.commit(unit)
    again = written(small).again()
    assert [(2, b"on 2"), (3, b"on 3"), (300, b"on 300"), (301, b"on 301")] == [
        (arrival.page, again.data.read(arrival).body) for arrival in again.data.browse(again.queue)
    ]
