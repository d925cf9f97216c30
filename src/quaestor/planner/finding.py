"""What a rule of the papers says about figures it was given.

Rules
  F1  A finding names its rule as the extract numbers it, the lines it stands on, and the figures behind it.
  F2  An alarm asks for a change; a finding that is no alarm says what is normal, or worth a look.
  F3  What to do about it is not here: the advisor words it.

Called by buffer_flow, ims_bridge.  Calls nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that its figures met."""

    rule: str
    alarm: bool
    lines: str
    because: str


def alarms_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Alarms, then the rest, each in the order of their rules."""
    return tuple(sorted(found, key=lambda finding: (not finding.alarm, finding.rule)))
