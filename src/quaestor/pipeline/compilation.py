"""From an update definition to Spark: every expression typed, every field found, every error with its place.

Rules
  I1  An expression has a type before Spark sees it. What does not fit is refused with line and column.
  I2  `/` between integers truncates, as in the papers (their week formula depends on it); division by zero is null.
  I3  DATE is a date, TIME is hundredths of a second since midnight inside and text HH:MM:SS.hh in a table.
      DAYS counts 0001-01-01 as 1. ROUND(t, n MINUTES) rounds down.
  I4  PERIOD(system, date, time) is the first shift of the period plan that fits, else null.
  I5  Updates of one table set columns of the same rows: their keys must agree in name, order and type. A column set by
      several adds up as its aggregate says; AVG cannot be shared.

Called by summary.  Calls update_language and record_scope.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  the name Spark's own documentation gives it

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
    Literal,
    Operation,
    Place,
    Update,
)
from quaestor.smf.arrow_schema import RECORD_COLUMNS

TOD_UNITS = 4096.0
_DAY_ZERO = "0001-01-01"
_NUMBERS = (Type.INTEGER, Type.DOUBLE)
_MINUTES = {"MINUTE": 1, "HOUR": 60}


@dataclass(frozen=True, slots=True)
class Typed:
    """A Spark column and what the language knows of it."""

    column: Column
    type: Type


@dataclass(frozen=True, slots=True)
class CompiledKey:
    """A key column; `days_only` when it depends on nothing but the record's date, so that days map to its values."""

    name: str
    value: Typed
    days_only: bool


@dataclass(frozen=True, slots=True)
class CompiledUpdate:
    """An update ready to run: which structures it reads, its filter, keys and aggregates."""

    update: Update
    structures: tuple[str, ...]
    exploded: str
    where: Column | None
    keys: tuple[CompiledKey, ...]
    assignments: tuple[tuple[Assignment, Typed], ...]


def compile_update(update: Update, plan: PeriodPlan) -> CompiledUpdate:
    """Check and translate one update (I1)."""
    structures = structures_of(update.record, update.section)
    if structures is None:
        raise DefinitionError(_unknown_record(update), update.place, update.source)
    structures = _read_by(update, structures)
    compiler = _Compiler(update, structures, plan)
    where = compiler.condition(update.where) if update.where else None
    keys = tuple(CompiledKey(k.column, compiler.output(k.value), days_only=_days_only(k.value)) for k in update.keys)
    assignments = tuple((each, compiler.aggregate(each)) for each in update.assignments)
    return CompiledUpdate(update, structures, compiler.exploded, where, keys, assignments)


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
            known = aggregates.setdefault(assignment.column, assignment.aggregate)
            shared = each is not first and known is not None and assignment.column in aggregates
            if known != assignment.aggregate or (shared and known == "AVG" and len(updates) > 1):
                reason = f"{assignment.column} is {known} in another update of {each.update.table}"
                raise DefinitionError(reason, assignment.place, each.update.source)


def _unknown_record(update: Update) -> str:
    source = RECORDS.get(update.record)
    if source is None:
        return f"no record {update.record}; records are {', '.join(RECORDS)}"
    if update.section is None:
        return f"{update.record} has only sections: say SECTION {' or '.join(source.sections)}"
    return f"{update.record} has no section {update.section}; sections are {', '.join(source.sections) or 'none'}"


class _Compiler:
    """Translates the expressions of one update and remembers what they use."""

    def __init__(self, update: Update, structures: tuple[str, ...], plan: PeriodPlan) -> None:
        self._update, self._structures, self._plan = update, structures, plan
        self.exploded = ""

    def refuse(self, reason: str, place: Place) -> DefinitionError:
        return DefinitionError(reason, place, self._update.source)

    # --- what a definition is made of --------------------------------------------------------------------------------

    def output(self, value: Expression) -> Typed:
        """A key as the table shows it: times as text (I3)."""
        made = self.expression(value)
        if made.type is Type.DURATION:
            raise self.refuse("a duration cannot be a key", value.place)
        return Typed(_time_text(made.column), Type.TIME) if made.type is Type.TIME else made

    def aggregate(self, assignment: Assignment) -> Typed:
        if assignment.value is None:
            return Typed(F.count(F.lit(1)), Type.INTEGER)
        value = self.expression(assignment.value)
        name = assignment.aggregate
        if name in ("SUM", "AVG") and value.type not in _NUMBERS:
            raise self.refuse(f"{name} needs a number, this is a {value.type.value}", assignment.value.place)
        functions: Mapping[str, Callable[[Column], Column]] = {
            "SUM": F.sum, "MIN": F.min, "MAX": F.max, "AVG": F.avg, "COUNT": F.count,
        }  # fmt: skip
        kind = {"COUNT": Type.INTEGER, "AVG": Type.DOUBLE}.get(name, value.type)
        column = functions[name](value.column)
        return Typed(_time_text(column) if kind is Type.TIME else column, kind)

    # --- expressions -------------------------------------------------------------------------------------------------

    def expression(self, value: Expression) -> Typed:
        match value:
            case FieldName():
                return self._field(value)
            case Literal(value=int()):
                return Typed(F.lit(value.value).cast("long"), Type.INTEGER)
            case Literal(value=float()):
                return Typed(F.lit(value.value), Type.DOUBLE)
            case Literal():
                return Typed(F.lit(value.value), Type.STRING)
            case Duration():
                return Typed(F.lit(value.amount), Type.DURATION)
            case Operation():
                return self._operation(value)
            case Call():
                return self._call(value)
            case Case():
                return self._case(value)

    def _field(self, name: FieldName) -> Typed:
        found = find(self._structures, name.name)
        if found is None:
            where = self._update.record + (f" SECTION {self._update.section}" if self._update.section else "")
            like = near(self._structures, name.name)
            hint = f"; did you mean {' or '.join(like)}?" if like else ""
            raise self.refuse(f"{where} has no field {name.name}{hint}", name.place)
        self.exploded = self.exploded or found.inside
        return Typed(_raw(found), found.type)

    def _operation(self, value: Operation) -> Typed:
        left, right = self.expression(value.left), self.expression(value.right)
        if value.operator == "||":
            return Typed(F.concat(_text(left), _text(right)), Type.STRING)
        if right.type is Type.DURATION and isinstance(value.right, Duration):
            return self._shift(value, left, value.right)
        if left.type not in _NUMBERS or right.type not in _NUMBERS:
            raise self.refuse(f"{left.type.value} {value.operator} {right.type.value} has no meaning", value.place)
        kind = Type.INTEGER if left.type is right.type is Type.INTEGER else Type.DOUBLE
        if value.operator == "/":
            return Typed(_divide(left.column, right.column, kind), kind)
        made = {"+": left.column + right.column, "-": left.column - right.column, "*": left.column * right.column}
        return Typed(made[value.operator], kind)

    def _shift(self, value: Operation, left: Typed, by: Duration) -> Typed:
        sign = {"+": 1, "-": -1}.get(value.operator)
        if sign is not None and left.type is Type.DATE and by.unit == "DAY":
            return Typed(F.date_add(left.column, sign * by.amount), Type.DATE)
        if sign is not None and left.type is Type.TIME and by.unit in _MINUTES:
            return Typed(left.column + F.lit(sign * by.amount * _MINUTES[by.unit] * 6000), Type.TIME)
        raise self.refuse(f"{left.type.value} {value.operator} {by.unit} has no meaning", value.place)

    def _case(self, value: Case) -> Typed:
        results = [self.expression(result) for _, result in value.branches]
        otherwise = self.expression(value.otherwise) if value.otherwise is not None else None
        kinds = {each.type for each in [*results, *([otherwise] if otherwise else [])]}
        if len(kinds) > 1 and not kinds <= set(_NUMBERS):
            names = " and ".join(sorted(kind.value for kind in kinds))
            raise self.refuse(f"the branches of CASE differ: {names}", value.place)
        column: Column | None = None
        for (condition, _), result in zip(value.branches, results, strict=True):
            test = self.condition(condition)
            column = F.when(test, result.column) if column is None else column.when(test, result.column)
        if column is None:
            raise self.refuse("CASE without WHEN", value.place)
        return Typed(
            column.otherwise(otherwise.column) if otherwise else column,
            Type.DOUBLE if len(kinds) > 1 else results[0].type,
        )

    # --- functions ---------------------------------------------------------------------------------------------------

    def _call(self, call: Call) -> Typed:
        if call.function == "ROUND":
            return self._round(call)
        arguments = [self.expression(each) for each in call.arguments]
        kinds = tuple(each.type for each in arguments)
        columns = [each.column for each in arguments]
        match call.function, kinds:
            case "HOUR", (Type.TIME,):
                return Typed(_whole(columns[0] / F.lit(360_000)), Type.INTEGER)
            case "DAY" | "MONTH" | "YEAR", (Type.DATE,):
                part = {"DAY": F.dayofmonth, "MONTH": F.month, "YEAR": F.year}[call.function]
                return Typed(part(columns[0]).cast("long"), Type.INTEGER)
            case "WEEK", (Type.DATE,):
                return Typed(F.weekofyear(columns[0]).cast("long"), Type.INTEGER)
            case "DAYS", (Type.DATE,):
                return Typed((F.datediff(columns[0], F.lit(_DAY_ZERO).cast("date")) + 1).cast("long"), Type.INTEGER)
            case "DATE", (Type.DATE,) | (Type.STAMP,):
                return Typed(F.to_date(columns[0]), Type.DATE)
            case "DATE", (Type.INTEGER,):
                days = (columns[0] - 1).cast("int")
                return Typed(F.date_add(F.lit(_DAY_ZERO).cast("date"), days), Type.DATE)
            case "TIME", (Type.TIME,):
                return arguments[0]
            case "TIME", (Type.STAMP,):
                return Typed(_hundredths(columns[0]), Type.TIME)
            case "SUBSTR", (Type.STRING, Type.INTEGER, Type.INTEGER):
                return Typed(F.substring(columns[0], columns[1].cast("int"), columns[2].cast("int")), Type.STRING)
            case "VALUE", kinds if len(kinds) > 1 and (len(set(kinds)) == 1 or set(kinds) <= set(_NUMBERS)):
                return Typed(F.coalesce(*columns), kinds[0] if len(set(kinds)) == 1 else Type.DOUBLE)
            case "PERIOD", (Type.STRING, Type.DATE, Type.TIME):
                return Typed(self._plan.column(*columns), Type.STRING)
            case _:
                raise self._bad_call(call, kinds)

    def _round(self, call: Call) -> Typed:
        if len(call.arguments) == 2 and isinstance(call.arguments[1], Duration):
            value, step = self.expression(call.arguments[0]), call.arguments[1]
            if value.type is Type.TIME and step.unit in _MINUTES and step.amount > 0:
                size = F.lit(step.amount * _MINUTES[step.unit] * 6000)
                return Typed(value.column - value.column % size, Type.TIME)
        raise self.refuse("ROUND takes a time and so many MINUTES or HOURS", call.place)

    def _bad_call(self, call: Call, kinds: tuple[Type, ...]) -> DefinitionError:
        if call.function not in FUNCTIONS:
            return self.refuse(f"no function {call.function}; functions are {', '.join(FUNCTIONS)}", call.place)
        given = ", ".join(kind.value for kind in kinds)
        return self.refuse(f"{FUNCTIONS[call.function]}, not {call.function}({given})", call.place)

    # --- conditions --------------------------------------------------------------------------------------------------

    def condition(self, condition: Condition) -> Column:
        match condition.kind:
            case "and" | "or":
                made = self.condition(condition.parts[0])
                for each in condition.parts[1:]:
                    other = self.condition(each)
                    made = made & other if condition.kind == "and" else made | other
                return made
            case "not":
                return ~self.condition(condition.parts[0])
            case "null":
                return self.expression(condition.parts[0]).column.isNull()
            case "not null":
                return self.expression(condition.parts[0]).column.isNotNull()
            case "in" | "between":
                first, *rest = (self._comparable(condition, each) for each in condition.parts)
                return first.isin(*rest) if condition.kind == "in" else first.between(rest[0], rest[1])
            case _:
                left, right = (self._comparable(condition, each) for each in condition.parts)
                return _COMPARE[condition.kind](left, right)

    def _comparable(self, condition: Condition, value: Expression) -> Column:
        kinds = {self.expression(each).type for each in condition.parts}
        if len(kinds) > 1 and not kinds <= set(_NUMBERS):
            names = " with ".join(sorted(kind.value for kind in kinds))
            raise self.refuse(f"cannot compare {names}", condition.place)
        return self.expression(value).column


FUNCTIONS: Mapping[str, str] = {
    "HOUR": "HOUR takes a time",
    "DAY": "DAY takes a date",
    "WEEK": "WEEK takes a date",
    "MONTH": "MONTH takes a date",
    "YEAR": "YEAR takes a date",
    "DAYS": "DAYS takes a date",
    "DATE": "DATE takes a date, a timestamp or a day number",
    "TIME": "TIME takes a time or a timestamp",
    "ROUND": "ROUND takes a time and so many MINUTES or HOURS",
    "SUBSTR": "SUBSTR takes a string, a start and a count",
    "VALUE": "VALUE takes two or more values of one type",
    "PERIOD": "PERIOD takes system, date and time",
}

_COMPARE: Mapping[str, Callable[[Column, Column], Column]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
}


def _raw(found: ScopeColumn) -> Column:
    column = F.col(f"{found.inside}_element.{found.column}" if found.inside else f"{found.structure}.{found.column}")
    if found.type is Type.DATE:
        return F.to_date(column)
    if found.type is Type.TIME:
        return _hundredths(column)
    if found.tod:
        return column * F.lit(TOD_UNITS)
    return column.cast("long") if found.type is Type.INTEGER else column


def _hundredths(stamp: Column) -> Column:
    seconds = F.hour(stamp) * 3600 + F.minute(stamp) * 60 + F.second(stamp)
    return (seconds * 100 + _whole(F.date_format(stamp, "SSSSSS").cast("long") / F.lit(10_000))).cast("long")


def _time_text(hundredths: Column) -> Column:
    def part(divisor: int, modulus: int) -> Column:
        return F.lpad((_whole(hundredths / F.lit(divisor)) % modulus).cast("string"), 2, "0")

    return F.concat(part(360_000, 24), F.lit(":"), part(6000, 60), F.lit(":"), part(100, 60), F.lit("."), part(1, 100))


def _whole(value: Column) -> Column:
    """Towards zero."""
    return value.cast("long")


def _divide(left: Column, right: Column, kind: Type) -> Column:
    """Null for a zero divisor; integers truncate (I2)."""
    safe = F.when(right == 0, F.lit(None)).otherwise(right)
    return F.when(safe.isNull(), F.lit(None)).otherwise(_whole(left / safe) if kind is Type.INTEGER else left / safe)


def _text(value: Typed) -> Column:
    return _time_text(value.column) if value.type is Type.TIME else value.column.cast("string")


def _days_only(value: Expression) -> bool:
    """Whether an expression depends on nothing but the record's date."""
    names = [each.name for each in _fields(value)]
    return bool(names) and all(name in ("SM115DTE", "SM116DTE") for name in names)


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
