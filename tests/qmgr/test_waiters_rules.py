"""Who waits on a queue and who is woken, without queue managers (Y1-Y6)."""

from types import SimpleNamespace

import pytest

from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.matching import ANY, selection
from quaestor.mqi.messages import Message
from quaestor.qmgr.message.waiting import SharedWaiters, Waiters, Waiting
from quaestor.qmgr.queue_store import AVAILABLE, TAKEN

KEY, OTHER = b"K".ljust(24, b"\0"), b"O".ljust(24, b"\0")
QUEUE = 7


class Queue:
    """The waiters of a queue, by name, and who has been posted."""

    def __init__(self, kind=Waiters):
        self.waited = {}
        self.waiters = kind(self.waited, QUEUE)
        self.posted = []
        self.by_name = {}

    def wait(self, name, asked=ANY, *, browse=False, direct_max=-1, owner=None):
        takes_any = asked is ANY and not browse
        waiting = Waiting(asked, self.waiters, owner, browse=browse, takes_any=takes_any, direct_max=direct_max)
        waiting.post = lambda: self.posted.append(name)
        self.waiters.add(waiting)
        self.by_name[name] = waiting
        return waiting

    def woken(self):
        posted, self.posted = self.posted, []
        return posted

    def names(self):
        return [name for name, waiting in self.by_name.items() if waiting in self.waiters.waiting]


def arrival(correl_id=NO_ID, **more):
    ids = {"msg_id": NO_ID, "correl_id": correl_id, "group_id": NO_ID, "sequence": 1}
    return SimpleNamespace(**ids | {"state": AVAILABLE, "holder": None} | more)


def message(body=b"body", correl_id=NO_ID, **more):
    return Message(body, MQMD(), NO_ID, correl_id, 0, 0, 0, **more)


BY_KEY = selection(correl_id=KEY)


def test_a_queue_is_among_the_waited_while_somebody_waits():
    queue = Queue()
    first, second = queue.wait("first"), queue.wait("second")
    assert ({QUEUE: queue.waiters}, 2) == (queue.waited, len(queue.waiters))
    queue.waiters.remove(first)
    assert {QUEUE: queue.waiters} == queue.waited
    queue.waiters.remove(second)
    queue.waiters.remove(second)  # a second time is harmless
    assert ({}, 0) == (queue.waited, len(queue.waiters))


@pytest.mark.plain
def test_the_longest_waiting_is_woken_and_nobody_else():
    """Y2."""
    queue = Queue()
    for name in ("first", "second", "browser"):
        queue.wait(name, browse=name == "browser")
    queue.waiters.wake(arrival())
    assert (["first"], ["second", "browser"]) == (queue.woken(), queue.names())
    queue.waiters.wake(arrival())
    assert ["second"] == queue.woken()


@pytest.mark.plain
def test_who_asked_for_it_comes_before_who_takes_any():
    """Y2: though he came last."""
    queue = Queue()
    queue.wait("any")
    queue.wait("another", selection(correl_id=OTHER))
    queue.wait("by key", BY_KEY)
    queue.wait("by key, later", BY_KEY)
    one = arrival(KEY)
    woken = []
    for _ in range(4):
        queue.waiters.wake(one)
        woken += queue.woken()
    assert ["by key", "by key, later", "any"] == woken
    assert ["another"] == queue.names()


@pytest.mark.plain
def test_browsers_are_woken_when_no_getter_wants_it_and_then_all_it_fits():
    """Y2."""
    queue = Queue()
    queue.wait("getter", selection(correl_id=OTHER))
    queue.wait("browser", browse=True)
    queue.wait("browser by key", BY_KEY, browse=True)
    queue.wait("browser of others", selection(correl_id=OTHER), browse=True)
    queue.waiters.wake(arrival(KEY))
    assert ["browser", "browser by key"] == queue.woken()
    assert ["getter", "browser of others"] == queue.names()


@pytest.mark.plain
def test_who_asks_for_a_number_looks_himself():
    """Y2: the number stands in the descriptor, which is not read for that."""
    queue = Queue()
    queue.wait("third of a group", selection(correl_id=KEY, sequence=3))
    queue.waiters.wake(arrival(OTHER))
    assert [] == queue.woken()
    queue.waiters.wake(arrival(KEY))
    assert ["third of a group"] == queue.woken()


@pytest.mark.plain
def test_a_message_that_was_left_goes_to_the_getter_behind():
    """Y3: and behind the last of them to the browsers; nobody is woken for it twice."""
    queue = Queue()
    by_key = queue.wait("by key", BY_KEY)
    first, second = queue.wait("first"), queue.wait("second")
    queue.wait("browser", browse=True)
    queue.waiters.wake(arrival(KEY))
    woken = []
    for waiting in (by_key, first, second):
        woken += queue.woken()
        queue.waiters.pass_on(waiting)
        queue.waiters.pass_on(waiting)
    assert ["by key", "first", "second"] == woken
    assert ["browser"] == queue.woken()


@pytest.mark.plain
def test_a_getter_in_front_that_waits_again_is_not_woken_for_what_it_left():
    queue = Queue()
    first, second = queue.wait("first"), queue.wait("second")
    queue.waiters.wake(arrival())
    assert ["first"] == queue.woken()
    again = queue.wait("first again")
    queue.waiters.keep_place(again, first)
    assert [again, second] == queue.waiters.waiting
    queue.waiters.pass_on(first)
    assert ["second"] == queue.woken()
    queue.waiters.pass_on(second)
    assert [] == queue.woken()
    queue.waiters.wake(arrival())
    assert ["first again"] == queue.woken()


@pytest.mark.plain
@pytest.mark.parametrize("taken", [{"state": TAKEN}, {"holder": "another"}])
def test_what_is_no_longer_there_is_not_passed_on(taken):
    queue = Queue()
    first = queue.wait("first")
    queue.wait("second")
    one = arrival()
    queue.waiters.wake(one)
    vars(one).update(taken)
    queue.waiters.pass_on(first)
    assert ["first"] == queue.woken()


@pytest.mark.plain
def test_a_browser_passes_nothing_on():
    queue = Queue()
    browser = queue.wait("browser", browse=True)
    queue.waiters.wake(arrival())
    queue.wait("getter")
    queue.waiters.pass_on(browser)
    assert ["browser"] == queue.woken()


@pytest.mark.plain
def test_who_gives_up_too_late_gives_his_wake_to_the_next():
    """Y6: he is not posted any more."""
    queue = Queue()
    first = queue.wait("first")
    queue.wait("second")
    queue.waiters.wake(arrival())
    queue.woken()
    queue.waiters.given_up(first)
    assert ["second"] == queue.woken()
    first.post()
    assert [] == queue.woken()


def test_who_gives_up_in_time_leaves_everybody_in_peace():
    queue = Queue()
    first = queue.wait("first")
    queue.wait("second")
    queue.waiters.given_up(first)
    assert ([], ["second"], False) == (queue.woken(), queue.names(), first.posted)


def test_a_wait_is_posted_once():
    """Y6."""
    queue = Queue()
    first = queue.wait("first")
    queue.waiters.look_again()
    first.post()
    queue.waiters.look_again()
    assert (["first"], True, None) == (queue.woken(), first.posted, first.posted_for)


def test_a_closed_handle_ends_its_own_waits():
    queue = Queue()
    mine, yours = object(), object()
    for name, owner in (("one", mine), ("two", yours), ("three", mine)):
        queue.wait(name, owner=owner)
    queue.waiters.handle_closed(mine)
    assert (["one", "three"], ["two"]) == (queue.woken(), queue.names())


# --- handing over ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("direct_max", "handed"), [(-1, False), (3, False), (4, True), (5, True)])
def test_a_message_goes_straight_to_a_getter_that_may_have_it(direct_max, handed):
    """Y4: four bytes."""
    queue = Queue()
    getter = queue.wait("getter", direct_max=direct_max)
    given = message(b"four")
    assert handed is queue.waiters.hand_over(given)
    assert (given if handed else None, ["getter"] if handed else []) == (getter.message, queue.woken())


def test_it_is_the_getter_that_would_be_woken():
    """Y4, Y2: who asked for it before who takes any, and then the longest waiting."""
    queue = Queue()
    queue.wait("browser", browse=True, direct_max=99)
    queue.wait("another", selection(correl_id=OTHER), direct_max=99)
    for name, asked in (("any", ANY), ("by key", BY_KEY), ("any, later", ANY)):
        queue.wait(name, asked, direct_max=99)
    for _ in range(3):
        assert queue.waiters.hand_over(message(correl_id=KEY))
    assert ["by key", "any", "any, later"] == queue.woken()
    assert not queue.waiters.hand_over(message(correl_id=KEY))


def test_one_that_may_not_have_it_so_is_not_passed_over():
    """Y4: it is woken by the message on the queue, as its turn is."""
    queue = Queue()
    queue.wait("first", direct_max=-1)
    queue.wait("second", direct_max=99)
    assert not queue.waiters.hand_over(message())
    assert ["first", "second"] == queue.names()


def test_who_asks_for_one_message_by_its_token_is_handed_no_other():
    queue = Queue()
    queue.wait("by token", selection(token=1), direct_max=99)
    assert not queue.waiters.hand_over(message())


def test_all_of_its_expiry_is_left():
    """Y4: in tenths of a second."""
    queue = Queue()
    getter = queue.wait("getter", direct_max=99)
    queue.waiters.hand_over(message(expires_us=5_000_000))
    assert 50 == getter.message.expiry


# --- shared queues ---------------------------------------------------------------------------------------------------


def shared(*names):
    queue = Queue(SharedWaiters)
    for name in names:
        queue.wait(name, BY_KEY if name.startswith("key") else ANY, browse=name.startswith("browse"))
    return queue


def test_one_that_takes_any_looks_and_all_that_may_leave_it():
    """Y5."""
    queue = shared("any", "key", "any, later", "browser")
    queue.waiters.arrived()
    assert (["any", "browser", "key"], ["any, later"]) == (sorted(queue.woken()), queue.names())


def test_each_that_gets_something_wakes_the_next():
    queue = shared("key", "any", "any, later")
    woken = []
    for _ in range(3):
        queue.waiters.next_one()
        woken += queue.woken()
    assert (["any", "any, later"], ["key"]) == (woken, queue.names())


@pytest.mark.plain
@pytest.mark.parametrize(("correl_id", "woken"), [(KEY, ["key"]), (NO_ID, ["any"])])
def test_a_message_that_was_put_here_is_for_who_asked_for_it(correl_id, woken):
    queue = shared("any", "key")
    queue.waiters.wake(arrival(correl_id))
    assert woken == queue.woken()


@pytest.mark.plain
def test_a_browser_by_key_keeps_no_getter_from_looking():
    queue = Queue(SharedWaiters)
    queue.wait("browser", BY_KEY, browse=True)
    queue.wait("any")
    queue.waiters.wake(arrival(KEY))
    assert ["any", "browser"] == sorted(queue.woken())


@pytest.mark.plain
def test_nothing_is_passed_on_nor_handed_over():
    queue = shared("any", "any, later")
    queue.waiters.arrived()
    first = queue.by_name["any"]
    first.posted_for = arrival()
    queue.waiters.pass_on(first)
    assert (["any"], None) == (queue.woken(), first.posted_for)
    assert not queue.waiters.hand_over(message())


@pytest.mark.parametrize(("posted", "woken"), [(True, ["any, later"]), (False, [])])
def test_who_gives_up_after_he_was_told_tells_the_next(posted, woken):
    queue = shared("any", "any, later")
    if posted:
        queue.waiters.arrived()
        queue.woken()
    queue.waiters.given_up(queue.by_name["any"])
    assert (woken, False) == (queue.woken(), "any" in queue.names())
