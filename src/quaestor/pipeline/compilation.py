"""From an update definition to expression trees: every value typed, every field found, every error with its place.

Rules
  I1  An expression has a type before any engine sees it. What does not fit is refused with line and column.
  I2  `/` between integers truncates, as in the papers (their week formula depends on it); division by zero is null.
  I3  DATE is a date, TIME is hundredths of a second since midnight inside and text HH:MM:SS.hh in a table.
      DAYS counts 0001-01-01 as 1. ROUND(t, n MINUTES) rounds down. A time moved past midnight is a time of day again.
  I4  PERIOD(system, date, time) is the first shift of the period plan that fits, else null.
  I5  Updates of one table set columns of the same rows: their keys must agree in name, order and type. A column set by
      several adds up as its aggregate says; AVG cannot be shared. Within an update every column has a name of its own.
  I6  A duration is no value: it moves a date or a time, or is what ROUND rounds to.

Called by summary, daily_parts and row_conditions.  Calls update_language, record_scope and periods; makes
expressions, knows no engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from quaestor.pipeline.expressions import Column, Constant, Tree, apply
from quaestor.pipeline.periods import PeriodPlan
from quaestor.pipeline.record_scope import RECORDS, ScopeColumn, Type, find, near, structures_of
from quaestor.pipeline.update_language import (
    Assignment,
    Call,
    Case,
    Condition,
    DefinitionError,
    Duration,
    Expression,
    FieldName,
    Key,
    Literal,
    Operation,
    Place,
    Update,
)
from quaestor.smf.arrow_schema import RECORD_COLUMNS

TOD_UNITS = 4096.0
RECORD_DATES = ("SM115DTE", "SM116DTE")
_NUMBERS = (Type.INTEGER, Type.DOUBLE)
_MINUTES = {"MINUTE": 1, "HOUR": 60}
_DAY = 24 * 360_000
_MOST_DAYS = 36_525
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression and what the language knows of it."""

    tree: Tree
    type: Type


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


class Compiler(ABC):
    """Translates expressions and conditions; what a name stands for is up to who knows the rows."""

    def __init__(self, source: str, plan: PeriodPlan) -> None:
        self._source, self._plan = source, plan

    @abstractmethod
    def field(self, name: FieldName) -> Typed:
        """What a name stands for."""

    def refuse(self, reason: str, place: Place) -> DefinitionError:
        return DefinitionError(reason, place, self._source)

    # --- what a definition is made of --------------------------------------------------------------------------------

    def output(self, value: Expression) -> Typed:
        """A key as the table shows it: times as text (I3)."""
        made = self.expression(value)
        return Typed(apply("time_text", made.tree), Type.TIME) if made.type is Type.TIME else made

    def aggregate(self, assignment: Assignment) -> Typed | None:
        """What an assignment aggregates; None when it counts rows."""
        if assignment.value is None:
            return None
        value = self.expression(assignment.value)
        if assignment.aggregate in ("SUM", "AVG") and value.type not in _NUMBERS:
            reason = f"{assignment.aggregate} needs a number, this is a {value.type.value}"
            raise self.refuse(reason, assignment.value.place)
        return value

    # --- expressions -------------------------------------------------------------------------------------------------

    def expression(self, value: Expression) -> Typed:
        match value:
            case FieldName():
                return self.field(value)
            case Literal():
                kinds = {int: Type.INTEGER, float: Type.DOUBLE, str: Type.STRING}
                if isinstance(value.value, int) and value.value > _LARGEST:
                    raise self.refuse(f"{value.value} is too large for an integer", value.place)
                return Typed(Constant(value.value), kinds[type(value.value)])
            case Duration():
                raise self.refuse("a duration only moves a date or a time by + or -", value.place)  # I6
            case Operation():
                return self._operation(value)
            case Call():
                return self._call(value)
            case Case():
                return self._case(value)

    def _operation(self, value: Operation) -> Typed:
        left = self.expression(value.left)
        if isinstance(value.right, Duration):
            return self._shift(value, left, value.right)
        right = self.expression(value.right)
        if value.operator == "||":
            return Typed(apply("concat", self._text(left, value), self._text(right, value)), Type.STRING)
        if left.type not in _NUMBERS or right.type not in _NUMBERS:
            raise self.refuse(f"{left.type.value} {value.operator} {right.type.value} has no meaning", value.place)
        kind = Type.INTEGER if left.type is right.type is Type.INTEGER else Type.DOUBLE
        function = _ARITHMETIC[value.operator]
        if value.operator == "/" and kind is Type.INTEGER:
            function = "whole_quotient"  # I2
        return Typed(apply(function, left.tree, right.tree), kind)

    def _text(self, value: Typed, operation: Operation) -> Tree:
        if value.type is Type.TIME:
            return apply("time_text", value.tree)
        if value.type not in (Type.STRING, Type.INTEGER, Type.DATE):
            raise self.refuse(f"|| takes texts, integers, dates and times, not a {value.type.value}", operation.place)
        return value.tree if value.type is Type.STRING else apply("text", value.tree)

    def _shift(self, value: Operation, left: Typed, by: Duration) -> Typed:
        sign = {"+": 1, "-": -1}.get(value.operator)
        if sign is not None and left.type is Type.DATE and by.unit == "DAY":
            if by.amount > _MOST_DAYS:
                raise self.refuse(f"{by.amount} DAYS are more than a hundred years", by.place)
            return Typed(apply("add_days", left.tree, sign * by.amount), Type.DATE)
        if sign is not None and left.type is Type.TIME and by.unit in _MINUTES:
            return Typed(
                _time_of_day(apply("add", left.tree, sign * by.amount * _MINUTES[by.unit] * 6000 % _DAY)), Type.TIME
            )
        raise self.refuse(f"{left.type.value} {value.operator} {by.unit} has no meaning", value.place)

    def _case(self, value: Case) -> Typed:
        results = [self.expression(result) for _, result in value.branches]
        otherwise = self.expression(value.otherwise) if value.otherwise is not None else None
        kinds = {each.type for each in [*results, *([otherwise] if otherwise else [])]}
        if len(kinds) > 1 and not kinds <= set(_NUMBERS):
            names = " and ".join(sorted(kind.value for kind in kinds))
            raise self.refuse(f"the branches of CASE differ: {names}", value.place)
        kind = Type.DOUBLE if len(kinds) > 1 else results[0].type
        branches: list[Tree] = []
        for (condition, _), result in zip(value.branches, results, strict=True):
            branches += [self.condition(condition), _as(result, kind)]
        return Typed(apply("case", *branches, _as(otherwise, kind) if otherwise else apply("null")), kind)

    # --- functions ---------------------------------------------------------------------------------------------------

    def _call(self, call: Call) -> Typed:
        if call.function == "ROUND":
            return self._round(call)
        arguments = [self.expression(each) for each in call.arguments]
        kinds = tuple(each.type for each in arguments)
        trees = [each.tree for each in arguments]
        match call.function, kinds:
            case "HOUR", (Type.TIME,):
                return Typed(apply("whole_quotient", trees[0], 360_000), Type.INTEGER)
            case "DAY" | "MONTH" | "YEAR" | "WEEK", (Type.DATE,):
                return Typed(apply(call.function.lower(), trees[0]), Type.INTEGER)
            case "DAYS", (Type.DATE,):
                return Typed(apply("day_number", trees[0]), Type.INTEGER)
            case "DATE", (Type.DATE,):
                return arguments[0]
            case "DATE", (Type.STAMP,):
                return Typed(apply("date_of", trees[0]), Type.DATE)
            case "DATE", (Type.INTEGER,):
                return Typed(apply("date_of_number", trees[0]), Type.DATE)
            case "TIME", (Type.TIME,):
                return arguments[0]
            case "TIME", (Type.STAMP,):
                return Typed(apply("time_of", trees[0]), Type.TIME)
            case "SUBSTR", (Type.STRING, Type.INTEGER, Type.INTEGER) if all(map(_is_place, trees[1:])):
                return Typed(apply("substring", *trees), Type.STRING)
            case "VALUE", kinds if len(kinds) > 1 and (len(set(kinds)) == 1 or set(kinds) <= set(_NUMBERS)):
                kind = kinds[0] if len(set(kinds)) == 1 else Type.DOUBLE
                return Typed(apply("coalesce", *(_as(each, kind) for each in arguments)), kind)
            case "PERIOD", (Type.STRING, Type.DATE, Type.TIME):
                return Typed(self._plan.tree(*trees), Type.STRING)
            case _:
                raise self._bad_call(call, kinds)

    def _round(self, call: Call) -> Typed:
        if len(call.arguments) == 2 and isinstance(call.arguments[1], Duration):
            value, step = self.expression(call.arguments[0]), call.arguments[1]
            size = step.amount * _MINUTES.get(step.unit, 0) * 6000
            if value.type is Type.TIME and 0 < size <= _DAY:
                return Typed(apply("multiply", apply("whole_quotient", value.tree, size), size), Type.TIME)
        raise self.refuse(FUNCTIONS["ROUND"], call.place)

    def _bad_call(self, call: Call, kinds: tuple[Type, ...]) -> DefinitionError:
        if call.function not in FUNCTIONS:
            return self.refuse(f"no function {call.function}; functions are {', '.join(FUNCTIONS)}", call.place)
        given = ", ".join(kind.value for kind in kinds)
        return self.refuse(f"{FUNCTIONS[call.function]}, not {call.function}({given})", call.place)

    # --- conditions --------------------------------------------------------------------------------------------------

    def condition(self, condition: Condition) -> Tree:
        match condition.kind:
            case "and" | "or":
                return _joined(condition.kind, [self.condition(each) for each in condition.parts])
            case "not":
                return apply("not", self.condition(condition.parts[0]))
            case "null":
                return apply("is_null", self.expression(condition.parts[0]).tree)
            case "not null":
                return apply("not", apply("is_null", self.expression(condition.parts[0]).tree))
            case "in":
                first, *rest = self._comparable(condition)
                return _joined("or", [apply("=", first, each) for each in rest])
            case "between":
                value, low, high = self._comparable(condition)
                return apply("and", apply(">=", value, low), apply("<=", value, high))
            case _:
                return apply(condition.kind, *self._comparable(condition))

    def _comparable(self, condition: Condition) -> list[Tree]:
        values = [self.expression(each) for each in condition.parts]
        kinds = {each.type for each in values}
        if len(kinds) > 1 and not kinds <= set(_NUMBERS):
            names = " with ".join(sorted(kind.value for kind in kinds))
            raise self.refuse(f"cannot compare {names}", condition.place)
        return [each.tree for each in values]


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


FUNCTIONS: Mapping[str, str] = {
    "HOUR": "HOUR takes a time",
    "DAY": "DAY takes a date",
    "WEEK": "WEEK takes a date",
    "MONTH": "MONTH takes a date",
    "YEAR": "YEAR takes a date",
    "DAYS": "DAYS takes a date",
    "DATE": "DATE takes a date, a timestamp or a day number",
    "TIME": "TIME takes a time or a timestamp",
    "ROUND": "ROUND takes a time and so many MINUTES or HOURS, a day at most",
    "SUBSTR": "SUBSTR takes a string, a start from 1 and a count, both as plain numbers",
    "VALUE": "VALUE takes two or more values of one type",
    "PERIOD": "PERIOD takes system, date and time",
}

_ARITHMETIC: Mapping[str, str] = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}


def _raw(found: ScopeColumn) -> Tree:
    column = Column(found.structure, found.column, found.inside)
    if found.type is Type.DATE:
        return apply("date_of", apply("minute_before", column) if found.before else column)
    if found.type is Type.TIME:
        return apply("time_of", column)
    if found.tod:
        return apply("multiply", column, TOD_UNITS)
    return apply("integer", column) if found.type is Type.INTEGER else column


def _as(value: Typed, kind: Type) -> Tree:
    """A number among numbers of another kind."""
    return apply("double", value.tree) if kind is Type.DOUBLE and value.type is Type.INTEGER else value.tree


def _time_of_day(time: Tree) -> Tree:
    """A time of at most two days, without its first day (I3)."""
    return apply("subtract", time, apply("multiply", apply("whole_quotient", time, _DAY), _DAY))


def _is_place(tree: Tree) -> bool:
    return isinstance(tree, Constant) and isinstance(tree.value, int) and tree.value >= 1


def _joined(how: str, parts: Sequence[Tree]) -> Tree:
    return reduce(lambda left, right: apply(how, left, right), parts)


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
