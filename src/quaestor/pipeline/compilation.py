"""From an update definition to expression trees: every field found, every error with its place.

Rules
  I5  Updates of one table set columns of the same rows: their keys must agree in name, order and type. A column set by
      several adds up as its aggregate says; AVG cannot be shared. Within an update every column has a name of its own.

Called by summary and daily_parts.  Calls typed_expressions, update_language, record_scope; knows no engine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from quaestor.pipeline.expressions import Column, Tree, apply
from quaestor.pipeline.periods import PeriodPlan
from quaestor.pipeline.record_scope import RECORDS, ScopeColumn, Type, find, near, structures_of
from quaestor.pipeline.typed_expressions import Compiler, Typed
from quaestor.pipeline.update_language import (
    Assignment,
    Call,
    Case,
    Condition,
    DefinitionError,
    Expression,
    FieldName,
    Key,
    Operation,
    Update,
)
from quaestor.smf.arrow_schema import RECORD_COLUMNS

TOD_UNITS = 4096.0
RECORD_DATES = ("SM115DTE", "SM116DTE")


@dataclass(frozen=True, slots=True)
class CompiledKey:
    """A key column; `days_only` when it depends on nothing but the record's date, so that days map to its values."""

    name: str
    value: Typed
    days_only: bool


@dataclass(frozen=True, slots=True)
class CompiledUpdate:
    """An update ready to run: which structures it reads, its filter, keys, and what it aggregates (None: rows)."""

    update: Update
    structures: tuple[str, ...]
    exploded: str
    where: Tree | None
    keys: tuple[CompiledKey, ...]
    assignments: tuple[tuple[Assignment, Typed | None], ...]


def compile_update(update: Update, plan: PeriodPlan) -> CompiledUpdate:
    """Check and translate one update (I1)."""
    structures = structures_of(update.record, update.section)
    if structures is None:
        raise DefinitionError(_unknown_record(update), update.place, update.source)
    structures = _read_by(update, structures)
    compiler = _UpdateCompiler(update, structures, plan)
    where = compiler.condition(update.where) if update.where else None
    keys = tuple(CompiledKey(k.column, compiler.output(k.value), days_only=_days_only(k.value)) for k in update.keys)
    assignments = tuple((each, compiler.aggregate(each)) for each in update.assignments)
    _refuse_double_names(update)
    return CompiledUpdate(update, structures, compiler.exploded, where, keys, assignments)


def _refuse_double_names(update: Update) -> None:
    """Every column of an update has a name of its own (I5)."""
    columns: list[Key | Assignment] = [*update.keys, *update.assignments]
    known: set[str] = set()
    for each in columns:
        if each.column in known:
            raise DefinitionError(f"{each.column} is set twice", each.place, update.source)
        known.add(each.column)


def _read_by(update: Update, structures: tuple[str, ...]) -> tuple[str, ...]:
    """The structures whose own fields an update names; the record's columns stand in each of them."""
    names = [name for key in update.keys for name in _fields(key.value)]
    names += [name for each in update.assignments if each.value is not None for name in _fields(each.value)]
    names += _condition_fields(update.where) if update.where else []
    found = [find(structures, each.name) for each in names]
    used = {each.structure for each in found if each is not None and each.column not in RECORD_COLUMNS}
    return tuple(name for name in structures if name in used) or structures[:1]


def check_table(updates: Sequence[CompiledUpdate]) -> None:
    """Updates of one table must agree on its keys and must not share an AVG (I5)."""
    first = updates[0]
    expected = [(key.name, key.value.type) for key in first.keys]
    aggregates: dict[str, str] = {}
    for each in updates:
        if [(key.name, key.value.type) for key in each.keys] != expected:
            names = ", ".join(f"{name} ({kind.value})" for name, kind in expected)
            reason = f"{each.update.table} has the keys {names} in update {first.update.name}"
            raise DefinitionError(reason, each.update.place, each.update.source)
        for assignment, _ in each.assignments:
            known = aggregates.get(assignment.column)
            if known is not None and (known != assignment.aggregate or known == "AVG"):
                reason = f"{assignment.column} is {known} in another update of {each.update.table}"
                raise DefinitionError(reason, assignment.place, each.update.source)
            aggregates[assignment.column] = assignment.aggregate


def _unknown_record(update: Update) -> str:
    source = RECORDS.get(update.record)
    if source is None:
        return f"no record {update.record}; records are {', '.join(RECORDS)}"
    if update.section is None:
        return f"{update.record} has only sections: say SECTION {' or '.join(source.sections)}"
    return f"{update.record} has no section {update.section}; sections are {', '.join(source.sections) or 'none'}"


class _UpdateCompiler(Compiler):
    """Names are fields of the update's record; remembers the array whose elements they are taken from."""

    def __init__(self, update: Update, structures: tuple[str, ...], plan: PeriodPlan) -> None:
        super().__init__(update.source, plan)
        self._update, self._structures = update, structures
        self.exploded = ""

    def field(self, name: FieldName) -> Typed:
        found = find(self._structures, name.name)
        if found is None:
            where = self._update.record + (f" SECTION {self._update.section}" if self._update.section else "")
            like = near(self._structures, name.name)
            hint = f"; did you mean {' or '.join(like)}?" if like else ""
            raise self.refuse(f"{where} has no field {name.name}{hint}", name.place)
        self.exploded = self.exploded or found.inside
        return Typed(_raw(found), found.type)


def _raw(found: ScopeColumn) -> Tree:
    column = Column(found.structure, found.column, found.inside)
    if found.type is Type.DATE:
        return apply("date_of", apply("minute_before", column) if found.before else column)
    if found.type is Type.TIME:
        return apply("time_of", column)
    if found.tod:
        return apply("multiply", column, TOD_UNITS)
    return apply("integer", column) if found.type is Type.INTEGER else column


def _days_only(value: Expression) -> bool:
    """Whether an expression depends on nothing but the record's date."""
    names = [each.name for each in _fields(value)]
    return bool(names) and all(name in RECORD_DATES for name in names)


def _fields(value: Expression) -> list[FieldName]:
    match value:
        case FieldName():
            return [value]
        case Operation():
            return _fields(value.left) + _fields(value.right)
        case Call():
            return [name for each in value.arguments for name in _fields(each)]
        case Case():
            conditions = [part for condition, _ in value.branches for part in _condition_fields(condition)]
            results = [name for _, result in value.branches for name in _fields(result)]
            return conditions + results + (_fields(value.otherwise) if value.otherwise else [])
        case _:
            return []


def _condition_fields(condition: Condition) -> list[FieldName]:
    names: list[FieldName] = []
    for part in condition.parts:
        names += _condition_fields(part) if isinstance(part, Condition) else _fields(part)
    return names
