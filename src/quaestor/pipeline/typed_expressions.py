"""Typed expressions: what an expression or a condition of a definition means, and of which type it is.

Rules
  I1  An expression has a type before any engine sees it. What does not fit is refused with line and column.
  I2  `/` between integers truncates, as in the papers (their week formula depends on it); division by zero is null.
  I3  DATE is a date, TIME is hundredths of a second since midnight inside and text HH:MM:SS.hh in a table.
      DAYS counts 0001-01-01 as 1. ROUND(t, n MINUTES) rounds down. A time moved past midnight is a time of day again.
  I4  PERIOD(system, date, time) is the first shift of the period plan that fits, else null.
  I6  A duration is no value: it moves a date or a time, or is what ROUND rounds to.

Called by compilation and row_conditions.  Calls update_language, periods; makes expressions, knows no engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from quaestor.pipeline.expressions import Constant, Tree, apply
from quaestor.pipeline.periods import PeriodPlan
from quaestor.pipeline.record_scope import Type
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
)

_NUMBERS = (Type.INTEGER, Type.DOUBLE)
_MINUTES = {"MINUTE": 1, "HOUR": 60}
_DAY = 24 * 360_000
_MOST_DAYS = 36_525
_LARGEST = (1 << 63) - 1

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


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression and what the language knows of it."""

    tree: Tree
    type: Type


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
