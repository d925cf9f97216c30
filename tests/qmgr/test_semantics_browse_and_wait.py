"""Semantics 13 to 18: browse cursors and locks, get-wait, match options."""

from contextlib import suppress
from operator import attrgetter
from threading import Thread

import pytest

from model.answers import bodies, drain, fails, warns
from qmgr.small import EVERYTHING
from quaestor.mqi.descriptors import MQMD, NO_ID
from quaestor.mqi.objects import AliasQueue, DefinitionType, IndexType, LocalQueue, ModelQueue
from quaestor.mqi.options import CloseOptions, GetOptions, MatchOptions, MsgFlags, OpenOptions, PutOptions
from quaestor.mqi.reasons import MQError, Reason

NOW, GET_NOW = PutOptions.NO_SYNCPOINT, GetOptions.NO_SYNCPOINT
FIRST, NEXT, UNDER = GetOptions.BROWSE_FIRST, GetOptions.BROWSE_NEXT, GetOptions.BROWSE_MSG_UNDER_CURSOR
TAKE = GetOptions.MSG_UNDER_CURSOR


def put(handle, *texts, **described):
    return [handle.put(text, MQMD(**described), NOW) for text in texts]


def test_13_the_cursor_starts_before_the_first_message(orders):
    put(orders, "a", "b", "c")
    assert ["a", "b", "c"] == bodies([orders.browse() for _ in range(3)])
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.browse()
    assert orders.browse(FIRST).text == "a"


def test_13_each_handle_has_its_own_cursor(app, other, orders):
    put(orders, "a", "b")
    second = other.open("ORDERS", OpenOptions.BROWSE)
    assert ["a", "b", "a"] == bodies([orders.browse(), orders.browse(), second.browse()])


def test_13_going_on_does_not_see_what_arrives_in_front(orders):
    put(orders, "a", "b", priority=4)
    orders.browse()
    put(orders, "urgent", priority=9)
    assert orders.browse().text == "b"
    assert orders.browse(FIRST).text == "urgent"


def test_13_the_cursor_goes_on_from_a_message_that_was_taken(other, orders):
    put(orders, "a", "b", "c")
    orders.browse()
    other.get("ORDERS", GET_NOW)
    assert orders.browse().text == "b"


def test_13_the_cursor_sees_what_arrives_behind_a_message_that_was_taken(app, other, orders):
    put(orders, "a")
    orders.browse()
    other.get("ORDERS", GET_NOW)
    put(orders, "b")
    assert orders.browse().text == "b"


def test_13_the_cursor_sees_what_comes_back_between(app, other, orders):
    put(orders, "a", "b", "c")
    orders.browse()
    assert ["a", "b"] == bodies([other.get("ORDERS", GET_NOW), orders.get()])
    app.backout()
    assert ["b", "c"] == bodies([orders.browse(), orders.browse()])


def test_13_browsing_needs_a_handle_opened_for_it(qm, app):
    qm.queue("ORDERS")
    handle = app.open("ORDERS", OpenOptions.INPUT_SHARED)
    for options in (FIRST, NEXT, UNDER, TAKE, GetOptions.UNLOCK):
        with fails(Reason.NOT_OPEN_FOR_BROWSE):
            handle.get(options)


def test_14_under_the_cursor(app, orders):
    put(orders, "a", "b")
    orders.browse()
    orders.browse()
    assert orders.browse(UNDER).text == "b"
    assert orders.get(TAKE).text == "b"
    app.commit()
    assert ["a"] == bodies(drain(orders))


def test_14_nothing_under_a_cursor_that_was_never_placed(orders):
    put(orders, "a")
    for options in (UNDER, TAKE):
        with fails(Reason.NO_MSG_UNDER_CURSOR):
            orders.get(options)


def test_14_nothing_under_the_cursor_once_the_message_is_taken(other, orders):
    put(orders, "a")
    orders.browse()
    other.get("ORDERS")
    with fails(Reason.NO_MSG_UNDER_CURSOR):
        orders.get(TAKE)


def test_14_nothing_under_the_cursor_once_it_is_locked_or_expired(qm, other, orders):
    put(orders, "a", expiry=100)
    orders.browse()
    elsewhere = other.open("ORDERS", EVERYTHING)
    elsewhere.browse(FIRST | GetOptions.LOCK)
    with fails(Reason.NO_MSG_UNDER_CURSOR):
        orders.get(TAKE)
    elsewhere.get(GetOptions.UNLOCK)
    assert orders.browse(UNDER).text == "a"
    qm.clock.advance(seconds=11)
    with fails(Reason.NO_MSG_UNDER_CURSOR):
        orders.get(TAKE)


def test_15_a_locked_message_is_there_for_its_handle_only(other, orders):
    put(orders, "a", "b")
    elsewhere = other.open("ORDERS", EVERYTHING)
    assert orders.browse(FIRST | GetOptions.LOCK).text == "a"
    assert ["b"] == bodies(drain(elsewhere))
    assert orders.browse(FIRST).text == "a"
    assert orders.get(TAKE | GET_NOW).text == "a"


def test_15_unlock_gives_it_back(other, orders):
    put(orders, "a")
    orders.browse(FIRST | GetOptions.LOCK)
    orders.get(GetOptions.UNLOCK)
    assert other.get("ORDERS").text == "a"


def test_15_another_lock_and_closing_release_the_first(app, other, orders):
    put(orders, "a", "b")
    orders.browse(FIRST | GetOptions.LOCK)
    orders.browse(NEXT | GetOptions.LOCK)
    assert other.get("ORDERS").text == "a"
    orders.close()
    assert other.get("ORDERS").text == "b"


@pytest.mark.parametrize("there", ["a", "ab"])
@pytest.mark.parametrize("option", [FIRST, NEXT])
def test_15_the_cursor_takes_no_lock_along(other, orders, there, option):
    """Browsing on without a lock leaves none behind, whether or not there is another message."""
    put(orders, *there)
    orders.browse(FIRST | GetOptions.LOCK)
    browse_or_not(orders, option)
    assert other.get("ORDERS").text == "a"
    with fails(Reason.NO_MSG_LOCKED):
        orders.get(GetOptions.UNLOCK)


def browse_or_not(handle, option):
    with suppress(MQError):
        handle.browse(option)


def test_15_looking_again_at_what_is_under_the_cursor_keeps_the_lock(other, orders):
    put(orders, "a", "b")
    orders.browse(FIRST | GetOptions.LOCK)
    with fails(Reason.TRUNCATED_MSG_FAILED):
        orders.browse(NEXT, max_length=0)
    assert orders.browse(UNDER).text == "a"
    assert other.get("ORDERS").text == "b"


def test_15_a_get_that_is_refused_leaves_the_message_locked(app, other, orders):
    """GE1: else it would be there for others, or on a shared queue for nobody at all."""
    put(orders, "marked", "locked")
    mark = GetOptions.SYNCPOINT | GetOptions.MARK_SKIP_BACKOUT
    orders.get(mark)
    orders.browse(FIRST | GetOptions.LOCK)
    with fails(Reason.SECOND_MARK_NOT_ALLOWED):
        orders.get(mark | TAKE)
    with fails(Reason.NO_MSG_AVAILABLE):
        other.get("ORDERS", GET_NOW)
    orders.get(GetOptions.UNLOCK)
    assert other.get("ORDERS", GET_NOW).text == "locked"


def test_15_a_locked_message_that_there_is_no_log_for_stays_locked(qm, app, other, orders, monkeypatch):
    put(orders, "locked", persistence=1)
    orders.browse(FIRST | GetOptions.LOCK)
    way = orders._input

    def full(*_):
        raise MQError(Reason.Q_SPACE_NOT_AVAILABLE)

    with monkeypatch.context() as patched, fails(Reason.Q_SPACE_NOT_AVAILABLE):
        patched.setattr(way, "_take", full)
        orders.get(GET_NOW | TAKE)
    with fails(Reason.NO_MSG_AVAILABLE):
        other.get("ORDERS", GET_NOW)
    orders.close()
    assert other.get("ORDERS", GET_NOW).text == "locked"


def test_15_unlocking_nothing_is_2209(orders):
    with fails(Reason.NO_MSG_LOCKED):
        orders.get(GetOptions.UNLOCK)


# -- 16, 17: waiting


class Getter(Thread):
    """An application that waits for one message on a thread of its own."""

    def __init__(
        self, qm, queue="ORDERS", wait_ms=-1, options=GET_NOW, first=None, show=attrgetter("text"), **selecting
    ):
        super().__init__(daemon=True)
        self.app, self.show = qm.connect(), show
        self.handle = self.app.open(queue, OpenOptions.INPUT_SHARED | OpenOptions.BROWSE)
        if first is not None:
            self.handle.get(first)
        self.asked = {"wait_ms": wait_ms, "options": options, **selecting}
        self.outcome, self._qm, self._queue = None, qm, queue
        waiters = qm.messages.catalogue.state(self.handle.name).waiters
        before = len(waiters)
        self.start()
        while self.is_alive() and len(waiters) == before:
            self.join(0.001)

    def run(self):
        try:
            self.outcome = self.show(self.handle.get(**self.asked))
        except MQError as error:
            self.outcome = error.reason

    def result(self):
        """The outcome; None for one that nobody woke."""
        self.join(5)
        return self.outcome


def test_16_no_delay_when_a_message_is_there(orders):
    put(orders, "a")
    assert orders.get(wait_ms=-1).text == "a"


def test_16_the_time_is_over(orders):
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get(wait_ms=5)
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get(GetOptions.WAIT)


def test_16_a_bad_interval(orders):
    with fails(Reason.WAIT_INTERVAL_ERROR):
        orders.get(wait_ms=-2)


@pytest.mark.parametrize("persistence", [0, 1])
@pytest.mark.parametrize("get_options", [GetOptions.NONE, GET_NOW])
@pytest.mark.parametrize("in_syncpoint", [True, False])
def test_16_a_message_ends_the_wait(qm, app, orders, persistence, get_options, in_syncpoint):
    getter = Getter(qm, options=get_options)
    orders.put("a", MQMD(persistence=persistence), PutOptions.NONE if in_syncpoint else NOW)
    app.commit()
    assert getter.result() == "a"


def test_16_an_uncommitted_message_does_not_end_the_wait(qm, app, orders):
    getter = Getter(qm, wait_ms=60)
    orders.put("a")
    assert getter.result() is Reason.NO_MSG_AVAILABLE


def test_16_a_backed_out_get_ends_the_wait(qm, app, orders):
    put(orders, "a")
    orders.get()
    getter = Getter(qm)
    app.backout()
    assert getter.result() == "a"


def test_16_get_disabled_cancels_the_wait(qm, app, orders):
    getter = Getter(qm, wait_ms=-1)
    orders.set(GET="DISABLED")
    assert getter.result() is Reason.GET_INHIBITED


def test_16_get_disabled_on_the_alias_cancels_the_wait_of_those_who_use_it(qm, app, orders):
    app.define(AliasQueue("FRONT", target="ORDERS"))
    by_alias, direct = Getter(qm, "FRONT", wait_ms=-1), Getter(qm)
    app.alter(AliasQueue, "FRONT", get_allowed=False)
    assert by_alias.result() is Reason.GET_INHIBITED
    put(orders, "a")
    assert direct.result() == "a"


@pytest.mark.parametrize(
    ("kind", "options"),
    [(DefinitionType.TEMPDYN, CloseOptions.NONE), (DefinitionType.PERMDYN, CloseOptions.DELETE)],
)
@pytest.mark.parametrize("waits", [GET_NOW, FIRST])
def test_16_the_end_of_a_dynamic_queue_ends_the_waits_on_it(qm, app, kind, options, waits):
    app.define(ModelQueue("MODEL", definition=kind, share=True, def_exclusive=False))
    mine = app.open("MODEL", dynamic_name="MINE")
    getter = Getter(qm, "MINE", options=waits)
    mine.close(options)
    assert getter.result() is Reason.Q_DELETED


def test_16_the_end_of_the_queue_manager_ends_every_wait(qm, orders):
    told = Getter(qm, wait_ms=-1, options=GetOptions.FAIL_IF_QUIESCING)
    patient, stopped = Getter(qm, wait_ms=-1), Getter(qm, wait_ms=-1)
    qm.connections.quiesce()
    assert told.result() is Reason.Q_MGR_QUIESCING
    with fails(Reason.Q_MGR_QUIESCING):
        qm.connect()
    while len(patient.handle._opened.state.waiters) < 2:
        patient.join(0.001)
    put(orders, "still served")
    assert patient.result() == "still served"
    assert stopped.is_alive()
    qm.connections.stop()
    assert stopped.result() in {Reason.Q_MGR_STOPPING, Reason.CONNECTION_BROKEN}


def test_17_one_getter_is_woken_the_longest_waiting_first(qm, orders):
    first, second = Getter(qm), Getter(qm)
    put(orders, "a")
    assert first.result() == "a"
    assert second.is_alive()
    put(orders, "b")
    assert second.result() == "b"


def test_17_a_getter_that_asks_for_an_identifier_is_preferred(qm, indexed):
    anybody, specific = Getter(qm), Getter(qm, correl_id=b"K" * 24)
    indexed.put("for K", MQMD(correl_id=b"K" * 24), NOW)
    assert specific.result() == "for K"
    put(indexed, "for anybody")
    assert anybody.result() == "for anybody"


def test_17_if_only_browsers_wait_all_are_woken(qm, orders):
    browsers = [Getter(qm, options=FIRST) for _ in range(3)]
    put(orders, "a")
    assert ["a"] * 3 == [browser.result() for browser in browsers]


def test_17_a_woken_getter_that_leaves_the_message_wakes_the_next(qm, orders):
    picky, modest = Getter(qm, max_length=2, options=GetOptions.NONE), Getter(qm, options=GetOptions.NONE)
    put(orders, "too long for one")
    assert picky.result() is Reason.TRUNCATED_MSG_FAILED
    assert modest.result() == "too long for one"


def test_17_a_getter_that_left_a_message_is_woken_by_the_next(qm, orders):
    """What did not fit it must not cost it its place among those who wait."""
    second = Getter(qm, sequence=2)
    put(orders, "a first one")
    put(orders, "a second one", msg_flags=MsgFlags.LAST_MSG_IN_GROUP, group_id=b"G" * 24, msg_seq_number=2)
    assert second.result() == "a second one"


@pytest.mark.plain
def test_17_a_message_that_no_getter_wants_is_offered_once_to_each(qm, orders, monkeypatch):
    """Not in a circle: each that leaves it wakes the one behind it, the last one the browsers."""
    seconds, browser = [Getter(qm, sequence=2, wait_ms=300) for _ in range(3)], Getter(qm, options=FIRST)
    kind, woken = type(qm.messages.catalogue.state("ORDERS").waiters), []
    post = kind._post
    monkeypatch.setattr(kind, "_post", lambda *call: (woken.append(call[1].browse), post(*call)))
    put(orders, "a first one")
    assert browser.result() == "a first one"
    assert [Reason.NO_MSG_AVAILABLE] * 3 == [getter.result() for getter in seconds]
    assert woken == [False] * 3 + [True]


def test_17_one_that_takes_any_is_not_kept_waiting_by_one_that_does_not(qm, orders):
    second, anybody = Getter(qm, sequence=2, wait_ms=300), Getter(qm)
    put(orders, "a first one")
    assert anybody.result() == "a first one"
    assert second.result() is Reason.NO_MSG_AVAILABLE


def test_17_unlocking_wakes_a_getter(qm, orders):
    put(orders, "a")
    orders.browse(FIRST | GetOptions.LOCK)
    getter = Getter(qm)
    orders.get(GetOptions.UNLOCK)
    assert getter.result() == "a"


@pytest.mark.plain
@pytest.mark.parametrize("persistence", [0, 1])
def test_17_out_of_syncpoint_a_message_goes_straight_to_the_getter(qm, orders, persistence, monkeypatch):
    getter = Getter(qm, options=GET_NOW)
    monkeypatch.setattr(qm.messages.catalogue._store, "put", None)  # never on the queue
    orders.put("a", MQMD(persistence=persistence), NOW)
    assert getter.result() == "a"


@pytest.mark.parametrize("put_options", [NOW, PutOptions.SYNCPOINT])
def test_17_a_message_that_went_straight_says_what_is_left_of_its_expiry(qm, app, orders, put_options):
    getter = Getter(qm, show=lambda message: (message.text, message.expiry, message.descriptor.expiry))
    orders.put("a", MQMD(expiry=50), put_options)
    app.commit()
    assert getter.result() == ("a", 50, 50)


def test_17_a_message_that_went_straight_has_no_token(qm, app, orders):
    """It was never on the queue: that of the message before it names another."""
    put(orders, "before")
    orders.get(GET_NOW)
    before = orders.token
    waiting = orders.look(GET_NOW, 1000, None, direct=True)
    putter = qm.connect("BOB").open("ORDERS", OpenOptions.OUTPUT)
    putter.put("straight", None, NOW)
    message = orders.handed_over(waiting)
    if message is None:  # a shared queue hands nothing over
        message = orders.look(GET_NOW, 1000, waiting, direct=True)
    assert ("straight", True) == (message.text, orders.token != before)


def test_17_a_message_does_not_go_straight_to_a_getter_that_turns_from_a_group(qm, app):
    """Its get warns, and ends the queue manager's care of the group."""
    qm.queue("GROUPS", index_type=IndexType.GROUPID)
    groups = app.open("GROUPS", EVERYTHING)
    groups.put("1", MQMD(msg_flags=MsgFlags.MSG_IN_GROUP), NOW | PutOptions.LOGICAL_ORDER)
    getter = Getter(qm, "GROUPS", options=GET_NOW, first=GET_NOW | GetOptions.LOGICAL_ORDER)
    app.put1("GROUPS", "other", None, NOW)
    assert getter.result() == "other"
    assert warns(getter.app, Reason.INCOMPLETE_GROUP)


# -- 18: matching


def test_18_zero_identifiers_match_any_and_a_msg_id_must_match(orders):
    made = [orders.put(text, None, NOW) for text in "abc"]
    assert orders.get(msg_id=made[2].msg_id).text == "c"
    assert orders.get(msg_id=NO_ID, correl_id=NO_ID).text == "a"
    assert orders.get(msg_id=made[1].msg_id, correl_id=NO_ID).text == "b"


def test_18_zero_identifiers_match_any_and_a_correl_id_must_match(indexed):
    for text, correl in [("a", b"A"), ("b", b"B"), ("c", b"B")]:
        indexed.put(text, MQMD(correl_id=correl * 24), NOW)
    assert indexed.get(correl_id=b"B" * 24).text == "b"
    assert indexed.get(msg_id=NO_ID, correl_id=NO_ID).text == "a"
    assert indexed.get(msg_id=NO_ID, correl_id=b"B" * 24).text == "c"


def test_18_both_identifiers_must_match(indexed):
    a = indexed.put("a", MQMD(correl_id=b"A" * 24), NOW)
    with fails(Reason.NO_MSG_AVAILABLE):
        indexed.get(msg_id=a.msg_id, correl_id=b"B" * 24)
    with fails(Reason.NO_MSG_AVAILABLE):
        indexed.get(msg_id=b"nobody's", correl_id=b"A" * 24)
    assert indexed.get(msg_id=a.msg_id, correl_id=b"A" * 24).text == "a"


def test_18_match_options_say_that_the_msg_id_counts(orders):
    a = orders.put("a", MQMD(correl_id=b"A" * 24), NOW)
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get(match=MatchOptions.MSG_ID, msg_id=b"nobody's", correl_id=b"A" * 24)
    assert orders.get(match=MatchOptions.MSG_ID, msg_id=a.msg_id, correl_id=b"nobody's").text == "a"


def test_18_match_options_say_that_the_correl_id_counts(indexed):
    a = indexed.put("a", MQMD(correl_id=b"A" * 24), NOW)
    with fails(Reason.NO_MSG_AVAILABLE):
        indexed.get(match=MatchOptions.CORREL_ID, msg_id=a.msg_id, correl_id=b"nobody's")
    assert indexed.get(match=MatchOptions.CORREL_ID, msg_id=b"nobody's", correl_id=b"A" * 24).text == "a"


@pytest.mark.parametrize("match", [16, 64, 1 << 20])
def test_18_unknown_match_options(orders, match):
    with fails(Reason.MATCH_OPTIONS_ERROR):
        orders.get(correl_id=b"A", match=match)


def test_18_match_options_are_looked_at_also_where_nothing_is_to_match(orders):
    for more in ({}, {"wait_ms": 0}):
        with fails(Reason.MATCH_OPTIONS_ERROR):
            orders.get(match=1 << 20, **more)
        with fails(Reason.OPTIONS_ERROR):  # the first of two mistakes
            orders.get(1 << 29, match=1 << 20, **more)


def test_18_an_identifier_that_is_too_long(orders):
    with fails(Reason.MATCH_OPTIONS_ERROR):
        orders.get(msg_id=b"x" * 25)


def test_18_a_short_identifier_is_padded_on_both_sides(indexed):
    indexed.put("a", MQMD(correl_id=b"short"), NOW)
    got = indexed.get(correl_id=b"short")
    assert got.correl_id == b"short".ljust(24, b"\0")


def test_18_the_token_names_the_very_message_browsed(orders):
    put(orders, "a", "b")
    orders.browse()
    orders.browse()
    token = orders.token
    assert orders.get(token=token).text == "b"
    with fails(Reason.NO_MSG_AVAILABLE):
        orders.get(token=token)


def test_18_returned_identifiers_stand_in_the_descriptor(app, orders):
    made = orders.put("a", MQMD(msg_id=b"M" * 24, correl_id=b"C" * 24), NOW)
    md = orders.get().descriptor
    assert (b"M" * 24, b"C" * 24) == (md.msg_id, md.correl_id) == (made.msg_id, made.correl_id)
    app.alter(LocalQueue, "ORDERS", descr="still open")
