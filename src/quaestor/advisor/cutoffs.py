"""Cut-offs as the installation wants them: the rules' defaults, changed by a TOML file.

    ["mp1b/A-43"]
    checkpoints_per_hour_max = 20
    severity = "note"
    ["A-10"]
    enabled = false

Rules
  O1  A rule may be named in full or by the part that is unique to it; a name that fits no rule or several is refused.
  O2  A name that the rule does not have is refused, with those it has; so is what is no finite number, and for
      `enabled` what is neither true nor false.
  O3  A rule stands in a file once, under whichever of its names.

Called by evaluate and the command.  Calls rule, rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from quaestor import toml_text
from quaestor.advisor.rows import is_number
from quaestor.advisor.rule import Rule, Severity


class CutoffError(ValueError):
    """A file of cut-offs that cannot be used; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A rule as the installation wants it: its cut-offs and its severity."""

    rule: Rule
    cut: SimpleNamespace


def standard(rules: Iterable[Rule]) -> tuple[Chosen, ...]:
    """The rules as they are."""
    return tuple(Chosen(each, each.defaults) for each in rules)


def matching(name: str, rules: Iterable[Rule]) -> list[Rule]:
    """The rules that bear a name, in full or short, as their own or among `also` (O1)."""
    wanted = name.upper()
    return [
        rule for rule in rules if any(wanted in (each.upper(), each.rpartition("/")[2].upper()) for each in rule.ids)
    ]


def load(text: str, rules: Iterable[Rule], name: str = "cutoffs") -> tuple[Chosen, ...]:
    """The rules with the cut-offs of a TOML file; rules that are not enabled are left out."""
    try:
        parsed = toml_text.tables(text)
    except ValueError as error:
        raise CutoffError(f"{name}: {error}") from None
    chosen: dict[str, Chosen | None] = {each.id: Chosen(each, each.defaults) for each in rules}
    known = [each.rule for each in chosen.values() if each]
    named: dict[str, str] = {}
    for key, changes in parsed.items():
        if not isinstance(changes, dict):
            raise CutoffError(f"{name}: {key} stands outside a rule; put it under the rule's name")
        rule = _one(key, known, name)
        if rule.id in named:
            raise CutoffError(f"{name}: {key} and {named[rule.id]} are one rule; put all of it under one name")
        named[rule.id] = key
        chosen[rule.id] = _changed(rule, changes, f"{name}: {key}")
    return tuple(each for each in chosen.values() if each)


def _one(key: str, rules: list[Rule], name: str) -> Rule:
    own = [rule for rule in rules if key.upper() in (rule.id.upper(), rule.short_id.upper())]
    found = [rule for rule in own if key.upper() == rule.id.upper()] or own
    if len(found) != 1:
        which = ", ".join(rule.id for rule in found) or "none"
        raise CutoffError(f"{name}: {key} names {which}; one rule is wanted")
    return found[0]


def _changed(rule: Rule, changes: dict[str, Any], where: str) -> Chosen | None:
    changes = dict(changes)
    enabled = changes.pop("enabled", True)
    if not isinstance(enabled, bool):
        raise CutoffError(f"{where}: enabled takes true or false, not {enabled!r}")
    severity = _severity(changes.pop("severity", rule.severity.name), where)
    known = {each.name for each in rule.cutoffs}
    for each, value in changes.items():
        if each not in known:
            has = ", ".join(sorted(known)) or "none"
            raise CutoffError(f"{where}: no cut-off {each}; the rule has {has}")
        if not is_number(value):
            raise CutoffError(f"{where}: {each} takes a number, not {value!r}")
    cut = SimpleNamespace(**{**vars(rule.defaults), **{key: float(value) for key, value in changes.items()}})
    return Chosen(replace(rule, severity=severity), cut) if enabled else None


def _severity(name: Any, where: str) -> Severity:
    try:
        return Severity[str(name).upper()]
    except KeyError:
        valid = ", ".join(each.name.lower() for each in Severity)
        raise CutoffError(f"{where}: severity {name!r} is none of {valid}") from None
