"""Rows as arrays: the columns of a table side by side, with one way to say that a value is not known.

Rules
  R1  Numbers are floats, not known is NaN; text and tokens are objects, not known is None; instants are datetime64,
      not known is NaT. A comparison with what is not known is false, so a rule does not fire on it. A count above
      2**53 is the nearest float.
  R2  A ratio whose divisor is 0 is not known: nothing happened, so there is no average.
  R3  Rows are values: what adds columns or picks rows returns new ones.

Called by views, evaluate, the rules, settings and cutoffs.  Calls nothing.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indexes = NDArray[np.intp]


class Rows:
    """Columns of equal length by name; `rows.depth` is the column `depth`."""

    __slots__ = ("_columns", "size")

    def __init__(self, columns: Mapping[str, Array], size: int | None = None) -> None:
        self._columns = dict(columns)
        self.size = len(next(iter(self._columns.values()))) if size is None else size

    def __getattr__(self, name: str) -> Any:
        try:
            return self._columns[name]
        except KeyError:
            raise AttributeError(f"no column {name}; there are {', '.join(self._columns)}") from None

    def __len__(self) -> int:
        return self.size

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def plus(self, **columns: Array) -> "Rows":
        """These rows with more columns (R3)."""
        return Rows({**self._columns, **columns}, self.size)

    def take(self, indexes: Indexes | Mask) -> "Rows":
        """Some of these rows (R3)."""
        size = int(indexes.sum()) if indexes.dtype == bool else len(indexes)
        return Rows({name: column[indexes] for name, column in self._columns.items()}, size)

    def row(self, index: int) -> dict[str, Any]:
        """One row by column name; not known is None."""
        return {name: _plain(column[index]) for name, column in self._columns.items()}


def _plain(value: Any) -> Any:
    if value is None or value != value:  # noqa: PLR0124  NaN and NaT differ from themselves
        return None
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    return value.item() if isinstance(value, np.generic) else value


def of_table(table: pa.Table, columns: Iterable[str] | None = None) -> Rows:
    """The flat columns of an Arrow table (R1); lists and structs are left to who asks for them."""
    wanted = table.column_names if columns is None else [name for name in columns if name in table.column_names]
    made = {name: of_column(table[name]) for name in wanted if not _nested(table.schema.field(name).type)}
    return Rows(made, table.num_rows)


def _nested(kind: pa.DataType) -> bool:
    return pa.types.is_nested(kind) and not pa.types.is_dictionary(kind)


def of_column(column: pa.ChunkedArray | pa.Array) -> Array:
    """One Arrow column as an array (R1)."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        plain = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        made = plain.fill_null(np.iinfo(np.int64).min).to_numpy().astype("datetime64[us]")  # the smallest is NaT
        return np.asarray(made)
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_boolean(column.type):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    return np.asarray(column.to_numpy(zero_copy_only=False), object)


def is_number(value: Any) -> bool:
    """Whether a value that a person wrote can stand in a column: a number, finite, within what a float holds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max


def unknown(size: int) -> Floats:
    """A column of which nothing is known."""
    return np.full(size, np.nan)


def ratio(part: Any, whole: Any) -> Floats:
    """`part / whole`, not known where the whole is 0 (R2)."""
    part, whole = np.broadcast_arrays(np.asarray(part, np.float64), np.asarray(whole, np.float64))
    made: Floats = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole != 0)
    return made


def begins_with(texts: Array, *prefixes: str) -> Mask:
    """Whether each text begins with one of the prefixes; what is not known does not."""
    return np.fromiter((isinstance(each, str) and each.startswith(prefixes) for each in texts), bool, len(texts))


def is_known(column: Array) -> Mask:
    """Whether each value is known (R1)."""
    if column.dtype == object:
        return np.fromiter((each is not None for each in column), bool, len(column))
    return ~np.isnat(column) if column.dtype.kind == "M" else ~np.isnan(column)


def codes(column: Array) -> Indexes:
    """A number for each distinct value, equal for equal ones; what is not known counts as one value."""
    if column.dtype == object:
        encoded = pa.array(column, from_pandas=True).dictionary_encode(null_encoding="encode")
        return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.intp)
    return np.asarray(np.unique(column, return_inverse=True)[1], np.intp).reshape(-1)


class Groups:
    """Rows that agree in some columns: figures by group, in the order in which the groups first appear."""

    def __init__(self, keys: Sequence[Array]) -> None:
        combined = np.zeros(len(keys[0]), np.int64)
        for key in keys:
            made = codes(key)
            combined = combined * (int(made.max(initial=0)) + 1) + made
        _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty(len(order), np.intp)
        rank[order] = np.arange(len(order))
        self.of_row: Indexes = rank[inverse.reshape(-1)]
        self.first: Indexes = first[order]
        self._sorted: Indexes = np.argsort(self.of_row, kind="stable")
        self._begins: Indexes = np.searchsorted(self.of_row[self._sorted], np.arange(len(order)))

    def __len__(self) -> int:
        return len(self.first)

    @property
    def counts(self) -> Floats:
        return np.bincount(self.of_row, minlength=len(self)).astype(np.float64)

    def sum(self, column: Array) -> Floats:
        """Sum of what is known; not known where nothing is."""
        known = is_known(column)
        total = np.bincount(self.of_row, weights=np.where(known, column, 0.0), minlength=len(self))
        return np.where(self._any(known), total, np.nan)

    def highest(self, column: Array) -> Floats:
        return self._reduce(np.fmax, column)

    def lowest(self, column: Array) -> Floats:
        return self._reduce(np.fmin, column)

    def distinct(self, column: Array) -> Floats:
        """How many different values each group holds, those that are not known left out."""
        known = is_known(column)
        pairs = np.unique(np.stack([self.of_row[known], codes(column)[known]]), axis=1)
        return np.bincount(pairs[0], minlength=len(self)).astype(np.float64)

    def median(self, column: Array) -> Floats:
        """The median of what is known in each group."""
        return self._each(lambda part: float(np.median(part)) if len(part) else np.nan, column)

    def _each(self, figure: Callable[[Array], float], column: Array) -> Floats:
        parts = np.split(column[self._sorted], self._begins[1:]) if len(self) else []
        return np.array([figure(part[is_known(part)]) for part in parts], np.float64)

    def _any(self, mask: Mask) -> Mask:
        return np.bincount(self.of_row, weights=mask, minlength=len(self)) > 0

    def _reduce(self, ufunc: Any, column: Array) -> Floats:
        return np.asarray(ufunc.reduceat(column[self._sorted], self._begins) if len(self) else [], np.float64)


def stacked(left: Array, right: Array) -> tuple[Indexes, Indexes]:
    """Codes of two columns that agree where the values do."""
    both = codes(np.concatenate([left, right]))
    return both[: len(left)], both[len(left) :]


def as_of(
    keys: Array, times: Array, other_keys: Array, other_times: Array, *, tolerance_us: int, earlier: bool
) -> Indexes:
    """For each row the index of the other row with its key that is nearest in time; -1 for none in reach.

    `earlier` looks for the last one at or before the row's time, otherwise for the first one at or after it; the
    tolerance lets records that were built a moment apart belong together.
    """
    if not len(other_times) or not len(times):
        return np.full(len(times), -1, np.intp)
    mine, theirs = stacked(keys, other_keys)
    order = np.lexsort((other_times, theirs))
    slack = np.timedelta64(tolerance_us, "us")
    found = _places(theirs[order], other_times[order], mine, times + (slack if earlier else -slack), earlier=earlier)
    inside = (found >= 0) & (found < len(order))
    place = order[np.where(inside, found, 0)]
    return np.where(inside & (theirs[place] == mine), place, -1)


def _places(keys: Indexes, times: Array, wanted: Indexes, moments: Array, *, earlier: bool) -> Indexes:
    """Where (key, moment) stands in the ordered pairs (key, time).

    Times are ranked first: keys of millions of tasks and microseconds of a month do not fit one number.
    """
    ranks = np.unique(np.concatenate([times, moments]), return_inverse=True)[1].reshape(-1)
    span = int(ranks.max()) + 1
    ordered = keys * span + ranks[: len(times)]
    asked = wanted * span + ranks[len(times) :]
    if earlier:
        return np.asarray(np.searchsorted(ordered, asked, side="right") - 1, np.intp)
    return np.asarray(np.searchsorted(ordered, asked, side="left"), np.intp)


def looked_up(column: Array, indexes: Indexes) -> Floats:
    """The values of another table's column at these rows; not known where the index is -1."""
    if not len(column):
        return unknown(len(indexes))
    return np.where(indexes >= 0, column[np.maximum(indexes, 0)], np.nan)
