"""Messages that came for gets that were cancelled: who returns them, what becomes of them with their unit (LA1-LA4)."""

import asyncio

import pytest

from quaestor import MQMD, GetOptions, Message, MQError, Reason
from quaestor.mqi.descriptors import NO_ID
from quaestor.mqi.late import Late, asked_by
from quaestor.mqi.options import MatchOptions

IN_SYNCPOINT, OUT = int(GetOptions.SYNCPOINT), int(GetOptions.NO_SYNCPOINT)
IF_PERSISTENT = int(GetOptions.SYNCPOINT_IF_PERSISTENT)


def message(body, *, correl_id=NO_ID, persistent=False, backouts=0):
    return Message(body, MQMD(), body.ljust(24, b"\0"), correl_id, 0, int(persistent), 1_000, 0, backouts)


def taken(late, options=OUT, max_length=None, **selecting):
    """The body of what a get returns at once; None if it has to ask the queue manager."""
    found = late.take(asked_by(options, max_length, selecting))
    return None if found is None else found.body


@pytest.fixture
def late():
    return Late()


class Getter:
    """A get that waits, and what the queue manager was told of it."""

    def __init__(self, late, options=OUT, max_length=None, **selecting):
        self.future, self.withdrawn = asyncio.get_running_loop().create_future(), 0
        late.waits(asked_by(options, max_length, selecting), self.future, self._withdraw)

    def _withdraw(self):
        self.withdrawn += 1

    @property
    def got(self):
        return self.future.result().body if self.future.done() else None


# --- who asks for them (LA1) ------------------------------------------------------------------------------------------


def test_the_next_get_returns_them_in_their_order(late):
    for body in (b"one", b"two"):
        late.keep(OUT, message(body))
    assert (2, b"one", b"two", None, 0) == (len(late), taken(late), taken(late), taken(late), len(late))


def test_one_that_was_marked_is_in_the_next_unit_after_a_back_out(late):
    """LA3: of two back outs the second gives it up; a commit makes it the application's."""
    marked = IN_SYNCPOINT | int(GetOptions.MARK_SKIP_BACKOUT)
    late.keep(marked, message(b"marked"))
    late.backed_out()
    assert (None, 1) == (taken(late, OUT), len(late))
    late.backed_out()
    assert 0 == len(late)
    late.keep(marked, message(b"marked"))
    late.backed_out()
    late.committed()
    assert b"marked" == taken(late, OUT)


def test_a_get_of_one_message_returns_that_one(late):
    """LA1: by its message or its correlation identifier; the others stay where they are."""
    for body in (b"one", b"two", b"three"):
        late.keep(OUT, message(body, correl_id=body.ljust(24, b"!")))
    assert b"two" == taken(late, correl_id=b"two".ljust(24, b"!"))
    assert b"three" == taken(late, msg_id=b"three")
    assert None is taken(late, msg_id=b"four")
    assert None is taken(late, token=17)
    assert b"one" == taken(late, msg_id=b"four", match=int(MatchOptions.NONE))


@pytest.mark.parametrize(
    "options",
    [
        GetOptions.BROWSE_FIRST,
        GetOptions.BROWSE_NEXT,
        GetOptions.MSG_UNDER_CURSOR,
        GetOptions.LOGICAL_ORDER,
        GetOptions.ALL_MSGS_AVAILABLE,
        GetOptions.MARK_SKIP_BACKOUT,
        GetOptions.LOCK,
        1 << 20,
    ],
)
def test_a_browse_a_group_or_a_cursor_asks_for_none_of_them(options):
    """LA1: nor does what is refused anyhow."""
    assert asked_by(int(options) | OUT, None, {}) is None


def test_a_selection_that_is_refused_asks_for_none_of_them():
    """The queue manager says what is wrong with it."""
    assert asked_by(OUT, None, {"msg_id": b"x" * 25}) is None
    assert asked_by(OUT, None, {"msg_id": b"x" * 24}) is not None


@pytest.mark.parametrize(
    "options",
    [
        GetOptions.NONE,
        GetOptions.WAIT | GetOptions.SYNCPOINT,
        GetOptions.NO_SYNCPOINT | GetOptions.ACCEPT_TRUNCATED_MSG,
        GetOptions.SYNCPOINT_IF_PERSISTENT | GetOptions.FAIL_IF_QUIESCING,
    ],
)
def test_any_other_get_does(late, options):
    late.keep(OUT, message(b"one"))
    assert b"one" == taken(late, int(options))


def test_one_that_is_too_long_stays_for_the_next(late):
    late.keep(OUT, message(b"four"))
    with pytest.raises(MQError) as refused:
        taken(late, max_length=3)
    assert (Reason.TRUNCATED_MSG_FAILED, 1) == (refused.value.reason, len(late))
    assert b"fou" == taken(late, OUT | GetOptions.ACCEPT_TRUNCATED_MSG, max_length=3)
    assert (Reason.TRUNCATED_MSG_ACCEPTED, 0) == (late.warning.reason, len(late))
    late.keep(OUT, message(b"four"))
    assert (b"four", None) == (taken(late, max_length=4), late.warning)


# --- gets that wait already (LA1, LA2) --------------------------------------------------------------------------------


def test_the_get_that_has_waited_longest_returns_it(late):
    """LA2: and waits no more at the queue manager; the other goes on waiting."""

    async def main():
        first, second = Getter(late), Getter(late)
        late.keep(OUT, message(b"one"))
        assert (b"one", 1, None, 0, 0) == (first.got, first.withdrawn, second.got, second.withdrawn, len(late))
        await asyncio.sleep(0)
        late.keep(OUT, message(b"two"))
        assert (b"two", 1, 1) == (second.got, second.withdrawn, first.withdrawn)

    asyncio.run(main())


def test_a_get_that_waits_for_another_message_is_passed_over(late):
    async def main():
        picky, ready, any_one = Getter(late, msg_id=b"two"), Getter(late), Getter(late)
        ready.future.set_result(message(b"own"))
        late.keep(OUT, message(b"one"))
        assert (None, 0, b"own", 0, b"one") == (picky.got, picky.withdrawn, ready.got, ready.withdrawn, any_one.got)

    asyncio.run(main())


def test_a_get_that_was_cancelled_waits_for_nothing(late):
    async def main():
        gone = Getter(late)
        gone.future.cancel()
        late.keep(OUT, message(b"one"))
        assert (0, 1) == (gone.withdrawn, len(late))

    asyncio.run(main())


def test_whoever_has_too_little_room_is_told_and_the_next_returns_it(late):
    async def main():
        small, large = Getter(late, max_length=2), Getter(late, max_length=3)
        late.keep(OUT, message(b"one"))
        assert Reason.TRUNCATED_MSG_FAILED is small.future.exception().reason
        assert (1, b"one", 0) == (small.withdrawn, large.got, len(late))

    asyncio.run(main())


# --- units (LA3, LA4) -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "persistent", "in_unit"),
    [
        (IN_SYNCPOINT, True, True),
        (IN_SYNCPOINT, False, True),
        (0, False, True),
        (OUT, True, False),
        (IF_PERSISTENT, True, True),
        (IF_PERSISTENT, False, False),
    ],
)
def test_what_was_got_in_syncpoint_is_for_gets_in_syncpoint(late, options, persistent, in_unit):
    """LA3: until its unit has ended."""
    late.keep(options, message(b"one", persistent=persistent))
    assert (None if in_unit else b"one") == taken(late, OUT)
    assert (b"one" if in_unit else None) == taken(late, IN_SYNCPOINT)


def test_a_get_that_is_in_syncpoint_for_persistent_messages_only(late):
    """LA3: what it would get out of syncpoint it does not return in syncpoint."""
    late.keep(IN_SYNCPOINT, message(b"one"))
    late.keep(IN_SYNCPOINT, message(b"two", persistent=True))
    assert (b"two", None, 1) == (taken(late, IF_PERSISTENT), taken(late, IF_PERSISTENT), len(late))


def test_a_commit_makes_them_the_applications(late):
    late.keep(IN_SYNCPOINT, message(b"one"))
    late.committed()
    assert b"one" == taken(late, OUT)


def test_a_back_out_gives_them_up(late):
    """LA3: they are on their queue again. What was got out of syncpoint is not."""
    late.keep(IN_SYNCPOINT, message(b"one"))
    late.keep(OUT, message(b"two"))
    late.backed_out()
    assert (b"two", None) == (taken(late, IN_SYNCPOINT), taken(late, IN_SYNCPOINT))


def test_what_was_the_applications_comes_back_when_its_get_is_backed_out(late):
    """LA4: first in line, with one backout more, as it would have on a queue."""
    late.keep(OUT, message(b"one", backouts=4))
    late.keep(OUT, message(b"two"))
    assert b"one" == taken(late, IN_SYNCPOINT)
    late.backed_out()
    again = late.take(asked_by(OUT, None, {}))
    assert (b"one", 5) == (again.body, again.backout_count)
    late.backed_out()
    assert (b"two", None) == (taken(late), taken(late))


def test_backouts_are_counted_to_255(late):
    late.keep(OUT, message(b"one", backouts=255))
    taken(late, IN_SYNCPOINT)
    late.backed_out()
    assert 255 == late.take(asked_by(OUT, None, {})).backout_count


@pytest.mark.parametrize("options", [IN_SYNCPOINT, OUT])
def test_what_was_returned_is_not_there_after_a_commit(late, options):
    late.keep(OUT, message(b"one"))
    assert b"one" == taken(late, options)
    late.committed()
    late.backed_out()
    assert 0 == len(late)


def test_what_was_returned_out_of_syncpoint_does_not_come_back(late):
    late.keep(OUT, message(b"one"))
    assert b"one" == taken(late, OUT)
    late.backed_out()
    assert 0 == len(late)


def test_with_its_link_goes_what_was_of_the_unit(late):
    """LA4: whatever became of the unit, the queue manager knows; what was the application's stays."""
    late.keep(OUT, message(b"own"))
    late.keep(OUT, message(b"returned"))
    late.keep(IN_SYNCPOINT, message(b"of the unit"))
    assert b"returned" == taken(late, IN_SYNCPOINT, msg_id=b"returned")
    late.link_lost()
    late.backed_out()
    assert (b"own", None) == (taken(late, IN_SYNCPOINT), taken(late, IN_SYNCPOINT))
