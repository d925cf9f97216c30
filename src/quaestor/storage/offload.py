"""Offload: which shared messages leave their structure for a shared message data set.

Rules
  OF1 A message of more than 63 KB is always offloaded: an entry cannot hold it.
  OF2 Otherwise there are three rules, each a threshold (how full the structure is, in percent) and a size. A message is
      offloaded when the structure is at least so full before the put and the message, headers included, is larger.
      A size of 64K disables a rule.
  OF3 A structure is as full as the fuller of its two resources, entries and elements.
  OF4 What is offloaded keeps one entry and two elements: the headers and the beginning of the data, or where it is.

Called by the coupling facility manager and the commands on CFSTRUCT.  Calls operations (Space).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quaestor.storage.lists.operations import Space

KB = 1024
ENTRY_MESSAGE_MAX = 63 * KB
"""The longest message that an entry holds (OF1)."""

HEADERS = 372
"""What stands before the data of a message in its entry, the descriptor included."""

OFFLOADED_BYTES = 512
"""What an offloaded message keeps in its entry: two elements (OF4)."""

DISABLED = 64 * KB
DEFAULTS = ((70, 32 * KB), (80, 4 * KB), (90, 0))


@dataclass(frozen=True, slots=True)
class OffloadRule:
    """At least so full, larger than so much (OF2)."""

    full_percent: int
    larger_than: int

    def applies(self, size: int, space: Space) -> bool:
        return self.larger_than < DISABLED and size > self.larger_than and is_full(space, self.full_percent)


def is_full(space: Space, percent: int) -> bool:
    """Whether a structure is at least so full (OF3)."""
    return (
        space.entries * 100 >= percent * space.entries_total or space.elements * 100 >= percent * space.elements_total
    )


@dataclass(frozen=True, slots=True)
class Offload:
    """The three rules of a structure."""

    rules: tuple[OffloadRule, ...] = tuple(OffloadRule(*each) for each in DEFAULTS)

    @staticmethod
    def of(attributes: Mapping[str, Any]) -> "Offload":
        """The rules that a CFSTRUCT definition gives: OFFLDnTH in percent, OFFLDnSZ in kilobytes."""
        return Offload(
            tuple(
                OffloadRule(
                    int(attributes.get(f"OFFLD{number}TH", threshold)),
                    _kilobytes(attributes.get(f"OFFLD{number}SZ", f"{size // KB}K")),
                )
                for number, (threshold, size) in enumerate(DEFAULTS, 1)
            )
        )

    def wanted(self, length: int, space: Space, headers: int = HEADERS) -> bool:
        """Whether a message of `length` bytes goes to the data set, asked before it is put (OF1, OF2)."""
        if length > ENTRY_MESSAGE_MAX:
            return True
        return any(rule.applies(length + headers, space) for rule in self.rules)


def _kilobytes(text: str) -> int:
    return int(str(text).upper().removesuffix("K")) * KB
