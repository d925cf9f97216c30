"""The history checker: planted violations are found, legal histories pass, and whatever is broken in one is seen."""

from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaestor.clock import FakeClock
from quaestor.mqi.objects import TriggerType
from quaestor.testing.history import Event, Recorder, read_histories
from quaestor.testing.outcomes import contradiction, solution
from quaestor.testing.triggers import trigger_verdict
from quaestor.testing.verdict import verdict


class Told:
    """A history written by hand: each operation takes one tick, and lines have the order in which they are told."""

    def __init__(self):
        self.events, self._numbers, self._ticks = [], count(1), count(1)

    def note(self, verb, **facts):
        self.events.append(Event("world", next(self._numbers), verb, "ok", next(self._ticks), **facts))

    def call(self, client, verb, outcome="ok", answer=None, **facts):
        number = next(self._numbers)
        self.events.append(Event(client, number, verb, "invoke", next(self._ticks), **facts))
        if outcome != "never":
            self.events.append(Event(client, number, verb, outcome, next(self._ticks), **facts | (answer or {})))

    def put(self, message, unit="", outcome="ok", client="p", **facts):
        self.call(client, "put", outcome, queue="Q", unit=unit, message=message, **facts)

    def get(self, message, unit="", outcome="ok", client="g", verb="get"):
        self.call(client, verb, outcome, {"message": message} if message else {}, queue="Q", unit=unit)

    def end(self, unit, outcome="ok", verb="commit", client="p"):
        self.call(client, verb, outcome, unit=unit)

    def drain(self, *messages):
        for message in messages:
            self.get(message, client="end", verb="drain")

    def kinds(self):
        return [each.kind for each in verdict(self.events)]


@pytest.fixture
def told():
    return Told()


def test_a_unit_put_and_got(told):
    for message in ("1", "2"):
        told.put(message, "u")
    told.end("u")
    for message in ("1", "2"):
        told.get(message, "v")
    told.end("v", client="g")
    assert [] == told.kinds()


@pytest.mark.parametrize("persistent", [True, False])
def test_a_confirmed_message_that_nobody_has_is_lost(told, persistent):
    told.put("1", "u", persistent=persistent)
    told.end("u")
    assert ["lost"] == told.kinds()


def test_a_message_that_is_not_persistent_may_be_lost_with_its_structure_and_only_then(told):
    told.put("1", persistent=False)
    told.note("lost")
    assert [] == told.kinds()
    told.put("2", persistent=False)
    assert ["lost"] == told.kinds()


def test_the_loss_of_another_queue_excuses_nothing(told):
    told.put("1", persistent=False)
    told.note("lost", queue="OTHER")
    assert ["lost"] == told.kinds()


def test_a_persistent_message_may_not_be_lost_with_its_structure(told):
    told.put("1")
    told.note("lost")
    assert ["lost"] == told.kinds()


def test_a_get_out_of_syncpoint_that_was_not_answered_takes_one_message_with_it(told):
    told.put("1")
    told.get("", outcome="info")
    assert [] == told.kinds()
    told.put("2")
    assert ["lost"] == told.kinds()


def test_taken_away_twice(told):
    told.put("1")
    for unit in ("v", "w"):
        told.get("1", unit)
        told.end(unit, client="g")
    assert ["duplicated"] == told.kinds()


def test_found_at_the_end_although_it_was_taken_away(told):
    told.put("1")
    told.get("1")
    told.drain("1")
    assert ["duplicated"] == told.kinds()


def test_seen_again_after_it_was_taken_away_even_if_that_is_backed_out(told):
    told.put("1")
    told.get("1")
    told.get("1", "v")
    told.end("v", verb="backout", client="g")
    assert ["duplicated"] == told.kinds()


def test_given_back_and_got_again_is_no_duplicate(told):
    told.put("1")
    told.get("1", "v")
    told.end("v", verb="backout", client="g")
    told.get("1", "w")
    told.end("w", client="g")
    assert [] == told.kinds()


def test_a_phantom(told):
    told.get("1")
    assert ["phantom"] == told.kinds()


def test_a_put_that_failed_and_was_got(told):
    told.put("1", "u", outcome="fail")
    told.end("u")
    told.get("1")
    assert ["phantom"] == told.kinds()


def test_got_before_it_was_put(told):
    told.get("1")
    told.put("1")
    assert "phantom" in told.kinds()


@pytest.mark.parametrize("how", ["backout", "refused", "no end"])
def test_a_message_of_a_unit_that_did_not_commit_was_got(told, how):
    told.put("1", "u")
    if how == "backout":
        told.end("u", verb="backout")
    elif how == "refused":
        told.end("u", "fail")
    told.get("1")
    assert ["backed out"] == told.kinds()


@pytest.mark.parametrize("outcome", ["info", "never"])
@pytest.mark.parametrize("happened", [True, False])
def test_an_unanswered_commit_may_have_happened_or_not(told, outcome, happened):
    told.put("1", "u")
    told.put("2", "u")
    told.end("u", outcome)
    if happened:
        told.drain("1", "2")
    assert [] == told.kinds()


def test_half_of_an_unanswered_unit(told):
    told.put("1", "u")
    told.put("2", "u")
    told.end("u", "info")
    told.drain("1")
    assert ["half"] == told.kinds()


def test_half_of_a_move(told):
    """Got from one queue and put to the other in one unit that was not answered: one of the two must be there."""
    told.put("1")
    told.get("1", "m")
    told.put("2", "m", client="g")
    told.end("m", "info", client="g")
    assert ["half"] == [*Told.kinds(_plus(told, "1", "2"))]
    assert [] == _plus(told, "1").kinds()
    assert [] == _plus(told, "2").kinds()
    assert ["half"] == told.kinds()


def _plus(told, *messages):
    more = Told()
    more.events, more._numbers, more._ticks = list(told.events), count(1000), count(1000)
    more.drain(*messages)
    return more


def test_two_unanswered_units_cannot_both_have_taken_a_message(told):
    """Each must have happened, because of another message that is gone."""
    for message in ("1", "2", "3"):
        told.put(message)
    told.get("1", "v")
    told.get("2", "v")
    told.end("v", "info", client="g")
    told.get("1", "w", client="h")
    told.get("3", "w", client="h")
    told.end("w", "info", client="h")
    assert ["half"] == told.kinds()
    assert [] == _plus(told, "3").kinds()


def test_an_unanswered_put_in_a_unit_may_be_missing_from_it(told):
    told.put("1", "u", outcome="info")
    told.put("2", "u")
    told.end("u")
    told.drain("2")
    assert [] == told.kinds()


@pytest.mark.parametrize("answer", ["ok", "info", "never"])
@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_unit_ends_as_was_decided_answered_or_not(told, answer, commit):
    told.put("1", "u")
    told.end("u", verb="prepare")
    told.end("u", answer, verb="commit" if commit else "backout")
    assert (["lost"] if commit else []) == told.kinds()
    told.drain("1")
    assert ([] if commit else ["backed out"]) == told.kinds()


def test_a_prepared_unit_that_nobody_decided_has_not_happened(told):
    told.put("1", "u")
    told.end("u", verb="prepare")
    assert [] == told.kinds()
    told.drain("1")
    assert ["backed out"] == told.kinds()


@pytest.mark.parametrize("verb", ["commit", "backout"])
def test_a_message_that_a_unit_in_doubt_had_got_was_got_by_another(told, verb):
    told.put("1")
    told.get("1", "u")
    told.end("u", verb="prepare")
    told.get("1", "v", client="h")
    told.end("v", verb="backout", client="h")
    told.end("u", verb=verb)
    assert ["in doubt"] == [kind for kind in told.kinds() if kind != "lost"]


def test_a_message_was_got_before_its_unit_was_asked_to_commit(told):
    told.put("1", "u")
    told.get("1", "v")
    told.end("u")
    told.end("v", client="g")
    assert ["early"] == told.kinds()


def test_what_was_not_surely_prepared_is_not_committed(told):
    told.put("1", "u")
    told.end("u", "info", verb="prepare")
    told.end("u")
    with pytest.raises(ValueError, match="nobody knows that it was prepared"):
        told.kinds()


# --- triggering -------------------------------------------------------------------------------------------------------

QUEUES = {"F": TriggerType.FIRST, "D": TriggerType.DEPTH, "E": TriggerType.EVERY}


def trigger_kinds(told):
    return [each.kind for each in trigger_verdict(told.events, QUEUES, depth=3, members=2)]


@pytest.mark.parametrize(("queue", "left", "idle"), [("F", 1, True), ("D", 2, False), ("D", 3, True), ("E", 3, False)])
def test_messages_that_nobody_serves(told, queue, left, idle):
    for at in range(left):
        told.call("end", "drain", answer={"message": f"{at}"}, queue=queue)
    assert (["idle"] if idle else []) == trigger_kinds(told)


def test_a_trigger_message_that_was_got_twice(told):
    told.note("fault")
    for monitor in ("m", "n"):
        told.call(monitor, "trigger", answer={"queue": "F", "message": "id"})
    assert ["doubled"] == trigger_kinds(told)


@pytest.mark.parametrize(
    ("queue", "occasion", "allowed"),
    [("E", ("put", {}), 1), ("D", ("rearm", {}), 4), ("F", ("serve", {}), 4), ("F", ("get", {"message": "1"}), 4)],
)
def test_more_trigger_messages_than_occasions(told, queue, occasion, allowed):
    """One for each message with EVERY; else one of both members, at the beginning and at each occasion."""
    verb, answer = occasion
    told.call("p", verb, answer=answer, queue=queue)
    for at in range(allowed):
        told.call("m", "trigger", answer={"queue": queue, "message": f"id{at}"})
    assert [] == trigger_kinds(told)
    told.call("m", "trigger", answer={"queue": queue, "message": "one more"})
    assert ["without occasion"] == trigger_kinds(told)


def test_order(told):
    for message in ("1", "2"):
        told.put(message)
    told.drain("2", "1")
    assert ["order"] == told.kinds()


@pytest.mark.parametrize("facts", [{"priority": 4}, {"client": "other"}])
def test_no_order_between_priorities_and_putters(told, facts):
    told.put("1")
    told.put("2", **facts)
    told.drain("2", "1")
    assert [] == told.kinds()


def test_no_order_while_somebody_has_the_first(told):
    for message in ("1", "2"):
        told.put(message)
    told.get("1", "v")
    told.get("2", client="h")
    told.end("v", client="g", verb="backout")
    told.drain("1")
    assert [] == told.kinds()


def test_order_again_when_it_was_given_back(told):
    for message in ("1", "2"):
        told.put(message)
    told.get("1", "v")
    told.end("v", client="g", verb="backout")
    told.drain("2", "1")
    assert ["order"] == told.kinds()


def test_no_order_after_a_fault_until_everything_is_settled(told):
    for message in ("1", "2"):
        told.put(message)
    told.note("fault")
    calm = _plus(told)
    told.drain("2", "1")
    assert [] == told.kinds()
    calm.note("settled")
    calm.drain("2", "1")
    assert ["order"] == calm.kinds()


def test_a_history_that_is_none(told):
    told.put("1")
    told.put("1")
    with pytest.raises(ValueError, match="put twice"):
        told.kinds()
    with pytest.raises(ValueError, match="no beginning"):
        verdict([Event("g", 1, "get", "ok", 1)])
    with pytest.raises(ValueError, match="two lines"):
        verdict([Event("g", 1, "get", "invoke", 1)] * 2)


# --- what was not answered, beside trying everything ------------------------------------------------------------------

conditions = st.lists(
    st.frozensets(st.tuples(st.sampled_from("abcde"), st.booleans()), min_size=1, max_size=3), max_size=12
)


@given(conditions)
def test_a_solution_is_found_when_there_is_one(told_conditions):
    possible = [
        choice
        for choice in ({name: bool(bits >> at & 1) for at, name in enumerate("abcde")} for bits in range(32))
        if all(any(choice[unit] is happened for unit, happened in each) for each in told_conditions)
    ]
    found = solution(told_conditions)
    assert (found is not None) is bool(possible)
    assert found is None or any(found.items() <= choice.items() for choice in possible)
    core = contradiction(told_conditions)
    assert bool(core) is not bool(possible)
    for place in core:
        assert solution(told_conditions[each] for each in core if each != place) is not None


# --- generated histories ----------------------------------------------------------------------------------------------


class Queue:
    """A queue that is right: clients work on it one operation after the other, and some answers are lost."""

    def __init__(self, seed, steps):
        self.choose, self.told = Random(seed), Told()
        self.there, self.units, self.names = [], {}, count(1)
        for _ in range(steps):
            self.step(self.choose.choice("abc"))
        self.told.drain(*self._left())

    def _left(self):
        for unit in self.units.values():
            self.give_back(unit)
        return self.in_order(self.there)

    @staticmethod
    def in_order(messages):
        return [name for *_, name in sorted(messages)]

    def step(self, client):
        unit = self.units.get(client)
        if unit is None:
            unit = self.units[client] = {"name": f"u{next(self.names)}", "puts": [], "gets": []}
        what = self.choose.random()
        if what < 0.4:
            name, priority = f"m{next(self.names):04}", self.choose.choice((0, 4))
            persistent = self.choose.random() < 0.6
            self.told.put(name, unit["name"], client=client, priority=priority, persistent=persistent)
            unit["puts"].append((-priority, len(self.told.events), name))
        elif what < 0.75:
            got = min(self.there, default=None)
            if got is not None:
                self.there.remove(got)
                unit["gets"].append(got)
            self.told.get(got[-1] if got else "", unit["name"], client=client)
        else:
            self.end(client, unit)

    def end(self, client, unit):
        del self.units[client]
        how = self.choose.choice(["commit", "commit", "commit", "backout", "info yes", "info no", "refused", "killed"])
        outcome = {"commit": "ok", "backout": "ok", "refused": "fail", "killed": "never"}.get(how, "info")
        if how == "killed" and self.choose.random() < 0.5:
            self.give_back(unit)  # before it asked for anything
            self.told.note("fault")
            return
        if how not in {"commit", "backout"}:
            self.told.note("fault")
        self.told.end(unit["name"], outcome, "backout" if how == "backout" else "commit", client)
        if how in ("commit", "info yes") or (how == "killed" and self.choose.random() < 0.5):
            self.there += unit["puts"]
        else:
            self.give_back(unit)

    def give_back(self, unit):
        self.there += unit["gets"]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 120))
def test_a_right_queue_has_a_right_history(seed, steps):
    assert [] == verdict(Queue(seed, steps).told.events)


def drained_of(told):
    return [event for event in told.events if event.verb == "drain" and event.outcome == "ok" and event.message]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.integers(20, 120), st.sampled_from(["lost", "twice", "phantom", "half", "dirty"]))
def test_a_history_that_was_tampered_with_is_not(seed, steps, how):
    told = Queue(seed, steps).told
    broken = {"lost": lose, "twice": double, "phantom": invent, "half": halve, "dirty": leak}[how](told, Random(seed))
    if broken is not None:
        assert [] != verdict(broken), how


def confirmed(told):
    """Names of messages whose unit has committed for certain."""
    committed = {e.unit for e in told.events if e.verb == "commit" and e.outcome == "ok"}
    return {e.message for e in told.events if e.verb == "put" and e.outcome == "ok" and e.unit in committed}


def lose(told, choose):
    """Somebody takes a confirmed message off the queue at the end and tells nobody."""
    victims = [event for event in drained_of(told) if event.message in confirmed(told)]
    taken_open = {e.message for e in told.events if e.verb == "get" and e.outcome == "ok"}
    victims = [event for event in victims if event.message not in taken_open]
    if not victims:
        return None
    victim = choose.choice(victims)
    return [event for event in told.events if (event.client, event.number) != (victim.client, victim.number)]


def double(told, choose):
    if not drained_of(told):
        return None
    more = _plus(told, choose.choice(drained_of(told)).message)
    return more.events


def invent(told, _choose):
    return _plus(told, "never put").events


def halve(told, choose):
    """One message of an unanswered unit that happened, which nobody else has seen, is not there."""
    open_ = {e.unit for e in told.events if e.verb == "commit" and e.outcome == "invoke"}
    open_ -= {e.unit for e in told.events if e.verb == "commit" and e.outcome in ("ok", "fail")}
    puts = {e.message: e.unit for e in told.events if e.verb == "put" and e.outcome == "ok" and e.unit in open_}
    seen = {e.message for e in told.events if e.verb == "get" and e.outcome == "ok"}
    found = [e for e in drained_of(told) if e.message in puts and e.message not in seen]
    siblings = {unit: [e for e in found if puts[e.message] == unit] for unit in open_}
    several = sorted((unit for unit, each in siblings.items() if len(each) > 1))
    if not several:
        return None
    victim = choose.choice(siblings[choose.choice(several)])
    return [event for event in told.events if (event.client, event.number) != (victim.client, victim.number)]


def leak(told, choose):
    """A message of a unit that was backed out is found at the end."""
    backed_out = {e.unit for e in told.events if e.verb == "backout"}
    puts = [e.message for e in told.events if e.verb == "put" and e.outcome == "ok" and e.unit in backed_out]
    return _plus(told, choose.choice(puts)).events if puts else None


# --- the file ---------------------------------------------------------------------------------------------------------


def test_what_is_written_is_read_in_the_order_of_time(tmp_path):
    clock = FakeClock()
    one, two = (Recorder(tmp_path / name, name, clock) for name in ("one", "two"))
    put = one.invoke("put", queue="Q", unit="u", message="1", persistent=False)
    clock.advance(seconds=1)
    two.invoke("get", queue="Q").ok(message="1")
    clock.advance(seconds=1)
    put.info("2009")
    events = read_histories([tmp_path / "two", tmp_path / "one"])
    assert ["one", "two", "two", "one"] == [event.client for event in events]
    assert ("info", "2009", False) == (events[-1].outcome, events[-1].why, events[-1].persistent)


def test_a_line_that_was_torn_is_left_out(tmp_path):
    recorder = Recorder(tmp_path / "one", "one")
    recorder.note("settled")
    with (tmp_path / "one").open("a") as file:
        file.write('{"client": "o')
    assert ["settled"] == [event.verb for event in read_histories([tmp_path / "one"])]
