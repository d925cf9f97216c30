"""Conditions and figures on the rows of a table in memory, in the words of the update language.

Rules
  V1  Names are columns of the rows, in any case; a name that begins with `@` is a parameter. What does not fit is
      refused before a row is looked at, as in a definition.
  V2  Every number is a double, so `/` divides and does not cut. What has no value is null, and a condition that is null
      does not hold.

Called by the exception reports.  Calls update_language, compilation and arrow_expressions.
"""

from collections.abc import Mapping
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from quaestor.pipeline.arrow_expressions import array_of
from quaestor.pipeline.expressions import Column, Constant
from quaestor.pipeline.periods import DEFAULT_PLAN
from quaestor.pipeline.record_scope import Type
from quaestor.pipeline.typed_expressions import Compiler, Typed
from quaestor.pipeline.update_language import FieldName, parse_condition, parse_expression

_condition = lru_cache(maxsize=256)(parse_condition)
_expression = lru_cache(maxsize=256)(parse_expression)


class _RowCompiler(Compiler):
    """Names are columns or parameters (V1)."""

    def __init__(self, schema: pa.Schema, parameters: Mapping[str, float]) -> None:
        super().__init__("row", DEFAULT_PLAN)
        self._columns = {each.name.upper(): each for each in schema}
        self._parameters = {f"@{name.upper()}": value for name, value in parameters.items()}

    def field(self, name: FieldName) -> Typed:
        if name.name in self._parameters:
            return Typed(Constant(float(self._parameters[name.name])), Type.DOUBLE)
        found = self._columns.get(name.name)
        if found is None:
            raise self.refuse(f"no column {name.name}", name.place)
        return Typed(Column("", found.name), Type.STRING if pa.types.is_string(found.type) else Type.DOUBLE)


def holding(condition: str, rows: pa.Table, parameters: Mapping[str, float]) -> pa.Table:
    """The rows for which a condition holds (V2)."""
    tree = _RowCompiler(rows.schema, parameters).condition(_condition(condition))
    return rows.filter(array_of(tree, rows, _name))


def figures(expression: str, rows: pa.Table, parameters: Mapping[str, float]) -> pa.ChunkedArray | pa.Array:
    """The value of an expression for each row, as doubles (V2)."""
    tree = _RowCompiler(rows.schema, parameters).expression(_expression(expression)).tree
    return pc.cast(array_of(tree, rows, _name), pa.float64(), safe=False)


def _name(column: Column) -> str:
    return column.name
