"""What if: the same workload with more messages or other sizes, before and after, and what breaks first.

Rules
  I1  A change multiplies rates or sizes, or sets a size, of the flows and of the channels that carry their messages.
      It can be kept to some queues, with both flows of one whose kinds of messages were measured apart; the channels
      then stay as they are, for they may carry others.
  I2  What breaks first is found by growing the rates until a limit that held is passed: the limit and the factor.  They
      grow a thousandfold, or until one of them is the highest that a workload takes.
  I3  Limits already passed are named as such; they do not hide the next one.

Called by the command and the page.  Calls answers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from quaestor.planner.answer import Answer, HeadRoom
from quaestor.planner.answers import Plan, plan
from quaestor.planner.measured_workload import NON_PERSISTENT
from quaestor.planner.quantity import QuantityError, size_bytes
from quaestor.planner.workload import MESSAGE_BYTES_MAX, RATE_MAX, Channel, Flow, Workload
from quaestor.planner.workload_keys import nearest

NUMBER = r"\d+(?:\.\d+)?"
FACTOR = re.compile(rf"x\s*(?P<times>{NUMBER})|(?P<percent>[+-]\s*{NUMBER})\s*%", re.IGNORECASE)
FACTOR_MAX = 1_000.0
PRECISION = 0.005
VALID = "x2, x1.5, +20% or -10%"


class ChangeError(ValueError):
    """A change that cannot be made; the text says why and what is valid."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is different: rates times so much, sizes times so much or set (I1)."""

    messages: float = 1.0
    size_times: float = 1.0
    size_bytes: int | None = None
    queues: tuple[str, ...] = ()

    def of(self, flow: Flow) -> Flow:
        if self.queues and not {flow.queue, flow.queue.removesuffix(NON_PERSISTENT)} & set(self.queues):
            return flow
        size, rate = self._made(flow.queue, flow)
        return replace(flow, message_bytes=size, average_per_s=rate)

    def of_channel(self, channel: Channel) -> Channel:
        if self.queues:
            return channel
        size, rate = self._made(channel.name, channel)
        return replace(channel, message_bytes=size, average_per_s=rate)

    def _made(self, name: str, carries: Flow | Channel) -> tuple[int, float]:
        """Size and rate after the change."""
        size = round(carries.message_bytes * self.size_times) if self.size_bytes is None else self.size_bytes
        if not 0 <= size <= MESSAGE_BYTES_MAX:
            raise ChangeError(f"{name}: a size of {size} bytes is not valid: 0 to {MESSAGE_BYTES_MAX}")
        rate = carries.average_per_s * self.messages
        if rate > RATE_MAX:
            raise ChangeError(f"{name}: a rate of {rate:g}/s is not valid: 0 to {RATE_MAX}/s")
        return size, rate


@dataclass(frozen=True, slots=True)
class Difference:
    """One answer before and after; None where one of the two has it not."""

    before: Answer | None
    after: Answer | None

    @property
    def either(self) -> Answer:
        found = self.before or self.after
        assert found is not None, "a difference has at least one side"  # noqa: S101  by construction
        return found

    @property
    def changed(self) -> bool:
        return self.before is None or self.after is None or self.before.value != self.after.value


@dataclass(frozen=True, slots=True)
class Breaking:
    """The next limit, and how many times today's messages pass it (I2)."""

    answer: Answer
    head_room: HeadRoom
    factor: float


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Two plans and what lies between them."""

    before: Plan
    after: Plan

    @property
    def differences(self) -> list[Difference]:
        before, after = ({_key(each): each for each in each_plan.answers} for each_plan in (self.before, self.after))
        keys = dict.fromkeys([*before, *after])
        return [found for key in keys if (found := Difference(before.get(key), after.get(key))).changed]

    @property
    def newly_passed(self) -> list[tuple[Answer, HeadRoom]]:
        """Limits that held before and are passed after."""
        held = {_limit(answer, room) for answer, room in self.before.limits if room.percent >= 0}
        return [(answer, room) for answer, room in self.after.passed if _limit(answer, room) in held]


def factor(text: str) -> float:
    """A factor as people write it (`x2`, `+20%`)."""
    found = FACTOR.fullmatch(text.strip())
    if not found:
        raise ChangeError(f"{text!r} is not a change: write {VALID}")
    times = float(found["times"]) if found["times"] else 1 + float(found["percent"].replace(" ", "")) / 100
    if not 0 <= times <= FACTOR_MAX:
        raise ChangeError(f"{text!r} is not valid: x0 to x{FACTOR_MAX:g}")
    return times


def change(messages: str | None, size: str | None, queues: tuple[str, ...] = ()) -> Change:
    """A change from what was written: a factor for messages; a size or a factor for the size."""
    times, size_set = 1.0, None
    if size is not None:
        try:
            times = factor(size) if FACTOR.fullmatch(size.strip()) else 1.0
            size_set = None if FACTOR.fullmatch(size.strip()) else size_bytes(size)
        except QuantityError as error:
            raise ChangeError(f"{error}; or {VALID}") from None
    return Change(1.0 if messages is None else factor(messages), times, size_set, queues)


def changed(workload: Workload, what: Change) -> Workload:
    """The workload after a change."""
    known = [flow.queue for flow in workload.flows]
    for queue in what.queues:
        if queue not in known:
            raise ChangeError(f"no [[flow]] {queue}{nearest(queue, known)}")
    return replace(
        workload,
        flows=tuple(what.of(flow) for flow in workload.flows),
        channels=tuple(what.of_channel(channel) for channel in workload.channels),
    )


def what_if(workload: Workload, what: Change) -> WhatIf:
    return WhatIf(plan(workload), plan(changed(workload, what)))


def fastest_per_s(workload: Workload) -> float:
    """The highest rate of a flow or a channel."""
    carrying: list[Flow | Channel] = [*workload.flows, *workload.channels]
    return max(each.average_per_s for each in carrying)


def growth_max(workload: Workload) -> float:
    """How many times today's messages are looked at (I2)."""
    fastest = fastest_per_s(workload)
    return min(FACTOR_MAX, max(1.0, RATE_MAX / fastest / (1 + PRECISION))) if fastest else FACTOR_MAX


def breaks_first(workload: Workload) -> Breaking | None:
    """The limit that more messages pass next, to half a percent of the factor; None where none is (I2, I3)."""
    held = {_limit(answer, room) for answer, room in plan(workload).limits if room.percent >= 0}

    def broken(times: float) -> list[tuple[Answer, HeadRoom]]:
        passed = plan(changed(workload, Change(times))).passed
        return [pair for pair in passed if _limit(*pair) in held]

    low, high = 1.0, 2.0
    for high in _growing(growth_max(workload)):
        if broken(high):
            break
        low = high
    found = broken(high)
    while found and high / low > 1 + PRECISION:
        middle = (low * high) ** 0.5
        at_middle = broken(middle)
        low, high, found = (low, middle, at_middle) if at_middle else (middle, high, found)
    return Breaking(*found[0], factor=high) if found else None


def _growing(most: float) -> Iterator[float]:
    times = 2.0
    while times < most:
        yield times
        times *= 2
    yield most


def _key(answer: Answer) -> tuple[str, str, str]:
    return answer.number, answer.about, answer.what


def _limit(answer: Answer, room: HeadRoom) -> tuple[str, str, str, str]:
    return (room.what, *_key(answer))
