"""Verdict: whether a history of puts and gets is one that a queue manager, or a group of them, may have made.

Rules
  VD1 phantom: nobody put the message, its put had failed, or it was got before its put began.
  VD2 backed out: the message of a unit that certainly did not commit was got. Nobody may see it, even for a moment.
  VD3 duplicated: a message was taken away twice for certain, or was seen again by a get that began after its end.
  VD4 lost: a message whose put has committed is neither got by a unit that committed or may have, nor found at the end.
      One that is not persistent may be lost when its structure lost its contents after the put began (`lost`), and for
      no other reason: it survives the death of queue managers. A get out of syncpoint that was not answered may have
      taken one message with it; that excuses one lost message of its queue.
  VD5 half: units that were not answered may have happened or not, each as a whole and each message taken away once at
      most; no such choice explains what was seen.
  VD6 order: messages of one putter to one queue with one priority are got in the order of their puts. This is claimed
      of two messages only where the earlier one was certainly there: its put had been confirmed before the get of the
      later one began, whoever had got it before had given it back, and nobody had disturbed anything since the last
      time that everything was settled. It holds for any number of getters.
  VD7 The history itself must be sound: a message is put once, ends belong to beginnings, and what was not surely
      prepared is not committed by a coordinator. ValueError when it is not.
  VD8 decided: a prepared unit happens if and only if its coordinator has decided so, answered or not: whoever resolves
      it does as the coordinator's record says.
  VD9 in doubt: between the prepare of a unit and its decision nobody gets a message that the unit has got. And of any
      unit, a message that it put was got before its commit was asked for.

Called by whoever has a history.  Calls outcomes.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from quaestor.testing.history import Event
from quaestor.testing.outcomes import Alternative, Condition, contradiction

FOREVER = 1 << 63
TAKING = ("get", "drain")


@dataclass(frozen=True, slots=True)
class Violation:
    """What no queue manager may do."""

    kind: str
    messages: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Call:
    """An operation from its beginning to its end."""

    asked: Event
    answered: Event | None

    @property
    def outcome(self) -> str:
        return "info" if self.answered is None else self.answered.outcome

    @property
    def begun_ns(self) -> int:
        return self.asked.at_ns

    @property
    def ended_ns(self) -> int:
        return FOREVER if self.answered is None else self.answered.at_ns

    @property
    def message(self) -> str:
        return self.asked.message or ("" if self.answered is None else self.answered.message)


@dataclass(slots=True)
class _Unit:
    """How a unit ended: True, False, or None when that is not known; when whoever ran it knew."""

    happened: bool | None = False
    ended_ns: int = FOREVER
    asked_ns: int = FOREVER
    """When its end was asked for."""

    prepared_ns: int = FOREVER
    """Since when it was surely in doubt."""


@dataclass(slots=True)
class _Story:
    """A message: its put, everybody who saw it."""

    put: _Call
    put_by: str
    seen: list[tuple[_Call, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.put.message


def verdict(events: Iterable[Event]) -> list[Violation]:
    """Everything in a history that must not be (VD1 to VD9); empty when all is well."""
    return list(_Verdict(sorted(events, key=lambda event: event.at_ns)).violations())


def calls(events: Sequence[Event]) -> list[_Call]:
    """Operations, in the order in which they began (VD7)."""
    answers: dict[tuple[str, int], Event] = {}
    asked: dict[tuple[str, int], Event] = {}
    for event in events:
        key = event.client, event.number
        known = asked if event.outcome == "invoke" else answers
        if key in known:
            raise ValueError(f"operation {key} has two lines {event.outcome}")
        known[key] = event
    strays = [key for key in answers if key not in asked and answers[key].verb not in ("lost", "settled", "fault")]
    if strays:
        raise ValueError(f"operations {strays[:3]} have an end and no beginning")
    return [_Call(event, answers.get(key)) for key, event in asked.items()]


class _Verdict:
    def __init__(self, events: Sequence[Event]) -> None:
        self._calls = calls(events)
        self._lost_ns = [(event.queue, event.at_ns) for event in events if event.verb == "lost"]
        self._settled_ns = [event.at_ns for event in events if event.verb == "settled"]
        self._faults_ns = [event.at_ns for event in events if event.verb == "fault"]
        self._units = dict(self._outcomes())
        self._stories: dict[str, _Story] = {}
        self._unknown: list[_Call] = []
        self._may_have_taken: Counter[str] = Counter()
        self._tell()

    # -- what happened

    def _outcomes(self) -> Iterator[tuple[str, _Unit]]:
        """Units by name; what is out of syncpoint is a unit of its own."""
        ended: dict[str, _Unit] = {}
        prepared = {call.asked.unit: call for call in self._calls if call.asked.verb == "prepare"}
        known = {"ok": True, "fail": False, "info": None}
        for call in self._calls:
            verb, unit = call.asked.verb, call.asked.unit
            if verb == "commit":
                happened = _decided(prepared[unit]) if unit in prepared else known[call.outcome]
                ended[unit] = _Unit(happened, call.ended_ns, call.begun_ns)
            elif verb == "backout":
                ended_ns = call.ended_ns if call.outcome == "ok" else FOREVER
                ended[unit] = _Unit(happened=False, ended_ns=ended_ns, asked_ns=call.begun_ns)
            elif not unit:
                ended[_alone(call)] = _Unit(known[call.outcome], call.ended_ns, call.begun_ns)
            else:
                ended.setdefault(unit, _Unit())
        for unit, call in prepared.items():
            if call.outcome == "ok":
                ended[unit].prepared_ns = call.ended_ns
        yield from ended.items()

    def _tell(self) -> None:
        for call in self._calls:
            if call.asked.verb == "put":
                if call.message in self._stories:
                    raise ValueError(f"message {call.message} is put twice")
                self._stories[call.message] = _Story(call, call.asked.unit or _alone(call))
        for call in self._calls:
            if call.asked.verb not in TAKING:
                continue
            if call.outcome == "info" and not call.asked.unit:
                self._may_have_taken[call.asked.queue] += 1
            elif call.outcome == "ok" and call.message:
                story = self._stories.get(call.message)
                if story is None:
                    self._unknown.append(call)
                else:
                    story.seen.append((call, call.asked.unit or _alone(call)))

    def _put_happened(self, story: _Story) -> bool | None:
        """Whether its put has; a put that failed has not, whatever became of the unit."""
        unit = self._units[story.put_by].happened
        if story.put.outcome == "fail" or unit is False:
            return False
        return None if story.put.outcome == "info" else unit

    def _taken_by(self, story: _Story) -> dict[str, bool | None]:
        """The units that took it away, or may have."""
        return {unit: self._units[unit].happened for _, unit in story.seen if self._units[unit].happened is not False}

    def _may_be_lost(self, story: _Story) -> bool:
        put = story.put.asked
        return not put.persistent and any(
            queue in ("", put.queue) and put.at_ns < lost_ns for queue, lost_ns in self._lost_ns
        )

    # -- what must not be

    def violations(self) -> Iterator[Violation]:
        bad: set[str] = set()
        for violation in (*self._phantoms(), *self._duplicates(), *self._missing(), *self._too_soon()):
            bad.update(violation.messages)
            yield violation
        yield from self._halves([story for name, story in self._stories.items() if name not in bad])
        yield from self._disorder()

    def _phantoms(self) -> Iterator[Violation]:
        for call in self._unknown:
            yield _violation("phantom", call.message, f"{call.message} was got and nobody put it (VD1)")
        for story in self._stories.values():
            put, name = story.put, story.name
            if story.seen and put.outcome == "fail":
                yield _violation("phantom", name, f"{name} was got although its put had failed (VD1)")
            elif any(call.ended_ns < put.begun_ns for call, _ in story.seen):
                yield _violation("phantom", name, f"{name} was got before it was put (VD1)")
            elif story.seen and self._put_happened(story) is False:
                where = ", ".join(sorted({unit for _, unit in story.seen}))
                text = f"{name} was put in {story.put_by}, which did not commit, and was got in {where} (VD2)"
                yield _violation("backed out", name, text)

    def _duplicates(self) -> Iterator[Violation]:
        for story in self._stories.values():
            certain = [unit for unit, happened in self._taken_by(story).items() if happened]
            again = [
                unit
                for call, unit in story.seen
                if any(unit != one and self._units[one].ended_ns < call.begun_ns for one in certain)
            ]
            if len(certain) > 1:
                yield _violation("duplicated", story.name, f"{story.name} was taken away by {', '.join(certain)} (VD3)")
            elif again:
                text = f"{story.name} was seen by {', '.join(again)} after {certain[0]} had taken it away (VD3)"
                yield _violation("duplicated", story.name, text)

    def _missing(self) -> Iterator[Violation]:
        excused = Counter(self._may_have_taken)
        for story in self._stories.values():
            if not self._put_happened(story) or self._taken_by(story) or self._may_be_lost(story):
                continue
            queue = story.put.asked.queue
            if excused[queue]:
                excused[queue] -= 1
                continue
            kind = "persistent" if story.put.asked.persistent else "not persistent"
            text = f"{story.name} ({kind}, put in {story.put_by} on {story.put.asked.member}) is gone (VD4)"
            yield _violation("lost", story.name, text)

    def _too_soon(self) -> Iterator[Violation]:
        """What others saw of a unit before its end was asked for (VD9)."""
        for story in self._stories.values():
            name, asked_ns = story.name, self._units[story.put_by].asked_ns
            in_unit = story.put.asked.unit and self._put_happened(story) is not False
            if in_unit and any(call.ended_ns < asked_ns for call, _ in story.seen):
                yield _violation("early", name, f"{name} was got before {story.put_by} was asked to commit (VD9)")
            for _, unit in story.seen:
                doubt = self._units[unit]
                if any(
                    other != unit and doubt.prepared_ns < call.begun_ns and call.ended_ns < doubt.asked_ns
                    for call, other in story.seen
                ):
                    yield _violation("in doubt", name, f"{name} was got although {unit}, in doubt, had it (VD9)")

    # -- what was not answered, rule VD5

    def _halves(self, stories: list[_Story]) -> Iterator[Violation]:
        while True:
            told = [(story.name, condition) for story in stories for condition in self._conditions(story)]
            places = contradiction([condition for _, condition in told])
            if not places:
                return
            names = tuple(sorted({told[place][0] for place in places}))
            units = sorted({unit for place in places for unit, _ in told[place][1]})
            text = f"no outcome of {', '.join(units)} explains what became of {', '.join(names)} (VD5)"
            yield Violation("half", names, text)
            stories = [story for story in stories if story.name not in names]

    def _conditions(self, story: _Story) -> Iterator[Condition]:
        """What the outcomes of unanswered units must be like for this message (OC2)."""
        put_known, put = self._put_happened(story), self._unknown_put(story)
        takers = self._taken_by(story)
        certain = [unit for unit, happened in takers.items() if happened]
        open_ = [unit for unit, happened in takers.items() if happened is None]
        if put is not None:
            if story.put.outcome == "info" and story.put.asked.unit:
                yield from self._only_with_its_unit(put, story)
            if story.seen:
                yield frozenset([put])
        if certain:
            yield from (frozenset([(unit, False)]) for unit in open_)
        yield from (
            frozenset([(one, False), (other, False)]) for at, one in enumerate(open_) for other in open_[at + 1 :]
        )
        excused = self._may_be_lost(story) or self._may_have_taken[story.put.asked.queue]
        if not certain and not excused and put_known is not False:
            absent: list[Alternative] = [] if put is None else [(put[0], False)]
            if absent or open_:
                yield frozenset([*absent, *((unit, True) for unit in open_)])

    def _unknown_put(self, story: _Story) -> Alternative | None:
        if self._put_happened(story) is not None:
            return None
        if story.put.outcome == "info" and story.put.asked.unit:
            return f"put of {story.name}", True
        return story.put_by, True

    def _only_with_its_unit(self, put: Alternative, story: _Story) -> Iterator[Condition]:
        if self._units[story.put_by].happened is None:
            yield frozenset([(put[0], False), (story.put_by, True)])

    # -- order, rule VD6

    def _disorder(self) -> Iterator[Violation]:
        rows: dict[tuple[str, str, int], list[_Story]] = defaultdict(list)
        for story in self._stories.values():
            put = story.put.asked
            rows[put.client, put.queue, put.priority].append(story)
        for row in rows.values():
            row.sort(key=lambda story: story.put.asked.number)
            for at, later in enumerate(row):
                for call, unit in later.seen:
                    earlier = self._passed(row[:at], call) if self._calm(call) else None
                    if earlier is not None:
                        text = f"{unit} got {later.name} while {earlier.name}, put before, was there (VD6)"
                        yield Violation("order", (earlier.name, later.name), text)
                        break

    def _calm(self, call: _Call) -> bool:
        """Whether nobody has disturbed anything between the last settled moment and the end of a call."""
        at = bisect_right(self._settled_ns, call.begun_ns)
        settled_ns = self._settled_ns[at - 1] if at else 0
        return not any(settled_ns < fault_ns < call.ended_ns for fault_ns in self._faults_ns)

    def _passed(self, row: list[_Story], call: _Call) -> _Story | None:
        """A message that was there all the time and should have been got instead."""
        return next((story for story in row if self._there(story, call)), None)

    def _there(self, story: _Story, call: _Call) -> bool:
        unit = self._units[story.put_by]
        confirmed = unit.happened and unit.ended_ns < call.begun_ns and story.put.outcome == "ok"
        return bool(
            confirmed
            and any(other.begun_ns > call.ended_ns for other, _ in story.seen)
            and all(
                other.begun_ns > call.ended_ns
                or (self._units[taker].happened is False and self._units[taker].ended_ns < call.begun_ns)
                for other, taker in story.seen
            )
        )


def _alone(call: _Call) -> str:
    return f"{call.asked.client}#{call.asked.number}"


def _decided(prepared: _Call) -> bool:
    """The outcome of a prepared unit whose commit was asked for (VD7, VD8)."""
    if prepared.outcome != "ok":
        raise ValueError(f"{prepared.asked.unit} was committed, and nobody knows that it was prepared")
    return True


def _violation(kind: str, message: str, text: str) -> Violation:
    return Violation(kind, (message,), text)
