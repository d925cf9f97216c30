"""Expression trees: Arrow and Spark give what plain Python gives, for any tree on any rows (E1 to E3)."""

from datetime import date, datetime
from random import Random

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pipeline.in_python import ABOUT_NULL, KNOWN, value_of
from quaestor.pipeline.arrow_expressions import array_of
from quaestor.pipeline.expressions import FUNCTIONS, Apply, Column, Constant, apply, columns_in
from quaestor.pipeline.spark_expressions import column_of

SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("j", pa.int64()),
        ("x", pa.float64()),
        ("t", pa.string()),
        ("u", pa.string()),
        ("s", pa.timestamp("us")),
    ]
)
I, J, X, T, U, S = (Column("R", each.name) for each in SCHEMA)


# --- trees of every type ----------------------------------------------------------------------------------------------

SMALL = st.integers(-40, 40).map(Constant)
POSITIVE = st.integers(0, 9).map(lambda value: Constant(value + 1))
TEXTS = st.sampled_from(["", "A", "QM1", "a_b", "50%", "\\"]).map(Constant)
PATTERNS = st.sampled_from(["%", "_%", "Q%", "%1", "a\\_b", "50\\%", "A", "", "\\\\"]).map(Constant)
COMPARE = st.sampled_from(["=", "<>", "<", ">", "<=", ">="])

numbers, doubles, texts, dates, tests = (st.deferred(lambda n=n: _KINDS[n]) for n in range(5))


def made(name, *parts):
    return st.builds(lambda *arguments: apply(name, *arguments), *parts)


def compared(kind):
    return st.builds(apply, COMPARE, kind, kind)


def chosen(kind):
    """The functions that any type has."""
    null = st.just(apply("null"))
    return st.one_of(
        st.builds(lambda *a: apply("case", *a), tests, kind, kind | null),
        st.builds(lambda *a: apply("case", *a), tests, kind, tests, kind, kind | null),
        made("coalesce", kind, kind),
    )


_KINDS = (
    st.one_of(
        st.sampled_from([I, J]),
        SMALL,
        st.builds(apply, st.sampled_from(["add", "subtract", "multiply", "whole_quotient"]), numbers, numbers),
        st.builds(apply, st.sampled_from(["day", "month", "year", "week", "weekday", "day_number"]), dates),
        made("time_of", st.just(S)),
        made("integer", numbers),
        chosen(numbers),
    ),
    st.one_of(
        st.just(X),
        st.sampled_from([0.5, 0.0, 4096.0]).map(Constant),
        made("double", numbers),
        made("divide", numbers | doubles, numbers | doubles),
        made("add", doubles, numbers),
        made("subtract", numbers, doubles),
        chosen(doubles),
    ),
    st.one_of(
        st.sampled_from([T, U]),
        TEXTS,
        made("concat", texts, texts),
        made("substring", texts, POSITIVE, POSITIVE),
        made("text", numbers | dates),
        st.just(apply("time_text", apply("time_of", S))),
        chosen(texts),
    ),
    st.one_of(
        st.just(apply("date_of", S)),
        st.just(apply("date_of", apply("minute_before", S))),
        made("date_of_number", numbers),
        made("add_days", dates, SMALL),
        chosen(dates),
    ),
    st.one_of(
        compared(numbers),
        compared(doubles),
        compared(texts),
        compared(dates),
        made("and", tests, tests),
        made("or", tests, tests),
        made("not", tests),
        made("is_null", numbers | texts | dates),
        made("like", texts, PATTERNS),
    ),
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.none() | st.integers(-100, 100) | st.integers(-(1 << 63), (1 << 63) - 1),
            "j": st.none() | st.integers(-100, 100) | st.sampled_from([0, 1 << 32, 730_416, 3_652_060]),
            "x": st.none() | st.floats(-1e6, 1e6),
            "t": st.none() | st.sampled_from(["", "QM1", "QM_1", "ORDERS.IN", "A"]),
            "u": st.none() | st.sampled_from(["a_b", "axb", "50%", "505", "\\"]),
            "s": st.none() | st.datetimes(datetime(1971, 1, 1), datetime(2042, 9, 17)),
        }
    ),
    min_size=1,
    max_size=6,
)


def by_arrow(tree, rows):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    return array_of(tree, table, lambda column: column.name).to_pylist()


def functions_in(tree):
    if isinstance(tree, Apply):
        yield tree.function
        for each in tree.arguments:
            yield from functions_in(each)


def test_plain_python_knows_every_function():
    assert set(FUNCTIONS) == {*ABOUT_NULL, *KNOWN}


@settings(max_examples=50)
@given(st.one_of(numbers, doubles, texts, dates, tests), ROWS)
def test_arrow_gives_what_plain_python_gives(tree, rows):
    assert [value_of(tree, row) for row in rows] == by_arrow(tree, rows)


PAIR = {"i": (1 << 62) + 7, "j": 3, "x": 2.5, "t": "QM1", "u": "a_b", "s": datetime(2026, 1, 5, 0, 0, 30, 129_000)}
NULLS = dict.fromkeys(PAIR)
PLAIN = {"i": -7, "j": 0, "x": -1.0, "t": "", "u": "axb", "s": datetime(2026, 1, 1, 23, 59, 59, 999_999)}
EXAMPLES = [
    (apply("add", I, I), None, -14),
    (apply("add", I, (1 << 62) - 8), (1 << 63) - 1, (1 << 62) - 15),
    (apply("subtract", apply("subtract", 0, I), I), None, 14),
    (apply("subtract", -(1 << 62) - 8, I), None, -(1 << 62) - 1),
    (apply("multiply", I, 2), None, -14),
    (apply("multiply", I, J), None, 0),
    (apply("multiply", 1 << 40, 1 << 40), None, None),
    (apply("whole_quotient", I, J), ((1 << 62) + 7) // 3, None),
    (apply("whole_quotient", I, -2), -((1 << 61) + 3), 3),
    (apply("divide", J, X), 1.2, -0.0),
    (apply("divide", X, J), 2.5 / 3, None),
    (apply("date_of_number", I), None, None),
    (apply("date_of_number", 0), None, None),
    (apply("date_of_number", 1), date(1, 1, 1), date(1, 1, 1)),
    (apply("date_of_number", 3_652_059), date.max, date.max),
    (apply("date_of_number", 3_652_060), None, None),
    (apply("add_days", apply("date_of_number", 3_652_059), 1), None, None),
    (apply("add_days", apply("date_of_number", 1), -1), None, None),
    (apply("add_days", apply("date_of", S), -5), date(2025, 12, 31), date(2025, 12, 27)),
    (apply("date_of", apply("minute_before", S)), date(2026, 1, 4), date(2026, 1, 1)),
    (apply("time_of", S), 3012, 8_639_999),
    (apply("time_text", apply("time_of", S)), "00:00:30.12", "23:59:59.99"),
    (apply("weekday", apply("date_of", S)), 0, 3),
    (apply("week", apply("date_of", S)), 2, 1),
    (apply("day_number", apply("date_of", S)), 739_621, 739_617),
    (apply("substring", T, 2, 9), "M1", ""),
    (apply("concat", T, U), "QM1a_b", "axb"),
    (apply("like", U, "a\\_b"), True, False),
    (apply("like", U, "a_b"), True, True),
    (apply("like", T, "Q%"), True, False),
    (apply("text", J), "3", "0"),
    (apply("text", apply("date_of", S)), "2026-01-05", "2026-01-01"),
    (apply("case", apply("=", J, 3), "three", apply("null")), "three", None),
    (apply("and", apply("=", J, 0), apply(">", X, 0)), False, False),
    (apply("or", apply("=", J, 0), apply(">", X, 0)), True, True),
    (apply("coalesce", apply("whole_quotient", 1, J), 9), 0, 9),
]


@pytest.mark.parametrize(("tree", "first", "second"), EXAMPLES)
def test_worked_examples_hold_in_arrow_and_in_plain_python(tree, first, second):
    """Beside a row on which every calculation has a value one that goes beyond an integer: the others keep theirs."""
    assert [first, second] == by_arrow(tree, [PAIR, PLAIN]) == [value_of(tree, row) for row in (PAIR, PLAIN)]


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - set(ABOUT_NULL)))
def test_null_in_is_null_out(name):
    """E2, function by function."""
    about = {"substring": (T, 1, 2), "like": (T, "%"), "text": (I,), "concat": (T, U), "integer": (I,), "double": (I,)}
    stamp, day = S, apply("date_of", S)
    about |= dict.fromkeys(("minute_before", "date_of", "time_of"), (stamp,))
    about |= dict.fromkeys(("day", "month", "year", "week", "weekday", "day_number"), (day,))
    about |= {"time_text": (I,), "date_of_number": (I,), "add_days": (day, 1), "not": (apply("=", I, 1),)}
    arguments = about.get(name, (I, J))
    assert [None] == by_arrow(apply(name, *arguments), [NULLS])


def test_the_columns_of_a_tree_are_all_it_reads():
    tree = apply("case", apply("=", I, 1), apply("concat", T, U), apply("null"))
    assert [I, T, U] == list(columns_in(tree))
    assert [] == list(columns_in(apply("add", 1, 2)))


def generated(count, seed):
    """Trees and rows that are the same in every run."""
    trees, rows = [], []

    @settings(max_examples=count, database=None, derandomize=True, phases=[Phase.generate])
    @given(st.one_of(numbers, doubles, texts, dates, tests), ROWS)
    def collect(tree, some):
        if len(list(functions_in(tree))) < 12:
            trees.append(tree)
            rows.extend(some)

    collect()
    return trees, Random(seed).sample(rows, min(len(rows), 40))


def test_spark_gives_what_plain_python_gives(spark):
    """All examples and generated trees on generated rows, in one job."""
    trees, rows = generated(30, 1)
    trees += [tree for tree, *_ in EXAMPLES]
    rows += [PAIR, PLAIN, NULLS]
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=SCHEMA)).alias("R").coalesce(1)
    found = frame.select(*(column_of(tree).alias(f"c{number}") for number, tree in enumerate(trees))).collect()
    for number, tree in enumerate(trees):
        assert [value_of(tree, row) for row in rows] == [each[number] for each in found], tree
