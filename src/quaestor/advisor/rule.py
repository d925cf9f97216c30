"""A rule of the papers as data: what it reads, when it fires, how bad that is, what to do about it.

Rules
  U1  A rule bears the id its extract gives it ("mp1b/A-36"); `also` names the rules of the papers that say the same.
  U2  The condition is a formula over columns, so one rule serves the lake's tables, a dump and a live section alike.
  U3  What a rule reads is found by running its condition on no rows at all: it cannot be wrong about itself.
  U4  A row on which any column that the condition reads is not known does not meet the rule.
  U5  Cut-offs have names and can be changed; those that the papers leave open are marked as ours.
  U6  Advice, command and effect are worded from the figures of the worst row. A command or effect that needs a figure
      that is not known is left out; the advice says "not known" in its place.
  U7  Commands are z/OS's. Where a queue manager of this product takes another one, or none, the rule says which.
  U8  A figure that was measured of z/OS and is not so for a queue manager of this product is not held against one; the
      rule says why (`not_ours`).

Called by the rule modules, evaluate, findings and explain.  Calls rows; the planner stands behind the effects.
"""

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from quaestor.advisor.rows import Array, Mask

Columns = Any  # the rows under evaluation: attributes are columns, figures and settings
Row = SimpleNamespace  # the worst row: attributes are scalars, None where not known
Condition = Callable[[Columns, SimpleNamespace], Mask]
Figure = Callable[[Columns], Array]
Effect = Callable[[Row], str]


class Severity(IntEnum):
    """How bad a finding is: an alert costs throughput or refuses work now, a warning will, a note explains."""

    NOTE = 1
    WARNING = 2
    ALERT = 3


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A number a condition compares with (U5)."""

    name: str
    value: float
    meaning: str
    ours: bool = False


YES, NO = Cutoff("yes", 1, "so it is"), Cutoff("no", 0, "it is not so")
"""What a setting that is only so or not is compared with."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """One rule (U1); the text templates take the names of columns, figures, settings and cut-offs."""

    id: str
    title: str
    table: str
    when: Condition
    measure: str
    advice: str
    lines: str
    severity: Severity = Severity.WARNING
    also: tuple[str, ...] = ()
    low_is_worse: bool = False
    grave: Condition | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    cutoffs: tuple[Cutoff, ...] = ()
    settings: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    command: str = ""
    own_command: str | None = None
    not_ours: str = ""
    effect: Effect | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Every rule of the papers that this one stands for."""
        return (self.id, *self.also)

    @property
    def short_id(self) -> str:
        """The id without its extract: A-36."""
        return self.id.rpartition("/")[2]

    def command_for(self, *, ours: bool) -> str:
        """What a queue manager of this product is told, or one of z/OS (U7)."""
        return self.own_command if ours and self.own_command is not None else self.command

    @property
    def defaults(self) -> SimpleNamespace:
        return SimpleNamespace(**{each.name: each.value for each in self.cutoffs})


def names_in(template: str) -> set[str]:
    """The names a text template takes."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


class _Words(string.Formatter):
    """Formats figures; a number without a format of its own is written as a person would."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return "not known"
        if format_spec or not isinstance(value, float):
            return str(super().format_field(value, format_spec))
        return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:.3g}"


def worded(template: str, figures: Mapping[str, Any]) -> str:
    """A template filled in (U6)."""
    return _Words().vformat(template, (), figures)


def worded_if_known(template: str, figures: Mapping[str, Any]) -> str:
    """A template filled in; empty when a figure it needs is not known (U6)."""
    return "" if any(figures.get(name) is None for name in names_in(template)) else worded(template, figures)
