"""Free pages: where they are looked for, what is kept, what is given back, how a page set grows (Y1-Y5, Y8)."""

import errno
from dataclasses import replace

import pytest

from quaestor.mqi.reasons import MQError, Reason
from quaestor.qmgr.data.space import FOUND, KEPT
from quaestor.storage.changes import FREE, MESSAGE_PAGE, SPAN, SYSTEM_PAGE, VOLATILE_PAGE, map_page_of
from quaestor.storage.log_record import ALLOCATES, Kind
from quaestor.storage.page import HEADER_LENGTH
from quaestor.storage.page_set import PAGES_MAX
from quaestor.testing import SMALL, FaultyDisk, SmallEngine


class Spaces:
    """The free pages of one page set, and what its space map says."""

    def __init__(self, pages, **settings):
        self.small = SmallEngine(FaultyDisk(), replace(SMALL, pages=pages, **settings))
        self.space, self.log = self.small.data.space, self.small.log
        self.page_set = self.small.queue.page_set
        self.number = self.page_set.number
        self.began = self.log.end

    def use(self, page):
        """What the space map says of a page."""
        data = self.small.buffers.pool_of[self.number].peek(self.page_set, map_page_of(page)).data
        return data[HEADER_LENGTH + page % SPAN]

    def take(self, pages, use=MESSAGE_PAGE):
        for page in pages:
            self.space._set_use(self.page_set, page, use)

    def look(self):
        """What the next look finds, in the order in which it is used."""
        found = self.space.free_pages(self.page_set)
        pages = found[::-1]
        found.clear()
        return pages

    def logged(self, kind):
        """The log's records of a kind since the beginning."""
        self.log.force(self.log.end - 1)
        return [each for each in self.log.scan(self.began) if each.kind == kind]


# --- looking (Y5) -----------------------------------------------------------------------------------------------------


def test_a_new_page_set_has_free_pages_behind_its_two_system_pages():
    spaces = Spaces(20)
    assert [SYSTEM_PAGE, SYSTEM_PAGE, FREE] == [spaces.use(page) for page in range(3)]
    assert [2, 3, 4] == [spaces.space.free_page(spaces.page_set) for _ in range(3)]
    assert (20, [*range(19, 4, -1)]) == (spaces.page_set.low_free, spaces.space.free_pages(spaces.page_set))


def test_many_are_found_at_a_time_and_none_twice():
    """Y5: the second look begins behind the last page of the first."""
    spaces = Spaces(200)
    assert [*range(2, 2 + FOUND)] == spaces.look()
    assert 2 + FOUND == spaces.page_set.low_free
    assert [*range(2 + FOUND, 2 + 2 * FOUND)] == spaces.look()


def test_a_look_passes_over_pages_that_are_used():
    """Y5: it takes the free ones between them, up to as many as one look finds."""
    spaces = Spaces(200)
    spaces.take([2, 5, 6, 7, 60])
    free = [page for page in range(2, 200) if page not in {2, 5, 6, 7, 60}]
    assert free[:FOUND] == spaces.look()
    assert free[FOUND - 1] + 1 == spaces.page_set.low_free
    assert free[FOUND : 2 * FOUND] == spaces.look()


def test_a_look_ends_with_the_map_and_the_next_begins_with_the_next_map():
    """T1, Y5: the first page of the second span is its own map."""
    spaces = Spaces(SPAN + 10)
    spaces.page_set.low_free = SPAN - 3
    assert [SPAN - 3, SPAN - 2, SPAN - 1] == spaces.look()
    assert [*range(SPAN + 1, SPAN + 10)] == spaces.look()
    assert SYSTEM_PAGE == spaces.use(SPAN)


def test_a_map_without_a_free_page_is_passed_over():
    spaces = Spaces(SPAN + 10)
    spaces.page_set.low_free = SPAN - 3
    spaces.take(range(SPAN - 3, SPAN))
    assert [*range(SPAN + 1, SPAN + 10)] == spaces.look()


def test_what_is_behind_the_end_of_the_page_set_is_not_free():
    """The map speaks for a whole span, of which the page set has 20 pages."""
    spaces = Spaces(20)
    spaces.take(range(2, 18))
    assert [18, 19] == spaces.look()


# --- what is kept (Y1-Y3) ---------------------------------------------------------------------------------------------


def test_kept_pages_are_at_hand_before_free_ones():
    """Y1: a page that is kept is taken already, so the log need not say that it is."""
    spaces = Spaces(20)
    assert ([], ALLOCATES) == spaces.space.at_hand(spaces.page_set)
    spaces.space.free_page(spaces.page_set)
    found, flag = spaces.space.at_hand(spaces.page_set)
    assert ([*range(19, 2, -1)], ALLOCATES) == (found, flag)
    spaces.space.empty[spaces.number].append(17)
    assert ([17], 0) == spaces.space.at_hand(spaces.page_set)


def test_a_page_for_non_persistent_messages_is_taken_without_log():
    """Y2: one that was kept is used again first."""
    spaces = Spaces(20)
    assert (2, VOLATILE_PAGE) == (spaces.space.volatile_page(spaces.page_set), spaces.use(2))
    spaces.space.volatile[spaces.number].extend([11, 12])
    assert [12, 11, 3] == [spaces.space.volatile_page(spaces.page_set) for _ in range(3)]
    assert [FREE, FREE, VOLATILE_PAGE] == [spaces.use(page) for page in (11, 12, 3)]
    assert spaces.began == spaces.log.end


def test_pages_are_given_back_with_a_record_for_each_map():
    """Y1, Y3: the log knows that they are free; the next look may begin with the first of them."""
    spaces = Spaces(SPAN + 10)
    spaces.take([5, 9, SPAN + 2])
    spaces.page_set.low_free = 100
    spaces.space.give_back(spaces.page_set, [9, SPAN + 2, 5])
    assert [FREE] * 3 == [spaces.use(page) for page in (5, 9, SPAN + 2)]
    records = spaces.logged(Kind.FREE)
    assert [(1, 0), (SPAN, 0)] == [(record.page, record.flags) for record in records]
    assert (records[-1].rba, 5) == (spaces.page_set.freed_rba, spaces.page_set.low_free)


def test_what_was_in_a_page_that_is_given_back_is_not_written():
    """The buffer pool forgets it: it is the first to be stolen."""
    spaces = Spaces(20)
    unit = spaces.small.begin()
    spaces.small.put(unit, b"one")
    (frame,) = [each for each in spaces.page_set.frames.values() if each.content is not None]
    spaces.space.give_back(spaces.page_set, [frame.page])
    assert (False, None) == (frame.changed, frame.content)


def test_pages_of_non_persistent_messages_are_given_back_without_log():
    spaces = Spaces(20)
    spaces.take([5, 6], VOLATILE_PAGE)
    spaces.page_set.low_free = 20
    spaces.space.give_back_volatile(spaces.page_set, [6, 5])
    assert ([FREE, FREE], 5, spaces.began) == (
        [spaces.use(5), spaces.use(6)],
        spaces.page_set.low_free,
        spaces.log.end,
    )


@pytest.mark.parametrize("first", [10, 30])
def test_the_next_look_does_not_begin_later_than_it_would_have(first):
    """What is given back may lie behind the place where a look begins anyhow."""
    spaces = Spaces(40)
    spaces.page_set.low_free = 20
    spaces.space.give_back_volatile(spaces.page_set, [first])
    assert min(first, 20) == spaces.page_set.low_free
    spaces.space.give_back(spaces.page_set, [first])
    assert min(first, 20) == spaces.page_set.low_free


def test_the_scavenger_gives_back_what_is_kept_beyond_need():
    """Y1: 256 are kept, those that were emptied last; the others are free again, in one record."""
    spaces = Spaces(2000)
    spaces.take(range(2, KEPT + 46))
    kept = spaces.space.empty[spaces.number]
    kept.extend(range(2, KEPT + 46))
    assert not spaces.space.step()
    assert [*range(46, KEPT + 46)] == kept
    assert (FREE, MESSAGE_PAGE) == (spaces.use(45), spaces.use(46))
    assert 1 == len(spaces.logged(Kind.FREE))
    assert not spaces.space.step()
    assert (KEPT, 1) == (len(kept), len(spaces.logged(Kind.FREE)))


def test_it_does_so_in_pieces():
    """W1: a quarter of a span at a time, and it says that there is more."""
    spaces = Spaces(2000)
    kept = spaces.space.empty[spaces.number]
    kept.extend(range(2, 2 + KEPT + SPAN // 4 + 1))
    assert spaces.space.step()
    assert KEPT + 1 == len(kept)
    assert not spaces.space.step()
    assert KEPT == len(kept)


def test_of_pages_of_non_persistent_messages_as_many_are_kept():
    spaces = Spaces(2000)
    spaces.take(range(2, KEPT + 12), VOLATILE_PAGE)
    kept = spaces.space.volatile[spaces.number]
    kept.extend(range(2, KEPT + 12))
    assert not spaces.space.step()
    assert [*range(12, KEPT + 12)] == kept
    assert (FREE, VOLATILE_PAGE, spaces.began) == (spaces.use(11), spaces.use(12), spaces.log.end)
    assert not spaces.space.step()
    assert KEPT == len(kept)


def emptied(messages, buffers):
    """A queue that had so many messages, which have all been got."""
    spaces = Spaces(2048, buffer_pools={0: 64, 1: buffers})
    small = spaces.small
    for work in (lambda unit: small.put(unit, b"m"), small.get):
        unit = small.begin()
        for _ in range(messages):
            work(unit)
        small.commit(unit)
    return spaces


def test_kept_pages_stay_in_a_pool_that_need_not_write():
    """Y8, Y1: the next messages go there, and nothing is logged for that."""
    spaces = emptied(KEPT + 100, buffers=2 * KEPT)
    assert not spaces.space.crowds()


def test_kept_pages_give_way_where_a_pool_has_to_write():
    """Y8, B5: more than 85 % of the buffers are changed, by messages that are gone."""
    spaces = emptied(KEPT + 100, buffers=KEPT + 120)
    space, pool = spaces.space, spaces.small.buffers.pool_of[spaces.number]
    before = len(pool.changed())
    assert (True, True) == (pool.due, space.crowds())
    assert not space.step()
    assert (KEPT, False) == (len(space.empty[spaces.number]), space.crowds())
    assert before - 100 == len(pool.changed())
    assert 1 == len(spaces.logged(Kind.FREE))


def test_where_few_are_kept_the_pool_writes_what_is_left():
    """Y8: of messages that are there nothing can be given back."""
    spaces = emptied(KEPT, buffers=KEPT + 20)
    assert spaces.small.buffers.pool_of[spaces.number].due
    assert not spaces.space.crowds()


def test_what_is_kept_stays_so_while_there_are_free_pages():
    """Y1: giving it back would cost a log record, and the next message of its kind a page."""
    spaces = Spaces(200)
    spaces.space.empty[spaces.number].append(150)
    spaces.space.volatile[spaces.number].append(151)
    assert 2 == spaces.look()[0]
    assert ([150], [151]) == (spaces.space.empty[spaces.number], spaces.space.volatile[spaces.number])
    assert [] == spaces.logged(Kind.FREE)


# --- growing (Y4) -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pages", "rule", "grown"),
    [(64, "USER", 320), (1024, "USER", 1280), (2000, "USER", 2500), (64, "SYSTEM", 70), (5, "SYSTEM", 6)],
)
def test_a_page_set_grows_by_a_quarter_or_the_expansion_or_a_tenth(pages, rule, grown):
    """Y4: with an expansion of 256 pages a quarter is more from 1,024 pages on."""
    spaces = Spaces(pages)
    spaces.space.expand[spaces.number] = rule
    spaces.page_set.low_free = pages
    assert pages == spaces.space.free_page(spaces.page_set)
    assert (grown, grown, 1) == (spaces.page_set.pages, spaces.page_set.reserved, spaces.page_set.expansions)
    assert 1 == len(spaces.logged(Kind.HEADER))
    assert grown == spaces.small.again().queue.page_set.pages


def test_growth_ends_at_the_largest_page_set():
    spaces = Spaces(64)
    for pages in (PAGES_MAX - 10, PAGES_MAX):
        assert PAGES_MAX == spaces.space._grown(spaces.page_set, pages)


def test_a_page_set_that_may_not_grow_is_full():
    """Y4: 2192, and nothing has changed."""
    spaces = Spaces(64)
    spaces.space.expand[spaces.number] = "NONE"
    spaces.page_set.low_free = 64
    with pytest.raises(MQError) as full:
        spaces.space.free_page(spaces.page_set)
    assert (Reason.STORAGE_MEDIUM_FULL, {"page_set": 1, "pages": 64, "why": "it may not grow"}) == (
        full.value.reason,
        full.value.facts,
    )
    assert (1, 64, 0, spaces.began) == (
        spaces.space.times_full,
        spaces.page_set.pages,
        spaces.page_set.expansions,
        spaces.log.end,
    )


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_page_set_for_which_there_is_no_space_is_full(code):
    """Y4, Y7: 2192 says what the system said, and so is the operator told, once."""
    spaces, told = Spaces(64), []
    spaces.space.tell = lambda identifier, _, **facts: told.append((identifier, facts["page_set"], facts["pages"]))
    spaces.page_set.low_free = 64
    for _ in range(2):
        spaces.small.disk.fail_at[spaces.small.disk.operations + 1] = code
        with pytest.raises(MQError) as full:
            spaces.space.free_page(spaces.page_set)
        assert Reason.STORAGE_MEDIUM_FULL is full.value.reason
        assert errno.errorcode[code] in full.value.facts["why"]
    assert ([("CSQP014E", 1, 64)], 2, spaces.began) == (told, spaces.space.times_full, spaces.log.end)
    assert 64 == spaces.space.free_page(spaces.page_set)


def test_a_page_set_that_grows_into_the_next_span_has_a_map_there():
    """T1: in the log the map comes before the header that says how large the page set is."""
    spaces = Spaces(SPAN - 5)
    spaces.page_set.low_free = SPAN - 5
    assert [*range(SPAN - 5, SPAN)] == spaces.look()
    assert [*range(SPAN + 1, SPAN + 1 + FOUND)] == spaces.look()
    maps, headers = spaces.logged(Kind.FORMAT_MAP), spaces.logged(Kind.HEADER)
    assert [(SPAN, 0), (0, 0)] == [(record.page, record.flags) for record in (*maps, *headers)]
    assert maps[0].rba < headers[0].rba


@pytest.mark.parametrize("kind", ["empty", "volatile"])
def test_what_is_kept_for_the_other_kind_is_used_before_a_page_set_grows(kind):
    """Y4: pages 7 and 9 are kept, of which nobody would know otherwise."""
    spaces = Spaces(20)
    spaces.take(range(2, 20))
    spaces.page_set.low_free = 20
    kept = getattr(spaces.space, kind)[spaces.number]
    kept.extend([9, 7])
    assert ([7, 9], [], 20) == (spaces.look(), kept, spaces.page_set.pages)
    assert (1 if kind == "empty" else 0) == len(spaces.logged(Kind.FREE))


def test_of_a_page_set_that_is_gone_nothing_is_known():
    spaces = Spaces(20)
    space, number = spaces.space, spaces.number
    space.expand[number], space.lead[number] = "NONE", 5
    space._wanted.add(number)
    space._refused.add(number)
    space.remove_page_set(number)
    known = (space.empty, space.volatile, space._found, space.expand, space.lead, space._wanted, space._refused)
    assert not any(number in each for each in known)


@pytest.mark.plain
def test_a_long_put_that_the_log_refuses_leaves_every_page_free(monkeypatch):
    """Who tries again until there is log does not make the page set grow (PG5)."""
    spaces = Spaces(64)
    small, unit = spaces.small, spaces.small.begin()
    small.put(unit, b"first")

    def refuse():
        raise MQError(Reason.Q_SPACE_NOT_AVAILABLE)

    monkeypatch.setattr(spaces.log, "ready", False)
    monkeypatch.setattr(spaces.log, "check_space", refuse)
    for _ in range(100):
        with pytest.raises(MQError):
            small.put(unit, bytes(20_000))
    assert 64 == spaces.page_set.pages
    assert list(range(3, 64)) == spaces.look()


@pytest.mark.plain
def test_a_packed_put_that_the_log_refuses_leaves_no_empty_page_behind(monkeypatch):
    """PG6: its page was begun, so the one before it, whose messages are gone, is not the last any more."""
    spaces = Spaces(64, packing=True)
    small, unit = spaces.small, spaces.small.begin()
    small.put(unit, bytes(3000))
    small.commit(unit)
    unit = small.begin()
    small.get(unit)
    small.commit(unit)
    unit = small.begin()

    def refuse():
        raise MQError(Reason.Q_SPACE_NOT_AVAILABLE)

    with monkeypatch.context() as short:
        short.setattr(spaces.log, "ready", False)
        short.setattr(spaces.log, "check_space", refuse)
        with pytest.raises(MQError):
            small.put(unit, bytes(3000))
    assert [MESSAGE_PAGE, MESSAGE_PAGE] == [spaces.use(page) for page in (2, 3)]
    small.data.scavenge()
    assert [FREE, MESSAGE_PAGE] == [spaces.use(page) for page in (2, 3)]
