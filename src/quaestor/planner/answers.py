"""A plan: every question of the papers' lists, answered for one workload as far as the workload goes.

Rules
  P1  Each question is answered, or listed with what is missing: none is left out.
  P2  What breaks first is the limit with the least head-room; limits already passed come before all others.
  P3  The same workload gives the same plan: nothing is read but the workload.

Called by the command, whatif, definitions and the page.  Calls the questions through their catalog.
"""

from dataclasses import dataclass

from quaestor.planner.answer import Answer, HeadRoom, Unanswered
from quaestor.planner.questions import (
    buffer_pools,
    channels,
    costs,
    logs,
    page_sets,
    restart,
    shared,
    storage,
    structures,
)
from quaestor.planner.questions.catalog import in_order
from quaestor.planner.questions.load import Load
from quaestor.planner.workload import Workload

SUBJECTS = (logs, page_sets, buffer_pools, storage, restart, costs, structures, shared, channels)
"""Importing them fills the catalog."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All answers for a workload, in the order of the lists."""

    workload: Workload
    answers: tuple[Answer, ...]
    unanswered: tuple[Unanswered, ...]

    @property
    def limits(self) -> list[tuple[Answer, HeadRoom]]:
        """Limits and what is left of them, the tightest first (P2)."""
        found = [(each, each.head_room) for each in self.answers if each.head_room is not None]
        return sorted(found, key=lambda pair: pair[1].percent)

    @property
    def passed(self) -> list[tuple[Answer, HeadRoom]]:
        """Limits that this workload passes."""
        return [(answer, room) for answer, room in self.limits if room.percent < 0]

    def of(self, number: str) -> list[Answer]:
        """The answers to one question."""
        return [each for each in self.answers if each.number == number]


def plan(workload: Workload) -> Plan:
    """Answer every question for a workload (P1, P3)."""
    load = Load(workload)
    answered: list[Answer] = []
    unanswered: list[Unanswered] = []
    for each in in_order():
        found, without = each.answers(load)
        answered += found
        unanswered += without
    return Plan(workload, tuple(answered), tuple(unanswered))
