"""Rules run over rows: which rows meet a rule, and the findings that follow.

Rules
  Z1  A row meets a rule when the condition holds and all that the condition reads is known (U4).
  Z2  What the rules need is asked for by structure and column before anything is read, so that a dump is decoded and a
      lake is projected narrowly.
  Z3  A view is made once for all rules on it.
  Z4  A rule that cannot run is listed with the reason: no rows of its view, settings that nobody gave, or a column that
      is known in no row, as those of sections that an older release does not write.

Called by the command and by who watches a live queue manager.  Calls rule, rows, views, settings, findings.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from quaestor.advisor.cutoffs import Chosen
from quaestor.advisor.findings import Finding, merged, ranked
from quaestor.advisor.rows import Array, Mask, Rows, is_known
from quaestor.advisor.rule import Rule, names_in
from quaestor.advisor.settings import Settings
from quaestor.advisor.shared_views import groups, systems
from quaestor.advisor.view_catalog import BY_NAME, SETTINGS_PREFIX
from quaestor.advisor.views import Tables, View, empty


class Looking:
    """The rows as one rule sees them: columns, its own figures, the settings it asks for; notes what was read (U3)."""

    def __init__(self, rule: Rule, rows: Rows, settings: Settings) -> None:
        self._rule, self._rows, self._settings = rule, rows, settings
        self._made: dict[str, Array] = {}
        self._asked = dict(_setting(each) for each in rule.settings)
        self.touched: set[str] = set()
        self.optional: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name in self._rule.figures:
            if name not in self._made:
                self._made[name] = self._rule.figures[name](self)
            return self._made[name]
        self.touched.add(name)
        if name in self._asked and name not in self._rows:
            if name not in self._made:
                self._made[name] = self._setting(self._asked[name], name)
            return self._made[name]
        return getattr(self._rows, name)

    def maybe(self, name: str) -> Any:
        """A column or setting that the condition may do without: not known is no reason not to fire."""
        before = set(self.touched)
        found = getattr(self, name)
        self.optional |= self.touched - before
        self.touched = before
        return found

    def _setting(self, kind: str, name: str) -> Array:
        objects = getattr(self._rows, kind) if kind != "system" else [""] * len(self._rows)
        return self._settings.column(self._rows.queue_manager, kind, objects, name)


def _setting(name: str) -> tuple[str, str]:
    """(name, kind) of a setting as a rule asks for it: logload, or structure.cflevel."""
    kind, _, key = name.rpartition(".")
    return key, kind or "system"


@dataclass(frozen=True, slots=True)
class Reads:
    """What a rule reads: columns and settings its condition must know, columns and settings it only shows."""

    columns: frozenset[str]
    shown: frozenset[str]
    settings: frozenset[str]
    settings_shown: frozenset[str]


@lru_cache(maxsize=1024)
def empty_rows(view: View) -> Rows:
    """A view without rows: its columns."""
    if view.settings_kind:
        return Settings().table(view.settings_kind)
    return view.make({structure: empty(structure) for structure in view.needs})


@lru_cache(maxsize=1024)
def reads(rule: Rule) -> Reads:
    """Found by running the rule on no rows (U3)."""
    view = BY_NAME[rule.table]
    rows = empty_rows(view)
    looking = Looking(rule, rows, Settings())
    rule.when(looking, rule.defaults)
    needed = frozenset(looking.touched)
    if rule.grave:
        rule.grave(looking, rule.defaults)
    for name in _worded(rule, view):
        getattr(looking, name)
    asked = frozenset(name for name, _ in map(_setting, rule.settings) if name not in rows)
    shown = frozenset(looking.touched | looking.optional) - needed
    return Reads(needed - asked, shown - asked, needed & asked, asked - needed)


def _worded(rule: Rule, view: View) -> set[str]:
    """Names that texts, measure and effect take, the cut-offs left out."""
    texts = names_in(rule.advice) | names_in(rule.command) | names_in(view.subject) | {rule.measure, *rule.shows}
    return texts - {each.name for each in rule.cutoffs}


def needed(rules: Iterable[Rule]) -> dict[str, set[str]]:
    """The columns of each structure that these rules and their views read (Z2)."""
    made: dict[str, set[str]] = {}
    for rule in rules:
        view = BY_NAME[rule.table]
        for structure, columns in view.needs.items():
            made.setdefault(structure, set()).update(columns)
        if view.plain:
            own = set(empty(view.plain).column_names)
            wanted = reads(rule)
            made[view.plain] |= (wanted.columns | wanted.shown) & own
            if view.plain == "QJST":
                made["QJST"] |= {"copies", "buffers_filled"}
    return made


@dataclass(slots=True)
class Advice:
    """Findings, worst first, and the rules that could not be run, with the reason (Z4)."""

    findings: list[Finding] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)
    rules_run: int = 0


def advise(chosen: Iterable[Chosen], tables: Tables, settings: Settings | None = None) -> Advice:
    """Run the rules over tables and settings."""
    known = settings or Settings()
    if known.values or known.lent:  # E5, E6
        known = known.beside(() if known.fellows else groups(tables), systems(tables))
    made, views = Advice(), dict[str, Rows]()
    for each in chosen:
        rule = each.rule
        view = BY_NAME[rule.table]
        if rule.table not in views:
            views[rule.table] = _rows(view, tables, known)
        rows = views[rule.table]
        reason = cannot_run(rule, view, rows, known)
        if reason:
            made.not_run[rule.id] = reason
            continue
        made.rules_run += 1
        made.findings += run(each, view, rows, known)
    made.findings = ranked(made.findings)
    return made


def _rows(view: View, tables: Tables, settings: Settings) -> Rows:
    if view.settings_kind:
        return settings.table(view.settings_kind)
    return view.make(tables)


def cannot_run(rule: Rule, view: View, rows: Rows, settings: Settings) -> str:
    """Why the rule says nothing about these rows; empty where it can be run (Z4)."""
    if not len(rows):
        what = view.name.removeprefix(SETTINGS_PREFIX)
        return f"no settings of kind {what}" if view.settings_kind else f"no rows of {view.name}: {view.grain}"
    kinds = dict(map(_setting, rule.settings))
    wanted = reads(rule)
    for name in sorted(wanted.settings):
        if not settings.knows(kinds[name], name):
            return f"setting {name} is not known"
    for name in sorted(wanted.columns):
        if not is_known(getattr(rows, name)).any():
            return f"setting {name} is not known" if view.settings_kind else f"{name} of {view.name} is not known"
    return ""


def run(chosen: Chosen, view: View, rows: Rows, settings: Settings) -> list[Finding]:
    """The findings of one rule."""
    rule, cut = chosen.rule, chosen.cut
    looking = Looking(rule, rows, settings)
    with np.errstate(all="ignore"):
        met = rule.when(looking, cut)
        for name in tuple(looking.touched):
            met = met & is_known(getattr(looking, name))
        if rule.not_ours and met.any():  # U8
            met = met & ~_ours(rows, settings)
        if not met.any():
            return []
        grave = rule.grave(looking, cut) if rule.grave else np.zeros(len(rows), bool)
        shown = {name: getattr(looking, name) for name in sorted(_shown(rule, view, looking))}
    seen = rows.plus(**shown)
    return merged(rule, cut, view, seen, met, np.asarray(grave, bool), tuple(shown), settings.is_ours)


def _ours(rows: Rows, settings: Settings) -> Mask:
    """Which rows are of queue managers of this product (settings, E5)."""
    homes = zip(rows.queue_manager, rows.system, strict=True)
    return np.array([settings.is_ours(manager or "", system or "") for manager, system in homes], bool)


def _shown(rule: Rule, view: View, looking: Looking) -> set[str]:
    asked = {name for name, _ in map(_setting, rule.settings)}
    return (looking.touched | _worded(rule, view) | set(rule.figures) | asked) - _HIDDEN


_HIDDEN = {"local_time", "seconds", "system", "queue_manager"}
