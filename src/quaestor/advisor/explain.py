"""A rule in words: for `advise explain`, for the list of rules, for the generated page.

Rules
  X1  What is shown comes from the rule itself: what it reads is traced, not written down twice.
  X2  The condition is shown by what it reads and its cut-offs; those that the papers leave open are marked as ours.

Called by the command and by what writes docs/advisor.md.  Calls catalog, evaluate, view_catalog.
"""

from collections.abc import Iterator

from quaestor.advisor.catalog import BY_MANAGER, EXTRACTS, RULES, not_measurable
from quaestor.advisor.cutoffs import matching
from quaestor.advisor.evaluate import reads
from quaestor.advisor.rule import Rule
from quaestor.advisor.setting_names import SETTINGS
from quaestor.advisor.view_catalog import BY_NAME, VIEWS
from quaestor.smf.arrow_schema import columns_of
from quaestor.smf.catalog import SECTIONS


def explained(name: str) -> list[str]:
    """The texts of every rule that bears a name, and why a rule of the papers has none."""
    texts = [text(rule) for rule in matching(name, RULES)]
    wanted = name.upper()
    for each, reason in not_measurable().items():
        if wanted in (each.upper(), each.rpartition("/")[2].upper()):
            texts.append(f"{each}\n  not a rule of the advisor: {reason}\n")
    return texts


def text(rule: Rule) -> str:
    """One rule in full."""
    view, seen = BY_NAME[rule.table], reads(rule)
    lines = [f"{rule.id}  {rule.title}", f"  severity   {rule.severity.name.lower()}{_lifted(rule)}"]
    if rule.also:
        lines.append(f"  covers     {', '.join(rule.also)}")
    lines.append(f"  looks at   {view.name}: {view.grain}")
    columns = ", ".join(official(rule, name) for name in sorted(seen.columns))
    lines.append(f"  reads      {columns or 'settings only'}")
    if seen.settings:
        lines.append(f"  settings   {', '.join(sorted(seen.settings))} (must be known)")
    if seen.settings_shown:
        lines.append(f"  settings   {', '.join(sorted(seen.settings_shown))} (used when known)")
    lines += [f"  cut-off    {_cutoff(rule, each.name)}" for each in rule.cutoffs]
    lines.append(f"  advice     {rule.advice}")
    if rule.command:
        lines.append(f"  command    {rule.command}")
    if rule.own_command is not None:
        lines.append(f"  quaestor   {rule.own_command or 'has no such command'}")
    if rule.not_ours:
        lines.append(f"  quaestor   is not held against it: {rule.not_ours}")
    if rule.effect:
        lines.append("  effect     computed from the figures by the planner")
    lines.append(f"  source     {EXTRACTS[rule.id.rpartition('/')[0]]}, lines {rule.lines}")
    return "\n".join(lines) + "\n"


def official(rule: Rule, name: str) -> str:
    """A column with the papers' name for it, where the view shows a structure as it is: QPSTSOS short_on_storage."""
    view = BY_NAME[rule.table]
    if view.plain:
        for column in columns_of(SECTIONS[view.plain].LAYOUT):
            if column.name == name and column.field.official:
                return f"{column.field.official} {name}"
    return name


def _lifted(rule: Rule) -> str:
    return ", an alert when it is grave" if rule.grave else ""


def _cutoff(rule: Rule, name: str) -> str:
    each = next(cutoff for cutoff in rule.cutoffs if cutoff.name == name)
    return f"{name} = {each.value:g}: {each.meaning}{' (ours)' if each.ours else ''}"


def page() -> str:
    """docs/advisor.md."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    covered = len({each for rule in RULES for each in rule.ids})
    yield "# The advisor"
    yield ""
    excused = len(not_measurable())
    yield f"{len(RULES)} rules stand for {covered} IF-THEN rules of the papers; {excused} more are listed at the end"
    yield "with the reason why no SMF field and no setting decides them. `quaestor advise explain A-36` shows one in"
    yield "full. Cut-offs marked * are ours: the papers leave them open."
    yield ""
    for manager, rules in BY_MANAGER.items():
        yield f"## {manager.replace('_', ' ').capitalize()}"
        yield ""
        if not rules:
            yield "No rule of the papers reads what this manager counts."
            yield ""
            continue
        yield "| rule | title | severity | looks at | reads | cut-offs | covers |"
        yield "|---|---|---|---|---|---|---|"
        for rule in rules:
            yield _row(rule)
        yield ""
    yield from _views()
    yield from _settings()
    yield from _not_measurable()


def _row(rule: Rule) -> str:
    seen = reads(rule)
    columns = ", ".join(f"`{name}`" for name in sorted(seen.columns | seen.settings))
    cutoffs = ", ".join(f"`{each.name}` {each.value:g}{'*' if each.ours else ''}" for each in rule.cutoffs)
    cells = (rule.id, rule.title, rule.severity.name.lower(), rule.table, columns, cutoffs, ", ".join(rule.also))
    return f"| {' | '.join(cells)} |"


def _views() -> Iterator[str]:
    yield "## What the rules look at"
    yield ""
    yield "| view | one row is | made from |"
    yield "|---|---|---|"
    for view in VIEWS:
        yield f"| {view.name} | {view.grain} | {', '.join(view.needs) or 'settings'} |"
    yield ""


def _settings() -> Iterator[str]:
    yield "## Settings"
    yield ""
    yield "From a TOML file or DISPLAY output; what nobody said is not known, and rules on it do not fire."
    yield ""
    yield "| of | setting | meaning |"
    yield "|---|---|---|"
    for kind, names in SETTINGS.items():
        for name, setting in names.items():
            yield f"| {kind.replace('_', ' ')} | `{name}` | {setting.meaning} |"
    yield ""


def _not_measurable() -> Iterator[str]:
    yield "## Rules of the papers that are not here"
    yield ""
    yield "| rule | why not |"
    yield "|---|---|"
    for name, reason in not_measurable().items():
        yield f"| {name} | {reason} |"
